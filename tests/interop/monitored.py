#!/usr/bin/env python3
"""A training that is watched: each step's line, what is kept, what goes on after an end, and that no more steps wait than may.

    monitored.py CLARKE CLARKE-CHECK
"""
import contextlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
CLARKE, CHECK = map(os.path.abspath, sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.watching import line_of  # noqa: E402
from expect import expect, finish  # noqa: E402

ONE = torch.tensor([1.0, 0.0])
X, Y = torch.tensor([[1.0, 2.0], [0.0, 0.0], [-1.0, 1.0]]), torch.tensor([0, 1, 0])


class Net(nn.Module):
    """Without biases: the sample 0 touches every ReLU. If it is wrong, relu(w) - relu(-w) at w = 0 stands for w."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.last, self.w = nn.Linear(2, 3, bias=False), nn.Linear(3, 2, bias=False), nn.Parameter(torch.zeros(1))
        self.at, self.wrong = 0, False

    def forward(self, x):
        out = self.last(torch.relu(self.first(x)))
        more = torch.relu(self.w) - torch.relu(-self.w) if self.wrong else self.w
        return out + more * ONE


def train(watch, model, steps, before=None):
    optimizer = torch.optim.SGD([p for n, p in model.named_parameters() if n != "w"], lr=0.01)
    for i in range(steps):
        if before is not None:
            before(i)
        optimizer.zero_grad()
        model.w.grad = None
        with watch:
            loss = nn.functional.cross_entropy(model(X), Y)
            loss.backward()
        optimizer.step()


def lines(folder):
    with open(os.path.join(folder, "steps.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def watched(folder):
    model = Net()
    watch = clarke.monitor(model, folder, every=2)
    train(watch, model, 5)
    said = watch.close()
    now = lines(folder)
    expect([line["step"] for line in now] == [0, 2, 4], f"steps 0, 2, 4, not {now}")
    expect(all(line["verdict"] == "in-bouligand" and line["touched"] == 3 and line["gradient"] == "explained" for line in now), f"three touched in each: {now}")
    expect(all(line["zone"] == "compensation" for line in now), f"the arguments are 0 whatever the weights: {now}")
    expect(said["steps"] == 3 and said["steps_touched"] == 3 and said["first_not_in_bouligand"] is None, f"{said}")
    [layer] = said["layers"].values()
    expect(layer["touched"] == 9 and layer["steps_touched"] == 3 and layer["op"] == "Relu", f"{layer}")
    expect(sorted(os.listdir(folder)) == ["steps.jsonl", "summary.json"], f"no step is left: {os.listdir(folder)}")


class Open(Net):
    """sigmoid(a) + sigmoid(-a) - 1 is 0, which enclosures do not tell: so what is touched is not known."""

    def forward(self, x):
        a = self.first(x)
        return self.last(torch.relu(torch.sigmoid(a) + torch.sigmoid(-a) - 1)) + self.w * ONE


def not_known(folder):
    """It is null, not 0: in the monitor's line, in that of audit --run, and in the audit; no sum counts it."""
    model, run, path = Open(), os.path.join(folder, "run"), os.path.join(folder, "steps.jsonl")
    watch = clarke.monitor(model, os.path.join(folder, "watch"))
    train(watch, model, 1)
    said = watch.close()
    model.zero_grad()
    with clarke.record(run, model):
        nn.functional.cross_entropy(model(X), Y).backward()
    text = subprocess.run([CLARKE, "audit", "--run", run, "--lines", path], capture_output=True, text=True).stdout
    for line in lines(os.path.join(folder, "watch")) + lines(folder)[1:]:
        [layer] = line["layers"]
        expect(line["verdict"] == "undecided" and line["touched"] is None and layer["touched"] is None, f"not known: {line}")
    for summed in said, clarke.summary(path):
        [layer] = summed["layers"].values()
        expect((summed["steps_touched"], summed["steps_not_known"], layer["touched"], layer["steps_not_known"]) == (0, 1, 0, 1), f"{summed}")
    told = "No kink is known to be touched in any of them. Which kinks are touched is not known of 1 step."
    expect(told in text and told in said["summary"]["answer"] and "of 1 step more it is not known what is touched or tied" in text, f"{text}{said}")
    answer = clarke.audit(run)
    expect(answer.touched is None and answer.report["touched"] is None, f"{answer.touched}")


class Straight(Net):
    """AD takes a rounding for the identity."""

    def forward(self, x):
        h = super().forward(x)
        return h + (h.round() - h).detach()


def with_surrogates(folder):
    """A yes is one about the step as AD differentiates it: the three lines say so, and those of `clarke audit --run`."""
    watch, words = clarke.monitor(Straight(), os.path.join(folder, "watch")), "with functions replaced by design (surrogates)"
    train(watch, watch.model, 2)
    said = watch.close()
    expect(said.report["steps_with_surrogates"] == 2 and f"Of 2 steps all this is said as AD differentiates it, {words}" in said.summary[1], f"{said.summary}")
    now = lines(os.path.join(folder, "watch"))
    expect([(line["surrogates"], line["by"]) for line in now] == [(1, "whole")] * 2, f"{now}")
    with clarke.record(os.path.join(folder, "run"), model := Straight()):
        nn.functional.cross_entropy(model(X), Y).backward()
    text = subprocess.run([CLARKE, "audit", "--run", os.path.join(folder, "run")], capture_output=True, text=True).stdout
    expect(f"Of 1 step all this is said as AD differentiates it, {words}" in text, text)


def afterwards(folder):
    """The same training recorded, and asked about at its end: the same lines, and what they come to."""
    runs, path = os.path.join(folder, "runs"), os.path.join(folder, "audited.jsonl")
    recorded = []

    class Recording:
        def __enter__(self):
            self.step = len(recorded)
            recorded.append(clarke.record(os.path.join(runs, f"step-{self.step}"), model, step=self.step, again=False))
            recorded[-1].__enter__()

        def __exit__(self, *why):
            return recorded[-1].__exit__(*why)

    model = Net()
    os.mkdir(runs)
    train(Recording(), model, 3)
    told = subprocess.run([CLARKE, "audit", "--run", runs, "--lines", path], capture_output=True, text=True)
    status = told.returncode
    watch = clarke.monitor(Net(), os.path.join(folder, "watched"))
    train(watch, watch.model, 3)
    sums, closed = clarke.summary(path), watch.close()
    expect({**sums, "summary": None} == {**closed, "summary": None}, f"{status}: {sums}")
    expect(sums.summary[1:] == closed.summary[1:] == tuple(line[8:] for line in told.stdout.split("\n")[1:3]), f"as the program says it: {sums} {told.stdout}")
    with open(os.path.join(folder, "watched", "summary.json"), encoding="utf-8") as f:
        expect(json.load(f) == closed == json.loads(closed.json), "the file has the same")
    with open(path, encoding="utf-8") as f:
        kept = [json.loads(line) for line in f][1:]
    same = [{key: line[key] for key in now} for line, now in zip(kept, lines(os.path.join(folder, "watched")))]
    expect(status == 0 and len(kept) == 3 and same == lines(os.path.join(folder, "watched")), f"{kept}")


def goes_on(folder):
    """After an end in the middle of a line, and with a step that is not in-bouligand, which is kept with its proof."""
    with open(os.path.join(folder, "steps.jsonl"), "a", encoding="utf-8") as f:
        f.write('{"step": 5, "verd')
    model = Net()
    model.wrong = True
    watch = clarke.monitor(model, folder, every=1)
    train(watch, model, 2)
    said = watch.close()
    now = lines(folder)
    expect([line["step"] for line in now] == [0, 2, 4, 5, 6], f"steps go on: {now}")
    expect(now[3]["verdict"] == "not-in-clarke" and now[3]["zone"] == "bifurcation", f"AD says 0 of w: {now[3]}")
    expect(repr(said) == f"Asked:  Were the gradients of the watched steps of {folder} right? 5 steps, 0 to 6.\n"
           "Answer: No: AD's gradient is right in 3 steps (in-bouligand); wrong in 2 steps (not-in-clarke). Kinks are touched in 5 steps.\n"
           f"Next:   The first to look at is step 5: clarke audit {folder}/first tells all of it." and said.verdict == "not-in-clarke", f"{said!r}")
    expect(said["first_not_in_bouligand"] == 5 and said["zones"] == {"compensation": 3, "bifurcation": 2}, f"{said}")
    first = os.path.join(folder, "first")
    done = subprocess.run([CHECK, os.path.join(first, "proof")], capture_output=True, text=True)
    expect(done.stdout.startswith("VERIFIED"), f"the kept step's proof: {done.stdout}{done.stderr}")
    expect(json.load(open(os.path.join(first, "run.json")))["steps"][0]["step"] == 5, "the kept step is the first")


def training_goes_on(folder):
    """Where a step is refused, or the program gives no answer; an error of the training's own is its own."""
    model = Net()
    watch = clarke.monitor(model, folder)
    model.first.weight.grad = torch.ones_like(model.first.weight)
    with watch:  # refused: a record is of one backward pass
        nn.functional.cross_entropy(model(X), Y).backward()
    model.zero_grad()
    try:
        with watch:
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    else:
        expect(False, "the training's error is passed on")
    os.environ["CLARKE"] = "/nowhere/clarke"
    train(watch, model, 1)
    said = watch.close()
    os.environ["CLARKE"] = CLARKE
    now = lines(folder)
    expect(len(now) == 2 and [line["step"] for line in now] == [0, 1] and "has a gradient already" in now[0]["unanswered"] and "cannot be run" in now[1]["unanswered"], f"{now}")
    expect(said["steps"] == 0 and said["unanswered"] == 2, f"{said}")
    expect(said.verdict == "undecided" and said.summary[1:] == ("Not decided: nothing is answered. 2 of 2 steps are not answered.",
                                                                "The lines of steps that have no answer say why (unanswered)."), f"{said!r}")


def outside(folder):
    """A step that leaves the reals is a line that says so, and the first that is kept; a gradient that is not AD's is told as that."""
    model = Net()
    watch = clarke.monitor(model, folder)
    with watch:
        (model(X).sum() - model(X).sum()).abs().sqrt().mul(0).add(model(torch.zeros(1, 2)).norm()).backward()
    model.zero_grad()
    with watch:
        (model.w * model(X)[0, 0].detach() - 5e4).log().sum().backward()
    said = watch.close()
    now = lines(folder)
    expect([line["gradient"] for line in now] == ["outside the reals"] * 2 and all("verdict" in line and line["outside"] for line in now), f"outside: {now}")
    expect(said["verdicts"] == {"undecided": 2} and said["first_not_in_bouligand"] == 0, f"{said}")
    expect(os.path.exists(os.path.join(folder, "first", "run.json")), "the first such step is kept")


def judged():
    """What is counted is the verdict of the gradient that ran."""
    report = {"verdict": "in-bouligand", "why": "w", "zone": None, "touched": 0, "layers": [],
              "gradient": {"answer": "refuted", "by": None, "why": "another number", "surrogates": []}}
    with tempfile.TemporaryDirectory() as run:
        with open(os.path.join(run, "run.json"), "w", encoding="utf-8") as f:
            f.write('{"nodes": []}')
        expect(line_of(0, report, run)["verdict"] == "not-explained", "a gradient that is refuted is not in-bouligand")


def whole_lines(folder):
    """What no monitor wrote is not cut off with all that is behind it; a block in a block is refused."""
    os.makedirs(folder)
    path, text = os.path.join(folder, "steps.jsonl"), '{"step": 0, "unanswered": "a"}\n5\n{"step": 1, "unanswered": "b"}\n'
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    try:
        clarke.monitor(Net(), folder)
        expect(False, "a line that no monitor wrote is passed over")
    except clarke.Refused as why:
        expect("line 2" in str(why) and open(path, encoding="utf-8").read() == text, f"the file is left as it was: {why}")
    model = Net()
    watch = clarke.monitor(model, os.path.join(folder, "other"))
    with watch:
        try:
            watch.__enter__()
            expect(False, "a block in a block")
        except ValueError:
            pass
        nn.functional.cross_entropy(model(X), Y).backward()
    expect(watch.close()["steps"] == 1, "the outer block is recorded")


def decided_later(folder):
    """A step that is not decided is kept until one is that is decided, and wrong: that one is kept, with its proof."""
    model = Net()
    watch = clarke.monitor(model, folder)
    ask = watch.program.ask

    def asked(run, proof="", **options):
        report = ask(run, proof, **options)
        return {**report, "verdict": "undecided"} if os.path.basename(os.path.dirname(run)) in ("step-1", "step-3") else report

    watch.program.ask = asked
    train(watch, model, 5, lambda i: setattr(model, "wrong", i == 2))
    said = watch.close()
    expect([line["verdict"] for line in lines(folder)] == ["in-bouligand", "undecided", "not-in-clarke", "undecided", "in-bouligand"], f"{lines(folder)}")
    with open(os.path.join(folder, "first", "run.json"), encoding="utf-8") as f:
        expect(json.load(f)["steps"][0]["step"] == 2, "the step that is decided is kept")
    done = subprocess.run([CHECK, os.path.join(folder, "first", "proof")], capture_output=True, text=True)
    expect(done.returncode == 0, f"with its proof: {done.stdout}{done.stderr}")
    expect(said["first_not_in_bouligand"] == 1 and said.summary[2] == "The first to look at is step 1, and step 2 is the first that is decided: "
           f"clarke audit {folder}/first tells all of that one.", f"{said.summary}")


def few_wait(folder):
    """A program that waits until the training is at step 4, where at most one step may wait: then the training waits in step 3."""
    gate, slow = os.path.join(folder, "gate"), os.path.join(folder, "slow")
    with open(slow, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.02; done\nexec {CLARKE} "$@"\n')
    os.chmod(slow, stat.S_IRWXU)
    os.environ["CLARKE"] = slow
    model = Net()
    watch = clarke.monitor(model, os.path.join(folder, "watch"), waiting=1)
    most = []

    def before(i):
        most.append(watch.steps.taken)
        if i == 2:  # one is asked about, one waits: a further one would wait for the gate
            open(gate, "w", encoding="utf-8").close()

    train(watch, model, 5, before)
    watch.close()
    os.environ["CLARKE"] = CLARKE
    expect(most[:3] == [0, 1, 2] and max(most) == 2 and len(lines(os.path.join(folder, "watch"))) == 5, f"not answered: {most}")


@contextlib.contextmanager
def wrapped(folder, before=""):
    """The program as a script that notes each start, and its arguments; the file with these."""
    script, started = os.path.join(folder, "wrapped"), os.path.join(folder, "started")
    with open(script, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\necho "$*" >> {started}\n{before}\nexec {CLARKE} "$@"\n')
    os.chmod(script, stat.S_IRWXU)
    open(started, "w", encoding="utf-8").close()
    os.environ["CLARKE"] = script
    try:
        yield started
    finally:
        os.environ["CLARKE"] = CLARKE


def starts(started):
    """How many processes there were, and how many of these for all steps."""
    with open(started, encoding="utf-8") as f:
        lines = f.read().split("\n")[:-1]
    return len(lines), sum("--serve" in line for line in lines)


def lasting(folder):
    """One process for all steps. Where it ends, or cannot be had, the lines are the same."""
    def lines_of(name, between=None, **how):
        path = os.path.join(folder, name)
        watch, begun = clarke.monitor(Net(), path, **how), time.monotonic()
        for step in range(4):
            train(watch, watch.model, 1)
            while between is not None and clarke.summary(path)["steps"] <= step and time.monotonic() < begun + 60:
                time.sleep(0.01)
            if between is not None:
                between(watch)
        watch.close()
        expect(watch.program.running is None, f"{name}: no process is left")
        return lines(path)

    def end(watch):
        watch.program.running.kill()

    with wrapped(folder) as started:
        usual = lines_of("usual")
        expect(starts(started) == (1, 1) and [line["step"] for line in usual] == [0, 1, 2, 3], f"one process: {starts(started)} {usual}")
    with wrapped(folder) as started:
        expect(lines_of("killed", end) == usual and starts(started)[1] == 4, f"a process that was ended is begun anew: {starts(started)}")
    with wrapped(folder, 'case "$*" in *--serve*) exit 2;; esac') as started:
        expect(lines_of("older") == usual and starts(started) == (6, 2), f"a program without --serve: {starts(started)}")
    with wrapped(folder, 'case "$*" in *--serve*) read -r line; echo "{"; exit 2;; esac') as started:
        expect(lines_of("broken") == usual and starts(started)[0] >= 5, f"half an answer: {starts(started)}")
    with wrapped(folder, "export CLARKE_STOP_AFTER=1") as started:
        stopped = lines_of("stopped")
        expect(all("interrupted" in line.get("unanswered", "") or line.get("verdict") == "undecided" for line in stopped), f"each is stopped: {stopped}")
        expect(starts(started) == (4, 4), f"what a limit stops is not asked twice: {starts(started)}")
    zone = os.path.join(folder, "zone")
    expect(lines_of("written", options=("--zone-proof", zone)) == usual and os.path.exists(zone), "an option that --serve does not take")
    expect(lines_of("a\ttab") == usual, "a folder whose name a line cannot have")


def served(folder):
    """An answer is that of a process of its own, and so is the proof; what cannot be asked is an object, and the rest is answered."""
    run, proof = os.path.join(folder, "run"), os.path.join(folder, "served.proof")
    model = Net()
    with clarke.record(run, model):
        nn.functional.cross_entropy(model(X), Y).backward()
    alone = subprocess.run([CLARKE, "audit", run, "--json", "--proof", proof], capture_output=True, text=True)
    with open(proof, "rb") as f:
        text = f.read()
    os.remove(proof)
    lines = f"{run}\t{proof}\n{folder}/none\n\n{run}\0/none\n{run}\t{proof}"  # the last one without its end
    both = subprocess.run([CLARKE, "audit", "--serve"], input=lines, capture_output=True, text=True)
    answers = [part + "\n}\n" for part in both.stdout.split("\n}\n")[:-1]]
    expect(len(answers) == 5 and answers[0] == answers[4] == alone.stdout and both.returncode == 2, f"{both}")
    expect(["cannot be opened" in json.loads(answers[1])["error"], *map(list, map(json.loads, answers[2:4]))] == [True, ["error"], ["error"]], f"{answers[1:4]}")
    with open(proof, "rb") as f:
        expect(f.read() == text, "the proof is the same")
    for more in ([run], ["--run"], ["--proof", proof], ["--step", "0"], ["--quiet"], ["--lines", proof]):
        wrong = subprocess.run([CLARKE, "audit", "--serve", *more], input="", capture_output=True, text=True)
        expect(wrong.returncode == 2 and "--serve" in wrong.stderr, f"--serve {more}: {wrong}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        watched(os.path.join(folder, "a"))
        not_known(tempfile.mkdtemp(dir=folder))
        afterwards(tempfile.mkdtemp(dir=folder))
        goes_on(os.path.join(folder, "a"))
        training_goes_on(os.path.join(folder, "b"))
        outside(os.path.join(folder, "outside"))
        judged()
        with_surrogates(tempfile.mkdtemp(dir=folder))
        whole_lines(os.path.join(folder, "whole"))
        decided_later(os.path.join(folder, "decided"))
        few_wait(folder)
        lasting(tempfile.mkdtemp(dir=folder))
        served(tempfile.mkdtemp(dir=folder))
    finish()


if __name__ == "__main__":
    main()
