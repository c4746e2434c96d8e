"""How many rounds refute a false claim: enough, and not many more."""

import pytest
from scipy import stats

from dpassay.audit import Successes, audit_scores
from dpassay.audit.bounds.reconstruction import Reconstruction, allowed_success
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.power.rounds_needed import rounds_needed
from dpassay.mechanisms.accounting import GaussianDP, PureDP
from dpassay.mechanisms.core import ParameterError

CASES = {
    "pure": (PureDP(1.0), PureDP(1.5), 0.1, None),
    "candidates": (PureDP(1.0), PureDP(1.5), 0.1, 10),
    "Gaussian": (GaussianDP(1.0), GaussianDP(1.5), 0.1, None),
}


@pytest.mark.parametrize("case", CASES)
def test_needed_rounds_have_90_percent_power_and_fewer_do_not(case, without_power):
    claim, truth, prior, candidates = CASES[case]
    bound = Reconstruction(candidates=candidates)
    n = rounds_needed(claim, truth, prior, bound=bound, delta=1e-5)
    rate = allowed_success(truth, prior, candidates=candidates)

    def power(n):
        def refuted(k):
            return (
                audit_scores(Successes(k, n, prior), claim=claim, bound=bound, delta=1e-5).verdict is Verdict.VIOLATION
            )

        least = next(k for k in range(n + 1) if k > n * prior and refuted(k))
        return stats.binom.sf(least - 1, n, rate)

    assert power(n) >= 0.9
    assert power(int(0.8 * n)) < 0.9


def test_an_attack_that_is_worse_needs_more_rounds():
    needed = [rounds_needed(PureDP(1.0), PureDP(2.0), 0.1, success=success) for success in (0.5, 0.4, 0.3)]
    assert needed == sorted(needed)
    assert needed[0] < needed[2]


def test_a_claim_that_nothing_refutes_is_refused():
    with pytest.raises(ParameterError, match="no number of rounds refutes it"):
        rounds_needed(PureDP(1.0), PureDP(1.0), 0.1)
    with pytest.raises(ParameterError, match="no number of rounds refutes it"):
        rounds_needed(PureDP(1.0), PureDP(2.0), 0.1, success=0.2)
    with pytest.raises(ParameterError, match="probability"):
        rounds_needed(PureDP(1.0), PureDP(2.0), 0.1, probability=1.0)
