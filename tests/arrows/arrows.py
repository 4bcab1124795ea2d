"""Does data flow one way through lib? Each include is held to rooms.txt, and CONTRIBUTING.md's table to the same list. In the
checker it is held to checker.txt, rooms and an order of files; and what its files share is set by one file. Outside of it a header fronts
the file of its name: what it declares is defined there.

    python3 tests/arrows/arrows.py [--table]

With --table the table is printed. The test plants arrows that point back, one out of the checker, a variable that is set
by a file that does not own it, and a function that a stranger's header declares; it must see each.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
# What the checker is made of: the C library, POSIX and GMP; and the compiler's names of instructions, for SHA-256.
CHECKER = {"gmp.h", "cpuid.h", "immintrin.h"}
C_LIBRARY = re.compile(r"(assert|ctype|errno|float|inttypes|limits|math|pthread|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|"
                       r"strings|time|unistd|fcntl|sys/[a-z]+)\.h")


def read_rooms(path):
    """By name, in order: what it holds, whose headers it may include."""
    rooms, name = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("  may include:"):
            rooms[name] = rooms[name][0], line.split(":")[1].split()
        elif line and not line.startswith(("#", " ", "links ", "room ")):
            name, _, holds = line.partition(":")
            rooms[name] = holds.strip(), []
    return rooms


def read_checker(path):
    """The checker's rooms as read_rooms gives them, "top" being its own folder; and its files, ROOM/NAME, in order."""
    rooms, order = read_rooms(path), []
    for line in path.read_text().splitlines():
        if line.startswith("  ") and not line.startswith("  may include:"):
            order += [name if room == "top" else f"{room}/{name}" for name in line.split()]
        elif line and not line.startswith(("#", " ", "links ", "room ")):
            room = line.partition(":")[0]
    return rooms, order


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def checker_room(name):
    return name.rpartition("/")[0] or "top"


def order_complaints(folder, rooms, order):
    """Includes of the checker that its rooms or their order do not allow, and what the order says of files that are not so."""
    found = []
    for path in sorted(folder.rglob("*.[ch]")):
        own = str(path.relative_to(folder).with_suffix(""))
        if own not in order:
            found.append(f"check/{own}{path.suffix}: not in checker.txt")
            continue
        for mark, name in INCLUDE.findall(path.read_text()):
            header = name.removeprefix("check/").removesuffix(".h")
            if mark != '"' or header not in order:
                continue
            if order.index(header) > order.index(own):
                found.append(f"check/{own}{path.suffix}: {name} points back: checker.txt has it after {own}")
            elif checker_room(header) not in [checker_room(own), *rooms[checker_room(own)][1]]:
                found.append(f"check/{own}{path.suffix}: {name} is of a room that {checker_room(own)} may not include")
    return found + [f"checker.txt: no file check/{name}.c or .h" for name in order if not list(folder.glob(f"{name}.[ch]"))]


def headers_of(path, lib, seen=()):
    """The headers of lib that a file includes, by itself or through others."""
    for mark, name in INCLUDE.findall(path.read_text()):
        if mark == '"' and name not in seen and (lib / name).is_file():
            seen = headers_of(lib / name, lib, (*seen, name))
    return seen


def set_complaints(folder):
    """Variables of the checker that are set by a file other than the one whose header declares them."""
    found = []
    files = {path: (headers_of(path, folder.parent), without_comments(path.read_text())) for path in sorted(folder.rglob("*.c"))}
    for header in sorted(folder.rglob("*.h")):
        for line in re.findall(r"^extern (?!const)([^;(]*);", without_comments(header.read_text()), re.M):
            for name in re.findall(r"(\w+)(?=,|$)", line):
                sets_it = re.compile(rf"(?<![\w.>]){name}(\s*([-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(\+\+|--){name}\b")
                found += [f"{path.relative_to(folder.parent)}: sets {name}, which is {header.stem}.c's"
                          for path, (headers, text) in files.items()
                          if path.with_suffix(".h") != header and str(header.relative_to(folder.parent)) in headers
                          and sets_it.search(text)]
    return found


def read_links(path):
    """Of each kind of verdict: the files that check it, and the most lines that these and all that they use may have."""
    lines = re.findall(r"^links ([\w ]+): at most (\d+) lines from (.+)$", path.read_text(), re.M)
    return {kind: (files.split(), int(most)) for kind, most, files in lines}


def size_complaints(folder, path):
    """Rooms that have more lines, with headers, than is said of them."""
    found = []
    for room, most in re.findall(r"^room ([\w/]+): at most (\d+) lines$", path.read_text(), re.M):
        lines = sum(file.read_text().count("\n") for file in (folder / room).glob("*.[ch]"))
        found += [f"{path.name}: {room} has {lines} lines, at most {most} are said"] if not 0 < lines <= int(most) else []
    return found


