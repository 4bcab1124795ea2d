"""Which public functions does no test name? Public is a clarke_ function that a header of lib declares and a file of lib
defines, but for the checker, which is reached as a whole (tests/check). A test names a function where its code does; words in
comments do not count.

    python3 tests/arrows/named.py [--list]

There is none: a new function comes with a test that names it. With --list those without one are printed by file, each with the other
files that call it: one that only one other calls may belong there, one that none calls goes. A function is planted that nothing
names; it must be seen.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from arrows import ROOT, without_comments

# The programs in these pages are compiled and run by tests/api.
PAGES = ["docs/api.md"]


def code_of(path):
    text = path.read_text(errors="replace")
    return without_comments(text) if path.suffix in (".c", ".h") else text


def words(text):
    return set(re.findall(r"\w+", text))


def public_functions(root):
    """By name: the file that defines it, and the header. A function in a header is defined there."""
    lib, defined, declared = root / "lib", {}, {}
    files = {path: code_of(path) for path in sorted(lib.rglob("*.[ch]")) if "check" not in path.relative_to(lib).parts}
    for path, text in files.items():
        inline = r"^static inline[^;{}]*?\b" if path.suffix == ".h" else r"^"
        for name in re.findall(inline + r"(clarke_\w+)\([^;{}]*?\)\n\{", text, re.M):
            defined[name] = path
    for path, text in files.items():
        without_macros = re.sub(r"^#(.*\\\n)*.*", "", text, flags=re.M)
        for name in words(without_macros) & defined.keys() if path.suffix == ".h" else ():
            declared.setdefault(name, (defined[name], path))
    return declared


def named(root):
    """The words of all tests."""
    files = [path for path in (root / "tests").rglob("*") if path.suffix in (".c", ".h", ".py")]
    return set().union(*(words(code_of(path)) for path in files + [root / page for page in PAGES if (root / page).is_file()]))


def unnamed(root):
    functions, seen = public_functions(root), named(root)
    return {name: where for name, where in functions.items() if name not in seen}


def show(root):
    by_file = {}
    used = {path: words(code_of(path)) for folder in ("lib", "tools") for path in sorted((root / folder).rglob("*.[ch]"))}
    for name, where in unnamed(root).items():
        by_file.setdefault(where[0].relative_to(root), []).append((name, where))
    for path, functions in sorted(by_file.items()):
        print(path)
        for name, where in functions:
            callers = [str(path.relative_to(root)) for path in used if name in used[path] and path not in where]
            print(f"  {name}:", " ".join(callers) or "nobody else")
    print(f"{len(unnamed(root))} of {len(public_functions(root))} public functions are named by no test")


def complaints(root):
    return [f"{where[0].relative_to(root)}: no test names {name}" for name, where in unnamed(root).items()]


def planted():
    """One that a comment names alone, and one in a header. Each is to be seen."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("lib/base", "tests/base"):
            (root / name).mkdir(parents=True)
        (root / "lib/base/row.h").write_text("void clarke_row(int n);\nstatic inline int\nclarke_turn(int n)\n{\n  return -n;\n}\n")
        (root / "lib/base/row.c").write_text("static void\ninside(void)\n{\n}\n\nvoid\nclarke_row(int n)\n{\n}\n")
        test = root / "tests/base/test_row.c"
        test.write_text("/* clarke_row */ int a = clarke_turn(1);\n")
        if complaints(root) != ["lib/base/row.c: no test names clarke_row"]:
            return f"a function that no test names is not seen: {complaints(root)}"
        test.write_text("int a;\n")
        if len(complaints(root)) != 2:
            return "a function of a header that no test names is not seen"
        test.write_text("int a = clarke_turn(1); void b(void) { clarke_row(1); }\n")
        return None if complaints(root) == [] else "a function that a test names is said to have none"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        show(ROOT)
        return
    found = complaints(ROOT)
    unseen = planted()
    found += [unseen] if unseen else []
    print("\n".join(found) or "tests name every public function")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
