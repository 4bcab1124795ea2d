#!/usr/bin/env python3
"""Writes the cases about costs (thesis, chapter 2; chapter 1 where it speaks of them): thesis-cost-*.prog beside this file."""
from pathlib import Path

HERE = Path(__file__).parent


def claim(name, where, says, *checks, note=None):
    lines = [f"claim {name}", f"where Thesis, {where}", f"says {says}"] + ([f"note {note}"] if note else [])
    for c in checks:
        lines += c
    return [f"#: {line}" for line in lines]


def at(point, prices=None, wrong=None, **expect):
    lines = ([f"prices {prices}"] if prices else []) + [f"at {point}"]
    for key, value in expect.items():
        key = key.replace("_", "-")
        if wrong and key in wrong:
            lines.append(f"claimed {key} {wrong[key]}")
        lines.append(f"expect {key} {value}")
    return lines


def case(name, program, *claims):
    (HERE / f"thesis-cost-{name}.prog").write_text("\n".join(line for c in claims for line in c) + "\n" + program + "\n")


def zeros(n):
    return ",".join("0" * n)


T21, T22, T23 = "Table 2.1", "Table 2.2", "Table 2.3"


def rows():
    """One operation each: cost, backward, omega."""
    twice = claim("T2-Tab2.2r", T22 + " and 2.3, last row but one", "cost(x) |pr| / cost(g) is 4 for + and x",
                  at("a=2 b=3", share_as_one=2, wrong={"share-as-one": 4}), note="printed is 2 cost(x) |pr| / cost(g)")
    case("plus", "input a, b\noutput a + b",
         claim("T2-Tab2.1", T21, "omega is 5 for +", at("a=2 b=3", cost=1, backward=5, omega=5)),
         claim("T2-Th3f", "Theorem 3 (ii)", "+ and x cost 3 p + 1 in forward mode", at("a=2 b=3", forward_mode=7, omega_forward=7)),
         claim("T2-Fig2.2", "Figure 2.2", "P_0 = a + b costs 1", at("a=2 b=3", cost=1)),
         claim("T2-Th3b", "Theorem 3 (i), equations (2.5) and (2.10)", "the bound is tight",
               at("a=2 b=3", prices="c+=1 cx=3", backward=9, omega=13, wrong={"omega": 9}),
               note="2 max(c+, cx) of (2.5) is c+ + cx of (2.10) only where these are equal: at 1 and 3 it is 6 against 4"),
         claim("T2-2.13", "2.9.1", "m < 3 cost(P) for the memory m of a program of +, - and ReLU",
               at("a=2 b=3", memory=3, linear_relu_size=12, wrong={"memory": "less than 3"}), note="m <= 3 cost(P), which is all that is used"),
         twice)
    case("times", "input a, b\noutput a * b",
         claim("T2-Tab2.1", T21, "omega is 5 for x", at("a=2 b=3", cost=1, backward=5, omega=5, ratio=5)), twice)
    case("times-constant", "input a\noutput 7 * a",
         claim("T2-Tab2.1", T21, "omega is 3 for a product with a constant", at("a=2", cost=1, backward=3, omega=3)),
         claim("T2-Tab2.2r", T22 + ", last row but one", "cost(x) |pr| / cost(g) is 2 for +c and xc",
               at("a=2", share_as_one=1, wrong={"share-as-one": 2}), note="printed is 2 cost(x) |pr| / cost(g)"))
    case("plus-constant", "input a\noutput a + 7",
         claim("T2-Tab2.1", T21, "omega is 3 for the sum with a constant", at("a=2", cost=1, backward=3, omega=3)))
    case("log", "input a\noutput log(a)",
         claim("T2-Tab2.1", T21, "omega is 4 for log", at("a=1", cost=1, backward=4, omega=4)),
         claim("T2-Tab2.2", T22, "omega is 2 + 2 / c_nl for log", at("a=1", prices="c_nl=4", cost=4, omega="5/2")))
    case("exp", "input a\noutput exp(a)",
         claim("T2-Tab2.1", T21, "omega is 3 for exp", at("a=0", cost=1, backward=3, omega=3)),
         claim("T2-Tab2.2", T22, "omega is 1 + 2 / c_nl for exp", at("a=0", prices="c_nl=4", cost=4, omega="3/2")))
    case("inv", "input a\noutput 1 / a",
         claim("T2-Tab2.1", T21, "omega is 5 for inv", at("a=2", cost=1, backward=5, omega=5)),
         claim("T2-Tab2.2", T22, "omega is 1 + 4 / c_nl for inv", at("a=2", prices="c_nl=4", cost=4, omega=2)),
         claim("T2-Th3f", "Theorem 3 (ii)", "inv costs p + 3 in forward mode", at("a=2", forward_mode=4, omega_forward=4)))
    case("relu", "input a\noutput relu(a)",
         claim("T2-Tab2.1", T21, "omega is 3 for ReLU", at("a=2", cost=1, backward=3, omega=3)))
    case("times-relu", "input a, b\noutput a * relu(b)",
         claim("T2-C7", "Case 7", "a ReLU(b) costs 1 + c_R, and so does its derivative with it",
               at("a=2 b=3", prices="c_R=1/4", cost="5/4", omega_as_one="21/5", ad="(3, 2)"),
               at("a=2 b=3", prices="c_R=0", cost=1, omega_as_one=5)),
         claim("T2-C7", "Case 7", "the derivative at b = 0 is (0, a): ReLU'(0) = 1",
               at("a=2 b=0", ad="(0, 0)", wrong={"ad": "(0, 2)"}), note="elsewhere (Example 1, Lemma 1) ReLU'(0) is 0"))


