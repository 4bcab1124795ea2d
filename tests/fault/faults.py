"""Makes allocations and system calls fail, one at a time, and looks at how the programs end.

Every run must end with exit status 2 and a message, or with the same bytes (standard output and files) and status as
without the fault. Never by a signal, never in half a file or a temporary one.

Three kinds of fault:

* allocations: the n-th fails, alone or with all after it (inject.c);
* calls: the n-th write, rename, fsync, close, open, read or new thread after the program's libraries are loaded returns an
  error (strace); only runs in which one did are counted;
* disks: no file grows past so many bytes, so that a write is cut short there and the next one fails.

Of the commands each meets one kind in DRAW_ONE_IN (tests/draw.py), in turn.

    faults.py --build DIR --inject LIB [--allocations N] [--calls N] [--disks N] [--errors N] [--least A C]
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from draw import ONE_IN  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = {"SWEEP": "sweep", "AUDIT": "audit", "PAPERS": "papers", "FORMULAS": "encode", "RUNS": "runs", "REGIONS": "regions",
         "ARRANGEMENTS": "arrangements", "STATES": "steps"}
FOLDERS = {"FAULT": HERE, "PROOFS": os.path.join(ROOT, "proofs-data"), **{word: os.path.join(ROOT, "cases", name) for word, name in CASES.items()}}

# Name, program, arguments ({OUT}: a fresh folder; {RUNS}, {REGIONS}, {ARRANGEMENTS}, ...: cases). All commands, in all their forms.
COMMANDS = [
    ("audit", "clarke", "audit {AUDIT}/lemma2.onnx --batch {AUDIT}/lemma2.npz --loss sum --threads 1 --proof {OUT}/p "
                        "--gradient {OUT}/g.safetensors"),
    ("audit --json", "clarke", "audit {AUDIT}/lenet-q6.onnx --batch {AUDIT}/images-pair.npz --loss ce --threads 1 "
                               "--json --proof {OUT}/p"),
    ("audit, a bound", "clarke", "audit {AUDIT}/lenet.onnx --batch {AUDIT}/digits.npz --threads 1 --gradient {OUT}/g.safetensors"),
    ("audit --exact", "clarke", "audit {AUDIT}/digits-relu6-q.onnx --batch {AUDIT}/digits.npz --loss ce --threads 1 "
                                "--exact --ranks --proof {OUT}/p"),
    ("audit --threads", "clarke", "audit {AUDIT}/lemma7.onnx --batch {AUDIT}/lemma7.npz --loss sum --threads 3 "
                                  "--proof {OUT}/p --gradient {OUT}/g.safetensors"),
    ("audit --params", "clarke", "audit {AUDIT}/digits-relu.onnx --batch {AUDIT}/digits.npz --threads 1 "
                                 "--params {AUDIT}/digits-relu-later.safetensors --proof {OUT}/%.p"),
    ("audit, two rows", "clarke", "audit {AUDIT}/digits-relu.onnx --batch {AUDIT}/digits.npz --threads 1 --json "
                                  "--params {AUDIT}/digits-relu-later.safetensors {AUDIT}/digits-relu-later.safetensors"),
    ("audit, a hull", "clarke", "audit {AUDIT}/abs.onnx --batch {AUDIT}/abs.npz --loss sum --threads 1 --proof {OUT}/p"),
    ("audit, windows", "clarke", "audit {AUDIT}/two-windows.onnx --batch {AUDIT}/two-windows.npz --loss sum --threads 1 "
                                 "--json --proof {OUT}/p --gradient {OUT}/g.safetensors"),
    ("audit, lists", "clarke", "audit {AUDIT}/digits-relu-q.onnx --batch {AUDIT}/digits.npz --threads 1 --nearest 2 --touched "
                               "--profile {REGIONS}/steep.profile"),
    ("audit, norms", "clarke", "audit {AUDIT}/digits-layernorm.onnx --batch {AUDIT}/digits.npz --threads 1 --json --proof {OUT}/p"),
    ("audit, batch norm", "clarke", "audit {AUDIT}/resnet.onnx --batch {AUDIT}/images.npz --threads 1 --proof {OUT}/p"),
    ("audit, findings", "clarke", "audit {AUDIT}/lemma2.onnx --batch {AUDIT}/lemma2.npz --loss sum --threads 1 --quiet --sarif {OUT}/s "
                                 "--junit {OUT}/j --fail-on touched"),
    ("audit RUN", "clarke", "audit {RUNS}/small --threads 1 --proof {OUT}/p --gradient {OUT}/g.safetensors"),
    ("audit RUN, light", "clarke", "audit {RUNS}/small-light --threads 1 --json --step 0"),
    ("audit RUN, words", "clarke", "audit {RUNS}/words --threads 1 --json --proof {OUT}/p"),
    ("derive", "clarke", "derive {PAPERS}/bolte-zero.prog --at t=0 --proof {OUT}/p --plot {OUT}/f.svg --float all"),
    ("derive, findings", "clarke", "derive {PAPERS}/bolte-zero.prog --at t=0 --json --sarif {OUT}/s --junit {OUT}/j"),
    ("report", "clarke", "report {FAULT}/answer.json -o {OUT}/page.html --proof {PAPERS}/bolte-zero.prog"),
    ("explain", "clarke", "explain proxy"),
    ("profile", "clarke", "profile show jax-0.10 --json"),
    ("profile diff", "clarke", "profile diff pytorch jax"),
    ("report, printed", "clarke", "report {FAULT}/answer.json"),
    ("derive --json", "clarke", "derive {PAPERS}/bolte-zero.prog --sweep t=-1:1:1/2 --json"),
    ("derive --sweep", "clarke", "derive {PAPERS}/bolte-zero.prog --sweep t=-1:1:1/2 --float all"),
    ("derive --print", "clarke", "derive {PAPERS}/bolte-zero.prog --print"),
    ("derive, a network", "clarke", "derive {AUDIT}/lemma2.onnx --at {AUDIT}/lemma2.npz --wrt w --json"),
    ("derive, cones", "clarke", "derive {REGIONS}/folds.onnx --at {REGIONS}/corner.npy --profile {REGIONS}/steep.profile --proof {OUT}/p"),
    ("patterns, a box", "clarke", "patterns {REGIONS}/bump.prog --box {REGIONS}/square.vnnlib --threads 1 --svg {OUT}/f.svg"),
    ("patterns, a segment", "clarke", "patterns {AUDIT}/lemma7.onnx --line 0,0,0,0 -1,2,3,4 --json"),
    ("patterns --line", "clarke", "patterns {REGIONS}/bump.prog --line 0,0 1,2 --proof {OUT}/p"),
    ("patterns --arrangement", "clarke", "patterns --arrangement {ARRANGEMENTS}/lines.txt --offsets "
                                         "{ARRANGEMENTS}/lines-offsets.txt --proof {OUT}/p"),
    ("patterns, vectors", "clarke", "patterns --arrangement {ARRANGEMENTS}/braid.txt --json"),
    ("patterns --box", "clarke", "patterns {REGIONS}/bump.prog --box {REGIONS}/square.txt --threads 1 --proof {OUT}/p"),
    ("patterns --pieces", "clarke", "patterns {REGIONS}/bump.prog --box {REGIONS}/square.txt --threads 1 --pieces --json"),
    ("patterns --threads", "clarke", "patterns {REGIONS}/bump.prog --box {REGIONS}/square.txt --threads 3 --count"),
    ("patterns --at", "clarke", "patterns {REGIONS}/folds.onnx --at {REGIONS}/corner.npy --threads 1 --proof {OUT}/p --json"),
    ("patterns --at, pieces", "clarke", "patterns {REGIONS}/bump.prog --at 0,0 --threads 1 --pieces"),
    ("certify", "clarke", "certify --mma {PROOFS}/gpu/published/V100"),
    ("certify --json", "clarke", "certify --mma {PROOFS}/gpu/hopper/H200/mma-k32 --json"),
    ("sweep", "clarke", "sweep {SWEEP}/lemma2.json -o {OUT}/r"),
    ("sweep --job-file", "clarke", "sweep {SWEEP}/lemma2.json --job-file {OUT}/j --shards 2"),
    ("merge", "clarke", "merge {SWEEP}/lemma2.jsonl -o {OUT}/r --json"),
    ("certify RUN", "clarke", "certify {RUNS}/fresh"),
    ("certify RUN --proof", "clarke", "certify {RUNS}/tied --proof {OUT}/p"),
    ("certify RUN --json", "clarke", "certify {RUNS}/words --json --proof {OUT}/p"),
    ("certify RUN, trees", "clarke", "certify {RUNS}/trees --json"),
    ("certify RUN, attention", "clarke", "certify {RUNS}/attention --proof {OUT}/p"),
    ("certify RUN, pools", "clarke", "certify {RUNS}/pooled --json --proof {OUT}/p"),
    ("certify RUN, means", "clarke", "certify {RUNS}/means --proof {OUT}/p"),
    ("certify RUN --nodes", "clarke", "certify {RUNS}/small --nodes --json --step 0"),
    ("certify RUN --against", "clarke", "certify {RUNS}/small --against {RUNS}/small-plain"),
    ("certify RUN --against --json", "clarke", "certify {RUNS}/small-plain --against {RUNS}/small --json"),
    ("reproduce", "clarke", "reproduce P-L2* --cases {PAPERS} --proofs {OUT}"),
    ("reproduce --json", "clarke", "reproduce P-L3* --cases {PAPERS} --json --proofs {OUT}"),
    ("encode", "clarke", "encode {FORMULAS}/example4.cnf -o {OUT}/f.prog --json"),
    ("encode --decide", "clarke", "encode {FORMULAS}/eight.cnf -o {OUT}/f.onnx --decide --proof {OUT}/p"),
    ("encode --decide --json", "clarke", "encode {FORMULAS}/example4.cnf -o {OUT}/f.onnx --decide --json --proof {OUT}/p"),
    ("encode --drat", "clarke", "encode {FORMULAS}/eight.cnf -o {OUT}/f.onnx --drat {FORMULAS}/eight.drat --proof {OUT}/p"),
    ("encode --lrat", "clarke", "encode {FORMULAS}/eight.cnf --lrat {FORMULAS}/eight.lrat --json"),
    ("encode --decode", "clarke", "encode {FORMULAS}/example4.cnf --decode x=1,2,-1,0,0,-3"),
    ("cost", "clarke", "cost {PAPERS}/thesis-cost-fig2.2-p2.prog --table 2.3 --svg {OUT}/f.svg"),
    ("cost --json", "clarke", "cost {AUDIT}/lenet.onnx --json --svg {OUT}/f.svg"),
    ("cost RUN", "clarke", "cost {RUNS}/small --mode forward --against {STATES}/counts.json"),
    ("cost --matrices", "clarke", "cost --matrices 12 --json"),
    ("step", "clarke", "step torch-nadam --state {STATES}/state.json --gradient {STATES}/gradient.json --eta 1/10"),
    ("step --proof", "clarke", "step innaprop --state {STATES}/state.json --gradient {STATES}/gradient.json --eta 1/10 --alpha 1/2 --beta 2 --proof {OUT}/p"),
    ("step of a run", "clarke", "step {STATES}/run --rule adam --json"),
    ("step --json", "clarke", "step innaprop --state {STATES}/state.json --gradient {STATES}/gradient.json --eta 1/10 --alpha 1 --beta 2 "
                              "--json --against {STATES}/state.json"),
    ("step list", "clarke", "step list"),
    ("a list of commands", "clarke", "--help"),
    ("the version", "clarke", "--version"),
    *(("%s --help" % command, "clarke", command + " --help")
      for command in ("audit", "derive", "patterns", "certify", "reproduce", "encode", "cost", "step", "report", "explain", "profile", "selftest")),
    ("check --help", "clarke-check", "--help"),
    ("check, regions", "clarke-check", "{PROOFS}/regions/folds-around.proof --data {REGIONS} --threads 1"),
    ("check, a box", "clarke-check", "{PROOFS}/regions/bump-box.proof --data {REGIONS} --threads 1"),
    ("check, a segment", "clarke-check", "{PROOFS}/regions/folds-line.proof --data {REGIONS} --threads 1"),
    ("check, cones", "clarke-check", "{PROOFS}/regions/folds-derive-steep.proof --data {REGIONS} --threads 1"),
    ("check, an arrangement", "clarke-check", "{PROOFS}/arrangements/lines.proof --data {ARRANGEMENTS} --threads 1"),
    ("check, a record", "clarke-check", "{PROOFS}/runs/parted.proof --data {RUNS}/parted --threads 1"),
    ("check, attention", "clarke-check", "{PROOFS}/runs/attention.proof --data {RUNS}/attention --threads 1"),
    ("check, means", "clarke-check", "{PROOFS}/runs/means.proof --data {RUNS}/means --threads 2"),
    ("check, a long report", "clarke-check", "{PROOFS}/runs/words.proof --data {RUNS}/words --threads 1"),
    ("check", "clarke-check", "{PROOFS}/lemma2.proof --data {AUDIT} --threads 1"),
    ("check --threads", "clarke-check", "{PROOFS}/lemma7.proof --data {AUDIT} --threads 3"),
    ("check --show", "clarke-check", "--show {AUDIT}/lemma2.onnx {AUDIT}/lemma2.npz {AUDIT}/abs.onnx {AUDIT}/abs.npz"),
    ("check, a network", "clarke-check", "{PROOFS}/lenet-q6-pair.proof --data {AUDIT} --threads 1"),
    ("check, norms", "clarke-check", "{PROOFS}/digits-layernorm.proof --data {AUDIT} --threads 1"),
    ("check, later weights", "clarke-check", "{PROOFS}/digits-relu-later.proof --data {AUDIT} --threads 1"),
    ("check, a formula", "clarke-check", "{PROOFS}/encode/eight.proof --data {FORMULAS} --threads 1"),
    ("check, a direction", "clarke-check", "{PROOFS}/encode/example4.proof --data {FORMULAS} --threads 1"),
    ("check, a program", "clarke-check", "{PROOFS}/papers/P-L2-1.proof --data {PAPERS} --threads 1"),
]
# What OpenBLAS asks for when it has several threads, and the user's environment says so.
SEVERAL_BLAS_THREADS = ("audit, a bound", "audit RUN")
# Calls that a full disk, a vanishing file, a broken device or a limit makes fail: those that make a file, and others.
MAKING = {"write": ["ENOSPC", "EIO", "EINTR"], "rename": ["EACCES", "ENOSPC", "EXDEV"], "fsync": ["EIO", "ENOSPC"],
          "close": ["EIO", "ENOSPC"]}
OTHERS = {"openat": ["EMFILE", "EACCES"], "read": ["EIO"], "newfstatat": ["EIO"], "clone,clone3": ["EAGAIN"],
          "wait4": ["ECHILD"]}
KIND = {call: kind for kind in [*MAKING, *OTHERS] for call in kind.split(",")}


class Run:
    """How a command ended (before it a word NAME=VALUE may stand, for its environment): status (negative: a signal), standard output, whether it said why, the files it left."""

    def __init__(self, command, out, prefix=(), largest=None, **variables):
        given = dict(word.split("=", 1) for word in command[:1] if "/" not in word)
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", LC_ALL="C", **variables)
        environment.update(given)
        command = command[len(given):]

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        # Standard output is a file, so that it, too, fills a disk.
        with open(out + ".stdout", "w+b") as output:
            done = subprocess.run(list(prefix) + command, stdout=output, stderr=subprocess.PIPE, env=environment,
                                  timeout=300, preexec_fn=None if largest is None else limit)
            output.seek(0)
            self.status, self.output, self.said = done.returncode, output.read(), done.stderr
        self.files = {}
        for name in sorted(os.listdir(out)):
            with open(os.path.join(out, name), "rb") as f:
                self.files[name] = f.read()


def fresh(out):
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)


def tells_failure(data):
    """Is it a whole file of findings that says that the command failed?"""
    if data.startswith(b"<?xml"):
        return data.endswith(b"</testsuites>\n") and b'type="not-asked"' in data and xml.etree.ElementTree.fromstring(data) is not None
    try:
        return not json.loads(data)["runs"][0]["invocations"][0]["executionSuccessful"]
    except ValueError:
        return False


def is_appended(name, data, right):
    """The results of a sweep, which are appended line by line: those that are there stay, with half a line behind them perhaps."""
    whole = right.files.get(name, b"")
    return whole.startswith(b'{"format":"clarke sweep') and whole.startswith(data)


def wrong(run, right):
    """Why the run ended as it must not; None."""
    if run.status < 0 or run.status > 128:
        return "killed by signal %d" % (-run.status if run.status < 0 else run.status - 128)
    for name, data in run.files.items():
        if right.files.get(name) != data and not (run.status == 2 and (is_appended(name, data, right) or tells_failure(data))):
            return "left a file that is not whole: %s" % name
    if run.status == 2:
        return None if run.said.strip() else "status 2 without a message"
    if run.status != right.status:
        return "status %d in place of %d" % (run.status, right.status)
    if run.output != right.output:
        return "another answer"
    return None if run.files == right.files else "a file is missing"


def spread(n, most, rng):
    """At most so many of 1 to n."""
    return range(1, n + 1) if most >= n else sorted(rng.sample(range(1, n + 1), most))


def allocations(name, command, out, right, inject, most, rng):
    count = os.path.join(out, "..", "count")
    fresh(out)
    if os.path.exists(count):
        os.remove(count)
    Run(command, out, CLARKE_COUNT=count, LD_PRELOAD=inject)
    with open(count) as f:
        n = max(int(line) for line in f)
    chosen = spread(n, most, rng)
    bad = []
    for k in chosen:
        for fail in ("%d" % k, "%d+" % k):
            fresh(out)
            why = wrong(Run(command, out, CLARKE_FAIL=fail, LD_PRELOAD=inject), right)
            if why is not None:
                bad.append("%s: allocation %s of %d: %s" % (name, fail, n, why))
    return 2 * len(chosen), bad


# Stops at the calls that are traced alone; the program runs at its own speed between them.
TRACED = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "signal=none"]


def counted(log):
    """For each kind of call: how many the loader makes before main, and how many in all the process or thread does that makes most."""
    loading, by, last, opened = Counter(), Counter(), Counter(), False
    with open(log) as f:
        for line in f:
            process, call = line.split(maxsplit=1)
            call = re.match(r"(\w+)\(", call)
            if call is None:  # the second half of one
                continue
            kind = KIND[call[1]]
            by[kind, process] += 1
            last[kind] = max(last[kind], by[kind, process])
            if call[1] == "close" and opened:  # the library is mapped
                loading = Counter({kind: n for (kind, _), n in by.items()})
            opened = call[1] == "openat" and ".so" in line or call[1] in ("read", "newfstatat") and opened
    return loading, last


def calls(name, command, out, right, most, rng, errors, each):
    """Fails the k-th call of each kind, in the program and its children; the k-th of each. Not the loader's, before main. Of a call's
    errors so many are drawn."""
    log = out + ".calls"
    done, bad = Counter(), []
    fresh(out)
    Run(command, out, [*TRACED, "-o", log, "-e", "trace=" + ",".join(errors)])
    loading, last = counted(log)
    for call in errors:
        for k in spread(last[call] - loading[call], most, rng):
            k += loading[call]
            for error in rng.sample(errors[call], min(each, len(errors[call]))):
                fresh(out)
                run = Run(command, out, [*TRACED, "-o", log, "-e", "trace=" + call, "-e",
                                         "inject=%s:error=%s:when=%d" % (call, error, k)])
                with open(log) as f:
                    done[call] += "(INJECTED)" in f.read()
                why = wrong(run, right)
                if why is not None:
                    bad.append("%s: %s of %s %d of %d: %s" % (name, error, call, k, last[call], why))
    return done, bad


def disks(name, command, out, right, most, rng):
    """Lets no file grow past k bytes."""
    n = max([len(right.output)] + [len(data) for data in right.files.values()])
    chosen, bad = spread(n, most, rng), []
    for k in chosen:
        fresh(out)
        run = Run(command, out, largest=k - 1)
        why = wrong(run, right)
        if why is None and run.status != 2:
            why = "status %d, though a file of %d bytes is needed" % (run.status, n)
        if why is not None:
            bad.append("%s: no file over %d of %d bytes: %s" % (name, k - 1, n, why))
    return len(chosen), bad


def commands(build, out, only=None):
    for name, program, line in COMMANDS:
        if only is None or name.startswith(only):
            command = [os.path.join(build, "tools", program)] + [w.format(OUT=out, **FOLDERS) for w in line.split()]
            yield name, command
            if name in SEVERAL_BLAS_THREADS:
                yield name + ", BLAS threads", ["OPENBLAS_NUM_THREADS=3"] + command


def faultless(name, command, out):
    fresh(out)
    right = Run(command, out)
    if right.status not in (0, 1, 3):
        sys.exit("%s: status %d without any fault: %s" % (name, right.status, right.said.decode()))
    return right


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--inject", required=True)
    p.add_argument("--allocations", type=int, default=10, help="of each command, each failing alone and with all after it")
    p.add_argument("--calls", type=int, default=2, help="of each command and kind; 0: none")
    p.add_argument("--errors", type=int, default=3, help="of each such call, drawn; 3: all")
    p.add_argument("--disks", type=int, default=2, help="of each command")
    p.add_argument("--least", type=int, nargs=2, metavar=("A", "C"), default=(1, 1),
                   help="fail unless there were so many failing allocations, and writes, renames, syncs and closes")
    p.add_argument("--only", help="commands whose name begins so")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng, bad, memory, made = random.Random(a.seed), [], 0, Counter()
    traced = a.calls > 0 and shutil.which("strace") is not None
    with tempfile.TemporaryDirectory(prefix="clarke-fault-") as work:
        out = os.path.join(work, "out")
        for turn, (name, command) in enumerate(commands(a.build, out, a.only)):
            meets = [(turn + kind) % ONE_IN == 0 for kind in range(3)]
            if not any(meets):
                continue
            right = faultless(name, command, out)
            if meets[0]:
                n, found = allocations(name, command, out, right, a.inject, a.allocations, rng)
                memory += n
                bad += found
            if meets[1]:
                n, found = disks(name, command, out, right, a.disks, rng)
                made["disk"] += n
                bad += found
            if traced and meets[2]:
                errors = {**MAKING, **OTHERS}
                if "/" not in command[0]:  # OpenBLAS begins its threads as it is loaded, before main; where it cannot it raises SIGINT
                    del errors["clone,clone3"]
                n, found = calls(name, command, out, right, a.calls, rng, errors, a.errors)
                made += n
                bad += found
            print("%s: %d wrong so far" % (name, len(bad)), flush=True)
    report(a, bad, memory, made, traced)


def report(a, bad, memory, made, traced):
    print("\n".join(bad))
    making = sum(made[call] for call in list(MAKING) + ["disk"])
    print("%d allocations failed, and %d writes, renames, syncs and closes, and %d other calls; %d runs ended as they "
          "must not" % (memory, making, sum(made.values()) - making, len(bad)))
    print(", ".join("%s %d" % pair for pair in sorted(made.items())))
    if a.calls > 0 and not traced:
        print("there is no strace: no calls were made to fail")
    few = memory < a.least[0] or traced and making < a.least[1]
    if few:
        print("fewer faults than are asked for")
    sys.exit(1 if bad or few else 0)


if __name__ == "__main__":
    main()
