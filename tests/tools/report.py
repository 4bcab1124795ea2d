#!/usr/bin/env python3
"""clarke report: pages from answers, read as a browser reads them and as people do whose server strips styles.

    report.py CLARKE CASES RUNS REPORTS.jsonl

What the answer counts, the page counts. Strings from strangers stay strings. Every page is smaller than 1 MB and says how much it left out.
"""
import copy
import hashlib
import html
import json
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from draw import draw_count  # noqa: E402
from expect import expect, finish, said  # noqa: E402
from plainly import word_of_the_field  # noqa: E402
from page import EVIL, SEEN, Page, lines, more, page_of as read, write  # noqa: E402

CLARKE, CASES, RUNS, REPORTS = (os.path.abspath(a) for a in sys.argv[1:5])
WHY = "Why, in the field's words"


def page_of(answer, *options):
    return read(CLARKE, answer, *options)


# --- counts ----------------------------------------------------------------------------------------

def check_head(answer, page):
    head = page.sections[""]
    gradient = answer.get("gradient") or {}
    judged = (gradient.get("turned") or {}).get("recorded", answer)
    word = gradient["answer"] if gradient.get("answer") in ("refuted", "not known") else judged["verdict"]
    first = lines(head)
    title = answer.get("model", {}).get("name") or answer["file"]
    expect(title in first[0] and word in first[1] and first[2].endswith("."), f"{word}: {first[:4]}")
    if word != judged["verdict"]:
        expect(gradient["why"][:300] in head, f"{gradient['why']}: {head}")
    expect(judged["why"][:300] in page.sections[WHY], f"{judged['why']}: {page.sections[WHY]}")
    check_plain(answer, page)


def check_plain(answer, page):
    """What stands first has no word of geometry; it is the answer's three lines, where it has them, of which no sentence is lost."""
    head = page.sections[""]
    for line in lines(head)[2:]:
        expect(word_of_the_field(line) is None, f"'{word_of_the_field(line)}' in: {line}")
    if "summary" in answer:
        short = answer["summary"]
        begins = re.match(r"([^.]*?) \([^)]*\)\.(?: |$)", short["answer"])
        rest = short["answer"][begins.end():] if begins else short["answer"]
        expect(begins is None or lines(head)[2] == begins[1] + ".", f"{short}: {head}")
        for text in (f"asked\t{short['asked']}", f"what to do\t{short['next']}", *([f"answer\t{rest}"] if rest else [])):
            expect(text[:350] in head, f"{text}: {head}")


def check_audit(answer, page):
    check_head(answer, page)
    text = page.sections["The network, layer by layer"]
    expect(f"{len(answer['layers'])} layers with kinks" in text, text[:200])
    shown = text.count(" neurons\n")
    expect(shown + more(text) == len(answer["layers"]), f"{shown} layers and {more(text)} more: {len(answer['layers'])}")
    if not more(text):
        touched = [int(n) for n in re.findall(r"^ touched: (\d+) of \d+$", text, re.M)]
        expect(touched == [layer["touched"] for layer in answer["layers"]], f"{touched}: {answer['layers']}")
        ties = [int(n) for n in re.findall(r"^ tied windows: (\d+) of \d+$", text, re.M)]
        expect(ties == [layer["ties"] for layer in answer["layers"] if layer["ties"] > 0], f"{ties}")
        bars = [tag for tag, _ in page.drawn.get("The network, layer by layer", []) if tag == "svg"]
        expect(len(bars) == len(touched) + len(ties) + text.count("nearest kink not touched"), f"{len(bars)} bars")
    if answer["touched"] is not None:
        expect(f"Kinks touched: {answer['touched']}" in page.sections[""], page.sections[""])
    for key, heading in (("touched_kinks", "Kinks touched"), ("theorems", "Theorems")):
        check_table(page, heading, answer.get(key, []))
    check_table(page, "Where rounding took another side", ((answer.get("gradient") or {}).get("turned") or {}).get("kinks", []))
    for fact in (answer["model"]["sha256"], answer["model"]["name"], answer["profile"], answer["loss_kind"]):
        expect(f"\t{fact}\n" in page.sections["What was asked"] + "\n", f"{fact}: {page.sections['What was asked']}")


def check_table(page, heading, items):
    text = page.sections.get(heading, "")
    rows = sum("\t" in line for line in lines(text))
    expect(rows + more(text) == len(items), f"{heading}: {rows} rows and {more(text)} more of {len(items)}")


