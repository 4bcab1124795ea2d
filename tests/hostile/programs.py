"""Programs that ask for much more than their text."""
from files import program_proof
from inputs import Hostile, run

INPUTS = []


def program(name, text, inputs=(("t", "0"),), proxies=(), touched=0, evidence=("evidence ad", "arc 0"), runs=None, quick=True,
            verdict="in-bouligand", more="", own=(0, 2)):
    """text(): the program; inputs: (name, value, ...) for each; more: options of derive."""
    def files():
        data = text().encode() if callable(text) else text.encode()
        at = ["at " + " ".join(i) for i in inputs]
        return {"program.prog": data, "forged.proof": program_proof(data, at, proxies, touched, evidence, verdict)}
    at = " ".join("--at %s=%s" % (i[0], ",".join(i[1:])) for i in inputs)
    derive = run("clarke derive program.prog %s --proof own.proof%s" % (at, more))
    INPUTS.append(Hostile("program: " + name, files, runs or [derive, run("check"), run("own", own)], quick))


def lines(n, of, first="", last=""):
    return lambda: first + "".join(of(i) for i in range(n)) + last


ONE = (("t", "3"),)
# ---- numbers
for many in (16, 17, 18, 30):
    program("3 squared %d times" % many, lines(many, lambda i: "let a%d = a%d * a%d\n" % (i + 1, i, i), "input t\nlet a0 = t\n",
                                               "output a%d\n" % many), ONE, quick=many != 17)
program("constant 3 squared 30 times", lines(30, lambda i: "let a%d = a%d * a%d\n" % (i + 1, i, i), "input t\nlet a0 = 3\n",
                                             "output a30 * t\n"), ONE)
program("1/3 squared 16 times, then 2000 sums", lines(
    2000, lambda i: "let b%d = b%d + a16\n" % (i + 1, i),
    "input t\nlet a0 = t\n" + "".join("let a%d = a%d * a%d\n" % (i + 1, i, i) for i in range(16)) + "let b0 = t\n",
    "output b2000\n"), (("t", "1/3"),), quick=False)
program("1/3 squared 16 times, then 2000 products by 2/3", lines(
    2000, lambda i: "let b%d = b%d * t\n" % (i + 1, i),
    "input t\nlet b0 = t\n" + "".join("let c%d = 1\n" % i for i in range(2)), "output b2000\n"), (("t", "1/3"),), quick=False)
program("products of t, 40000", lines(40000, lambda i: "let b%d = b%d * t\n" % (i + 1, i), "input t\nlet b0 = t\n",
                                      "output b40000\n"), (("t", "1/3"),), quick=False)
program("sums of reciprocals, 3000", lines(3000, lambda i: "let b%d = b%d + t / %d\n" % (i + 1, i, i + 2),
                                           "input t\nlet b0 = t\n", "output b3000\n"), (("t", "1"),), quick=False)
program("sums of reciprocals, 20000", lines(20000, lambda i: "let b%d = b%d + t / %d\n" % (i + 1, i, i + 2),
                                            "input t\nlet b0 = t\n", "output b20000\n"), (("t", "1"),), quick=False)
for number in ("1e1000000", "1e-1000000", "1e99999999999999999999", "0x1p99999999", "0x1p-99999999", "1e4096", "1e-4096",
               "0x1p4096", "1e4097", "9" * 4096, "9" * 4097, "9" * 900000, "0." + "0" * 900000 + "1", "1e" + "9" * 100000,
               "0x" + "f" * 900000, "1e308f", "0x1p1023d", "1e5000d"):
    program("number %s" % number[:12] + " of %d" % len(number), "input t\noutput t + %s\n" % number)
