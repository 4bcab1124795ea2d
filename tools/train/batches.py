"""Minibatches as numpy.savez writes them, byte for byte the same on every run.

A batch is an uncompressed .npz with an array `x` (float32, samples first) and, where the loss
needs one, `y` (int64 labels for cross-entropy, float32 targets for the mean squared error).
"""

import zipfile

import numpy as np


def write_batch(path, **arrays):
    """numpy.savez(path, **arrays) with the dates and system fields of the archive fixed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(name + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o600 << 16
            # As numpy.savez does, so that readers meet the zip64 field that users' files have.
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
