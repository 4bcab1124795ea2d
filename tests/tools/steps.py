#!/usr/bin/env python3
"""clarke audit --run: all steps of a folder, and a file of lines that the next call goes on with.

    steps.py CLARKE CLARKE-CHECK RUNS
"""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import records  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, CHECK, RUNS = sys.argv[1:4]
SETS = "s_less_t", "s_less_t_by_identity"


def number(changed, step):
    """The step at hand gets another number, as its files do."""
    changed.description["steps"][0]["step"] = step
    for of in changed.files.values():
        name = f"step-{step:06}" + of["file"][len("step-000000"):]
        shutil.move(os.path.join(changed.run, of["file"]), os.path.join(changed.run, name))
        of["file"] = name
    changed.write()


def add(run, other):
    """The one step of another folder, behind those of this one."""
    for of in other.files.values():
        shutil.copy(os.path.join(other.run, of["file"]), run.run)
    run.description["steps"].append(copy.deepcopy(other.description["steps"][0]))
    run.write()


def lemma(folder, step, w=None, gradient=None):
    """Lemma 2's step, or a light one at another w."""
    changed = records.Changed(folder, RUNS, "lemma2", to="one")
    if w is not None:
        del changed.files["trace"]
        del changed.description["steps"][0]["loss"]
        changed.put_value("parameters", "w", 0, w)
        changed.put_value("gradients", "w", 0, gradient)
    number(changed, step)
    return changed


def folder_of(folder, to="run"):
    """Steps 3, 5, 7, 9: w = 1, 0 (Lemma 2's), 2, 0."""
    first = lemma(folder, 3, 1.0, 1.0)
    run = records.Changed(folder, folder, "one", to=to)
    for step, at in ((5, None), (7, (2.0, 1.0)), (9, None)):
        add(run, lemma(folder, step, *(at or ())))
    return run


