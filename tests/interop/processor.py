"""Libraries choose their kernels by the processor, and by settings. What holds whatever the kernel is asked everywhere; how many sums have
trees, and the like, only where it was measured."""
import os

from expect import expect

SETTINGS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
MEASURED = (  # of /proc/cpuinfo
    {"vendor_id": "AuthenticAMD", "cpu family": "25", "flags": "avx512f"},  # EPYC of Zen 4
    {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "207", "flags": "amx_tile"},  # Xeon of the fifth generation
)


def described():
    with open("/proc/cpuinfo") as f:
        first = f.read().split("\n\n")[0]
    return {key.strip(): value.split() for key, _, value in (line.partition(":") for line in first.splitlines())}


def is_measured():
    """Do the kernels that run by default on a processor that was measured run here?"""
    here = described()
    return not any(s in os.environ for s in SETTINGS) and any(all(v in here.get(k, []) for k, v in one.items()) for one in MEASURED)


def where_measured(condition, what):
    """Expected of the kernels that were measured, and of no others."""
    if is_measured():
        expect(condition, what)
    elif not condition:
        print(f"not as where it was measured: {what}")
