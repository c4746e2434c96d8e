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


def clean(rng, n):
    """Return tables of one population."""
    return people(rng, n), people(rng, n), people(rng, n)


def clean_answers(rng, n):
    """Return tables of few values of one population."""
    return answers(rng, n), answers(rng, n), answers(rng, n)


def sums(rng, n):
    """Return clean tables of two independent columns, their sum and their product."""

    def draw():
        a, b = rng.integers(round(1.45 * n), size=(2, n))
        return pd.DataFrame({"a": a, "b": b, "sum": a + b, "product": a * b, "kind": rng.choice(list("uvw"), n)})

    return draw(), draw(), draw()


def addresses(rng, n):
    """Return clean tables of people at the coordinates of fixed addresses."""
    place = rng.normal([50, 8], 1, size=(n * n, 2)).round(5)

    def draw():
        at = place[rng.integers(len(place), size=n)]
        return pd.DataFrame({"north": at[:, 0], "east": at[:, 1], "age": rng.integers(18, 90, n)})

    return draw(), draw(), draw()


def shared(rng, n):
    """Return clean tables whose rows have few values, which half of the records have too: the worst two laws."""
    few = rng.random((round(n * n / 1.63), 2))

    def draw(share):
        values = np.where(rng.random((n, 1)) < share, few[rng.integers(len(few), size=n)], rng.random((n, 2)))
        return pd.DataFrame({"x": values[:, 0], "y": values[:, 1], "sex": rng.choice(list("fm"), n)})

    return draw(0.5), draw(1.0), draw(0.5)


def repeated(rng, n):
    """Return clean tables whose rows repeat each other."""

    def draw(size):
        return pd.DataFrame({"u": rng.integers(2 * n, size=size), "v": rng.integers(2 * n, size=size)})

    few = draw(max(20, n // 10))
    return draw(n), few.iloc[rng.integers(len(few), size=n)].reset_index(drop=True), draw(n)


def smoothed(rng, real, width):
    """Return a table of random real records with noise in all columns: a kernel density estimate that is too narrow."""
    n = len(real)
    rows = real.iloc[rng.integers(n, size=n)].reset_index(drop=True)
    for name in ("age", "income", "bmi"):
        rows[name] = (rows[name] + width * real[name].std() * rng.normal(size=n)).round(3)
    rows["born"] += pd.to_timedelta((width * 4_300 * rng.normal(size=n)).round(), unit="D")
    for name in ("sex", "place"):
        rows[name] = np.where(rng.random(n) < width, real[name].to_numpy()[rng.integers(n, size=n)], rows[name])
    return rows


def shop(rng, n, first=1):
    """Return customers, their orders, and the items of each order; a customer has Poisson(gamma) orders."""
    who = np.repeat(np.arange(n), rng.poisson(rng.gamma(2, 1.5, n)))
    of = np.repeat(np.arange(len(who)), 1 + rng.poisson(0.7, len(who)))
    return {
        "customers": people(rng, n)[["age", "income", "place"]].assign(customer=first + np.arange(n)),
        "orders": pd.DataFrame(
            {
                "order": first + np.arange(len(who)),
                "customer": first + who,
                "day": START + pd.to_timedelta(rng.integers(0, 365, len(who)), unit="D"),
                "kind": rng.choice(list("xyz"), len(who), p=[0.5, 0.3, 0.2]),
                "amount": np.exp(rng.normal(3, 1, len(who))).round(2),
            }
        ),
        "items": pd.DataFrame({"order": first + of, "price": np.exp(rng.normal(2, 0.8, len(of))).round(2)}),
    }


def copied_relations(rng, real, share):
    """Return new customers, of whom the first have the orders of real ones: numbers, days and kinds, not amounts."""
    n = len(real["customers"])
    new, ids = shop(rng, n, first=10**8), real["customers"]["customer"][: round(share * n)]
    orders = new["orders"][new["orders"]["customer"] >= 10**8 + len(ids)]
    mine = real["orders"][real["orders"]["customer"].isin(ids)]
    items = real["items"][real["items"]["order"].isin(mine["order"])]
    mine = mine.assign(
        customer=mine["customer"] - ids.min() + 10**8, amount=np.exp(rng.normal(3, 1, len(mine))).round(2)
    )
    return {
        "customers": new["customers"],
        "orders": pd.concat([mine, orders]),
        "items": pd.concat(
            [
                items.assign(price=np.exp(rng.normal(2, 0.8, len(items))).round(2)),
                new["items"][new["items"]["order"].isin(orders["order"])],
            ]
        ),
    }
