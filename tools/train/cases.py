"""Writes cases/audit/cases.json: what each shipped case is, and what is expected of it.

Usage: python tools/train/cases.py [FOLDER]

`touched` comes from touched.py's exact count. `verdict` is what theory gives for the network (the
reason is in docs/networks.md), not the output of the program that is tested against it.
"""

import json
import sys
from pathlib import Path

import digits
import papers
from touched import touched_in_files

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "cases" / "audit"


def listed():
    """The cases in order, without counts."""
    for model, batch, loss, verdict, about in papers.CASES:
        yield {"name": model, "model": f"{model}.onnx", "batch": f"{batch}.npz", "loss": loss,
               "about": about, "verdict": verdict}
    for r in digits.RECIPES:
        yield {"name": r.name, "model": f"{r.name}.onnx", "batch": f"{r.batch}.npz",
               "loss": r.loss, "about": r.about, "verdict": r.verdict}
        if r.name == "digits-relu":
            yield {"name": f"{r.name}-later", "model": f"{r.name}.onnx",
                   "params": f"{r.name}-later.safetensors", "batch": f"{r.batch}.npz",
                   "loss": r.loss, "verdict": r.verdict,
                   "about": f"the same network {digits.LATER_STEPS} training steps later"}


def counted(folder, case):
    params = folder / case["params"] if "params" in case else None
    report = touched_in_files(folder / case["model"], folder / case["batch"], params)
    layers = [{"node": node, "op": op, "neurons": neurons, "touched": counts}
              for node, op, neurons, counts in report]
    return case | {"touched": sum(sum(l["touched"]) for l in layers), "layers": layers}


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    cases = [counted(folder, case) for case in listed()]
    text = json.dumps({"profile": "pytorch-2.13", "cases": cases}, indent=1)
    (folder / "cases.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
