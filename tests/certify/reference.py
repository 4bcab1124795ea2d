"""Tensor cores by the definition: fractions, one number at a time. Shares nothing with lib/trace.

A number is (is it negative, magnitude as a Fraction). The rules are those of docs/certify.md.
"""

from fractions import Fraction

# name: (bits of the fraction, least exponent, most, the largest number)
FORMATS = {
    "fp16": (10, -14, 15, Fraction(65504)),
    "bf16": (7, -126, 127, Fraction(255) * 2**120),
    "tf32": (10, -126, 127, Fraction(2047) * 2**117),
    "E4M3": (3, -6, 8, Fraction(448)),
    "E5M2": (2, -14, 15, Fraction(57344)),
    "fp32": (23, -126, 127, (2 - Fraction(1, 2**23)) * 2**127),
}
INFINITE = "infinite"


def power(e):
    return Fraction(2) ** e


def place(x):
    """e with 2^e <= x < 2^(e+1), x > 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if power(e) <= x else e - 1


def number(bits):
    """The float32 of these bits; its magnitude may be INFINITE."""
    field, fraction = bits >> 23 & 255, bits & 0x7FFFFF
    if field == 255:
        return bits >> 31 == 1, INFINITE
    return bits >> 31 == 1, Fraction(fraction + (field > 0) * 2**23) * power(max(field, 1) - 150)


def bits_of(x):
    """The bits of a float32 that is exactly x."""
    negative, m = x
    if m == INFINITE:
        return negative << 31 | 0x7F800000
    if m == 0:
        return negative << 31
    e = max(place(m), -126)
    significand = m / power(e - 23)
    assert significand.denominator == 1
    return negative << 31 | int(significand) + (e + 126 << 23)


def rounded(x, name, nearest, fraction=None):
    """In a format, perhaps with fewer bits of the fraction."""
    negative, m = x
    own, least, _, largest = FORMATS[name]
    if m == 0 or m == INFINITE:
        return x
    unit = power(max(place(m), least) - (own if fraction is None else fraction))
    count = m / unit
    down = count.numerator // count.denominator
    rest = count - down
    if nearest and (rest > Fraction(1, 2) or rest == Fraction(1, 2) and down % 2 == 1):
        down += 1
    m = down * unit
    return negative, (INFINITE if place(m) > FORMATS[name][2] else m) if m else m


def exponent(x, name):
    return max(place(x[1]), FORMATS[name][1])


def fused(terms, kept, least, output, fraction):
    """The sum of (number, exponent), each cut off, rounded once."""
    terms = [t for t in terms if t[0][1] != 0]
    if not terms:
        return False, Fraction(0)
    unit = power(max([e for _, e in terms] + ([] if least is None else [least])) - kept)
    total = sum((-1 if negative else 1) * (m / unit).__floor__() * unit for (negative, m), _ in terms)
    d = rounded((total < 0, abs(total)), output, output == "fp16", fraction)
    return d if d[1] != 0 else (False, d[1])


def plus(x, y, output):
    """IEEE 754, to nearest; None is NaN."""
    if INFINITE in (x[1], y[1]):
        if x[1] == y[1] and x[0] != y[0]:
            return None
        return x if x[1] == INFINITE else y
    total = (-1 if x[0] else 1) * x[1] + (-1 if y[0] else 1) * y[1]
    if total == 0:
        return x[0] and y[0] and x[1] == 0 and y[1] == 0, Fraction(0)
    return rounded((total < 0, abs(total)), output, True)


def group(a, b, c, name, rule, output, second=None):
    """second: the format of b, when it is another."""
    if c[1] == INFINITE:
        return c
    terms = [(c, exponent(c, output) if c[1] else 0)]
    for x, y in zip(a, b):
        if x[1] and y[1]:
            terms.append(((x[0] != y[0], x[1] * y[1]), exponent(x, name) + exponent(y, second or name)))
    return fused(terms, rule["kept"], rule.get("least"), output, rule["fraction"])


def dot(a, b, c, name, rule, output):
    """Bits in, bits out."""
    a, b = [number(x) for x in a], [number(x) for x in b]
    c = rounded(number(c), output, True)
    k = len(a)
    groups = {"one": [range(k)], "halves": [range(k // 2), range(k // 2, k)],
              "pairs": [[i for i in range(k) if i % 4 < 2], [i for i in range(k) if i % 4 > 1]]}[rule["groups"]]
    d = c if rule["c"] == "fused" else (False, Fraction(0))
    for g in groups:
        d = group([a[i] for i in g], [b[i] for i in g], d, name, rule, output)
    if rule["c"] == "last":
        d = plus(d, c, output)
    if d is None:
        return 0x7FFFE000 if output == "fp16" else 0x7FFFFFFF
    return bits_of(d)


def rules():
    """(GPU, instruction or None, format, output, K, rule)."""
    found = []

    def add(gpus, kind, inputs, outputs, ks, kept, groups="one", c="fused", least=None, short=None):
        for gpu in gpus:
            for name in inputs:
                for output in outputs:
                    if output == "fp16" and name in ("bf16", "tf32"):
                        continue
                    for k in ks:
                        fraction = 10 if output == "fp16" else short or 23
                        found.append((gpu, kind, name, output, k, dict(kept=kept, groups=groups, c=c, least=least, fraction=fraction)))

    both, fp8, sixteen = ["fp32", "fp16"], ["E4M3", "E5M2"], ["fp16", "bf16"]
    add(["V100"], None, ["fp16"], both, [4], 23)
    add(["A100", "A2", "A10", "A30"], None, sixteen, both, [8], 24)
    add(["A100"], None, ["tf32"], ["fp32"], [4], 24)
    add(["Ada", "L4", "L40S", "RTX4090"], None, sixteen, both, [8], 24)
    add(["Ada"], None, ["tf32"], ["fp32"], [4], 24)
    add(["Ada", "RTX4060Ti"], None, fp8, both, [32], 13, groups="halves", short=13)
    add(["H100", "H200", "GH200"], "mma", sixteen, both, [8, 16], 25, least=-133)
    add(["H100"], "mma", ["tf32"], ["fp32"], [4, 8], 25, least=-133)
    add(["H100"], "mma", fp8, both, [16, 32], 25, groups="pairs", c="last", least=-133)
    add(["H100"], "wgmma", sixteen, both, [16], 25, least=-133)
    add(["H100"], "wgmma", ["tf32"], ["fp32"], [8], 25, least=-133)
    add(["H100"], "wgmma", fp8, both, [32], 13, short=13)
    add(["H100"], None, fp8, ["fp32"], [32], 13, c="none", short=13)
    add(["B200", "GB200"], None, sixteen, both, [16], 25)
    add(["B200"], None, ["tf32"], ["fp32"], [4], 25)
    add(["B200"], None, fp8, both, [32], 25, groups="pairs", c="last")
    return found
