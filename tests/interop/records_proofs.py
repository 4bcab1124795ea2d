#!/usr/bin/env python3
"""What clarke writes of recorded steps, clarke-check reads: drawn steps of all types, with losses scaled far up and down.

    records_proofs.py CLARKE CLARKE-CHECK [--number N] [--edits N] [--seed N]

None is refuted, and each proof of `certify` is verified. Then single numbers are changed: by a unit of the last place, a 0 to the
smallest numbers, or by a power of two. If certify still writes a proof it is verified, too. Of what it refutes, the proof of before, its
hashes made anew, is verified for no tensor of which it says something. Others are moved to just inside of the bound that certify has of
them: what is shown there the checker must find within its own. And oneDNN's narrow factors are explained, as they are told.
"""
import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
PARSER = argparse.ArgumentParser()
PARSER.add_argument("clarke", type=os.path.abspath)
PARSER.add_argument("check", type=os.path.abspath)
PARSER.add_argument("--number", type=int, default=40)
PARSER.add_argument("--edits", type=int, default=1)
PARSER.add_argument("--seed", type=int, default=1)
ASKED = PARSER.parse_args()
os.environ["CLARKE"] = ASKED.clarke
import clarke  # noqa: E402

DRAW = random.Random(ASKED.seed)
WIDTH = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}  # bytes
FRACTION = {"F16": 10, "BF16": 7, "F32": 23, "F64": 52}  # bits
HALF = (torch.float16, torch.bfloat16)
ASKED_NOTHING = ("infinite", "is NaN", "argument of a root is 0", "in several types")  # of which there is no question, or no proof
failed = []


def expect(holds, *what):
    if not holds:
        failed.append(what)
        print("FAILED:", *what, flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout, done.stderr


# ---- Steps


class Of(nn.Module):
    """A function of its input."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Attention(nn.Module):
    """Of an axis made for it, with a causal mask that holds this number."""

    def __init__(self, n, mask):
        super().__init__()
        self.q, self.mask = nn.Linear(n, n), mask

    def forward(self, x):
        h = self.q(x)[:, None] * torch.linspace(0.5, 2, 3).to(x.dtype)[:, None]
        return ((h @ h.mT + torch.full((3, 3), self.mask, dtype=x.dtype).triu(1)).softmax(-1) @ h).mean(1)


def between(n, least):
    return DRAW.choice([
        nn.ReLU(), nn.Tanh(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.ELU(), nn.Sigmoid(), nn.LayerNorm(n), nn.BatchNorm1d(n),
        nn.Dropout(0.5), nn.PReLU(), nn.Hardtanh(), nn.LogSoftmax(-1), nn.Softmax(-1), nn.RMSNorm(n), Of(lambda h: h.abs() + 1), Of(lambda h: h * h),
        Of(lambda h: h / (1 + h * h)), Of(lambda h: (h * h + 1e-3).sqrt()), Of(lambda h: (h * h + 1).log()), Of(lambda h: h.logsumexp(-1, keepdim=True) - h),
        Of(lambda h: F.normalize(h, dim=1)), Attention(n, -1e4), Attention(n, least), Attention(n, float("-inf"))])


def draw():
    """(model, input, target, loss, scale, what it is)"""
    dtype = DRAW.choice([torch.float32] * 3 + [torch.float16, torch.bfloat16, torch.float64])
    n, images, loss = DRAW.choice([4, 6]), DRAW.random() < 0.35, DRAW.choice(["sum", "mse", "ce"])
    if images:
        layers = [nn.Conv2d(2, n, 3, padding=DRAW.choice([0, 1])), DRAW.choice([nn.BatchNorm2d(n), nn.GroupNorm(2, n), nn.InstanceNorm2d(n, affine=True), nn.Identity()]),
                  DRAW.choice([nn.ReLU(), nn.SiLU(), nn.Hardswish(), nn.MaxPool2d(2), nn.GELU(), nn.LeakyReLU(0.1)]), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    else:
        layers = [nn.Linear(5, n)]
    for _ in range(DRAW.choice([1, 1, 2, 3])):
        layers += [between(n, -6e4 if dtype == torch.float16 else -3e38), nn.Linear(n, n)]
    scale = DRAW.choice([1, 256.0, 1e-3] if dtype == torch.float16 else [1, 1e-30, 1e30, 65536.0])
    times = DRAW.choice([1, 10] if dtype == torch.float16 else [1, 1, 100, 1e4, 1e-20, 0])
    x = (torch.randn(*((3, 2, 6, 6) if images else (4, 5))) * times).to(dtype)
    y = torch.randint(0, 3, (len(x),)) if loss == "ce" else torch.randn(len(x), 3).to(dtype)
    return nn.Sequential(*layers, nn.Linear(n, 3)).to(dtype), x, y, loss, scale, f"{dtype} {loss} x {scale}, inputs x {times}, {[type(m).__name__ for m in layers]}"


def record(folder, model, x, y, loss, scale):
    """Why the step was refused; None: it was recorded."""
    of = {"sum": lambda o: o.sum(), "mse": lambda o: F.mse_loss(o, y), "ce": lambda o: F.cross_entropy(o, y)}[loss]
    try:
        with clarke.record(folder, model):
            (of(model(x)) * scale).backward()
    except clarke.Refused as why:
        return str(why)
    return None


# ---- Proofs


def prove(folder):
    """(certify's status, its first line, the proof's path or None)"""
    path = os.path.join(folder, "proof")
    status, said, error = run(ASKED.clarke, "certify", folder, "--proof", path)
    return status, (error or said).split("\n", maxsplit=1)[0], path if os.path.exists(path) else None


def verify(path, folder):
    status, said, error = run(ASKED.check, path, "--data", folder)
    return status == 0 and said.startswith("VERIFIED\n"), said + error


def tensors(path):
    """By name of those of floats: (type, where its bytes begin, how many entries)."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    found = {name: (t["dtype"], 8 + size + t["data_offsets"][0], (t["data_offsets"][1] - t["data_offsets"][0]) // WIDTH[t["dtype"]])
             for name, t in json.loads(data[8:8 + size]).items() if name != "__metadata__" and t["dtype"] in WIDTH}
    return bytearray(data), {name: t for name, t in found.items() if t[2] > 0 and not name.startswith(("before/", "after/"))}


