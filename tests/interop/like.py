"""A checkpoint without a graph: the network by its name, recorded and audited; and what is said where that cannot be.

Usage: python tests/interop/like.py CLARKE CLARKE_CHECK
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
CLARKE, CHECK = (Path(p).resolve() for p in sys.argv[1:3])
NETS = '''
import torch
from torch import nn

def net(classes=3):
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, classes))

def wider():
    return net(4)

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x).relu())

def tied():
    return Tied()

def fails():
    raise KeyError("no such weather")

class Falls(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("one", torch.ones(1))

    def forward(self, x):
        raise AttributeError("no such weather")

def falls():
    return Falls()

number = 3
'''
KERAS = '''
import keras

def net(more=()):
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dropout(0.5), *more, keras.layers.Dense(3)])

def wider():
    return net([keras.layers.Dense(5)])
'''
failed = 0


def expect(holds, what):
    global failed
    if not holds:
        failed += 1
        print(f"failed: {what}")


def like(folder, name, weights, batch, run, *options):
    path = os.pathsep.join([str(ROOT / "tools" / "python"), folder])
    env = {**os.environ, "PYTHONPATH": path, "PATH": os.pathsep.join([str(CLARKE.parent), os.environ["PATH"]])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "clarke.like", name, weights, batch, run, *options], capture_output=True,
                          text=True, env=env, cwd=folder, check=False)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as scratch:
    Path(scratch, "nets.py").write_text(NETS)
    sys.path.insert(0, scratch)
    import nets

    state, x, y = nets.net().state_dict(), torch.randn(5, 4).numpy(), np.array([0, 1, 2, 0, 1])
    torch.save(state, Path(scratch, "plain.pth"))
    torch.save({"epoch": 3, "state_dict": state}, Path(scratch, "within.pth"))
    torch.save(list(state.values()), Path(scratch, "list.pth"))
    torch.save({k: t for k, t in state.items() if k != "3.bias"}, Path(scratch, "short.pth"))
    np.savez(Path(scratch, "b.npz"), x=x, y=y)
    np.save(Path(scratch, "b.npy"), x)
    for number, (weights, batch, options) in enumerate([("plain.pth", "b.npz", []), ("within.pth", "b.npy", []),
                                                        ("plain.pth", "b.npz", ["--train"])]):
        status, out, error = like(scratch, "nets:net", weights, batch, f"run{number}", *options)
        expect(status == 0 and "in-bouligand" in out + error, f"{weights}: {status} {out} {error}")
        proof = str(Path(scratch, f"run{number}", "p.proof"))
        done = subprocess.run([CLARKE, "audit", str(Path(scratch, f"run{number}")), "--proof", proof], capture_output=True, text=True, check=False)
        checked = subprocess.run([CHECK, proof, "--data", str(Path(scratch, f"run{number}"))], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and checked.returncode == 0, f"{weights}: {done.stderr} {checked.stdout} {checked.stderr}")
    for name, weights, says in [
            ("nets:wider", "plain.pth", "3.weight has shape (3, 6), and (4, 6) in the network"),
            ("nets:net", "short.pth", "it has not ['3.bias']"), ("nets:net", "list.pth", "no state dict"),
            ("nets:number", "plain.pth", "module nets has no function number"), ("nowhere:net", "plain.pth", "pip install nowhere"),
            ("resnet18", "plain.pth", "expected torchvision.MODEL, timm.MODEL, transformers.CLASS, keras or MODULE:FUNCTION"),
            ("transformers.BertModel", "plain.pth", "no config.json in" if importlib.util.find_spec("transformers") else "pip install transformers")]:
        status, out, error = like(scratch, name, weights, "b.npz", "refused")
        expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{name}: {status} {out} {error}")
    # weights that loading would change, and batches that the network does not run on
    torch.save({k: t.double() * (1 + 2.0 ** -40) if t.is_floating_point() else t for k, t in state.items()}, Path(scratch, "double.pth"))
    torch.save({k: t.double() if t.is_floating_point() else t for k, t in state.items()}, Path(scratch, "exact.pth"))
    torch.save({"a.weight": torch.eye(4), "b.weight": 2 * torch.eye(4)}, Path(scratch, "two.pth"))
    np.savez(Path(scratch, "wide.npz"), x=np.zeros((5, 7), np.float32), y=y)
    np.savez(Path(scratch, "double.npz"), x=x.astype(np.float64), y=y)
    np.savez(Path(scratch, "short.npz"), x=x, y=y.astype(np.int32))
    for name, weights, batch, says in [
            ("nets:net", "double.pth", "b.npz", "torch.float64 there is torch.float32 here"), ("nets:tied", "two.pth", "b.npy", "a.weight is another"),
            ("nets:net", "plain.pth", "wide.npz", "does not run on wide.npz"), ("nets:net", "plain.pth", "double.npz", "does not run on double.npz"),
            ("nets:net", "plain.pth", "short.npz", "does not run on short.npz")]:
        status, out, error = like(scratch, name, weights, batch, "refused")
        expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{weights} {batch}: {status} {out} {error}")
    # targets that PyTorch would spread over the outputs; what no reader takes, and a network that fails: none of it is a no
    np.savez(Path(scratch, "flat.npz"), x=x, y=np.zeros(3, np.float32))
    np.savez(Path(scratch, "column.npz"), x=x, y=np.zeros((5, 3), np.float32))
    Path(scratch, "text.npz").write_text("x, y")
    Path(scratch, "zip.npz").write_bytes(b"PK\3\4 and no more")
    torch.save({"one": torch.ones(1)}, Path(scratch, "buffer.pth"))
    Path(scratch, "w.index.json").write_text("{}")
    for name, weights, batch, says in [
            ("nets:net", "plain.pth", "flat.npz", "y has shape (3,), and the output (5, 3): loss mse takes two of one shape"),
            ("nets:net", "plain.pth", "text.npz", "Error"), ("nets:net", "plain.pth", "zip.npz", "not a zip file"), ("nets:net", "w.index.json", "b.npz", "Error"),
            ("nets:fails", "plain.pth", "b.npz", "no such weather"), ("nets:falls", "buffer.pth", "b.npz", "no such weather")]:
        status, out, error = like(scratch, name, weights, batch, "refused")
        expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{name} {weights} {batch}: {status} {out} {error}")
    status, out, error = like(scratch, "nets:net", "plain.pth", "column.npz", "column")
    expect(status == 0, f"mse: {status} {out} {error}")
    status, out, error = like(scratch, "nets:net", "exact.pth", "b.npz", "exact")
    expect(status == 0, f"exact: {status} {out} {error}")
    # clarke audit --like: the same, in one command
    def asked(*words):
        path = os.pathsep.join([str(ROOT / "tools" / "python"), scratch])
        env = {**os.environ, "PYTHONPATH": path, "PATH": os.pathsep.join([str(CLARKE.parent), os.environ["PATH"]]),
               "CLARKE_PYTHON": sys.executable, "TMPDIR": str(Path(scratch, "place"))}
        done = subprocess.run([CLARKE, "audit", "--like", *words], capture_output=True, text=True, env=env, cwd=scratch, check=False)
        return done.returncode, done.stdout, done.stderr

    Path(scratch, "place").mkdir()
    status, out, error = asked("nets:net", "plain.pth", "--batch", "b.npz", "--json")
    expect(status == 0 and json.loads(out)["verdict"] == "in-bouligand", f"--like: {status} {out} {error}")
    expect(not list(Path(scratch, "place").iterdir()), "--like left its folder behind")
    status, out, error = asked("nets:net", "plain.pth", "--batch", "b.npz", "--loss", "ce", "--train", "--keep", "kept", "--proof", "kept.proof")
    checked = subprocess.run([CHECK, "kept.proof", "--data", "kept"], capture_output=True, text=True, cwd=scratch, check=False)
    expect(status == 0 and checked.returncode == 0, f"--keep: {status} {error} {checked.stdout} {checked.stderr}")
    for words, says in [(("nets:net", "short.pth", "--batch", "b.npz"), "it has not ['3.bias']"),
                        (("nets:net", "plain.pth", "--batch", "b.npz", "--proof", "p"), "--like needs --keep RUN/"),
                        (("nets:net", "plain.pth"), "--like needs a checkpoint and --batch FILE"),
                        (("nets:net", "plain.pth", "plain.pth", "--batch", "b.npz"), "leave out --params")]:
        status, out, error = asked(*words)
        expect(status == 2 and out == "" and says in error, f"{words}: {status} {out} {error}")
    expect(not list(Path(scratch, "place").iterdir()), "--like left its folder behind where it was refused")

    # a manifest of two checkpoints: the graph at the second has that network's gradient, its running statistics, too
    second = nets.net()
    with torch.no_grad():
        for t in [*second.parameters(), second[1].running_mean, second[1].running_var]:
            t.add_(torch.rand(t.shape))
    torch.save(second.state_dict(), Path(scratch, "second.pth"))
    status, out, error = like(scratch, "nets:net", "plain.pth", "b.npz", "swept", "--manifest", "M.json")
    expect(status == 0, f"--manifest of one: {status} {error}")
    os.remove(Path(scratch, "M.json"))
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "clarke.like", "nets:net", "plain.pth", "second.pth", "b.npz", "two", "--manifest",
                           "M.json"], capture_output=True, text=True, cwd=scratch, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tools" / "python"), scratch])})
    swept = subprocess.run([CLARKE, "sweep", "M.json", "-o", "o.jsonl"], capture_output=True, text=True, cwd=scratch, check=False)
    expect(done.returncode == 0 and swept.returncode == 0 and len(Path(scratch, "o.jsonl").read_text().splitlines()) == 3,
           f"--manifest: {done.stderr} {swept.stdout} {swept.stderr}")
    subprocess.run([CLARKE, "audit", "two/graph.onnx", "--batch", "b.npz", "--params", "second.pth", "--gradient", "g.safetensors"],
                   capture_output=True, cwd=scratch, check=False)
    from safetensors.numpy import load_file
    second.double().eval()
    torch.nn.functional.cross_entropy(second(torch.from_numpy(x).double()), torch.from_numpy(y)).backward()
    ours = load_file(Path(scratch, "g.safetensors"))
    expect(all(np.allclose(ours[k], p.grad.numpy(), rtol=1e-6, atol=1e-12) for k, p in second.named_parameters()), "the second's gradient")
    # the same weights as other programs save them
    torch.save({"state_dict": {"module._orig_mod." + k: t for k, t in state.items()}}, Path(scratch, "wrapped.pth"))
    np.savez(Path(scratch, "arrays.npz"), **{k: t.numpy() for k, t in state.items()})
    torch.save(state, Path(scratch, "old.pth"), _use_new_zipfile_serialization=False)
    wanted = load_file(next(Path(scratch, "run0").glob("*.gradients.safetensors")))
    for weights in "wrapped.pth", "arrays.npz", "old.pth":
        status, out, error = like(scratch, "nets:net", weights, "b.npz", weights + "-run")
        held = load_file(next(Path(scratch, weights + "-run").glob("*.gradients.safetensors"))) if status == 0 else {}
        expect(held.keys() == wanted.keys() and all(np.array_equal(held[k], wanted[k]) for k in held), f"{weights}: {status} {out} {error}")
    torch.save({"module." + k if "0" in k else k: t for k, t in state.items()}, Path(scratch, "some.pth"))
    np.savez(Path(scratch, "objects.npz"), a=np.array([{}], dtype=object))
    torch.jit.script(nets.net()).save(Path(scratch, "script.pt"))
    for weights, says in [("some.pth", "it has not ['0.bias', '0.weight']"), ("objects.npz", "no state dict from it"),
                          ("script.pt", "with code in it, which is not run")]:
        status, out, error = like(scratch, "nets:net", weights, "b.npz", "refused")
        expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{weights}: {status} {out} {error}")
    # names of one tensor: a file that has one of them
    torch.save({"a.weight": torch.eye(4)}, Path(scratch, "once.pth"))
    status, out, error = like(scratch, "nets:tied", "once.pth", "b.npy", "tied")
    expect(status == 0, f"a tensor with two names: {status} {error}")
    if importlib.util.find_spec("keras") and importlib.util.find_spec("h5py"):
        os.environ["KERAS_BACKEND"] = "torch"
        import keras
        layers = [keras.Input((4,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(3, activation="softmax")]
        saved = keras.Sequential(layers)
        saved.save(Path(scratch, "bare.keras"))
        saved.compile(loss="sparse_categorical_crossentropy")
        saved.save(Path(scratch, "net.keras"))
        saved.save(Path(scratch, "net.h5"))
        for file in "net.keras", "net.h5":
            status, out, error = like(scratch, "keras", file, "b.npz", "keras-run")
            expect(status == 0, f"{file}: {status} {error}")
            held = load_file(next(Path(scratch, "keras-run").glob("*.gradients.safetensors")))
            saved.zero_grad()
            saved.compute_loss(y=torch.from_numpy(y), y_pred=saved(torch.from_numpy(x))).backward()
            theirs = sorted(p.grad.abs().sum().item() for p in saved.parameters())
            expect(np.allclose(sorted(np.abs(g).sum() for g in held.values()), theirs, rtol=1e-4), f"{file}: another gradient")
        Path(scratch, "knets.py").write_text(KERAS)
        import knets
        for file in "net.weights.h5", "wider.weights.h5":
            (knets.net() if file[0] == "n" else knets.wider()).save_weights(Path(scratch, file))
        status, out, error = like(scratch, "knets:net", "net.weights.h5", "b.npz", "weights-run")
        expect(status == 0, f"weights of Keras: {status} {error}")
        for name, file, says in [("knets:wider", "net.weights.h5", "is no checkpoint of knets:wider"), ("knets:net", "wider.weights.h5", "is no checkpoint of knets:net"),
                                 ("knets:net", "net.h5", "has the network in it"), ("keras", "net.weights.h5", "has weights alone"),
                                 ("nets:net", "net.weights.h5", "returns no network of Keras, but Sequential"), ("knets:net", "no.h5", "h5py reads no HDF5 file there")]:
            status, out, error = like(scratch, name, file, "b.npz", "refused")
            expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{name} {file}: {status} {out} {error}")
        import h5py
        shutil.copy(Path(scratch, "net.weights.h5"), Path(scratch, "long.weights.h5"))
        with h5py.File(Path(scratch, "long.weights.h5"), "a") as file:
            held = file["layers/dense/vars/0"][...] + 2.0 ** -40
            del file["layers/dense/vars/0"]
            file["layers/dense/vars/0"] = held.astype(np.float64)
        status, out, error = like(scratch, "knets:net", "long.weights.h5", "b.npz", "refused")
        expect(status == 2 and "an array has type float64" in error, f"weights that would be rounded: {status} {out} {error}")
        status, out, error = like(scratch, "keras", "bare.keras", "b.npz", "refused")
        expect(status == 2 and "--loss says which is meant" in error, f"bare.keras: {status} {out} {error}")
        status, out, error = like(scratch, "keras", "plain.pth", "b.npz", "refused")
        expect(status == 2 and "Keras loads no network from it" in error, f"no keras file: {status} {out} {error}")
    else:
        status, out, error = like(scratch, "keras", "plain.pth", "b.npz", "refused")
        expect(status == 2 and "the package keras is not installed here" in error, f"keras: {status} {out} {error}")
    try:
        import torchvision
    except ImportError:
        status, out, error = like(scratch, "torchvision.resnet18", "plain.pth", "b.npz", "refused")
        expect(status == 2 and "the package torchvision is not installed here" in error, f"torchvision: {status} {error}")
    else:
        torch.save(torchvision.models.resnet18(num_classes=2).state_dict(), Path(scratch, "r.pth"))
        np.savez(Path(scratch, "i.npz"), x=np.random.default_rng(0).normal(size=(2, 3, 32, 32)).astype(np.float32), y=np.array([0, 1]))
        status, out, error = like(scratch, "torchvision.resnet18", "r.pth", "i.npz", "resnet")
        expect(status == 0, f"torchvision: {status} {out} {error}")
        print(out)
print(f"{failed} failed")
sys.exit(failed > 0)
