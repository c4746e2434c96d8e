"""Populations and synthetic tables with planted leaks."""

import numpy as np
import pandas as pd

START = pd.Timestamp("1960-01-01")


def people(rng, n):
    """Return people with numbers, dates and categories, some of which depend on each other."""
    trait = rng.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.round(45 + 12 * trait + rng.normal(0, 5, n)),
            "income": np.round(np.exp(10 + 0.3 * trait + 0.5 * rng.normal(size=n)), 2),
            "bmi": np.round(rng.normal(25, 4, n), 3),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "place": np.array(list("abcdefgh"))[rng.integers(8, size=n)],
            "born": START + pd.to_timedelta(rng.integers(0, 15_000, n), unit="D"),
        }
    )


def answers(rng, n):
    """Return answers of few values, so that records agree by chance."""
    return pd.DataFrame({f"q{i}": rng.integers(2 + i, size=n) for i in range(4)}).astype(str)


def copies(rng, n, share):
    """Return real, synthetic and holdout tables; a share of the real records is copied."""
    real, synthetic, holdout = people(rng, n), people(rng, n), people(rng, n)
    k = round(share * n)
    return real, pd.concat([real[:k], synthetic[k:]], ignore_index=True), holdout


def half_copies(rng, n, share):
    """Return tables of which some rows have the income, bmi and date of birth of a real record, and other entries."""
    real, synthetic, holdout = people(rng, n), people(rng, n), people(rng, n)
    k, columns = round(share * n), ["income", "bmi", "born"]
    synthetic.loc[: k - 1, columns] = real.loc[: k - 1, columns]
    return real, synthetic, holdout


def outlier(rng, n):
    """Return tables of which one unusual record is copied."""
    real, synthetic, holdout = people(rng, n), people(rng, n), people(rng, n)
    real.loc[7, ["income", "bmi"]] = [9_000_000.17, 71.234]
    return real, pd.concat([synthetic[1:], real[7:8]], ignore_index=True), holdout


def group(rng, n, place="c"):
    """Return tables of which the people of one place are copied."""
    real, synthetic, holdout = people(rng, n), people(rng, n), people(rng, n)
    rows = real[real["place"] == place]
    return real, pd.concat([rows, synthetic[len(rows) :]], ignore_index=True), holdout


def resampled(rng, n):
    """Return tables whose synthetic columns are drawn from the real columns, each by itself."""
    real, holdout = people(rng, n), people(rng, n)
    columns = {name: real[name].sample(n, replace=True, random_state=rng).to_numpy() for name in real}
    return real, pd.DataFrame(columns), holdout


def clean(rng, n):
    """Return tables of one population."""
    return people(rng, n), people(rng, n), people(rng, n)


def clean_answers(rng, n):
    """Return tables of few values of one population."""
    return answers(rng, n), answers(rng, n), answers(rng, n)
