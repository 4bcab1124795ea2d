#!/usr/bin/env python3
"""Every kind of report is what docs/schema says, and a report that is broken is not.

    schemas.py CLARKE ROOT
"""
import copy
import glob
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish, said  # noqa: E402
from schema import faults, schema_of  # noqa: E402

CLARKE, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
AUDIT, RUNS, V100 = f"{ROOT}/cases/audit", f"{ROOT}/cases/runs", f"{ROOT}/proofs-data/gpu/published/V100"
LEMMA, LENET = ([f"{AUDIT}/lemma2.onnx", "--batch", f"{AUDIT}/lemma2.npz", "--loss", "sum"], [f"{AUDIT}/lenet.onnx", "--batch", f"{AUDIT}/images.npz"])
ASKED = [
    ["audit", *LEMMA, "--touched", "--nearest", "2", "-v", "--ranks"], ["audit", *LENET, "--gradient", "g.safetensors"], ["audit", *LENET, "--timeout", "0"],
    ["audit", f"{AUDIT}/digits-relu.onnx", "--batch", f"{AUDIT}/digits.npz", "--params", f"{AUDIT}/digits-relu-later.safetensors", "none.pt"],
    ["audit", "none.onnx", "--batch", "none.npz"], ["audit", f"{RUNS}/small", "--timeout", "0"],
    ["certify", "none"], ["certify", "--mma", V100], ["certify", "--mma", V100, "--timeout", "0", "-v"], ["certify", f"{RUNS}/small", "--timeout", "0"],
    ["certify", f"{RUNS}/small", "--against", f"{RUNS}/small-plain"], ["certify", f"{RUNS}/own-side", "--against", f"{RUNS}/own-side-float64", "-v"],
    ["derive", "none.prog", "--at", "x=0"], ["derive", f"{ROOT}/cases/papers/bolte-zero.prog", "--sweep", "t=-1:1:1/4", "--float", "all"],
    ["derive", f"{ROOT}/cases/papers/bolte-zero.prog", "--at", "t=0", "--float", "all", "-v"],
    ["derive", f"{ROOT}/cases/papers/bolte-zero.prog", "--at", "t=0", "--timeout", "0"], ["derive", f"{AUDIT}/lemma2.onnx", "--at", f"{AUDIT}/lemma2.npz", "--wrt", "w"],
    ["derive", f"{ROOT}/cases/directions/lexicographic.prog", "--at", "x=0", "--at", "y=0", "--direction", "1,1", "--direction", "x=1"],
    ["derive", f"{AUDIT}/lemma2.onnx", "--at", f"{AUDIT}/lemma2.npz", "--wrt", "w", "--direction", "1"],
    *[[command, "nonesuch", *more] for command, more in (("cost", []), ("step", ["--state", "none", "--gradient", "none"]), ("patterns", ["--at", "1"]), ("encode", []), ("diff", ["jax-0.10"]),
                                                         ("check-point", ["--property", "p", "--at", "1"]), ("reproduce", ["--cases", "none"]))],
    ["cost", f"{ROOT}/cases/directions/lexicographic.prog", "--at", "x=1", "--at", "y=0"], ["cost", LEMMA[0]], ["cost", f"{RUNS}/small"], ["cost", "--table", "2.2"], ["cost", "--matrices", "4"], ["step", "list"], ["step", f"{ROOT}/cases/steps/run"],
    ["patterns", f"{ROOT}/cases/regions/bump.prog", "--at", "0,0"], ["patterns", f"{ROOT}/cases/regions/bump.prog", "--box", f"{ROOT}/cases/regions/square.txt", "--grid", "bfloat16"], ["patterns", f"{ROOT}/cases/regions/bump.prog", "--line", "-2,-2", "2,2"],
    ["patterns", "--arrangement", f"{ROOT}/cases/arrangements/braid.txt"], ["encode", f"{ROOT}/cases/encode/example4.cnf", "--decide"],
    ["encode", f"{ROOT}/cases/encode/example4.cnf", "--decode", "x=1/3,2,-1,0,0,-3"], ["reproduce", "P-L2*", "--cases", f"{ROOT}/cases/papers"],
    ["diff", "pytorch-2.13", "jax-0.10"], ["profile", "list"], ["profile", "show", "jax-0.10"], ["profile", "diff", "jax-0.10", "tensorflow-2"]]


