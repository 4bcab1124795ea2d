"""A checkpoint without a graph: the network by its name in a library, with the checkpoint's weights; one step is recorded and audited.

    python -m clarke.like torchvision.resnet18 W.pth B.npz RUN/ [--loss ce|mse|sum] [--train]
    python -m clarke.like torchvision.resnet18 W1.pth W2.pth ... B.npz RUN/ --manifest M.json

The name is torchvision.MODEL, timm.MODEL, transformers.CLASS, or MODULE:FUNCTION, which returns a network when it is called. The weights
must be that network's, all of them and no others. A classifier's number of classes is the checkpoint's. Of transformers the checkpoint is
a folder as save_pretrained writes it, or a file in one: config.json there says what the network is. The name keras is for .keras and .h5
files, which have the network in them: Keras computes it with PyTorch, with the loss it was compiled with. Where save_weights wrote an .h5 file,
FUNCTION returns Keras' network. `clarke audit --like` is this command.
"""

import argparse
import importlib
import json
import os
import pickle
import sys
import traceback
import zipfile

import numpy as np
import torch

from .answer import Failed, audit
from .recorder import record
from .refused import Refused

LOSSES = {"ce": torch.nn.functional.cross_entropy, "mse": torch.nn.functional.mse_loss, "sum": lambda output, y: output.sum()}
HELD = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
WRAPPERS = ("module.", "_orig_mod.", "model.")  # what DataParallel, torch.compile and trainers put before all names
KEYS = ("state_dict", "model_state_dict", "model")  # under which checkpoints have their weights, beside others


class Unlike(Exception):
    """The checkpoint is not of that network, or there is no such network; a sentence."""


def imported(module, name):
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise Unlike(f"{name}: the package {module.split('.')[0]} is not installed here ({e}); pip install {module.split('.')[0]}") from e
    except (RuntimeError, OSError) as e:  # built for another PyTorch
        raise Unlike(f"{name}: the package {module.split('.')[0]} does not load here: {e}") from e


def weights(path):
    """{name: tensor} of a state dict, whose pickle is not executed. A folder has it under the names that save_pretrained takes."""
    if os.path.isdir(path):
        held = [f for f in HELD if os.path.isfile(os.path.join(path, f))]
        if not held:
            raise Unlike(f"{path}: none of {', '.join(HELD)} in this folder")
        return weights(os.path.join(path, held[0]))
    if path.endswith(".index.json"):  # shards beside it, by name
        with open(path, encoding="utf-8") as f:
            shards = sorted(set(json.load(f)["weight_map"].values()))
        if any(os.path.basename(shard) != shard for shard in shards):
            raise Unlike(f"{path}: a shard that is not beside it")
        return {k: t for shard in shards for k, t in weights(os.path.join(os.path.dirname(path), shard)).items()}
    if path.endswith(".safetensors"):
        return dict(imported("safetensors.torch", path).load_file(path))
    try:
        if path.endswith(".npz"):
            with np.load(path) as held:
                return {k: torch.from_numpy(held[k]) for k in held.files}
        if is_script(path):
            raise Unlike(f"{path}: torch.jit.save wrote it, with code in it, which is not run; save its state_dict(), or give it as --params "
                         "beside an exported network")
        held = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, ValueError, TypeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as e:
        raise Unlike(f"{path}: PyTorch loads no state dict from it: {str(e).splitlines()[0]}") from e
    for key in KEYS:
        if isinstance(held, dict) and isinstance(held.get(key), dict):
            held = held[key]
    if not isinstance(held, dict) or not held or not all(isinstance(t, torch.Tensor) for t in held.values()):
        raise Unlike(f"{path}: no state dict, nor one under {', '.join(KEYS)}")
    return held


