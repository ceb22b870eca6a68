"""The catalogue of verifiers: a page for each rule, made from its class, and their list by family."""

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import generated
import matplotlib as mpl
import numpy as np
from pictures import SWEEPS, draw_curve, draw_law, golden, law_on, rational
from sphinx.application import Sphinx
from sphinx.util import logging

import theory
from theory import blocks, exact, failure, frontier, models, truncation, verifiers

logger = logging.getLogger(__name__)

FAMILIES = {
    "strict": "Strict",
    "collaborative": "Collaborative",
    "optimal": "Optimal",
    "cascade": "Cascades",
    "truncation": "Truncation-based",
    "truncation sampling": "Truncation sampling, what truncation-based rules are measured against",
    "matching": "Matching",
}

QUANTITIES = {
    "total_variation": "TV(π, p)",
    "kl_divergence": "KL(π ‖ p), nats",
    "max_overshoot": "largest π/p",
    "mass_off_support": "π-mass where p = 0",
}

STATUSES = {"attained": "attained", "approached": "approached by pairs, attained by none", "bound": "a bound"}


def number(value: Any) -> str:
    """Write a number: a short fraction as it is, others to four digits."""
    if isinstance(value, Fraction) and value.denominator < 10_000:
        return str(value)
    value = float(value)
    if np.isinf(value):
        return "∞"
    return "0" if abs(value) < 5e-13 else f"{value:.4g}"


# --- the parts of a page ----------------------------------------------------------------------------------------------------


def facts(rule: theory.TokenVerifier) -> str:
    """Say what the class claims, and what looking at it finds."""
    cls, fields = type(rule), dataclasses.fields(rule)
    arguments = ", ".join(f"`{field.name}`" for field in fields)
    ceiling = "none for all pairs" if rule.ceiling is None else f"π ≤ {number(rule.ceiling)} p, for `{rule}`"
    return generated.facts(
        [
            ["Short name", f"`{rule}`" + (f"; its arguments are {arguments}" if fields else "")],
            ["Family", cls.family],
            ["Rule", generated.cell(cls.formula)],
            ["Lossless", generated.cell(cls.claim)],
            ["Source", generated.cell(cls.source)],
            ["Ceiling", ceiling],
            ["Line TV(π, p) + R = TV(p, q)", line(rule)],
            ["Replacement depends on the rejected token", "yes" if rule.residual_depends_on_draft else "no"],
        ]
    )


def line(rule: theory.TokenVerifier) -> str:
    """Say whether a rule is on the line, as far as a look at 225 pairs tells."""
    found = frontier.on_the_line([rule]).iloc[0]
    if found["on_the_line"]:
        return "on it, on each of 225 pairs of rows of three tokens"
    reasons = {
        "accepts_enough": "it accepts less than min(p, q) somewhere",
        "replaces_within": "it replaces with more than (p − q)₊ somewhere",
    }
    why = " and ".join(reason for name, reason in reasons.items() if not found[name])
    return f"off it on {found['pairs_off']:.0%} of 225 pairs of three tokens, by {found['largest_gap']:.3g} at most: {why}"


def pair_table(rule: theory.TokenVerifier) -> str:
    """Show a rule's law on the golden pair, token by token."""
    p, q, law = law_on(rule)
    columns = [p, q, rule.acceptance(p, q), rule.residual(p, q), law.induced]
    rows = [[token, *map(number, row), number(row[-1] / row[0])] for token, row in enumerate(zip(*columns, strict=True))]
    found = exact.summarise(rule, p, q, exact.QUANTITIES)
    says = (
        f"Acceptance rate {number(found['acceptance_rate'])}; TV(π, p) = {number(found['total_variation'])}; "
        f"KL(π ‖ p) = {number(found['kl_divergence'])} nats; TV + R − TV(p, q) = {number(found['pareto_gap'])}."
    )
    baseline = rule.baseline(p)
    if baseline is not None:
        row, distance = ", ".join(map(number, baseline)), number(found["total_variation_to_baseline"])
        says += f" The true baseline is ({row}), at TV {distance} from what the rule emits."
    headings = ["token", "p", "q", "accepted a", "replaced from r", "emitted π", "π/p"]
    return generated.table(headings, rows) + f"\n{says}\n"


