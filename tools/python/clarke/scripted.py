"""Weights of a file that torch.jit.save wrote. It has code beside them, which is not run, and objects, of which the attributes are taken alone.

A small file takes little memory and time: no number in it is compressed, as torch.jit.save compresses none, and modules are no more than MOST.
"""

import collections
import io
import itertools
import pickle
import sys
import zipfile

import torch

MOST = 100000  # modules

TYPES = {"FloatStorage": torch.float32, "DoubleStorage": torch.float64, "HalfStorage": torch.float16, "BFloat16Storage": torch.bfloat16,
         "LongStorage": torch.int64, "IntStorage": torch.int32, "ShortStorage": torch.int16, "CharStorage": torch.int8,
         "ByteStorage": torch.uint8, "BoolStorage": torch.bool}


class Part:
    """A module, by its attributes: tensors, further modules, and what is neither."""

    def __setstate__(self, held):
        if not isinstance(held, dict):  # code of the archive would make attributes of it
            raise pickle.UnpicklingError("a module that code in the file puts together (a quantized one, say)")
        self.held = held


def rebuilt(storage, offset, shape, strides, *_):
    return torch.as_strided(storage, shape, strides, offset)  # within its storage, or PyTorch refuses


class Reader(pickle._Unpickler):  # in Python: the quicker one makes room for as many objects as a file says
    """Makes of the names in such a file no class and calls no function but these."""

    def __init__(self, archive):
        self.archive, self.storages = archive, {}
        names = archive.namelist()
        self.top = next(name[:-len("data.pkl")] for name in names if name.endswith("/data.pkl") and name.count("/") == 1)
        held = [file for file in archive.infolist() if file.filename.startswith(self.top + "data")]
        if len(set(names)) < len(names) or any(file.compress_type != zipfile.ZIP_STORED for file in held):
            raise pickle.UnpicklingError("weights that are compressed, or a file that is there twice: torch.jit.save writes no such archive")
        if self.top + "byteorder" in names and archive.read(self.top + "byteorder").decode() != sys.byteorder:
            raise pickle.UnpicklingError("numbers whose bytes are in another order than this machine's")
        super().__init__(io.BytesIO(archive.read(self.top + "data.pkl")))

    def find_class(self, module, name):
        if module.partition(".")[0] == "__torch__":  # of __main__ the module has no further name
            return Part
        if module == "torch.jit._pickle":  # typed lists
            return lambda value, *_: value
        known = {("torch._utils", "_rebuild_tensor_v2"): rebuilt, ("collections", "OrderedDict"): collections.OrderedDict}
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in TYPES:
            return TYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name}, which is no weight")

    def persistent_load(self, told):
        _, kind, key, *_ = told
        if key not in self.storages:
            held = self.archive.read(f"{self.top}data/{key}")
            self.storages[key] = torch.frombuffer(bytearray(held), dtype=kind) if held else torch.empty(0, dtype=kind)
        return self.storages[key]


def tensors(part, prefix="", places=None):
    """Those of the module and of all in it: one that is in many others is at many places."""
    places = itertools.count(1) if places is None else places
    if next(places) > MOST:
        raise pickle.UnpicklingError(f"more than {MOST} modules")
    for name, held in part.held.items():
        if isinstance(held, Part):
            yield from tensors(held, f"{prefix}{name}.", places)
        elif isinstance(held, torch.Tensor):
            yield prefix + name, held


def is_script(path):
    """Did torch.jit.save write it? Such a file is no pickle of weights alone, but an archive of code and constants, too."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def scripted(path):
    """{name: tensor} of the network's parameters and buffers; UnpicklingError where it has more than those."""
    with zipfile.ZipFile(path) as archive:
        network = Reader(archive).load()
    if not isinstance(network, Part):
        raise pickle.UnpicklingError("no network")
    return dict(tensors(network))
