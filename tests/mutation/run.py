"""Which small changes to the code does no test notice?

    python3 tests/mutation/run.py [ROOM...] [--number N] [--seed S] [--folder DIR]

A change (mutants.py) is planted in a copy of the repository under DIR, and the tests that enter its function (probes.py) run until
one fails. What no test notices is printed, with the share that was noticed by room. Changes that give the same object code are not
counted, nor are those in equivalent.txt, each with the reason why no test could tell. Results are kept in DIR: the same command
goes on where it was cut off, `--again` begins anew, `--survivors` asks those again that nothing noticed, and `--list` prints the
changes alone. CC="ccache gcc" before it makes the copy's first build a short one.
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
from probes import Probes, function_at
from reviewed import place_of, reviewed

ROOT = Path(__file__).resolve().parents[2]
# The files of a room (a pattern of their names), and tests by the beginnings of their names: those likely to notice first. The
# language is apart from what is asked of programs.
ROOMS = {
    "check": (r"lib/check/.*", ["check", "certify", "sat", "region", "audit-reports", "audit-windows", "audit-definition", "tools",
                                "fuzz-check", "fuzz-both", "forked", "docs-shown", "hostile", "step"]),
    "audit": (r"lib/audit/.*", ["audit", "tools", "program", "check", "valid"]),
    "language": (r"lib/program/prog_.*", ["program", "tools", "audit"]),
    "program": (r"lib/program/(?!prog_).*", ["program", "check", "audit", "tools", "valid"]),
    "exact": (r"lib/exact/.*", ["exact", "program", "audit", "network", "tools", "check"]),
    "sat": (r"lib/(sat/|format/dimacs|format/onnx_write|proof/write_formula).*", ["sat"]),
    "trace": (r"lib/trace/.*", ["certify", "fuzz-mma"]),
    "region": (r"lib/region/.*", ["region"]),
    "network": (r"lib/network/.*", ["network", "op", "audit", "program", "tools"]),
}
MEMORY = 12 << 30  # of a process: what grows without end is stopped
BUSY = 20  # how many times as long as its processor time a test may take


class Copy:
    """The repository as it is, in a folder of its own, with a build inside, where ccache knows what it compiles from other builds."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "source" / "build"
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                                capture_output=True).stdout.split("\n")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for old in self.source.rglob("*") if self.source.exists() else []:
            if old.is_file() and self.build not in old.parents and str(old.relative_to(self.source)) not in names:
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

    def make(self, *files):
        """These, or all."""
        return self.ninja("-j1", *files).returncode == 0

    def introspect(self, what):
        return json.loads(subprocess.run(["meson", "introspect", str(self.build), what], check=True, text=True,
                                         capture_output=True).stdout)

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
        files = {target["id"]: target["filename"] for target in self.introspect("--targets")}
        fast = [t for t in self.introspect("--tests") if not any(s.endswith("slow") for s in t["suite"])]
        for test in fast:
            test["needs"] = [os.path.relpath(file, self.build) for target in test["depends"] for file in files[target]]
        chosen = []
        for beginning in beginnings:
            chosen += [t for t in fast if t["name"].startswith(beginning) and t not in chosen]
        return chosen