def check_certify(answer, page):
    totals = dict(re.findall(r"^([^\t\n]+)\t(\d+)$", page.sections["Totals"], re.M))
    counted = {}
    for node in answer["nodes"]:
        counted[node["answer"]] = counted.get(node["answer"], 0) + 1
    expect({k: int(n) for k, n in totals.items()} == counted, f"{totals}: {counted}")
    check_table(page, "All tensors", answer["nodes"])
    if answer["nodes"]:
        check_table(page, "The worst", answer["nodes"][:5])
        worst = max((n["worst"] or 0) for n in answer["nodes"])
        row = lines(page.sections["The worst"])[1].split("\t")
        expect(row[4] not in ("bit-exact", "within the bound") or abs(float(row[6]) - worst) <= 1e-5 * worst, f"{row}: {worst}")
    if answer["pattern"] is not None:
        text = page.sections["Where rounding took another side"]
        expect(f"{answer['pattern']['parted']} of {answer['pattern']['asked']} kinks" in text, text)
        check_table(page, "Where rounding took another side", [None] * answer["pattern"]["parted"])
    expect(answer["answer"] in lines(page.sections[""])[1], page.sections[""])
    check_plain(answer, page)


def check_derive(answer, page):
    check_head(answer, page)
    if answer["touched"] is not None:
        expect(f"{len(answer['touched'])} kinks are touched." in page.sections["Kinks touched"], page.sections["Kinks touched"])
        check_table(page, "Kinks touched", answer["touched"])
    for key, name in (("ad", "AD"), ("least", "least norm")):
        if isinstance(answer.get(key), list) and all(isinstance(x, str) for x in answer[key]) and len(answer[key]) < 200:
            expect(f"{name}\t{', '.join(x if len(x) <= 400 else x[:360] for x in answer[key])[:360]}" in page.sections["What was found"], page.sections["What was found"])


def real_answers():
    a, derive = ["audit", "--json", "--batch"], ["derive", f"{CASES}/../papers/bolte-zero.prog", "--json"]
    asked = [([*a, f"{CASES}/lemma2.npz", f"{CASES}/lemma2.onnx", "--loss", "sum", "--touched"], check_audit),
             ([*a, f"{CASES}/lemma2.npz", f"{CASES}/lemma2.onnx", "--loss", "sum", "--timeout", "0"], check_audit),
             ([*a, f"{CASES}/images-pair.npz", f"{CASES}/lenet-q6.onnx", "--touched", "--nearest", "2"], check_audit),
             ([*a, f"{CASES}/digits.npz", f"{CASES}/digits-relu.onnx"], check_audit), (["audit", f"{RUNS}/parted", "--json"], check_audit),
             (["audit", f"{RUNS}/turned", "--json"], check_audit), (["audit", f"{RUNS}/small-light", "--json"], check_audit),
             (["certify", f"{RUNS}/parted", "--json"], check_certify), (["certify", f"{RUNS}/words", "--json"], check_certify),
             (["certify", f"{RUNS}/small", "--json", "--against", f"{RUNS}/small-plain"], check_certify),
             (["certify", f"{RUNS}/small-light", "--json"], check_certify), ([*derive, "--at", "t=0"], check_derive), ([*derive, "--at", "t=1"], check_derive)]
    answers = []
    for question, check in asked:
        status, out, err = said(CLARKE, *question)
        expect(status in (0, 1, 3), f"{question}: {status} {err}")
        answers.append(json.loads(out))
        check(answers[-1], page_of(answers[-1]))
        short = json.loads(said(CLARKE, *question, "-v")[1])
        page = page_of(short)
        check(short, page)
    return answers


def drawn_reports():
    """Of the kept reports."""
    with open(REPORTS) as f:
        kept = f.readlines()
    for line in random.Random(3).sample(kept, draw_count(20)):
        report = json.loads(line)["report"]
        if isinstance(report, dict) and "verdict" in report and ("layers" in report or "bouligand" in report):
            (check_audit if "layers" in report else check_derive)(report, page_of(report))


# As a recorder writes it (docs/outside.md).
OUTSIDE = {"pass": "backward", "value": "NaN", "operator": "aten.sqrt.default", "derivative": "SqrtBackward0", "module": "head", "source": "net.py:9",
           "entry": [0], "sample": 3, "argument": "0", "incoming": "0", "rounded": False, "rule": "the slope of a root grows without bound where its argument is 0",
           "differentiable": "not known", "element": None, "instead": "(x + eps).sqrt()",
           "lines": ["The step leaves the reals. The first NaN of the backward pass is made by aten.sqrt.default at net.py:9.", "Why: <b>0 times infinity</b>."]}


