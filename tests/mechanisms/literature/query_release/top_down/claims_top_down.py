"""Laws of TopDown: three counties of two states, people who are female or male, everything counted by hand."""

import math
from itertools import product

import numpy as np
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.query_release.top_down import GaussianTopDown, GeometricTopDown
from dpassay.mechanisms.literature.query_release.top_down.broken import InvariantsIgnored

STATE = (0, 1, 1)
"""Of each county."""
ASKED = {"state": (("state", ("sex",)), 1), "county": (("county", ()), 2)}
QUERIES = [{"level": level, "attributes": names, "share": share} for (level, names), share in ASKED.values()]
INVARIANTS = {
    "nothing": ([], lambda people: ()),
    "people of each state": (
        [{"level": "state"}],
        lambda people: [sum(STATE[c] == s for c, _ in people) for s in (0, 1)],
    ),
    "women of each county": (
        [{"level": "county", "where": {"sex": [0]}}],
        lambda people: [sum(person == (c, 0) for person in people) for c in (0, 1, 2)],
    ),
}
PAIRS = {
    "replace_one": [
        ([(c, s)], [(d, t)]) for c, s, d, t in product((0, 1, 2), (0, 1), (0, 1, 2), (0, 1)) if (c, s) != (d, t)
    ],
    "add_remove": [([], [(c, s)]) for c, s in product((0, 1, 2), (0, 1))],
}


def answers(people):
    """The numbers of each query."""
    return {
        "state": [sum(STATE[c] == state and s == sex for c, s in people) for state in (0, 1) for sex in (0, 1)],
        "county": [sum(c == county for c, _ in people) for county in (0, 1, 2)],
    }


def cases(kind, option, budget, noise):
    """`noise(share of the budget, numbers moved)` gives the law of a number around 0 or 1."""
    for relation, name in product(PAIRS, INVARIANTS):
        invariants, told = INVARIANTS[name]
        agree = [pair for pair in PAIRS[relation] if told(pair[0]) == told(pair[1])]
        if not agree or not all(any(moved(pair)[query] for pair in agree) for query in ASKED):
            continue
        most = max(parts(pair) for pair in agree)
        mechanism = kind(
            **{option: budget},
            geography=[1, 2],
            domain={"sex": 2},
            structural_zeros=[],
            queries=QUERIES,
            invariants=invariants,
            relation=relation,
        )
        for pair in agree:
            sides = [
                laws.joint(
                    np.ones(1),
                    *(
                        noise(before if side == 0 else after, budget * ASKED[query][1] / most, len(changed))
                        for query, changed in moved(pair).items()
                        for before, after in changed
                    ),
                )
                for side in (0, 1)
            ]
            others = [(1, 0), (2, 1)]
            data = (np.array([*others, *side]) for side in pair)
            yield mechanism, Neighbours(*data, relation), *sides, 1e-9, parts(pair) == most


def moved(pair):
    """The numbers of each query that differ, before and after."""
    before, after = map(answers, pair)
    return {query: [(a, b) for a, b in zip(before[query], after[query], strict=True) if a != b] for query in ASKED}


def parts(pair):
    """Of the budget, that a pair spends."""
    return sum(ASKED[query][1] for query, changed in moved(pair).items() if changed)


def gaussian():
    def noise(centre, rho, n_moved):
        return laws.discrete_gaussian(centre, math.sqrt(n_moved / (2 * rho)), reach=6)

    yield from cases(GaussianTopDown, "rho", 6.0, noise)


def geometric():
    """Outcomes up to 0 and from 1 on are all that matters."""

    def noise(centre, epsilon, n_moved):
        law = laws.geometric(centre, epsilon / n_moved, lower=0, upper=1)
        return law[law > 0]

    for epsilon in (0.5, 2.0):
        yield from cases(GeometricTopDown, "epsilon", epsilon, noise)


def forgotten():
    """Pairs that differ in the number of people of the states."""
    invariants, told = INVARIANTS["people of each state"]
    for pair in PAIRS["replace_one"]:
        if told(pair[0]) != told(pair[1]):
            options = {"geography": [1, 2], "domain": {"sex": 2}, "structural_zeros": [], "queries": QUERIES}
            mechanism = InvariantsIgnored(0.5, **options, invariants=invariants)
            data = (np.array([(2, 1), *side]) for side in pair)
            yield mechanism, Neighbours(*data, "replace_one"), np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0, True


CLAIMS = {"gaussian-top-down": gaussian, "geometric-top-down": geometric, "broken-top-down-invariants": forgotten}
