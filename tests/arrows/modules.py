"""Does a step go one way through the Python package? Each import is held to modules.txt. And no module has the name of what people
call, nor of a module of Python's own: `clarke.X` is one thing.

    python3 tests/arrows/modules.py

The test plants an import that points back, one of a room that is not known, and names that are taken; it must see each.
"""

import ast
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "tools" / "python" / "clarke"


def read_rooms(path):
    """By name: whose modules each room may import; and the modules of `ground`."""
    rooms, name, ground = {}, None, []
    for line in path.read_text().splitlines():
        if line.startswith("ground: "):
            ground = line.split()[1:]
        elif line.startswith("  may import:"):
            rooms[name] = line.split(":")[1].split()
        elif line and not line.startswith("#"):
            name = line.partition(":")[0]
    return rooms, ground


def room_of(parts, ground):
    """The room of a module of the package, which is given by its names below it."""
    return parts[0] if len(parts) > 1 else "ground" if parts[0] in ground else "face"


def imported(path, package):
    """The modules of the package that a module's imports name, as names below it."""
    own = path.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(each.name.split(".")[1:]) for each in node.names if each.name.startswith("clarke."))
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "clarke"):
            above = own[:len(own) - node.level + 1] if node.level else ()
            below = (*above, *(node.module or "").split(".")[0 if node.level else 1:])
            below = tuple(name for name in below if name)
            for each in node.names:
                whole = (*below, each.name)
                yield whole if package.joinpath(*whole).with_suffix(".py").is_file() else below


def complaints(package, rooms, ground):
    """Imports that the rooms do not allow, and names that are taken."""
    found = []
    called = re.search(r"__all__ = \[(.*?)\]", (package / "__init__.py").read_text(), re.S)
    called = set(re.findall(r'"(\w+)"', called[1])) if called else set()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        own = room_of(parts, ground)
        name = "/".join(parts)
        if own != "ground" and own not in rooms:
            found.append(f"{name}: a room that modules.txt does not have")
            continue
        if parts[-1] in called or parts[-1] in sys.stdlib_module_names:
            found.append(f"{name}: the name is taken, by what people call or by a module of Python's")
        allowed = {own, *rooms.get(own, []), "ground"}
        for other in imported(path, package):
            if other and room_of(other, ground) not in allowed:
                found.append(f"{name}: imports {'.'.join(other)}, which {own} may not")
    return found


def planted():
    """A small package with faults: is each seen?"""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder)
        for name, text in {"__init__.py": '__all__ = ["sweep"]\nfrom .low.table import row', "ground.py": "from .low import table",
                           "low/table.py": "from ..high import table\nfrom ..ground import g", "high/table.py": "from ..low.table import row",
                           "sweep.py": "", "low/trace.py": "", "lost/table.py": ""}.items():
            (package / name).parent.mkdir(exist_ok=True)
            (package / name).write_text(text)
        found = complaints(package, {"low": [], "high": ["low"], "face": ["low", "high"]}, ["ground"])
        expected = ["ground: imports low.table, which ground may not", "lost/table: a room that modules.txt does not have",
                    "low/table: imports high.table, which low may not", "low/trace: the name is taken, by what people call or by a module of Python's",
                    "sweep: the name is taken, by what people call or by a module of Python's"]
        return None if found == expected else f"of planted faults these are seen: {found}"


def main():
    wrong = complaints(PACKAGE, *read_rooms(HERE / "modules.txt"))
    missed = planted()
    wrong += [missed] if missed else []
    print("\n".join(wrong) or "modules: every import is one that modules.txt allows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
