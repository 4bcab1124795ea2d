"""What `clarke-check --tape` prints: one text for models that compute the same with the same parameters, another one for each other.

    python3 tests/check/tapes.py CLARKE-CHECK
"""

import hashlib
import re
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


def differing(a, b):
    """The first words of the lines that are not the same."""
    return {line.split()[0] for lines in zip(a.splitlines(), b.splitlines()) for line in lines if lines[0] != lines[1]}


def changed(checker, folder, old, new):
    """The tape of lemma2 with these bytes of the model in place of those, of the same number."""
    data = (AUDIT / "lemma2.onnx").read_bytes()
    assert len(old) == len(new) and old in data, old
    (folder / "lemma2.onnx").write_bytes(data.replace(old, new))
    return tape(checker, folder / "lemma2.onnx", AUDIT / "lemma2.npz")


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
