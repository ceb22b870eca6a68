"""The catalogue of block rules, and the one way in which every function and command takes a block rule."""

from collections.abc import Iterable

from theory import loading, parameters, shortnames, verifiers
from theory.blocks.base import BlockVerifier
from theory.blocks.greedy import GreedyBlock
from theory.blocks.joint import BlockVerification, HierarchicalVerification
from theory.blocks.tokenwise import Tokenwise

BLOCK_RULES: dict[str, type[BlockVerifier]] = {
    rule.name: rule for rule in (Tokenwise, BlockVerification, HierarchicalVerification, GreedyBlock)
}
"""Short name to block rule, in the order in which they are listed."""

verifiers.believe(*BLOCK_RULES.values())  # the tests look at them


GROUP = "theory.blocks"
"""The entry points under which installed packages register block rules of their own, by short name."""

_WHAT = "a BlockVerifier"


def registered() -> dict[str, tuple[str, type[BlockVerifier]]]:
    """Give the block rules that installed packages register as entry points; see `theory.verifiers.registered`."""
    found = loading.registered(GROUP, (BlockVerifier,), _WHAT)
    return {name: one for name, one in found.items() if name not in BLOCK_RULES}


def parse(text: str) -> BlockVerifier:
    """Make a block verifier from its short name; a token rule's name stands for that rule token by token.

    Parameters
    ----------
    text : str
        ``block``, ``hierarchical``, ``greedy-block``, or a token rule such as ``lenience:0.4``, with or without
        ``tokenwise:`` before it; ``,bonus=relaxed`` behind it draws the bonus from the rule's own law. A rule of your own is
        ``file.py:Class`` or ``package.module:Class``, of either kind.

    Raises
    ------
    ValueError
        For a name that does not exist; the message lists those that do.

    Examples
    --------
    >>> parse("block"), parse("lenience:0.4,bonus=relaxed")
    (BlockVerification(), Tokenwise(verifier=Lenience(lenience=0.4), bonus='relaxed'))
    """
    parameters.check_kind("text", text, str, "'block'")
    name, colon, rest = text.strip().partition(":")
    if name in BLOCK_RULES and name != Tokenwise.name:
        return shortnames.build(text, BLOCK_RULES, "block verifier")  # type: ignore[no-any-return]
    if name in loading.names(GROUP):
        cls = loading.registered(GROUP, (BlockVerifier,), _WHAT, name)[name][1]
        return shortnames.call(text, cls, name, colon + rest)  # type: ignore[no-any-return]
    inner, bonus, which = text.strip().removeprefix(f"{Tokenwise.name}:").partition(",bonus=")
    found = None if inner != text.strip() else _located(inner)
    if found is not None:
        return found
    try:
        rule = verifiers.parse(inner)
    except verifiers.UnknownNameError:
        known = ", ".join(sorted([*BLOCK_RULES, *loading.names(GROUP), *verifiers.known_names()]))
        raise verifiers.UnknownNameError(
            f"no block verifier or token verifier is called {name!r}; there are: {known}; {verifiers.OWN}"
        ) from None
    return Tokenwise(rule, which if bonus else "target")


def _located(text: str) -> BlockVerifier | None:
    """Make a block rule that is named by where it is written; None where the name is no such, or that of a token rule."""
    located = loading.locate(text, (BlockVerifier, verifiers.TokenVerifier), "a TokenVerifier or BlockVerifier")
    if located is None or not issubclass(located.cls, BlockVerifier):
        return None
    rule = shortnames.call(text, located.cls, loading.spelled(located.cls), located.rest)
    assert isinstance(rule, BlockVerifier)
    return rule


def resolve(block: BlockVerifier | verifiers.TokenVerifier | str, name: str = "block") -> BlockVerifier:
    """Give a block rule that is named as all functions take it: the rule, a token rule, which runs token by token, or a name.

    Raises
    ------
    ValueError
        For anything else, and for a name that `parse` refuses.

    Examples
    --------
    >>> str(resolve("block")), str(resolve(verifiers.Lenience(0.4)))
    ('block', 'tokenwise:lenience:0.4')
    """
    if isinstance(block, BlockVerifier):
        return block
    if isinstance(block, str):
        return parse(block)
    if isinstance(block, verifiers.TokenVerifier):
        return Tokenwise(block)
    if isinstance(block, type) and issubclass(block, BlockVerifier | verifiers.TokenVerifier):
        raise ValueError(f"{name} = {block.__name__}: is a class; give a rule of it, such as {block.__name__}(...)")
    raise ValueError(f"{name} = {block!r}: must be a BlockVerifier, such as BlockVerification(), a TokenVerifier, or a name")


def resolve_all(
    blocks: BlockVerifier | verifiers.TokenVerifier | str | Iterable[BlockVerifier | verifiers.TokenVerifier | str],
    name: str = "rules",
) -> list[BlockVerifier]:
    """Give a list of block rules from one or several, each as `resolve` takes it.

    Examples
    --------
    >>> [str(rule) for rule in resolve_all(["strict", "block"])]
    ['tokenwise:strict', 'block']
    """
    if isinstance(blocks, BlockVerifier | verifiers.TokenVerifier | str | type) or not isinstance(blocks, Iterable):
        return [resolve(blocks, name)]
    found = [resolve(rule, f"{name}[{place}]") for place, rule in enumerate(blocks)]
    if not found:
        raise ValueError(f"{name} is empty: at least one rule is wanted")
    return found
