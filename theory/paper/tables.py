"""The paper's own numbers, as it printed them, and the verifier that each row is about."""

import hashlib
import re
from fractions import Fraction
from importlib import resources
from io import BytesIO
from typing import TYPE_CHECKING

from theory.truncation import Eta, MinP
from theory.verifiers import CoS, Lenience, SpecCascade, Strict, TokenVerifier, TruncationSampling, TypicalAcceptance

if TYPE_CHECKING:
    import pandas as pd

CHECKSUMS = {
    "figure1_difficulty.csv": "19be6d8230fefbffef8574d1f8485e6de0edee5f84b028e33d21f41cb4cfb265",
    "table1_ablation_mbppplus.csv": "b4b2f86cf676bbd79fb11b6daf2982fb62f680009815d16e86335462b2c6ab0f",
    "table4_standard_sd.csv": "54217a1f4f8a193da5a7726b8e9d09fb23963a36d881febf69f365bbb93bc36b",
    "table5_eagle3.csv": "c6d797eb3b4d1887a1416f99795665f5fddc60aff5d0770e78d55a6cec65bdf0",
    "table6_rules_mbppplus.csv": "4e6e708db08d8bb023757c877bc11d86586c885541dbee128dac0141e8970aa2",
    "tables_2_3_7.csv": "5c4492dd32b2ad27915df1f1c1c3cc764658c36b21c4efc190d229c07d0cb2e3",
}
"""SHA-256 of each file of ``theory/paper/data``: the numbers are the paper's, or they are refused."""

BENCHMARKS = ("MATH", "MBPP+", "INCLUDE", "BFCL")
"""In the paper's order."""

GAMMA = 10
"""Drafted tokens in a block of Table 4."""

SWEEP = (0.2, 0.4, 0.6, 0.8)
"""ℓ of lenience and draft weights of CoS in Table 4, λ in Table 1, ℓ in Table 6, and ℓ of Figure 8."""

FAMILIES = {
    "strict": "strict",
    "min_p_sampling": "truncation sampling",
    "spec_cascade": "truncation",
    "eta_sampling": "truncation sampling",
    "typical_acceptance": "truncation",
    "lenience": "collaborative",
    "cos_draft_weight": "collaborative",
}
"""Method of Table 4 to its family; Table 5 calls strict verification ``eagle3`` and has no CoS."""

MATCHED = {"spec_cascade": "min_p_sampling", "typical_acceptance": "eta_sampling"}
"""Truncation-based verification to the truncation sampling with the same allowed set, its true baseline."""

Setting = tuple[str, float | None]
"""A method of Table 4 and its parameter."""


def read(name: str) -> "pd.DataFrame":
    """Read one file of the package's data, and refuse one that is not what was transcribed.

    Raises
    ------
    ValueError
        For a file that is missing or altered.

    Examples
    --------
    >>> read("figure1_difficulty.csv")["benchmark"].tolist()
    ['GSM8K', 'MATH', 'AIME']
    """
    import pandas as pd

    if name not in CHECKSUMS:
        raise ValueError(f"no table {name!r}; there are: {', '.join(CHECKSUMS)}")
    file = resources.files("theory.paper") / "data" / name
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(f"theory/paper/data/{name}: the paper's numbers cannot be read ({error.strerror})") from None
    found = hashlib.sha256(content).hexdigest()
    if found != CHECKSUMS[name]:
        raise ValueError(f"theory/paper/data/{name}: altered since it was transcribed (SHA-256 {found[:12]}…)")
    return pd.read_csv(BytesIO(content))


def figure_1() -> "pd.DataFrame":
    """Figure 1: ``benchmark``, ``metric``; percent: ``true_baseline_min_p``, ``wrong_baseline_full_target``, ``spec_cascade``."""
    return read("figure1_difficulty.csv")


def table_1() -> "pd.DataFrame":
    """Table 1, MBPP+: ``variant``, ``lambda``, ``block_efficiency`` (tokens per target call), ``pass_at_1_percent``."""
    return read("table1_ablation_mbppplus.csv")


def table_4() -> "pd.DataFrame":
    """Table 4, standard speculative decoding.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``parameter`` (NaN for strict), ``benchmark``; then mean and standard deviation over 3 runs:
        ``block_efficiency`` (tokens per target call, the extra one included), ``decoding_speed_tokens_per_s`` and
        ``accuracy_percent``, with ``block_efficiency_std``, ``decoding_speed_std``, ``accuracy_std``.

    Examples
    --------
    >>> table_4().query("method == 'strict'")["block_efficiency"].tolist()
    [7.98, 5.47, 3.4, 8.73]
    """
    return read("table4_standard_sd.csv")


