#!/usr/bin/env python3
"""The GitHub Action and the hook of pre-commit, run here as they are run there.

    ci_files.py CLARKE SOURCE
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish  # noqa: E402

CLARKE, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
CASES = os.path.join(SOURCE, "cases", "audit")
WRONG, RIGHT, HALF = (f"audit {m}.onnx --batch m/{b}.npz --loss {loss}" for m, b, loss in (("m/lemma2", "lemma2", "sum"), ("m/digits-relu", "digits", "ce"), ("m/abs", "abs", "sum")))


def text_of(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def action(**inputs):
    """The step `Ask`, with the defaults of the action's inputs; GitHub runs sh -e."""
    text = text_of("ci", "action.yml")
    step = text[text.index("- name: Ask"):]
    given = dict(re.findall(r"^  ([a-z-]+):\n    description: .*\n    default: (.*)$", text, re.M))
    expect(set(given) == {"questions", "output", "baseline", "fail-on"}, given)
    env = {name: inputs.get(key.replace("-", "_"), given[key].strip("'")) for name, key in re.findall(r"^        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", step, re.M)}
    script = re.search(r"      run: \|\n((?:        .*\n)+)", step)[1]
    expect("${{" not in script, "an input is text, and no part of a script")
    return run(["sh", "-e", "-c", script], env | {"GITHUB_ACTION_PATH": os.path.join(SOURCE, "ci")})


def hook(*files):
    entry = re.search(r"^  entry: (.*)$", text_of(".pre-commit-hooks.yaml"), re.M)[1]
    return run([os.path.join(SOURCE, entry), *files], {})


def run(command, env):
    path = os.path.dirname(CLARKE) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env | {"PATH": path})
    return done.returncode, done.stdout, done.stderr


def ask(lines):
    with open(".clarke", "w") as f:
        f.write("# questions\n\n" + "\n".join(lines))


def asked(out):
    return re.findall(r"^clarke (.*)$", out, re.M)


def of_the_action():
    ask([RIGHT, WRONG])
    status, out, err = action()
    expect(status == 1 and asked(out) == [RIGHT, WRONG] and out.count("Answer: ") == 2 and err == "", (status, out, err))
    found = sorted(os.listdir("clarke-found"))
    results = [r for name in found if name.endswith(".sarif") for r in json.load(open(f"clarke-found/{name}"))["runs"][0]["results"]]
    expect(len(found) == 4 and {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results} == {"m/lemma2.onnx"}, (found, results))
    expect(all(xml.parse(f"clarke-found/{name}") for name in found if name.endswith(".xml")), found)
    os.rename("clarke-found", "known")
    status, out, err = action(baseline="known")
    expect(status == 0 and asked(out) == [RIGHT, WRONG], f"what is known: {status} {out} {err}")
    ask([RIGHT, HALF])
    expect(action()[0] == 0 and action(fail_on="touched")[0] == 1, "--fail-on")
    for lines, worst in (([WRONG + " --timeout 0", RIGHT], 3), ([WRONG, WRONG + " --timeout 0"], 1), ([WRONG, "audit none.onnx --batch m/abs.npz"], 2), ([], 0)):
        ask(lines)
        expect(action()[0] == worst, f"{lines}: {worst}")
    ask(["audit $(touch owned) ; touch owned"])
    expect(action()[0] == 2 and not os.path.exists("owned"), "a line is no script")
    os.remove(".clarke")
    status, _, err = action()
    expect(status == 2 and ".clarke" in err, err)


def of_the_hook():
    ask([RIGHT, WRONG, "certify runs/tied/"])
    shutil.copytree(os.path.join(SOURCE, "cases", "runs", "tied"), "runs/tied")
    for files, lines, status in ((["m/digits-relu.onnx"], [RIGHT], 0), (["m/lemma2.npz", "other.npz"], [WRONG], 1), (["other.npz"], [], 0),
                                 (["runs/tied/run.json"], ["certify runs/tied/"], 0), ([".clarke"], [RIGHT, WRONG, "certify runs/tied/"], 1)):
        ended, out, err = hook(*files)
        expect((ended, asked(out)) == (status, lines), f"{files}: {ended} {out} {err}")
    files = re.compile(re.search(r"^  files: (.*)$", text_of(".pre-commit-hooks.yaml"), re.M)[1])
    expect(all(files.search(name) for name in ("a/m.onnx", "b.npz", "p.prog", "runs/1/run.json", ".clarke", "w.safetensors")), "files that are asked about")
    expect(not any(files.search(name) for name in ("a.py", "onnx", "x.clarke", "my-run.jsonx")), "others")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("m")
        for name in ("lemma2.onnx", "lemma2.npz", "digits-relu.onnx", "digits.npz", "abs.onnx", "abs.npz"):
            shutil.copy(os.path.join(CASES, name), "m")
        of_the_action()
        of_the_hook()
        os.chdir("/")
    finish()


main()
