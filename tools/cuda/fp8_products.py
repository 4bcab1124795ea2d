"""Records entries of FP8 matrix products of PyTorch (torch._scaled_mm, scales 1, result float32), with and without fast accumulation.

    fp8_products.py [--out FILE]

The factors are random; b is E4M3 and column-major, as the call asks. For each shape a few entries are kept with their factors.
"""

import argparse
import json
import sys
from pathlib import Path

import torch


def bits(tensor):
    """Hexadecimal, the bits of float32 numbers."""
    return ["%08x" % (x & 0xFFFFFFFF) for x in tensor.float().cpu().contiguous().view(torch.int32).flatten().tolist()]


def product(m, n, k, fast, kind, entries=3):
    g = torch.Generator().manual_seed(k)
    a = torch.randn(m, k, generator=g).to(kind)
    b = torch.randn(n, k, generator=g).to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    c = torch._scaled_mm(a.cuda(), b.cuda().t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=fast)
    at = [(i * (m // entries) + i, i * (n // entries) + 2 * i) for i in range(entries)]
    return {"m": m, "n": n, "k": k, "fast": fast, "a": str(kind), "b": "torch.float8_e4m3fn",
            "examples": [{"a": bits(a[r]), "b": bits(b[s]), "c": bits(c[r, s])[0]} for r, s in at]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    made = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "script": "tools/cuda/fp8_products.py", "call": "torch._scaled_mm(A, B), scales 1, result float32"}
    products = []
    for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        for m, n, k in ((64, 64, 32), (64, 64, 64), (64, 64, 128), (128, 128, 256), (128, 256, 512)):
            for fast in (True, False):
                try:
                    products.append(product(m, n, k, fast, kind))
                except RuntimeError as e:
                    print(m, n, k, fast, kind, str(e)[:200], file=sys.stderr)
    out = json.dumps(made, indent=1)[:-2] + ',\n "products": [\n' + ",\n".join("  " + json.dumps(p) for p in products) + "\n ]\n}\n"
    if args.out:
        args.out.write_text(out)
    else:
        sys.stdout.write(out)


main()
