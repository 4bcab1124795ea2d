"""Proofs kept as edits are what they were, byte for byte; an edit that does not fit its base fails (edits.py).

    python3 tests/check/test_edits.py
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import edits

WRONG = []


def expect(holds, what):
    if not holds:
        WRONG.append(what)


def drawn(draw, lines):
    """Others: some taken away, doubled, changed, moved."""
    made = []
    for line in lines:
        made += draw.choice([[line], [line], [line], [], [line, line], [draw.choice(["", "leaf", "u 0 1", "== a", "1- b", "é\r", " x "])]])
    return made or [""]


def there_and_back(draw):
    for _ in range(500):
        base = drawn(draw, ["clarke-proof 1", "verdict in-clarke", "u 0 1", "u 0 1", "leaf", "dead 2", "leaf", ""])
        other = drawn(draw, base)
        expect(edits.edited(base, edits.edits_between(base, other)) == other, f"{base} and {other}")


def folded(folder, draw):
    """A folder of proofs, kept as edits: fewer files, the same proofs; all of them are written."""
    base, names = ["clarke-proof 1", *(f"u {i} 1" for i in range(9)), "é\r", ""], [f"a-{i}.proof" for i in range(20)] + ["b.proof", "a.proof"]
    texts = {name: edits.sealed(base[:8] + drawn(draw, base[8:])) for name in names}
    texts |= {"b.proof": edits.sealed(base), "a-7.proof": "end nowhere", "a-8.proof": edits.sealed(base)[:-1], "a-9.proof": edits.sealed(base) + "\n"}
    for name, text in texts.items():
        edits.write(folder / name, text)
    edits.fold(folder, names)
    whole = {file.name for file in folder.glob("*.proof")}
    expect({"a-0.proof", "b.proof", "a-7.proof", "a-8.proof", "a-9.proof"} <= whole and len(whole) < len(names) - 5, f"kept whole: {whole}")
    expect(edits.stored(folder) == texts, "other proofs than were kept")
    (folder / "to").mkdir()
    (folder / "to" / "old.proof").write_text("")
    subprocess.run([sys.executable, edits.__file__, folder, folder / "to", folder / "stamp", folder / "needs"], check=True)
    expect({file.name: edits.read(file) for file in (folder / "to").iterdir()} == texts, "other proofs than were kept are written")
    needs = (folder / "needs").read_text().split()
    expect(needs[0] == f"{folder / 'stamp'}:" and {str(folder), *(str(folder / name) for name in whole)} < {*needs[1:]}, f"made of {needs}")


def refused(folder):
    """What fits no base is not guessed."""
    base, right = edits.sealed(["clarke-proof 1", "touched 1", "leaf"]), edits.hash_of(edits.sealed(["clarke-proof 1", "touched 3", "leaf"]))
    short = edits.hash_of(edits.sealed(["clarke-proof 1", "touched 1"]))
    edits.write(folder / "a.proof", base)
    edits.write(folder / "a.edits", f"== b.proof {right}\n2- touched 1\n2+ touched 3\n")
    expect(edits.stored(folder)["b.proof"] == edits.sealed(["clarke-proof 1", "touched 3", "leaf"]), "the right hash is refused")
    for says, text, other in [
            ("a.edits: b.proof: '2- touched 2' does not fit the base, which has 'touched 1' there", "== b.proof\n2- touched 2\n2+ touched 3\n", base),
            ("does not fit the base", "== b.proof\n2= touched\n2+ touched 3\n", base),
            ("does not fit the base", "== b.proof\n3= leaf \n3+ leaf\n", base),
            ("the base has only 3 lines", "== b.proof\n4- end\n", base),
            ("is not behind line 2", "== b.proof\n2- touched 1\n2- touched 1\n", base),
            ("is not behind line 3", "== b.proof\n3- leaf\n2- touched 1\n", base),
            ("comes after no line 2", "== b.proof\n2+ touched 3\n", base),
            ("comes after no line 2", "== b.proof\n3- leaf\n2+ touched 3\n", base),
            ("is no edit", "== b.proof\n2 touched 1\n", base), ("is no edit", "== b.proof\n0= x\n", base), ("is no edit", "== b.proof\n\n", base),
            ("a.proof is there more than once", f"== a.proof {short}\n3- leaf\n", base),
            ("b.proof is there", f"== b.proof {short}\n3- leaf\n== b.proof {edits.hash_of(base)}\n", base),
            ("does not end in its hash", "== b.proof\n3- leaf\n", base.replace("touched 1", "touched 2")),
            ("b.proof: the proof has the hash", f"== b.proof {right}\n2- touched 1\n2+ touched 2\n", base),
            ("b.proof: the proof has the hash", f"== b.proof {right[:-1]}\n2- touched 1\n2+ touched 3\n", base),
            ("b.proof: the proof has the hash", "== b.proof\n2- touched 1\n2+ touched 3\n", base),
            ("does not begin with a line '== NAME'", "3- leaf\n== b.proof\n", base)]:
        edits.write(folder / "a.proof", other)
        edits.write(folder / "a.edits", text)
        try:
            edits.stored(folder)
            WRONG.append(f"not refused: {text!r}, expected: {says}")
        except SystemExit as wrong:
            expect(says in str(wrong), f"{wrong}, expected: {says}")


def main():
    draw = random.Random(3)
    there_and_back(draw)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        folded(Path(one), draw)
        refused(Path(other))
    print("\n".join(WRONG) or "all as expected")
    sys.exit(bool(WRONG))


if __name__ == "__main__":
    main()
