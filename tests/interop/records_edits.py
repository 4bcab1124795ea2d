#!/usr/bin/env python3
"""What is dropped from a record is missed: run.json and the tensors edited together.

    records_edits.py CLARKE CLARKE-CHECK [--one-in N] [--seed N]

Honest steps are recorded. Then keys of run.json are dropped, tensors are dropped or changed, alone and with all that run.json says of
their names; all hashes are made anew. Each answer must be a no, "cannot say" or an error; or else it must name what it no longer speaks of:
by `certify`, by `audit`, and by clarke-check of the proof that certify writes then. What run.json alone told before, and what was warned of,
must still be told. With --one-in some edits alone are tried, drawn by the seed.
"""
import argparse
import collections
import contextlib
import json
import os
import random
import re
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke", type=os.path.abspath)
PARSER.add_argument("check", type=os.path.abspath)
PARSER.add_argument("--one-in", type=int, default=1)
PARSER.add_argument("--seed", type=int, default=1)
ASKED = PARSER.parse_args()
os.environ["CLARKE"] = ASKED.clarke
import clarke  # noqa: E402
from copied_run import Copy  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

DRAW = random.Random(ASKED.seed)
YES = ("bit-exact", "by its tree", "within the bound", "followed")
PARTS = ("before/", "after/", "output/", "gradient/", "indices/")
WARNED = ("run again", "what depends on the parameters")


# ---- What is said of a folder


class Said:
    """Each command's status, and what it says."""

    def __init__(self, run):
        proof = os.path.join(run, "proof")
        with contextlib.suppress(FileNotFoundError):
            os.remove(proof)
        self.certify = said(ASKED.clarke, "certify", run)
        status, out, _ = said(ASKED.clarke, "certify", run, "--nodes", "--json", "--proof", proof)
        self.rows = {(n["part"], n["name"]): n["answer"] for n in json.loads(out)["nodes"]} if status in (0, 3) else {}
        self.audit = said(ASKED.clarke, "audit", run)
        self.check = said(ASKED.check, proof, "--data", run) if os.path.exists(proof) else None

    def told(self):
        """Phrases of what run.json alone says, and warnings."""
        lines = [line for text in (self.certify[1], self.audit[1]) for line in text.split("\n")]
        told = [phrase for line in lines if line.startswith("Told by run.json alone: ") for phrase in line[24:].rstrip(".").split("; ")]
        told = [phrase.replace("no count of updates of", "no running statistics of") for phrase in told]  # which is more
        return set(told) | {word for word in WARNED if word in self.audit[1]}


def names(text, of):
    """Does it name one of these, whole?"""
    return any(re.search(rf"(?<![\w./]){re.escape(name)}(?![\w/]|\.\w)", text) for name in of)


def claims_of(text):
    """What says that something is not known."""
    at = [text.find(begin) for begin in ("Told by run.json alone: ", "Nothing is said of these", "No running mean", "Not among the parameters")]
    return "".join(text[i:].split("\nVerdict")[0] if i > 0 else "" for i in at)


def spoken_of(check, key):
    return check is not None and re.search(rf"^  {key[0]} {re.escape(key[1])}[:,]", check[1], re.M)


def misses(before, after, other_names, changed):
    """Why an answer is a stronger yes than the record allows."""
    found, lost = [], [key for key in before.rows if key not in after.rows]
    if after.certify[0] == 0:
        found += [("certify", key) for key in lost if not names(claims_of(after.certify[1]), other_names(key[1]))
                  and not spoken_of(after.check, key)]  # a node that moves entries and was not recorded is told by its proof
        found += [("certify lost", word) for word in before.told() - after.told()]
        found += [("certify, changed", name) for name in changed if not names(claims_of(after.certify[1]), other_names(name))]
    if after.audit[0] in (0, 1):
        found += [("audit lost", word) for word in before.told() - after.told()]
        found += [("audit", key) for key in lost if key[0] == "parameter" and not names(claims_of(after.audit[1]), [key[1]])]
    if after.check is not None and after.check[0] == 0:
        spoken = after.check[1]
        found += [("clarke-check", key) for key in lost if not spoken_of(after.check, key) and not names(claims_of(spoken), other_names(key[1]))]
        found += [("clarke-check, changed", name) for name in changed if not names(claims_of(spoken), other_names(name))]
    elif after.check is not None:
        found.append(("clarke-check fails of certify's own proof", after.check[1][:200]))
    return found


# ---- Edits


def without(of, name):
    """run.json without all that it says of the name."""
    if isinstance(of, list):
        return [without(e, name) for e in of if e != name and not (isinstance(e, dict) and name in e.values())]
    return {k: without(v, name) for k, v in of.items() if k != name and v != name} if isinstance(of, dict) else of


def forget(name):
    def change(description):
        made = without(description, name)
        description.clear()
        description.update(made)
    return change


