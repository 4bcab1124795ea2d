"""Is each number rounded up or down in lib/exact/upward.h, and nowhere else?

    python3 tests/arrows/upward.py

A factor that makes up for roundings is easily made too small where nobody looks for it, and then a bound says yes to what is
not so. So none is written by hand: not 1 + 2^-k or 1 - 2^-k, not a power from 2^-50 to 2^-54 times anything, no nextafter, and
neither DBL_EPSILON nor a name of one's own for these. lib/check has no doubles. Some are planted, and must be seen.
"""

import re
import sys

from arrows import ROOT, without_comments

HOME = "exact/upward.h"
FACTOR = re.compile(r"\b1(?:\.0)? *[-+] *(?:[^;,{}]*\* *)?0x1p-\d+"  # 1 + n * 2^-k, and 1 - 2^-k
                    r"|0x1(?:\.8)?p-5[0-4]\b(?! *[,;}?:)]|[fFlL])"     # a rounding's size, times something or added to it
                    r"|[*+-] *0x1(?:\.8)?p-5[0-4]\b"
                    r"|\bnextafterf?\b|\b(?:DBL|FLT)_EPSILON\b"
                    r"|#define +\w+ +\(?0x1p-5[0-4]\b"
                    r"|\b1(?:\.0)? *[-+] *(?:\w+ *\* *)?CLARKE_UNIT\b")
# What is no bound: by file, the line, and why.
OTHERWISE = {
    "op/floats.c": [("apart = 4 * DBL_EPSILON", "how near a guess is, which integers then judge")],
    "step/single_adafactor.c": [("nextafter(x, INFINITY) : (double)nextafterf((float)x, INFINITY)", "the next float of a type: a candidate, no bound")],
    "step/single.c": [("nextafterf((float)r, (float)to) : nextafter(r, to)", "the other neighbour of a root, which a program may store: no bound")],
}


def complaints(files):
    """files: texts by their names from lib on."""
    found = []
    for name, text in sorted(files.items()):
        for line in without_comments(text).splitlines() if name != HOME else ():
            if FACTOR.search(line) and not any(said in line for said, _ in OTHERWISE.get(name, ())):
                found.append(f"lib/{name}: {line.strip()}\n  rounds by hand: exact/upward.h has what to call")
    return found


def planted():
    """Each way to round by hand, one by one; and what looks like one."""
    seen = ["v = s * (1 + 0x1p-40);", "v *= 1 - 0x1p-18;", "const double up = 1 + (double)(n + 8) * 0x1p-52;", "r = n * 0x1p-53 * size;",
            "#define U 0x1p-53", "x = 0x1p-51 * fabs(y);", "return nextafter(x, INFINITY);", "e = DBL_EPSILON * x;",
            "b = v * (1 + 8 * CLARKE_UNIT);", "d = a + 0x1p-52 * b;"]
    unseen = ["return unit != 0x1p-24;", "if (x < 0x1p-20)", "{\"float64\", 0x1p-53, 0x1p-1022},", "x = clarke_up_by(y, 0x1p12);",
              "/* 1 + 2^-52: v * (1 + 0x1p-52) */"]
    wrong = [line for line in seen if len(complaints({"audit/row.c": line})) != 1]
    wrong += [line for line in unseen if complaints({"audit/row.c": line})]
    wrong += [line for line in seen if complaints({HOME: line})]
    return [f"planted, and told wrongly: {line}" for line in wrong]


def stale(files):
    return [f"upward.py: no line of lib/{name} has {said}" for name, lines in OTHERWISE.items() for said, _ in lines
            if said not in files.get(name, "")]


def main():
    lib = ROOT / "lib"
    files = {str(path.relative_to(lib)): path.read_text() for path in lib.rglob("*.[ch]") if path.relative_to(lib).parts[0] != "check"}
    found = complaints(files) + stale(files) + planted()
    print("\n".join(found) or "numbers are rounded up in one place")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
