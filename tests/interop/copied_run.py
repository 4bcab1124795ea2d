"""A run folder's copy, to be changed; hashes in run.json are made anew."""
import hashlib
import json
import os
import shutil

from clarke.files import safetensors
from safetensors.torch import load_file


class Copy:
    def __init__(self, folder, run):
        self.run = os.path.join(folder, "changed")
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(run, self.run)

    def describe(self, change):
        path = os.path.join(self.run, "run.json")
        with open(path) as f:
            description = json.load(f)
        change(description)
        with open(path, "w") as f:
            json.dump(description, f)
        return self

    def tensors(self, which, change):
        """Tensors become others, and the hash is theirs."""
        def seal(description):
            entry = description["steps"][0]["files"][which]
            path = os.path.join(self.run, entry["file"])
            data = b"".join(safetensors(change(load_file(path))))
            with open(path, "wb") as f:
                f.write(data)
            if "sha256" in entry:
                entry["sha256"] = hashlib.sha256(data).hexdigest()
        return self.describe(seal)

    def gradients(self, factor, only=None):
        return self.tensors("gradients", lambda t: {n: g * (factor if only in (None, n) else 1) for n, g in t.items()})
