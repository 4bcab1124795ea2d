"""Do both checkers agree about every stored proof?

    python3 tests/verified/stored.py CLARKE-CHECK CLARKE-CHECK-VERIFIED

What clarke-check verifies, the proved kernel verifies as well, or it says why the proof is outside of its reach; and
nothing else. The reasons are counted. At least LEAST proofs are in its reach; of LIPSCHITZ of them it proves as well that F is
Lipschitz near the point.

Of networks it reads the tape that clarke-check prints of the proof. At least NETWORKS proofs of proofs-data are in its reach, and
SMALL of the tests'. Among these are wrong ones, and right ones that it rejects: a kink that rests has any slope there, and a mean
of ties is more than it knows. What it verifies, clarke-check verifies, too, but for what the kernel does not read (proofs.is_apart).

The table of docs/trust.md, by what is stated, must have the numbers of shipped proofs that are found here.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import sys
import tempfile
from pathlib import Path

import proofs

LEAST = 292
LIPSCHITZ = 241
NETWORKS = 61
SMALL = 224


# Rows of docs/trust.md, by the second line of proofs and what they are about.
ABOUT = {"program": "programs", "model": "networks", "network": "networks unrolled", "formula": "networks of formulas"}
CLAIMS = {"arrangement": "arrangements", "direction": "directions", "identity": "identities", "patterns": "patterns of training steps",
          "record": "recorded steps", "regions": "regions", "segment": "segments", "stepped": "recorded steps of optimizers",
          "update": "steps of optimizers"}


def row_of(proof):
    """What a shipped proof states, as docs/trust.md calls it; None of the tests' own."""
    if proofs.ROOT not in proof.parents:
        return None
    text = proof.read_bytes()
    word, what = text.split(b"\n")[1].decode().split(" ")[:2]
    return CLAIMS[what] if word == "claim" else f"{ABOUT[proofs.about(text)]}, {what}"


def wrong_rows(shipped, proved):
    """What docs/trust.md does not have."""
    page = (proofs.ROOT / "docs/trust.md").read_text()
    rows = {label: f"| {label} | {n} | {proved[label]} | {n - proved[label]} |" for label, n in sorted(shipped.items())}
    return [f"docs/trust.md has no row '{row}'" for row in rows.values() if row not in page]


def of_network(asked, proof, folder, work):
    """What both say of a proof about a network: (why it is not asked about, theirs, the kernel's line)."""
    tape = Path(work) / f"{folder.name}-{proof.stem}.tape"
    try:
        if not proofs.tape(asked.check, proof, folder, tape):
            return "a network without a tape", "", ""
        _, line, _ = proofs.says(asked.verified, proof, tape, "--tape")
    finally:
        tape.unlink()
    return None, proofs.says(asked.check, proof, folder)[1], line


def networks(asked, known):
    """Asks both about networks; (counts, failures, rows of what is verified)."""
    counts, failed, proved = collections.Counter(), [], collections.Counter()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda x: of_network(asked, *x, work), known)
        for (proof, _), (why, theirs, ours) in zip(known, answers):
            part = "proofs-data" if "proofs-data" in proof.parts else "the tests'"
            if why or ours.startswith("OUTSIDE"):
                counts[f"{part}: {why or ours.removeprefix('OUTSIDE: ')}"] += 1
            elif ours == "VERIFIED" and theirs != "VERIFIED":
                counts[f"{part}: verified by the kernel, and refused for what it does not read"] += 1
                if not proofs.is_apart(proof.read_bytes(), theirs):
                    failed.append(f"{proof.name}: the proved kernel verifies what clarke-check refuses: {theirs}")
            elif ours == theirs:
                counts[f"{part}: verified by both"] += 1
                proved[row_of(proof)] += 1
            elif theirs == "VERIFIED":
                counts[f"{part}: rejected by the kernel alone"] += 1
                if part == "proofs-data":
                    failed.append(f"{proof.name}: clarke-check verifies it, the proved kernel says '{ours}'")
            else:
                counts[f"{part}: refused by both"] += 1
    for part, least in ("proofs-data", NETWORKS), ("the tests'", SMALL):
        if counts[f"{part}: verified by both"] < least:
            failed.append(f"at least {least} proofs of {part} about networks are in reach")
    return counts, failed, proved


def main():
    """Asks both; a disagreement fails."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("check")
    arguments.add_argument("verified")
    asked = arguments.parse_args()
    counts, failed, verified, lipschitz, of_networks = collections.Counter(), [], 0, 0, []
    shipped, proved = collections.Counter(), collections.Counter()
    for proof, folder in proofs.stored():
        text = proof.read_bytes()
        shipped[row_of(proof)] += 1
        if proofs.about(text) == "model" and re.match(rb"clarke-proof 1\nverdict ", text):
            of_networks.append((proof, folder))
        elif proofs.about(text) != "program":
            counts[f"a proof about a {proofs.about(text)}"] += 1
        if proofs.about(text) != "program":
            continue
        word, line, last = proofs.says(asked.verified, proof, folder)
        theirs, _, _ = proofs.says(asked.check, proof, folder)
        if word == "OUTSIDE":
            counts[line.removeprefix("OUTSIDE: ")] += 1
        elif (word == "VERIFIED") != (theirs == "VERIFIED"):
            failed.append(f"{proof.name}: clarke-check says {theirs}, the proved kernel '{line}'")
        elif word == "VERIFIED":
            verified += 1
            proved[row_of(proof)] += 1
            lipschitz += last == "F is Lipschitz near w."
        else:
            counts["refused by both"] += 1
    for reason, n in sorted(counts.items()):
        print(f"{n:5}  {reason}")
    print(f"{verified:5}  verified by both\n{lipschitz:5}  of them with the proof that F is Lipschitz")
    counts, more, of_them = networks(asked, of_networks)
    del shipped[None]
    failed += more + wrong_rows(shipped, proved + of_them)
    print("of networks:")
    for reason, n in sorted(counts.items()):
        print(f"{n:5}  {reason}")
    if verified < LEAST or lipschitz < LIPSCHITZ:
        failed.append(f"at least {LEAST} proofs are in reach, {LIPSCHITZ} with the proof that F is Lipschitz")
    print("\n".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
