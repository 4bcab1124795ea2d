"""What `clarke patterns` prints: three lines about all rows, then the rows, then the field's own sentence about them."""
import re

from plainly import word_of_the_field


def listed(done):
    """A command that was run, as it came, without the three lines; they are plain, and count what the last line counts."""
    words, text = [str(word) for word in done.args], done.stdout
    if words[1:2] != ["patterns"] or {"--json", "--count", "--help"} & set(words) or done.returncode == 2 or not text:
        return done
    if "--as-found" in words:
        rows, first, last = text.split("\n\n") if not text.startswith("\n") else ("", *text[1:].split("\n\n"))
        rest = rows + "\n" * (rows != "") + last
    else:
        first, rest = text.split("\n\n")
    lines, last = first.splitlines(), rest.splitlines()[-1]
    assert [line[:8] for line in lines] == ["Asked:  ", "Answer: ", "Next:   "], text
    assert not any(word_of_the_field(line) for line in lines), lines
    number = re.search(r"\d+", last)[0]
    assert re.search(rf"(: |over |at least ){number} (part|piece)", lines[1]), (lines, last)
    open_ = "undecided" in last.split(";")[-1]
    assert ("undecided" in lines[1] or "pieces are undecided" in last) == open_ == lines[2][8:].startswith("More may be: "), (lines, last)
    assert lines[1][8:].startswith("No: ") == ("but f(B)" in last), (lines, last)
    done.stdout = rest
    return done
