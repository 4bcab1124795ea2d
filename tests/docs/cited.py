"""Is every part of docs/proof-format.md that is cited there? Parts are cited by their names: docs/proof-format.md, "Programs". A name is a
heading's, or what a paragraph begins with in bold; no two headings have one name, and no section is longer than two pages.

    python3 tests/docs/cited.py ROOT
"""

import re
import sys
from pathlib import Path

CITED = re.compile(r'proof-format\.md\)?,\s(?:[ *#]*)(?:"([^"]+)"|(section \d))')
LINKED = re.compile(r"proof-format\.md#([\w-]+)")
MOST = 90  # lines of a section: two pages
FILES = {".c", ".h", ".py", ".md", ".1"}


def names(page):
    """Headings, in order; and what else has a name."""
    return re.findall(r"^#+ (.+)$", page, re.M), re.findall(r"^(?:- )?\*\*([^*]+?)\.?\*\*", page, re.M)


def complaints(page, texts):
    headings, bold = names(page)
    known = {*headings, *bold}
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    found = [f"docs/proof-format.md: two headings {heading}" for heading in set(headings) if headings.count(heading) > 1]
    found += [f"docs/proof-format.md: {heading} has a number" for heading in headings if re.match(r"\d", heading)]
    parts = re.split(r"^#+ (.+)$", page, flags=re.M)
    found += [f"docs/proof-format.md: {heading} is longer than two pages" for heading, part in zip(parts[1::2], parts[2::2]) if part.count("\n") > MOST]
    for path, text in texts.items():
        for name, section in CITED.findall(text):
            name = re.sub(r"\s+(?:[*#] )?", " ", name)
            if section or name not in known:
                found.append(f"{path}: docs/proof-format.md has no {section or name}")
        found += [f"{path}: docs/proof-format.md has no #{anchor}" for anchor in LINKED.findall(text) if anchor not in anchors]
    return found


def planted():
    """Each of these must be seen."""
    page = "# Title\n\n## Programs\n\n**Forks.** They part.\n"
    good = 'docs/proof-format.md, "Programs"; proof-format.md),\n * "Forks"; proof-format.md#programs'
    wrong = ['proof-format.md, "Program"', "proof-format.md, section 3", "proof-format.md#3-programs"]
    missed = [text for text in wrong if len(complaints(page, {"x": text})) != 1]
    missed += [page + text for text in ("## Programs\n", "## 2. Other\n", "## Long\n" + 99 * "word\n") if len(complaints(page + text, {})) != 1]
    return missed if not complaints(page, {"x": good}) else complaints(page, {"x": good})


def main():
    root = Path(sys.argv[1]).resolve()
    texts = {str(path.relative_to(root)): path.read_text(errors="replace") for folder in ("lib", "docs", "tests", "tools", "cases")
             for path in sorted((root / folder).rglob("*")) if path.suffix in FILES and path != Path(__file__).resolve()}
    found = complaints((root / "docs/proof-format.md").read_text(), texts) + [f"not seen: {text}" for text in planted()]
    print("\n".join(found) or f"{sum(len(CITED.findall(text)) for text in texts.values())} citations are of what there is")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
