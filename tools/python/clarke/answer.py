"""clarke.audit: what the program `clarke` says of a recorded step."""
from __future__ import annotations

import contextlib
import html
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

from .recording.recorder import record, settle
from .touched import Touched, of_step


class Failed(Exception):
    """The question could not be asked, or has no answer: the message is the program's, or says how it ended."""


TONES = {"in-bouligand": "#2a7", "in-clarke": "#2a7", "not-in-clarke": "#c33", "not-explained": "#c33", "undecided": "#c80"}
SHOWN = 10  # kinks of a page


class Answer:
    """What all answers have: audit's is Audited, derive's Derived, step's Stepped, sweep's Swept, summary's Watched.

    It prints as three lines in plain words. verdict: the answer's word. report: all that `--json` says, a dictionary. touched: the kinks that are
    touched; None where they are not known, or were not asked about."""
    verdict: str
    report: dict[str, Any]
    touched: list[Touched] | None

    @property
    def summary(self) -> tuple[str, str, str]:
        """What was asked, the answer with the field's word in brackets, what to do."""
        lines = self.report["summary"]
        return lines["asked"], lines["answer"], lines["next"]

    @property
    def tone(self) -> str:
        """Good news is green, bad news red."""
        return TONES.get(self.verdict, "#888")

    @property
    def json(self) -> str:
        """The report, as text."""
        return json.dumps(self.report)

    def __repr__(self) -> str:
        return "Asked:  {}\nAnswer: {}\nNext:   {}".format(*self.summary)

    def _repr_html_(self) -> str:
        """For notebooks: the same, and the first kinks. It fetches nothing and runs nothing."""
        asked, answer, next_ = map(html.escape, self.summary)
        rows = "".join(f"<li>{html.escape(str(kink))}: AD takes {html.escape(str(kink.ad))}</li>" for kink in (self.touched or [])[:SHOWN])
        more = len(self.touched or []) - SHOWN
        return (f'<div style="border-left:4px solid {self.tone};padding-left:.8em"><p><strong>{html.escape(self.verdict)}</strong></p>'
                f"<p>{answer}</p><p>{next_}</p><p><small>{asked}</small></p>"
                + (f"<ul>{rows}</ul>" if rows else "") + (f"<p>{more} more kinks</p>" if more > 0 else "") + "</div>")


