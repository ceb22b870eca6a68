"""The public functions, found by walking the public names, and good arguments for each by the names of its parameters.

A function that is added later is found, and so tested; a parameter of a name that is not known here fails, and asks for a value.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import theory
from theory import counts, models, sequences
from theory.blocks import resolve
from theory.counts import Counts
from theory.trees import Tree, ZeroAndRenormalise

MODULES = [
    importlib.import_module(f"theory.{name}")
    for name in (
        "blocks",
        "compare_blocks",
        "counts",
        "curves",
        "divergences",
        "exact",
        "failure",
        "frontier",
        "models",
        "monte_carlo",
        "probs",
        "sequences",
        "sources",
        "synthetic",
        "testing",
        "traces",
        "trees",
        "truncation",
        "verifiers",
    )
]
"""Where users call functions. What only draws is `theory.plotting`, which has tests of its own, as `theory.paper` has."""

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])

RULES = {"verifier", "verifiers", "block", "rules", "source"}
"""Parameters that take a rule, alone or inside something."""


def functions() -> dict[str, Callable[..., Any]]:
    """Give the public functions by name: those of ``theory.__all__``, and of the modules' own ``__all__``."""
    found = {}
    for module in (theory, *MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing) and not name.startswith("plot_") and thing not in found.values():
                found[f"{module.__name__}.{name}"] = thing
    return found


def parameters_of(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """Give the parameters of a function."""
    return list(inspect.signature(call).parameters.values())


def values(rule: Any = "strict", rows: tuple[Any, Any] = (P, Q)) -> dict[str, Callable[[], Any]]:
    """Give a good value for each name that a parameter may have, made anew at each call."""
    p, q = rows
    pair = (lambda: models.iid(p, q)) if not isinstance(p, str) else (lambda: models.iid(P, Q))
    return {
        "verifier": lambda: rule,
        "verifiers": lambda: [rule],
        "block": lambda: rule,
        "rules": lambda: [rule],
        "source": lambda: sequences.Decoder(resolve(rule), 2),
        "p": lambda: p,
        "q": lambda: q,
        "first": lambda: p,
        "second": lambda: q,
        "rows": lambda: p,
        "pair": pair,
        "trace": theory.traces.example,
        "gamma": lambda: 2,
        "gammas": lambda: [2, 3],
        "n": lambda: 200,
        "rng": lambda: np.random.default_rng(0),
        "length": lambda: 2,
        "values": lambda: [0.5, 1],
        "value": lambda: 0.5,
        "goal": lambda: lambda state: True,
        "position": lambda: 0,
        "path": lambda: "mixture",
        "acceptance_rate": lambda: 0.5,
        "induced": lambda: q,
        "weights": lambda: p,
        "tokens_per_call": lambda: 2.0,
        "order": lambda: 2,
        "blocks": lambda: [rule],
        "rule": lambda: rule,
        "counts": lambda: Counts.of([0, 1, 2], drafted=2),
        "unconditional": lambda: [0.5, 0.25],
        "conditional": lambda: [0.5, 0.25],
        "acceptance_rates": lambda: [0.5, 0.25],
        "statistic": lambda: counts.block_efficiency,
        "find.text": lambda: "lenience:0.4",
        "synthetic.text": lambda: "paper:A",
        "truncation.text": lambda: "min-p:0.1",
        "text": lambda: "lenience:0.4",
        "share": lambda: 0.5,
        "by": lambda: "total_variation",
        "size": lambda: 3,
        "budget": lambda: 0.1,
        "context": lambda: (),
        "logits": lambda: [0.0, 1.0],
        "lenience": lambda: 0.5,
        "pass_1": lambda: 0.5,
        "name": lambda: "A",
        "law": lambda: lambda p, q: p,
        "truncation": lambda: theory.MinP(0.5),
        "k": lambda: 2,
        "seed": lambda: 0,
        "divergence": lambda: "kl_divergence",
        "total_variation": lambda: 0.2,
        "target": lambda: p,
        "cost": lambda: 0.1,
        "factor": lambda: 2,
        "count": lambda: 1,
        "markov.p": lambda: np.stack([p] * len(p)),
        "markov.q": lambda: np.stack([q] * len(p)),
        "trees.rule": ZeroAndRenormalise,
        "counts.statistic": lambda: counts.block_efficiency,
        "tree": lambda: Tree.from_nested({0: {0: {}}, 1: {}}),
        "row_of": lambda: lambda path: P,
    }


def arguments(call: Callable[..., Any], known: dict[str, Callable[[], Any]], **given: Any) -> dict[str, Any]:
    """Give arguments for the parameters without a default, and for those of rules and rows; a KeyError names what is unknown."""
    made = dict(given)
    for parameter in parameters_of(call):
        if parameter.name in made or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty or parameter.name in (*RULES, "p", "q"):
            made[parameter.name] = next(known[key] for key in _keys(call, parameter.name) if key in known)()
    return made


def _keys(call: Callable[..., Any], name: str) -> Iterator[str]:
    """Give the keys under which the value of a parameter may stand: that of this function, of its package, of any."""
    yield from (f"{call.__name__}.{name}", f"{call.__module__.split('.')[1]}.{name}", name)
    raise KeyError(f"tests/public.py has no value for the parameter {name} of {call.__module__}.{call.__name__}")


MINE = Path(__file__).parent / "data/mine.py"