def nonsmooth():
    case("abs", "input a\noutput abs(a)",
         claim("T2-Tab2.3a", T23, "omega is 1 + 2 / (1 + c_R) <= 3 for |.|", at("a=2", prices="c_R=0", cost=1, omega=3),
               at("a=2", prices="c_R=1", cost=2, omega=2)))
    case("elu", "input a\noutput elu(a)",
         claim("T2-Tab2.3a", T23, "omega is 1 + 2 / (2 + c_R + c_nl) <= 2 for ELU",
               at("a=2", prices="c_R=0 c_nl=1", cost=3, omega="5/3"), at("a=2", prices="c_R=1 c_nl=2", cost=5, omega="7/5")))
    taps = [f"w[{i}]" for i in range(9)]
    windows = [" + ".join(f"{(7 * o + 3 * i) % 5 + 2}*{w}" for i, w in enumerate(taps)) for o in range(9)]
    case("pool", "input w[9]\noutput max(" + ",\n  ".join(windows) + ")",
         claim("T2-Tab2.3a", "Table 2.3, Case 11", "a 3 x 3 pool of a convolution costs 153 + 8 c_R, and omega <= 1.12",
               at(f"w=1,{zeros(8)}", prices="c_R=0", cost=153, omega_as_one="19/17"),
               at(f"w=1,{zeros(8)}", prices="c_R=1", cost=161, omega_as_one="179/161")))
    for n in (1, 2, 3, 5):
        x = ",".join(str(i + 1) for i in range(n))
        norm = f"input x[{n}]\noutput norminf(x)" if n > 1 else "input x\noutput abs(x)"
        printed = {1: "unbounded", 2: 5, 3: 4, 5: "7/2"}[n]
        case(f"norminf-{n}", norm,
             claim("T2-Tab2.3i", T23, f"the infinity norm of {n} numbers costs n + 2 n c_R - 1, and omega <= 3",
                   at(f"x={x}", prices="c_R=0", cost=n, omega_as_one=3, wrong={"cost": n - 1, "omega-as-one": printed}),
                   at(f"x={x}", prices="c_R=1/4", cost=f"{4 * n + 2 * n - 1}/4" if (6 * n - 1) % 2 else f"{(6 * n - 1) // 2}/2",
                      wrong={"cost": f"{2 * n + 4 * n - 4}/4"}),
                   note="n absolute values and n - 1 comparisons: n + (2 n - 1) c_R, and then omega <= 3"))
    for n, free, quarter in ((1, 3, "13/5"), (2, "7/3", "15/7"), (3, "11/5", "47/23")):
        x = ",".join(str(i + 1) for i in range(n))
        case(f"norm1-{n}", f"input x[{n}]\noutput norm1(x)" if n > 1 else "input x\noutput abs(x)",
             claim("T2-Tab2.3l", T23, f"the 1-norm of {n} numbers costs n (2 + c_R) - 1, and omega <= 2",
                   at(f"x={x}", prices="c_R=0", cost=2 * n - 1, omega_as_one=free, wrong={"omega-as-one": "at most 2"}),
                   at(f"x={x}", prices="c_R=1/4", omega_as_one=quarter, wrong={"omega-as-one": "at most 2"}),
                   at(f"x={x}", prices=f"c_R=1/{n}", omega_as_one=2), note="omega <= 2 if and only if n c_R >= 1"),
             claim("T2-C12", "Case 12", "n - 1 additions, n products and n comparisons: 2 n + n c_R - 1",
                   at(f"x={x}", prices="c_R=2", cost=4 * n - 1)))
    case("max-linear", "input a[3], b[3]\noutput max(2*a[0] + 3*a[1] + 5*a[2], 2*b[0] + 3*b[1] + 5*b[2])",
         claim("T2-C10", "Case 10", "the maximum of m linear functions costs m (2 n - 1) + (m - 1) c_R",
               at("a=1,0,0 b=0,0,0", prices="c_R=1/2", cost="21/2"),
               at("a=1,0,0 b=0,0,0", prices="c_R=0", cost=10, omega_as_one="11/5", wrong={"cost": "11"}),
               note="printed a second time as m 2 n - 1 + (m - 1) c_R: 11 for m = 2, n = 3"))
    case("median", "input x[3]\noutput median(x)",
         claim("T2-C13", "Case 13", "the median of n numbers is entry floor(n / 2) of the sorted ones",
               at("x=1,5,2", value=2, ad="(0, 0, 1)", wrong={"value": 1}), note="so only where entries are counted from 0: of 3 it is the second"))
    case("selection", "input c_s, c_f\noutput (c_s + 5*c_f) / (c_s + c_f)",
         claim("T2-C14", "Case 14", "cost(gd) / cost(g) = (c_s + 5 c_f) / (c_s + c_f) is between 1 and 5",
               at("c_s=0 c_f=1", value=5), at("c_s=1 c_f=0", value=1), at("c_s=1 c_f=1", value=3),
               note="of cost(gd) / cost(g), not of omega"))


