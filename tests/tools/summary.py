#!/usr/bin/env python3
"""The three lines in front of reports say what the reports' JSON says, in plain words.

    summary.py CLARKE CASES RUNS REPORTS [--all]
"""
import json
import os
import re
import sys
import tempfile
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.dirname(sys.path[0]))
from draw import ONE_IN  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from plainly import word_of_the_field  # noqa: E402
from schema import faults  # noqa: E402

CLARKE, CASES, RUNS, REPORTS = (os.path.abspath(a) for a in sys.argv[1:5])
ALL = sys.argv[5:] == ["--all"]
LITTLE = {"bounds", "lemma2", "means", "own-side", "parted", "pooled", "small-light", "tied", "turned"}
LENET = {"/relu1": 8, "/pool1": 4}  # pictures behind its first convolution, of so many rows and columns
SEEN = set()  # verdicts of audits
BEGINS = {"in-bouligand": "Yes: ", "in-clarke": "Yes, as a mean: ", "not-in-clarke": "No: ", "undecided": "Not decided: "}


def lines_of(command, *options):
    """The three lines, and the JSON answer beside them."""
    plain, whole = said(CLARKE, command, *options), said(CLARKE, command, *options, "--json", "-v")
    expect(plain[0] == whole[0] and plain[0] in (0, 1, 2, 3), f"{options}: {plain} {whole[2]}")
    answer = json.loads(whole[1])
    expect(not faults(command, answer), f"{options}: {faults(command, answer)}")
    lines = answer.pop("summary")
    expect(list(lines) == ["asked", "answer", "next"], lines)
    front = f"Asked:  {lines['asked']}\nAnswer: {lines['answer']}\nNext:   {lines['next']}\n\n"
    expect(plain[1].startswith(front), f"{options}: {front} {plain[1][:600]}")
    plainly(lines, options)
    return lines, answer


def plainly(lines, options):
    """No word of geometry outside of brackets; whole sentences."""
    for line in lines.values():
        found = word_of_the_field(line)
        expect(found is None and line.strip() == line and line[-1] in ".?" and "\n" not in line, f"{options}: '{found}' in: {line}")


def others(folder):
    """Commands whose JSON has no such lines: the answer is its first key, and they say the same."""
    prog, property, point = (os.path.join(folder, name) for name in ("sum.prog", "sum.vnnlib", "found.txt"))
    for path, text in ((prog, "input x[2]\noutput x[0] + x[1]\n"), (property, "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(assert (>= Y_0 1))\n"),
                       (point, "((X_0 1.0) (X_1 1.0) (Y_0 2.0))\n")):
        with open(path, "w") as f:
            f.write(text)
    step = os.path.join(RUNS, "..", "steps", "run")
    for command, key, answer, begins in (
            (["step", step], "answer", "the rule's, bit for bit", "Yes: "), (["step", step, "--rule", "adam"], "answer", "not the rule's", "No: "),
            (["step", step, "--rule", "sgd"], "answer", "not the rule's", "No: "), (["diff", RUNS + "/small", RUNS + "/small"], "same", True, "Nowhere: "),
            (["diff", RUNS + "/small", RUNS + "/tied"], "same", False, "In "), (["diff", "pytorch-2.13", "pytorch-2.14"], "same", False, "In "),
            (["diff", f"{CASES}/lemma2.onnx", f"{CASES}/lemma2.onnx"], "same", True, "Nowhere: "),
            (["check-point", prog, "--property", property, "--at", point], "answer", "holds", "Yes: ")):
        status, text, err = said(CLARKE, *command)
        first = list(json.loads(said(CLARKE, *command, "--json")[1]).items())[0]
        found = re.match(r"Asked:  (?P<asked>.+)\nAnswer: (?P<answer>.+)\nNext:   (?P<next>.+)\n\n", text)
        expect(found is not None and first == (key, answer), f"{command}: {first}, {text[:300]}{err}")
        plainly(found.groupdict(), command)
        expect(found["answer"].startswith(begins) and (key != "answer" or command[0] != "step" or f"({answer})" in found["answer"]), f"{command}: {found['answer']}")


