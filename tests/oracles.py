"""Independent routes to the same laws: published closed forms and enumeration, one token at a time, in plain Python."""

import numpy as np
import scipy.optimize


def tv(a, b):
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2


def enumerate_branches(verifier, p, q):
    """Probability of each (accepted, token), by walking every draft and both sides of its coin."""
    size = len(p)
    acceptance = verifier.acceptance(p, q)
    law = {(accepted, token): 0 for accepted in (True, False) for token in range(size)}
    for drafted in range(size):
        law[True, drafted] += q[drafted] * acceptance[drafted]
        if acceptance[drafted] != 1:
            replacement = verifier.residual_given(p, q, drafted)
            for token in range(size):
                law[False, token] += q[drafted] * (1 - acceptance[drafted]) * replacement[token]
    return law


def enumerate_induced(verifier, p, q):
    law = enumerate_branches(verifier, p, q)
    return [law[True, token] + law[False, token] for token in range(len(p))]


def eq_10(p, q, lenience):
    """The paper's piecewise law of lenience, Δ by its Eq. 11."""
    if list(p) == list(q):
        return list(p)
    half_distance = sum(abs(y - x / lenience) for x, y in zip(p, q, strict=True)) / 2
    delta = (half_distance + (1 - 1 / lenience) / 2) / tv(p, q)
    law = []
    for x, y in zip(p, q, strict=True):
        if y <= x:
            law.append(delta * x + (1 - delta) * y)
        elif y <= x / lenience:
            law.append(y)
        else:
            law.append(x / lenience)
    return law


def renormalised(weights):
    total = sum(weights)
    return [w / total for w in weights]


def gate_law(p, q, allowed, fallback):
    """The table at the top of theory/verifiers/truncating.py, written out again from VERIFIERS' sources."""
    kept = [y if a else 0 * y for y, a in zip(q, allowed, strict=True)]
    left = 1 - sum(kept)
    on_set = renormalised([x if a else 0 * x for x, a in zip(p, allowed, strict=True)])
    if fallback == "redraft":
        return renormalised(kept) if sum(kept) > 0 else on_set
    if fallback == "argmax":
        best = max(range(len(p)), key=lambda token: (p[token], -token))
        replacement = [int(token == best) for token in range(len(p))]
    else:
        if fallback == "target":
            weights = list(p)
        elif fallback == "truncated":
            weights = on_set
        elif fallback == "residual":
            weights = [max(x - y, 0 * x) for x, y in zip(p, q, strict=True)]
        else:
            weights = [max(x - y, 0 * x) for x, y in zip(p, kept, strict=True)]
        replacement = renormalised(weights) if sum(weights) > 0 else list(p)
    return [k + left * r for k, r in zip(kept, replacement, strict=True)]


def ceiling_law(p, q, lam):
    """VERIFIERS 2.6: the accept form of the overshoot ceiling, from its published rejected mass."""
    mild = [y - x for x, y in zip(p, q, strict=True) if x < y <= x / lam]
    severe = [y - x / lam for x, y in zip(p, q, strict=True) if y > x / lam]
    rejected = lam * sum(mild) + sum(severe)
    law = []
    for x, y in zip(p, q, strict=True):
        if y <= x:
            law.append(y + (rejected / tv(p, q) * (x - y) if tv(p, q) else 0))
        elif y <= x / lam:
            law.append(lam * x + (1 - lam) * y)
        else:
            law.append(x / lam)
    return law


def as_floats(values):
    return np.array([float(value) for value in values])


def least_over_survival(objective, equal, values):
    """The least of objective · S over all 1 >= S_1 >= ... >= S_n >= 0 with equal · S = values, by a linear program."""
    falls = np.diff(np.eye(len(objective)), axis=0)
    at_most = {"A_ub": falls, "b_ub": np.zeros(len(falls))} if len(falls) else {}
    found = scipy.optimize.linprog(objective, A_eq=equal, b_eq=[float(v) for v in values], bounds=(0, 1), **at_most)
    assert found.success, found.message
    return found.fun
