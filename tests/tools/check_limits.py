#!/usr/bin/env python3
"""What clarke writes, clarke-check reads, or the command that wrote it has said with which option it does.

    check_limits.py CLARKE CLARKE-CHECK memory|gradients CASES
"""
import json
import os
import sys
import tempfile

from expect import expect, finish, said

CLARKE, CHECK, LIMIT, CASES = sys.argv[1:]
# Many instructions with a gradient in many entries; few instructions of many arguments.
PROGRAMS = {
    "memory": (1700, lambda n: "output sum(relu(x))\n"),
    "gradients": (200, lambda n: "".join(f"let y{k} = relu(sum(x))\n" for k in range(900)) + "output " + " + ".join(f"y{k}" for k in range(900)) + "\n"),
}


def derived(folder, n, body, *options):
    """The program's proof; standard error and the report of writing it."""
    program, proof = (os.path.join(folder, name) for name in ("f.prog", "f.proof"))
    with open(program, "w", encoding="utf-8") as f:
        f.write(f"input x[{n}]\n" + body(n))
    at = "x=" + ",".join(str(k + 1) for k in range(n))
    status, out, err = said(CLARKE, "derive", program, "--at", at, "--proof", proof, "--json", *options)
    expect(status == 0, f"{n} entries, derived: {out[:200]}{err[:200]}")
    return proof, err, json.loads(out)


with tempfile.TemporaryDirectory() as folder:
    n, body = PROGRAMS[LIMIT]
    proof, err, report = derived(folder, n, body)
    told = report.get("check_limits", [])
    expect([t["limit"] for t in told] == [LIMIT], f"foreseen: {told}")
    option = told[0]["option"]
    expect(option in err and f"--limit {LIMIT}=" in option, f"standard error has {option}: {err[:300]}")
    status, out, err = said(CHECK, proof)
    expect(status == 2 and f"the limit is {told[0]['default']} (--limit {LIMIT}=N raises it)" in out + err,
           f"by the defaults it is refused, by the default that was told: {(out + err)[-300:]}")
    status, out, err = said(CHECK, proof, *option.split())
    expect(status == 0 and out.startswith("VERIFIED\n"), f"with {option}: {out[-300:]}{err[-300:]}")

    # Within the defaults nothing is said; of a limit that clarke was given, that the checker may need it too.
    proof, err, report = derived(folder, 20, body)
    expect(err == "" and "check_limits" not in report, f"a small one: {err[:300]}{report.get('check_limits')}")
    proof, err, report = derived(folder, 20, body, "--limit", "bits=200000")
    expect("--limit bits=200000" in err and report["check_limits"][0]["default"] == 1 << 17, f"a limit that was given: {err[:300]}")
    proof, err, report = derived(folder, 20, body, "--limit", "bits=100000")
    expect(err == "" and "check_limits" not in report, f"a lower limit that was given: {err[:300]}")
    # Audits and certificates tell it in their JSON, too; of the defaults nothing.
    for command, asked in (("audit", ["audit/lemma2.onnx", "--batch", "audit/lemma2.npz"]), ("audit", ["runs/lemma2"]), ("certify", ["runs/lemma2"])):
        asked = [os.path.join(CASES, a) if "/" in a else a for a in asked]
        for options, limits in ((["--limit", "nodes=3000"], [("nodes", 3000, 2048)]), ([], [])):
            _, out, err = said(CLARKE, command, *asked, "--proof", os.path.join(folder, "f.proof"), "--json", *options)
            told = [(t["limit"], t["needs"], t["default"]) for t in json.loads(out).get("check_limits", [])]
            expect(told == limits and ("--limit nodes=3000" in err) == bool(limits), f"{command} {asked} {options}: {told} {err[:200]}")
finish()
