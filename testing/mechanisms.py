"""What every mechanism keeps: options, pair, runs, densities and claim agree with each other.

A mechanism without an output law is tested by the checks that need none, and by an audit.
"""

from __future__ import annotations

import inspect
import math
import pickle
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..audit.api import audit
from ..audit.evidence.verdict import Verdict
from ..mechanisms.accounting.broken import Broken
from ..mechanisms.core.arrays import Floats
from ..mechanisms.core.base import LogDensity, Mechanism, Neighbours, Outputs
from ..mechanisms.core.errors import ParameterError, RelationError
from ..mechanisms.core.fingerprint import describe
from ..mechanisms.core.guarantee import Guarantee
from ..mechanisms.core.registry import Tier
from ..mechanisms.core.relation import Relation
from ..mechanisms.tiers import tier_of_class
from .conformance import FALSE_ALARM, Check, require, run_checks

CLAIM_TOLERANCE = 1e-9
MAX_ESTIMATED_LOSS = 8.0
"""Privacy loss from which on the runs do not estimate a mean ratio."""
DELTAS = (0.0, 1e-6, 1e-3, 0.1)
SOURCE = re.compile(r"\b(19|20)\d\d\b|theorem|proposition|lemma", re.I)
BAD_EPSILONS = (0.0, -1.0, math.nan, math.inf, "1")


USUAL = {
    **{"epsilon": 0.8, "mu": 1.0, "rho": 0.1, "delta": 1e-4, "noise_multiplier": 2.0, "rate": 0.4},
    **{"n_records": 20, "n_queries": 4, "n_candidates": 3, "k": 4},
}
"""Values of required options that many classes share, for an example."""


def sample(kind: type[Mechanism]) -> Mechanism:
    """Return a small instance of a class: its `_example`, usual values of other required options, and its defaults.

    Raises:
        ParameterError: a required option has neither, or `kind` is no mechanism or lacks methods.
    """
    if not issubclass(kind, Mechanism):
        raise ParameterError(argument="mechanism", value=kind, allowed="be an instance or a subclass of Mechanism")
    if missing_methods := sorted(kind.__abstractmethods__):
        raise ParameterError(
            f"{kind.__name__} lacks {', '.join(missing_methods)}. Write each as its docstring in "
            "dpassay.mechanisms.core.Mechanism says.",
            argument="mechanism",
        )
    declared: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name in inspect.get_annotations(base).keys() & vars(base).keys():
            declared.pop(name, None)
        declared |= vars(base).get("_example", {})
    parameters = inspect.signature(kind).parameters
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    options = USUAL | declared
    if missing := [name for name in required if name not in options]:
        raise ParameterError(
            f"no example of {kind.__name__} is known: it needs {', '.join(missing)}. Declare _example = "
            f"example({missing[0]}=...) in the class (dpassay.mechanisms.core.base.example), or give an instance.",
            argument=missing,
        )
    return kind(**{name: options[name] for name in parameters if name in required or name in declared})


@dataclass(frozen=True, eq=False)
class MechanismCase:
    """A mechanism and its runs, made once for all checks.

    Args:
        mechanism: any instance; small options keep the checks fast.
        n_runs: runs on each side of the worst case.
        slack: largest excess of the exact curve over the claim that is rounding, >= 0; larger for a claim that is
            computed on a grid.
    """

    mechanism: Mechanism
    _: KW_ONLY
    n_runs: int = 40_000
    slack: float = CLAIM_TOLERANCE

    @cached_property
    def pair(self) -> Neighbours:
        """Worst case of the mechanism."""
        return self.mechanism.worst_case()

    @cached_property
    def law(self) -> LogDensity | None:
        """Output law of the mechanism."""
        return self.mechanism.output_law()

    @cached_property
    def runs(self) -> tuple[Outputs, Outputs]:
        """Runs on side 0 and on side 1 of the worst case."""
        return self._runs(0), self._runs(1)

    def _runs(self, side: int) -> Outputs:
        return self.mechanism.release(self.pair.side(side), self.n_runs, np.random.default_rng([7, side]))

    @cached_property
    def losses(self) -> tuple[Floats, Floats]:
        """Privacy losses ln(density on the own side / density on the other) of the runs on side 0 and on side 1."""
        assert self.law is not None
        sides = []
        for side in (0, 1):
            own, other = (self.law.log_density(self.runs[side], self.pair.side(s)) for s in (side, 1 - side))
            sides.append(own - other)
        return sides[0], sides[1]

    @property
    def truth(self) -> Guarantee:
        """Exact curve on the worst case, or the claim where it is not known."""
        exact = self.mechanism.exact_guarantee()
        return self.mechanism.guarantee() if exact is None else exact

    @property
    def broken(self) -> bool:
        """Whether the mechanism is intentionally broken."""
        return isinstance(self.mechanism, Broken)


