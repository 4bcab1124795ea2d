#!/usr/bin/env python3
"""clarke certify of the recorded steps in cases/runs, as they are and with one number changed.

    certify.py CLARKE RUNS CLARKE-CHECK

As recorded, nothing is refuted. Then entries are drawn, with a fixed seed, from every tensor of the trace and from the gradients (of one
tensor in DRAW_ONE_IN, tests/draw.py): each is changed beyond rounding, and must be the first that is refuted, with its index. So must a winner that is another entry
of its window.
"""
import fractions
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.dirname(sys.path[0]))
import records  # noqa: E402
from draw import ONE_IN, draw_count  # noqa: E402
from expect import behind, expect, finish, said  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, RUNS, CHECK = sys.argv[1:4]
TRACED = ["added", "attention", "bounds", "factors", "factors-fused", "fresh", "layer-float64", "lemma2", "means", "own-side", "own-side-float64", "parted", "placed", "pooled", "small", "small-plain", "small-trees", "tied", "trees", "turned", "two-zeros", "words"]
draw = random.Random(13)


def certify(run, *options):
    status, text, error = said(CLARKE, "certify", run, *options)
    return status, behind(text), error


def report(run, *options):
    status, out, error = certify(run, "--json", *options)
    expect(status in (0, 1, 3), f"{run}: {status} {error}")
    answer = json.loads(out)
    expect(not faults("certify", answer), f"{run}: {faults('certify', answer)}")
    return status, answer


def first_refuted(answer):
    return next((n for n in answer["nodes"] if n["answer"] in ("refuted", "not certified")), None)


def as_recorded():
    for name in TRACED:
        status, answer = report(os.path.join(RUNS, name))
        expect(status == 0 and first_refuted(answer) is None, f"{name}: {answer['answer']}")
        expect(all(n["open"] == 0 for n in answer["nodes"]), f"{name}: open")
        again = certify(os.path.join(RUNS, name), "--json", "--step", "0")[1]
        expect(json.loads(again) == answer, f"{name}: --step 0")
    # what PyTorch hands out no tensor of is followed, and nothing else
    inner = {"added": ["baddbmm", "baddbmm_3"], "factors": ["addmv", "addmv_2", "addmv_4", "dot"], "words": ["nll_loss_forward", "nll_loss_forward_2", "silu", "silu_3"]}
    for name in TRACED:
        answer = report(os.path.join(RUNS, name), "--nodes")[1]
        followed = [n for n in answer["nodes"] if n["answer"] == "followed"]
        expect(sorted(n["part"] + " " + n["name"] for n in followed) == [f"{part} {v}" for part in ("gradient", "output") for v in inner.get(name, [])],
               f"{name}: followed: {followed}")
        expect(all(n["why"].startswith(f"its {n['part']} was not recorded: ") and n["exact"] == n["open"] == 0 for n in followed), f"{name}: {followed}")
        text = certify(os.path.join(RUNS, name), "--nodes")[1]
        n = len(followed) // 2
        expect((f"Not recorded, but followed to the records around them: {n} outputs, {n} gradients.\n" in text) == (n > 0), f"{name}: {text}")
        expect((f", {2 * n} followed." in text.splitlines()[0]) == (n > 0), f"{name}: {text}")
    for name in ("bounds", "lemma2", "two-zeros"):
        expect(report(os.path.join(RUNS, name))[1]["answer"] == "bit-exact", name)
    for name in ("small-light", "small-float64"):
        status, text, _ = certify(os.path.join(RUNS, name))
        expect(status == 3 and text.startswith("cannot say: the record is a light one"), f"{name}: {status} {text[:100]}")
    # what copies and compares is bit-exact
    for node in report(os.path.join(RUNS, "small"))[1]["nodes"]:
        if node["part"] == "output" and node["operator"] in ("Relu", "MaxPool", "Reshape", None):
            expect(node["answer"] == "bit-exact", node)


def sifted():
    """Doubles decide first, where no pattern is asked for: the same answers, and no ratio that is too small."""
    used = 0
    for name in TRACED:
        run = os.path.join(RUNS, name)
        exactly, quickly = report(run)[1]["nodes"], report(run, "--nodes")[1]["nodes"]
        expect(len(exactly) == len(quickly), f"{name}: {len(quickly)} nodes")
        for e, q in zip(exactly, quickly):
            same = all(e[key] == q[key] for key in ("part", "name", "operator", "answer", "entries", "refuted", "open", "first", "why"))
            expect(same and e["worst_is"] == "exact", f"{name}: {e} and {q}")
            expect(q["exact"] <= e["exact"] and (q["worst_is"] == "at most" or q["worst"] == e["worst"]), f"{name}: {e} and {q}")
            expect(q["worst"] >= e["worst"], f"{name}: {e} and {q}")
            used += q["worst_is"] == "at most"
    expect(used >= 50, f"doubles decided {used} tensors")


def unaligned(folder):
    """Numbers that begin at an odd address, where no float may lie, are the same numbers."""
    for name in ("small", "small-trees"):
        changed = records.Changed(folder, RUNS, name)
        trace = changed.bytes_of("trace")
        length = int.from_bytes(trace[:8], "little")
        for blanks in range(1, 4):
            changed.put("trace", (length + blanks).to_bytes(8, "little") + trace[8:8 + length] + blanks * b" " + trace[8 + length:])
            expect(report(changed.run, "--nodes") == report(os.path.join(RUNS, name), "--nodes"), f"{name}: {blanks} blanks")


