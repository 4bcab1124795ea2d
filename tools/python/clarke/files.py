"""Files of a run folder: safetensors, .npz, written whole or not at all."""
import hashlib
import io
import json
import os

import numpy as np
import torch

SAFETENSORS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
               torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}


def raw(t):
    """The tensor's bytes, row-major: its own memory, where they lie there so."""
    if t.numel() == 0:
        return b""
    t = t.detach().cpu().contiguous().reshape(-1)
    if t.stride(0) != 1:  # one entry, of an expanded tensor
        t = t.clone(memory_format=torch.contiguous_format)
    return memoryview(t.view(torch.uint8).numpy())


def safetensors(tensors):
    """The parts of a file of these tensors, in order."""
    header, end, names = {}, 0, sorted(tensors)
    for name in names:
        t = tensors[name]
        begin, end = end, end + t.numel() * t.element_size()
        header[name] = {"dtype": SAFETENSORS[t.dtype], "shape": list(t.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield raw(tensors[name])


def array(t):
    t = t.detach().cpu().contiguous()
    return (t.to(torch.float32) if t.dtype == torch.bfloat16 else t).numpy()


def npz(arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    yield out.getbuffer()


def write_whole(path, parts):
    """All of it under its name, or nothing. What a loss of power may tear is found by its hash, in run.json."""
    temporary, digest = f"{path}.{os.getpid()}.tmp", hashlib.sha256()
    try:
        with open(temporary, "wb", buffering=0) as f:
            for part in parts:
                digest.update(part)
                rest = memoryview(part)
                while rest:
                    rest = rest[f.write(rest):]
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return {"file": os.path.basename(path), "sha256": digest.hexdigest()}