def change(data, tensor):
    """One entry: what was done. None: it would be no number."""
    dtype, at, count = tensor
    width, sign = WIDTH[dtype], 1 << (8 * WIDTH[dtype] - 1)
    words = [int.from_bytes(data[at + width * k:at + width * (k + 1)], "little") for k in range(count)]
    zeros = [k for k, word in enumerate(words) if word % sign == 0]
    how = DRAW.choice(["unit", "tiny", "power"] if zeros else ["unit", "power"])
    k = DRAW.choice(zeros) if how == "tiny" else DRAW.randrange(count)
    word = words[k] % sign
    if how == "tiny":
        word = DRAW.choice([1, 2, 5, 1000, 1 << FRACTION[dtype]])
    else:
        word += 1 << FRACTION[dtype] - DRAW.choice([0, 1, 2]) if how == "power" else -1 if word > 0 and DRAW.random() < 0.5 else 1
    if word >= sign - (1 << FRACTION[dtype]):
        return None
    data[at + width * k:at + width * (k + 1)] = (words[k] - words[k] % sign + word).to_bytes(width, "little")
    return f"{how} at {k}"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def forge(folder, other, file):
    """The proof of `folder`, as one of `other`, where that file is another."""
    with open(os.path.join(folder, "proof"), encoding="utf-8") as f:
        text = f.read()
    for where, by in ((folder, str.upper), (other, str.lower)):
        with open(os.path.join(where, file), "rb") as f:
            text = text.replace(digest(f.read()), "THE OTHER'S") if by is str.upper else text.replace("THE OTHER'S", digest(f.read()))
    body = text[:text.rindex("end ")]
    path = os.path.join(other, "forged")
    with open(path, "w", encoding="utf-8") as f:
        f.write(body + "end " + digest(body.encode()) + "\n")
    return path


