"""What `clarke-check --values` says of some hundred small models, each to the letter: the values of its nodes, or why it is refused.

    python3 tests/check/models.py CLARKE-CHECK [--write]

models.tar.xz holds the models and batches: of ONNX's tests of nodes, such with one attribute, input, shape or operator set changed, and
drawn ones (tests/interop). They were chosen so that each takes a way through the readers of operators that those before do not take.
models.txt holds what is said. Whether it is what others compute is asked by tests/interop/kept_models.py; after --write, too.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from draw import ONE_IN  # noqa: E402

HERE = Path(__file__).parent
SAID = HERE / "models.txt"
SECTION = "\n== "


def unpacked(folder):
    """The names of the models, in order; the files lie in the folder."""
    with tarfile.open(HERE / "models.tar.xz") as archive:
        archive.extractall(folder)
    return sorted((path.stem for path in Path(folder).glob("*.onnx")), key=lambda name: (int(name.split("-")[0]), name))


def said(checker, folder, names):
    """{name: what is printed of it}"""
    pairs = [file for name in names for file in (f"{name}.onnx", f"{name}.npy")]
    done = subprocess.run([checker, "--values", *pairs], cwd=folder, capture_output=True, text=True, check=False)
    refusals, answers, at = iter(done.stderr.splitlines()), {}, iter(names)
    for line in done.stdout.splitlines():
        if line == "model" or line.startswith("refused"):
            name = next(at)
            answers[name] = [] if line == "model" else [next(refusals, "refused, and no reason is given")]
        if line.startswith("refused"):
            continue
        if line != "model":
            answers[name].append(line)
    return {name: "\n".join(lines) for name, lines in answers.items()}


def kept():
    """{name: what is said of it}, by models.txt."""
    sections = ("\n" + SAID.read_text()).split(SECTION)[1:]
    return {name: text.rstrip("\n") for name, _, text in (section.partition("\n") for section in sections)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        names = unpacked(folder)[:: 1 if "--write" in sys.argv else ONE_IN]
        answers = said(Path(sys.argv[1]).resolve(), folder, names)
    if "--write" in sys.argv:
        SAID.write_text("".join(f"== {name}\n{text}\n" for name, text in answers.items()))
        return
    expected = kept()
    wrong = [name for name in names if answers.get(name) != expected.get(name)]
    for name in wrong[:10]:
        print(f"{name}: said\n{answers.get(name)}\nexpected\n{expected.get(name)}")
    print(f"{len(names)} models, {len(wrong)} wrong")
    sys.exit(bool(wrong) or len(names) * ONE_IN < 600)


if __name__ == "__main__":
    main()
