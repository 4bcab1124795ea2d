#!/usr/bin/env python3
"""clarke audit of the recorded steps in cases/runs, as they are and with something changed.

    runs.py CLARKE CLARKE-CHECK RUNS

Each record must have its verdict, and a proof that verifies. A gradient, an output or a file that is changed must be found,
with its place: exit status 2.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import records  # noqa: E402
from expect import behind, expect, finish, said  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, CHECK, RUNS = sys.argv[1:4]
VERDICTS = {"lemma2": (1, "not-in-clarke"), "two-zeros": (0, "in-bouligand"), "bounds": (0, "in-clarke"),
            "tied": (0, "in-bouligand"), "fresh": (0, "in-bouligand"), "small": (0, "in-bouligand"),
            "small-light": (0, "in-bouligand"), "small-float64": (0, "in-bouligand"), "parted": (3, "in-bouligand"),
            "own-side": (0, "in-bouligand"), "own-side-float64": (0, "in-bouligand"), "small-plain": (0, "in-bouligand"), "pooled": (3, "in-bouligand"),
            "narrow": (3, "in-bouligand"), "trees": (0, "in-bouligand"), "small-trees": (0, "in-bouligand"), "attention": (0, "in-bouligand"),
            "means": (0, "in-bouligand"), "words": (0, "in-bouligand"), "turned": (0, "in-bouligand"),
            "added": (0, "in-bouligand"), "factors": (0, "in-bouligand"), "factors-fused": (0, "in-bouligand"),
            "layer-float64": (0, "in-bouligand"), "placed": (0, "in-bouligand")}
TURNED = {"parted": "undecided", "pooled": "undecided", "own-side": "in-bouligand"}  # along the recorded branches
COARSE = "Whether the recorded gradient is AD's exact gradient but for rounding is not known: nodes are certified only if rounding was as coarse as run.json alone says"
EXPLAINED = "The recorded gradient is AD's exact gradient within a bound on rounding: "
REFUTED = "NOT the step that was recorded: "


def audit(run, *options):
    status, text, error = said(CLARKE, "audit", run, *options)
    return status, behind(text), error


def as_recorded(folder):
    expect(set(VERDICTS) == set(os.listdir(RUNS)), "a record for each verdict")
    for name, (status, verdict) in VERDICTS.items():
        run, proof = os.path.join(RUNS, name), os.path.join(folder, "proof")
        got, text, error = audit(run, "--proof", proof)
        first = "TURNED: " if name in TURNED else COARSE if name == "narrow" else EXPLAINED
        expect(got == status and text.startswith(first) and f"\n{verdict}: " in text, f"{name}: {got} {text[:200]}{error}")
        done = subprocess.run([CHECK, proof, "--data", run], capture_output=True, text=True)
        expect(done.stdout.startswith("VERIFIED"), f"{name}: {done.stdout[:200]}{done.stderr}")
        got, text, _ = audit(run, "--json")
        report = json.loads(text)
        expect(not faults("audit", report), f"{name}: {faults('audit', report)}")
        gradient = report["gradient"]
        answer = "turned" if name in TURNED else "not known" if name == "narrow" else "explained"
        expect(got == status and report["verdict"] == verdict and gradient["answer"] == answer
               and gradient["explained"] is (True if answer == "explained" else None), f"{name}: JSON")
        if name in TURNED:
            expect(gradient["turned"]["recorded"]["verdict"] == TURNED[name] and gradient["turned"]["kinks"], f"{name}: {gradient}")
        else:
            expect(gradient["turned"] is None, f"{name}: {gradient}")


def Changed(folder, name):
    return records.Changed(folder, RUNS, name)


def refuted(changed, says, *options):
    status, text, error = audit(changed.run, *options)
    expect(status == 2 and text.startswith(REFUTED) and says in text.split("\n")[0], f"{says}: {status} {text[:200]}{error}")


def refused(changed, says):
    status, text, error = audit(changed.run)
    expect(status == 2 and text == "" and says in error, f"{says}: {status} {text[:200]}{error}")


def gradients(folder):
    for name, parameter, entry, index in [("small", "3.weight", 7, "[0, 0, 2, 1]"), ("small-light", "8.weight", 3, "[0, 3]"),
                                          ("small-light", "6.bias", 2, "[2]"), ("small-float64", "0.weight", 4, "[0, 0, 1, 1]"),
                                          ("fresh", "1.weight", 3, "[3]"), ("tied", "encoder.weight", 5, "[1, 1]"),
                                          ("lemma2", "w", 0, "[0]"), ("bounds", "w", 0, "[0]"), ("two-zeros", "first.weight", 0, "[0, 0]")]:
        changed = Changed(folder, name)
        changed.scale("gradients", parameter, entry, 1.05)
        refuted(changed, f"{parameter}{index} was recorded as ")
    proof = os.path.join(folder, "none")
    refuted(changed, "first.weight", "--proof", proof)
    expect(not os.path.exists(proof), "a proof about another program")
    changed = Changed(folder, "small")  # the last bit is rounding
    changed.scale("gradients", "0.weight", 4, 1 + 2 ** -22)
    status, text, _ = audit(changed.run)
    expect(status == 0 and text.startswith(EXPLAINED), f"a last bit: {text[:200]}")


def traces(folder):
    changed = Changed(folder, "small")
    changed.scale("trace", "output/3/convolution", 5, 1.01)
    refuted(changed, "output 3/convolution[0, 0, 1, 2] was recorded as ")
    changed = Changed(folder, "bounds")
    changed.scale("trace", "output/clamp", 0, 0.5)
    refuted(changed, "output clamp[0, 0] was recorded as ")


def links(folder):
    """What run.json names lies in the folder, as itself: no program follows a link from there, out of it or inside."""
    whole = os.path.join(folder, "small.proof")
    said(CLARKE, "certify", os.path.join(RUNS, "small"), "--proof", whole)
    for which in ("graph", "batch", "parameters", "gradients", "trace", "run.json"):
        changed = Changed(folder, "small")
        if which == "trace":
            del changed.files[which]["sha256"]
            changed.write()
        name = which if which == "run.json" else changed.description["graph"]["file"] if which == "graph" else changed.files[which]["file"]
        path = os.path.join(changed.run, name)
        for target in (os.path.join(folder, "elsewhere"), os.path.join(changed.run, "inside")):
            os.rename(path, target)
            os.symlink(os.path.relpath(target, changed.run), path)
            refused(changed, f"{name}: cannot be opened: symbolic links are not followed")
            for options in ([], ["--nodes"]):
                status, text, error = said(CLARKE, "certify", changed.run, *options)
                expect((status, text) == (2, "") and "symbolic links are not followed" in error, f"certify {which}: {status} {error}")
            if which != "run.json":  # of which no proof speaks
                status, _, error = said(CHECK, whole, "--data", changed.run)
                expect(status == 2 and "is a symbolic link" in error, f"check {which}: {status} {error}")
            os.unlink(path)
            os.rename(target, path)
        if which == "run.json":
            continue
        for outside in ("../elsewhere", "a/b", ".hidden", ""):
            (changed.description["graph"] if which == "graph" else changed.files[which])["file"] = outside
            changed.write()
            refused(changed, "expected a plain name in the folder")
    run = os.path.join(folder, "a-link-to-a-run")  # the folder itself is the user's choice
    os.symlink(os.path.abspath(os.path.join(RUNS, "small")), run)
    expect(audit(run)[0] == 0 and said(CHECK, whole, "--data", run)[0] == 0, "a run by a link")


def files(folder):
    for which in ("batch", "parameters", "gradients", "trace"):
        changed = Changed(folder, "small")
        changed.put(which, changed.bytes_of(which) + b"\0", seal=False)
        refused(changed, "its SHA-256 is ")
        os.unlink(os.path.join(changed.run, changed.files[which]["file"]))
        refused(changed, "cannot be opened")
        changed = Changed(folder, "small")
        del changed.files[which]["sha256"]  # a trace may be without
        changed.write()
        if which != "trace":
            refused(changed, f"'{which}': expected a file with its sha256, 64 digits")
            continue
        status, text, _ = audit(changed.run)
        expect(status == 0 and text.startswith(EXPLAINED), f"a trace without a hash: {text[:200]}")
        changed.scale("trace", "output/3/convolution", 5, 1.01)
        expect("sha256" not in changed.files["trace"], "still without")
        refuted(changed, "output 3/convolution[0, 0, 1, 2] was recorded as ")
    changed = Changed(folder, "small")
    changed.description["profile"] = "nowhere-1"
    changed.write()
    refused(changed, "nowhere-1")
    changed = Changed(folder, "small")
    changed.description["loss"] = "sum"
    changed.write()
    refused(changed, "loss sum is asked for; the model ends in its own, ce")
    changed = Changed(folder, "small")
    changed.description["dtypes"] = ["float8"]
    changed.write()
    refused(changed, "numbers of type 'float8' are not known")
    changed = Changed(folder, "small")
    changed.description["parameters"].append("9.weight")
    changed.write()
    refused(changed, "9.weight")
    changed = Changed(folder, "small")
    changed.description["steps"][0]["loss_scale"] = "1024"
    changed.write()
    refuted(changed, " was recorded as ")
    os.unlink(os.path.join(changed.run, "run.json"))
    refused(changed, "run.json: cannot be opened")


def again(folder):
    """Whether the step was run again is said where it was not."""
    changed, words = Changed(folder, "small"), "The step was NOT run again: "
    for held, said_ in ((None, "nothing"), ("calls", "calls"), ("loss", "loss"), ("program", "program")):
        changed.description["steps"][0]["again"] = held
        changed.write()
        status, text, _ = audit(changed.run)
        of_others = "The step itself was not run again: earlier ones of the same program were.\n" in text.split("\n\n")[0] + "\n"
        expect(of_others == (held == "program"), f"again {held}, of others: {text[:400]}")
        expect(status == 0 and (words in "\n".join(text.split("\n")[:4])) == (held is None), f"again {held}: {text[:300]}")
        expect(json.loads(audit(changed.run, "--json")[1])["gradient"]["again"] == said_, f"again {held} in JSON")
    del changed.description["steps"][0]["again"]
    changed.write()
    expect(words not in audit(changed.run)[1] and json.loads(audit(changed.run, "--json")[1])["gradient"]["again"] is None, "again is not said")
    changed.description["steps"][0]["again"] = False
    changed.write()
    refused(changed, "'again': expected ")


def branches(folder):
    """Where the program took a branch: noted, at most eight lines of them."""
    changed = Changed(folder, "small")
    for lines, others in ((["a.py:3"], ""), ([f"a.py:{i}" for i in range(1, 11)], "Note: so it did at so many other lines: 2.\n")):
        changed.description["branches"] = lines
        changed.write()
        status, text, _ = audit(changed.run)
        notes = [t for t in text.split("\n") if t.startswith("Note: at ")]
        expect(status == 0 and len(notes) == min(len(lines), 8) and notes[0].startswith("Note: at a.py:") and others in text, text)
        expect(json.loads(audit(changed.run, "--json")[1])["notes"][0].startswith("at a.py:"), "notes in JSON")
    for wrong in ("a.py:3", [3]):
        changed.description["branches"] = wrong
        changed.write()
        refused(changed, "'branches': expected a ")


def options():
    run = os.path.join(RUNS, "small")
    for more, says in [(["--batch", "b.npz"], "is a run folder"), (["--loss", "ce"], "is a run folder"), (["--step", "x"], "is no number"),
                       (["--step", "3"], "it has no step 3"), (["--profile", "jax-0.10"], "recorded under profile pytorch-2.13")]:
        status, _, error = audit(run, *more)
        expect(status == 2 and says in error, f"{more}: {status} {error}")
    status, _, error = audit(os.path.join(run, "graph.onnx"), "--batch", "b.npz", "--step", "0")
    expect(status == 2 and "--step is of a run folder" in error, error)
    status, text, _ = audit(run, "--wrt", "0.bias", "--step", "0", "--profile", "pytorch-2.13")
    expect(status == 0 and text.startswith(EXPLAINED + "3 entries"), text[:200])


def claims(folder):
    """What run.json alone says gives no yes, and what the record contradicts is refused."""
    changed = Changed(folder, "small")
    changed.description["dtypes"].append("bfloat16")
    changed.write()
    refused(changed, "run.json says that numbers of type bfloat16 were computed; no tensor of the trace is of it")
    changed = Changed(folder, "small-light")
    changed.description["dtypes"].append("bfloat16")
    changed.write()
    status, text, _ = audit(changed.run)
    expect(status == 0 and text.startswith(EXPLAINED) and "\nTold by run.json alone: numbers of type bfloat16" in text, f"a type: {status} {text[:400]}")
    changed.scale("gradients", "0.weight", 4, 1 + 2 ** -6)
    status, text, _ = audit(changed.run)
    expect(status == 3 and "is not known: " in text.split("\n")[0], f"a type that explains: {status} {text[:400]}")
    changed = Changed(folder, "small-float64")  # what float64 rounds off is far less
    changed.description["steps"][0]["loss"] = (float.fromhex(changed.description["steps"][0]["loss"]) * (1 + 2 ** -42)).hex()
    changed.write()
    refuted(changed, "run.json has a loss of 1.13194808; it is exactly about ")
    for name in ("small", "small-light"):
        changed = Changed(folder, name)
        changed.description["steps"][0]["loss"] = float(32).hex()
        changed.write()
        refuted(changed, "run.json has a loss of 32; it is exactly about ")
        changed = Changed(folder, name)
        changed.description["parameters"].remove("6.weight")
        changed.write()
        refused(changed, "has a gradient of '6.weight', which run.json does not count among the parameters")
    changed.description["parameters"].append("6.weight")
    for wrong in ("", "a lot", 3):
        changed.description["steps"][0]["loss"] = wrong
        changed.write()
        refused(changed, "'loss': expected a text that is a hexadecimal float")
    changed = Changed(folder, "small-light")
    changed.description["flags"]["precision"] = {"cpu": {"matmul": "bf16", "conv": "tf32"}, "cuda": {"matmul": "tf32", "conv": "ieee"}}
    changed.write()
    status, text, _ = audit(changed.run)
    expect(status == 0 and "Told by run.json alone: settings that round float32 factors of matrix products to bfloat16" in text, f"precision: {status} {text[:400]}")


def dropped(folder):
    """What is taken out of run.json and the trace together is missed, by each command and by the checker."""
    mean, node, proof = "1.running_mean", "1/native_batch_norm", os.path.join(folder, "proof")
    told = "Told by run.json alone: "
    stated = f"No running mean, or no variance, is stated of these, which normalize by the minibatch's own:\n    {node}\n"

    def answers(changed):
        status, text, error = said(CLARKE, "certify", changed.run, "--proof", proof)
        report = audit(changed.run)[1]
        checked = said(CHECK, proof, "--data", changed.run)
        expect(checked[0] == 0, f"the proof of what was dropped: {checked}")
        return status, text + error, report, checked[1]
    changed = Changed(folder, "fresh")
    _, text, report, checked = answers(changed)
    told += f"nothing of the buffer 1.num_batches_tracked: the step changed it, and run.json does not say how; no count of updates of {node}.\n"
    expect(told in text and told in report and stated not in checked,
           f"no count: {text} {report[:400]} {checked}")
    for left, status, says in ((("after",), 3, "it was recorded after the step alone"), (("before",), 3, "it was recorded before the step alone"),
                               ((), 0, "")):
        changed = Changed(folder, "fresh")
        changed.description["steps"][0]["statistics"] = []
        changed.drop("trace", *(f"{part}/1.running_{of}" for part in ("before", "after") for of in ("mean", "var") if part not in left))
        got, text, report, checked = answers(changed)
        expect(got == status, f"{left} alone: {got} {text}")
        for one in (text, report):
            expect(f"no running statistics of {node}.\n" in one and (not left or f"nothing of the buffer {mean}: {says}" in one), f"{left} alone: {one[:600]}")
        expect(stated in checked and (not left or f"    {left[0]} {mean}\n" in checked), f"{left} alone: {checked}")
    # of one pair alone nothing is told: the mean's line is there, and the node is named all the same
    changed = Changed(folder, "fresh")
    changed.drop("trace", "before/1.running_var", "after/1.running_var")
    got, text, report, checked = answers(changed)
    expect(got == 3 and "nothing of the buffer 1.running_var: it was not recorded before and after the step" in report and stated in checked,
           f"the variance alone: {got} {text} {checked}")
    for key, says in (("again", "run.json does not say whether the step was run again.\n"),
                      ("branches", "run.json does not say at which lines the program read what depends on the parameters.\n")):
        changed = Changed(folder, "turned")
        expect(key in changed.description or key == "again", f"turned has {key}")
        (changed.description["steps"][0] if key == "again" else changed.description).pop(key, None)
        changed.write()
        report = audit(changed.run)[1]
        expect(says in report.split("\n\n")[0] + "\n", f"{key} is missing: {report[:600]}")
    changed.description["branches"] = []
    changed.description["steps"][0]["again"] = "calls"
    changed.write()
    expect("run.json does not say" not in audit(changed.run)[1], "both are said")
    # a parameter and its gradient, which no tensor of the trace belies
    changed = Changed(folder, "small")
    changed.description["parameters"].remove("0.bias")
    changed.drop("gradients", "0.bias")
    got, text, report, checked = answers(changed)
    expect(all("0.bias is not trained" in one for one in (text, report)) and "Not among the parameters, so that nothing is said of a gradient in them:\n"
           "    0.bias\n" in checked, f"a parameter: {got} {text[:500]} {checked[:900]}")


def types(folder):
    """Recorded values may have types in any mixture. That is so of a step, not of a file with the recorder's name."""
    run, proof = os.path.join(RUNS, "words"), os.path.join(folder, "proof")
    model, batch = os.path.join(run, "graph.onnx"), os.path.join(run, "step-000000.batch.npz")
    status, _, error = said(CLARKE, "audit", model, "--batch", batch)
    expect(status == 2 and "ONNX wants one type" in error, f"a plain file: {status} {error}")
    done = subprocess.run([CHECK, "--values", model, batch], capture_output=True, text=True)
    expect(done.returncode == 2 and "ONNX wants one type" in done.stderr, f"a plain file's values: {done.returncode} {done.stderr}")
    expect(audit(run, "--proof", proof)[0] == 0, "the step")
    with open(proof, encoding="utf-8") as f:
        lines = f.read().split("\n")
    body = "\n".join(line for line in lines[:-2] if not line.startswith("params ")) + "\n"
    with open(proof, "w", encoding="utf-8") as f:
        f.write(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")
    done = subprocess.run([CHECK, proof, "--data", run], capture_output=True, text=True)
    expect(done.returncode == 2 and "ONNX wants one type" in done.stdout + done.stderr, f"a proof about the file: {done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as scratch:
    as_recorded(scratch)
    types(scratch)
    gradients(scratch)
    traces(scratch)
    files(scratch)
    again(scratch)
    links(scratch)
    branches(scratch)
    options()
    claims(scratch)
    dropped(scratch)
finish()