def outside_the_reals():
    """From a folder: the verdict first, all that the recorder says, and the way to the number."""
    os.mkdir("outside")
    for change, word in (({}, "NaN"), ({"value": "0"}, "a norm of zeros"), ({"module": EVIL, "instead": EVIL}, "NaN")):
        outside = OUTSIDE | change
        write("outside/run.json", {"format": "clarke-run", "version": 1, "outside": outside})
        status, out, err = said(CLARKE, "audit", "outside", "--json")
        expect(status == 3, f"{status} {err}")
        page = page_of(json.loads(out))
        expect(word in lines(page.sections[""])[1] and "The proof" not in page.sections, page.sections[""])
        expect(change == {"value": "0"} or lines(page.sections[""])[2] == "NaN of the backward pass comes from aten.sqrt.default at net.py:9.", page.sections[""])
        expect(f"answer\t{outside['lines'][0]}" in page.sections[""] and outside["lines"][-1] in page.sections[""], page.sections[""])
        expect(all(word_of_the_field(line) is None for line in lines(page.sections[""])), page.sections[""])
        expect(said(CLARKE, "audit", "outside")[1] == "".join(f"{name}{text}\n" for name, text in zip(("Asked:  ", "Answer: ", "Next:   "), json.loads(out)["summary"].values()))
               + "\n" + "".join(line + "\n" for line in outside["lines"]), "three lines first, then all that the recorder says")
        for value in scalars({k: v for k, v in outside.items() if k not in ("rounded", "value") and v != EVIL}):
            expect(value in page.text, f"{value} is missing")
        expect("aten.sqrt.default" in page.sections["Its path"], page.sections)


def any_answer():
    """Commands without a page of their own: every scalar of the answer is on it."""
    for question in (["cost", f"{CASES}/../papers/bolte-zero.prog"], ["step", "list"], ["derive", f"{CASES}/../papers/bolte-zero.prog", "--sweep", "-1:1:1"],
                     ["encode", f"{CASES}/../encode/example4.cnf"], ["patterns", f"{CASES}/lemma7.onnx", "--line", "0,0,0,0", "-1,2,3,4"],
                     ["certify", "--mma", f"{RUNS}/../../proofs-data/gpu/published/V100"], ["audit", "none.onnx", "--batch", "none.npz"]):
        status, out, err = said(CLARKE, *question, "--json")
        answer = json.loads(out)
        page = page_of(answer)
        for value in scalars(answer):
            expect(value in page.text, f"{question}: {value} is missing")


def scalars(value):
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    elif isinstance(value, str) or type(value) is int:
        yield str(value)[:300]


# --- how it looks ----------------------------------------------------------------------------------

def brightness(colour):
    """As WCAG 2 has it."""
    parts = [int(c, 16) / 255 for c in (re.findall("..", colour[1:]) if len(colour) == 7 else [c * 2 for c in colour[1:]])]
    return sum(w * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))


def looks(answers):
    """Light and dark can be read (WCAG's 4.5), a phone and a printer have rules of their own, and no picture is wider than a phone; the page says
    what wrote it, and from which bytes."""
    page = page_of(answers[0])
    with open("page.html", encoding="ascii") as f:
        text = f.read()
    roots = re.findall(r":root\{([^}]*)\}", text)
    expect(len(roots) == 2 and "@media (prefers-color-scheme:dark){:root" in text, "light and dark")
    for root in roots:
        colours = {name: brightness(colour) for name, colour in re.findall(r"--(\w+):(#\w+)", root)}
        for name in ("ink", "soft", "good", "note", "open", "bad"):
            light, dark = sorted((colours[name], colours["paper"]), reverse=True)
            expect((light + 0.05) / (dark + 0.05) >= 4.5, f"{name} on paper: {(light + 0.05) / (dark + 0.05)}")
    expect(re.search(r"@media print\{.*break-after:avoid.*break-inside:avoid", text) and not re.search(r"section\{[^}]*break-inside", text), "a long section begins where it stands")
    expect("body{" in text and "overflow-wrap:anywhere" in text and not re.search(r"(?<!max-)(?<!-)width:\s*(\d{3,}px|[3-9]\drem)", text), "nothing is wider than a phone")
    expect("@media print{" in text and re.search(r"@media \(max-width:\d+rem\)\{dl", text) and '<meta name="viewport"' in text, "phone and print")
    expect(all(int(a["width"]) <= 320 for found in page.drawn.values() for tag, a in found if tag == "svg"), "a picture is wider than a phone")
    version = said(CLARKE, "--version")[1].split()[1]
    with open("answer.json", "rb") as f:
        expect(f"clarke {version} from answer.json (SHA-256 {hashlib.sha256(f.read()).hexdigest()})" in page.text, page.text[-300:])


