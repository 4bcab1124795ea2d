"""Is what a header of lib declares explained there? And does each comment begin as a sentence does that has a subject?

    python3 tests/arrows/comments.py

A function has a comment beside it, or stands in a block of lines that begins with one, or with a comment between. Those that end in
_init, _clear and _free do what their names say, and need none. No comment begins with "Of": a reader would have to guess of what it
speaks ("The degree of a step", not "Of a step"). Some are planted, and must be seen.
"""

import re
import sys

from arrows import ROOT

PAIR = re.compile(r"_(init|clear|free)$")
FUNCTION = re.compile(r"(?!typedef\b|_Static_assert\b|(?:struct|union|enum)\b[^(]*\{)[\w\s*]*?\b(\w+)\(")
COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.S)
OF = re.compile(r"(?:/\*|^ *\*|//)[-\s]*Of |^(?:[^\"'\n]*\s)?# *Of |\"\"\" *Of ", re.M)


def pieces(text):
    """(Line, text) of what stands at the top of a header: declarations, whole; comments; directives; blank lines."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        begin, piece, done = at, "", False
        while not done and at < len(lines):
            piece += lines[at] + "\n"
            at += 1
            bare = COMMENT.sub("", piece)
            declared = not bare.startswith("#") and bare.strip() and (bare.count("{") != bare.count("}") or bare.rstrip()[-1] not in ";}")
            done = piece.count("/*") == piece.count("*/") and not declared and not (bare.startswith("#") and piece.endswith("\\\n"))
        yield begin + 1, piece


def unexplained(text):
    """(Line, name) of the functions without a comment."""
    said = False
    for line, piece in pieces(text):
        bare = COMMENT.sub("", piece).strip()
        said = said and piece.strip() != "" or piece.startswith("/*")
        function = FUNCTION.match(bare)
        if function and not said and not PAIR.search(function[1]) and "/*" not in piece.split("{")[0]:
            yield line, function[1]


def complaints(headers, texts):
    """Both by name."""
    found = [f"{name}:{line}: {function} has no comment" for name, text in headers.items() for line, function in unexplained(text)]
    return found + [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: a comment begins with 'Of'" for name, text in texts.items() for m in OF.finditer(text)]


def planted():
    """Headers of which one function is to be told, and of which none is; lines likewise."""
    seen = ["int f(int a);\n", "/* A file. */\n\nint f(int a);\n", "/* One. */\nint g(void);\n\nint f(int a,\n      int b);\n",
            "typedef struct {\n  int a; /* one */\n} a;\n\na f(a x);\n", "static inline int\nf(int a)\n{\n  return a; /* a */\n}\n", "#define A \\\n  /* */ 1\nint f(int a);\n"]
    unseen = ["/* One. */\nint f(int a);\nint g(int a);\n", "int f(int a); /* one */\n", "void f_init(f *a);\nvoid f_clear(f *a);\n", "/* One\n * line. */\n#define A 1\nint f(int a);\n",
              "int f(int a,\n      int b); /* one */\n", "/* One. */\nstatic inline int\nf(int a)\n{\n  return a;\n}\n", "typedef int f(int a);\n", "extern const int a[2];\n"]
    spoken, silent = ["/* Of a step. */", "  /* Of a step. */", "/* A step.\n * Of its entries. */", "int a; /* Of a step. */", "# Of a step.", "a = 1  # Of a step.",
                      '"""Of a step."""'], ["/* Off. */", "/* One of a step. */", "/* ---- of a step */", 'puts("# Of a step")', "/* A step. Of its\n * entries. */"]
    wrong = [text for text in seen if len(list(unexplained(text))) != 1] + [text for text in unseen if list(unexplained(text))]
    wrong += [text for text in spoken if len(complaints({}, {"a": text})) != 1] + [text for text in silent if complaints({}, {"a": text})]
    return [f"planted, and told wrongly: {text!r}" for text in wrong]


def main():
    headers = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "lib").rglob("*.h"))}
    texts = {str(path.relative_to(ROOT)): path.read_text() for folder in ("lib", "tools") for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".c", ".h", ".py", ".cu")}
    found = complaints(headers, texts) + planted()
    print("\n".join(found) or "headers explain their functions, and comments have subjects")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
