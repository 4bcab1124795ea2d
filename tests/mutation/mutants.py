"""Small changes to C code, each of which some test should notice.

Code is read as tokens, not parsed: an operator's sense is told from its neighbours, which the layout of this repository allows.
What only runs when memory fails, and what frees it, is left alone: no test could tell. So is the end of a loop over i < n, which
would read one entry more of what has room for it.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[uUlLfF]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)""",
    re.S | re.M | re.X)

SWAPPED = {">": ">=", ">=": ">", "<": "<=", "<=": "<", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
           "+=": "-=", "-=": "+="}
OPPOSITE = [("_add", "_sub"), ("_min", "_max"), ("fmin", "fmax"), ("_lower", "_upper")]
# Memory and errors, which tests do not make fail; sizes that only have to be large enough.
UNTESTED = re.compile(r"\bNULL\b|\bCLARKE_OK\b|\bENOMEM\b|CLARKE_ENOMEM|\bstatus\b|\berr\b|alloc\b|\bsizeof\b|clarke_fail|no_memory")
FAILED = re.compile(r"== NULL\b|!= CLARKE_OK\b")
RELEASES = re.compile(r"(?:\w*_)?(?:free|clear|clears|init|inits|end|begin|new)$|^(?:fprintf|printf|snprintf|memset)$")
TYPES = re.compile(r"^(?:static|const|struct|enum|union|typedef|extern|void|bool|char|int|long|unsigned|size_t|double|"
                   r"u?int\d+_t|mp[qz]_t|ar[bf]_t|fmp[qz]_t|goto|else|do|case|default)$")
# Heads of statements; and what takes its arguments in any order.
UNSWAPPED = ("if", "for", "while", "switch", "return", "sizeof", "allocate", "grow")
# The last two may be given in either order.
COMMUTE = re.compile(r"^(?:mp[qz]_(?:add|mul|equal)|strcmp|memcmp|interval_mul)$")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Mutant:
    path: str
    operator: str
    start: int
    end: int
    new: str

    def apply(self, source):
        return source[:self.start] + self.new + source[self.end:]

    def line(self, source):
        return source.count("\n", 0, self.start) + 1

    def change(self, source):
        """The line it begins in, before and after."""
        begin = source.rfind("\n", 0, self.start) + 1
        end = source.find("\n", self.end)
        end = len(source) if end < 0 else end
        old = source[begin:end]
        new = source[begin:self.start] + self.new + source[self.end:end]
        return " ".join(old.split()), " ".join(new.split())


