#!/usr/bin/env python3
"""clarke sweep and clarke merge: what they say of small networks, and that parts, ends and retries do not show in the bytes.

    sweep.py CLARKE CASES

CASES: the folder cases/audit.
"""
import hashlib
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from xml.etree import ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost")]
sys.path.append(os.path.dirname(HERE))
from draw import ONE_IN  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, CASES = (os.path.abspath(path) for path in sys.argv[1:3])
PROFILES = {"minimal.profile": "tie MaxPool mean\n", "one.profile": "Relu 0 1\n", "ten.profile": "tie MaxPool hybrid 10\n"}


def manifest(name, **keys):
    """Of the folder of work."""
    with open(name, "w", encoding="utf-8") as f:
        json.dump(keys, f)
    return name


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def obeyed(value):
    """What is printed or written, as docs/schema says."""
    expect(not faults("sweep", value), f"{faults('sweep', value)}: {json.dumps(value)[:300]}")
    return value


def lines(path):
    """The first line, and the jobs'."""
    with open(path, encoding="utf-8") as f:
        return [obeyed(json.loads(line)) for line in f]


def command(*arguments, status=0):
    got, out, err = said(CLARKE, *arguments)
    expect(got == status, f"{arguments}: status {got}, not {status}: {err}")
    return out, err


def sweep(*arguments, status=0):
    return command("sweep", *arguments, status=status)


def known_answers():
    """The thesis's zones of a LeNet, as docs/findings.md has them: .0030870998 beta, and .66988076 for ReLU'(0) = 0 against 1."""
    sweep(manifest("pair.json", model="lenet-q6.onnx", batches="images-pair.npz", profiles=["pytorch-2.13", "minimal.profile", "ten.profile"],
                   formats=["float32", "float64"]), "-o", "pair.jsonl")
    answer = lines("pair.jsonl")[1]
    expect(answer["zone"] == "bifurcation" and answer["touched"] == 2, "the pair's zone")
    for pair, factor in zip(answer["pairs"], (1, 10, 9)):
        exact = pair["exact"]
        expect(exact["l1_at_least"] <= factor * .0030870997624836 <= exact["l1_at_most"] + 1e-15 and exact["zero"] is False, f"{pair['profiles']}")
        for floats, within in (("float32", 2**-20), ("float64", 2**-45)):
            expect(abs(pair["floats"][floats]["l1_float"] - exact["l1_at_least"]) < within * factor, f"{pair['profiles']} in {floats}")
            expect(pair["floats"][floats]["label"] == "bifurcation", "its label")
    sweep(manifest("blank.json", model="lenet-init.onnx", batches="images-blank.npz", profiles=["pytorch-2.13", "one.profile"], formats=["float32"]),
          "-o", "blank.jsonl")
    answer = lines("blank.jsonl")[1]["pairs"][0]
    expect(abs(answer["exact"]["l1_at_least"] - .66988076) < 1e-8, "ReLU'(0) = 0 against 1")


def exact_strings():
    """relu(w x) - relu(-w x) at 0: 0 with relu'(0) = 0, 2 with 1. The mean over a minibatch goes n times into the sum."""
    out, _ = sweep(manifest("lemma2.json", model="lemma2.onnx", batches="lemma2.npz", profiles=["pytorch-2.13", "one.profile"],
                            formats=["float16", "bfloat16", "float32", "float64"], loss="sum"), "-o", "lemma2.jsonl", "--json")
    pair = lines("lemma2.jsonl")[1]["pairs"][0]
    expect(pair["exact"]["l1"] == "2" and pair["exact"]["inf"] == "2", f"Lemma 2: {pair['exact']}")
    expect(all(f["l1"] == "2" and f["label"] == "bifurcation" for f in pair["floats"].values()), "in floats")
    summary = obeyed(json.loads(out))
    status, out, _ = said(CLARKE, "merge", "lemma2.jsonl", "-o", "again.jsonl", "--json")
    expect(status == 0 and obeyed(json.loads(out)) == summary, f"what merge says: {out}")
    expect(summary["jobs"] == 1 and summary["missing"] == 0 and all(g["bifurcation"] == 1 for g in summary["groups"]), f"{summary}")
    for reduction in ("mean", "sum"):
        sweep("pair.json", "--reduction", reduction, "-o", f"{reduction}.jsonl")
    mean, total = (lines(f"{r}.jsonl")[1]["pairs"][0] for r in ("mean", "sum"))
    expect(abs(total["exact"]["l1_at_least"] / mean["exact"]["l1_at_least"] - 2) < 1e-9, "of two samples the sum is twice the mean")
    expect(total["floats"]["float64"]["l1_float"] == 2 * mean["floats"]["float64"]["l1_float"], "and a power of two rounds nothing")