def programs():
    case("fig2.2-p1", "input a, b, c\noutput a * (b + c)",
         claim("T2-Fig2.2", "Figure 2.2", "P_1 = a (b + c) costs 2", at("a=1 b=2 c=3", cost=2)))
    case("fig2.2-q1", "input a, b, c\noutput a * b + a * c",
         claim("T2-Fig2.2", "Figure 2.2", "Q_1 = a b + a c costs 3", at("a=1 b=2 c=3", cost=3)))
    case("fig2.2-p2", "input a, b, c, d\noutput (a * c + a * d) + b * (c + d)",
         claim("T2-Fig2.2", "Figure 2.2", "P_2 = (a + b) (c + d) = Q_1(a, c, d) + P_1(b, c, d) costs 6",
               at("a=1 b=2 c=3 d=4", cost=6, value=21), note="cost(P_2) = cost(Q_1) + cost(P_1) + cost(+), not cost(x)"))
    case("baur-strassen", "input a, b\nlet c = a * b\nlet d = c + a\noutput d * c + 1 / b",
         claim("T2-Th1", "Theorem 1", "cost(f, grad f) <= 5 cost(f) for programs of +, x and inv",
               at("a=2 b=3", cost=5, backward=25, ratio=5)),
         claim("T1-cost", "1.2.2", "forward mode costs in proportion to p, reverse mode less than 6 times f",
               at("a=2 b=3", forward_mode=33, backward=25, omega=5)),
         claim("T2-Alg", "Algorithms 1, 1' and 2", "backward and forward mode compute the gradient", at("a=2 b=3", ad="(48, 251/9)")))
    case("chain", "input c, pr\noutput (5*c + 2*pr) / c",
         claim("T2-chain", "2.4.3, chaining", "omega of long programs is about 5", at("c=1000 pr=3", value="2503/500"),
               at("c=1000000 pr=3", value="2500003/500000"), note="5 + 2 |pr| / c, from above"))
    case("fig2.1", "input W, R, C\noutput (10*W + 3*R - 2*C) / (2*W + R)",
         claim("T2-Fig2.1", "Figure 2.1", "the ratio of a network 784-w^d-10 with W weights and R ReLUs is 5 - 2 R / (2 W + R) <= 5",
               at("W=12704 R=16 C=0", value="~4.998741"), at("W=794 R=1 C=0", value="~4.998741"), at("W=17568 R=320 C=0", value="~4.981949"),
               note="all quantities being inputs; omega_b is a maximum, 5 for each of them"),
         claim("T2-Fig2.1", "Figure 2.1", "the same with the picture constant, C products with it",
               at("W=12704 R=16 C=12544", value="~4.011957"), at("W=17568 R=320 C=12544", value="~4.274368")))
    case("mlp", "input w[6], v[2], b[2], x[3]\nlet h0 = relu(dot(w[0:3], x) + b[0])\nlet h1 = relu(dot(w[3:6], x) + b[1])\n"
         "output v[0]*h0 + v[1]*h1",
         claim("T2-Fig2.1", "Figure 2.1", "a network 3-2-1 counted: additions as many as weights but for one, which has no bias",
               at("w=1,1,1,1,1,1 v=1,1 b=0,0 x=1,1,1", cost=17, backward=81, omega=5)))
    case("smooth", "input g[3], a[3], b[3], c[3]\noutput dot(g, a), dot(g, b), dot(g, c)",
         claim("T2-smooth", "2.5.1", "p directional derivatives of a smooth function are p scalar products with its gradient: p (2 p - 1)",
               at("g=1,2,3 a=1,0,0 b=0,1,0 c=0,0,1", cost=15, value="(1, 2, 3)")))


