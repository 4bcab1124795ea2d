"""The whole of run.json is JSON, or no proof that speaks of it is verified; what lies beside the keys that are read may say anything.

    tests/check/run_json.py CLARKE-CHECK

Values are put beside these keys: those that JSON has, and those that it has not. Then drawn bytes of the file become others: where the
proof is verified, Python must read the file, and find there what the proof says.
"""

import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from draw import draw_count  # noqa: E402

CHECK = Path(sys.argv[1]).resolve()
PROOF = (ROOT / "proofs-data/runs/factors.proof").read_text()
GOOD = ["0", "-0", "-12.50e+3", "1E-7", "2e9", "true", "false", "null", "[]", "{}", "[ ]", '{ "" : [1 , {"a":"","b":[]}]}', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"',
        '"\\ud83d\\ude00 \\uD83D\\uDE00 {[\\"}"', '"é€😀"', '{"\\u03b2": 1, "\\u03b3": 2, "a": 3}', "[" * 90 + "]" * 90]
BAD = ["", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "-Infinity", "tru", "nul", "True", "nulll", "[1 2]", "[1,]", "[,]", "[1", "]", '{"a" 1}', '{"a":}',
       '{"a":1,}', "{,}", "{1:2}", "{a:1}", "[}", "{]", '"', "'a'", '"a\nb"', '"\\x41"', '"\\u12"', '"\\u12g4"', '"\\ud800"', '"\\ude00"', '"\\ud83d\\u0041"', '"\\u0000"',
       '"\\', '1 "a"', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"é":1,"\\u00e9":2}', '{"😀":1,"\\ud83d\\ude00":2}', '{"€":1,"\\u20AC":2}', '{"/":1,"\\/":2}', "/**/1", "1//", "\v1",
       "[" * 200 + "]" * 200, b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"']
failures = []


def expect(what, good, *more):
    if not good:
        failures.append(what)
        print("FAILED:", what, *more)


def verified(folder, run):
    """Is the proof, when run.json has these bytes?"""
    (folder / "run.json").write_bytes(run)
    body = re.sub(r"(?m)^(gradients .*)$", r"\1\nrun run.json " + hashlib.sha256(run).hexdigest() + r"\nfactors conv 1/256", PROOF[:PROOF.rindex("end ")])
    (folder / "a.proof").write_text(body + "end " + hashlib.sha256(body.encode()).hexdigest() + "\n")
    done = subprocess.run([CHECK, folder / "a.proof", "--data", folder], capture_output=True, text=True, timeout=60)
    expect("it ends by itself", done.returncode in (0, 1, 2), run, done.stderr)
    return done.returncode == 0 and done.stdout.startswith("VERIFIED\n")


def read(run):
    """What the file says of device and factors; None: it is no JSON, or has a key twice."""
    def pairs(all):
        if len(dict(all)) < len(all):
            raise ValueError
        return dict(all)

    def none(_):
        raise ValueError

    try:
        j = json.loads(run.decode(), object_pairs_hook=pairs, parse_constant=none)
        json.dumps(j, ensure_ascii=False).encode()  # no halves of characters
        return j["device"]["type"], j["flags"]["precision"]["cpu"]["conv"]
    except (ValueError, KeyError, TypeError):
        return None


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        shutil.copytree(ROOT / "cases/runs/factors", folder)
        told = json.loads((folder / "run.json").read_text())
        told["flags"]["precision"] = {"cpu": {"conv": "bf16", "matmul": "ieee"}}  # of convolutions, which it has none of
        run = json.dumps(told, indent=1).replace('"steps": [\n', '"steps": [').encode()
        says = read(run)
        expect("the run itself", says is not None and verified(folder, run))
        for values, good in (GOOD, True), (BAD, False):
            for value in values:
                value = value if isinstance(value, bytes) else value.encode()
                for changed in run.replace(b"{", b'{"more": ' + value + b",", 1), run.replace(b'"steps": [', b'"steps": [' + value + b",", 1):
                    expect(f"{value} is {'' if good else 'no '}JSON", changed != run and verified(folder, changed) == good)
        expect("more behind it", not verified(folder, run + b"{}") and not verified(folder, run[:-2]) and verified(folder, run + b" \r\n\t"))
        draw = random.Random(12)
        for _ in range(draw_count(300)):
            at, by = draw.randrange(len(run)), draw.choice([b"", bytes([draw.randrange(256)]), draw.choice([b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"0"])])
            changed = run[:at] + by + run[at + draw.randint(0, 1):]
            if verified(folder, changed):
                expect(f"byte {at} as {by}", read(changed) == says, changed[max(at - 40, 0):at + 40])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