def options_are_frozen_and_can_be_pickled(case: MechanismCase) -> None:
    """Check that options cannot be changed, and that a copy from another process is equal."""
    mechanism = case.mechanism
    require(is_dataclass(mechanism), "it is no dataclass. Decorate the class with @dataclass(frozen=True).")
    for field in fields(mechanism)[:1]:  # type: ignore[arg-type]
        try:
            setattr(mechanism, field.name, 1.0)
        except AttributeError:
            continue
        require(False, f"its option {field.name} can be set after construction. Use @dataclass(frozen=True).")
    copy = pickle.loads(pickle.dumps(mechanism))
    require(copy == mechanism, "a pickled copy is not equal to it. Make its options plain, comparable values.")
    require("0x" not in repr(mechanism), "its repr shows an address in memory. Give its options a repr.")


def relation_is_that_of_pair_and_claim(case: MechanismCase) -> None:
    """Check that mechanism, worst case and claim have one relation."""
    mechanism = case.mechanism
    require(isinstance(mechanism.relation, Relation), "relation must be a Relation, such as Relation.ADD_REMOVE.")
    require(
        case.pair.relation is mechanism.relation,
        f"worst_case() has the relation {case.pair.relation}, but the mechanism {mechanism.relation}.",
    )
    require(
        mechanism.guarantee().relation in (None, mechanism.relation),
        f"guarantee() has the relation {mechanism.guarantee().relation}, but the mechanism {mechanism.relation}.",
    )


def worst_case_differs_and_is_accepted(case: MechanismCase) -> None:
    """Check that the sides of the worst case differ, that `bind` accepts it, and that it refuses other relations."""
    mechanism, pair = case.mechanism, case.pair
    require(describe(pair.d0) != describe(pair.d1), "the sides of worst_case() are equal, so that no audit can fail.")
    require(type(mechanism.bind(pair)) is type(mechanism), "bind(worst_case()) returns an object of another class.")
    for relation in sorted(set(Relation) - {mechanism.relation}):
        try:
            mechanism.bind(Neighbours(pair.d0, pair.d1, relation))
        except RelationError:
            continue
        require(False, f"bind accepts a pair of the relation {relation}. Raise RelationError; see Mechanism.bind.")


def release_gives_one_row_per_run(case: MechanismCase) -> None:
    """Check shapes for 0, 1 and 5 runs."""
    mechanism, d0 = case.mechanism, case.pair.d0
    expected = mechanism.release(d0, 0, np.random.default_rng(0)).values.shape[1:]
    for size in (0, 1, 5):
        outputs = mechanism.release(d0, size, np.random.default_rng(0))
        require(isinstance(outputs, Outputs), "release must return Outputs(values).")
        require(len(outputs) == size, f"release of {size} runs has {len(outputs)} rows. Axis 0 is the run.")
        shape, kind = outputs.values.shape[1:], outputs.values.dtype.kind
        require(kind in "iuf", f"values must be numbers, but have dtype {outputs.values.dtype}.")
        require(outputs.events is None, "a mechanism of its own class gives no exceptional outputs.")
        require(shape == expected, f"the shape of one run depends on the number of runs: {shape} and {expected}.")


