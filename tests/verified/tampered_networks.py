"""Proofs about networks with drawn edits: does the proved kernel accept one that clarke-check refuses, or that is false?

    python3 tests/verified/tampered_networks.py CLARKE-CHECK CLARKE-CHECK-VERIFIED [--number N] [--seed N] [--show]

Each is a stored proof about a small network, which both verify, in which one to three lines changed: a number, a verdict, a rule, the loss, what varies.
Of one in four it is bytes of the model or of the batch. The proof is sealed again, and both are asked: the kernel of the tape that
clarke-check prints of the proof. They must give one answer, but for two things. What clarke-check verifies may be outside of the
kernel's reach, or more than it knows. What it refuses the kernel may not read (proofs.is_apart). Such a proof is true all the same:
clarke-check is asked about its statement with the stored proof's evidence, and with the number of touched kinks that it counts itself. Those
of which it does not say so then are counted apart, and printed with --show, as are proofs on which they differ otherwise.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import io
import os
import random
import re
import sys
import tempfile
import zipfile
from pathlib import Path

import proofs
import tampered

LARGEST = 40000  # bytes of a model
LONGEST = 100000  # of a tape
LOSSES = ["sum", "mse", "ce"]


def known():
    """(proof, folder) of those about small networks, with a verdict and evidence that the kernel reads."""
    found = []
    for proof, folder in proofs.stored():
        text = proof.read_bytes()
        model = re.search(rb"^model (\S+) ", text, re.M)
        evidence = re.search(rb"^evidence (ad|hull|mix|separator|bound)\b", text, re.M)
        if not model or not evidence or not re.match(rb"clarke-proof 1\nverdict (in-bouligand|in-clarke|not-in-clarke)\n", text):
            continue
        size = (folder / model[1].decode()).stat().st_size if (folder / model[1].decode()).exists() else LARGEST + 1
        if size <= LARGEST:
            found.append((proof, folder))
    return found


def both(asked, proof, folder, tape):
    """What both say: (clarke-check's line, the kernel's line, why the kernel is not asked)."""
    theirs = proofs.says(asked.check, proof, folder)[1]
    if not proofs.tape(asked.check, proof, folder, tape):
        return theirs, "", "no tape"
    ours = proofs.says(asked.verified, proof, tape, "--tape")[1]
    return theirs, ours, ""


def in_reach(asked, proof, folder, tape):
    """Do both verify the stored proof, of a short tape? (Remembered.)"""
    if proof not in asked.reach:
        short = proofs.tape(asked.check, proof, folder, tape) and tape.stat().st_size <= LONGEST
        asked.reach[proof] = short and both(asked, proof, folder, tape) == ("VERIFIED", "VERIFIED", "")
    return asked.reach[proof]


def edit(draw, lines):
    """One change: to the loss or to what varies, or as in programs' proofs."""
    at = draw.randrange(len(lines))
    if lines[at].startswith("loss ") and draw.random() < 0.5:
        lines[at] = "loss " + draw.choice(LOSSES)
    elif lines[at].startswith("wrt ") and draw.random() < 0.5:
        names = sorted({line.split(" ")[1] for line in lines if line.startswith(("move ", "v "))})
        lines[at] = "wrt " + " ".join(draw.sample(names, draw.randint(1, len(names))) if names else ["*"])
    else:
        tampered.edit(draw, lines)


def changed_bytes(draw, data):
    """One to four bytes are others. (Of an archive of arrays, in one of them: its checksums are made anew.)"""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
        which = draw.randrange(len(members))
        to = io.BytesIO()
        with zipfile.ZipFile(to, "w") as archive:
            for i, (name, array) in enumerate(members):
                start = 10 + int.from_bytes(array[8:10], "little")
                if i == which and len(array) > start:
                    array = array[:start] + changed_bytes(draw, b"\0" + array[start:])[1:]
                archive.writestr(zipfile.ZipInfo(name), array)
        return to.getvalue()
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(1, len(data))] = draw.choice([0, 0x80, 0x3F, 0xBF, draw.randrange(256)])
    return bytes(data)


def change_input(draw, lines, folder, to):
    """The model or the batch in other bytes, in the folder `to`, and its name's hash."""
    to.mkdir()
    named = [i for i, line in enumerate(lines) if re.match(r"(model|batch) \S+ [0-9a-f]{64}$", line)]
    which = draw.choice(named)
    for i in named:
        kind, name, digest = lines[i].split(" ")
        data = (folder / name).read_bytes()
        if i == which:
            data = changed_bytes(draw, data)
            digest = hashlib.sha256(data).hexdigest()
        (to / name).write_bytes(data)
        lines[i] = f"{kind} {name} {digest}"