def answers(folder):
    """The others: three lines in plain words, and behind them what JSON has."""
    three = os.path.join(folder, "three.cnf")
    files = {name: os.path.join(folder, name) for name in ("state.json", "g.json", "after.json", "r.jsonl", "counts.json")}
    for path, text in ((three, "p cnf 1 2\n1 0\n-1 0\n"), (files["state.json"], '{"theta": [1, 2]}'), (files["g.json"], "[1, 2]"), (files["after.json"], '{"theta": [0.9, 1.8]}'),
                       (files["counts.json"], '{"torch": {"forward": 1}}')):
        with open(path, "w") as f:
            f.write(text)
    papers, step = f"{CASES}/../papers", ["step", "torch-sgd", "--state", files["state.json"], "--gradient", files["g.json"], "--eta"]
    later = [f"{CASES}/digits-relu.onnx", "--batch", f"{CASES}/digits.npz", "--params", f"{CASES}/digits-relu-later.safetensors"]
    formula = f"{CASES}/../encode/example4.cnf"
    for command, status, begins, first in (
            (["cost", f"{papers}/bolte-zero.prog"], 0, "The program costs ", None), (["cost", f"{papers}/bolte-zero.prog", "--mode", "forward"], 0, "The program costs ", None),
            (["cost", f"{CASES}/lemma2.onnx"], 0, "Forward: 5 multiply-adds", None), (["cost", f"{RUNS}/small"], 0, "Forward: 9024 multiply-adds", None),
            (["cost", f"{CASES}/lemma2.onnx", "--against", files["counts.json"]], 1, "No: of 1 number of another counter 1 is not explained. ", ("explained", False)),
            (["cost", "--table", "2.1"], 0, "Yes: all 6 rows are.", None), (["cost", "--table", "2.2"], 0, "Not all: of 6 rows 2 are printed otherwise", None),
            (["cost", "--matrices", "4"], 0, "The function itself takes 104 operations.", None),
            ([*step, "1/10"], 0, "Theta after step 1: the 2 entries below.", None), ([*step, "1/10", "--against", files["after.json"]], 0, "Yes: 2 numbers compared", ("agrees", True)),
            ([*step, "1/5", "--against", files["after.json"]], 1, "No: after.json has a number", ("agrees", False)),
            (["encode", formula, "--decide"], 1, "No: ", ("verdict", "not-differentiable")), (["encode", three, "--decide"], 0, "Yes, and it is 0: ", ("verdict", "differentiable")),
            (["encode", formula, "--decide", "--work", "1"], None, None, None), (["encode", formula], 0, "A network of 6 inputs", None),
            (["encode", formula, "--decode", "x=1/3,2,-1,0,0,-3"], 0, "The one below", ("satisfies", True)),
            (["encode", formula, "--decode", "x=0,0,0,0,0,0"], 1, "None: ", ("satisfies", False)),
            (["derive", f"{papers}/bolte-zero.prog", "--sweep", "t=-1:1:1"], 0, "No: AD's derivative is right at 2 points (in-bouligand); wrong at 1 point (not-in-clarke).", None),
            (["derive", f"{papers}/bolte-zero.prog", "--sweep", "t=1:2:1"], 0, "Yes: AD's derivative is right at 2 points (in-bouligand).", None),
            (["derive", f"{papers}/bolte-zero.prog", "--at", "t=0", "--direction", "t=1"], None, None, ("ad_agrees", False)),
            (["reproduce", "P-L2*", "--cases", papers], 0, "7 checks do (agree)", ("summary", None)),
            (["sweep", f"{RUNS}/../sweep/lemma2.json", "-o", files["r.jsonl"]], 0, "Exact gradients differ in 1 of 1 comparisons.", None),
            (["merge", files["r.jsonl"], "-o", files["r.jsonl"]], 0, "Exact gradients differ in 1 of 1 comparisons.", None),
            (["audit", *later, later[-1]], 0, "Yes: AD's gradient is right at 2 checkpoints (in-bouligand).", ("verdict", "in-bouligand")),
            (["audit", *later, "none.pt"], 2, "Not decided: AD's gradient is right at 1 checkpoint (in-bouligand). 1 could not be asked about.", ("verdict", "undecided")),
            (["audit", "--run", f"{RUNS}/tied"], 0, "Yes: AD's gradient is right in 1 step (in-bouligand).", ("verdict", "in-bouligand")),
            (["profile", "diff", "pytorch-2.13", "pytorch-2.14"], 1, "4 of 40 rows: Clamp, tie Maximum, tie Minimum.", ("same", False))):
        was, text, err = said(CLARKE, *command)
        found = re.match(r"Asked:  (?P<asked>.+)\nAnswer: (?P<answer>.+)\nNext:   (?P<next>.+)\n\n", text)
        expect(found is not None and (status is None or was == status), f"{command}: {was} {text[:300]}{err}")
        plainly(found.groupdict(), command)
        expect(begins is None or found["answer"].startswith(begins), f"{command}: {found['answer']}")
        answer = json.loads(said(CLARKE, *command, "--json")[1]) if first else None
        expect(first is None or list(answer)[0] == first[0] and first[1] in (None, answer[first[0]]), f"{command}: {answer and list(answer.items())[:1]}")


