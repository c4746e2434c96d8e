"""What a witness refutes, exactly; and a result that carries one."""

from dataclasses import replace

import pytest

from dpassay.audit import AuditResult, audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.witness.base import CERTAIN_DELTA, Witness, WitnessKind
from dpassay.experiments.present.results.sweep import SweepResult, corrected
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import ApproximateDP, ConcentratedDP, GaussianDP, PureDP
from dpassay.mechanisms.core import ResultError

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PURE, APPROXIMATE, GAUSSIAN = PureDP(50.0), ApproximateDP(50.0, 1e-6), GaussianDP(3.0)


def against(claim, **shown):
    given = {"kind": WitnessKind.IMPOSSIBLE_OUTPUT, "what": "side 1 gave 7.", "outputs": ((), ("7.0",))} | shown
    return Witness.against(claim, **given)


@pytest.mark.parametrize(
    ("claim", "refuted"), [(PURE, True), (GAUSSIAN, True), (ConcentratedDP(2.0), True), (APPROXIMATE, False)]
)
def test_an_impossible_output_refutes_claims_whose_delta_falls_to_zero(claim, refuted):
    assert against(claim).refutes is refuted


@pytest.mark.parametrize("claim", [PURE, GAUSSIAN, APPROXIMATE, ApproximateDP(50.0, 0.999)])
def test_outputs_that_never_vary_refute_nothing_by_themselves(claim):
    witness = against(claim, kind=WitnessKind.NO_RANDOMNESS, delta=CERTAIN_DELTA)
    assert not witness.refutes
    assert witness.contradicts.startswith("no claim by itself")
    assert [kind for kind in WitnessKind if not kind.is_proof] == [WitnessKind.NO_RANDOMNESS]


@pytest.mark.parametrize(("probability", "refuted"), [(1e-7, False), (1e-6, True), (0.5, True)])
def test_an_event_refutes_a_delta_that_its_probability_exceeds(probability, refuted):
    assert against(APPROXIMATE, delta=probability).refutes is refuted


@pytest.mark.parametrize(("epsilon", "refuted"), [(0.9, False), (1.0, False), (1.1, True)])
def test_recorded_noise_refutes_a_claim_below_its_epsilon(epsilon, refuted):
    witness = against(PureDP(1.0), kind=WitnessKind.RECORDED, epsilon=epsilon)
    assert witness.refutes is refuted
    assert ("below" in witness.contradicts) is refuted


@pytest.fixture(scope="module")
def plain():
    return audit(Laplace(epsilon=1.0), trials=400, confidence=0.999, seed=0)


def test_a_result_with_a_witness_is_a_violation_in_words_and_on_disk(plain):
    witness = against(PURE, again="run it", assumptions=("the law of the outputs",))
    result = replace(plain, witnesses=(witness,), verdict=Verdict.VIOLATION)
    assert (plain.refuted_by, result.refuted_by, result.witness) == (None, "witness", witness)
    assert AuditResult.from_json(result.to_json()) == result
    for text in (result.summary(), result.summary(details=False)):
        assert "VIOLATION: " in text
        assert "impossible output: side 1 gave 7." in text
        assert "the law of the outputs" in text
    with pytest.raises(ResultError, match="a witness refutes the claim"):
        AuditResult.from_json(replace(result, verdict=Verdict.CONSISTENT).to_json())


def test_a_witness_that_refutes_nothing_leaves_the_verdict(plain):
    result = replace(plain, witnesses=(against(APPROXIMATE),))
    assert result.refuted_by is None
    assert AuditResult.from_json(result.to_json()).verdict is Verdict.CONSISTENT
    assert "no claim that leaves a delta of 1e-6" in result.summary()


def test_a_witness_needs_no_independent_trials(plain):
    seen = replace(plain, dependence="runs follow each other", verdict=Verdict.DEPENDENT)
    result = replace(seen, verdict=Verdict.VIOLATION, witnesses=(against(PURE),))
    assert AuditResult.from_json(result.to_json()) == result
    assert "no valid bound" in result.summary()


def test_a_witness_is_not_corrected_for_the_other_audits_of_a_sweep(plain):
    result = replace(plain, witnesses=(against(PURE),), verdict=Verdict.VIOLATION)
    points, verdict, entry = corrected([{"a": i} for i in (1, 2)], [plain, result], confidence=0.95)
    assert [point.verdict for point in points] == [Verdict.CONSISTENT, Verdict.VIOLATION]
    sweep = SweepResult("mine", "Title", "Words", "f" * 64, 3, 0.95, points, verdict, (entry,))
    assert SweepResult.from_json(sweep.to_json()) == sweep
    text = sweep.text()
    assert text.headline == "Violation (1 of 2 claims)"
    assert "1 of 2 claims is refuted; at" in text.answer
    assert "by a witness: impossible output: side 1 gave 7." in text.answer
    assert text.parts[1].headline == "Violation: a witness contradicts the claim"
    assert dict(text.parts[1].evidence)["refutes"].startswith("every claim with delta = 0")
    assert sweep.to_frame()["witness"].tolist()[1:] == ["impossible output: side 1 gave 7."]