def patterns():
    """Where records part from exact arithmetic, and both semantics."""
    verdicts = {"lemma2": "not-in-clarke", "bounds": "in-clarke"}
    for name in TRACED:
        answer = report(os.path.join(RUNS, name))[1]
        real, recorded = (answer["semantics"][k]["verdict"] for k in ("real", "recorded"))
        pattern = answer["pattern"]
        expect(pattern["parted"] == len(pattern["list"]) and pattern["open"] == pattern["unrecorded"] == 0, f"{name}: {pattern}")
        expect(real == verdicts.get(name, "in-bouligand"), f"{name}: {real}")
        expect(name in ("parted", "pooled") or recorded == real, f"{name}: {recorded}")
        if not name.startswith(("parted", "pooled", "own-side")):
            expect(pattern["parted"] == 0, f"{name}: {pattern}")
    answer = report(os.path.join(RUNS, "parted"))[1]
    pool = "max_pool2d_with_indices"
    expect([(p["node"], p["index"], p["sample"], p["parting"], p["same_gradient"]) for p in answer["pattern"]["list"]]
           == [("relu", "[0, 0, 2]", 0, "recorded at the kink", False), ("relu", "[0, 0, 4]", 0, "exactly at the kink", False),
               (pool, "[0, 0, 0]", 0, "a loser taken as winner", False), (pool, "[0, 0, 1]", 0, "recorded as a tie", True),
               (pool, "[0, 0, 2]", 0, "exactly a tie", True)], f"parted: {answer['pattern']}")
    expect(answer["semantics"]["recorded"] == {"verdict": "undecided", "why": "at 2 kinks or windows the record took a branch that the real "
           "function does not take at these parameters: its gradient belongs to another cell"}, f"parted: {answer['semantics']}")
    answer = report(os.path.join(RUNS, "own-side"))[1]
    expect(answer["pattern"]["parted"] == 1 and "directions realize them" in answer["semantics"]["recorded"]["why"], f"own-side: {answer}")
    for name in ("parted", "small-light"):
        status, out, _ = certify(os.path.join(RUNS, name), "--nodes", "--json")
        expect(json.loads(out)["semantics"] is None and json.loads(out)["pattern"] is None, f"{name}: --nodes")
        expect(status == (3 if name == "small-light" else 0), f"{name}: --nodes: {status}")
    status, out, _ = certify(os.path.join(RUNS, "small"), "--json", "--timeout", "0")
    expect(status == 3, f"stopped: {status}")


def differences(folder):
    def against(one, other):
        status, out, error = certify(os.path.join(RUNS, one), "--against", os.path.join(RUNS, other), "--json")
        return status, json.loads(out)["against"] if status != 2 else error
    for name in ("small", "parted"):
        status, found = against(name, name)
        expect(status == 0 and found["difference"] == "none" and found["differing"] == 0 and found["parameter"] is None, f"{name}: {found}")
    status, found = against("small", "small-plain")
    expect(status == 0 and found["difference"] == "rounding" and found["first"] is None and 0 < found["differing"] < found["entries"],
           f"small: {status} {found}")
    status, found = against("own-side", "own-side-float64")
    expect(status == 0 and found["difference"] == "branches" and found["first"] == {"node": "1/relu", "index": "[0, 0, 0]", "sample": 0,
           "arguments": ["0x1p-25", "0x0p+0"], "exactly": True}, f"own-side: {status} {found}")
    status, found = against("small", "small-light")
    expect(status == 2 and "are no records of one step: parameters are not the same" in found, f"small-light: {status} {found}")
    changed = records.Changed(folder, RUNS, "small")  # all as it was, but for the factor on the loss
    changed.description["steps"][0]["loss_scale"] = "1024"
    changed.write()
    status, found = against("small", changed.run)
    far, near = (float.fromhex(v) for v in found["values"])
    expect(status == 1 and found["differing"] > 0 and 2.9 < far / near < 3.1, f"another scale: {status} {found}")
    changed = records.Changed(folder, RUNS, "bounds")
    changed.description["profile"] = "pytorch-2.14"
    changed.write()
    status, found = against("bounds", changed.run)
    expect(found["difference"] == "numbers at kinks" and found["first"] is not None, f"bounds: {status} {found}")
    status, found = against("small", "tied")
    expect(status == 2 and "are no records of one step" in found, f"tied: {status} {found}")
    changed = records.Changed(folder, RUNS, "small")  # the mean is the loss's default: as many bytes in its place ignore the label 1
    op = b"\"\x19NegativeLogLikelihoodLoss"
    mean = b"\x1a\x10nll_loss_forward" + op + b"*\x14\n\treduction\"\x04mean\xa0\x01\x03"
    ignored = b"\x1a\x11nll_loss_forwards" + op + b"*\x13\n\x0cignore_index\x18\x01\xa0\x01\x02"
    with open(os.path.join(changed.run, "graph.onnx"), "rb") as f:
        graph = f.read()
    with open(os.path.join(changed.run, "graph.onnx"), "wb") as f:
        f.write(graph.replace(mean, ignored))
    changed.description["graph"]["sha256"] = hashlib.sha256(graph.replace(mean, ignored)).hexdigest()
    changed.write()
    status, found = against("small", changed.run)
    expect(status == 2 and "are no records of one step: graph or loss is not the same" in found, f"a label ignored: {status} {found}")
    changed = records.Changed(folder, RUNS, "small")
    changed.put_value("trace", "output/3/convolution", 7, 1.5)
    status, found = against("small", changed.run)
    expect(status == 1 and found["answer"] == "refuted", f"changed: {status} {found}")


