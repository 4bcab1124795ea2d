#!/usr/bin/env python3
"""clarke explain prints the glossary, clarke profile the table of docs/operators.md.

    words.py CLARKE ROOT
"""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish, said  # noqa: E402

CLARKE, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
PROFILES = ["pytorch-2.13", "pytorch-2.14", "jax-0.10", "tensorflow-2"]
ASKED = ["in-bouligand", "in-clarke", "not-in-clarke", "undecided", "explained", "turned", "refuted", "bit-exact", "within the bound", "touched", "flat",
         "rank", "system", "theorem 8", "n-1", "lambda", "p_l", "proxy", "profile", "zone", "margin", "tie"]


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def glossary():
    """Word, text: as a terminal shows them."""
    found = {}
    for paragraph in read("docs/glossary.md").split("\n\n")[1:]:
        entry = re.fullmatch(r"\*\*(.+?)\.\*\* (.+)", " ".join(paragraph.split()))
        if entry:
            found[entry[1]] = re.sub(r"[*`]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", entry[2]))
    return found


def explains():
    words = glossary()
    expect(len(words) > 40, f"{len(words)} words")
    status, out, err = said(CLARKE, "explain")
    expect((status, out, err) == (0, ", ".join(words) + "\n", ""), f"all words: {status} {out}")
    status, out, err = said(CLARKE, "explain", *words)
    shown = {part.split("\n", 1)[0]: " ".join(part.split("\n", 1)[1].split()) for part in out.split("\n\n")}
    expect((status, err) == (0, "") and shown == words, f"{[w for w in words if shown.get(w) != words[w]]}: {status} {err}")
    expect(max(map(len, out.splitlines())) <= 78, "lines fit a terminal")
    for word in ASKED:
        for spelled in (word, word.upper(), word.replace("-", " "), word.replace(" ", "_")):
            status, out, _ = said(CLARKE, "explain", spelled)
            expect(status == 0 and out.lower().startswith(word + "\n"), f"{spelled}: {status} {out[:40]}")
    expect(said(CLARKE, "explain", "bouligand")[1].startswith("Bouligand subdifferential\n"), "the beginning of a word")
    for word in ("in", "gradients", "", "t", "x" * 5000, "%s%n"):
        status, out, err = said(CLARKE, "explain", "proxy", word)
        expect(status == 2 and err and "Gordan vector" in err or word == "", f"{word[:20]}: {status} {err[:80]}")


def tables():
    """Of docs/operators.md: for each profile and row, what AD takes there."""
    found = {name: {} for name in PROFILES}
    for line in read("docs/operators.md").split("\n## Every profile", 1)[1].split("\nLet S be", 1)[0].splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) != 6 or cells[0] in ("operator", "function") or set(cells[0]) == {"-"}:
            continue
        for name, cell in zip(PROFILES, cells[2:]):
            if re.fullmatch(r"[0-9, ]+", cells[1]):
                for kink, value in enumerate(cell.split(", ")):
                    found[name][f"{cells[0]} {kink}"] = value
            else:
                found[name]["norm" if cells[0] == "Norm" else f"tie {cells[0]}"] = cell
    return found


