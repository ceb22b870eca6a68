"""The paper's figures and tables, one module each, beside the paper's own numbers.

Each module of `ITEMS` has the same things, which `Item` states: what the paper says with it (``CLAIM``), ``compute`` (a DataFrame
of the plotted numbers, from inputs that are the paper's by default), ``plot`` (that DataFrame on a Figure), and ``headline`` (how
far ours agrees with the paper, in a sentence made from the numbers). ``theory figures`` runs them, `theory.paper.write` writes
them to files, `knobs` says what may be varied.

Beside them stand what they share. The paper's side: `tables` (its numbers). Our models: `calibration` (block efficiency from few
parameters), `accuracy` (Pass@1 from the reasoning chain), `trees` (accepted length on trees), `real` (the bundled trace). How the
two meet: `tradeoff` (both axes of Figures 3, 5 and 7), `agreement` (ours beside the paper's rows), `intervals` (bars and bands),
`style` (how all figures look).
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from theory.paper.agreement import Claim
    from theory.paper.style import Place


class Item(Protocol):
    """One figure or table of the paper, as a module."""

    TITLE: str
    """What it shows, with the paper's own number of it."""
    CLAIM: str
    """What the paper says with it, in a sentence."""
    CLAIMS: "Sequence[Claim]"
    """The same piece by piece, each with its numbers and what makes it hold here."""
    COLUMNS: Mapping[str, str]
    """Columns of the DataFrame, each with its meaning and unit."""

    def compute(self, quick: bool = False, **inputs: Any) -> "pd.DataFrame":
        """Compute the plotted numbers; ``quick`` trades resolution for time, and nothing else.

        The other arguments are the knobs: what the figure is about, at the paper's values by default (`theory.paper.knobs`).
        """

    def plot(self, table: "pd.DataFrame", ax: "Place | None" = None) -> "Figure":
        """Draw any table that ``compute`` gives: on a new Figure, on the one given, or in the place of the Axes given."""

    def headline(self, table: "pd.DataFrame") -> str:
        """Say ours, the paper's and how far they agree, in a sentence with numbers taken from the table."""


ITEMS = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "table1", "table2_3_7", "table6", "predicted")
"""Names of the modules, in the paper's order; last what `calibration` comes to."""


def item(name: str) -> Item:
    """Give the module of a figure or table.

    Raises
    ------
    ValueError
        For a name that does not exist; the message lists those that do.

    Examples
    --------
    >>> item("fig8").TITLE
    'Figure 8: lenience as interpolation, and its ceiling'
    """
    if name not in ITEMS:
        raise ValueError(f"no figure or table {name!r}; there are: {', '.join(ITEMS)}")
    module: Any = importlib.import_module(f"theory.paper.{name}")
    return cast(Item, module)
