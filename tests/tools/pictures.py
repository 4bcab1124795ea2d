#!/usr/bin/env python3
"""Pictures of the minibatch with what touched kinks see of it, and separators as pictures: what is drawn is what the batch and the proof have.

    pictures.py CLARKE CASES
"""
import json
import os
import random
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cost"), os.path.dirname(HERE)]
from expect import expect, finish, said  # noqa: E402
from onnx_bytes import Floats, npy, write  # noqa: E402
from page import EVIL, lines, more, page_of  # noqa: E402

CLARKE, CASES = (os.path.abspath(a) for a in sys.argv[1:3])
WHERE, APART = "Where: on the pictures of the minibatch", "What tells AD's gradient apart"
UNIT = 100


def audit(model, batch, *options):
    status, out, error = said(CLARKE, "audit", model, "--batch", batch, "--json", "-v", *options)
    expect(status in (0, 1, 3), f"{model}: {status} {error}")
    return json.loads(out)


# --- what is drawn ---------------------------------------------------------------------------------

def drawings(page, heading):
    """By svg: its attributes, colours by dot, rectangles."""
    found = []
    for tag, a in page.drawn.get(heading, []):
        if tag == "svg":
            found.append((a, {}, []))
        elif tag == "path":
            for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", a["d"]):
                found[-1][1].update({(int(y), int(x) + i): (a["fill"], a.get("fill-opacity")) for i in range(int(run))})
        elif tag == "rect":
            found[-1][2].append(a)
    return found


