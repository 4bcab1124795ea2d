"""Records the training steps in cases/runs: small ones, on the CPU, from fixed seeds (docs/run-format.md)."""
import os
import shutil
import sys

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import clarke  # noqa: E402


class Lemma2(nn.Module):
    """Park, Chun, Lee, Lemma 2: relu(w x) - relu(-w x) is w x; an exporter folds -w."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.relu(self.w * x) - torch.relu(-self.w * x)


class TwoZeros(nn.Module):
    """Two layers of equal weights, which an exporter merges into one."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        for layer in (self.first, self.second):
            nn.init.zeros_(layer.weight)

    def forward(self, x):
        return F.relu(self.first(x)) - F.relu(self.second(x))


class Bounds(nn.Module):
    """clamp and hardtanh at their upper bound: 1 and 0."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return torch.clamp(self.w * x, -1, 1) + F.hardtanh(self.w * x)


class Tied(nn.Module):
    """An encoder and a decoder of one weight."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.decoder.weight = self.encoder.weight

    def forward(self, x):
        return self.decoder(F.relu(self.encoder(x)))


def fresh():
    """A convolutional network as it is before the first step: BatchNorm in training."""
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(36, 3))


def small():
    """LeNet's layers at 6 x 6; a blank border ties windows."""
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(),
                         nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 3))


class Parted(nn.Module):
    """Sums of four entries that float32 rounds: arguments of relu, and windows of two."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(4, 1, 1, bias=False)
        with torch.no_grad():
            self.mix.weight.copy_(torch.tensor([1.0, 1, -1, -1]).reshape(1, 4, 1, 1))

    def forward(self, x):
        return F.max_pool2d(F.relu(self.mix(x)), (1, 2))


def own_side():
    """relu of 1 - 2^-25 - 1 + 2^-25, which is 0; float32 has 2^-25."""
    model = nn.Sequential(Parted().mix, nn.ReLU())
    return model, summed(nearly()[:, :, :, 4:5])


def nearly():
    """Pixels of four entries: window by window one is 1 and one 1 + 2^-30; 2^-30 and -1; 0, as 1 - 2^-25 - 1 + 2^-25, and -1."""
    pixels = [[1, 0, 0, 0], [1, 2 ** -30, 0, 0], [1, 2 ** -30, 1, 0], [0, 0, 1, 0], [1, -2 ** -25, 1, -2 ** -25], [0, 0, 1, 0]]
    return torch.tensor(pixels).T.reshape(1, 4, 1, 6)


def dense():
    """Two layers, whose sums are added in several orders."""
    return nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 10))


class Attention(nn.Module):
    """Attention over five tokens, by products of activations (bmm) and a softmax."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 6) for _ in range(3))

    def forward(self, x):
        scores = torch.bmm(self.q(x), self.k(x).transpose(1, 2))
        return F.relu(torch.bmm(torch.softmax(scores, 2), self.v(x)))


class Added(nn.Module):
    """Products of activations that a parameter, and an activation, are added to (baddbmm); a matrix times a vector."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.last = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(4, 6)
        self.shift, self.by = nn.Parameter(torch.randn(2, 5, 5)), nn.Parameter(torch.randn(6))

    def forward(self, x):
        h = torch.baddbmm(self.last(x), torch.baddbmm(self.shift, self.q(x), self.k(x).transpose(1, 2)), self.v(x))
        return torch.mv(h.flatten(0, 1), self.by)


class Means(nn.Module):
    """Sums and means over axes that lie side by side or apart; what is added is smaller, and its gradient a sum."""

    def __init__(self):
        super().__init__()
        self.conv, self.shift, self.last = nn.Conv2d(1, 3, 3), nn.Parameter(torch.randn(3, 1, 1)), nn.Linear(3, 2)

    def forward(self, x):
        h = F.relu(self.conv(x) + self.shift)
        return self.last(h.mean((2, 3))) + h.sum((1, 3)).mean(1, keepdim=True)


class Words(nn.Module):
    """An embedding read word by word, a first state of zeros, and silu, of which PyTorch hands out no sigmoid."""

    def __init__(self):
        super().__init__()
        self.embed, self.mix, self.last = nn.Embedding(5, 3), nn.Linear(3, 3), nn.Linear(3, 4)

    def forward(self, words):
        h = torch.zeros(words.shape[0], 3)
        for x in self.embed(words).unbind(1):
            h = F.silu(self.mix(h) + x)
        return self.last(h)


def pooled():
    """Hardswish near -1.5, where its slope x / 3 + 1 / 2 cancels, and windows behind it."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Hardswish(), nn.MaxPool2d(2))
    with torch.no_grad():
        model[0].weight.div_(256)
        model[0].bias.fill_(-1.5)
    return model


def turned():
    """A transposed convolution, whose outputs lie between its inputs."""
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1), nn.ReLU())


def images(n):
    x = torch.zeros(n, 1, 6, 6)
    x[:, :, 1:5, 1:5] = torch.randint(0, 17, (n, 1, 4, 4)) / 16
    return x


def summed(x):
    return lambda model: model(x).sum()


def record(run, model, loss, **options):
    shutil.rmtree(run, ignore_errors=True)
    model.zero_grad()
    with clarke.record(run, model, **options):
        loss(model).backward()