def worst_table(rule: theory.TokenVerifier) -> str:
    """Show the suprema of a rule, and its worst pair on three tokens."""
    anywhere, three = failure.worst(rule), failure.worst(rule, 3)
    rows = [
        [shown, number(anywhere[name].value), STATUSES[anywhere[name].status], number(three[name].value)]
        for name, shown in QUANTITIES.items()
    ]
    p, q = three.witness("total_variation")
    law = rule.induced(p, q)
    at = ", ".join(f"{name} = ({', '.join(map(number, row))})" for name, row in (("p", p), ("q", q), ("π", law)))
    text = generated.table(["", "supremum over all pairs", "", "on three tokens"], rows)
    if anywhere["total_variation"].value == 0:
        return f"{text}\nNo pair of rows moves it from the target.\n"
    approached = " (as near as 1/1000 to where it is approached)" if three["total_variation"].status == "approached" else ""
    return f"{text}\nThe worst pair of three tokens for TV{approached}: {at}; TV = {number(theory.total_variation(law, p))}.\n"


# --- pages ------------------------------------------------------------------------------------------------------------------


def sentence(cls: type) -> str:
    """Give the first line of a class's docstring."""
    return generated.cell((cls.__doc__ or "").strip().split("\n")[0])


def rule_page(name: str, example: str) -> str:
    """Write the page of a rule."""
    rule = rational(example)
    cls = type(rule)
    swept = f"`{SWEEPS[name][0].format('…')}`" if name in SWEEPS else f"`{name}`"
    return f"""% {generated.NOTE}

# {cls.__name__}

{sentence(cls)}

{facts(rule)}
## What it does to one pair

The golden pair p = (4, 3, 2, 1)/10, q = (4, 5, 5, 6)/20 under `{rule}`, as `theory show {rule}` prints it.

{pair_table(rule)}
![The golden pair under {rule}](pictures/{name}-law.png)

## How badly it can fail

Suprema of `{rule}` over all pairs of rows and all vocabularies, as `theory worst {rule}` prints them; they are derived, not
searched ({{doc}}`/explanation/failure-modes`).

{worst_table(rule)}
## What it buys

{swept} on the 512 positions of the bundled trace, its tails spread over 1024 tokens.

![Acceptance rate against total variation]({f"pictures/{name}-curve.png"})

## The class

```{{eval-rst}}
.. autoclass:: {verifier_path(cls)}
   :no-index:
```
"""


def verifier_path(cls: type) -> str:
    """Give the name under which the API describes a rule."""
    return f"theory.verifiers.{cls.__name__}"


def index_page() -> str:
    """List the rules by family."""
    families: dict[str, list[type[theory.TokenVerifier]]] = {}
    for cls in verifiers.RULES.values():
        families.setdefault(cls.family, []).append(cls)
    parts = [
        f"""% {generated.NOTE}

# The verifiers

Each rule is a class; this catalogue is made from what the classes say. *a* is the probability that a drafted token is
accepted, *r* what replaces a rejected one, norm(x) is x/Σx and (x)₊ its positive part. A page has the rule's law on one pair,
its worst case and its curve. `theory list` prints the same list, and a rule of your own joins every function and command
as `file.py:Class`.

```{{toctree}}
:hidden:

{chr(10).join(verifiers.RULES)}
blocks
truncations
```
"""
    ]
    for family in [*FAMILIES, *(set(families) - set(FAMILIES))]:
        rows = [
            [f"[{cls.__name__}]({cls.name}.md)<br>`{cls.name}`", sentence(cls), generated.cell(cls.claim)]
            for cls in families.get(family, [])
        ]
        parts += [f"## {FAMILIES.get(family, family)}\n", generated.table(["rule", "in a line", "lossless"], rows)]
    parts += [
        "## Blocks and truncations\n",
        "Rules for a whole drafted path have [a page of their own](blocks.md), and so have [the sets that truncations allow]"
        "(truncations.md).",
    ]
    return "\n".join(parts) + "\n"