def edit(folder, name):
    other, part = folder + "-other", DRAW.choice(["trace", "trace", "gradients"])
    file = f"step-000000.{part}.safetensors"
    data, found = tensors(os.path.join(folder, file))
    tensor = DRAW.choice(sorted(found))
    how = change(data, found[tensor])
    if how is None:
        return
    shutil.copytree(folder, other)
    os.remove(os.path.join(other, "proof"))
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(folder, file), "rb") as f:
        text = text.replace(digest(f.read()), digest(data))
    with open(os.path.join(other, "run.json"), "w", encoding="utf-8") as f:
        f.write(text)
    with open(os.path.join(other, file), "wb") as f:
        f.write(data)
    status, said, proof = prove(other)
    well, words = verify(proof, other) if proof else (True, "")
    expect(well, name, tensor, how, "is", status, "by certify, and", words[:200])
    well, words = verify(forge(folder, other, file), other)
    line = ("parameter " + tensor) if part == "gradients" else tensor.replace("/", " ", 1)
    unsaid = words.split("whose numbers may be any:\n")[-1].split("\nVerdict")[0].split("\n")
    least = torch.finfo({"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}[found[tensor][0]]).smallest_normal
    small = abs(number(data, found[tensor], int(how.split()[-1]))) < 64 * least  # so much of underflow the checker allows where certify need not
    expect(small or not well or status != 1 or "    " + line in unsaid or "without a bound" in words, name, tensor, how, "is refuted, and verified:", words[:300])
    shutil.rmtree(other)


def number(data, tensor, k):
    """Entry k of a tensor, an exact number."""
    dtype, at, width = tensor[0], tensor[1] + k * WIDTH[tensor[0]], WIDTH[tensor[0]]
    raw = bytes(data[at:at + width])
    return Fraction(struct.unpack("<f", b"\0\0" + raw)[0] if dtype == "BF16" else struct.unpack({"F16": "<e", "F32": "<f", "F64": "<d"}[dtype], raw)[0])


def put(data, tensor, k, value):
    """Entry k becomes the number of its type that is nearest to the value towards 0. False: it is too large for it."""
    width, sign = WIDTH[tensor[0]], 1 << (8 * WIDTH[tensor[0]] - 1)
    low, high = 0, sign - (1 << FRACTION[tensor[0]])
    while high - low > 1:  # the numbers of a type are in the order of their bits
        word = (low + high) // 2
        data[tensor[1] + k * width:tensor[1] + (k + 1) * width] = word.to_bytes(width, "little")
        low, high = (word, high) if number(data, tensor, k) <= abs(value) else (low, word)
    word = low + (sign if value < 0 else 0)
    data[tensor[1] + k * width:tensor[1] + (k + 1) * width] = word.to_bytes(width, "little")
    return low < sign - (1 << FRACTION[tensor[0]]) - 2


def certified(other, files):
    """certify's row of each tensor, by part and name, when these files' bytes are those; None: it was not asked."""
    for file, (old, data) in files.items():
        with open(os.path.join(other, file), "wb") as f:
            f.write(data)
        with open(os.path.join(other, "run.json"), encoding="utf-8") as f:
            text = f.read().replace(old[0], digest(data))
        with open(os.path.join(other, "run.json"), "w", encoding="utf-8") as f:
            f.write(text)
        old[0] = digest(data)
    status, said, _ = run(ASKED.clarke, "certify", other, "--json")
    return {(row["part"], row["name"]): row for row in json.loads(said)["nodes"]} if status in (0, 1, 3) else None


def edge(folder, name):
    """An entry is moved to just inside of the bound that certify has of it: there the checker must find it within its own."""
    other, part = folder + "-other", DRAW.choice(["trace", "trace", "gradients"])
    file = f"step-000000.{part}.safetensors"
    data, found = tensors(os.path.join(folder, file))
    tensor = DRAW.choice(sorted(found))
    if part == "trace" and tensor.startswith("indices/"):
        return
    row, before, k = ("parameter", tensor) if part == "gradients" else tuple(tensor.split("/", 1)), [digest(data)], DRAW.randrange(found[tensor][2])
    shutil.copytree(folder, other)
    os.remove(os.path.join(other, "proof"))
    value = number(data, found[tensor], k)
    put(data, found[tensor], k, 8 * value + 1)
    rows = certified(other, {file: (before, data)})
    first = rows.get(row, {}).get("first") if rows else None
    if first and rows[row]["answer"] in ("refuted", "not certified") and first["bound"] not in (None, "inf"):
        exact = Fraction(first["exact"]) if not first["exact"].startswith("about") else Fraction(float(first["exact"][6:]))
        bound = Fraction(float.fromhex(str(first["bound"])) if str(first["bound"]).startswith("0x") else float(first["bound"]))
        near = exact + DRAW.choice([-1, 1]) * bound * Fraction(DRAW.choice([60, 70, 79]), 100)
        if put(data, found[tensor], k, near):
            answer = (certified(other, {file: (before, data)}) or {}).get(row, {}).get("answer", "not asked")
            status, _, proof = prove(other)
            well, words = verify(proof, other) if proof else (True, "")
            expect(well, name, tensor, k, "just inside of the bound", float(bound), "exact", float(exact), "is", answer, status, "by certify, and", words[:200])
    shutil.rmtree(other)


def drawn(folder):
    counts = {}
    for i in range(ASKED.number):
        torch.manual_seed(1000 * ASKED.seed + i)
        *step, name = draw()
        path = os.path.join(folder, str(i))
        refused = record(path, *step)
        if refused:
            counts["refused"] = counts.get("refused", 0) + 1
            continue
        status, said, proof = prove(path)
        expect(status in (0, 3) or any(why in said for why in ASKED_NOTHING), i, name, said)
        counts[status] = counts.get(status, 0) + 1
        if proof is None:
            continue
        well, words = verify(proof, path)
        expect(well, i, name, "the proof:", words[:300])
        for _ in range(ASKED.edits if well else 0):
            edit(path, name)
            edge(path, name)
        shutil.rmtree(path)
    print(counts)
    expect(counts.get(0, 0) + counts.get(3, 0) > ASKED.number // 2, "most are recorded and certified", counts)


# ---- Settings


@contextlib.contextmanager
def narrow(operator, to):
    of, before = getattr(torch.backends.mkldnn, operator), getattr(torch.backends.mkldnn, operator).fp32_precision
    of.fp32_precision = to
    try:
        yield
    finally:
        of.fp32_precision = before


def factors(folder):
    """Convolutions of bfloat16 factors are no others' fault; and where nothing is narrow, nothing is said to be."""
    made = {}
    for to in ("bf16", "ieee"):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3))
        path = os.path.join(folder, to)
        with narrow("conv", to):
            expect(record(path, model, torch.randn(2, 16, 8, 8), torch.tensor([0, 2]), "ce", 1) is None, to, "is recorded")
        for command in ("certify", "audit"):
            status, said, _ = run(ASKED.clarke, command, path)
            expect(status in (0, 3) and "NOT the step" not in said and "refuted" not in said.split("\n")[0], to, command, said[:200])
            expect(("factors of convolutions to bfloat16" in said) == (to == "bf16"), to, command, "names the factors", said[:300])
        made[to] = prove(path)
        expect(made[to][2] is not None and verify(made[to][2], path)[0], "narrow factors have a proof", to, made)


class Causal(nn.Module):
    """Attention to what came before: the mask is a buffer, minus infinity above the diagonal."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.register_buffer("mask", torch.full((3, 3), float("-inf")).triu(1))

    def forward(self, x):
        h = torch.relu(self.first(x))
        return torch.softmax(h @ h.mT + self.mask, -1) @ h


def masked(folder):
    path, model = os.path.join(folder, "masked"), Causal()
    with clarke.record(path, model):
        model(torch.randn(2, 3, 4)).sum().backward()
    status, said, _ = run(ASKED.clarke, "audit", path)
    expect(status == 0 and "in-bouligand). The recorded gradient is that one, but for rounding (explained)" in said, "a mask that is a buffer", said[:300])
    status, said, proof = prove(path)
    expect(status == 0 and proof is not None, "a mask that is a buffer is certified", said)
    expect(verify(proof, path)[0], "a mask that is a buffer has a proof")


def far_down(folder):
    """Masks of the least number, or of -1e30: what they leave of a softmax and of its logarithm has a bound, forward and back. A share of
    such an entry that is not 0 is refuted, by both programs."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for mask in (-1e30 if dtype != torch.float16 else -1e4, torch.finfo(dtype).min):
            for log in (False, True):
                torch.manual_seed(3)
                path, model = os.path.join(folder, f"far{dtype}{mask}{log}"), nn.Sequential(nn.Linear(4, 4), Masked(mask, log)).to(dtype)
                with clarke.record(path, model):
                    model(torch.randn(2, 4).to(dtype)).sum().backward()
                status, said, proof = prove(path)
                whole = not log or (dtype == torch.float32 and mask == -1e30)  # logarithms near the largest number have no bound
                expect(status == 0 or not whole, "masked by", mask, dtype, log, said)
                well, words = verify(proof, path)
                told = [line for line in words.split("\n") if "softmax" in line]
                bounded = not any("not shown" in line or ("but for" in line and "but for 0" not in line) for line in told)
                expect(well and len(told) > 1 and (bounded or not whole), "masked by", mask, dtype, log, words[:300], told)
                if not log:
                    unmask(path, dtype, mask)


class Masked(nn.Module):
    """The second and the last entry of each line are masked; then there is a sum whose gradient is not 0."""

    def __init__(self, mask, log):
        super().__init__()
        self.mask, self.log = mask, log

    def forward(self, x):
        h = x + torch.tensor([0, self.mask, 0, self.mask], dtype=x.dtype)
        return (torch.log_softmax(h, -1)[:, ::2] if self.log else torch.softmax(h, -1)) * torch.linspace(0.5, 2, 2 if self.log else 4).to(x.dtype)


def unmask(folder, dtype, mask):
    """The smallest normal number in the place of a masked share, with all hashes: the proof of before is no longer one."""
    other, file = folder + "-other", "step-000000.trace.safetensors"
    data, found = tensors(os.path.join(folder, file))
    name = next(n for n in sorted(found) if n.startswith("output/") and "softmax" in n)
    before = [digest(data)]
    expect(number(data, found[name], 1) == 0, "the share is 0", dtype, mask)
    put(data, found[name], 1, Fraction(torch.finfo(dtype).smallest_normal) * 1000)
    shutil.copytree(folder, other)
    rows = certified(other, {file: (before, data)})
    expect(rows is not None and rows[("output", name[7:])]["answer"] == "refuted", "a masked share that is not 0", dtype, mask, rows and rows[("output", name[7:])])
    well, words = verify(forge(folder, other, file), other)
    expect(not well and "FAILED" in words, "a masked share that is not 0 is verified", dtype, mask, words[:200])


class Dead(nn.Module):
    """Nothing comes back to the second channel of a normalization; of this no bound is known, as its variance is within rounding."""

    def __init__(self, norm):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3), norm

    def forward(self, x):
        return self.norm(self.first(x)).clamp(-9, 9).mean((2, 3)) * torch.tensor([1, 0, 2, 0.5], dtype=x.dtype)


