"""Traces: the rows of a target p and a draft q, recorded at many positions of a text, and the one file that holds them.

The file is safetensors: memory-mapped, no code in it, arrays by name and strings as metadata. Rows come in one of three
layouts:

=============  =====================================  ===========================================================
rows           arrays                                 dtype and meaning
=============  =====================================  ===========================================================
probabilities  ``p``, ``q`` (positions, V)            float32, float64; sums of 1 as in `theory.probs`
logarithms     ``logp``, ``logq`` (positions, V)      float16, float32, float64; natural; rescaled when read
truncated      ``offsets`` (positions + 1)            int32, int64; row i is ``offsets[i]:offsets[i + 1]`` of
..             ``ids`` (entries)                      uint16, uint32, int32, int64; tokens, no two equal in a row
..             ``logp``, ``logq`` (entries)           float16, float32, float64
..             ``tail_mass`` (positions, 2)           float32, float64; mass of p and q on all other tokens
=============  =====================================  ===========================================================

With any of them, where known: ``tokens``, ``prompt_id``, ``position`` (positions), ``prompt_tokens`` (all prompts, one
after the other) and ``prompt_offsets`` (prompts + 1), of integers; ``exact_<name>`` (positions), of float32 or float64,
for the names in `EXACT`. Metadata: ``schema``, ``vocabulary`` (needed by truncated rows), ``temperature``, ``target``,
``draft``, ``tail_tokens``; every other key is provenance. A file holds nothing else, and is written whole: record long
runs in several files.
"""

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Self, final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from theory import parameters, probs
from theory.probs import Array
from theory.traces.rows import MASS_ERROR, DenseRows, FileArray, RaggedIds, RaggedRows, Rows, Stored, TraceError

SCHEMA = "theory-trace/1"
"""What the metadata of a trace file says under ``schema``."""

EXACT = MappingProxyType(
    {
        "overlap": "Σ_x min(p, q) = 1 - TV(p, q), the acceptance rate of strict verification; in [0, 1]",
        "entropy_p": "H(p) = -Σ p ln p, in nats",
        "entropy_q": "H(q), in nats",
        "kl_pq": "KL(p || q) = Σ p ln(p / q), in nats; may be infinite",
        "log_max_q_over_p": "ln max_x q(x) / p(x), in nats, the Rényi divergence of order infinity; may be infinite",
    }
)
"""What may be stored exactly, from the full vocabulary, at record time: name to meaning. See `Trace.exact`."""

_DTYPES = {
    np.dtype(name): code
    for name, code in {
        "float16": "F16",
        "float32": "F32",
        "float64": "F64",
        "uint16": "U16",
        "uint32": "U32",
        "int32": "I32",
        "int64": "I64",
    }.items()
}
_NUMPY = {code: dtype for dtype, code in _DTYPES.items()}
_PROBABILITIES = ("F32", "F64")
_LOGARITHMS = ("F16", "F32", "F64")
_INTEGERS = ("U16", "U32", "I32", "I64")
_RAGGED = ("offsets", "ids", "logp", "logq", "tail_mass")
_LAYOUTS = (("p", "q"), ("logp", "logq"), _RAGGED)
_ALLOWED = {
    "p": _PROBABILITIES,
    "q": _PROBABILITIES,
    "logp": _LOGARITHMS,
    "logq": _LOGARITHMS,
    "tail_mass": _PROBABILITIES,
    "offsets": ("I32", "I64"),
    **dict.fromkeys(("ids", "tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets"), _INTEGERS),
    **dict.fromkeys((f"exact_{name}" for name in EXACT), _PROBABILITIES),
}
_ROUNDING = 1e-4  # of a float32 sum over a vocabulary, in the scalars stored at record time
_RESERVED = ("schema", "vocabulary", "temperature", "target", "draft", "tail_tokens")
_DATA = Path(__file__).parent / "data"


