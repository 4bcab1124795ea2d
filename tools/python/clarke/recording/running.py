"""The running statistics that a step brought up to date, for run.json.

A BatchNormalization's own are written by the operator. instance_norm repeats them for each sample, has the operator write these, and
copies the mean over the samples back. Nothing is said of a buffer that the step wrote to in another way as well.
"""
from fractions import Fraction

from ..tracing.dispatched import Operator, values_in

COUNTER = "num_batches_tracked"


def storage(t):
    return t.untyped_storage().data_ptr()


def held_in(graph, value):
    """The name of the buffer that the value's tensor is, or has the entries of; None: it is none."""
    own = next((name for name, t in graph.buffers.items() if t is value.of), None)
    place = lambda t: (storage(t), t.storage_offset(), t.shape)
    return own or next((name for name, t in graph.buffers.items() if place(t) == place(value.of)), None)


def copied_back(trace, repeated):
    """The node that copies the mean, over samples, of what was repeated."""
    for node in trace.nodes:
        mean = node.args[1].node if node.name == "copy_" and hasattr(node.args[1], "node") else None
        view = mean.args[0].node if mean is not None and mean.name == "mean" and list(mean.args[1]) == [0] else None
        if view is not None and view.name == "view" and view.args[0].of is repeated.of:
            return node
    return None


def target(trace, graph, value):
    """(buffer's name, how many samples, the node that writes it; None: the operator itself) of a running mean or variance."""
    if value is None:
        return None, 1, None
    if value.node is None or value.node.name != "repeat":
        return held_in(graph, value), 1, None
    back = copied_back(trace, value)
    name, (samples, *more) = held_in(graph, value.node.args[0]), value.node.args[1]
    return (None if more or back is None or held_in(graph, back.args[0]) != name else name), samples, back


def writers(trace):
    """By storage: the nodes that write to it."""
    found = {}
    for node in trace.nodes:
        known = Operator.of(node.op)
        if known.written:
            places = [node.args[i] for i in known.places if i < len(node.args)] + [node.kwargs.get(k) for k in known.written]
            for at in {storage(v.of) for v in values_in(places)}:
                found.setdefault(at, []).append(node)
    return found


def counter(trace, graph, wrote, mean, updates):
    """The buffer beside that one which counts its updates, if the step did so."""
    name = mean[:mean.rfind(".") + 1] + COUNTER
    if name not in graph.buffers or storage(graph.buffers[name]) in trace.changed_later:
        return {}
    own = wrote.get(storage(graph.buffers[name]), [])
    adds = all(n.name == "add_" and n.args[1] == 1 and not n.kwargs for n in own)
    return {"count": name} if adds and len(own) == updates else {}


def found(trace, graph):
    """A list of updates, in their order."""
    made, nodes = [], {}
    order = {id(node): i for i, node in enumerate(trace.nodes)} if graph.updates else {}
    for name, node in sorted(graph.updates, key=lambda one: order[id(one[1])]):
        (mean, samples, mean_back), (variance, others, variance_back) = (target(trace, graph, v) for v in node.args[3:5])
        if None in (mean, variance) or mean == variance or samples != others:
            continue
        made.append({"node": name, "mean": mean, "variance": variance, "momentum": str(Fraction(node.args[6]))} | ({"samples": samples} if samples > 1 else {}))
        nodes.setdefault(mean, []).append(mean_back or node)
        nodes.setdefault(variance, []).append(variance_back or node)
    if not made:
        return []
    wrote = writers(trace)
    alone = {name for name, own in nodes.items() for at in [storage(graph.buffers[name])]
             if at not in trace.changed_later and [id(n) for n in wrote.get(at, [])] == [id(n) for n in own]}
    known = [one for one in made if one["mean"] in alone and one["variance"] in alone]
    return [one | counter(trace, graph, wrote, one["mean"], sum(one["mean"] == other["mean"] for other in known)) for one in known]
