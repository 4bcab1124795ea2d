"""Runs a command and prints what it took, as JSON: its status, processor seconds, peak megabytes.

Usage: python tests/bench/used.py [--memory GIB] [--seconds S] COMMAND...

A process of its own, small, because a child's peak begins at the size of the process that forks it.
The command's standard output is dropped; errors pass through.
"""

import json
import resource
import subprocess
import sys


def main():
    arguments = sys.argv[1:]
    while arguments[0] in ("--memory", "--seconds"):
        name, value, *arguments = arguments
        kind, limit = (resource.RLIMIT_AS, int(float(value) * 2**30)) if name == "--memory" else (resource.RLIMIT_CPU, int(value))
        resource.setrlimit(kind, (limit, limit))  # the child has it, too; set in the child, before it begins, it would be time of the child's
    status = subprocess.run(arguments, stdout=subprocess.DEVNULL).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"status": status, "seconds": used.ru_utime + used.ru_stime,
                      "megabytes": used.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
