"""To what a backend may round float32 factors: settings of PyTorch and of oneDNN, by backend and operator."""
import functools
import os
import platform

import torch

OF_MODE = {"BF16": "bf16", "F16": "fp16", "TF32": "tf32", "ANY": "any"}  # of oneDNN's ONEDNN_DEFAULT_FPMATH_MODE
OF_WORD = {"highest": "ieee", "high": "tf32", "medium": "bf16"}  # of torch.set_float32_matmul_precision


@functools.lru_cache(maxsize=None)
def part(backend, operator):
    return getattr(getattr(torch.backends, backend), operator, None)


def setting(backend, operator, before):
    """What torch.backends.BACKEND.OPERATOR.fp32_precision says; in versions that do not have it, what was there before."""
    chosen = getattr(part(backend, operator), "fp32_precision", None)
    return before() if chosen is None else "ieee" if chosen == "none" else chosen


def allowed(backend):
    return "tf32" if backend.allow_tf32 else "ieee"


@functools.lru_cache(maxsize=None)
def multiplies_eleven_bits():
    """May oneDNN multiply numbers of 11 bits, tf32 or float16, here? On x86 by AMX-FP16 alone."""
    known = getattr(torch.cpu, "_is_amx_fp16_supported", None)
    return platform.machine() not in ("x86_64", "AMD64") or known is None or known()


def on_a_cpu():
    if not torch.backends.mkldnn.enabled:
        return {"matmul": "ieee", "conv": "ieee", "rnn": "ieee"}
    found = {"matmul": setting("mkldnn", "matmul", lambda: OF_WORD[torch.get_float32_matmul_precision()]),
             "conv": setting("mkldnn", "conv", lambda: "ieee"), "rnn": setting("mkldnn", "rnn", lambda: "ieee")}
    mode = os.environ.get("ONEDNN_DEFAULT_FPMATH_MODE") or os.environ.get("DNNL_DEFAULT_FPMATH_MODE") or ""
    if mode.upper() in OF_MODE:
        for name in ["conv", "rnn"] if torch.backends.mkl.is_available() else ["conv", "rnn", "matmul"]:  # oneDNN's
            found[name] = OF_MODE[mode.upper()] if found[name] in ("ieee", OF_MODE[mode.upper()]) else "any"
    if not multiplies_eleven_bits():
        found = {name: {"tf32": "ieee", "fp16": "ieee", "any": "bf16"}.get(word, word) for name, word in found.items()}
    return found


def precision():
    """{backend: {operator: "ieee", "tf32", "bf16", "fp16" or "any"}}"""
    return {"cpu": on_a_cpu(), "cuda": {"matmul": setting("cuda", "matmul", lambda: allowed(torch.backends.cuda.matmul)),
                                        "conv": setting("cudnn", "conv", lambda: allowed(torch.backends.cudnn)),
                                        "rnn": setting("cudnn", "rnn", lambda: allowed(torch.backends.cudnn))}}


def widest(one, other):
    return one if other in ("ieee", one) else other if one == "ieee" else "any"


def of_products(found, kinds):
    """The same for a graph in which products of these kinds (`rnn`, `conv`) are matrix products: wide enough for all of them."""
    return {backend: {**operators, "matmul": functools.reduce(widest, [operators[k] for k in kinds], operators["matmul"])}
            for backend, operators in found.items()}