# --- the trace ------------------------------------------------------------------------------------------------------


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
    ) -> Self:
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
        return cls._gather(rows, tokens, {"temperature": temperature, "target": target, "draft": draft, **about})

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
    ) -> Self:
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
        return cls._gather({name: value for name, value in given.items() if value is not None}, tokens, about)

    @classmethod
    def _gather(cls, rows: Mapping[str, Any], tokens: Any, about: dict[str, Any]) -> Self:
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
        _check_names(arrays, "trace")
        owned = {name: values if name in ("p", "q") else _own(name, values) for name, values in arrays.items()}
        trace = cls._assemble(owned, known, "trace")
        trace.check()
        return trace

    @classmethod
    def _assemble(cls, arrays: Mapping[str, Stored], known: Mapping[str, Any], where: str) -> Self:
        """Make a trace of arrays under the names that they have in a file. Checks all but the contents of rows."""
        layout = _layout(arrays, where)
        for name, array in arrays.items():
            if array.dtype not in _DTYPES or _DTYPES[array.dtype] not in _ALLOWED[name]:
                _wrong_dtype(where, name, array.dtype)
        p, q, ids, vocabulary = (_ragged if layout == _RAGGED else _dense)(arrays, known.get("vocabulary"), where)
        tail_tokens = known.get("tail_tokens")
        positions = len(p)
        vectors = {name: _whole(array) for name, array in arrays.items() if name not in layout}
        for name, vector in vectors.items():
            _check_vector(where, name, vector, positions, vocabulary)
        _check_prompts(where, vectors)
        names = {role: known.get(role) or "" for role in ("target", "draft")}
        for role, text in names.items():
            if not isinstance(text, str):
                raise TraceError(where, f"{role} = {text!r}: a name must stand here")
        temperature = known.get("temperature")
        if temperature is not None:
            try:
                parameters.check("temperature", temperature, "[0, inf)")
            except ValueError as damage:
                raise TraceError(where, str(damage)) from None
        provenance = {} if known.get("provenance") is None else known["provenance"]
        if not isinstance(provenance, Mapping):
            raise TraceError(where, f"provenance = {provenance!r}: a mapping of names to text must stand here")
        for key, value in provenance.items():
            if not isinstance(key, str) or not isinstance(value, str) or key in _RESERVED:
                raise TraceError(where, f"provenance {key!r}: {value!r}: text under a name of its own must stand here")
        exact = {name: vectors[f"exact_{name}"] for name in EXACT if f"exact_{name}" in vectors}
        trace = cls(
            p,
            q,
            ids,
            vocabulary,
            tokens=vectors.get("tokens"),
            temperature=None if temperature is None else float(temperature),
            target=names["target"],
            draft=names["draft"],
            exact=MappingProxyType(exact),
            prompt_id=vectors.get("prompt_id"),
            position=vectors.get("position"),
            prompt_tokens=vectors.get("prompt_tokens"),
            prompt_offsets=vectors.get("prompt_offsets"),
            provenance=MappingProxyType(dict(provenance)),
            where=where,
        )
        return trace if tail_tokens in (None, trace.tail_tokens) else trace.with_tail_tokens(tail_tokens)

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

    def with_tail_tokens(self, count: int) -> Self:
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
        slack = max(_ROUNDING, max((MASS_ERROR[str(rows.stored.dtype)] for rows in logs), default=0))
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
        write(self, path)

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


# --- what must hold before any row is read --------------------------------------------------------------------------


