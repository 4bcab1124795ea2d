#!/usr/bin/env python3
"""What other counters say of three networks: LeNet, VGG11 with batch normalization, a Transformer block. tests/cost/counters.json
keeps it, and `clarke cost --against` is held against that (tests/cost/test_against.py).

    python tests/interop/cost_counters.py --write tests/cost/counters.json [--onnx FOLDER]

Needs, beside torch: fvcore, thop, ptflops, calflops (and transformers, accelerate, which it imports), torchinfo, jax. With --onnx the networks are written there by torch.onnx, too.
"""
import argparse
import contextlib
import io
import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(2)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x))).flatten(1)
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


class VGG11(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for c in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
            if c == "M":
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(channels, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU()]
            channels = c
        self.features, self.classifier = nn.Sequential(*layers), nn.Linear(512, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Block(nn.Module):
    def __init__(self, fused=False, d=64, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads, self.fused = heads, fused

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = (u.reshape(b, t, self.heads, d // self.heads).transpose(1, 2) for u in self.qkv(x).split(d, dim=2))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(2, 3) / (d // self.heads) ** 0.5, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def torch_counter(model, x):
    from torch.utils.flop_counter import FlopCounterMode

    found = {}
    for name, needs in (("backward", False), ("with-input", True)):
        y, mode = x.clone().requires_grad_(needs), FlopCounterMode(display=False)
        with mode:
            out = model(y)
        found["forward"] = mode.get_total_flops()
        with FlopCounterMode(display=False) as mode:
            out.sum().backward()
        found[name] = mode.get_total_flops()
    return found


def fvcore(model, x):
    from fvcore.nn import FlopCountAnalysis

    return {"forward": FlopCountAnalysis(model, x).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()}


def thop(model, x):
    from thop import profile

    return {"forward": int(profile(model, inputs=(x,), verbose=False)[0])}


def ptflops(backend):
    def count(model, x):
        from ptflops import get_model_complexity_info

        flops, _ = get_model_complexity_info(model, tuple(x.shape[1:]), as_strings=False, print_per_layer_stat=False,
                                             verbose=False, backend=backend)
        return {"forward": int(flops)}

    return count


def calflops(model, x):
    from calflops import calculate_flops

    flops, _, _ = calculate_flops(model=model, args=[x], print_results=False, print_detailed=False, output_as_string=False)
    return {"forward": int(flops)}


def torchinfo(model, x):
    import torchinfo

    return {"forward": int(torchinfo.summary(model, input_data=x, verbose=0).total_mult_adds)}


def jax_lenet():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def net(w, x):
        for k, pad in (("conv1", ((2, 2), (2, 2))), ("conv2", "VALID")):
            x = lax.conv_general_dilated(x, w[k], (1, 1), pad) + w[k + "b"][None, :, None, None]
            x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = x.reshape(x.shape[0], -1)
        for k in ("fc1", "fc2"):
            x = jax.nn.relu(x @ w[k] + w[k + "b"])
        return (x @ w["fc3"] + w["fc3b"]).sum()

    shapes = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5), "fc1": (400, 120), "fc2": (120, 84), "fc3": (84, 10)}
    w = {k: jnp.zeros(s) for k, s in shapes.items()}
    w |= {k + "b": jnp.zeros(s[0] if k.startswith("conv") else s[1]) for k, s in shapes.items()}
    x, found = jnp.zeros((1, 1, 28, 28)), {}
    for name, f in (("forward", net), ("backward", jax.value_and_grad(net)), ("with-input", jax.value_and_grad(net, (0, 1)))):
        lowered = jax.jit(f).lower(w, x)
        found[name] = int(lowered.cost_analysis()["flops"])
    return found


COUNTERS = {"torch": torch_counter, "fvcore": fvcore, "thop": thop, "ptflops": ptflops("pytorch"), "ptflops-aten": ptflops("aten"),
            "calflops": calflops, "torchinfo": torchinfo}
NETWORKS = {"lenet": (LeNet, (1, 1, 28, 28)), "vgg11": (VGG11, (1, 3, 32, 32)), "block": (Block, (1, 16, 64)),
            "block-fused": (lambda: Block(True), (1, 16, 64))}


def count(make, shape):
    found = {}
    for name, counter in COUNTERS.items():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                found[name] = counter(make().eval(), torch.zeros(shape))
            except Exception as why:  # a counter that fails on a network says nothing of it
                found[name] = {"failed": f"{type(why).__name__}: {str(why)[:80]}"}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--onnx", type=Path)
    asked = parser.parse_args()
    found = {name: count(make, shape) for name, (make, shape) in NETWORKS.items()}
    found["lenet"]["jax"] = jax_lenet()
    text = json.dumps(found, indent=1) + "\n"
    print(text)
    if asked.write:
        asked.write.write_text(text)
    for name, (make, shape) in NETWORKS.items() if asked.onnx else ():
        model = make().eval()
        for i, p in enumerate(model.parameters()):  # equal ones would be written once
            nn.init.constant_(p, (i + 1) / 64)
        torch.onnx.export(model, torch.zeros(shape), asked.onnx / f"{name}.onnx", dynamo=False, do_constant_folding=False)


if __name__ == "__main__":
    main()
