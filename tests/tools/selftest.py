#!/usr/bin/env python3
"""clarke selftest says that a build is right, and sees a checker that says yes or no to all.

    selftest.py CLARKE CLARKE-CHECK
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from expect import expect, finish, said  # noqa: E402

CLARKE, CHECK = (os.path.abspath(a) for a in sys.argv[1:3])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = files = os.path.join(folder, "files")
        os.mkdir(files)
        status, out, error = said(CLARKE, "selftest")
        lines = out.splitlines()
        expect((status, error) == (0, "") and len(lines) == 10 and all(line.startswith("ok ") for line in lines[4:]), f"{status} {out} {error}")
        expect(lines[1] == "Answer: Yes: 6 of 6 answers are what they must be." and os.listdir(files) == [], f"{lines[1]} {os.listdir(files)}")
        other = os.path.join(folder, "clarke")
        shutil.copy(CLARKE, other)
        beside = os.path.join(folder, "clarke-check")
        for program, says in (("true", "clarke-check verifies a changed proof"), ("false", "clarke-check does not verify the proof")):
            shutil.copy(shutil.which(program), beside)
            status, out, error = said(other, "selftest")
            expect(status == 1 and out.count("WRONG   ") == 5 and "\nAnswer: No: 1 of 6 answers" in out and says in out and "ok      a jump" in out, f"{program}: {status} {out} {error}")
            expect(os.listdir(files) == [], f"{program}: {os.listdir(files)}")
        os.unlink(beside)
        path, os.environ["PATH"] = os.environ["PATH"], folder
        status, out, _ = said(other, "selftest")
        expect(status == 1 and "cannot be run" in out, f"no checker: {status} {out}")
        os.symlink(CHECK, os.path.join(folder, "clarke-check"))  # then it is beside the program, by a link
        expect(said(other, "selftest")[0] == 0, "a checker that is a link")
        os.environ["PATH"] = path
        os.environ["TMPDIR"] = os.path.join(folder, "nowhere")
        status, out, error = said(CLARKE, "selftest")
        expect((status, out) == (2, "") and "nowhere" in error, f"no folder: {status} {out} {error}")
        expect(said(CLARKE, "selftest", "file")[0] == 2, "a file")
    finish()


main()