def _check_names(names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in _ALLOWED:
            raise TraceError(where, f"array {name!r}: a trace holds {', '.join(_ALLOWED)}")


def _layout(arrays: Mapping[str, Any], where: str) -> tuple[str, ...]:
    rows = {name for layout in _LAYOUTS for name in layout} & set(arrays)
    for layout in _LAYOUTS:
        if rows == set(layout):
            return layout
    choices = "; or ".join(", ".join(layout) for layout in _LAYOUTS)
    raise TraceError(where, f"has the arrays {', '.join(sorted(rows)) or 'of no rows'}: rows are {choices}")


def _dense(arrays: Mapping[str, Stored], vocabulary: Any, where: str) -> tuple[Array | Rows, Array | Rows, Array, int]:
    names = ("p", "q") if "p" in arrays else ("logp", "logq")
    first, second = (arrays[name] for name in names)
    if first.ndim != 2 or 0 in first.shape:
        raise TraceError(where, f"{names[0]} has shape {first.shape}: (positions, V), of one or more, must stand here")
    if first.shape != second.shape:
        raise TraceError(where, f"{names[0]} has shape {first.shape} and {names[1]} {second.shape}: they must be the same")
    if vocabulary is not None and vocabulary != first.shape[1]:
        raise TraceError(where, f"vocabulary = {vocabulary} and rows of {first.shape[1]} tokens: they must be the same")
    p, q = (
        array if isinstance(array, np.ndarray) and name in ("p", "q") else DenseRows(array, name, where)
        for name, array in zip(names, (first, second), strict=True)
    )
    return p, q, np.broadcast_to(np.arange(first.shape[1]), first.shape), first.shape[1]


def _ragged(arrays: Mapping[str, Stored], vocabulary: Any, where: str) -> tuple[Rows, Rows, RaggedIds, int]:
    if vocabulary is None:
        raise TraceError(where, "vocabulary is not given: truncated rows need it")
    try:
        parameters.check_count("vocabulary", vocabulary)
    except ValueError as damage:
        raise TraceError(where, str(damage)) from None
    ids, logp, logq = arrays["ids"], arrays["logp"], arrays["logq"]
    if ids.ndim != 1 or not ids.shape == logp.shape == logq.shape:
        shapes = f"ids has shape {ids.shape}, logp {logp.shape} and logq {logq.shape}"
        raise TraceError(where, f"{shapes}: one length must hold for all three")
    offsets = _offsets(where, "offsets", _whole(arrays["offsets"]), ids.shape[0], int(vocabulary))
    tail = _whole(arrays["tail_mass"])
    if tail.shape != (len(offsets) - 1, 2):
        raise TraceError(where, f"tail_mass has shape {tail.shape}: {(len(offsets) - 1, 2)} must stand here, as in offsets")
    bad = ~((tail >= 0) & (tail <= 1))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise TraceError(where, f"tail_mass[{row}, {column}] = {tail[row, column]}: a number in [0, 1] must stand here")
    return (
        RaggedRows(logp, "logp", where, offsets, tail[:, 0]),
        RaggedRows(logq, "logq", where, offsets, tail[:, 1]),
        RaggedIds(ids, "ids", where, offsets, int(vocabulary)),
        int(vocabulary),
    )


def _offsets(where: str, name: str, offsets: Array, entries: int, most: int | None = None) -> npt.NDArray[np.int64]:
    if offsets.ndim != 1 or len(offsets) < 2:
        raise TraceError(where, f"{name} has shape {offsets.shape}: (rows + 1,), of one row or more, must stand here")
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets)
    if offsets[0] != 0:
        raise TraceError(where, f"{name}[0] = {offsets[0]}: rows begin at 0")
    bad = (lengths < 0) | (lengths > (entries if most is None else most))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        limit = "" if most is None else f" of at most {most} tokens"
        raise TraceError(where, f"{name}[{row + 1}] = {offsets[row + 1]} after {offsets[row]}: a row{limit} must stand here")
    if offsets[-1] != entries:
        raise TraceError(where, f"{name}[{len(offsets) - 1}] = {offsets[-1]}: rows end at {entries}, as their entries do")
    offsets.flags.writeable = False
    return offsets


def _wrong_dtype(where: str, name: str, found: Any) -> NoReturn:
    allowed = ", ".join(str(_NUMPY[code]) for code in _ALLOWED[name])
    raise TraceError(where, f"{name} has dtype {found}: allowed are {allowed}")


def _check_vector(where: str, name: str, vector: Array, positions: int, vocabulary: int) -> None:
    if name == "prompt_offsets":
        return  # `_check_prompts` does
    if vector.ndim != 1 or (name != "prompt_tokens" and len(vector) != positions):
        raise TraceError(where, f"{name} has shape {vector.shape}: ({positions},), one for each row, must stand here")
    low, high = _range(name, vocabulary)
    slack = _ROUNDING if name.startswith("exact_") else 0
    bad = ~((vector >= low - slack) & (vector <= high + slack))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TraceError(where, f"{name}[{row}] = {vector[row]}: a number in [{low:g}, {high:g}] must stand here")