def blocks_page() -> str:
    """Describe the block rules, with their laws of accepted lengths on two pairs."""
    toy = models.iid([Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)])
    pair = models.iid(*golden())
    parts = [
        f"""% {generated.NOTE}

# Block rules

A block rule sees γ drafted tokens and says how many are kept and what is drawn next. Any rule of [the catalogue](index.md) works
token by token as `Tokenwise(rule)`; its short name stands for that. Below, P(τ) is the law of the accepted length at γ = 2,
exactly: on the toy pair p = (1/3, 2/3), q = (2/3, 1/3) and on the golden pair, both i.i.d.
"""
    ]
    for cls in blocks.BLOCK_RULES.values():
        rule = cls(theory.Strict()) if cls is blocks.Tokenwise else cls()
        laws = [["toy", toy], ["golden", pair]]
        rows = []
        for said, on in laws:
            pmf = exact.length_pmf(rule, on, 2)
            mean = sum(k * chance for k, chance in enumerate(pmf))
            rows.append([said, *map(number, pmf), number(mean), number(mean + 1)])
        parts += [
            f"## {cls.__name__}\n",
            generated.facts(
                [
                    ["Short name", f"`{rule}`"],
                    ["Rule", generated.cell(cls.formula)],
                    ["Lossless", cls.claim],
                    ["Source", generated.cell(cls.source)],
                ]
            ),
            generated.table(["pair", "P(τ=0)", "P(τ=1)", "P(τ=2)", "E[τ]", "block efficiency"], rows),
            f"```{{eval-rst}}\n.. autoclass:: theory.blocks.{cls.__name__}\n   :no-index:\n```\n",
        ]
    return "\n".join(parts)


def truncations_page() -> str:
    """Describe the truncations, with the set that each allows on the golden target."""
    p, _ = golden()
    examples = {"min-p": "0.5", "eta": "0.25", "epsilon": "0.15", "top-k": "2", "top-p": "0.8", "typical": "0.6"}
    parts = [
        f"""% {generated.NOTE}

# Truncations

A truncation allows a set A of the target's tokens, and samples from p 1_A / p(A). The examples are sets of the golden
target p = (4, 3, 2, 1)/10.
"""
    ]
    for name, cls in truncation.TRUNCATIONS.items():
        short = f"{name}:{examples[name]}"
        cut = truncation.parse(short)
        allowed = np.flatnonzero(cut.allowed(p.astype(float)))
        parts += [
            f"## {cls.__name__}\n",
            f"`{short}`: {generated.cell(cls.formula)}. Allows tokens {{{', '.join(map(str, allowed))}}} of the golden target.\n",
            f"```{{eval-rst}}\n.. autoclass:: theory.truncation.{cls.__name__}\n   :no-index:\n```\n",
        ]
    return "\n".join(parts)


def write(app: Sphinx) -> None:
    """Write all pages; draw the pictures that are older than the code."""
    folder = Path(app.srcdir) / "reference" / "verifiers"
    examples = {theory.parse(name).name: name for name in frontier.EXAMPLES}
    for name, cls in verifiers.RULES.items():
        if name not in examples:
            logger.warning("%s is not in theory.frontier.EXAMPLES, so that its page has no example", name)
        elif dataclasses.fields(cls) and name not in SWEEPS:
            logger.warning("%s has parameters and no curve: give it a line in SWEEPS of docs/_ext/pictures.py", name)
    read = theory.traces.example().with_tail_tokens(1024)
    trace = np.asarray(read.p), np.asarray(read.q)
    pages = {"index.md": index_page(), "blocks.md": blocks_page(), "truncations.md": truncations_page()}
    code = [*Path(theory.__file__).parent.rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    changed = max(path.stat().st_mtime for path in code)
    with mpl.rc_context({"savefig.facecolor": "white"}):
        for name, example in examples.items():
            pages[f"{name}.md"] = rule_page(name, example)
            law, curve = (folder / "pictures" / f"{name}-{which}.png" for which in ("law", "curve"))
            if not curve.exists() or curve.stat().st_mtime < changed:
                draw_law(rational(example), law)
                draw_curve(name, trace, curve)
    for name, text in pages.items():
        generated.write(folder / name, text)
    generated.keep_only(folder, set(pages))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
