"""Checkpoints without a graph, in the forms in which they are saved: what `clarke audit --like` says of each.

    checkpoints.py --build build [--most SECONDS] [--only WORD] [--keep FOLDER] [--write]

The networks are those of timm, torchvision and transformers, by their names there, with the widths and depths that they are published with, or, of
transformers, those that config.json says. Weights are drawn: those that the library begins with, moved a little, so that none is 0 for all the
network's life. They are saved as their owners save them, and asked about in one command with a batch of two samples. A question has so many seconds
of the processor, one thread, and the check of its proof has as many, and 4 GiB. A price is in seconds, in training steps of PyTorch's, and
in memory at most. With --write docs/checkpoints.md is made anew; with --only, the rows of those networks. With --keep, the files stay there. The exit
status is 1 where a proof is not verified. requirements-zoo.txt has the packages.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import timm  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "checkpoints.md"
MEMORY = 4 << 30
SAMPLES, CLASSES, WORDS = 2, 10, 60


# ---- Forms: how weights are saved, as a path below the folder


def zipped(model, folder):
    torch.save(model.state_dict(), folder / "net.pth")
    return folder / "net.pth"


def before_1_6(model, folder):
    torch.save(model.state_dict(), folder / "net.pt", _use_new_zipfile_serialization=False)
    return folder / "net.pt"


def trainers(model, folder):
    """As a training loop over several processes saves it, with the epoch and the optimizer beside."""
    held = {"module." + k: t for k, t in model.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": held, "optimizer": torch.optim.SGD(model.parameters(), 0.1).state_dict()}, folder / "last.ckpt")
    return folder / "last.ckpt"


def tensors(model, folder):
    save_file(model.state_dict(), folder / "model.safetensors")
    return folder / "model.safetensors"


def arrays(model, folder):
    np.savez(folder / "net.npz", **{k: t.numpy() for k, t in model.state_dict().items()})
    return folder / "net.npz"


def pretrained(model, folder):
    model.save_pretrained(folder)
    return folder


def sharded(model, folder):
    """In at least three files: a shard has at most a third of the weights."""
    size = sum(t.numel() * t.element_size() for t in model.state_dict().values())
    model.save_pretrained(folder, max_shard_size=max(size // 3, 1))
    return folder


def binary(model, folder):
    """As transformers wrote it before it had safetensors."""
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder


FORMS = {zipped: ".pth", before_1_6: ".pt of before PyTorch 1.6", trainers: ".ckpt, `module.` before all names", tensors: ".safetensors",
         arrays: ".npz", pretrained: "folder", sharded: "folder, in shards", binary: "folder, pytorch_model.bin"}


# ---- The networks: name, how it is made, how it is saved, the inputs' shape (of words: their number)


def images(name, form, side=64, classes=CLASSES):
    library, _, model = name.partition(".")
    make = timm.create_model if library == "timm" else torchvision.models.get_model
    return name, lambda: make(model, num_classes=classes), form, (3, side, side)


SMALL = dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=32, num_labels=3)


def words(kind, form, size=8, more=None, **options):
    """More: further arrays that the network takes, as the batch has them beside x."""
    def make():
        made = getattr(transformers, kind)
        return made(made.config_class(**{**SMALL, **options}))
    return "transformers." + kind, make, form, size, *([more] if more else [])


def masked(x):
    """The second text is shorter: its last three places are not there."""
    mask = np.ones_like(x)
    mask[1, -3:] = 0
    return {"attention_mask": mask}


def begun(x):
    """What a decoder is given: the beginning of a text."""
    return {"decoder_input_ids": x[:, :4]}


NETWORKS = [
    images("timm.test_resnet", zipped), images("timm.test_byobnet", before_1_6), images("timm.test_efficientnet", tensors),
    images("timm.test_efficientnet_gn", trainers), images("timm.test_convnext", arrays), images("timm.test_nfnet", zipped),
    images("timm.test_mambaout", tensors), images("timm.test_vit", zipped, 160), images("timm.test_vit3", tensors, 160),
    images("timm.resnet10t", tensors), images("timm.mobilenetv3_small_050", tensors), images("timm.efficientnet_b0", tensors),
    images("timm.regnetx_002", trainers), images("timm.regnety_002", tensors), images("timm.convnext_atto", tensors),
    images("timm.vit_tiny_patch16_224", tensors, 224),
    images("torchvision.resnet18", zipped), images("torchvision.mobilenet_v2", before_1_6), images("torchvision.squeezenet1_1", zipped),
    images("torchvision.shufflenet_v2_x0_5", tensors),
    words("BertModel", pretrained), words("BertForSequenceClassification", sharded, more=masked), words("BertForMaskedLM", pretrained),
    words("DistilBertForSequenceClassification", binary, dim=32, n_layers=2, n_heads=2, hidden_dim=64),
    words("RobertaForSequenceClassification", pretrained), words("ElectraForSequenceClassification", pretrained, embedding_size=32),
    words("GPT2LMHeadModel", sharded, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0),
    words("OPTForCausalLM", binary, ffn_dim=64, word_embed_proj_dim=32), words("LlamaForCausalLM", pretrained, num_key_value_heads=1),
    words("Qwen2ForCausalLM", sharded, num_key_value_heads=1), words("GPTNeoXForCausalLM", pretrained),
    words("T5EncoderModel", pretrained, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2),
    words("T5ForConditionalGeneration", pretrained, more=begun, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0),
    words("ViTForImageClassification", pretrained, (3, 32, 32), image_size=32, patch_size=8),
    words("ResNetForImageClassification", pretrained, (3, 32, 32), embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"),
    words("Wav2Vec2ForSequenceClassification", pretrained, (1600,), conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 8, 4),
          num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, classifier_proj_size=16),
]


def drawn(make, size):
    """The network with weights moved from what they begin with, its running statistics those of a drawn batch; and the inputs."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = make()
    x = rng.integers(2, WORDS, (SAMPLES, size)) if isinstance(size, int) else rng.normal(size=(SAMPLES, *size)).astype(np.float32)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.02 * torch.randn_like(p))
        for m in norms:
            m.train().momentum = 1.0
        if norms:
            model(torch.randn(8, *size))
    return model.eval(), x


