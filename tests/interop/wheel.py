#!/usr/bin/env python3
"""The wheel that pip builds of the repository: the package with both programs, in an environment that has nothing else of clarke.

    wheel.py

Lemma 2 as a module is recorded and audited, its proof is checked, and pytest finds the fixture.
"""
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(ROOT, "tests", "tools"))
from expect import expect, finish  # noqa: E402

LEMMA2 = """
import sys, torch, clarke

class Lemma2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.relu(self.w * x) - torch.relu(-self.w * x)

def step(w=None):
    model = Lemma2()
    if w is not None:
        model.w.data.fill_(w)
    return model, torch.ones(1, 1), torch.zeros(1, 1), lambda out, y: out.sum()

def test_away(assert_in_clarke):
    assert_in_clarke(*step(0.5))

def test_at_the_kink(assert_in_clarke):
    assert_in_clarke(*step())

if __name__ == "__main__":
    model, x, y, loss = step()
    with clarke.record("run", model):
        loss(model(x), y).backward()
    answer = clarke.audit("run")
    with open("run/proof", "wb") as out:
        out.write(answer.proof)
    print(clarke.__file__.startswith(sys.prefix), answer.verdict)
"""


def run(folder, *command):
    clean = {k: v for k, v in os.environ.items() if k not in ("CLARKE", "PYTHONPATH")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean)
    return done.returncode, done.stdout + done.stderr


def built(folder):
    """The wheel's path; None: there is none."""
    status, said = run(folder, sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", ".", ROOT)
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    expect(status == 0 and len(wheels) == 1, f"pip builds a wheel: {said}")
    return os.path.join(folder, wheels[0]) if wheels else None


def installed(folder, wheel):
    """The folder of an environment's programs."""
    venv.create(os.path.join(folder, "venv"), with_pip=True)
    scripts = os.path.join(folder, "venv", "bin")
    _, there = run(folder, os.path.join(scripts, "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    with open(os.path.join(there.strip(), "torch.pth"), "w") as others:  # PyTorch, NumPy, onnx and pytest are those that are here
        others.write(sysconfig.get_path("purelib") + "\n")
    status, said = run(folder, os.path.join(scripts, "python"), "-m", "pip", "install", "-q", "--no-deps", wheel)
    expect(status == 0, f"pip installs it: {said}")
    return scripts


def asked(folder, scripts):
    with open(os.path.join(folder, "test_lemma2.py"), "w") as out:
        out.write(LEMMA2)
    status, said = run(folder, os.path.join(scripts, "python"), "-W", "ignore", "test_lemma2.py")
    expect((status, said.strip()) == (0, "True not-in-clarke"), f"lemma 2: {said}")
    status, said = run(folder, os.path.join(scripts, "clarke-check"), "run/proof")
    expect(status == 0 and said.startswith("VERIFIED"), f"clarke-check: {said}")
    status, said = run(folder, os.path.join(scripts, "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_lemma2.py")
    expect(status == 1 and "1 failed, 1 passed" in said, f"pytest: {said}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        made = built(scratch)
        if made is not None:
            asked(scratch, installed(scratch, made))
    finish()
