"""Makes allocations and system calls fail, one at a time, and looks at how the programs end.

Every run must end with exit status 2 and a message, or with the same bytes (standard output and files) and status as
without the fault. Never by a signal, never in half a file or a temporary one.

    faults.py --build DIR --inject LIB [--allocations N] [--calls N] [--all]
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AUDIT, PAPERS = os.path.join(ROOT, "cases", "audit"), os.path.join(ROOT, "cases", "papers")
PROOFS = os.path.join(ROOT, "proofs-data")

# Name, program, arguments ({OUT}: a fresh folder).
COMMANDS = [
    ("audit", "clarke", "audit {AUDIT}/lemma2.onnx --batch {AUDIT}/lemma2.npz --loss sum --threads 1 --proof {OUT}/p "
                        "--gradient {OUT}/g.safetensors"),
    ("audit --json", "clarke", "audit {AUDIT}/lenet-q6.onnx --batch {AUDIT}/images-pair.npz --loss ce --threads 1 "
                               "--json --proof {OUT}/p"),
    ("audit --exact", "clarke", "audit {AUDIT}/digits-relu6-q.onnx --batch {AUDIT}/digits.npz --loss ce --threads 1 "
                                "--exact --ranks --proof {OUT}/p"),
    ("audit, a hull", "clarke", "audit {AUDIT}/abs.onnx --batch {AUDIT}/abs.npz --loss sum --threads 1 --proof {OUT}/p"),
    ("derive", "clarke", "derive {PAPERS}/bolte-zero.prog --at t=0 --proof {OUT}/p --plot {OUT}/f.svg --float all"),
    ("derive --json", "clarke", "derive {PAPERS}/bolte-zero.prog --sweep t=-1:1:1/2 --json"),
    ("derive --sweep", "clarke", "derive {PAPERS}/bolte-zero.prog --sweep t=-1:1:1/2 --float all"),
    ("reproduce", "clarke", "reproduce P-L2* --cases {PAPERS} --proofs {OUT}"),
    ("reproduce --json", "clarke", "reproduce P-L3* --cases {PAPERS} --json"),
    ("check", "clarke-check", "{PROOFS}/lemma2.proof --data {AUDIT} --threads 1"),
    ("check, a network", "clarke-check", "{PROOFS}/lenet-q6-pair.proof --data {AUDIT} --threads 1"),
    ("check, a program", "clarke-check", "{PROOFS}/papers/P-L2-1.proof --data {PAPERS} --threads 1"),
]
# Calls that a full disk or a vanishing file makes fail.
CALLS = [("write", "ENOSPC"), ("rename", "EACCES"), ("fsync", "EIO"), ("openat", "EMFILE"), ("read", "EIO"),
         ("close", "EIO")]


class Run:
    """How a command ended: status (negative: a signal), standard output, whether it said why, the files it left."""

    def __init__(self, command, out, prefix=(), **variables):
        environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", LC_ALL="C", **variables)
        done = subprocess.run(list(prefix) + command, capture_output=True, env=environment, timeout=300)
        self.status, self.output, self.said = done.returncode, done.stdout, done.stderr
        self.files = {}
        for name in sorted(os.listdir(out)):
            with open(os.path.join(out, name), "rb") as f:
                self.files[name] = f.read()


def fresh(out):
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)


def wrong(run, right):
    """Why the run ended as it must not; None."""
    if run.status < 0 or run.status > 128:
        return "killed by signal %d" % (-run.status if run.status < 0 else run.status - 128)
    for name, data in run.files.items():
        if right.files.get(name) != data:
            return "left a file that is not whole: %s" % name
    if run.status == 2:
        return None if run.said.strip() else "status 2 without a message"
    if run.status != right.status:
        return "status %d in place of %d" % (run.status, right.status)
    if run.output != right.output:
        return "another answer"
    return None if run.files == right.files else "a file is missing"


def allocations(name, command, out, right, inject, most, rng):
    count = os.path.join(out, "..", "count")
    fresh(out)
    if os.path.exists(count):
        os.remove(count)
    Run(command, out, CLARKE_COUNT=count, LD_PRELOAD=inject)
    with open(count) as f:
        n = max(int(line) for line in f)
    chosen = range(1, n + 1) if most >= n else sorted(rng.sample(range(1, n + 1), most))
    bad = []
    for k in chosen:
        for fail in ("%d" % k, "%d+" % k):
            fresh(out)
            why = wrong(Run(command, out, CLARKE_FAIL=fail, LD_PRELOAD=inject), right)
            if why is not None:
                bad.append("%s: allocation %s of %d: %s" % (name, fail, n, why))
    return 2 * len(chosen), bad


def calls(name, command, out, right, most, rng):
    """Fails the k-th call of each kind, in the program and its children."""
    log = os.path.join(out, "..", "calls")
    done, bad = 0, []
    for call, error in CALLS:
        fresh(out)
        Run(command, out, ["strace", "-f", "-qq", "-o", log, "-e", "trace=" + call])
        with open(log) as f:
            n = sum(" %s(" % call in " " + line for line in f)
        for k in range(1, n + 1) if most >= n else sorted(rng.sample(range(1, n + 1), most)):
            fresh(out)
            run = Run(command, out, ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                                     "inject=%s:error=%s:when=%d" % (call, error, k)])
            why = wrong(run, right)
            # The loader, before main, ends with status 127 when a library cannot be opened or read.
            if why is not None and not (run.status == 127 and b"shared librar" in run.said):
                bad.append("%s: %s %d of %d: %s" % (name, call, k, n, why))
            done += 1
    return done, bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--inject", required=True)
    p.add_argument("--allocations", type=int, default=10, help="of each command, each failing alone and with all after it")
    p.add_argument("--calls", type=int, default=2, help="of each command and kind; 0: none")
    p.add_argument("--only", help="commands whose name begins so")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng, bad, done = random.Random(a.seed), [], [0, 0]
    traced = a.calls > 0 and shutil.which("strace") is not None
    with tempfile.TemporaryDirectory(prefix="clarke-fault-") as work:
        out = os.path.join(work, "out")
        for name, program, line in COMMANDS:
            if a.only and not name.startswith(a.only):
                continue
            words = [os.path.join(a.build, "tools", program)]
            words += [w.format(AUDIT=AUDIT, PAPERS=PAPERS, PROOFS=PROOFS, OUT=out) for w in line.split()]
            fresh(out)
            right = Run(words, out)
            if right.status not in (0, 1):
                sys.exit("%s: status %d without any fault: %s" % (name, right.status, right.said.decode()))
            n, found = allocations(name, words, out, right, a.inject, a.allocations, rng)
            done[0] += n
            bad += found
            if traced:
                n, found = calls(name, words, out, right, a.calls, rng)
                done[1] += n
                bad += found
    print("\n".join(bad))
    print("%d allocations and %d calls failed; %d runs ended as they must not" % (*done, len(bad)))
    if a.calls > 0 and not traced:
        print("there is no strace: no calls were made to fail")
    sys.exit(1 if bad or done[0] == 0 else 0)


if __name__ == "__main__":
    main()