def step_time(model, x, given):
    """The quickest of three training steps, in one thread, and what the network returns."""
    x, given, times = torch.from_numpy(x), {k: torch.from_numpy(a) for k, a in given.items()}, []
    for _ in range(3):
        begun = time.process_time()
        output = model(x, **given)
        for key in "logits", "last_hidden_state":
            output = getattr(output, key, output)
        output.sum().backward()
        times.append(time.process_time() - begun)
        model.zero_grad()
    return min(times), output


def targets(output):
    """A class for each sample, or for each place of a text."""
    shape = output.shape[:-1] if output.dim() in (2, 3) else None
    return None if shape is None else np.random.default_rng(1).integers(0, output.shape[-1], shape)


# ---- One of them


# A small process between this one and the command: what a child has before it begins another program counts as its own memory.
BETWEEN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
sys.exit(status if status >= 0 else 128 - status)
"""


def limited(command, most, memory=None):
    """(exit status or None, what it said, its errors, seconds of the processor, the most MiB of a process)"""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with tempfile.NamedTemporaryFile("r") as used:
        done = subprocess.run([sys.executable, "-S", "-c", BETWEEN, used.name, *map(str, command)], capture_output=True, text=True, preexec_fn=limit,
                              check=False)
        seconds, peak = map(float, (used.read() or "0 0").split())
    return (done.returncode if done.returncode < 128 else None), done.stdout, done.stderr, seconds, peak


def reason(errors):
    """What the command says of a checkpoint that it does not take, without what it says while it works."""
    lines = [line for line in errors.splitlines() if not line.startswith("clarke at work")]
    said = next((line.partition(": ")[2] for line in lines if line.startswith("clarke.like: ")), (lines or ["no word"])[-1])
    return re.sub(r"\S*/(net|last|model|pytorch_model|batch)\b", r"\1", said).replace("|", "/")[:300]


def ask(build, folder, network, most):
    """A row's cells, and whether a proof failed."""
    name, make, form, size, *more = network
    model, x = drawn(make, size)
    path, batch, run, proof = form(model, folder), folder / "batch.npz", folder / "run", folder / "net.proof"
    given = more[0](x) if more else {}
    step, output = step_time(model, x, given)
    np.savez(batch, x=x, **given, **{"y": y for y in [targets(output)] if y is not None})
    cells = [f"{name}", FORMS[form], f"{sum(p.numel() for p in model.parameters()):,}"]
    del model
    like = [build / "tools" / "clarke", "audit", "--like", name, path, "--batch", batch, "--keep", run, "--proof", proof, "--json", "--threads", "1"]
    status, said, errors, took, peak = limited(like, most)
    if status is None:
        return [*cells, f"over {most} s", "", "", "", ""], False
    if status == 2:
        return [*cells, "refused", "", "", "", reason(errors)], False
    report = json.loads(said[said.index("{"):])
    _, _, _, alone, most_held = limited([build / "tools" / "clarke", "audit", run, "--json", "--threads", "1"], most)
    price = f"{took:.0f} s, {peak:.0f} MiB", f"{alone:.1f} s, {alone / step:.0f}x, {most_held:.0f} MiB"
    checked = "none"
    if proof.exists():
        status, told, errors, seconds, peak = limited([build / "tools" / "clarke-check", proof, "--data", run], most, MEMORY)
        over = status is None or "out of memory" in told + errors or "ended by signal" in told + errors
        checked = f"verified, {seconds:.1f} s, {peak:.0f} MiB" if status == 0 else "not checked in these limits" if over else "not verified: " + (told + errors).strip().splitlines()[-1][:160]
    gradient = {"explained": "", "turned": ", turned"}.get(report["gradient"]["answer"], ", gradient not known")
    why = "; " + report["why"][:200].replace("|", "/") if report["verdict"] == "undecided" else ""
    return [*cells, report["verdict"] + gradient, str(report.get("touched", "")), *price, checked + why], checked.startswith("not verified")


