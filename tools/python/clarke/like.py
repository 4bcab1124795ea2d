"""A checkpoint without a graph: the network by its name in a library, with the checkpoint's weights; one step is recorded and audited.

    python -m clarke.like torchvision.resnet18 W.pth B.npz RUN/ [--loss ce|mse|sum] [--train]
    python -m clarke.like torchvision.resnet18 W1.pth W2.pth ... B.npz RUN/ --manifest M.json

The name is torchvision.MODEL, timm.MODEL, transformers.CLASS, or MODULE:FUNCTION, which returns a network when it is called. The weights
must be that network's, all of them and no others. A classifier's number of classes is the checkpoint's. Of transformers the checkpoint is
a folder as save_pretrained writes it, or a file in one: config.json there says what the network is. The name keras is for .keras and .h5
files, which have the network in them: Keras computes it with PyTorch, with the loss it was compiled with. Where save_weights wrote an .h5 file,
FUNCTION returns Keras' network. Arrays of the batch beside x and y are arguments of the network by their names. `clarke audit --like` is this
command.
"""

import argparse
import json
import os
import sys
import traceback

import numpy as np
import onnx
import torch

from .answer import Failed, audit
from .checkpoints import Unlike, classes, difference, imported, is_plain, put, unrounded, unwrapped, weights, with_shared
from .recording.recorder import record
from .refused import Refused

LOSSES = {"ce": torch.nn.functional.cross_entropy, "mse": torch.nn.functional.mse_loss, "sum": lambda output, y: output.sum()}
NO_PART = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")  # of config.json, which do not say what is computed


def class_of(name, model):
    """The class of transformers that has this name."""
    made = getattr(imported("transformers", name), model, None)
    if not isinstance(made, type) or not hasattr(made, "from_pretrained"):
        raise Unlike(f"{name}: transformers has no such class of networks")
    return made


def loaded(made, config, held):
    """A network of transformers with these weights, and what the library tells of those that fit no place, and places that had none."""
    return made.from_pretrained(None, config=config, state_dict=dict(held), output_loading_info=True, dtype=torch.float32)


def differs(network, again):
    """The first weight that was drawn each time, since the file has it not, and the library does not tell."""
    theirs = again.state_dict()
    return next((k for k, t in network.state_dict().items() if not torch.equal(t, theirs[k])), None)


def of_transformers(name, model, path):
    """A network of transformers: config.json, in the checkpoint's folder, says which. The library puts the weights in, as it has other names
    for some than the files, and other shapes. It tells which ones it has missed; types are as in the network, of 32 bits."""
    made, folder = class_of(name, model), path if os.path.isdir(path) else os.path.dirname(path) or "."
    said = os.path.join(folder, "config.json")
    if not os.path.isfile(said):
        raise Unlike(f"{name}: no config.json in {folder}; transformers' save_pretrained writes one beside the weights")
    held, log = weights(path), imported("transformers.utils.logging", name)
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        config = imported("transformers", name).AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if hasattr(made, "from_config"):  # AutoModelFor...: the class that this configuration has
            with torch.device("meta"):
                made = type(made.from_config(config))
        network, told = loaded(made, config, held)
        drawn = differs(network, loaded(made, config, held)[0]) if network._keys_to_ignore_on_load_missing else None
    except (OSError, TypeError, ValueError, AttributeError, ImportError, RuntimeError) as e:
        raise Unlike(f"{name}: {said} makes no such network of these weights: {e}") from e
    was = f"; config.json says that it was saved of {', '.join(config.architectures)}" if getattr(config, "architectures", None) else ""
    for key, says in ("missing_keys", "has not"), ("unexpected_keys", "has, and the network has not,"), ("mismatched_keys", "has others of"):
        if told[key]:
            raise Unlike(f"{path} is no checkpoint of {name}: it {says} {sorted(map(str, told[key]))[:3]}{was}")
    if told["error_msgs"] or drawn:
        raise Unlike(f"{path} is no checkpoint of {name}: {told['error_msgs'][0] if told['error_msgs'] else f'it has not {drawn}'}{was}")
    unrounded(path, network, held)
    return network


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
    model = maker(name)(None)
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


def maker(name):
    """A function of a number of classes, or of None, that returns the network."""
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
        return lambda classes: models.get_model(model, weights=None, **({} if classes is None else {"num_classes": classes}))
    if library == "timm":
        timm = imported("timm", name)
        if not timm.is_model(model):
            raise Unlike(f"{name}: timm has no such model; timm.list_models() names them")
        return lambda classes: timm.create_model(model, pretrained=False, **({} if classes is None else {"num_classes": classes}))
    raise Unlike(f"{name}: expected torchvision.MODEL, timm.MODEL, transformers.CLASS, keras or MODULE:FUNCTION")


def network(name, path):
    """The network of that name, with the weights of the checkpoint."""
    library, _, model = name.partition(".")
    if name == "keras":
        return of_keras(path)
    if ":" not in name and library == "transformers":
        return of_transformers(name, model, path)
    if ":" in name and path.endswith(".h5"):
        return of_keras_weights(name, path)
    make, held = maker(name), weights(path)
    model = make(None)
    held = with_shared(model, unwrapped(model, held))
    n = None if ":" in name else classes(model, held)
    if n is not None and (n > 0 or library == "timm"):  # timm makes networks without a head, too
        model = make(n)
        held = with_shared(model, held)
    why = difference(model, held)
    if why:
        way = "" if ":" in name else ". Of a network made with options MODULE:FUNCTION, in the name's place, returns it"
        raise Unlike(f"{path} is no checkpoint of {name}: {'it ' if why.startswith('has') else ''}{why}{way}")
    return put(path, model, held)


