#!/usr/bin/env python3
"""Writes bolte-lemma1.prog and bolte-products.prog beside this file: identities of matrices in Bolte and Pauwels, section 4, in all
their entries. M = 4 values, of which the first P are inputs."""

from thesis_identities import HERE, product

M, P = 4, 2


def matrix(of):
    return [[of(i, k) for k in range(M)] for i in range(M)]


def unit(i, k):
    return "1" if i == k else "0"


def column(d, at, added):
    """I + d e^T of place `at`; not added: less e e^T."""
    return matrix(lambda i, k: (f"(1 + {d[i]})" if added and i == at else d[i]) if k == at else unit(i, k))


def chain(name, factors, lines):
    made = factors[0]
    for n, factor in enumerate(factors[1:]):
        made = product(f"{name}{n}", made, factor, lines)
    return made


def written(claim, names, lines, a, b):
    lines.append("output " + ", ".join(f"{x} - {y}" for row, other in zip(a, b) for x, y in zip(row, other)))
    at = " ".join(f"{name}={i % 5 - 2}" for i, name in enumerate(names))
    return "\n".join([claim, f"#: at {at}", "#: expect vanishes yes", f"input {', '.join(names)}", *lines]) + "\n"


def lemma_1():
    d = {i: [f"d{i}_{k}" for k in range(M)] for i in range(P, M)}
    keep, lines = [[unit(i, k) for k in range(M)] for i in range(P)], []
    a, b = (chain(name, [keep, *(column(d[i], i, added) for i in range(P, M))], lines) for name, added in (("a", False), ("b", True)))
    return written("""#: claim B-S4L1
#: where Bolte, Pauwels (NeurIPS 2020), Lemma 1
#: says P_p times the product of I - e_i e_i^T + d_i e_i^T is P_p times that of I + d_i e_i^T
#: note for all d_i, whatever their entries; here of four values, two of them inputs""", [x for row in d.values() for x in row], lines, a, b)


def products():
    d = {i: [f"d{i}_{k}" if k < i else "0" for k in range(M)] for i in range(P, M)}
    rows = {i: matrix(lambda j, k: d[i][k] if j == i else unit(j, k)) for i in d}
    first, lines = [[unit(i, k) for k in range(P)] for i in range(M)], []
    last = [[unit(M - 1, k)] for k in range(M)]
    forward = chain("f", [[[x for x, in last]], *(rows[i] for i in reversed(range(P, M))), first], lines)
    backward = chain("b", [[list(row) for row in zip(*first)], *(column(d[i], i, True) for i in range(P, M)), last], lines)
    return written("""#: claim B-S4L1
#: where Bolte, Pauwels (NeurIPS 2020), section 4
#: says forward and backward products agree
#: note here of four values, two of them inputs""", [x for row in d.values() for x in row if x != "0"], lines, forward, [list(row) for row in zip(*backward)])


def main():
    for name, text in ("lemma1", lemma_1()), ("products", products()):
        (HERE / f"bolte-{name}.prog").write_text(text)


if __name__ == "__main__":
    main()
