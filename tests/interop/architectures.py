"""Small networks of the families that people train, in PyTorch: which of them `clarke audit` reads, as each exporter writes
them, and whether `clarke-check` verifies what is said.

    python architectures.py CLARKE CLARKE_CHECK [NAME...]   a row for each network and exporter
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

BATCH = 2


class Residual(nn.Module):
    def __init__(self, inner, outer=None):
        super().__init__()
        self.inner, self.outer = inner, outer or nn.Identity()

    def forward(self, x):
        return self.outer(x + self.inner(x))


class Excitation(nn.Module):
    """A gate on each channel (Hu et al., 2018)."""

    def __init__(self, channels, gate):
        super().__init__()
        self.down, self.up, self.gate = nn.Conv2d(channels, 2, 1), nn.Conv2d(2, channels, 1), gate

    def forward(self, x):
        return x * self.gate(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inception(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(channels, 2, 1), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(channels, 2, 3, padding=1), nn.ReLU())
        self.c = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(channels, 2, 1), nn.ReLU())

    def forward(self, x):
        return torch.cat([self.a(x), self.b(x), self.c(x)], 1)


class Dense(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one, self.two = nn.Conv2d(channels, 2, 3, padding=1), nn.Conv2d(channels + 2, 2, 3, padding=1)

    def forward(self, x):
        x = torch.cat([x, F.relu(self.one(x))], 1)
        return torch.cat([x, F.relu(self.two(x))], 1)


class Shuffle(nn.Module):
    """Half of the channels pass, then all are shuffled (Ma et al., 2018)."""

    def __init__(self, channels):
        super().__init__()
        self.inner = nn.Sequential(nn.Conv2d(channels // 2, channels // 2, 1), nn.ReLU())

    def forward(self, x):
        left, right = x.chunk(2, dim=1)
        x = torch.cat([left, self.inner(right)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class ChannelsLast(nn.Module):
    """A block of ConvNeXt (Liu et al., 2022)."""

    def __init__(self, channels):
        super().__init__()
        self.depth = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.norm, self.up = nn.LayerNorm(channels), nn.Linear(channels, 2 * channels)
        self.down, self.scale = nn.Linear(2 * channels, channels), nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.all, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = (m.view(n, t, self.heads, w // self.heads).transpose(1, 2) for m in self.all(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, w))


class Block(nn.Module):
    def __init__(self, width=4, heads=2, causal=False, act=nn.GELU, norm=nn.LayerNorm):
        super().__init__()
        self.attend = nn.Sequential(norm(width), Attention(width, heads, causal))
        self.feed = nn.Sequential(norm(width), nn.Linear(width, 8), act(), nn.Linear(8, width))

    def forward(self, x):
        x = x + self.attend(x)
        return x + self.feed(x)


class Vision(nn.Module):
    """ViT (Dosovitskiy et al., 2021)."""

    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 4, 4, 4), nn.Parameter(torch.randn(1, 1, 4))
        self.place, self.block, self.head = nn.Parameter(torch.randn(1, 5, 4)), Block(), nn.Linear(4, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.block(x)[:, 0])


class Gated(nn.Module):
    """What LLaMA has in place of a feed-forward layer."""

    def __init__(self, width):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(width, 8, False), nn.Linear(width, 8, False), nn.Linear(8, width, False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.up, self.three = up, nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.one(x))
        b = F.relu(self.two(F.max_pool2d(a, 2)))
        return self.three(torch.cat([a, self.up(b)], 1))


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.head = cell(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.head(F.relu(self.cell(x)[0][:, -1]))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.tokens, self.channels = nn.LayerNorm(4), nn.Linear(5, 5), nn.Linear(4, 4)

    def forward(self, x):
        x = x + F.gelu(self.tokens(self.norm(x).transpose(1, 2))).transpose(1, 2)
        return (x + self.channels(F.gelu(x))).mean(1)


def head(channels, classes=3):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def conv(a, b, act, k=3, norm=nn.BatchNorm2d, **more):
    return nn.Sequential(nn.Conv2d(a, b, k, padding=k // 2, bias=False, **more), norm(b), act())


IMAGE, TEXT = (3, 8, 8), (5, 4)
NETWORKS = {
    "LeNet": (IMAGE, lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))),
    "VGG-BN": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.ReLU), nn.MaxPool2d(2), conv(4, 4, nn.ReLU), nn.MaxPool2d(2),
                                            nn.Flatten(), nn.Linear(16, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 3))),
    "ResNet": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.ReLU), Residual(nn.Sequential(
        conv(4, 4, nn.ReLU), conv(4, 4, nn.Identity)), nn.ReLU()), head(4))),
    "DenseNet": (IMAGE, lambda: nn.Sequential(nn.Conv2d(3, 4, 1), Dense(4), nn.AvgPool2d(2), head(8))),
    "GoogLeNet": (IMAGE, lambda: nn.Sequential(nn.Conv2d(3, 4, 3), Inception(4), head(6))),
    "ShuffleNet": (IMAGE, lambda: nn.Sequential(nn.Conv2d(3, 4, 3), Shuffle(4), head(4))),
    "MobileNetV2": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.ReLU6), Residual(nn.Sequential(
        conv(4, 8, nn.ReLU6, 1), conv(8, 8, nn.ReLU6, groups=8), conv(8, 4, nn.Identity, 1))), head(4))),
    "MobileNetV3": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.Hardswish), Residual(nn.Sequential(
        conv(4, 4, nn.Hardswish, groups=4), Excitation(4, nn.Hardsigmoid()), conv(4, 4, nn.Identity, 1))),
        nn.Hardswish(), head(4))),
    "EfficientNet": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.SiLU), Residual(nn.Sequential(
        conv(4, 4, nn.SiLU, groups=4), Excitation(4, nn.Sigmoid()), conv(4, 4, nn.Identity, 1))), head(4))),
    "SENet": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.ReLU), Excitation(4, nn.Sigmoid()), conv(4, 4, nn.ReLU), head(4))),
    "GroupNorm": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.ReLU, norm=lambda c: nn.GroupNorm(2, c)), conv(4, 4, nn.ReLU),
                                               head(4))),
    "ConvNeXt": (IMAGE, lambda: nn.Sequential(nn.Conv2d(3, 4, 2, 2), ChannelsLast(4), head(4))),
    "YOLO": (IMAGE, lambda: nn.Sequential(conv(3, 4, nn.Mish), conv(4, 4, nn.LeakyReLU), nn.Upsample(scale_factor=2),
                                          conv(4, 4, nn.ReLU), head(4))),
    "UNet-transposed": (IMAGE, lambda: UNet(nn.ConvTranspose2d(4, 4, 2, 2))),
    "UNet-nearest": (IMAGE, lambda: UNet(nn.Upsample(scale_factor=2))),
    "UNet-bilinear": (IMAGE, lambda: UNet(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False))),
    "ViT": (IMAGE, Vision),
    "ViT-symbolic": (IMAGE, Vision),  # the default exporter's batch has any size
    "BERT": (TEXT, lambda: nn.Sequential(Block(), nn.Flatten(), nn.Linear(20, 2))),
    "GPT": (TEXT, lambda: nn.Sequential(Block(causal=True, act=lambda: nn.GELU("tanh")), nn.LayerNorm(4), nn.Linear(4, 3))),
    "OPT": (TEXT, lambda: nn.Sequential(Block(causal=True, act=nn.ReLU), nn.LayerNorm(4), nn.Linear(4, 3))),
    "LLaMA": (TEXT, lambda: nn.Sequential(Block(causal=True, norm=nn.RMSNorm), Residual(Gated(4)), nn.RMSNorm(4),
                                          nn.Linear(4, 3))),
    "Encoder": (TEXT, lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, 0.1, batch_first=True), nn.Linear(4, 2))),
    "Mixer": (TEXT, Mixer),
    "SELU": (TEXT, lambda: nn.Sequential(nn.Flatten(), nn.Linear(20, 4), nn.SELU(), nn.Linear(4, 4), nn.ELU(),
                                         nn.Linear(4, 4), nn.CELU(2.0), nn.Linear(4, 2))),
    "Softplus": (TEXT, lambda: nn.Sequential(nn.Flatten(), nn.Linear(20, 4), nn.Softplus(), nn.Linear(4, 4), nn.ReLU())),
    "LSTM": (TEXT, lambda: Recurrent(nn.LSTM)),
    "GRU": (TEXT, lambda: Recurrent(nn.GRU)),
}


def export(net, x, path, dynamo, symbolic=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            torch.onnx.export(net, (x,), str(path), dynamo=True, verbose=False, external_data=False,
                              dynamic_shapes=({0: torch.export.Dim("batch")},) if symbolic else None)
        else:
            torch.onnx.export(net, (x,), str(path), dynamo=False, opset_version=17)


def ask(clarke, check, folder, name, dynamo):
    """What the two programs say of the network."""
    shape, make = NETWORKS[name]
    torch.manual_seed(0)
    net, x = make().eval(), torch.randn(BATCH, *shape)
    model, batch, proof = folder / f"{name}.onnx", folder / f"{name}.npz", folder / f"{name}.proof"
    try:
        export(net, x, model, dynamo, name.endswith("-symbolic"))
    except Exception as error:
        return f"not exported: {str(error).splitlines()[0][:60]}"
    np.savez(batch, x=x.numpy())
    proof.unlink(missing_ok=True)
    said = subprocess.run([clarke, "audit", model, "--batch", batch, "--loss", "sum", "--proof", proof],
                          capture_output=True, text=True)
    if said.returncode == 2:
        return "refused: " + said.stderr.strip().removeprefix(f"clarke audit: {name}.onnx: ")
    verdict = next((v for v in ("not-in-clarke", "in-bouligand", "in-clarke", "undecided") if v in said.stdout), "?")
    if not proof.exists():
        return verdict
    checked = subprocess.run([check, proof], capture_output=True, text=True)
    return f"{verdict}, " + ("verified" if checked.returncode == 0 else "NOT VERIFIED: " + checked.stdout.strip()[:300])


def main(clarke, check, *names):
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in names or NETWORKS:
            for dynamo in (False, True):
                said = ask(clarke, check, pathlib.Path(temporary), name, dynamo)
                failed += "verified" not in said
                print(f"{name:16} {'dynamo' if dynamo else 'older':7} {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