# --- strangers -------------------------------------------------------------------------------------

def poisoned(value, key=""):
    """Every string another, but for the words that a page looks for."""
    if isinstance(value, dict):
        return {k: poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, key) for v in value]
    return EVIL if isinstance(value, str) else value


def keyed(value):
    return {EVIL + str(i): v for i, v in enumerate(value.values())} if isinstance(value, dict) else value


def strangers(answers):
    for answer in answers:
        page = page_of(poisoned(answer))
        expect(page.text.count(SEEN) > 3, f"{str(answer)[:60]}: {page.text.count(SEEN)} strings")
        page = page_of(keyed(answer))
        expect(SEEN + "0" in page.text, "a key")
    page = page_of({"verdict": "in-bouligand", "why": "x\ud800".encode("utf-8", "replace").decode(), "layers": [], "theorems": [], "model": 3, "touched": "no"})
    expect("in-bouligand" in page.text, page.text)
    # what has the keys of an answer, and other values
    for value in (None, -3, "x", [], {}, [{}], [[[[[[[[[[[1]]]]]]]]]]]):
        for keys in (("layers", "theorems"), ("nodes",), ("sets",), ("checkpoints",), ("bouligand", "verdict"), ("error",), ("x",)):
            page_of({k: value for k in keys} | {"gradient": value, "touched": value, "nearest": value, "notes": value, "pattern": value, "why": value})
    page_of([])
    page_of({})
    page_of([{"layers": []}])


def big(answers):
    audit = copy.deepcopy(answers[0])
    layer, kink = audit["layers"][0], audit["touched_kinks"][0]
    audit["layers"] = [layer | {"name": f"block{i}/relu", "touched": i % 3} for i in range(100)]
    check_audit(audit, page_of(audit))
    for layers, kinks in ((1000, 100), (200, 1000)):
        audit["layers"] = [layer | {"name": f"a layer with a long name, number {i} of {layers}"} for i in range(layers)]
        audit["touched_kinks"] = [kink | {"neuron": i} for i in range(kinks)]
        check_audit(audit, page_of(audit))
    audit["layers"] = [layer | {"name": EVIL * 20}] * 1000
    check_audit(audit, page_of(audit))
    certify = copy.deepcopy(answers[8])
    certify["nodes"] = [n | {"name": f"{i}"} for i, n in enumerate(certify["nodes"] * 30)]
    check_certify(certify, page_of(certify))
    row = {k: v for k, v in answers[3].items() if k != "touched_kinks"}
    several = {"checkpoints": [row | {"file": f"step-{i:06}.safetensors", "verdict": ("in-bouligand", "undecided")[i % 100 == 0]} for i in range(10000)]}
    page = page_of(several)
    check_table(page, "Checkpoints", [None] * (10000 + 3))
    expect(lines(page.sections[""])[2] == "Neither yes nor no was proved in 100 of 10000 checkpoints.", page.sections[""])
    rows = [line.split("\t")[1:3] for line in lines(page.sections["Checkpoints"]) if line.startswith("\tstep-")]
    expect(rows == [[f"step-{i:06}.safetensors", "undecided"] for i in range(0, 10000, 100)] + rows[100:] and len(rows) <= 110, f"the worst first: {rows[:3]}")
    expect("\tundecided" not in page.sections[""] and re.search(r"undecided\t100\n.*in-bouligand\t9900\n", page.sections["Checkpoints"], re.S),
           page.sections["Checkpoints"][:300])
    run = {"folder": "runs", "steps": 10001, "asked": 10000, "unanswered": 1, "verdicts": {"in-bouligand": 9900, "undecided": 100}, "zones": {}, "gradients": {},
           "steps_touched": 7, "steps_with_surrogates": 0, "first_not_in_bouligand": 0, "layers": {f"layer {i}": {"op": "Relu", "steps_touched": i, "touched": i} for i in range(300)}, "stopped": None}
    page = page_of({"verdict": "undecided", "run": run, **several})
    check_table(page, "Steps", [None] * (10000 + 8))
    check_table(page, "Layers that were touched", [None] * 300)
    expect("not asked" in page.sections[""] and "No answer is there for 1 of 10001 steps." in page.sections[""] and "step 0" in page.sections[""], page.sections[""])
    deep = 1
    for _ in range(400):
        deep = [deep]
    page_of({"deep": deep})
    # the whole page ends, where each list alone would not
    page = page_of([{str(i): [[EVIL * 5] * 40] * 40 for i in range(2)}] * 2)
    expect(len(page.text) > 300_000 and page.text.count(" more") > 2, f"{len(page.text)} characters")


