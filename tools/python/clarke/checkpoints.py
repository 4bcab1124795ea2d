"""Weights of a checkpoint, as they are saved, and whether they are a network's: all of them, and no others."""

import importlib
import json
import os
import pickle
import re
import zipfile

import numpy as np
import torch

from .scripted import is_script, scripted

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
        return of_shards(path)
    if path.endswith(".safetensors"):
        return dict(imported("safetensors.torch", path).load_file(path))
    try:
        if path.endswith(".npz"):
            with np.load(path) as held:
                return {k: torch.from_numpy(held[k]) for k in held.files}
        if is_script(path):
            return held_scripted(path)
        held = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as e:  # PyTorch's sentences say how to execute it
        beside = re.search(r"GLOBAL (\S+)|Unsupported (?:global|class) (\S+)", str(e))
        raise Unlike(f"{path}: it holds more than tensors{' (' + (beside[1] or beside[2]) + ')' if beside else ''}, and objects of Python's are not "
                     "made of a file here. Where you trust it: torch.save(torch.load(FILE, weights_only=False)['state_dict'], NEW), or its model's "
                     "state_dict()") from e
    except (RuntimeError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as e:
        raise Unlike(f"{path}: PyTorch loads no state dict from it: {str(e).splitlines()[0]}") from e
    for key in KEYS:
        if isinstance(held, dict) and isinstance(held.get(key), dict):
            held = held[key]
    if not isinstance(held, dict) or not held or not all(isinstance(t, torch.Tensor) for t in held.values()):
        raise Unlike(f"{path}: no state dict, nor one under {', '.join(KEYS)}")
    return held


def of_shards(index):
    """The weights of all files that an index names."""
    with open(index, encoding="utf-8") as f:
        said = json.load(f)
    said = said.get("weight_map") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not all(isinstance(shard, str) for shard in said.values()):
        raise Unlike(f"{index}: no weight_map, from names of weights to files")
    held = {}
    for shard in sorted(set(said.values())):
        path = os.path.join(os.path.dirname(index), shard)
        if os.path.basename(shard) != shard or not os.path.isfile(path) or shard.endswith(".index.json"):
            raise Unlike(f"{index}: a shard that is no file of weights beside it: {shard!r}")
        more = weights(path)
        twice = sorted(held.keys() & more.keys())
        if twice:
            raise Unlike(f"{index}: two shards have {twice[0]}")
        held.update(more)
    return held


def held_scripted(path):
    try:
        return scripted(path)
    except (pickle.UnpicklingError, KeyError, StopIteration, AttributeError, IndexError) as e:
        raise Unlike(f"{path}: torch.jit.save wrote it, and of what is beside weights in it nothing is made here: {e}. Save its state_dict(), or "
                     "give it as --params beside an exported network") from e


def is_plain(path, model):
    """Has one file the weights, under the network's own names and no key?"""
    if not os.path.isfile(path) or path.endswith(".index.json") or is_script(path):
        return False
    held = weights(path).keys() if path.endswith((".safetensors", ".npz")) else torch.load(path, map_location="cpu", weights_only=True).keys()
    return held <= model.state_dict().keys()


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


def classes(model, held):
    """The number of classes for which a network has these weights' shapes, where it differs in that alone: the heads' rows. Where weights of the
    network are missing, they may be a head's: 0. Else None."""
    own = {k: tuple(t.shape) for k, t in model.state_dict().items()}
    if own.keys() != held.keys():
        return None if held.keys() - own.keys() else 0
    other = [(tuple(held[k].shape), own[k]) for k in own if own[k] != tuple(held[k].shape)]
    rows = {shape[:1] for shape, _ in other}
    alone = all(shape[1:] == was[1:] and shape for shape, was in other)
    return rows.pop()[0] if alone and len(rows) == 1 else None


def unrounded(path, model, held):
    """Refuses weights that are others in the network: a type there rounds them, or one tensor has several names, and they were two."""
    own = model.state_dict()
    for k, t in held.items():
        kept = own.get(k)
        if kept is None or kept.shape != t.shape:  # under another name there, and of 32 bits
            kept = t.to(torch.float32) if t.is_floating_point() else t
        if not torch.equal(kept.to(t.dtype), t):
            raise Unlike(f"{path}: {k} is another one in the network: {t.dtype} there is {kept.dtype} here, or one tensor has two names, "
                         "or it holds NaN")


def put(path, model, held):
    """The network, with these weights, which have its names and shapes."""
    model.load_state_dict(held)
    unrounded(path, model, held)
    return model
