"""`sweep`: audits of one's own mechanism over a grid of parameters, from Python, with the files of a run.

    grid -> make(**point) -> audit -> verdicts corrected over the grid -> numbers, card, figures, report

Null hypothesis: every claim of the grid holds. Fixed before any run: the grid, the seed of each point (derived from the
seed and the parameters of the point), attack, trials and confidence. Each audit gives a p-value that is valid for its
claim alone, so Holm's correction over all points keeps the probability that any true claim is called a violation at
1 - confidence, whatever the dependence between points. Each lower bound holds on its own, at the confidence.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...audit.api import audit
from ...audit.results.audit_result import AuditResult
from ...mechanisms.adapters.functions.target import name_of
from ...mechanisms.core import Mechanism, ParameterError, describe, open_unit, whole
from ...mechanisms.core.fingerprint import fingerprint
from ..config.config_errors import at
from ..config.sweep import CASE, combinations, folder_name, point_seed
from ..config.toml_text import to_toml
from ..present.results.parameters import parameters_text
from ..present.results.sweep import SweepResult
from .directory import RunDirectory
from .record import session
from .runner import outcome
from .writing import ConfigRun, Heading, write_results

PER_SWEEP = ("confidence", "seed", "n_jobs", "progress", "store", "n_hypotheses")
"""Arguments of `audit` that belong to the sweep; a point cannot set them."""
AUDIT_OPTIONS = tuple(name for name in inspect.signature(audit).parameters if name not in PER_SWEEP)


def sweep(
    make: Callable[..., Mechanism | Mapping[str, Any]],
    over: Mapping[str, Sequence[Any]],
    *,
    out: Path | str,
    title: str = "",
    description: str = "",
    unit: str = "",
    confidence: float = 0.95,
    seed: int = 0,
    n_jobs: int | None = 1,
    report_line: Callable[[str], None] | None = None,
    pdf: bool = False,
    **options: Any,
) -> ConfigRun:
    """Audit a mechanism at every point of a grid, and write numbers, report, LaTeX table and evidence card.

    Finished trials are kept in `out`: the same call continues an interrupted sweep, with the same bytes.

    Args:
        make: called with one value for each key of `over`, by name; returns a `Mechanism`, or a mapping of arguments of
            `dpassay.audit.audit`, such as {"mechanism": release, "neighbours": pair, "claim": PureDP(0.5)}.
        over: name -> values: numbers, text, booleans, or lists of these. The audits are their Cartesian product, the
            last name varying fastest.
        out: directory of the run: new, empty, or that of the same sweep.
        title, description: heading and paragraphs of the report.
        unit: the privacy unit in words, such as "a person"; for the evidence card.
        confidence: of each bound, and of the verdict over all audits together; strictly between 0 and 1.
        seed: of all randomness, a whole number >= 0; the seed of a point does not depend on the other points.
        n_jobs: workers, as for `audit`; the numbers do not depend on it.
        report_line: receives a line on each finished audit.
        pdf: whether to draw the figures as PDF too.
        options: further arguments of `audit`, the same at each point, such as trials, attack or neighbours.

    Returns:
        The result, with `to_frame()` and `to_latex()`, and its directory, with results.json, results.csv, results.tex,
        report.html, report.md, card.json, card.md, card.html, registry.yaml and figures/.

    Raises:
        ParameterError: an empty grid, a value twice or of another type, or an argument that `audit` does not have.
        FingerprintError, StoreError: the directory has another sweep, or trials of other code.
        DpassayError: as for `audit`, with a note on the point.

    Guarantees:
        * If all claims hold and the runs are independent, any audit is called a violation with probability at most
          1 - confidence.
        * The same call gives the same results.json, also if it was interrupted.

    Example:
        >>> import tempfile
        >>> from dpassay.mechanisms import Laplace
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = sweep(lambda epsilon: Laplace(epsilon=epsilon), {"epsilon": [0.5, 1.0]}, out=folder, trials=500)
        ...     done.to_frame()[["mechanism.epsilon", "claim", "verdict"]].to_numpy().tolist()
        [[0.5, 0.5, 'consistent'], [1.0, 1.0, 'consistent']]
    """
    open_unit(confidence=confidence)
    whole(0, seed=seed)
    points = _points(over)
    _check_arguments(options, "sweep")
    name, inputs = name_of(make), _source_of(make)
    asked = {"over": over, "seed": seed, "confidence": confidence, "options": options}
    directory = RunDirectory(Path(out))
    command = f"dpassay.experiments.sweep({name}, ...) in {next(iter(inputs), 'an interactive session')}"
    request = {"command": command, "unit": unit, "sweep": fingerprint(describe(asked))}
    directory.claim_judged(to_toml({key: value for key, value in request.items() if value}))
    with session(directory, seed, n_jobs, inputs):
        results: list[AuditResult] = []
        for point in points:
            with at(point):
                fixed: dict[str, Any] = {"confidence": confidence, "n_hypotheses": len(points), "n_jobs": n_jobs}
                fixed |= {"seed": point_seed(seed, point), "store": directory.trials(folder_name(point))}
                results.append(audit(**options | _made(make, point), **fixed))
            if report_line is not None:
                report_line(f"[{len(results)}/{len(points)}] {parameters_text(point)}: {outcome(results[-1])}")
        result = SweepResult.of(
            points,
            results,
            confidence,
            name=name,
            title=title or f"Sweep of {name}",
            description=description,
            fingerprint=fingerprint([result.fingerprint for result in results]),
            seed=seed,
        )
        return write_results(result, Heading(result.title, command, unit), directory, inputs=inputs, pdf=pdf)


def _points(over: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the points of the grid, with keys such as "mechanism.epsilon"."""
    if not isinstance(over, Mapping) or not over:
        raise ParameterError(
            "over must map names to lists of values, such as {'epsilon': [0.5, 1.0]}.", argument="over"
        )
    return combinations({f"mechanism.{name}": _values(name, values) for name, values in over.items()})


