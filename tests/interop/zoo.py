#!/usr/bin/env python3
"""Architectures of torchvision, timm and transformers, as they are published but small: what is said of each.

    zoo.py CLARKE CLARKE-CHECK [--most SECONDS] [--ways WAYS] [NAME...]

A row for each network in training and in evaluation mode, and in three ways of handing it over: recorded (clarke.record), and
as an ONNX file of either of PyTorch's exporters, with drawn masks where it drops. A cell is the verdict with the ratio of its time to that of PyTorch's training step,
and what clarke-check says of the proof. Of a cell without a verdict the reason is printed below the table. Times and limits are the
processor's, not the clock's: other programs change them little. The exit status is 1 if a proof is not verified, or a gradient is
not AD's.

requirements-zoo.txt has the packages. torchvision's compiled part is not used.
"""
import argparse
import contextlib
import inspect
import io
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch import library as operators
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))

# torchvision describes these operators when it is imported; its compiled part would define them.
for schema in ("nms", "qnms"):
    operators.define("torchvision::" + schema, "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import timm  # noqa: E402
import torchvision.models as vision  # noqa: E402
import transformers  # noqa: E402

import clarke  # noqa: E402

NORM = nn.modules.batchnorm._NormBase
BATCH, CLASSES, WORDS, LENGTH = 2, 4, 40, 5


# ---- The networks: name, maker, size of an image or None for words


@contextlib.contextmanager
def narrow(by=8):
    """Layers made here have one channel or neuron for eight: depth, kernels and connections stay as published."""
    def less(n):
        return n // by if n % by == 0 else n

    def conv(self, *args, **kwargs):
        given = inspect.signature(begin[nn.Conv2d]).bind(self, *args, **kwargs).arguments
        given.pop("self")
        given["in_channels"], given["out_channels"] = less(given["in_channels"]), less(given["out_channels"])
        if given.get("groups", 1) > 1:
            given["groups"] = math.gcd(given["groups"], given["in_channels"], given["out_channels"])
        begin[nn.Conv2d](self, **given)

    def linear(self, in_features, out_features, *args, **kwargs):
        begin[nn.Linear](self, less(in_features), less(out_features), *args, **kwargs)

    def norm(self, num_features, *args, **kwargs):
        begin[NORM](self, less(num_features), *args, **kwargs)

    begin = {kind: kind.__init__ for kind in (nn.Conv2d, nn.Linear, NORM)}
    nn.Conv2d.__init__, nn.Linear.__init__, NORM.__init__ = conv, linear, norm
    try:
        yield
    finally:
        for kind, init in begin.items():
            kind.__init__ = init


def narrowed(make):
    def made():
        with narrow():
            return make()
    return made


def published(name, size=32, **options):
    return name, narrowed(lambda: getattr(vision, name)(num_classes=CLASSES, **options)), size


def timed(name, size=32, **options):
    return name, narrowed(lambda: timm.create_model(name, num_classes=CLASSES, **options)), size


def own(name, kind, size=32, **options):
    """A class of timm's, with widths and depths of its own."""
    return name, lambda: kind(num_classes=CLASSES, **options), size


class Logits(nn.Module):
    """A model of transformers by its first output, of words alone."""

    def __init__(self, model, pooled):
        super().__init__()
        self.model, self.pooled = model, pooled

    def forward(self, x):
        out = self.model(x)[0]
        return out if self.pooled else out.flatten(1)


SMALL = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, num_labels=CLASSES,
             max_position_embeddings=16, attn_implementation="eager")


def words(name, kind, pooled=True, size=None, **options):
    """transformers' KIND, made from its configuration."""
    def make():
        model = getattr(transformers, kind)
        config = model.config_class(**{**SMALL, **options})
        config._attn_implementation = "eager"
        return Logits(model(config), pooled)
    return name, make, size


