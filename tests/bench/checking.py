#!/usr/bin/env python3
"""What checking a proof costs: the processor time of clarke-check over that of the command that wrote the proof.

    checking.py CLARKE CLARKE-CHECK [--rounds N] [--most RATIO] [--markdown] [NAME...]

Of every case of cases/audit, every record of cases/runs, and the networks of tests/interop (recorded_architectures.py, steps that are
recorded anew, audited and certified; architectures.py, exported). NAME is the begin of a row's name; without one all rows are asked.
Command and checker take turns, and the smallest time of each counts. Prints a row for each, the dearest last, and how many have a
ratio above RATIO (3); default limits are those of clarke-check.
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke", type=os.path.abspath)
PARSER.add_argument("check", type=os.path.abspath)
PARSER.add_argument("names", nargs="*")
PARSER.add_argument("--rounds", type=int, default=3)
PARSER.add_argument("--most", type=float, default=3)
PARSER.add_argument("--markdown", action="store_true")
ASKED = PARSER.parse_args()


def spent(*command):
    """Processor time, and what was printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def row(name, proof, *command):
    """(name, ms, ms, ratio, what is wrong)"""
    asked, checked, wrong = [], [], ""
    for _ in range(ASKED.rounds):
        proof.unlink(missing_ok=True)
        taken, done = spent(ASKED.clarke, *command, "--proof", proof)
        if not proof.exists():
            return (name, 1e3 * taken, 0, 0, "no proof: " + (done.stderr or done.stdout).split("\n", maxsplit=1)[0][:80])
        asked.append(taken)
        taken, done = spent(ASKED.check, proof)
        checked.append(taken)
        if not done.stdout.startswith("VERIFIED"):
            wrong = (done.stdout + done.stderr).split("\n", maxsplit=1)[0][:120]
    return (name, 1e3 * min(asked), 1e3 * min(checked), min(checked) / max(min(asked), 1e-3), wrong)


def cases(folder):
    """Beside the model lies what a proof names, so the case's files are copied there."""
    at = ROOT / "cases/audit"
    for file in at.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    for case in json.loads((at / "cases.json").read_text(encoding="utf-8"))["cases"]:
        more = [word for key in ("params", "profile") if case.get(key) for word in ("--" + key, folder / case[key])]
        more += ["--output", case["output"]] if case.get("output") else []
        yield case["name"], folder / "proof", "audit", folder / case["model"], "--batch", folder / case["batch"], "--loss", case["loss"], *more
    for run in sorted((ROOT / "cases/runs").glob("*/run.json")):
        copy = folder / run.parent.name
        subprocess.run(["cp", "-rL", str(run.parent), str(copy)], check=True)
        yield f"{copy.name}, certified", copy / "proof", "certify", copy
        yield f"{copy.name}, audited", copy / "proof", "audit", copy


def steps(folder):
    """Recorded steps; the module reads its programs from the command line."""
    sys.path.insert(0, str(ROOT / "tests/interop"))
    sys.argv[1:] = [ASKED.clarke, ASKED.check]
    import recorded_architectures as of
    import torch
    for name, make, inputs, loss in of.networks():
        name = f"{name} (recorded)"
        if not wanted(name):
            continue
        torch.manual_seed(0)
        run, model = folder / name.replace(" ", "-"), make()
        given, labels = inputs(), torch.randint(0, of.CLASSES, (of.BATCH,))
        with of.clarke.record(str(run), model):
            loss(model(*given), labels).backward()
        yield f"{name}, certified", run / "proof", "certify", run
        yield f"{name}, audited", run / "proof", "audit", run


def exports(folder):
    import architectures as of
    import numpy as np
    import torch
    for name, (shape, make) in of.NETWORKS.items():
        if not wanted(name):
            continue
        torch.manual_seed(0)
        net, x = make().eval(), torch.randn(of.BATCH, *shape)
        model, batch = folder / f"{name}.onnx", folder / f"{name}.npz"
        with contextlib.redirect_stdout(sys.stderr):
            of.export(net, x, model, True, name.endswith("-symbolic"))
        np.savez(batch, x=x.numpy())
        yield name, folder / f"{name}.proof", "audit", model, "--batch", batch, "--loss", "sum"


def wanted(name):
    return not ASKED.names or any(name.startswith(n) for n in ASKED.names)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for i, source in enumerate((cases, steps, exports)):
            folder = pathlib.Path(temporary) / str(i)
            folder.mkdir()
            for name, proof, *command in source(folder):
                if wanted(name):
                    rows.append(row(name, proof, *command))
                    print("%-50s %9.1f %9.1f %7.2f %s" % rows[-1], file=sys.stderr, flush=True)
    form = "| %s | %.1f | %.1f | %.2f | %s |" if ASKED.markdown else "%-50s %9.1f %9.1f %7.2f %s"
    for found in sorted(rows, key=lambda r: r[3]):
        print(form % found)
    beyond, wrong = sum(r[3] > ASKED.most for r in rows), sum(r[4] != "" for r in rows)
    print(f"{len(rows)} rows: {beyond} above {ASKED.most:g}, {wrong} without a verified proof")
    sys.exit(beyond > 0)


if __name__ == "__main__":
    main()
