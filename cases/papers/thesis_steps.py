#!/usr/bin/env python3
"""Writes the cases about optimizers' rules (thesis, chapter 4): thesis-step-*.prog beside this file. Gradients are those that are
preconditioned already (h0, h1, ...), so that no root enters."""
from pathlib import Path

from thesis_costs import at, claim

HERE = Path(__file__).parent


def case(name, lines, *claims):
    (HERE / f"thesis-step-{name}.prog").write_text("\n".join([line for c in claims for line in c] + lines) + "\n")


def innaprop(steps, size="g"):
    """psi beside theta, Algorithm 4 (4.16): t1, t2, ..."""
    lines = [f"let p0 = (1 - a*b) * t0"]
    for k in range(steps):
        now, g = ("t0" if k == 0 else f"t{k}"), size.format(k=k + 1)
        lines += [f"let p{k + 1} = (1 - {g}/b) * p{k} + {g}*(1/b - a) * {now}",
                  f"let t{k + 1} = (1 + {g}*(1 - a*b) / (b - {g})) * {now} - {g}/(b - {g}) * p{k + 1} - {g}*b*h{k}"]
    return lines


def inna(steps):
    lines = ["let q0 = (1 - a*b) * t0"]
    for k in range(steps):
        now = "t0" if k == 0 else f"u{k}"
        lines += [f"let q{k + 1} = q{k} + g * ((1/b - a) * {now} - q{k} / b)",
                  f"let u{k + 1} = {now} + g * ((1/b - a) * {now} - q{k} / b - b*h{k})"]
    return lines


def momentum(steps):
    """(4.17) to (4.19)"""
    lines = ["let m1 = b*g*h0", "let s1 = t0 - m1"]
    for k in range(1, steps):
        lines += [f"let m{k + 1} = (1 - a*g) * m{k} + g*g*h{k - 1} + b*g * (h{k} - h{k - 1})", f"let s{k + 1} = s{k} - m{k + 1}"]
    return lines


INPUT = "input t0, a, b, g, h0, h1, h2"
POINTS = ("t0=1 a=1/3 b=2 g=1/5 h0=1 h1=2 h2=-3", "t0=-2 a=2 b=2 g=1/10 h0=1 h1=-1/2 h2=1/4", "t0=1/7 a=1/10 b=9/10 g=1/10 h0=5 h1=0 h2=-1/3")


def same(value, *points, **more):
    return [at(p, value=value, **more) for p in points]


