"""Which small changes to the code does no test notice?

    python3 tests/mutation/run.py [ROOM...] [--number N] [--seed S] [--folder DIR]

A change (mutants.py) is planted in a copy of the repository under DIR, built, and the tests run until one fails. What no test
notices is printed, with the share that was noticed by room. Changes that give the same object code are not counted, nor are those in
equivalent.txt, each with the reason why no test could tell. Results are kept in DIR: the same command goes on where it was
cut off, `--again` begins anew, `--survivors` asks those again that nothing noticed, and `--list` prints the changes alone.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from mutants import mutants_of

ROOT = Path(__file__).resolve().parents[2]
# The files of a room (a pattern of their names), and tests by the beginnings of their names: those likely to notice first. The
# language is apart from what is asked of programs.
ROOMS = {
    "check": (r"lib/check/.*", ["check", "sat", "audit", "tools"]),
    "audit": (r"lib/audit/.*", ["audit", "tools", "program", "check", "valid"]),
    "language": (r"lib/program/prog_.*", ["program", "tools", "audit"]),
    "program": (r"lib/program/(?!prog_).*", ["program", "check", "audit", "tools", "valid"]),
    "exact": (r"lib/exact/.*", ["exact", "program", "audit", "network", "tools", "check"]),
    "sat": (r"lib/(sat/|format/dimacs|format/onnx_write|proof/write_formula).*", ["sat"]),
    "trace": (r"lib/trace/.*", ["certify", "fuzz-mma"]),
    "region": (r"lib/region/.*", ["region"]),
    "network": (r"lib/network/.*", ["network", "op", "audit", "program", "tools"]),
}
MEMORY, SECONDS = 12 << 30, 600  # of a process: what grows or turns without end is stopped, also when its test has ended


class Copy:
    """The repository as it is, in a folder of its own, with a build."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "build"
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                                capture_output=True).stdout.split("\n")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for old in self.source.rglob("*") if self.source.exists() else []:
            if old.is_file() and str(old.relative_to(self.source)) not in names:
                old.unlink()
        for name in names:
            self.update(name)
        self.code = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in sorted(names))).hexdigest()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", str(self.build), str(self.source)], check=True, stdout=subprocess.DEVNULL)
        if not self.make():
            sys.exit("the code does not build as it is")
        database = json.loads(self.ninja("-t", "compdb").stdout)
        self.commands = {c["file"]: c for c in database if c["command"].find(" -c ") > 0}

    def update(self, name):
        to, text = self.source / name, (ROOT / name).read_bytes()
        if not to.exists() or to.read_bytes() != text:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(text)
            shutil.copymode(ROOT / name, to)

    def ninja(self, *words):
        return subprocess.run(["ninja", "-C", str(self.build), *words], capture_output=True, text=True)

    def make(self):
        return self.ninja("-j1").returncode == 0

    def object(self, name):
        """The object code of one file, without line numbers; None when it does not compile."""
        given = os.path.relpath(self.source / name, self.build)
        command = self.commands.get(given) or self.commands[str(self.source / name)]
        out = self.build / "mutant.o"
        words = shlex.split(command["command"])
        words[words.index("-o") + 1] = str(out)
        words = [w for w in words if not w.startswith("-g")]
        done = subprocess.run(words, cwd=command["directory"], capture_output=True)
        return out.read_bytes() if done.returncode == 0 else None

    def tests(self, beginnings):
        """The fast suite's tests of a room, in its order."""
        listed = subprocess.run(["meson", "introspect", str(self.build), "--tests"], check=True, text=True,
                                capture_output=True).stdout
        fast = [t for t in json.loads(listed) if not any(s.endswith("slow") for s in t["suite"])]
        chosen = []
        for beginning in beginnings:
            chosen += [t for t in fast if t["name"].startswith(beginning) and t not in chosen]
        return chosen


def limits():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def passes(test, build, seconds, log):
    """Has the test passed, run in the build's folder, and how long did it take? It is stopped when one of its cases has failed: libcheck lists them in log."""
    begun = time.monotonic()
    log.write_text("")
    libcheck = {"CK_TAP_LOG_FILE_NAME": str(log), "CK_TIMEOUT_MULTIPLIER": "10"}  # the machine may be busy
    process = subprocess.Popen(test["cmd"], env={**os.environ, **test["env"], **libcheck}, cwd=test["workdir"] or build,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits)
    passed = None
    while passed is None:
        try:
            passed = process.wait(timeout=0.1) == 0
        except subprocess.TimeoutExpired:
            if time.monotonic() - begun > seconds or "not ok" in log.read_text(errors="replace"):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                passed = False
    return passed, time.monotonic() - begun


class Tests:
    """The tests of a room, which have passed on the code as it is; the quickest killers come first."""

    def __init__(self, copy, beginnings, times, kills):
        self.tests, self.build, self.times, self.kills = copy.tests(beginnings), copy.build, times, kills
        for test in self.tests:
            if times.seconds(test["name"]) is None:
                passed, took = passes(test, copy.build, test["timeout"], times.log)
                if not passed:
                    sys.exit(f"{test['name']} fails on the code as it is")
                times.add(test["name"], took)

    def order(self):
        """By kills a second, each having one kill to begin with: quick tests first."""
        return sorted(self.tests, key=lambda t: -(1 + self.kills[t["name"]]) / (0.5 + self.times.seconds(t["name"])))

    def killer(self):
        """The first test that fails, or None."""
        for test in self.order():
            passed, _ = passes(test, self.build, 30 + 5 * self.times.seconds(test["name"]), self.times.log)
            if not passed:
                self.kills[test["name"]] += 1
                return test["name"]
        return None


