#!/usr/bin/env python3
"""clarke check-point against definitions: properties that are drawn, decided in fractions here; float32 in every order of a short sum.

    check_point.py CLARKE
"""
import json
import os
import random
import struct
import sys
import tempfile
from fractions import Fraction
from itertools import permutations

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost"), os.path.dirname(HERE)]
from draw import draw_count  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats, write  # noqa: E402
from schema import faults  # noqa: E402

CLARKE = os.path.abspath(sys.argv[1])
STATUS = {"holds": 0, "fails": 1, "undecided": 3}


def asked(model, text, point, *more):
    """The answer's object; its exit status and its text agree with it."""
    with open("p.vnnlib", "w") as out:
        out.write(text)
    command = [CLARKE, "check-point", model, "--property", "p.vnnlib", "--at", point, *more]
    status, out, err = said(*command, "--json")
    answer = json.loads(out)
    expect(not faults("check-point", answer), f"{faults('check-point', answer)}")
    if "error" in answer:
        expect(status == 2 and answer["error"] in err, f"{status} {err}")
        return answer
    shown = said(*command)
    expect(status == shown[0] == STATUS[answer["answer"]], f"{status} {shown[0]} {answer['answer']}")
    words = {"holds": "Answer: Yes: ", "fails": "Answer: No: ", "undecided": "Answer: It was not decided"}[answer["answer"]]
    expect(words in shown[1], shown[1])
    return answer


def declared(inputs, outputs):
    return "".join(f"(declare-const {letter}_{i} Real)\n" for letter, n in (("X", inputs), ("Y", outputs)) for i in range(n))


class Property:
    """A drawn assertion: its text, and its margin at a point."""

    def __init__(self, draw, names, depth=0):
        kind = draw.choice(["<=", ">=", "and", "or"] if depth < 3 else ["<=", ">="])
        self.kind = kind
        if kind in ("and", "or"):
            self.parts = [Property(draw, names, depth + 1) for _ in range(draw.randint(1, 3))]
            self.text = f"({kind} {' '.join(p.text for p in self.parts)})"
        else:
            self.sides = [self.form(draw, names) for _ in range(2)]
            self.text = f"({kind} {self.sides[0][0]} {self.sides[1][0]})"

    @staticmethod
    def form(draw, names):
        """Text, and the function of a point."""
        number = Fraction(draw.randint(-8, 8), 4)
        name = draw.choice(names)
        return draw.choice([
            (str(float(number)), lambda at: number),
            (name, lambda at: at[name]),
            (f"(- {name})", lambda at: -at[name]),
            (f"(+ {name} {float(number)})", lambda at: at[name] + number),
            (f"(- {names[0]} {name} {float(number)})", lambda at: at[names[0]] - at[name] - number),
            (f"(* {float(number)} (+ {names[-1]} {name}))", lambda at: number * (at[names[-1]] + at[name]))])

    def margin(self, at):
        if self.kind in ("and", "or"):
            return (min if self.kind == "and" else max)(p.margin(at) for p in self.parts)
        low, high = (side[1](at) for side in self.sides)
        return high - low if self.kind == "<=" else low - high


def drawn():
    draw, seen = random.Random(11), set()
    with open("n.prog", "w") as out:
        out.write("input x[2]\noutput relu(x[0] - x[1]), abs(x[0]) - 2*x[1]\n")
    for _ in range(draw_count(120)):
        x = [Fraction(draw.randint(-8, 8), 4) for _ in range(2)]
        y = [max(x[0] - x[1], 0), abs(x[0]) - 2 * x[1]]
        at = {"X_0": x[0], "X_1": x[1], "Y_0": y[0], "Y_1": y[1]}
        properties = [Property(draw, list(at)) for _ in range(draw.randint(1, 3))]
        given = "".join(f"({name} {float(value)})" for name, value in at.items())
        with open("c.txt", "w") as out:
            out.write(f"sat\n({given})\n" if draw.random() < 0.5 else f"((X_0 {float(x[0])}) (X_1 (- {-float(x[1])})))")
        text = declared(2, 2) + "".join(f"(assert {p.text})\n" for p in properties)
        answer = asked("n.prog", text, "c.txt")
        margins = [p.margin(at) for p in properties]
        failing = [{"line": 5 + i, "margin": str(m)} for i, m in enumerate(margins) if m < 0]
        expect(answer["failing"] == failing and Fraction(answer["nearest"]["margin"]) == min(margins), f"{text} {x}: {answer} {margins}")
        expect(answer["answer"] == ("fails" if failing else "holds") and [Fraction(v) for v in answer["outputs"]] == y, f"{text} {x}: {answer}")
        expect(answer.get("outputs_differ_by", "0") == "0", answer)
        seen.add(answer["answer"])
    expect(seen == {"holds", "fails"}, seen)


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def orders():
    """2^24 + 1 - 2^24 + 3: what comes out depends on the order, and all orders of three products are few."""
    entries = [2.0 ** 24, 1.0, -(2.0 ** 24)]
    net = Floats((1, 3))
    net.floats("W", (3, 1), entries)
    net.call("MatMul", "y", "x", "W")
    model = write(".", "sum.onnx", net.bytes("y"))
    found = set()
    for order in permutations(entries):
        total = order[0]
        for term in order[1:]:
            total = f32(total + term)
        found.add(total)
    answer = asked(model, declared(3, 1) + "(assert (>= Y_0 0.5))\n", "1,1,1", "--orders", "60")
    floats = {row["format"]: row for row in answer["floats"]}
    expect(answer["answer"] == "holds" and answer["nearest"]["margin"] == "1/2" and answer["outputs"] == ["1"], answer)
    expect(found == {0.0, 1.0, 2.0} or found == {0.0, 1.0}, found)
    row = floats["float32"]
    expect((Fraction(row["least"]), Fraction(row["most"])) == (min(found) - Fraction(1, 2), max(found) - Fraction(1, 2)), f"{row} {found}")
    expect(row["holds"] > 0 < row["fails"] and row["holds"] + row["fails"] == 60 and row["no_number"] == 0, row)
    expect(floats["float64"]["holds"] == 60, floats["float64"])
    one = asked(model, declared(3, 1) + "(assert (>= Y_0 0.5))\n", "1,1,1", "--orders", "1")["floats"][0]
    expect((one["fails"], one["least"]) == (1, "-1/2"), f"the file's order: {one}")
    big = asked(model, declared(3, 1) + "(assert (>= Y_0 0.5))\n", "1e38,1,1")["floats"][0]
    expect((big["no_number"], "least" in big) == (16, False), f"beyond float32: {big}")


