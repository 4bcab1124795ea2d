"""Is what a pass does at each kind of step told by a table? Then a look at the table says which kinds the pass follows, and a new kind
finds its places by CLARKE_STEP_KINDS (lib/op/step.h).

    python3 tests/arrows/kinds.py

A switch over kinds of steps is one that has a case for three of them. LEFT are those that there are still; there may be no others. In the
checker there may be three.
One is planted, and must be seen.
"""

import re
import sys

from arrows import ROOT, without_comments

KIND = re.compile(r"\bcase (CLARKE_(?:GATHER|SUM|SCALE|DENSE|PIECEWISE|ANALYTIC|SOFTMAX|NORMALIZE|MAX|PRODUCT)):")
LEFT = ["network/derive/gradient.c", "network/pass/identity.c", "trace/bound/rounding_back_step.c", "trace/bound/rounding_forward.c",
        "trace/certify/sieve_back_step.c", "trace/certify/sieve_forward.c"]
MOST = 8
# The checker has kinds of its own.
CHECKER_KIND = re.compile(r"\bcase (INPUT|LINEAR|PIECEWISE|SOFTMAX|OVER_ROOT|WINDOW|NORMALIZE|PRODUCT|FUNCTION):")
MOST_IN_CHECKER = 3


def switches(text):
    """What stands in the braces of each switch."""
    for start in re.finditer(r"\bswitch \(", text):
        begin = end = text.index("{", start.end())
        depth = 1
        while depth > 0:
            end += 1
            depth += (text[end] == "{") - (text[end] == "}")
        yield text[begin:end]


def found_in(files, kind=KIND):
    return [name for name, text in sorted(files.items()) for inside in switches(without_comments(text))
            if len(set(kind.findall(inside))) >= 3]


def planted():
    kinds = "switch (s->kind) {\n  case CLARKE_SUM:\n    a();\n    break;\n  case CLARKE_DENSE:\n  case CLARKE_MAX: {\n    b();\n  }\n}\n"
    few = "switch (s->kind) {\n  case CLARKE_SUM:\n    break;\n  default:\n    b();\n}\n"
    own = "switch (st->kind) {\n  case LINEAR: a(); break;\n  case WINDOW: b(); break;\n  case INPUT: break;\n}\n"
    seen = found_in({"audit/a.c": kinds + few}) + found_in({"check/a.c": own + few}, CHECKER_KIND)
    return [] if seen == ["audit/a.c", "check/a.c"] else ["kinds.py: a planted switch is not seen"]


def main():
    lib = ROOT / "lib"
    found = found_in({str(path.relative_to(lib)): path.read_text() for path in lib.rglob("*.[ch]")
                      if path.relative_to(lib).parts[0] != "check"})
    wrong = [f"lib/{name}: a switch over kinds of steps; a table says it (of_kind in lib/network/pass/filter.c)"
             for name in found if name not in LEFT or found.count(name) > 1]
    wrong += [f"kinds.py: lib/{name} has no switch any more" for name in LEFT if name not in found]
    wrong += [f"{len(LEFT)} switches over kinds of steps are more than {MOST}"] if len(LEFT) > MOST else []
    checker = found_in({str(path.relative_to(lib)): path.read_text() for path in (lib / "check").rglob("*.[ch]")}, CHECKER_KIND)
    wrong += [f"lib/check has {len(checker)} switches over kinds of steps, at most {MOST_IN_CHECKER} are said: {', '.join(checker)}"] \
        if len(checker) > MOST_IN_CHECKER else []
    wrong += planted()
    print("\n".join(wrong) or f"{len(found)} switches over kinds of steps are left, and {len(checker)} in the checker")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
