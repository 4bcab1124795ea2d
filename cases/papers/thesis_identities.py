#!/usr/bin/env python3
"""Writes the cases about identities of the thesis that hold for all numbers, and what its chapters 1, 2 and 4 say beside them: thesis-*.prog
beside this file. Of an optimizer's rule a step is made from any state, so that what holds of one or two steps holds for each k; gradients
are those that are preconditioned already (h, h0, h1)."""
from pathlib import Path

HERE = Path(__file__).parent



def product(out, a, b, lines):
    """The entries of a matrix a b, each on its line; entries are names, numbers."""
    made = [[f"{out}{i}{k}" for k in range(len(b[0]))] for i in range(len(a))]
    for i, row in enumerate(a):
        for k in range(len(b[0])):
            terms = [f"{x}*{b[j][k]}" for j, x in enumerate(row) if x != "0" and b[j][k] != "0"]
            lines.append(f"let {made[i][k]} = " + (" + ".join(terms) or "0"))
    return made


def blocks():
    """(2.16) for three layers of two units."""
    m = [[["m100", "m101"]], [[f"m2{i}{k}" for k in range(2)] for i in range(2)], [["m30"], ["m31"]]]
    fixed, free = ([[f"{w}{n}{i}" for i in range(2)] for n in (1, 2)] for w in "fq")
    lines = [f"input {', '.join(x for matrix in m for row in matrix for x in row)}, {', '.join(fixed[0] + fixed[1] + free[0] + free[1])}"]
    block = [row + [f"(-{x})" for x in row] for row in m[0]]
    for n in (0, 1):
        sums = [f"({f} + {q})" for f, q in zip(fixed[n], free[n])] + fixed[n]
        block = product(f"b{n}", block, [[x if i == k else "0" for k in range(4)] for i, x in enumerate(sums)], lines)
        after = m[n + 1]
        block = product(f"c{n}", block, after + after if n == 1 else [row + ["0", "0"] for row in after] + [["0", "0"] + row for row in after], lines)
    chains = []
    for name, entries in ("s", [[f"({f} + {q})" for f, q in zip(fixed[n], free[n])] for n in (0, 1)]), ("t", fixed):
        chain = m[0]
        for n in (0, 1):
            chain = product(f"{name}{n}", chain, [[x if i == k else "0" for k in range(2)] for i, x in enumerate(entries[n])], lines)
            chain = product(f"{name}{n}m", chain, m[n + 1], lines)
        chains.append(chain)
    lines.append("output " + ", ".join(f"{block[i][0]} - {chains[0][i][0]} + {chains[1][i][0]}" for i in range(1)))
    point = " ".join(f"{name.strip()}={i % 5 - 2}" for i, name in enumerate(lines[0].removeprefix("input ").split(",")))
    return "\n".join(["#: claim T2-2.16", "#: where Thesis, Proposition 4, its proof, (2.16)",
                      "#: says the block product is the product less its value at Q_i = 0: for all numbers, here of one input and three layers",
                      "#: note D_i = Q_i + Q_i is printed for Qbar_i + Q_i", f"#: at {point}", "#: expect vanishes yes", *lines]) + "\n"


# Of INNAprop, Algorithm 4 (4.16): from theta and psi (t, p).
STEP = """let p1 = (1 - g/b) * p + g*(1/b - a) * t
let t1 = (1 + g*(1 - a*b) / (b - g)) * t - g/(b - g) * p1 - g*b*h0
"""
STEPS = STEP + """let p2 = (1 - g/b) * p1 + g*(1/b - a) * t1
let t2 = (1 + g*(1 - a*b) / (b - g)) * t1 - g/(b - g) * p2 - g*b*h1
"""

