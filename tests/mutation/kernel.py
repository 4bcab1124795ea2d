"""Which small changes to the checker's kernel do the kernel's own tests not notice?

    python3 tests/mutation/kernel.py [FILE...] [--folder DIR] [--jobs N]

FILE is the name of a file of lib/check/kernel or near, without .c: separator, say; all of them when none is given. Every change that
mutants.py knows is made, none drawn. The kernel is compiled without optimization, and one file anew for a change; then the
kernel's tests run that enter its line, the quickest first, until a case of one fails. Those that draw draw few; with `--whole`, what
none notices is asked again of all that they draw. What none notices is printed, and for each file how many changes there are.
Those of equivalent.txt, each with the reason why no test could tell, are counted as argued; so are those of which optimized object
code is the same. Results are kept in DIR: what was noticed once is not asked again as long as its function has the line, before and
after. `--open` asks again what nothing noticed, `--again` all, and `--report` nothing.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants import mutants_of
from reviewed import place_of, reviewed

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "check"
# Processes of tests end by _exit, which forgets what was counted.
COUNTED = """
void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }
"""
# The first case that fails ends a test.
STOPPED = """
#include <unistd.h>
void __wrap__ck_assert_failed(void);
void __wrap__ck_assert_failed(void) { _exit(1); }
"""
STOP = "-Wl,--wrap=_ck_assert_failed"
COMPILE = ["gcc", "-std=gnu11", f"-I{ROOT}/lib", f"-I{ROOT}/tests/check", "-c"]
LINK = ["-lcheck", "-lsubunit", "-lrt", "-lmpfr", "-lgmp", "-lpthread", "-lm"]
# What is passed in another's place is of its type, and what is called in another's place is there.
QUICK = ["-O0", *(f"-Werror={what}" for what in ("incompatible-pointer-types", "int-conversion", "implicit-function-declaration"))]
# Rules first, then what they stand on.
ORDER = ["evidence", "mix", "hull", "separator", "bound", "changes", "simplex", "balance", "zone", "question", "names", "jacobian", "place", "window",
         "cell", "point", "gradient", "adjoint", "behind", "evaluate", "identity", "factor", "near", "near_step", "near_sum",
         "steps", "statement", "tape"]
IN_PROCESS = "-Wl,--wrap=leave,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free"
# The tests: their files, options of the linker, words for them; and, where they draw, those for more. Those of near values are asked of
# the kernel's own files with the rest.
PROGRAMS = {
    "evidence": (["test_evidence.c"], [], [], None),
    "lines": (["test_lines.c", "forge_tape_draw.c", "forge_tape_judge.c"], [IN_PROCESS], [], None),
    "forge": ([f"forge_tape{part}.c" for part in ("", "_draw", "_evidence", "_judge", "_truth")], [IN_PROCESS], ["400", "3"], ["2000", "4"]),
    "near": (["test_near.c", "small_world.c"], [], [], None),
    "sizes": (["test_sizes.c", "small_world.c"], [], [], None),
    "steps": (["test_steps.c", "small_world.c", "forge_tape_judge.c"], [IN_PROCESS], [], None),
    "tapes": (["test_tapes.c", "small_world.c", "forge_tape_judge.c"], [IN_PROCESS], [], None),
    "differences": (["test_differences.c", "small_world.c", "forge_tape_judge.c"], [IN_PROCESS], ["100"], ["400"]),
    "places": (["test_places.c", "small_world.c"], [], ["150"], ["1500"]),
}


def sources():
    """The kernel's files, and those of smooth steps."""
    text = (ROOT / "lib/check/meson.build").read_text()
    lists = [re.search(name + r"_sources = files\((.*?)\n\)", text, re.S)[1] for name in ("kernel", "smooth")]
    return re.findall(r"'([^']+)'", "".join(lists))


def path_of(file):
    return next(name for name in sources() if Path(name).stem == file and not name.startswith("base/"))


def object_of(name):
    return name.replace("/", "_").replace(".c", ".o")


