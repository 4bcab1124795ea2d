"""The glossary's words, and since when frameworks take what they take, as tables in C: words.py docs/glossary.md docs/operators.md OUT.h

An entry of the glossary is a paragraph that begins with **Word.**; links become their texts, marks of emphasis and code go. Of operators.md it
is an item of the list under "Since when".
"""
import json
import re
import sys


def entries(text):
    for paragraph in text.split("\n\n"):
        found = re.match(r"\*\*(.+?)\.\*\* (.+)", paragraph.strip(), re.S)
        if found:
            yield found[1], plain(found[2])


def history(text):
    for item in text.split("\n## Since when\n")[1].split("\n## ")[0].split("\n* ")[1:]:
        op, said = re.match(r"\*\*(\w+)\*\*: (.+)", item, re.S).groups()
        yield op, plain(said)


def plain(text):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.sub(r"[*`]", "", text)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def table(name, key, rows):
    listed = "".join(f"  {{{json.dumps(word)}, {json.dumps(text)}}},\n" for word, text in rows)
    return f"static const struct {{\n  const char *{key}, *text;\n}} {name}[] = {{\n{listed}}};\n"


def main(glossary, operators, target):
    words, since = list(entries(read(glossary))), list(history(read(operators)))
    with open(target[0], "w", encoding="ascii") as f:
        f.write("/* Made of docs/glossary.md by words.py. */\n" + table("words", "word", words))
    with open(target[1], "w", encoding="ascii") as f:
        f.write("/* Made of docs/operators.md by words.py. */\n" + table("since", "op", since))


main(sys.argv[1], sys.argv[2], sys.argv[3:])
