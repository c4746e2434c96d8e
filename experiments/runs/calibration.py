"""Coverage and power of all bounds, measured on distributions with a known exact epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ...audit.calibration.certificate import Certificate, CertificatePlan, CertificateSetting, certify
from ...audit.calibration.laws import (
    Law,
    all_equal,
    gaussian,
    geometric,
    k_ary_randomized_response,
    laplace,
    laplace_ratio,
    no_leak,
    randomized_response,
    subsampled_gaussian,
)
from ...audit.calibration.methods import Method, catalogue_methods, uncorrected
from ...audit.calibration.published import published_rules
from ...audit.trials.options import RunOptions
from ...mechanisms.core import ParameterError, listed, whole
from ..present.results.provenance import HOME, digest_of, versions
from ..tasks.base import HERE, CommandTask, stated

UNEQUAL = ((20, 2_000), (2_000, 20))
NO_LEAK_SIZES = ((605, 605), (2_722, 2_722))
"""Scores a side from which 1,001 and 5,001 canaries of one run are made."""
BESIDE_PUBLISHED = (
    "clopper-pearson",
    "joint-exact",
    "simultaneous-band",
    "one-run",
    "one-run-fdp",
    "one-run-independent",
)
"""Bounds that are measured next to the rules of published audits."""
CODE = ("mechanisms", "audit")
"""Folders with the code that decides the numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Calibration(CommandTask):
    """Coverage and power of bounds: `dpassay calibrate`.

    Args:
        full: all sizes and 2,000 audits a setting, which takes hours of processor time; else the quick plan.
        published: whether to measure, on scores that leak nothing, the rules of published audits next to the bounds.
        bound: names of the catalogue; empty for all bounds on pairs of scores.
        repeats: audits a setting; None for those of the plan.
        peers: whether to measure the estimators of jax-privacy on the same samples.
        seed: of all samples.

    Raises:
        UnknownNameError: no such bound.
        ParameterError: two plans, a number out of range, a bound without a law, or peers that are not installed.
    """

    command: ClassVar[str] = "calibrate"

    full: bool = False
    published: bool = False
    bound: tuple[str, ...] = ()
    repeats: int | None = None
    peers: bool = False
    seed: int = stated(0)

    def __post_init__(self) -> None:
        if self.full and self.published:
            raise ParameterError("full and published are two plans: give one of them.", argument=("full", "published"))
        assert self.plan.settings  # raises for repeats out of range
        assert self.methods  # raises for bounds without a law
        whole(0, seed=self.seed)

    @cached_property
    def plan(self) -> CertificatePlan:
        """Laws, sizes and repeats."""
        plan_of = _no_leak_plan if self.published else full_plan if self.full else quick_plan
        return plan_of() if self.repeats is None else plan_of(self.repeats)

    @cached_property
    def methods(self) -> list[Method]:
        """Bounds, and what is measured beside them."""
        if without_law := [name for name in self.bound if not catalogue_methods((name,))]:
            raise ParameterError(
                f"bound {listed(without_law)} reads no scores of pairs or bits, so there is no law for it. Leave it "
                "out.",
                argument="bound",
            )
        names = tuple(dict.fromkeys(self.bound)) or (BESIDE_PUBLISHED if self.published else ())
        methods: list[Method] = [*catalogue_methods(names), *uncorrected()]
        if self.published:
            methods += published_rules()
        if self.peers:
            from ...audit.calibration.peers import jax_privacy_methods

            methods += jax_privacy_methods()
        return methods

    def estimate(self) -> int:
        """Return the number of simulated audits."""
        return self.plan.n_audits

    def run(self, options: RunOptions = HERE) -> Certificate:
        """Simulate the audits that are not in the store, by the same code."""
        made_by = {"command": self.command_line, "code": digest_of(HOME, CODE), "versions": versions()}
        return certify(self.plan, self.methods, seed=self.seed, made_by=made_by, **vars(options))


def laws() -> list[tuple[Law, tuple[float, ...]]]:
    """Return the laws of the certificate, with the deltas at which each is tested."""
    return [
        (laplace_ratio(1.0), (0.0,)),
        (laplace(1.0), (0.0,)),
        (geometric(0.7), (0.0,)),
        (randomized_response(1.0), (0.0,)),
        (k_ary_randomized_response(2.0, 8), (0.0,)),
        (randomized_response(1.0, 0.1), (0.1,)),
        (gaussian(1.0), (1e-5, 0.01, 0.1)),
        (subsampled_gaussian(0.7, 0.3), (0.01,)),
        (all_equal(), (0.0,)),
    ]


def full_plan(repeats: int = 2_000) -> CertificatePlan:
    """Return the plan with 20 to 100,000 trials a side, `repeats` audits up to 1,000 trials, fewer beyond."""
    return CertificatePlan(
        "full",
        (
            *_settings((20, 100), repeats, few=repeats, unequal=True),
            *_settings((1_000,), repeats, few=repeats // 4),
            *_settings((10_000,), -(-repeats // 4), few=repeats // 10),
            *_settings((100_000,), -(-repeats // 25), few=repeats // 100),
        ),
        numbers=60,
    )


def quick_plan(repeats: int = 200) -> CertificatePlan:
    """Return the plan with 20, 100 and 1,000 trials a side; slow methods at 100 only: about a minute on one core."""
    return CertificatePlan(
        "quick",
        (
            *_settings((20,), repeats, few=0, unequal=True),
            *_settings((100,), repeats, few=-(-repeats // 5), slowest=0),
            *_settings((1_000,), -(-repeats // 2), few=0),
        ),
        numbers=12,
    )


def _no_leak_plan(repeats: int = 1_000) -> CertificatePlan:
    """Return the plan on scores that leak nothing, with 1,001 and 5,001 canaries of one run; slow methods run less."""
    few = -(-repeats // 10)
    setting = CertificateSetting(no_leak(), (0.0, 1e-5), NO_LEAK_SIZES, repeats, few)
    return CertificatePlan("no leak", (setting,), confidences=(0.95, 0.99), numbers=min(few, 20))


def _settings(
    sizes: tuple[int, ...], repeats: int, *, few: int, unequal: bool = False, slowest: int = 60
) -> list[CertificateSetting]:
    """Return the settings of every law at these sizes; with `unequal`, of two laws at very unequal sizes too.

    Slow methods run in `few` audits, and in at most `slowest` for laws that need a privacy-loss distribution.
    """
    settings = []
    for law, deltas in laws():
        both = tuple((n, n) for n in sizes)
        if unequal and law.name.startswith(("laplace ratio", "randomized response,")):
            both += UNEQUAL
        n_slow = min(few, slowest) if law.name.startswith("subsampled") else few
        settings.append(CertificateSetting(law, deltas, both, repeats, n_slow))
    return settings


__all__ = ["Calibration", "full_plan", "laws", "quick_plan"]
