#!/usr/bin/env python3
"""Checkpoints as people have them: with wrappers' prefixes, under a key, in shards. Each gives the answer of the plain file,
or a message that says what does not fit.

    tests/tools/checkpoints.py CLARKE
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases/audit"
PLAIN = CASES / "digits-relu-later.safetensors"


def read(path):
    """Name: (dtype, shape, bytes)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + size:][slice(*t["data_offsets"])]) for name, t in header.items()}


def write(path, tensors, length=0):
    """length: the header's, if it is shorter; the rest are blanks."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode().ljust(length)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def sizes(numbers):
    return b"(" + b"".join(b"J" + struct.pack("<i", n) for n in numbers) + b"t"


class Archive:
    """What torch.save writes: tensors of float32 in dictionaries."""

    def __init__(self, value):
        self.storages = []
        self.pickle = b"\x80\x02" + self.pickled(value) + b"."

    def pickled(self, value):
        if isinstance(value, int):
            return b"K" + bytes([value])
        if isinstance(value, dict):
            return b"}" + b"".join(text(key) + self.pickled(item) + b"s" for key, item in value.items())
        dtype, shape, content = value
        assert dtype == "F32"
        strides = [1] * len(shape)
        for k in range(len(shape) - 1, 0, -1):
            strides[k - 1] = strides[k] * shape[k]
        self.storages.append(content)
        storage = (b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(str(len(self.storages) - 1)) + text("cpu") + b"J"
                   + struct.pack("<i", len(content) // 4) + b"tQ")
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0" + sizes(shape) + sizes(strides)
                + b"\x89ccollections\nOrderedDict\n)RtR")

    def write(self, path, *before):
        with zipfile.ZipFile(path, "w") as z:
            for name in before:
                z.writestr(name, "{}")
            z.writestr("a/data.pkl", self.pickle)
            z.writestr("a/version", "3\n")
            for key, content in enumerate(self.storages):
                z.writestr("a/data/%d" % key, content)
        return path


class Checkpoints(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.tensors = read(PLAIN)
        self.wanted = self.audit(PLAIN)
        self.assertEqual(self.wanted[0], 0)

    def tearDown(self):
        self.folder.cleanup()

    def audit(self, params, *options):
        """Exit status, report, message."""
        command = [CLARKE, "audit", CASES / "digits-relu.onnx", "--batch", CASES / "digits.npz", "--json", "--params", params, *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def same(self, params):
        self.assertEqual(self.audit(params), self.wanted)

    def refused(self, params, *words):
        status, out, err = self.audit(params)
        self.assertEqual((status, list(json.loads(out))), (2, ["error"]), err)
        for word in words:
            self.assertIn(word, err)

    def renamed(self, prefix):
        return {prefix + name: t for name, t in self.tensors.items()}

    def test_prefixes(self):
        own = write(self.path / "own.safetensors", self.tensors)
        self.same(own)
        self.assertEqual(self.audit(own, "--proof", self.path / "own.proof")[0], 0)
        for prefix in ("module.", "_orig_mod.", "model.", "module._orig_mod.", "_orig_mod.module.", "module.model.module."):
            with self.subTest(prefix):
                path = write(self.path / "c.safetensors", self.renamed(prefix))
                self.same(path)
                self.same(Archive(self.renamed(prefix)).write(self.path / "c.pt"))
                status, _, err = self.audit(path, "--proof", self.path / "p.proof")
                self.assertEqual(status, 2)
                self.assertIn("takes no prefix off", err)
                self.assertFalse((self.path / "p.proof").exists())

    def test_lengths_that_other_files_begin_with(self):
        """A header's length may be written as the first bytes of a ZIP, or of a pickle."""
        for start in (b"PK\0", b"\x80\2\1"):
            path = write(self.path / "own.safetensors", self.tensors, int.from_bytes(start, "little"))
            self.assertTrue(path.read_bytes().startswith(start))
            self.same(path)

    def test_prefixes_that_are_none(self):
        name = next(iter(self.tensors))
        self.refused(write(self.path / "c.safetensors", self.renamed("net.")), "does not fit digits-relu.onnx: missing: ", f"'{name}'",
                     "no parameters of it: 'net.")
        mixed = self.renamed("module.")
        mixed[name] = mixed.pop("module." + name)
        self.refused(write(self.path / "c.safetensors", mixed), "does not fit", "no parameters of it: 'module.")

    def test_what_does_not_fit_is_named(self):
        names = list(self.tensors)
        changed = dict(self.tensors)
        changed["other.weight"] = changed.pop(names[0])
        dtype, shape, content = changed[names[1]]
        changed[names[1]] = (dtype, [*shape, 1], content)
        self.refused(write(self.path / "c.safetensors", changed), f"missing: '{names[0]}'", "no parameters of it: 'other.weight'",
                     f"of another shape: '{names[1]}' (" + " x ".join(map(str, [*shape, 1])) + ", not " + " x ".join(map(str, shape)))
        many = {**self.tensors, **{"extra.%03d" % i: (dtype, shape, bytes(len(content))) for i in range(100)}}
        self.refused(write(self.path / "c.safetensors", many), "'extra.000', 'extra.001'", " more")
        self.refused(write(self.path / "c.safetensors", {"module." + n: t for n, t in changed.items()}),
                     f"missing: '{names[0]}'", "no parameters of it: 'other.weight'")

    def test_tied(self):
        """A weight's further name is passed over; what only may be one is refused, and so is any in a proof."""
        names = [n for n in self.tensors if len(self.tensors[n][1]) == 2]
        dtype, shape, content = self.tensors[names[0]]
        tied = {**self.tensors, "head.weight": (dtype, shape, content)}
        path = write(self.path / "c.safetensors", tied)
        self.same(path)
        self.same(Archive({"state_dict": tied}).write(self.path / "c.pt"))
        self.same(write(self.path / "c.safetensors", {"module." + n: t for n, t in tied.items()}))
        path = write(self.path / "c.safetensors", tied)
        status, _, err = self.audit(path, "--proof", self.path / "p.proof")
        self.assertEqual(status, 2)
        self.assertIn("with the model's own names alone", err)
        self.assertFalse((self.path / "p.proof").exists())
        another = content[:-4] + struct.pack("<f", 7)
        for name, shape_, bytes_ in (("head.weight", shape, another), ("head.weight", shape[::-1], content), ("0.running_mean", shape, content)):
            refused = write(self.path / "c.safetensors", {**self.tensors, name: (dtype, shape_, bytes_)})
            self.refused(refused, f"no parameters of it: '{name}'")
        zero = (dtype, shape, bytes(len(content)))
        self.refused(write(self.path / "c.safetensors", {**self.tensors, names[0]: zero, "head.weight": zero}), "no parameters of it: 'head.weight'")

    def test_folded_normalization(self):
        vector = ("F32", [2], bytes(8))
        for name in "1.running_mean", "1.running_var":
            self.refused(write(self.path / "c.safetensors", {**self.tensors, name: vector}), f"no parameters of it: '{name}'. Where the export folded",
                         'torch.onnx.export(model, x, "net.onnx", dynamo=True, optimize=False)')
        status, _, err = self.audit(write(self.path / "c.safetensors", {**self.tensors, "more": vector}))
        self.assertEqual((status, "folded" in err), (2, False))

    def test_files_beside_weights(self):
        """torch.jit.save writes those that it is given first, under the names that it is given."""
        self.same(Archive(self.tensors).write(self.path / "c.pt", "a/extra/config.json", "a/extra/metadata.json"))

    def test_keys(self):
        zero = {name: (dtype, shape, bytes(len(content))) for name, (dtype, shape, content) in self.tensors.items()}
        both = Archive({"epoch": 3, "model": zero, "state_dict": self.tensors, "ema": self.renamed("module.")}).write(self.path / "c.pt")
        self.refused(both, "several state dicts, under 'model', 'state_dict'", "--params FILE:KEY")
        self.same(f"{both}:state_dict")
        self.same(f"{both}:ema")
        self.assertNotEqual(self.audit(f"{both}:model"), self.wanted)
        twice = Archive({"ema": self.tensors}).write(self.path / "e.pt")
        self.same(f"{twice}:ema")
        twice = Archive({"ema": self.tensors})
        twice.pickle = twice.pickle[:-1] + text("ema") + b"Ns."
        self.refused(f"{twice.write(self.path / 'e.pt')}:ema", "two entries are named 'ema'")
        self.refused(f"{both}:swa", "has nothing under 'swa'", "'model', 'state_dict', 'ema'")
        self.refused(f"{both}:epoch", "under 'epoch' is no dictionary")
        self.refused(f"{PLAIN}:model", "has no dictionaries", "'model'")
        self.refused(f"{self.path}/absent.pt:model", "absent.pt:model: cannot be opened")
        self.refused(f"{both}:", "c.pt:: cannot be opened")
        self.same(Archive({"state_dict": self.tensors, "epoch": 1}).write(self.path / "with:colon.pt"))
        self.same(f"{self.path}/with:colon.pt:state_dict")

    def shards(self, **files):
        """An index whose shards are those: tensors by the file's name."""
        index = {"metadata": {"total_size": 0}, "weight_map": {}}
        for file, tensors in files.items():
            write(self.path / (file + ".safetensors"), tensors)
            index["weight_map"].update({name: file + ".safetensors" for name in tensors})
        path = self.path / "model.safetensors.index.json"
        path.write_text(json.dumps(index))
        return path

    def test_shards_of_torch(self):
        """pytorch_model.bin.index.json, as transformers wrote it before safetensors."""
        names = list(self.tensors)
        index = {"metadata": {}, "weight_map": {n: f"{k % 2}.bin" for k, n in enumerate(names)}}
        for k in range(2):
            Archive({n: self.tensors[n] for n in names[k::2]}).write(self.path / f"{k}.bin")
        path = self.path / "pytorch_model.bin.index.json"
        path.write_text(json.dumps(index))
        self.same(path)
        write(self.path / "0.bin", {n: self.tensors[n] for n in names[::2]})
        self.refused(path, "pytorch_model.bin.index.json: 0.bin")

    def test_shards(self):
        names = list(self.tensors)
        one, two = {n: self.tensors[n] for n in names[::2]}, {n: self.tensors[n] for n in names[1::2]}
        self.same(self.shards(one=one, two=two))
        self.same(self.shards(all=self.renamed("model.")))
        status, _, err = self.audit(self.shards(one=one, two=two), "--proof", self.path / "p.proof")
        self.assertEqual(status, 2)
        self.assertIn("a proof needs the checkpoint as one file", err)

        index = self.shards(one=one, two=two)
        write(self.path / "two.safetensors", {**two, "more": self.tensors[names[0]]})
        self.refused(index, "model.safetensors.index.json: two.safetensors: tensor \"more\", of which the index says nothing")
        write(self.path / "two.safetensors", {n: t for n, t in two.items() if n != names[1]})
        self.refused(index, f"two.safetensors: no tensor \"{names[1]}\", which the index says it holds")
        (self.path / "two.safetensors").unlink()
        self.refused(index, "two.safetensors: cannot be opened")
        os.symlink(self.path / "one.safetensors", self.path / "two.safetensors")
        self.refused(index, "two.safetensors: cannot be opened: symbolic links are not followed")

    def test_indexes_that_are_none(self):
        index = self.path / "model.safetensors.index.json"
        for written, words in ((b"", "is no JSON"), (b"[]", "is no JSON object"), (b"{}", "has no weight_map"),
                               (b'{"weight_map":{"w":3}}', "tensor \"w\": has no file"),
                               (b'{"weight_map":{"w":"../w"}}', "is not a name in the index's own folder"),
                               (b'{"weight_map":{"w":"/etc/passwd"}}', "is not a name in the index's own folder"),
                               (b'{"weight_map":{"w":".."}}', "is not a name in the index's own folder"),
                               (b'{"weight_map":{"w":""}}', "is not a name in the index's own folder"),
                               (b'{"weight_map":{"w":"a","w":"b"}}', "is no JSON"), (b'{"weight_map":{}}', "does not fit")):
            with self.subTest(written):
                index.write_bytes(written)
                self.refused(index, "model.safetensors.index.json", words)


if __name__ == "__main__":
    CLARKE = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
