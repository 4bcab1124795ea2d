"""Transposed convolutions, for ONNX's reference evaluator."""
import numpy as np
from onnx.reference.op_run import OpRun


class ConvTranspose(OpRun):
    """By its definition: ONNX's own evaluator knows neither groups nor output_padding."""

    op_domain = ""

    def _run(self, x, w, b=None, **attributes):
        axes = x.ndim - 2
        strides, dilations, more = (attributes.get(k) or [absent] * axes
                                    for k, absent in (("strides", 1), ("dilations", 1), ("output_padding", 0)))
        pads, group = attributes.get("pads") or [0] * 2 * axes, attributes.get("group") or 1
        rule, length = attributes.get("auto_pad") or "NOTSET", attributes.get("output_shape")
        size = [s * (n - 1) + d * (k - 1) + 1 + m for s, n, d, k, m in zip(strides, x.shape[2:], dilations, w.shape[2:], more)]
        y = np.zeros((len(x), w.shape[1] * group, *size))
        inputs, outputs = w.shape[0] // group, w.shape[1]
        for place in np.ndindex(x.shape[2:]):
            for tap in np.ndindex(w.shape[2:]):
                to = tuple(p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations))
                for k in range(group):
                    rows, columns = slice(k * inputs, (k + 1) * inputs), slice(k * outputs, (k + 1) * outputs)
                    y[(slice(None), columns) + to] += x[(slice(None), rows) + place] @ w[(rows, slice(None)) + tap]
        if length or rule.startswith("SAME"):
            over = [n - k for n, k in zip(size, length or [n * s for n, s in zip(x.shape[2:], strides)])]
            first = [t // 2 if rule == "SAME_UPPER" else t - t // 2 for t in over]
            pads = [*first, *[max(t - f, 0) for t, f in zip(over, first)]]
            y = np.pad(y, [(0, 0), (0, 0), *[(0, max(f - t, 0)) for t, f in zip(over, first)]])
            size = y.shape[2:]
        y = y[(slice(None), slice(None)) + tuple(slice(p, n - q) for p, q, n in zip(pads, pads[axes:], size))]
        return ((y if b is None else y + b.reshape(-1, *[1] * axes)).astype(x.dtype),)