@dataclass(repr=False)
class Audited(Answer):
    """What is proved of a recorded step.

    verdict: in-bouligand, in-clarke, not-in-clarke, undecided; not-explained: the gradient is not AD's of what was recorded. Where rounding
        turned a branch it is that of the gradient along the recorded branches.
    reason: why, a sentence.
    touched: the kinks that are touched, each a record (module, layer, neuron, sample, ...); None where they are too many to list
        (options=("--limit", "listed=1000000") lists more), or not known, as in a step that leaves the reals.
    gradient: is the recorded gradient AD's? What the report says: "answer", "why", "claims", ...
    proof: for clarke-check; None when undecided.
    report: all of `clarke audit --json`.
    """
    verdict: str
    reason: str
    touched: list[Touched] | None
    gradient: dict[str, Any]
    proof: bytes | None
    report: dict[str, Any]
    touched_by_module: dict[str, int] = field(default_factory=dict)  # how many kinks each module touched, all counted

    @property
    def answer(self) -> str:
        """What the gradient that ran is: explained (AD's gradient, but for rounding), turned (rounding took other branches), refuted, not known.
        gradient["by"] is "whole" where it was compared with AD's exact gradient, and "nodes" where each operation's own rounding explains it."""
        return self.gradient["answer"]

    @property
    def turned(self) -> list[dict[str, Any]]:
        """The kinks and windows where rounding took another branch: node, module, index, sample."""
        return self.gradient["turned"]["kinks"] if self.answer == "turned" else []

    @property
    def outside(self) -> dict | None:
        """What of a step that left the reals made the first NaN or infinity, where, and what the real function has there (docs/outside.md). Else None."""
        return self.report.get("outside")

    @property
    def zero_gradients(self) -> list[dict[str, Any]] | None:
        """Parameters with entries of the gradient that are 0: "parameter", "entries", "zero" (how many are AD's exact 0 because each path to the loss
        has a factor 0), "why" (how many for which factor), "nearby" (0 in each limit of gradients nearby, too), "stays" (0 at all weights nearby),
        "along" (not 0 a little way along the direction report["zero_direction"]); "recorded", of those that were recorded as 0 beside them, of which "not_zero" are not 0 exactly, for floating point made them so.
        None where that is not known (docs/run-format.md, "Gradients that are 0")."""
        exact, recorded = self.report.get("zero_gradients"), self.gradient.get("zeros")
        if exact is None:
            return None
        found = {entry["parameter"]: dict(entry) for entry in exact}
        for entry in recorded or ():
            found.setdefault(entry["parameter"], {"parameter": entry["parameter"]}).update(entry)
        return list(found.values())

    @property
    def surrogates(self) -> list[str]:
        """Where AD differentiates another function than the one that is computed, by design (detach, no_grad, a Function, fake quantization):
        FILE:LINE (MODULE): OPERATOR: how. The verdict is about the step with what their derivative belongs to in their places."""
        return self.gradient.get("surrogates", [])

    @property
    def in_clarke_of_surrogate(self) -> bool:
        """Is the recorded gradient, but for rounding, shown to be in the Clarke subdifferential of what AD differentiates? AD's exact gradient,
        or, where rounding took branches of its own, the one along them. Rounding is that of each operation, where gradient["by"] is "nodes":
        how near the whole gradient is to the exact one is not known then."""
        return self.answer in ("explained", "turned") and self.verdict in ("in-bouligand", "in-clarke")

    @property
    def in_clarke(self) -> bool | None:
        """The same of what is computed. None where there are surrogates: then that is not known of a gradient which is in the other one."""
        return None if self.surrogates and self.in_clarke_of_surrogate else self.in_clarke_of_surrogate


class Said(dict, Answer):
    """An answer that is all that `--json` says, by its keys."""
    __repr__ = Answer.__repr__

    @property
    def report(self) -> dict[str, Any]:
        """The answer's own keys."""
        return self

    @property
    def verdict(self) -> str:
        """The answer's word."""
        return self["verdict"]


class Stepped(Said):
    """All that `clarke step RUN --json` says, by its keys: "answer", "why", "holds", "rule", "first", ... (docs/step.md).

    Where several optimizers stepped, or parameters were averaged, too: "step", "holds", and "optimizers", a list of these."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said)
        if "optimizers" in self:
            self["optimizers"] = [Stepped(one) for one in self["optimizers"]]

    @property
    def summary(self) -> tuple[str, str, str]:
        """What was asked, the answer, what to do; of several that of the first one that is not its rule's, or of the first."""
        of = next((one for one in self.get("optimizers", ()) if not one["holds"]), self.get("optimizers", [self])[0])
        return tuple(of["summary"][key] for key in ("asked", "answer", "next"))

    @property
    def verdict(self) -> str:
        """The answer's word: "the rule's, bit for bit", ..."""
        return self["answer"] if "answer" in self else next((one for one in self["optimizers"] if not one["holds"]), self["optimizers"][0])["answer"]

    @property
    def tone(self) -> str:
        return {True: "#2a7", False: "#c33"}.get(self["holds"], "#c80")

    @property
    def touched(self) -> None:
        """An optimizer's step has no kinks that are looked for."""
        return None


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


AT_WORK = "clarke at work, "  # how the program's lines begin that say how far it is (docs/undecided.md)


def listen(lines, heard, tell):
    """Lines of progress are told where they come, if they are to be; others are kept."""
    for line in lines:
        if not line.startswith(AT_WORK):
            heard.append(line)
        elif tell() and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):  # it is closed: the program goes on
                print(line.rstrip(), file=sys.stderr, flush=True)


