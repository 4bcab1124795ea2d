#!/usr/bin/env python3
"""Lines on standard error that say how far a command is: where that is no terminal, and never on standard output.

    progress.py CLARKE CASES

No test depends on a clock: with CLARKE_PROGRESS=0 a line is due whenever somebody looks, and once more at the end (test_watch.c has what is
in it).
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish  # noqa: E402

CLARKE, CASES = (os.path.abspath(a) for a in sys.argv[1:3])
LINE = re.compile(r"clarke at work, \d+ s: ([a-z ()]+)(, (\d+)( of (\d+) \(\d+%\)(, about \d+ s more)?)?)?$")
AUDIT = ["audit", f"{CASES}/audit/lenet-init.onnx", "--batch", f"{CASES}/audit/images-blank.npz"]
DERIVE = ["derive", f"{CASES}/papers/bolte-zero.prog", "--at", "t=0"]


def run(progress, *command):
    env = {name: value for name, value in os.environ.items() if name != "CLARKE_PROGRESS"} | ({"CLARKE_PROGRESS": progress} if progress is not None else {})
    done = subprocess.run([CLARKE, *command], capture_output=True, text=True, env=env)
    return done.returncode, done.stdout, done.stderr.splitlines()


def lines():
    for command in (AUDIT, [*AUDIT, "--json"], DERIVE, ["certify", f"{CASES}/runs/small"], ["patterns", f"{CASES}/regions/bump.prog", "--at", "0,0"],
                    ["step", f"{CASES}/steps/run"]):
        plain, told = run("off", *command), run("0", *command)
        expect(plain[2] == [], f"{command}: {plain[2]}")
        expect(told[:2] == plain[:2], f"{command}: another answer")
        expect(told[2] and all(LINE.match(line) for line in told[2]), f"{command}: {told[2][:3]}")
        for line in told[2]:
            done, of = LINE.match(line).group(3, 5)
            expect(of is None or int(done) <= int(of), line)
    expect(run("0", "step", f"{CASES}/steps/run")[2][-1].endswith(": parameters, 2 of 2 (100%)"), "the last stage has its count")


def none():
    """With --quiet; where it is not yet due; on a terminal, which has a bar. An error's message comes behind them, as it was."""
    for options in (["--quiet"], ["--quiet", "--exit-zero"]):
        expect(run("0", *AUDIT, *options)[2] == run("0", *DERIVE, *options)[2] == [], options)
    expect(run("1000000", *AUDIT)[2] == [], "not due")
    wrong = ["audit", "none.onnx", "--batch", "none.npz"]
    told = run("0", *wrong)
    expect(told[0] == 2 and told[2][:-1] and all(LINE.match(line) for line in told[2][:-1]) and told[2][-1:] == run("off", *wrong)[2], told)
    heard = on_terminal({"CLARKE_PROGRESS": "0"}, *AUDIT)
    expect("at work" not in heard, heard)


def on_terminal(environment, *command):
    """What comes on standard error."""
    parent, child = pty.openpty()
    heard = []

    def listen():
        while not b"".join(heard).endswith(b"the end"):
            heard.append(os.read(parent, 4096))

    listener = threading.Thread(target=listen)
    listener.start()
    subprocess.run([CLARKE, *command], stdout=subprocess.DEVNULL, stderr=child, env=os.environ | environment)
    os.write(child, b"the end")
    listener.join()
    os.close(child)
    os.close(parent)
    return b"".join(heard).decode()


def nobody_reads():
    """The reader of the lines has gone: the answer is the same."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([CLARKE, *AUDIT], stdout=subprocess.PIPE, stderr=write, text=True, env=os.environ | {"CLARKE_PROGRESS": "0"})
    os.close(write)
    expect((done.returncode, done.stdout) == run("off", *AUDIT)[:2], "with nobody to read")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lines()
        none()
        nobody_reads()
        os.chdir("/")
    finish()


main()
