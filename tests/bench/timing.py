"""Times of rows, taken in turns, and the tables they end in."""

import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch

UNIT = "float"


def processor_time():
    """Of this process and of the children that have ended."""
    mine = time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine + children.ru_utime + children.ru_stime


class Timer:
    """Milliseconds by row, gathered over the rounds for one network: NAME.onnx in folder."""

    def __init__(self, build, folder, name, model, x, y, seconds):
        self.build, self.folder, self.name, self.seconds = build, folder, name, seconds
        self.model, self.x, self.y = model, x, y
        self.times, self.found = defaultdict(list), {}

    def time(self, row, function):
        """Calls function for a while, at least three times, after once for warmth."""
        function()
        start = last = processor_time()
        runs = 0
        while runs < 3 or last < start + self.seconds:
            function()
            now = processor_time()
            self.times[row].append(1e3 * (now - last))
            last, runs = now, runs + 1

    def program(self, part, model, batch, suffix="", proof=None, seconds=None):
        """One run of audit_bench; its times go to rows PART.SERIES + suffix."""
        command = [self.build / "tests/bench/audit_bench", part, self.folder / f"{model}.onnx",
                   self.folder / f"{batch}.npz", str(self.seconds if seconds is None else seconds)]
        run = subprocess.run(command + ([proof] if proof else []), stdout=subprocess.PIPE)
        if run.returncode != 0:
            raise SystemExit(f"audit_bench {part} failed on {model}.onnx")
        result = json.loads(run.stdout)
        for series, times in result.pop("times").items():
            self.times[f"{part}.{series}{suffix}"] += times
        self.found[part + suffix] = result

    def shell(self, tool, *arguments):
        run = subprocess.run([self.build / "tools" / tool, *arguments], close_fds=False,
                             stdout=subprocess.DEVNULL)
        if run.returncode not in (0, 1):
            raise SystemExit(f"{tool} {' '.join(map(str, arguments))}: status {run.returncode}")

    def gradient(self):
        self.model.zero_grad()
        torch.nn.functional.cross_entropy(self.model(self.x), self.y).backward()


def used(command, *limits):
    """Status, processor seconds and peak megabytes of one run of a program (used.py)."""
    script = Path(__file__).parent / "used.py"
    run = subprocess.run([sys.executable, "-S", script, *limits, *command], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(run.stdout)


def figure(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def print_rows(times, rows):
    """A table of (row, label), the first of which is the unit."""
    unit = times[rows[0][0]]
    print("| | processor ms, median (least .. most) | ratio | of the least |\n|---|---|---|---|")
    for row, label in rows:
        if not times[row]:
            print(f"| {label} | not built | | |")
            continue
        median = statistics.median(times[row])
        print(f"| {label} | {figure(median)} ({figure(min(times[row]))} .. "
              f"{figure(max(times[row]))}) | {figure(median / statistics.median(unit))} "
              f"| {figure(min(times[row]) / min(unit))} |")


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()
