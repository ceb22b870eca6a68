"""The catalogue of rules, and the one way in which every function and command takes a rule: the rule itself, or its name.

``RULES`` is the table of the package's own: `parse`, ``theory list`` and the tests that hold for all rules read it. A rule of
somebody else's is named by where it is written, or by what an installed package registers.
"""

from collections.abc import Iterable

from theory import loading, parameters, shortnames, truncation
from theory.verifiers.base import TokenVerifier
from theory.verifiers.cactus import Cactus
from theory.verifiers.cascades import ChowCascade, DiffCascade, OptCascade, TokenCascadeV1, TokenCascadeV2, TokenCascadeV3
from theory.verifiers.checks import believe
from theory.verifiers.collaborative import (
    AdaptiveInterpolation,
    ContrastiveCoS,
    CoS,
    HybridCeiling,
    Lenience,
    OvershootCeiling,
)
from theory.verifiers.ensembles import GeometricEnsemble, StaticEnsemble
from theory.verifiers.fuzzy import FuzzyAcceptance
from theory.verifiers.matching import EagleAcceptance, ExactMatch, GreedyMatch, ThresholdAcceptance
from theory.verifiers.optimal import Mentored, Optimal
from theory.verifiers.strict import Strict
from theory.verifiers.truncating import (
    SpecCascade,
    TruncationSampling,
    TruncationVerifier,
    TypicalAcceptance,
)

RULES: dict[str, type[TokenVerifier]] = {
    rule.name: rule
    for rule in (
        Strict,
        Lenience,
        CoS,
        ContrastiveCoS,
        OvershootCeiling,
        AdaptiveInterpolation,
        HybridCeiling,
        StaticEnsemble,
        GeometricEnsemble,
        Cactus,
        Mentored,
        Optimal,
        ChowCascade,
        DiffCascade,
        OptCascade,
        TokenCascadeV1,
        TokenCascadeV2,
        TokenCascadeV3,
        FuzzyAcceptance,
        SpecCascade,
        TypicalAcceptance,
        TruncationVerifier,
        TruncationSampling,
        ExactMatch,
        EagleAcceptance,
        ThresholdAcceptance,
        GreedyMatch,
    )
}
"""Short name to rule, in the order in which they are listed."""


believe(*RULES.values())  # the tests look at them

GROUP = "theory.verifiers"
"""The entry points under which installed packages register rules of their own, by short name."""

_WHAT = "a TokenVerifier"


def registered() -> dict[str, tuple[str, type[TokenVerifier]]]:
    """Give the rules that installed packages register as entry points: short name to package and class.

    Raises
    ------
    ValueError
        Where what is registered cannot be loaded, or is no rule.

    Notes
    -----
    In the package's ``pyproject.toml``: ``[project.entry-points."theory.verifiers"]``, then ``mine = "package.module:Mine"``.
    Names of this package's own rules cannot be taken.
    """
    found = loading.registered(GROUP, (TokenVerifier,), _WHAT)
    return {name: one for name, one in found.items() if name not in RULES}


class UnknownNameError(ValueError):
    """A name that nothing has."""


OWN = "a rule of your own is file.py:Class or package.module:Class"
"""What error messages add to the names that there are."""


def known_names() -> set[str]:
    """Give the short names of the package's rules and of registered ones."""
    return {*RULES, *loading.names(GROUP)}


def find(text: str) -> tuple[type[TokenVerifier], str, str] | None:
    """Find the class that ``text`` begins with: give it, its name and what stands behind; None where there is none."""
    parameters.check_kind("text", text, str, "'lenience:0.4'")
    name, colon, rest = text.strip().partition(":")
    if name in RULES:
        return RULES[name], name, colon + rest
    if name in loading.names(GROUP):
        return loading.registered(GROUP, (TokenVerifier,), _WHAT, name)[name][1], name, colon + rest
    located = loading.locate(text, (TokenVerifier,), _WHAT)
    return None if located is None else (located.cls, loading.spelled(located.cls), located.rest)


def parse(text: str) -> TokenVerifier:
    """Make a verifier from its name; ``str(verifier)`` gives the name back.

    Parameters
    ----------
    text : str
        ``name:argument,...,keyword=value``, such as ``lenience:0.4``, ``cos:1/2``, ``spec-cascade:0.5,fallback=target`` or
        ``truncation-sampling:min-p:0.1``. Fractions stay exact. For the name there may stand ``path/to/file.py:Class`` (the file
        is executed), ``package.module:Class``, or what an installed package registers (see `registered`).

    Raises
    ------
    ValueError
        For a name that does not exist (the message lists those that do), arguments that the rule refuses, and errors of a file's
        own, with file and line.

    Examples
    --------
    >>> parse("lenience:0.4")
    Lenience(lenience=0.4)
    >>> str(parse("truncation:eta:0.25,fallback=argmax"))
    'truncation:eta:0.25,fallback=argmax'
    >>> parse("theory.verifiers.collaborative:CoS:1/2")
    CoS(lam=Fraction(1, 2))
    """
    found = find(text)
    if found is None:
        known = ", ".join(sorted(known_names()))
        raise UnknownNameError(f"no verifier is called {text.strip().partition(':')[0]!r}; there are: {known}; {OWN}")
    rule = shortnames.call(text, *found, {"truncation": truncation.parse})
    assert isinstance(rule, TokenVerifier)
    return rule


def resolve(verifier: TokenVerifier | str, name: str = "verifier") -> TokenVerifier:
    """Give a rule that is named as all functions take it: the rule itself, or its name for `parse`.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule.
    name : str
        What error messages call it.

    Raises
    ------
    ValueError
        For anything else, a class among it, and for a name that `parse` refuses.

    Examples
    --------
    >>> resolve("cos:0.5"), resolve(Strict())
    (CoS(lam=0.5), Strict())
    """
    if isinstance(verifier, TokenVerifier):
        return verifier
    if isinstance(verifier, str):
        return parse(verifier)
    if isinstance(verifier, type) and issubclass(verifier, TokenVerifier):
        raise ValueError(f"{name} = {verifier.__name__}: is a class; give a rule of it, such as {verifier.__name__}(...)")
    raise ValueError(f"{name} = {verifier!r}: must be a TokenVerifier, such as Lenience(0.4), or the name of one")


def resolve_all(verifiers: TokenVerifier | str | Iterable[TokenVerifier | str], name: str = "verifiers") -> list[TokenVerifier]:
    """Give a list of rules from one or several, each as `resolve` takes it.

    Raises
    ------
    ValueError
        Where there is none, and as `resolve` does.

    Examples
    --------
    >>> resolve_all(["strict", Lenience(0.4)])
    [Strict(), Lenience(lenience=0.4)]
    """
    if isinstance(verifiers, TokenVerifier | str | type) or not isinstance(verifiers, Iterable):
        return [resolve(verifiers, name)]
    found = [resolve(rule, f"{name}[{place}]") for place, rule in enumerate(verifiers)]
    if not found:
        raise ValueError(f"{name} is empty: at least one rule is wanted")
    return found
