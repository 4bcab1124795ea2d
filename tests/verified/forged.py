"""Proofs made by hand, of which the answers are known.

    python3 tests/verified/forged.py CLARKE-CHECK CLARKE-CHECK-VERIFIED
"""

import hashlib
import sys
import tempfile
from pathlib import Path

import proofs

ARC = ["evidence ad", "arc 1"]
TREE = ["evidence separator", "v 1", "tree", "branch 2", "leaf", "leaf"]
# Program, verdict, evidence, what the kernel says, what clarke-check says; at x = 0, where one instruction is touched.
HALVES = ["evidence hull 2", "cell 1/2", "arc 1", "step -1", "cell 1/2", "arc 1"]
DEAD = ["dead 2", "u 0 1", "u 1 1"]
CASES = [
    ("if x <= 0 then 2*x else 3*x", "in-bouligand", [*ARC, "step -1"], "VERIFIED", "VERIFIED"),
    ("if x <= 0 then 2*x else 3*x", "in-bouligand", [*ARC, "step 1"], "REJECTED", "FAILED"),
    ("if x < 0 then 2*x else 3*x", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("if x != 0 then 0*x else x", "not-in-clarke", TREE, "VERIFIED", "VERIFIED"),
    # F jumps at 0. All gradients nearby are below AD's, but F does not tend to F(0).
    ("if x == 0 then 7*x else 0*x + 1", "not-in-clarke", TREE, "REJECTED", "FAILED"),
    # F jumps from the right alone: AD's derivative is a limit of gradients, but F is not Lipschitz.
    ("if x > 0 then x + 1 else 0*x", "in-bouligand", [*ARC, "step -1"], "VERIFIED", "FAILED"),
    ("relu{0}(x)", "in-bouligand", [*ARC, "step -2/2"], "REJECTED", "FAILED"),
    # With functions: AD's output is no rational. What has no kinks has no braces.
    ("exp(x)*relu{0}(x)", "in-bouligand", [*ARC, "step -1"], "VERIFIED", "VERIFIED"),
    ("exp(x)*relu{0}(x)", "in-bouligand", [*ARC, "step 1"], "REJECTED", "FAILED"),
    ("sqrt(relu{1}(x) + 4)", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("norm2(3, 4 + relu{1}(x))", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("exp(relu{1/2}(x))", "in-clarke", [*HALVES, "step 1"], "OUTSIDE", "VERIFIED"),
    ("exp{0}(x) + relu{0}(x)", "in-bouligand", [*ARC, "step -1"], "OUTSIDE", "status 2"),
    ("sum{0}(x) + relu{0}(x)", "in-bouligand", [*ARC, "step -1"], "OUTSIDE", "status 2"),
    ("norm2{0}(3, x) + relu{0}(x)", "in-bouligand", [*ARC, "step -1"], "OUTSIDE", "status 2"),
    ("relu{0}(log(1 + x))", "in-bouligand", [*ARC, "step -1"], "VERIFIED", "VERIFIED"),
    ("relu{0}(log(1 + x))", "in-bouligand", [*ARC, "step 1"], "REJECTED", "FAILED"),
    ("relu{0}(1 - 1/(1 - x))", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("relu{0}(1 - 1/(1 - x))", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("relu{0}(1 + 1/(x - 1))", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("relu{0}(1/2 - sigmoid(x))", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("relu{0}(1/2 - sigmoid(x))", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("relu{0}(tanh(x) - 2*x)", "in-bouligand", [*ARC, "step 1"], "VERIFIED", "VERIFIED"),
    ("relu{0}(tanh(x) - 2*x)", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("log(relu{0}(x))", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("relu{0}(x)/x", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("relu{0}(x) + log(x - 1)", "in-bouligand", [*ARC, "step -1"], "REJECTED", "FAILED"),
    ("log{0}(1 + x) + relu{0}(x)", "in-bouligand", [*ARC, "step -1"], "OUTSIDE", "status 2"),
    ("relu{0}(x)", "in-bouligand", ["evidence hull 1", "cell 1", "arc 1", "step -1"], "VERIFIED", "VERIFIED"),
    ("relu{1/2}(x)", "in-clarke", [*HALVES, "step 1"], "VERIFIED", "VERIFIED"),
    ("relu{1/2}(x)", "in-clarke", [*HALVES, "step -1"], "REJECTED", "FAILED"),
    ("relu{2}(x)", "in-clarke", ["evidence hull 2", "cell -1", "arc 1", "step -1", "cell 2", "arc 1", "step 1"],
     "REJECTED", "FAILED"),
    # -x and x are never positive at once, so a dead branch; but x is, alone.
    ("relu{0}(x) - relu{0}(-x)", "not-in-clarke",
     [*TREE[:1], "v -1", "tree", "branch 2", "branch 2", *DEAD, "leaf", "branch 2", "leaf", *DEAD], "VERIFIED", "VERIFIED"),
    ("relu{0}(x) - relu{0}(-x)", "not-in-clarke",
     [*TREE[:1], "v -1", "tree", "branch 2", "dead 1", "u 0 1", "branch 2", "leaf", *DEAD], "REJECTED", "FAILED"),
]


def write(folder, output, verdict, evidence, touched=1):
    """A proof about this program, at x = 0."""
    text = f"input x\noutput {output}\n".encode()
    (folder / "f.prog").write_bytes(text)
    lines = ["clarke-proof 1", f"verdict {verdict}", "semantics real", f"program f.prog {hashlib.sha256(text).hexdigest()}",
             "at x 0", "wrt *", "profile case", f"touched {touched}", *evidence]
    (folder / "proof").write_bytes(proofs.sealed(lines))


def main():
    """Asks both about each case; then about files that are others than the proof's."""
    check, verified = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        for output, verdict, evidence, ours, theirs in CASES:
            write(folder, output, verdict, evidence, output.count("relu") or 1)
            said = tuple(proofs.says(checker, folder / "proof", folder)[0] for checker in (verified, check))
            if said != (ours, theirs):
                failed.append(f"{output}, {verdict}: the kernel and clarke-check say {said}, not {(ours, theirs)}")
        write(folder, "relu{0}(x)", "in-bouligand", [*ARC, "step -1"], 2)
        if proofs.says(verified, folder / "proof", folder)[0] != "REJECTED":
            failed.append("two touched instructions, of one")
        write(folder, "relu{0}(x)", "in-bouligand", [*ARC, "step -1"])
        (folder / "f.prog").write_text("input x\noutput relu{0}(x) # another\n")
        if proofs.says(verified, folder / "proof", folder)[0] != "REJECTED":
            failed.append("another program than the proof's")
        write(folder, "relu{0}(x)", "in-bouligand", [*ARC, "step -1"])
        (folder / "proof").write_bytes((folder / "proof").read_bytes().replace(b"step -1", b"step -2"))
        if proofs.says(verified, folder / "proof", folder)[0] != "REJECTED":
            failed.append("a proof that was changed after it was sealed")
    print("\n".join(failed) or f"{len(CASES) + 3} answers as they must be")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