def norm_model(name, w):
    """relu(|w x| - 5), the norm being a pool's, of both entries."""
    n = Floats(("n", 1))
    n.floats("w", (1, 2), w)
    n.floats("five", (1,), [5])
    n.integers("one", 1)
    n.call("MatMul", "a", "x", "w")
    n.call("Unsqueeze", "u", "a", "one")
    pooled = n.node("LpPool", "u", kernel_shape=[2], p=2)
    n.call("Sub", "d", pooled, "five")
    n.call("Relu", "r", "d")
    with open(name, "wb") as f:
        f.write(n.bytes("r"))


def coupled():
    """A network that normalizes by the minibatch, of which two neurons are 0 at each sample: in floats, too, its parts and all."""
    keys = {"model": "digits-batchnorm-pruned.onnx", "batches": "digits.npz", "profiles": ["pytorch-2.13", "one.profile"],
            "formats": ["float16", "float32", "float64"]}
    sweep(manifest("coupled.json", **keys), "-o", "coupled.jsonl")
    answer = lines("coupled.jsonl")[1]
    pair = answer["pairs"][0]
    expect(answer["touched"] == 128 and answer["zone"] == "bifurcation", f"{answer['touched']} touched")
    exact, floats = pair["exact"], pair["floats"]
    expect(exact["l1_at_least"] <= floats["float64"]["l1_float"] <= exact["l1_at_most"], f"{exact}, {floats['float64']}")
    found = [abs(floats[of]["l1_float"] - exact["l1_at_least"]) for of in keys["formats"]]
    expect(2 > found[0] > found[1] > found[2] and found[1] < 1e-3, f"the longer the format, the nearer: {found}")
    expect(all(f["label"] == "bifurcation" for f in floats.values()), f"{floats}")


def norm_pools():
    """A norm in a pool's place, w = (3, 4): its derivative is (3/5, 4/5), and by ReLU'(0) it counts or not. Away from 0 no profile changes
    it. A window of zeros is refused by the pool's name."""
    with open("nan.profile", "w", encoding="utf-8") as f:
        f.write("norm nan\n")
    keys = {"batches": "lemma2.npz", "profiles": ["pytorch-2.13", "one.profile", "nan.profile"], "formats": ["float32", "float64"], "loss": "sum", "wrt": ["w"]}
    norm_model("norm.onnx", [3, 4])
    sweep(manifest("norm.json", model="norm.onnx", **keys), "-o", "norm.jsonl")
    one, nan, _ = lines("norm.jsonl")[1]["pairs"]
    expect(one["exact"]["l1"] == "7/5" and one["exact"]["inf"] == "4/5", f"{one}")
    for kind, within in ("float32", 2**-22), ("float64", 2**-51):
        expect(abs(one["floats"][kind]["l1_float"] - 1.4) < within and one["floats"][kind]["label"] == "bifurcation", f"{one}")
        expect(nan["exact"]["zero"] is True and nan["floats"][kind]["l1"] == "0", f"{nan}")
    norm_model("nought.onnx", [0, 0])
    _, err = sweep(manifest("nought.json", model="nought.onnx", **keys), "-o", "nought.jsonl", status=2)
    expect("LpPool" in err and "root is 0" in err, err)


