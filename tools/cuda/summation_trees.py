"""In which order does a matrix product add? Finds the summation tree of torch.mm for given shapes, and writes it as JSON.

    summation_trees.py [--device cuda|cpu] [--out FILE] [--shapes MxNxK,...] [--dtypes NAME,...] [--layouts nn,nt]

The method is FPRev's (Xie et al., USENIX ATC 2025). In a sum of K products let one be M, one -M, and the others 1, M so large
that even the sum of all ones vanishes beside it. What comes out counts the ones that were added after M and -M had met. So K less
it is the number of leaves below the node where the two meet. These numbers for enough pairs give the tree. A node may have more
than two children: a tensor core adds a group of products at once.

Each row of A is a question of its own; all columns of B are ones. All columns must answer alike, and so must other rows, asked
anew. A tree is written as text: brackets around the children of a node, `a-b` for consecutive leaves that are children of one
node.
"""

import argparse
import json
import platform
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "clarke"))
import summation  # noqa: E402
from summation import Unclear  # noqa: E402

DTYPES = {
    # name: (type, tf32, M, one, how many ones an output can count exactly)
    "fp32": (torch.float32, False, 2.0**60, 2.0**-14, 2**24),
    "tf32": (torch.float32, True, 2.0**60, 2.0**-14, 2**24),
    "fp16": (torch.float16, False, 2.0**15, 2.0**-24, 2**11),
    "bf16": (torch.bfloat16, False, 2.0**60, 2.0**-14, 2**8),
}


class Kernel:
    """One shape and type: answers questions about pairs of leaves."""

    def __init__(self, name, m, n, k, layout, device):
        self.type, self.tf32, self.large, self.one, self.most = DTYPES[name]
        self.m, self.k, self.device = m, k, device
        self.layout = layout
        self.b = self.laid_out(torch.ones(k, n, dtype=self.type, device=device))
        self.asked = 0

    def laid_out(self, b):
        """nn: row-major. nt: the transpose of a row-major matrix, as a linear layer has its weights."""
        return b if self.layout == "nn" else b.t().contiguous().t()

    def multiply(self, a, b=None):
        if self.device == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = self.tf32
        return torch.mm(a, self.b if b is None else b)

    def count(self, pairs, low, high, shift):
        """For each pair, of the leaves from low to high: how many ones are left. The questions are in rows shifted by so many."""
        a = torch.zeros(self.m, self.k, dtype=self.type, device=self.device)
        at = (torch.arange(len(pairs), device=self.device) + shift) % self.m
        i, j = (torch.tensor(x, device=self.device) for x in zip(*pairs))
        a[at, low:high] = self.one
        a[at, i], a[at, j] = self.large, -self.large
        c = self.multiply(a)[at].double() / self.one
        if not bool((c == c[:, :1]).all()):
            raise Unclear("columns differ")
        return [int(x) for x in c[:, 0].tolist()]

    def below(self, pairs, shift=0):
        """The number of leaves below the node where each pair meets."""
        left = [0] * len(pairs)
        for first in range(0, len(pairs), self.m):
            some = pairs[first:first + self.m]
            for low in range(0, self.k, self.most // 2):
                high = min(low + self.most // 2, self.k)
                for p, c in enumerate(self.count(some, low, high, shift)):
                    left[first + p] += c
        self.asked += len(pairs)
        return [self.k - x for x in left]


def nested(tree):
    """A chain as lists of what a node adds at once."""
    if not isinstance(tree, summation.Chain):
        return tree
    made = tree.first
    for below in tree.steps:
        made = [made] + [nested(b) for b in below]
    return made


def text(tree):
    if not isinstance(tree, list):
        return str(tree)
    parts, run = [], []

    def flush():
        if run:
            parts.append(f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(map(str, run)))
            run.clear()

    for child in tree:
        if isinstance(child, list):
            flush()
            parts.append(text(child))
        else:
            if run and child != run[-1] + 1:
                flush()
            run.append(child)
    flush()
    return "(" + " ".join(parts) + ")"


def bits(tensor):
    """Hexadecimal, the bits of float32 numbers."""
    return ["%08x" % (x & 0xFFFFFFFF) for x in tensor.float().cpu().contiguous().view(torch.int32).flatten().tolist()]


def examples(kernel, n, k, device):
    """Two results on random numbers, to replay."""
    g = torch.Generator().manual_seed(1)
    a = torch.randn(kernel.m, k, generator=g).to(kernel.type).to(device)
    b = kernel.laid_out(torch.randn(k, n, generator=g).to(kernel.type).to(device))
    c = kernel.multiply(a, b)
    if k > 256:
        return []
    return [{"a": bits(a[r]), "b": bits(b[:, s]), "c": bits(c[r, s])[0]} for r, s in ((0, 0), (kernel.m - 1, n - 1))]


def probe(name, m, n, k, layout, device):
    kernel = Kernel(name, m, n, k, layout, device)
    answer = {"dtype": name, "m": m, "n": n, "k": k, "layout": layout}
    try:
        sys.setrecursionlimit(100 + 8 * k)
        tree = summation.build(kernel.below, list(range(k)))
        pairs = [(0, j) for j in range(1, min(k, m + 1))]
        same = kernel.below(pairs) == kernel.below(pairs, shift=m // 2 + 1)
        if tree.leaves != k or not same:
            raise Unclear("rows differ, or answers change")
        answer.update(tree=text(nested(tree)), questions=kernel.asked, examples=examples(kernel, n, k, device))
    except (Unclear, RuntimeError) as e:
        answer.update(tree=None, why=str(e)[:200])
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out")
    parser.add_argument("--shapes", default="16x8x16,64x64x32,64x64x64,128x128x128,128x128x512,512x512x512,128x1000x512,"
                                            "1024x1024x1024,8x8x2048")
    parser.add_argument("--dtypes", default="fp32,tf32,fp16,bf16")
    parser.add_argument("--layouts", default="nn,nt")
    args = parser.parse_args()
    made = {"device": torch.cuda.get_device_name() if args.device == "cuda" else platform.machine(),
            "torch": torch.__version__, "cuda": torch.version.cuda, "script": "tools/cuda/summation_trees.py",
            "call": "torch.mm(A, B), A row-major; layout nn: B row-major, nt: B transposed",
            "products": []}
    if args.device == "cuda":
        made["compute_capability"] = ".".join(map(str, torch.cuda.get_device_capability()))
        made["blas"] = torch.backends.cuda.preferred_blas_library().name
    for name in args.dtypes.split(","):
        for shape in args.shapes.split(","):
            m, n, k = map(int, shape.split("x"))
            for layout in args.layouts.split(","):
                p = probe(name, m, n, k, layout, args.device)
                made["products"].append(p)
                print(name, shape, layout, (p["tree"] or p["why"])[:90], file=sys.stderr)
    products = made.pop("products")
    out = json.dumps(made, indent=1)[:-2] + ',\n "products": [\n' + ",\n".join("  " + json.dumps(p) for p in products) + "\n ]\n}\n"
    if args.out:
        Path(args.out).write_text(out)
    else:
        sys.stdout.write(out)


main()