def is_script(path):
    """Did torch.jit.save write it? Such a file is no pickle of weights alone, but an archive of code and constants, too."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def of_transformers(name, model, path):
    """A network of transformers: config.json, in the checkpoint's folder, says which."""
    transformers = imported("transformers", name)
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    if not os.path.isfile(os.path.join(folder, "config.json")):
        raise Unlike(f"{name}: no config.json in {folder}; transformers' save_pretrained writes one beside the weights")
    made = getattr(transformers, model, None)
    if not isinstance(made, type) or not hasattr(made, "from_pretrained"):
        raise Unlike(f"{name}: transformers has no such class of networks")
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return made.from_config(config) if hasattr(made, "from_config") else made(config)
    except (OSError, TypeError, ValueError, AttributeError, ImportError) as e:
        raise Unlike(f"{name}: {os.path.join(folder, 'config.json')} makes no such network: {e}") from e


def keras_with_torch(path):
    """Keras, which PyTorch is to compute for."""
    os.environ["KERAS_BACKEND"] = "torch"
    keras = imported("keras", path)
    if keras.backend.backend() != "torch":
        raise Unlike(f"{path}: Keras computes with {keras.backend.backend()} here; expected torch")
    return keras


def held_weights(path):
    """The types of the arrays that a file of HDF5 has for a network's layers; None where it has a network in it."""
    h5py, n = imported("h5py", path), []

    def count(name, held):
        parts = name.split("/")
        if isinstance(held, h5py.Dataset) and parts[0] not in ("optimizer", "optimizer_weights") and "seed_generator" not in parts:
            n.append(str(held.dtype))

    try:
        with h5py.File(path, "r") as file:
            if "model_config" in file.attrs:
                return None
            file.visititems(count)
    except OSError as e:
        raise Unlike(f"{path}: h5py reads no HDF5 file there: {e}") from e
    return n


