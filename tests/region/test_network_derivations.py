"""Proofs that clarke derive --proof writes of networks, and of programs of many kinks: they verify; forged statements and evidence do not.

    test_network_derivations.py TOOLS
"""

import hashlib
import itertools
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from schema import obeyed  # noqa: E402

CLARKE, CHECK = (Path(sys.argv[1]) / name for name in ("clarke", "clarke-check"))
ROOT = Path(__file__).resolve().parents[2]
FOLDS = ROOT / "cases/regions/folds.onnx"
OUTSIDE = (0, -1, 0)
failures = []


def expect(what, holds, *more):
    if not holds:
        failures.append(what)
        print("FAILED:", what, *more)


def run(program, *words):
    return obeyed(subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=120))


def array(path, shape, entries):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%dd" % len(entries), *entries))


def sealed(text):
    body = text[:text.rindex("end ")]
    return body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n"


def checked(text, folder):
    (folder / "f").write_text(text)
    return run(CHECK, folder / "f", "--data", FOLDS.parent)


def proved(folder, shape, entries, model=FOLDS, *words):
    """The report and the proof, which verifies and says the same."""
    array(folder / "x.npy", shape, entries)
    said = run(CLARKE, "derive", model, "--at", folder / "x.npy", "--json", "--proof", folder / "p", *words)
    report = json.loads(said.stdout)
    answer = run(CHECK, folder / "p", "--data", model.parent)
    expect("verified", answer.returncode == 0 and answer.stdout.startswith("VERIFIED\n"), entries, answer, said)
    expect("the verdict", ("verdict %s\n" % report["verdict"]) in (folder / "p").read_text())
    return report, (folder / "p").read_text()


def points(folder):
    """All points of a small grid, by two profiles; the set of gradients is that of clarke patterns."""
    verdicts = set()
    for entries in itertools.product([0, 0.5, -1], repeat=3):
        for profile in ("pytorch-2.13", folder / "odd.profile"):
            report, _ = proved(folder, (1, 1, 1, 3), entries, FOLDS, "--profile", profile)
            verdicts.add(report["verdict"])
        regions = json.loads(run(CLARKE, "patterns", FOLDS, "--at", ",".join(map(str, entries)), "--json").stdout)["regions"]
        around = {tuple(r["gradient"][0]) for r in regions}
        # Where the limit stops the cones, some of them are no list: the tree is asked.
        limited = json.loads(run(CLARKE, "derive", FOLDS, "--at", ",".join(map(str, entries)), "--limit", "regions=1", "--json").stdout)
        expect("the tree's", limited["bouligand"] is not None and sorted(map(str, limited["bouligand"])) == sorted(map(str, report["bouligand"])),
               entries, limited["bouligand"], report["bouligand"])
        expect("the set", report["bouligand"] is not None and {tuple(g[0]) if isinstance(g[0], list) else tuple(g) for g in report["bouligand"]} == around,
               entries, report["bouligand"], around)
    expect("all verdicts", {"in-bouligand", "not-in-clarke"} <= verdicts, verdicts)


def parameters(folder):
    """With respect to parameters: of one layer, of all; what the proof is about cannot be changed."""
    cases = ROOT / "cases/audit"
    array(folder / "zero.npy", (1, 64), [1, 0] * 32)
    for model, names, at in [(cases / "lemma2.onnx", "w", cases / "lemma2.npz"), (FOLDS, "params", "0,-1,0"),
                             (cases / "digits-relu-ternary.onnx", "4.weight,4.bias", folder / "zero.npy"),
                             (cases / "digits-relu-ternary.onnx", "2.bias", folder / "zero.npy")]:
        for profile in ("pytorch-2.13", folder / "odd.profile"):
            said = run(CLARKE, "derive", model, "--at", at, "--wrt", names, "--profile", profile, "--json", "--proof", folder / "p")
            answer = run(CHECK, folder / "p", "--data", model.parent)
            expect("verified", said.returncode in (0, 1) and answer.returncode == 0 and answer.stdout.startswith("VERIFIED\n"), model, names, said, answer)
            expect("the verdict", ("verdict %s\n" % json.loads(said.stdout)["verdict"]) in (folder / "p").read_text())
    run(CLARKE, "derive", cases / "lemma2.onnx", "--at", cases / "lemma2.npz", "--wrt", "w", "--proof", folder / "p")
    text = (folder / "p").read_text()
    for old, new, why in [("wrt w", "wrt x", "has no parameter 'x'"), ("wrt w", "wrt", "no parameter is named"), ("at x 1", "at w 1", "the values of input 'x'"),
                          ("at x 1", "at x 0", ""), ("at x 1", "at x 1\nat w 0", "'profile' is expected"), ("wrt w\nat x 1", "at x 1\nwrt w", "is no input"),
                          ("verdict not-in-clarke", "verdict in-bouligand", "does not prove")]:
        expect("there is " + old, old in text, text)
        (folder / "f").write_text(sealed(text.replace(old, new, 1)))
        answer = run(CHECK, folder / "f", "--data", cases)
        expect("refused: " + new, answer.returncode in (1, 2) and why in answer.stdout + answer.stderr, answer)


