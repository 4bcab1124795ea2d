#!/usr/bin/env python3
"""Are the reports of audits and derivations what they were?

    tests/audit/reports.py CLARKE CLARKE-CHECK [--write]

Audits the quick cases of cases/audit, and the models of tests/check/data with the batch, loss, parameters and profile of their
proofs; derives programs.txt, and programs drawn here. Compares each exit status and report with its line in reports.jsonl, and
has each proof checked, those of zones, too. Of all of them one in DRAW_ONE_IN (tests/draw.py). --write makes the file anew: read what changed, and why, before it is committed. What is
true is what the other tests ask.
"""
import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/check"))
sys.path.append(str(ROOT / "tests"))

import edits  # noqa: E402
from draw import ONE_IN  # noqa: E402

KEPT = HERE / "reports.jsonl"
LONGEST = "lenet-ternary"


def shipped():
    """Options of `clarke audit` by case; not of the longest, which tests/tools asks."""
    folder = ROOT / "cases/audit"
    for case in json.loads((folder / "cases.json").read_text())["cases"]:
        if not case.get("slow") and case["name"] != LONGEST:
            files = [word for option in ("params", "profile") if case.get(option) for word in ("--" + option, folder / case[option])]
            output = ["--output", case["output"]] if case.get("output") else []
            yield case["name"], [folder / case["model"], "--batch", folder / case["batch"], "--loss", case["loss"], *files, *output]


def of_proofs(profile):
    """The same for proofs by hand, each question once; their proxies and ties become the profile."""
    folder, asked = ROOT / "tests/check/data", set()
    for proof in sorted(edits.expanded(folder).glob("*.proof")):
        lines = proof.read_text(errors="replace").splitlines()
        said = {line.split(" ")[0]: line.split(" ")[1:] for line in reversed(lines)}
        rules = tuple(line.removeprefix("proxy ") for line in lines if line.startswith(("proxy ", "tie ")))
        if "params" in said or not all(said.get(word) for word in ("model", "batch", "loss", "wrt")):
            continue
        names = "" if said["wrt"] == ["*"] else ",".join(said["wrt"])
        question = (said["model"][0], said["batch"][0], said["loss"][0], names, *rules)
        files = [folder / question[0], folder / question[1]]
        if question in asked or not all(f.exists() for f in files):
            continue
        asked.add(question)
        profile.write_text("like pytorch-2.13\n" + "".join(rule + "\n" for rule in rules))
        yield " ".join(question), [files[0], "--batch", files[1], "--loss", question[2], "--profile", profile,
                                   *(["--wrt", names] if names else [])]


