"""Compares `clarke` with PyTorch.

Usage: python tests/interop/interop.py [--clarke build/tools/clarke]

(a) PyTorch's proxies at the kinks are those of docs/operators.md.
(b) The interpreter used below agrees with ONNX's reference evaluator.
(c) For every case of cases/audit, and for small models that use every operator, the loss and the
    gradient that `clarke audit` computes exactly are PyTorch's in float64, up to rounding; for the
    cases the verdict and the number of touched kinks are those of cases.json too.
(d) For random programs, value and AD's output of `clarke derive` are PyTorch's; its replay in
    float32 and float64 is PyTorch's bit for bit.
(e) Models that mix the samples of a minibatch are refused by `clarke` and `clarke-check`, which stands beside it; of others
    the loss is that of ONNX's reference evaluator.
(f) Recurrent layers as PyTorch's exporters write them have PyTorch's gradients, and `clarke-check` verifies their proofs.
(g) The script of docs/tutorial.md runs, and the audit of what it saves is as in (c).

Prints one line a check, and `N passed, N failed` last; the exit status is 1 if any failed.
"""

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file

from graphs import graphs
from interpreter import Model, float64, loss_and_gradient
from mixing import check_mixing
from programs import check_programs
from proxies import check_proxies
from recurrent import check_recurrent
from report import Report

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "check"))
from transposed import ConvTranspose  # noqa: E402

CASES = ROOT / "cases" / "audit"
RELATIVE = 1e-9
STATUS = {"in-bouligand": 0, "in-clarke": 0, "not-in-clarke": 1, "undecided": 3}


def load_batch(path):
    with np.load(path) as archive:
        return dict(archive)


def reference_outputs(path, x, batched, output=None):
    """What ONNX's own evaluator gives, a sample at a time: models may fix the batch to 1."""
    evaluator = ReferenceEvaluator(str(path), new_ops=[ConvTranspose])
    name, wanted = evaluator.input_names[0], None if output is None else [output]
    if any(a.name == "training_mode" and a.i for n in evaluator.proto_.graph.node for a in n.attribute):
        samples = [x] if batched else x  # its samples are normalized together
        outs = [evaluator.run(wanted, {name: s})[0] for s in samples]
        return outs[0] if batched else np.stack(outs)
    samples = [x[i:i + 1] if batched else x[i] for i in range(len(x))]
    outs = [evaluator.run(wanted, {name: s})[0] for s in samples]
    return np.concatenate(outs) if batched else np.stack(outs)


def check_interpreter(report, name, path, batch, output=None):
    model = Model(path, output=output)
    if model.opset < 13 and any(n.op_type == "Softmax" for n in model.proto.graph.node):
        return  # the reference evaluator reads every Softmax as opset 13 does
    ours = model.run(float64(batch["x"])).detach().numpy()
    batched = batch["x"].ndim == len(model.input.type.tensor_type.shape.dim)
    theirs = reference_outputs(path, batch["x"], batched, output)
    ok = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    report.check(ok, f"{name}: the interpreter and ONNX's reference evaluator",
                 "they give different outputs")


# As the interpreter has them: torch.amax, torch.maximum.
TIES = "".join(f"tie {name} mean\n" for name in ("ReduceMax", "ReduceMin", "Maximum", "Minimum")) + "tie TopK first\n"


class Audit:
    """One run of `clarke audit`; `problem` says why there is nothing to compare."""

    def __init__(self, clarke, folder, model, batch, loss, params=None, profile=None, output=None):
        gradient = folder / "gradient.safetensors"
        gradient.unlink(missing_ok=True)
        command = [clarke, "audit", model, "--batch", batch, "--loss", loss,
                   "--gradient", gradient, "--json"] + (["--params", params] if params else [])
        if profile is not None:  # what a file does not say
            command += ["--profile", folder / "own.profile"]
            (folder / "own.profile").write_text(profile)
        if output is not None:
            command += ["--output", output]
        self.problem = self.json = None
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                                  timeout=300)
            self.status = done.returncode
            if self.status not in STATUS.values():
                said = done.stderr.strip() or "nothing on standard error"
                self.problem = f"exit status {self.status}: {said}"
                return
            self.json = json.loads(done.stdout)
            self.gradient = load_file(gradient)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            self.problem = f"{type(error).__name__}: {error}"
        except Exception as error:  # safetensors raises its own class
            self.problem = f"{gradient.name}: {error}"


def wrong_gradient(got, expected):
    """None, or how the gradient differs."""
    if set(got) != set(expected):
        return f"tensors {sorted(got)}, expected {sorted(expected)}"
    scale = max((np.abs(g).max(initial=0) for g in expected.values()), default=0)
    for name, g in expected.items():
        if got[name].dtype != np.float64 or got[name].shape != g.shape:
            return f"{name} is {got[name].dtype} {got[name].shape}, expected float64 {g.shape}"
        off = np.abs(got[name] - g)
        if off.max(initial=0) > RELATIVE * scale:
            i = np.unravel_index(off.argmax(), g.shape)
            return (f"{name}{list(map(int, i))} is {got[name][i]!r}, PyTorch {g[i]!r} "
                    f"(largest entry {scale:.3g})")
    return None


