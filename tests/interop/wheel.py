#!/usr/bin/env python3
"""The wheel that tools/wheel/build makes of the repository: the package with both programs and their libraries, in an environment that
has nothing else: no compiler, no variable but an empty PATH, and of the system's libraries those alone that every Linux has.

    wheel.py [WHEEL]

Without a WHEEL it is built. Lemma 2 as a module is recorded and audited, its proof is checked, and pytest finds the fixture. The tutorial runs as it is printed.
"""
import glob
import os
import re
import resource
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


# What PEP 600 lets a wheel take from the system: the C library's parts, and the compiler's run-time libraries.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1", "linux-vdso.so.1", "ld-linux-x86-64.so.2",
          "libz.so.1"}


def run(folder, *command, env=None):
    """Without an environment of its own a command has a PATH that leads nowhere."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PATH": folder} if env is None else env)
    return done.returncode, done.stdout + done.stderr


def built(folder):
    """The wheel's path; None: there is none."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CLARKE", "PYTHONPATH")}
    status, said = run(folder, "sh", os.path.join(ROOT, "tools", "wheel", "build"), folder, env=clean)
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    expect(status == 0 and len(wheels) == 1, f"a wheel is built: {said}")
    expect(all(re.fullmatch(r"clarke-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl", name) for name in wheels), wheels)
    return os.path.join(folder, wheels[0]) if wheels else None


def contained(folder):
    """Each library of each program and library of the wheel is another of the wheel, or the system's own."""
    inside = os.path.realpath(os.path.join(folder, "venv"))
    files = {os.path.realpath(path) for name in ("clarke.scripts", "clarke.libs") for path in glob.glob(f"{inside}/**/{name}/*", recursive=True)}
    expect(sum(path.endswith(("/clarke", "/clarke-check")) for path in files) == 2 and len(files) > 10, files)
    for path in files:
        _, said = run(folder, "/usr/bin/ldd", path, env={})
        for line in said.splitlines():
            name, _, found = line.strip().partition(" => ")
            name = os.path.basename(name.split(" ")[0])
            expect(name in SYSTEM or os.path.realpath(found.split(" (")[0]).startswith(inside + os.sep), f"{path} needs {line.strip()}")


def installed(folder, wheel):
    """The folder of an environment's programs."""
    venv.create(os.path.join(folder, "venv"), with_pip=True)
    scripts = os.path.join(folder, "venv", "bin")
    _, there = run(folder, os.path.join(scripts, "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    with open(os.path.join(there.strip(), "torch.pth"), "w") as others:  # PyTorch, NumPy, onnx and pytest are those that are here
        others.write(sysconfig.get_path("purelib") + "\n")
    status, said = run(folder, os.path.join(scripts, "python"), "-m", "pip", "install", "-q", "--no-deps", wheel)
    expect(status == 0, f"pip installs it: {said}")
    status, said = run(folder, os.path.join(scripts, "clarke"), "selftest")
    expect(status == 0 and "6 of 6 answers" in said, f"selftest: {said}")
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
    import newcomer  # which takes its names from here

    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else built(scratch)
        newcomer.citation(scratch)
        if made is not None:
            begun = resource.getrusage(resource.RUSAGE_CHILDREN)
            programs = installed(scratch, made)
            asked(scratch, programs)
            taken = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - sum(begun[:2])
            expect(taken < 60, f"from the wheel to a checked proof: {taken:.0f} s of processor time")
            contained(scratch)
            newcomer.tutorial(scratch, programs)
    finish()
