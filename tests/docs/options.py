#!/usr/bin/env python3
"""Every option that a command's --help has is in its manual page, and in README.md's lines of it; and no other.

    options.py CLARKE ROOT
"""
import re
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"--[a-z][a-z0-9-]*")
OF_ALL = {"--help", "--usage", "--version", "--limit"}  # README.md names them once
LONG = {"--output"}  # -o there
OF_CI = {"--sarif", "--junit", "--html", "--fail-on", "--baseline", "--exit-zero", "--quiet"}  # of three commands; README.md names them once


def main(clarke, root):
    readme, wrong = (root / "README.md").read_text(), []
    for page in sorted((root / "docs/man").glob("clarke-*.1")):
        command = page.stem.removeprefix("clarke-")
        if command == "check":
            continue
        said = subprocess.run([clarke, command, "--help"], capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"^ +(?:-., )?(--[a-z][a-z0-9-]*)", said, re.M))
        lines = " ".join(re.findall(rf"^clarke {command} .*(?:\n  .*)*", readme, re.M))
        if not options or not lines:
            wrong.append(f"{command}: no options, or no line in README.md")
        manual = set(OPTION.findall(page.read_text().replace("\\-", "-"))) - ({"--data"} - options)  # clarke-check's
        wrong += [f"{page.name}: {o} is missing" for o in options - manual - OF_ALL]
        wrong += [f"{page.name}: {o} is no option" for o in manual - options - OF_ALL]
        wrong += [f"README.md, clarke {command}: {o} is missing" for o in options - set(OPTION.findall(lines)) - OF_ALL - LONG - OF_CI]
        wrong += [f"README.md, clarke {command}: {o} is no option" for o in set(OPTION.findall(lines)) - options]
    wrong += [f"README.md: {o} is missing" for o in OF_CI - set(OPTION.findall(readme))]
    print("\n".join(sorted(wrong)))
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
