#!/usr/bin/env python3
"""What answers look like in Python: three lines that are the program's, kinks as records, pages for notebooks, types and words.

    answers.py CLARKE CLARKE-CHECK
"""
import contextlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import typing
from html.parser import HTMLParser

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
os.environ["CLARKE"] = CLARKE = os.path.abspath(sys.argv[1])
import clarke  # noqa: E402
from expect import expect, finish  # noqa: E402
STEP = os.path.abspath(os.path.join(HERE, "..", "..", "cases", "steps", "run"))


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags = [], "", set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        expect(self.open.pop() == tag, f"</{tag}>")

    def handle_data(self, data):
        self.text += data


def shown(answer):
    """Three lines, of the verdict's word; the page says the same, and has nothing that runs or is fetched."""
    lines = repr(answer).split("\n")
    expect([line[:8] for line in lines] == ["Asked:  ", "Answer: ", "Next:   "] and tuple(line[8:] for line in lines) == answer.summary, lines)
    expect(("The proof is in answer.proof, for clarke-check." in lines[2]) == (answer.proof is not None) and "/tmp" not in lines[2], lines[2])
    expect(isinstance(answer, clarke.Answer) and json.loads(answer.json) == answer.report, type(answer))
    page = Page(answer._repr_html_())
    expect(page.open == [] and page.tags <= {"div", "p", "strong", "small", "ul", "li"}, page.tags)
    expect(all(line in page.text for line in answer.summary) and answer.verdict in page.text, page.text)
    return lines, page.text


def page(answer, colour):
    """Its page for notebooks says what it says, and all answers are Answer's."""
    shown_as = Page(answer._repr_html_())
    expect(colour in answer._repr_html_() and shown_as.open == [] and all(line in shown_as.text for line in answer.summary) and answer.verdict in shown_as.text, shown_as.text)
    expect(isinstance(answer, clarke.Answer) and json.loads(answer.json) == answer.report, type(answer))


def stepped():
    """An optimizer's step answers as other questions do: its three lines are the program's, and its keys those of the JSON."""
    for rule, holds, colour in ((None, True, "#2a7"), ("sgd", False, "#c33")):
        answer = clarke.step(STEP, rule=rule)
        words = [CLARKE, "step", os.path.join(STEP, ""), *(("--rule", rule) if rule else ())]
        told, whole = (subprocess.run([*words, *more], capture_output=True, text=True).stdout for more in ([], ["--json"]))
        expect(repr(answer) == told.split("\n\n")[0] and answer == json.loads(whole) and answer["holds"] is holds, (answer, told))
        page(answer, colour)
        both = clarke.Stepped({"step": 0, "holds": False, "optimizers": [clarke.step(STEP), dict(answer)]})
        expect(both.summary == answer.summary if not holds else both.verdict == answer.verdict, both)


def lines_in(path, *verdicts):
    """A monitor's file of steps with these verdicts; None: a step without an answer."""
    with open(path, "w", encoding="utf-8") as f:
        for number, verdict in enumerate(verdicts):
            f.write(json.dumps({"step": number} | ({"unanswered": "why"} if verdict is None else {
                "verdict": verdict.removesuffix("?"), "zone": None, "touched": 0, "layers": [], "gradient": "not known" if verdict.endswith("?") else "explained"})) + "\n")
    return clarke.summary(path)


