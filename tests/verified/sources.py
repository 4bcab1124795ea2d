"""Is everything proved? The Coq sources have no axiom of their own and no gap, and what their theorems stand on is what
assumptions.txt says.

    python3 tests/verified/sources.py ASSUMPTIONS

ASSUMPTIONS is what Coq printed when it proved them.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "lib/check/coq"
# What states without a proof, or switches a check of Coq off.
GAPS = re.compile(r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|Unset|Admit|bypass_check|"
                  r"native_cast_no_check|vm_cast_no_check|Declare|Variables?|Hypothesis|Hypotheses|Context)\b")
IN_SECTIONS = {"Variable", "Variables", "Hypothesis", "Hypotheses", "Context"}


def without_comments(text):
    """Coq's comments nest."""
    kept, depth, i = [], 0, 0
    while i < len(text):
        if text.startswith("(*", i):
            depth, i = depth + 1, i + 2
        elif depth and text.startswith("*)", i):
            depth, i = depth - 1, i + 2
        else:
            kept += text[i] if not depth else ""
            i += 1
    return "".join(kept)


def gaps(text):
    """The words that leave something unproved. What a section assumes becomes a premise at its end."""
    sections, found = [], []
    for line in without_comments(text).splitlines():
        if begun := re.match(r"\s*Section (\w+)", line):
            sections.append(begun[1])
        if ended := re.match(r"\s*End (\w+)", line):
            sections = sections[:-1] if sections[-1:] == [ended[1]] else sections
        found += [word for word in GAPS.findall(line) if word not in IN_SECTIONS or not sections]
    return found


def main():
    """Asks all; plants gaps, which must be seen."""
    failed = []
    order = (SOURCES / "order").read_text().split()
    files = sorted(SOURCES.glob("*.v"))
    if sorted(order) != [file.stem for file in files]:
        failed.append("lib/check/coq/order does not have the files that are there")
    for file in files:
        failed += [f"{file.name}: {word}" for word in gaps(file.read_text())]
    for planted in ("Axiom a : False.", "Lemma a : False. Proof. Admitted.", "Parameter a : False.", "Variable a : nat.",
                    "Section A.\nEnd A.\nHypothesis a : False.", "Lemma a : False. admit. Qed."):
        if not gaps(planted):
            failed.append(f"not seen: {planted!r}")
    if gaps("(* no Axiom (* Admitted *) *) Section A.\nVariable n : nat.\nEnd A."):
        failed.append("a comment or a section counts as a gap")
    printed = Path(sys.argv[1]).read_text()
    if printed != (HERE / "assumptions.txt").read_text():
        failed.append(f"the theorems' assumptions are not those of tests/verified/assumptions.txt:\n{printed}")
    print("\n".join(failed) or f"{len(files)} files without a gap")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