def others():
    with open("smooth.prog", "w") as out:
        out.write("input x\noutput exp(x)\n")
    text = declared(1, 1) + "(assert (>= Y_0 2.718281828459045))\n(assert (<= Y_0 2.718281828459046))\n"
    expect(asked("smooth.prog", text, "x=1")["answer"] == "holds", "e lies between")
    text = declared(1, 1) + "(assert (<= Y_0 2.718281828459045))\n"
    expect(asked("smooth.prog", text, "x=1")["answer"] == "fails", "e is above")
    e = "2.718281828459045235360287471352662497757247093699959574966967"  # and so on: no 128 bits tell
    for sign, answer in ((">=", "holds"), ("<=", "fails")):
        expect(asked("smooth.prog", declared(1, 1) + f"(assert ({sign} Y_0 {e}))\n", "x=1")["answer"] == answer, f"many digits: {sign}")
    with open("one.prog", "w") as out:
        out.write("input x\noutput exp(x) * exp(-x)\n")
    expect(asked("one.prog", declared(1, 1) + "(assert (>= Y_0 1))\n", "x=1")["answer"] == "undecided", "no precision tells what is equal")
    with open("wide.prog", "w") as out:
        out.write("input x\noutput exp(x), exp(4000*x) * (exp(x) * exp(-x) - 1)\n")
    late = f"(assert (<= Y_0 {e}))\n"
    for first, second, failing, open_ in ((late, "(assert (<= X_0 0))\n", [4, 5], 0), ("(assert (>= Y_1 0))\n", "(assert (<= X_0 0))\n", [5], 1)):
        answer = asked("wide.prog", declared(1, 2) + first + second, "x=1")
        expect([row["line"] for row in answer["failing"]] == failing and answer["not_decided"] == open_, f"all are asked: {answer}")
        expect(answer["nearest"] == {"line": 5, "margin": "-1"}, f"what fails is told, not what is not decided: {answer}")
    shown = said(CLARKE, "check-point", "wide.prog", "--property", "p.vnnlib", "--at", "x=1")[1]
    expect("1 of 2 assertions fail, and of 1 no precision told. That of line 5 fails by 1." in shown, shown)
    for model, words, says in (("smooth.prog", "(assert (<= X_0 0.9999999999999999))", "the assertion fails. That of line 3 fails by about 1e-16."),
                              ("smooth.prog", "(assert (<= (* 1e-390 Y_0) 0))", "fails by less than 1e-300."),
                              ("smooth.prog", "(assert (>= (* 1e390 Y_0) 0))", "the assertion holds. Nearest to failing is that of line 3: it holds by more than 1e+300.")):
        asked(model, declared(1, 1) + words, "x=1")
        shown = said(CLARKE, "check-point", model, "--property", "p.vnnlib", "--at", "x=1")[1]
        expect(says in shown, shown)
    with open("c.txt", "w") as out:
        out.write("((X_0 1) (Y_0 3))")
    answer = asked("smooth.prog", text, "c.txt")
    expect(answer["outputs_differ_by"].startswith("0.28171817154"), answer)
    for model, text, point, why in (
            ("smooth.prog", declared(2, 1) + "(assert (<= Y_0 1))", "x=1", "declares 2 inputs and 1 outputs; smooth.prog has 1 and 1"),
            ("smooth.prog", declared(1, 1) + "(assert (< Y_0 1))", "x=1", "line 3"), ("none.onnx", declared(1, 1) + "(assert (<= Y_0 1))", "1", "none.onnx"),
            ("smooth.prog", declared(1, 1) + "(assert (<= Y_0 1))", "none.txt", "none.txt")):
        answer = asked(model, text, point)
        expect(why in answer.get("error", ""), f"{why}: {answer}")
    with open("c.txt", "w") as out:
        out.write("unsat\n")
    expect("no counterexample" in asked("smooth.prog", declared(1, 1) + "(assert (<= Y_0 1))", "c.txt")["error"], "unsat")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    drawn()
    orders()
    others()
    os.chdir("/")
finish()
