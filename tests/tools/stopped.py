#!/usr/bin/env python3
"""Commands that are told to stop: each ends in a whole report, undecided, or in the answer that it gives otherwise.

    tests/tools/stopped.py CLARKE CLARKE-CHECK

No test here depends on a clock: work stops at its N-th check (CLARKE_STOP_AFTER), before it begins (--timeout 0, --memory 1), or
by a signal that comes while a pipe for the batch is not yet written.
"""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from draw import ONE_IN, draw_count  # noqa: E402

CASES, RUNS = ROOT / "cases/audit", ROOT / "cases/runs"
PROGRAM = "input t, u\nlet a = relu(t) + relu(-u)\noutput max(a, u) - relu(t + u)\n"
INTERRUPTED = "interrupted"


def run(*arguments, **environment):
    """Exit status, standard output and error."""
    env = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    done = subprocess.run([CLARKE, *map(str, arguments)], capture_output=True, text=True, env=env, timeout=300)
    return done.returncode, done.stdout, done.stderr


def audit(model, batch, *options, **environment):
    return run("audit", CASES / model, "--batch", CASES / batch, "--threads", 1, *options, **environment)


class Stopped(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def every_stop(self, ask, step, partial):
        """Asks with stops further and further on, until one is not reached. Reports before the end say so."""
        wanted, reasons, n = ask(), 0, 1
        while True:
            got = ask(CLARKE_STOP_AFTER=n)
            if got == wanted:
                break
            status, out, err = got
            report = json.loads(out)
            self.assertEqual(err, wanted[2])
            if report["why"] == INTERRUPTED:
                self.assertEqual(status, 3)
                self.assertEqual(report["verdict"], "undecided")
                partial(report)
                reasons += 1
            else:  # proved before
                self.assertEqual((status, report["verdict"]), (wanted[0], json.loads(wanted[1])["verdict"]))
            n += step(n)
        self.assertGreater(reasons, 5)

    def audited(self, model, batch):
        def partial(report):
            self.assertEqual(report["stopped"], INTERRUPTED)
            self.assertLessEqual(report["arguments"]["decided"], report["arguments"]["all"])
            self.assertEqual(report["touched"] is None, report["layers"] == [])
            self.assertIsNone(report["nearest"])
            self.assertEqual(report["theorems"], [])
            for layer in report["layers"]:
                self.assertIn(layer["system"]["feasible"], (None, True))

        self.every_stop(lambda **e: audit(model, batch, "--json", "--nearest", 2, "--touched", **e),
                        lambda n: 1 if n < draw_count(40) else n // (8 // min(ONE_IN, 2)), partial)

    def test_audits_at_every_check(self):
        self.audited("digits-relu.onnx", "digits.npz")
        self.audited("digits-relu-q.onnx", "digits.npz")
        self.audited("digits-sigmoid-relu.onnx", "digits.npz")

    def test_audits_that_find_no_direction(self):
        self.audited("lemma2.onnx", "lemma2.npz")
        self.audited("lenet-q.onnx", "images-pair.npz")
        self.audited("resnet.onnx", "images.npz")

    def test_derivations_at_every_check(self):
        program = self.path / "a.prog"
        program.write_text(PROGRAM)

        def partial(report):
            self.assertEqual(report["value"] is None, report["touched"] is None)
            self.assertIsNone(report["clarke"])
            self.assertIsNone(report["differentiable"])

        self.every_stop(lambda **e: run("derive", program, "--at", "t=0", "--at", "u=0", "--json", **e), lambda n: 1, partial)

    def certified(self, *options):
        """Stopped anywhere: an object that says so, and no part of an answer."""
        wanted, stops, n = run("certify", *options, "--json"), 0, 1
        while True:
            status, out, err = run("certify", *options, "--json", CLARKE_STOP_AFTER=n)
            if (status, out, err) == wanted:
                break
            report, whole = json.loads(out), json.loads(wanted[1])
            self.assertEqual(err, "")
            if "stopped" in report:
                self.assertEqual((status, report["answer"], report["stopped"]), (3, "cannot say", INTERRUPTED))
                self.assertEqual((report["nodes"], report["pattern"], report["semantics"]), ([], None, None))
                self.assertNotIn("against", report)
                stops += 1
            else:  # the certificates are all there; of the sets nothing is said
                real = report["semantics"].pop("real")
                self.assertEqual((real["verdict"], real["why"]), ("undecided", INTERRUPTED))
                self.assertEqual((status, report["nodes"]), (wanted[0], whole["nodes"]))
                self.assertIn(report["semantics"]["recorded"]["verdict"], ("undecided", whole["semantics"]["recorded"]["verdict"]))
            n += 1 + n // (8 // min(ONE_IN, 4))
        self.assertGreater(stops, 5)

    def test_certificates_at_every_check(self):
        self.certified(RUNS / "small")
        self.certified(RUNS / "words")
        self.certified(RUNS / "small", "--against", RUNS / "small-plain")

    def test_certificates_for_which_no_time_is_left(self):
        proof, over = self.path / "p", "the time is over (--timeout 0)"
        status, out, err = run("certify", RUNS / "small", "--timeout", 0, "--proof", proof)
        self.assertEqual((status, out.split("\n\n")[1]), (3, f"cannot say: {over}.\n"))
        self.assertIn("no proof was written", err)
        self.assertFalse(proof.exists())
        mma = ["certify", "--mma", ROOT / "proofs-data/gpu/published/V100", "--timeout", 0]
        status, out, err = run(*mma)
        self.assertEqual((status, out.split("\n\n")[1], err), (3, f"undecided: {over}.\n", ""))
        status, out, _ = run(*mma, "--json")
        self.assertEqual((status, json.loads(out)), (3, {"verdict": "undecided", "stopped": over, "sets": []}))

    def test_an_unfinished_picture_says_so(self):
        regions, picture = ROOT / "cases/regions", self.path / "a.svg"
        ask = ["patterns", regions / "bump.prog", "--box", regions / "square.txt", "--threads", 1, "--svg", picture]
        whole = run(*ask), picture.read_text()
        self.assertNotIn("unfinished", whole[1])
        stops = 0
        for n in range(1, 12):
            status, out, _ = run(*ask, CLARKE_STOP_AFTER=n)
            text = picture.read_text()
            ElementTree.fromstring(text)
            self.assertEqual("unfinished: regions are missing" in text and INTERRUPTED in text, status == 3)
            self.assertTrue(status == 3 or (status, out, text) == (*whole[0][:2], whole[1]))
            stops += status == 3
        self.assertGreater(stops, 5)

    def test_a_search_without_a_conflict_stops(self):
        formula = self.path / "f.cnf"
        formula.write_text("p cnf 300 100\n" + "".join("%d %d %d 0\n" % (i, i + 1, i + 2) for i in range(1, 300, 3)))
        for n in (1, 3, 50):
            status, out, _ = run("encode", formula, "--decide", CLARKE_STOP_AFTER=n)
            self.assertEqual((status, out.splitlines()[-1]), (3, f"undecided: {INTERRUPTED}."))

    def test_no_files_are_left(self):
        proof, gradient = self.path / "p.proof", self.path / "g.safetensors"
        files = ["--proof", proof, "--gradient", gradient]
        for n in (1, 9, 20):
            status, out, err = audit("digits-relu-q.onnx", "digits.npz", *files, CLARKE_STOP_AFTER=n)
            self.assertEqual(status, 3)
            self.assertIn("undecided: ", out)
            self.assertIn("no gradient was written", err)
            self.assertIn("undecided: no proof was written", err)
            self.assertEqual(list(self.path.iterdir()), [])

    def test_nothing_is_asked_where_no_time_or_memory_is_left(self):
        for option, why in ((["--timeout", "0"], "the time is over (--timeout 0)"),
                            (["--memory", "1K"], "the memory is used up (--memory 1K)")):
            status, out, _ = audit("lenet.onnx", "images.npz", "--json", *option)
            report = json.loads(out)
            self.assertEqual((status, report["verdict"], report["why"]), (3, "undecided", why))
            self.assertEqual(report["arguments"], {"all": 26624, "decided": 0})
            status, out, _ = audit("lenet.onnx", "images.npz", *option)
            self.assertEqual(status, 3)
            self.assertIn(f"Reason: {why}.", out)
            self.assertIn("0 of 26624 arguments", out)
        program = self.path / "a.prog"
        program.write_text(PROGRAM)
        status, out, _ = run("derive", program, "--at", "t=0", "--at", "u=0", "--timeout", 0)
        self.assertEqual(status, 3)
        self.assertIn("touched        not known", out)
        self.assertIn("the time is over (--timeout 0)", out)
        status, out, _ = run("derive", program, "--at", "u=0", "--sweep", "t=0:2:1", "--timeout", 0, "--json")
        self.assertEqual([row["verdict"] for row in json.loads(out)], ["undecided"] * 3)

    def test_limits_that_are_not_met_change_nothing(self):
        plain = audit("digits-relu-q.onnx", "digits.npz")
        self.assertEqual(audit("digits-relu-q.onnx", "digits.npz", "--timeout", 1e6, "--memory", "100G"), plain)

    def test_what_is_no_limit(self):
        for option in (["--timeout", "-1"], ["--timeout", "soon"], ["--memory", "0"], ["--memory", "2X"], ["--memory", "2GB"]):
            status, out, err = audit("lenet.onnx", "images.npz", *option)
            self.assertEqual((status, out), (2, ""), option)
            self.assertIn(option[0], err)

    def test_several_checkpoints(self):
        later = CASES / "digits-relu-later.safetensors"
        status, out, _ = audit("digits-relu.onnx", "digits.npz", "--params", later, later, "--timeout", 0)
        self.assertEqual(status, 3)
        self.assertEqual(out.count("  undecided\n"), 2)

    def interrupted(self, number):
        """A signal comes while the batch is waited for: the report is whole."""
        fifo = self.path / "batch.npz"
        os.mkfifo(fifo)
        with subprocess.Popen([CLARKE, "audit", CASES / "lenet.onnx", "--batch", fifo, "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            with open(fifo, "wb") as out:  # opened by both: the command is past its options
                process.send_signal(number)
                out.write((CASES / "images.npz").read_bytes())
            text, err = process.communicate(timeout=300)
        fifo.unlink()
        report = json.loads(text)
        self.assertEqual((process.returncode, err), (3, b""))
        self.assertEqual((report["verdict"], report["why"]), ("undecided", INTERRUPTED))
        self.assertEqual(report["arguments"]["decided"], 0)

    def test_signals(self):
        self.interrupted(signal.SIGTERM)
        self.interrupted(signal.SIGINT)

    def test_a_second_signal_ends_the_process(self):
        fifo = self.path / "batch.npz"
        os.mkfifo(fifo)
        with subprocess.Popen([CLARKE, "audit", CASES / "lenet.onnx", "--batch", fifo], stdout=subprocess.PIPE) as process:
            with open(fifo, "wb"):
                while process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_the_bar_shows_on_a_terminal_alone(self):
        fifo = self.path / "batch.npz"
        os.mkfifo(fifo)
        ours, theirs = pty.openpty()
        with subprocess.Popen([CLARKE, "audit", CASES / "digits-relu.onnx", "--batch", fifo], stdout=subprocess.PIPE,
                              stderr=theirs) as process:
            os.close(theirs)
            with open(fifo, "wb") as out:
                seen = b""
                while b"reading" not in seen:  # shows when a second has passed, however long that takes
                    seen += os.read(ours, 4096)
                out.write((CASES / "digits.npz").read_bytes())
            text = process.stdout.read()
            self.assertEqual(process.wait(300), 0)
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            seen += more
        os.close(ours)
        self.assertEqual(text.decode(), audit("digits-relu.onnx", "digits.npz")[1])
        self.assertTrue(seen.startswith(b"\r["), seen[:80])
        self.assertEqual(seen.split(b"\r")[-2].strip(), b"")  # wiped at the end
        self.assertEqual(audit("digits-relu.onnx", "digits.npz")[2], "")


if __name__ == "__main__":
    CLARKE = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
