"""What --gradient costs: `clarke audit` with and without it, by processor time and memory, one thread.

Usage: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHON tests/bench/gradient.py BUILD_DIR [OTHER_BUILD_DIR] [--only NET...]

PYTHON has tools/train/requirements.txt and torchvision. With another build of this program, of an earlier commit say, both are timed in turns.
Networks are as they are initialised, pictures are normal noise. A row has the least of some runs.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import torch

from deep import torchvision, without_dropout, write
from timing import used

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/train"))
import published  # noqa: E402

NETS = {
    "LeNet": (lambda: published.LeNet5(), (32, 1, 28, 28)),
    "VGG11, channels halved": (lambda: published.vgg11(0.5, False), (32, 3, 32, 32)),
    "ResNet18, channels halved": (lambda: published.resnet18(0.5, False), (32, 3, 32, 32)),
    "ResNet18-BN in inference, channels halved": (lambda: published.resnet18(0.5, True), (32, 3, 32, 32)),
    "VGG11-BN in training, channels halved": (lambda: published.vgg11(0.5, True), (32, 3, 32, 32)),
    "ResNet18-BN in training, channels halved": (lambda: published.resnet18(0.5, True), (32, 3, 32, 32)),
    "MobileNetV2 in training": (lambda: without_dropout(torchvision().mobilenet_v2()), (8, 3, 64, 64)),
    "ResNet50 in training": (lambda: torchvision().resnet50(), (8, 3, 64, 64)),
}


def audit(build, folder, *more):
    return used([build.resolve() / "tools/clarke", "audit", folder / "model.onnx", "--batch", folder / "batch.npz", "--threads",
                 "1", *more])


def measure(build, folder, runs):
    """Seconds of the verdict and of what the gradient adds to it, and megabytes of both."""
    plain = [audit(build, folder) for _ in range(runs)]
    whole = [audit(build, folder, "--gradient", folder / "gradient.safetensors") for _ in range(runs)]
    verdict, both = (min(r["seconds"] for r in group) for group in (plain, whole))
    return [f"{verdict:.2f}", f"{both - verdict:.2f}", f"{(both - verdict) / verdict:.3g}",
            *(f"{max(r['megabytes'] for r in group):.0f}" for group in (plain, whole))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="+")
    parser.add_argument("--only", nargs="*", default=list(NETS))
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print("| network | build | verdict, s | gradient, s more | ratio | verdict, MB | with it, MB |\n" + "|---" * 7 + "|")
    for name in options.only:
        make, shape = NETS[name]
        torch.manual_seed(0)
        model = make().train()
        random = torch.Generator().manual_seed(1)
        x, y = torch.randn(shape, generator=random), torch.randint(0, 10, shape[:1], generator=random)
        model(x)  # statistics of their own, where there are some
        model.train("in training" in name)
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), model, x, y)
            for i, build in enumerate(options.build):
                print("| " + " | ".join([name, str(i + 1), *measure(build, Path(folder), options.runs)]) + " |", flush=True)


if __name__ == "__main__":
    main()