def forged(folder):
    _, text = proved(folder, (1, 1, 1, 3), OUTSIDE, FOLDS, "--profile", folder / "odd.profile")
    at = next(line for line in text.splitlines() if line.startswith("at x "))
    for old, new, why in [
            ("verdict not-in-clarke", "verdict in-clarke", "does not prove"), ("verdict not-in-clarke", "verdict in-bouligand", "does not prove"),
            ("\nnetwork ", "\nprogram ", ""), (at, "at x 1 0 0", ""), (at, at.replace("x", "y"), "the values of input 'x'"),
            (at, at.rpartition(" ")[0], "the line ends too early"), (at, at.replace("x", "%78"), "the values of input"),
            ("wrt *", "wrt w", "is no input"), ("proxy Clip 1 9", "proxy Clip 1 0", ""), ("proxy Clip 1 9", "proxy Clip 1 nan", ""),
            ("proxy Clip 1 9\n", "", "is expected"), ("touched ", "touched 1", "the number of touched")]:
        expect("there is " + old, old in text, text)
        answer = checked(sealed(text.replace(old, new, 1)), folder)
        expect("refused: " + new, answer.returncode in (1, 2) and why in answer.stdout + answer.stderr, answer)
    lines = text.splitlines()[:-1]
    for i in range(lines.index("cones"), len(lines)):
        more = [] if lines[i].startswith("circuit") else [lines[:i] + [lines[i]] + lines[i:]]  # a circuit may come twice
        for other in [lines[:i] + lines[i + 1:]] + more:
            answer = checked(sealed("\n".join(other) + "\nend \n"), folder)
            expect("a line less or more", answer.returncode in (1, 2), lines[i], answer)


def programs(folder):
    """Of more than twelve kinks, and piecewise linear in wrt: by cones, as a network's."""
    kinks = " + ".join("%d * relu(x[%d] - y * x[%d])" % (i + 1, i, (i + 1) % 4) for i in range(4))
    (folder / "f.prog").write_text("input x[4], y\noutput %s%s\n" % (kinks, "".join(" - abs(x[%d] + %d)" % (i % 4, i // 4) for i in range(9))))
    for at, wrt, how in [("0,0,0,0", "x", "cones"), ("0,0,0,-1", "x", "cones"), ("0,0,0,0", "x,y", "tree"), ("2,2,2,-1", "x", "cones")]:
        said = run(CLARKE, "derive", folder / "f.prog", "--at=x=" + at, "--at", "y=1", "--wrt", wrt, "--profile", folder / "odd.profile", "--json", "--proof", folder / "p")
        text = (folder / "p").read_text()
        expect("the evidence", "evidence separator\n" in text and "\n%s\n" % how in text and said.returncode == 1, at, wrt, text)
        answer = run(CHECK, folder / "p", "--data", folder)
        expect("verified", answer.returncode == 0 and answer.stdout.startswith("VERIFIED\n"), answer)
        lines = text.splitlines()[:-1]
        for old, new in [("verdict not-in-clarke", "verdict in-clarke"), ("evidence separator", "evidence unanimous"), (how, "tree" if how == "cones" else "cones"),
                         (lines[-1], "leaf 1 1 1 1"), (lines[-1], "")]:
            answer = checked_beside(sealed("\n".join(new if line == old else line for line in lines) + "\nend \n"), folder)
            expect("refused: " + new, answer.returncode in (1, 2), old, answer)


def checked_beside(text, folder):
    (folder / "f").write_text(text)
    return run(CHECK, folder / "f", "--data", folder)


def refused(folder):
    """Steps that have no proof; models of more than a network."""
    sigmoid = ROOT / "cases/tutorial/digits.onnx"
    array(folder / "x.npy", (1, 64), [0] * 64)
    said = run(CLARKE, "derive", sigmoid, "--at", folder / "x.npy", "--proof", folder / "none")
    expect("the tutorial's network", said.returncode in (0, 1, 3), said)
    text = "clarke-proof 1\nverdict in-bouligand\nsemantics real\nnetwork %s %s\nat x 0\n" % (
        "lemma2.onnx", hashlib.sha256((ROOT / "cases/audit/lemma2.onnx").read_bytes()).hexdigest())
    (folder / "f").write_text(sealed(text + "end \n"))
    answer = run(CHECK, folder / "f", "--data", ROOT / "cases/audit")
    expect("no lines after", answer.returncode in (1, 2), answer)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "odd.profile").write_text("like pytorch-2.13\nRelu 0 -7\nClip 0 1/2\nClip 1 9\n")
    for part in (points, parameters, forged, programs, refused):
        part(folder)
sys.exit(1 if failures else 0)
