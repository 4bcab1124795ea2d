#!/usr/bin/env python3
"""tests/gpu/run without a GPU: it says so; with --device cpu it records, asks, and calls nothing a GPU's.

    gpu_run.py BUILD
"""
import importlib.machinery
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUN, BUILD = os.path.join(HERE, "..", "gpu", "run"), os.path.abspath(sys.argv[1])
from report import Report  # noqa: E402

REPORT = Report()


def call(*options):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([sys.executable, "-W", "ignore", RUN, "--build", BUILD, *options], capture_output=True, text=True, env=environment)


def loaded():
    loader = importlib.machinery.SourceFileLoader("gpu_run", RUN)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
    loader.exec_module(module)
    return module


def ask_folder(out):
    done = call("--device", "cpu", "--out", out, "mnist_mlp", "infonce")
    REPORT.check(done.returncode == 0, "it records on a CPU, and asks", done.stdout[-500:] + done.stderr)
    with open(os.path.join(out, "answers.json"), encoding="utf-8") as f:
        answers = json.load(f)["answers"]
    for name in ("mnist_mlp-float32", "mnist_mlp-bfloat16", "mnist_mlp-float16", "infonce-bfloat16"):
        said = answers.get(os.path.join(platform.machine(), name))
        REPORT.check(said is not None and said["gradient"] == "explained" and said["certify"] == 0, f"{name} is explained", said)
    REPORT.check(sum("dense-" in name for name in answers) == 12, "dense networks in every order and type", sorted(answers))
    for name in answers:
        with open(os.path.join(out, name, "run.json"), encoding="utf-8") as f:
            device = json.load(f)["device"]
        REPORT.check(device["type"] == "cpu", f"{name} says that a CPU made it", device)
    before = answers
    done = call("--ask", out)
    with open(os.path.join(out, "answers.json"), encoding="utf-8") as f:
        REPORT.check(json.load(f)["answers"] == before and done.returncode == 0, "it asks again what was brought", done.stdout[-300:] + done.stderr)


def ask_keep(out):
    """What a CPU recorded is never kept as a GPU's."""
    module, left = loaded(), loaded().Left(100)
    found = os.path.join(out, platform.machine(), "mnist_mlp-float32")
    with tempfile.TemporaryDirectory() as other:
        module.keep(shutil.copytree(found, os.path.join(other, "run")), other, "said", left, "cuda")
        REPORT.check(len(left.failed) == 1 and os.listdir(other) == ["run"], "a CPU's folder is no GPU's", (left.failed, os.listdir(other)))
        over = module.Left(0)
        REPORT.check(over.over("what") and over.undone == ["what"], "what there was no time for is told")


def main():
    done = call("--out", "nowhere")
    REPORT.check(done.returncode == 2 and "no GPU can be used here" in done.stderr, "without a GPU it says so", (done.returncode, done.stderr))
    with tempfile.TemporaryDirectory() as folder:
        ask_folder(os.path.join(folder, "out"))
        ask_keep(os.path.join(folder, "out"))
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
