"""What JAX and TensorFlow return at the kinks and ties of docs/operators.md's section "Every profile" (PyTorch: tests/interop/proxies.py).

    python measure_profiles.py [jax] [tensorflow]

Measures each framework named (all that are installed, when none is) and compares with the page's tables:
an entry that is `unknown` there is not measured. Upstream gradient 1; a slope of 1/4 stands for those
that a call gives. Exits with 1 when an entry differs.
"""

import importlib.util
import os
import random
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"
SLOPE = 0.25
KINKS = {"Relu": [0.0], "LeakyRelu": [0.0], "PRelu": [0.0], "Clip": [0.0, 6.0], "Clamp": [-1.0, 1.0],
         "HardSigmoid": [-3.0, 3.0], "HardSwish": [-3.0, 3.0], "Abs": [0.0], "Elu": [0.0], "Selu": [0.0]}
# Left and right slopes there.
SIDES = {"LeakyRelu": [(SLOPE, 1)], "PRelu": [(SLOPE, 1)], "HardSwish": [(0, -0.5), (1.5, 1)],
         "Elu": [(SLOPE, 1)], "Selu": [(1.0507009873554805 * 1.6732632423543772, 1.0507009873554805)]}


def jax():
    import jax as framework
    import jax.numpy as jnp
    nn = framework.nn

    def gradient(f, x):
        return [float(v) for v in framework.grad(lambda t: f(t).sum())(jnp.asarray(x))]

    def order(rank):
        return lambda t: jnp.sort(t)[rank]

    pool = lambda t: framework.lax.reduce_window(t, -jnp.inf, framework.lax.max, t.shape, t.shape,
                                                 "VALID")
    return framework.__version__, gradient, {
        "Relu": [nn.relu], "LeakyRelu": [lambda t: nn.leaky_relu(t, SLOPE)],
        "Clip": [nn.relu6, lambda t: nn.hard_tanh(t / 3 - 1) * 3],
        "Clamp": [lambda t: jnp.clip(t, -1, 1)], "HardSigmoid": [nn.hard_sigmoid],
        "HardSwish": [nn.hard_swish], "Abs": [jnp.abs], "Elu": [lambda t: nn.elu(t, SLOPE)],
        "Selu": [nn.selu],
        "Max": [jnp.max], "Min": [jnp.min], "ReduceMax": [jnp.max], "ReduceMin": [jnp.min], "MaxPool": [pool], "Sort": order, "Kth": order,
        "TopK": [lambda t: framework.lax.top_k(t, 8)[0][0], lambda t: jnp.sort(t, descending=True)[0]],
        "Median": [jnp.median], "Norm": [jnp.linalg.norm],
    }


def tensorflow():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    keras = tf.keras

    def gradient(f, x):
        t = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = tf.reduce_sum(f(t))
        return [float(v) for v in tf.convert_to_tensor(tape.gradient(y, t)).numpy()]

    def order(rank):
        return lambda t: tf.sort(t)[rank]

    def prelu(t):
        layer = keras.layers.PReLU(alpha_initializer=keras.initializers.Constant(SLOPE))
        return layer(t[None])

    pool = lambda t: tf.nn.max_pool1d(t[None, :, None], t.shape[0], t.shape[0], "VALID")
    return tf.__version__, gradient, {
        "Relu": [tf.nn.relu], "LeakyRelu": [lambda t: tf.nn.leaky_relu(t, SLOPE)], "PRelu": [prelu],
        "Clip": [tf.nn.relu6, lambda t: keras.activations.hard_tanh(t / 3 - 1) * 3],
        "Clamp": [lambda t: tf.clip_by_value(t, -1, 1)],
        "HardSigmoid": [keras.activations.hard_sigmoid], "HardSwish": [keras.activations.hard_silu],
        "Abs": [tf.abs], "Elu": [lambda t: keras.activations.elu(t, SLOPE)],
        "Max": [tf.reduce_max], "Min": [tf.reduce_min], "ReduceMax": [tf.reduce_max], "ReduceMin": [tf.reduce_min], "MaxPool": [pool], "Sort": order,
        "Kth": order, "Norm": [tf.norm, tf.linalg.norm],
    }