def release_depends_on_the_generator_only(case: MechanismCase) -> None:
    """Check that equal seeds give equal runs, that other seeds do not, and that the dataset is unchanged."""
    varies = case.broken or float(case.mechanism.guarantee().delta(math.inf)) > 0.99  # it claims nothing
    for data in (case.pair.d0, case.pair.d1):
        before = describe(data)
        first, repeated, other = (
            case.mechanism.release(data, 400, np.random.default_rng(seed)).values for seed in (1, 1, 2)
        )
        require(
            np.array_equal(first, repeated, equal_nan=first.dtype.kind == "f"),
            "two releases with the same seed differ. Draw all randomness from rng.",
        )
        varies |= not np.array_equal(first, other)
        require(describe(data) == before, "release changes the dataset. Work on a copy.")
    require(varies, "releases with two seeds are equal: nothing is random, or rng is not used.")


def runs_are_independent(case: MechanismCase) -> None:
    """Check the lag-one correlation of the privacy losses of consecutive runs, or of their first values."""
    values = [run.values.reshape(case.n_runs, -1)[:, 0].astype(np.float64) for run in case.runs]
    losses = values if case.law is None else [np.tanh(loss) for loss in case.losses]
    series = next((candidate for candidate in (*losses, *values) if np.ptp(candidate) > CLAIM_TOLERANCE), None)
    if series is None:
        return
    correlation = np.corrcoef(series[:-1], series[1:])[0, 1]
    limit = -ndtri(FALSE_ALARM / 2) / math.sqrt(case.n_runs)
    require(
        abs(correlation) < limit,
        f"consecutive runs have the correlation {correlation:.3g}, above {limit:.3g}. Draw the noise of each run anew.",
    )


def log_density_gives_one_number_per_run(case: MechanismCase) -> None:
    """Check shape, type and values of the log density, and that the outputs are unchanged."""
    if case.law is None:
        return
    outputs = case.mechanism.release(case.pair.d0, 50, np.random.default_rng(3))
    before = outputs.values.copy()
    density = case.law.log_density(outputs, case.pair.d0)
    require(density.shape == (50,), f"log_density of 50 runs must have shape (50,), but has {density.shape}.")
    require(density.dtype == np.float64, f"log_density must be float64, but is {density.dtype}.")
    require(np.isfinite(density).all(), "log_density is not finite at an output of the same dataset.")
    require(np.array_equal(outputs.values, before, equal_nan=True), "log_density changes the outputs.")


def losses_are_possible(case: MechanismCase) -> None:
    """Check that each output is possible on its own side, and on the other side where the claim leaves no delta."""
    if case.law is None:
        return
    leaves_no_delta = float(case.mechanism.guarantee().delta(math.inf)) == 0.0 and not case.broken
    for loss in case.losses:
        require(not (loss == -np.inf).any(), "log_density is -inf at an output of its own side.")
        require(
            not (leaves_no_delta and (loss == np.inf).any()),
            "an output is impossible on the other side, which contradicts a claim with delta 0.",
        )


def density_ratio_averages_to_one(case: MechanismCase) -> None:
    """Check E[q(Y) / p(Y)] = 1 for Y from p on both sides: the density and the sampler belong together.

    Where p cannot give all that q gives, it is the share of q that p can give. Where p gives some of it too rarely to
    be seen, the two sides agree on what they share: E_p[min(1, q / p)] = E_q[min(1, p / q)].
    """
    if case.law is None:
        return
    problem = "the density ratio averages to {:.6g}, not to {:.6g}: release and log_density are of different laws."
    z = -ndtri(FALSE_ALARM / 2)
    if max(loss[np.isfinite(loss)].max(initial=0.0) for loss in case.losses) > MAX_ESTIMATED_LOSS:
        first, second = (np.minimum(1.0, np.exp(-loss)) for loss in case.losses)
        error = math.sqrt((first.var() + second.var()) / case.n_runs)
        require(abs(first.mean() - second.mean()) <= z * error + 1e-4, problem.format(first.mean(), second.mean()))
        return
    for loss, other in (case.losses, case.losses[::-1]):
        ratio, shared = np.exp(-loss), np.isfinite(other)
        error = math.sqrt((ratio.var() + shared.var()) / case.n_runs)
        require(error > 0 or not shared.any(), "the privacy loss is 0 in every run: the two sides have one law.")
        require(abs(ratio.mean() - shared.mean()) <= z * error, problem.format(ratio.mean(), shared.mean()))