def main(folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = images(4), torch.tensor([0, 1, 2, 1])
    steps = {
        "lemma2": (Lemma2(), summed(torch.ones(1, 1)), {}),
        "two-zeros": (TwoZeros(), summed(torch.ones(1, 1)), {}),
        "bounds": (Bounds(), summed(torch.ones(1, 1)), {}),
        "tied": (Tied(), lambda m, a=torch.randn(3, 4), b=torch.randn(3, 4): F.mse_loss(m(a), b), {}),
        "fresh": (fresh(), lambda m: F.cross_entropy(m(x), y), {}),
        "small": (small(), lambda m: 1024 * F.cross_entropy(m(x), y) / 3, {}),
        "small-light": (small(), lambda m: F.cross_entropy(m(x), y), {"light": True}),
        "small-float64": (small().double(), lambda m: F.cross_entropy(m(x.double()), y), {"light": True}),
        "parted": (Parted(), summed(nearly()), {}),
        "own-side": (*own_side(), {}),
        "trees": (dense(), lambda m, a=torch.randn(12, 20), b=torch.arange(12) % 10: F.cross_entropy(m(a), b), {"trees": True}),
        # the mean absolute value takes the samples together: a single run
        "pooled": (pooled(), lambda m, a=torch.randn(2, 2, 3, 3): F.l1_loss(m(x[:2]), a), {}),
    }
    for name, (model, loss, options) in steps.items():
        record(os.path.join(folder, name), model, loss, **options)
    # The same steps in another order of summation, and in another type.
    model, loss, _ = steps["small"]
    with torch.backends.mkldnn.flags(enabled=False), torch.backends.nnpack.flags(enabled=False):
        record(os.path.join(folder, "small-plain"), model, loss)
    record(os.path.join(folder, "small-trees"), small(), lambda m: F.cross_entropy(m(x), y), trees=True)
    torch.manual_seed(1)
    tokens = torch.randn(2, 5, 4)
    record(os.path.join(folder, "attention"), Attention(), lambda m: m(tokens).square().sum(), trees=True)
    pixels, target = torch.randn(2, 1, 7, 7), torch.randn(2, 2)
    record(os.path.join(folder, "means"), Means(), lambda m: F.mse_loss(m(pixels), target), trees=True)
    # of a loss that smooths labels only the result was recorded
    words = torch.tensor([[0, 3], [4, 0], [2, 2]])
    record(os.path.join(folder, "words"), Words(), lambda m: F.cross_entropy(m(words), words[:, 0] % 4, label_smoothing=0.1))
    record(os.path.join(folder, "turned"), turned(), lambda m: m(pixels[:, :, :5, :6]).square().sum(), trees=True)
    record(os.path.join(folder, "added"), Added(), lambda m: m(tokens).square().sum(), trees=True)
    record(os.path.join(folder, "own-side-float64"), steps["own-side"][0].double(), summed(nearly()[:, :, :, 4:5].double()))

    record(os.path.join(folder, "factors"), Factors(), lambda m: m(tokens[0]), trees=True)
    # on an Intel Xeon with AMX, whose MKL fuses beta: other processors have other trees
    record(os.path.join(folder, "factors-fused"), Fused(), lambda m, a=torch.randn(4, 7): m(a).square().sum(), trees=True)
    narrow(os.path.join(folder, "narrow"))
    normal(os.path.join(folder, "layer-float64"))
    placed(os.path.join(folder, "placed"))


def normal(run):
    """A normalization and a gelu between products, in float64, of which doubles are no enclosure."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6, eps=2 ** -16), nn.GELU(), nn.Linear(6, 3)).double()
    x, y = torch.randn(5, 4).double(), torch.tensor([0, 2, 1, 1, 0])
    record(run, model, lambda m: F.cross_entropy(m(x), y))


def placed(run):
    """Rows of an activation, put among constant ones."""
    torch.manual_seed(4)
    model = nn.Linear(2, 2)
    x = torch.randn(3, 2)
    record(run, model, lambda m: torch.full((4, 2), 0.25).index_put((torch.tensor([0, 2, 3]),), m(x).relu()).square().sum())


def narrow(run):
    """Convolutions and products whose float32 factors oneDNN rounded to bfloat16 first: on a processor that has instructions for it (AMX
    or AVX512_BF16; others compute in float32)."""
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 32), nn.ReLU(), nn.Linear(32, 3))
    x, target = torch.randn(4, 8, 5, 5), torch.randn(4, 3)
    kinds = [torch.backends.mkldnn.conv, torch.backends.mkldnn.matmul]
    before = [kind.fp32_precision for kind in kinds]
    for kind in kinds:
        kind.fp32_precision = "bf16"
    try:
        record(run, model, lambda m: F.mse_loss(m(x), target))
    finally:
        for kind, was in zip(kinds, before):
            kind.fp32_precision = was


class Fused(nn.Module):
    """Two layers with factors."""

    def __init__(self):
        super().__init__()
        self.w, self.c, self.v, self.b = (nn.Parameter(torch.randn(s)) for s in ((7, 5), (5,), (5, 3), (3,)))

    def forward(self, x):
        h = torch.relu(torch.addmm(self.c, x, self.w, alpha=0.3, beta=0.7))
        return torch.addmm(self.b, h, self.v, beta=0.7)


class Factors(nn.Module):
    """Products with factors, of a matrix (addmm) and a vector (addmv); a residual; a dot product, and one of all entries of two vectors."""

    def __init__(self):
        super().__init__()
        shapes = ((4, 6), (6,), (6, 6), (9, 6), (9,), (9, 6))
        self.w, self.c, self.d, self.a, self.b, self.e = (nn.Parameter(torch.randn(s)) for s in shapes)

    def forward(self, x):
        h = torch.relu(torch.addmm(self.c, x, self.w, alpha=0.3, beta=0.7))
        h = h + torch.mm(h, self.d)
        left, right = torch.addmv(self.b, self.a, h[0], alpha=-1.5, beta=0.1), torch.mv(self.e, h[1])
        return torch.dot(left, right) + torch.outer(h[2], h[3]).square().sum()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "cases", "runs"))
