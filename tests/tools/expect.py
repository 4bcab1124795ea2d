"""What tests of the commands expect, counted."""
import subprocess
import sys

failures = 0


def expect(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}")


def said(*command):
    """Exit status, standard output, standard error."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def finish():
    print(f"{failures} failed")
    sys.exit(failures > 0)