def kinks(lines, answer, options):
    """What is said of kinks: of none, or of each by its place."""
    line, touched = lines["answer"], answer["touched"]
    expect(("Nothing is at a kink" in line or "The network has no kinks" in line) == (touched == 0 and answer["verdict"] != "undecided"),
           f"{options}: {touched}: {line}")
    expect("is the true derivative here" not in line or touched == 0, line)
    if touched:
        listed = json.loads(said(CLARKE, "audit", *options, "--touched", "--json")[1])["touched_kinks"]
        places = line.split("At a kink: ")[1].split(". ")[0].rstrip(".").split("; ")
        places = [re.sub(r" \(\d+ of the \d+ constant (near|where) [^)]*\)$", "", p) for p in places]
        more = [p for p in places if re.fullmatch(r"and \d+ more", p)]
        expect(len(places) - len(more) == min(3, touched) and (not more or int(more[0].split()[1]) == touched - 3), line)
        for place, kink in zip(places[:3], listed):
            expect(place.startswith(kink["layer"] + ", ") and place.endswith(f"sample {kink['sample']}") and kink["sample"] is not None, f"{place}: {kink}")
            numbers = re.fullmatch(r".*, (neuron|filter|entry) (.*), sample \d+", place)
            expect(numbers[1] != "neuron" or int(numbers[2]) == kink["neuron"], f"{place}: {kink}")
            if kink["layer"] in LENET and "lenet" in options[0]:
                width = LENET[kink["layer"]]
                at = [int(n) for n in re.findall(r"\d+", numbers[2])]
                expect(numbers[1] == "filter" and (at[0] * width + at[1]) * width + at[2] == kink["neuron"], f"{place}: {kink}")
        flat = re.search(r"\((\d+) of the (\d+) constant", line)
        expect(("constant near these weights" in line) == (0 < answer["flat"] == touched), f"{options}: not all are constant: {line}")
        expect((int(flat[1]), int(flat[2])) == (answer["flat"], touched) if flat else answer["flat"] == 0, f"{options}: {line}")
    near = answer["nearest"] or []
    if "nearest: " in line or "nearer to one than" in line:
        least = min(near, key=lambda n: Fraction(n["distance"] or n["at_least"]))
        expect(f"nearest: {least['layer']}, " in line and least["ulps_at_least"] in line if least["distance"] else least["at_least"] in line, f"{options}: {line} {least}")
    else:
        expect(touched != 0 or not near, f"{options}: no nearest: {line}")


