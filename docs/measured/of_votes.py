"""Teachers who vote, and their students: docs/mechanisms/pate.md."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from stated import DOCS, Number

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.literature.pate import ConfidentGNMax, LNMax
from dpassay.mechanisms.literature.pate.aggregator import Aggregator

VOTE_ROWS: dict[str, tuple[Aggregator, str]] = {
    "mnist-lnmax-few": (
        LNMax(0.05, n_queries=100),
        "| {100} | {5.30} | {4.31} | {1.40} | {93.0} % | {70.0} % | {97.3} % |",
    ),
    "mnist-lnmax": (
        LNMax(0.05, n_queries=1000),
        "| {1,000} | {20.17} | {17.79} | {5.83} | {88.4} % | {88.1} % | {97.3} % |",
    ),
    "mnist-confident": (
        ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640),
        "Confident (200, 150, 40), 640 queries | {341} | {3.46} | {2.79} | {1.55} | {93.3} % | {82.1} % | {97.3} % |",
    ),
    "adult-lnmax": (
        LNMax(0.05, n_classes=2, n_queries=500),
        "LNMax, rate 0.05 | {500} | {13.23} | {11.41} | {3.71} | {83.8} % | {83.9} % | {87.1} % |",
    ),
    "adult-confident": (
        ConfidentGNMax(300.0, 200.0, 40.0, n_classes=2, n_queries=1500),
        "1,500 queries | {504} | {4.25} | {3.47} | {1.95} | {89.1} % | {84.3} % | {87.1} % |",
    ),
}
MNIST_ROUNDS = "320 + 320 queries | {233} | {2.87} | {2.29} | {1.42} | {88.4} % | {86.5} % | {97.3} % |"
GLYPH_ONE = "12,000 queries | {9,887} | {7.84} | {6.62} | {1.53} | {81.7} % | {81.0} % | {81.3} % |"
GLYPH_TWO = "4,000 + 8,000 queries | {3,986} | {4.83} | {3.97} | {1.35} | {81.6} % | {80.9} % | {81.3} % |"
GLYPH_LAPLACE = "LNMax, rate 0.05 | {4,000} | {50.35} | {46.13} | {3.35} | {80.2} % | {80.0} % | {81.3} % |"
GLYPH_NOISE = (1000.0, 500.0, 100.0)
STUDENT_ROWS = {
    "mnist-confident": "640 queries | {91.5} ± {1.1} % | {81.9} ± {1.8} % | {96.3} ± {0.1} % |",
    "adult-lnmax": "rate 0.05, 500 queries | {83.7} ± {0.6} % | {83.4} ± {0.1} % | {82.4} ± {0.2} % |",
    "adult-confident": "1,500 queries | {85.9} ± {2.0} % | {83.1} ± {0.9} % | {81.5} ± {0.5} % |",
}


def row_of_votes(name: str, aggregator: Aggregator) -> list[float]:
    """Return a row of the table of teachers: answered, three epsilons, and shares that are right in per cent."""
    from dpassay.experiments.literature.votes.teachers import row, votes_on

    return _row(row(votes_on(name, n_teachers=250, n_queries=aggregator.n_queries), aggregator))


def mnist_in_two_rounds() -> list[float]:
    """Return the row of two rounds on MNIST."""
    from dpassay.experiments.literature.votes.rounds import two_rounds
    from dpassay.experiments.literature.votes.teachers import votes_on

    votes = votes_on("mnist", n_teachers=250, n_queries=640)
    return _row(two_rounds(votes, 200.0, 150.0, 40.0, n_first=320, confidence=0.8))


def glyph_like_row(n_rounds: int) -> list[float]:
    """Return a row of the stand-in for Glyph."""
    from dpassay.experiments.literature.votes import glyph_like, rounds

    votes = glyph_like.votes(12_000)
    if n_rounds == 2:
        return _row(rounds.two_rounds(votes, *GLYPH_NOISE, n_first=4_000, confidence=0.8))
    return _row(
        rounds.one_round(votes, ConfidentGNMax(*GLYPH_NOISE, n_teachers=5_000, n_classes=150, n_queries=12_000))
    )


def glyph_like_by_laplace_noise() -> list[float]:
    """Return the row of LNMax on the stand-in for Glyph, on the queries of the first round of `GLYPH_TWO`."""
    from dpassay.experiments.literature.votes import glyph_like, rounds, teachers

    votes, n = glyph_like.votes(12_000), 4_000
    votes = replace(votes, counts=votes.counts[:n], queries=votes.queries[:n], truth=votes.truth[:n])
    aggregator = LNMax(0.05, n_teachers=5_000, n_classes=150, n_queries=n)
    return _row(teachers.row(votes, aggregator, student=rounds.accuracy_of_answers))


def _row(found: Any) -> list[float]:
    shares = (found.right, found.student, found.baseline)
    epsilons = (found.for_all_votes, found.claim, found.on_these_votes)
    return [found.answered, *epsilons, *(100.0 * share for share in shares)]


def row_of_students(name: str, aggregator: Aggregator) -> list[float]:
    """A row of the table of students: means and standard deviations of five runs, in per cent."""
    from dpassay.experiments.literature.votes import students, teachers

    votes = teachers.votes_on(name, n_teachers=250, n_queries=aggregator.n_queries)
    found = 100.0 * students.accuracies(votes, aggregator)
    return np.stack([found.mean(axis=1), found.std(axis=1, ddof=1)], axis=1).ravel().tolist()


AUDITED: dict[str, tuple[Aggregator, str]] = {
    "mnist-lnmax-few": (LNMax(0.05, n_queries=100), "| MNIST, LNMax | 100 | {4.31} | {1.09} |"),
    "mnist-lnmax": (LNMax(0.05, n_queries=1000), "| MNIST, LNMax | 1,000 | {17.79} | {4.08} |"),
    "mnist-confident": (
        ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640),
        "| MNIST, Confident | 640 | {3.93} | {1.00} |",
    ),
    "adult-lnmax": (LNMax(0.05, n_classes=2, n_queries=500), "| Adult, LNMax | 500 | {11.41} | {2.94} |"),
    "adult-confident": (
        ConfidentGNMax(300.0, 200.0, 40.0, n_classes=2, n_queries=1500),
        "| Adult, Confident | 1,500 | {6.40} | {1.22} |",
    ),
    "glyph-like": (
        ConfidentGNMax(*GLYPH_NOISE, n_teachers=5_000, n_classes=2, n_queries=12_000),
        "| Glyph-like, Confident | 12,000 | {7.42} | {2.44} |",
    ),
}
"""Aggregators of the table, and rows with claim and audited epsilon; two of the 150 labels of Glyph have votes."""


FAST = ("mnist-lnmax-few", "adult-lnmax")


def audited(aggregator: Aggregator) -> list[float]:
    """Return the claim at delta 1e-5 and the bound on tied votes that a teacher turns; 20,000 runs a side or 2,000."""
    tied = np.zeros((aggregator.n_queries, aggregator.n_classes), dtype=np.int64)
    tied[:, :2] = aggregator.n_teachers // 2
    turned = tied.copy()
    turned[:, :2] += (1, -1)
    result = audit(
        aggregator,
        Neighbours(tied, turned, "replace_one"),
        attack="likelihood-ratio",
        trials=2_000 if aggregator.n_queries > 2_000 else 20_000,
        delta=1e-5,
        seed=0,
    )
    return [result.claim, result.bound.epsilon]


PAGE = DOCS / "mechanisms" / "pate.md"
NUMBERS = (
    *(
        Number(f"audited-{name}", PAGE, row, partial(audited, aggregator), 0.006, 2 if name in FAST else 7)
        for name, (aggregator, row) in AUDITED.items()
    ),
    Number("pate-mnist-rounds", PAGE, MNIST_ROUNDS, mnist_in_two_rounds, 0.06, 30),
    Number("pate-glyph-like-lnmax", PAGE, GLYPH_LAPLACE, glyph_like_by_laplace_noise, 0.06, 150),
    Number("pate-glyph-like", PAGE, GLYPH_ONE, partial(glyph_like_row, 1), 0.06, 150),
    Number("pate-glyph-like-rounds", PAGE, GLYPH_TWO, partial(glyph_like_row, 2), 0.06, 150),
    *(
        Number(
            f"pate-{name}",
            PAGE,
            row,
            partial(row_of_votes, name.split("-")[0], by),
            0.06,
            60,
        )
        for name, (by, row) in VOTE_ROWS.items()
    ),
    *(
        Number(
            f"students-{name}",
            PAGE,
            row,
            partial(row_of_students, name.split("-")[0], VOTE_ROWS[name][0]),
            0.06,
            60,
        )
        for name, row in STUDENT_ROWS.items()
    ),
)
