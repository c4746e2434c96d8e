"""A violation is taken back where its trials may share noise that was drawn once, and only there."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy import stats
from tests.audit.randomness.made import VARIED, own_runs, seen

from dpassay.audit.randomness.decision import SHARED_LEVEL, doubt, one_output
from dpassay.audit.randomness.experiment import FreshProcesses


class Value:
    """Scores an output by its number."""

    def score(self, outputs):
        return outputs.values.astype(float)


def doubted(fresh, unvarying=VARIED, *, repeats=False):
    return doubt(fresh, unvarying, repeats=repeats, scorer=Value(), events=[0.0, 0.5, 1.0])


def processes(n, side0, side1, **options):
    return own_runs([side0() for _ in range(n)], [side1() for _ in range(n)], **options)


LONG = [0.123456789]


@pytest.mark.parametrize(
    ("fresh", "what"),
    [
        (own_runs([1.0] * 4, [2.0] * 4, same=True), None),
        (own_runs([1.0] * 4, [2.0] * 4, same=True, numbers=LONG), "numbers that may be noise"),
        (own_runs([1.0] * 4, [2.0] * 4, same=True, numbers=[0.5]), "numbers that may be noise"),
        (own_runs([1.0] * 4, [2.0] * 4, same=True, numbers=[0.5], left=list("abcd")), None),  # an option
        (own_runs([1.0] * 4, [2.0] * 4, same=True, numbers=LONG, left=list("abcd")), "numbers that may be noise"),
        (own_runs([1.0] * 4, [2.0] * 4, same=True, read={"socket.connect"}), "socket.connect"),
        (own_runs([1.0] * 4, [2.0] * 4, same=True, read={"entropy"}), None),
        (own_runs([1.0], [2.0], n_asked=4), "cannot be created in a fresh process"),
        (FreshProcesses(None, n_asked=4), "cannot be created in a fresh process"),
    ],
)
def test_outputs_that_never_vary_are_doubted_where_they_may_be_stored(fresh, what):
    found = doubted(fresh, seen(1.0, 2.0))
    assert (found is None) is (what is None)
    assert found is None or (what in found.what and not found.decides)


@pytest.mark.parametrize("repeats", [False, True])
def test_a_pool_matters_only_where_outputs_repeat(repeats):
    fresh = own_runs([1.0] * 4, [2.0] * 4, same=True, numbers=list(np.random.default_rng(0).random(20)))
    assert (doubted(fresh, repeats=repeats) is not None) is repeats
    assert (doubted(FreshProcesses(None, n_asked=4), repeats=repeats) is not None) is repeats


def test_a_file_counts_only_if_it_changed_since_the_function_was_seen(tmp_path):
    file = tmp_path / "noise.txt"
    fresh = own_runs([1.0] * 4, [2.0] * 4, same=True, read={f"file {file}"})
    assert doubted(fresh) is None
    file.write_text("0.5")
    found = doubted(fresh)
    assert found is not None
    assert str(file) in found.what
    later = own_runs([1.0] * 4, [2.0] * 4, same=True, read={f"file {file}"})
    object.__setattr__(later.source, "made", time.time() + 60.0)
    assert doubted(later) is None


def test_noise_that_all_runs_of_a_process_share_is_doubted():
    rng = np.random.default_rng(6)
    fresh = processes(
        24,
        lambda: rng.laplace() + rng.laplace(scale=0.05, size=32),
        lambda: 1 + rng.laplace() + rng.laplace(scale=0.05, size=32),
    )
    found = doubted(fresh)
    assert found is not None
    assert found.decides


def test_a_lie_of_one_process_of_many_is_enough():
    rng = np.random.default_rng(7)
    liars = iter([True] + [False] * 95)
    fresh = processes(
        48, lambda: (rng.random(64) < (0.98 if next(liars) else 0.02)) * 1.0, lambda: (rng.random(64) < 0.98) * 1.0
    )
    found = doubted(fresh)
    assert found is not None
    assert found.decides


@pytest.mark.parametrize("digits", [15, 0], ids=["continuous", "tied"])
def test_independent_runs_are_doubted_at_most_at_the_level(digits, monkeypatch):
    monkeypatch.setattr("dpassay.audit.randomness.decision.SHARED_LEVEL", 0.2)
    rng, n = np.random.default_rng(5), 100
    n_doubted = sum(
        doubted(processes(8, *[lambda: rng.normal(size=32).round(digits)] * 2)) is not None for _ in range(n)
    )
    assert n_doubted <= stats.binom.isf(1e-6, n, 0.2)
    assert SHARED_LEVEL == 1e-6


def test_fresh_runs_that_differ_are_counted_against_chance():
    """All places of j different outputs among n + m are as likely: C(m, j) / C(n + m, j), and two sides."""
    fresh = own_runs([[1.0] * 5] * 2, [[2.0] * 5, [3.0] * 5])
    for n in (10, 1_000):
        chance = 2.0 * math.comb(10, 5) / math.comb(n + 10, 5)
        assert one_output(fresh, seen(1.0, 2.0), n, 1.001 * chance).p_value == pytest.approx(chance)
        assert one_output(fresh, seen(1.0, 2.0), n, 0.999 * chance) is None
    assert one_output(own_runs([1.0], [2.0]), seen(1.0, 2.0), 10, 0.5) is None
    assert one_output(FreshProcesses(None), seen(1.0, 2.0), 10, 0.5) is None


def test_rare_outputs_are_called_dependent_at_most_at_the_level():
    """Exact: all numbers of different fresh runs up to 6 a side; more are counted as alarms."""
    n, m, level, quiet = 40, 80, 0.2, np.zeros((7, 7))
    for n_others in itertools.product(range(7), repeat=2):
        out, in_ = ([9.0] * k + [value] * (m - k) for k, value in zip(n_others, (1.0, 2.0), strict=True))
        quiet[n_others] = one_output(own_runs([out], [in_]), seen(1.0, 2.0), n, level) is None
    for rate in (0.001, 0.003, 0.01, 0.03):
        probabilities = stats.binom.pmf(np.arange(7), m, rate)
        trials_never_vary = (1.0 - rate) ** (2 * n)
        assert trials_never_vary * (1.0 - probabilities @ quiet @ probabilities) <= level