def theorem4():
    def dot(row, v):
        return " + ".join(f"{r}*{e}" for r, e in zip(row, v))

    m = [[f"M[{2 * i + j}]" for j in range(2)] for i in range(2)]
    b = [[f"B[{2 * i + j}]" for j in range(2)] for i in range(2)]
    u = [[f"U[{2 * i + j}]" for j in range(2)] for i in range(2)]
    lines = ["input x[2], B[4], M[4], U[4]"] + [f"let y{i} = {dot(m[i], ('x[0]', 'x[1]'))}" for i in range(2)]
    lines += [f"let z{i} = {dot((b[0][i], b[1][i]), ('y0', 'y1'))}" for i in range(2)]
    lines += [f"let t{i} = {dot(u[i], ('z0', 'z1'))}" for i in range(2)]
    lines.append("output ((relu(t0) + relu(-t0)) + (relu(t1) + relu(-t1))) / 2")
    case("theorem4", "\n".join(lines),
         claim("T2-Th4b", "proof of Theorem 4", "P_F costs 6 p^2 + 2 p <= 8 p^2", at("x=0,0 B=1,0,0,1 M=1,0,0,1 U=1,1,1,-1", cost=28),
               note="p = 2; the entries of U are factors like others"))
    lines[0] = "input t"
    lines[1:1] = ["let x0 = 1*t", "let x1 = 2*t"]
    along = "\n".join(lines).replace("x[0]", "x0").replace("x[1]", "x1")
    values = {"B": (3, -3, 1, 1), "M": (2, 0, 1, 3), "U": (1, 1, 1, -1)}
    for name, entries in values.items():
        for i, e in enumerate(entries):
            along = along.replace(f"{name}[{i}]", f"({e})")
    case("theorem4-along", along + "\npiece 13*t if t >= 0\npiece -13*t if t < 0",
         claim("T2-Th4a", "proof of Theorem 4", "in direction a_1 the derivative at 0 is b_1^T M a_1, where sign(U B^T M a_1) = u_1",
               at("t=0", representation="yes", bouligand="{-13, 13}"),
               note="p = 2, a_1 = (1, 2), b_1 = (3, 1), b_2 = (-3, 1), M = (2, 0; 1, 3), M a_1 = (2, 7): b_1^T M a_1 = 13"))
    case("theorem4-gradient", "input M[4]\n" + "output (1*M[0] + 2*M[1])*3 + (1*M[2] + 2*M[3])*1 + (5*M[0] + 7*M[1])*4 + (5*M[2] + 7*M[3])*6",
         claim("T2-Th4a", "proof of Theorem 4", "the gradient in M of the sum of b_i^T M a_i is B A^T",
               at("M=1,2,3,4", ad="(23, 34, 31, 44)"), note="a_1 = (1, 2), a_2 = (5, 7), b_1 = (3, 1), b_2 = (4, 6)"))
    case("theorem4-ratio", "input c, p\noutput (c - 5*p) / (30*p*p + 10*p), (c - 5*p) / (40*p*p)",
         claim("T2-Th4c", "proof of Theorem 4, last line", "(c(p) - 5 p) / (5 cost(P_F)) = (c(p) - 5 p) / (8 p^2)",
               at("c=12 p=2", value="(1/70, 1/80)", wrong={"value": "1/16 for both"}),
               at("c=112 p=4", value="(23/130, 23/160)", wrong={"value": "23/32 for both"}),
               at("c=960 p=8", value="(23/50, 23/64)", wrong={"value": "115/64 for both"}),
               at("c=1 p=1", value="(-1/10, -1/10)", wrong={"value": "-1/2 for both"}),
               note="5 cost(P_F) = 30 p^2 + 10 p <= 40 p^2; the statement (2.7) has 40 p^2"))
    signs = [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    case("theorem4-signs", "input t\noutput t" + "".join(f" * ({a + b + c})" for a, b, c in signs),
         claim("T2-Th4d", "proof of Theorem 4", "for every p there is U of 1 and -1 with U^T U = p I",
               at("t=1", value=9, wrong={"value": 0}),
               note="p = 3: the first row may be (1, 1, 1), and its products with the eight others are 3, 1, 1, -1, 1, -1, -1, -3: none is 0"))
    case("exponent", "input t\noutput t * log(7) / log(2)",
         claim("T2-cp", "2.5.1", "omega <= log_2 7, about 2.81", at("t=1", value="~2.81"),
               note="the best known *lower* bound is said to be omega < 2.37; that is an upper bound"))
    case("remark5", "input c, L, p\noutput L*c / (2*L*p*p - L*p)",
         claim("T2-Rem5", "Remark 5", "the ratio of linear ReLU networks is at most c(p) / (2 p^2), but for lower terms",
               at("c=960 L=5 p=8", value=8), at("c=2146435072 L=3 p=1024", value=1024)))


def chapter1():
    case("sgd-noise", "input theta, g_B, g\noutput theta - (g + (g_B - g)) / 10",
         claim("T1-1.8", "equation (1.8)", "a step of SGD is theta - gamma (grad J_B + xi) with xi = grad J_B - grad J",
               at("theta=1 g_B=3 g=5", value="7/10", wrong={"value": "9/10"}), note="grad J + xi is meant: so it is (1.6)"))
    subsets = [(i, j) for i in range(4) for j in range(i)]
    case("unbiased", "input g[4]\noutput (" + " + ".join(f"(g[{i}] + g[{j}]) / 2" for i, j in subsets) + f") / {len(subsets)}\npiece mean(g)",
         claim("T1-unb", "1.3", "the mean of grad J_B over all minibatches is grad J", at("g=1,5,-2,1/3", representation="yes"),
               note="all pairs of four"))
    case("momentum", "input t0, g1, g2, g3\nlet m1 = g1 / 10\nlet m2 = 9/10*m1 + g2 / 10\nlet m3 = 9/10*m2 + g3 / 10\n"
         "let t1 = t0 - m1 / 10\nlet t2 = t1 - m2 / 10\noutput t1, t2, t2 - m3 / 10",
         claim("T1-opt", "equations (1.10) and (1.11)", "momentum as a moving average of gradients",
               at("t0=1 g1=1 g2=-1/2 g3=1/4", value="(99/100, 493/500, 9799/10000)"), note="beta = 9/10, gamma = 1/10"))


def proposition4():
    """All edges of Proposition 4's graph, of a network whose matrices are numbers: R_ij = M_(i+1) Q_(i+1) ... M_(j-1) Q_(j-1) M_j."""
    says = "the edges of its graph take at most 4 (L + 1)^2 products of matrices, of up to 2 L + 1 each"
    for layers in (2, 5):
        lines = [f"input m[{layers + 1}], q[{layers}]"]
        for i in range(layers):  # from layer i - 1 to layer j
            last = f"m[{i}]"
            for j in range(i + 1, layers + 1):
                lines += [f"let s{i}_{j} = {last} * q[{j - 1}]", f"let r{i}_{j} = s{i}_{j} * m[{j}]"]
                last = f"r{i}_{j}"
        ones = "1,".join([""] * (layers + 1)) + "1"
        case(f"proposition4-{layers}", "\n".join(lines) + f"\noutput r0_{layers}",
             claim("T2-P4n", "Proposition 4, its proof", says + f"; here L = {layers}, and the bound {4 * (layers + 1) ** 2}",
                   at(f"m={ones} q={ones[2:]}", cost=layers * (layers + 1)), note="L (L + 1) products of two: each edge goes on from the one before"))
    case("proposition4-all", "input L\nlet bound = 4*(L + 1)*(L + 1)\n"
         "output bound - (L + 1)*(L + 2)/2 - (L + 1)*(7*L + 6)/2, bound - L*(L + 1) - (L + 1)*(3*L + 4)",
         claim("T2-P4n", "Proposition 4, its proof", says, at("L=3", vanishes="yes"),
               note="for each L: (L + 1) (L + 2) / 2 edges between layers, and L (L + 1) products of two, are (L + 1) (7 L + 6) / 2 and (L + 1) (3 L + 4) less"))
    case("proposition4-apart", "input L\noutput 4*(L + 1)*(L + 1) - L*(L + 1)*(L + 2)/3",
         claim("T2-P4n", "Proposition 4, its proof", says, at("L=11", value=4), at("L=12", value=-52),
               note="counted by products of two, each edge's made from its first matrix on, it would hold up to L = 11"))


if __name__ == "__main__":
    for part in (rows, nonsmooth, programs, theorem4, chapter1, proposition4):
        part()
