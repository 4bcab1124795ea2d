"""What docs/proof-format.md, "Networks of formulas", says of formulas and proofs, a second time, plainly: for tests to compare
with."""

from fractions import Fraction


def read_dimacs(text):
    """(variables, clauses); ValueError when it is no formula."""
    words, header = [], None
    for line in text.split("\n"):
        if line.lstrip(" \t\r").startswith("c"):
            continue
        found = line.split()
        if found and header is None:
            if len(found) != 4 or found[:2] != ["p", "cnf"] or not (found[2] + found[3]).isdigit():
                raise ValueError("header")
            header = int(found[2]), int(found[3])
        else:
            words += found
    if header is None:
        raise ValueError("no header")
    clauses, open_clause = [], []
    for w in words:
        if not w.lstrip("-").isdigit() or w.count("-") > 1 or w == "-0" or abs(int(w)) > header[0]:
            raise ValueError(w)
        if int(w) != 0:
            open_clause.append(int(w))
            continue
        clauses.append(open_clause)
        open_clause = []
    if open_clause or len(clauses) != header[1]:
        raise ValueError("clauses")
    return header[0], clauses


def three(variables, clauses):
    """(variables, clauses of three literals, a power of two of them)."""
    q, made = max(variables, 1), []
    for clause in clauses:
        left = list(dict.fromkeys(clause))
        if not left:
            made += [(1, 1, 1), (-1, -1, -1)]
        elif len(left) <= 3:
            made.append((left[0], left[min(1, len(left) - 1)], left[-1]))
        else:
            before = left[0]
            for literal in left[1:-2]:
                q += 1
                made.append((before, literal, q))
                before = -q
            made.append((before, left[-2], left[-1]))
    while not made or len(made) & (len(made) - 1):
        made.append((1, -1, -1))
    return q, made


def value(clauses, x):
    """F(x), x[0] being unused."""
    return min(max(0, *((1 if l > 0 else -1) * x[abs(l)] for l in c)) for c in clauses)


def satisfiable(variables, clauses):
    return any(all(any((l > 0) == (a >> abs(l) - 1 & 1) for l in c) for c in clauses) for a in range(2 ** variables))


def refutes(variables, clauses, lines):
    """Do the lines `learn` and `delete` refute the clauses?"""
    there, last = {k + 1: c for k, c in enumerate(clauses)}, len(clauses)
    for line in lines:
        words = line.split(" ")
        numbers = [int(w) for w in words[1:]]
        if words[0] == "delete":
            for k in numbers:
                del there[k]
            continue
        cut = numbers.index(0, 1)
        literals, hints = numbers[1:cut], numbers[cut + 1:]
        if words[0] != "learn" or numbers[0] != last + 1 or len({abs(l) for l in literals}) != len(literals):
            return False
        if any(abs(l) > variables for l in literals):
            return False
        false, ended = set(literals), False
        for k in hints:
            left = {l for l in there[k] if l not in false}
            if ended or len(left) > 1 or any(-l in false for l in left):
                return False
            ended = not left
            false |= {-l for l in left}
        if not ended:
            return False
        last += 1
        there[last] = literals
        if not literals:
            return line is lines[-1]
    return False


def holds(proof, formula):
    """Is the evidence of a proof's text right, for a formula's text? The model is not looked at."""
    lines = proof.split("\n")
    q, clauses = three(*read_dimacs(formula))
    if lines[1] == "verdict differentiable" and lines[5] == "evidence refutation":
        return refutes(q, clauses, lines[6:-2])
    d = [Fraction(0)] + [Fraction(w) for w in lines[6].split(" ")[1:]]
    if lines[1] != "verdict not-differentiable" or lines[5] != "evidence opposite" or len(d) != q + 1:
        return False
    return value(clauses, d) + value(clauses, [-v for v in d]) != 0
