"""Teachers who vote, and their students: docs/pate.md."""

from __future__ import annotations

from functools import partial

import numpy as np
from stated import DOCS, Number

from dpassay.mechanisms.ensembles import ConfidentGNMax, LNMax
from dpassay.mechanisms.ensembles.aggregators import Aggregator

VOTE_ROWS: dict[str, tuple[Aggregator, str]] = {
    "mnist-lnmax": (LNMax(0.05, n_queries=1000), "| {1,000} | {20.17} | {5.83} | {88.4} % | {88.1} % | {97.3} % |"),
    "mnist-confident": (
        ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640),
        "Confident (200, 150, 40), 640 queries | {341} | {3.46} | {1.55} | {93.3} % | {82.1} % | {97.3} % |",
    ),
    "adult-lnmax": (
        LNMax(0.05, n_classes=2, n_queries=500),
        "LNMax, rate 0.05 | {500} | {13.23} | {3.71} | {83.8} % | {83.9} % | {87.1} % |",
    ),
    "adult-confident": (
        ConfidentGNMax(300.0, 200.0, 40.0, n_classes=2, n_queries=1500),
        "Confident (300, 200, 40), 1,500 queries | {504} | {4.25} | {1.95} | {89.1} % | {84.3} % | {87.1} % |",
    ),
}
STUDENT_ROWS = {
    "mnist-confident": "640 queries | {91.5} ± {1.1} % | {81.9} ± {1.8} % | {96.3} ± {0.1} % |",
    "adult-lnmax": "rate 0.05, 500 queries | {83.7} ± {0.6} % | {83.4} ± {0.1} % | {82.4} ± {0.2} % |",
    "adult-confident": "1,500 queries | {85.9} ± {2.0} % | {83.1} ± {0.9} % | {81.5} ± {0.5} % |",
}


def row_of_votes(name: str, aggregator: Aggregator) -> list[float]:
    """A row of the table of teachers: answered, two epsilons, and shares that are right in per cent."""
    from dpassay.experiments.demos.votes_of_teachers import row, votes_on

    found = row(votes_on(name, n_teachers=250, n_queries=aggregator.n_queries), aggregator)
    shares = (found.right, found.student, found.baseline)
    return [found.answered, found.for_all_votes, found.on_these_votes, *(100.0 * share for share in shares)]


def row_of_students(name: str, aggregator: Aggregator) -> list[float]:
    """A row of the table of students: means and standard deviations of five runs, in per cent."""
    from dpassay.experiments.demos import students_of_votes, votes_of_teachers

    votes = votes_of_teachers.votes_on(name, n_teachers=250, n_queries=aggregator.n_queries)
    found = 100.0 * students_of_votes.accuracies(votes, aggregator)
    return np.stack([found.mean(axis=1), found.std(axis=1, ddof=1)], axis=1).ravel().tolist()


NUMBERS = (
    *(
        Number(f"pate-{name}", DOCS / "pate.md", row, partial(row_of_votes, name.split("-")[0], by), 0.06, 60)
        for name, (by, row) in VOTE_ROWS.items()
    ),
    *(
        Number(
            f"students-{name}",
            DOCS / "pate.md",
            row,
            partial(row_of_students, name.split("-")[0], VOTE_ROWS[name][0]),
            0.06,
            60,
        )
        for name, row in STUDENT_ROWS.items()
    ),
)