def kept():
    """The reports that the tests keep."""
    counts = {"audit": 0, "derive": 0}
    with open(f"{ROOT}/tests/audit/reports.jsonl", encoding="utf-8") as f:
        for line in f:
            report = json.loads(line)
            command = "derive" if "input " in report["case"] else "audit"
            if isinstance(report["report"], dict):
                counts[command] += 1
                found = faults(command, report["report"])
                expect(not found, f"{report['case']}: {found}")
    expect(min(counts.values()) > 200, counts)


def asked():
    answers = []  # a sweep's is a list
    for command, *options in [*ASKED, *(["audit", run, "--touched"] for run in sorted(glob.glob(f"{RUNS}/*"))),
                              *(["certify", run, "--nodes"] for run in sorted(glob.glob(f"{RUNS}/*")))]:
        status, out, error = said(CLARKE, command, *options, "--json")
        answer = json.loads(out)
        found = faults(command, answer)
        expect(not found, f"{command} {options}: {status} {found} {error}")
        expect((list(answer) == ["error"] if isinstance(answer, dict) else False) == (status == 2 and "checkpoints" not in answer), f"{command} {options}: {status}")
        answers.append((command, answer))
    return answers


MISASKED = [["--frob"], [], ["/nope/a.onnx"], ["/nope/a.prog", "--at", "x=1"], ["/nope/a", "/nope/b"], ["--limit", "x=3"], ["/nope/run", "--timeout"], ["a\nb"]]


def misasked():
    """A command line that is wrong, and files that are not there: what standard error says stands in an object, whatever the command."""
    commands = [line.split()[0] for line in said(CLARKE, "--help")[1].split("Commands:\n")[1].split("\n\n")[0].splitlines()]
    expect(len(commands) > 15, commands)
    for command in [*commands, "nonesuch"]:
        for words in MISASKED:
            for json_at in (["--json", *words], [*words, "-j"]) if words[-1:] != ["--timeout"] else (["--json", *words],):
                status, out, error = said(CLARKE, command, *json_at)
                if words == [] and status == 0:
                    continue  # it needs no arguments
                answer = json.loads(out) if out else None
                expect(status == 2 and isinstance(answer, dict) and list(answer) == ["error"], f"{command} {json_at}: {status} {out!r} {error}")
                expect(answer and answer["error"] in error and "\n" not in answer["error"] and not answer["error"].startswith("clarke"), f"{command} {json_at}: {answer} {error}")
                schema = {"merge": "sweep"}.get(command, command)
                found = faults(schema, answer) if os.path.isfile(f"{ROOT}/docs/schema/{schema}.json") else []
                expect(not found, f"{command} {json_at}: {found}")
    for words in (["--help", "--json"], ["audit", "--json", "--help"], ["audit", "--json", "--usage"]):
        status, out, _ = said("/usr/bin/env", CLARKE, *words)
        expect(status == 0 and out.startswith("Usage") and "error" not in out.lower().split("\n")[0], words)
    expect(said(CLARKE, "audit", "--frob")[1] == "" and said(CLARKE, "audit", "--frob", "--", "--json")[1] == "", "an object that nobody asked for")


def places(value, at=()):
    """Where something may be broken: what is not in a list's second half or deeper than a report goes."""
    yield at, value
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ():
        yield from places(entry, (*at, key))


def broken(answers):
    """A key that is gone, has another type, or another name: each is seen."""
    draw, seen = random.Random(5), 0
    for command, answer in answers:
        found = [(at, value) for at, value in places(answer) if at and isinstance(at[-1], str)]
        for at, value in draw.sample(found, min(8, len(found))):
            other = copy.deepcopy(answer)
            inside = other
            for key in at[:-1]:
                inside = inside[key]
            inside[at[-1]] = {"no": "such"} if not isinstance(value, dict) else 7
            expect(faults(command, other) or free(command, at), f"{command} {at}: another type is not seen")
            inside["a_new_key"] = inside.pop(at[-1])
            expect(faults(command, other) or free(command, at), f"{command} {at}: another key is not seen")
            seen += 1
    expect(seen > 200, f"{seen} broken")


def free(command, at):
    """Of these the keys are names: of inputs, of a profile's rows, of limits."""
    return (command, at[0]) in {("derive", "at"), ("profile", "takes"), ("derive", "check_limits")} or "terms" in at


def main():
    for name in sorted(os.listdir(f"{ROOT}/docs/schema")):
        expect(schema_of(name.removesuffix(".json"))["$id"] == name, name)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kept()
        misasked()
        broken(asked())
        os.chdir("/")
    finish()


main()
