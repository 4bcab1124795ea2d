"""Has each public type of lib a name of its own? A type is public whose name begins with clarke_; a header declares it. Two that
share a name can be read for each other, and no file can include both.

    python3 tests/arrows/type_names.py

The checker is apart, and shares nothing with the rest. Pairs are planted, and must be seen.
"""

import re
import sys

from arrows import ROOT, without_comments

# The name that a typedef gives: the last word, or what a pointer to a function is called.
NAME = re.compile(r"(?:\(\*(clarke_\w+)\).*|\b(clarke_\w+)\s*(?:\[[^\]]*\]\s*)*)\Z", re.S)


def typedefs(text):
    """What each typedef says, up to its semicolon."""
    for start in re.finditer(r"^typedef\b", text, re.M):
        depth, end = 0, start.end()
        while text[end] != ";" or depth > 0:
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        yield text[start.end():end]


def types_of(text):
    """The names of those that a header defines. A struct that is but named is defined where it has members."""
    said = [said for said in typedefs(without_comments(text)) if not re.fullmatch(r"\s*(struct|union|enum) (\w+) \2\s*", said)]
    return {name[1] or name[2] for name in map(NAME.search, said) if name}


def complaints(files):
    """files: texts of headers by their names from lib on."""
    homes = {}
    for name, text in sorted(files.items()):
        for of in types_of(text):
            homes.setdefault(of, []).append(name)
    return [f"{of} is a type in lib/{' and in lib/'.join(names)}" for of, names in sorted(homes.items())
            if len(names) > 1]


def planted():
    one, other = "typedef struct {\n  int n;\n} clarke_row;\n", "typedef enum { A, B } clarke_row;\n"
    if complaints({"a/row.h": one, "b/row.h": "typedef struct {\n  clarke_row *row;\n} clarke_rows;\n"}):
        return ["types.py: complains of nothing"]
    pairs = [(one, one), (one, other), (one, "typedef int clarke_row;\n"), (other, "typedef int (*clarke_row)(int);\n"),
             ("typedef size_t clarke_row[3];\n", one)]
    return [f"planted, and not seen: {a}{b}" for a, b in pairs if len(complaints({"a/row.h": a, "b/row.h": b})) != 1]


def main():
    lib = ROOT / "lib"
    found = complaints({str(path.relative_to(lib)): path.read_text() for path in lib.rglob("*.h")
                        if path.relative_to(lib).parts[0] != "check"}) + planted()
    print("\n".join(found) or "every public type has a name of its own")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