def box_of(rect):
    half, size = int(rect["stroke-width"]) // 2, int(rect["stroke-width"])
    return [(int(rect["y"]) - half) // UNIT, (int(rect["x"]) - half) // UNIT, (int(rect["height"]) + size) // UNIT, (int(rect["width"]) + size) // UNIT]


def colour(text):
    return "#" + (text * 3 if len(text) == 1 else text)


def check_page(answer):
    """Every dot, every rectangle, every row of the table."""
    pictures, page = answer["pictures"], page_of(CLARKE, answer)
    text, digits = page.sections[WHERE], 1 if pictures["channels"] == 1 else 3
    expect(f"{len(pictures['windows'])} of {pictures['all']} are drawn" in text, text)
    found = drawings(page, WHERE)
    expect(len(found) == len(pictures["samples"]), f"{len(found)} pictures")
    for (a, dots, rects), sample in zip(found, pictures["samples"]):
        want = {(i, j): (colour(row[digits * j:digits * (j + 1)]), None) for i, row in enumerate(sample["rows"]) for j in range(len(row) // digits)}
        expect(dots == want, f"sample {sample['sample']}: other dots")
        expect(a["viewbox"] == f"0 0 {UNIT * pictures['width']} {UNIT * pictures['height']}", a)
        on = [w for w in pictures["windows"] if (w["sample"], w["picture"]) == (sample["sample"], sample["picture"])]
        expect(sorted(box_of(r) for r in rects if r["stroke"] != "#e8a33d") == sorted(w["field"] for w in on), f"{rects}: {on}")
        expect(sorted(box_of(r) for r in rects if r["stroke"] == "#e8a33d") == sorted(b for w in on for b in w["tied"]), f"{rects}: {on}")
        expect(sum(r["stroke"] == "#e0301e" for r in rects) == sum(w["decides"] is True for w in on), f"{rects}: {on}")
        expect(f": {len(on)} marked" in text, text)
    rows = [line.split("\t")[1:] for line in lines(text) if "\t" in line]
    want = [[w["place"]] + ([f"{w['field'][k]} to {w['field'][k] + w['field'][k + 2] - 1}" for k in (0, 1)] if w["field"] else ["-", "-"])
            for w in pictures["windows"]]
    expect([row[:3] for row in rows] == want, f"{rows[:3]}: {want[:3]}")
    left = pictures["all"] - len(pictures["windows"])
    expect((f"{left} more kinks are touched" in text) == (left > 0), text[-200:])


# --- receptive fields and dots by formula ----------------------------------------------------------

def layers_net(shape, layers, transposed=False):
    """Convolutions and pools (kernel, stride, pad) of all ones, a Relu behind each; x may have its channels last."""
    n = Floats(("n", *shape))
    at, channels = "x", shape[-1] if transposed else shape[0]
    if len(shape) == 2:
        n.integers("one", 1)
        at, channels = n.node("Unsqueeze", "x", "one"), 1
    if transposed:
        at = n.node("Transpose", "x", perm=[0, 3, 1, 2])
    for i, (op, kernel, stride, pad) in enumerate(layers):
        if op == "Conv":
            n.floats(f"w{i}", (2, channels, kernel, kernel), [1] * (2 * channels * kernel * kernel))
            channels = 2
        at = n.node(op, *([at, f"w{i}"] if op == "Conv" else [at]), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        at = n.node("Relu", at) if op == "Conv" else at
    return n.bytes(at)


def seen(layers, at, side):
    """First and number of entries along one axis that an entry of the last layer sees: the textbook's recursion, padding left out."""
    first, last = at, at
    for i, (_, kernel, stride, pad) in reversed(list(enumerate(layers))):
        first, last = max(first * stride - pad, 0), min(last * stride - pad + kernel - 1, side_after(layers[:i], side) - 1)
    return first, last - first + 1


def side_after(layers, side):
    for _, kernel, stride, pad in layers:
        side = (side + 2 * pad - kernel) // stride + 1
    return side


def by_formula(draw):
    """The windows that see nothing but zeros are touched; each sees what the formula says."""
    checked = 0
    for number, (shape, axes) in enumerate([((1, 11, 14), "channels, rows, columns"), ((3, 9, 9), "channels, rows, columns"),
                                            ((4, 8, 13), "channels, rows, columns"), ((12, 10, 3), "rows, columns, channels"), ((10, 9), "rows, columns")]):
        last = axes.endswith("channels")
        height, width = (shape[0], shape[1]) if last or len(shape) == 2 else shape[1:]
        layers = [("Conv", draw.choice((1, 2, 3)), draw.choice((1, 2)), draw.choice((0, 1)) if number else 1) for _ in range(2)]
        layers = [(op, max(k, 2 * pad), s, pad) for op, k, s, pad in layers]
        count = height * width * (1 if len(shape) == 2 else shape[2] if last else shape[0])
        each = width * (shape[2] if last else 1)  # entries of a row; of each sample the lower half is 0
        x = [[draw.choice((0, 0.25, 1)) if e // each % height < height // 2 else 0.0 for e in range(count)], [0.0] * count, [0.25] * count]
        model = write(".", f"{number}.onnx", layers_net(shape, layers, last))
        batch = write(".", f"{number}.npy", npy((3, *shape), sum(x, [])))
        answer = audit(model, batch, "--loss", "sum", "--touched")
        pictures = answer["pictures"]
        expect((pictures["axes"], pictures["height"], pictures["width"], pictures["shrunk"]) == (axes, height, width, 1), pictures["axes"])
        expect([s["sample"] for s in pictures["samples"]] == [0, 1], f"{shape}: {len(pictures['samples'])} samples")
        check_dots(pictures, last, x)
        names = {layer["name"]: i + 1 for i, layer in enumerate(answer["layers"])}
        for w in pictures["windows"]:
            upto = layers[:names[w["layer"]]]
            columns = side_after(upto, width)
            row, column = w["neuron"] // columns % side_after(upto, height), w["neuron"] % columns
            (top, rows), (left, across) = seen(upto, row, height), seen(upto, column, width)
            expect(w["field"] == [top, left, rows, across], f"{layers} {w}")
            checked += 1
        check_page(answer)
    expect(checked > 100, checked)


def check_dots(pictures, last, x):
    """As the numbers are: black the least, white the largest."""
    channels = pictures["channels"]
    for sample in pictures["samples"]:
        numbers, colours = x[sample["sample"]], min(channels, 3)
        def at(c, e):
            return numbers[e * channels + c if last else c * pictures["height"] * pictures["width"] + e]
        all_drawn = [at(c, e) for e in range(pictures["height"] * pictures["width"]) for c in range(colours)]
        low, high = min(all_drawn), max(all_drawn)
        expect((sample["darkest"], sample["lightest"]) == (low, high), f"{sample['darkest']}")
        for e in range(pictures["height"] * pictures["width"]):
            row, digits = sample["rows"][e // pictures["width"]], 1 if channels == 1 else 3
            shown = [int(d, 16) / 15 for d in row[e % pictures["width"] * digits:][:digits]]
            want = [(at(c, e) - low) / (high - low) if high > low else .5 for c in range(colours)]
            expect(digits == 1 or set(row) <= set("0369cf"), row)
            expect(len(shown) == len(want) and max(abs(a - b) for a, b in zip(shown, want)) <= (.034 if digits == 1 else .101), f"{shown}: {want}")


# --- batches of other kinds ------------------------------------------------------------------------

def relu_net(shape):
    n = Floats(("n", *shape))
    return n.bytes(n.node("Relu", n.node("Flatten", "x")))


def no_pictures(draw):
    for shape in ((5,), (2, 5, 5), (1, 1, 1), (1, 1, 9), (7, 1), (5, 6, 7), (2, 2, 2, 2, 2)):
        count = 1
        for d in shape:
            count *= d
        write(".", "n.onnx", relu_net(shape))
        write(".", "n.npy", npy((2, *shape), [0.0] * (2 * count)))
        n = Floats(("n", *shape))
        n.floats("w", (count, 1), [1.0] * count)
        write(".", "n.onnx", n.bytes(n.node("Relu", n.node("MatMul", n.node("Flatten", "x"), "w"))))
        answer = audit("n.onnx", "n.npy", "--loss", "sum")
        expect(list(answer["pictures"]) == ["none"] and str(" x ".join(map(str, shape))) in answer["pictures"]["none"], answer["pictures"])
        page = page_of(CLARKE, answer)
        expect("No pictures are drawn: a sample has the shape" in page.sections[WHERE] and WHERE not in page.drawn, page.sections[WHERE])
    answer = audit(f"{CASES}/lenet.onnx", f"{CASES}/images.npz")
    expect(answer["touched"] == 0 and "pictures" not in answer and WHERE not in page_of(CLARKE, answer).sections, "nothing is touched")


def many_samples():
    """1000 samples of 51 x 26, the lower half of the first one not 0; six are drawn, in dots of 2 x 2, and of too many kinks some of all."""
    layers = [("Conv", 2, 1, 0)]
    lower = [float(i % 7) for i in range(25 * 26)]
    write(".", "many.onnx", layers_net((1, 51, 26), layers))
    write(".", "many.npy", npy((1000, 1, 51, 26), [0.0] * (26 * 26) + lower + [0.0] * (999 * 51 * 26)))
    answer = audit("many.onnx", "many.npy", "--loss", "sum", "--limit", "listed=1000000000")
    pictures, windows = answer["pictures"], answer["pictures"]["windows"]
    expect((len(pictures["samples"]), pictures["shrunk"], pictures["all"]) == (6, 2, answer["touched"]), pictures["all"])
    expect(100 < len(windows) <= 120 and {w["sample"] for w in windows} == set(range(6)) and max(w["neuron"] for w in windows) > 2400, f"{len(windows)}")
    at = lambda i, j: (lower[26 * (i - 26) + j] if i >= 26 else 0.0) if i < 51 else None  # noqa: E731
    for i, row in enumerate(pictures["samples"][0]["rows"]):
        for j, dot in enumerate(row):
            block = [v for v in (at(2 * i + a, 2 * j + b) for a in (0, 1) for b in (0, 1)) if v is not None]
            expect(abs(int(dot, 16) / 15 - sum(block) / len(block) / 6) <= .034, f"dot {i}, {j}")
    expect(len(pictures["samples"][0]["rows"]) == 26 and all(s["rows"] == ["8" * 13] * 26 for s in pictures["samples"][1:]), "rows")
    check_page(answer)
    # largest and smallest doubles: no dot is lost
    n = Floats(("n", 1, 4, 4))
    n.floats("w", (1, 1, 2, 2), [0.0] * 4)
    write(".", "wide.onnx", n.bytes(n.node("Relu", n.node("Conv", "x", "w", kernel_shape=[2, 2]))))
    write(".", "wide.npy", npy((1, 1, 4, 4), [3.4e38, -3.4e38, 0.0, 1e-45] * 4))
    answer = audit("wide.onnx", "wide.npy", "--loss", "sum")
    expect(answer["pictures"]["samples"][0]["rows"] == ["f088"] * 4, answer["pictures"]["samples"])
    check_page(answer)


# --- separators ------------------------------------------------------------------------------------

def of_proof(path):
    found = {}
    with open(path) as f:
        for line in f:
            if line.startswith("v "):
                _, name, entry, number = line.split()
                found.setdefault(name, []).append([int(entry), number])
    return found


def number(text):
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def check_separator(answer, name):
    """All entries are on the page: each by a dot of its sign, the largest in words, the others counted."""
    separator, page = answer["separator"], page_of(CLARKE, answer)
    expect(separator["entries"] == sum(len(p["entries"]) for p in separator["parameters"]), name)
    text, found = page.sections[APART], drawings(page, APART)
    signs = sorted(fill for _, dots, _ in found for fill, _ in dots.values())
    want = sorted("#2b7de0" if number(v) > 0 else "#d9661f" for p in separator["parameters"] for _, v in p["entries"])
    expect(signs == want, f"{name}: {len(signs)} dots of {len(want)}")
    rows = sum("\t" in line for line in lines(text))
    expect(rows + more(text) == separator["entries"], f"{name}: {rows} rows and {more(text)} more of {separator['entries']}")
    for p in separator["parameters"]:
        largest = max(p["entries"], key=lambda e: abs(number(e[1])))
        expect(f"{p['name']} \n" in text or f"{p['name']} {len(p['entries'])} entries are not 0" in text, f"{name}: {p['name']}")
        expect(f"\t{largest[1]}"[:300] in text, f"{name}: {largest}")


def turned_on(path):
    """The touches that the proof's tree branches on, and those that take their sides with them: numbers in the order of --touched."""
    with open(path) as f:
        lines_of = [line.split() for line in f]
    branched = {words[1] for words in lines_of if words[0] == "branch"}
    return branched | {k for words in lines_of if words[0] == "parallel" and words[1] in branched for k in words[2:]}


def separators():
    parallel = 0
    for model, batch, loss in (("lenet-q6", "images-pair", "ce"), ("lemma2", "lemma2", "sum"), ("opposite-images", "opposite-images", "mse"),
                               ("zero-gamma", "zero-gamma", "sum"), ("lenet-overlap-q6", "images-384", "ce"), ("digits-pruned", "digits-inverted", "ce"),
                               ("lenet-ternary", "images-384", "ce")):
        answer = audit(f"{CASES}/{model}.onnx", f"{CASES}/{batch}.npz", "--proof", "p", "--loss", loss, "--touched")
        expect(answer["verdict"] == "not-in-clarke", f"{model}: {answer['verdict']}")
        expect({p["name"]: p["entries"] for p in answer["separator"]["parameters"]} == of_proof("p"), f"{model}: {answer['separator']}")
        check_separator(answer, model)
        if "windows" not in answer["pictures"]:
            continue
        kinks = {(t["layer"], t["neuron"], t["sample"]): str(k) for k, t in enumerate(answer["touched_kinks"])}
        windows, turning = answer["pictures"]["windows"], turned_on("p")
        expect({kinks[w["layer"], w["neuron"], w["sample"]] for w in windows if w["decides"]} == turning, f"{model}: {turning}")
        expect([w["decides"] for w in windows] == sorted((w["decides"] for w in windows), reverse=True), f"{model}: those that decide come first")
        parallel += open("p").read().count("\nparallel ")
        check_page(answer)
    expect(parallel > 0, "no touches that take one side together")
    # every shape, from a stranger
    answer, draw = audit(f"{CASES}/lemma2.onnx", f"{CASES}/lemma2.npz", "--loss", "sum"), random.Random(4)
    for shape in ((), (1,), (40,), (7, 9), (300, 200), (3, 2, 5), (6, 4, 3, 3), (2, 2, 2, 3, 4), (1, 1, 200, 100)):
        count = 1
        for d in shape:
            count *= d
        places = sorted(draw.sample(range(count), min(count, 25)))
        entries = [[i, draw.choice(("-1/3", "5", "-70000000000000000000000", "1/" + "9" * 400))] for i in places]
        answer["separator"] = {"parameters": [{"name": EVIL, "shape": list(shape), "entries": entries}], "entries": len(entries) + 3}
        page = page_of(CLARKE, answer)
        found, text = drawings(page, APART), page.sections[APART]
        dots = [d for _, dots, _ in found for d in dots]
        expect(len(dots) == len(entries) if max(shape, default=1) <= 96 else 0 < len(dots) <= len(entries), f"{shape}: {len(dots)} dots")
        expect(sum("\t" in line for line in lines(text)) + more(text) == len(entries) and "3 more entries" in text, f"{shape}: {text}")


# --- strangers -------------------------------------------------------------------------------------

WRONG = (None, True, -3, 10**18, 1.5, float("1e300"), "", "x", EVIL, [], {}, [[]], [None], {"x": 1}, ["f" * 70] * 70, [0, 0, 1, 1], [-1, 0, 1, 1], [0, 0, 99, 99], [10**18] * 4)


def places_of(value, at=()):
    yield at
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ():
        yield from places_of(entry, (*at, key))


def changed(value, at, other):
    copy = json.loads(json.dumps(value))
    inside = copy
    for key in at[:-1]:
        inside = inside[key]
    inside[at[-1]] = other
    return copy


def strangers(draw):
    answer = audit(f"{CASES}/lenet-q6.onnx", f"{CASES}/images-pair.npz")
    wrong = [(key, at, other) for key in ("pictures", "separator") for at in places_of(answer[key]) for other in WRONG]
    for key, at, other in draw.sample(wrong, 80):
        page_of(CLARKE, changed(answer, (key, *at), other))
    for height, width in ((8, 6400), (6400, 8)):  # more dots than there is room for
        wide = changed(answer, ("pictures", "height"), height)
        wide["pictures"] |= {"width": width, "samples": [s | {"rows": ["0" * width] * height} for s in answer["pictures"]["samples"]]}
        expect("no picture that can be read" in page_of(CLARKE, wide).sections[WHERE], f"{height} x {width}")
    odd = [[10**9, "1"], [54, "1"], [-1, "1"], [0, "1/0"], [0, "0x1"], [0, "1.5"], ["0", "1"], [0, 1], [0], [], "x", [1.5, "1"], [0, "1" * 200000]]
    page = page_of(CLARKE, changed(answer, ("separator", "parameters", 0, "entries"), odd + [[53, "-2/4"]]))
    expect(f"{len(odd)} that are no numbers" in page.sections[APART] and sum(len(dots) for _, dots, _ in drawings(page, APART)) == 1, page.sections[APART])
    for field in ([0, 0, 1, 9], [0, 7, 1, 2], [0, 0, 9, 1], [7, 0, 2, 1], [8, 8, 1, 1], [0, 0, 0, 1]):  # beyond the sample's 8 rows and columns, or none
        page = page_of(CLARKE, changed(answer, ("pictures", "windows", 0), answer["pictures"]["windows"][0] | {"field": field, "tied": [field]}))
        expect([len(rects) for _, _, rects in drawings(page, WHERE)] == [0, 3], field)
    for dots in ("0" * 8, "G" * 8, "0" * 7, "0" * 9, "\u0660" * 8, "a" * 4096):
        answer["pictures"]["samples"][0]["rows"] = [dots] * 8
        page = page_of(CLARKE, answer)
        expect(len(drawings(page, WHERE)) == (2 if dots == "0" * 8 else 1) and ("Sample 0 has no picture" in page.sections[WHERE]) == (dots != "0" * 8), dots)


def largest(draw):
    """As much as an answer has, and more: less than 1 MB, and counted."""
    answer = audit(f"{CASES}/lenet-q6.onnx", f"{CASES}/images-pair.npz")
    rows = ["".join(draw.choice("0369cf") for _ in range(3 * 48)) for _ in range(48)]
    box = [11, 12, 30, 30]
    window = answer["pictures"]["windows"][0] | {"place": EVIL * 3, "field": box, "tied": [box] * 8}
    answer["pictures"] |= {"height": 480, "width": 480, "channels": 3, "shrunk": 10, "all": 9000, "windows": [window | {"sample": i % 6} for i in range(120)],
                           "samples": [{"sample": i, "picture": 0, "darkest": 0, "lightest": 1, "rows": rows} for i in range(6)]}
    entries = [[i, str(draw.randrange(-10**40, 10**40) or 1)] for i in range(16000)]
    answer["separator"] = {"parameters": [{"name": "w", "shape": [160, 100], "entries": entries}, {"name": "v", "shape": [100, 16, 5, 5], "entries": entries}],
                           "entries": 40000}
    layer = answer["layers"][0]
    answer["layers"] = [layer | {"name": f"a layer with a long name, number {i}"} for i in range(100)]
    page = page_of(CLARKE, answer)
    expect(len(drawings(page, WHERE)) == 6 and f"120 of 9000 are drawn" in page.sections[WHERE], "all are there")
    expect(page.sections["The network, layer by layer"].count("a layer with a long name") == 100, "all layers are there")
    expect(re.search(r"\d+ more entries are not drawn", page.sections[APART]) and "8000 more entries" in page.sections[APART], page.sections[APART][-400:])
    answer["pictures"]["windows"] = [window] * 5000
    answer["pictures"]["samples"] *= 50
    page = page_of(CLARKE, answer)
    expect(len(drawings(page, WHERE)) <= 6 and "294 more" in page.sections[WHERE], page.sections[WHERE][:300])


def main():
    draw = random.Random(38)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        by_formula(draw)
        no_pictures(draw)
        many_samples()
        separators()
        strangers(draw)
        largest(draw)
        os.chdir("/")
    finish()


main()
