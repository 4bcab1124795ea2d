"""clarke.audit: what the program `clarke` says of a recorded step."""
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass, field

from .recorder import record, settle


class Failed(Exception):
    """The question could not be asked, or has no answer: the message is the program's, or says how it ended."""


@dataclass
class Answer:
    verdict: str  # in-bouligand, in-clarke, not-in-clarke, undecided; not-explained: the gradient is not AD's of what was recorded
    # turned: that of the gradient along the recorded branches
    reason: str
    touched: dict  # how many kinks each module touched
    gradient: dict  # is the recorded gradient AD's? What the report says: "answer", "why", "claims", ...
    proof: bytes | None  # for clarke-check; None when undecided
    report: dict = field(repr=False)  # all of `clarke audit --json`

    @property
    def answer(self):
        """Of the gradient that ran: explained (AD's exact gradient within rounding), turned (rounding took other branches), refuted, not known."""
        return self.gradient["answer"]

    @property
    def turned(self):
        """The kinks and windows where rounding took another branch: node, module, index, sample."""
        return self.gradient["turned"]["kinks"] if self.answer == "turned" else []

    @property
    def surrogates(self):
        """Where AD differentiates another function than the one that is computed, by design (detach, no_grad, a Function, fake quantization):
        FILE:LINE (MODULE): OPERATOR: how. The verdict is about the step with what their derivative belongs to in their places."""
        return self.gradient.get("surrogates", [])

    @property
    def in_clarke_of_surrogate(self):
        """Is the recorded gradient, but for rounding, shown to be in the Clarke subdifferential of what AD differentiates? AD's exact gradient,
        or, where rounding took branches of its own, the one along them."""
        return self.answer in ("explained", "turned") and self.verdict in ("in-bouligand", "in-clarke")

    @property
    def in_clarke(self):
        """The same of what is computed. None where there are surrogates: then that is not known of a gradient which is in the other one."""
        return None if self.surrogates and self.in_clarke_of_surrogate else self.in_clarke_of_surrogate


def program():
    """The one that the environment names, or that was installed with the package, or that is on the PATH."""
    found = os.environ.get("CLARKE") or shutil.which("clarke", path=sysconfig.get_path("scripts")) or shutil.which("clarke")
    if found is None:
        raise Failed("the program clarke is not beside Python and not on the PATH; the environment variable CLARKE may name it")
    return found


# What may have sent a signal, and what to do.
SENT = {"SIGKILL": "the system does that where memory ends: options=('--memory', '4G') ends it before, with an answer",
        "SIGXCPU": "its processor time is limited (ulimit -t): options=('--timeout', '60') ends it before",
        "SIGXFSZ": "the size of files is limited (ulimit -f)",
        **dict.fromkeys(("SIGINT", "SIGTERM", "SIGHUP"), "somebody ended it: ask again"),
        **dict.fromkeys(("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"), "an error of the program's own: please report it, with what it was asked")}


def ended(status):
    """How the program ended, in words."""
    if status >= 0:
        return f"status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}; {SENT.get(name, 'ask again')}"


def answered(question, *arguments):
    """What `clarke QUESTION --json` says; where it says nothing, why."""
    command = [program(), question, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    except OSError as why:
        raise Failed(f"the program {command[0]} cannot be run ({why.strerror}); the environment variable CLARKE may name another") from None
    try:
        said = json.loads(done.stdout) if done.returncode >= 0 else None
    except ValueError:
        said = None
    if not isinstance(said, dict) or list(said) == ["error"]:
        heard = done.stderr.strip() or ("it printed no answer" if not done.stdout else "what it printed is no single JSON object")
        raise Failed(f"{heard} (clarke {question} ended with {ended(done.returncode)})")
    return said


def modules_of(run):
    try:
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            return {node["name"]: node["module"] for node in json.load(f)["nodes"]}
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise Failed(f"{run} was changed while it was asked about ({why!r}): ask again") from None


def touched_by_module(module, report):
    counts = {}
    for layer in report["layers"]:
        if layer["touched"] > 0:
            name = module.get(layer["name"], layer["name"])
            counts[name] = counts.get(name, 0) + layer["touched"]
    return counts


def audit_run(run, options):
    settle()
    if not os.path.isfile(os.path.join(run, "run.json")):
        raise Failed(f"{run} has no run.json: no step is recorded there")
    with tempfile.TemporaryDirectory() as folder:
        proof, text = os.path.join(folder, "proof"), None
        report = answered("audit", os.path.join(run, ""), "--json", "--proof", proof, *options)
        if os.path.exists(proof):
            with open(proof, "rb") as f:
                text = f.read()
    if "gradient" not in report or "verdict" not in report:
        raise Failed(f"the answer is not about a run: {report.get('why', sorted(report))}")
    gradient, module = report["gradient"], modules_of(run)
    verdict, reason = report["verdict"], report["why"]
    if gradient["answer"] == "refuted":  # the verdict is about a program that did not run
        verdict, reason = "not-explained", gradient["why"]
    elif gradient["answer"] == "turned":  # and so it is where another branch ran
        verdict, reason = (gradient["turned"]["recorded"][key] for key in ("verdict", "why"))
        for kink in gradient["turned"]["kinks"]:
            kink["module"] = module.get(kink["node"])
    return Answer(verdict, reason, touched_by_module(module, report), gradient, text, report)


def step(run, *, rule=None, options=()):
    """Is what the optimizer made of a recorded step its rule's? All of `clarke step RUN --json`: "answer", "holds" (None: not known), "first" (the
    first entry that is not the rule's), "instead" (what was followed, if that is known). rule: by the name of `clarke step list`."""
    settle()
    return answered("step", os.path.join(os.fspath(run), ""), "--json", *(("--rule", rule) if rule is not None else ()), *options)


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
            with record(run, what, again=again and value):
                value().backward()
        finally:
            for p, g in kept.items():
                p.grad = g
        return audit_run(run, options)