CASES = {
    "step-all-4.11": """#: claim T4-4.11
#: where Thesis, (4.10) to (4.14)
#: says two steps of INNAprop solve (4.11), for all numbers
#: note from any theta and psi: so for each k
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
input t, p, a, b, g, h0, h1
""" + STEPS + """output (t2 - 2*t1 + t) / (g*g) + a*(t1 - t) / g + b*(h1 - h0) / g + h0
""",
    "step-all-4.9": """#: claim T4-4.9
#: where Thesis, (4.7) and (4.9)
#: says INNAprop solves (4.9) as it is printed, for all numbers
#: note with / gamma^2, as in (4.11), it does
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: claimed vanishes yes
#: expect vanishes no
input t, p, a, b, g, h0, h1
""" + STEPS + """output (t2 - 2*t1 + t) / g + a*(t1 - t) / g + b*(h1 - h0) / g + h0
""",
    "step-all-4.16": """#: claim T4-4.16
#: where Thesis, (4.15) and (4.16), Remark 14 (a)
#: says the form with psi_{k+1} is that with psi_k, INNA of ghat, for all numbers
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
#: claim T4-mem
#: where Thesis, 4.4
#: says theta and psi may be changed in place, psi first
#: note theta then reads the new psi; INNA's own form changes both at once
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
input t, p, a, b, g, h0, h1
""" + STEP + """let u1 = t + g * ((1/b - a) * t - p / b - b*h0)
let q1 = p + g * ((1/b - a) * t - p / b)
output t1 - u1, p1 - q1
""",
    "step-all-4.18": """#: claim T4-4.18
#: where Thesis, (4.17) to (4.19)
#: says INNAprop with a momentum term, for all numbers
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
#: claim T4-Rem14b
#: where Thesis, Remark 14 (b), 4.6.2
#: says the variant with momentum is a different method
#: note with a constant gamma it is the same, from any theta and psi
#: at t=1 p=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: claimed vanishes no
#: expect vanishes yes
input t, p, a, b, g, h0, h1
""" + STEPS + """let m = t - t1
output t1 - ((1 - a*g) * m + g*g*h0 + b*g * (h1 - h0)) - t2
""",
    "step-all-4.22": """#: claim T4-4.22
#: where Thesis, (4.20) to (4.23)
#: says m_k - (c/a) ghat_{k-1} needs no earlier gradient, for all numbers
#: at m=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
#: claim T4-4.20
#: where Thesis, (4.20)
#: says so it is with a = 1 - alpha gamma, b = beta gamma, c = gamma (beta - gamma), for all numbers
#: note g_k, g_{k-1} are printed for ghat_k, ghat_{k-1}
#: at m=1 a=1/3 b=2 g=1/5 h0=1 h1=2
#: expect vanishes yes
input m, a, b, g, h0, h1
let A = 1 - a*g
let D = g*(b - g) / A
let next = A*m + g*g*h0 + b*g * (h1 - h0)
let kept = A*(m - D*h0) + (b*g - D) * h1
output next - (kept + D*h1), b*g - D - g*g*(1 - a*b) / A
""",
    "step-all-one": """#: claim T4-11
#: where Thesis, 4.5.1
#: says INNAprop at alpha beta = 1 is a step along ghat, for all numbers
#: note psi stays 0; the step is gamma beta
#: at t=3 a=1/2 g=1/5 h=1
#: expect vanishes yes
input t, a, g, h
let b = 1/a
let p = (1 - a*b) * t
let p1 = (1 - g/b) * p + g*(1/b - a) * t
output p1, (1 + g*(1 - a*b) / (b - g)) * t - g/(b - g) * p1 - g*b*h - (t - g*b*h)
""",
    "step-adamw": """#: claim T4-AdamW
#: where Thesis, Remark 13
#: says Algorithm 3 at alpha = beta = 1 is AdamW with beta_1 = 0
#: at t=3 g=1/5 l=1/100 h=1
#: expect vanishes yes
input t, g, l, h
let d = (1 - l*g) * t
let p1 = (1 - g) * 0 + g * (1 - 1) * d
output p1, (1 + g * 0 / (1 - g)) * d - g / (1 - g) * p1 - g*h - ((1 - l*g) * t - g*h)
""",
    "step-rmsprop": """#: claim T4-Rem13
#: where Thesis, Remark 13, 4.5.1
#: says INNAprop at beta = 0 is RMSprop with momentum
#: note INNAprop divides by beta. Of (4.11) it is RMSprop with momentum whose gradient is one step late: rmsprop-late
#: at t0=1 m=1 a=1/3 g=1/5 h0=1 h1=2
#: claimed vanishes yes
#: expect vanishes no
input t0, m, a, g, h0, h1
let t1 = t0 - g*g*m
let t2 = t1 - g*g * ((1 - a*g) * m + h1)
output (t2 - 2*t1 + t0) / (g*g) + a*(t1 - t0) / g + h0
""",
    "step-rmsprop-late": """#: claim T4-Rem13
#: where Thesis, Remark 13, 4.5.1
#: says at beta = 0, m = (1 - alpha gamma) m + ghat_{k-1} and theta - gamma^2 m solve (4.11), for all numbers
#: at t0=1 m=1 a=1/3 g=1/5 h0=1
#: expect vanishes yes
input t0, m, a, g, h0
let t1 = t0 - g*g*m
let t2 = t1 - g*g * ((1 - a*g) * m + h0)
output (t2 - 2*t1 + t0) / (g*g) + a*(t1 - t0) / g + h0
""",
    "step-all-4.25": """#: claim T4-4.25
#: where Thesis, (4.24) to (4.27)
#: says DINAdam's m and theta - eta m solve (4.24), for all numbers
#: at t=1 m=1 a=1/3 b=2 g=1/5 eta=1/10 h0=1 h1=2
#: expect vanishes yes
input t, m, a, b, g, eta, h0, h1
let s = 1 / (1 + a*g)
let t1 = t - eta*m
let t2 = t1 - eta * (s*m + s*g*g/eta * h1 + s*b*g/eta * (h1 - h0))
output (t2 - 2*t1 + t) / (g*g) + a*(t2 - t1) / g + b*(h1 - h0) / g + h1
""",
    "step-all-4.28": """#: claim T4-4.28
#: where Thesis, (4.28)
#: says with gamma = alpha eta the coefficients are 1 - sigma_1 and alpha beta sigma_1, for all numbers
#: at a=1/3 b=2 eta=1/10
#: expect vanishes yes
input a, b, eta
let g = a*eta
let s = 1 / (1 + a*g)
output s*g*g/eta - (1 - s), s*b*g/eta - a*b*s
""",
    "step-all-gamma": """#: claim T4-gam
#: where Thesis, 4.6.3
#: says with gamma = eta / alpha 1 - sigma_1 is gamma^2 / ((1 + alpha gamma) eta), for all numbers
#: note with gamma = alpha eta it is: thesis-step-all-4.28.prog
#: at a=2 eta=3
#: claimed vanishes yes
#: expect vanishes no
input a, eta
let g = eta/a
output a*g / (1 + a*g) - g*g / ((1 + a*g) * eta)
""",
    "step-all-4.30": """#: claim T4-4.30
#: where Thesis, (4.29), (4.30)
#: says m_k - alpha beta g_{k-1} needs no earlier gradient, for all numbers
#: note its coefficient is (1 - sigma_1)(1 - alpha beta)
#: at m=1 a=1 b=1/2 s=1/10 h0=1 h1=-1/2
#: expect vanishes yes
input m, a, b, s, h0, h1
let next = s*m + (1 - s)*h1 + a*b*s * (h1 - h0)
let kept = s * (m - a*b*h0) + (1 - s + a*b*s - a*b) * h1
output next - (kept + a*b*h1), 1 - s + a*b*s - a*b - (1 - s) * (1 - a*b)
""",
    "step-all-4.31": """#: claim T4-4.31
#: where Thesis, (4.31), (4.34)
#: says theta - eta (m~ - alpha beta g) is theta - eta m, for all numbers
#: note with + alpha beta g it is: thesis-step-all-4.30.prog
#: at m=1 a=1 b=1/2 s=1/10 h0=1 h1=-1/2
#: claimed vanishes yes
#: expect vanishes no
#: claim T4-Alg6
#: where Thesis, Algorithm 6, line 9
#: says theta - gamma (m~ - alpha beta g) / sqrt(v + eps)
#: note the sign, and gamma is printed for eta
#: at m=1 a=1 b=1/2 s=1/10 h0=1 h1=-1/2
#: claimed vanishes yes
#: expect vanishes no
input m, a, b, s, h0, h1
let next = s*m + (1 - s)*h1 + a*b*s * (h1 - h0)
let kept = s * (m - a*b*h0) + (1 - s) * (1 - a*b) * h1
output next - (kept - a*b*h1)
""",
    "step-all-nadam": """#: claim T4-Rem17
#: where Thesis, Remark 17
#: says DINAdam is very close to NAdam; at beta = 0 it is Adam
#: note with the sign put right it is NAdam with the constant mu = 1 - alpha beta, for all numbers
#: at m=1 a=1 b=1/2 s=1/10 h=2
#: expect vanishes yes
input m, a, b, s, h
let kept = s * (1 - a*b) * m + (1 - s) * (1 - a*b) * h
let average = s*m + (1 - s)*h
output kept - (1 - a*b) * average, kept + a*b*h - ((1 - a*b) * average + a*b*h)
""",
    "step-index": """#: claim T4-idx
#: where Thesis, Algorithms 3 to 5
#: says v_k / (1 - sigma^k), from k = 0 on
#: note at k = 0 it divides by 0. With k from 1, or sigma^(k+1), the weights of squares add up to 1
#: at s=9/10
#: claimed value (not 0, 0)
#: expect value (0, 0)
input s
output 1 - s/s, (1 - s) * (s*s + s + 1) / (1 - s*s*s) - 1
""",
    "step-table-4.5": """#: claim T4-Tab4.5
#: where Thesis, Table 4.5
#: says its Adam has no correction: the first step is (1 - beta_1) / sqrt(1 - beta_2) eta
#: note with (1.16) to (1.19) it is eta
#: at g=3 b=9/10 s=999/1000
#: expect value (~3.162, 1)
input g, b, s
let m = (1 - b) * g
let v = (1 - s) * g*g
output m / sqrt(v), m / (1 - b) / sqrt(v / (1 - s))
""",
    "step-hessian": """#: claim T4-hess
#: where Thesis, chapter 4, the dynamics with the Hessian
#: says the Hessian times the velocity is the derivative of the gradient along the path
#: note of J = c2 x^2 + c3 x^3 + c4 x^4 on x = x0 + t v: AD's derivative in t is J''(x) v
#: wrt t
#: at t=1/2 x=1 v=3 c2=1 c3=-2 c4=1/4
#: expect value (-135/8, -111/4)
#: expect ad ((-111/4), (27))
input t, x, v, c2, c3, c4
let y = x + t*v
let rate = (2*c2 + 6*c3*y + 12*c4*y*y) * v
output 2*c2*y + 3*c3*y*y + 4*c4*y*y*y, rate
""",
    "step-well": """#: claim T4-well
#: where Thesis, Remark 12
#: says INNAprop is well defined where gamma < beta
#: note the only divisor is beta - gamma. INNA's own form needs beta > 0 alone
#: at t=1 p=1 a=1 b=1/10 g=99/1000 h0=1
#: expect vanishes yes
#: expect value 0
input t, p, a, b, g, h0
let p1 = (1 - g/b) * p + g*(1/b - a) * t
output (b - g) * ((1 + g*(1 - a*b) / (b - g)) * t - g/(b - g) * p1 - g*b*h0) - ((b - g + g*(1 - a*b)) * t - g*p1 - (b - g)*g*b*h0)
""",
    "step-precision": """#: claim T4-g2
#: where Thesis, 4.6.2
#: says gamma_k^2 falls below the precision of float32 between the epochs 125 and 150
#: note cosine, gamma_0 = 1/1000, T = 200: gamma^2 is below 2^-23 from epoch 121 on, below 2^-24 from 135 on; pi to 20 digits
#: at k=120 pi=3.14159265358979323846
#: expect value (~1.0013, ~2.0026)
#: at k=121 pi=3.14159265358979323846
#: expect value (~0.9586, ~1.917)
#: at k=134 pi=3.14159265358979323846
#: expect value (~0.5055, ~1.011)
#: at k=135 pi=3.14159265358979323846
#: expect value (~0.4782, ~0.9563)
input k, pi
let g = 1/1000 * (1 + cos(k*pi/200)) / 2
output g*g * 8388608, g*g * 16777216
""",
    "step-schedules": """#: claim T4-sched
#: where Thesis, 4.7
#: says the schedules are continuous, and end at gamma_min, gamma_min and 0
#: note cosine; cosine with warm-up, up to W and from D on; linear with warm-up, which has no use for gamma_min. pi to 20 digits
#: at k=0 T=200 W=20 D=180 g0=1/1000 gm=1/100000 pi=3.14159265358979323846
#: expect value (1/1000, 0, 0)
#: at k=20 T=200 W=20 D=180 g0=1/1000 gm=1/100000 pi=3.14159265358979323846
#: expect value (~0.000976, 1/1000, 1/1000)
#: at k=180 T=200 W=20 D=180 g0=1/1000 gm=1/100000 pi=3.14159265358979323846
#: expect value (~0.0000342, ~0.00001, 1/9000)
#: at k=200 T=200 W=20 D=180 g0=1/1000 gm=1/100000 pi=3.14159265358979323846
#: expect value (~0.00001, 1/100000, 0)
input k, T, W, D, g0, gm, pi
let cosine = gm + (g0 - gm) * (1 + cos(k/T*pi)) / 2
let decayed = if k <= D then gm + (g0 - gm) * (1 + cos(pi*(k - W)/(D - W))) / 2 else gm
let warm = if k < W then g0*k/W else decayed
let linear = if k < W then g0*k/W else g0 * (1 - (k - W)/(T - W))
output cosine, warm, linear
""",
    "step-experiments": """#: claim T4-exp
#: where Thesis, Tables 4.2 to 4.4 and the figures
#: says what trainings gave
#: cannot-check trainings on other hardware and data
#: claim T4-inc
#: where Thesis, 4.7 to 4.9
#: says the settings of the experiments
#: cannot-check the text against itself: 20 epochs for short and long runs (200 is meant), Food101 with 200 epochs and 20, sigma .999 and .98, lambda .1 and .01; no program to run. Two parts are checked
""",
    "float-formats": """#: claim T1-fp
#: where Thesis, Table 1.1
#: says numbers of float16 have 11 bits and end at 65504, those of float32 24 bits, of float64 53
#: at x=65504
#: expect float16-value 65504
#: at x=65505
#: expect float16-value 65504
#: at x=1025/1024
#: expect float16-value 1025/1024
#: at x=2049/2048
#: expect float16-value 1
#: at x=8388609/8388608
#: expect float32-value 8388609/8388608
#: at x=16777217/16777216
#: expect float32-value 1
#: at x=340282346638528859811704183484516925440
#: expect float32-value 340282346638528859811704183484516925440
#: at x=4503599627370497/4503599627370496
#: expect float64-value 4503599627370497/4503599627370496
#: at x=9007199254740993/9007199254740992
#: expect float64-value 1
input x
output x
""",
    "float-digits": """#: claim T1-fp
#: where Thesis, Table 1.1
#: says that is 3, 7 and 15 decimal digits; the text has 16
#: at bits=11
#: expect value ~3.31
#: at bits=24
#: expect value ~7.22
#: at bits=53
#: expect value ~15.95
input bits
output bits * log(2) / log(10)
""",
    "theorem3-conservative": """#: claim T2-Th3D
#: where Thesis, Theorem 3
#: says the output of backprop is an element of D_P
#: note here of a program that is 0 everywhere, whose D_P is [-1, 1]
#: at t=0
#: expect ad 1
#: expect conservative [-1, 1]
#: expect clarke 0
#: at t=1
#: expect ad 0
#: expect conservative 0
input t
output relu(-t) + t - relu(t)
""",
} | {"blocks-2.16": blocks()}

if __name__ == "__main__":
    for name, text in CASES.items():
        (HERE / f"thesis-{name}.prog").write_text(text)
