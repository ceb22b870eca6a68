"""Where the mass went: what one verifier does to one pair of rows, by region, by token, and against which baseline.

The paper sorts tokens by how far the draft overshoots the target, with a ceiling c, 1/l for lenience:

============== ================ ====================================================
region         tokens           what happens there
============== ================ ====================================================
underestimated q <= p           strict verification accepts all drafts, and replaces
moderate       p < q <= c p     what a lossy rule with a ceiling lets through
severe         q > c p          what the ceiling cuts off; all tokens with p = 0 < q
============== ================ ====================================================

Rules that are measured against another law than the target, the truncation-based ones and greedy matching, split each region
into what that law *keeps* (its support, the allowed set A) and *discards*.

Mass gained, Σ (π - p)+, and lost, Σ (p - π)+, each sum to TV(π, p) over the regions, on Fractions exactly.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from theory import divergences, exact, parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.traces import Trace
from theory.verifiers import GreedyMatch, TokenVerifier, TruncationSampling
from theory.verifiers.collaborative import under
from theory.verifiers.truncating import Gate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CEILING", "REGIONS", "Explanation", "Support", "explain", "explain_position", "explain_positions", "read_texts"]

REGIONS = {"underestimated": "q <= p", "moderate": "p < q <= c p", "severe": "q > c p"}
"""Name of each region to the tokens in it."""

CEILING = 2
"""The ceiling c for rules that have none of their own; that of ``overshoot_mass``."""

SHARE = Fraction(9, 10)
"""How much of the total variation the tokens of the table carry together."""

DECIMALS = 12
"""Of a quantity by which positions are ranked; what differs beyond them is rounding, and a tie."""

TAIL = "(tail)"
"""The text of what a truncated row does not list."""

Texts = Mapping[int, str] | Sequence[str]


class Support(NamedTuple):
    """Tokens that one law has and another has not."""

    tokens: int
    """How many."""
    mass: Any
    """Their probability under the law that has them."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a verifier does to one pair of rows; ``str`` says it in a few lines. Made by `explain`.

    Attributes
    ----------
    verifier : TokenVerifier
        The rule.
    p, q, induced : ndarray, shape (V,)
        The target, the draft, and the law π of the emitted token.
    acceptance_rate, total_variation : float or Fraction
        Σ q a and TV(π, p), probabilities.
    ceiling : float or Fraction
        c, between the regions moderate and severe.
    ceiling_from : str
        ``"rule"``, ``"default"`` or ``"argument"``: whose ceiling it is.
    regions : pandas.DataFrame
        One row a region of `REGIONS`, or two where the rule has a true baseline other than p:

        ======== =======================================================================================
        region   key of `REGIONS`
        set      ``all``; or ``kept`` and ``discarded``, on and off the support of the true baseline
        tokens   how many tokens that p, q or π have
        p        their mass under the target
        q        under the draft
        induced  under π
        baseline under the true baseline, which is p for most rules
        gained   Σ (π - p)+ over them; over all regions, TV(π, p)
        lost     Σ (p - π)+ over them; over all regions, TV(π, p)
        ======== =======================================================================================
    tokens : pandas.DataFrame
        The fewest tokens that carry ``share`` of the total variation, the largest contribution first, of equals the first
        token; none where π = p. The tail of a truncated row is one entry, token -1.

        ============ ===================================================================================
        token        its id
        text         decoded, where texts were given
        region, set  as above
        p, q         probabilities
        induced      π
        change       π - p
        contribution |π - p|/2, probability
        cumulative   share of TV(π, p) that the rows up to this one carry
        ============ ===================================================================================
    share : float or Fraction
        Of the total variation, in (0, 1].
    lost : Support
        Tokens with π = 0 < p, and their mass under p.
    invented : Support
        Tokens with p = 0 < π, and their mass under π.
    baseline : str
        The law that the rule should be compared with.
    baselines : pandas.DataFrame
        ``law`` (name), ``true_baseline`` (bool), ``total_variation`` TV(π, law) and ``kl_divergence`` KL(π || law) in nats: of
        the target, and of the true baseline where it is another.
    position : int, optional
        In the trace.
    context : str
        What the trace knows of the position.
    """

    verifier: TokenVerifier
    p: Array
    q: Array
    induced: Array
    acceptance_rate: Any
    total_variation: Any
    ceiling: Number
    ceiling_from: str
    regions: "pd.DataFrame"
    tokens: "pd.DataFrame"
    share: Number
    lost: Support
    invented: Support
    baseline: str
    baselines: "pd.DataFrame"
    position: int | None = None
    context: str = ""

    def __str__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        context = f" ({self.context})" if self.context else ""
        lines = [
            f"{self.verifier}{where}{context}: accepts {_number(self.acceptance_rate)}, TV to the target "
            f"{_number(self.total_variation)}.",
            *(self._moved() if self.total_variation > 0 else ["No mass moved."]),
        ]
        for support, said in (
            (self.lost, "lost: {} with p > 0, mass {} of p"),
            (self.invented, "invented: {} with p = 0, mass {} of π"),
        ):
            if support.tokens:
                lines.append(f"Support {said.format(_count(support.tokens), _number(support.mass))}.")
        truth = self.baselines[self.baselines["true_baseline"]].iloc[0]
        lines.append(f"Compare it with {self.baseline}: TV {_number(truth['total_variation'])}.")
        return "\n".join(lines)

    def _moved(self) -> list[str]:
        gains, losses = (
            ", ".join(f"{_number(row[side])} in {_place(row)}" for _, row in self.regions.iterrows() if row[side] > 0)
            for side in ("gained", "lost")
        )
        carried = f"{_count(len(self.tokens))} carry" if len(self.tokens) > 1 else "1 token carries"
        texts = [_quoted(row["token"], row["text"]) for _, row in self.tokens.head(3).iterrows()]
        more = ", ..." if len(self.tokens) > 3 else ""
        return [
            f"Gained: {gains}. Lost: {losses}. Ceiling {float(self.ceiling):g} p ({self._ceiling_said()}).",
            f"{carried} {_number(self.tokens['cumulative'].iloc[-1])} of that: {', '.join(texts)}{more}.",
        ]

    def _ceiling_said(self) -> str:
        return {"rule": "the rule's own", "default": "the default; the rule has none", "argument": "as given"}[self.ceiling_from]

    def __repr__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        return f"<Explanation: {self.verifier}{where}, TV {_number(self.total_variation)}>"


# --- one pair of rows ----------------------------------------------------------------------------------------------------


def explain(
    verifier: TokenVerifier,
    p: RowsLike,
    q: RowsLike,
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    ids: npt.ArrayLike | None = None,
    texts: Texts | None = None,
) -> Explanation:
    """Say where a verifier moves mass on one pair of rows: by region, by token, and away from which baseline.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft.
    ceiling : float or Fraction, optional
        c in [1, inf], between moderate and severe overshoot. Where it is not given, the rule's own ceiling, or `CEILING`.
    share : float or Fraction
        Of the total variation that the table of tokens carries, in (0, 1].
    ids : array_like of int, shape (V,), optional
        The token of each column; -1 for the tail of a truncated row, whose columns are shown as one. Columns are tokens
        where it is not given.
    texts : mapping of int to str, or sequence of str, optional
        What each token says; see `read_texts`.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` is not one row, ``ids`` do not fit them, an option is out of range, or the verifier is none or
        gives no law.

    Notes
    -----
    O(V log V). Exact on Fractions, where the rule is; KL is in float64. A draft at the ceiling up to rounding is under it.

    Examples
    --------
    >>> from theory.verifiers import Lenience
    >>> found = explain(Lenience(0.5), [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])
    >>> print(found.regions[["region", "tokens", "p", "q", "induced", "gained", "lost"]].round(3).to_string(index=False))
            region  tokens   p    q  induced  gained  lost
    underestimated       2 0.7 0.45     0.55    0.00  0.15
          moderate       1 0.2 0.25     0.25    0.05  0.00
            severe       1 0.1 0.30     0.20    0.10  0.00
    >>> found.tokens[["token", "region", "change"]].round(3).values.tolist()
    [[0, 'underestimated', -0.12], [3, 'severe', 0.1], [2, 'moderate', 0.05]]
    """
    target, draft = probs.check_pair(p, q)
    if target.ndim != 1 or draft.ndim != 1:
        raise ValueError(f"p and q have shapes {target.shape} and {draft.shape}: explain takes one row each")
    _check(verifier, ceiling, share)
    columns = _columns(ids, target.shape)
    return _explain(verifier, target, draft, ceiling, share, columns, texts)


def _check(verifier: Any, ceiling: Any, share: Any) -> None:
    if not isinstance(verifier, TokenVerifier):
        raise ValueError(f"verifier = {verifier!r}: must be a TokenVerifier, such as Lenience(0.4)")
    if ceiling is not None:
        parameters.check("ceiling", ceiling, "[1, inf]")
    parameters.check("share", share, "(0, 1]")


def _columns(ids: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if ids is None:
        return np.arange(shape[-1])
    columns = np.asarray(ids)
    if columns.dtype.kind not in "iu" or columns.shape != shape:
        raise ValueError(f"ids has dtype {columns.dtype} and shape {columns.shape}: one whole number a column, {shape}")
    if columns.min() < -1:
        raise ValueError(f"ids[{int(columns.argmin())}] = {columns.min()}: a token is at least 0, and -1 the tail")
    return columns


def _explain(
    verifier: TokenVerifier,
    p: Array,
    q: Array,
    ceiling: Number | None,
    share: Number,
    ids: Array,
    texts: Texts | None,
    position: int | None = None,
    context: str = "",
) -> Explanation:
    import pandas as pd

    law = verifier.checked_law(p, q)
    induced = probs.trust(law.induced)
    whose = "argument" if ceiling is not None else "default" if verifier.ceiling is None else "rule"
    top = ceiling if ceiling is not None else verifier.ceiling if verifier.ceiling is not None else CEILING
    truth = verifier.baseline(p)
    reference = p if truth is None else probs.check_rows(truth, f"the baseline of {verifier}")
    names = _regions(p, q, top)
    sets = np.where(reference > 0, "kept", "discarded") if truth is not None else np.full(p.shape, "all")
    gained, lost = probs.excess(induced, p), probs.excess(p, induced)
    masses = {"p": p, "q": q, "induced": induced, "baseline": reference, "gained": gained, "lost": lost}
    present = np.asarray((p > 0) | (q > 0) | (induced > 0), dtype=bool)
    regions = []
    for region in REGIONS:
        for part in ("all",) if truth is None else ("kept", "discarded"):
            inside = (names == region) & (sets == part)
            sums = {name: probs.total(values * probs.indicator(inside, values)) for name, values in masses.items()}
            regions.append({"region": region, "set": part, "tokens": int((inside & present).sum()), **sums})
    baselines = [("the target", p, truth is None)]
    if truth is not None:
        baselines.append((_baseline_name(verifier), reference, True))
    missing, new = (p > 0) & (induced == 0), (p == 0) & (induced > 0)
    return Explanation(
        verifier=verifier,
        p=p,
        q=q,
        induced=induced,
        acceptance_rate=law.acceptance_rate,
        total_variation=divergences.total_variation(induced, p),
        ceiling=top,
        ceiling_from=whose,
        regions=pd.DataFrame(regions),
        tokens=_tokens(p, q, induced, names, sets, share, ids, texts),
        share=share,
        lost=_support(missing, p),
        invented=_support(new, induced),
        baseline=baselines[-1][0],
        baselines=pd.DataFrame(
            {
                "law": [name for name, _, _ in baselines],
                "true_baseline": [true for _, _, true in baselines],
                "total_variation": [divergences.total_variation(induced, rows) for _, rows, _ in baselines],
                "kl_divergence": [float(divergences.kl_divergence(induced, rows)) for _, rows, _ in baselines],
            }
        ),
        position=position,
        context=context,
    )


def _regions(p: Array, q: Array, ceiling: Number) -> Array:
    """Name the region of each token."""
    if ceiling == np.inf:
        severe = (p == 0) & (q > 0)
    else:
        factor = parameters.carry(ceiling, p)
        if not probs.is_exact(p):
            factor = min(factor, float(np.finfo(p.dtype).max) / 2)
        severe = ~under(q, np.asarray(p * factor))
    return np.where(severe, "severe", np.where(np.asarray(q > p, dtype=bool), "moderate", "underestimated"))


def _support(mask: Array, rows: Array) -> Support:
    inside = np.asarray(mask, dtype=bool)
    return Support(int(inside.sum()), probs.total(rows * probs.indicator(inside, rows)))


def _tokens(
    p: Array, q: Array, induced: Array, names: Array, sets: Array, share: Number, ids: Array, texts: Texts | None
) -> "pd.DataFrame":
    """Make the table of the fewest tokens that carry a share of the total variation."""
    import pandas as pd

    contribution = probs.excess(induced, p) + probs.excess(p, induced)
    columns = {"p": p, "q": q, "induced": induced, "contribution": contribution}
    tail = ids < 0
    if tail.any():  # its pieces have one ratio, so one region; of the pieces, the first that has any mass speaks for all
        first = int(np.flatnonzero(tail)[0]) + int(np.argmax(np.asarray(p + q)[tail] > 0))
        columns = {name: np.append(values[~tail], probs.total(values[tail])) for name, values in columns.items()}
        ids, names, sets = (np.append(values[~tail], values[first]) for values in (ids, names, sets))
    columns = {name: values if values.dtype == object else values.astype(np.float64) for name, values in columns.items()}
    weight = columns["contribution"] / 2
    order = np.argsort(-weight, kind="stable")
    through = np.cumsum(weight[order])
    whole = through[-1]
    few = int(np.argmax(np.asarray(through >= parameters.carry(share, through) * whole, dtype=bool))) + 1 if whole > 0 else 0
    order = order[:few]
    return pd.DataFrame(
        {
            "token": ids[order],
            "text": np.array([_text(int(token), texts) for token in ids[order]], dtype=object),
            "region": names[order],
            "set": sets[order],
            **{name: columns[name][order] for name in ("p", "q", "induced")},
            "change": (columns["induced"] - columns["p"])[order],
            "contribution": weight[order],
            "cumulative": through[:few] / whole if few else through[:0],
        }
    )


def _text(token: int, texts: Texts | None) -> str:
    if token < 0:
        return TAIL
    if texts is None:
        return ""
    if isinstance(texts, Mapping):
        return texts.get(token, "")
    return texts[token] if token < len(texts) else ""


def _baseline_name(verifier: TokenVerifier) -> str:
    if isinstance(verifier, Gate | TruncationSampling):
        return f"the target truncated to {verifier.gate() if isinstance(verifier, Gate) else verifier.truncation}"
    return "the target's most probable token" if isinstance(verifier, GreedyMatch) else f"the baseline of {verifier}"


# --- positions of a trace --------------------------------------------------------------------------------------------------


def explain_position(
    verifier: TokenVerifier,
    trace: Trace,
    position: int,
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    texts: Texts | None = None,
) -> Explanation:
    """Explain what a verifier does at one position of a trace.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    trace : Trace
        Of a truncated one, the tail is one entry, in as many tokens as `Trace.with_tail_tokens` was told.
    position : int
        Row of the trace, from 0.
    ceiling, share, texts
        As for `explain`. A trace holds ids and no texts.

    Returns
    -------
    Explanation
        With ``position`` and ``context``.

    Raises
    ------
    ValueError
        For a position that the trace does not have, and as for `explain`.

    Examples
    --------
    >>> from theory.traces import Trace
    >>> from theory.verifiers import GreedyMatch
    >>> trace = Trace.from_rows([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]], tokens=[0, 1])
    >>> print(explain_position(GreedyMatch(), trace, 1, texts=["no", "yes"]))
    greedy-match at position 1 (the text has 1 'yes'): accepts 0.5, TV to the target 0.25.
    Gained: 0.25 in underestimated (kept). Lost: 0.25 in moderate (discarded). Ceiling 2 p (the default; the rule has none).
    2 tokens carry 1 of that: 0 'no', 1 'yes'.
    Support lost: 1 token with p > 0, mass 0.25 of p.
    Compare it with the target's most probable token: TV 0.
    """
    _check(verifier, ceiling, share)
    _check_trace(trace)
    parameters.check_count("position", position, least=0)
    if position >= len(trace):
        raise ValueError(f"position = {position}: {trace.where} has the positions 0..{len(trace) - 1}")
    p, q = probs.check_pair(trace.p[position], trace.q[position])
    ids = np.asarray(trace.ids[position])
    return _explain(verifier, p, q, ceiling, share, ids, texts, int(position), _context(trace, position, texts))


def explain_positions(
    verifier: TokenVerifier,
    trace: Trace,
    worst: int = 3,
    by: str = "total_variation",
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    texts: Texts | None = None,
) -> list[Explanation]:
    """Explain the positions of a trace where a verifier distorts most.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    trace : Trace
        As for `explain_position`.
    worst : int
        How many positions, at least 1 and at most those of the trace.
    by : str
        A key of `theory.exact.QUANTITIES`; the largest are the worst.
    ceiling, share, texts
        As for `explain`.

    Returns
    -------
    list of Explanation
        The worst position first; of those that are equal to `DECIMALS`, the first in the trace.

    Raises
    ------
    ValueError
        For a quantity that does not exist, or that the rule does not have, more positions than there are, and as for `explain`.

    Notes
    -----
    Streams over the positions.

    Examples
    --------
    >>> from theory.traces import Trace
    >>> from theory.verifiers import CoS
    >>> trace = Trace.from_rows([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], [[0.5, 0.5], [0.9, 0.1], [0.6, 0.4]])
    >>> explain_positions(CoS(0.5), trace, worst=2)
    [<Explanation: cos:0.5 at position 1, TV 0.2>, <Explanation: cos:0.5 at position 2, TV 0.2>]
    """
    _check(verifier, ceiling, share)
    _check_trace(trace)
    parameters.check_count("worst", worst)
    check_quantity(by)
    if worst > len(trace):
        raise ValueError(f"worst = {worst}: {trace.where} has {len(trace)} positions")
    values, places = np.empty(0), np.empty(0, dtype=np.intp)
    for part in probs.chunks(len(trace), trace.p.shape[1]):
        own = exact.summarise(verifier, trace.p[part], trace.q[part], [by], part.start)[by]
        values = np.append(values, np.round(np.asarray(own, dtype=np.float64), DECIMALS))
        places = np.append(places, np.arange(part.start, part.stop))
        if np.isnan(values).any():
            raise ValueError(f"by = {by!r}: {verifier} has no true baseline but the target")
        order = np.argsort(-values, kind="stable")[:worst]  # earlier positions stand first, so that they win a tie
        values, places = values[order], places[order]
    return [explain_position(verifier, trace, int(place), ceiling=ceiling, share=share, texts=texts) for place in places]


def check_quantity(by: str) -> None:
    """Raise unless there is such a quantity.

    Examples
    --------
    >>> check_quantity("speed")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: by = 'speed': must be one of acceptance_rate, rejection_rate, ...
    """
    if by not in exact.QUANTITIES:
        raise ValueError(f"by = {by!r}: must be one of {', '.join(exact.QUANTITIES)}")


def _check_trace(trace: Any) -> None:
    if not isinstance(trace, Trace):
        raise ValueError(f"trace is a {type(trace).__name__}: must be a theory.Trace")


def _context(trace: Trace, position: int, texts: Texts | None) -> str:
    parts = []
    if trace.prompt_id is not None:
        parts.append(f"prompt {trace.prompt_id[position]}")
    if trace.position is not None:
        parts.append(f"after {_count(int(trace.position[position]))}")
    if trace.tokens is not None and trace.tokens[position] >= 0:
        token = int(trace.tokens[position])
        parts.append(f"the text has {_quoted(token, _text(token, texts))}")
    return ", ".join(parts)


# --- texts of tokens -------------------------------------------------------------------------------------------------------


def read_texts(path: str | os.PathLike[str]) -> dict[int, str]:
    r"""Read what each token says from a ``tokenizer.json`` of Hugging Face's tokenizers, or a ``vocab.json`` of token to id.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of int to str
        Byte-level tokens are decoded, bytes that are no text by themselves as ``\xe2``; the word mark of SentencePiece is a
        space.

    Raises
    ------
    ValueError
        Where the file is neither.
    OSError
        Where it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tokenizer.json")
    >>> model = {"type": "BPE", "vocab": {"Ġthe": 7}}
    >>> _ = path.write_text(json.dumps({"model": model, "decoder": {"type": "ByteLevel"}}))
    >>> read_texts(path)
    {7: ' the'}
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as damage:
        raise OSError(f"{path}: {damage.strerror}") from None
    except ValueError as damage:
        raise ValueError(f"{path}: is no JSON text: {damage}") from None
    whole = isinstance(content, dict) and isinstance(content.get("model"), dict)
    vocabulary = content["model"].get("vocab") if whole else content
    added = content.get("added_tokens") or [] if whole else []
    try:
        if isinstance(vocabulary, list):  # of pairs of token and score
            pairs = [(str(entry[0]), number) for number, entry in enumerate(vocabulary)]
        else:
            pairs = [(str(token), _id(number)) for token, number in vocabulary.items()]
        special = {_id(entry["id"]): str(entry["content"]) for entry in added}
    except (AttributeError, KeyError, IndexError, TypeError):
        raise ValueError(f"{path}: is neither a tokenizer.json nor a vocab.json of token to id") from None
    byte_level = whole and "ByteLevel" in json.dumps([content.get("decoder"), content.get("pre_tokenizer")])
    return {number: _decoded(token) if byte_level else token.replace("▁", " ") for token, number in pairs} | special


def _id(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError
    return number


def _bytes_of_characters() -> dict[str, int]:
    """Give the byte that each character of a byte-level token stands for: itself where printable, else one from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(others)}


_BYTES = _bytes_of_characters()


def _decoded(token: str) -> str:
    if not all(character in _BYTES for character in token):
        return token
    return bytes(_BYTES[character] for character in token).decode("utf-8", errors="backslashreplace")


# --- words -----------------------------------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 10**6:
        return str(value)
    return f"{float(value):.4g}"


def _count(tokens: int) -> str:
    return f"{tokens} token" if tokens == 1 else f"{tokens} tokens"


def _quoted(token: Any, text: str) -> str:
    if token < 0:
        return f"the {TAIL[1:-1]}"
    return f"{token} {text!r}" if text else str(token)


def _place(row: Any) -> str:
    return str(row["region"]) if row["set"] == "all" else f"{row['region']} ({row['set']})"
