"""The graph as an ONNX model; and is a later step's graph the one that a folder has?"""
import hashlib

import numpy as np
import onnx
from onnx import helper

from ..files import raw
from .graph import DOMAIN, ONNX_TYPE, is_shared, tensor_proto
from ..refused import FOLDER, Refused

OPSET, IR_VERSION = 21, 10


def port(name, t):
    return helper.make_tensor_value_info(name, ONNX_TYPE[t.dtype], list(t.shape))


def model_of(graph, producer_version, nodes=True):
    inputs = [port("x", graph.input)] + ([port("y", graph.y.tensor)] if graph.y is not None else [])
    inputs += [port(name, t) for name, t in graph.given.items()]
    output = helper.make_tensor_value_info(graph.nodes[-1].output[0], ONNX_TYPE[graph.loss_dtype], [])
    made = helper.make_graph(graph.nodes if nodes else [], "step", inputs, [output])
    sets = [helper.make_opsetid("", OPSET)]
    if any(n.domain == DOMAIN for n in graph.nodes):
        sets.append(helper.make_opsetid(DOMAIN, 1))
    model = helper.make_model(made, opset_imports=sets, producer_name="clarke.record", producer_version=producer_version)
    model.ir_version = IR_VERSION
    return model


def model_bytes(graph, producer_version):
    model = model_of(graph, producer_version)
    model.graph.initializer.extend(tensor_proto(name, t) for name, t in graph.initializers.items())
    return model.SerializeToString()


def kinds(initializers):
    return [(name, t.dtype, tuple(t.shape)) for name, t in initializers.items()]


class Template:
    """A model's bytes without its initializers' numbers: those of a later step are put where they lie. (To make the whole model takes a small step's
    time, and some copies of the parameters.)"""

    def __init__(self, graph, producer_version):
        self.between = []
        found = self.cut(*(self.filled(graph, producer_version, byte) for byte in (b"\x00", b"\xff")),
                         [t.numel() * t.element_size() for t in graph.initializers.values()])
        self.kinds = kinds(graph.initializers) if found else None

    def cut(self, low, high, sizes):
        """Cuts what two models have in common at the places where they differ: are these of such sizes, in this order, and no others?"""
        if len(low) != len(high):
            return False
        other, at = np.frombuffer(low, np.uint8) != np.frombuffer(high, np.uint8), 0
        for size in sizes:
            rest = other[at:]
            begin = at + int(rest.argmax()) if size > 0 and len(rest) > 0 else at
            end = begin + size
            if end > len(other) or not other[begin:end].all():
                return False
            self.between.append(low[at:begin])
            at = end
        self.between.append(low[at:])
        return not other[at:].any()

    def fits(self, initializers):
        """Are these of the same names, types and shapes? (Of a template whose bytes were not found none is.)"""
        return kinds(initializers) == self.kinds

    @staticmethod
    def filled(graph, producer_version, byte):
        model = model_of(graph, producer_version)
        model.graph.initializer.extend(helper.make_tensor(name, ONNX_TYPE[t.dtype], list(t.shape), byte * (t.numel() * t.element_size()), raw=True)
                                       for name, t in graph.initializers.items())
        return model.SerializeToString()

    def parts(self, initializers):
        """The bytes of the model with these, which fit."""
        for part, t in zip(self.between, initializers.values()):
            yield part
            yield raw(t)
        yield self.between[-1]


def bare(node):
    """A node's bytes without the lines that it comes from."""
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.metadata_props[:]
    return copy.SerializeToString(deterministic=True)


BARE = {}  # by the identities of nodes, which are held, too


def bare_again(node):
    """The bare form of a node that later steps have, too (graph.py): it is kept."""
    if id(node) not in BARE:
        if len(BARE) == 10000:
            BARE.clear()
        BARE[id(node)] = node, bare(node)
    return BARE[id(node)][1]


COMPARED = {}  # by the SHA-256 of a graph.onnx: what is compared of it


def said(graph, nodes, initializers):
    """What two steps of one graph have in common: nodes, ports, and the initializers but for their numbers."""
    return nodes, [[p.SerializeToString(deterministic=True) for p in ports] for ports in (graph.input, graph.output)], initializers


def said_by(path, sha256):
    """The same of a folder's file; the hash says that it is the one that was read before."""
    if sha256 not in COMPARED:
        with open(path, "rb") as f:
            data = f.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Refused(path, "this is not the graph that run.json says", FOLDER)
        graph = onnx.load_from_string(data).graph
        if len(COMPARED) == 4:
            COMPARED.clear()
        COMPARED[sha256] = said(graph, [bare(n) for n in graph.node], [(t.name, t.data_type, tuple(t.dims)) for t in graph.initializer])
    return COMPARED[sha256]


def require_same(path, sha256, graph):
    """Is the folder's graph this one, but for the initializers' numbers?"""
    nodes = [bare_again(n) if is_shared(n) else bare(n) for n in graph.nodes]
    now = said(model_of(graph, "", nodes=False).graph, nodes, [(name, ONNX_TYPE[t.dtype], tuple(t.shape))
                                                                     for name, t in graph.initializers.items()])
    if said_by(path, sha256) != now:
        raise Refused(path, "the step's graph is not that of the folder", FOLDER)
