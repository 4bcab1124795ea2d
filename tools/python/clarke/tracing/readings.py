"""Numbers that Python reads for a log before the backward pass, by item(): floats that tell what becomes of them.

A number may come back into the step by an operator, which its trace shows (graph.py), or decide which of two tensors is the loss. So a
comparison is a branch of Python's: of two equal numbers it is refused. Sums, products and roundings of such a number are such numbers.
What C computes of one (math.exp, numpy) is followed no further; the line is told.
"""

class Readings:
    """What was done with the numbers of one step until its backward pass began."""

    def __init__(self, line):
        """line: a function that says where the program is."""
        self.line, self.open, self.lines, self.jumps = line, True, [], []  # where they were compared; where they were at a jump, and why

    def note(self, jump, why):
        if self.open and jump:
            self.jumps.append((self.line(), why))
        elif self.open:
            self.lines.append(self.line())


class Number(float):
    """A float, with the step that it is of."""

    __slots__ = ("readings",)

    def __new__(cls, number, readings):
        made = super().__new__(cls, number)
        made.readings = readings
        return made

    def __reduce__(self):
        return float, (float.__pos__(self),)

    def __float__(self):
        self.readings.note(True, "is taken out by float()")
        return float.__pos__(self)

    def as_integer_ratio(self):
        self.readings.note(True, "is taken out by as_integer_ratio()")
        return float.as_integer_ratio(self)

    def hex(self):
        self.readings.note(True, "is taken out by hex()")
        return float.hex(self)

    def is_integer(self):
        self.readings.note(float.is_integer(self), "is asked whether it is whole, and is")
        return float.is_integer(self)

    def conjugate(self):
        return +self

    @property
    def real(self):
        return +self


def arithmetic(name):
    compute = getattr(float, name)

    def run(self, *others):
        out = compute(self, *others)
        return Number(out, self.readings) if type(out) is float and self.readings.open else out
    return run


def comparison(name):
    compare = getattr(float, name)

    def run(self, other):
        out = compare(self, other)
        if out is not NotImplemented and other is not self:  # x != x asks for NaN
            self.readings.note(float.__eq__(self, other) is True, "is compared with an equal one")
        return out
    return run


def whole(name):
    """To a whole number: of one at which that leaps it is at a jump."""
    compute = getattr(float, name)

    def run(self, *others):
        out = compute(self, *others)
        if type(out) is float:
            return Number(out, self.readings) if self.readings.open else out
        self.readings.note(float.__mul__(self, 2.0) == float.__floor__(float.__mul__(self, 2.0)), "becomes a whole number where that leaps")
        return out
    return run


def remainder(name):
    compute = getattr(float, name)

    def run(self, *others):
        self.readings.note(True, "is divided with a remainder")
        return compute(self, *others)
    return run


def truth(self):
    self.readings.note(float.__eq__(self, 0.0), "is 0, and is asked for its truth value")
    return float.__bool__(self)


for names, make in ((("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "pos", "abs"), arithmetic),
                    (("eq", "ne", "lt", "le", "gt", "ge"), comparison),
                    (("int", "trunc", "floor", "ceil", "round"), whole),
                    (("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod"), remainder)):
    for name in names:
        setattr(Number, f"__{name}__", make(f"__{name}__"))
Number.__bool__ = truth
Number.__hash__ = float.__hash__