def arrays(path):
    """x, y or None, and further arrays by their names, which the network takes so."""
    held = np.load(path)
    if isinstance(held, np.ndarray):
        return torch.from_numpy(held), None, {}
    if "x" not in held:
        raise Unlike(f"{path}: no array 'x'")
    more = {k: torch.from_numpy(held[k]) for k in held.files}
    return more.pop("x"), more.pop("y", None), more


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
    x, y, more = arrays(batch)
    own = compiled_loss(model, path) if name == "keras" and loss is None and y is not None else None
    kind = loss or ("sum" if y is None else "mse" if y.is_floating_point() else "ce")
    if kind != "sum" and y is None:
        raise Unlike(f"{batch}: no array 'y', which loss {kind} takes")
    try:
        with record(folder, model):
            output = answered(model(x, **more))
            if not isinstance(output, torch.Tensor):
                raise Unlike(f"{name} returns no tensor: give MODULE:FUNCTION of one that does")
            (own(output, y) if own is not None else lost(kind, output, y)).backward()
    except (RuntimeError, TypeError, ValueError, IndexError) as e:  # PyTorch's own; a traceback would end with 1, which says no
        raise Unlike(f"{name} does not run on {batch} with loss {kind}: {e}") from e


def as_read(name, checkpoint, folder, number):
    """The file of a checkpoint's weights under the names of the recorded graph: the checkpoint, or one that is written beside the graph. A folder,
    shards, a state dict under a key, and names that a library or a wrapper has otherwise, are nothing that a sweep reads."""
    model = network(name, checkpoint)
    if not checkpoint.endswith(".h5") and is_plain(checkpoint, model):
        return checkpoint
    path = os.path.join(folder, f"weights-{number:06}.safetensors")
    held = {k: t.detach().clone().contiguous() for k, t in model.state_dict().items()}  # what is shared, under each of its names
    imported("safetensors.torch", name).save_file(held, path)
    print(f"clarke.like: {path} has the weights of {checkpoint}, by the network's names", file=sys.stderr)
    return path


def same_configuration(checkpoints):
    """Refuses folders of transformers whose config.json say different things: names and shapes of weights do not tell, as of another activation."""
    first = None
    for checkpoint in checkpoints:
        said = os.path.join(checkpoint if os.path.isdir(checkpoint) else os.path.dirname(checkpoint), "config.json")
        with open(said, encoding="utf-8") as f:
            held = {k: v for k, v in json.load(f).items() if k not in NO_PART}
        first = held if first is None else first
        other = sorted(k for k in held.keys() | first.keys() if held.get(k) != first.get(k))
        if other:
            raise Unlike(f"{said} is of another network than that of {checkpoints[0]}: {other[0]} is {held.get(other[0])}, and {first.get(other[0])} there")


def of_one_type(folder, run):
    """The recorded graph and batch as a sweep reads them. A record has a loss's table of targets in 64 bits beside activations of 32, and ONNX one type
    in a product: then the table is narrowed, in copies of both files, where that holds each number."""
    graph, batch = (os.path.join(folder, f) for f in ("graph.onnx", run["steps"][0]["files"]["batch"]["file"]))
    model, held = onnx.load(graph), dict(np.load(batch))
    wide = [i for i in model.graph.input if i.name in held and held[i.name].dtype == np.float64]
    if not wide or "float64" in run["dtypes"]:
        return graph, batch
    for i in wide:
        narrow = held[i.name].astype(np.float32)
        if not np.array_equal(narrow, held[i.name]):
            raise Unlike(f"{batch}: {i.name} is the loss's, and no float32 holds its numbers; leave weights of the loss out, or record each checkpoint")
        held[i.name], i.type.tensor_type.elem_type = narrow, onnx.TensorProto.FLOAT
    graph, batch = (os.path.join(folder, f) for f in ("sweep.onnx", "sweep.npz"))
    onnx.save(model, graph)
    np.savez(batch, **held)
    return graph, batch


def put_manifest(path, name, checkpoints, folder):
    """A manifest of `clarke sweep`: the recorded graph at each of the checkpoints, which are of that network, on the recorded batch."""
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        run = json.load(f)
    if run.get("branches"):
        raise Unlike(f"{name}: other weights may take another branch than the recorded one, at {run['branches'][0]}; record each checkpoint")
    if name.startswith("transformers."):
        same_configuration(checkpoints)
    files = [as_read(name, checkpoint, folder, i) for i, checkpoint in enumerate(checkpoints)]
    beside = os.path.dirname(os.path.abspath(path))
    near = [os.path.relpath(p, beside) for p in of_one_type(folder, run)]
    manifest = {"model": near[0], "checkpoints": [os.path.relpath(p, beside) for p in files], "batches": near[1:], "loss": run["loss"],
                "profiles": ["pytorch-2.13", "jax-0.10"]}
    with open(path, "x", encoding="utf-8") as f:
        json.dump(manifest, f, indent=2)
        f.write("\n")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m clarke.like", description=__doc__.split("\n")[0])
    parser.add_argument("name", help="torchvision.MODEL, timm.MODEL, transformers.CLASS, keras or MODULE:FUNCTION")
    parser.add_argument("checkpoint", nargs="+", help=".pth or .pt of torch.save, .safetensors, .npz, an index of shards, a folder of transformers, or .keras and .h5")
    parser.add_argument("batch", help=".npz with x and y, and further arguments by name, or .npy with the inputs alone")
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
            put_manifest(o.manifest, o.name, o.checkpoint, o.run)
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