def recursions():
    case("4.11", [INPUT, *innaprop(3), "let r1 = (t2 - 2*t1 + t0) / (g*g) + a*(t1 - t0) / g + b*(h1 - h0) / g + h0",
                  "let r2 = (t3 - 2*t2 + t1) / (g*g) + a*(t2 - t1) / g + b*(h2 - h1) / g + h1", "output r1, r2"],
         claim("T4-4.11", "(4.10) to (4.14)", "INNAprop solves (4.11)", *same("(0, 0)", *POINTS)))
    case("4.9", [INPUT, *innaprop(2), "output (t2 - 2*t1 + t0) / g + a*(t1 - t0) / g + b*(h1 - h0) / g + h0"],
         claim("T4-4.9", "(4.7) and (4.9)", "the inertial term is (theta_{k+1} - 2 theta_k + theta_{k-1}) / gamma",
               at("t0=1 a=1/3 b=2 g=1/5 h0=1 h1=1 h2=0", value="4/15", wrong={"value": 0}),
               at("t0=1 a=1/3 b=2 g=1/5 h0=1 h1=2 h2=0", value="124/15", wrong={"value": 0}), note="/ gamma^2 is meant, as in (4.11)"))
    case("4.16", [INPUT, *innaprop(3), *inna(3), "output t1 - u1, t2 - u2, t3 - u3"],
         claim("T4-4.16", "(4.15) and (4.16), Remark 14 (a)", "the form with psi_{k+1} is that with psi_k, INNA of ghat",
               *same("(0, 0, 0)", *POINTS)))
    case("4.18", [INPUT, *innaprop(3), *momentum(3), "output t1 - s1, t2 - s2, t3 - s3"],
         claim("T4-4.18", "(4.17) to (4.19)", "INNAprop with a momentum term", *same("(0, 0, 0)", *POINTS)),
         claim("T4-Rem14b", "Remark 14 (b), 4.6.2", "the variant with momentum is a different method",
               *same("(0, 0, 0)", *POINTS, wrong={"value": "not (0, 0, 0)"}), note="from m = 0 and psi_0 = (1 - alpha beta) theta_0, with constant gamma"))
    tilde = [line for k in (1, 2) for line in (f"let A{k} = 1 - a*g{k}", f"let D{k} = g{k}*(b - g{k}) / A{k}")]
    tilde += ["let n1 = (b*g1 - D1) * h0", "let w1 = t0 - n1 - D1*h0", "let n2 = A2*n1 + (b*g2 - D2) * h1"]
    case("varying", ["input t0, a, b, g1, g2, h0, h1", *innaprop(2, size="g{k}"), *tilde, "output t2, w1 - n2 - D2*h1"],
         claim("T4-Rem14b", "Remark 14 (b), 4.6.2", "with a gamma that varies it is another method",
               at("t0=1 a=1/10 b=9/10 g1=1/10 g2=1/20 h0=1 h1=2", value="(16309/20000, 1605491/1980000)")))
    case("4.22", [INPUT, *momentum(3), "let A = 1 - a*g", "let B = b*g", "let C = g*(b - g)",
                  "let n1 = (B - C/A) * h0", "let w1 = t0 - n1 - C/A*h0", "let n2 = A*n1 + (B - C/A) * h1", "let w2 = w1 - n2 - C/A*h1",
                  "let n3 = A*n2 + (B - C/A) * h2", "output w1 - s1, w2 - s2, w2 - n3 - C/A*h2 - s3"],
         claim("T4-4.22", "(4.21) to (4.23)", "the memory of a gradient is saved", *same("(0, 0, 0)", *POINTS)),
         claim("T4-4.20", "(4.20)", "so it is with the preconditioned gradients", at(POINTS[0], value="(0, 0, 0)"),
               note="g_k, g_{k-1} are printed for ghat_k, ghat_{k-1}"))
    case("one", [INPUT, *innaprop(2), "output t1 - (t0 - g*b*h0), t2 - (t0 - g*b*h0 - g*b*h1)"],
         claim("T4-11", "4.5.1", "INNAprop at alpha = beta = 1 is a step along ghat", at("t0=3 a=1 b=1 g=1/5 h0=1 h1=2 h2=0", value="(0, 0)"),
               at("t0=3 a=1/2 b=2 g=1/5 h0=1 h1=-7 h2=0", value="(0, 0)"), note="and wherever alpha beta = 1, with the step gamma beta"))
    case("decay", ["input t, a, b, g, l", "let d = (1 - l*g) * t", "let p = (1 - g/b) * (1 - a*b) * t + g*(1/b - a) * d",
                   "output (1 + g*(1 - a*b) / (b - g)) * d - g/(b - g) * p"],
         claim("T4-wd", "Algorithm 3", "its weight decay is decoupled: with a gradient of 0 theta becomes (1 - lambda gamma) theta",
               at("t=1 a=2 b=2 g=1/100 l=1/100", value="1999803/2000000", wrong={"value": "9999/10000"}),
               at("t=1 a=1 b=1 g=1/100 l=1/100", value="9999/10000"), note="psi carries the decay unless alpha beta = 1"))


