"""What clarke.summary, and a monitor that is closed, answer."""
from __future__ import annotations

import json
import os
from typing import Any

from .answer import Said

# Verdicts, the worst first: how an answer begins, and what is said of so many steps.
WORDS = {"not-in-clarke": ("No: ", "wrong"), "not-explained": ("No: ", "not what was recorded"), "undecided": ("Not decided: ", "not decided"),
         "in-clarke": ("Yes, as a mean: ", "a weighted mean of true derivatives"), "in-bouligand": ("Yes: ", "right")}


class Watched(Said):
    """All that is said of a monitor's steps, by its keys: "verdict", "steps", "verdicts", "layers", ... (docs/run-format.md).

    verdict: the worst of all steps'; undecided, too, where a step has no answer, or of a gradient it is not known whether it is AD's."""

    @property
    def touched(self) -> None:
        """Kinks are counted by layer, not listed."""
        return None


def counted(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def worst(verdicts, is_open):
    """A step that is open makes a yes a doubt; a no stays one."""
    known = {**verdicts, "undecided": verdicts.get("undecided", 0) + (is_open or not verdicts)}
    return next((word for word in WORDS if known.get(word, 0) > 0), "undecided")


def answer_line(said, verdict, unknown):
    parts = [f"{what} in {counted(said['verdicts'][word], 'step')} ({word})" for word, (_, what) in reversed(WORDS.items()) if word in said["verdicts"]]
    text = WORDS[verdict][0] + ("AD's gradient is " + "; ".join(parts) if parts else "nothing is answered") + "."
    if said["unanswered"]:
        text += f" {said['unanswered']} of {counted(said['steps'] + said['unanswered'], 'step')} {'is' if said['unanswered'] == 1 else 'are'} not answered."
    if said["steps_touched"]:
        text += f" Kinks are touched in {counted(said['steps_touched'], 'step')}."
    elif said["steps"]:
        known = "known to be " if said["steps_not_known"] else ""
        text += f" No kink is {known}touched in {'those that are' if said['unanswered'] else 'any of them'}."
    if said["steps_not_known"]:
        text += f" Which kinks are touched is not known of {counted(said['steps_not_known'], 'step')}."
    if unknown:
        text += f" Whether the gradient that ran is AD's, but for rounding, is not known of {counted(unknown, 'step')}."
    replaced = said["steps_with_surrogates"]
    return text + (f" Of {counted(replaced, 'step')} all this is said as AD differentiates it, with functions replaced by design (surrogates)." if replaced else "")


def is_kept(run, step):
    """Is the step the one that the monitor kept?"""
    try:
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            return json.load(f)["steps"][0]["step"] == step
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return False


def next_line(said, path, unknown, decided):
    """decided: the first step whose verdict is, and not in-bouligand."""
    first, kept = said["first_not_in_bouligand"], os.path.join(path, "first")
    if first is not None:
        told = f"The first to look at is step {first}"
        if decided not in (None, first) and is_kept(kept, decided):
            return f"{told}, and step {decided} is the first that is decided: clarke audit {kept} tells all of that one."
        return told + (f": clarke audit {kept} tells all of it." if is_kept(kept, first) else ".")
    if said["unanswered"]:
        return "The lines of steps that have no answer say why (unanswered)."
    if not said["steps"]:
        return "Watch a step: with watch: loss.backward()"
    return "Record such a step (clarke.record): clarke certify tells what is known of each node." if unknown else "Nothing needs doing."


def watched(said: dict[str, Any], lines: list[dict[str, Any]], path: str) -> Watched:
    """What the sums of these lines come to, in words."""
    unknown = sum(line.get("gradient") == "not known" for line in lines if "verdict" in line)
    verdict = worst(said["verdicts"], said["unanswered"] > 0 or unknown > 0)
    decided = next((line["step"] for line in lines if line.get("verdict", "undecided") not in ("undecided", "in-bouligand")), None)
    numbers = sorted(line["step"] for line in lines)
    between = f", {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else ""
    three = {"asked": f"Were the gradients of the watched steps of {path} right? {counted(len(lines), 'step')}{between}.",
             "answer": answer_line(said, verdict, unknown), "next": next_line(said, path, unknown, decided)}
    return Watched({"verdict": verdict, "summary": three, **said})