def drawn(seed, asked, stored, work):
    """A proof with edits: (its bytes, the folder of its inputs, the proof that it was)."""
    draw = random.Random(seed)
    proof, folder = draw.choice(stored)
    while not in_reach(asked, proof, folder, Path(work) / f"{seed}.tape"):
        proof, folder = draw.choice(stored)
    lines = proof.read_text().splitlines()[:-1]
    before = list(lines)
    if draw.random() < 0.25:
        to = Path(work) / f"{seed}"
        change_input(draw, lines, folder, to)
        folder = to
    else:
        for _ in range(draw.randint(1, 3)):
            edit(draw, lines)
            if len(lines) < 6:
                break
    return (proofs.sealed(lines) if lines != before else None), folder, proof


STATEMENT = ("clarke-proof", "verdict", "semantics", "model", "output", "constants", "params", "batch", "samples", "tape", "fingerprint",
             "loss", "wrt", "profile", "proxy", "tie")


def is_true(asked, text, stored, folder, path):
    """Does clarke-check verify what the proof states, by the stored proof's evidence?"""
    mine, theirs = text.decode().splitlines()[:-1], stored.read_text().splitlines()[:-1]
    at = [next((i for i, line in enumerate(lines) if line.startswith("evidence ")), len(lines)) for lines in (mine, theirs)]
    head = [line for line in mine[:at[0]] if line.split(" ")[0] in STATEMENT]
    for touched in range(2):
        count = [line for line in theirs if line.startswith("touched ")] if not touched else [f"touched {said[1]}"]
        path.write_bytes(proofs.sealed([*head, *count, *theirs[at[1]:]]))
        line = proofs.says(asked.check, path, folder)[1]
        said = re.search(r"the number of touched kinks is ([0-9]+)", line)
        if not said:
            break
    return line == "VERIFIED"


def ask(task):
    """Both answers to the seed's proof."""
    asked, seed, stored, work = task
    text, folder, proof = drawn(seed, asked, stored, work)
    if text is None:
        return None
    path = Path(work) / f"{seed}.proof"
    path.write_bytes(text)
    tape = Path(work) / f"{seed}.tape"
    theirs, ours, why = both(asked, path, folder, tape)
    if ours == "VERIFIED" and theirs != "VERIFIED":
        why = "true" if is_true(asked, text, proof, folder, path) else "alone"
    path.unlink()
    tape.unlink(missing_ok=True)
    return seed, proof, (theirs, ours, why), text


def verdict_of(theirs, ours, why, text):
    """(what is counted, whether it is a fault)"""
    if why == "no tape":
        return f"no tape, clarke-check {'VERIFIED' if theirs == 'VERIFIED' else 'refused'}", theirs == "VERIFIED"
    if ours == "VERIFIED" and theirs != "VERIFIED":
        apart = proofs.is_apart(text, theirs)
        known = "by the stored evidence clarke-check does, too" if why == "true" else "clarke-check has no evidence for it"
        return "the kernel alone verifies, " + (f"what is refused it does not read; {known}" if apart else "NOT KNOWN WHY"), not apart
    if ours.startswith("OUTSIDE"):
        return f"outside, clarke-check {'VERIFIED' if theirs == 'VERIFIED' else 'refused'}", False
    if theirs == "VERIFIED":
        return "verified by both" if ours == "VERIFIED" else "clarke-check alone verifies: more than the kernel knows", False
    return "refused by both", False


def main():
    """Draws; counts the answers; fails where the kernel says more than clarke-check, and what it reads is refused."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("check")
    arguments.add_argument("verified")
    arguments.add_argument("--number", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", action="store_true")
    asked = arguments.parse_args()
    asked.reach = {}
    stored, counts, reasons, faults, more = known(), collections.Counter(), collections.Counter(), [], []
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for answer in pool.map(ask, ((asked, asked.seed * 1000003 + i, stored, work) for i in range(asked.number))):
            if answer is None:
                counts["no change"] += 1
                continue
            seed, proof, (theirs, ours, why), text = answer
            what, fault = verdict_of(theirs, ours, why, text)
            counts[what] += 1
            if what.startswith("the kernel alone"):
                reasons[re.sub(r"line [0-9]+|'[^']*'|[0-9]+", "..", theirs)] += 1
            if what.startswith("clarke-check alone") or what.endswith("no evidence for it"):
                more.append((seed, proof.name, what, theirs, text))
            if fault:
                faults.append((seed, proof.name, theirs, ours, text))
    for what, n in [*sorted(counts.items()), *(("   " + reason, n) for reason, n in reasons.most_common())]:
        print(f"{n:6}  {what}")
    for seed, name, theirs, ours, text in faults:
        print(f"seed {seed}, {name}: clarke-check says '{theirs}', the kernel '{ours}'")
        if asked.show:
            print(text.decode())
    if asked.show:
        for seed, name, what, theirs, text in more:
            print(f"seed {seed}, {name}: {what} ({theirs})\n{text.decode()}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
