"""What trees of sides cost: audits whose verdict stays open, or hangs on a tree, by two programs.

Usage: python tests/bench/trees.py CLARKE OTHER [--limit N] [MODEL:BATCH ...]

CLARKE and OTHER are two builds' `clarke`, OTHER an earlier one, say. Prints each verdict, processor seconds and their
ratio; of the first also systems solved, and dead ends that a Gordan vector met before had refuted (undecided ones).
--limit N: nodes of a tree. Without MODEL:BATCH the shipped cases that were undecided, and those decided by a bound.
"""

import argparse
import json
import os
import resource
import subprocess
from pathlib import Path

CASES = Path(__file__).resolve().parents[2] / "cases/audit"
SHIPPED = ["lenet-pruned:images", "lenet-ternary:images-binary", "lenet-overlap-q:images", "lenet-q:images",
           "lenet-ternary:images-384", "lenet-q6:images-96", "lenet-overlap-q6:images-384"]


def audit(clarke, model, batch, options):
    """The report, and processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([clarke, "audit", model, "--batch", batch, "--loss", "ce", "--threads", "1", "--json", *options],
                         capture_output=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in (0, 1, 3):
        raise SystemExit(run.stderr.decode())
    return json.loads(run.stdout), after.ru_utime - before.ru_utime


def files(name):
    model, batch = name.split(":")
    if model.endswith(".onnx"):
        return Path(model), Path(batch)
    return CASES / f"{model}.onnx", CASES / f"{batch}.npz"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clarke")
    parser.add_argument("other")
    parser.add_argument("names", nargs="*", default=SHIPPED, metavar="MODEL:BATCH")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    limit = ["--limit", f"tree-nodes={options.limit}"] if options.limit else []
    print("| network | batch | touched | other | s | now | s | ratio | systems | recalled |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.names:
        model, batch = files(name)
        one, seconds = audit(options.clarke, model, batch, limit)
        other, base = audit(options.other, model, batch, [])
        found = one.get("obstacle", {})
        print(f"| {model.stem} | {batch.stem} | {one['touched']} | {other['verdict']} | {base:.2f} | {one['verdict']} | "
              f"{seconds:.2f} | {seconds / base:.2f} | {found.get('systems', '')} | {found.get('recalled', '')} |",
              flush=True)


if __name__ == "__main__":
    main()
