"""Logged steps on which the tests of `theory.counts` run."""

import numpy as np
from hypothesis import strategies as st

from theory.counts import Counts

REQUESTS = Counts.of([3] * 100 + [0] * 10, drafted=4, request=["long"] * 100 + ["short"] * 10)


@st.composite
def steps(draw, *, same_gamma=False, censored=True, stopped=True, least=1):
    """Draw a few steps of a few requests, censored and stopped where that is allowed."""
    gamma = draw(st.integers(1, 5))
    rows = []
    for _ in range(draw(st.integers(least, 12))):
        drafted = gamma if same_gamma else draw(st.integers(0, gamma))
        accepted = draw(st.integers(0, drafted))
        unseen = censored and draw(st.booleans())
        emitted = draw(st.integers(0, accepted + 1)) if stopped else accepted + 1
        rows.append((drafted, accepted, emitted, unseen, draw(st.integers(-1, 2))))
    return Counts(*(np.array(column) for column in zip(*rows, strict=True)))
