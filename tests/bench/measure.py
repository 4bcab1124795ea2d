"""Times an audit beside the float computation that it audits, and prints a Markdown table.

Everything runs on one thread and in turns: each of several rounds times every row for a while, so
that a machine that slows down slows all rows alike. Times are processor times, of all threads and
of kernel work done for them, so that other programs on the machine hardly count; on an idle machine
they are the times on the clock. Called by tests/bench/run.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
import torch

import inputs
import networks
from timing import UNIT, Timer, figure, print_rows, processor


class Bench(Timer):
    def tools(self, suffix):
        model, batch = self.folder / f"{self.name}{suffix}.onnx", self.folder / f"batch{suffix}.npz"
        proof = self.folder / f"{self.name}{suffix}.proof"

        def audit():
            proof.unlink(missing_ok=True)
            self.shell("clarke", "audit", model, "--batch", batch, "--proof", proof)

        self.time("clarke" + suffix, audit)
        if (self.build / "tools/clarke-check").exists():
            self.time("check" + suffix, lambda: self.shell("clarke-check", proof))

    def ranks(self):
        """numpy's rank of the layers' inputs, in doubles, and of the almost dependent batch."""
        first, activation = self.model[0], self.model[1]
        for suffix in ("", "-ulp"):
            z = np.load(self.folder / f"batch{suffix}.npz")["x"].T.astype(np.float64)
            w, b = (p.detach().double().numpy() for p in (first.weight, first.bias))
            layers = [z, activation(torch.from_numpy(w @ z + b[:, None])).numpy()]
            for i, layer in enumerate(layers[:1] if suffix else layers):
                row = f"numpy.z_{i}{suffix}"
                self.found[row] = int(np.linalg.matrix_rank(layer))
                self.time(row, lambda a=layer: np.linalg.matrix_rank(a))

    def round(self):
        proof = self.folder / "bench.proof"
        self.time(UNIT, self.gradient)
        for suffix in ("", "-touching"):
            self.program("verdict", self.name + suffix, "batch" + suffix, suffix, proof)
        self.time(UNIT, self.gradient)
        self.program("exact", self.name, "batch")
        self.program("gemm", self.name, "batch")
        self.program("naive", self.name, "batch", seconds=0)
        self.program("rank", self.name, "batch")
        self.program("rank", self.name, "batch-ulp", "-ulp", seconds=0)
        self.ranks()
        self.time(UNIT, self.gradient)
        for suffix in ("", "-touching"):
            self.tools(suffix)

    def finish(self):
        """The naive pass ran on some samples: scaled to the batch."""
        found = self.found["naive"]
        scale = found["batch"] / found["samples"]
        self.times["naive.naive"] = [scale * t for t in self.times["naive.naive"]]


def rows(b):
    """Labels of the table's rows, in order."""
    touched = b.found["verdict-touching"]["touched"]
    naive = b.found["naive"]
    return [
        (UNIT, "PyTorch, float32, forward and backward"),
        ("gemm.sgemm", "the products of the forward pass alone, sgemm"),
        ("gemm.dgemm", "the same, dgemm"),
        ("verdict.whole", "**whole verdict with proof, in process**"),
        ("verdict.read", "— SHA-256 and parsing"),
        ("verdict.replay", "— replay"),
        ("verdict.audit", "— audit"),
        ("verdict.proof", "— proof, written to a file"),
        ("verdict.free", "— memory given back"),
        ("verdict.whole-touching", f"**whole verdict where {touched} kinks are touched**"),
        ("verdict.read-touching", "— SHA-256 and parsing"),
        ("verdict.replay-touching", "— replay"),
        ("verdict.audit-touching", "— audit"),
        ("verdict.proof-touching", "— proof, written to a file"),
        ("exact.exact", "replay in integers, without the filter"),
        ("naive.naive", f"naive mpq forward pass ({naive['samples']} samples timed, scaled to "
                        f"{naive['batch']})"),
        ("clarke", "process `clarke audit --proof`"),
        ("check", "process `clarke-check`"),
        ("clarke-touching", f"process `clarke audit --proof`, {touched} kinks touched"),
        ("check-touching", f"process `clarke-check`, {touched} kinks touched"),
        ("rank.z_0", "rank of z_0 (784 x 128), exact"),
        ("numpy.z_0", "— numpy's SVD, float64"),
        ("rank.z_1", "rank of z_1 (256 x 128), exact"),
        ("numpy.z_1", "— numpy's SVD, float64"),
    ]


