"""Laws of texts, and of the states that texts lead to."""

from typing import TYPE_CHECKING

import numpy as np

from theory import parameters
from theory.blocks import Tokenwise
from theory.decode import enumeration
from theory.models import Context, Pair
from theory.probs import Array
from theory.sequences.hidden import branches, clip, start, step
from theory.sequences.sources import Decoder, Plain, Source, check_source

if TYPE_CHECKING:
    import pandas as pd


def sequence_law(source: Source, pair: Pair, length: int, context: Context = ()) -> Array:
    """Law of the first ``length`` tokens of a source, Π(x_1, ..., x_T), by a forward recursion over all texts.

    Fractions are kept.

    Parameters
    ----------
    source : Plain or Decoder
        What writes the text.
    pair : Pair
        Target and draft model.
    length : int
        Tokens, T.
    context : tuple of int
        Tokens so far.

    Returns
    -------
    ndarray, shape (V,) * length
        A joint law, exact on Fractions.

    Raises
    ------
    ValueError
        Where there are more texts than `theory.decode.enumeration.BUDGET`; `distortions` needs no texts.

    Notes
    -----
    A text carries its vector of weights over the accepted tokens so far, Π(text, j); cost O(V^T γ). Rules that are not
    token-wise go through `theory.decode.enumeration.induced_sequence`.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> decoder = Decoder(Tokenwise(Lenience(0.5)), gamma=1)
    >>> sequence_law(decoder, iid([0.5, 0.5], [0.0, 1.0]), 2).tolist()
    [[0.0, 0.0], [0.5, 0.5]]
    """
    parameters.check_count("length", length)
    context = check_source(source, pair, context)
    if pair.size**length > enumeration.BUDGET:
        raise ValueError(
            f"length = {length}: {pair.size}^{length} texts, at most {enumeration.BUDGET:,} are walked; "
            "distortions gives exact values and bounds without them"
        )
    if isinstance(source, Decoder) and not isinstance(source.block, Tokenwise):
        return enumeration.induced_sequence(source.block, pair, source.gamma, length, context, continue_with="decoder")
    chain = source.chain(clip(pair, length, context), context)
    at, weights = np.zeros(1, dtype=np.intp), start(chain)[:1]
    for _ in range(length):
        ended, kept = branches(chain, at, weights)
        weights = np.concatenate([ended[:, None], kept], axis=1).swapaxes(1, 2).reshape(-1, chain.gamma + 1)
        at = chain.states.after[at].ravel()
    return np.asarray(weights.sum(axis=1).reshape((pair.size,) * length))


def state_laws(source: Source, pair: Pair, length: int, context: Context = ()) -> "pd.DataFrame":
    """Law of the state of the pair after 0, 1, ..., ``length`` tokens.

    Fractions are kept.

    Parameters
    ----------
    source, pair, length, context
        As for `sequence_law`; a `Decoder` is token-wise. The length may be large.

    Returns
    -------
    DataFrame, index ``tokens`` 0..length
        A column for each state of the pair, each row a law.

    Examples
    --------
    >>> from theory.models import markov
    >>> pair = markov([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> state_laws(Plain(), pair, 2).to_numpy().tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]
    """
    import pandas as pd

    parameters.check_count("length", length)
    context = check_source(source, pair, context)
    clipped = clip(pair, length, context)
    chain = source.chain(clipped, context)
    laws, law = [], start(chain)
    for time in range(length + 1):
        law = step(chain, law) if time else law
        laws.append(law.sum(axis=1))
    columns = [clipped.state(current) for current in chain.states.contexts]
    kept = [place for place, current in enumerate(chain.states.contexts) if len(current) <= len(context) + length]
    index = pd.RangeIndex(length + 1, name="tokens")
    return pd.DataFrame(
        np.stack(laws)[:, kept], index=index, columns=pd.Index([columns[place] for place in kept], tupleize_cols=False)
    )


def state_drift(source: Source, pair: Pair, length: int, reference: Source | None = None, context: Context = ()) -> Array:
    """Distance between the states that two sources visit: TV between their laws after 0, 1, ..., ``length`` tokens.

    Fractions are kept.

    Parameters
    ----------
    source, pair, length, context
        As for `state_laws`.
    reference : Plain or Decoder, optional
        The source compared with; plain sampling from the target where it is not given.

    Returns
    -------
    ndarray, shape (length + 1,)
        Probabilities. Each is a lower bound on the TV between texts at least that long.

    Examples
    --------
    >>> from theory.models import markov
    >>> pair = markov([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> state_drift(Plain("draft"), pair, 3).tolist()
    [0.0, 0.0, 0.25, 0.375]
    """
    if reference is not None:
        check_source(reference, pair, context, "reference")
    laws = state_laws(source, pair, length, context).to_numpy()
    others = state_laws(Plain() if reference is None else reference, pair, length, context).to_numpy()
    return np.asarray(np.abs(laws - others).sum(axis=1) / 2)
