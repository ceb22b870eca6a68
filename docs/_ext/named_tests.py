"""The role ``test``: the name of a test of this repository, shown with its file. A name that no test has is a warning."""

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.util import logging

TESTS = Path(__file__).parents[2] / "tests"
logger = logging.getLogger(__name__)


def index() -> dict[str, str]:
    """Give the file of each test."""
    return {
        name: path.name
        for path in sorted(TESTS.glob("test_*.py"))
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }


FILES = index()


def show(
    role: str, raw: str, text: str, line: int, inliner: Inliner, options: object = None, content: object = ()
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Show ``file::name``."""
    if text not in FILES:
        logger.warning("no test is called %s", text, location=(inliner.document.settings.env.current_document.docname, line))
    shown = f"{FILES.get(text, '?')}::{text}"
    return [nodes.literal(raw, shown, classes=["named-test"])], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role."""
    app.add_role("test", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