def steps_apart(folder):
    """Two runs of three steps: the first step that differs is found, in a run folder and in a folder of these; a step that begins with other
    numbers is told, and so is a run that has no step of the other's."""
    def run_of(to, *names):
        changed = records.Changed(folder, RUNS, "small", to=to)
        steps = changed.description["steps"]
        for k, name in enumerate(names):
            step = json.loads(json.dumps(steps[0]))
            step["step"] = 10 * k
            with open(os.path.join(RUNS, name, "run.json")) as f:
                files = json.load(f)["steps"][0]["files"]
            for what in step["files"]:
                entry = dict(files[what], file=f"{k}-{files[what]['file']}")
                shutil.copy(os.path.join(RUNS, name, files[what]["file"]), os.path.join(changed.run, entry["file"]))
                step["files"][what] = entry
            steps.append(step)
        del steps[0]
        changed.write()
        return changed.run

    def against(one, other, *more):
        status, out, error = certify(one, "--against", other, "--json", *more)
        return json.loads(out)["against"] if status != 2 else error
    same, later, first = run_of("same", *["small"] * 3), run_of("later", "small", "small", "small-plain"), run_of("first", "small-plain", "small", "small")
    for one, other, step, before, kind in ((same, later, 20, 2, "rounding"), (later, same, 20, 2, "rounding"), (same, first, 0, 0, "rounding"),
                                           (later, first, 0, 0, "rounding"), (same, same, 0, 3, "none")):
        found = against(one, other)
        expect((found["step"], found["same_steps"], found["difference"]) == (step, before, kind), f"{one} {other}: {found}")
    found = against(same, later, "--step", "10")
    expect((found["step"], found["same_steps"], found["difference"]) == (10, 0, "none"), f"a step that was asked for: {found}")
    status, out, _ = certify(same, "--against", later)
    expect(status == 0 and "Of the steps that both runs have the first 2 have the same numbers; step 20 differs.\n" in out, out)
    changed = records.Changed(folder, folder, "later", to="begun")
    for step in changed.description["steps"][1:]:
        step["files"]["parameters"]["sha256"] = "0" * 64
    changed.write()
    found = against(same, changed.run)
    expect("the runs part before step 10: parameters differ there" in found, found)
    for step in changed.description["steps"]:
        step["step"] += 5
    changed.write()
    expect("have no step of one number" in against(same, changed.run), "no common step")
    def small_but(to, change):
        changed = records.Changed(folder, folder, "same", to=to)
        change(changed, changed.description["steps"][1])
        changed.write()
        return against(same, changed.run)

    def without_trace(changed, step):
        del step["files"]["trace"]

    def other_bytes(changed, step):
        with open(os.path.join(changed.run, step["files"]["gradients"]["file"]), "r+b") as f:
            f.seek(-2, 2)
            f.write(b"\x55")

    def scaled(changed, step):
        step["loss_scale"] = "1024"
    found = small_but("other-bytes", other_bytes)
    expect("its SHA-256 is" in found, f"a file that is not what run.json says: {found}")
    found = small_but("without-trace", without_trace)
    expect((found["step"], found["same_steps"]) == (10, 1), f"a step without a trace: {found}")
    found = small_but("scaled", scaled)
    expect((found["step"], found["same_steps"]) == (10, 1) and found["differing"] > 0, f"another scale: {found}")
    runs = os.path.join(folder, "runs")
    for k, name in enumerate(("small", "small-plain")):
        copy = records.Changed(folder, RUNS, name, to=f"runs/step-{10 * k}")
        copy.description["steps"][0]["step"] = 10 * k
        copy.write()
    found = against(same, runs)
    expect((found["step"], found["same_steps"]) == (10, 1), f"a folder of run folders: {found}")


def tensors_of(changed):
    """(file, tensor, part, name) of all that is certified."""
    for tensor in records.tensors(changed.bytes_of("trace")):
        part, _, name = tensor.partition("/")
        if part in ("output", "gradient", "indices"):
            yield "trace", tensor, part, name
    for tensor in records.tensors(changed.bytes_of("gradients")):
        yield "gradients", tensor, "parameter", tensor


def changed_numbers(folder):
    """One entry, by a 32nd of the tensor's largest (of sums that cancel, by more): the first that is refuted is that one."""
    for name in TRACED:
        changed = records.Changed(folder, RUNS, name)
        for which, tensor, part, node in tensors_of(changed):
            if part == "indices" or draw.randrange(ONE_IN) > 0:
                continue
            for _ in range(2 if len(name) < 6 else 1):
                values = changed.values(which, tensor)
                entry = draw.randrange(len(values))
                by = max(max(map(abs, values)) / 32, 2 ** -15)
                changed.put_value(which, tensor, entry, values[entry] + draw.choice([-by, by]))
                status, answer = report(changed.run, "--nodes")
                changed.put_value(which, tensor, entry, values[entry])
                found = first_refuted(answer)
                where = f"{name}: {tensor} entry {entry}"
                expect(status == 1 and found is not None, f"{where}: {status} {answer['answer']}")
                if found is None:
                    continue
                expect((found["part"], found["name"]) == (part, node), f"{where}: {found['part']} {found['name']}")
                index = records.index_of(changed.shape(which, tensor), entry)
                expect(found["first"]["index"] == index, f"{where}: {found['first']}")


def changed_winners(folder):
    for name, pool in (("small", "2/max_pool2d_with_indices"), ("fresh", "3/max_pool2d_with_indices")):
        tensor = "indices/" + pool
        for trial in range(8):
            changed = records.Changed(folder, RUNS, name)
            values = changed.values("trace", tensor)
            entry = draw.randrange(len(values))
            row, column = divmod(values[entry], 6)
            other = (row ^ 1) * 6 + column if trial % 2 else row * 6 + (column ^ 1)  # windows of 2 x 2
            changed.put_value("trace", tensor, entry, other if trial < 6 else -1 if trial == 6 else 36)
            status, answer = report(changed.run, "--nodes")
            found = first_refuted(answer)
            expect(status == 1 and found is not None and (found["part"], found["name"]) == ("indices", pool),
                   f"{name}: winner {entry}: {status} {found}")
            expect(found is None or str(records.index_of(changed.shape("trace", tensor), entry)) in found["why"], f"{found}")


