#!/usr/bin/env python3
"""Are the reports of audits and derivations what they were?

    tests/audit/reports.py CLARKE CLARKE-CHECK [--write]

Audits the quick cases of cases/audit, and the models of tests/kernel/data with the batch, loss, parameters and profile of their
proofs; derives programs.txt, and programs drawn here. Compares each exit status and report with its line in reports.jsonl, and
has each proof of a program checked. --write makes the file anew: read what changed, and why, before it is committed. What is
true is what the other tests ask.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = HERE / "reports.jsonl"


def shipped():
    """Options of `clarke audit` by case."""
    folder = ROOT / "cases/audit"
    for case in json.loads((folder / "cases.json").read_text())["cases"]:
        if not case.get("slow"):
            params = ["--params", folder / case["params"]] if case.get("params") else []
            yield case["name"], [folder / case["model"], "--batch", folder / case["batch"], "--loss", case["loss"], *params]


def of_proofs(profile):
    """The same for proofs by hand, each question once; their proxies and ties become the profile."""
    folder, asked = ROOT / "tests/kernel/data", set()
    for proof in sorted(folder.glob("*.proof")):
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


def derivation(clarke, check, folder, point, text):
    """The options' words that are asked for, the exit status, the output; and whether its proof, if any, is verified."""
    program, proof = folder / "p.prog", folder / "p.proof"
    program.write_text(text + "\n")
    proof.unlink(missing_ok=True)
    at = [word for entry in point.split(" ")
          for word in (("--wrt", entry[4:]) if entry.startswith("wrt=") else ("--at", entry))]
    done = subprocess.run([clarke, "derive", program, *at, "--json", "--proof", proof], capture_output=True, text=True)
    if proof.exists() and subprocess.run([check, proof], stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"the proof is not verified: {point}: {text}")
    return done


def reports(clarke, check):
    with tempfile.TemporaryDirectory() as folder:
        audits = ((name, subprocess.run([clarke, "audit", *options, "--json"], capture_output=True, text=True))
                  for name, options in chain(shipped(), of_proofs(Path(folder) / "profile")))
        derived = ((f"{point}: {text}", derivation(clarke, check, Path(folder), point, text)) for point, text in programs())
        for name, done in chain(audits, derived):
            said = done.stderr.replace(str(ROOT) + "/", "").replace(folder + "/", "").strip()
            report = json.loads(done.stdout) if done.returncode in (0, 1, 3) else said
            yield json.dumps({"case": name, "status": done.returncode, "report": report}, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clarke")
    parser.add_argument("check", metavar="clarke-check")
    parser.add_argument("--write", action="store_true", help="make the file of reports anew")
    options = parser.parse_args()
    now = list(reports(options.clarke, options.check))
    if options.write:
        KEPT.write_text("\n".join(now) + "\n")
        return 0
    kept = KEPT.read_text().splitlines()
    wrong = 0
    for old, new in zip(kept, now):
        if old != new:
            wrong += 1
            print(f"- {old}\n+ {new}")
    print(f"{len(now)} reports, {wrong} not as they were")
    return wrong > 0 or len(kept) != len(now)


if __name__ == "__main__":
    sys.exit(main())
