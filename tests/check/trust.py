"""docs/trust.md: which functions of the checker run for which kind of verdict, told by counting what stored proofs enter.

    python3 tests/check/trust.py [--names | --write]

The checker is built anew by gcc, with counts of what runs, and checks every proof of proofs-data; of kinds that it has none of, those
of tests/check/data. The lists in docs/trust.md must be what was entered, and its rules among that. --write makes the lists anew;
--names runs nothing, and asks only whether the functions are there.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "lib" / "check"
sys.path.insert(0, str(ROOT / "tests" / "arrows"))
import arrows  # noqa: E402
import edits  # noqa: E402

DATA = ROOT / "tests" / "check" / "data"
PAGE = ROOT / "docs" / "trust.md"
BLOCK = re.compile(r"(?<=<!-- entered: )([\w ]+)( -->\n)(.*?)(?=<!-- end -->)", re.S)
RULE = re.compile(r"^\| [^|]+ \| `([\w/]+\.[ch])`: ([^|]+) \|", re.M)

# A kind of verdict: of which groups it is, whose common functions are listed once; and what it links (checker.txt).
GROUPS = ["model", "followed", "program", "network", "formula"]
KINDS = {
    "formula refutation": (["formula"], "formula"), "formula opposite": (["formula"], "formula"),
    "arrangement": ([], "arrangement"), "update": ([], "update"), "stepped": ([], "stepped"), "identity": ([], "identity"), "direction": ([], "direction"), "segment": ([], "segment"), "regions": ([], "regions"),
    "patterns": (["followed", "program"], "patterns"),
    **{f"program {evidence}": (["followed", "program"], linked)
       for evidence, linked in (("ad", "program"), ("hull", "means"), ("unanimous", "trees"), ("separator", "cones"))},
    **{f"unrolled {evidence}": (["model", "followed"], "unrolled") for evidence in ("ad", "hull", "separator")},
    **{f"network {evidence}": (["model", "network"], linked)
       for evidence, linked in (("ad", "network"), ("mix", "network"), ("hull", "hulls"), ("simplices", "simplices"), ("balance", "balance"),
                                ("separator", "separators"), ("bound", "bounds"), ("compensation", "compensation"))},
    **{f"zone {zone}": (["model"], "zone") for zone in ("compensation", "bifurcation")},
    "record": (["model"], "record"),
}


def kind_of(proof):
    """By its lines: what it is about, and its evidence. (Tests have proofs that break every rule.)"""
    text = proof.read_bytes().decode("latin-1")
    claim, about = re.search(r"^claim (\w+)", text, re.M), re.search(r"^(model|network|program|formula) ", text, re.M)
    evidence = re.search(r"^evidence (\w+)", text, re.M)
    zone = re.search(r"^zone (\w+)", text, re.M)
    if claim:
        return f"zone {zone[1]}" if zone else claim[1]
    return f"{ {'model': 'network', 'network': 'unrolled'}.get(about[1], about[1])} {evidence[1]}" if about and evidence else None


def data_of(proof):
    """The folder of the files that a stored proof names."""
    folder = proof.parent.name
    if proof.parent.parent == ROOT / "proofs-data/steps":
        return ROOT / "cases/steps" / folder
    if folder == "runs":
        return ROOT / "cases/runs" / proof.stem
    return ROOT / "cases" / ("audit" if folder == "proofs-data" else folder) if "proofs-data" in proof.parts else DATA


def stored():
    """Proofs by kind. (The papers' networks are too small to enter most of what checks networks.)"""
    found = {kind: [] for kind in KINDS}
    for folder in (ROOT / "proofs-data", edits.expanded(DATA)):
        missing = [kind for kind in found if not found[kind]]
        for proof in sorted(folder.rglob("*.proof")):
            kind = kind_of(proof)
            if kind in missing and not (proof.parent.name == "papers" and kind.startswith("network")):
                found[kind].append(proof)
    return found


def build(folder):
    """The checker, counting, as every processor runs it: what some have instructions for is left out (wide.h, sha256.c). A process that ends by
    _exit leaves no counts."""
    compiler = ["gcc", "-U__gnu_linux__"]  # not through ccache, which puts the counts elsewhere

    def compiled(source):
        made = folder / (str(source.relative_to(CHECK).with_suffix("")).replace("/", "-") + ".o")
        subprocess.run([*compiler, "-std=gnu11", "-O0", "--coverage", "-D_exit=exit", f"-I{ROOT}/lib", "-c", source, "-o", made],
                       check=True, cwd=folder)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sorted(CHECK.rglob("*.c"))))
    subprocess.run([*compiler, "--coverage", *objects, "-lgmp", "-lpthread", "-o", folder / "checker"], check=True)
    return folder / "checker"


def holds(checker, proof, **counting):
    return subprocess.run([checker, proof, "--data", data_of(proof), "--threads", "1"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, **counting}).returncode == 0


