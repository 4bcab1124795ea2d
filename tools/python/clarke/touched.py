"""A kink that was touched, as a record: where it is, and what AD takes there."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping


@dataclass(frozen=True)
class Touched:
    """One kink or tied window. Numbers are exact, as texts: "0", "-3/2".

    module: of a recorded step PyTorch's name of the module ("" the model itself), of a function None.
    layer: the graph's node; of a function the operator, with the program's line.
    neuron: the entry of what the layer computes for one sample, counted in row-major order; None of a function.
    sample: its row in the minibatch; None of a function.
    argument: the number at which the kink lies, or that the tied entries have; None where it is irrational.
    slopes: on its left and right; of a tie or branch what it may take.
    ad: what AD takes for the slope; of a tie the entry, "mean" or each entry's share.
    source: of a function FILE:LINE and the operator of PyTorch, else None.
    """
    module: str | None
    layer: str
    neuron: int | None
    sample: int | None
    argument: str | None
    slopes: tuple[str, ...]
    ad: str | tuple[str, ...]
    source: str | None = None

    def __str__(self) -> str:
        where = self.source or ", ".join(part for part in (f"module {self.module}" if self.module else "", self.layer) if part)
        return where if self.neuron is None else f"{where}, neuron {self.neuron}, sample {self.sample}"


def of_step(kink: Mapping[str, Any], module: Mapping[str, str]) -> Touched:
    """From an entry of `touched_kinks`."""
    sides = kink["slopes"] if "slopes" in kink else kink["tied"]
    return Touched(module.get(kink["layer"]), kink["layer"], kink["neuron"], kink["sample"], kink["argument"], tuple(map(str, sides)), kink["ad"])


def of_function(kink: Mapping[str, Any]) -> Touched:
    """From an entry of `touched`, as `clarke derive` has it."""
    proxy = kink["proxy"]
    return Touched(None, kink["node"], None, None, kink["argument"], tuple(kink["slopes"] or ()), tuple(proxy) if isinstance(proxy, list) else proxy,
                   kink.get("source"))
