"""A checkpoint without a graph: the network by its name, recorded and audited; and what is said where that cannot be.

Usage: python tests/interop/like.py CLARKE CLARKE_CHECK
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "python"))
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

class Weighed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x, scale, shift=None):
        return self.a(x * scale) if shift is None else self.a(x * scale) + shift

class Branching(Tied):
    def forward(self, x):
        return self.a(x) if self.a.weight[0, 0] > 0 else self.b(x).relu()

def branching():
    return Branching()

def weighed():
    torch.manual_seed(6)
    return Weighed()

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


def hostile_archives(scratch):
    """Archives as torch.jit.save writes them, of a class of a script; and of which a few bytes would take all memory or time. Shards that are none."""
    from clarke import checkpoints

    def archive(name, change, compression=zipfile.ZIP_STORED):
        with zipfile.ZipFile(Path(scratch, "script.pt")) as file, zipfile.ZipFile(Path(scratch, name), "w", compression) as other:
            for entry in file.namelist():
                other.writestr(entry, change(entry.partition("/")[2], file.read(entry)))
        return str(Path(scratch, name))

    def refusal(path):
        try:
            return f"{len(checkpoints.weights(path))} weights"
        except checkpoints.Unlike as e:
            return str(e)

    own = archive("own.pt", lambda entry, held: re.sub(rb"c__torch__\.[\w.]+\n", b"c__torch__\n", held) if entry == "data.pkl" else held)
    said = refusal(own)
    expect(said == refusal(str(Path(scratch, "script.pt"))) and said.endswith(" weights"), f"a class of a script itself: {said}")
    module = b"c__torch__\nM\n)\x81}("
    nested = b"\x80\x02" + module + b"ubq\0" + b"".join(b"0" + module + b"X\1\0\0\0ah" + bytes([i]) + b"X\1\0\0\0bh" + bytes([i]) + b"ubq" + bytes([i + 1])
                                                         for i in range(60)) + b"."
    for name, change, compression, says in [("nested.pt", lambda entry, held: nested if entry == "data.pkl" else held, zipfile.ZIP_STORED, "modules"),
                                            ("inflated.pt", lambda entry, held: held, zipfile.ZIP_DEFLATED, "compressed"),
                                            ("turned.pt", lambda entry, held: b"big" if entry == "byteorder" else held, zipfile.ZIP_STORED, "another order")]:
        said = refusal(archive(name, change, compression))
        expect(says in said, f"{name}: {said}")
    inner = Path(scratch, "shards")
    inner.mkdir()
    for path in Path(scratch, "pytorch_model.bin"), inner / "a.bin", inner / "b.bin":
        torch.save({"w": torch.ones(1)}, path)
    index = inner / "i.index.json"
    for told, says in [({"w": ".."}, "beside it"), ({"w": "../pytorch_model.bin"}, "beside it"), ({"w": "i.index.json"}, "beside it"),
                       ({"w": "a.bin", "v": "b.bin"}, "two shards have w"), ({"w": 1}, "no weight_map"), ({"w": "a.bin"}, "1 weights")]:
        index.write_text(json.dumps({"weight_map": told}))
        said = refusal(str(index))
        expect(says in said, f"{told}: {said}")
    Path(scratch, "pytorch_model.bin").unlink()


def like(folder, name, *rest):
    """Rest: the checkpoint, or several, the batch, the run's folder, and options."""
    path = os.pathsep.join([str(ROOT / "tools" / "python"), folder])
    env = {**os.environ, "PYTHONPATH": path, "PATH": os.pathsep.join([str(CLARKE.parent), os.environ["PATH"]])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "clarke.like", name, *rest], capture_output=True,
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
            ("nets:net", "plain.pth", "text.npz", "Error"), ("nets:net", "plain.pth", "zip.npz", "not a zip file"), ("nets:net", "w.index.json", "b.npz", "no weight_map"),
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
    from clarke import checkpoints
    from safetensors.numpy import load_file
    from safetensors.torch import save_file
    second.double().eval()
    torch.nn.functional.cross_entropy(second(torch.from_numpy(x).double()), torch.from_numpy(y)).backward()
    ours = load_file(Path(scratch, "g.safetensors"))
    expect(all(np.allclose(ours[k], p.grad.numpy(), rtol=1e-6, atol=1e-12) for k, p in second.named_parameters()), "the second's gradient")
    # a sweep reads plain files: of a wrapped state dict under a key one is written, by the network's names
    torch.save({"state_dict": {"module." + k: t for k, t in second.float().state_dict().items()}}, Path(scratch, "keyed.pth"))
    status, out, error = like(scratch, "nets:net", "plain.pth", "keyed.pth", "b.npz", "keyed", "--manifest", "K.json")
    swept = subprocess.run([CLARKE, "sweep", "K.json", "-o", "k.jsonl"], capture_output=True, text=True, cwd=scratch, check=False)
    held = load_file(Path(scratch, "keyed", "weights-000001.safetensors")) if status == 0 else {}
    expect(status == 0 and swept.returncode == 0 and "2 of 2 jobs answered" in swept.stdout and json.loads(Path(scratch, "K.json").read_text())["checkpoints"] ==
           ["plain.pth", "keyed/weights-000001.safetensors"] and all(np.array_equal(held[k], t.numpy()) for k, t in second.state_dict().items()),
           f"--manifest of a state dict under a key: {status} {error} {swept.stdout} {swept.stderr}")
    torch.save({"a.weight": torch.eye(4)}, Path(scratch, "branch.pth"))
    status, out, error = like(scratch, "nets:branching", "branch.pth", "b.npy", "branching", "--manifest", "N.json")
    expect(status == 2 and "other weights may take another branch than the recorded one" in error and not Path(scratch, "N.json").exists(),
           f"--manifest of a network that branches: {status} {error}")
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
    # further arrays of a batch are the network's arguments of these names
    weighed, scale, shift = nets.weighed(), np.linspace(1, 2, 20, dtype=np.float32).reshape(5, 4), np.array([3, 0, -3], np.float32)
    torch.save(weighed.state_dict(), Path(scratch, "weighed.pth"))
    np.savez(Path(scratch, "more.npz"), x=x, y=y, scale=scale, shift=shift)
    np.savez(Path(scratch, "other.npz"), x=x, y=y, scale=scale, shaft=shift)
    status, out, error = like(scratch, "nets:weighed", "weighed.pth", "more.npz", "more")
    held = load_file(next(Path(scratch, "more").glob("*.gradients.safetensors"))) if status == 0 else {}
    torch.nn.functional.cross_entropy(weighed(*map(torch.from_numpy, (x, scale, shift))), torch.from_numpy(y)).backward()
    expect(status == 0 and all(np.allclose(held[k], p.grad.numpy(), rtol=1e-5) for k, p in weighed.named_parameters()),
           f"further arrays: {status} {out} {error}")
    status, out, error = like(scratch, "nets:weighed", "weighed.pth", "other.npz", "refused")
    expect(status == 2 and "unexpected keyword argument 'shaft'" in error, f"an array of no argument: {status} {out} {error}")
    # objects of Python's beside the weights are not made, and it is said what to do
    torch.save({"state_dict": state, "args": argparse.Namespace(lr=0.1)}, Path(scratch, "args.pth"))
    torch.save(nets.net(), Path(scratch, "whole.pth"))
    for weights, what in ("args.pth", "argparse.Namespace"), ("whole.pth", "torch.nn.modules.container.Sequential"):
        status, out, error = like(scratch, "nets:net", weights, "b.npz", "refused")
        expect(status == 2 and f"it holds more than tensors ({what})" in error and "weights_only=False" in error, f"{weights}: {status} {error}")
    # the number of classes is that for which the weights differ in nothing else
    head = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 9))
    for held, n in [({}, None), ({"1.weight": (3, 6), "1.bias": (3,)}, 3), ({"1.weight": (3, 6), "1.bias": (4,)}, None), ({"1.weight": (3, 5)}, None),
                    ({"1.weight": (3, 6), "1.bias": (3,), "more": (1,)}, None), ({"1.bias": ()}, None), ({"1.bias": None}, 0)]:
        held = {**{k: tuple(t.shape) for k, t in head.state_dict().items()}, **held}
        said = checkpoints.classes(head, {k: torch.zeros(shape) for k, shape in held.items() if shape is not None})
        expect(said == n, f"classes: {held} {said}")
    np.savez(Path(scratch, "objects.npz"), a=np.array([{}], dtype=object))
    # what torch.jit.save wrote: weights as PyTorch loads them, and nothing in it is run
    torch.jit.script(nets.net()).save(Path(scratch, "script.pt"))
    torch.jit.trace(nets.net().eval(), torch.ones(1, 4)).save(Path(scratch, "trace.pt"))
    torch.jit.script(nets.tied()).save(Path(scratch, "tied.pt"))
    for file in "script.pt", "trace.pt", "tied.pt":
        held, theirs = checkpoints.weights(str(Path(scratch, file))), torch.jit.load(Path(scratch, file)).state_dict()
        expect(held.keys() == theirs.keys() and all(torch.equal(t, theirs[k]) and t.dtype == theirs[k].dtype for k, t in held.items()), file)
    status, out, error = like(scratch, "nets:net", "script.pt", "b.npz", "script")
    held = load_file(next(Path(scratch, "script").glob("*.gradients.safetensors"))) if status == 0 else {}
    expect(held.keys() == wanted.keys() and all(np.array_equal(held[k], wanted[k]) for k in held), f"script.pt: {status} {out} {error}")
    packed = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(4, 3)), {torch.nn.Linear}, torch.qint8)
    torch.jit.script(packed).save(Path(scratch, "packed.pt"))
    with zipfile.ZipFile(Path(scratch, "script.pt")) as file, zipfile.ZipFile(Path(scratch, "runs.pt"), "w") as other:
        for name in file.namelist():
            other.writestr(name, b"cos\nsystem\n(S'touch run-by-it'\ntR." if name.endswith("/data.pkl") else file.read(name))
    hostile_archives(scratch)
    for weights, says in [("some.pth", "it has not ['0.bias', '0.weight']"), ("objects.npz", "no state dict from it"),
                          ("packed.pt", "torch.jit.save wrote it, and of what is beside weights"), ("runs.pt", "os.system, which is no weight")]:
        status, out, error = like(scratch, "nets:net", weights, "b.npz", "refused")
        expect(status == 2 and says in error and not Path(scratch, "refused").exists(), f"{weights}: {status} {out} {error}")
    expect(not Path(scratch, "run-by-it").exists(), "a file's code was run")
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
        save_file(torchvision.models.resnet18(num_classes=2).state_dict(), Path(scratch, "r.safetensors"))  # in another order
        status, out, error = like(scratch, "torchvision.resnet18", "r.safetensors", "i.npz", "resnet-again")
        expect(status == 0, f"torchvision, safetensors: {status} {out} {error}")
    if importlib.util.find_spec("timm"):
        import timm
        np.savez(Path(scratch, "t.npz"), x=np.random.default_rng(0).normal(size=(2, 3, 32, 32)).astype(np.float32))
        for classes in 0, 3:
            save_file(timm.create_model("test_resnet", num_classes=classes).state_dict(), Path(scratch, "t.safetensors"))
            status, out, error = like(scratch, "timm.test_resnet", "t.safetensors", "t.npz", f"timm{classes}")
            expect(status == 0, f"timm, {classes} classes: {status} {out} {error}")
        save_file(timm.create_model("test_resnet", in_chans=1).state_dict(), Path(scratch, "t.safetensors"))
        status, out, error = like(scratch, "timm.test_resnet", "t.safetensors", "t.npz", "refused")
        expect(status == 2 and "of a network made with options MODULE:FUNCTION" in error.lower().replace("module:function", "MODULE:FUNCTION"),
               f"timm, grey: {status} {error}")
    if importlib.util.find_spec("transformers"):
        import transformers
        small = dict(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=3)
        pictures = dict(image_size=8, patch_size=4, num_channels=1)
        rng = np.random.default_rng(0)
        np.savez(Path(scratch, "words.npz"), x=rng.integers(1, 20, (2, 5)), y=np.array([0, 2]), attention_mask=np.array([[1] * 5, [1, 1, 1, 0, 0]]))
        np.savez(Path(scratch, "picture.npz"), x=rng.normal(size=(2, 1, 8, 8)).astype(np.float32), y=np.array([0, 2]))
        from clarke import like as module
        made = transformers.BertForSequenceClassification
        made(made.config_class(**small)).save_pretrained(Path(scratch, "silent"))
        held = load_file(Path(scratch, "silent", "model.safetensors"))
        save_file({k: torch.from_numpy(t) for k, t in held.items() if k != "classifier.weight"}, Path(scratch, "silent", "model.safetensors"))
        made._keys_to_ignore_on_load_missing = ["classifier"]  # as classes of several parts have it: the library draws them, and does not tell
        try:
            module.network("transformers.BertForSequenceClassification", str(Path(scratch, "silent")))
            expect(False, "a weight that the library draws")
        except checkpoints.Unlike as e:
            expect("it has not classifier.weight" in str(e), f"a weight that the library draws: {e}")
        made._keys_to_ignore_on_load_missing = None
        for kind, batch, more in ("BertForSequenceClassification", "words.npz", {}), ("ViTForImageClassification", "picture.npz", pictures):
            made = getattr(transformers, kind)
            torch.manual_seed(0)
            model = made(made.config_class(**small, **more)).eval()
            given = {k: torch.from_numpy(a) for k, a in np.load(Path(scratch, batch)).items()}
            torch.nn.functional.cross_entropy(model(given.pop("x"), **{k: a for k, a in given.items() if k != "y"}).logits, given["y"]).backward()
            folder = Path(scratch, kind)
            model.save_pretrained(folder, max_shard_size=1500)
            status, out, error = like(scratch, "transformers." + kind, kind, batch, kind + "-run")
            held = load_file(next(Path(scratch, kind + "-run").glob("*.gradients.safetensors"))) if status == 0 else {}
            theirs = {k: p.grad.numpy() for k, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
            expect(status == 0 and all(np.allclose(held[k], g, rtol=1e-3, atol=1e-6) for k, g in theirs.items()), f"{kind}: {status} {out} {error}")
            status, out, error = like(scratch, "transformers.BertModel" if batch == "words.npz" else "transformers.ViTModel", kind, batch, "refused")
            expect(status == 2 and f"saved of {kind}" in error and not Path(scratch, "refused").exists(), f"another class: {status} {error}")
            # a manifest of two of them: the recorded graph at the second has its gradient
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(0.1 * torch.randn(p.shape))
            model.save_pretrained(Path(scratch, kind + "-2"))
            model.zero_grad()
            model = model.double()
            given = {k: torch.from_numpy(a) for k, a in np.load(Path(scratch, batch)).items()}
            given["x"] = given["x"].double() if given["x"].is_floating_point() else given["x"]
            torch.nn.functional.cross_entropy(model(given.pop("x"), **{k: a for k, a in given.items() if k != "y"}).logits, given["y"]).backward()
            status, out, error = like(scratch, "transformers." + kind, kind, kind + "-2", batch, kind + "-two", "--manifest", kind + ".json")
            swept = subprocess.run([CLARKE, "sweep", kind + ".json", "-o", kind + ".jsonl"], capture_output=True, text=True, cwd=scratch, check=False)
            expect(status == 0 and "2 of 2 jobs answered" in swept.stdout, f"{kind}, --manifest: {status} {error} {swept.stdout} {swept.stderr}")
            asked_of = json.loads(Path(scratch, kind + ".json").read_text())
            subprocess.run([CLARKE, "audit", asked_of["model"], "--batch", asked_of["batches"][0], "--loss", asked_of["loss"], "--params",
                            asked_of["checkpoints"][1], "--gradient", "t.safetensors"], capture_output=True, cwd=scratch, check=False)
            ours = load_file(Path(scratch, "t.safetensors"))
            expect(all(np.allclose(ours[k], p.grad.numpy(), rtol=1e-5, atol=1e-9) for k, p in model.named_parameters() if k in ours and p.grad is not None),
                   f"{kind}: the second's gradient")
            said = json.loads(Path(scratch, kind + "-2", "config.json").read_text())
            Path(scratch, kind + "-2", "config.json").write_text(json.dumps({**said, "hidden_act": "relu"}))
            status, out, error = like(scratch, "transformers." + kind, kind, kind + "-2", batch, kind + "-three", "--manifest", kind + "3.json")
            expect(status == 2 and "hidden_act is relu, and gelu there" in error, f"{kind}, another activation: {status} {error}")
            shards = sorted(folder.glob("model-*.safetensors"))
            expect(len(shards) > 1, "no shards")
            held = load_file(shards[0])
            name = next(k for k, t in held.items() if t.ndim == 2)
            save_file({k: torch.from_numpy(t) for k, t in held.items() if k != name}, shards[0], metadata={"format": "pt"})
            status, out, error = like(scratch, "transformers." + kind, kind, batch, "refused")
            expect(status == 2 and "it has not [" in error, f"a weight too few: {status} {out} {error}")
            save_file({k: torch.from_numpy(t).double() * (1 + 2.0 ** -40) for k, t in held.items()}, shards[0], metadata={"format": "pt"})
            status, out, error = like(scratch, "transformers." + kind, kind, batch, "refused")
            expect(status == 2 and "torch.float64 there is torch.float32 here" in error, f"weights that would be rounded: {status} {out} {error}")
print(f"{failed} failed")
sys.exit(failed > 0)
