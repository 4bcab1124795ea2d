"""Audits networks on minibatches and prints what was found as Markdown tables (docs/findings.md).

Usage: python tests/bench/survey.py BUILD FOLDER [--split N] [--parts K] [--check] [NET...]

BUILD is a built meson folder. FOLDER holds NET.onnx, its minibatches NET-0.npz, NET-1.npz, ...,
and variants NET-fp16.onnx, NET-bf16.onnx, NET-pruned.onnx and NET-ternary.onnx of it, which are
audited on the same minibatches: what tools/train/published.py writes. NET... chooses some. One
process at a time, on one thread; times are processor times of whole processes.

--split N cuts every minibatch into minibatches of N samples (the first K) and counts the verdicts.
--check verifies every proof by clarke-check, in --memory GiB and --seconds at most.
"""

import argparse
import collections
import json
import os
import re
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np

VARIANTS = ("fp16", "bf16", "pruned", "ternary")


def run(command, memory=None, seconds=None):
    """Exit status, standard output, last line of errors, processor seconds and peak MB."""
    limits = [(resource.RLIMIT_AS, memory and int(memory * 2**30)), (resource.RLIMIT_CPU, seconds)]

    def restrict():
        for kind, limit in limits:
            if limit is not None:
                resource.setrlimit(kind, (limit, limit))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err,
                                 env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                                 preexec_fn=restrict)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return (child.returncode, out.read(), err.read().decode(errors="replace").strip(),
                used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


class Survey:
    def __init__(self, options):
        self.tools, self.options = options.build.resolve() / "tools", options

    def audit(self, model, batch, proof):
        status, out, err, seconds, memory = run(
            [self.tools / "clarke", "audit", model, "--batch", batch, "--loss", "ce", "--threads",
             "1", "--json", "--proof", proof])
        if status not in (0, 1, 3):
            raise SystemExit(f"{model.name} on {batch.name}: status {status}: {err}")
        return json.loads(out), seconds, memory

    def check(self, proof, folder):
        if not proof.exists():
            return "no proof"
        status, _, err, seconds, memory = run(
            [self.tools / "clarke-check", proof, "--data", folder], self.options.memory,
            self.options.seconds)
        if status == 0:
            return f"verified: {seconds:.1f} s, {memory:.0f} MB"
        why = err.splitlines()[-1] if err else f"status {status}"
        return f"not verified: {why} ({seconds:.0f} s)"


def layers(audit, pools):
    return [layer for layer in audit["layers"] if (layer["op"] == "MaxPool") == pools]


def listed(values):
    values = [str(v) for v in values]
    return ", ".join(values) if any(v != "0" for v in values) else "0"


def share(part, whole):
    return 0 if part == 0 else f"{100 * part / whole:.2g}%"


def systems(audit):
    """The layers whose P_l is empty or not decided."""
    found = [f"{layer['name']} {'empty' if layer['system']['feasible'] is False else 'not decided'}"
             for layer in audit["layers"] if layer["system"]["feasible"] is not True and layer["system"]["pool"] is None]
    return ", ".join(found) or "none"


def theorem(audit, name):
    entry, = [t for t in audit["theorems"] if t["name"] == name]
    return {True: "holds", False: "fails", None: "not decided"}[entry["holds"]]


def row(survey, model, batch):
    with tempfile.TemporaryDirectory() as folder:
        proof = Path(folder) / "proof"
        audit, seconds, memory = survey.audit(model, batch, proof)
        checked = survey.check(proof, model.parent) if survey.options.check else None
    pools, n = layers(audit, True), audit["batch"]
    cells = [model.stem, batch.stem.rsplit("-", 1)[1],
             listed(layer["touched"] for layer in layers(audit, False)),
             listed(share(layer["ties"], n * layer["neurons"]) for layer in pools),
             listed(layer["touched"] for layer in pools), systems(audit),
             theorem(audit, "global system"), audit["verdict"], f"{seconds:.2f}", f"{memory:.0f}"]
    print("| " + " | ".join(cells + ([checked] if checked else [])) + " |", flush=True)
    return audit


def table(survey, models):
    titles = ["network", "batch", "ReLUs touched", "windows tied, by pool", "touched",
              "P_l not feasible", "global system", "verdict", "s", "MB"] + ["clarke-check"] * survey.options.check
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    why = collections.Counter()
    for model, batches in models:
        for batch in batches:
            audit = row(survey, model, batch)
            why[f"{audit['verdict']}: {audit['why']}"] += 1
    print()
    for reason, n in why.most_common():
        print(f"- {n} x {reason}")


def parts(batch, n, most, folder):
    """The minibatch's first parts of n samples, each a file."""
    arrays = np.load(batch)
    x, y = arrays["x"], arrays["y"]
    for k in range(min(most, len(x) // n)):
        path = Path(folder) / f"part-{k}.npz"
        np.savez(path, x=x[k * n:(k + 1) * n], y=y[k * n:(k + 1) * n])
        yield path


def split(survey, models):
    print("| network | batch | samples | parts | touched a part | layers with an empty P_l | "
          "verdicts | proofs verified |\n" + "|---" * 8 + "|")
    for model, batches in models:
        for batch in batches:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                (folder / model.name).write_bytes(model.read_bytes())
                verdicts, touched, empty, verified = collections.Counter(), [], 0, 0
                for part in parts(batch, survey.options.split, survey.options.parts, folder):
                    proof = folder / "proof"
                    proof.unlink(missing_ok=True)
                    audit, _, _ = survey.audit(model, part, proof)
                    verdicts[audit["verdict"]] += 1
                    touched.append(audit["touched"])
                    empty += any(layer["system"]["feasible"] is False for layer in audit["layers"])
                    verified += survey.options.check and \
                        survey.check(proof, folder).startswith("verified")
                print(f"| {model.stem} | {batch.stem.rsplit('-', 1)[1]} | {survey.options.split} "
                      f"| {len(touched)} | {min(touched)} .. {max(touched)} | {empty} | "
                      f"{', '.join(f'{n} {v}' for v, n in verdicts.most_common())} "
                      f"| {verified if survey.options.check else '-'} |", flush=True)


def chosen(options):
    """Each model with its minibatches."""
    for model in sorted(options.folder.glob("*.onnx")):
        base = re.sub(f"-({'|'.join(VARIANTS)})$", "", model.stem)
        if not options.net or model.stem in options.net:
            yield model, sorted(options.folder.glob(f"{base}-[0-9].npz"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="a built meson folder")
    parser.add_argument("folder", type=Path, help="networks and minibatches")
    parser.add_argument("net", nargs="*")
    parser.add_argument("--split", type=int, help="samples of a part")
    parser.add_argument("--parts", type=int, default=32)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--memory", type=float, default=4, help="GiB for clarke-check")
    parser.add_argument("--seconds", type=int, default=600, help="for clarke-check")
    return parser.parse_intermixed_args()


def main():
    options = arguments()
    survey, models = Survey(options), list(chosen(options))
    (split if options.split else table)(survey, models)


if __name__ == "__main__":
    main()
