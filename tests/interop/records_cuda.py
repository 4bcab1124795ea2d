#!/usr/bin/env python3
"""Steps of operators that CUDA alone has, computed by stand-ins on the CPU (cuda_operators.py): recorded, audited, certified, their proofs checked.

    records_cuda.py CLARKE CLARKE-CHECK [NAME...]

And a wrong derivative of a stand-in is refuted. No such record says that a GPU made it.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
CLARKE, CHECK = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["CLARKE"] = CLARKE
import clarke  # noqa: E402
from clarke.operators.table import OPERATORS  # noqa: E402
from clarke.sums.precision import of_products  # noqa: E402
from clarke.recording.recorder import device_of  # noqa: E402
from cuda_operators import chosen  # noqa: E402
from report import Report  # noqa: E402

REPORT = Report()


class Of(nn.Module):
    def __init__(self, f, **modules):
        super().__init__()
        self.f = f
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x):
        return self.f(self, x)


def flattened(layer):
    """All weights in one buffer, as on a GPU."""
    with torch.no_grad():
        buffer, at = torch.cat([w.reshape(-1) for w in layer._flat_weights]), 0
        for w in layer._flat_weights:
            w.data = buffer[at:at + w.numel()].view(w.shape)
            at += w.numel()
    return layer


def attention(size=4, **more):
    def f(m, x):
        q, k, v = (t.reshape(*x.shape[:2], 2, size).transpose(1, 2) for t in m.given(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, **more).transpose(1, 2)
    return Of(f, given=nn.Linear(5, 6 * size))


def cells(kind):
    def f(m, x):
        state = torch.zeros(x.shape[0], 4), torch.zeros(x.shape[0], 4)
        state = state if kind is nn.LSTMCell else state[0]
        for t in x.unbind(1):
            state = m.cell(t, state)
        return state[0] * state[1] if kind is nn.LSTMCell else state
    return Of(f, cell=kind(5, 4))


def pictures(*layers):
    """Of 3 x 4 x 5 numbers, as images of one plane."""
    return nn.Sequential(nn.Unflatten(1, (1, 4)), *layers)


SEEN = torch.ones(4, 4).tril().bool()
LENGTHS = (torch.arange(4) < torch.tensor([[2], [3], [4]])).reshape(3, 1, 1, 4)


def steps():
    """Name: (the operator that must be in the record, the model)."""
    plain, near = nn.RMSNorm(5, eps=1e-6), torch.linspace(-1, 1, 16).reshape(4, 4)
    found = {
        "batch norm": ("cudnn_batch_norm", pictures(nn.Conv2d(1, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU())),
        "batch norm, in inference": ("cudnn_batch_norm", pictures(nn.Conv2d(1, 3, 2), nn.BatchNorm2d(3).eval(), nn.ReLU())),
        "batch norm without statistics": ("cudnn_batch_norm", pictures(nn.Conv2d(1, 3, 2), nn.BatchNorm2d(3, track_running_stats=False))),
        "batch norm of vectors": ("cudnn_batch_norm", nn.Sequential(nn.Flatten(), nn.Linear(20, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))),
        "lstm": ("_cudnn_rnn", Of(lambda m, x: m.rnn(x)[0], rnn=flattened(nn.LSTM(5, 4, batch_first=True)))),
        "lstm, not flattened": ("_cudnn_rnn", Of(lambda m, x: m.rnn(x)[0], rnn=nn.LSTM(5, 4))),
        "lstm of two layers, both ways": ("_cudnn_rnn", Of(lambda m, x: (lambda y, ends: y * ends[0].sum() + ends[1].mean())(*m.rnn(x)),
                                                        rnn=flattened(nn.LSTM(5, 3, num_layers=2, bidirectional=True, bias=False)))),
        "gru": ("_cudnn_rnn", Of(lambda m, x: m.rnn(x)[0], rnn=flattened(nn.GRU(5, 4, bidirectional=True)))),
        "rnn": ("_cudnn_rnn", Of(lambda m, x: m.rnn(x)[1], rnn=flattened(nn.RNN(5, 4, batch_first=True)))),
        "lstm cells": ("_thnn_fused_lstm_cell", cells(nn.LSTMCell)),
        "gru cells": ("_thnn_fused_gru_cell", cells(nn.GRUCell)),
        "rms norm": ("_fused_rms_norm", nn.Sequential(nn.Linear(5, 5), plain, nn.Linear(5, 2))),
        "rms norm without scale": ("_fused_rms_norm", nn.Sequential(nn.Linear(5, 5), nn.RMSNorm(5, elementwise_affine=False))),
        "dropout": ("native_dropout", nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.3), nn.ReLU(), nn.Linear(6, 2))),
    }
    for kind in ("flash", "efficient", "cudnn"):
        name = f"_scaled_dot_product_{kind}_attention"
        found |= {f"{kind} attention": (name, attention()), f"{kind} attention, causal": (name, attention(is_causal=True)),
                  f"{kind} attention of other heads": (name, attention(size=3, scale=0.3))}
        if kind != "flash":
            found |= {f"{kind} attention, masked": (name, attention(attn_mask=SEEN)), f"{kind} attention, padded": (name, attention(attn_mask=LENGTHS)),
                      f"{kind} attention, with biases": (name, attention(attn_mask=near))}
    return found


def kind_of(name):
    return next((kind for kind in ("flash", "efficient", "cudnn") if kind in name), None)


def record(model, run):
    torch.manual_seed(1)
    x = torch.randn(3, 4, 5)
    model.zero_grad()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    with clarke.record(run, model, optimizer=optimizer):
        model(x).square().mean().backward()
    optimizer.step()


def certified(run):
    return subprocess.run([CLARKE, "certify", run], capture_output=True, text=True)


def ask(name, operator, model):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        try:
            record(model, run)
            answer = clarke.audit(run)
        except (clarke.Refused, clarke.Failed) as why:
            return REPORT.check(False, name, why)
        with open(os.path.join(run, "run.json"), encoding="utf-8") as f:
            said = json.load(f)
        REPORT.check(any(operator in n["aten"] for n in said["nodes"]), f"{name}: {operator} ran", [n["aten"] for n in said["nodes"]])
        factors = said["flags"]["precision"]["cuda"]
        REPORT.check(factors["matmul"] == (factors["rnn"] if operator == "_cudnn_rnn" else "ieee"), f"{name}: to what its factors are rounded", factors)
        REPORT.check(said["device"]["type"] == "cpu", f"{name}: its device is the CPU", said["device"])
        REPORT.check(answer.answer == "explained" and answer.verdict == "in-bouligand", f"{name}: explained", (answer.answer, answer.verdict, answer.reason))
        nodes = certified(run)
        REPORT.check(nodes.returncode == 0, f"{name}: certified", nodes.stdout[:300] + nodes.stderr)
        with open(os.path.join(run, "proof"), "wb") as f:
            f.write(answer.proof or b"")
        checked = subprocess.run([CHECK, os.path.join(run, "proof")], capture_output=True, text=True).stdout
        return REPORT.check(checked.startswith("VERIFIED"), f"{name}: its proof", checked[:300])


def ask_wrong(name, model):
    """The derivative that ran is a hundredth too large."""
    with tempfile.TemporaryDirectory() as folder, chosen(wrong=1.01):
        run = os.path.join(folder, "run")
        record(model, run)
        answer = clarke.audit(run)
        REPORT.check(answer.answer == "refuted", f"{name}: a wrong derivative is refuted", (answer.answer, answer.reason))
        REPORT.check(certified(run).returncode == 1, f"{name}: and so is the step", certified(run).stdout[:300])


class Cut(nn.Module):
    """Refused, with what to do."""

    def __init__(self, f):
        super().__init__()
        self.f, self.given = f, nn.Linear(5, 24)

    def forward(self, x):
        q, k, v = (t.reshape(*x.shape[:2], 2, 4).transpose(1, 2) for t in self.given(x).chunk(3, -1))
        return self.f(q, k, v)


REFUSED = {
    "dropout in attention": (lambda: Cut(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)), "efficient", "whose mask nobody sees"),
    "dropout in a recurrent network": (lambda: Of(lambda m, x: m.rnn(x)[0], rnn=nn.LSTM(5, 4, num_layers=2, dropout=0.5)), None, "whose mask nobody sees"),
}


# ---- What CUDA alone has, by PyTorch's own list

# Of the forward operators in it: not written, with the reason.
NOT_TAKEN = {
    "ctc_loss": "a sum over paths", "cudnn_affine_grid_generator": "spatial transformers", "cudnn_grid_sampler": "spatial transformers",
    "_fused_dropout": "nothing dispatches to it", "_masked_scale": "its derivative",
    "cudnn_convolution_transpose": "aten.convolution is above it", "cudnn_convolution_": "inference alone", "_conv_depthwise2d": "aten.convolution is above it",
    "conv_depthwise3d": "aten.convolution is above it", "batch_norm_stats": "SyncBatchNorm: several processes", "batch_norm_elemt": "SyncBatchNorm",
    "batch_norm_gather_stats": "SyncBatchNorm", "miopen": "AMD's", "_cudnn_rnn_flatten_weight": "before a step", "_cudnn_init_dropout_state": "a seed",
    "_foreach_": "optimizers", "record_stream": "memory", "_philox_": "random numbers", "_chunk_cat": "sharded training", "split_with_sizes_copy": "sharded training", "sparse": "sparse tensors",
    "_cslt": "sparse tensors", "int4pack": "quantized inference", "_mixed_dtypes_linear": "quantized inference", "_grouped_mm": "several products at once",
    "_scaled_grouped_mm": "float8", "_flash_attention_forward": "nested tensors, or called by hand", "_efficient_attention_forward": "nested tensors, or called by hand",
    "_cudnn_attention_forward": "nested tensors, or called by hand", "_triton_": "inference alone", "_fill_mem_eff_dropout_mask_": "PyTorch's own tests",
}


def cuda_alone():
    """Forward operators that have a kernel for CUDA and none for the CPU."""
    path = os.path.join(os.path.dirname(torch.__file__), "..", "torchgen", "packaged", "ATen", "native", "native_functions.yaml")
    with open(path, encoding="utf-8") as f:
        entries = re.split(r"\n(?=- func:)", f.read())
    for entry in entries:
        name = re.match(r"- func: (\w+)", entry)
        keys = {key.strip() for line in re.findall(r"^    ([\w, ]+): ", entry, re.M) for key in line.split(",")}
        if name and "CUDA" in keys and "CPU" not in keys and "backward" not in name[1]:
            yield name[1]


def ask_list():
    names = sorted(set(cuda_alone()))
    REPORT.check(len(names) > 50, "PyTorch's list is read", names)
    left = [name for name in names if name not in OPERATORS and not any(part in name for part in NOT_TAKEN)]
    REPORT.check(not left, "each operator that CUDA alone has is written, or there is a reason", left)


class On:
    """A tensor of some device."""

    def __init__(self, name):
        self.device = torch.device(name)


def ask_devices():
    REPORT.check(device_of([On("cpu"), On("meta")])["type"] == "cpu", "a step on a CPU is called so")
    try:
        device_of([On("cpu"), On("cuda:0")])
        REPORT.check(False, "a step on two devices is refused", "it is recorded")
    except clarke.Refused as why:
        REPORT.check("cpu, cuda:0" in str(why), "a step on two devices is refused", why)
    for rnn, matmul, both in (("ieee", "tf32", "tf32"), ("tf32", "ieee", "tf32"), ("bf16", "bf16", "bf16"), ("bf16", "tf32", "any")):
        found = of_products({"cuda": {"matmul": matmul, "rnn": rnn, "conv": "ieee"}}, ["rnn"])["cuda"]
        REPORT.check(found["matmul"] == both and found["conv"] == "ieee", f"products of {matmul} and {rnn}", found)
        found = of_products({"cuda": {"matmul": matmul, "rnn": "fp16", "conv": rnn}}, ["conv"])["cuda"]
        REPORT.check(found["matmul"] == both and found["rnn"] == "fp16", f"products of {matmul} and convolutions of {rnn}", found)


def main():
    wanted, found = sys.argv[3:], steps()
    torch.manual_seed(0)
    for name, (operator, model) in found.items():
        if not wanted or name in wanted:
            with chosen(attention=kind_of(operator)):
                ask(name, operator, model)
    for name in [] if wanted else ["batch norm", "lstm", "gru", "lstm cells", "gru cells", "rms norm", "flash attention", "efficient attention, masked"]:
        with chosen(attention=kind_of(found[name][0])):
            ask_wrong(name, found[name][1])
    for name, (model, kind, why) in ({} if wanted else REFUSED).items():
        with tempfile.TemporaryDirectory() as folder, chosen(attention=kind):
            try:
                record(model(), os.path.join(folder, "run"))
                REPORT.check(False, f"{name} is refused", "it is recorded")
            except clarke.Refused as refusal:
                REPORT.check(why in str(refusal), f"{name} is refused", refusal)
    if not wanted:
        ask_list()
        ask_devices()
    return REPORT.close()


if __name__ == "__main__":
    sys.exit(main())