def _range(name: str, vocabulary: int) -> tuple[float, float]:
    """Give the least and the greatest value that a vector may hold."""
    if not name.startswith("exact_"):
        return (-1 if name == "tokens" else 0), (vocabulary - 1 if name.endswith("tokens") else math.inf)
    if name == "exact_overlap":
        return 0, 1
    return 0, (math.log(vocabulary) if "entropy" in name else math.inf)


def _check_prompts(where: str, vectors: Mapping[str, Array]) -> None:
    offsets = vectors.get("prompt_offsets")
    if (offsets is None) != ("prompt_tokens" not in vectors):
        raise TraceError(where, "has one of prompt_tokens and prompt_offsets: they come together")
    if offsets is None:
        return
    prompts = len(_offsets(where, "prompt_offsets", offsets, len(vectors["prompt_tokens"]))) - 1
    bad = vectors.get("prompt_id", np.empty(0)) >= prompts
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TraceError(where, f"prompt_id[{row}] = {vectors['prompt_id'][row]}: there are {prompts} prompts")


def _whole(array: Stored) -> Array:
    """Read the whole array; a read-only view."""
    view = (array if isinstance(array, np.ndarray) else array[:] if array.ndim else np.empty(())).view()
    view.flags.writeable = False
    return view


# --- files ----------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], check: bool = True) -> Trace:
    """Open a trace file, memory-mapped.

    Parameters
    ----------
    path : path-like
        A safetensors file that holds a trace; see `theory.traces.format`.
    check : bool
        Walk through all rows at once (`Trace.check`), as fast as the disk. Otherwise rows are checked when they are
        sliced; header, names, dtypes, shapes, offsets and all vectors of one number a position are checked in any case.

    Returns
    -------
    Trace
        Its rows stay in the file until they are sliced. Do not shorten the file meanwhile; replacing it is harmless.

    Raises
    ------
    TraceError
        In one line, with file, row and value, for all that is wrong with the file, or if there is none.

    Examples
    --------
    >>> read("no/such/trace")
    Traceback (most recent call last):
    theory.traces.rows.TraceError: no/such/trace: No such file or directory
    """
    where = os.fspath(path)
    handle, metadata = _open(where)
    names = list(handle.keys())
    _check_names(names, where)
    arrays = {name: _file_array(handle.get_slice(name), name, where) for name in names}
    trace = Trace._assemble(arrays, _known_metadata(metadata, where), where)
    if check:
        trace.check()
    return trace


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace to a file, from which `read` gives it back value for value.

    Parameters
    ----------
    trace : Trace
        Arrays are written as they are stored: logarithms are not taken, and nothing is rounded.
    path : path-like
        Replaced at once when all is written, so that a crash leaves what was there, and a trace can be written over the
        file that it reads from.

    Raises
    ------
    TraceError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> rows = [[0.5, 0.25, 0.25]]
    >>> trace = Trace.from_rows(rows, rows, provenance={"made": "by hand"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace.write(pathlib.Path(folder) / "mine.safetensors")
    ...     read(pathlib.Path(folder) / "mine.safetensors") == trace
    True
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    arrays = {name: np.ascontiguousarray(array) for name, array in _arrays(trace).items()}
    try:
        partial.touch()
        mode = partial.stat().st_mode  # what the umask gives; safetensors writes files that only their owner can read
        save_file(arrays, partial, metadata=_metadata(trace))
        partial.chmod(mode)
        partial.replace(target)
    except (OSError, SafetensorError) as damage:
        raise TraceError(str(target), f"cannot be written ({damage})") from None
    finally:
        partial.unlink(missing_ok=True)


def example() -> Trace:
    """Give the bundled trace: 512 positions of SmolLM2-135M-Instruct and an early-exit draft of it, top 256 of each.

    Eight prompts, the first 64 tokens that the target sampled at temperature 1. ``provenance`` and data/README.md tell
    how text and draft were made, and what was selected.

    Examples
    --------
    >>> print(example().describe())  # doctest: +NORMALIZE_WHITESPACE
    512 positions of target SmolLM2-135M-Instruct and draft SmolLM2-135M-Instruct exit 25/30,
    temperature 1, vocabulary of 49152 tokens. Rows are truncated, 359.55 tokens in the mean and 455 at most, float16
    logarithms; the mass outside them, 0.0296 of p and 0.0586 of q in the mean, is one token. Stored exactly at record
    time: overlap, entropy_p, entropy_q, kl_pq, log_max_q_over_p. Mean overlap Σ min(p, q): 0.6139.
    """
    return read(_DATA / "smollm2_early_exit_top256.safetensors", check=False)


def _arrays(trace: Trace) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, rows in (("p", trace.p), ("q", trace.q), ("ids", trace.ids)):
        if isinstance(rows, Rows):
            arrays[rows.name] = _whole(rows.stored)
        elif name != "ids":  # those of dense rows are the columns
            arrays[name] = np.asarray(rows)
    if isinstance(trace.p, RaggedRows):
        arrays |= {"offsets": trace.p.offsets, "tail_mass": trace.tail_mass}
    arrays |= {f"exact_{name}": values for name, values in trace.exact.items()}
    for name in ("tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets"):
        if getattr(trace, name) is not None:
            arrays[name] = getattr(trace, name)
    return arrays


def _metadata(trace: Trace) -> dict[str, str]:
    metadata = {"schema": SCHEMA, "vocabulary": str(trace.vocabulary), **trace.provenance}
    if trace.temperature is not None:
        metadata["temperature"] = repr(trace.temperature)
    if trace.tail_tokens > 1:
        metadata["tail_tokens"] = str(trace.tail_tokens)
    return metadata | {"target": trace.target, "draft": trace.draft}


def _open(where: str) -> tuple[Any, dict[str, str]]:
    try:
        if Path(where).is_dir():
            raise TraceError(where, "is a directory; a trace is one file")
        if Path(where).exists() and not Path(where).is_file():
            raise TraceError(where, "is not a regular file")
        handle: Any = safe_open(where, framework="numpy")
        return handle, handle.metadata() or {}
    except OSError as damage:
        raise TraceError(where, damage.strerror or str(damage).partition(":")[0]) from None
    except SafetensorError as damage:
        raise TraceError(where, _diagnose(Path(where), str(damage))) from None


def _file_array(view: Any, name: str, where: str) -> FileArray:
    code = view.get_dtype()
    if code not in _NUMPY:
        _wrong_dtype(where, name, code)
    return FileArray(view, _NUMPY[code])


def _diagnose(path: Path, message: str) -> str:
    """Name the damage of a file that safetensors cannot open."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
    message = message.removeprefix("Error while deserializing header: ")
    if size == 0:
        return "is empty"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05" and (head[2:3] == b"\x95" or head[4:] != bytes(4)):
        return "is a pickle, which is code and is never loaded; a trace is a safetensors file"
    if head[:4] == b"PK\x03\x04":
        return "is a zip archive, as torch.save and numpy.savez make; a trace is a safetensors file"
    header = int.from_bytes(head, "little") + 8
    if len(head) < 8 or header > size:
        return f"is not a safetensors file, or is truncated: {size} bytes ({message})"
    return f"is damaged or truncated: {size} bytes, header of {header} ({message})"


def _known_metadata(metadata: Mapping[str, str], where: str) -> dict[str, Any]:
    schema = metadata.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise TraceError(where, f"metadata has schema {schema!r}: {SCHEMA!r} is what can be read")
    known: dict[str, Any] = {name: metadata.get(name) for name in ("target", "draft")}
    for name, kind in (("vocabulary", int), ("temperature", float), ("tail_tokens", int)):
        text = metadata.get(name)
        try:
            known[name] = None if text is None else kind(text)
        except ValueError:
            raise TraceError(where, f"metadata has {name} {text!r}: a number must stand here") from None
    known["provenance"] = {key: value for key, value in metadata.items() if key not in _RESERVED}
    return known
