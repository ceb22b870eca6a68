"""Every example of the site runs: sessions as doctests, commands as their users type them."""

import doctest
import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.commands import run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {"_build", "notebooks"} & set(path.relative_to(DOCS).parts) and "made from the package" not in path.read_text()[:80]
)
check_site = runpy.run_path(str(DOCS / "check_site.py"))
FENCE = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(?::caption: (\S+)\n\n?)?(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Give language, caption, text and first line of each fenced block of a page, in their order."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        yield found[1], found[2], found[3], text.count("\n", 0, found.start(3)) + 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_run(page, capsys, trace_file, monkeypatch):
    monkeypatch.chdir(trace_file.parent)
    names, complaints = {}, []
    for language, caption, text, line in blocks(page):
        if caption:  # a file that the page tells its reader to write
            Path(caption).write_text(text)
        elif language == "pycon":
            session = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line - 1)
            doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session, out=complaints.append, clear_globs=False)
            names = session.globs
        elif language == "console":
            for command in re.findall(r"^\$ theory (.*)$", text, re.MULTILINE):
                code, _, err = run(capsys, *shlex.split(command, comments=True))
                assert (code, err) == (0, ""), f"theory {command}"
    assert not complaints, "".join(complaints)


def test_the_check_of_the_built_site_sees_what_is_broken(tmp_path):
    pages = {"index.html": '<a href="other.html#there">', "other.html": '<h1 id="there"></h1><a href="index.html">'}
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    assert check_site["broken"](tmp_path) == []
    (tmp_path / "bad.html").write_text(
        '<a href="gone.html"><a href="other.html#gone"><a href="https://arxiv.org"><script src="https://cdn.example/x.js"></script>'
    )
    assert check_site["broken"](tmp_path) == [
        "bad.html: fetches https://cdn.example/x.js",
        "bad.html: gone.html does not exist",
        "bad.html: other.html#gone names no place on its page",
    ]


def test_pages_name_their_sources_and_tests():
    for page in sorted((DOCS / "explanation").glob("*.md")):
        if page.name != "index.md":
            assert "{test}`" in page.read_text(), page.name
