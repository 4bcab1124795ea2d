"""What `clarke-check --tape` prints: one text for models that compute the same with the same parameters, another one for each other.

    python3 tests/check/tapes.py CLARKE-CHECK
"""

import hashlib
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUDIT = ROOT / "cases" / "audit"


def tape(checker, model, batch):
    done = subprocess.run([checker, "--tape", model, batch], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{model.name}: {done.stderr}")
    text, _, last = done.stdout.rpartition("hash ")
    if last != hashlib.sha256(text.encode()).hexdigest() + "\n":
        raise SystemExit(f"{model.name}: the hash is not that of the lines before it")
    return text


def broken_blocks(checker, model, batch):
    """The kinds of blocks of the whole tape whose lines are not those of the line's number and hash; the text without blocks."""
    said = subprocess.run([checker, "--whole-tape", model, batch], capture_output=True, text=True, check=True).stdout.splitlines()
    text, wrong = [line for line in said if not line.startswith(" ")], set()
    at = 0
    for line in text:
        at += 1
        for kind, n, expected in re.findall(r" (values|factors|sources|features) ([0-9]+) ([0-9a-f]{64})", line):
            own = "".join(behind[1:] + "\n" for behind in said[at:at + int(n)] if behind.startswith(" "))
            if hashlib.sha256(own.encode()).hexdigest() != expected:
                wrong.add(kind)
            at += int(n)
    return wrong, "\n".join(text) + "\n"


def sealed(lines):
    text = "".join(line + "\n" for line in lines)
    return text + f"end {hashlib.sha256(text.encode()).hexdigest()}\n"


def of_proofs(checker, folder):
    """What is wrong with tapes of a proof, and with a proof that names one."""
    proof = ROOT / "proofs-data" / "digits-relu-later.proof"
    lines = proof.read_text().splitlines()[:-1]
    said = subprocess.run([checker, proof, "--tape", "--data", AUDIT], capture_output=True, text=True, check=True).stdout
    own = said.split()[-1]
    if own == tape(checker, AUDIT / "digits-relu.onnx", AUDIT / "digits.npz").split()[-1]:
        yield "a proof whose weights are replaced has the model's tape"
    at = next(i for i, line in enumerate(lines) if line.startswith("fingerprint "))
    for hash_, expected in [(own, "VERIFIED\n"), ("0" * 64, f"the network's tape has the hash {own}\n")]:
        (folder / "named.proof").write_text(sealed([*lines[:at], f"tape {hash_}", *lines[at:]]))
        done = subprocess.run([checker, folder / "named.proof", "--data", AUDIT], capture_output=True, text=True, check=False)
        if expected not in done.stdout + done.stderr or (done.returncode == 0) != (f"\nTape: {own}\n" in done.stdout):
            yield f"a proof with the line tape {hash_}: {done.stdout}{done.stderr}"
    formula = next((ROOT / "proofs-data" / "encode").glob("*.proof"))
    if subprocess.run([checker, formula, "--tape"], capture_output=True, check=False).returncode == 0:
        yield "a proof about a formula has a tape"


def differing(a, b):
    """The first words of the lines that are not the same."""
    return {line.split()[0] for lines in zip(a.splitlines(), b.splitlines()) for line in lines if lines[0] != lines[1]}


def of_ignored(checker):
    """What is wrong with the tapes of cross entropy that ignores a label."""
    data = ROOT / "tests" / "check" / "data"
    own, none, some = (tape(checker, data / f"step-{model}.onnx", data / "step-labels.npz") for model in ("ce", "ignoring", "ignoring-another"))
    if none != own:
        yield "a label that is ignored, and no sample has, is told"
    if differing(own, some) != {"output"} or " loss ce ignoring 0 " not in some:
        yield "a label that is ignored is not told by the output's line"


def changed(checker, folder, old, new):
    """The tape of lemma2 with these bytes of the model in place of those, of the same number."""
    data = (AUDIT / "lemma2.onnx").read_bytes()
    assert len(old) == len(new) and old in data, old
    (folder / "lemma2.onnx").write_bytes(data.replace(old, new))
    return tape(checker, folder / "lemma2.onnx", AUDIT / "lemma2.npz")


def left_unread(checker):
    """What is printed where nobody reads on: as any program's, it ends by the pipe's signal, without a word."""
    with subprocess.Popen([checker, "--whole-tape", AUDIT / "lenet.onnx", AUDIT / "images.npz"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        ran.stdout.close()
        said = ran.stderr.read()
    return [] if (ran.returncode, said) == (-signal.SIGPIPE, b"") else [f"unread: {ran.returncode} {said}"]


def main():
    checker, wrong = sys.argv[1], []
    own = tape(checker, AUDIT / "lemma2.onnx", AUDIT / "lemma2.npz")
    names = {name for line in subprocess.run([checker, "--show", AUDIT / "lemma2.onnx"], capture_output=True, text=True, check=True)
             .stdout.splitlines() if line.startswith((" out ", "node ")) for name in line.split()[1 + line.startswith("node "):]}
    with tempfile.TemporaryDirectory() as at:
        for name in sorted(names - {"*"}, key=len):
            field = bytes([len(name)]) + name.encode()
            if changed(checker, Path(at), field, field[:1] + b"Q" * len(name)) != own:
                wrong.append(f"lemma2 with {name} called otherwise has another tape")
        if differing(own, changed(checker, Path(at), b"\x01w", b"\x01W")) != {"parameter"}:
            wrong.append("a parameter's name is not told by its line alone")
        wrong += of_proofs(checker, Path(at))
    wrong += of_ignored(checker)
    for model, batch in [("lemma2.onnx", "lemma2.npz"), ("lenet.onnx", "images.npz")]:
        broken, text = broken_blocks(checker, AUDIT / model, AUDIT / batch)
        if broken or text.rpartition("hash ")[0] != tape(checker, AUDIT / model, AUDIT / batch):
            wrong.append(f"{model}: the whole tape's {sorted(broken)} are not those of the tape")
    wrong += left_unread(checker)
    tapes = {}
    for proof in sorted((ROOT / "proofs-data").glob("*.proof")):
        text = proof.read_text()
        pair = re.search(r"^model (\S+) .*\nbatch (\S+) ", text, re.M)
        if pair and (AUDIT / pair[1]).stat().st_size < 12000:
            tapes.setdefault(tape(checker, AUDIT / pair[1], AUDIT / pair[2]), set()).add(
                ((AUDIT / pair[1]).read_bytes(), len((AUDIT / pair[2]).read_bytes())))
    same = [models for models in tapes.values() if len({model for model, _ in models}) > 1]
    if len(tapes) < 12 or same:
        wrong.append(f"{len(tapes)} tapes, {len(same)} of several models")
    print("\n".join(wrong) or f"{len(tapes)} tapes of stored models, and those of {len(names)} names changed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
