#!/usr/bin/env python3
"""Running statistics of PyTorch's normalizations: records_statistics.py CLARKE CLARKE-CHECK

Which updates a record names; that PyTorch's own numbers are within the bound, and the proof verified; and that nothing is said of a
buffer that a step changed in another way as well.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402

X, Y, TENTH = torch.randn(4, 2, 5, 5, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 2, 0]), str(0.1.as_integer_ratio()).strip("()").replace(", ", "/")
worst = []


class Net(nn.Module):
    def __init__(self, norm, between=None):
        super().__init__()
        self.conv, self.norm, self.last, self.between = nn.Conv2d(2, 3, 3), norm, nn.Linear(27, 3), between or (lambda m, h: m.norm(h))

    def forward(self, x):
        return self.last(self.between(self, self.conv(x)).flatten(1))


def updates(folder, name, model, x=X, y=Y, after=None, steps=1):
    """Those of the record's last step. All that it states must hold, and the proof say it."""
    run = os.path.join(folder, name)
    for step in range(steps):
        model.zero_grad()
        with clarke.record(run, model, append=step > 0, step=step):
            F.cross_entropy(model(x), y).backward()
            if after is not None:
                after(model)
    with open(os.path.join(run, "run.json")) as f:
        made = json.load(f)["steps"][-1]["statistics"]
    proof = os.path.join(run, "proof")
    done = subprocess.run([CLARKE, "certify", run, "--nodes", "--json", "--step", str(steps - 1), "--proof", proof], capture_output=True, text=True)
    answer = json.loads(done.stdout)
    rows = {n["name"]: n for n in answer["nodes"] if n["part"] == "statistic"}
    named = {one[key] for one in made for key in ("mean", "variance", "count") if key in one}
    untold = {b: rows.pop(b) for b in set(rows) - named}  # which were changed
    expect(all(n["answer"] == "cannot say" and "does not say how" in n["why"] for n in untold.values()), f"{name}: {untold}")
    expect(done.returncode == (3 if untold else 0) and all(n["answer"] in ("bit-exact", "within the bound") for n in rows.values()),
           f"{name}: {done.returncode} {rows}")
    worst.extend(n["worst"] for n in rows.values() if n["answer"] == "within the bound")
    expect(set(rows) == named, f"{name}: {set(rows)} for {named}")
    done = subprocess.run([CHECK, proof, "--data", run], capture_output=True, text=True)
    expect(done.returncode == 0 and all(f"statistic {b}, " in done.stdout for b in named), f"{name}: {done.stdout[-300:]}")
    return made


def of(momentum=TENTH, node="norm/native_batch_norm", **more):
    return {"node": node, "mean": "norm.running_mean", "variance": "norm.running_var", "momentum": momentum} | more


COUNT = dict(count="norm.num_batches_tracked")


def recorded(folder):
    expect(updates(folder, "plain", Net(nn.BatchNorm2d(3))) == [of(**COUNT)], "plain")
    expect(updates(folder, "sync", Net(nn.SyncBatchNorm(3))) == [of(**COUNT)], "SyncBatchNorm, which is on a CPU a BatchNorm")
    lazy = Net(nn.LazyBatchNorm2d())
    lazy(X)
    expect(updates(folder, "lazy", lazy) == [of(**COUNT)], "LazyBatchNorm, after a step")
    third = str((1 / 3).as_integer_ratio()).strip("()").replace(", ", "/")
    expect(updates(folder, "average", Net(nn.BatchNorm2d(3, momentum=None)), steps=3) == [of(third, **COUNT)], "the average of all so far")
    for share, text in ((2.0, "2"), (-1.0, "-1"), (0.0, "0"), (1.0, "1")):
        expect(updates(folder, f"share{text}", Net(nn.BatchNorm2d(3, momentum=share))) == [of(text, **COUNT)], f"the share {text}")
    twice = Net(nn.BatchNorm2d(3), lambda m, h: m.norm(m.norm(h).relu() + h))
    expect(updates(folder, "twice", twice) == [of(**COUNT), of(node="norm/native_batch_norm_2", **COUNT)], "a module that is called twice")
    evaluated = Net(nn.BatchNorm2d(3).eval(), lambda m, h: m.norm(m.norm(h).relu() + h))
    expect(updates(folder, "evaluated", evaluated) == [], "a module in evaluation that is called twice, and writes nothing")
    both = Net(nn.BatchNorm2d(3), lambda m, h: (m.norm.train()(h), m.norm.eval()(h))[1])
    try:
        updates(folder, "both", both)
    except clarke.Refused as e:
        expect("depends on what is trained" in str(e), f"statistics of this step's training, which are read then: {e}")
    else:
        expect(False, "statistics of this step's training, which are read then, are not refused")
    single = Net(nn.BatchNorm2d(3), lambda m, h: m.norm(h) + torch.arange(3.0).view(1, 3, 1, 1) * m.conv.weight.sum())
    expect(updates(folder, "single", single) == [of(**COUNT)], "a single run")
    with torch.no_grad():
        far = Net(nn.BatchNorm2d(3))
        far.conv.bias.add_(30)
    expect(updates(folder, "far", far) == [of(**COUNT)], "a mean that is large beside the deviation")


