"""clarke.monitor: the kinks that a training touches, step by step, counted beside it."""
from __future__ import annotations

import atexit
import json
import os
import shutil
import threading
from typing import Any, Sequence

import torch

from .answer import Failed, Lasting, judged, modules_of
from .recording.recorder import record
from .refused import Refused
from .waiting import Deferred, Waiting
from .watched import Watched, watched

LINES, FIRST = "steps.jsonl", "first"  # in the monitor's folder
SETS = "s_less_t", "s_less_t_by_identity"  # of windows, in a layer's counts: T_j by derivatives, as Algorithm 1 has it, and by identity
AUDITED = "clarke run 3"  # how `clarke audit --run --lines` begins a file


def whole(text, path, number):
    """A line of a monitor's, or of `clarke audit --run`, that has its end. None: it is no step's, but how such a file begins."""
    try:
        line = json.loads(text)
    except ValueError:
        line = None
    if isinstance(line, dict) and number == 1 and line.get("format") == AUDITED:
        return None
    if not isinstance(line, dict) or "step" not in line or not ("unanswered" in line or "verdict" in line):
        raise Refused(path, f"line {number} is none that a monitor wrote", "put the file right, or take another folder")
    return line


def read_lines(path):
    """(The lines that are whole, how many bytes they are.) A monitor that was ended may have left half a line, the last."""
    lines, size = [], 0
    if os.path.exists(path):
        with open(path, "rb") as f:
            for number, text in enumerate(f, 1):
                if text.endswith(b"\n"):
                    lines.append(whole(text, path, number))
                    size += len(text)
    return [line for line in lines if line is not None], size


def line_of(step, report, run):
    """What is kept of an answer. windows: with several largest entries, be they equal by structure or not; above_zero: of these, all but
    windows of zeros; parted: over touched windows, largest entries that are another function than the first; s_less_t, of a layer that has
    such: where S_j less T_j of Algorithm 1 is not empty, and how many entries it has in all. None is what is not known, where arguments are open."""
    if "outside" in report:  # of such a step the folder has nothing else
        return {"step": step, "verdict": report["verdict"], "zone": None, "gradient": report["gradient"]["answer"], "by": None, "surrogates": 0,
                "touched": None, "layers": [], "outside": report["outside"]["lines"]}
    module = modules_of(run)
    layers = [{"layer": layer["name"], "module": module.get(layer["name"], ""), "op": layer["op"], "touched": layer["touched"],
               "windows": layer["ties"], "above_zero": None if layer["ties"] is None else layer["ties"] - (layer.get("ties_of_zeros") or 0),
               "parted": layer.get("parted", 0), **{of: layer[of] for of in SETS if of in layer}}
              for layer in report["layers"] if layer["touched"] != 0 or layer["ties"] != 0 or layer.get(SETS[0], {}) is None]
    return {"step": step, "verdict": judged(report)[0], "zone": report["zone"], "gradient": report["gradient"]["answer"],
            "by": report["gradient"]["by"], "surrogates": len(report["gradient"]["surrogates"]), "touched": report["touched"], "layers": layers}


def add_sets(total, of):
    """A step where they are not known (None) adds nothing but that."""
    total["steps_not_known"] += of is None
    for key in ("windows", "entries") if of else ():
        total[key] += of[key]
    total["steps"] += bool(of and of["windows"])


def summary(folder: str | os.PathLike[str]) -> Watched:
    """Sums up a monitor's folder, or a file that `clarke audit --run --lines` wrote: how many steps, verdicts, zones; by layer in how many steps
    kinks were touched, and how many in all."""
    path = os.fspath(folder)
    lines, _ = read_lines(os.path.join(path, LINES) if os.path.isdir(path) else path)
    asked = [line for line in lines if "verdict" in line]
    said = {"steps": len(asked), "unanswered": len(lines) - len(asked), "verdicts": {}, "zones": {}, "layers": {}}
    said["steps_touched"] = sum((line["touched"] or 0) > 0 for line in asked)
    said["steps_not_known"] = sum(line["touched"] is None for line in asked)
    said["steps_with_surrogates"] = sum(line.get("surrogates", 0) > 0 for line in asked)
    said["first_not_in_bouligand"] = next((line["step"] for line in asked if line["verdict"] != "in-bouligand"), None)
    for line in asked:
        for key, value in (("verdicts", line["verdict"]), ("zones", line["zone"] or "not known")):
            said[key][value] = said[key].get(value, 0) + 1
        for layer in line["layers"]:
            of = said["layers"].setdefault(layer["layer"], {"module": layer["module"], "op": layer["op"], "steps_touched": 0, "touched": 0,
                                                            "steps_with_windows": 0, "windows": 0, "steps_above_zero": 0,
                                                            "above_zero": 0, "parted": 0, "steps_not_known": 0,
                                                            **{sets: {"steps": 0, "windows": 0, "entries": 0, "steps_not_known": 0} for sets in SETS}})
            for count, steps in (("touched", "steps_touched"), ("windows", "steps_with_windows"), ("above_zero", "steps_above_zero")):
                of[count] += layer.get(count) or 0  # a line of an earlier version has no above_zero
                of[steps] += (layer.get(count) or 0) > 0
            of["parted"] += layer.get("parted") or 0
            of["steps_not_known"] += layer["touched"] is None
            for sets in SETS:
                add_sets(of[sets], layer.get(sets, {}))
    return watched(said, lines, path)


def worth(line):
    """Is the step to be kept? 2: it is decided, and not in-bouligand; 1: it is undecided, and kept as long as there is none that is decided."""
    verdict = line.get("verdict", "in-bouligand")
    return 0 if verdict == "in-bouligand" else 1 if verdict == "undecided" else 2