def limits(seconds):
    """Of a process: what turns without end is stopped, also when its test has ended."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Run:
    """A test, begun in the build's folder. It may take so many seconds of a processor, for the machine may be busy; it is stopped
    when one of its cases has failed, too: libcheck lists them in log."""

    def __init__(self, test, build, seconds, log):
        self.test, self.log, self.until = test, log, time.monotonic() + BUSY * seconds
        log.write_text("")
        libcheck = {"CK_TAP_LOG_FILE_NAME": str(log), "CK_TIMEOUT_MULTIPLIER": "10"}
        self.process = subprocess.Popen(test["cmd"], env={**os.environ, **test["env"], **libcheck}, cwd=test["workdir"] or build,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: limits(seconds))

    def ended(self):
        if self.process.poll() is None and (time.monotonic() > self.until or "not ok" in self.log.read_text(errors="replace")):
            self.stop()
        return self.process.returncode is not None

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def passed(self):
        while not self.ended():
            time.sleep(0.05)
        return self.process.returncode == 0


class Tests:
    """The tests of a room, which have passed on the code as it is; the quickest killers come first."""

    def __init__(self, copy, beginnings, mutants, passed, kills, jobs):
        self.tests, self.copy, self.passed, self.kills, self.jobs = copy.tests(beginnings), copy, passed, kills, jobs
        new = {f for f in (function_of(m) for m in mutants) if f} - passed.functions
        if new or any(passed.seconds(test) is None for test in self.tests):
            self.pass_all(Probes(copy, passed.folder, new))

    def pass_all(self, probes):
        """Each with the probes. One that minds them is run without, and taken to enter whatever there is."""
        if not probes.begin():
            sys.exit("the code does not build with probes")
        minds = [test for test in self.tests if not self.run(test, probes.entered)]
        if not probes.end():
            sys.exit("the code does not build without probes")
        for test in minds:
            if not self.run(test, lambda: set(probes.functions)):
                sys.exit(f"{test['name']} fails on the code as it is")
        self.passed.keep(probes.functions)

    def run(self, test, entered):
        used = processor_time()
        passed = Run(test, self.copy.build, test["timeout"], self.passed.log(0)).passed()
        self.passed.add(test, processor_time() - used, entered())
        return passed

    def order(self, function):
        """Those that enter the function, by kills a second, each having one kill to begin with: quick tests first."""
        enter = [t for t in self.tests if function is None or self.passed.enters(t, function)]
        return sorted(enter, key=lambda t: -(1 + self.kills[t["name"]]) / (0.5 + self.passed.seconds(t)))

    def outcome(self, function):
        """Of the change that is planted, and a test that fails: some run at once. No more is built than they need."""
        waiting, running = self.order(function), []
        while waiting or running:
            if waiting and len(running) < self.jobs:
                test, used = waiting.pop(0), {run.log for run in running}
                if test["needs"] and not self.copy.make(*test["needs"]):
                    return self.stopped(running, "invalid", "")
                log = next(log for log in map(self.passed.log, range(self.jobs)) if log not in used)
                running.append(Run(test, self.copy.build, 10 + int(5 * self.passed.seconds(test)), log))
            else:
                time.sleep(0.05)
            for run in [run for run in running if run.ended()]:
                running.remove(run)
                if not run.passed():
                    self.kills[run.test["name"]] += 1
                    return self.stopped(running, "killed", run.test["name"])
        return "survived", ""

    def stopped(self, running, *outcome):
        for run in running:
            run.stop()
        return outcome


class Passed:
    """Of tests that pass on the code as it is, how long they take and what they enter; kept while the code is the same."""

    def __init__(self, folder, code):
        self.folder, self.path, self.code = folder, folder / "passed", code
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        if kept.get("code") != code:
            kept = {"functions": [], "seconds": {}, "entered": {}}
        self.functions = {tuple(f) for f in kept["functions"]}
        self.known, self.entered = kept["seconds"], {name: {tuple(f) for f in of} for name, of in kept["entered"].items()}

    def log(self, number):
        return self.folder / f"log-{number}"

    def seconds(self, test):
        return self.known.get(test["name"])

    def enters(self, test, function):
        return function in self.entered[test["name"]]

    def add(self, test, seconds, entered):
        self.known[test["name"]] = seconds
        self.entered.setdefault(test["name"], set()).update(entered)

    def keep(self, functions):
        """What all tests were asked of these functions."""
        self.functions.update(functions)
        entered = {name: sorted(of) for name, of in self.entered.items()}
        self.path.write_text(json.dumps({"code": self.code, "functions": sorted(self.functions), "seconds": self.known, "entered": entered}))


def function_of(mutant):
    at = function_at((ROOT / mutant.path).read_text(), mutant.start)
    return at and (mutant.path, at)


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


def plant(copy, tests, mutant, known):
    """What becomes of the mutant, and by which test."""
    path = copy.source / mutant.path
    source = path.read_text()
    if (mutant.path, *place_of(mutant, source)) in known:
        return "equivalent", "reviewed"
    before = copy.object(mutant.path)
    try:
        path.write_text(mutant.apply(source))
        after = copy.object(mutant.path)
        if after is None:
            return "invalid", ""
        if after == before:
            return "equivalent", "same code"
        return tests.outcome(function_of(mutant))
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
            tests = tests or Tests(copy, ROOMS[room][1], mutants, Passed(options.folder, copy.code), kills, options.jobs)
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
    parser.add_argument("--jobs", type=int, default=1, help="tests at once, once each has passed (1)")
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
