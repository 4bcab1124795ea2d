#!/usr/bin/env python3
"""Parts of the recorder beside their definitions: winners of windows, numbers on kinks, archives, files.

    records_parts.py
"""
import io
import itertools
import os
import random
import sys
import tempfile
import zipfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
sys.path.append(os.path.join(HERE, "..", "tools"))
from clarke import files, refused  # noqa: E402
from clarke.operators import kinks  # noqa: E402
from expect import expect, finish  # noqa: E402

TYPES = torch.float32, torch.float64, torch.bfloat16, torch.float16


class Held:
    def __init__(self, tensor):
        self.tensor = tensor


class Pool:
    """What kinks.py asks a recorded pool."""

    def __init__(self, x, y, winner, *args):
        self.args, self.kwargs, self.results = (Held(x), *args), {}, [Held(y), Held(winner)]

    def where(self):
        return "a pool"


def refuses(node):
    try:
        kinks.check_windows(node)
    except refused.Refused:
        return True
    return False


def first_of_window(image, row, column, kernel, dilation):
    """The place of the first largest entry, by definition; None: the window has no entry of the image."""
    inside = [(r, c) for r in range(row, row + kernel[0] * dilation[0], dilation[0]) for c in range(column, column + kernel[1] * dilation[1], dilation[1])
              if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]]
    largest = max((float(image[at]) for at in inside), default=None)
    return next((r * image.shape[1] + c for r, c in inside if float(image[r, c]) == largest), None)