def summed(folder):
    """Sweeps and watched trainings answer as other questions do, and are dictionaries as before."""
    manifest, output = os.path.join(HERE, "..", "..", "cases", "sweep", "lemma2.json"), os.path.join(folder, "results.jsonl")
    swept = clarke.sweep(manifest, output, shards=1)
    told, whole = (subprocess.run([CLARKE, "merge", output, "-o", os.path.join(folder, "again.jsonl"), *more], capture_output=True, text=True).stdout
                   for more in ([], ["--json"]))
    expect(repr(swept) == told.split("\n\n")[0] and swept == json.loads(whole) == json.loads(swept.json) == swept.report, (swept, told))
    expect(swept.verdict == "differ" and swept["exact"] == {"differ": 1, "equal": 0, "unknown": 0} and swept["jobs"] == 1 and swept.touched is None, swept)
    page(swept, "#c80")
    for exact, verdict, colour in (((0, 3, 0), "equal", "#2a7"), ((0, 3, 1), "not known", "#c80"), ((0, 0, 0), "nothing compared", "#c80")):
        other = clarke.Swept({**swept, "exact": dict(zip(("differ", "equal", "unknown"), exact))})
        expect(other.verdict == verdict, other.verdict)
        page(other, colour)
    path = os.path.join(folder, "steps.jsonl")
    doubt = "undecided", "Not decided: ", "#c80"
    for verdicts, (verdict, begins, colour) in ((["in-bouligand"] * 2, ("in-bouligand", "Yes: AD's gradient is right in 2 steps", "#2a7")),
                                                (["in-bouligand", "in-clarke"], ("in-clarke", "Yes, as a mean: ", "#2a7")),
                                                (["in-bouligand", None], doubt), (["in-bouligand", "in-clarke?"], doubt), (["in-bouligand", "undecided"], doubt),
                                                (["not-in-clarke", None, "undecided?"], ("not-in-clarke", "No: ", "#c33")),
                                                (["undecided", "not-explained"], ("not-explained", "No: ", "#c33")), ([], doubt)):
        sums = lines_in(path, *verdicts)
        expect(sums.verdict == sums["verdict"] == verdict and sums.summary[1].startswith(begins) and sums["steps"] == len(verdicts) - verdicts.count(None), f"{verdicts}: {sums!r}")
        expect(isinstance(sums, dict) and json.loads(sums.json) == sums and (sums.summary[2] == "Nothing needs doing.") == (set(verdicts) == {"in-bouligand"}), f"{verdicts}: {sums!r}")
        page(sums, colour)


