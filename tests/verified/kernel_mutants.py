"""Which small changes to the C kernel does the proved kernel notice?

    python3 tests/verified/kernel_mutants.py CLARKE-CHECK CLARKE-CHECK-VERIFIED [--number N] [--seed N] [--pool N] [--folder DIR]

A change (tests/mutation/mutants.py) is planted in a rule of evidence of lib/check/kernel. The checker with it is asked about a pool
of proofs about small networks: stored ones, and ones with drawn edits (tampered_networks.py), of which both kernels say the same as
it is. The proved kernel notices the change where they differ then: where clarke-check verifies what the proved kernel rejects, or
refuses what that verifies. What it does not notice is printed. It may concern evidence that the proved kernel does not read, or a
message.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import proofs
import tampered_networks

sys.path.append(str(proofs.ROOT / "tests/mutation"))
from mutants import mutants_of  # noqa: E402

ROOM = proofs.ROOT / "lib/check"
# What says that a cell is as it must be, that values and gradients are what they are.
RULES = ["kernel/adjoint.c", "kernel/behind.c", "kernel/bound.c", "kernel/cell.c", "kernel/evaluate.c", "kernel/evidence.c",
         "kernel/gradient.c", "kernel/hull.c", "kernel/jacobian.c", "smooth/line.c", "kernel/mix.c", "kernel/separator.c", "kernel/window.c"]
COMPILE = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-O1", "-w", f"-I{ROOM.parent}", "-c"]
SECONDS = 20  # in which a changed checker has to answer


def compiled(source, to):
    """Compiles one file; does it?"""
    return subprocess.run([*COMPILE, str(source), "-o", str(to)], capture_output=True, check=False).returncode == 0


def objects(folder):
    """The checker's objects, by the names of its files."""
    made = {source: folder / (str(source.relative_to(ROOM)).replace("/", "-") + ".o") for source in sorted(ROOM.rglob("*.c"))}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if not all(pool.map(lambda pair: compiled(*pair), made.items())):
            sys.exit("the checker does not compile")
    return made


def linked(made, to):
    """Links a checker."""
    return subprocess.run([*os.environ.get("CC", "cc").split(), *map(str, made.values()), "-lgmp", "-lpthread", "-lm", "-o", str(to)],
                          capture_output=True, check=False).returncode == 0


def pool_of(asked):
    """Proofs on which both agree: (proof, folder, whether they verify it). The stored ones, and drawn edits."""
    folder = asked.folder / "pool"
    listed = folder / "list.json"
    if listed.exists():
        return json.loads(listed.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    asked.reach, stored = {}, tampered_networks.known()

    def one(i):
        tape, path = folder / f"{i}.tape", folder / f"{i}.proof"
        if i < len(stored):
            kept, data = stored[i]
            if not tampered_networks.in_reach(asked, kept, data, tape):
                return None
            path.write_bytes(kept.read_bytes())
        else:
            text, data, _ = tampered_networks.drawn(asked.seed * 1000003 + i, asked, stored, folder)
            if text is None:
                return None
            path.write_bytes(text)
        theirs, ours, why = tampered_networks.both(asked, path, data, tape)
        tape.unlink()
        if why or ours.startswith("OUTSIDE") or (theirs == "VERIFIED") != (ours == "VERIFIED"):
            return None
        return str(path), str(data), ours == "VERIFIED"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = [x for x in threads.map(one, range(len(stored) + asked.pool)) if x]
    random.Random(1).shuffle(found)
    found.sort(key=lambda x: os.path.getsize(x[0]) > 2000)
    listed.write_text(json.dumps(found))
    return found


def verifies(checker, proof, folder):
    """Does it? One that crashes or does not end does not."""
    try:
        said = subprocess.run([checker, proof, "--data", folder], capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return said.returncode == 0 and said.stdout.startswith(b"VERIFIED")


def noticed(checker, pool, threads):
    """(proofs that it verifies and the proved kernel does not, proofs that it refuses and that one verifies), the first found of each."""
    more = less = None
    for at in range(0, len(pool), 64):
        part = pool[at:at + 64]
        for (proof, _, good), says in zip(part, threads.map(lambda x: verifies(checker, x[0], x[1]), part)):
            more = more or (proof if says and not good else None)
            less = less or (proof if good and not says else None)
        if more or less:
            break
    return more, less


def chosen(number, seed):
    """As many changes of each file as of the others, drawn; those that give another object file."""
    by_file = []
    for name in RULES:
        path = ROOM / name
        source = path.read_text()
        found = list(mutants_of(f"lib/check/{name}", source))
        found.sort(key=lambda m: hashlib.sha256(repr((seed, name, m.operator, *m.change(source))).encode()).digest())
        by_file.append([(path, source, m) for m in found])
    return [by_file[i % len(by_file)][i // len(by_file)] for i in range(number * 2) if i // len(by_file) < len(by_file[i % len(by_file)])]


def judged(asked, pool, made, path, source, mutant):
    """What becomes of one change."""
    where = asked.folder / path.name
    other = dict(made)
    other[path] = asked.folder / "mutant.o"
    where.write_text(mutant.apply(source))
    if not compiled_beside(where, path, other[path]):
        return "does not compile"
    if other[path].read_bytes() == made[path].read_bytes():
        return "the same code"
    checker = asked.folder / "mutant"
    if not linked(other, checker):
        return "does not compile"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        more, less = noticed(str(checker), pool, threads)
    if more:
        return "noticed: it verifies what the proved kernel rejects"
    return "noticed: it refuses what the proved kernel verifies" if less else "not noticed"


def compiled_beside(where, path, to):
    """Compiles a changed copy as if it lay where the file lies."""
    return subprocess.run([*COMPILE, f"-I{path.parent}", str(where), "-o", str(to)], capture_output=True, check=False).returncode == 0


def main():
    """Plants; counts."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("check")
    arguments.add_argument("verified")
    arguments.add_argument("--number", type=int, default=40, help="of changes that are judged (40)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--pool", type=int, default=1000, help="of proofs with drawn edits (1000)")
    arguments.add_argument("--folder", type=Path, default=Path("/tmp/clarke-verified-mutants"))
    asked = arguments.parse_args()
    pool = pool_of(asked)
    print(f"{len(pool)} proofs, {sum(good for _, _, good in pool)} of them verified by both", flush=True)
    made = objects(asked.folder)
    if not linked(made, asked.folder / "plain") or any(verifies(str(asked.folder / "plain"), p, f) != good for p, f, good in pool[:50]):
        sys.exit("the checker as it is does not say what clarke-check says")
    counts, by_file, number = collections.Counter(), collections.Counter(), 0
    for path, source, mutant in chosen(asked.number, asked.seed):
        what = judged(asked, pool, made, path, source, mutant)
        counts[what] += 1
        number += what.startswith(("noticed", "not noticed"))
        if what.startswith(("noticed", "not noticed")):
            by_file[path.name, what.split(":")[0]] += 1
        old, new = mutant.change(source)
        print(f"{what}\n  {mutant.path}:{mutant.line(source)}: {mutant.operator}\n  - {old}\n  + {new}", flush=True)
        if number == asked.number:
            break
    for what, n in sorted(counts.items()):
        print(f"{n:4}  {what}")
    for (name, what), n in sorted(by_file.items()):
        print(f"{n:4}  {name}: {what}")


if __name__ == "__main__":
    main()
