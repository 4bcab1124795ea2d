"""What tests of the commands expect, counted."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from schema import obeyed  # noqa: E402

failures = 0


def expect(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}")


def said(*command):
    """Exit status, standard output, standard error. Reports in JSON are what docs/schema says."""
    done = obeyed(subprocess.run(command, capture_output=True, text=True))
    return done.returncode, done.stdout, done.stderr


def behind(text):
    """A report without its first three lines, if it has them (summary.py asks about those)."""
    return text.split("\n\n", 1)[1] if text.startswith("Asked:  ") else text


def finish():
    print(f"{failures} failed")
    sys.exit(failures > 0)
