#!/usr/bin/env python3
"""clarke diff: what was changed by hand is found, where it was changed, and nothing else.

    diff.py CLARKE CASES
"""
import json
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish, said  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, CASES = (os.path.abspath(a) for a in sys.argv[1:3])
TYPES = {"F32": "f", "F64": "d", "I64": "q"}


def tensors(path, **named):
    """A safetensors file of NAME=(type, shape, entries)."""
    header, body = {}, b""
    for name, (kind, shape, entries) in sorted(named.items()):
        data = struct.pack(f"<{len(entries)}{TYPES[kind]}", *entries)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + body)


def differing(first, second):
    """Status, kind, rows; the text says as many."""
    status, out, err = said(CLARKE, "diff", first, second, "--json")
    answer = json.loads(out)
    expect(not faults("diff", answer), f"{first} {second}: {faults('diff', answer)}")
    if status == 2:
        return status, err, None
    text = said(CLARKE, "diff", first, second, "--all")
    expect(text[0] == status == (len(answer["differing"]) > 0) and len(text[1].splitlines()) == 4 + len(answer["differing"]), f"{first} {second}: {text}")
    short = said(CLARKE, "diff", first, second)[1].splitlines()
    expect(len(short) == min(len(answer["differing"]), 20) + 4 + (len(answer["differing"]) > 20), f"{first} {second}: {len(short)}")
    return status, answer["kind"], answer["differing"]


def checkpoints():
    base = {"b": ("F32", [3], [1, 2, 3]), "w": ("F32", [2, 2], [0.0, 1, 2, 3]), "n": ("I64", [1], [7]), "big": ("I64", [1], [2**62])}
    tensors("a.safetensors", **base)
    for name, change, expected in (
            ("same", {}, []),
            ("minus zero", {"w": ("F32", [2, 2], [-0.0, 1, 2, 3])}, []),
            ("entries", {"w": ("F32", [2, 2], [0, 1.5, 2, 1])}, [{"at": "w[1, 1]", "first": "3", "second": "1", "entries": 2, "of": 4}]),
            ("the last bit", {"b": ("F32", [3], [1, 2.0000002, 3])}, [{"at": "b[1]", "first": "2", "second": "2.00000024", "entries": 1, "of": 3}]),
            ("a great integer's last bit", {"big": ("I64", [1], [2**62 + 1])},
             [{"at": "big[0]", "first": str(2**62), "second": str(2**62 + 1), "entries": 1, "of": 1}]),
            ("a type", {"b": ("F64", [3], [1, 2, 3])}, [{"at": "b", "first": "float32 [3]", "second": "float64 [3]"}]),
            ("a shape", {"w": ("F32", [4], [0, 1, 2, 3])}, [{"at": "w", "first": "float32 [2, 2]", "second": "float32 [4]"}]),
            ("one more", {"x": ("F32", [], [1])}, [{"at": "x", "first": None, "second": "float32 []"}]),
            ("one less", {"n": None}, [{"at": "n", "first": "int64 [1]", "second": None}])):
        tensors("b.safetensors", **{k: v for k, v in {**base, **change}.items() if v})
        found = differing("a.safetensors", "b.safetensors")
        expect(found == (len(expected) > 0, "checkpoints", expected), f"{name}: {found}")
    found = differing(f"{CASES}/audit/digits-relu.onnx", f"{CASES}/audit/digits-relu-later.safetensors")
    expect(found[0] == 1 and len(found[2]) == 6, f"the weights of an .onnx: {found}")