def run_again():
    """A run whose answers a file of lines has already: no step has a row, and the page says the same."""
    for again in (False, True):
        said(CLARKE, "audit", "--run", f"{RUNS}/lemma2", "--lines", "lines.jsonl", "--html", "run.html", "--quiet")
        page = Page(open("run.html").read())
        expect("not-in-clarke" in page.sections[""] and "in-bouligand" not in page.sections[""], page.sections[""])
        expect("not-in-clarke\t1\n" in page.sections["Steps"] and page.sections["Steps"].count("step 0") == (not again), page.sections["Steps"])
    for answer in ({"checkpoints": []}, {"verdict": "undecided", "checkpoints": []}):
        expect("undecided" in page_of(answer).sections[""], "nothing was answered")


# --- the command -----------------------------------------------------------------------------------

def command():
    audit = ["audit", f"{CASES}/lemma2.onnx", "--batch", f"{CASES}/lemma2.npz", "--loss", "sum"]
    status, out, _ = said(CLARKE, *audit, "--json", "--proof", "the proof", "--html", "beside.html")
    with open("answer.json", "w") as f:
        f.write(out)
    said(CLARKE, "report", "answer.json", "-o", "named.html", "--proof", "the proof", "--data", f"{CASES}")
    beside, named = ({key: text for key, text in Page(open(name).read()).sections.items() if key != "The proof"} for name in ("beside.html", "named.html"))
    expect(beside.keys() == named.keys() and all(beside[k] == named[k] for k in beside), "--html is what report writes")
    proof = Page(open("named.html").read()).sections["The proof"]
    expect(f"clarke-check the proof --data {CASES}" in proof and len(re.findall(r"\b[0-9a-f]{64}\b", proof)) == 2, proof)
    expect("clarke-check the proof" in Page(open("beside.html").read()).sections["The proof"], "the proof that was written is named")
    printed = said(CLARKE, "report", "answer.json", "--proof", "the proof", "--data", CASES)
    expect(printed == (0, open("named.html").read(), ""), "without -o to standard output")
    # an undecided answer writes no proof, whatever file is there
    said(CLARKE, *audit, "--timeout", "0", "--quiet", "--proof", "the proof", "--html", "beside.html")
    expect("No proof was named" in Page(open("beside.html").read()).sections["The proof"], "no proof")
    status, _, _ = said(CLARKE, "audit", "none.onnx", "--batch", "none.npz", "--html", "beside.html")
    expect(status == 2 and "none.npz: cannot be opened" in Page(open("beside.html").read()).sections[""], "an error's page")
    for text, why in (("", "no JSON"), ("{", "no JSON"), ("3", "no JSON"), ('{"a": 1, "a": 2}', "no JSON"), ("[" * 5000, "no JSON")):
        with open("none.json", "w") as f:
            f.write(text)
        status, out, err = said(CLARKE, "report", "none.json", "-o", "named.html")
        expect(status == 2 and out == "" and f"none.json:" in err and why in err, f"{text[:20]}: {status} {err}")
    expect(proof == Page(open("named.html").read()).sections["The proof"], "the old page stays")
    for options in ([], ["nothing.json"], ["answer.json", "-o", "no/such.html"], ["answer.json", "--proof", "nothing"], ["answer.json", "--data", "."],
                    ["answer.json", "answer.json"]):
        status, out, err = said(CLARKE, "report", *options)
        expect(status == 2 and out == "" and err, f"{options}: {status}")
    expect(html.unescape("&#39;") == "'", "")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        answers = real_answers()
        drawn_reports()
        outside_the_reals()
        any_answer()
        looks(answers)
        strangers(answers)
        big(answers)
        run_again()
        command()
        os.chdir("/")
    finish()


main()