program("point 1e1000000", "input t\noutput relu(t)\n", runs=[run("clarke derive program.prog --at t=1e1000000", (2,))])
program("point 0x1p-99999999", "input t\noutput relu(t)\n", runs=[run("clarke derive program.prog --at t=0x1p-99999999", (2,))])
program("point of 100000 digits", "input t\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --at t=" + "7" * 100000, (2,))])
program("point of a quotient of 1e4096", "input t\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --at t=1e4096/1e-4096")])
program("sweep of 10^12 rows", "input t\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --sweep t=0:1000000:1/1000000", (2,))])
program("sweep by 1e-4096", "input t\noutput relu(t)\n", runs=[run("clarke derive program.prog --sweep t=0:1:1e-4096", (2,))])
program("sweep by 0", "input t\noutput relu(t)\n", runs=[run("clarke derive program.prog --sweep t=0:1:0", (2,))])
program("every number of 4096 digits", lines(200, lambda i: "let a%d = t * %d%s\n" % (i, i + 1, "7" * 4090), "input t\n",
                                            "output a0\n"))
program("vector of 800000 bytes of numbers", lambda: "input t\nlet v = [" + "1," * 350000 + "t]\noutput sum(v)\n", quick=False)
for function in ("exp", "sin", "cos", "tanh", "sigmoid", "log", "sqrt"):
    for at in ("1e4000", "-1e4000", "1e-4000", "123456789/1000000007"):
        program("%s at %s" % (function, at), "input t\noutput %s(t)\n" % function, (("t", at),),
                quick=at in ("1e4000", "1e-4000"), own=(0, 1))
    program("%s 300 deep" % function, lines(300, lambda i: "let a%d = %s(a%d)\n" % (i + 1, function, i), "input t\nlet a0 = t\n",
                                            "output a300\n"), (("t", "2"),), quick=False)
    program("%s of 20000 entries" % function, "input t[20000]\noutput sum(%s(t))\n" % function,
            runs=[run("clarke derive program.prog --at t=" + ",".join(["1/3"] * 20000))], quick=False)
program("exp of exp of exp", "input t\noutput exp(exp(exp(exp(exp(t)))))\n", (("t", "5"),), own=(0, 1))
program("exp of -exp of exp", "input t\noutput exp(-exp(exp(exp(t))))\n", (("t", "5"),), own=(0, 1))
program("difference of exps that is 0", "input t\noutput relu(exp(t) - exp(t + 0))\n", (("t", "5"),), ("proxy Relu 0 0",))
program("difference of sines of 1e4000", "input t\noutput relu(sin(t) * sin(t) + cos(t) * cos(t) - 1)\n", (("t", "1e4000"),),
        ("proxy Relu 0 0",), quick=False)