def answers(run):
    status, answer = report(run, "--nodes")
    return status, {(n["part"], n["name"]): n for n in answer["nodes"]}


def trees(folder):
    """Sums in recorded orders, bit for bit; an order that is not the recorded sums' explains nothing, and one that is none is refused."""
    by_tree = [("output", "0/addmm"), ("output", "2/addmm"), ("gradient", "1/relu"), ("gradient", "0/t"), ("gradient", "2/t"),
               ("parameter", "0.bias"), ("parameter", "2.bias")]
    least_changes(folder, "trees", by_tree)
    least_changes(folder, "small-trees",  # convolutions, and what goes back through them
                  [("output", "0/convolution"), ("output", "3/convolution"), ("output", "6/addmm"), ("output", "8/addmm"),
                   ("gradient", "2/max_pool2d_with_indices"), ("gradient", "5/view"), ("gradient", "7/relu"), ("gradient", "6/t"),
                   ("gradient", "8/t"), ("parameter", "0.weight"), ("parameter", "0.bias"), ("parameter", "3.weight"),
                   ("parameter", "3.bias")])
    least_changes(folder, "attention",  # products of two activations, and what goes back to both
                  [*(("output", f"{name}/addmm") for name in "qkv"), ("output", "bmm"), ("output", "bmm_2"), ("gradient", "_softmax"),
                   ("gradient", "transpose"), ("gradient", "q/view_2"), ("gradient", "v/view_2"),
                   *(("gradient", f"{name}/t") for name in "qkv"), *(("parameter", f"{name}.bias") for name in "qkv")])
    least_changes(folder, "means",  # sums and means, and gradients that are sums over what was added
                  [("output", "conv/convolution"), ("output", "mean"), ("output", "last/addmm"), ("output", "sum"), ("gradient", "mean"),
                   ("gradient", "last/t"), ("parameter", "conv.weight"), ("parameter", "conv.bias"), ("parameter", "shift")])
    least_changes(folder, "turned",  # a transposed convolution, and what goes back through it
                  [("output", "0/convolution"), ("output", "2/convolution"), ("gradient", "1/relu"), ("parameter", "0.weight"), ("parameter", "0.bias"),
                   ("parameter", "2.weight")])
    least_changes(folder, "added",  # products that something is added to, of which the sum alone was recorded; a vector
                  [*(("output", f"{name}/addmm") for name in ("last", "q", "k", "v")), ("output", "baddbmm_2"), ("output", "baddbmm_4"), ("output", "mv"),
                   ("output", "sum"), ("gradient", "v/view_2"), ("gradient", "baddbmm_2"), ("gradient", "transpose"), ("gradient", "q/view_2"),
                   *(("gradient", f"{name}/t") for name in ("last", "q", "k", "v")), *(("parameter", f"{name}.bias") for name in ("last", "q", "k", "v"))])
    least_changes(folder, "factors",  # products with factors, dot products, and what several nodes read
                  [*(("output", name) for name in ("addmm", "mm", "addmv_5", "mv", "dot_2", "sum")), *(("parameter", name) for name in "wd"),
                   *(("gradient", name) for name in ("view", "select", "select_2", "relu"))])
    least_changes(folder, "factors-fused",  # to which something is added, times beta, by one rounding
                  [("output", "addmm"), ("output", "addmm_2"), ("gradient", "relu"), *(("parameter", name) for name in "wcb")])
    forms(folder)
    changed = records.Changed(folder, RUNS, "trees")
    # far from the sums, a tree saves nothing
    changed.put_value("gradients", "2.bias", 3, 7.0)
    status, after = answers(changed.run)
    expect(status == 1 and after["parameter", "2.bias"]["answer"] == "refuted", f"far: {status}")


def forms(folder):
    """A factor that is multiplied in elsewhere, or nowhere, is another sum; so are parts that are added in another order, and what is added
    times beta, rounded or not."""
    for run, name, before, after, why in [
            ("factors", "addmm", '"form": "first"', '"form": "second"', "it gives"), ("factors", "addmm", '"form": "first"', '"form": "sum"', "it gives"),
            ("factors", "addmm", '"form": "first"', '"form": "fused"', "it gives"),
            ("factors", "addmm", '"form": "first", ', "", "there is a factor, and no form says"),
            ("factors", "addmv_5", '"form": "sum"', '"form": "first"', "it gives"), ("factors", "w", '"form": "sum"', '"form": "first"', "it gives"),
            ("factors", "addmv_5", "[3 5] 6]", "[3 5] 6*]", "it gives"),
            ("factors", "select", '"form": "sum"', '"form": "second"', "it gives"),
            ("factors", "relu", '"tree": "[6 [0-5]]"', '"tree": "[0 6 1-5]"', "it gives"),
            ("factors-fused", "addmm", "[0 1-7*]", "[0 1-6* 7]", "it gives"), ("factors-fused", "addmm", "[0 1-7*]", "[0 7* 1-6*]", "it gives nan"),
            ("factors-fused", "addmm", "[0 1-7*]", "[0-6 7*]", "it gives"),
            ("factors-fused", "addmm", '"form": "sum"', '"form": "second"', "it gives"),
            ("factors-fused", "addmm", '"form": "sum", ', "", "there is a factor, and no form says"),
            ("factors-fused", "addmm", '"form": "sum"', '"form": "fused"', None),  # one addition fuses one product: beta's
            ("factors-fused", "addmm_2", "[0 1-5*]", "[0 1-4* 5]", "it gives")]:
        changed = records.Changed(folder, RUNS, run)
        text = changed.bytes_of("trees").decode()
        lines = [line.replace(before, after) if f'"name": "{name}"' in line else line for line in text.splitlines(keepends=True)]
        expect("".join(lines) != text, f"forms: {name} has no {before}")
        changed.put("trees", "".join(lines).encode())
        status, found = answers(changed.run)
        tree = next(n for (part, node), n in found.items() if node == name and n["tree"] is not None)["tree"]
        expect(status == 0 and tree["explains"] is (why is None) and (why or "") in (tree["why"] or ""), f"forms: {run} {name} {after}: {status} {tree}")