class Segmented(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"].flatten(1)


class Tagger(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.embed, self.layer, self.head = nn.Embedding(WORDS, 8), layer(8, 6, batch_first=True), nn.Linear(6, CLASSES)

    def forward(self, x):
        return self.head(self.layer(self.embed(x))[0][:, -1])


NETWORKS = [
    published("alexnet", 64), published("vgg11"), published("vgg11_bn"), published("resnet18"), published("resnet50"),
    published("resnext50_32x4d"), published("wide_resnet50_2"), published("squeezenet1_1"), published("densenet121"),
    published("googlenet", aux_logits=False, init_weights=False), published("inception_v3", 75, aux_logits=False, init_weights=False),
    published("mobilenet_v2"), published("mobilenet_v3_small"), published("mnasnet0_5"), ("shufflenet_v2_x0_5", lambda: vision.shufflenet_v2_x0_5(num_classes=CLASSES), 32),
    published("efficientnet_b0"), published("regnet_y_400mf"),
    ("vit", lambda: vision.VisionTransformer(16, 8, 2, 2, 16, 32, num_classes=CLASSES), 16),
    ("swin", lambda: vision.SwinTransformer([4, 4], 8, [1, 1], [2, 2], [2, 2], num_classes=CLASSES), 16),
    ("fcn", narrowed(lambda: Segmented(vision.segmentation.fcn_resnet50(weights_backbone=None, num_classes=CLASSES))), 32),
    timed("resnet26d"), timed("seresnext26t_32x4d"), ("ghostnet_050", lambda: timm.create_model("ghostnet_050", num_classes=CLASSES), 32), timed("repvgg_a0"), timed("darknet17"), timed("dla34"),
    timed("hrnet_w18_small"), timed("nf_resnet26"),
    own("convnext", timm.models.convnext.ConvNeXt, depths=(1, 1, 1, 1), dims=(4, 8, 12, 16)),
    own("mixer", timm.models.mlp_mixer.MlpMixer, img_size=32, num_blocks=2, embed_dim=16),
    own("resmlp", timm.models.mlp_mixer.MlpMixer, img_size=32, num_blocks=2, embed_dim=16, mlp_ratio=4,
        block_layer=timm.models.mlp_mixer.ResBlock, norm_layer=timm.models.mlp_mixer.Affine),
    own("deit", timm.models.vision_transformer.VisionTransformer, img_size=32, embed_dim=16, depth=2, num_heads=2),
    own("convmixer", timm.models.convmixer.ConvMixer, dim=16, depth=2, kernel_size=5, patch_size=4),
    words("bert", "BertForSequenceClassification"), words("roberta", "RobertaForSequenceClassification"),
    words("distilbert", "DistilBertForSequenceClassification", dim=16, n_layers=2, n_heads=2, hidden_dim=24),
    words("gpt2", "GPT2LMHeadModel", False, n_embd=16, n_layer=2, n_head=2, n_positions=16, bos_token_id=0, eos_token_id=0),
    words("opt", "OPTForCausalLM", False, ffn_dim=24, word_embed_proj_dim=16), words("llama", "LlamaForCausalLM", False, num_key_value_heads=2),
    words("t5-encoder", "T5EncoderModel", False, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2),
    ("lstm", lambda: Tagger(nn.LSTM), None), ("gru", lambda: Tagger(nn.GRU), None),
]


# ---- One of them


def batch_of(size):
    x = torch.randint(0, WORDS, (BATCH, LENGTH)) if size is None else torch.randn(BATCH, 3, size, size)
    return x, torch.randint(0, CLASSES, (BATCH,))


def loss_of(model, x, y):
    return F.cross_entropy(model(x), y)


def step_time(model, x, y):
    """The quickest of three training steps, in one thread."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        loss_of(model, x, y).backward()
        times.append(time.process_time() - begun)
        model.zero_grad()
    return min(times)


@contextlib.contextmanager
def in_parts():
    """Attention and recurrent layers run as operators that can be seen, not as one."""
    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        yield


def shapes_of(model, names, x):
    """Of these values, as shape inference has them; where it does not know one, as the reference evaluator computes them all."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*inferred.input, *inferred.value_info)}
    if all(0 not in shapes.get(name, [0]) for name in names):
        return shapes
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    values = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x})
    return {name: value.shape for name, value in zip(names, values)}