def released():
    """Code that hands on a number at a ReLU's 0, whatever gradient comes in: what it adds goes with the number, not with the loss."""
    for name, number in (("released", "1"), ("twice", "2"), ("none", "0")):
        with open(f"{name}.profile", "w", encoding="utf-8") as f:
            f.write(f"Relu 0 {number} as-released\n")
    files = ["released.profile", "twice.profile", "none.profile", "one.profile"]
    sweep(manifest("cancel.json", model="lemma2.onnx", batches="lemma2.npz", profiles=["pytorch-2.13", *files], formats=["float32"], loss="sum"),
          "-o", "cancel.jsonl")
    pairs = {tuple(pair["profiles"]): pair for pair in lines("cancel.jsonl")[1]["pairs"]}
    # relu(w) - relu(-w): the second incoming gradient is -1, and 1 is put in its place, so the two cancel.
    expect(all((pair["exact"]["l1"], pair["floats"]["float32"]["l1"]) == (("2", "2") if "one.profile" in of else ("0", "0")) for of, pair in pairs.items()),
           f"{pairs}")
    d = {}
    for reduction in ("mean", "sum"):
        sweep(manifest("put.json", model="lenet-init.onnx", batches="images-blank.npz", profiles=["pytorch-2.13", *files], formats=["float64"],
                       reduction=reduction), "-o", f"put-{reduction}.jsonl")
        for pair in lines(f"put-{reduction}.jsonl")[1]["pairs"]:
            d[(reduction, *pair["profiles"])] = pair
    for reduction in ("mean", "sum"):
        one, two, none = (d[(reduction, "pytorch-2.13", f)]["exact"] for f in files[:3])
        expect(one["l1_at_least"] > 0 and abs(two["l1_at_least"] / one["l1_at_least"] - 2) < 1e-12 and none["zero"] is True, f"{one} {two} {none}")
        floats = d[(reduction, "pytorch-2.13", files[0])]["floats"]["float64"]
        expect(abs(floats["l1_float"] / one["l1_at_least"] - 1) < 1e-9 and floats["label"] == "bifurcation", f"{floats} {one}")
    expect(abs(d[("mean", "pytorch-2.13", files[0])]["exact"]["l1_at_least"] / d[("sum", "pytorch-2.13", files[0])]["exact"]["l1_at_least"] - 1) < 1e-12,
           "the loss's size does not matter")
    exact = d[("mean", "pytorch-2.13", files[0])]["exact"]  # PyTorch, with the released rule: 9000.0 and 1383.0; with the slope 1 .66988
    expect(abs(exact["l1_at_least"] - 9000) < 1e-8 and abs(exact["inf_at_least"] - 1383) < 1e-8, f"{exact}")
    _, err = sweep(manifest("first.json", model="lemma2.onnx", batches="lemma2.npz", profiles=["released.profile", "one.profile"], loss="sum"),
                   "-o", "first.jsonl", status=2)
    expect("only `clarke sweep` compares it" in err, err)
    status, _, err = said(CLARKE, "audit", os.path.join(CASES, "lemma2.onnx"), "--batch", os.path.join(CASES, "lemma2.npz"), "--loss", "sum", "--profile",
                          "./released.profile")
    expect(status == 2 and "no derivative of anything" in err, f"{status} {err}")


def parts():
    """Serial, in parts, cut off, killed, and merged in another order."""
    name = manifest("many.json", model="lenet-q6.onnx", batches=["images-pair.npz", "images-b*.npz"], profiles=["pytorch-2.13", "minimal.profile"],
                    formats=["float16", "float32"], seeds={"from": 5, "count": 3})
    sweep(name, "-o", "serial.jsonl")
    whole = digest("serial.jsonl")
    expect(len(lines("serial.jsonl")) == 10, "nine jobs and a first line")
    for i in (3, 1, 2):
        sweep(name, "--shard", f"{i}/3", "-o", f"part{i}.jsonl")
    status, _, err = said(CLARKE, "merge", "part3.jsonl", "part1.jsonl", "-o", "two.jsonl")
    expect(status == 3 and "jobs are missing" in err, f"two of three parts: {status}, {err}")
    status, out, err = said(CLARKE, "merge", "part3.jsonl", "part1.jsonl", "part2.jsonl", "part1.jsonl", "-o", "merged.jsonl")
    expect(status == 0 and digest("merged.jsonl") == whole, f"parts make another file: {err}")
    expect("9 of 9 jobs answered" in out, out)
    cut_off(name, whole)
    killed(name, whole)
    shutil.copy("part2.jsonl", "gone-on.jsonl")
    sweep(name, "-o", "gone-on.jsonl")
    expect(digest("gone-on.jsonl") == whole, "from a part to the whole")


