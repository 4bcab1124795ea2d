"""Proofs that are kept as edits of another one: data/NAME.edits has those that differ from data/NAME.proof in a few lines.

    python3 tests/check/edits.py FOLDER TO STAMP DEPFILE

writes all proofs of FOLDER into TO, those kept whole and those kept as edits, and what they were made of into DEPFILE. In a file of
edits,

    == abs-lambda.proof 81d4e5f20a67b93c
    8- loss sum
    8+ loss mse
    12= cell ad
    12+ directions 0

is one proof: line 8 of the base is another one, and after line 12 there is one more. What `-` takes away and what `=` keeps must stand
there, so that an edit which no longer fits its base fails. The last line, `end` and the hash of those before it, is made anew; it must
begin as the number behind the name does, so that no byte of a proof may change unseen.
"""

import atexit
import difflib
import hashlib
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOLD = 16  # digits of the hash that are kept
LARGEST = 0.6  # of a proof, its edits: where they are longer, it is kept whole
EDIT = re.compile(r"([1-9][0-9]*)([-=+])(?: (.*))?", re.S)


def read(file):
    return file.read_bytes().decode(errors="surrogateescape")


def write(file, text):
    file.write_bytes(text.encode(errors="surrogateescape"))


def sealed(lines):
    """The proof of these lines."""
    body = "".join(line + "\n" for line in lines)
    return body + f"end {hashlib.sha256(body.encode(errors='surrogateescape')).hexdigest()}\n"


def hash_of(text):
    """The first digits of a proof's last line."""
    return text[-65:-65 + TOLD]


def body_of(text):
    """The lines of a proof but the last, which is their hash; None where it is another."""
    lines = text.split("\n")[:-2]
    return lines if sealed(lines) == text else None


def edited(base, edits):
    """The lines of a base after edits, each `NUMBER SIGN TEXT` as above, in the order of the lines."""
    made, at, placed = [], 0, None
    for edit in edits:
        parts = EDIT.fullmatch(edit)
        if parts is None:
            raise ValueError(f"'{edit}' is no edit; NUMBER and one of -, =, + are expected")
        number, sign, text = int(parts[1]), parts[2], parts[3] or ""
        if sign == "+":
            if number != placed:
                raise ValueError(f"'{edit}' comes after no line {number} that is kept or taken away")
            made.append(text)
            continue
        if not at < number <= len(base):
            raise ValueError(f"'{edit}' is not behind line {at}, or the base has only {len(base)} lines")
        if base[number - 1] != text:
            raise ValueError(f"'{edit}' does not fit the base, which has '{base[number - 1]}' there")
        made += base[at:number if sign == "=" else number - 1]
        at = placed = number
    return made + base[at:]


def edits_between(base, other):
    """The edits that make one proof's lines of another's."""
    found = []
    for kind, begin, end, first, last in difflib.SequenceMatcher(None, base, other, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        taken, put = base[begin:end], other[first:last]
        if kind == "insert" and begin == 0:
            end, taken, put = 1, base[:1], put + base[:1]
        found += [f"{begin + i + 1}- {line}" for i, line in enumerate(taken)] or [f"{begin}= {base[begin - 1]}"]
        found += [f"{end}+ {line}" for line in put]
    return found


def proofs_of(file):
    """(Name, text) of the proofs that a file of edits has."""
    base = body_of(read(file.with_suffix(".proof")))
    if base is None:
        raise SystemExit(f"{file}: its base does not end in its hash")
    before, *parts = re.split(r"^== ", read(file), flags=re.M)
    if before:
        raise SystemExit(f"{file} does not begin with a line '== NAME'")
    for part in parts:
        head, *edits = part.removesuffix("\n").split("\n")
        name, _, told = head.partition(" ")
        try:
            text = sealed(edited(base, edits))
        except ValueError as wrong:
            raise SystemExit(f"{file}: {name}: {wrong}") from None
        if hash_of(text) != told:
            raise SystemExit(f"{file}: {name}: the proof has the hash {hash_of(text)}, not '{told}': it or its base was changed")
        yield name, text


def stored(folder):
    """{Name: text} of all proofs of a folder."""
    whole = [(file.name, read(file)) for file in sorted(folder.glob("*.proof"))]
    kept = [proof for file in sorted(folder.glob("*.edits")) for proof in proofs_of(file)]
    twice = [name for name, n in Counter(name for name, _ in whole + kept).items() if n > 1]
    if twice:
        raise SystemExit(f"{folder}: {', '.join(twice)} is there more than once")
    return dict(whole + kept)


def expanded(folder):
    """A new folder of all proofs of one, which goes when the program ends."""
    to = Path(tempfile.mkdtemp(prefix="clarke-proofs-"))
    atexit.register(shutil.rmtree, to)
    for name, text in stored(folder).items():
        write(to / name, text)
    return to


def fold(folder, names):
    """Keeps proofs that differ in little from one before them, of the names that begin with the same word, as its edits."""
    for file in folder.glob("*.edits"):
        file.unlink()
    bases, kept = {}, {}
    for name in names:
        text = read(folder / name)
        lines, family = body_of(text), bases.setdefault(re.split("[-.]", name)[0], {})
        if lines is None:
            continue
        ways = [("".join(edit + "\n" for edit in edits_between(base, lines)), other) for other, base in family.items()]
        edits, base = min(ways, key=lambda way: len(way[0]), default=("", None))
        if base is None or len(edits) > LARGEST * len(text):
            family[name] = lines
        else:
            kept[base] = kept.get(base, "") + f"== {name} {hash_of(text)}\n{edits}"
            (folder / name).unlink()
    for base, edits in kept.items():
        write((folder / base).with_suffix(".edits"), edits)


def main():
    folder, to, stamp, needs = map(Path, sys.argv[1:])
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name, text in stored(folder).items():
        write(to / name, text)
    sources = [folder, *sorted(folder.glob("*.proof")), *sorted(folder.glob("*.edits"))]
    needs.write_text(f"{stamp}: {' '.join(str(file).replace(' ', chr(92) + ' ') for file in sources)}\n")
    stamp.touch()


if __name__ == "__main__":
    main()