def run_program(command, tell):
    """(Status, standard output, standard error) of the program, whose progress is told meanwhile."""
    heard = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as running:
        listener = threading.Thread(target=listen, args=(running.stderr, heard, tell), daemon=True)
        listener.start()
        try:
            said = running.stdout.read()
        except BaseException:  # interrupted: as subprocess.run
            running.kill()
            raise
        listener.join()
    return running.returncode, said, "".join(heard)


def answered(question, *arguments, tell=lambda: True):
    """What `clarke QUESTION --json` says; where it says nothing, why. While it takes long, standard error has lines of how far it is, where
    `tell` says so."""
    command = [program(), question, *arguments]
    try:
        status, out, heard = run_program(command, tell)
    except OSError as why:
        raise Failed(f"the program {command[0]} cannot be run ({why.strerror}); the environment variable CLARKE may name another") from None
    try:
        said = json.loads(out) if status >= 0 else None
    except ValueError:
        said = None
    if not isinstance(said, dict) or list(said) == ["error"]:
        why = heard.strip() or ("it printed no answer" if not out else "what it printed is no single JSON object")
        raise Failed(f"{why} (clarke {question} ended with {ended(status)})")
    return said


VAIN = 2  # processes in a row without an answer: a third is not begun


class Lasting:
    """`clarke audit --serve`: a process that is asked about one run folder after the other. Where it gives no answer, one of its own says why.

    To begin a process, and to get its memory page by page, takes as long as half of a small step's answer."""

    def __init__(self, options, tell):
        self.options, self.tell = tuple(options), tell
        self.command, self.running, self.vain = None, None, 0  # vain: how many were begun, and gave no answer

    def ask(self, run, proof="", meanwhile=lambda: None):
        """What `clarke audit RUN --json --proof PROOF` says, or without a proof. meanwhile: is called while the program is at work."""
        said = None if {"\n", "\t"} & set(run + proof) else self.said(run, proof, meanwhile)
        if said is not None and list(said) == ["error"]:
            raise Failed(f"clarke audit: {said['error']}")
        written = ("--proof", proof) if proof else ()
        return answered("audit", run, "--json", *written, *self.options, tell=self.tell) if said is None else said

    def said(self, run, proof, meanwhile):
        """None: nothing."""
        if self.running is not None and (self.running.poll() is not None or self.command[0] != program()):
            self.end()
        if self.vain == VAIN:
            return None
        before = self.running
        try:
            if self.running is None:
                self.begin()
            self.running.stdin.write(f"{run}\t{proof}\n" if proof else f"{run}\n")
            self.running.stdin.flush()
            meanwhile()
            said = json.loads("".join(iter_object(self.running.stdout)))
        except (OSError, ValueError):  # it cannot be run, it ended, or was ended in its answer
            self.end()
            return self.said(run, proof, meanwhile) if before is not None else None  # it may have been at its end already
        self.vain = 0
        return said if isinstance(said, dict) else None

    def begin(self):
        self.command = [program(), "audit", "--serve", *self.options]
        self.vain += 1
        self.running = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                        errors="replace")
        threading.Thread(target=listen, args=(self.running.stderr, deque(maxlen=1), self.tell), daemon=True).start()

    def end(self):
        """At once: it has nothing to put right. (Its input may be held open by processes that the training has forked.)"""
        running, self.running = self.running, None
        if running is not None:
            running.kill()
            running.wait()
            for pipe in (running.stdin, running.stdout):
                with contextlib.suppress(OSError):  # what it was asked and has not read
                    pipe.close()


def iter_object(lines):
    """Those of a JSON object, which ends with a brace that stands alone."""
    for line in lines:
        yield line
        if line == "}\n":
            return


def modules_of(run):
    try:
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            return {node["name"]: node["module"] for node in json.load(f)["nodes"]}
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise Failed(f"{run} was changed while it was asked about ({why!r}): ask again") from None


