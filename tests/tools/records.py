"""Copies of recorded steps in which a number is changed, and the hashes made anew."""
import hashlib
import json
import os
import shutil
import struct

KINDS = {"F32": "<f", "F64": "<d", "I64": "<q"}


def header(data):
    """A safetensors file's description, and where its numbers begin."""
    length = struct.unpack_from("<Q", data)[0]
    return json.loads(data[8:8 + length]), 8 + length


def tensors(data):
    return [name for name in header(data)[0] if name != "__metadata__"]


def index_of(shape, entry):
    index = []
    for n in reversed(shape):
        entry, at = divmod(entry, n)
        index.insert(0, at)
    return "[" + ", ".join(map(str, index)) + "]"


class Changed:
    """A copy of a record; with seal, the hashes in run.json are those of its files. (Of a trace there may be none.)"""

    def __init__(self, folder, runs, name, to="changed"):
        self.run = os.path.join(folder, to)
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(os.path.join(runs, name), self.run)
        with open(os.path.join(self.run, "run.json")) as f:
            self.description = json.load(f)
        self.files = self.description["steps"][0]["files"]

    def bytes_of(self, which):
        with open(os.path.join(self.run, self.files[which]["file"]), "rb") as f:
            return f.read()

    def put(self, which, data, seal=True):
        with open(os.path.join(self.run, self.files[which]["file"]), "wb") as f:
            f.write(data)
        if seal and "sha256" in self.files[which]:
            self.files[which]["sha256"] = hashlib.sha256(data).hexdigest()
        self.write()

    def write(self):
        with open(os.path.join(self.run, "run.json"), "w") as f:
            f.write(json.dumps(self.description))  # in one piece: to write it by parts takes ten times as long

    def drop(self, which, *gone):
        """The file without these tensors."""
        about, begin = header(data := self.bytes_of(which))
        kept, numbers = {}, b""
        for name, t in about.items():
            if name != "__metadata__" and name not in gone:
                own = data[begin + t["data_offsets"][0]:begin + t["data_offsets"][1]]
                kept[name] = t | {"data_offsets": [len(numbers), len(numbers) + len(own)]}
                numbers += own
        text = json.dumps(kept).encode()
        text += b" " * (-len(text) % 8)
        self.put(which, struct.pack("<Q", len(text)) + text + numbers)

    def place(self, which, tensor):
        """Its description, the format of a number, and where the first is."""
        data = self.bytes_of(which)
        about, begin = header(data)
        return about[tensor], KINDS[about[tensor]["dtype"]], begin + about[tensor]["data_offsets"][0]

    def shape(self, which, tensor):
        return self.place(which, tensor)[0]["shape"]

    def values(self, which, tensor):
        about, kind, at = self.place(which, tensor)
        count = (about["data_offsets"][1] - about["data_offsets"][0]) // struct.calcsize(kind)
        return list(struct.unpack_from(f"<{count}{kind[1]}", self.bytes_of(which), at))

    def put_value(self, which, tensor, entry, value):
        _, kind, at = self.place(which, tensor)
        data = bytearray(self.bytes_of(which))
        struct.pack_into(kind, data, at + entry * struct.calcsize(kind), value)
        self.put(which, bytes(data))

    def scale(self, which, tensor, entry, factor):
        """An entry times a factor; a 0 becomes the factor less 1."""
        value = self.values(which, tensor)[entry]
        self.put_value(which, tensor, entry, value * factor if value != 0 else factor - 1)