def print_goals(b):
    median = {row: statistics.median(times) for row, times in b.times.items() if times}
    goals = [
        ("whole verdict with proof / forward and backward", "verdict.whole", UNIT, "under", 5),
        ("the same, kinks touched", "verdict.whole-touching", UNIT, "under", 5),
        ("naive mpq / replay", "naive.naive", "verdict.replay", "over", 1000),
        ("naive mpq / replay without the filter", "naive.naive", "exact.exact", None, None),
        ("naive mpq / whole verdict", "naive.naive", "verdict.whole", None, None),
        ("rank of z_0 / numpy", "rank.z_0", "numpy.z_0", "under", 3),
        ("rank of z_1 / numpy", "rank.z_1", "numpy.z_1", "under", 3),
    ]
    print("\n| goal | wanted | found | |\n|---|---|---|---|")
    for label, above, below, sense, bound in goals:
        ratio = median[above] / median[below]
        met = "" if sense is None else \
            "met" if (ratio < bound if sense == "under" else ratio > bound) else "**missed**"
        wanted = "" if sense is None else f"{sense} {bound}"
        print(f"| {label} | {wanted} | {figure(ratio)} | {met} |")


def print_found(b):
    verdict, touching = b.found["verdict"], b.found["verdict-touching"]
    naive, ranks, ulp = b.found["naive"], b.found["rank"], b.found["rank-ulp"]
    print(f"\nVerdict: {verdict['verdict']}, {verdict['touched']} kinks touched, "
          f"{verdict['filtered']} entries decided by the filter; touching inputs: "
          f"{touching['verdict']}, {touching['filtered']} by the filter. Pieces of the naive pass "
          f"that differ from the replay's: {naive['differing']} of {naive['compared']}.")
    for i in (0, 1):
        height, width, rank = ranks[f"z_{i}"]
        print(f"Rank of z_{i} ({height} x {width}): {rank}, numpy {b.found[f'numpy.z_{i}']}.")
    print(f"Last image a copy of the first but for 2^-44 in one pixel: rank of z_0 "
          f"{ulp['z_0'][2]}, numpy {b.found['numpy.z_0-ulp']}.")


def arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run PYTHON")
    parser.add_argument("build", type=Path, help="a built meson folder")
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's .idx.gz files")
    parser.add_argument("--networks", action="store_true", help="the convolutional networks instead")
    parser.add_argument("--cifar", type=Path, help="folder of CIFAR-10's binary files")
    parser.add_argument("--only", nargs="*", choices=networks.PARTS, help="of the networks' tables")
    parser.add_argument("--steps", type=int, default=20, help="of training, of the networks")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row of a round")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)
    if options.networks:
        return networks.measure(options)
    images, labels = inputs.mnist(options.mnist) if options.mnist else inputs.generated()
    print(f"{processor()}; torch {torch.__version__}, numpy {np.__version__}; one thread; "
          f"{'MNIST' if options.mnist else 'generated images'}, batch {inputs.BATCH}; "
          f"{options.rounds} rounds of {options.seconds} s a row")
    with tempfile.TemporaryDirectory() as folder:
        models, x, y = inputs.write_all(Path(folder), images, labels)
        for name, model in models.items():
            b = Bench(options.build.resolve(), Path(folder), name, model, x, y, options.seconds)
            for _ in range(options.rounds):
                b.round()
            b.finish()
            print(f"\n### {b.name}\n")
            print_rows(b.times, rows(b))
            print_found(b)
            print_goals(b)


if __name__ == "__main__":
    main()
