"""Means of a study, and one person's row: scores, p-values, and what mu = 1 is as an epsilon."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("in-this-study").names


def test_the_demo_reads_well():
    check_demo("in-this-study")


def test_exact_and_rounded_means_name_the_patients_and_no_non_member(found):
    for release in ("exact", "rounded"):
        assert found.named[release][:100].sum() >= 60
        assert found.named[release][100:].sum() == 0
    assert found.named["private"].sum() == 0


def test_scores_follow_the_formula_and_private_ones_stay_below_half_of_mu(found):
    # A difference of two means of 200 scores has deviation 0.1, and 4 % of z comes from whose row it is.
    for key, measured in found.z_measured.items():
        assert measured == pytest.approx(found.z_theory[key], rel=0.2, abs=0.5)
    for d in found.sizes:
        assert found.z_theory["private", d] < 0.5
        assert found.z_theory["exact", d] == pytest.approx(math.sqrt(d / 100))


def test_mu_of_one_is_the_epsilon_of_the_text(found):
    assert found.claim.mu == pytest.approx(1.0)
    assert f"{found.claim.epsilon(1e-5):.2f}" == "4.38"
    means = [found.ColumnMeans(100, 5_000, **found.releases[name]) for name in ("exact", "rounded")]
    assert all(each.guarantee().epsilon(0.5) == math.inf for each in means)


def test_only_the_private_means_keep_the_claim(found):
    assert [r.verdict for r in found.audits.values()] == [Verdict.VIOLATION, Verdict.VIOLATION, Verdict.CONSISTENT]
    assert 0.002 < found.power(found.z_theory["private", 5_000], 0.001) < 0.01  # "a few patients in a thousand"


def test_linked_columns_accuse_non_members_by_the_formula_only(found):
    assert found.false_positives["formula"] > 0.1
    assert found.false_positives["reference sample"] < 0.03


def test_reused_noise_has_twice_the_mu_and_is_not_detected(found):
    assert found.wide.guarantee().mu == pytest.approx(2.0)
    assert found.reused.verdict is Verdict.CONSISTENT