def audits():
    with open(os.path.join(CASES, "cases.json")) as f:
        cases = [c for c in json.load(f)["cases"] if not c.get("slow")]
    some = cases[::4 * ONE_IN]
    # and one of each verdict, wherever cases are added; the undecided one takes seconds
    firsts = {case["verdict"]: case for case in reversed(cases) if case["verdict"] != "undecided" or ONE_IN == 1}
    for case in cases if ALL else some + [case for case in firsts.values() if case not in some]:
        options = [os.path.join(CASES, case["model"]), "--batch", os.path.join(CASES, case["batch"]), "--loss", case["loss"],
                   *(word for key in ("params", "profile") if case.get(key) for word in ("--" + key, os.path.join(CASES, case[key]))),
                   *(["--output", case["output"]] if case.get("output") else [])]
        lines, answer = lines_of("audit", *options)
        verdict = answer["verdict"]
        SEEN.add(verdict)
        expect(lines["answer"].startswith(BEGINS[verdict]) and f"({verdict})" in lines["answer"], f"{case['name']}: {verdict}: {lines}")
        output = f", output {case['output']}" if case.get("output") else ""
        expect(f"{case['model']}{output} on {answer['batch']} sample" in lines["asked"] and answer["model"]["sha256"][:12] in lines["asked"]
               and f" {answer['parameters']} parameter" in lines["asked"], lines["asked"])
        kinks(lines, answer, options)


def proofs(folder):
    proof = os.path.join(folder, "a proof")
    for name, loss, next_ in (("lemma2", "sum", "Change the weights a little"), ("digits-relu", "ce", "Nothing needs doing.")):
        batch = "digits" if name.startswith("digits") else name
        options = [f"{CASES}/{name}.onnx", "--batch", f"{CASES}/{batch}.npz", "--loss", loss]
        text = said(CLARKE, "audit", *options, "--proof", proof)[1].splitlines()[2]
        expect(text.startswith(f"Next:   The proof is in {proof}, for clarke-check. {next_}") and os.path.exists(proof), text)
        text = said(CLARKE, "audit", *options)[1].splitlines()[2]
        expect("The proof is in" not in text, text)
        if os.path.exists(proof):
            os.unlink(proof)
    text = said(CLARKE, "audit", f"{RUNS}/own-side", "--proof", proof)[1].splitlines()[2]
    expect("is of AD's gradient in exact arithmetic, not of the recorded one" in text and "The proof is in" not in text, text)
    for name in ("lenet-q", "lenet-q6"):
        options = [f"{CASES}/{name}.onnx", "--batch", f"{CASES}/images-pair.npz", "--loss", "ce"]
        kinks(*lines_of("audit", *options), options)


def stopped():
    options = [f"{CASES}/lenet.onnx", "--batch", f"{CASES}/images.npz", "--timeout", "0"]
    lines, answer = lines_of("audit", *options)
    SEEN.add(answer["verdict"])
    expect(lines["answer"].endswith("(undecided). Which kinks are touched is not known.") and "the time is over (--timeout 0)" in lines["next"], lines)
    lines, _ = lines_of("certify", f"{RUNS}/small", "--timeout", "0")
    lines_of("certify", "--mma", f"{RUNS}/../../proofs-data/gpu/published/V100", "--timeout", "0")
    expect(lines["answer"] == "Not decided: the work was stopped (cannot say)." and "the time is over" in lines["next"], lines)


def runs():
    for name in [n for n in sorted(os.listdir(RUNS)) if ALL or n in LITTLE]:
        run = os.path.join(RUNS, name)
        lines, answer = lines_of("audit", run)
        gradient = answer["gradient"]
        verdict = gradient["turned"]["recorded"]["verdict"] if gradient["answer"] == "turned" else answer["verdict"]
        expect(lines["answer"].startswith(BEGINS[verdict]) and f"({verdict})" in lines["answer"] and f"({gradient['answer']})" in lines["answer"], f"{name}: {lines}")
        SEEN.add(verdict)
        expect("along the recorded sides" in lines["answer"] if gradient["answer"] == "turned" else "AD's gradient " in lines["answer"], lines)
        kinks(lines, answer, [run])
        lines, answer = lines_of("certify", run)
        expect(f"({answer['answer']})" in lines["answer"], f"{name}: {lines}")
        pattern = answer["pattern"]
        told = re.search(r"(\d+) of the (\d+) kinks and windows (?:was|were) taken otherwise than in exact arithmetic(?:, and of (\d+) it is not known)?\.", lines["answer"])
        if pattern and (pattern["parted"] or pattern["doubtful"]):
            expect(told and [int(told[i] or 0) for i in (1, 2, 3)] == [pattern[k] for k in ("parted", "asked", "doubtful")], f"{name}: {lines} {pattern}")
        elif pattern and pattern["asked"] == 0:
            expect("The network has no kinks." in lines["answer"] and "All 0" not in lines["answer"], f"{name}: {lines}")
        elif pattern:
            one = "The one kink or window was taken as in exact arithmetic."
            expect((one if pattern["asked"] == 1 else f"All {pattern['asked']} kinks and windows were taken as in exact arithmetic.") in lines["answer"], f"{name}: {lines}")
        text = said(CLARKE, "certify", run)[1]
        rows = len(re.findall(r"^(?:output|gradient|indices|parameter|statistic) ", text, re.M))
        expect(rows == min(5, len(answer["nodes"])), f"{name}: {rows} rows")
    rows = len(re.findall(r"^(?:output|gradient|indices|parameter|statistic) ", said(CLARKE, "certify", run, "-v")[1], re.M))
    expect(rows == len(answer["nodes"]), f"{name}: -v has {rows} rows")


