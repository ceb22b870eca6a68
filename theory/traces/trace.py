"""A trace: the rows of a target p and a draft q, recorded at many positions of a text, with what is known about them."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, final

import numpy as np
import numpy.typing as npt

from theory import parameters, probs
from theory.probs import Array
from theory.traces import checks, writing
from theory.traces.format import ALLOWED, CODES, EXACT, RAGGED, check_names, layout_of, wrong_dtype
from theory.traces.rows import MASS_ERROR, RaggedIds, RaggedRows, Rows, Stored, TraceError


@final
@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Rows p and q at many positions, with what is known about them.

    Made by `read`, `example`, `Trace.from_rows` or `Trace.from_logs`.

    Attributes
    ----------
    p, q : ndarray or Rows, shape (positions, width)
        Rows of the target and of the draft. Both kinds take ``len(rows)``, ``rows[i:j]`` (an array of checked rows) and
        ``np.asarray(rows)``; those of a file are read when they are sliced, and no others, so that a trace larger than
        memory can be streamed. Truncated rows are `RaggedRows`.
    ids : ndarray or RaggedIds
        ``ids[i]``: the token of each column of row i; -1 where a column is the tail, or fills up a short row.
    vocabulary : int
        Tokens that there are. A dense row has one column for each.
    tokens : ndarray of int, shape (positions,), optional
        The token that the text has at each position; -1 where unknown. ``provenance["text"]`` says who sampled it.
    temperature : float, optional
        Of both rows. A truncated row cannot be brought to another temperature exactly: its normaliser is lost.
    target, draft : str
        Names of the models.
    exact : mapping of str to ndarray of shape (positions,)
        Quantities computed from the full vocabulary when the row was recorded, before truncation: names and meanings in
        `EXACT`. Where a name fits, it is to be preferred to the same quantity computed from truncated rows.
    prompt_id, position : ndarray of int, shape (positions,), optional
        Which prompt a row belongs to, and how many generated tokens stand before it.
    prompt_tokens, prompt_offsets : ndarray of int, optional
        Prompt k is ``prompt_tokens[prompt_offsets[k]:prompt_offsets[k + 1]]``.
    provenance : mapping of str to str
        How all this was made.
    where : str
        What error messages call it: the path of the file.

    Notes
    -----
    A row may be *truncated*: it lists some tokens (the top k of p and of q, and the token of the text), and the exact
    mass of p and of q on all others, the *tail*. The rows then hold the tail as one extra token, in the last column:
    the law of a coarser variable, on which every verifier is defined. What that does, measured on the bundled trace
    (top 256; the tail holds .030 of p in the mean and .32 at most, .059 and .42 of q):

    ======================  ==================================================  ============  ==============
    quantity                with the tail as one token                          mean/maximum  as 1024 tokens
    ======================  ==================================================  ============  ==============
    TV, strict acceptance   TV too small, acceptance too large; in ``exact``    .0067/.13     the same
    Σ min(p, q), bounds     the truth is at most min(tail p, tail q) below      .023/.32      the same
    KL(p || q)              too small; in ``exact``                             .023/.19      the same
    ln max q/p              too small: 98 % of maxima are unlisted; ``exact``   3.9/9.8       the same
    H(p), H(q)              too small, in nats; in ``exact``                    .23/2.6       .030/.40
    ..                      the same of q                                       .48/3.8       .074/.86
    most probable token     is the tail: of p at 7 % of positions, q at 11 %                  never
    min-p set, p_base .1    no unlisted token belongs to it (nor at .05), but                 right
    ..                      the tail passes for one at 26 % of positions                      never
    ..                      and adds its mass to q(A), a gate's acceptance      .034/.40      0
    ..                      listed ones are lost where the tail is the maximum  -.014/-.55    0
    ..                      (p_base .05: the tail passes at 34 %, and adds)     .039/.40      0
    eta set, ε 6e-4, 2e-3   positions where the rows alone make it certain      .80, .72      the same
    ..                      and with the exact H(p)                             .91, .93      the same
    ..                      positions where all listed tokens are in it or out  .83, .73      .84, .79
    ..                      as with the exact H(p), which sets the threshold
    ..                      the tail passes at 75 % and 63 % of positions                     5.5 %, 2.7 %
    ..                      and adds its mass to q(A)                           .055, .052    .0087, .0049
    top-k, k 50             the tail is one of the k at all positions                         never
    top-p, typical          the tail is one token, taken or left as a whole                   in 1024 parts
    ======================  ==================================================  ============  ==============

    So: take scalars from ``exact`` where they are, and use `Trace.with_tail_tokens` (last column) for whatever compares
    single probabilities with a threshold, a maximum or an entropy. A set is certain where the k-th largest p, which
    bounds all unlisted ones, is out of it. float16 logarithms are off by at most 0.4 %; they add 4.4e-4 to TV at most.

    Examples
    --------
    >>> trace = Trace.from_rows([[0.5, 0.3, 0.2]], [[0.2, 0.3, 0.5]], tokens=[1], target="large", draft="small")
    >>> trace
    <Trace: 1 x 3, large / small>
    >>> trace.p[0:1]
    array([[0.5, 0.3, 0.2]])
    """

    p: Array | Rows
    q: Array | Rows
    ids: Array | RaggedIds
    vocabulary: int
    tokens: Array | None = None
    temperature: float | None = None
    target: str = ""
    draft: str = ""
    exact: Mapping[str, Array] = field(default_factory=dict)
    prompt_id: Array | None = None
    position: Array | None = None
    prompt_tokens: Array | None = None
    prompt_offsets: Array | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    where: str = "trace"

    @classmethod
    def from_rows(
        cls,
        p: npt.ArrayLike,
        q: npt.ArrayLike,
        tokens: npt.ArrayLike | None = None,
        temperature: float | None = None,
        target: str = "",
        draft: str = "",
        **about: Any,
    ) -> "Trace":
        """Make a trace of dense rows of probabilities, checked as `theory.probs` checks rows.

        Parameters
        ----------
        p, q : array_like, shape (positions, V)
            Rows; float32 is kept, integers become float64. Arrays that can still be written to are copied, so that a
            change of theirs does not reach the trace; a read-only one, such as a memory-mapped file, is not.
        tokens : array_like of int, shape (positions,), optional
            The token at each position, -1 where unknown.
        temperature : float, optional
            At which the rows were computed, at least 0.
        target, draft : str
            Names of the models.
        **about
            ``exact``, ``prompt_id``, ``position``, ``prompt_tokens``, ``prompt_offsets``, ``provenance``: see `Trace`.

        Raises
        ------
        TraceError
            Naming the argument, the row and the value.

        Examples
        --------
        >>> Trace.from_rows([[0.5, 0.5]], [[0.5, 0.4]])
        Traceback (most recent call last):
        theory.traces.rows.TraceError: trace: q[0] sums to 0.9: a float64 row must sum to 1 within 1e-08; \
theory.normalise rescales on purpose
        """
        rows = {}
        for name, values in (("p", p), ("q", q)):
            try:
                rows[name] = probs.own(values, name)
            except ValueError as damage:
                raise TraceError("trace", str(damage)) from None
        return _gather(rows, tokens, {"temperature": temperature, "target": target, "draft": draft, **about})

    @classmethod
    def from_logs(
        cls,
        logp: npt.ArrayLike,
        logq: npt.ArrayLike,
        *,
        offsets: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        tail_mass: npt.ArrayLike | None = None,
        vocabulary: int | None = None,
        tokens: npt.ArrayLike | None = None,
        temperature: float | None = None,
        target: str = "",
        draft: str = "",
        **about: Any,
    ) -> "Trace":
        """Make a trace of rows of natural logarithms of probabilities: dense ones, or truncated ones with their tails.

        Parameters
        ----------
        logp, logq : array_like, shape (positions, V), or (entries,) for truncated rows
            float16 and float32 are kept. Normalised, but for rounding (`MASS_ERROR`). Copied as in `Trace.from_rows`.
        offsets : array_like of int, shape (positions + 1,), optional
            Truncated rows: row i is ``offsets[i]:offsets[i + 1]`` of ``logp``, ``logq`` and ``ids``.
        ids : array_like of int, shape (entries,), optional
            Truncated rows: the tokens.
        tail_mass : array_like, shape (positions, 2), optional
            Truncated rows: the mass of p and of q on all tokens that a row does not list.
        vocabulary : int, optional
            Truncated rows: how many tokens there are.
        tokens, temperature, target, draft, **about
            As in `Trace.from_rows`.

        Raises
        ------
        TraceError
            Naming the argument, the row and the value.

        Examples
        --------
        >>> import numpy as np
        >>> trace = Trace.from_logs(
        ...     np.log([0.5, 0.25, 0.5]),
        ...     np.log([0.25, 0.25, 1.0]),
        ...     offsets=[0, 2, 3],
        ...     ids=[7, 3, 7],
        ...     tail_mass=[[0.25, 0.5], [0.5, 0.0]],
        ...     vocabulary=10,
        ... )
        >>> trace.p[0:2]
        array([[0.5 , 0.25, 0.25],
               [0.5 , 0.  , 0.5 ]])
        >>> trace.ids[0:2]
        array([[ 7,  3, -1],
               [ 7, -1, -1]])
        """
        given = {"logp": logp, "logq": logq, "offsets": offsets, "ids": ids, "tail_mass": tail_mass}
        about = {"temperature": temperature, "target": target, "draft": draft, "vocabulary": vocabulary, **about}
        return _gather({name: value for name, value in given.items() if value is not None}, tokens, about)

    # --- rows

    def __len__(self) -> int:
        return len(self.p)

    @property
    def truncated(self) -> bool:
        """Whether rows list some tokens only, with the mass of the others in the tail."""
        return isinstance(self.p, RaggedRows)

    @property
    def tail_tokens(self) -> int:
        """Columns that hold the tail, the last ones; 0 for dense rows."""
        return self.p.tail_tokens if isinstance(self.p, RaggedRows) else 0

    @property
    def tail_mass(self) -> Array:
        """Mass of p and of q outside each row, shape (positions, 2), as stored; 0 for dense rows."""
        if isinstance(self.p, RaggedRows) and isinstance(self.q, RaggedRows):
            return np.stack([self.p.tail, self.q.tail], axis=-1)
        return np.zeros((len(self), 2))

    def with_tail_tokens(self, count: int) -> "Trace":
        """Give the same trace with the tail of each row spread evenly over ``count`` tokens, the last columns.

        Parameters
        ----------
        count : int
            At least 1, and at most the number of tokens that the longest row leaves out.

        Returns
        -------
        Trace
            A view: nothing is read or copied. A dense trace is returned as it is, since it has no tail.

        Raises
        ------
        ValueError
            For a count out of range.

        Notes
        -----
        Ratios p/q are the same in every piece, so that total variation, KL, and rules made of ratios alone (strict,
        lenience) do not change. Entropies rise by tail · ln(count): towards the truth, and with a count near V past it.
        Rules that compare p or q itself do change, for the better: a piece of the tail stops passing for a probable
        token. With a count of tail p / (k-th largest p) or more, no piece is above the k-th largest, as is true of the
        tokens it stands for.

        On the bundled trace, 663 is enough for that at all positions (892 for q), 1024 makes every min-p set right, and
        4096 gives the best entropies (H(p) off by .014 in the mean, H(q) by .020). The price is the width: 456 columns
        become 1479.

        Examples
        --------
        >>> from theory.traces import example
        >>> coarse = example()
        >>> fine = coarse.with_tail_tokens(64)
        >>> coarse.p.shape, fine.p.shape
        ((512, 456), (512, 519))
        """
        p, q, ids = self.p, self.q, self.ids
        if not (isinstance(p, RaggedRows) and isinstance(q, RaggedRows) and isinstance(ids, RaggedIds)):
            return self
        try:
            parameters.check_count("tail_tokens", count)
        except ValueError as damage:
            raise TraceError(self.where, str(damage)) from None
        most = max(1, self.vocabulary - p.longest)
        if count > most:
            raise TraceError(
                self.where,
                f"tail_tokens = {count}: the longest row leaves out {most} tokens, and no more can share its tail",
            )
        return dataclasses.replace(
            self, p=p.with_tail_tokens(count), q=q.with_tail_tokens(count), ids=ids.with_tail_tokens(count)
        )

    def check(self) -> None:
        """Read every row, in chunks, and raise `TraceError` at the first that is not what it must be.

        Notes
        -----
        Beside each row by itself, this compares the stored ``exact["overlap"]`` with the bounds that the rows give: at
        least Σ min(p, q) over the listed tokens, at most that with the tail as one token.
        """
        overlap = self.exact.get("overlap")
        for part in probs.chunks(len(self), self.p.shape[1]):
            p, q = self._rows(part)
            if isinstance(self.ids, RaggedIds):
                self.ids.load(part.start, part.stop)
            if overlap is not None:
                self._check_overlap(np.minimum(p, q), overlap, part.start)

    def _rows(self, part: slice) -> tuple[Array, Array]:
        return np.asarray(self.p[part]), np.asarray(self.q[part])

    def _check_overlap(self, smaller: Array, overlap: Array, start: int) -> None:
        logs = [rows for rows in (self.p, self.q) if isinstance(rows, Rows)]
        slack = max(checks.ROUNDING, max((MASS_ERROR[str(rows.stored.dtype)] for rows in logs), default=0))
        columns = smaller.shape[1] - self.tail_tokens
        low, high = smaller[:, :columns].sum(axis=-1), smaller.sum(axis=-1)
        stored = overlap[start : start + len(smaller)]
        bad = (stored < low - slack) | (stored > high + slack)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise TraceError(
                self.where,
                f"exact_overlap[{row + start}] = {stored[row]}: the rows leave [{low[row]:.6g}, {high[row]:.6g}]",
            )

    # --- the whole

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file; see `write`."""
        writing.write(self, path)

    def describe(self) -> str:
        """Say in one paragraph what the trace holds.

        Examples
        --------
        >>> rows = [[0.5, 0.5], [0.2, 0.8]]
        >>> print(Trace.from_rows(rows, rows, temperature=1.0, target="large").describe())
        2 positions of target large, temperature 1, vocabulary of 2 tokens. Rows are dense, float64 probabilities.
        """
        models = " and ".join(f"{role} {name}" for role, name in (("target", self.target), ("draft", self.draft)) if name)
        parts = [f"{len(self)} positions of {models or 'unnamed models'}"]
        parts.append("temperature unknown" if self.temperature is None else f"temperature {self.temperature:g}")
        parts.append(f"vocabulary of {self.vocabulary} tokens")
        text = ", ".join(parts) + f". Rows are {self._storage()}."
        if self.exact:
            text += f" Stored exactly at record time: {', '.join(self.exact)}."
            if "overlap" in self.exact:
                text += f" Mean overlap Σ min(p, q): {np.mean(self.exact['overlap'], dtype=np.float64):.4f}."
        return text

    def _storage(self) -> str:
        if not isinstance(self.p, RaggedRows):
            if not isinstance(self.p, Rows):
                return f"dense, {self.p.dtype} probabilities"
            kind = "logarithms" if self.p.name.startswith("log") else "probabilities"
            return f"dense, {self.p.stored.dtype} {kind}"
        tail = self.tail_mass.mean(axis=0, dtype=np.float64)
        spread = "one token" if self.tail_tokens == 1 else f"{self.tail_tokens} equal tokens"
        return (
            f"truncated, {float(np.diff(self.p.offsets).mean()):.2f} tokens in the mean and {self.p.longest} at most, "
            f"{self.p.stored.dtype} logarithms; the mass outside them, {tail[0]:.4f} of p and {tail[1]:.4f} of q in "
            f"the mean, is {spread}"
        )

    def __repr__(self) -> str:
        kind = ", truncated rows" if self.truncated else ""
        models = f", {self.target or '?'} / {self.draft or '?'}" if self.target or self.draft else ""
        return f"<Trace: {len(self)} x {self.vocabulary}{kind}{models}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        scalars = ("vocabulary", "temperature", "target", "draft", "truncated", "tail_tokens")
        vectors = ("tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets", "tail_mass")
        return (
            len(self) == len(other)
            and self.p.shape == other.p.shape
            and all(getattr(self, name) == getattr(other, name) for name in scalars)
            and dict(self.provenance) == dict(other.provenance)
            and self.exact.keys() == other.exact.keys()
            and all(np.array_equal(values, other.exact[name]) for name, values in self.exact.items())
            and all(_same(getattr(self, name), getattr(other, name)) for name in vectors)
            and all(
                np.array_equal(getattr(self, name)[part], getattr(other, name)[part])
                for part in probs.chunks(len(self), self.p.shape[1])
                for name in ("p", "q", "ids")
            )
        )

    __hash__ = None  # type: ignore[assignment]


def _own(name: str, values: npt.ArrayLike) -> Array:
    """Give an array in native byte order that nobody else can write to: ``values`` itself where it is that already."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise TraceError("trace", f"{name}: its rows do not have one length") from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
            return array
        base = base.base
    return array


