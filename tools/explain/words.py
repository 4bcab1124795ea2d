"""The glossary's words as a table in C: words.py docs/glossary.md OUT.h

An entry is a paragraph that begins with **Word.**; links become their texts, marks of emphasis and code go.
"""
import json
import re
import sys


def entries(text):
    for paragraph in text.split("\n\n"):
        found = re.match(r"\*\*(.+?)\.\*\* (.+)", paragraph.strip(), re.S)
        if found:
            yield found[1], plain(found[2])


def plain(text):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.sub(r"[*`]", "", text)


def main(source, target):
    with open(source, encoding="ascii") as f:
        found = list(entries(f.read()))
    rows = "".join(f"  {{{json.dumps(word)}, {json.dumps(text)}}},\n" for word, text in found)
    with open(target, "w", encoding="ascii") as f:
        f.write(f"/* Made of docs/glossary.md by words.py. */\nstatic const struct {{\n  const char *word, *text;\n}} words[] = {{\n{rows}}};\n")


main(*sys.argv[1:])
