"""One question, planned by a configuration, by the API and by scores, has one answer."""

import pytest
from tests.experiments.made_configs import GRADIENTS, planned

from dpassay.audit import audit, audit_scores
from dpassay.audit.games import gradient_canary_game
from dpassay.audit.games.conclude import conclude
from dpassay.audit.games.pair import PairRun
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import PureDP

PAIR = """\
seed = 4
[mechanism]
name = "laplace"
epsilon = 1.0
[claim]
name = "pure"
epsilon = 0.9
[audit]
trials = 3_000
confidence = 0.9
"""
NUMBERS = (
    "game",
    "claim",
    "claim_name",
    "delta",
    "confidence",
    "bounds",
    "p_value",
    "detectable",
    "detectable_family",
    "verdict",
    "trials",
    "seed",
    "curve_violation",
    "claim_curve",
    "relation",
    "mechanism",
)


def scores_of(monkeypatch, ask):
    """The result, and the pilot and the evaluation scores that it was concluded from."""
    seen = {}
    track = PairRun._track

    def tracked(self, scorer, pilot, part):
        seen["pilot"] = pilot
        return track(self, scorer, pilot, part)

    def concluded(statement, bounds, fixed, evidence, subject):
        seen["evidence"] = evidence
        return conclude(statement, bounds, fixed, evidence, subject)

    monkeypatch.setattr(PairRun, "_track", tracked)
    monkeypatch.setattr("dpassay.audit.games.pair.conclude", concluded)
    return ask(), seen["pilot"], seen["evidence"]


@pytest.mark.parametrize("bounds", [["auto"], ["clopper-pearson", "simultaneous-band"], ["betting"]])
def test_a_pair_is_answered_alike_by_config_api_and_scores(bounds, monkeypatch, without_pictures, tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR + f"bounds = {bounds!r}\n")
    (point,) = run(tmp_path / "pair.toml", out=tmp_path / "out").result.points
    options = {"claim": PureDP(0.9), "confidence": 0.9, "bound": bounds, "seed": 4}
    called, pilot, scores = scores_of(monkeypatch, lambda: audit(Laplace(epsilon=1.0), trials=3_000, **options))
    assert point.result == called  # byte for byte, the fingerprint of the trials included
    judged = audit_scores(scores, mechanism=Laplace(epsilon=1.0), pilot=pilot, **options)
    for name in NUMBERS:
        assert getattr(judged, name) == getattr(point.result, name), name
    assert audit(Laplace(epsilon=1.0), trials=3_000, **options | {"seed": 5}).bounds != called.bounds


def test_one_run_is_answered_alike_by_config_and_by_the_scores_of_its_game():
    (task,) = planned("seed = 6\n" + GRADIENTS)
    result = task.answer(task.run())
    game = gradient_canary_game(task.mechanism, task.canaries.gradients, records=task.records, seed=6)
    judged = audit_scores(game, mechanism=task.mechanism, attack="likelihood-ratio", delta=1e-5, seed=6, tossed=True)
    assert judged == result