def masks_of(path, x):
    """Drawn masks of the Dropout nodes in training mode, by their outputs' names: what the step that the file is of might have drawn."""
    model = onnx.load(path)
    numbers = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            numbers[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    drops = {}
    for node in model.graph.node:
        ratio, training = (numbers.get(node.input[i], default) if len(node.input) > i else default for i, default in ((1, 0.5), (2, False)))
        if node.op_type == "Dropout" and training and ratio > 0:
            drops[node.output[0]] = node.input[0], ratio
    shapes = shapes_of(model, [of for of, _ in drops.values()], x) if drops else {}
    rng = np.random.default_rng(0)
    return {name: rng.random(shapes[of]) >= ratio for name, (of, ratio) in drops.items()}


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class TooLong(Exception):
    pass


def run(command, most):
    """What it says, and the processor's seconds that it took: at most so many."""
    limit = math.ceil(most)
    begun = spent()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
    seconds = spent() - begun
    if seconds >= limit:  # the checker's own child was stopped, and it says so
        raise TooLong
    return done, seconds


def verdict_of(done):
    words_ = done.stdout.replace(":", " ").split()
    return next((w for w in words_ if w in ("in-bouligand", "in-clarke", "not-in-clarke", "undecided")), None)


class Row:
    """One network in one mode: its cells, and why some have no verdict."""

    def __init__(self, arguments, folder, name, make, size, training):
        torch.manual_seed(0)
        self.arguments, self.folder = arguments, folder
        self.name, self.mode = name, "training" if training else "evaluation"
        self.model, (self.x, self.y) = make().train(training), batch_of(size)
        self.step = step_time(self.model, self.x, self.y)
        self.decided = self.wrong = 0
        self.why = []

    def no(self, way, why):
        self.why.append(f"{self.name}, {self.mode}, {way}: {' '.join(str(why).split())[:300]}")
        return "-"

    def cell(self, way, command, proof):
        """What audit and check say, each in at most so long."""
        try:
            done, seconds = run([self.arguments.clarke, "audit", *command, "--proof", proof], self.arguments.most)
        except TooLong:
            return self.no(way, f"no verdict after {self.arguments.most} s, {self.arguments.most / self.step:.0f} steps")
        verdict = verdict_of(done)
        if done.returncode == 2 or verdict is None:
            self.wrong += "not AD's exact gradient" in done.stdout + done.stderr
            return self.no(way, (done.stderr or done.stdout).removeprefix("clarke audit: "))
        said = f"{verdict} {seconds / self.step:.0f}x"
        if verdict == "undecided":
            self.no(way, done.stdout.split("undecided", 1)[1])
            return said
        self.decided += way == "recorded"
        try:
            checked, _ = run([self.arguments.check, proof], self.arguments.most)
        except TooLong:
            return said + ", not checked in time"
        if checked.stdout.startswith("VERIFIED"):
            return said + ", verified"
        self.wrong += 1
        self.no(way, "NOT VERIFIED: " + checked.stdout + checked.stderr)
        return said + ", NOT VERIFIED"

    def recorded(self):
        folder = os.path.join(self.folder, "run")
        try:
            with in_parts(), clarke.record(folder, self.model, light=True):
                loss_of(self.model, self.x, self.y).backward()
        except clarke.Refused as why:
            return self.no("recorded", why)
        finally:
            self.model.zero_grad()
        return self.cell("recorded", [folder], os.path.join(folder, "proof"))

    def exported(self, dynamo):
        """As the exporter writes it; where a refusal asks for a symbolic batch, once more with one."""
        way = "default exporter" if dynamo else "older exporter"
        mode = torch.onnx.TrainingMode.TRAINING if self.model.training else torch.onnx.TrainingMode.EVAL
        options = {"dynamo": True, "verbose": False, "external_data": False} if dynamo else {"dynamo": False, "opset_version": 17, "training": mode,
                                                                                           "do_constant_folding": not self.model.training}
        said = self.asked(way, options)
        if dynamo and "dynamic_shapes" in (self.why or [""])[-1].partition(way)[2]:
            self.why.pop()
            said = self.asked(way, {**options, "dynamic_shapes": ({0: torch.export.Dim("batch")},)}) + ", batch symbolic"
        return said

    def asked(self, way, options):
        path, batch = (os.path.join(self.folder, f) for f in ("model.onnx", "batch.npz"))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                torch.onnx.export(self.model, (self.x,), path, **options)
        except Exception as why:  # what an exporter raises is of any kind
            return self.no(way, f"not exported: {why}")
        masks = masks_of(path, self.x.numpy())
        if self.x.is_floating_point():
            np.savez(batch, x=self.x.numpy(), y=self.y.numpy(), **masks)
        else:  # rows of a table are read in a single run alone, whose loss is a sum
            np.savez(batch, x=self.x.numpy()[None], **masks)
        return self.cell(way, [path, "--batch", batch, "--loss", "ce" if self.x.is_floating_point() else "sum"],
                         os.path.join(self.folder, "proof"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clarke", type=os.path.abspath)
    parser.add_argument("check", type=os.path.abspath)
    parser.add_argument("--most", type=float, default=60, help="seconds of the processor for an audit, and for a check")
    parser.add_argument("--ways", default="recorded,default,older", help="of handing a network over: one or more of these")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    os.environ["CLARKE"] = arguments.clarke
    torch.set_num_threads(1)
    print("| network | mode | step, ms | recorded | default exporter | older exporter |\n|---|---|---|---|---|---|")
    decided, rows, wrong, why = 0, 0, 0, []
    for name, make, size in NETWORKS:
        if arguments.names and name not in arguments.names:
            continue
        for training in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                row = Row(arguments, folder, name, make, size, training)
                ways = {"recorded": row.recorded, "default": lambda: row.exported(True), "older": lambda: row.exported(False)}  # noqa: B023
                cells = [ask() if way in arguments.ways.split(",") else "" for way, ask in ways.items()]
            print(f"| {name} | {row.mode} | {1000 * row.step:.0f} | {' | '.join(cells)} |", flush=True)
            decided, rows, wrong, why = decided + row.decided, rows + 1, wrong + row.wrong, why + row.why
    print(f"\n{rows} rows; {decided} decided when recorded; {wrong} wrong\n")
    print("\n".join(f"- {line}" for line in why))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