def of_keras_weights(name, path):
    """The network that MODULE:FUNCTION returns, with the weights that Keras' save_weights wrote: all of them, and no others."""
    keras_with_torch(path)
    model = maker(name, path)(None)
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "load_weights"):
        raise Unlike(f"{path} has weights of Keras, and {name} returns no network of Keras, but {type(model).__name__}")
    held = held_weights(path)
    if held is None:
        raise Unlike(f"{path} has the network in it: ask with --like keras")
    try:
        model.load_weights(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as e:
        raise Unlike(f"{path} is no checkpoint of {name}: Keras says {str(e).splitlines()[0]}") from e
    if len(held) != len(model.weights):
        raise Unlike(f"{path} is no checkpoint of {name}: it has {len(held)} arrays, and the network {len(model.weights)}")
    if held.count("float64") > sum(w.dtype == "float64" for w in model.weights):  # what is loaded is rounded to the network's type
        raise Unlike(f"{path}: an array has type float64, and the network none for it: its weights would be others")
    return model


def of_keras(path):
    """A network that Keras saved, its loss and optimizer with it; PyTorch computes it."""
    keras = keras_with_torch(path)
    if path.endswith(".h5") and held_weights(path) is not None:
        raise Unlike(f"{path} has weights alone, and no network: give MODULE:FUNCTION, which returns Keras' network, in the place of keras")
    try:
        model = keras.saving.load_model(path, safe_mode=True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as e:
        raise Unlike(f"{path}: Keras loads no network from it: {e}") from e
    if not isinstance(model, torch.nn.Module):
        raise Unlike(f"{path}: Keras loads no network from it, but {type(model).__name__}")
    return model


def compiled_loss(model, path):
    """The loss that a network of Keras was compiled with, or one that its output is fit for."""
    if getattr(model, "compiled", False) and model.loss is not None:
        return lambda output, y: model.compute_loss(y=y, y_pred=output)
    last = getattr(model.layers[-1] if model.layers else None, "activation", None)
    if getattr(last, "__name__", None) == "softmax":
        raise Unlike(f"{path}: it was compiled with no loss, and ends in softmax; --loss says which is meant (ce takes logits)")
    return None


def maker(name, path):
    """A function of a number of classes, or of none, that returns the network."""
    library, _, model = name.partition(".")
    if ":" in name:
        module, _, function = name.partition(":")
        make = getattr(imported(module, name), function, None)
        if not callable(make):
            raise Unlike(f"{name}: module {module} has no function {function}")
        return lambda classes: make()
    if library == "torchvision":
        models = imported("torchvision.models", name)
        if model not in models.list_models():
            raise Unlike(f"{name}: torchvision has no such model; torchvision.models.list_models() names them")
        return lambda classes: models.get_model(model, weights=None, **({"num_classes": classes} if classes else {}))
    if library == "timm":
        timm = imported("timm", name)
        if not timm.is_model(model):
            raise Unlike(f"{name}: timm has no such model; timm.list_models() names them")
        return lambda classes: timm.create_model(model, pretrained=False, **({"num_classes": classes} if classes else {}))
    if library == "transformers":
        return lambda classes: of_transformers(name, model, path)
    raise Unlike(f"{name}: expected torchvision.MODEL, timm.MODEL, transformers.CLASS, keras or MODULE:FUNCTION")


def unwrapped(model, held):
    """The weights without what wrappers put before all names, where the network has them so."""
    own = model.state_dict().keys()
    for _ in range(4):
        prefix = next((w for w in WRAPPERS if held and all(k.startswith(w) for k in held)), None)
        if prefix is None or own & held.keys():
            return held
        held = {k[len(prefix):]: t for k, t in held.items()}
    return held


def with_shared(model, held):
    """The weights, and under each further name of a tensor that the network has under several: files have it once."""
    own = model.state_dict()
    place = {k: (t.data_ptr(), t.shape, t.stride()) for k, t in own.items() if t.numel() > 0}
    first = {place[k]: held[k] for k in held if k in place}
    return {**held, **{k: first[p] for k, p in place.items() if k not in held and p in first}}


def difference(model, held):
    """In what the weights are not the network's: a sentence, or None."""
    own = {k: tuple(t.shape) for k, t in model.state_dict().items()}
    missing, more = sorted(own.keys() - held.keys()), sorted(held.keys() - own.keys())
    if missing or more:
        return f"has not {missing[:3]}" if missing else f"has {more[:3]}, which the network has not"
    other = [k for k in own if own[k] != tuple(held[k].shape)]
    return f"{other[0]} has shape {tuple(held[other[0]].shape)}, and {own[other[0]]} in the network" if other else None


def network(name, path):
    """The network of that name, with the weights of the checkpoint."""
    if name == "keras":
        return of_keras(path)
    if ":" in name and path.endswith(".h5"):
        return of_keras_weights(name, path)
    held, make = weights(path), maker(name, path)
    last = list(held.values())[-1]
    model = make(None)
    held = with_shared(model, unwrapped(model, held))
    if difference(model, held) and ":" not in name and last.dim() == 1:  # a bias of another number of classes
        model = make(len(last))
        held = with_shared(model, held)
    why = difference(model, held)
    if why:
        raise Unlike(f"{path} is no checkpoint of {name}: it {why}" if why.startswith("has") else f"{path} is no checkpoint of {name}: {why}")
    model.load_state_dict(held)
    for k, t in model.state_dict().items():  # what is copied is rounded to the network's type, and of what is shared the last one stays
        if not torch.equal(t.to(held[k].dtype), held[k]):
            raise Unlike(f"{path}: {k} is another one in the network: {held[k].dtype} there is {t.dtype} here, or one tensor has two names, "
                         "or it holds NaN")
    return model


def arrays(path):
    """x, and y or None."""
    held = np.load(path)
    if isinstance(held, np.ndarray):
        return torch.from_numpy(held), None
    if "x" not in held:
        raise Unlike(f"{path}: no array 'x'")
    return torch.from_numpy(held["x"]), torch.from_numpy(held["y"]) if "y" in held else None


def answered(output):
    """The tensor of a network's output: of transformers' the logits, or the last hidden state."""
    for key in ("logits", "last_hidden_state"):
        output = getattr(output, key, output)
    return output


def lost(kind, output, y):
    """The loss. Where each place of a sequence has a class, cross_entropy takes the places in a row."""
    if kind == "ce" and output.dim() == 3 and y.dim() == 2:
        output, y = output.flatten(0, 1), y.flatten()
    if kind == "mse" and output.shape != y.shape:  # PyTorch would compare each output with each target
        raise Unlike(f"y has shape {tuple(y.shape)}, and the output {tuple(output.shape)}: loss mse takes two of one shape")
    return LOSSES[kind](output, y)


def record_like(name, path, batch, folder, loss=None, train=False):
    """Records in the folder a step of that network, with the checkpoint's weights, on the batch."""
    model = network(name, path).train(train)
    x, y = arrays(batch)
    own = compiled_loss(model, path) if name == "keras" and loss is None and y is not None else None
    kind = loss or ("sum" if y is None else "mse" if y.is_floating_point() else "ce")
    if kind != "sum" and y is None:
        raise Unlike(f"{batch}: no array 'y', which loss {kind} takes")
    try:
        with record(folder, model):
            output = answered(model(x))
            if not isinstance(output, torch.Tensor):
                raise Unlike(f"{name} returns no tensor: give MODULE:FUNCTION of one that does")
            (own(output, y) if own is not None else lost(kind, output, y)).backward()
    except (RuntimeError, TypeError, ValueError, IndexError) as e:  # PyTorch's own; a traceback would end with 1, which says no
        raise Unlike(f"{name} does not run on {batch} with loss {kind}: {e}") from e


def put_manifest(path, name, checkpoints, batch, folder):
    """A manifest of `clarke sweep`: the recorded graph at each of the checkpoints, which are of that network."""
    for checkpoint in checkpoints[1:]:
        network(name, checkpoint)
    beside = os.path.dirname(os.path.abspath(path))
    near = [os.path.relpath(p, beside) for p in (os.path.join(folder, "graph.onnx"), *checkpoints, batch)]
    with open(path, "x", encoding="utf-8") as f:
        json.dump({"model": near[0], "checkpoints": near[1:-1], "batches": [near[-1]], "profiles": ["pytorch-2.13", "jax-0.10"]}, f, indent=2)
        f.write("\n")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m clarke.like", description=__doc__.split("\n")[0])
    parser.add_argument("name", help="torchvision.MODEL, timm.MODEL, transformers.CLASS, keras or MODULE:FUNCTION")
    parser.add_argument("checkpoint", nargs="+", help=".pth or .pt of torch.save, .safetensors, .npz, an index of shards, a folder of transformers, or .keras and .h5")
    parser.add_argument("batch", help=".npz with x and y, or .npy with the inputs alone")
    parser.add_argument("run", help="the folder to record the step in")
    parser.add_argument("--loss", choices=sorted(LOSSES), help="default: what Keras compiled; ce for integer y, mse for other y, sum without y")
    parser.add_argument("--train", action="store_true", help="in training mode: BatchNormalization by the batch (default: as in use)")
    parser.add_argument("--record", action="store_true", help="record only; clarke audit RUN/ asks about it")
    parser.add_argument("--manifest", metavar="M.json", help="of several checkpoints: record the first, and write a manifest for clarke sweep")
    o = parser.parse_args()
    if len(o.checkpoint) > 1 and o.manifest is None:
        parser.error("several checkpoints need --manifest")
    return o


def main():
    o = arguments()
    sys.path.insert(0, os.getcwd())  # MODULE:FUNCTION may stand here
    try:
        record_like(o.name, o.checkpoint[0], o.batch, o.run, o.loss, o.train)
        if o.manifest is not None:
            put_manifest(o.manifest, o.name, o.checkpoint, o.batch, o.run)
        if o.record or o.manifest is not None:
            raise SystemExit(0)
        answer = audit(o.run)
        print(answer)
        raise SystemExit({"in-bouligand": 0, "in-clarke": 0, "not-in-clarke": 1}.get(answer.verdict, 3))
    except (Unlike, Refused, Failed, OSError) as e:
        print(f"clarke.like: {e}", file=sys.stderr)
        raise SystemExit(2) from e
    except Exception as e:  # of a file's reader, or a network's own; a traceback would end with 1, which says no
        traceback.print_exc()
        raise SystemExit(2) from e


if __name__ == "__main__":
    main()
