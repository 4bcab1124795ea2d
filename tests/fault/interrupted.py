"""Commands that are killed while they write, that write one file at the same time, and that use 1 to 64 threads.

* Killed at its n-th write, rename, sync or close, a command leaves under a file's name the file that was there before, or
  its whole new one.
* Of commands that write one file at once each ends well, and the file is whole.
* Any number of threads gives the same bytes.

Of the commands one in DRAW_ONE_IN is asked (tests/draw.py).

    interrupted.py --build DIR [--kills N] [--pairs N] [--threads N,N...]
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import islice

from faults import MAKING, ONE_IN, TRACED, Run, commands, counted, faultless, fresh, spread

OLD = b"what was there before\n"


def prepare(out, right):
    fresh(out)
    for name in right.files:
        with open(os.path.join(out, name), "wb") as f:
            f.write(OLD)


def kills(name, command, out, right, most, rng):
    log = out + ".calls"
    done, bad = 0, []
    prepare(out, right)
    Run(command, out, [*TRACED, "-o", log, "-e", "trace=openat," + ",".join(MAKING)])
    loading, last = counted(log)
    for call in MAKING:
        n = last[call]
        for k in spread(n - loading[call], most, rng):
            k += loading[call]
            prepare(out, right)
            run = Run(command, out, ["strace", "-f", "-qq", "-o", log, "-e", "trace=" + call, "-e",
                                     "inject=%s:signal=KILL:when=%d" % (call, k)])
            with open(log) as f:
                killed = "SIGKILL" in f.read()
            done += killed
            for file, whole in right.files.items():
                if run.files.get(file) not in (OLD, whole):
                    bad.append("%s: killed at %s %d of %d: %s is neither old nor new" % (name, call, k, n, file))
            if not killed and run.status == right.status and run.files != right.files:
                bad.append("%s: not killed at %s %d of %d, and other files" % (name, call, k, n))
    return done, bad


def pairs(name, command, out, right, times):
    bad, environment = [], dict(os.environ, OPENBLAS_NUM_THREADS="1", LC_ALL="C")
    for k in range(times):
        fresh(out)
        both = [subprocess.Popen(["env", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) for _ in "ab"]
        for one in both:
            output, said = one.communicate(timeout=300)
            if (one.returncode, output) != (right.status, right.output):
                bad.append("%s: two at once, time %d: status %d: %s" % (name, k, one.returncode, said.decode()))
        files = {}
        for file in sorted(os.listdir(out)):
            with open(os.path.join(out, file), "rb") as f:
                files[file] = f.read()
        if files != right.files:
            bad.append("%s: two at once, time %d: other files" % (name, k))
    return times, bad


def threads(name, command, out, right, numbers):
    bad = []
    if "--threads" not in command:
        return 0, bad
    at = command.index("--threads") + 1
    for n in numbers:
        fresh(out)
        run = Run(command[:at] + [n] + command[at + 1:], out)
        if (run.status, run.output, run.files) != (right.status, right.output, right.files):
            bad.append("%s: other bytes with %s threads" % (name, n))
    return len(numbers), bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--kills", type=int, default=2, help="of each command and kind of call")
    p.add_argument("--pairs", type=int, default=2, help="of each command")
    p.add_argument("--threads", default="2,64", help="numbers of threads")
    p.add_argument("--only", help="commands whose name begins so")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng, bad, done = random.Random(a.seed), [], [0, 0, 0]
    traced = shutil.which("strace") is not None
    with tempfile.TemporaryDirectory(prefix="clarke-interrupted-") as work:
        out = os.path.join(work, "out")
        for name, command in islice(commands(a.build, out, a.only), 0, None, ONE_IN):
            right = faultless(name, command, out)
            found = [kills(name, command, out, right, a.kills, rng) if traced and right.files else (0, []),
                     pairs(name, command, out, right, a.pairs) if right.files else (0, []),
                     threads(name, command, out, right, a.threads.split(","))]
            done = [n + of for n, (of, _) in zip(done, found)]
            bad += sum((wrong for _, wrong in found), [])
    print("\n".join(bad))
    print("%d runs were killed, %d pairs wrote at once, %d runs had other numbers of threads; %d ended as they must not"
          % (*done, len(bad)))
    if not traced:
        print("there is no strace: none was killed")
    sys.exit(1 if bad or traced and done[0] == 0 or done[1] == 0 or done[2] == 0 else 0)


if __name__ == "__main__":
    main()