def places(of, depth=5):
    """Where something stands in run.json: paths."""
    keys = range(len(of)) if isinstance(of, list) else [k for k in of if k not in ("nodes", "source", "sha256")] if isinstance(of, dict) else []
    for k in keys:
        yield (k,)
        if depth > 1:
            yield from ((k, *rest) for rest in places(of[k], depth - 1))


def drop_at(path):
    def change(description):
        for k in path[:-1]:
            description = description[k]
        del description[path[-1]]
    return change


def of_part(name):
    return next((name[len(p):] for p in PARTS if name.startswith(p)), name)


def altered(t):
    return t * 2 + 1 if t.is_floating_point() else t + 1


def edits(run):
    """(what is done, names that are changed, how)."""
    with open(os.path.join(run, "run.json")) as f:
        description = json.load(f)
    for path in places(description):
        if path[0] == "branches" and len(path) > 1:
            continue  # what Python did nothing but run.json knows
        yield f"drop {path}", [], lambda c, path=path: c.describe(drop_at(path))
    files = description["steps"][0]["files"]
    kinds = [k for k in ("trace", "gradients", "parameters") if k in files]
    held = {kind: load_file(os.path.join(run, files[kind]["file"])) for kind in kinds}
    groups = collections.defaultdict(list)
    for kind in kinds:
        for tensor in held[kind]:
            groups[of_part(tensor)].append((kind, tensor))
    for name, all_of in sorted(groups.items()):
        chosen = [[one] for one in all_of] + ([all_of] if len(all_of) > 1 else [])
        chosen += [[(k, t) for k, t in all_of if k == kind] for kind in kinds if 1 < sum(k == kind for k, _ in all_of) < len(all_of)]
        for which in chosen:
            for forgotten in (False, True):
                yield f"drop {which}, run.json {forgotten}", [], lambda c, w=which, n=name, f=forgotten: drop(c, w, n, f)
        for kind, tensor in all_of:
            if kind != "parameters" and held[kind][tensor].numel() > 0:
                yield (f"change {tensor}, and drop it from run.json", [name],
                       lambda c, kind=kind, t=tensor, n=name: c.tensors(kind, lambda all_: all_ | {t: altered(all_[t])}).describe(forget(n)))


def drop(copied, which, name, forgotten):
    for kind in {kind for kind, _ in which}:
        gone = {tensor for k, tensor in which if k == kind}
        copied.tensors(kind, lambda all_, gone=gone: {t: v for t, v in all_.items() if t not in gone})
    if forgotten:
        copied.describe(forget(name))


# ---- Steps


class Net(nn.Module):
    """Two normalizations, a frozen layer, a weight of two uses."""

    def __init__(self, norm):
        super().__init__()
        self.conv, self.norm, self.other, self.last = nn.Conv2d(2, 3, 3), norm, nn.BatchNorm1d(4), nn.Linear(4, 3)
        self.frozen, self.tied = nn.Linear(12, 4).requires_grad_(False), nn.Linear(4, 4)

    def forward(self, x):
        h = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        h = self.other(self.tied(self.frozen(h.flatten(1))))
        if h.sum() > 100:
            h = h * 2
        return self.last(torch.relu(self.tied(torch.tanh(h))))


def record(run, norm, scale=1.0, **options):
    model = Net(norm)
    x, y = torch.randn(4, 2, 6, 6), torch.tensor([0, 1, 2, 0])
    with clarke.record(run, model, **options):
        (F.cross_entropy(model(x), y) * scale).backward()


def edited(folder, run):
    before, count = Said(run), collections.Counter()
    expect(before.certify[0] in (0, 3) and before.audit[0] in (0, 1, 3), f"{run}: {before.certify} {before.audit}")
    with open(os.path.join(run, "run.json")) as f:
        statistics = json.load(f)["steps"][0]["statistics"]
    of_node = collections.defaultdict(list)
    for one in statistics:
        for key in ("mean", "variance", "count"):
            of_node[one.get(key)].append(one["node"])
    for what, changed, how in edits(run):
        if DRAW.randrange(ASKED.one_in):
            continue
        copied = Copy(folder, run)
        how(copied)
        after = Said(copied.run)
        found = misses(before, after, lambda name: [name, *of_node[name]], changed)
        count[after.certify[0], after.audit[0]] += 1
        expect(not found, f"{os.path.basename(run)}: {what}: {found[:4]}")
    print(f"{os.path.basename(run)}: (certify, audit) {dict(count)}")


def main():
    torch.manual_seed(ASKED.seed)
    with tempfile.TemporaryDirectory() as folder:
        steps = {"batch": (nn.BatchNorm2d(3), 1.0, {}), "instance": (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), 4.0, {"again": False}),
                 "light": (nn.BatchNorm2d(3), 4.0, {"light": True})}
        for name, (norm, scale, options) in steps.items():
            run = os.path.join(folder, name)
            record(run, norm, scale, **options)
            edited(folder, run)
    finish()


if __name__ == "__main__":
    main()
