"""A trace that somebody changes while clarke certify reads it.

    cut.py CLARKE RUNS CUT        CUT: the shared object that changes a trace as soon as it is mapped (cut.c)

Without a hash the trace is mapped, and a number that is gone ends the command with status 2 and a message. So does a byte that was
written meanwhile, be it the same one. What has a hash, or is named in a proof, is copied before: nothing is changed.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import records  # noqa: E402

CLARKE, RUNS, CUT = sys.argv[1:4]
GONE = "clarke: a file was cut short, or failed, while it was being read\n"


def certify(run, *options, **environment):
    done = subprocess.run([CLARKE, "certify", "--nodes", *options, run], capture_output=True, text=True, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for hashed in (False, True):
            for options in ((), ("--proof", os.path.join(folder, "proof"))):
                for by in ({}, {"REWRITE": "1"}):
                    changed = records.Changed(folder, RUNS, "small-trees")
                    if not hashed:
                        del changed.files["trace"]["sha256"]
                    changed.write()
                    trace = os.path.join(changed.run, changed.files["trace"]["file"])
                    size, right, mapped = os.path.getsize(trace), certify(changed.run, *options), not hashed and not options
                    status, out, error = said = certify(changed.run, *options, LD_PRELOAD=CUT, **by)
                    if mapped and by:
                        good = (status, out) == (2, "") and error.endswith(f"{trace}: was changed while it was being read\n")
                    else:
                        good = said == ((2, "", GONE) if mapped else right) and (os.path.getsize(trace) < size) == mapped
                    if not good or right[0] != 0:
                        failures += 1
                        print(f"FAILED: hashed {hashed}, {options}, {by}: {said} instead of {right}")
    return failures


if __name__ == "__main__":
    sys.exit(main() > 0)