def nothing(folder):
    """What is times 0 is 0, though nothing is known of what is: a gradient that must be 0, and is not, is refuted. The checker says so,
    too, or that it has no bound of it."""
    for name, norm, tensor in (("batch", nn.BatchNorm2d(4), "norm.weight"), ("instance", nn.InstanceNorm2d(4, affine=True), "first.bias")):
        torch.manual_seed(4)
        path, model = os.path.join(folder, f"dead-{name}"), Dead(norm).to(torch.bfloat16)
        with clarke.record(path, model):
            (model((torch.randn(4, 2, 6, 6) * 1e-20).to(torch.bfloat16)).sum() * 1e-30).backward()
        status, said, proof = prove(path)
        expect(status in (0, 3) and proof is not None and verify(proof, path)[0], name, "a gradient of zeros", status, said)
        other, file = path + "-other", "step-000000.gradients.safetensors"
        data, found = tensors(os.path.join(path, file))
        before = [digest(data)]
        expect(number(data, found[tensor], 1) == 0, name, "the gradient is 0")
        put(data, found[tensor], 1, Fraction(torch.finfo(torch.bfloat16).smallest_normal) / 2)
        shutil.copytree(path, other)
        rows = certified(other, {file: (before, data)})
        expect(rows is not None and rows[("parameter", tensor)]["answer"] in ("refuted", "not certified"), name, "is not 0:", rows and rows[("parameter", tensor)])
        well, words = verify(forge(path, other, file), other)
        expect("FAILED" in words or "without a bound" in words, name, "is not 0, and verified:", words[:200])


def main():
    with tempfile.TemporaryDirectory() as folder:
        drawn(folder)
        factors(folder)
        masked(folder)
        far_down(folder)
        nothing(folder)
    print(f"{len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