def wrong_record(folder):
    """A gradient that is not the step's, and one of which that is not known."""
    copy = os.path.join(folder, "copy")
    said("cp", "-rL", f"{RUNS}/tied", copy)
    said("chmod", "-R", "u+w", copy)
    said("sed", "-i", 's/"loss_scale": "1"/"loss_scale": "2"/', f"{copy}/run.json")
    lines, answer = lines_of("audit", copy)
    expect(answer["gradient"]["answer"] == "refuted" and lines["answer"].startswith("No: the recorded gradient is not the one of the recorded step (refuted)")
           and "bouligand" not in lines["answer"], lines)
    lines, answer = lines_of("certify", copy)
    expect(lines["answer"].startswith("No: ") and "(refuted)" in lines["answer"], lines)
    worst = said(CLARKE, "certify", copy)[1].split("The worst (-v: all):\n")[1].splitlines()[1]
    expect("refuted" in worst, worst)


def programs(folder):
    """A verdict each; a derivative is called true only where all limits of gradients are that one, and the function has it."""
    with open(REPORTS) as f:
        kept = [json.loads(line) for line in f]
    kept = [k for k in kept if ": " in k["case"] and "input " in k["case"] and k["status"] in (0, 1, 3)]
    seen, path = set(), os.path.join(folder, "p.prog")
    firsts = {k["report"]["verdict"]: k for k in reversed(kept) if isinstance(k["report"], dict)}
    for k in kept if ALL else kept[::20 * ONE_IN] + list(firsts.values()):
        point, _, text = k["case"].partition(": ")
        with open(path, "w") as f:
            f.write(text + "\n")
        options = [path, *(w for e in point.split(" ") for w in (("--wrt", e[4:]) if e.startswith("wrt=") else ("--at", e)))]
        lines, answer = lines_of("derive", *options)
        verdict, line = answer["verdict"], lines["answer"]
        seen.add(verdict)
        expect(list(answer)[0] == "verdict", f"the verdict is first: {list(answer)}")
        expect(line.startswith(BEGINS[verdict]) and f"({verdict})" in line, f"{k['case']}: {lines}")
        if "is the true derivative here" in line:
            expect(answer["differentiable"] is True and answer["bouligand"] == [answer["ad"]], f"{k['case']}: {line}: {answer}")
        touched = answer["touched"]
        expect(("Nothing is at a kink." in line) == (touched == [] and verdict != "undecided") and ("not known" in line) == (touched is None), f"{k['case']}: {line}")
        if touched:
            named = line.split("At a kink: ")[1].rstrip(".").split("; ")
            expect(named[:3] == [t["node"] for t in touched[:3]] and (len(touched) <= 3 or named[3] == f"and {len(touched) - 3} more"), f"{k['case']}: {line}")
    expect(seen == set(BEGINS), f"verdicts: {seen}")


def main():
    audits()
    runs()
    stopped()
    expect(SEEN == set(BEGINS), f"verdicts: {SEEN}")
    with tempfile.TemporaryDirectory() as folder:
        proofs(folder)
        wrong_record(folder)
        programs(folder)
        others(folder)
        answers(folder)
    finish()


main()