class monitor:
    """watch = clarke.monitor(model, "watch/", every=100)
    for x, y in batches:
        with watch:
            loss = loss_fn(model(x), y); loss.backward()
        optimizer.step()
    watch.close()

    Every so many blocks one is recorded (clarke.record), and the program `clarke`, a process of its own for all of them, is asked about it. What it says
    is a line of steps.jsonl in the folder. No more than `waiting` recorded steps wait for it: a further one waits in the training's own
    thread. A step that is refused is a line that says why. The first step whose verdict is not in-bouligand is kept, with its proof,
    in the folder's `first`. Steps are numbered on behind those that the folder has, or from `start`. options: those of `clarke audit`;
    others are those of clarke.record.
    """

    def __init__(self, model: torch.nn.Module, folder: str | os.PathLike[str], *, every: int = 1, start: int | None = None, waiting: int | None = None,
                 options: Sequence[str] = (), **recorded: Any) -> None:
        if every < 1 or (waiting is not None and waiting < 1):
            raise ValueError(f"every is {every}, and waiting {waiting}: give both 1 or more")
        self.model, self.folder, self.every, self.options = model, os.fspath(folder), every, tuple(options)
        self.recorded = {"again": False, **recorded}
        os.makedirs(self.folder, exist_ok=True)
        self.path = os.path.join(self.folder, LINES)
        lines, size = read_lines(self.path)
        if os.path.exists(self.path):
            os.truncate(self.path, size)
        self.step = start if start is not None else max((line["step"] for line in lines), default=-1) + 1
        self.kept = max(map(worth, lines), default=0)
        self.recording, self.closed, self.failure = None, False, None
        self.like = None  # the program of the step that was recorded last: the next one may run the same
        self.program = Lasting(self.options, lambda: self.closed)  # beside a training nobody waits for it
        self.steps = Waiting(waiting, quiet=every == 1)
        self.thread = threading.Thread(target=self.ask, name="clarke.monitor", daemon=True)
        self.thread.start()
        atexit.register(self.close)

    # ---- In the training's thread

    def __enter__(self):
        if self.closed:
            raise ValueError("the monitor is closed: make another one, of the same folder")
        if self.recording is not None:
            raise ValueError("the monitor's block is in a block of the same monitor: leave that one first")
        if self.step % self.every == 0:
            self.begin()
        return self

    def begin(self):
        self.steps.enter()
        run = os.path.join(self.folder, f"step-{self.step}")
        if os.path.lexists(run):  # of a monitor that was ended
            shutil.rmtree(run, ignore_errors=True)
        self.recording = record(run, self.model, step=self.step, background=True, **self.recorded)
        self.recording.compares, self.recording.like, self.like = True, self.like, None
        if not {"optimizer", "ema"} & self.recorded.keys():  # what these are is put behind the step when it is written
            self.recording.later = Deferred
        try:
            self.recording.__enter__()
        except Refused as why:
            self.recording = None
            self.steps.put(self.step, None, why)
        except BaseException:
            self.recording = None
            self.steps.leave()
            raise

    def __exit__(self, kind, error, trace):
        recording, self.recording = self.recording, None
        if recording is not None:
            try:
                recording.__exit__(kind, error, trace)
                self.like = recording.program
                if kind is None:
                    self.steps.put(self.step, recording, None)
                else:
                    self.steps.leave()
            except Refused as why:
                self.steps.put(self.step, None, why)
            except BaseException:
                self.steps.leave()
                raise
        self.step += kind is None
        return False

    def close(self) -> Watched:
        """Until all is asked; the summary, which is written as summary.json, too."""
        if not self.closed:
            self.closed = True
            atexit.unregister(self.close)
            self.steps.end()
            self.thread.join()
        if self.failure is not None:
            raise self.failure
        said = summary(self.folder)
        with open(os.path.join(self.folder, "summary.json"), "w", encoding="utf-8") as f:
            json.dump(said, f, indent=2)
        return said

    # ---- In the monitor's

    def ask(self):
        """A line that cannot be made or written ends the asking, not the training; close() says so."""
        while (item := self.steps.get()) is not None:
            self.steps.pause()
            if self.failure is None:
                try:
                    self.write(self.answer(*item))
                except Exception as why:  # whatever it is: nobody would take steps off the queue, and the training would wait
                    self.failure = why
            self.steps.leave()
        self.program.end()

    def answer(self, step, recording, why):
        if recording is None:
            return {"step": step, "unanswered": str(why)}
        run = recording.path
        try:
            self.put_down(recording)
            recording.wait()
            self.steps.measure(recording.size)
            report = self.program.ask(os.path.join(run, ""), meanwhile=self.put_next)
            self.steps.pause()
            line = line_of(step, report, run)
            if worth(line) > self.kept and report["verdict"] != "undecided":  # of others nobody reads a proof, or there is none
                line = line_of(step, self.program.ask(os.path.join(run, ""), os.path.join(run, "proof")), run)
        except (Refused, Failed, KeyError) as error:
            line = {"step": step, "unanswered": str(error)}
        if worth(line) > self.kept:
            self.kept, first = worth(line), os.path.join(self.folder, FIRST)
            shutil.rmtree(first, ignore_errors=True)
            os.replace(run, first)
        shutil.rmtree(run, ignore_errors=True)
        return line

    @staticmethod
    def put_down(recording):
        """Its files."""
        if isinstance(recording.work, Deferred):
            recording.work.run()

    def put_next(self):
        """The files of the step that is asked about next, while the program is at work."""
        item = self.steps.next()
        if item is not None and item[1] is not None and self.failure is None:
            self.put_down(item[1])

    def write(self, line):
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")
