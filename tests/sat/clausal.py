"""Refutations as other solvers write them, of small formulas: by cases, one variable after another."""


def value(true, clause):
    """Of the clause: True, None (its open literals in the second), or False."""
    literals = list(dict.fromkeys(clause))
    if any(l in true for l in literals):
        return True, []
    left = [l for l in literals if -l not in true]
    return (None if left else False), left


class Refuter:
    """Steps (number, literals, hints); the last one is the empty clause, unless the formula can be satisfied."""

    def __init__(self, variables, clauses):
        self.variables = variables
        self.clauses = {k + 1: list(c) for k, c in enumerate(clauses)}
        self.n, self.steps = len(clauses), []
        self.refuted = self.refute([])

    def propagate(self, assumed):
        """What is true; the clauses that made it so; a clause that is false, or None."""
        true, hints, more = set(assumed), [], True
        while more:
            more = False
            for number, clause in self.clauses.items():
                kind, left = value(true, clause)
                if kind is False:
                    return true, hints, number
                if kind is None and len(left) == 1:
                    true.add(left[0])
                    hints.append(number)
                    more = True
        return true, hints, None

    def refute(self, assumed):
        true, hints, false = self.propagate(assumed)
        if false is None:
            open_variables = [v for v in range(1, self.variables + 1) if v not in true and -v not in true]
            if not open_variables:
                return False
            for sign in (1, -1):
                if not self.refute(assumed + [sign * open_variables[0]]):
                    return False
            true, hints, false = self.propagate(assumed)
        self.n += 1
        self.clauses[self.n] = [-l for l in assumed]
        self.steps.append((self.n, [-l for l in assumed], hints + [false]))
        return True


def words(*numbers):
    return " ".join(map(str, numbers))


def lrat(steps, deleted=()):
    text = "c by cases\n"
    for number, literals, hints in steps:
        text += words(number, *literals, 0, *hints, 0) + "\n"
        if number in deleted:
            text += words(number, "d", number, 0) + "\n"
    return text


def drat(steps, deleted=()):
    """deleted: of these steps each is deleted again after the next but one."""
    text, late = "", []
    for number, literals, _ in steps:
        text += words(*literals, 0) + "\n"
        late.append(words("d", *reversed(literals), 0) + "\n" if number in deleted else "")
        if len(late) > 2:
            text += late.pop(0)
    return text


def binary(text):
    """DRAT's bytes for DRAT's text."""
    made, begun = bytearray(), True
    for word in text.split():
        if begun:
            made += b"d" if word == "d" else b"a"
            begun = False
            if word == "d":
                continue
        number = int(word)
        code = 2 * abs(number) + (number < 0)
        while code > 127:
            made.append(code % 128 + 128)
            code //= 128
        made.append(code)
        begun = number == 0
    return bytes(made)
