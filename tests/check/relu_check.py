"""Does a checker of ReLU networks link what docs/trust.md says, and verify what clarke-check does?

    python3 tests/check/relu_check.py CLARKE-RELU-CHECK CLARKE-CHECK SOURCE...

SOURCE are the files of lib/check that the first is linked of: they must be those that tests/arrows/checker.txt counts as `relu network`,
and the program must hold no function of another. It is asked of every stored proof about a network, and of changed ones: what it
verifies clarke-check verifies, in the same words; what it does not have it refuses, by name.
"""

import hashlib
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "lib" / "check"
sys.path.insert(0, str(ROOT / "tests" / "arrows"))
import arrows  # noqa: E402
sys.path.append(str(ROOT / "tests"))
from draw import draw_count  # noqa: E402
from trust import data_of, kind_of  # noqa: E402

HERE = "Not compared: the lines of the tape and of fingerprints\n"
MUST = ["abs", "digits-relu", "digits-relu-q", "digits-relu6-q", "digits-abs-centred", "digits-hardsigmoid-q", "hinges", "lenet", "lenet-average",
        "lenet-crops", "lenet-init", "lenet-nobias", "lenet-q6", "one-window"]
LACKS = {"digits-sigmoid-relu": "this checker has no Sigmoid", "digits-layernorm": "this checker has no LayerNormalization",
         "resnet": "this checker has no BatchNormalization",
         "digits-relu-later": "this checker takes no parameters beside the model",
         "lenet-q": "this checker has no such evidence", "two-windows": "this checker has no such evidence", "digits-castlike": "this checker has no CastLike",
         "digits-qlinear": "this checker has one type of floats"}
CHANGED = draw_count(120)


def run(program, proof, data, *option):
    done = subprocess.run([program, proof, *option, data], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def link_complaints(program, sources):
    """Files that are linked and not counted, or the reverse; functions that are none of theirs."""
    linked = {str(Path(source).resolve().relative_to(CHECK)) for source in sources}
    files, _ = arrows.read_links(ROOT / "tests/arrows/checker.txt")["relu network"]
    counted = {str(path.relative_to(CHECK)) for path in arrows.closure(CHECK, files) if path.suffix == ".c"}
    found = [f"{name}: linked, and not counted" for name in sorted(linked - counted)]
    found += [f"{name}: counted, and not linked" for name in sorted(counted - linked)]
    symbols = set(re.findall(r" T (\w+)$", subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout, re.M))
    others = {name for path in CHECK.rglob("*.c") if str(path.relative_to(CHECK)) not in linked
              for name in re.findall(r"^(?!static)\w[\w *]*\n(\w+)\(", path.read_text(), re.M)} - {"main"}
    return found + [f"{name} is in the program, and of no file that is counted" for name in sorted(symbols & others)]


def agrees(relu, full, proof, data):
    """What is wrong with what the two say of a proof, or None; and whether it is verified."""
    status, said, why = run(relu, proof, data)
    if status == 0:
        own, text, _ = run(full, proof, data, "--data")
        return ("clarke-check does not verify it, or says otherwise" if own != 0 or text != said.replace(HERE, "") else None), True
    if status == 2:
        return (None if re.search(r"this checker (has|takes|computes)", why) else f"refused, not by name: {why}"), False
    own, _, _ = run(full, proof, data, "--data")
    return ("clarke-check verifies it" if own == 0 else None), False


def changed(text, draw):
    """A proof with one number, side or word of its evidence changed, and the hash that belongs to it."""
    lines = text.splitlines(keepends=True)[:-1]
    from_line = next(i for i, line in enumerate(lines) if line.startswith("profile"))
    at = draw.choice([i for i in range(from_line, len(lines)) if len(lines[i].split()) > 1] or [from_line])
    words = lines[at].split()
    i = draw.randrange(1, len(words))
    words[i] = draw.choice(["0", "1", "-1", "1/2", "-" + words[i].lstrip("-"), "+", "-", "first", "last", "left", "right"])
    lines[at] = " ".join(words) + "\n"
    body = "".join(lines)
    return body + f"end {hashlib.sha256(body.encode()).hexdigest()}\n"


def change_complaints(relu, full, proofs, folder):
    draw, found, failed = random.Random(7), [], 0
    for i in range(CHANGED):
        proof = draw.choice(proofs)
        other = Path(folder) / f"{i}.proof"
        other.write_text(changed(proof.read_text(), draw))
        status, _, _ = run(relu, other, data_of(proof))
        own, _, _ = run(full, other, data_of(proof), "--data")
        failed += status == 1
        if (status == 0) != (own == 0):
            found.append(f"{proof.stem}, changed ({other.read_text()}): {status}, and clarke-check {own}")
    return found + ([] if failed > CHANGED // 4 else [f"of {CHANGED} changed proofs {failed} fail: they tell too little"])


def main():
    relu, full, *sources = sys.argv[1:]
    found, verified, proofs = link_complaints(relu, sources), [], []
    for proof in sorted((ROOT / "proofs-data").glob("*.proof")):
        if not (kind_of(proof) or "").startswith("network") or proof.stem.startswith("vgg11"):
            continue
        wrong, holds = agrees(relu, full, proof, data_of(proof))
        found += [f"{proof.stem}: {wrong}"] if wrong else []
        verified += [proof.stem] if holds else []
        proofs += [proof] if holds and proof.stat().st_size < 20000 and not proof.stem.startswith("lenet") else []
    found += [f"{name} is not verified" for name in MUST if name not in verified]
    for name, words in LACKS.items():
        proof = ROOT / "proofs-data" / f"{name}.proof"
        status, _, why = run(relu, proof, data_of(proof))
        found += [f"{name} is not refused by name: {why}"] if status != 2 or words not in why else []
    page = " ".join((ROOT / "docs" / "trust.md").read_text().split())
    for words in (f"verifies {len(verified)} of the stored proofs", f"linked of {len(sources)} files"):
        found += [f"docs/trust.md does not say: {words}"] if words not in page else []
    with tempfile.TemporaryDirectory() as folder:
        found += change_complaints(relu, full, proofs, folder)
    print("\n".join(found) or f"{len(verified)} proofs verified, of {len(sources)} files: {', '.join(verified)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
