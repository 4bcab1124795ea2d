"""Runs clarke and clarke-check on inputs of under 1 MB that ask for much, and looks at how they end.

Every run must end by itself, without a signal, within 30 s of processor time and 1 GiB, with a status of its documented
ones; what a limit refuses says which limit. What one program refuses as unreadable the other one must refuse.

    hostile.py --build DIR [--all] [--every N] [--only TEXT] [--table] [--keep DIR]
"""
import argparse
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import networks
import programs
import readers
import statements

SECONDS = 30
GIB = 1 << 30
# Address space beyond what is held: libraries, and the BLAS's buffer of its one thread.
BESIDE = 600 << 20
MOST_BYTES = 1 << 20
ARGUMENTS = {
    "audit": "clarke audit model.onnx --batch batch.npz --loss sum --threads 2 --proof own.proof",
    "derive": "clarke derive model.onnx --at batch.npz",
    "show": "clarke-check --show model.onnx batch.npz",
    "check": "clarke-check forged.proof --threads 2",
    "own": "clarke-check own.proof --threads 2",
    "program": "clarke derive program.prog --at point.npz --proof own.proof",
}


class Ended:
    """How a run ended."""

    def __init__(self, words, folder, environment):
        out_path, err_path = os.path.join(folder, ".out"), os.path.join(folder, ".err")
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                out = os.open(out_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                err = os.open(err_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                os.dup2(out, 1)
                os.dup2(err, 2)
                resource.setrlimit(resource.RLIMIT_AS, (GIB + BESIDE, GIB + BESIDE))
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
                resource.setrlimit(resource.RLIMIT_FSIZE, (GIB, GIB))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                os.execve(words[0], words, environment)
            finally:
                os._exit(127)
        # A run that waits for ever takes no processor time.
        alarm = threading.Timer(20 * SECONDS, lambda: os.kill(child, signal.SIGKILL))
        alarm.start()
        _, status, used = os.wait4(child, 0)
        alarm.cancel()
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -self.signal
        self.seconds, self.bytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        with open(out_path, errors="replace") as f:
            self.out = f.read(1 << 20)
        with open(err_path, errors="replace") as f:
            self.err = f.read(1 << 20)


def wrong(run, ended):
    """What is wrong with how it ended; None."""
    if ended.signal or "ended by signal" in ended.err:
        return "ended by signal %d" % ended.signal
    if ended.status not in run.statuses:
        return "status %d, not one of %s" % (ended.status, sorted(run.statuses))
    if ended.seconds > run.seconds or ended.bytes > GIB:
        return "took %.1f s and %d MiB" % (ended.seconds, ended.bytes >> 20)
    if ended.status == 2 and not ended.err.strip():
        return "status 2 without a message"
    if ended.status == 2 and run.command == "own" and "--limit" not in ended.err:
        return "a proof of clarke's own is refused, and not by a limit"
    if "out of memory" in ended.err and "--limit" not in ended.err:
        return "out of memory, without a limit"
    if run.says is not None and not re.search(run.says, ended.out + ended.err):
        return "does not say '%s'" % run.says
    return None


def run_input(hostile, build, keep):
    """Its rows: (name, run, how it ended, what is wrong)."""
    folder = keep or tempfile.mkdtemp(prefix="clarke-hostile-")
    folder = os.path.join(folder, hostile.name.replace(" ", "-")) if keep else folder
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", LC_ALL="C")
    rows = []
    try:
        os.makedirs(folder, exist_ok=True)
        files = hostile.files()
        for name, data in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        size = sum(len(data) for data in files.values())
        for run in hostile.runs:
            words = ARGUMENTS.get(run.command, run.command).split(" ")
            if run.command == "own" and not os.path.exists(os.path.join(folder, "own.proof")):
                continue
            words[0] = os.path.join(build, "tools", words[0])
            ended = Ended(words, folder, environment)
            why = wrong(run, ended)
            if why is None and size > MOST_BYTES:
                why = "the input has %d bytes" % size
            rows.append((hostile.name, run, ended, why))
    finally:
        if not keep:
            shutil.rmtree(folder)
    return rows


def disagree(rows):
    """Both programs read the model and the batch, or neither does."""
    status = {run.command: ended.status for _, run, ended, _ in rows}
    if "audit" in status and "show" in status and not any(run.alone for _, run, _, _ in rows):
        limited = any("--limit" in ended.err or "no parameters" in ended.err for _, _, ended, _ in rows)  # what is read, but not asked about
        if (status["audit"] == 2) != (status["show"] == 2) and not limited:
            return "clarke audit ends with %d, clarke-check --show with %d" % (status["audit"], status["show"])
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--all", action="store_true", help="those, too, that take more than a moment")
    p.add_argument("--every", type=int, default=1, help="one in so many")
    p.add_argument("--only", default="", help="inputs whose name holds this")
    p.add_argument("--table", action="store_true", help="print how each run ended")
    p.add_argument("--keep", help="leave the inputs there")
    a = p.parse_args()
    chosen = [h for m in (networks, programs, readers, statements) for h in m.INPUTS if a.only in h.name]
    chosen = [h for h in chosen if a.all or h.quick][::a.every]
    bad, done = [], 0
    with ThreadPoolExecutor(2) as pool:
        for rows in pool.map(lambda h: run_input(h, os.path.abspath(a.build), a.keep), chosen):
            for name, run, ended, why in rows:
                done += 1
                if a.table or why:
                    said = (ended.err.strip() or ended.out.strip()).split("\n")[0][:150]
                    print("%-34s %-8s %3d %6.2f s %5d MiB  %s%s" % (
                        name, run.command.split(" ")[0][:8], ended.status, ended.seconds, ended.bytes >> 20, said,
                        "   <== " + why if why else ""), flush=True)
                if why:
                    bad.append(name)
            if rows and disagree(rows):
                print("%-34s %s" % (rows[0][0], disagree(rows)), flush=True)
                bad.append(rows[0][0])
    print("%d inputs, %d runs, %d inputs ended as they must not" % (len(chosen), done, len(set(bad))))
    sys.exit(1 if bad or not chosen else 0)


if __name__ == "__main__":
    main()