# ---- lists
def letters(i):
    """A name of four letters, of which there are 456,976: sixty thousand lines are to be under 1 MB."""
    return "".join(chr(ord("A") + i // 26 ** k % 26) for k in (3, 2, 1, 0))


for many in (4000, 5000, 20000, 60000):
    for f in ("max", "sum", "median", "norm1", "norm2", "norminf", "mean"):
        program("%s of %d arguments" % (f, many), lambda f=f, n=many: "input t\noutput %s(%s)\n" % (f, ", ".join(["t"] * n)),
                (("t", "1"),), ("tie Max first",) if f == "max" else (), quick=many == 5000)
    program("max of %d different arguments" % many, lambda n=many: "input t\noutput max(%s)\n" % ",".join(
        "%d+t" % i for i in range(n)), (("t", "1"),), ("tie Max first",), quick=False)
    program("max of %d tied differently" % many, lambda n=many: "input t\noutput max(%s)\n" % ",".join(
        "%d*t" % i for i in range(n)), (("t", "0"),), ("tie Max first",), touched=1, quick=False)
    program("sort of %d arguments" % many, lambda n=many: "input t\nlet v = sort(%s)\noutput v[0]\n" % ",".join(["t"] * n),
            (("t", "1"),), quick=False)
    program("dot of %d arguments" % many, lambda n=many: "input t[%d]\noutput dot(t, t)\n" % n,
            runs=[run("clarke derive program.prog --at t=" + ",".join(["1"] * min(many, 60000)))], quick=False)
    program("sum of %d terms" % many, lambda n=many: "input t\noutput " + " + ".join(["t"] * n) + "\n", (("t", "1"),), quick=False)
    program("chain of %d instructions" % many, lines(many, lambda i: "let %s=%s+t\n" % (letters(i + 1), letters(i)),
                                                    "input t\nlet %s = t\n" % letters(0), "output %s\n" % letters(many)),
            (("t", "1"),), quick=False)
program("chain of relu at 0, 30000", lines(30000, lambda i: "let a%d = relu(a%d)\n" % (i + 1, i), "input t\nlet a0 = t\n",
                                           "output a30000\n"), (("t", "0"),), ("proxy Relu 0 0",), 30000, quick=False)
program("chain of branches, 15000", lines(15000, lambda i: "let a%d = if a%d > 0 then a%d + 1 else a%d\n" % (i + 1, i, i, i),
                                          "input t\nlet a0 = t\n", "output a15000\n"), (("t", "1"),), quick=False)
program("sum of relu at 0, 60", lambda: "input t\noutput " + " + ".join("relu(%d*t)" % (i + 1) for i in range(60)) + "\n",
        (("t", "0"),), ("proxy Relu 0 0",), 60)
program("sum of relu at 0, 20000", lambda: "input t\noutput " + " + ".join("relu(%d*t)" % (i + 1) for i in range(20000)) + "\n",
        (("t", "0"),), ("proxy Relu 0 0",), 20000, quick=False)
program("products of relu at 0, 40 inputs", lambda: "input t[40]\noutput " + " + ".join(
    "relu(t[%d] * t[%d])" % (i, (i * 7 + 1) % 40) for i in range(40)) + "\n", (("t",) + ("0",) * 40,), ("proxy Relu 0 0",), 40,
    quick=False)
program("relu of random combinations, 12 inputs, 60 kinks", lambda: "input t[12]\noutput " + " + ".join(
    "relu(%s)" % " + ".join("%d*t[%d]" % ((i * i * 31 + j * j * 17 + i * j) % 11 - 5, j) for j in range(12)).replace("+ -", "- ")
    for i in range(60)) + "\n", (("t",) + ("0",) * 12,), ("proxy Relu 0 0",), 60, quick=False)
program("abs inside abs, 200 deep", lines(200, lambda i: "let a%d = abs(a%d - t)\n" % (i + 1, i), "input t\nlet a0 = t\n",
                                          "output a200\n"), (("t", "0"),), ("proxy Abs 0 0",), 200, quick=False)
program("max of pairs, 25 deep", lines(25, lambda i: "let a%d = max(a%d + t, a%d - t)\n" % (i + 1, i, i), "input t\nlet a0 = t\n",
                                       "output a25\n"), (("t", "0"),), ("tie Max first",), 25, quick=False)
program("sort of 12 tied inputs", "input t[12]\nlet s = sort(t)\noutput s[0] + 2*s[3] + 5*s[7]\n", (("t",) + ("0",) * 12,),
        ("tie Sort stable",), 12, quick=False)
program("relus of degree 32, 8 inputs", lambda: "input t[8]\nlet s = sum(t) + 1\nlet p = s*s*s*s\nlet q = p*p*p*p\noutput relu(q*q - "
        "q*q*s) + relu(q - 1)\n", (("t",) + ("0",) * 8,), ("proxy Relu 0 0",), 2, quick=False)

# ---- vectors
for many in (20, 24, 25, 30, 60):
    program("vectors doubled %d times" % many, lines(many, lambda i: "let v%d = [v%d, v%d]\n" % (i + 1, i, i),
                                                     "input t\nlet v0 = [t, t]\n", "output sum(v%d)\n" % many), (("t", "1"),),
            quick=many > 24)
program("vectors doubled 17 times, then relu", lines(17, lambda i: "let v%d = [v%d, v%d]\n" % (i + 1, i, i),
                                                    "input t\nlet v0 = [t, t]\n", "output sum(relu(v17))\n"), (("t", "0"),),
        ("proxy Relu 0 0",), 1 << 18, quick=False)
program("input of 2^62 entries", "input t[4611686018427387904]\noutput t[0]\n")
program("input of 10^30 entries", "input t[1000000000000000000000000000000]\noutput t[0]\n")
program("input of 2^22 entries", "input t[4194304]\noutput t[0]\n")
program("input of 200000 entries", lambda: "input t[200000]\noutput sum(t)\n",
        runs=[run("clarke derive program.prog --at t=" + ",".join(["1"] * 60000), (2,))])
program("entry 2^62", "input t[4]\noutput t[4611686018427387904]\n", (("t", "1", "1", "1", "1"),))
program("slice 0:2^62", "input t[4]\noutput sum(t[0:4611686018427387904])\n", (("t", "1", "1", "1", "1"),))
program("kth 2^62", "input t\noutput kth(4611686018427387904, t, t)\n")
program("hybrid 1e4096", "input t\noutput max{hybrid 1e4096}(t, t)\n", touched=0)
program("slices of 100000", lambda: "input t[400]\noutput sum(%s)\n" % ",".join(["t[0:400]"] * 500),
        (("t",) + ("1",) * 400,), quick=False)
program("Jacobian of 3000 by 3000", "input t[3000]\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --at t=" + ",".join(["1"] * 3000))], quick=False)
program("gradient in 3000 inputs, 3000 instructions", lambda: "input t[3000]\nlet a0 = sum(t)\n" + "".join(
    "let a%d = relu(a%d)\n" % (i + 1, i) for i in range(3000)) + "output a3000\n", (("t",) + ("1",) * 3000,),
    ("proxy Relu 0 0",), quick=False)

