#!/usr/bin/env python3
"""What continuous integration asks of audit, derive and certify: SARIF, JUnit's XML, baselines and exit statuses.

    ci.py CLARKE CASES RUNS

Each answer is asked for as JSON, too, and what the files count is counted there. No option but --fail-on, --baseline and --exit-zero may change the
exit status, and none what is printed.
"""
import json
import os
import shutil
import struct
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile
from collections import Counter
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import records  # noqa: E402
from expect import expect, finish, said  # noqa: E402

CLARKE, CASES, RUNS = (os.path.abspath(a) for a in sys.argv[1:4])
RULES = ["not-in-clarke", "refuted", "undecided", "not-known", "in-clarke", "turned", "touched"]
LEVELS = {"not-in-clarke": "error", "refuted": "error", "undecided": "warning", "not-known": "warning", "in-clarke": "note", "turned": "warning",
          "touched": "note"}
HALF = "input t\noutput relu{1/2}(t)\n"  # AD's 1/2 is between 0 and 1
TWICE = "input t\noutput relu{1/2}(t) + abs(t - 1)\n"


def case(name, loss="sum"):
    return ["audit", f"{CASES}/{name}.onnx", "--batch", f"{CASES}/{name}.npz", "--loss", loss]


def later(*files):
    return ["audit", f"{CASES}/digits-relu.onnx", "--batch", f"{CASES}/digits.npz", "--params", *files]


# Commands, and the exit status of each.
ASKED = [(case("lemma2"), 1), (case("lemma2") + ["--timeout", "0"], 3), (["derive", "half.prog", "--at", "t=0"], 0),
         (["derive", "half.prog", "--at", "t=1"], 0), (["derive", f"{CASES}/../papers/bolte-zero.prog", "--at", "t=0"], 1),
         (["derive", f"{CASES}/lemma2.onnx", "--at", f"{CASES}/lemma2.npz", "--wrt", "w"], 1),
         (later(f"{CASES}/digits-relu-later.safetensors", f"{CASES}/digits-relu-later.safetensors"), 0),
         (later(f"{CASES}/digits-relu-later.safetensors", "none.npz"), 2), (case("lemma2") + ["--params", "zero.npz", "again.npz"], 1),
         (["audit", f"{RUNS}/small"], 0), (["audit", f"{RUNS}/turned"], 0), (["audit", f"{RUNS}/parted"], 3), (["audit", f"{RUNS}/small-light"], 0),
         (["certify", f"{RUNS}/small"], 0), (["certify", f"{RUNS}/small-light"], 3), (["certify", f"{RUNS}/parted"], 0),
         (["certify", f"{RUNS}/small", "--against", f"{RUNS}/small-plain"], 0), (["certify", f"{RUNS}/small", "--timeout", "0"], 3),
         (["certify", "edited"], 1), (["audit", "edited"], 2), (["certify", "--mma", f"{RUNS}/../../proofs-data/gpu/published/V100"], 0),
         (["certify", "--mma", "gpu"], 1)]


def ask(question, *options):
    return said(CLARKE, *question, *options)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path) as f:
        return f.read()


def written(question, *options):
    """Status, printed, SARIF's run, the JUnit suite: and whether they are what they must be."""
    status, out, err = ask(question, "--sarif", "s.sarif", "--junit", "j.xml", *options)
    run, suite = json.loads(read("s.sarif")), xml.fromstring(read("j.xml"))
    check_sarif(question, run, status)
    check_junit(question, suite, status)
    return status, out, err, run["runs"][0], suite[0]