def settings_of(method: str) -> list[float]:
    """Give the parameters of a method in Table 4, in rising order.

    Examples
    --------
    >>> settings_of("spec_cascade")
    [0.1, 0.3, 0.5, 0.7, 0.9]
    """
    table = table_4()
    return sorted(float(value) for value in table.loc[table["method"] == method, "parameter"].unique())


def table_5() -> "pd.DataFrame":
    """Table 5, EAGLE-3 trees: as `table_4`, one run, with ``accepted_length`` (tokens, without the extra one)."""
    return read("table5_eagle3.csv")


def table_6() -> "pd.DataFrame":
    """Table 6, MBPP+: ``rule``, ``block_efficiency`` (tokens per target call), ``pass_at_1_percent``."""
    return read("table6_rules_mbppplus.csv")


def tables_2_3_7() -> "pd.DataFrame":
    """Tables 2, 3 and 7: the averages and gaps that the paper prints, which should follow from Tables 4 and 5.

    Returns
    -------
    pandas.DataFrame
        ``table`` (2, 3 or 7), ``framework`` (standard or eagle3), ``method``, ``benchmark``, ``quantity``, ``value``. Quantities
        are those of `table_4` and `table_5`; in Table 7 their gaps, lossy ``method`` less its baseline, also as a ``mean``.

    Examples
    --------
    >>> tables_2_3_7().query("table == 7 and benchmark == 'mean' and quantity == 'accuracy_gap_points'")["value"].tolist()
    [-0.38, -1.68, -0.32, -6.32]
    """
    return read("tables_2_3_7.csv")


def verifier(method: str, parameter: float | None = None) -> TokenVerifier:
    """Give the rule of a row of Table 4.

    Parameters
    ----------
    method : str
        Of `FAMILIES`.
    parameter : float, optional
        Its hyper-parameter; none for strict.

    Notes
    -----
    Table 4's λ of CoS weighs the *draft*, that of `theory.CoS` the target. The gates are taken as the paper's code runs them:
    what is not allowed is replaced from the full target.

    Examples
    --------
    >>> str(verifier("cos_draft_weight", 0.2)), str(verifier("spec_cascade", 0.5))
    ('cos:0.8', 'spec-cascade:0.5,fallback=target')
    """
    if method == "strict":
        return Strict()
    if parameter is None:
        raise ValueError(f"method = {method!r}: needs its parameter")
    match method:
        case "min_p_sampling":
            return TruncationSampling(MinP(parameter))
        case "spec_cascade":
            return SpecCascade(parameter, "target")
        case "eta_sampling":
            return TruncationSampling(Eta(parameter))
        case "typical_acceptance":
            return TypicalAcceptance(parameter, fallback="target")
        case "lenience":
            return Lenience(parameter)
        case "cos_draft_weight":
            return CoS(round(1 - parameter, 12))
    raise ValueError(f"method = {method!r}: must be one of {', '.join(FAMILIES)}")


def setting_of(rule: TokenVerifier) -> Setting:
    """Give the row of Table 4 that a rule is; for another rule its name without the first number in it, and that number.

    Examples
    --------
    >>> setting_of(CoS(0.8)), setting_of(Strict())
    (('cos_draft_weight', 0.2), ('strict', None))
    >>> setting_of(SpecCascade(0.5))
    ('spec-cascade', 0.5)
    """
    match rule:
        case Strict():
            return "strict", None
        case Lenience():
            return "lenience", float(rule.lenience)
        case CoS():
            return "cos_draft_weight", round(1 - float(rule.lam), 12)
        case SpecCascade(p_base=value, fallback="target"):
            return "spec_cascade", float(value)
        case TypicalAcceptance(epsilon=value) if rule == TypicalAcceptance(value, fallback="target"):
            return "typical_acceptance", float(value)
        case TruncationSampling(MinP(p_base=value)):
            return "min_p_sampling", float(value)
        case TruncationSampling(Eta(epsilon=value)) if rule == TruncationSampling(Eta(value)):
            return "eta_sampling", float(value)
    words = re.split("([:,=])", str(rule))
    place = next((place for place, word in enumerate(words) if place and re.fullmatch(r"[\d.]+(e-?\d+)?(/\d+)?", word)), None)
    if place is None:
        return str(rule), None
    number = float(Fraction(words[place]))
    if place == len(words) - 1:
        return "".join(words[: place - 1]), number
    return "".join([*words[:place], "*", *words[place + 1 :]]), number