def limits(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@functools.cache
def code_of(*files):
    """A hash of the kernel, all headers beside it, and these files of its tests."""
    paths = [*sorted((ROOT / "lib/check").rglob("*.[ch]")), *sorted(TESTS.glob("*.h")), *(TESTS / file for file in files)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


class Lines:
    """Which lines a test runs; kept as long as the code stays the same."""

    def __init__(self, folder, names):
        self.folder, self.names, self.built = folder / "counted", names, False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.of = {test: self.known(test, *what) for test, what in PROGRAMS.items()}

    def known(self, test, files, options, few, many):
        words = many or few
        kept, code = self.folder / f"{test}.json", code_of(*files)
        told = json.loads(kept.read_text()) if kept.exists() else {}
        if told.get("code") != code:
            told = {"code": code, "lines": self.count(files, options, words)}
            kept.write_text(json.dumps(told))
        return {name: {int(line): run for line, run in lines.items()} for name, lines in told["lines"].items()}

    def build(self):
        self.built = True
        (self.folder / "exit.c").write_text(COUNTED)
        for name in self.names:
            subprocess.run([*COMPILE, "-O0", "--coverage", "-o", object_of(name), str(ROOT / "lib/check" / name)], cwd=self.folder, check=True)

    def count(self, files, options, words):
        if not self.built:
            self.build()
        for old in self.folder.glob("*.gcda"):
            old.unlink()
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-w", "--coverage", f"-I{ROOT}/lib", f"-I{ROOT}/tests/check", "-o", "counted", *options,
                        "-Wl,--wrap=_exit", "exit.c", *(str(TESTS / file) for file in files), *map(object_of, self.names), *LINK],
                       cwd=self.folder, check=True)
        subprocess.run(["./counted", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        lines = {}
        for name in self.names:
            counted = self.folder / object_of(name).replace(".o", ".gcda")
            if counted.exists():
                said = subprocess.run(["gcov", "--json-format", "--stdout", str(counted)], cwd=self.folder, check=True, capture_output=True)
                lines[name] = {line["line_number"]: line["count"] > 0 for file in json.loads(said.stdout)["files"]
                               for line in file["lines"] if file["file"].endswith(name)}
        return lines

    def enters(self, test, name, first, last):
        """Is one of these lines run, or the last one before them that is counted?"""
        lines = self.of[test].get(name, {})
        before = max((line for line in lines if line <= first), default=0)
        return any(lines.get(line, False) for line in [before, *range(first, last + 1)])


class Kernel:
    """The kernel and its tests, compiled as they are, in a folder."""

    def __init__(self, folder, whole, few, tests):
        self.tests = tests
        self.folder, self.names, self.whole, self.optimized = folder, sources(), whole, {}
        (folder / "objects").mkdir(parents=True, exist_ok=True)
        (folder / "stopped.c").write_text(STOPPED)
        self.compile(folder / "stopped.c", folder / "objects" / "stopped.o")
        for path in [*(ROOT / "lib/check" / name for name in self.names),
                     *dict.fromkeys(TESTS / file for files, *_ in PROGRAMS.values() for file in files)]:
            self.keep(path)
        self.seconds = {}
        for test in tests or PROGRAMS:
            used = seconds_of_children()
            if not self.passes(test, None, folder, 600):
                sys.exit(f"{test} fails on the kernel as it is")
            self.seconds[test] = seconds_of_children() - used
        self.kills, self.lines, self.lock = Counter(), None if few else Lines(folder, self.names), threading.Lock()

    def keep(self, path):
        """Its object, compiled anew where the code is another."""
        name = path.relative_to(ROOT / "lib/check") if "lib" in path.parts else path.relative_to(TESTS)
        out, code = self.folder / "objects" / object_of(str(name)), code_of(*([] if "lib" in path.parts else [path.name]))
        mark = out.with_suffix(".code")
        if not out.exists() or not mark.exists() or mark.read_text() != code:
            if not self.compile(path, out):
                sys.exit(f"{path} does not compile")
            mark.write_text(code)

    def compile(self, source, out, how=QUICK):
        done = subprocess.run(COMPILE + how + ["-o", str(out), str(source)], capture_output=True)
        return done.returncode == 0

    def passes(self, test, changed, room, seconds):
        """changed: (name of a file, its object) or None. What does not end in time fails."""
        files, options, few, many = PROGRAMS[test]
        words = many if self.whole and many else few
        objects = [str(self.folder / "objects" / object_of(name)) for name in self.names if changed is None or name != changed[0]]
        program = room / f"test_{test}"
        subprocess.run(["gcc", "-o", str(program), STOP, str(self.folder / "objects/stopped.o"), *options, *(str(self.folder / "objects" / object_of(f)) for f in files),
                        *objects, *([str(changed[1])] if changed else []), *LINK], check=True)
        run = subprocess.Popen([str(program), *words], preexec_fn=lambda: limits(seconds), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=room, start_new_session=True)
        try:
            return run.wait(15 + 10 * seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return run.wait() == 0

    def order(self, name):
        """By kills a second in this file, each having one to begin with: quick tests first."""
        others = () if self.whole or not name.startswith("kernel/") else ("near", "sizes")
        return sorted(set(self.tests or PROGRAMS) - set(others), key=lambda test: -(1 + self.kills[name, test]) / (0.1 + self.seconds[test]))

    def outcome(self, name, text, lines, room):
        """Of the file with that text, other than it was in these lines: what notices it, "" for nothing; None: it does not compile."""
        changed, out = room / Path(name).name, room / "changed.o"
        changed.write_text(text)
        if not self.compile(changed, out):
            return None
        for test in self.order(name):
            if (self.lines is None or self.lines.enters(test, name, *lines)) and not self.passes(test, (name, out), room, 1 + int(5 * self.seconds[test])):
                self.kills[name, test] += 1
                return test
        return "same code" if self.lines is not None and self.same(name, changed, room) else ""

    def same(self, name, changed, room):
        """Is optimized code the same?"""
        original = room / "original" / Path(name).name
        if not original.exists() or original.read_text() != (ROOT / "lib/check" / name).read_text():
            original.parent.mkdir(exist_ok=True)
            original.write_text((ROOT / "lib/check" / name).read_text())
            self.optimized.pop(original, None)
        if original not in self.optimized:
            self.optimized[original] = self.code(original)
        return self.optimized[original] == self.code(changed)

    def code(self, source):
        out = source.with_suffix(".optimized.o")
        if not self.compile(source, out, ["-O2"]):
            return None
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.comment", str(out)], check=True)
        return subprocess.run(["objdump", "-drs", str(out)], capture_output=True, text=True).stdout.split("\n", 3)[-1]


class Results:
    """What became of each change, by its file, its place and its line before and after."""

    def __init__(self, path, again):
        self.path = path
        if again:
            path.unlink(missing_ok=True)
        self.known = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            key, by = json.loads(line)
            self.known[tuple(key)] = by

    def add(self, key, by):
        self.known[key] = by
        with self.path.open("a") as f:
            f.write(json.dumps([key, by]) + "\n")


def keyed(name, source):
    """Each change with its key; of several that make the same of a line, the first."""
    changes = {}
    for mutant in mutants_of(name, source, swaps=True):
        changes.setdefault((name, *place_of(mutant, source)), mutant)
    return list(changes.items())


def judge(kernel, results, key, mutant, source, folder):
    room = folder / f"room-{threading.get_ident()}"
    room.mkdir(exist_ok=True)
    lines = mutant.line(source), source.count("\n", 0, mutant.end) + 1
    by = kernel.outcome(key[0], mutant.apply(source), lines, room)
    with kernel.lock:
        results.add(key, "invalid" if by is None else by)


def report(name, changes, results, argued, source):
    """Prints what is open, and a line of counts. How many are open?"""
    counts = Counter()
    for key, mutant in changes:
        by = results.known.get(key)
        if by is None:
            what = "not asked"
        elif by == "invalid":
            what = by
        elif by == "same code" or (f"lib/check/{name}", *key[1:]) in argued and by == "":
            what = "argued"
        else:
            what = "open" if by == "" else "noticed"
        counts[what] += 1
        if what == "open":
            print(f"{name}:{mutant.line(source)}: {mutant.operator}\n@ {key[1]}{'' if key[2] == 1 else f' {key[2]}'}\n- {key[3]}\n+ {key[4]}")
    valid = sum(counts.values()) - counts["invalid"]
    print(f"{name}: {valid} changes, {counts['noticed']} noticed, {counts['argued']} argued, {counts['open']} open"
          + (f", {counts['not asked']} not asked" if counts["not asked"] else ""), flush=True)
    return counts["open"] + counts["not asked"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="*", metavar="FILE")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/clarke-kernel-mutation"))
    parser.add_argument("--jobs", type=int, default=1, help="changes at once (1)")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--open", action="store_true", help="ask again what nothing noticed")
    parser.add_argument("--tests", nargs="+", choices=list(PROGRAMS), help="these alone")
    parser.add_argument("--whole", action="store_true", help="tests draw all that they draw")
    parser.add_argument("--report", action="store_true", help="ask nothing: what is known")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = Results(options.folder / "results", options.again)
    kernel, argued, left = None if options.report else Kernel(options.folder, options.whole, options.open, options.tests), reviewed(), 0
    for name in map(path_of, options.file or ORDER):
        source = (ROOT / "lib/check" / name).read_text()
        changes = keyed(name, source)
        asked = [(key, mutant) for key, mutant in changes if kernel is not None and
                 (key not in results.known or options.open and results.known[key] == "")]
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda change: judge(kernel, results, *change, source, options.folder), asked))
        left += report(name, changes, results, argued, source)
    sys.exit(left > 0)


if __name__ == "__main__":
    main()