def _same(mine: Array | None, theirs: Array | None) -> bool:
    return mine is theirs if mine is None or theirs is None else np.array_equal(mine, theirs)


def _gather(rows: Mapping[str, Any], tokens: Any, about: dict[str, Any]) -> Trace:
    """Make a trace of arrays in memory, and read all its rows once."""
    exact = about.pop("exact", None)
    exact = {} if exact is None else exact
    if not isinstance(exact, Mapping):
        raise TraceError("trace", f"exact = {exact!r}: a mapping of names to arrays must stand here")
    vectors: dict[str, Any] = {"tokens": tokens, **{f"exact_{name}": values for name, values in exact.items()}}
    for name in ("prompt_id", "position", "prompt_tokens", "prompt_offsets"):
        vectors[name] = about.pop(name, None)
    arrays = {**rows, **{name: values for name, values in vectors.items() if values is not None}}
    known = {name: about.pop(name, None) for name in ("vocabulary", "temperature", "target", "draft", "provenance")}
    if about:
        raise TypeError(f"unexpected arguments {', '.join(about)}")
    check_names(arrays, "trace")
    owned = {name: values if name in ("p", "q") else _own(name, values) for name, values in arrays.items()}
    trace = assemble(owned, known, "trace")
    trace.check()
    return trace