def records():
    expect(differing(f"{CASES}/runs/small", f"{CASES}/runs/small") == (0, "records", []), "a record and itself")
    shutil.copytree(f"{CASES}/runs/small", "changed", symlinks=False)
    os.chmod("changed", 0o755)
    for name, before, after in (("run.json", '"loss": "ce"', '"loss": "mse"'),):
        os.chmod(f"changed/{name}", 0o644)
        with open(f"changed/{name}") as f:
            text = f.read()
        with open(f"changed/{name}", "w") as f:
            f.write(text.replace(before, after))
    gradients = "changed/step-000000.gradients.safetensors"
    os.chmod(gradients, 0o644)
    with open(gradients, "r+b") as f:
        data = bytearray(f.read())
        data[-4:] = struct.pack("<f", 1000)
        f.seek(0)
        f.write(data)
    status, kind, rows = differing(f"{CASES}/runs/small", "changed")
    expect((status, kind) == (1, "records") and [r["at"] for r in rows][0] == "loss" and len(rows) == 2, rows)
    expect(rows[1]["at"].startswith("step 0, gradients: ") and (rows[1]["second"], rows[1]["entries"]) == ("1000", 1), rows[1])
    for name in ("step-000000.trees.json", "graph.onnx"):  # what run.json says of them is their hash alone
        shutil.copytree(f"{CASES}/runs/means", name[:4], symlinks=False)
        os.chmod(name[:4], 0o755)
        os.chmod(f"{name[:4]}/{name}", 0o644)
        with open(f"{name[:4]}/{name}", "ab") as f:
            f.write(b"\n")
        status, _, rows = differing(f"{CASES}/runs/means", name[:4])
        expect(status == 1 and [r["at"] for r in rows] == ["graph" if name[0] == "g" else "step 0, trees"], f"{name} is another: {rows}")
    for name, slope in (("one", "0"), ("other", "1")):  # profiles of the same name, which lie in the folders
        shutil.copytree(f"{CASES}/runs/small", name)
        os.chmod(name, 0o755)
        os.chmod(f"{name}/run.json", 0o644)
        with open(f"{name}/run.json", encoding="utf-8") as f:
            run = json.load(f)
        run["profile"] = "own.profile"
        with open(f"{name}/run.json", "w", encoding="utf-8") as f:
            json.dump(run, f)
        with open(f"{name}/own.profile", "w", encoding="utf-8") as f:
            f.write(f"like pytorch-2.13\nRelu 0 {slope}\n")
    status, _, rows = differing("one", "other")
    expect(status == 1 and [r["at"] for r in rows] == ["its profile"], f"another profile: {rows}")
    status, _, rows = differing(f"{CASES}/runs/small", f"{CASES}/runs/small-plain")
    expect(status == 1 and any(r["at"].startswith("step 0, trace: ") for r in rows), "two kernels")


def reports():
    lemma = [CLARKE, "audit", f"{CASES}/audit/lemma2.onnx", "--batch", f"{CASES}/audit/lemma2.npz", "--loss", "sum", "--json"]
    for name, more in (("one.json", []), ("two.json", []), ("other.json", ["--profile", "jax-0.10"])):
        with open(name, "w") as out:
            out.write(said(*lemma, *more)[1])
    expect(differing("one.json", "two.json") == (0, "reports", []), "one question twice")
    status, _, rows = differing("one.json", "other.json")
    expect(status == 1 and {"at": "profile", "first": "pytorch-2.13", "second": "jax-0.10"} in rows, rows)
    for name, text in (("a.json", '{"a": [1, {"b": "x"}], "c": null}'), ("b.json", '{"a": [1, {"b": 2}, true]}')):
        with open(name, "w") as out:
            out.write(text)
    expect(differing("a.json", "b.json")[2] == [{"at": "a/1/b", "first": "x", "second": "2"}, {"at": "a/2", "first": None, "second": "true"},
                                                {"at": "c", "first": "null", "second": None}], "values inside values")


def others():
    found = differing("pytorch-2.13", "pytorch-2.14")
    expect(found[:2] == (1, "profiles") and {"at": "Clamp 0", "first": "1", "second": "0"} in found[2], found)
    for one, two, why in (("none.pt", "none.pt", "none.pt"), ("one.json", "a.safetensors", "two of a kind"), ("jax-0.10", f"{CASES}/runs/small", "two of a kind"),
                          ("nonesuch", "jax-0.10", "nonesuch"), ("empty.json", "one.json", "empty.json:"), (".", ".", "run.json")):
        with open("empty.json", "w"):
            pass
        status, err, _ = differing(one, two)
        expect(status == 2 and why in err, f"{one} {two}: {status} {err}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    checkpoints()
    records()
    reports()
    others()
    os.chdir("/")
finish()