def touched_by_module(module, report):
    """Counts of the layers whose touches are known."""
    counts = {}
    for layer in report["layers"]:
        if layer["touched"]:
            name = module.get(layer["name"], layer["name"])
            counts[name] = counts.get(name, 0) + layer["touched"]
    return counts


def judged(report):
    """(Verdict, why) of the gradient that ran."""
    gradient = report["gradient"]
    if gradient["answer"] == "refuted":  # the report's verdict is about a program that did not run
        return "not-explained", gradient["why"]
    if gradient["answer"] == "turned":  # and so it is where another branch ran
        return tuple(gradient["turned"]["recorded"][key] for key in ("verdict", "why"))
    return report["verdict"], report["why"]


def kept_in_answer(report, proof):
    """The proof's own file is gone."""
    if "summary" in report:
        report["summary"]["next"] = report["summary"]["next"].replace(proof, "answer.proof")


def asked(run, proof, options):
    """With all that is touched, where it is not too much to list."""
    question = ("audit", os.path.join(run, ""), "--json", "--verbose", "--proof", proof, *options)
    try:
        return answered(*question, "--touched")
    except Failed as why:
        if "kinks are touched" not in str(why):
            raise
        return answered(*question)


def audit_run(run, options):
    settle()
    if not os.path.isfile(os.path.join(run, "run.json")):
        raise Failed(f"{run} has no run.json: record a step there first (clarke.record)")
    with tempfile.TemporaryDirectory() as folder:
        proof, text = os.path.join(folder, "proof"), None
        report = asked(run, proof, options)
        if os.path.exists(proof):
            with open(proof, "rb") as f:
                text = f.read()
    kept_in_answer(report, proof)
    if "gradient" not in report or "verdict" not in report:
        raise Failed(f"the answer is not about a run ({report.get('why', sorted(report))}): leave options out that ask something else")
    if "outside" in report:
        return Audited(report["verdict"], report["why"], None, report["gradient"], None, report)  # nobody looked for kinks
    gradient, module = report["gradient"], modules_of(run)
    verdict, reason = judged(report)
    if gradient["answer"] == "turned":
        for kink in gradient["turned"]["kinks"]:
            kink["module"] = module.get(kink["node"])
    kinks = report.get("touched_kinks")
    touched = None if kinks is None or report["touched"] is None else [of_step(kink, module) for kink in kinks]
    return Audited(verdict, reason, touched, gradient, text, report, touched_by_module(module, report))


def step(run: str | os.PathLike[str], *, rule: str | None = None, options: Sequence[str] = ()) -> Stepped:
    """Is what the optimizer made of a recorded step its rule's?

    rule: by the name of `clarke step list`; None: the optimizer's own. All of `clarke step RUN --json`: "answer", "holds" (None: not
    known), "first" (the first entry that is not the rule's), "instead" (what was followed, if that is known). Where several optimizers stepped, or
    parameters were averaged, too: "holds", and "optimizers", a list of these."""
    settle()
    return Stepped(answered("step", os.path.join(os.fspath(run), ""), "--json", *(("--rule", rule) if rule is not None else ()), *options))


def audit(what: Any, x: Any = None, y: Any = None, loss: Callable[..., Any] | None = None, *, options: Sequence[str] = (), again: bool = True) -> Audited:
    """Was the gradient of a training step right?

    what: a run folder (a path); or a model (torch.nn.Module), one step of which is recorded here: audit(model, x, y, loss_fn), or
        audit(model, x), with the sum of its output.
    x: the model's input, a tensor whose first axis has the samples; a tuple is the model's arguments, a dictionary its named ones.
    y: what loss_fn takes behind the model's output.
    options: of `clarke audit`, as ("--timeout", "60").
    again: the step is run again, at moved parameters (record), unless this is False.

    Raises Refused where the step cannot be recorded, with the module, the line and what to do, and Failed where the program gives no answer.
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
