"""A private classifier: lower bounds of four attackers, epsilons of four accountants, and a bug in the clipping."""

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("dp-sgd").names


def test_the_demo_reads_well():
    check_demo("dp-sgd")


def test_a_crafted_record_shows_most_of_the_claim_and_no_bound_exceeds_it(found):
    first = {name: found.audited[name] for name in found.attackers}
    ordinary, wrong_label, crafted, gradient = (result.bound.epsilon for result in first.values())
    assert max(ordinary, wrong_label) < min(crafted, gradient)
    assert min(crafted, gradient) > 4.0  # "most of the 8"
    assert {result.verdict for result in first.values()} == {Verdict.CONSISTENT}
    assert all(result.claim == pytest.approx(8.0, abs=0.01) for result in first.values())
    assert all("GaussianDP" in result.bound.assumptions[0] for result in first.values())


def test_the_accountants_are_in_order_and_the_moments_accountant_says_1_26(found):
    assert found.accountants["moments accountant"] == pytest.approx(1.2586, abs=5e-5)  # Abadi et al. (2016): 1.26
    assert found.accountants["strong composition"] == pytest.approx(14.345, abs=5e-4)
    assert list(found.accountants.values()) == sorted(found.accountants.values(), reverse=True)


def test_published_strong_composition_is_explained_step_by_step(found):
    assert found.d == pytest.approx(5e-8)
    assert round(found.published, 2) == 1.46
    assert round(found.exact, 2) == 1.22
    assert found.by_theorem / found.by_formula == pytest.approx(1.6, abs=0.05)
    assert f"{found.by_formula:.4f} {found.by_theorem:.4f}" == "0.0146 0.0235"
    assert found.printed == pytest.approx(9.34, rel=3e-3)  # Abadi et al. (2016), section 3.2


def test_accuracy_does_not_show_that_the_mean_is_clipped_and_an_audit_does(found):
    assert 0.75 < found.private < found.plain
    assert found.mean_clipped > found.private - 0.02
    assert found.wrong.verdict is Verdict.VIOLATION
    assert found.right.verdict is Verdict.CONSISTENT


def test_only_the_crafted_gradient_notices_twice_the_steps(found):
    weak, strong = (found.retried[name] for name in found.retried)
    assert weak.claim == strong.claim == pytest.approx(8.0, abs=0.01)
    assert weak.verdict is Verdict.CONSISTENT
    assert strong.verdict is Verdict.VIOLATION
    assert strong.bound.epsilon < found.longer.guarantee().epsilon(1e-5)
