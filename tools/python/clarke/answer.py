"""clarke.audit: what the program `clarke` says of a recorded step."""
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass, field

from .recorder import record, settle


class Failed(Exception):
    """The question could not be asked; the message is the program's."""


@dataclass
class Answer:
    verdict: str  # in-bouligand, in-clarke, not-in-clarke, undecided; not-explained: the gradient is not AD's of what was recorded
    reason: str
    touched: dict  # how many kinks each module touched
    gradient: dict  # is the recorded gradient AD's? "explained", and what the report says
    proof: bytes | None  # for clarke-check; None when undecided
    report: dict = field(repr=False)  # all of `clarke audit --json`

    @property
    def in_clarke(self):
        """Is the recorded gradient AD's, but for rounding, and AD's proved to be in the Clarke subdifferential?"""
        return self.gradient["explained"] is True and self.verdict in ("in-bouligand", "in-clarke")


def program():
    """The one that the environment names, or that was installed with the package, or that is on the PATH."""
    found = os.environ.get("CLARKE") or shutil.which("clarke", path=sysconfig.get_path("scripts")) or shutil.which("clarke")
    if found is None:
        raise Failed("the program clarke is not beside Python and not on the PATH; the environment variable CLARKE may name it")
    return found


def touched_by_module(run, report):
    with open(os.path.join(run, "run.json")) as f:
        module = {node["name"]: node["module"] for node in json.load(f)["nodes"]}
    counts = {}
    for layer in report["layers"]:
        if layer["touched"] > 0:
            name = module.get(layer["name"], layer["name"])
            counts[name] = counts.get(name, 0) + layer["touched"]
    return counts


def audit_run(run, options):
    settle()
    with tempfile.TemporaryDirectory() as folder:
        proof = os.path.join(folder, "proof")
        done = subprocess.run([program(), "audit", os.path.join(run, ""), "--json", "--proof", proof, *options],
                              capture_output=True, text=True)
        if not done.stdout:
            raise Failed(done.stderr.strip())
        report = json.loads(done.stdout)
        text = open(proof, "rb").read() if os.path.exists(proof) else None
    ran = report["gradient"]["explained"] is not False  # else the verdict is about a program that did not run
    verdict, reason = (report["verdict"], report["why"]) if ran else ("not-explained", report["gradient"]["why"])
    return Answer(verdict, reason, touched_by_module(run, report), report["gradient"], text, report)


def audit(what, x=None, y=None, loss=None, *, options=(), again=True):
    """Of a run folder; or of a step of a model, recorded here: audit(model, x, y, loss_fn), or audit(model, x), with the sum.
    A tuple x is the model's arguments, a dictionary its named ones. The step is run again, at moved parameters (record), unless again=False.

    Parameters keep their gradients; buffers get what the step gives them."""
    if isinstance(what, (str, os.PathLike)):
        return audit_run(os.fspath(what), options)
    def value():
        out = what(**x) if isinstance(x, dict) else what(*x) if isinstance(x, tuple) else what(x)
        return out.sum() if loss is None else loss(out, y)

    kept = {p: p.grad for p in what.parameters()}
    with tempfile.TemporaryDirectory() as run:
        try:
            for p in kept:
                p.grad = None
            with record(run, what, light=True, again=again and value):
                value().backward()
        finally:
            for p, g in kept.items():
                p.grad = g
        return audit_run(run, options)