# ---- nesting, names, lines
for opened, closed in (("(", ")"), ("-", ""), ("relu(", ")"), ("[", "]"), ("if t > 0 then ", " else t"), ("max(t,", ")")):
    for deep in (190, 201, 30000):
        program("%s %d deep" % (opened.strip(), deep), lambda o=opened, c=closed, d=deep: "input t\noutput " + o * d + "t" + c * d
                + "\n", (("t", "1"),), ("proxy Relu 0 0",) if "relu" in opened else ("tie Max first",) if "max" in opened else ())
program("unclosed brackets, 900000", lambda: "input t\noutput " + "(" * 900000)
program("a chain of minus and power signs", lambda: "input t\noutput t" + " - t" * 200000 + "\n", quick=False)
program("a chain of quotients, 100000", lambda: "input t\noutput t" + " / t" * 100000 + "\n", (("t", "1"),), quick=False)
program("names of 900000 bytes", lambda: "input " + "a" * 300000 + "\nlet b = " + "a" * 300000 + "\noutput b\n",
        runs=[run("clarke derive program.prog --at a=1", (2,)), run("check", (1, 2))])
program("inputs, 60000", lambda: "input " + ", ".join("a%d" % i for i in range(60000)) + "\noutput a0\n",
        runs=[run("clarke derive program.prog --at a0=1", (2,)), run("check", (1, 2))])
program("lines, 900000", lambda: "\n" * 900000 + "input t\noutput t\n")
program("comments, 400000", lambda: "#\n" * 400000 + "input t\noutput t\n")
program("a comment of 900000 bytes", lambda: "#" + "a" * 900000 + "\ninput t\noutput t\n")
program("pieces, 20000", lambda: "input t\noutput relu(t)\n" + "piece t if t > 0\n" * 20000, (("t", "0"),), ("proxy Relu 0 0",), 1,
        quick=False)
program("conditions of a piece, 20000", lambda: "input t\noutput relu(t)\npiece t if " + " and ".join(["t > 0"] * 20000) + "\n",
        (("t", "0"),), ("proxy Relu 0 0",), 1, quick=False)
