#!/usr/bin/env python3
"""The trainer of tools/cuda, its kernels compiled as C: what it records is audited and certified.

    dense.py DENSE CLARKE CLARKE-CHECK

Each order of summation in each type, networks with sums of 1 to 130 products. Every sum must be its order's, bit for bit, or the
exact result rounded once. A record says that it is a CPU's.
"""
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import records  # noqa: E402
from expect import expect, finish  # noqa: E402

DENSE, CLARKE, CHECK = sys.argv[1:4]
ORDERS, TYPES = ("sequential", "tree", "warp", "split"), ("float32", "float16", "bfloat16")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def record(folder, name, *options):
    to = os.path.join(folder, name)
    status, out, error = run(DENSE, "--out", to, *options)
    expect(status == 0 and out.startswith("device: a CPU: "), f"{name}: {status} {out}{error}")
    return to


def certified(to):
    status, out, error = run(CLARKE, "certify", to, "--nodes", "--json")
    expect(status == 0, f"{to}: {status} {error}")
    return {(n["part"], n["name"]): n for n in json.loads(out)["nodes"]} if status == 0 else {}


def sums_are_known(to, halves):
    for (part, name), node in certified(to).items():
        softmax = name == "log_softmax" or (part, name) == ("gradient", to_last(to))
        allowed = ("bit-exact", "bit-exact (tree)") + (("within the bound",) if softmax else ())
        expect(node["answer"] in allowed, f"{to}: {part} {name}: {node['answer']} {node['tree']} {node['first']}")
        sums = part == "parameter" or (part == "gradient" and name.startswith("relu")) or (part == "output" and name.startswith("fc"))
        expect(sums == (node["tree"] is not None), f"{to}: {part} {name}: {node['tree']}")
        expect(not sums or node["tree"]["explains"], f"{to}: {part} {name}: {node['tree']}")


def to_last(to):
    with open(os.path.join(to, "run.json")) as f:
        return json.load(f)["parameters"][-1].split(".")[0]


def labelled(to, order, type_):
    with open(os.path.join(to, "run.json")) as f:
        description = json.load(f)
    expect(description["device"]["type"] == "cpu" and "compiled as C" in description["device"]["name"], f"{to}: {description['device']}")
    expect(description["framework"]["name"] == "clarke-dense" and description["flags"]["products"] == order, f"{to}: {description}")
    expect(description["dtypes"] == ["float32"] + ([type_] if type_ != "float32" else []), f"{to}: {description['dtypes']}")
    expect("torch" not in json.dumps({**description, "profile": None}) and "cuda" not in description["device"]["type"], f"{to}: a label")


def audited(to):
    proof = os.path.join(to, "proof")
    status, out, error = run(CLARKE, "audit", to, "--proof", proof, "--json")
    answer = json.loads(out) if out else {}
    expect(status == 0 and answer.get("verdict") == "in-bouligand" and answer["gradient"]["explained"] is True, f"{to}: {status} {error}{answer}")
    status, out, error = run(CHECK, proof, "--data", to)
    expect(out.startswith("VERIFIED"), f"{to}: {out[:200]}{error}")


def all_orders(folder):
    for order, type_ in itertools.product(ORDERS, TYPES):
        to = record(folder, f"{order}-{type_}", "--order", order, "--numbers", type_, "--scale", "1024" if type_ == "float16" else "1")
        sums_are_known(to, type_ != "float32")
        labelled(to, order, type_)
        if type_ == "float32":
            audited(to)
    shapes = [("--samples", "1", "--features", "2", "--width", "1"), ("--samples", "3", "--features", "5", "--width", "7", "--layers", "4"),
              ("--samples", "33", "--features", "65", "--width", "31", "--layers", "2"), ("--samples", "70", "--features", "130", "--width", "64", "--steps", "2"),
              ("--samples", "32", "--features", "64", "--width", "33", "--classes", "5", "--steps", "1")]
    for order, (number, shape) in itertools.product(ORDERS, enumerate(shapes)):
        to = record(folder, f"{order}-{number}", "--order", order, *shape)
        sums_are_known(to, False)


def orders_differ(folder):
    """One step from the same parameters: the difference is rounding. A record under another order's name is found out."""
    for order in ORDERS:
        record(folder, f"first-{order}", "--order", order, "--steps", "1", "--samples", "40", "--features", "70")
    for order in ORDERS[1:]:
        status, out, error = run(CLARKE, "certify", os.path.join(folder, "first-sequential"), "--against", os.path.join(folder, f"first-{order}"), "--json")
        difference = json.loads(out)["against"]
        expect(status == 0 and difference["difference"] == "rounding" and difference["differing"] > 0, f"{order}: {status} {difference}{error}")
    changed = records.Changed(folder, folder, "first-warp")
    with open(os.path.join(folder, "first-tree", changed.files["trees"]["file"]), "rb") as f:
        changed.put("trees", f.read())
    nodes = certified(changed.run)
    expect(nodes["output", "fc1"]["answer"] == "within the bound" and nodes["output", "fc1"]["tree"]["explains"] is False, "another order")
    values = changed.values("gradients", "fc2.weight")
    changed.put_value("gradients", "fc2.weight", 11, values[11] + 0.01)
    status, out, _ = run(CLARKE, "certify", changed.run, "--nodes")
    expect(status == 1 and "refuted: parameter fc2.weight[0, 11]" in out, f"a changed gradient: {status} {out[:300]}")


def twice(folder):
    """The same request gives the same bytes."""
    one, two = record(folder, "one", "--order", "split"), record(folder, "two", "--order", "split")
    for name in sorted(os.listdir(one)):
        with open(os.path.join(one, name), "rb") as a, open(os.path.join(two, name), "rb") as b:
            expect(a.read() == b.read(), f"{name} differs")


def refused(folder):
    to = os.path.join(folder, "refused")
    for options, says in ((("--order", "fast"), "'fast' is not known"), (("--order", "cublas"), "compiled without cuBLAS"), (("--numbers", "tf32"), "cuBLAS's alone"),
                          (("--layers", "9"), "from 2 to 8"), (("--samples", "0"), "from 1 to"), (("--scale", "3"), "a power of 2"), (("--steps", "x"), "expected a number"),
                          (("--samples", "65536", "--width", "8192"), "expected at most 67108864 together")):
        status, out, error = run(DENSE, "--out", to, *options)
        expect(status == 2 and says in error and not os.path.exists(to), f"{options}: {status} {out}{error}")
    status, _, error = run(DENSE)
    expect(status == 2 and "--out DIR is needed" in error, error)
    status, _, error = run(DENSE, "--out", os.path.join(folder, "none", "such"))
    expect(status == 2 and "No such file" in error, error)
    status, _, error = run(DENSE, "--out", to, "--numbers", "float16", "--scale", "16777216")  # beyond what float16 holds
    expect(status == 2 and "is not finite" in error and not os.path.exists(to), f"overflow: {status} {error}")


with tempfile.TemporaryDirectory() as scratch:
    all_orders(scratch)
    orders_differ(scratch)
    twice(scratch)
    refused(scratch)
print(f"on {platform.machine()}")
finish()