def _values(name: Any, values: Any) -> list[Any]:
    """Return the values of a parameter as plain values."""
    if not isinstance(name, str) or not name.isidentifier() or name == CASE:
        raise ParameterError(f"over has the key {name!r}, which cannot be a parameter of make.", argument="over")
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ParameterError(f"over[{name!r}] must be a list of values, but is {values!r}.", argument="over")
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    try:
        texts = [json.dumps(value, allow_nan=False) for value in plain]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"over[{name!r}] must contain finite numbers, text, booleans, or lists of these ({error}). Build other "
            "objects in make, from a name.",
            argument="over",
        ) from error
    if not texts or len(set(texts)) < len(texts):
        raise ParameterError(f"over[{name!r}] must have at least one value, and none twice.", argument="over")
    return plain


def _made(make: Callable[..., Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `audit` at a point."""
    made = make(**{key.removeprefix("mechanism."): value for key, value in point.items()})
    if isinstance(made, Mapping):
        _check_arguments(made, "make")
        return dict(made)
    if not isinstance(made, Mechanism):
        raise ParameterError(
            f"make must return a Mechanism, or a mapping of arguments of audit, but returned {type(made).__name__}. "
            "For a function: {'mechanism': release, 'neighbours': pair, 'claim': PureDP(epsilon)}.",
            argument="make",
        )
    return {"mechanism": made}


def _check_arguments(given: Mapping[str, Any], source: str) -> None:
    """Raise `ParameterError` for an argument that `audit` does not have, or that belongs to the sweep."""
    for name in given:
        if name not in AUDIT_OPTIONS:
            reason = "is set once for the whole sweep" if name in PER_SWEEP else "is no argument of audit"
            raise ParameterError(
                f"{name}, given by {source}, {reason}. Allowed: {', '.join(AUDIT_OPTIONS)}.", argument=str(name)
            )


def _source_of(make: Callable[..., Any]) -> dict[str, str]:
    """Return file name -> SHA-256 of the file that defines `make`; empty where there is none."""
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(make)) or "")
        return {file.name: sha256(file.read_bytes()).hexdigest()} if file.is_file() else {}
    except (TypeError, OSError):
        return {}


__all__ = ["sweep"]