def instances(folder):
    for k, options in enumerate(({}, dict(affine=True), dict(momentum=0.25), dict(momentum=1.0, affine=True))):
        share = {0.25: "1/4", 1.0: "1"}.get(options.get("momentum"), TENTH)
        made = updates(folder, f"instance{k}", Net(nn.InstanceNorm2d(3, track_running_stats=True, **options)))
        expect(made == [of(share, samples=4)], f"InstanceNorm with {options}: {made}")
    one = updates(folder, "one", Net(nn.InstanceNorm2d(3, track_running_stats=True)), X[:1], Y[:1])
    expect(one == [of()], f"InstanceNorm of one sample: {one}")
    expect(updates(folder, "none", Net(nn.InstanceNorm2d(3))) == [], "InstanceNorm without running statistics")
    by_hand = Net(nn.BatchNorm2d(3), lambda m, h: F.batch_norm(h.view(1, 12, 3, 3), m.norm.running_mean.repeat(4), m.norm.running_var.repeat(4),
                                                               training=True).view(4, 3, 3, 3))
    expect(updates(folder, "by-hand", by_hand) == [], "statistics that are repeated, and not copied back")


def unclear(folder):
    """A step that wrote to a buffer in another way as well."""
    def before(change):
        return lambda m, h: (change(m, h), m.norm(h))[1]

    def without_gradients(m, h):
        with torch.no_grad():
            m.norm(h)
    for name, change, want in (("outside", without_gradients, []), ("mean", lambda m, h: m.norm.running_mean.mul_(1), []),
                               ("variance", lambda m, h: m.norm.running_var.add_(0), []),
                               ("counted", lambda m, h: m.norm.num_batches_tracked.add_(1), [of()]),
                               ("set", lambda m, h: m.norm.num_batches_tracked.fill_(7), [of()])):
        made = updates(folder, name, Net(nn.BatchNorm2d(3), before(change)))
        expect(made == want, f"{name}: {made}")
    made = updates(folder, "later", Net(nn.BatchNorm2d(3)), after=lambda m: m(X))
    expect(made == [], f"another step behind the backward pass: {made}")
    made = updates(folder, "count-later", Net(nn.BatchNorm2d(3)), after=lambda m: m.norm.num_batches_tracked.zero_())
    expect(made == [of()], f"the count behind the backward pass: {made}")


def below_zero(folder):
    """A running variance that is none, and nearly -epsilon: floats lose most of their sum, so that no bound is known, and nothing is refuted."""
    for variance, certified, audited in ((1e-5, 0, "explained"), (-1e-5, 3, "not known")):
        net = nn.Sequential(nn.Conv2d(2, 1, 1), nn.BatchNorm2d(1, eps=1.000001e-5))
        net[1].running_var.fill_(variance)
        net[1].eval()
        run = os.path.join(folder, f"below-{certified}")
        with clarke.record(run, net):
            net(X).square().sum().backward()
        done = [subprocess.run([CLARKE, command, run, "--json", "--proof", f"{run}.{command}"], capture_output=True, text=True) for command in ("certify", "audit")]
        answer = json.loads(done[1].stdout)["gradient"]["answer"]
        expect((done[0].returncode, answer) == (certified, audited), f"variance {variance}: {done[0].returncode}, {answer}")
        said = subprocess.run([CHECK, f"{run}.certify", "--data", run], capture_output=True, text=True).stdout
        expect(said.startswith("VERIFIED"), f"variance {variance}: {said}")


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        recorded(folder)
        instances(folder)
        unclear(folder)
        below_zero(folder)
    print(f"{len(worst)} buffers, error / bound at most {max(worst):.2g}")
    finish()


if __name__ == "__main__":
    main()