def profiles():
    table = tables()
    status, out, err = said(CLARKE, "profile", "list", "--json")
    expect(status == 0 and [p["name"] for p in json.loads(out)["profiles"]] == PROFILES, f"list: {out} {err}")
    for p in json.loads(out)["profiles"]:
        expect(p["also"] is None or said(CLARKE, "profile", "diff", p["also"], p["name"]) [::2] == (0, ""), p)
    expect(said(CLARKE, "profile", "list")[1].splitlines()[:2] == ["pytorch-2.13", "pytorch-2.14  also called pytorch"], "list")
    for name in PROFILES:
        status, out, err = said(CLARKE, "profile", "show", name)
        rows = dict(line.rsplit(" ", 1) for line in out.splitlines()[1:])
        expect(json.loads(said(CLARKE, "profile", "show", name, "--json")[1]) == {"profile": name, "takes": rows}, name)
        surrogates = [row for row in rows if row.startswith("surrogate ")]  # which none of these has
        expect(len(surrogates) == 7 and {rows.pop(row) for row in surrogates} == {"none"}, f"{name}: {surrogates}")
        expect(status == 0 and len(table[name]) > 20 and rows == table[name], f"{name}: {set(rows.items()) ^ set(table[name].items())}")
        with open("own.profile", "w") as f:
            f.write(out)
        same = said(CLARKE, "profile", "diff", name, "./own.profile")
        expect(same[::2] == (0, "") and "\nAnswer: Nothing: all " in same[1] and same[1].endswith("\n\n"), f"{name}: what is shown is read back")
        for other in PROFILES:
            differ = [(k, table[name][k], table[other][k]) for k in rows if table[name][k] != table[other][k]]
            status, out, _ = said(CLARKE, "profile", "diff", name, other)
            expect(status == (1 if differ else 0) and len(out.splitlines()) == len(differ) + 4, f"{name}, {other}: {status} {out}")
            named = {re.sub(r"^(?!tie )(\w+) .*", r"\1", at) for at, _, _ in differ}
            told = re.search(r"^Answer: (\d+) of \d+ rows: (.*)\.$", out, re.M)
            expect(not differ or (int(told[1]), sorted(told[2].split(", "))) == (len(differ), sorted(named)), f"{name}, {other}: {out}")
            expect(list(json.loads(said(CLARKE, "profile", "diff", name, other, "--json")[1]).items())[0] == ("same", not differ), f"{name}, {other}")
            found = json.loads(said(CLARKE, "profile", "diff", name, other, "--json")[1])["differing"]
            expect([(d["at"], d["first"], d["second"]) for d in found] == differ, f"{name}, {other}: {found} {differ}")
    with open("own.profile", "w") as f:
        f.write("like jax-0.10\nRelu 0 1/3\ntie MaxPool hybrid 1/4\nnorm 0\n")
    expect(said(CLARKE, "profile", "diff", "jax-0.10", "./own.profile")[1].split("\n\n")[1].split() ==
           "Relu 0 0 in jax-0.10, 1/3 in ./own.profile tie MaxPool first in jax-0.10, hybrid 1/4 in ./own.profile norm nan in jax-0.10, 0 in ./own.profile".split(),
           "an own profile")
    for options in ([], ["list", "jax"], ["show"], ["show", "a", "b"], ["diff", "jax"], ["diff", "a", "b", "c"], ["change"], ["show", "jax-9"],
                    ["diff", "jax", "none.profile"], ["show", ""]):
        status, out, err = said(CLARKE, "profile", *options)
        expect(status == 2 and out == "" and err, f"{options}: {status} {out}")


def kinks():
    """Of each operator with kinks, what each profile takes: as profiles have it."""
    words = {"unknown": "what is not known", "left": "the slope on the left", "right": "the slope on the right", "first": "the first", "last": "the last",
             "stable": "the one that a stable sort puts there", "mean": "their mean"}
    takes = {name: json.loads(said(CLARKE, "profile", "show", name, "--json")[1])["takes"] for name in PROFILES}
    count = 0
    for op in sorted({row.removeprefix("tie ").split(" ")[0] for row in takes[PROFILES[0]]} - {"norm"}):
        status, out, err = said(CLARKE, "explain", op.upper())
        own = [row for row in takes[PROFILES[0]] if row.removeprefix("tie ").split(" ")[0] == op]
        if out.split("\n")[0] != f"{op}, an operator with kinks":  # a word of the glossary comes first
            expect(status == 0 and out.split("\n")[0].lower().startswith(op.lower()), f"{op}: {status} {out[:80]} {err[:80]}")
            continue
        lines = [line for line in out.splitlines()[1:] if not line.startswith("  by version: ")]
        expect((status, err, len(lines)) == (0, "", len(own)), f"{op}: {status} {out} {err}")
        for row, line in zip(own, lines):
            told = {name: part.rsplit(" in ", 1)[0] for part in line.split("AD takes ")[1].split("; ") for name in part.rsplit(" in ", 1)[1].split(", ")}
            expect(told == {name: words.get(takes[name][row], ("" if row.startswith("tie ") else "the slope ") + takes[name][row]) for name in PROFILES}, f"{row}: {line}")
            expect(f"kink number {row.split(' ')[1]} " in line or row.startswith("tie ") and "among several equal entries" in line, f"{row}: {line}")
            count += 1
    expect(count > 20, f"{count} kinks explained")
    both = said(CLARKE, "explain", "relu", "in-bouligand", "abs")[1].split("\n\n")
    expect([part.split("\n")[0] for part in both] == ["Relu, an operator with kinks", "In-bouligand", "Abs, an operator with kinks"], both)


