"""The page of the paper's claims and our verdicts, from what ``theory figures`` wrote to ``figures/README.md``."""

import re
from pathlib import Path

import generated
from sphinx.application import Sphinx

FIGURES = Path(__file__).parents[2] / "figures"
MARKS = ("<!-- written by theory figures: begin -->", "<!-- written by theory figures: end -->")

HEAD = f"""% {generated.NOTE}

# Claims and verdicts

"Revisiting Lossy Verification in Speculative Decoding: Mechanisms, Trade-offs, and Failure Modes" (arXiv 2607.26627) claims
something with each of its figures and tables. Here each stands beside the same quantity from exact theory and from a trace of
real models, as `theory figures` computes it: hollow markers are the paper's own points; lines, bands and filled markers are
ours. The sentences are made from the numbers, and tests compare them with the stored ones
({{test}}`test_headline_says_what_stands_in_the_table`).
"""


def link(found: re.Match[str]) -> str:
    """Point a link of ``figures/README.md`` at the same thing seen from the page."""
    text, target = found[1], found[2]
    if target.startswith("../notebooks/"):
        return f"{{doc}}`{text} </notebooks/{Path(target).stem}>`"
    return f"{{download}}`{text} <../../figures/{target}>`"


def body(readme: str) -> str:
    """Take what was written between the marks, a heading higher, its pictures and links in place."""
    inside = readme.partition(MARKS[0])[2].partition(MARKS[1])[0].strip()
    inside = re.sub(r"^###", "##", inside, flags=re.MULTILINE)
    inside = re.sub(r"!\[([^\]]*)\]\(([^)]+)\)", r"![\1](../../figures/\2)", inside)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!\w+:)([^)#]+)\)", link, inside)


def write(app: Sphinx) -> None:
    """Write the page."""
    text = HEAD + "\n" + body((FIGURES / "README.md").read_text(encoding="utf-8")) + "\n"
    generated.write(Path(app.srcdir) / "papers" / "claims.md", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
