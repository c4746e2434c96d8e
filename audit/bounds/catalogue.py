"""Names of the bounds, and the choice among them by name, by options or "auto".

A new bound is one file and one line in this table; `dpassay list bounds` prints it.
"""

from collections.abc import Sequence
from typing import Any

from ...mechanisms.core import AccountingError, Catalogue, Guarantee, ParameterError
from ..evidence.scores import BitScores, PairScores, Successes
from .base import Bound, Evidence
from .families import family_of

catalogue = Catalogue(
    "bound",
    "dpassay.audit.bounds",
    {
        "accountant-family": "pair.family:Family",
        "betting": "pair.betting:Betting",
        "clopper-pearson": "pair.clopper_pearson:ClopperPearson",
        "one-run": "bits.one_run:OneRun",
        "one-run-fdp": "bits.one_run_fdp:OneRunFDP",
        "one-run-independent": "bits.independent:OneRunIndependent",
        "joint-exact": "pair.joint:JointExact",
        "reconstruction": "reconstruction:Reconstruction",
        "simultaneous-band": "pair.simultaneous:SimultaneousBand",
    },
    group="dpassay.bounds",
)
get = catalogue.get
build = catalogue.build


ANYTIME = "anytime"
"""The only rule for early stopping: stop at the first look that refutes the claim."""
AUTO: dict[type[Evidence], tuple[str, ...]] = {
    PairScores: ("joint-exact",),
    BitScores: ("one-run-fdp", "one-run"),
    Successes: ("reconstruction",),
}
"""The bounds that "auto" stands for, by type of evidence."""
AUTO_WITHOUT: dict[type[Evidence], tuple[str, ...]] = AUTO | {BitScores: ("one-run",)}
"""The bounds that "auto" stands for if the curve of the claim belongs to no family."""
AUTO_ANYTIME = "betting"
"""The bound that "auto" stands for if runs on a pair may stop early."""
_GIVES: dict[type[Evidence], str] = {
    PairScores: "the scores of runs on a pair of datasets",
    BitScores: "the bits of one run with many canaries",
    Successes: "the successes of reconstructions",
}

BoundChoice = str | Bound[Any] | Sequence[str | Bound[Any]]


def choose_bounds(
    bound: BoundChoice, *, reads: type[Evidence] = PairScores, stop: str | None = None, claim: Guarantee | None = None
) -> tuple[Bound[Any], ...]:
    """Return the chosen bounds for evidence of the type `reads`.

    "auto" leaves out the bounds that need a family of curves, if the claim belongs to none. Where all chosen bounds
    have a `condition`, the first one of "auto" is added, which decides the verdict and takes its share of the
    significance; for bits with guesses in and out, as such a bound has them.

    Raises:
        ParameterError: the list is empty, or a bound reads the evidence of another game or cannot be used with `stop`.
    """
    if stop not in (None, ANYTIME):
        raise ParameterError(f'stop must be None or "{ANYTIME}", but is {stop!r}.', argument="stop")
    choices: list[Any] = list(bound) if isinstance(bound, (list, tuple)) else [bound]
    if not choices:
        raise ParameterError(
            "bound must name at least one bound, but is an empty list. Try bound='auto'.", argument=("bound", "bounds")
        )
    auto = (AUTO_ANYTIME,) if stop is not None else AUTO[reads] if _has_family(claim) else AUTO_WITHOUT[reads]
    names = [name for b in choices for name in (auto if isinstance(b, str) and b == "auto" else (b,))]
    bounds = tuple(catalogue.build(b) if isinstance(b, str) else b for b in names)
    for b in bounds:
        _check(b, reads, stop)
    if any(not b.condition for b in bounds):
        return bounds
    return (*bounds, catalogue.build(auto[0], **({"negatives": 0.5} if reads is BitScores else {})))


def _has_family(claim: Guarantee | None) -> bool:
    try:
        return claim is None or bool(family_of(claim).title)
    except AccountingError:
        return False


def _check(bound: Any, reads: type[Evidence], stop: str | None) -> None:
    if not isinstance(bound, Bound):
        raise ParameterError(
            f"bound must be a name or a Bound, but is {bound!r}. Known: {', '.join(catalogue)}.",
            argument=("bound", "bounds"),
        )
    if bound.reads is not reads:
        fitting = [name for name in catalogue if catalogue.get(name).reads is reads]
        raise ParameterError(
            f"bound {bound.name!r} does not read {_GIVES[reads]}. Those that do: {', '.join(fitting)}.",
            argument=("bound", "bounds"),
        )
    if stop and not bound.anytime:
        raise ParameterError(
            f"bound {bound.name!r} holds at a number of trials that was fixed beforehand, not at every look. "
            f'With stop="{stop}" use bound="{AUTO_ANYTIME}", or leave out stop.',
            argument=("bound", "bounds"),
        )