def dinadam():
    case("gamma", ["input a, eta, g", "output a*g / (1 + a*g), g*g / ((1 + a*g) * eta)"],
         claim("T4-gam", "4.6.3", "1 - sigma_1 = alpha gamma / (1 + alpha gamma) is gamma^2 / ((1 + alpha gamma) eta) for gamma = eta / alpha",
               at("a=2 eta=3 g=3/2", value="(3/4, 3/16)", wrong={"value": "(3/4, 3/4)"}),
               at("a=2 eta=3 g=6", value="(12/13, 12/13)"), note="gamma = alpha eta is meant"))
    lines = ["input t0, a, b, eta, h0, h1, h2", "let s = 1 / (1 + a*a*eta)",
             "let m1 = (1 - s)*h0 + a*b*s*h0", "let m2 = s*m1 + (1 - s)*h1 + a*b*s*(h1 - h0)", "let m3 = s*m2 + (1 - s)*h2 + a*b*s*(h2 - h1)"]
    tilde = ["let n1 = (1 - s)*(1 - a*b)*h0", "let n2 = s*n1 + (1 - s)*(1 - a*b)*h1", "let n3 = s*n2 + (1 - s)*(1 - a*b)*h2"]
    numbers = "t0=1 a=1 b=1/2 eta=1/10 h0=1 h1=-1/2 h2=1/4"
    case("dinadam", [*lines, *tilde, "let t1 = t0 - eta*(n1 + a*b*h0)", "let t2 = t1 - eta*(n2 + a*b*h1)", "output t1, t2, t2 - eta*(n3 + a*b*h2)"],
         claim("T4-4.31", "(4.31), (4.34), Algorithm 6", "theta - eta (m - alpha beta g)",
               at(numbers, value="(52/55, 586/605, 6344/6655)", wrong={"value": "(23/22, 493/484, 10949/10648)"}),
               note="m + alpha beta g: so theta follows from (4.28)"),
         claim("T4-Rem17", "Remark 17", "beta = 0 gives Adam, here without its root",
               at("t0=1 a=1 b=0 eta=1/10 h0=1 h1=0 h2=0", value="(109/110, 1189/1210, 12979/13310)")))
    case("4.30", [*lines, *tilde, "output m2 - (n2 + a*b*h1), m3 - (n3 + a*b*h2)"],
         claim("T4-4.30", "(4.28) to (4.30)", "m_k - alpha beta g_{k-1} needs no earlier gradient", at(numbers, value="(0, 0)")))


def numbers():
    case("speed-ups", ["input full, steps", "output full / steps"],
         claim("T4-Tab4.4", "Table 4.4", "GPT-2 small is 1.26 times faster, mini 1.96 times",
               at("full=100000 steps=79000", value="~1.27", wrong={"value": "~1.26"}), at("full=100000 steps=51000", value="~1.96"),
               note="1.2658, cut off"))
    case("accuracies", ["input a, b, c", "output (a + b + c) / 3"],
         claim("T4-inc", "4.7 to 4.9", "ResNet18 with AdamW comes to 69.43 % (the text), or 69.34 % (Table 4.3)",
               at("a=69.336 b=69.312 c=69.364", value="~69.34", wrong={"value": "~69.43"}), note="where the three runs of the authors' logs end"))
    case("grid", ["input first, step, x, y", "output (x - first) / step, (y - first) / step"],
         claim("T4-inc", "4.7 to 4.9", "the grid .1, .5, .9, ..., 3.5, 4.0 of step .4 has 2.0 and 4.0",
               at("first=1/10 step=2/5 x=2 y=4", value="(19/4, 39/4)", wrong={"value": "two whole numbers"}), note="which number of the grid each would be"))
    case("algorithm5", ["input g, s", "let v = (1 - s)*g*g", "output g / sqrt(v), g / sqrt(v / (1 - s))"],
         claim("T4-Alg5", "Algorithm 5", "INNAprop with alpha = beta = 1 (Algorithm 4) corrects v: its first ghat is 1",
               at("g=3 s=9/10", value="(~3.162, 1)", wrong={"value": "(1, 1)"}), note="Algorithm 4 has no correction; Algorithm 3 has"))


if __name__ == "__main__":
    for part in (recursions, dinadam, numbers):
        part()
