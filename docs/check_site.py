"""Check a built site: every link inside it leads somewhere, nothing is loaded from elsewhere, search finds what is looked for.

python docs/check_site.py docs/_build/html
"""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SOUGHT = ("lenience", "bonus token", "block efficiency", "true baseline", "trace format", "worst case")
"""What search must find."""

LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
"""Elements that a browser fetches by itself, and by which attribute."""


class Page(HTMLParser):
    """What a page refers to, and what in it can be referred to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note identifiers, links, and what is loaded."""
        given = {name: value for name, value in attrs if value}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.links.append(given[LOADED[tag]])
            self.fetched.append(given[LOADED[tag]])


def broken(root: Path) -> list[str]:
    """List links that lead nowhere, and what is fetched from outside."""
    pages = {path.resolve(): Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.parts}
    complaints = []
    for path, page in pages.items():
        where = path.relative_to(root.resolve())
        complaints += [f"{where}: fetches {url}" for url in page.fetched if urlsplit(url).netloc]
        for url in page.links:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                complaints.append(f"{where}: {url} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors | {"top"}:
                complaints.append(f"{where}: {url} names no place on its page")
    return complaints


def unfound(root: Path) -> list[str]:
    """List what search does not find: the words of a phrase, as the index stems them, must meet on some page."""
    from sphinx.search.en import SearchEnglish

    text = (root / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    stem = SearchEnglish({}).stem
    complaints = []
    for phrase in SOUGHT:
        pages = [_pages(index, stem(word)) for word in re.findall(r"\w+", phrase)]
        if not set.intersection(*pages):
            complaints.append(f"search finds no page with {phrase!r}")
    return complaints


def _pages(index: dict[str, dict[str, int | list[int]]], word: str) -> set[int]:
    found = [index[kind].get(word, []) for kind in ("terms", "titleterms")]
    return {page for one in found for page in ([one] if isinstance(one, int) else one)}


if __name__ == "__main__":
    built = Path(sys.argv[1])
    said = [*broken(built), *unfound(built)]
    print(
        "\n".join(said)
        or f"{sum(1 for _ in built.rglob('*.html'))} pages: every link leads somewhere, nothing is fetched, search finds all"
    )
    sys.exit(bool(said))
