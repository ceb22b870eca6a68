"""Classes that are named by where they are written: ``path/to/file.py:Class`` or ``package.module:Class``.

A file is executed as it is loaded, with all that this may do: name only files that you would run.
"""

import importlib
import importlib.metadata
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

_modules: dict[Path, tuple[int, ModuleType]] = {}
_spelled: WeakKeyDictionary[type, str] = WeakKeyDictionary()


class Located(NamedTuple):
    """A class, and what stood behind its name."""

    cls: type
    rest: str
    """The arguments, with their colon; empty where there are none."""


def locate(text: str, kinds: tuple[type, ...], what: str) -> Located | None:
    """Find the class at the beginning of ``text``; None where ``text`` does not begin with a place where code is written.

    Parameters
    ----------
    text : str
        ``file.py:Class`` or ``package.module:Class``, arguments behind it or not.
    kinds : tuple of type
        What the class must derive from.
    what : str
        What error messages call such a class.

    Raises
    ------
    ValueError
        For a file or class that is not there (the message lists the classes that are), and for an error of the file's own, which
        is told with file and line.
    """
    place, colon, behind = text.strip().partition(":")
    name, further, rest = behind.partition(":")
    if place.endswith(".py"):
        module = _of_file(Path(place))
    elif colon and name.isidentifier() and _importable(place):
        module = _of_name(place)
    else:
        return None
    there = [key for key, value in vars(module).items() if _is_own(value, kinds, module)]
    listed = f"its classes that are are {', '.join(there)}" if there else "it has none"
    if not hasattr(module, name):
        raise ValueError(f"{text!r}: {place} has no class {name!r} that is {what}; {listed}")
    found = getattr(module, name)
    if not (isinstance(found, type) and issubclass(found, kinds)):
        raise ValueError(f"{text!r}: {name} in {place} is not {what}; {listed}")
    _spelled[found] = f"{place}:{name}"
    return Located(found, further + rest)


def spelled(cls: type) -> str:
    """Give the name under which a class was loaded; its own where it was not.

    Examples
    --------
    >>> spelled(dict)
    'dict'
    """
    return _spelled.get(cls, cls.__name__)


def names(group: str) -> set[str]:
    """Give the names that installed packages register under a group of entry points, loading nothing."""
    return {point.name for point in importlib.metadata.entry_points(group=group)}


def registered(group: str, kinds: tuple[type, ...], what: str, name: str | None = None) -> dict[str, tuple[str, type]]:
    """Load what installed packages register under a group, or under one name of it: name to package and class.

    Raises
    ------
    ValueError
        In one line, for what cannot be loaded, or is no such class.
    """
    found = {}
    for point in sorted(importlib.metadata.entry_points(group=group), key=lambda point: point.name):
        if name in (None, point.name):
            package = point.dist.name if point.dist is not None else "a package"
            said = f"{point.name!r}, registered by {package} as {point.value}"
            try:
                cls = point.load()
            except Exception as error:
                raise ValueError(f"{said}: {_said(error)}") from error
            if not (isinstance(cls, type) and issubclass(cls, kinds)):
                raise ValueError(f"{said}: is not {what}")
            _spelled[cls] = point.name
            found[point.name] = package, cls
    return found


def told(error: BaseException) -> str | None:
    """Give the line of an error that came out of a loaded file, with file and line number; None for any other error."""
    files = {str(path) for path in _modules}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(Path(frame.filename).resolve()) in files]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {_said(error)}" if frames else None


def _of_file(path: Path) -> ModuleType:
    """Execute a file once, and again when it has changed."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    full = path.resolve()
    changed = full.stat().st_mtime_ns
    if full in _modules and _modules[full][0] == changed:
        return _modules[full][1]
    spec = importlib.util.spec_from_file_location(full.stem, full)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while they are made. Left there it could hide a module of that name, and processes that are
    # sent such a rule would look for it in vain; out of sight, the rule travels with its code.
    hidden = sys.modules.get(full.stem)
    sys.modules[full.stem] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ValueError(f"{path}:{error.lineno}: {type(error).__name__}: {error.msg}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(full)]
        raise ValueError(f"{path}:{lines[-1] if lines else 1}: {_said(error)}") from error
    finally:
        if hidden is None:
            del sys.modules[full.stem]
        else:
            sys.modules[full.stem] = hidden
    _modules[full] = changed, module
    return module


def _of_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name}: {_said(error)}") from error


def _importable(name: str) -> bool:
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _is_own(value: Any, kinds: tuple[type, ...], module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, kinds) and value.__module__ == module.__name__


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