def assemble(arrays: Mapping[str, Stored], known: Mapping[str, Any], where: str) -> Trace:
    """Make a trace of arrays under the names that they have in a file. Checks all but the contents of rows."""
    layout = layout_of(arrays, where)
    for name, array in arrays.items():
        if array.dtype not in CODES or CODES[array.dtype] not in ALLOWED[name]:
            wrong_dtype(where, name, array.dtype)
    p, q, ids, vocabulary = (checks.ragged if layout == RAGGED else checks.dense)(arrays, known.get("vocabulary"), where)
    tail_tokens = known.get("tail_tokens")
    positions = len(p)
    vectors = {name: checks.whole(array) for name, array in arrays.items() if name not in layout}
    for name, vector in vectors.items():
        checks.check_vector(where, name, vector, positions, vocabulary)
    checks.check_prompts(where, vectors)
    names, temperature, provenance = checks.check_known(known, where)
    exact = {name: vectors[f"exact_{name}"] for name in EXACT if f"exact_{name}" in vectors}
    trace = Trace(
        p,
        q,
        ids,
        vocabulary,
        tokens=vectors.get("tokens"),
        temperature=temperature,
        target=names["target"],
        draft=names["draft"],
        exact=MappingProxyType(exact),
        prompt_id=vectors.get("prompt_id"),
        position=vectors.get("position"),
        prompt_tokens=vectors.get("prompt_tokens"),
        prompt_offsets=vectors.get("prompt_offsets"),
        provenance=provenance,
        where=where,
    )
    return trace if tail_tokens in (None, trace.tail_tokens) else trace.with_tail_tokens(tail_tokens)
