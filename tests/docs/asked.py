#!/usr/bin/env python3
"""docs/asks.md has forty questions, in order; what is answered has a command, which docs-shown runs, and so many are answered as it says.

    asked.py ROOT
"""
import re
import sys

with open(sys.argv[1] + "/docs/asks.md", encoding="utf-8") as f:
    head, *asks = re.split(r"^## (?=\d+\. )", f.read(), flags=re.M)
answers = [re.search(r"^\*(Answered|In part|Not)\.\*", ask, re.M) for ask in asks]
counts = [sum(a is not None and a[1] == word for a in answers) for word in ("Answered", "In part", "Not")]
wrong = [f"{ask.splitlines()[0]}: nothing asks clarke" for ask, a in zip(asks, answers) if a is None or (a[1] != "Not" and not re.search(r"^\$ clarke", ask, re.M))]
if [int(ask.split(".")[0]) for ask in asks] != list(range(1, 41)):
    wrong.append(f"the questions: {[ask.split('.')[0] for ask in asks]}")
if "{} are answered, {} in part, and {} not".format(*counts) not in " ".join(head.split()):
    wrong.append(f"answered, in part, not: {counts}")
print("\n".join(wrong) or f"{counts[0]} of 40 are answered")
sys.exit(len(wrong) > 0)