def check_audit(report, name, audit, model, batch, loss):
    if not report.check(audit.problem is None, f"{name}: clarke audit", audit.problem):
        return
    value, gradient = loss_and_gradient(model, batch, loss)
    text = audit.json.get("loss", {}).get("value")
    try:
        ok = abs(float(Fraction(text)) - value) <= RELATIVE * max(1, abs(value))
    except (TypeError, ValueError):
        ok = False
    report.check(ok, f"{name}: loss", f"clarke {text!r}, PyTorch {value!r}")
    wrong = wrong_gradient(audit.gradient, gradient)
    report.check(wrong is None, f"{name}: gradient", wrong)


def check_expected(report, name, audit, case):
    """The verdict and the count of the manifest."""
    verdict = audit.json.get("verdict")
    ok = verdict == case["verdict"] and audit.status == STATUS[verdict]
    report.check(ok, f"{name}: verdict", f"{verdict} with exit status {audit.status}, expected "
                 f"{case['verdict']}")
    touched = sum(layer["touched"] for layer in audit.json.get("layers", []))
    report.check(touched == case["touched"], f"{name}: touched kinks",
                 f"{touched}, expected {case['touched']}")


def check_cases(report, clarke, folder):
    for case in json.loads((CASES / "cases.json").read_text())["cases"]:
        name, path, batch_path = case["name"], CASES / case["model"], CASES / case["batch"]
        params = CASES / case["params"] if "params" in case else None
        batch = load_batch(batch_path)
        if params is None:
            check_interpreter(report, name, path, batch, case.get("output"))
        if clarke is None:
            continue
        profile = (CASES / case["profile"]).read_text() if "profile" in case else None
        audit = Audit(clarke, folder, path, batch_path, case["loss"], params, profile, case.get("output"))
        model = Model(path, load_file(params) if params else None, case.get("output"), straight=profile is not None)
        check_audit(report, name, audit, model, batch, case["loss"])
        if audit.problem is None:
            check_expected(report, name, audit, case)


def check_graphs(report, clarke, folder):
    for name, path, batch_path, loss in graphs(folder):
        batch = load_batch(batch_path)
        check_interpreter(report, name, path, batch)
        if clarke is not None:
            audit = Audit(clarke, folder, path, batch_path, loss, profile=TIES if "extreme" in name or "sorted" in name else None)
            check_audit(report, name, audit, Model(path), batch, loss)


# The packages that a script has loaded: its last line.
LOADED = """
import sys, importlib.metadata
owners = importlib.metadata.packages_distributions()
print(*{d.lower().replace("_", "-") for name in {m.split(".")[0] for m in list(sys.modules)} for d in owners.get(name, ())})
"""


def needed_by(names):
    """These packages, and all that come with them."""
    found, ahead = set(), list(names)
    while ahead:
        name = ahead.pop().lower().replace("_", "-")
        if name not in found:
            found.add(name)
            try:
                wanted = importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:  # for another system
                continue
            ahead += [re.match(r"[\w.-]+", one).group() for one in wanted if "extra ==" not in one]
    return found


def check_tutorial(report, clarke, folder):
    """The first script of the tutorial, run; the networks it saves may differ from the one kept, for floats do."""
    script = (ROOT / "docs" / "tutorial.md").read_text().split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", script + LOADED], cwd=folder, capture_output=True, text=True)
    if report.check(done.returncode == 0, "tutorial: the script", done.stderr[-500:]):
        named = re.search(r"`pip install ([^`]+)`", (ROOT / "docs" / "tutorial.md").read_text()).group(1).split()
        missing = set(done.stdout.split("\n")[-2].split()) - needed_by(named) - {"tqdm"}  # which torch.hub has where it is there
        report.check(not missing, "tutorial: it names the packages that its script loads", sorted(missing))
        model, batch_path = folder / "digits.onnx", folder / "batch.npz"
        batch = load_batch(batch_path)
        check_audit(report, "tutorial", Audit(clarke, folder, model, batch_path, "ce"), Model(model), batch, "ce")


def main():
    parser = argparse.ArgumentParser(description="Compares clarke with PyTorch.")
    parser.add_argument("--clarke", metavar="PROGRAM",
                        help="the program; without it only PyTorch and the interpreter are checked")
    options = parser.parse_args()
    torch.set_num_threads(1)
    report = Report()

    clarke = options.clarke and Path(options.clarke).resolve()
    if clarke:
        report.check(clarke.is_file(), f"{options.clarke} is there", "no such file: build it first")
    check_proxies(report, clarke)
    with tempfile.TemporaryDirectory() as name:
        check_cases(report, clarke, Path(name))
        check_graphs(report, clarke, Path(name))
        if clarke:
            check_programs(report, clarke, Path(name))
            check_mixing(report, clarke, clarke.with_name("clarke-check"), Path(name))
            check_recurrent(report, clarke, clarke.with_name("clarke-check"), Path(name))
            check_tutorial(report, clarke, Path(name))
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
