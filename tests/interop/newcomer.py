"""What newcomers are told, done in an environment that has the wheel and what they are told to install, and no compiler: the tutorial's script
and its commands as they are printed. CITATION.cff is what those who made the format take. wheel.py asks for both.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from wheel import ROOT, run  # noqa: E402
from expect import expect  # noqa: E402

TUTORIAL = os.path.join(ROOT, "docs", "tutorial.md")


def printed():
    """The tutorial's packages, and its script."""
    with open(TUTORIAL, encoding="utf-8") as f:
        text = f.read()
    packages, = re.findall(r"`pip install ([^`]+)`", text)
    script, = re.findall(r"```python\n(.*?)```", text, re.S)
    return packages.split(), script


def imported(packages, python, folder):
    """Each package is named as PyPI has it, and the script imports no other."""
    names = {"scikit-learn": "sklearn"}
    for package in packages:
        status, said = run(folder, python, "-c", f"import {names.get(package, package)}")
        expect(status == 0, f"{package}: {said}")
    return {names.get(package, package) for package in packages}


def tutorial(folder, scripts):
    packages, script = printed()
    there = imported(packages, os.path.join(scripts, "python"), folder)
    asked = {name.split(".")[0] for line in re.findall(r"^(?:import|from) (.+?)(?: import .*)?$", script, re.M) for name in line.split(", ")}
    expect(asked <= there and asked, f"the script imports {asked}; told to install: {there}")
    with open(os.path.join(folder, "tutorial.py"), "w") as out:
        out.write(script)
    status, said = run(folder, os.path.join(scripts, "python"), "-W", "ignore", "tutorial.py", env={"PATH": scripts, "HOME": folder})
    expect(status == 0 and os.path.exists(os.path.join(folder, "digits.onnx")) and os.path.exists(os.path.join(folder, "batch.npz")), f"the script: {said[-1500:]}")
    # the networks of other processors differ, so what is said of this one is not the tutorial's word for word
    status, said = run(folder, os.path.join(scripts, "clarke"), "audit", "digits.onnx", "--batch", "batch.npz", "--proof", "own.proof")
    expect(status in (0, 1) and said.startswith("Asked:  Is AD's gradient right at these weights? digits.onnx on 32 samples, loss ce, in 1210 parameters"), said)
    status, said = run(folder, os.path.join(scripts, "clarke-check"), "own.proof")
    expect(status == 0 and said.startswith("VERIFIED"), f"its proof: {said}")
    status, said = run(folder, sys.executable, os.path.join(ROOT, "tests", "docs", "shown.py"), scripts, TUTORIAL, env={"PATH": "/usr/bin:/bin"})
    expect(status == 0 and "0 print something else" in said, f"the commands: {said[-3000:]}")


def citation(folder):
    """By the format's own program, which wants other versions of packages: an environment of its own."""
    status, said = run(folder, sys.executable, "-m", "venv", "cff", env=dict(os.environ))
    pip = os.path.join(folder, "cff", "bin", "pip")
    status, said = run(folder, pip, "install", "-q", "--disable-pip-version-check", "cffconvert==2.0.0", env=dict(os.environ))
    expect(status == 0, f"cffconvert: {said}")
    convert = os.path.join(folder, "cff", "bin", "cffconvert")
    status, said = run(folder, convert, "--validate", "-i", os.path.join(ROOT, "CITATION.cff"), env=dict(os.environ))
    expect(status == 0 and "valid" in said.lower(), f"CITATION.cff: {said}")
    status, said = run(folder, convert, "-f", "bibtex", "-i", os.path.join(ROOT, "CITATION.cff"), env=dict(os.environ))
    with open(os.path.join(ROOT, "meson.build")) as f:
        version, = re.findall(r"^  version : '(.+)',$", f.read(), re.M)
    with open(os.path.join(ROOT, "CITATION.cff")) as f:
        expect(f"\nversion: {version}\n" in f.read() and "@misc" in said and "clarke" in said, f"cited: {said}")
    with open(os.path.join(folder, "wrong.cff"), "w") as out:
        out.write("cff-version: 1.2.0\ntitle: clarke\n")
    expect(run(folder, convert, "--validate", "-i", "wrong.cff", env=dict(os.environ))[0] != 0, "without a message and authors it is none")