def closure(folder, files):
    """The checker's files that these use, and how many lines they have: each, its headers, and the files that define what these
    headers declare, functions and tables. Of NAME:alone the file and its header, and nothing that these use."""
    texts = {path: path.read_text() for path in sorted(folder.rglob("*.[ch]"))}
    defined = {name: path for path, text in texts.items() if path.suffix == ".c"
               for name in re.findall(r"^(?!static|typedef|#)\w[\w *]*\n(\w+)\(", text, re.M)
               + re.findall(r"^const \w[\w *]*\b(\w+)(?:\[\w*\])? = ", text, re.M)}
    todo = [folder / f"{file}.c" for file in files if not file.endswith(":alone")]
    seen = {folder / (file.removesuffix(":alone") + end) for file in files if file.endswith(":alone") for end in (".c", ".h")} & set(texts)
    while todo:
        path = todo.pop()
        if path in seen or path not in texts:
            continue
        seen.add(path)
        todo += [folder.parent / name for mark, name in INCLUDE.findall(texts[path]) if mark == '"']
        if path.suffix == ".h":
            said = without_comments(texts[path])
            declared = re.findall(r"\b(\w+)\(", said) + re.findall(r"^extern const [\w *]*\b(\w+)(?:\[\w*\])?;", said, re.M)
            todo += [defined[name] for name in declared if name in defined]
    return {path: texts[path].count("\n") for path in seen}


def link_complaints(folder, links):
    """Kinds of verdict that use more lines than is said of them; or so many fewer that it should be said anew."""
    found = []
    for kind, (files, most) in links.items():
        lines = sum(closure(folder, files).values())
        if lines > most or lines <= most - 600:
            found.append(f"checker.txt: {kind} links {lines} lines: say at most {-(-lines // 100) * 100}, if it must be more")
    return found


def room_of(name, rooms):
    """The room of a file, named from lib on: the innermost folder that is one. Of a stranger its first folder."""
    folders = [str(folder) for folder in Path(name).parents]
    return next((folder for folder in folders if folder in rooms), Path(name).parts[0])


def complaint(path, mark, name, lib, rooms):
    """What is wrong with an include, or None."""
    room = room_of(path.relative_to(lib), rooms)
    if room == "check":
        outside = not name.startswith("check/") or not (lib / name).is_file()
        if mark == '"' and outside or mark == "<" and name not in CHECKER and not C_LIBRARY.fullmatch(name):
            return "is not the checker's own, the C library's or GMP's"
        return None
    if mark == "<":
        return None
    if not (lib / name).is_file() and name != "clarke.h":
        return "is no header of lib (write ROOM/FILE.h)"
    into, may = room_of(name, rooms), rooms[room][1]
    if into != room and into not in may and into.split("/")[0] not in may:
        return f"points back: {room} may include {', '.join(may) or 'nothing else'}"
    return None


def complaints(root, rooms):
    lib, found = root / "lib", []
    for path in sorted(lib.rglob("*.[ch]")):
        if path.parent == lib:  # the door
            continue
        if room_of(path.relative_to(lib), rooms) not in rooms:
            found.append(f"{path.relative_to(root)}: in no room of rooms.txt")
            continue
        for mark, name in INCLUDE.findall(path.read_text()):
            why = complaint(path, mark, name, lib, rooms)
            if why:
                found.append(f"{path.relative_to(root)}: {name} {why}")
    for path in sorted((root / "tools").rglob("*.[ch]")):
        found += [f"{path.relative_to(root)}: {name} is the checker's" for _, name in INCLUDE.findall(path.read_text())
                  if name.startswith(("check/", "lib/"))]
    return found


def fronts(header, source):
    """May the header declare what the file defines? Both are paths below lib without their endings. X.h speaks for X.c, for its
    parts X_*.c and for the folder X; X_inside.h within them; X/X.h within the folder. A room's checks of structures are apart."""
    of = header.with_name(header.name.removesuffix("_inside"))
    if of.name == of.parent.name:
        of = of.parent
    return source == of or str(source).startswith((f"{of}_", f"{of}/")) or source.name == "valid"


def front_complaints(lib):
    """Functions that are declared in a header other than their file's."""
    defined, found = {}, []
    files = [path for path in sorted(lib.rglob("*.[ch]")) if path.parent != lib and path.relative_to(lib).parts[0] != "check"]
    for path in files:
        if path.suffix == ".c":
            defined |= dict.fromkeys(re.findall(r"^(clarke_\w+)\(", path.read_text(), re.M), path)
    for path in files:
        text = re.sub(r"^#(.*\\\n)*.*", "", without_comments(path.read_text()), flags=re.M)  # a macro may call anybody
        for name in re.findall(r"\b(clarke_\w+)\(", text) if path.suffix == ".h" else []:
            of = defined.get(name, path).relative_to(lib).with_suffix("")
            if not fronts(path.relative_to(lib).with_suffix(""), of):
                found.append(f"{path.relative_to(lib.parent)}: {name} is declared, which {of}.c defines")
    return found


def table(rooms):
    lines = ["| room | holds | may include |", "|---|---|---|"]
    lines += [f"| `lib/{name}` | {holds} | {', '.join(may) or '-'} |" for name, (holds, may) in rooms.items()]
    return "\n".join(lines) + "\n"


