"""nn.LSTM, nn.GRU and nn.RNN as both of PyTorch's exporters write them: the gradient that `clarke audit` says is PyTorch's own in
float64, and `clarke-check` verifies the proof.

An exporter puts the layers' parameters together and orders the gates anew. All parameters here are different numbers, so an
entry of a file is the parameter's entry of the same number; where a file has the number twice, the gradients add up.
"""

import collections
import subprocess
import warnings

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from safetensors.numpy import load_file
from torch import nn
from torch.nn import functional as F

BATCH, TIMES, INPUTS, HIDDEN, CLASSES = 2, 4, 2, 3, 3
TOLERANCE = 1e-9


class Last(nn.Module):
    """Classifies the outputs at the last time, or, `by_state`, the last layer's state."""

    def __init__(self, layer, by_state=False):
        super().__init__()
        self.layer, self.by_state = layer, by_state
        self.head = nn.Linear(HIDDEN * (1 if by_state or not layer.bidirectional else 2), CLASSES)

    def forward(self, x):
        y, state = self.layer(x if self.layer.batch_first else x.transpose(0, 1))
        if self.by_state:
            return self.head((state[1] if isinstance(state, tuple) else state)[-1])
        return self.head(y[:, -1] if self.layer.batch_first else y[-1])


class Learned(nn.Module):
    """The initial state is a parameter, the same for all samples."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.begin, self.head = layer, nn.Parameter(torch.randn(1, 1, HIDDEN)), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        return self.head(self.layer(x, self.begin.expand(-1, x.shape[0], -1))[0][:, -1])


class Translator(nn.Module):
    """The state in which one layer ends is another's first."""

    def __init__(self, layer, again):
        super().__init__()
        self.layer, self.again, self.head = layer, again, nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        return self.head(self.again(x, self.layer(x)[1])[0][:, -1])


def networks():
    """Name, network, exporters: o the older, d the default; 1: by a batch of one."""
    for name, kind, more in (("lstm", nn.LSTM, {}), ("gru", nn.GRU, {}), ("rnn-tanh", nn.RNN, {}),
                             ("rnn-relu", nn.RNN, {"nonlinearity": "relu"})):
        default = "1" if kind is nn.RNN else "d"  # of nn.RNN it makes the nodes of each time, and a bias for each sample

        def layer(kind=kind, more=more, **options):
            return kind(INPUTS, HIDDEN, **{"batch_first": True, **more, **options})

        yield name, Last(layer()), "o" + default
        yield name + ", two layers", Last(layer(num_layers=2)), "o" + default
        yield name + ", both directions", Last(layer(num_layers=2, bidirectional=True)), "o" if kind is nn.RNN else "od"
        yield name + ", no bias", Last(layer(bias=False)), "o" if kind is nn.RNN else "od"
        yield name + ", by the state", Last(layer(num_layers=2), by_state=True), "o" if kind is nn.RNN else "od"
        yield name + ", time first", Last(layer(batch_first=False)), "o" if kind is nn.RNN else "od"
        yield name + ", from state to state", Translator(layer(), layer()), "o" if kind is nn.RNN else "od"
        if kind is not nn.LSTM:
            yield name + ", learned state", Learned(layer()), "o"