def check_sarif(question, whole, status):
    """SARIF 2.1.0, as far as it is used here; and what code hosts ask for beyond it."""
    expect(set(whole) == {"$schema", "version", "runs"} and whole["version"] == "2.1.0" and len(whole["runs"]) == 1, f"{question}: {whole.keys()}")
    run = whole["runs"][0]
    driver = run["tool"]["driver"]
    expect(driver["name"] == "clarke" and [r["id"] for r in driver["rules"]] == RULES, f"{question}: {driver}")
    for rule in driver["rules"]:
        expect(all(rule[k]["text"] for k in ("shortDescription", "fullDescription", "help")), rule)
        expect(rule["defaultConfiguration"] == {"level": LEVELS[rule["id"]]}, rule)
    (invocation,) = run["invocations"]
    expect(invocation["exitCode"] == status and invocation["executionSuccessful"] == (status != 2), f"{question}: {invocation}")
    for result in run["results"]:
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        expect(uri and " " not in uri and (uri.startswith("file:///") or ":" not in uri), f"{question}: {uri}")
        expect(os.path.exists(unquote(uri.removeprefix("file://"))), f"{question}: no file {uri}")
        expect(place["physicalLocation"]["region"]["startLine"] >= 1, f"{question}: {place}")
        expect(RULES[result["ruleIndex"]] == result["ruleId"] and result["level"] == LEVELS[result["ruleId"]], f"{question}: {result}")
        expect(result["message"]["text"] and result["occurrenceCount"] >= 1, f"{question}: {result}")
        expect(set(result["partialFingerprints"]) == {"clarke/v1", "primaryLocationLineHash"}, f"{question}: {result}")
    prints = [r["partialFingerprints"]["clarke/v1"] for r in run["results"]]
    hashes = {r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]}
    expect(len(set(prints)) == len(hashes), f"{question}: {len(set(prints))} fingerprints, {len(hashes)} hashes")