def tokens_of(source):
    return [Token(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(source) if m.lastgroup != "space"]


def closing(tokens, i):
    """The place of the bracket that closes the one at i."""
    depth = 0
    for k in range(i, len(tokens)):
        depth += tokens[k].text in "([{" and tokens[k].kind == "sign"
        depth -= tokens[k].text in ")]}" and tokens[k].kind == "sign"
        if depth == 0:
            return k
    return len(tokens) - 1


def operand(tokens, i, step):
    """The tokens of the operand beside the operator at i, to the left (step -1) or right (1)."""
    depth, taken = 0, []
    k = i + step
    ends = ("&&", "||", ";", ",", "?", ":", "{", "}", "=", "return")
    opens, closes = ("([", ")]") if step > 0 else (")]", "([")
    while 0 <= k < len(tokens):
        text = tokens[k].text
        if tokens[k].kind == "sign" and text in opens:
            depth += 1
        elif tokens[k].kind == "sign" and text in closes:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and text in ends:
            break
        taken.append(tokens[k])
        k += step
    return taken[::step]


def span(tokens):
    return tokens[0].at, tokens[-1].at + len(tokens[-1].text)


def is_binary(tokens, i):
    before = tokens[i - 1]
    return before.kind in ("name", "number") and before.text not in ("return", "case") or before.text in (")", "]")


class Finder:
    def __init__(self, path, source):
        self.path, self.source, self.tokens, self.found = path, source, tokens_of(source), []
        self.boolean = self.functions()
        self.skipped = self.failures()

    def functions(self):
        """For each token: is it in the body of a function that returns bool? None: in none."""
        inside, tokens, i = [None] * len(self.tokens), self.tokens, 0
        while i < len(tokens):
            if tokens[i].text == "{" and i > 0 and tokens[i - 1].text == ")":
                end = closing(tokens, i)
                head = i - 1
                while head > 0 and tokens[head].text not in (";", "}"):
                    head -= 1
                kind = any(t.text == "bool" for t in tokens[head:self.opening(i - 1)])
                inside[i:end + 1] = [kind] * (end + 1 - i)
                i = end
            i += 1
        return inside

    def failures(self):
        """For each token: is it in what is done when something failed, or in the head of a loop?"""
        skipped = [""] * len(self.tokens)
        for i, t in enumerate(self.tokens[:-1]):
            if t.text not in ("if", "for") or self.tokens[i + 1].text != "(":
                continue
            end = closing(self.tokens, i + 1)
            head = " ".join(x.text for x in self.tokens[i + 2:end])
            if t.text == "for":
                skipped[i:end] = ["loop"] * (end - i)
            elif FAILED.search(head):
                last = end + 1
                if self.tokens[last].text == "{":
                    last = closing(self.tokens, last)
                while self.tokens[last].text not in (";", "}"):
                    last += 1
                skipped[end:last] = ["failure"] * (last - end)
        return skipped

    def opening(self, i):
        depth = 0
        while i >= 0:
            depth += self.tokens[i].text == ")"
            depth -= self.tokens[i].text == "("
            if depth == 0:
                return i
            i -= 1
        return 0

    def text(self, start, end):
        return self.source[start:end]

    def line(self, at):
        return self.source[self.source.rfind("\n", 0, at) + 1:self.source.find("\n", at)]

    def add(self, operator, start, end, new):
        if new != self.text(start, end):
            self.found.append(Mutant(self.path, operator, start, end, new))

    def untested(self, i):
        """Is what the token compares about memory or errors?"""
        both = operand(self.tokens, i, -1) + operand(self.tokens, i, 1)
        return not both or bool(UNTESTED.search(" ".join(t.text for t in both)))

    def sign(self, i):
        t = self.tokens[i]
        if t.text in ("+=", "-=") or (t.text in ("+", "-") and is_binary(self.tokens, i)):
            if not self.untested(i) and not UNTESTED.search(self.line(t.at)):
                self.add("sign", t.at, t.at + len(t.text), SWAPPED.get(t.text, "-" if t.text == "+" else "+"))
        elif t.text == "-":
            self.add("sign", t.at, t.at + 1, " ")
        elif t.text in ("&&", "||"):
            self.connective(i)
        elif t.text in SWAPPED and not self.untested(i) and (self.skipped[i] != "loop" or "<" not in t.text):
            self.add("comparison", t.at, t.at + len(t.text), SWAPPED[t.text])
        elif t.text == "!" and not self.untested(i):
            self.add("negation", t.at, t.at + 1, " ")

    def connective(self, i):
        t = self.tokens[i]
        left, right = operand(self.tokens, i, -1), operand(self.tokens, i, 1)
        if not left or not right:
            return
        untested = [bool(UNTESTED.search(" ".join(x.text for x in side))) for side in (left, right)]
        if not any(untested):
            self.add("connective", t.at, t.at + 2, SWAPPED[t.text])
        neutral = "true" if t.text == "&&" else "false"
        for side, skip in zip((left, right), untested):
            if not skip:
                self.add("condition dropped", *span(side), neutral)

    def number(self, i):
        t = self.tokens[i]
        if not t.text.isdigit() or self.tokens[i - 1].text in ("[", "<<", ">>", "%") and self.tokens[i + 1].text == "]" and \
                self.tokens[i + 2].text in (";", ",", "="):
            return
        if UNTESTED.search(self.line(t.at)):
            return
        self.add("constant", t.at, t.at + len(t.text), str(int(t.text) + 1))
        if int(t.text) > 0:
            self.add("constant", t.at, t.at + len(t.text), str(int(t.text) - 1))

    def condition(self, i):
        """if (...): negated, always, never."""
        end = closing(self.tokens, i + 1)
        inner = self.tokens[i + 2:end]
        if not inner or UNTESTED.search(" ".join(t.text for t in inner)):
            return
        start, stop = span(inner)
        self.add("condition negated", start, stop, f"!({self.text(start, stop)})")
        for always in ("true", "false"):
            self.add("condition dropped", start, stop, always)

    def returned(self, i):
        end = i
        while self.tokens[end].text != ";":
            end += 1
        value = self.tokens[i + 1:end]
        if not value or not self.boolean[i] or UNTESTED.search(" ".join(t.text for t in value)):
            return
        start, stop = span(value)
        self.add("return value", start, stop, f"!({self.text(start, stop)})")

    def statement(self, i):
        """The statement that begins at i, if it is one that can be left out."""
        first = self.tokens[i]
        if first.kind != "name" or TYPES.match(first.text) or self.tokens[i + 1].kind == "name" or \
                self.tokens[i + 1].text in ("*", ":"):
            return
        end = i
        while self.tokens[end].text != ";":
            if self.tokens[end].text in "{}":
                return
            end += 1
        text = self.text(first.at, self.tokens[end].at)
        if first.text in ("if", "for", "while", "switch", "return") or RELEASES.match(first.text) or UNTESTED.search(text):
            return
        self.add("statement dropped", first.at, self.tokens[end].at, " ")

    def name(self, i):
        t = self.tokens[i]
        for one, other in OPPOSITE:
            for old, new in ((one, other), (other, one)):
                if self.tokens[i + 1].text == "(" and t.text.endswith(old) and not t.text.startswith("clarke_"):
                    self.add("opposite", t.at, t.at + len(t.text), t.text[:-len(old)] + new)
        if t.text == "if":
            self.condition(i)
        elif t.text == "return":
            self.returned(i)
        if self.tokens[i - 1].text in (";", "{", "}", "else") or self.tokens[i - 1].text == ")" and self.after_head(i - 1):
            self.statement(i)

    def swap(self, i):
        """Arguments of a call beside each other, which are no calls themselves: each of two takes the other's place."""
        end, given = closing(self.tokens, i + 1), [[]]
        for t in self.tokens[i + 2:end]:
            if t.text == ",":
                given.append([])
            else:
                given[-1].append(t)
        if end - i > 2 and all(given) and not any(t.text in "([{" for argument in given for t in argument):
            for one, other in list(zip(given, given[1:]))[:-1 if COMMUTE.match(self.tokens[i].text) else None]:
                (start, middle), (begin, stop) = span(one), span(other)
                self.add("arguments swapped", start, stop, self.text(begin, stop) + self.text(middle, begin) + self.text(start, middle))

    def after_head(self, i):
        head = self.opening(i)
        return head > 0 and self.tokens[head - 1].text in ("if", "for", "while")

    def run(self, swaps):
        for i, t in enumerate(self.tokens[:-1]):
            if self.boolean[i] is None or self.skipped[i] == "failure":
                continue
            if t.kind == "sign":
                self.sign(i)
            elif t.kind == "number":
                self.number(i)
            elif t.kind == "name":
                self.name(i)
                if swaps and self.tokens[i + 1].text == "(" and t.text not in UNSWAPPED:
                    self.swap(i)
        return self.found


def mutants_of(path, source, swaps=False):
    """swaps: those with arguments swapped, too."""
    return list(dict.fromkeys(Finder(path, source).run(swaps)))