def versions():
    """Since when, as docs/operators.md says it."""
    listed = read("docs/operators.md").split("\n## Since when\n")[1].split("\n## ")[0].split("\n* ")[1:]
    found = dict(re.match(r"\*\*(\w+)\*\*: (.+)", " ".join(item.split()).replace("`", "")).groups() for item in listed)
    expect(len(found) > 6, found)
    for op, text in found.items():
        expect(f"\n  by version: {text}\n" in said(CLARKE, "explain", op)[1], op)


def touched():
    """A kink of a report: what it is, and then its operator's."""
    audit = [CLARKE, "audit", f"{ROOT}/cases/audit/two-windows.onnx", "--batch", f"{ROOT}/cases/audit/two-windows.npz", "--loss", "sum", "--json"]
    derive = [CLARKE, "derive", f"{ROOT}/cases/papers/bolte-zero.prog", "--at", "t=0", "--json"]
    for name, command in (("audit.json", [*audit, "--touched"]), ("without.json", audit), ("derive.json", derive), ("empty.json", ["echo", "{}"])):
        with open(name, "w") as out:
            out.write(said(*command)[1])
    pool = said(CLARKE, "explain", "maxpool")[1]
    first = "phi (MaxPool), neuron 0, sample 0: its argument is exactly 1\n  equal: entries 0, 1 and 2; AD took 0 (pytorch-2.13)\n"
    second = "phi (MaxPool), neuron 1, sample 0: its argument is exactly 1\n  equal: entries 3 and 4; AD took 3 (pytorch-2.13)\n"
    for asked, expected in ((["phi,0,0"], first), (["phi,1"], second), (["phi"], first + second), ([], first + second), (["phi,0", "phi,1,0"], None)):
        status, out, err = said(CLARKE, "explain", *asked, "--of", "audit.json")
        expected = f"{expected}\n{pool}" if expected else f"{first}\n{pool}\n{second}\n{pool}"
        expect((status, out, err) == (0, expected, ""), f"{asked}: {status} {out} {err}")
    status, out, err = said(CLARKE, "explain", "relu at line 17, column 25", "--of", "derive.json")
    expect(out == "relu at line 17, column 25: its argument is exactly 0\n  slopes on its sides: 0 and 1; AD took 0 (pytorch-2.13)\n\n"
           + said(CLARKE, "explain", "relu")[1], f"{status} {out} {err}")
    for asked, report, why in ((["phi,2"], "audit.json", "'phi,2' is none of its 2 touched kinks; the first is phi"), ([], "empty.json", "no kink is touched"),
                               (["phi"], "without.json", "--touched"), ([], "none.json", "none.json")):
        status, out, err = said(CLARKE, "explain", *asked, "--of", report)
        expect((status, out) == (2, "") and why in err, f"{asked} {report}: {status} {out} {err}")


def completed(*words):
    script = f"source {ROOT}/tools/completion/clarke.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _clarke; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return said("bash", "-c", script, "bash", CLARKE, *words)[1].split()


def completions():
    """Of commands and of each one's options: all, and no other."""
    commands = re.findall(r"^  ([a-z-]+) ", said(CLARKE, "--help")[1].split("Commands:")[1].split("\n\n")[0], re.M)
    expect(completed("") == commands and {"audit", "report", "explain"} <= set(commands), f"{completed('')}: {commands}")
    expect(completed("re") == ["reproduce", "report"], completed("re"))
    for command in commands:
        options = re.findall(r"^ {2,8}(?:-., )?(--[a-z][a-z0-9-]*)", said(CLARKE, command, "--help")[1], re.M)
        expect(sorted(completed(command, "--")) == sorted(options) or command == "explain", f"{command}: {completed(command, '--')}, {options}")
    expect(completed("audit", "--sa") == ["--sarif"] and completed("audit", "model") == [], "an option, a file")
    expect(completed("explain", "in-") == ["in-bouligand", "in-clarke"] and completed("explain", "within") == ["within-the-bound"], "words")
    expect(completed("profile", "d") == ["diff"] and completed("profile", "show", "jax") == ["jax-0.10"], "profiles")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        explains()
        profiles()
        kinks()
        versions()
        touched()
        completions()
        os.chdir("/")
    finish()


main()