def least_changes(folder, run, by_tree):
    """These tensors and no others are explained by their trees; after the least change of a number none is."""
    _, before = answers(os.path.join(RUNS, run))
    expect({k for k, n in before.items() if n["answer"] == "bit-exact (tree)"} == set(by_tree), f"{run}: {before}")
    listed = json.loads(records.Changed(folder, RUNS, run).bytes_of("trees"))["sums"]
    expect({k for k, n in before.items() if n["tree"] is not None} == {(s["part"], s["name"]) for s in listed}, "others have none")
    for part, name in draw.sample(by_tree, draw_count(len(by_tree))):  # within the bound still, or the exact result rounded, but no tree's
        changed = records.Changed(folder, RUNS, run)
        which, tensor = ("gradients", name) if part == "parameter" else ("trace", f"{part}/{name}")
        values = changed.values(which, tensor)
        entry = draw.randrange(len(values))
        while values[entry] == 0:
            entry = draw.randrange(len(values))
        bits = struct.unpack("<I", struct.pack("<f", values[entry]))[0] + draw.choice([-1, 1])
        changed.put_value(which, tensor, entry, struct.unpack("<f", struct.pack("<I", bits))[0])
        status, after = answers(changed.run)
        found = after[part, name]
        index = records.index_of(changed.shape(which, tensor), entry)
        expect(found["answer"] in ("within the bound", "bit-exact") and found["tree"]["explains"] is False
               and f"at {index} it gives" in found["tree"]["why"], f"{name} {index}: {status} {found}")
    text = certify(changed.run, "--nodes")[1]
    expect(f"The recorded tree does not explain {part} {name}: at [" in text, text[:300])


def other_trees(folder):
    def asked(change):
        changed = records.Changed(folder, RUNS, "trees")
        trees = json.loads(changed.bytes_of("trees"))
        sum_ = next(s for s in trees["sums"] if s["name"] == "0/addmm")
        change(sum_, trees)
        changed.put("trees", json.dumps(trees).encode())
        status, out, error = certify(changed.run, "--nodes", "--json")
        found = next((n for n in json.loads(out)["nodes"] if (n["part"], n["name"]) == ("output", "0/addmm")), None) if status != 2 else None
        return status, found, error

    def tree(text):
        return lambda s, _: s["trees"][0].update(tree=text)
    expect(asked(lambda s, _: None)[1]["tree"] == {"explains": True, "why": None}, "as it is")
    # another order, rounded products, other types, other entries
    for change, why in ((tree("[0 20 1-19*]"), "it gives"), (tree("[0-20]"), "it gives"), (tree("[[0 2-18/2*] [1 3-19/2*] 20]"), "it gives"),
                        (lambda s, _: s.update(type="float64"), "it gives"),
                        (lambda s, _: s.update(leaves=20), "another number of products"),
                        (lambda s, _: s["trees"][0].update(columns=[0, 14]), "12 entries have no tree"),
                        (lambda s, _: s.update(part="output", name="1/relu"), None)):
        status, found, error = asked(change)
        expect(status == 0 and found["answer"] == "within the bound", f"{why}: {status} {found} {error}")
        expect(found["tree"] is None if why is None else why in found["tree"]["why"], f"{why}: {found['tree']}")
    for change, why in ((tree("[0 1-19*]"), "a leaf is missing"), (tree("[0 0-20]"), "a leaf is there twice"), (tree("(0-20)"), "several at once"),
                        (tree("[" * 70), "too many brackets"), (tree(7), "'tree': expected a text"),
                        (lambda s, _: s["trees"][0].update(rows=[0, 12]), "rows to 12"), (lambda s, _: s["trees"][0].update(rows=[3, 2]), "'rows'"),
                        (lambda s, _: s["trees"][0].update(columns=[0, 2**40]), "columns to"), (lambda s, _: s["trees"].append(s["trees"][0]), "of one entry"),
                        (lambda s, _: s.update(trees=[]), "'trees'"), (lambda s, _: s.update(trees=s["trees"] * 17), "'trees'"),
                        (lambda s, _: s.update(name="0/nothing"), "no such tensor"), (lambda s, t: t["sums"].append(s), "it is there twice"),
                        (lambda s, _: s.update(type="float16"), "'type'"), (lambda s, _: s.update(leaves=-1), "'leaves'"),
                        (lambda s, t: t.update(version=2), "'version'"), (lambda s, t: t.update(format="trees"), "'format'"),
                        (lambda s, t: t.pop("sums"), "'sums'")):
        status, found, error = asked(change)
        expect(status == 2 and found is None and why in error and "trees.json" in error, f"{why}: {status} {error}")
    changed = records.Changed(folder, RUNS, "trees")
    changed.put("trees", changed.bytes_of("trees") + b" ", seal=False)
    status, _, error = certify(changed.run)
    expect(status == 2 and "its SHA-256 is" in error, f"unsealed: {status} {error}")