def draw_pool():
    kernel, stride, dilation = ([random.randint(1, most) for _ in range(2)] for most in (4, 4, 3))
    padding, ceil = [random.randint(0, k // 2) for k in kernel], random.random() < 0.5
    x = torch.randint(-2, 2, (2, 2, random.randint(1, 9), random.randint(1, 9))).to(random.choice(TYPES))
    x = x.contiguous(memory_format=random.choice((torch.contiguous_format, torch.channels_last)))
    return x, kernel, stride, padding, dilation, ceil


def windows(number):
    """Winners by definition, those of PyTorch, and others, which are refused."""
    asked = 0
    for _ in range(number):
        x, kernel, stride, padding, dilation, ceil = drawn = draw_pool()
        try:
            y, winner = torch.nn.functional.max_pool2d(*drawn, return_indices=True)
        except RuntimeError:  # no window has a place
            continue
        by_definition = [first_of_window(x[n, c], i * stride[0] - padding[0], j * stride[1] - padding[1], kernel, dilation)
                         for n, c, i, j in itertools.product(*map(range, y.shape))]
        if None in by_definition:
            continue
        asked += 1
        node = Pool(x, y, winner, kernel, stride, padding, dilation, ceil)
        found = torch.as_tensor(kinks.first_of_windows(x, y, node)).reshape(-1).tolist()
        expect(found == by_definition, f"windows: {tuple(x.shape)} {drawn[1:]}")
        expect(not refuses(node), f"windows of PyTorch: {tuple(x.shape)} {drawn[1:]}")
        other, at = winner.clone(), tuple(random.randrange(n) for n in winner.shape)
        other[at] += random.choice((-1, 1, x.shape[-1]))
        expect(refuses(Pool(x, y, other, *drawn[1:])), f"another winner: {tuple(x.shape)} {drawn[1:]}")
    expect(asked > number // 3, f"windows: {asked} asked")
    return asked


def large_windows():
    """More entries than are compared at once, and more in a window than a byte counts."""
    x = torch.relu(torch.randn(7, 40, 64, 64))
    y, winner = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    expect(y.numel() > kinks.PIECE and not refuses(Pool(x, y, winner, [2, 2])), "many windows")
    for image in (0, 3, 6):
        other = winner.clone()
        other[image, -1, -1, -1] -= 1
        expect(refuses(Pool(x, y, other, [2, 2])), f"many windows: another winner in image {image}")
    x = torch.zeros(1, 1, 20, 40)
    x[..., -1, -1] = 1
    y, winner = torch.nn.functional.max_pool2d(x, (20, 20), return_indices=True)
    expect(winner.reshape(-1).tolist() == [0, 799] and not refuses(Pool(x, y, winner, [20, 20])), "large windows")
    for kind in TYPES:  # beside a NaN nothing is the largest
        x = torch.tensor([[[[float("nan"), 1], [2, 3]]]], dtype=kind)
        y, winner = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        expect(refuses(Pool(x, y, winner, [2, 2])), f"a NaN of {kind}")


def touched(number):
    shapes = (0,), (1,), (3, 4), (kinks.PIECE + 5,), (2, kinks.PIECE), (4, 3, 5, 5)
    for _ in range(number):
        x, at = torch.randn(random.choice(shapes)).to(random.choice(TYPES)), random.choice((0, -0.0, 0.1, 3, -3.0, 1 / 3))
        if x.dim() == 4:
            x = random.choice((x, x.contiguous(memory_format=torch.channels_last), x.transpose(0, 2)[:, 1:], x[:, :, ::2]))
        if x.numel() > 0 and random.random() < 0.5:
            x[tuple(random.randrange(n) for n in x.shape)] = at
        expect(kinks.touches(x, at) == bool((x == at).any()), f"touched: {tuple(x.shape)} {x.dtype} {at}")


def archives():
    """As np.load and zipfile read them, and as np.savez writes longer ones."""
    sets = [{"x": np.arange(12, dtype=np.float32).reshape(3, 4)}, {},
            {"x": np.zeros((0, 3)), "y": np.array(3), "größe": np.array([True, False]), "h": np.ones((2, 2), np.float16)[None]}]
    for arrays, long in itertools.product(sets, (files.LONG, 1)):
        kept, files.LONG = files.LONG, long
        written = b"".join(bytes(part) for part in files.npz(arrays))
        files.LONG = kept
        found = np.load(io.BytesIO(written))
        expect(list(found) == list(arrays) and zipfile.ZipFile(io.BytesIO(written)).testzip() is None, f"archive of {list(arrays)}")
        for name, a in arrays.items():
            expect(found[name].dtype == a.dtype and found[name].shape == a.shape and (found[name] == a).all(), f"archive: {name}")


def whole_files(folder):
    """Parts longer and shorter than what is written at once."""
    path, again = os.path.join(folder, "file"), os.path.join(folder, "again")
    parts = [os.urandom(n) for n in (0, 5, files.PIECE, 2 * files.PIECE + 3)]
    said = files.write(path, [parts[0], memoryview(parts[1]), *parts[2:]])
    with open(path, "rb") as f:
        data = f.read()
    expect(data == b"".join(parts) and said == files.hashlib.sha256(data).hexdigest(), "a file of parts")
    expect(files.write(again, parts, hashed=False) is None, "a file of parts without a hash")
    with open(again, "rb") as f:
        expect(f.read() == data, "the same file without a hash")


def solid_windows(number):
    """Pools of solids and adaptive ones, of few numbers, so that many are equal: PyTorch's winners pass, any other entry does not."""
    def passes(node):
        try:
            kinks.check_any_windows(node)
            return True
        except refused.Refused:
            return False

    for _ in range(number):
        x = torch.randint(-1, 2, (2, 2, *(random.choice([2, 4, 6]) for _ in range(3)))).to(random.choice(TYPES[:2]))
        name = random.choice(["max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d"])
        if name == "max_pool3d_with_indices":
            given = [[random.choice([1, 2]) for _ in range(3)] for _ in range(2)]
            given += [[random.randrange(k // 2 + 1) for k in given[0]], [1], random.random() < 0.5]
        else:
            x = x if name[-2] == "3" else x[:, :, 0]
            given = [[random.choice([d for d in range(1, n + 1) if n % d == 0]) for n in x.shape[2:]]]
        y, winner = getattr(torch.ops.aten, name)(x, *given)
        node = Pool(x, y, winner, *given)
        node.name = name
        expect(passes(node), f"{name} {given} of {tuple(x.shape)}")
        place = random.randrange(winner.numel())
        other = winner.clone().reshape(-1)
        other[place] = (other[place] + 1 + random.randrange(max(1, x[0, 0].numel() - 1))) % x[0, 0].numel()
        node.results = [Held(y), Held(other.reshape(winner.shape))]
        expect(torch.equal(other, winner.reshape(-1)) or not passes(node), f"{name} {given} of {tuple(x.shape)}, a winner changed")


def main():
    random.seed(1)
    torch.manual_seed(1)
    asked = windows(600)
    large_windows()
    solid_windows(300)
    touched(600)
    archives()
    with tempfile.TemporaryDirectory() as folder:
        whole_files(folder)
    print(f"{asked} pools")
    finish()


if __name__ == "__main__":
    main()
