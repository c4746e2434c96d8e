"""The rebuilt methods of other auditors, their records and their tables."""

import json

import numpy as np
import pytest
from benchmarks.auditors import page
from benchmarks.auditors.methods import METHODS, CannotReadError, Claim

N = 10_000


@pytest.fixture(scope="module")
def records():
    return json.loads(page.FILE.read_text())


@pytest.mark.parametrize("path", [page.PAGE, page.README], ids=lambda path: path.name)
def test_the_tables_are_those_of_the_records(path, records):
    assert path.read_text() == page.filled(path.read_text(), records), "run: make docs"


def test_every_method_has_a_record_of_every_mechanism(records):
    assert all(one["methods"].keys() == {"dpassay", "dpassay, law unknown", *METHODS} for one in records.values())
    pairs = {name.rpartition(" / ")[0] for name in records}
    assert {f"{name} / twin" for name in pairs} <= records.keys()
    assert sum(one["wrong"] for one in records.values()) >= 50


def _laplace(rng, scale, dimensions=1):
    """Return outputs of both sides, of six digits: the low bits of floats leak, and Delta-Siege reads them."""
    return [rng.laplace(shift, scale, (N, dimensions)).round(6) for shift in (0.0, 1.0)]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_finds_next_to_no_noise_and_passes_a_claim_with_slack(name):
    """Noise of scale .1 for epsilon = .1 is found by all of them; noise of scale 2 for epsilon = 1 by none."""
    rng = np.random.default_rng(0)
    assert METHODS[name](*_laplace(rng, 0.1), Claim(0.1), 0.05, rng)
    assert not METHODS[name](*_laplace(rng, 2.0), Claim(1.0), 0.05, rng)


@pytest.mark.parametrize("name", METHODS)
def test_a_tight_claim_is_refuted_no_more_often_than_stated(name):
    """At the level .2, in 20 repetitions: a valid method exceeds 14 with a probability below 1e-6."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        out, in_ = (runs[:2_000] for runs in _laplace(rng, 1.0))
        alarms += METHODS[name](out, in_, Claim(1.0), 0.2, rng)
    assert alarms <= 14


@pytest.mark.parametrize("name", ["dp_auditorium, Renyi", "DP-Sniper", "StatDP"])
def test_methods_for_pure_claims_refuse_others(name):
    rng = np.random.default_rng(0)
    with pytest.raises(CannotReadError):
        METHODS[name](*_laplace(rng, 1.0), Claim(1.0, 1e-5), 0.05, rng)