program("pieces, 20, of 20 conditions", lambda: "input t[20]\noutput relu(sum(t))\n" + "".join(
    "piece %d*sum(t) if %s\n" % (k, " and ".join("t[%d] > 0" % i for i in range(20))) for k in range(20)),
    (("t",) + ("0",) * 20,), ("proxy Relu 0 0",), 1, quick=False)
program("zero bytes", lambda: "input t\noutput t\n" + "\0" * 100000)
program("printed, 60000 statements", lines(60000, lambda i: "let a%d=%s\n" % (i + 1, "t"), "input t\n", "output t\n"),
        runs=[run("clarke derive --print program.prog", (0,))], quick=False)
program("wrt of 100000 names", "input t\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --at t=0 --wrt " + ",".join("a%d" % i for i in range(18000)), (2,))])
program("wrt of 60000 times the same", "input t\noutput relu(t)\n",
        runs=[run("clarke derive program.prog --at t=0 --wrt " + ",".join(["t"] * 60000))])

# ---- patterns: a limit that was met is named, and what was found is a lower bound


def patterns(name, text, options, files=lambda: {}, statuses=(3,), says="--limit work=N", quick=True):
    def made():
        return {"program.prog": (text() if callable(text) else text).encode(), **files()}
    INPUTS.append(Hostile("patterns: " + name, made, [run("clarke patterns " + options, statuses, says)], quick))


def zeros(n):
    return ",".join(["0"] * n)


SIXTY = "input x[60]\noutput sum(relu(x))\n"
patterns("2^60 around a point", SIXTY, "program.prog --at %s --count" % zeros(60))
patterns("2^60 around a point, with a proof", SIXTY, "program.prog --at %s --count --proof own.proof" % zeros(60), quick=False)
patterns("2^60 around a point, in pieces", SIXTY, "program.prog --at %s --count --pieces" % zeros(60), quick=False)
patterns("2^60 in a box", SIXTY, "program.prog --box box --count", lambda: {"box": b"-1 1\n" * 60}, quick=False)
patterns("2^400 around a point", "input x[400]\noutput sum(relu(x))\n", "program.prog --at %s --count" % zeros(400), quick=False)
patterns("2^40 pieces of a segment", lambda: "input x\nlet a0 = x\n" + "".join(
    "let a%d = abs(2 * a%d - 1)\n" % (i + 1, i) for i in range(40)) + "output a40\n", "program.prog --line 0 1 --count", quick=False)
patterns("several layers at 0", lambda: "input w[30], v[30]\noutput %s\n" % " + ".join("v[%d] * relu(w[%d])" % (i, i) for i in range(30)),
         "program.prog --at %s --wrt w,v --count" % zeros(60), says="undecided", quick=False)
patterns("lines, 1400", lambda: "input v[2]\noutput " + " + ".join("relu(v[0]*%d + v[1])" % i for i in range(1400)),
         "program.prog --at 0,0 --count", statuses=(0,), says="2800")
patterns("lines that floats cannot tell apart, 600", lambda: "input v[2]\noutput " + " + ".join(
    "relu(v[0]*%d + v[1]*1%s)" % (10 ** 20 + i, "0" * 20) for i in range(600)), "program.prog --at 0,0 --count", statuses=(0,), says="1200")
ARRANGEMENT = lambda: {"v": "\n".join(  # noqa: E731
    " ".join(str((i * 40 + j + 3) ** 5 % 10007 % 7 - 3) for j in range(40)) for i in range(8)).encode() + b"\n"}
patterns("an arrangement of 40 hyperplanes", "", "--arrangement v --count", ARRANGEMENT, quick=False)
patterns("an arrangement of 40 hyperplanes, with a proof", "", "--arrangement v --count --proof own.proof", ARRANGEMENT, quick=False)
program("sweep of 90000 rows, each with 60 kinks", lambda: "input t\noutput " + " + ".join("relu(%d*t)" % (i + 1) for i in range(60)) + "\n",
        runs=[run("clarke derive program.prog --sweep t=-1:1:1/45000", (0, 1, 3))], quick=False)
