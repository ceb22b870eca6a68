"""The result: what a verifier does to one pair of rows, in tables and in a few sentences."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from theory.failure.explaining.words import count, number, place, quoted
from theory.parameters import Number
from theory.probs import Array
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd


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
            f"{self.verifier}{where}{context}: accepts {number(self.acceptance_rate)}, TV to the target "
            f"{number(self.total_variation)}.",
            *(self._moved() if self.total_variation > 0 else ["No mass moved."]),
        ]
        for support, said in (
            (self.lost, "lost: {} with p > 0, mass {} of p"),
            (self.invented, "invented: {} with p = 0, mass {} of π"),
        ):
            if support.tokens:
                lines.append(f"Support {said.format(count(support.tokens), number(support.mass))}.")
        truth = self.baselines[self.baselines["true_baseline"]].iloc[0]
        lines.append(f"Compare it with {self.baseline}: TV {number(truth['total_variation'])}.")
        return "\n".join(lines)

    def _moved(self) -> list[str]:
        gains, losses = (
            ", ".join(f"{number(row[side])} in {place(row)}" for _, row in self.regions.iterrows() if row[side] > 0)
            for side in ("gained", "lost")
        )
        carried = f"{count(len(self.tokens))} carry" if len(self.tokens) > 1 else "1 token carries"
        texts = [quoted(row["token"], row["text"]) for _, row in self.tokens.head(3).iterrows()]
        more = ", ..." if len(self.tokens) > 3 else ""
        return [
            f"Gained: {gains}. Lost: {losses}. Ceiling {float(self.ceiling):g} p ({self._ceiling_said()}).",
            f"{carried} {number(self.tokens['cumulative'].iloc[-1])} of that: {', '.join(texts)}{more}.",
        ]

    def _ceiling_said(self) -> str:
        return {"rule": "the rule's own", "default": "the default; the rule has none", "argument": "as given"}[self.ceiling_from]

    def __repr__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        return f"<Explanation: {self.verifier}{where}, TV {number(self.total_variation)}>"
