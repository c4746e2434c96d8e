"""Outputs that the other side never gives: seen, and only where the law of the outputs says so."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.results.witness.base import WitnessKind
from dpassay.mechanisms import Laplace, Mechanism, Neighbours, Outputs, PureDP
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.core import Relation

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

OPTIONS = {"trials": 400, "seed": 0, "bound": "clopper-pearson"}


@dataclass(frozen=True)
class UniformNoise(Mechanism):
    """Uniform noise on [-1/2, 1/2], which hides nothing beyond its range, on a scale of `width`.

    `grid` rounds it, so that outputs repeat; `shift` lets the law be wrong about what is released.
    """

    width: float = 100.0
    shift: float = 0.0
    claim: object = PureDP(40.0)
    relation = Relation.ADD_REMOVE

    def release(self, dataset, size, rng):
        return Outputs(dataset + self.width * rng.uniform(-0.5, 0.5, size=size) + self.shift)

    def guarantee(self):
        return self.claim

    def worst_case(self):
        return Neighbours(0.0, 1.0, "add_remove")

    def bind(self, neighbours):
        return self

    def output_law(self):
        return self

    def log_density(self, outputs, dataset):
        inside = np.abs(np.asarray(outputs.values) - dataset) <= 0.5 * self.width
        return np.where(inside, -np.log(self.width), -np.inf)


@pytest.mark.parametrize("attack", ["auto", "threshold"])
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"stop": "anytime", "bound": "betting"}])
def test_one_impossible_output_refutes_a_pure_claim_of_any_epsilon(attack, options):
    result = audit(UniformNoise(), attack=attack, **(OPTIONS | options))
    assert result.bound.epsilon < result.ceiling < result.claim == 40.0
    assert (result.verdict.value, result.refuted_by) == ("violation", "witness")
    (witness,) = result.witnesses
    assert witness.kind is WitnessKind.IMPOSSIBLE_OUTPUT
    assert (witness.datasets, witness.seeds) == (("0.0", "1.0"), (0,))
    for side, texts in enumerate(witness.outputs):
        values = [float(text) for text in texts]
        assert all(abs(value - side) <= 50.0 < abs(value - 1 + side) for value in values)


def test_a_claim_that_leaves_a_delta_is_for_the_bounds():
    result = audit(UniformNoise(claim=ApproximateDP(40.0, 0.05)), **OPTIONS)
    assert (result.verdict.value, result.witnesses) == ("underpowered", ())


def test_noise_on_the_whole_line_has_no_impossible_outputs():
    assert audit(Laplace(epsilon=0.1), **OPTIONS).witnesses == ()


def test_a_law_that_finds_its_own_outputs_impossible_is_no_evidence():
    result = audit(UniformNoise(shift=3.0), **OPTIONS)
    assert result.witnesses == ()
    assert "the output law of UniformNoise" in result.warnings[0]