def planted(rooms):
    """Arrows that point back, each in a small copy: is each one seen?"""
    lines = {"exact/number.h": '#include "op/profile.h"', "program/walk.h": '#  include "network/graph/graph.h"',
             "network/pass/forward.h": '#include "network/derive/slopes.h"', "program/code.h": '#include "program/unroll/unroll.h"',
             "network/graph/graph.h": '#include "program/code.h"', "check/base/value.h": '#include "base/status.h"',
             "check/base/value.c": "#include <jansson.h>", "base/status.h": '#include "number.h"'}
    for name, line in lines.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tools").mkdir()
            for header in {*lines, "op/profile.h", "network/derive/slopes.h", "program/unroll/unroll.h"}:
                (root / "lib" / header).parent.mkdir(parents=True, exist_ok=True)
                (root / "lib" / header).write_text("#include <stdio.h>\n")
            if complaints(root, rooms):
                return f"complains of nothing: {complaints(root, rooms)}"
            (root / "lib" / name).write_text(line + "\n")
            if len(complaints(root, rooms)) != 1:
                return f"{line} in lib/{name} is not seen"
    return None


def planted_front():
    """A function that a stranger's header declares: is it seen?"""
    with tempfile.TemporaryDirectory() as folder:
        lib = Path(folder) / "lib"
        (lib / "audit").mkdir(parents=True)
        (lib / "audit/row.c").write_text("void\nclarke_row(void)\n{\n}\n")
        (lib / "audit/row.h").write_text("void clarke_row(void);\n")
        if front_complaints(lib):
            return f"complains of nothing: {front_complaints(lib)}"
        (lib / "audit/rows.h").write_text("void clarke_row(void);\n")
        return None if len(front_complaints(lib)) == 1 else "a function in a stranger's header is not seen"


def planted_table():
    """A table that a file reads by its header: are both counted with it?"""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at) / "check"
        folder.mkdir()
        (folder / "a.c").write_text('#include "check/t.h"\n')
        (folder / "t.h").write_text("extern const rules all[2];\n")
        (folder / "t.c").write_text("const rules all[2] = {0};\n")
        counted = sorted(path.name for path in closure(folder, ["a"]))
        return None if counted == ["a.c", "t.c", "t.h"] else "a table's file is not counted with what reads it"


def planted_size():
    """A room that has more lines than is said of it: is it seen?"""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        (folder / "left").mkdir()
        (folder / "left/l.h").write_text("int l;\nint m;\n")
        seen = []
        for most in (1, 2):
            (folder / "said.txt").write_text(f"room left: at most {most} lines\n")
            seen.append(len(size_complaints(folder, folder / "said.txt")))
        return None if seen == [1, 0] else "a room that is too large is not seen"


def planted_in_checker():
    """The same of the checker's order, and of what its files share."""
    files = {"base/a.h": "extern size_t one, none;", "base/a.c": '#include "check/base/a.h"', "b.h": '#include "check/base/a.h"',
             "b.c": "bool f = one == 1;", "left/l.h": "int l;", "right/r.c": '#include "check/base/a.h"'}
    lines = {"base/a.c": '#include "check/b.h"', "b.c": '#include "check/b.h"\nvoid f(void) { one++; }', "c.c": "int i;",
             "right/r.c": '#include "check/left/l.h"'}
    rooms = {"base": ("", []), "left": ("", ["base"]), "right": ("", ["base"]), "top": ("", ["base", "left", "right"])}
    order = ["base/a", "left/l", "right/r", "b"]
    for name, line in lines.items():
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at) / "check"
            for file, text in files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(text + "\n")
            if order_complaints(folder, rooms, order) + set_complaints(folder) + link_complaints(folder, {"kind": (["b"], 1)}):
                return "complains of nothing in the checker"
            if len(link_complaints(folder, {"kind": (["b"], 0)})) != 1:
                return "a closure that is too large is not seen"
            if [len(link_complaints(folder, {"kind": (["b:alone"], most)})) for most in (1, 2)] != [1, 0]:
                return "a file alone is not counted with its header"
            (folder / name).write_text(line + "\n")
            if len(order_complaints(folder, rooms, order) + set_complaints(folder)) != 1:
                return f"{line} in lib/check/{name} is not seen"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    rooms = read_rooms(HERE / "rooms.txt")
    if parser.parse_args().table:
        print(table(rooms), end="")
        return
    found = complaints(ROOT, rooms)
    if table(rooms) not in (ROOT / "CONTRIBUTING.md").read_text():
        found.append("CONTRIBUTING.md: its table of rooms is not what --table prints")
    checker = ROOT / "lib" / "check"
    found += order_complaints(checker, *read_checker(HERE / "checker.txt")) + set_complaints(checker)
    found += size_complaints(checker, HERE / "checker.txt") + link_complaints(checker, read_links(HERE / "checker.txt")) + front_complaints(ROOT / "lib")
    for unseen in (planted(rooms), planted_front(), planted_table(), planted_size(), planted_in_checker()):
        found += [unseen] if unseen else []
    print("\n".join(found) or "every arrow points one way")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
