"""What `clarke-check --values` prints of the nodes of small models, beside what numpy gives (data/shown-*.shown, by make_cases.py).

    python3 tests/check/shown.py CLARKE-CHECK
"""

import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"


def values_of(checker, name):
    """{node: its line}"""
    done = subprocess.run([checker, "--values", DATA / f"{name}.onnx", DATA / f"{name}.npz"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: status {done.returncode}: {done.stderr}")
    return {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("value ")}


def main():
    wrong, lines = [], 0
    for file in sorted(DATA.glob("*.shown")):
        given = values_of(sys.argv[1], file.stem)
        for line in file.read_text().splitlines():
            lines += 1
            got = given.get(line.split()[1])
            if got != line:
                wrong.append(f"{file.stem}: '{got}', expected '{line}'")
    print("\n".join(wrong + [f"{lines} lines, {len(wrong)} wrong"]))
    sys.exit(bool(wrong) or lines < 18)


if __name__ == "__main__":
    main()