def array(name, rows):
    """A member of an .npz file: float64."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    numbers = [number for row in rows for number in row]
    return name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack(f"<H{len(header)}s{len(numbers)}d", len(header), header.encode(), *numbers)


def fans(batch):
    """One weight vector, 0, and samples around it, weighed by their targets: AD's 0 is among the sums of some, or is not."""
    draw = random.Random(3)
    for i in range(80):
        samples = range(3 + i // 8)
        x, y = [[[draw.randint(-3, 3) for _ in range(n)] for _ in samples] for n in (3, 1)]
        with zipfile.ZipFile(batch, "w") as archive:
            for name, data in (array("x", x), array("y", y)):
                archive.writestr(zipfile.ZipInfo(name), data)
        yield f"fan {i}", [ROOT / "tests/check/data/fan.onnx", "--batch", batch, "--loss", "mse"]


def programs():
    """(Point, text): of programs.txt, and sums of products of kinks in three variables."""
    for line in (HERE / "programs.txt").read_text().splitlines():
        if not line.startswith("#"):
            point, _, text = line.partition(": ")
            yield point, text.replace(" | ", "\n")
    draw = random.Random(11)
    number = lambda: draw.choice(["-2", "-1", "1", "2", "1/2", "-1/3"])  # noqa: E731

    def argument():
        return draw.choice(["x", "y", "z", "x - y", "y + z", "x + 2*y - z", "x*y", "z - x*x", "x + y*z", "1 - cos(x)", "z/(1 + x)"])

    def term():
        a, b, proxy = argument(), argument(), draw.choice(["0", "1", "1/2", "2"])
        tie = draw.choice(["first", "last", "mean", "hybrid 1/2"])
        return draw.choice([f"relu{{{proxy}}}({a})", f"abs{{{proxy}}}({a})", f"max{{{tie}}}({a}, {b})", f"min{{{tie}}}({a}, {b}, 0)",
                            f"(if {a} > 0 then {a} else 2*({a}))", f"relu{{{proxy}}}(relu({a}) - relu({b}))", f"({b})*relu{{{proxy}}}({a})"])

    for _ in range(100):
        yield "x=0 y=0 z=0", "input x, y, z\noutput " + " + ".join(f"{number()}*{term()}" for _ in range(draw.randint(1, 3)))


def program(file, point, text):
    """Options of `clarke derive`, the program being in file then."""
    file.write_text(text + "\n")
    return [file, *(word for entry in point.split(" ")
                    for word in (("--wrt", entry[4:]) if entry.startswith("wrt=") else ("--at", entry)))]


def asked(folder):
    """(Name, command and options), one after another: files in the folder are written anew for each."""
    audits = chain(shipped(), of_proofs(folder / "profile"), fans(folder / "fan.npz"))
    yield from ((name, ["audit", *options]) for name, options in audits)
    yield from ((f"{point}: {text}", ["derive", *program(folder / "p.prog", point, text)]) for point, text in programs())


def checked(check, proof, name, words):
    """How many lines the proof has, fingerprints left out, which must be verified; 0 when there is none."""
    if not proof.exists():
        return 0
    for option in ("audit", "--batch", "--params"):  # the files that it names lie beside it
        if option in words:
            file = words[words.index(option) + 1]
            (proof.parent / file.name).write_bytes(file.read_bytes())
    done = subprocess.run([check, proof], capture_output=True, text=True)
    if not done.stdout.startswith("VERIFIED\n"):
        sys.exit(f"the proof is not verified: {name}: {done.stdout}{done.stderr}")
    lines = sum(not line.startswith("fingerprint ") for line in proof.read_text().splitlines())
    proof.unlink()
    return lines


def reports(clarke, check, every):
    with tempfile.TemporaryDirectory() as name:
        folder, proof, zoned = Path(name), Path(name) / "p.proof", Path(name) / "zone.proof"
        for i, (name, words) in enumerate(asked(folder)):
            if i % every:
                continue
            zone = ["--zone-proof", zoned] if words[0] == "audit" else []
            done = subprocess.run([clarke, *words, "--json", "--proof", proof, *zone], capture_output=True, text=True)
            said = done.stderr.replace(str(ROOT) + "/", "").replace(str(folder) + "/", "").strip()
            report = json.loads(done.stdout) if done.returncode in (0, 1, 3) else said
            if done.returncode in (0, 1) and not proof.exists() and "no parameters" not in said:
                sys.exit(f"no proof was written: {name}: {said}")
            kept = {"case": name, "status": done.returncode, "lines": checked(check, proof, name, words), "report": report}
            proved = checked(check, zoned, name, words)
            if words[0] == "audit" and not proved and done.returncode != 2 and \
                     "no parameters" not in said and report["zone"] not in (None, "regular"):
                sys.exit(f"no proof of the zone was written: {name}: {said}")
            yield json.dumps(kept, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clarke")
    parser.add_argument("check", metavar="clarke-check")
    parser.add_argument("--write", action="store_true", help="make the file of reports anew")
    options = parser.parse_args()
    every = 1 if options.write else ONE_IN
    now = list(reports(options.clarke, options.check, every))
    if options.write:
        KEPT.write_text("\n".join(now) + "\n")
        return 0
    kept = defaultdict(list)
    for line in KEPT.read_text().splitlines():
        kept[json.loads(line)["case"]].append(line)
    wrong = 0
    for new in now:
        olds = kept[json.loads(new)["case"]]
        old = olds.pop(0) if olds else None
        if old is None or json.loads(old) != json.loads(new):
            wrong += 1
            print(f"- {old}\n+ {new}")
    unasked = [old for olds in kept.values() for old in olds] if every == 1 else []
    print("".join(f"- {old}\n" for old in unasked), end="")
    print(f"{len(now)} reports, {wrong} not as they were, {len(unasked)} not asked")
    return wrong > 0 or len(unasked) > 0


if __name__ == "__main__":
    sys.exit(main())