def exact_curve_is_that_of_the_densities(case: MechanismCase) -> None:
    """Check delta(t) = max over sides of E[(1 - e^(t - loss))+], a bounded mean: Hoeffding's limit on both sides."""
    if case.law is None:
        return
    truth = case.mechanism.exact_guarantee()
    if truth is None:
        require(False, "log_density is known, so exact_guarantee() must give the exact curve of the worst case.")
        return
    limit = math.sqrt(math.log(2 * 10 / FALSE_ALARM) / (2 * case.n_runs))
    for t in np.linspace(0.0, min(truth.epsilon(1e-6), 30.0), 5):
        estimate = max(float(np.mean(np.maximum(0.0, -np.expm1(np.minimum(0.0, t - loss))))) for loss in case.losses)
        exact = float(truth.delta(float(t)))
        require(
            abs(exact - estimate) <= limit,
            f"exact_guarantee() has delta {exact:.4g} at epsilon {t:.4g}, but the runs have {estimate:.4g} "
            f"+- {limit:.2g}.",
        )


def epsilon_at_delta_zero_is_the_largest_loss(case: MechanismCase) -> None:
    """Check that no privacy loss exceeds the exact epsilon at delta 0."""
    if case.law is None:
        return
    worst, epsilon = max(float(loss.max()) for loss in case.losses), float(case.truth.epsilon(0.0))
    require(
        worst <= epsilon * (1 + CLAIM_TOLERANCE),
        f"a run has the privacy loss {worst:.6g}, above the exact epsilon {epsilon:.6g} at delta 0.",
    )
    if math.isfinite(epsilon) and case.slack == CLAIM_TOLERANCE:
        require(
            worst >= epsilon * (1 - 1e-3),
            f"the largest privacy loss of the worst case is {worst:.6g}, but the exact epsilon is {epsilon:.6g}: take "
            "a worse pair, or a smaller curve.",
        )


def claim_covers_the_exact_curve(case: MechanismCase) -> None:
    """Check that the claim lies nowhere below the exact curve; for a broken mechanism, that it does."""
    claim, truth = case.mechanism.guarantee(), case.truth
    deltas = np.array([*DELTAS, claim.default_delta or 0.0])
    with np.errstate(invalid="ignore"):
        excess = np.asarray(truth.epsilon(deltas)) - np.asarray(claim.epsilon(deltas))
    if case.broken:
        require(np.nanmax(excess) > 0.01, "it is marked as broken, but its claim covers its exact curve.")
    else:
        largest = float(np.nanmax(excess, initial=-np.inf))
        require(largest <= case.slack, f"the exact epsilon exceeds the claim by {largest:.4g} at one of {DELTAS}.")


def bad_epsilon_is_refused_by_name(case: MechanismCase) -> None:
    """Check that an option `epsilon` is checked on construction, and named in the error."""
    names = [field.name for field in fields(case.mechanism) if field.init]  # type: ignore[arg-type]
    if "epsilon" not in names or getattr(case.mechanism, "epsilon", None) is None:
        return
    for value in BAD_EPSILONS:
        try:
            replace(case.mechanism, epsilon=value)  # type: ignore[type-var]
        except ParameterError as error:
            require("epsilon" in str(error), f"epsilon = {value!r} is refused without naming epsilon: {error}")
            continue
        require(False, f"epsilon = {value!r} is accepted. Declare the field as epsilon: Positive.")


