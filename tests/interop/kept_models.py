"""What tests/check/models.txt says of its models is what ONNX's reference or ONNX Runtime computes.

Usage: python tests/interop/kept_models.py

Of each model that `clarke-check` reads the outputs have the shape and values by one of these two. What it refuses is not asked.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from drawing import session_of
from readings import sections, unlike

sys.path.append(str(Path(__file__).resolve().parents[1] / "check"))
from models import kept, unpacked  # noqa: E402

READ = 250  # of the models, at least


def runs_of(model, batch):
    """The inputs of each run: of the whole batch, or, where the model is of single runs, of its rows. An archive has further inputs."""
    if not isinstance(batch, np.ndarray):
        first = model.graph.input[0]
        single = len(first.type.tensor_type.shape.dim) < batch["x"].ndim
        return [{i.name: batch[i.name] for i in model.graph.input[1:]} | {first.name: batch["x"][0] if single else batch["x"]}]
    return [{model.graph.input[0].name: rows} for rows in rows_of(model, batch)]


def rows_of(model, batch):
    dims = [d.dim_value or None for d in model.graph.input[0].type.tensor_type.shape.dim]
    if len(dims) < batch.ndim:
        return list(batch)
    return [batch[i:i + 1] for i in range(len(batch))] if dims and dims[0] == 1 else [batch]


def by_others(model, runs):
    """The outputs of each run, by the reference and by the runtime, where they run it."""
    dtypes = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    for evaluator in (ReferenceEvaluator, session_of):
        try:
            evaluate = evaluator(model)
            yield [evaluate.run(None, {name: array.astype(dtypes[name]) for name, array in run.items()}) for run in runs]
        except Exception:  # it does not run the model: of what kind the failure is, is its own
            continue


def unlike_all(model, values, others):
    """What the values differ in from each of the others; None when one agrees."""
    why = "nobody else runs it"
    for runs in others:
        outputs = [(o.name, [run[i] for run in runs]) for i, o in enumerate(model.graph.output) if o.name in values]
        why = next((f"{name}: {w}" for name, of in outputs if (w := unlike(values[name], of))), None)
        if why is None:
            return None
    return why


def main():
    warnings.simplefilter("ignore")
    read, wrong, answers = 0, 0, kept()
    with tempfile.TemporaryDirectory() as folder:
        for name in unpacked(folder):
            if answers[name].startswith("clarke-check: "):
                continue
            read += 1
            model, batch = onnx.load(Path(folder) / f"{name}.onnx"), np.load(Path(folder) / f"{name}.npy")
            why = unlike_all(model, sections("model\n" + answers[name])[0], by_others(model, runs_of(model, batch)))
            wrong += why is not None
            if why is not None:
                print(f"failed: {name}: {why}")
    print(f"{read} models read, {wrong} otherwise than by others")
    sys.exit(wrong > 0 or read < READ)


if __name__ == "__main__":
    main()