def entered(folder, checker, proofs):
    """The functions that ran, (file, name): the lines on which each begins and ends. And how many proofs were checked: of those of
    tests, many of which do not hold, the first few that do."""
    ran, held = {}, 0
    for counts in folder.glob("*.gcda"):
        counts.unlink()
    for proof in proofs:
        if "proofs-data" in proof.parts or held < 20 and holds(checker, proof, GCOV_PREFIX=str(folder / "elsewhere")):
            held += holds(checker, proof)
    said = subprocess.run(["gcov", "--json-format", "--stdout", *sorted(folder.glob("*.gcda"))], cwd=folder, check=True, text=True,
                          capture_output=True).stdout
    for line in said.splitlines():
        for file in json.loads(line)["files"]:
            path = Path(file["file"])
            if path.is_relative_to(CHECK):
                ran |= {(str(path.relative_to(CHECK)), f["name"]): (f["start_line"], f["end_line"])
                        for f in file["functions"] if f["execution_count"]}
    return ran, held


def in_order(functions, lines, order):
    """Lists by file, from the ground up; a header before its file."""
    files = {}
    for file, name in functions:
        files.setdefault(file, []).append(name)
    rows = []
    for file in sorted(files, key=lambda file: (order.index(file[:-2]), file[-1] != "h")):
        names = sorted(files[file], key=lambda name: lines[file, name])
        rows += textwrap.wrap(f"- `{file}`: {', '.join(names)}", 126, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(rows) + "\n"


def grouped(ran):
    """By group the functions that all its kinds enter, but for those of groups before that its kinds are all of."""
    groups = {"all": set.intersection(*map(set, ran.values()))}
    for group in GROUPS:
        members = [kind for kind, (of, _) in KINDS.items() if group in of]
        before = set.intersection(*(set(KINDS[kind][0][:KINDS[kind][0].index(group)]) for kind in members))
        groups[group] = set.intersection(*(set(ran[kind]) for kind in members))
        groups[group] -= groups["all"].union(*(groups[earlier] for earlier in before))
    return groups


def lists(ran, order, links):
    """Of each block of the page its text."""
    lines = {key: span for functions in ran.values() for key, span in functions.items()}
    groups = grouped(ran)
    text = {group: in_order(functions, lines, order) for group, functions in groups.items()}
    table = ["| verdict and evidence | links, at most | enters, under | functions | files |", "|---|---|---|---|---|"]
    for kind, (of, linked) in KINDS.items():
        text[kind] = in_order(set(ran[kind]) - groups["all"].union(*(groups[group] for group in of)), lines, order)
        length = sum(end - begin + 1 for begin, end in ran[kind].values())
        table.append(f"| {kind} | {links[linked][1]:,} | {-(-length // 100) * 100:,} | {len(ran[kind])} "
                     f"| {len({file for file, _ in ran[kind]})} |")
    text["numbers"] = "\n".join(table) + "\n"
    return text


def same(said, found):
    """The same text; but numbers of lines that are said may be some hundreds more."""
    number = re.compile(r"(?<=\| )[\d,]+(?= (?:\| [\d,]+ )?\| \d+ \| \d+ \|$)", re.M)  # the columns of lines
    pairs = [(int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in zip(number.findall(said), number.findall(found))]
    return number.sub("N", said) == number.sub("N", found) and all(0 <= a - b <= 300 for a, b in pairs)


def rule_complaints(page, ran):
    """Rules whose functions no proof enters."""
    known = {key for functions in ran.values() for key in functions}
    return [f"docs/trust.md: no stored proof enters {name} of {file}" for file, names in RULE.findall(page)
            for name in re.findall(r"`(\w+)`", names) if (file, name) not in known]


def name_complaints(page):
    """Functions that are not in the files which the page says."""
    listed = [(file, names) for _, _, text in BLOCK.findall(page) for file, names in
              re.findall(r"^- `([\w/]+\.[ch])`: ((?:\w+,?\s+)*\w+)$", text, re.M)]
    listed += [(file, " ".join(re.findall(r"`(\w+)`", names))) for file, names in RULE.findall(page)]
    defined = {path: set(re.findall(r"^(\w+)\(", path.read_text(), re.M)) for path in CHECK.rglob("*.[ch]")}
    return [f"docs/trust.md: {file} has no {name}" for file, names in listed for name in re.findall(r"\w+", names)
            if name not in defined.get(CHECK / file, ())] + ([] if listed else ["docs/trust.md lists nothing"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    if options.names:
        wrong = name_complaints(PAGE.read_text())
        print("\n".join(wrong) or "all functions of docs/trust.md are there")
        sys.exit(bool(wrong))
    _, order = arrows.read_checker(ROOT / "tests/arrows/checker.txt")
    wrong, ran = [], {}
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        checker = build(folder)
        for kind, proofs in stored().items():
            ran[kind], held = entered(folder, checker, proofs)
            wrong += [f"no stored proof of {kind} holds"] if held == 0 else []
    page, text = PAGE.read_text(), lists(ran, order, arrows.read_links(ROOT / "tests/arrows/checker.txt"))
    missing = set(text) - {name for name, _, _ in BLOCK.findall(page)}
    wrong += [f"docs/trust.md has no list of {name}" for name in sorted(missing)] + rule_complaints(page, ran)
    if options.write:
        PAGE.write_text(BLOCK.sub(lambda m: m[1] + m[2] + text[m[1]], page))
    for name, _, said in [] if options.write else BLOCK.findall(page):
        if not same(said, text[name]):
            wrong.append(f"docs/trust.md: of {name} other functions run: {Path(__file__).relative_to(ROOT)} --write")
    print("\n".join(wrong) or f"{sum(map(len, ran.values()))} functions of {len(ran)} kinds are as docs/trust.md has them")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
