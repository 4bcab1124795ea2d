"""Has the checker state of its own, that a check could leave behind? Variables that can be written and outlive a call, in its objects:
none but those of ALLOWED.

    python3 tests/check/stateless.py LIBRARY COMPILER...

LIBRARY is the checker's archive. The test compiles a file with such variables first, and must see each.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# By the object's source: what it keeps, and why. A check is a process, which a failure ends wherever it is met: so there is one proof.
ALLOWED = {
    "base/session.c": ("the line at hand, for messages; bits and threads; who of several threads ends the process",
                       {"session_line", "session_bits", "session_threads", "once"}),
    "base/limit.c": ("what the command line chose, before the check; how much was read", {"asked"}),
    "base/number_memory.c": ("blocks for numbers that are free: no more than memory", {"kept"}),
    "base/lines.c": ("the proof's lines to come, and the account of what they say", {"proof", "account"}),
}
PLANTED = """
static int kept; static _Thread_local int own; int shared = 3; static int counts[4];
static const char *const names[] = {"a", "b"}; static const int table[] = {1, 2};
int f(int i);
int f(int i) { static int calls; calls++; return kept++ + own++ + shared + counts[i]++ + names[i][0] + table[i]; }
"""
SEEN = {"kept", "own", "shared", "counts", "calls"}


def writable(path):
    """(object, variable) of each variable in sections that stay writable. Constants with addresses in them do not."""
    said = subprocess.run(["nm", "-f", "sysv", path], check=True, text=True, capture_output=True).stdout
    member, found = Path(path).name, set()
    for line in said.splitlines():
        head = re.match(r"Symbols from (?:.*\[)?([^\]:]+)\]?:", line)
        member = Path(head[1]).name if head else member
        columns = [column.strip() for column in line.split("|")]
        if len(columns) == 7 and columns[3] in ("OBJECT", "TLS") and re.match(r"(\.t?(data|bss)(?!\.rel\.ro)|\*COM\*)", columns[6]):
            found.add((member, [part for part in columns[0].split(".") if not part.isdigit()][-1]))  # calls.0, or f.calls
    return found


def planted(compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "planted.c", Path(folder) / "planted.o"
        source.write_text(PLANTED)
        subprocess.run([*compiler, "-O2", "-fPIC", "-c", source, "-o", made], check=True)
        seen = {name for _, name in writable(made)}
    return [] if seen == SEEN else [f"of planted variables {', '.join(sorted(SEEN ^ seen))} are told wrongly"]


def main():
    library, *compiler = sys.argv[1:]
    left = {(source.replace("/", "_") + ".o", name) for source, (_, names) in ALLOWED.items() for name in names}
    found = writable(library)
    wrong = planted(compiler)
    wrong += [f"{member}: {name} outlives the check that sets it: hand it on" for member, name in sorted(found - left)]
    wrong += [f"{member}: no {name} is left: ALLOWED has it" for member, name in sorted(left - found)]
    print("\n".join(wrong) or f"the checker keeps {len(found)} variables")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
