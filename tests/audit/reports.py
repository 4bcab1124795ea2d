#!/usr/bin/env python3
"""Are the reports of audits what they were?

    tests/audit/reports.py CLARKE [--write]

Audits the quick cases of cases/audit, and the models of tests/kernel/data with the batch, loss, parameters and profile of their proofs;
compares each exit status and report with its line in reports.jsonl. --write makes the file anew: read what changed, and why,
before it is committed. It says nothing of what is true; other tests do.
"""
import argparse
import json
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


def reports(clarke):
    with tempfile.TemporaryDirectory() as folder:
        for name, options in chain(shipped(), of_proofs(Path(folder) / "profile")):
            done = subprocess.run([clarke, "audit", *options, "--json"], capture_output=True, text=True)
            said = done.stderr.replace(str(ROOT) + "/", "").replace(folder + "/", "").strip()
            report = json.loads(done.stdout) if done.returncode in (0, 1, 3) else said
            yield json.dumps({"case": name, "status": done.returncode, "report": report}, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clarke")
    parser.add_argument("--write", action="store_true", help="make the file of reports anew")
    options = parser.parse_args()
    now = list(reports(options.clarke))
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