def export(net, x, path, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how == "o":
            torch.onnx.export(net, (x,), str(path), dynamo=False, opset_version=17)
        else:
            torch.onnx.export(net, (x[:1] if how == "1" else x,), str(path), dynamo=True, verbose=False, external_data=False)


def by_number(values, gradients):
    """{number: sum of the gradients of all entries that are it}"""
    sums = collections.defaultdict(float)
    for name, gradient in gradients.items():
        for number, g in zip(np.asarray(values[name]).flatten(), np.asarray(gradient).flatten()):
            sums[float(number)] += float(g)
    return sums


def expected_of(net, x, y):
    values = {n: p.detach().numpy().astype(np.float32) for n, p in net.named_parameters()}
    net = net.double()
    F.cross_entropy(net(x.double()), y).backward()
    return by_number(values, {n: p.grad.numpy() for n, p in net.named_parameters()})


def said_of(clarke, folder, path, batch, proof):
    gradient = folder / "gradient.safetensors"
    gradient.unlink(missing_ok=True)
    done = subprocess.run([clarke, "audit", path, "--batch", batch, "--loss", "ce", "--json", "--gradient", gradient,
                           "--proof", proof], capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr or done.stdout)[:300]
    values = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    return by_number(values, load_file(gradient)), None


def compare(got, expected):
    scale = max(abs(g) for g in expected.values())
    for number, g in expected.items():
        if abs(got.get(number, 0.0) - g) > TOLERANCE * scale:
            return f"the gradient of the parameter {number!r} is {got.get(number)!r}, PyTorch's {g!r}"
    more = [n for n, g in got.items() if n not in expected and abs(g) > TOLERANCE * scale]
    return f"a parameter {more[0]!r} that PyTorch has not" if more else None


SHAPES = {"w": (2, 4 * HIDDEN, INPUTS), "r": (2, 4 * HIDDEN, HIDDEN), "b": (2, 8 * HIDDEN), "p": (2, 3 * HIDDEN)}


def peeping(x, w, r, b, p):
    """ONNX's LSTM with peepholes, both directions: the sum of its outputs. Gates i, o, f, c; P of i, o, f."""
    total = 0
    for d in range(2):
        h = c = torch.zeros(BATCH, HIDDEN, dtype=torch.float64)
        look = p[d].split(HIDDEN)
        for t in range(TIMES) if d == 0 else reversed(range(TIMES)):
            i, o, f, g = (x[:, t] @ w[d].T + h @ r[d].T + b[d][:4 * HIDDEN] + b[d][4 * HIDDEN:]).split(HIDDEN, 1)
            i, f = torch.sigmoid(i + look[0] * c), torch.sigmoid(f + look[2] * c)
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + look[1] * c) * torch.tanh(c)
            total = total + h.sum()
    return total


def check_peepholes(report, clarke, check, folder, x):
    given = {n: torch.randn(s).numpy() for n, s in SHAPES.items()}
    path, batch, proof, made = (folder / f"peeping.{end}" for end in ("onnx", "npz", "proof", "safetensors"))
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
             helper.make_node("LSTM", ["t", "w", "r", "b", "", "", "", "p"], ["y"], hidden_size=HIDDEN, direction="bidirectional"),
             helper.make_node("Transpose", ["y"], ["z"], perm=[2, 0, 1, 3])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [None, TIMES, INPUTS])],
                              [helper.make_tensor_value_info("z", 1, None)], [numpy_helper.from_array(a, n) for n, a in given.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    np.savez(batch, x=x.numpy())
    done = subprocess.run([clarke, "audit", path, "--batch", batch, "--loss", "sum", "--gradient", made, "--proof", proof], capture_output=True, text=True)
    report.check(done.returncode == 0, "peepholes: audit", done.stdout[:300] + done.stderr[:300])
    leaves = {n: torch.tensor(a, dtype=torch.float64, requires_grad=True) for n, a in given.items()}
    peeping(x.double(), **leaves).backward()
    got = load_file(made)
    off = max(float(np.abs(got[n] - v.grad.numpy()).max()) for n, v in leaves.items())
    report.check(off < TOLERANCE, "peepholes: gradient", f"off by {off}")
    done = subprocess.run([check, proof], capture_output=True, text=True)
    report.check(done.returncode == 0, "peepholes: clarke-check", done.stdout[:300] + done.stderr[:300])


def check_recurrent(report, clarke, check, folder):
    torch.manual_seed(5)
    x, y = torch.randn(BATCH, TIMES, INPUTS), torch.tensor([0, 2])
    batch, path, proof = folder / "recurrent.npz", folder / "recurrent.onnx", folder / "recurrent.proof"
    check_peepholes(report, clarke, check, folder, x)
    np.savez(batch, x=x.numpy(), y=y.numpy())
    for name, net, exporters in networks():
        for how in exporters:
            export(net.float().eval(), x, path, how)
            proof.unlink(missing_ok=True)
            got, problem = said_of(clarke, folder, path, batch, proof)
            net.zero_grad()
            expected = expected_of(net, x, y)
            what = f"{name} ({'older' if how == 'o' else 'default'} exporter)"
            report.check(problem is None and (problem := compare(got, expected)) is None, f"{what}: gradient", problem)
            done = subprocess.run([check, proof], capture_output=True, text=True)
            report.check(done.returncode == 0, f"{what}: clarke-check", done.stdout[:300] + done.stderr[:300])