class Times:
    """How long each test takes that passes on the code as it is; kept while the code is the same."""

    def __init__(self, folder, code):
        self.path, self.log, self.code = folder / "times", folder / "log", code
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.known = kept["seconds"] if kept.get("code") == code else {}

    def seconds(self, name):
        return self.known.get(name)

    def add(self, name, seconds):
        self.known[name] = seconds
        self.path.write_text(json.dumps({"code": self.code, "seconds": self.known}))


def choose(room, number, seed):
    """Mutants of a room, as many of each operator as of the others while there are some. A draw stays when other lines change."""
    by_operator, seen = {}, Counter()
    for path in sorted((ROOT / "lib").rglob("*.c")):
        name, source = str(path.relative_to(ROOT)), path.read_text()
        if not re.fullmatch(ROOMS[room][0], name):
            continue
        for mutant in mutants_of(name, source):
            key = (path.name, mutant.operator, *mutant.change(source))
            seen[key] += 1
            drawn = hashlib.sha256(repr((seed, seen[key], *key)).encode()).digest()
            by_operator.setdefault(mutant.operator, []).append((drawn, mutant))
    for drawn in by_operator.values():
        drawn.sort(key=lambda d: d[0], reverse=True)
    chosen = []
    while by_operator and len(chosen) < number:
        for operator in sorted(by_operator):
            chosen.append(by_operator[operator].pop()[1])
            if not by_operator[operator]:
                del by_operator[operator]
    return chosen[:number]


def reviewed():
    """The changes of equivalent.txt: (file, line before, line after)."""
    known, path, old = {}, "", ""
    for line in (Path(__file__).parent / "equivalent.txt").read_text().splitlines():
        if line.startswith("- "):
            old = line[2:]
        elif line.startswith("+ "):
            known[path, old, line[2:]] = True
        elif line and not line.startswith((" ", "#")):
            path = line
    return known


def plant(copy, tests, mutant, known):
    """What becomes of the mutant, and by which test."""
    path = copy.source / mutant.path
    source = path.read_text()
    if (mutant.path, *mutant.change(source)) in known:
        return "equivalent", "reviewed"
    before = copy.object(mutant.path)
    try:
        path.write_text(mutant.apply(source))
        after = copy.object(mutant.path)
        if after is None:
            return "invalid", ""
        if after == before:
            return "equivalent", "same code"
        if not copy.make():
            return "invalid", ""
        killer = tests.killer()
        return ("killed", killer) if killer else ("survived", "")
    finally:
        path.write_text(source)


class Results:
    def __init__(self, path, again, survivors):
        self.path = path
        if again:
            path.unlink(missing_ok=True)
        self.known = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            entry = json.loads(line)
            self.known[tuple(entry["key"])] = entry
        if survivors:
            self.known = {key: e for key, e in self.known.items() if e["outcome"] != "survived"}

    def key(self, mutant, source):
        return (mutant.path, str(source.count("\n", 0, mutant.start) + 1), str(mutant.start), *mutant.change(source))

    def add(self, key, **entry):
        self.known[key] = {"key": key, **entry}
        with self.path.open("a") as f:
            f.write(json.dumps(self.known[key]) + "\n")


def report(room, entries):
    counts = Counter(e["outcome"] for e in entries)
    judged = counts["killed"] + counts["survived"]
    for e in entries:
        if e["outcome"] == "survived":
            path, line, _, old, new = e["key"]
            print(f"{path}:{line}: {e['operator']}\n- {old}\n+ {new}")
    by = Counter(e["by"] for e in entries if e["outcome"] == "killed")
    print(f"{room}: {counts['killed']} of {judged} noticed ({100 * counts['killed'] / max(judged, 1):.0f}%); "
          f"{counts['equivalent']} equivalent, {counts['invalid']} do not compile; "
          + ", ".join(f"{name} {n}" for name, n in by.most_common()))
    return judged == 0 or counts["killed"] / judged


def run_room(room, options, copy, results):
    mutants = choose(room, options.number, options.seed)
    kills = Counter(e["by"] for e in results.known.values() if e["outcome"] == "killed")
    tests, known, entries = None, reviewed(), []
    for i, mutant in enumerate(mutants):
        source = (ROOT / mutant.path).read_text()
        key = results.key(mutant, source)
        if options.list:
            print(f"{mutant.path}:{mutant.line(source)}: {mutant.operator}\n- {key[3]}\n+ {key[4]}")
            continue
        if key not in results.known:
            tests = tests or Tests(copy, ROOMS[room][1], Times(options.folder, copy.code), kills)
            begun = time.monotonic()
            outcome, by = plant(copy, tests, mutant, known)
            results.add(key, operator=mutant.operator, outcome=outcome, by=by, seconds=round(time.monotonic() - begun, 1))
        entries.append(results.known[key])
        if sys.stderr.isatty():
            print(f"\r{room} {i + 1}/{len(mutants)} {entries[-1]['outcome']:12}", end="", file=sys.stderr, flush=True)
    return options.list or report(room, entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; check, audit and program when none is given")
    parser.add_argument("--number", type=int, default=100, help="of mutants a room (100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/clarke-mutation"))
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--survivors", action="store_true", help="plant those again that no test noticed")
    parser.add_argument("--list", action="store_true", help="print the mutants and plant none")
    parser.add_argument("--least", type=float, default=95, help="percent to be noticed in each room, else the exit status is 1 (95)")
    options = parser.parse_args()
    rooms = options.room or ["check", "audit", "program"]
    if any(room not in ROOMS for room in rooms):
        parser.error(f"rooms are {', '.join(ROOMS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    copy = None if options.list else Copy(options.folder)
    results = Results(options.folder / "results", options.again, options.survivors)
    scores = [run_room(room, options, copy, results) for room in rooms]
    sys.exit(any(100 * score < options.least for score in scores))


if __name__ == "__main__":
    main()
