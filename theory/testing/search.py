"""The search for the smallest case on which a check fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from theory.verifiers import RuleError

Case = TypeVar("Case")


class Falsified(Exception):  # noqa: N818 - it says what a rule is
    """What is wrong with a rule on one case.

    Parameters
    ----------
    said : str
        What the rule does, as the rest of a sentence that begins with the rule.
    **shown : object
        Rows and laws that show it.
    """

    def __init__(self, said: str, **shown: Any) -> None:
        super().__init__(said)
        self.said = said
        self.shown = shown


@contextmanager
def on(where: str) -> Iterator[None]:
    """Say of what goes wrong inside that it does so ``where``."""
    try:
        yield
    except Falsified as wrong:
        raise Falsified(f"{wrong.said} ({where})", **wrong.shown) from wrong.__cause__
    except RuleError as error:
        raise Falsified(f"is no rule {where}: {error}") from None


def look(check: Callable[[Case], None], case: Case, hint: str = "") -> Falsified | None:
    """Run a check on one case and give what is wrong.

    Errors that the rule raises are among it, followed by ``hint``, or by the reason where it writes into what it is given.
    """
    try:
        with np.errstate(all="ignore"):  # a rule may divide by zero where it does not look
            check(case)
    except Falsified as wrong:
        return wrong
    except RuleError as error:
        return Falsified(f"is no rule: {error}")
    except Exception as error:
        if isinstance(error, ValueError) and "read-only" in str(error):
            hint = ": rows and tokens belong to the caller, and are given read-only"
        raised = Falsified(f"raises {type(error).__name__}: {' '.join(str(error).split())}{hint}")
        raised.__cause__ = error
        return raised
    return None


def smallest(
    cases: st.SearchStrategy[Case], check: Callable[[Case], Falsified | None], examples: int
) -> tuple[Case, Falsified] | None:
    """Search for a case on which a check fails, then for the smallest one; give it with what is wrong, None where none is found.

    Notes
    -----
    At most ``examples`` cases are checked, the same at each run, unless one fails; only then are there more, to shrink it.
    """
    failed: list[tuple[Case, Falsified]] = []

    @seed(0)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def hold(case: Case) -> None:
        wrong = check(case)
        if wrong is not None:
            failed.append((case, wrong))
            raise wrong

    try:
        hold()
    except Falsified:
        return failed[-1]  # hypothesis ends with the smallest
    except Flaky as error:
        case, wrong = failed[-1]
        again = Falsified(f"{wrong.said} (not each time: asked again it answered otherwise)", **wrong.shown)
        again.__cause__ = error
        return case, again
    return None