FRAMEWORKS = {"jax": ("jax", jax), "tensorflow": ("tensorflow", tensorflow)}
COLUMNS = ["pytorch-2.13", "pytorch-2.14", "jax", "tensorflow"]


def page_tables():
    """{operator: {column: [entries]}} of the section's tables."""
    section = PAGE.read_text().split("## Every profile")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 2 + len(COLUMNS) and cells[0] not in ("operator", "function") and not cells[0].startswith("-"):
            found[cells[0]] = dict(zip(COLUMNS, ([w.strip() for w in c.split(",")]
                                                    for c in cells[2:])))
    return found


def proxy_value(word, operator, kink):
    if word in ("left", "right"):
        return SIDES[operator][kink][word == "right"]
    top, _, bottom = word.partition("/")
    return float(top) / float(bottom or 1)


def tie_weights(rule, values, rank):
    """D^AD of the entry at that rank (from 0) of the ascending order."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    tied = [i for i in range(len(values)) if values[i] == values[order[rank]]]
    if rule == "mean":
        return [1 / len(tied) if i in tied else 0.0 for i in range(len(values))]
    chosen = {"first": tied[0], "last": tied[-1], "stable": order[rank]}[rule]
    return [float(i == chosen) for i in range(len(values))]


def kink_failures(gradient, functions, operator, words):
    for k, (word, at) in enumerate(zip(words, KINKS[operator])):
        got = [gradient(f, [at] * 5) for f in functions]
        if word == "unknown":
            # Unknown because the functions differ.
            if len({tuple(round(v, 5) for v in g) for g in got}) < 2:
                yield f"{operator} at {at} is unknown, yet all its functions give {got[0][0]}"
            continue
        expected = proxy_value(word, operator, k)
        if any(abs(v - expected) > 1e-6 for g in got for v in g):
            yield f"{operator} at {at}: {got}, expected {expected}"


def tie_failures(gradient, functions, operator, rule):
    if rule == "unknown":  # because the functions differ
        got = [gradient(f, [1.0] * (8 if operator == "TopK" else 2)) for f in functions]
        if all(g == got[0] for g in got):
            yield f"{operator} is unknown at ties, yet all its functions give {got[0]}"
        return
    draw = random.Random(3)
    for n in [1, 3, 5, 9, 17, 33]:  # odd: JAX's median of an even number is another function
        for _ in range(4):
            values = [float(draw.randrange(n // 4 + 1)) for _ in range(n)]
            rank = {"Max": n - 1, "MaxPool": n - 1, "GlobalMaxPool": n - 1, "ReduceMax": n - 1, "Min": 0, "ReduceMin": 0}.get(operator, (n - 1) // 2)
            if operator in ("Sort", "Kth"):
                rank = draw.randrange(n)
            for f in [functions(rank)] if callable(functions) else functions:
                got, expected = gradient(f, values), tie_weights(rule, values, rank)
                if any(abs(a - b) > 1e-6 for a, b in zip(got, expected)):
                    yield f"{operator} of {values} at rank {rank}: {got}, expected {expected}"


def norm_failures(gradient, functions, words):
    for f in functions:
        for n in (1, 2, 5):
            got = gradient(f, [0.0] * n)
            if any(v != v if words == ["0"] else v == v for v in got) or (words == ["0"] and any(got)):
                yield f"Norm of {n} zeros: {got}, expected {words[0]}"


def measure(name):
    version, gradient, functions = FRAMEWORKS[name][1]()
    failed, measured = [], 0
    for operator, by_framework in page_tables().items():
        words = by_framework[name]
        if operator not in functions:
            if words != ["unknown"]:
                failed.append(f"{operator} is {words}, and nothing here measures it")
            continue
        measured += 1
        failed += (norm_failures(gradient, functions[operator], words) if operator == "Norm" else
                   kink_failures(gradient, functions[operator], operator, words)
                   if operator in KINKS else
                   tie_failures(gradient, functions[operator], operator, words[0]))
    print(f"{name} {version}: {measured} operators measured, {len(failed)} differences")
    for line in failed[:20]:
        print("  " + line)
    return not failed and measured > 0


def main():
    names = sys.argv[1:] or [n for n, (module, _) in FRAMEWORKS.items()
                             if importlib.util.find_spec(module)]
    return 0 if all([measure(n) for n in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
