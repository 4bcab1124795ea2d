"""Which tests enter the functions that are to be changed? A test that never enters a function notices no change in it.

A probe at the beginning of each function makes a file, once a process, when it is entered. So it is noticed of programs that
are killed, too.
"""

import re

# The layout of this repository: the braces of a function, and no others, stand alone in the first column.
BRACE = re.compile(r"^(?:\{|\}.*)$", re.M)
PROBE = ('{{ extern int creat(const char *, unsigned), close(int); static _Bool entered; if (!entered) {{ int to = creat("{}", 438); '
         'entered = to >= 0; if (entered) close(to); }} }}')


def function_at(source, place):
    """Where the body of the function that a place lies in begins; None where it lies in none."""
    last = None
    for brace in BRACE.finditer(source, 0, place):
        last = brace
    return last.end() if last and last.group() == "{" else None


class Probes:
    """Probes in a copy's files: `begin` plants them, `entered` says which functions were entered since it was asked, `end` takes
    them out again. A function is a path and the place where its body begins."""

    def __init__(self, copy, folder, functions):
        self.copy, self.folder = copy, folder / "entered"
        self.functions = sorted(functions)
        self.sources = {path: (copy.source / path).read_text() for path, _ in self.functions}

    def begin(self):
        self.folder.mkdir(exist_ok=True)
        self.entered()
        changed = dict(self.sources)
        for number, (path, at) in reversed(list(enumerate(self.functions))):  # from a file's end, so that places before it stay
            changed[path] = changed[path][:at] + " " + PROBE.format(self.folder / str(number)) + changed[path][at:]
        return self.write(changed)

    def end(self):
        return self.write(self.sources)

    def write(self, sources):
        for path, source in sources.items():
            (self.copy.source / path).write_text(source)
        return self.copy.make()

    def entered(self):
        found = {self.functions[int(file.name)]: file for file in self.folder.iterdir()}
        for file in found.values():
            file.unlink()
        return set(found)