class Pictures(nn.Module):
    """Its convolution is 0 where the picture is."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1, bias=False)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x)).sum()


def steps(folder):
    run, model = os.path.join(folder, "a <b>run"), Pictures()
    x = torch.rand(2, 1, 4, 4)
    x[1, :, :, :] = 0
    with clarke.record(run, model):
        model(x).backward()
    answer = clarke.audit(run)
    lines, text = shown(answer)
    told = subprocess.run([CLARKE, "audit", run], capture_output=True, text=True).stdout.split("\n")
    expect(lines[:2] == told[:2], f"as the program says it: {lines} {told[:3]}")
    expect(answer.touched_by_module == {"act": 48} and len(answer.touched) == 48 and "38 more kinks" in text, f"{answer.touched_by_module}, {len(answer.touched)}: {text}")
    expect({(k.module, k.sample, k.argument, k.slopes, k.ad) for k in answer.touched} == {("act", 1, "0", ("0", "1"), "0")}
           and [k.neuron for k in answer.touched] == list(range(48)), answer.touched[:3])
    expect("module act" in str(answer.touched[7]) and "neuron 7, sample 1" in str(answer.touched[7]), str(answer.touched[7]))
    few = clarke.audit(run, options=("--limit", "listed=47"))
    expect(few.touched is None and few.touched_by_module == {"act": 48} and few.verdict == answer.verdict, few)
    shown(few)
    none = clarke.audit(nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2))
    expect(none.touched == [] and none.touched_by_module == {} and none.in_clarke, none)
    shown(none)


def functions():
    zero = clarke.derive(lambda t: torch.relu(-t) + t - torch.relu(t), torch.tensor(0.0))
    lines, text = shown(zero)
    expect(zero["verdict"] == zero.verdict == "not-in-clarke" and zero.get("ad") == ["1"] and not zero.in_clarke and isinstance(zero, dict), zero)
    expect(lines[1].startswith("Answer: No: ") and "answers.py:" in lines[1], f"operators are named by their lines: {lines[1]}")
    expect(len(zero.touched) == 2 and all("answers.py:" in k.source and k.slopes == ("0", "1") and k.ad == "0" and k.module is None for k in zero.touched), zero.touched)
    expect("answers.py:" in text and zero.proof == zero["proof"].encode() and zero.reason == zero["why"], text)
    tied = clarke.derive(lambda t: t.amax(), torch.zeros(3))
    expect(tied.in_clarke and len(tied.touched) > 0 and all(isinstance(k.ad, (str, tuple)) for k in tied.touched), tied.touched)
    shown(tied)
    smooth = clarke.derive(lambda t: t * t, 3.0)
    expect(smooth.touched == [] and "true derivative" in shown(smooth)[0][1], smooth)
    jump = clarke.derive(lambda t: t.sign(), 0.0)
    expect(jump.verdict == "undecided" and jump.proof is None and not jump.in_clarke and "Not decided" in shown(jump)[0][1], jump)


def described():
    """All that is public has words, and types that can be resolved."""
    for name in clarke.__all__:
        thing = getattr(clarke, name)
        expect(inspect.getdoc(thing) and not inspect.getdoc(thing).startswith(name + "("), f"{name}: no words")
        for what in [thing, *(v.fget for v in vars(thing).values() if isinstance(v, property))] if inspect.isclass(thing) else [thing]:
            expect(inspect.isclass(what) or "return" in typing.get_type_hints(what), f"{name}: {what} has no types")
    optimizers = {"INNAprop", "INNApropReleased", "DINAdam"}  # torch's own have none
    for name in set(clarke.__all__) - optimizers:
        f = getattr(clarke, name).__init__ if inspect.isclass(getattr(clarke, name)) else getattr(clarke, name)
        untyped = [p for p, of in inspect.signature(f).parameters.items() if p != "self" and of.kind not in (of.VAR_POSITIONAL, of.VAR_KEYWORD)
                   and p not in typing.get_type_hints(f)]
        expect(not untyped, f"{name}: {untyped} have no types")
    expect(os.path.exists(os.path.join(os.path.dirname(clarke.__file__), "py.typed")), "py.typed")


def progress(folder):
    """Lines of how far the program is come on standard error alone, and are no part of what it says otherwise."""
    run, wrong = os.path.join(folder, "slow"), [os.path.join(folder, "none.prog"), "--at", "t=0"]
    with clarke.record(run, model := nn.Linear(2, 1)):
        model(torch.ones(1, 2)).sum().backward()
    before, out, err = os.environ.get("CLARKE_PROGRESS"), io.StringIO(), io.StringIO()
    os.environ["CLARKE_PROGRESS"] = "0"  # a line whenever somebody looks
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            answer = clarke.audit(run)
            try:
                clarke.answer.answered("derive", *wrong, "--json")
            except clarke.Failed as why:
                refused = str(why)
        closed, quiet = io.StringIO(), io.StringIO()
        closed.close()
        with contextlib.redirect_stderr(quiet):
            clarke.answer.answered("audit", run, "--json", tell=lambda: False)
        for other in (None, closed):  # nobody to tell
            with contextlib.redirect_stderr(other):
                expect(clarke.audit(run).verdict == answer.verdict, "another answer")
    finally:
        os.environ.pop("CLARKE_PROGRESS") if before is None else os.environ.update(CLARKE_PROGRESS=before)
    lines = err.getvalue().splitlines()
    expect(len(lines) >= 2 and all(line.startswith("clarke at work, ") for line in lines) and out.getvalue() == quiet.getvalue() == "", f"{lines} {out.getvalue()}")
    expect("at work" not in refused and "none.prog: cannot be opened" in refused, refused)


def main():
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        steps(folder)
        progress(folder)
        summed(folder)
    stepped()
    functions()
    described()
    finish()


main()