def cut_off(name, whole):
    """Half a line at the end is done again; what lies before is not."""
    with open("serial.jsonl", "rb") as f:
        data = f.read()
    for size in (0, 7, len(data) // 2, len(data) - 1):
        with open("cut.jsonl", "wb") as f:
            f.write(data[:size])
        sweep(name, "-o", "cut.jsonl")
        expect(digest("cut.jsonl") == whole, f"cut after {size} bytes")
    with open("half.jsonl", "wb") as f:
        f.write(data[:len(data) - 1])
    status, out, err = said(CLARKE, "merge", "half.jsonl", "-o", "whole.jsonl")
    expect(status == 3 and "has no end" in err, f"half a line: {status}, {err}")
    expect("8 of 9 jobs answered" in out and "of 3 weights, " in out and "within" not in out, f"weights with fewer jobs than others: {out}")


def killed(name, whole):
    """A process that is killed while it works: the next one goes on."""
    running = subprocess.Popen([CLARKE, "sweep", name, "-o", "killed.jsonl"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and (not os.path.exists("killed.jsonl") or os.path.getsize("killed.jsonl") < 2000):
        time.sleep(.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    sweep(name, "-o", "killed.jsonl")
    expect(digest("killed.jsonl") == whole, "after a kill")


def refused():
    """Files that say what they are not."""
    good = {"model": "lemma2.onnx", "batches": "lemma2.npz", "profiles": ["pytorch-2.13", "one.profile"]}
    for keys, says in (({"model": None}, "'model'"), ({"batches": []}, "'batches'"), ({"batches": "no-*.npz"}, "no file has a name like"),
                       ({"profiles": ["pytorch-2.13"]}, "'profiles'"), ({"profiles": ["a", "b"]}, "no profile 'a'"),
                       ({"profiles": ["one.profile", "one.profile"]}, "is there twice"), ({"formats": ["float8"]}, "no floating-point format"),
                       ({"seeds": [1], "checkpoints": "lemma2.npz"}, "expected one of them"), ({"seeds": [-1]}, "'seeds'"),
                       ({"seeds": {"from": 4294967295, "count": 2}}, "'seeds'"), ({"seed": 1}, "no key 'seed'"), ({"reduction": "max"}, "'reduction'"),
                       ({"model": "none.onnx"}, "none.onnx"), ({"wrt": ["a,b"]}, "comma"), ({"seeds": []}, "'seeds'"),
                       ({"checkpoints": []}, "'checkpoints'"), ({"wrt": []}, "'wrt'"), ({"formats": []}, "'formats'")):
        _, err = sweep(manifest("bad.json", **{**good, **keys}), "-o", "bad.jsonl", status=2)
        expect(says in err and not os.path.exists("bad.jsonl"), f"{keys}: {err}")
    os.mkdir("links")
    for k in range(8):
        os.symlink(".", f"links/{k}")
    _, err = sweep(manifest("bad.json", **{**good, "batches": "links/" + "*/" * 40 + "*.npz"}), "-o", "bad.jsonl", status=2)
    expect("leads through more than 65536 folders: name fewer" in err, f"stars through links without an end: {err}")
    _, err = sweep(manifest("bad.json", **good, loss="ce"), "-o", "bad.jsonl", status=2)
    expect("could not be asked" in err, f"a job that fails is named: {err}")
    _, err = sweep("pair.json", "-o", "lemma2.jsonl", status=2)
    expect("another sweep's results" in err, f"another sweep's file: {err}")
    with open("forged.jsonl", "w", encoding="utf-8") as f:
        f.writelines(sealed({**line, "touched": 3} if "job" in line else line) for line in lines("lemma2.jsonl"))
    status, _, err = said(CLARKE, "merge", "lemma2.jsonl", "forged.jsonl", "-o", "out.jsonl")
    expect(status == 2 and "another answer" in err and not os.path.exists("out.jsonl"), f"two answers: {err}")
    edited()
    with open("forged.jsonl", "w", encoding="utf-8") as f:
        f.writelines(sealed({**line, "job": 64 * "0"} if "job" in line else line) for line in lines("lemma2.jsonl"))
    status, _, err = said(CLARKE, "merge", "forged.jsonl", "-o", "out.jsonl")
    expect(status == 2 and "not of the jobs" in err, f"a forged id: {err}")
    with open("forged.jsonl", "w", encoding="utf-8") as f:
        f.write(open("lemma2.jsonl", encoding="utf-8").read().replace('"clarke sweep 2"', '"clarke sweep 1"', 1))
    status, _, err = said(CLARKE, "merge", "forged.jsonl", "-o", "out.jsonl")
    expect(status == 2 and "another version" in err, f"answers of another version: {err}")
    heads = set()
    for wrt in ({}, {"wrt": ["all"]}):  # a parameter's name, which lemma2 has not: the job is named, and cannot be asked
        sweep(manifest("all.json", **good, **wrt), "-o", f"all{len(wrt)}.jsonl", status=2 * len(wrt))
        heads.add(lines(f"all{len(wrt)}.jsonl")[0]["sweep"])
    expect(len(heads) == 2, "a parameter that is called all, and all of them, are two sweeps")
    _, err = sweep("pair.json", "-o", "/dev/full", status=2)
    expect("no regular file" in err, err)


def sealed(line):
    """As clarke writes it, with its own hash at the end."""
    text = json.dumps({key: value for key, value in line.items() if key != "sha256"}, separators=(",", ":"))
    return text[:-1] + ',"sha256":"' + hashlib.sha256(text.encode()).hexdigest() + '"}\n'


def edited():
    """A character that is another one, anywhere in a line: each reader says so, and writes nothing."""
    with open("lemma2.jsonl", encoding="utf-8") as f:
        data = f.read()
    with open("sealed.jsonl", "w", encoding="utf-8") as f:
        f.writelines(sealed(line) for line in lines("lemma2.jsonl"))
    expect(open("sealed.jsonl", encoding="utf-8").read() == data, "the hash of a line is of what is before it")
    head = data.index("\n") + 1
    for at in [*range(12, head - 1, 29 * ONE_IN), *range(head, len(data) - 1, 17 * ONE_IN), len(data) - 2, len(data) - 3]:
        with open("edited.jsonl", "w", encoding="utf-8") as f:
            f.write(data[:at] + chr(ord(data[at]) ^ 1) + data[at + 1:])
        for asked in (["merge", "edited.jsonl", "-o", "out.jsonl"], ["sweep", "lemma2.json", "-o", "edited.jsonl"]):
            before = digest("edited.jsonl")
            status, _, err = said(CLARKE, *asked)
            expect(status == 2 and "edited.jsonl: line " in err and not os.path.exists("out.jsonl") and digest("edited.jsonl") == before, f"{at}: {asked}: {status} {err}")
    with open("edited.jsonl", "w", encoding="utf-8") as f:
        f.write(data.replace('"touched":2', '"touched":0'))
    status, _, err = said(CLARKE, "merge", "edited.jsonl", "-o", "out.jsonl")
    expect(status == 2 and "line 2: it is not as it was written" in err, err)
    with open("edited.jsonl", "w", encoding="utf-8") as f:
        f.write(data.replace('"reduction":"mean"', '"reduction":"sum"'))
    status, _, err = said(CLARKE, "merge", "edited.jsonl", "-o", "out.jsonl")
    expect(status == 2 and "line 1: it is not as it was written" in err, err)


def full():
    """A disk that is full while lines are appended, or put in order: what is there stays, and the next one goes on."""
    with tempfile.TemporaryDirectory() as disk:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
            print("full: no right to make a small disk; left out")
            return
        try:
            on_full_disk(disk)
        finally:
            subprocess.run(["umount", disk], check=True)


def fill(disk, free):
    """All of the disk, but for so many bytes."""
    name = os.path.join(disk, "filler")
    with open(name, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)) > 0:
                pass
        except OSError:
            os.truncate(name, os.path.getsize(name) - free)


def on_full_disk(disk):
    results = os.path.join(disk, "results.jsonl")
    size = os.path.getsize("serial.jsonl")
    for first, free in (None, 0), (None, 4096), (None, size // 2 // 4096 * 4096), ("2/2", 0), ("2/2", 8192):
        if first is not None:  # then the rest is out of order, and what is put in order takes its place again
            sweep("many.json", "--shard", first, "-o", results)
        fill(disk, free)
        status, _, err = said(CLARKE, "sweep", "many.json", "-o", results)
        expect(status == 2 and "No space left" in err, f"{first}, {free} bytes free: {status} {err}")
        with open(results, "rb") as f:
            kept = f.read().split(b"\n")[:-1]
        expect(len(kept) >= (5 if first is not None else free // 4096) and all(json.loads(line) for line in kept), f"{first}, {free} bytes free: {len(kept)} lines stay")
        os.remove(os.path.join(disk, "filler"))
        sweep("many.json", "-o", results)
        expect(digest(results) == digest("serial.jsonl") and os.listdir(disk) == ["results.jsonl"], f"{first}, {free} bytes free, then more: {os.listdir(disk)}")
        fill(disk, 0)
        status, _, err = said(CLARKE, "merge", results, "-o", os.path.join(disk, "merged.jsonl"))
        expect(status == 2 and "No space left" in err and sorted(os.listdir(disk)) == ["filler", "results.jsonl"], f"a merge on a full disk: {status} {err}")
        for name in ("filler", "results.jsonl"):
            os.remove(os.path.join(disk, name))


def field(number, value):
    """Of a protobuf message; all numbers and lengths here are below 128."""
    return bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value


def external():
    """A model whose weights lie in another file, which a job's name would not stand for."""
    def tensor_of(name, *dims):
        axes = b"".join(field(1, field(1, n)) for n in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, axes)))

    weights = field(1, 1) + field(1, 2) + field(2, 1) + field(8, b"w") + field(14, 1) + field(13, field(1, b"location") + field(2, b"w.data"))
    product = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    graph = field(1, product) + field(2, b"g") + field(5, weights) + field(11, tensor_of(b"x", 1, 1)) + field(12, tensor_of(b"y", 1, 2))
    with open("external.onnx", "wb") as f:
        f.write(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
    with open("w.data", "wb") as f:
        f.write(bytes(8))
    shutil.copy(os.path.join(CASES, "lemma2.npz"), "external.npz")
    keys = {"model": "external.onnx", "batches": "external.npz", "profiles": ["pytorch-2.13", "one.profile"]}
    _, err = sweep(manifest("external.json", **keys), "-o", "external.jsonl", status=2)
    expect("needs the model in one file" in err, f"weights beside the model: {err}")


def job_file():
    import tomllib
    sweep("many.json", "--job-file", "job.toml", "--shards", "4")
    with open("job.toml", "rb") as f:
        job = tomllib.load(f)
    expect([t["command"][-3] for t in job["task"]] == ["1/4", "2/4", "3/4", "4/4"], f"{job}")
    for wrong in (["-o", "some.jsonl", "--shards", "4"], ["-o", "some.jsonl", "--shard", "1/2", "--shards", "4"],
                  ["--job-file", "other.toml", "--shard", "1/2"]):
        _, err = sweep("many.json", *wrong, status=2)
        expect("--shard" in err and not os.path.exists("some.jsonl") and not os.path.exists("other.toml"), f"{wrong}: {err}")


def lost():
    """A gradient of 2^-29 that float16 has none of: the least D of a real bifurcation is 0 then."""
    with zipfile.ZipFile("lemma2.npz") as whole, zipfile.ZipFile("tiny.npz", "w") as other:
        data = whole.read("x.npy")
        other.writestr("x.npy", data[:-4] + struct.pack("<f", 2.0 ** -30))
    out, _ = sweep(manifest("tiny.json", model="lemma2.onnx", batches="tiny.npz", profiles=["pytorch-2.13", "one.profile"],
                            formats=["float16", "float32"], loss="sum"), "-o", "tiny.jsonl", "--json")
    groups = obeyed(json.loads(out))["groups"]
    expect(lines("tiny.jsonl")[1]["pairs"][0]["exact"]["l1"] == "1/536870912", "its exact difference")
    expect([(g["zero"], g["bifurcation"], g["least_of_a_bifurcation"]) for g in groups] == [(1, 0, 0), (0, 1, 2.0 ** -29)], f"{groups}")
    expect(all(g["greatest_where_exactly_0"] is None for g in groups), f"nowhere the exact difference is 0: {groups}")
    out, _ = sweep("tiny.json", "-o", "tiny.jsonl")
    expect("not 0 (a real bifurcation), at least 0\n" in out and "is 0, at most" not in out, out)


def thresholds():
    """The least positive difference of a pair as every other pair's threshold (thesis, (3.13)), and histograms."""
    sweep(manifest("three.json", model="lenet-q6.onnx", batches=["images-pair.npz"], profiles=["pytorch-2.13", "one.profile", "minimal.profile"],
                   formats=["float16", "float32"], seeds={"from": 5, "count": 4}), "-o", "three.jsonl")
    d = {}
    for line in lines("three.jsonl")[1:]:
        for pair in line["pairs"]:
            for form, floats in pair["floats"].items():
                d.setdefault((*pair["profiles"], form), []).append((floats["l1_float"], floats["label"]))
    for of in (("pytorch-2.13", "minimal.profile"), ("pytorch-2.13", "one.profile")):
        out, _ = command("merge", "three.jsonl", "-o", "again.jsonl", "--tau", ",".join(of), "--json", "--svg", "three.svg")
        said = obeyed(json.loads(out))
        expect(said["tau"] is None and said["tau_of"] == ",".join(of), f"{said['tau']} {said['tau_of']}")
        for g in said["groups"]:
            own, those = d[*g["profiles"], g["format"]], [x for x, _ in d[*of, g["format"]] if x > 0]
            tau = min(those, default=None)
            expect(g["tau"] == tau and g["least_positive"] == min((x for x, _ in own if x > 0), default=None), f"{g}")
            if tau is None:
                expect("jobs_beyond_tau" not in g, f"{g}")
            else:
                expect(g["jobs_beyond_tau"]["n"] == sum(x > tau for x, _ in own) and g["jobs_beyond_tau"]["of"] == 4, f"{g}")
                expect(g["jobs_beyond_tau"]["within"] is None and g["weights_beyond_tau"]["within"] is None, f"of a threshold that is theirs there is no limit: {g}")
            bars = {h["decade"]: {k: n for k, n in h.items() if k != "decade" and n > 0} for h in g["histogram"]}
            wanted = {}
            for x, label in own:
                if x > 0:
                    at = wanted.setdefault(math.floor(math.log10(x)), {})
                    at[label or "unknown"] = at.get(label or "unknown", 0) + 1
            expect(bars == wanted and g["infinite"] == 0, f"{bars} {wanted}")
        with open("three.svg", encoding="utf-8") as f:
            picture = ElementTree.parse(f)
        heights = [float(r.get("height")) for r in picture.iter("{http://www.w3.org/2000/svg}rect") if float(r.get("width")[:-1] if r.get("width").endswith("%") else r.get("width")) == 31]
        expect(len(heights) == sum((g["zero"] > 0) + sum(n > 0 for h in g["histogram"] for k, n in h.items() if k != "decade") for g in said["groups"]),
               f"a bar for each count: {heights}")
    out, _ = command("merge", "three.jsonl", "-o", "again.jsonl", "--json")
    for g in obeyed(json.loads(out))["groups"]:
        own = g["weights_beyond_tau"]["within"], g["jobs_beyond_tau"]["within"]
        wanted = math.sqrt(math.log(40) / 8), math.sqrt((1 / 4 + 1) * math.log(40) / 2)
        expect(all(math.isclose(a, b) for a, b in zip(own, wanted)), f"the limits of 4 weights, with a minibatch each: {own}")
    out, _ = command("merge", "three.jsonl", "-o", "again.jsonl")
    expect(out.count("(Hoeffding: within 0.679), ") == out.count("(McDiarmid: within 1.52)") == 6, out)
    out, _ = command("merge", "three.jsonl", "-o", "again.jsonl", "--tau", "pytorch-2.13,one.profile")
    expect("within" not in out, f"of a threshold that is theirs there is no limit: {out}")
    expect(out.count("no threshold: the pair of --tau has no difference that is not 0 in this format") == 6, out)
    for wrong in ("a,b", "one.profile,pytorch-2.13", "-1", "nan", "1e301"):
        out, err = command("merge", "three.jsonl", "-o", "again.jsonl", "--tau=" + wrong, status=2)
        expect("--tau: '" in err, f"{wrong}: {err}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(CASES):
            if name.startswith(("lenet-q6.", "lenet-init.", "images-pair", "images-b", "lemma2.", "digits-batchnorm-pruned.", "digits.npz")):
                shutil.copy(os.path.join(CASES, name), folder)
        os.chdir(folder)
        for name, text in PROFILES.items():
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        known_answers()
        exact_strings()
        coupled()
        norm_pools()
        released()
        parts()
        full()
        refused()
        external()
        job_file()
        lost()
        thresholds()
        os.chdir("/")
    finish()


main()