def lines_of(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def all_steps(folder):
    run, proof = folder_of(folder), os.path.join(folder, "first.proof")
    status, text, error = said(CLARKE, "audit", "--run", run.run, "--proof", proof)
    expect(status == 1 and text.startswith("Asked:  Were the gradients of the recorded steps in ") and "4 steps, 3 to 9." in text, text + error)
    expect("No: AD's gradient is right in 2 steps (in-bouligand); wrong in 2 steps (not-in-clarke). "
           "Kinks are touched in 2 steps." in text, text)
    expect(f"The first to look at is step 5: clarke audit {run.run} --step 5 tells all of it." in text, text)
    rows = [line.split()[:4] for line in text.splitlines() if line.split()[2:3] == ["not-in-clarke"]]
    expect(rows == [[step, "2", "not-in-clarke", "explained"] for step in ("5", "9")], f"{rows}: {text}")
    done = subprocess.run([CHECK, proof, "--data", run.run], capture_output=True, text=True)
    with open(proof) as f:
        expect(done.stdout.startswith("VERIFIED") and "step-000005" in f.read(), f"the first one's proof: {done.stdout}{done.stderr}")
    status, text, error = said(CLARKE, "audit", "--run", run.run, "--json")
    report = json.loads(text)
    alone = [json.loads(said(CLARKE, "audit", run.run, "--step", str(step), "--json")[1]) for step in (3, 5, 7, 9)]
    expect(status == 1 and not faults("audit", report), f"{status}: {faults('audit', report)}")
    expect([row | {"file": None} for row in report["checkpoints"]] == [row | {"file": None} for row in alone], "a step's answer is its own")
    expect([row["file"] for row in report["checkpoints"]] == [f"step {step}" for step in (3, 5, 7, 9)], "whose it is")
    summed = report["run"]
    expect((summed["steps"], summed["asked"], summed["unanswered"], summed["steps_touched"], summed["first_not_in_bouligand"]) == (4, 4, 0, 2, 5)
           and summed["verdicts"] == {"in-bouligand": 2, "not-in-clarke": 2} and summed["gradients"] == {"explained": 4}
           and summed["layers"] == {name: {"module": "", "op": "Relu", "steps_touched": 2, "touched": 2, "steps_with_windows": 0, "windows": 0,
                                         "steps_above_zero": 0, "above_zero": 0, "parted": 0, "steps_not_known": 0,
                                         **{of: {"steps": 0, "windows": 0, "entries": 0, "steps_not_known": 0} for of in SETS}}
                                    for name in ("relu", "relu_2")}, f"{summed}")
    status, _, _ = said(CLARKE, "audit", "--run", run.run, "--quiet", "--proof", os.path.join(folder, "%.proof"))
    expect(status == 1 and all(os.path.exists(os.path.join(folder, f"step-{step:06}.proof")) for step in (3, 5, 7, 9)), "a proof each")
    said(CLARKE, "audit", "--run", run.run, "--quiet", "--zone-proof", os.path.join(folder, "zone-%"), "--gradient", os.path.join(folder, "%.gradient"))
    expect(sorted(name for name in os.listdir(folder) if name.startswith("zone-")) == ["zone-step-000005", "zone-step-000009"]
           and sum(name.endswith(".gradient") for name in os.listdir(folder)) == 4, f"a file each: {os.listdir(folder)}")
    status, text, _ = said(CLARKE, "audit", "--run", run.run, "--verbose")
    expect([line.split()[0] for line in text.splitlines() if "explained" in line] == ["3", "5", "7", "9"], text)
    sarif = os.path.join(folder, "sarif")
    status, _, error = said(CLARKE, "audit", "--run", run.run, "--quiet", "--sarif", sarif)
    with open(sarif) as f:
        results = json.load(f)["runs"][0]["results"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    expect(status == 1 and len(results) > 1 and all(uri.endswith("graph.onnx") for uri in uris), f"{uris} {error}")


def lines(folder):
    run, path, whole = folder_of(folder), os.path.join(folder, "steps.jsonl"), os.path.join(folder, "whole.jsonl")
    status, text, error = said(CLARKE, "audit", "--run", run.run, "--lines", whole)
    got = lines_of(whole)
    expect(status == 1 and [line.get("step") for line in got] == [None, 3, 5, 7, 9], f"{got}{error}")
    expect([line["verdict"] for line in got[1:]] == ["in-bouligand", "not-in-clarke"] * 2 and [line["touched"] for line in got[1:]] == [0, 2, 0, 2], f"{got}")
    with open(whole, "rb") as f:
        complete = f.read()
    for cut in (len(complete) - 1, complete.index(b'"step":7') + 30, complete.index(b"\n") + 1, 10, 0):
        with open(path, "wb") as f:
            f.write(complete[:cut])
        status, again, error = said(CLARKE, "audit", "--run", run.run, "--lines", path)
        with open(path, "rb") as f:
            expect((status, f.read(), again) == (1, complete, text), f"cut at {cut}: {status} {error}")
    with open(path, "wb") as f:  # a step in the middle is missing, and is put where it belongs
        f.write(b"".join(line for line in complete.splitlines(True) if b'"step":5' not in line))
    said(CLARKE, "audit", "--run", run.run, "--lines", path)
    with open(path, "rb") as f:
        expect(f.read() == complete, "in order")
    status, text, _ = said(CLARKE, "audit", "--run", run.run, "--lines", path, "--json")
    report = json.loads(text)
    expect(status == 1 and report["checkpoints"] == [] and report["run"]["verdicts"] == {"in-bouligand": 2, "not-in-clarke": 2}, f"all known: {report}")
    with open(path, "wb") as f:  # what a step's line says of another step is not believed
        f.write(complete)
    other = folder_of(folder, to="other")
    moved = records.Changed(folder, folder, "other", to="moved")
    moved.files = moved.description["steps"][1]["files"]
    moved.put_value("gradients", "w", 0, 0.5)
    scaled = folder_of(folder, to="scaled")  # what run.json says beside the hashes: a gradient that was scaled is not this one
    scaled.description["steps"][2]["loss_scale"] = "2"
    scaled.write()
    known = folder_of(folder, to="known")  # what an optimizer made of a step later matters to no answer
    known.description["steps"][2]["update"] = {"optimizer": "SGD", "groups": []}
    known.write()
    expect(said(CLARKE, "audit", "--run", known.run, "--lines", path)[0] == 1, "an update that was recorded later")
    unlike, mine = os.path.join(folder, "unlike.jsonl"), os.path.join(folder, "mine.json")
    with open(mine, "w") as f:  # somebody's own, of one line without its end
        f.write('{"mine": 1}')
    ruled, theirs = folder_of(folder, to="ruled"), os.path.join(folder, "ruled.jsonl")
    ruled.description["profile"] = "own.profile"
    ruled.write()
    own = os.path.join(ruled.run, "own.profile")
    for text in ("Relu 0 0\n", "Relu 0 1\n"):  # the profile is a file of the folder: another one, other answers
        with open(own, "w") as f:
            f.write(text)
        status, said_so, error = said(CLARKE, "audit", "--run", ruled.run, "--lines", theirs)
        expect(status != 2 if text == "Relu 0 0\n" else status == 2 and "its step 3 is not the one that is there now" in error, f"{status} {said_so}{error}")
    for old, new in ((b'"verdict":"not-in-clarke"', b'"verdict":"fine"'), (b'"gradient":"explained"', b'"gradient":"fine"'), (b'"gradient":"explained",', b"")):
        with open(unlike, "wb") as f:
            f.write(complete.replace(old, new))
        status, text, error = said(CLARKE, "audit", "--run", run.run, "--lines", unlike)
        expect((status, text) == (2, "") and "expected an answer, with its id" in error, f"an answer that nobody gives: {status} {text}{error}")
    for args, words in (((scaled.run, path), "its step 7 is not the one that is there now"), ((other.run, mine), "expected the first line of answers"),
                        ((moved.run, path), "its step 5 is not the one that is there now"), ((os.path.join(RUNS, "two-zeros"), path), "its step 3 is not the one that is there now"),
                        ((other.run, path, "--wrt", "w"), "these are another run's results"), ((other.run, folder), "Is a directory"),
                        ((other.run, os.path.join(RUNS, "lemma2", "run.json")), "line 1: no JSON object")):
        status, text, error = said(CLARKE, "audit", "--run", args[0], "--lines", *args[1:])
        expect((status, text) == (2, "") and words in error, f"{words}: {status} {text}{error}")
    with open(path, "rb") as f, open(mine) as g:
        expect((f.read(), g.read()) == (complete, '{"mine": 1}'), "what was refused changed nothing")


def faulty(folder):
    run = folder_of(folder)
    run.files = run.description["steps"][3]["files"]
    del run.files["trace"]  # its gradient is 0, which a bound explains whatever it was
    run.write()
    status, text, _ = said(CLARKE, "audit", "--run", run.run)
    expect(status == 1 and "Whether the recorded gradient is AD's, but for rounding, is not known of 1 step." in text, text)
    run.files = run.description["steps"][2]["files"]
    run.put_value("gradients", "w", 0, 0.5)  # no rounding makes it of 1
    path = os.path.join(folder, "faulty.jsonl")
    status, text, error = said(CLARKE, "audit", "--run", run.run, "--lines", path)
    expect(status == 2 and "not what was recorded in 1 step (not-explained)" in text, text + error)
    status, _, error = said(CLARKE, "audit", "--run", os.path.join(folder, "nowhere"))
    expect(status == 2 and "nowhere: there is no folder of that name; --run wants the folder" in error, error)
    run.put("batch", b"no archive", seal=False)  # cannot be asked: the others are, and the next call asks again
    os.unlink(path)
    status, text, error = said(CLARKE, "audit", "--run", run.run, "--lines", path)
    expect(status == 2 and "clarke audit: step 7: " in error and "its SHA-256 is " in error and "1 of 4 is not answered." in text
           and [line.get("step") for line in lines_of(path)] == [None, 3, 5, 9], f"{status} {text}{error}")
    right = folder_of(folder, to="right")
    for step, which in ((1, "batch"), (3, "batch")):
        right.files = right.description["steps"][step]["files"]
        right.put(which, b"no archive", seal=False)
    status, text, error = said(CLARKE, "audit", "--run", right.run)
    expect(status == 2 and "2 of 4 are not answered. No kink is touched in those that are." in text and "Nothing needs doing" not in text, text)
    os.makedirs(os.path.join(folder, "empty", "step-000003"))
    for args, words in ((("--run", run.run, "--step", "3"), "--run asks about all steps"),
                        (("--run", run.run, "--gradient", path + ".safetensors"), "expected a name with a %"),
                        (("--run", run.run, "--zone-proof", path + ".proof"), "expected a name with a %"), ((run.run, "--lines", path), "--lines needs --run"),
                        (("--run", os.path.join(run.run, "graph.onnx"), "--batch", path), "--run is of a run folder"),
                        (("--run", os.path.join(folder, "empty")), "there is no run.json, nor in a folder in it")):
        status, text, error = said(CLARKE, "audit", *args)
        expect((status, text) == (2, "") and words in error, f"{args}: {status} {text}{error}")


def folders(folder):
    """As the callbacks of training loops leave them: a folder a step."""
    runs, path = os.path.join(folder, "runs"), os.path.join(folder, "folders.jsonl")
    os.mkdir(runs)
    for step, at in ((300, None), (100, (1.0, 1.0)), (20, (2.0, 1.0))):
        shutil.move(lemma(folder, step, *(at or ())).run, os.path.join(runs, f"step-{step}"))
    os.makedirs(os.path.join(runs, "step-400"))  # one that was begun
    left = records.Changed(folder, RUNS, "lemma2", to="one")
    left.description = {key: left.description[key] for key in ("format", "version", "framework", "device")} | {
        "outside": {"lines": ["What left the reals first.", "What to do."]}, "steps": [{"step": 200}]}
    left.write()
    shutil.move(left.run, os.path.join(runs, "step-200"))
    status, text, error = said(CLARKE, "audit", "--run", runs, "--lines", path)
    expect(status == 1 and "4 steps, 20 to 300." in text and f"step 200: clarke audit {runs}/step-200 --step 200 tells all of it." in text, f"{text}{error}")
    expect([(line.get("step"), line.get("verdict"), line.get("gradient")) for line in lines_of(path)]
           == [(None, None, None), (20, "in-bouligand", "explained"), (100, "in-bouligand", "explained"), (200, "undecided", "outside the reals"),
               (300, "not-in-clarke", "explained")], f"{lines_of(path)}")
    expect([line["touched"] for line in lines_of(path)[1:]] == [0, 0, None, 2] and "Which kinks are touched is not known of 1 step." in text, f"{lines_of(path)}")
    again = said(CLARKE, "audit", "--run", runs, "--lines", path)
    expect(again == (status, text, error), f"again: {again}")
    shutil.copytree(os.path.join(runs, "step-100"), os.path.join(runs, "copy"))
    status, text, error = said(CLARKE, "audit", "--run", runs)
    expect((status, text) == (2, "") and "both have a step 100: ask about each folder by itself" in error, f"{status} {text}{error}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        all_steps(where)
        lines(where)
        faulty(where)
        folders(where)
    finish()
