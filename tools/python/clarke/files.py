"""Files of a run folder: safetensors, .npz."""
import contextlib
import ctypes
import functools
import hashlib
import io
import json
import os
import secrets
import struct
import zlib

import numpy as np
import torch

from .refused import Refused

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


def size_of(tensors):
    """For a file of these, without its header."""
    return sum(t.numel() * t.element_size() for t in tensors.values())


def safetensors(tensors):
    """The parts of a file of these tensors, in order."""
    header, end, names = {}, 0, sorted(tensors)
    for name in names:
        t = tensors[name]
        begin, end = end, end + t.numel() * t.element_size()
        if t.dtype not in SAFETENSORS:
            raise Refused(name, f"a tensor of type {t.dtype}", "give it a floating-point type to 64 bits, or one of whole numbers")
        header[name] = {"dtype": SAFETENSORS[t.dtype], "shape": list(t.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield raw(tensors[name])


def array(t):
    t = t.detach().cpu().contiguous()
    return (t.to(torch.float32) if t.dtype == torch.bfloat16 else t).numpy()


DAY = 1 << 5 | 1  # the first of 1980, as np.savez has it
LONG = 1 << 31  # from here on zip has longer numbers


def npy(a):
    """The parts of an array's file: its own memory, where it lies there row by row."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(a))
    return head.getvalue(), memoryview(a.reshape(-1).view(np.uint8))


def npz(arrays):
    """The parts of what np.savez writes of row-major arrays, without a copy of them."""
    if sum(a.nbytes for a in arrays.values()) >= LONG:
        out = io.BytesIO()
        np.savez(out, **arrays)
        yield out.getbuffer()
        return
    central, at = b"", 0
    for name, a in arrays.items():
        parts, name = npy(a), f"{name}.npy".encode()
        size = sum(map(len, parts))
        # version, UTF-8, stored, time, day, CRC, size twice, the name's length and that of nothing more
        entry = struct.pack("<5H3L2H", 20, 0x800, 0, 0, DAY, functools.reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0),
                            size, size, len(name), 0)
        yield b"PK\3\4" + entry + name
        yield from parts
        central += b"PK\1\2" + struct.pack("<H", 20) + entry + struct.pack("<3H2L", 0, 0, 0, 0, at) + name
        at += 30 + len(name) + size
    yield central + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, len(arrays), len(arrays), len(central), at, 0)


PIECE = 1 << 20  # a kernel that is handed ten times that takes three times as long for it, at times
SMALL = 1 << 14
LONG_FILE = 1 << 17


def pieces(parts):
    """The same bytes in pieces of at most PIECE; small parts are put together."""
    together = bytearray()
    for part in parts:
        if len(part) < SMALL:
            together += part
        if together and (len(part) >= SMALL or len(together) > PIECE - SMALL):
            yield together
            together = bytearray()
        if len(part) >= SMALL:
            whole = memoryview(part)
            yield from (whole[i:i + PIECE] for i in range(0, len(whole), PIECE))
    yield together


MOST = 256  # pieces that the kernel is handed at once


def gathered(parts):
    """The pieces in lists, of at most PIECE together: each list is one call."""
    together, size = [], 0
    for piece in pieces(parts):
        if together and (size + len(piece) > PIECE or len(together) == MOST):
            yield together
            together, size = [], 0
        if len(piece) > 0:
            together.append(memoryview(piece))
            size += len(piece)
    yield together


FALLOCATE = getattr(ctypes.CDLL(None), "fallocate", None)  # where a file system has none it fails, where posix_fallocate would write
if FALLOCATE is not None:
    FALLOCATE.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def put(file, rest):
    """Writes all of these, one behind the other."""
    while rest:
        done = os.writev(file, rest)
        while rest and done >= len(rest[0]):
            done -= len(rest.pop(0))
        if rest:
            rest[0] = rest[0][done:]


def write(path, parts, hashed=True, size=0):
    """A file that is not there yet. (Its SHA-256.) What a loss of power may tear is found by its hash, in run.json; without one, by its numbers.
    size: so many bytes it has at least. The kernel sets them aside at once, a third of its time for long files."""
    digest = hashlib.sha256() if hashed else None
    with open(path, "xb", buffering=0) as f:
        if size > LONG_FILE and FALLOCATE is not None:
            FALLOCATE(f.fileno(), 0, 0, size)
        for rest in gathered(parts):
            for piece in rest if hashed else ():
                digest.update(piece)  # and what was just read is in the cache when it is written
            try:
                put(f.fileno(), rest)
            except OSError as why:
                raise OSError(why.errno, why.strerror, path) from None
    return digest.hexdigest() if hashed else None


def temporary(path):
    """A name beside it that nobody has, nor draws."""
    return f"{path}.{secrets.token_hex(8)}.tmp"


def discard(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def write_whole(path, parts):
    """All of it under its name, or nothing."""
    begun = temporary(path)
    try:
        write(begun, parts)
        os.replace(begun, path)
    except BaseException:
        discard(begun)
        raise
