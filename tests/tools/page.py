"""Pages of clarke report, read as a browser reads them and as people do whose server strips styles."""
import json
import re
from html.parser import HTMLParser

from expect import expect, said

VOID = {"meta", "rect", "path"}
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer", "p", "h1", "h2", "h3", "dl", "dt", "dd", "ol", "li", "table",
        "thead", "tbody", "tr", "th", "td", "pre", "code", "small", "svg", "rect", "path", "g", "figure", "figcaption", "div"}
ATTRIBUTES = {"lang", "charset", "name", "content", "class", "role", "aria-label", "width", "height", "viewbox", "fill", "preserveaspectratio", "fill-opacity", "transform",
              "shape-rendering", "d", "x", "y", "stroke", "stroke-width"}
EVIL = "<img src=x onerror=alert(1)>\"'&amp;`=\u202e\u200b\x07</td></style><script>"
SEEN = EVIL.replace("\u202e", "\\u{202E}").replace("\u200b", "\\u{200B}").replace("\x07", "\\u{7}")


class Page(HTMLParser):
    """The text without style and pictures, and by section; what is drawn by section; tags that do not match, or that have no business here."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.text, self.sections, self.rows, self.drawn = [], [], "", {"": ""}, 0, {}
        self.heading, self.filling = "", False
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        if tag not in TAGS or any(name not in ATTRIBUTES for name, _ in attributes):
            self.wrong.append(f"<{tag} {attributes}>")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.heading, self.filling = "", True
        if tag in ("tr", "li"):
            self.rows += "tbody" in self.open or tag == "li"
        if "svg" in self.open or tag == "svg":
            self.drawn.setdefault(self.heading, []).append((tag, dict(attributes)))
        self.add("\n" if tag in ("tr", "p", "li", "dt", "h1", "h3") else "\t" if tag in ("td", "dd") else "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")
        if tag == "h2":
            self.filling = False
            self.sections.setdefault(self.heading, "")

    def handle_data(self, data):
        if "style" in self.open:
            return
        if self.filling:
            self.heading += data
        self.add(data)

    def add(self, text):
        self.text += text
        if not self.filling:
            self.sections[self.heading] = self.sections.get(self.heading, "") + text


def write(path, data):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f)


def page_of(clarke, answer, *options):
    write("answer.json", answer)
    status, out, err = said(clarke, "report", "answer.json", "-o", "page.html", *options)
    expect((status, out, err) == (0, "", ""), f"{str(answer)[:100]}: {status} {out[:200]} {err}")
    with open("page.html", "rb") as f:
        data = f.read()
    text = data.decode("ascii")
    page = Page(text)
    expect(not page.wrong, f"{str(answer)[:100]}: {page.wrong[:3]}")
    expect(len(data) < 1_000_000, f"{len(data)} bytes")
    expect(not re.search(r"https?:|url\(|@import|src=[^x]|href=|javascript:", re.sub(r"&#\d+;", "", text)), "something is fetched")
    return page


def more(text):
    """How many items the text says it left out."""
    return sum(map(int, re.findall(r"^(\d+) more$", text, re.M)))


def lines(text):
    return [line for line in text.split("\n") if line.strip()]
