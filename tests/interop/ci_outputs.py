"""What clarke writes for continuous integration, read by others: JUnit's XML by junitparser, pages by html5lib.

    python tests/interop/ci_outputs.py CLARKE
"""
import json
import os
import subprocess
import sys
import tempfile

import html5lib
from junitparser import Error, Failure, JUnitXml

from report import Report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AUDIT, RUNS = os.path.join(ROOT, "cases/audit"), os.path.join(ROOT, "cases/runs")


def lemma2(*options):
    return ["audit", f"{AUDIT}/lemma2.onnx", "--batch", f"{AUDIT}/lemma2.npz", "--loss", "sum", *options]


# Commands; how many cases fail, and how many are errors.
ASKED = [(lemma2(), 1, 0), (["audit", f"{AUDIT}/lenet-q6.onnx", "--batch", f"{AUDIT}/images-pair.npz"], 1, 0), (lemma2("--timeout", "0"), 1, 0), (lemma2("--fail-on", "touched"), 2, 0), (lemma2("--exit-zero"), 1, 0),
         (["audit", f"{AUDIT}/none.onnx", "--batch", f"{AUDIT}/lemma2.npz"], 0, 1), (["audit", f"{RUNS}/small"], 0, 0),
         (["audit", f"{RUNS}/parted"], 1, 0), (["certify", f"{RUNS}/words"], 0, 0), (["certify", f"{RUNS}/small-light"], 1, 0),
         (["derive", "<a b='\"&>.prog", "--at", "t=0", "--fail-on", "in-clarke"], 1, 0)]


def results(case):
    return [r for r in case.result if isinstance(r, (Failure, Error))]


def main():
    clarke, report = os.path.abspath(sys.argv[1]), Report()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "<a b='\"&>.prog"), "w") as f:
            f.write("input t\noutput relu{1/2}(t)\n")
        for question, failures, errors in ASKED:
            done = subprocess.run([clarke, *question, "--junit", "j.xml", "--sarif", "s.sarif", "--html", "p.html", "--quiet"], cwd=folder, capture_output=True, text=True)
            (suite,) = JUnitXml.fromfile(os.path.join(folder, "j.xml"))
            with open(os.path.join(folder, "s.sarif")) as f:
                exit_code = json.load(f)["runs"][0]["invocations"][0]["exitCode"]
            read = suite.tests, suite.failures, suite.errors
            cases = list(suite)
            counted = len(cases), sum(isinstance(r, Failure) for c in cases for r in results(c)), sum(isinstance(r, Error) for c in cases for r in results(c))
            report.check(read == counted and counted[1:] == (failures, errors) and len(cases) > 0 and exit_code == done.returncode,
                         " ".join(map(os.path.basename, question)), f"read {read}, counted {counted}, status {done.returncode}: {done.stderr}")
            parser = html5lib.HTMLParser()
            with open(os.path.join(folder, "p.html"), "rb") as f:
                parser.parse(f.read())
            report.check(parser.errors == [], "the page is HTML", parser.errors[:3])
            report.check(len({(c.classname, c.name) for c in cases}) == len(cases), "each case has a name of its own", question)
            report.check(all(c.name.startswith(question[1].removesuffix("/")) for c in cases), "each name begins with the file's", [c.name for c in cases])
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
