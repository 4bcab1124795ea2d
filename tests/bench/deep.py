"""Deep networks at random initialisation: a whole verdict beside PyTorch's training step, one thread, in one run.

Usage: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHON tests/bench/deep.py BUILD_DIR [OTHER_BUILD_DIR] [--only NET...]

PYTHON has tools/train/requirements.txt and torchvision. With another build of this program, of an earlier commit say, both
are timed in turns. Pictures are normal noise: no ties but of zeros, and every argument as likely as another.
"""

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import library as dispatcher, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/train"))
import published  # noqa: E402


def torchvision():
    """Its networks. Its own operators (nms, ...) are not used, and need not load beside a CPU build of torch."""
    register = dispatcher.register_fake
    dispatcher.register_fake = lambda name, *a, **k: (
        (lambda f: f) if name.startswith("torchvision") else register(name, *a, **k))
    import torchvision.models as models
    dispatcher.register_fake = register
    return models


def chain(layers, channels=32):
    """Convolutions, He's initialisation; 3 pools of the first 9."""
    parts, c_in = [], 3
    for i in range(layers):
        conv = nn.Conv2d(c_in, channels, 3, padding=1)
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        parts += [conv, nn.ReLU()] + [nn.MaxPool2d(2)] * (i in (0, 4, 8))
        c_in = channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def without_dropout(model):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Dropout):
                setattr(module, name, nn.Identity())
    return model


IMAGES = (8, 3, 64, 64)
NETS = {
    "LeNet": (lambda tv: published.LeNet5().eval(), (128, 1, 28, 28), 10),
    "VGG11": (lambda tv: published.vgg11(1.0, False).eval(), (128, 3, 32, 32), 10),
    "ResNet18, channels halved": (lambda tv: published.resnet18(0.5, False).eval(), (128, 3, 32, 32), 10),
    "VGG11-BN, training": (lambda tv: published.vgg11(1.0, True).train(), (32, 3, 32, 32), 10),
    "ResNet18, training": (lambda tv: tv.resnet18().train(), IMAGES, 1000),
    "MobileNetV2, training": (lambda tv: without_dropout(tv.mobilenet_v2()).train(), IMAGES, 1000),
    "ResNet50, training": (lambda tv: tv.resnet50().train(), IMAGES, 1000),
    "DenseNet121, training": (lambda tv: tv.densenet121().train(), IMAGES, 1000),
    "100 convolutions": (lambda tv: chain(100).eval(), (4, 3, 32, 32), 10),
}


def write(folder, model, x, y):
    train = model.training
    state = copy.deepcopy(model.state_dict())  # with its metadata: MNASNet asks for its version when it is loaded
    names = {"input_names": ["x"], "output_names": ["out"]}
    mode = torch.onnx.TrainingMode.TRAINING if train else torch.onnx.TrainingMode.PRESERVE
    if not train:
        names["dynamic_axes"] = {"x": {0: "N"}, "out": {0: "N"}}
    torch.onnx.export(model, x, str(folder / "model.onnx"), dynamo=False, training=mode,
                      do_constant_folding=False, opset_version=17, **names)
    model.load_state_dict(state)
    np.savez(folder / "batch.npz", x=x.numpy(), y=y.numpy())


def step_ms(model, x, y):
    times = []
    for _ in range(7):
        start = time.process_time()
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        times.append(1e3 * (time.process_time() - start))
    return min(times[2:])


def verdict(build, folder, limit):
    """The least of its times, and what it found; None where it takes longer than that many seconds."""
    try:
        run = subprocess.run([build / "tests/bench/audit_bench", "verdict", folder / "model.onnx",
                              folder / "batch.npz", "0.5"], stdout=subprocess.PIPE, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0:
        raise SystemExit(f"audit_bench failed in {build}")
    found = json.loads(run.stdout)
    return min(found["times"]["whole"]), found


def cell(timed, step, limit):
    return f"over {1e3 * limit / step:.0f}" if timed is None else f"{timed[0]:.0f} ms, {timed[0] / step:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="+")
    parser.add_argument("--only", nargs="*", default=list(NETS))
    parser.add_argument("--limit", type=float, default=90, help="seconds a verdict may take")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    models = torchvision()
    heads = ["verdict, ratio"] + ["the other build"] * (len(options.build) - 1)
    print("| network | batch | step, ms | " + " | ".join(heads) + " | verdict | left by the filter |")
    print("|---" * (5 + len(heads)) + "|")
    for name in options.only:
        make, shape, classes = NETS[name]
        torch.manual_seed(0)
        model = make(models)
        random = torch.Generator().manual_seed(1)
        x, y = torch.randn(shape, generator=random), torch.randint(0, classes, shape[:1], generator=random)
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), model, x, y)
            step = step_ms(model, x, y)
            timed = [verdict(build.resolve(), Path(folder), options.limit) for build in options.build]
            step = min(step, step_ms(model, x, y))
        found = timed[0][1] if timed[0] is not None else {"verdict": "", "exact_samples": ""}
        cells = [name, "x".join(map(str, shape)), f"{step:.1f}", *(cell(t, step, options.limit) for t in timed),
                 found["verdict"], f"{found['exact_samples']} samples to the exact pass"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
