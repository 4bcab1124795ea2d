#!/usr/bin/env python3
"""No sentence of the documents, the manual pages or --help has over 30 words.

    sentences.py CLARKE CLARKE-CHECK SOURCE [--list]

Tables, code, headings and what scripts write (between <!-- marks -->) are no sentences. A colon or semicolon ends one where a new one begins
behind it. --list prints the longest sentences.
"""
import glob
import os
import re
import subprocess
import sys

MOST = 30


def without_code(text):
    """Of a document its paragraphs: no fenced or indented code, no tables, no headings."""
    text = re.sub(r"```.*?```|<!-- \w.*?<!-- end -->", "", text, flags=re.S)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", ". - ", text)  # a picture ends a sentence
    for part in re.split(r"\n\s*\n", text):
        lines = [line for line in part.split("\n") if not line.startswith(("|", "#", "<!--"))]
        if not all(line.startswith("    ") for line in lines):
            yield from re.split(r"\n(?=\s*[-*] |\s*\d+\. )", "\n".join(lines))


def of_manual(text):
    """Of a manual page: requests end a paragraph, but for those of fonts within one."""
    text = re.sub(r"^\.(nf|EX)\n.*?^\.(fi|EE)$", "\n", text, flags=re.S | re.M)
    text = re.sub(r"^\.(B|I|BR|BI|IR|RB|RI) ", "", text, flags=re.M)
    text = re.sub(r"^\.(TP|IP|PP|SH|SS|TH|RS|RE|br|sp|UR|UE|ad|hy).*$", "\n", text, flags=re.M)
    return re.split(r"\n\s*\n", re.sub(r'\\f.|\\&|\\-|\\|"', lambda m: "-" if m[0] == "\\-" else "", text))


def of_help(text):
    """Of --help: each option's text is a paragraph; its lines of use, examples and commands are none."""
    text = re.sub(r"^(Usage: |  or: |  +clarke|  [a-z-]+ {2,}|[A-Z]\w+:$).*(\n {20,}.*)*", "", text, flags=re.M)
    return re.split(r"\n\s*\n|\n(?=  +-)", text)


def sentences(part):
    """Statuses, 0 to 3, are a list."""
    words = re.sub(r"[;,.] (?=[0-3] [a-z])", ". - ", " ".join(part.split()))
    if words.count(" (1)") > 3:
        return []  # other pages
    return [s for s in re.split(r"(?<=[.!?:;])[)*\"]*\s+(?=[A-Z`*(\"]|- )", words) if s]


def said(command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def main(clarke, check, source, *options):
    found = []
    for path in sorted(glob.glob(os.path.join(source, "docs", "*.md"))) + [os.path.join(source, "README.md")]:
        with open(path, encoding="utf-8") as f:
            found += [(path, s) for part in without_code(f.read()) for s in sentences(part)]
    for path in sorted(glob.glob(os.path.join(source, "docs", "man", "*.1"))):
        with open(path, encoding="utf-8") as f:
            found += [(path, s) for part in of_manual(f.read()) for s in sentences(part)]
    for command in [clarke], [check], *([clarke, name] for name in re.findall(r"^  ([a-z-]+) {2,}\S", said([clarke]), re.M)):
        found += [(f"{' '.join(command)} --help", s) for part in of_help(said(command)) for s in sentences(part)]
    assert len(found) > 5000, f"{len(found)} sentences alone were found"
    long = sorted(((len(s.split()), path, s) for path, s in found if len(s.split()) > MOST), reverse=True)
    for count, path, s in long:
        print(f"{path}: a sentence of {count} words, of {MOST} at most: {s if options else s[:200]}")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