def check_junit(question, whole, status):
    suite = whole[0]
    expect(whole.tag == "testsuites" and len(whole) == 1 and suite.tag == "testsuite" and suite.get("name") == f"clarke {question[0]}", question)
    cases = suite.findall("testcase")
    failures, errors = (len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error"))
    expect(len(cases) == len(suite) == int(suite.get("tests")) > 0, f"{question}: {suite.attrib}")
    expect((failures, errors) == (int(suite.get("failures")), int(suite.get("errors"))), f"{question}: {suite.attrib}")
    expect((errors > 0) == (status == 2) and (failures > 0 or status != 1), f"{question}: {status} with {suite.attrib}")
    expect(status != 0 or failures == 0, f"{question}: 0 with {failures} failures")
    expect(all(c.get("classname") == f"clarke.{question[0]}" and c.get("time") == "0" for c in cases), question)


def found(run):
    return Counter(r["ruleId"] for r in run["results"])


# --- what the files say is what the JSON says ------------------------------------------------------

def answers(report):
    return report.get("checkpoints", [report])


def touched_of(report):
    """How many findings, and kinks."""
    counts = [layer["touched"] for a in answers(report) for layer in a.get("layers", ()) if layer["touched"] > 0]
    for a in answers(report):
        if isinstance(a.get("touched"), list):
            counts += [1] * len(a["touched"])
    return len(counts), sum(counts)


def verdicts_of(report):
    """The rules that the verdicts of a report stand for, but for in-bouligand."""
    count = Counter()
    for a in answers(report):
        gradient = a.get("gradient", {})
        said = (gradient.get("turned") or {}).get("recorded", a)
        if "layers" in a or "zone" in a:
            count[said["verdict"]] += gradient.get("answer") != "refuted"
        count["not-known"] += gradient.get("answer") == "not known"
        count["refuted"] += gradient.get("answer") == "refuted"
    return count


def same_counts():
    for question, expected in ASKED:
        plain = ask(question)
        expect(plain[0] == expected, f"{question}: {plain}")
        report = json.loads(ask(question, "--json")[1])
        status, out, err, run, suite = written(question)
        expect((status, out, err) == plain, f"{question}: another answer with files: {status}, {out[:200]} {err}")
        rules = found(run)
        touched = [r for r in run["results"] if r["ruleId"] == "touched"]
        expect((len(touched), sum(r["occurrenceCount"] for r in touched)) == touched_of(report), f"{question}: {touched}, {touched_of(report)}")
        if question[0] != "certify":
            verdicts = verdicts_of(report)
            expect(all(rules[r] == verdicts[r] for r in RULES if r not in ("touched", "turned")), f"{question}: {rules}, {verdicts}")
            turned = (report.get("gradient", {}).get("turned") or {}).get("kinks", [])
            expect(sum(r["occurrenceCount"] for r in run["results"] if r["ruleId"] == "turned" and "logicalLocations" in r["locations"][0])
                   == len(turned), f"{question}: {turned}")
        elif "nodes" in report:
            expect(rules["refuted"] == sum(n["answer"] == "refuted" for n in report["nodes"]), f"{question}: {rules}")
            expect(len(suite) >= len(report["nodes"]), f"{question}: {len(suite)}")
        quiet = ask(question, "--quiet")
        expect(quiet == (plain[0], "", plain[2]), f"{question} --quiet: {quiet}")


# --- exit statuses ---------------------------------------------------------------------------------

def statuses():
    half = ["derive", "half.prog", "--at", "t=0"]
    for question, options, expected in [
            (half, [], 0), (half, ["--fail-on", "in-clarke"], 1), (half, ["--fail-on", "touched"], 1), (half, ["--fail-on", "not-in-clarke,touched"], 1),
            (half, ["--fail-on", "not-in-clarke,undecided,turned,refuted,not-known"], 0), (half, ["--fail-on", "in-clarke", "--exit-zero"], 0),
            (["derive", "half.prog", "--at", "t=1"], ["--fail-on", ",".join(RULES)], 0), (case("lemma2"), ["--exit-zero"], 0),
            (case("lemma2") + ["--timeout", "0"], ["--fail-on", "not-in-clarke"], 3), (case("lemma2") + ["--timeout", "0"], ["--fail-on", "undecided"], 1),
            (case("lemma2") + ["--timeout", "0"], ["--exit-zero"], 0), (case("none"), ["--exit-zero"], 2), (["audit", "edited"], ["--exit-zero"], 2),
            (["audit", f"{RUNS}/turned"], ["--fail-on", "turned"], 0), (["audit", f"{RUNS}/parted"], ["--fail-on", "turned"], 1),
            (["certify", f"{RUNS}/parted"], ["--fail-on", "turned"], 1), (["certify", f"{RUNS}/small-light"], ["--fail-on", "not-known"], 1),
            (["certify", "edited"], ["--exit-zero"], 0)]:
        status, _, err = ask(question, *options)
        expect(status == expected, f"{question} {options}: {status} {err}")
    for names in ("", "in-bouligand", "touched,", ",touched", "touch", "touchedx", "none", "not-asked"):
        status, out, err = ask(half, "--fail-on", names)
        expect(status == 2 and out == "" and ("--fail-on: '" in err or names == ""), f"--fail-on {names}: {status} {err}")
    for options in (["--sweep", "-1:1:1"], ["--print"]):
        expect(ask(["derive", "half.prog"], *options, "--sarif", "no.sarif")[0] == 2 and not os.path.exists("no.sarif"), options)
        expect(ask(["derive", "half.prog"], *options, "--quiet")[0] == 2, options)


# --- baselines -------------------------------------------------------------------------------------

def baselines():
    lemma2 = case("lemma2")
    written(lemma2)
    shutil.copy("s.sarif", "known.sarif")
    known = json.loads(read("known.sarif"))
    status, out, err, run, suite = written(lemma2, "--baseline", "known.sarif", "--fail-on", "touched")
    expect((status, err) == (0, "") and "not-in-clarke: AD's gradient is NOT" in out, f"known: {status} {err} {out}")
    expect([r["baselineState"] for r in run["results"]] == ["unchanged"] * 2, run["results"])
    expect(len(suite.findall("testcase/system-out")) == 2, "known findings are told")
    # what is new fails, and what is no more is told
    edit = json.loads(read("known.sarif"))
    edit["runs"][0]["results"] = [r for r in edit["runs"][0]["results"] if r["ruleId"] == "touched"]
    write("touched.sarif", json.dumps(edit).encode())
    status, _, err, run, _ = written(lemma2, "--baseline", "touched.sarif")
    expect((status, err) == (1, "") and [r["baselineState"] for r in run["results"]] == ["new", "unchanged"], f"new: {status} {err}")
    # more kinks than were known
    edit["runs"][0]["results"][0]["occurrenceCount"] = 1
    write("fewer.sarif", json.dumps(edit).encode())
    status, _, err = ask(lemma2, "--baseline", "fewer.sarif", "--fail-on", "touched", "--quiet")
    expect(status == 1 and err.startswith("baseline: more than was known, 2 in place of 1: layer rho"), f"more: {status} {err}")
    # another profile, another model and another question are other findings
    for other in (lemma2 + ["--profile", "jax-0.10"], ["derive", f"{CASES}/lemma2.onnx", "--at", f"{CASES}/lemma2.npz", "--wrt", "w"], case("lemma7"),
                  lemma2 + ["--params", "zero.npz"]):
        plain, (status, _, err) = ask(other), ask(other, "--baseline", "known.sarif", "--quiet")
        expect(status == plain[0] and err.count("baseline: stale") == 2, f"{other}: {status} {err}")
    # the same file twice: each result is met once
    twice = lemma2 + ["--params", "zero.npz", "zero.npz"]
    written(twice)
    once = json.loads(read("s.sarif"))
    half = once["runs"][0]["results"]
    once["runs"][0]["results"] = half[:len(half) // 2]
    write("once.sarif", json.dumps(once).encode())
    status, _, _, run, _ = written(twice, "--baseline", "once.sarif")
    states = [r["baselineState"] for r in run["results"]]
    expect(states.count("unchanged") == len(half) // 2 and len(states) == len(half) > 0, states)
    # a question that was not asked is never known, and tells nothing of what is stale
    written(case("none"))
    status, _, err = ask(case("none"), "--baseline", "known.sarif")
    expect(status == 2 and "stale" not in err, f"not asked: {status} {err}")
    status, _, err = ask(["audit", "edited"], "--baseline", "known.sarif")
    expect(status == 2, f"refuted: {status} {err}")
    # into the file that it was read from
    status, _, err = ask(lemma2, "--baseline", "known.sarif", "--sarif", "known.sarif", "--quiet")
    again = json.loads(read("known.sarif"))
    for result in again["runs"][0]["results"]:
        del result["baselineState"]
    again["runs"][0]["invocations"][0]["exitCode"] = 1
    expect(status == 0 and again == known, f"onto itself: {status} {err}")
    foreign(lemma2, known)


def foreign(question, known):
    """Files that --sarif did not write."""
    def other(change):
        copy = json.loads(json.dumps(known))
        change(copy["runs"][0])
        return json.dumps(copy)
    for text in ("", "{", "[]", "{}", '{"runs": 3}', '{"runs": []}', '{"runs": [{"results": []}]}', "[" * 100000,
                 other(lambda run: run["tool"]["driver"].update(name="another")), other(lambda run: run.update(results={})),
                 other(lambda run: run["results"][1].pop("partialFingerprints")), other(lambda run: run["results"][1].update(partialFingerprints=[])),
                 other(lambda run: run["results"][0].pop("occurrenceCount")), other(lambda run: run["results"][0].update(occurrenceCount="2")),
                 other(lambda run: run["results"][0].update(occurrenceCount=-1)), other(lambda run: run["results"].append(None))):
        write("foreign.sarif", text.encode())
        status, _, err = ask(question, "--baseline", "foreign.sarif", "--quiet")
        expect(status == 2 and "foreign.sarif" in err and "--sarif wrote is expected" in err, f"{text[:60]}: {status} {err}")
    expect(ask(question, "--baseline", "none.sarif")[0] == 2, "no file")


# --- errors, names ---------------------------------------------------------------------------------

def errors():
    for question, why in [(case("none"), "none.npz: cannot be opened"), (["derive", "half.prog", "--at", "u=1"], "u"), (["certify", "nowhere"], "nowhere"),
                          (["derive", "none.prog"], "none.prog"), (["certify", "--mma", "nowhere"], "nowhere")]:
        status, out, err = ask(question, "--json")
        said = json.loads(out)
        expect(status == 2 and list(said) == ["error"] and why in said["error"] and said["error"] in err, f"{question}: {status} {out} {err}")
        expect(ask(question, "--json", "--quiet")[:2] == (2, "") and ask(question)[:2] == (2, ""), question)
        status, _, _, run, suite = written(question)
        notes = run["invocations"][0]["toolExecutionNotifications"]
        expect(run["results"] == [] and [n["message"]["text"] for n in notes] == [said["error"]], f"{question}: {notes}")
        expect(suite.find("testcase/error").get("message") == said["error"], question)
    # a file is written wholly or not at all, and says so once
    os.makedirs("folder")
    write("old.xml", b"old")
    for options in (["--sarif", "folder"], ["--sarif", "no/such.sarif"], ["--junit", "folder"], ["--junit", "old.xml", "--sarif", "no/such.sarif"]):
        status, _, err = ask(case("lemma2"), "--quiet", *options)
        expect(status == 2 and err.count("\n") == 1 and read("old.xml") == "old", f"{options}: {status} {err}")
    expect(not [n for n in os.listdir(".") if "tmp" in n.lower()], os.listdir("."))


def names():
    """Of files: no name ends an attribute or a string, and each is a URI."""
    for name in ("a b.prog", "50%.prog", "a:b.prog", "<script>'\"&.prog", "\u202egorp.prog", "ö|%7C.prog", "a#b?c.prog", "./x.prog", "a\tb.prog"):
        write(name, HALF.encode())
        status, _, err, run, suite = written(["derive", name, "--at", "t=0"])
        uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        expect(status == 0 and os.path.samefile(unquote(uri), name) and not set(uri) & set(" <>\"#?:|"), f"{name}: {uri} {err}")
        shown = name.replace("\u202e", "\\u{202E}").removeprefix("")
        expect(suite[0].get("name") == f"{shown}: verdict", f"{name}: {suite[0].attrib}")
    prints = set()
    for name in ("a|b.prog", "a%7Cb.prog"):
        write(name, HALF.encode())
        prints.add(written(["derive", name, "--at", "t=0"])[3]["results"][0]["partialFingerprints"]["clarke/v1"])
    expect(len(prints) == 2 and all(p.count("|") == 8 for p in prints), prints)
    # a kink of a program is shown at its line
    (kink,) = [r for r in written(["derive", "half.prog", "--at", "t=0"])[3]["results"] if r["ruleId"] == "touched"]
    expect(kink["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 8}, kink)


def edited():
    """A recorded step with one number changed, and a result of a tensor core."""
    step = records.Changed(".", RUNS, "small", "edited")
    for name in records.tensors(step.bytes_of("gradients"))[:2]:
        step.scale("gradients", name, 0, 1.5)
    shutil.copytree(f"{RUNS}/../../proofs-data/gpu/published/V100", "gpu")
    text = read("gpu/fp16/d_V100_fp32.txt")
    write("gpu/fp16/d_V100_fp32.txt", (text[:-2] + "10"[int(text[-2])] + "\n").encode())
    about = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }"
    for name in ("zero", "again"):  # the weight w of lemma2 at its kink
        with zipfile.ZipFile(f"{name}.npz", "w") as archive:
            archive.writestr("w.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 118) + about.ljust(117) + b"\n" + bytes(4))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("half.prog", HALF.encode())
        edited()
        for test in (same_counts, statuses, baselines, errors, names):
            test()
        os.chdir("/")
    finish()


main()
