"""Tests whether memberships, outputs and labels of models have one order, from the data alone.

A file of another run, or rows in another order, gives an AUC of one half: the result of models that leak nothing. These
tests look for positive evidence of such a mistake, never for the mere absence of a leak, so that models that leak
nothing and canaries with random labels are not warned of:

    models      the outputs of one model go with the membership of another: partial correlations of the ranks of its
                signal, less the mean of each record, with that membership, given its own
    records     the same for columns: the signal of one record goes with the membership of another
    run         the outputs show training sets, but not these: complementary models are negatively correlated, or the
                signal of a record has two modes, and membership explains neither
    axes        models and records are exchanged: with more models than records, models differ and records do not
                (F-test of the variances between models and between records)
    labels      members are predicted with more confidence than non-members, but their labels no better than labels in
                a random order (permutation test by the moments of Hoeffding 1951)

Each test has a share of `WARNING_LEVEL`, the probability of a warning on data that belong together, and Bonferroni's
correction over its comparisons. That level holds for independent coins (also for complementary pairs, and for people
whose records are in together: records with the same membership in all models are averaged). A model that continues the
training of another depends on two training sets; it is named only if the other model depends on its own less.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ...mechanisms.core import Bools, DpassayError, Floats, Ints, fixed, number, percent
from .shadows import Shadows

WARNING_LEVEL = 1e-3
"""Probability of a warning of data that belong together, over all tests."""
TEST_LEVEL = WARNING_LEVEL / 5
"""Level of each of the five tests."""
MAX_RECORDS = 4_000
"""Number of records on which models are compared."""
MAX_COMPARED_RECORDS = 300
"""Number of records whose signal is compared with the membership of all others."""
MIN_STANDARD_ERRORS = 3.0
"""Standard errors by which the membership of another model must fit better than that of the model itself."""
MAX_VARIANCE_RATIO = 10.0
"""Ratio of the variance between models to that between records that canaries of one run may have."""
UNIMODAL = 1.6
"""Kurtosis below that of every symmetric law with one mode (1.8, uniform); two normal laws 4 apart have 1.72, 5 apart
1.51."""


def consistency_warnings(shadows: Shadows) -> tuple[str, ...]:
    """Return a warning for each test that finds that memberships and outputs are not in the same order."""
    values = _signal(shadows)
    if values is None or len(shadows) < 2 or shadows.n_records < 4:
        return ()
    warnings = [_exchanged_axes(values, shadows.inclusion), _models(values, shadows), _records(values, shadows)]
    if warnings == [None, None, None]:
        warnings.append(_other_run(values, shadows))
    return tuple(text for text in warnings if text is not None)


def label_order_warning(log_p: Floats, y: Ints, inclusion: Bools) -> str | None:
    """Return a sentence if the labels seem to be in another order than the outputs; None if they do not.

    Args:
        log_p: `(n_models, n_records, n_classes)` log probabilities.
        y: `(n_records,)` classes.
        inclusion: `(n_models, n_records)`.
    """
    n = len(y)
    if n < 10 or not inclusion.any() or inclusion.all():
        return None
    n_members = inclusion.sum(axis=0)
    log_p = np.maximum(log_p, np.log(1e-6))
    members = (
        np.einsum("mr,mrk->rk", inclusion.astype(np.float64), log_p)[n_members > 0] / n_members[n_members > 0, None]
    )
    labels = y[n_members > 0]
    counts = np.bincount(labels, minlength=members.shape[1])
    centred = members - (members @ counts / len(labels))[:, None]
    centred -= centred.mean(axis=0)
    spread = np.sqrt(float(np.sum(centred**2 @ counts)) / max(len(labels) - 1, 1))
    gain = float(centred[np.arange(len(labels)), labels].sum())
    if spread == 0.0 or gain > -special.ndtri(WARNING_LEVEL) * spread:
        return None
    confidence, member = _collapsed(log_p.max(axis=2), inclusion)
    own = _correlations(_ranks(confidence - confidence.mean(axis=0)), _standardised(member)).diagonal()
    total = float(own.sum()) * np.sqrt(member.shape[1] / len(own))
    if total < -special.ndtri(TEST_LEVEL) * np.sqrt(2.0):  # complementary models may be correlated
        return None
    return (
        "labels seem to be in another order than the outputs: the models are surer of their members than of others "
        f"({fixed(total, 1)} standard errors), but predict the labels of members no better than labels in a random "
        f"order ({fixed(gain / spread, 1)}; permutation test, level {number(WARNING_LEVEL)} over all tests). Give the "
        "label of each record in the order of the outputs."
    )


def _signal(shadows: Shadows) -> Floats | None:
    """Return the signal that is nearest to normal, `(n_models, n_records)`."""
    for name in ("rescaled-logit", *shadows.signals):
        try:
            return shadows.signal(name)
        except DpassayError:
            continue
    return None


def _collapsed(values: Floats, inclusion: Bools) -> tuple[Floats, Bools]:
    """Return means over records that are in the same models, such as those of one person, and their membership."""
    columns, group, count = np.unique(inclusion, axis=1, return_inverse=True, return_counts=True)
    if len(count) == inclusion.shape[1]:
        return values, inclusion
    total = np.zeros((len(values), len(count)))
    np.add.at(total.T, group.ravel(), values.T)
    return total / count, columns


def _ranks(values: Floats) -> Floats:
    """Return standardised ranks within each row."""
    from scipy.stats import rankdata

    return _standardised(rankdata(values, axis=1))


def _standardised(values: Floats | Bools) -> Floats:
    """Return rows with mean 0 and norm 1; 0 for constant ones."""
    centred = np.asarray(values, dtype=np.float64) - np.mean(values, axis=1, keepdims=True)
    norm = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.where(norm > 1e-9, centred / np.maximum(norm, 1e-9), 0.0)


def _correlations(first: Floats, second: Floats) -> Floats:
    return np.asarray(first @ second.T)


def _best_other(signal: Floats, member: Floats, rows: Ints, excluded: Ints) -> tuple[int, int] | None:
    """Return (row, other) where the signal of a row goes with the membership of another row; None if there is none.

    Args:
        signal: `(n_rows, n)` standardised ranks of the signals of these rows.
        member: `(n_all, n)` standardised memberships of all rows.
        rows: `(n_rows,)` places of the rows among all.
        excluded: `(n_rows,)` the complement of each row, which its own membership determines.
    """
    n = member.shape[1]
    if n < 6:
        return None
    with_other, between = _correlations(signal, member), _correlations(member[rows], member)
    index = np.arange(len(rows))
    own = with_other[index, rows]
    residual_variance = (1.0 - own**2)[:, None] * (1.0 - between**2)
    partial = (with_other - own[:, None] * between) / np.sqrt(np.maximum(residual_variance, 1e-9))
    partial[(residual_variance < 1e-6) | ~np.atleast_1d(member.any(axis=1))] = 0.0
    partial[index, rows] = partial[index, excluded] = 0.0
    t = partial * np.sqrt((n - 3.0) / np.maximum(1.0 - partial**2, 1e-12))
    limit = -special.stdtrit(n - 3.0, TEST_LEVEL / max(partial.size, 1))
    own_of_all = np.full(len(member), -np.inf)
    own_of_all[rows] = own
    better = with_other - np.maximum(own[:, None], own_of_all[None, :]) > MIN_STANDARD_ERRORS / np.sqrt(n)
    t = np.where(better & (with_other > 0.0), t, 0.0)
    at_largest = np.unravel_index(int(np.argmax(t)), t.shape)
    return (int(rows[at_largest[0]]), int(at_largest[1])) if t[at_largest] > limit else None


def _models(values: Floats, shadows: Shadows) -> str | None:
    step = -(-shadows.n_records // MAX_RECORDS)
    x, member = _collapsed(values[:, ::step], shadows.inclusion[:, ::step])
    mismatch = _best_other(_ranks(x - x.mean(axis=0)), _standardised(member), np.arange(len(x)), shadows.partners)
    return _order_warning("model", "rows", mismatch)


def _records(values: Floats, shadows: Shadows) -> str | None:
    x, member = values - values.mean(axis=1, keepdims=True), shadows.inclusion.astype(np.float64)
    if shadows.paired:  # given the signals, one fair coin for each pair and record
        first = np.flatnonzero(shadows.partners > np.arange(len(shadows)))
        x, member = x[first] - x[shadows.partners[first]], member[first]
    rows = np.unique(np.linspace(0, shadows.n_records - 1, MAX_COMPARED_RECORDS).astype(np.int64))
    mismatch = _best_other(_ranks(x[:, rows].T), _standardised(member.T), rows, rows)
    return _order_warning("record", "columns", mismatch)


def _order_warning(kind: str, axis: str, mismatch: tuple[int, int] | None) -> str | None:
    """Return a sentence on outputs that go with the membership of another model or record; None if there are none."""
    if mismatch is None:
        return None
    return (
        f"{kind}s seem to be in another order in the outputs than in membership: the outputs of {kind} {mismatch[0]} "
        f"go with the membership of {kind} {mismatch[1]}, and less with its own (partial rank correlations, level "
        f"{number(WARNING_LEVEL)} over all tests). Bring the {axis} of membership and outputs into one order."
    )


def _other_run(values: Floats, shadows: Shadows) -> str | None:
    """Return a sentence if the outputs show training sets that are not those of membership."""
    step = -(-shadows.n_records // MAX_RECORDS)
    x, member = _collapsed(values[:, ::step], shadows.inclusion[:, ::step])
    x = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    ranks, n = _ranks(x), member.shape[1]
    own = _correlations(ranks, _standardised(member)).diagonal()
    paired = 2.0 if shadows.paired else 1.0  # the two correlations of a pair are equal where its outputs are opposite
    if n < 20 or float(own.sum()) * np.sqrt(n / len(own)) > -special.ndtri(WARNING_LEVEL) * np.sqrt(paired):
        return None  # membership explains the outputs, at least in part
    evidence = None
    if shadows.paired:
        first = np.flatnonzero(shadows.partners > np.arange(len(shadows)))
        together = np.sum(ranks[first] * ranks[shadows.partners[first]], axis=1) + 1.0 / (len(shadows) - 1)
        z = float(together.sum()) * np.sqrt(n / len(first))
        if len(shadows) > 2 and together.mean() < -0.1 and z < 2.0 * special.ndtri(TEST_LEVEL / 2):
            evidence = (
                f"models on complementary records have opposite outputs (rank correlation {fixed(together.mean(), 2)}"
            )
    if evidence is None and len(shadows) >= 16 and len(np.unique(values)) > 0.2 * values.size:
        scale = np.maximum(np.mean(x**2, axis=0), 1e-300)
        kurtosis = np.mean(x**4, axis=0) / scale**2
        limit = kurtosis.mean() - special.ndtri(TEST_LEVEL / 2) * kurtosis.std() / np.sqrt(n)
        if limit < UNIMODAL:
            evidence = f"the outputs of a record have two modes (kurtosis {fixed(kurtosis.mean(), 2)}"
    if evidence is None:
        return None
    return (
        f"membership seems to be that of another run: {evidence}, level {number(WARNING_LEVEL)} over all tests), as "
        "where models remember their training sets, but no model has higher signals on its own members. Give the "
        "membership of these models, with records in the order of the outputs."
    )


def _exchanged_axes(values: Floats, inclusion: Bools) -> str | None:
    """Return a sentence if models and records seem to be exchanged in memberships and outputs."""
    n_models, n_records = values.shape
    if n_models <= 2 * n_records:
        return None
    centred = inclusion - inclusion.mean(axis=0)
    x = values - values.mean(axis=0)
    x = values - centred * (np.sum(centred * x) / max(float(np.sum(centred**2)), 1e-9))
    of_models, of_records = x.mean(axis=1), x.mean(axis=0)
    rest = x - of_models[:, None] - of_records + x.mean()
    noise = float(np.sum(rest**2)) / ((n_models - 1) * (n_records - 1))
    between_models = max(float(of_models.var(ddof=1)) - noise / n_records, 0.0)
    ratio = float(of_models.var(ddof=1)) / max(float(of_records.var(ddof=1)), 1e-300)
    if between_models < noise or ratio < MAX_VARIANCE_RATIO * special.fdtri(
        n_models - 1, n_records - 1, 1.0 - TEST_LEVEL
    ):
        return None
    share = between_models / (between_models + noise)
    return (
        f"models and records seem to be exchanged: of {n_models:,} models on {n_records:,} records, the models differ "
        f"({percent(share)} of the variance) and the records do not (variance of their means 1/{fixed(ratio, 0)}; "
        f"F-test, level {number(WARNING_LEVEL)} over all tests), as records of {n_records:,} models would. If so, "
        "exchange the first two axes of membership and outputs; if all canaries of a run share noise, ignore this."
    )