def unhashed(folder):
    """A trace without a hash: longer, shorter, of another step or nothing at all. A hash that is there must be the file's."""
    for options in ((), ("--nodes",), ("--nodes", "--proof", os.path.join(folder, "proof"))):
        for change, why in ((lambda b: b + b"\0", "bytes"), (lambda b: b[:-1], "bytes"), (lambda b: b[:100], ""), (lambda b: b"", ""),
                            (lambda b: bytes(len(b)), "")):
            changed = records.Changed(folder, RUNS, "small-plain")
            expect("sha256" not in changed.files["trace"], "small-plain has no hash of its trace")
            changed.put("trace", change(changed.bytes_of("trace")))
            status, out, error = certify(changed.run, *options)
            expect(status == 2 and out == "" and "step-000000.trace.safetensors" in error and why in error, f"{why}: {status} {out[:100]} {error}")
        for name in ("small", "small-plain"):  # two steps of one shape
            changed = records.Changed(folder, RUNS, name)
            changed.put("trace", records.Changed(folder, RUNS, "small-plain" if name == "small" else "small", to="other").bytes_of("trace"))
            status, out, error = certify(changed.run, *options)
            expect(status == 1 and out.startswith("refuted"), f"the trace of another step: {status} {out[:100]} {error}")
    expect(not os.path.exists(os.path.join(folder, "proof")), "a proof of what is refuted")
    changed = records.Changed(folder, RUNS, "small-plain")
    changed.files["trace"]["sha256"] = "0" * 64
    changed.write()
    status, _, error = certify(changed.run)
    expect(status == 2 and "its SHA-256 is" in error, f"another hash: {status} {error}")


def missing_winners(folder):
    """A trace without a pool's indices: they are the first of the largest, along which the gradient before it goes. Without it, or what is
    pooled, nothing was checked of them."""
    pool = "2/max_pool2d_with_indices"
    for options in ((), ("--nodes",)):
        changed = without(folder, "small", f"indices/{pool}")
        status, answer = report(changed.run, *options)
        followed = [(n["part"], n["name"]) for n in answer["nodes"] if n["answer"] == "followed"]
        expect(status == 0 and followed == [("indices", pool)], f"no indices: {status} {followed}")
        expect("Not recorded, but followed to the records around them: winners of 1 pool.\n" in certify(changed.run, *options)[1], "no indices, in words")
    # the gradient of a winner is a neighbour's
    gradient = changed.values("trace", "gradient/1/relu")
    place = next(e for e, g in enumerate(gradient) if g != 0)
    beside = place + 1 if place % 6 % 2 == 0 else place - 1
    expect(gradient[beside] == 0, "the loser beside it")
    changed.put_value("trace", "gradient/1/relu", beside, gradient[place])
    changed.put_value("trace", "gradient/1/relu", place, 0.0)
    bad = first_refuted(report(changed.run, "--nodes")[1])
    expect(bad is not None and (bad["part"], bad["name"], bad["refuted"]) == ("gradient", "1/relu", 2), f"no indices, and another winner: {bad}")
    # what is pooled has no record, and is known: relu of one that has; then winners are judged by that
    changed = without(folder, "small", "output/1/relu")
    expect(report(changed.run, "--nodes")[0] == 0, "winners of what was not recorded")
    place = changed.values("trace", f"indices/{pool}")[0]
    changed.put_value("trace", f"indices/{pool}", 0, place ^ 1)
    bad = first_refuted(report(changed.run, "--nodes")[1])
    expect(bad is not None and (bad["part"], bad["name"], bad["refuted"]) == ("indices", pool, 1), f"winners of what was not recorded: {bad}")
    changed = without(folder, "small", f"indices/{pool}", "output/1/relu", "output/0/convolution")
    answer = report(changed.run, "--nodes")[1]
    expect(("indices", "cannot say") in [(n["part"], n["answer"]) for n in answer["nodes"]], "neither indices nor what is pooled")