HEAD = """# Checkpoints without a graph

What is said of a checkpoint as its owner has it, a file of weights and the name of a network? This is asked in one command:

```sh
clarke audit --like timm.resnet10t model.safetensors --batch B.npz
```

The table is of networks of timm, torchvision and transformers ([run-format.md](run-format.md) says how they are named). A script makes and asks:

    pip install -r tests/interop/requirements-zoo.txt
    python tests/interop/checkpoints.py --build build --write

The networks of timm and torchvision have their published widths and depths, with {classes} classes. Those of transformers have two layers of width 32.
Weights are drawn: what the library begins with, moved a little. Each network is saved in one of the forms that people have. A batch has two samples:
pictures of 64 x 64 (a vision transformer's have the size that it takes), texts of 8 words, or tracks.

*All* is the command, with PyTorch's start and the proof: seconds of the processor, and the most memory of one process. *Audit* is the question about
the recorded step alone, also in training steps of PyTorch's, one thread each. A proof has {most} s and 4 GiB.{meant}

What doubles decide takes some tens of steps. What they do not know takes exact arithmetic, and hundreds of steps or more. So does attention by PyTorch's
own kernel, within which nothing is recorded (vision transformers of timm). So does a weight that the step standardizes (test_nfnet).

{decided} of {all} are decided, and {verified} proofs are verified. They were asked on a machine that many other programs shared.

| network | saved as | parameters | verdict | touched | all | audit | proof, or why there is none |
|---|---|---:|---|---:|---:|---:|---|
"""
MEANT = {", gradient not known": " *Gradient not known*: the verdict\nis of AD's exact gradient, and it was not shown that the recorded numbers are it, but for rounding.",
         ", turned": " *Turned*: at some kink rounding took\na branch that exact arithmetic does not take, and the recorded gradient is that branch's."}
PACKAGES = "\nOf packages: " + ", ".join(f"{p.__name__} {p.__version__}" for p in (torch, torchvision, timm, transformers)) + ".\n"


def kept_rows(rows):
    """The page's rows of networks that were not asked now."""
    held = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if re.match(r"\| \w+\.", line)] if PAGE.exists() else []
    return [(r + [""] * 8)[:8] for r in held if r[0] not in {n[0] for n in rows}]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--most", type=int, default=100, help="seconds of the processor for each question")
    parser.add_argument("--only", default="", help="networks whose name has this word")
    parser.add_argument("--keep", type=Path, help="the folder in which the files stay")
    parser.add_argument("--write", action="store_true", help="make docs/checkpoints.md anew, or its rows of those networks")
    options = parser.parse_args()
    os.environ.update(CLARKE_PYTHON=sys.executable, PYTHONPATH=str(ROOT / "tools" / "python"), OMP_NUM_THREADS="1")
    torch.set_num_threads(1)
    rows, failed = [], False
    for network in NETWORKS:
        if options.only not in network[0]:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / network[0]
            folder.mkdir(parents=True)
            cells, wrong = ask(options.build.resolve(), folder, network, options.most)
        rows, failed = [*rows, cells], failed or wrong
        print("| " + " | ".join(cells) + " |", flush=True)
    if options.write:
        rows += kept_rows(rows) if options.only else []
        rows.sort(key=lambda r: [n[0] for n in NETWORKS].index(r[0]))
        decided, verified = sum(r[3].startswith(("in-", "not-in")) for r in rows), sum(r[7].startswith("verified") for r in rows)
        meant = "".join(text for word, text in MEANT.items() if any(word in r[3] for r in rows))
        head = HEAD.format(classes=CLASSES, most=options.most, all=len(rows), decided=decided, verified=verified, meant=meant)
        PAGE.write_text(head + "".join("| " + " | ".join(r) + " |\n" for r in rows) + PACKAGES)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
