"""clarke reproduce finds each wrong expectation: all that the papers' cases expect, each changed a little, in copies of them. Of what
these draw a few are drawn; no suite that holds fails on one.

    perturbed.py CLARKE CASES
"""
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from draw import ONE_IN  # noqa: E402
from expect import expect, finish, said  # noqa: E402

CLARKE, CASES = sys.argv[1], Path(sys.argv[2])
OTHER = {"yes": "no", "no": "yes", "regular": "bifurcation", "bifurcation": "compensation", "compensation": "regular", "nonzero": "0", "none": "yes", "never": "1",
         "in-bouligand": "in-clarke", "in-clarke": "not-in-clarke", "not-in-clarke": "in-bouligand"}


def changed(value):
    """Another value of that kind: for a word another one; of a number, or several, the last digit is another; of a system it is empty if it
    was not."""
    if value in OTHER:
        return OTHER[value]
    if value.endswith("empty"):
        return value[:-len("not empty")] + "empty" if value.endswith("not empty") else value[:-len("empty")] + "not empty"
    last = re.search(r"(\d)(\D*)$", value)
    return value[:last.start()] + ("8" if last[1] == "9" else str(int(last[1]) + 1)) + last[2]


def fewer(line):
    """The line of a case that draws, drawing few."""
    words = line[0].split(" ")
    at = {"suite": 3, "sweep": 5, "training": 6}[words[1]]
    return " ".join([*words[:at], str(min(int(words[at]), 4)), *words[at + 1:]])


def main():
    lines = 0
    with tempfile.TemporaryDirectory() as name:
        for network in [*CASES.glob("*.onnx"), *CASES.glob("*.npz")]:
            shutil.copy(network, name)
        for case in sorted(CASES.glob("*.prog")):
            text, n = re.subn(r"^(#: expect \S+ )(.*)$", lambda m: m[1] + changed(m[2]), case.read_text(), flags=re.M)
            (Path(name) / case.name).write_text(re.sub("^#: (suite|sweep|training) .*$", fewer, text, flags=re.M))
            lines += n
        more = ["--memory", "16G"] if ONE_IN > 1 else []  # sanitizers keep what was freed
        status, out, err = said(CLARKE, "reproduce", "--json", *more, "--cases", name)
    rows = json.loads(out)["rows"]
    facts = [(row["claim"], row["file"], row["line"], fact) for row in rows for fact in row.get("facts", ())]
    networks = [row for row in rows if ".onnx" in row.get("at", "")]
    expect(len(networks) > 5 and all(fact["computed"] in OTHER for row in networks for fact in row["facts"] if fact["key"] == "verdict"),
           f"networks were asked about: {networks}")
    expect(status == 1 and err == "", f"status {status}: {err}")
    expect(len(facts) >= lines > 1000, f"{len(facts)} facts of {lines} lines")
    for claim, file, line, fact in facts:
        expect(not fact["agrees"], f"{claim} ({file}:{line}) agrees with what is not so: {fact}")
        expect((fact["key"], fact["expected"]) != ("fails", changed("0")) or fact["computed"] == "0", f"{claim} ({file}:{line}): {fact}")
    finish()


if __name__ == "__main__":
    main()