def docstring_states_arguments_and_has_an_example(case: MechanismCase) -> None:
    """Check that the class has an example, and that it or a base class describes each option under `Args:`."""
    described: set[str] = set()
    for base in type(case.mechanism).__mro__:
        text = inspect.cleandoc(base.__doc__ or "").partition("\nArgs:\n")[2]
        entries = re.findall(r"^    ([\w, ]+):", re.split(r"\n\n(?! )", text)[0], re.MULTILINE)
        described.update(*(entry.split(", ") for entry in entries))
    missing = ", ".join(name for name in inspect.signature(type(case.mechanism)).parameters if name not in described)
    require(not missing, f"the docstring of its class, or of a base class, must describe under `Args:`: {missing}.")
    require(
        ">>>" in (inspect.getdoc(type(case.mechanism)) or ""),
        "the docstring of its class must have an example (`>>>`).",
    )


def a_proved_mechanism_has_a_law_and_a_source(case: MechanismCase) -> None:
    """Check that a class in the tier `proved` has an output law, and cites a theorem or a paper."""
    if tier_of_class(type(case.mechanism)) is not Tier.PROVED:
        return
    require(case.law is not None, "its tier is proved, but its output law is not known. Define log_density.")
    text = inspect.getdoc(type(case.mechanism)) or ""
    require(SOURCE.search(text), "its tier is proved, but its docstring cites no theorem and no paper with its year.")


def audit_agrees_with_the_claim(case: MechanismCase) -> None:
    """Check by an audit of 20,000 runs that the claim is not refuted."""
    if case.broken:
        return
    claim = case.mechanism.guarantee()
    delta = claim.default_delta or (0.0 if math.isfinite(claim.epsilon(0.0)) else 1e-5)
    result = audit(case.mechanism, trials=20_000, delta=delta, confidence=1.0 - FALSE_ALARM, seed=0)
    require(
        result.verdict is not Verdict.VIOLATION,
        f"an audit of its worst case refutes the claim: epsilon >= {result.bound.epsilon:.4g}, claimed "
        f"{result.claim:.4g} at delta = {delta:g}.",
    )


MECHANISM_CHECKS: Sequence[Check[MechanismCase]] = (
    options_are_frozen_and_can_be_pickled,
    relation_is_that_of_pair_and_claim,
    worst_case_differs_and_is_accepted,
    release_gives_one_row_per_run,
    release_depends_on_the_generator_only,
    runs_are_independent,
    log_density_gives_one_number_per_run,
    losses_are_possible,
    density_ratio_averages_to_one,
    exact_curve_is_that_of_the_densities,
    epsilon_at_delta_zero_is_the_largest_loss,
    claim_covers_the_exact_curve,
    bad_epsilon_is_refused_by_name,
    docstring_states_arguments_and_has_an_example,
    a_proved_mechanism_has_a_law_and_a_source,
    audit_agrees_with_the_claim,
)
"""The checks of a mechanism, in order."""


def check_mechanism(
    mechanism: Mechanism | type[Mechanism], *, n_runs: int = 40_000, slack: float = CLAIM_TOLERANCE
) -> None:
    """Run all checks on a mechanism.

    Args:
        mechanism: an instance, or a class, of which `sample` makes one; small options keep the checks fast.
        n_runs: runs on each side of its worst case, at least 1,000.
        slack: largest excess of the exact curve over the claim that is rounding, >= 0; larger for a claim that is
            computed on a grid.

    Raises:
        ConformanceError: with each check that failed, the problem, and what to do.
        ParameterError: it is no mechanism, or a class of which `sample` makes none.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> check_mechanism(Laplace(epsilon=1.0))
    """
    if isinstance(mechanism, type):
        mechanism = sample(mechanism)
    run_checks(MechanismCase(mechanism, n_runs=n_runs, slack=slack), MECHANISM_CHECKS, mechanism, Mechanism)