def statistics(folder):
    """The buffers that a BatchNormalization brings up to date: just beyond the bound they are refuted, just within they are not."""
    def rows(changed):
        status, _, error = certify(changed.run, "--nodes")
        return (status, {n["name"]: n for n in report(changed.run, "--nodes")[1]["nodes"] if n["part"] == "statistic"}) if status != 2 else (2, error)
    changed = records.Changed(folder, RUNS, "fresh")
    status, found = rows(changed)
    expect(status == 0 and sorted(found) == ["1.running_mean", "1.running_var"], f"statistics: {status} {found}")
    proof = os.path.join(changed.run, "proof")
    certify(changed.run, "--proof", proof)
    with open(proof) as f:
        body = f.read()
    body = body[:body.rindex("end ")].replace(" 1 within\n", " 0 within\n", 1)
    with open(proof, "w") as f:
        f.write(body + f"end {hashlib.sha256(body.encode()).hexdigest()}\n")
    done = subprocess.run([CHECK, proof], capture_output=True, text=True)
    expect(done.returncode == 1 and "an update is of one sample or more" in done.stdout, f"an update of no samples: {done.stdout}{done.stderr}")
    whole = changed.bytes_of("trace")
    for name in found:
        own = changed.values("trace", f"after/{name}")
        expect(found[name]["entries"] == 4 and found[name]["worst"] < 0.5, f"statistics: {found[name]}")
        for entry in draw.sample(range(4), draw_count(4)):
            changed.put_value("trace", f"after/{name}", entry, own[entry] + 1)
            _, bad = rows(changed)
            first = bad[name]["first"]
            expect(bad[name]["answer"] == "refuted" and bad[name]["refuted"] == 1 and first["index"] == f"[{entry}]", f"{name}: {bad}")
            exact = float(fractions.Fraction(first["exact"].removeprefix("about ")))
            bound = float.fromhex(first["bound"])
            for part in (1.01, -1.01, 1.1, -1.1, 0.98, -0.98):
                changed.put_value("trace", f"after/{name}", entry, exact + part * bound)
                off = abs(changed.values("trace", f"after/{name}")[entry] - exact) / bound  # as a float32
                want = "refuted" if off > 1 else "within the bound"
                _, judged = rows(changed)
                expect(judged[name]["answer"] == want or abs(off - 1) < 1e-6, f"{name}[{entry}] at {off} of its bound: {judged[name]['answer']}")
            changed.put("trace", whole)
    # in float32, by both formulas: numbers that cancel; sums whose roundings all go one way; what was there before is much larger
    f32 = lambda v: struct.unpack("<f", struct.pack("<f", v))[0]
    worst = {}
    for kind, entry, before in (("cancel", lambda e: 1000 + draw.random(), (0.0, 1.0)), ("drift", lambda e: 1000 + 2.0**-8 - 2.0**-13, (0.0, 0.0)),
                                ("before", lambda e: draw.random() / 2**20, (1000.37, 1234.56))):
        drawn = [f32(entry(e)) for e in range(576)]
        for e, v in enumerate(drawn):
            changed.put_value("trace", "output/0/convolution", e, v)
        for squares in (False, True):
            for k in range(4):
                own, total, spread = [v for e, v in enumerate(drawn) if e // 36 % 4 == k], 0.0, 0.0
                for v in own:
                    total = f32(total + v)
                mean = f32(total / len(own))
                for v in own:
                    off = v if squares else f32(v - mean)
                    spread = f32(spread + f32(off * off))
                spread = f32(spread - f32(len(own) * f32(mean * mean))) if squares else spread
                for name, old, batch in (("mean", before[0], mean), ("var", before[1], f32(spread / (len(own) - 1)))):
                    changed.put_value("trace", f"before/1.running_{name}", k, old)
                    changed.put_value("trace", f"after/1.running_{name}", k, f32(f32(f32(0.9) * f32(old)) + f32(f32(0.1) * batch)))
            _, found = rows(changed)
            expect(all(n["answer"] in ("within the bound", "bit-exact") for n in found.values()), f"statistics: {kind}, squares {squares}: {found}")
            worst[kind, squares] = [found[f"1.running_{name}"]["worst"] for name in ("mean", "var")]
    expect(worst["cancel", True][1] > 1e-3 > worst["cancel", False][1], f"what squares lose: {worst}")
    expect(worst["drift", False][0] > 0.04 and worst["drift", True][1] > 0.015 and min(worst["before", False]) > 0.01, f"how near: {worst}")
    changed.put("trace", whole)
    step = changed.description["steps"][0]
    one = step["statistics"][0]
    for change, want, why in (({"momentum": "1/8"}, (1, "refuted"), None), ({"node": "5/addmm"}, (3, "cannot say"), "the graph has no normalization of its node"),
                              ({"mean": "1.running_men"}, (3, "cannot say"), "it was not recorded before and after the step"),
                              ({"mean": "1.running_var"}, (3, "cannot say"), "it is called a mean and a variance"),
                              ({"samples": 4}, (3, "cannot say"), "it has another number of entries than its node has channels"),
                              ({"count": "1.num_batches_tracked"}, (0, "bit-exact"), None), ({"momentum": "2"}, (1, "refuted"), None),
                              ({"momentum": "-1/10"}, (1, "refuted"), None), ({"momentum": "1" + 400 * "0"}, (3, "cannot say"), None),
                              ({"momentum": "1/1" + 1300 * "0"}, (3, "cannot say"), "its updates have shares of too many digits")):
        step["statistics"] = [one | change]
        changed.write()
        status, bad = rows(changed)
        expect(status == want[0] and any(n["answer"] == want[1] and (why is None or n["why"] == why) for n in bad.values()), f"{change}: {status} {bad}")
    step["statistics"] = [one, one]  # an update that was not made
    changed.write()
    status, bad = rows(changed)
    expect(status == 1 and len(bad) == 2 and all(n["answer"] == "refuted" for n in bad.values()), f"twice: {status} {bad}")
    step["statistics"] = [one | {"count": "1.num_batches_tracked"}] + [one | {"count": "1.num_batches_tracked", "mean": "1.running_men"}]
    changed.write()
    status, bad = rows(changed)
    why = "it went from 0 to 1, in 2 updates"
    expect(status == 1 and (bad["1.num_batches_tracked"]["answer"], bad["1.num_batches_tracked"]["why"]) == ("refuted", why), f"counted: {bad}")
    for change in ({"samples": 0}, {"samples": "1"}, {"samples": -1}, {"samples": 1.5}):
        step["statistics"] = [one | change]
        changed.write()
        status, _, error = certify(changed.run)
        expect(status == 2 and "'samples': expected a number from 1" in error, f"{change}: {status} {error}")
    for change, said in (({"count": "1.running_mean"}, "expected one integer"), ({"mean": "1.num_batches_tracked"}, "expected as many floats")):
        step["statistics"] = [one | change]
        changed.write()
        status, _, error = certify(changed.run)
        expect(status == 2 and said in error, f"{change}: {status} {error}")
    for change in ({"momentum": "a tenth"}, {"momentum": 0.1}, {"node": 1}, {"mean": None}, {"count": 1}):
        step["statistics"] = [one | change]
        changed.write()
        status, _, error = certify(changed.run)
        expect(status == 2 and f"'{next(iter(change))}': expected a text" in error, f"{change}: {status} {error}")
    other = records.Changed(folder, RUNS, "small", "other")  # which has no normalization, and is decided by doubles
    other.description["steps"][0]["statistics"] = [one]
    other.write()
    status, bad = rows(other)
    expect(status == 3 and len(bad) == 2, f"statistics of no normalization: {status} {bad}")
    step["statistics"] = {}
    changed.write()
    expect(certify(changed.run)[0] == 2, "statistics that are no list")


def without(folder, run, *tensors):
    """The record, which has these tensors of the trace no more."""
    changed = records.Changed(folder, RUNS, run)
    changed.files.pop("trees", None)
    changed.drop("trace", *tensors)
    return changed


def missing_outputs(folder):
    """Of attention no softmax was recorded, and what it multiplies: the product's bound holds the softmax's. Behind it is a kink, whose
    sides the enclosures tell. Nothing is said of what no record is behind, or before."""
    for run, hidden, followed, status, left in (
            ("attention", ["output/_softmax"], ["_softmax"], 0, []),
            ("attention", ["output/_softmax", "output/bmm_2"], ["_softmax", "bmm_2"], 0, []),
            ("attention", ["output/sum"], [], 3, ["sum"]),
            ("attention", ["output/pow", "output/sum"], [], 3, ["pow", "sum"]),
            ("attention", ["output/pow"], ["pow"], 0, []),
            ("attention", ["gradient/pow"], ["pow"], 0, []),
            ("attention", ["gradient/sum", "gradient/pow", "gradient/relu"], ["sum", "pow", "relu"], 0, []),
            ("tied", ["output/relu", "gradient/relu"], ["relu", "relu"], 0, []),
            ("tied", ["output/decoder/mm"], [], 3, ["decoder/mm"]),
            ("small", ["output/_log_softmax"], [], 3, ["_log_softmax"])):
        found, answer = report(without(folder, run, *hidden).run, "--nodes")
        open_ones = [n["name"] for n in answer["nodes"] if n["open"] > 0]
        passed = [n["name"] for n in answer["nodes"] if n["answer"] == "followed"]
        expect((found, open_ones, passed) == (status, left, followed), f"{run} without {hidden}: {found} {open_ones} {passed}")
    changed = records.Changed(folder, RUNS, "attention")
    del changed.files["trees"]
    changed.drop("trace", "output/_softmax")
    for part, name in (("output", "bmm_2"), ("gradient", "bmm")):
        whole = changed.bytes_of("trace")
        changed.scale("trace", f"{part}/{name}", 0, 1 + 2.0 ** -12)
        bad = first_refuted(report(changed.run, "--nodes")[1])
        expect(bad is not None and (bad["part"], bad["name"]) == (part, name), f"without softmax, {part} {name} changed: {bad}")
        changed.put("trace", whole)


def bad_input(folder):
    changed = records.Changed(folder, RUNS, "small")
    changed.put("trace", changed.bytes_of("trace").replace(b'"output/1/relu"', b'"output/1/rely"'))
    status, answer = report(changed.run, "--nodes")
    expect(status == 3, f"a missing output: {status}")
    expect([(n["name"], n["part"]) for n in answer["nodes"] if n["answer"] == "cannot say"] == [("1/rely", "output")], "a missing output")
    changed = records.Changed(folder, RUNS, "small")
    data = changed.bytes_of("trace")
    changed.put("trace", data.replace(b'"output/1/relu"', b'"output/7/relu"').replace(b'"output/7/relu"', b'"output/1/relu"', 1)
                if data.find(b'"output/1/relu"') > data.find(b'"output/7/relu"') else
                data.replace(b'"output/7/relu"', b'"output/X/relu"').replace(b'"output/1/relu"', b'"output/7/relu"')
                .replace(b'"output/X/relu"', b'"output/1/relu"'))
    status, _, error = certify(changed.run)
    expect(status == 2 and "expected " in error and " floats" in error, f"another shape: {status} {error}")
    changed = records.Changed(folder, RUNS, "small")
    changed.put_value("trace", "output/1/relu", 3, float("nan"))
    status, _, error = certify(changed.run)
    expect(status == 2 and "output/1/relu" in error, f"NaN: {status} {error}")
    for options, says in (((), "a run folder is needed"), ((changed.run, changed.run), "one run folder"), ((changed.run, "--mma", "x"), "a run folder is needed"),
                          ((changed.run, "--step", "x"), "is no number"), ((changed.run, "--step", "7"), "no step 7"),
                          (("--mma", "x", "--step", "1"), "--step, --nodes, --against and --proof are of a run folder"), ((folder,), "run.json")):
        done = subprocess.run([CLARKE, "certify", *options], capture_output=True, text=True)
        expect(done.returncode == 2 and says in done.stderr, f"{options}: {done.returncode} {done.stderr}")


def coarse(folder):
    """A type that no tensor of the trace is of would explain more: it is refused."""
    changed = records.Changed(folder, RUNS, "small")
    changed.description["dtypes"] = ["bfloat16"]
    changed.write()
    status, out, error = certify(changed.run, "--nodes")
    expect(status == 2 and out == "" and "numbers of type bfloat16 were computed; no tensor of the trace is of it" in error, f"{status} {out} {error}")


def unproved(folder):
    """A light record has no proof: that is told behind the answer, which is one object."""
    status, out, error = certify(os.path.join(RUNS, "small-light"), "--json", "--proof", os.path.join(folder, "light"))
    expect(status == 2 and json.loads(out)["answer"] == "cannot say" and "a light record has no proof" in error, f"{status} {out} {error}")


with tempfile.TemporaryDirectory() as scratch:
    as_recorded()
    unproved(scratch)
    sifted()
    patterns()
    differences(scratch)
    steps_apart(scratch)
    changed_numbers(scratch)
    changed_winners(scratch)
    unaligned(scratch)
    trees(scratch)
    other_trees(scratch)
    missing_winners(scratch)
    statistics(scratch)
    missing_outputs(scratch)
    unhashed(scratch)
    bad_input(scratch)
    coarse(scratch)
finish()
