"""What commands write: tables as .csv and figures, at paths that are refused before any work is done."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    import pandas as pd

IMAGES = (".png", ".pdf", ".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""Suffixes of --plot; the first where none is given."""


def table_path(path: Path | None) -> Path | None:
    """Give the path of --csv.

    Raises
    ------
    ValueError
        If it is a directory, in no folder, not writable, or has the suffix of an image.
    """
    if path is None:
        return None
    if path.suffix.lower() in IMAGES:
        raise ValueError(f"--csv {path}: {path.suffix} is the suffix of an image")
    _check_place("--csv", path)
    return path


def figure_path(path: Path | None) -> Path | None:
    """Give the path of --plot, with the first of `IMAGES` where it has no suffix.

    Raises
    ------
    ValueError
        If it is a directory, in no folder, not writable, or has the suffix of no image.
    """
    if path is None:
        return None
    _check_place("--plot", path)
    if not path.suffix:
        path = path.with_name(f"{path.name.rstrip('.')}{IMAGES[0]}")
        _check_place("--plot", path)
    if path.suffix.lower() not in IMAGES:
        raise ValueError(f"--plot {path}: no image has the suffix {path.suffix}; there are: {', '.join(IMAGES)}")
    return path


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{option} {path}: is a directory")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: may not be written")


def save_table(table: "pd.DataFrame", path: Path, console: Console) -> None:
    """Write a table as .csv, and say where."""
    table.to_csv(path, index=False)
    _say_wrote(path, console)


def save_figure(axes: Any, path: Path, console: Console) -> None:
    """Write the figure of these axes, with no date inside, and say where."""
    import matplotlib.pyplot as plt

    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    axes.figure.savefig(path, dpi=160, metadata=undated.get(path.suffix.lower()))
    plt.close(axes.figure)
    _say_wrote(path, console)


def _say_wrote(path: Path, console: Console) -> None:
    console.print(f"wrote {path}", soft_wrap=True)
