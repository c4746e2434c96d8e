"""The verdict from bound, claim and ceiling."""

import dataclasses

import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import MAX_UNSEEN_SHARE, Verdict, judge, mostly_unseen
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.core import Neighbours, ResultError

JUST_TOO_MANY = MAX_UNSEEN_SHARE + 1e-9


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({"bound": 0.5, "ceiling": 5.0}, Verdict.CONSISTENT),
        ({"bound": 0.5, "ceiling": 1.0}, Verdict.UNDERPOWERED),
        ({"bound": 0.5, "ceiling": 1.0, "curve_refutable": True}, Verdict.CONSISTENT),
        ({"bound": 1.5, "ceiling": 5.0}, Verdict.VIOLATION),
        ({"bound": 0.5, "ceiling": 5.0, "curve_refuted": True}, Verdict.VIOLATION),
        ({"bound": 1.5, "ceiling": 5.0, "dependent": True}, Verdict.DEPENDENT),
        ({"bound": 0.5, "ceiling": 5.0, "unseen": MAX_UNSEEN_SHARE}, Verdict.CONSISTENT),
        ({"bound": 0.5, "ceiling": 5.0, "unseen": JUST_TOO_MANY}, Verdict.UNDERPOWERED),
        ({"bound": 1.5, "ceiling": 5.0, "unseen": 1.0}, Verdict.VIOLATION),
    ],
)
def test_the_verdict_follows_from_bound_claim_and_ceiling(evidence, verdict):
    assert judge(claim=1.0, **evidence) is verdict


def text(dataset, rng):
    return f"{sum(dataset) + rng.laplace():.9f}"


@pytest.fixture(scope="module")
def unread():
    return audit(text, Neighbours([0], [0, 1], "add_remove"), claim=PureDP(1.0), trials=400, seed=0)


def test_outputs_new_to_the_attack_are_explained_in_the_summary(unread):
    assert mostly_unseen(unread.unseen)
    assert "UNDERPOWERED: the attack could not learn from the pilot" in unread.summary()


def test_a_verdict_that_contradicts_the_share_of_new_outputs_is_refused(unread):
    with pytest.raises(ResultError, match="the verdict is 'consistent'"):
        dataclasses.replace(unread, verdict=Verdict.CONSISTENT).check()
    with pytest.raises(ResultError, match="the verdict is 'underpowered'"):
        dataclasses.replace(unread, unseen=0.5).check()
    with pytest.raises(ResultError, match="unseen must lie between 0 and 1"):
        dataclasses.replace(unread, unseen=1.5).check()
