"""What experiment trackers keep of an audit: numbers, words, and files.

`dpassay.integrations.mlflow` and `dpassay.integrations.wandb` log the same, and `model_index` states the bound in the
metadata of a model card.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..audit.evidence.verdict import Verdict
from ..audit.results.audit_result import AuditResult
from ..audit.results.withheld import without_values
from ..mechanisms.core import ParameterError, confidence_text, number

NUMBERS = ("epsilon_lower_bound", "claim", "delta", "confidence", "p_value", "ceiling", "detectable")
"""Names of the numbers, each with the prefix `dpassay.`."""


def numbers(result: AuditResult) -> dict[str, float]:
    """Return the finite numbers of an audit by their names.

    The bound on epsilon at delta with its confidence, the claim, the p-value, and what the audit could have shown: the
    largest bound, and the least true epsilon that it detects 9 times in 10. Of dependent trials only the claim, its
    delta and the confidence: no bound is valid.
    """
    values = (
        result.bound.epsilon,
        result.claim,
        result.delta,
        result.confidence,
        result.p_value,
        result.ceiling,
        result.detectable,
    )
    named = dict(zip(NUMBERS, map(float, values), strict=True))
    if result.verdict is Verdict.DEPENDENT:  # no bound is valid
        named = {name: named[name] for name in ("claim", "delta", "confidence")}
    return {f"dpassay.{name}": value for name, value in named.items() if math.isfinite(value)}


def words(result: AuditResult) -> dict[str, str]:
    """Return verdict, mechanism, claim, attack, relation and fingerprint of an audit by their names."""
    return {
        "dpassay.verdict": result.verdict.value,
        "dpassay.mechanism": result.mechanism,
        "dpassay.claimed": result.claim_name,
        "dpassay.attack": result.attack,
        "dpassay.relation": result.relation,
        "dpassay.fingerprint": result.fingerprint,
    }


@contextmanager
def files(result: AuditResult, directory: Path | str | None) -> Iterator[Path]:
    """Give a folder with the files of an audit: its run directory, or else JSON and text without values of people.

    Raises:
        ParameterError: the directory does not exist.
    """
    if directory is not None:
        if not Path(directory).is_dir():
            raise ParameterError(
                f"directory must be the folder of a run, but {directory} is none.", argument="directory"
            )
        yield Path(directory)
        return
    with tempfile.TemporaryDirectory() as folder:
        shared = without_values(result)
        Path(folder, "audit.json").write_text(shared.to_json(), encoding="utf-8")
        Path(folder, "audit.txt").write_text(shared.summary() + "\n", encoding="utf-8")
        yield Path(folder)


def model_index(
    result: AuditResult, *, name: str, task: str, dataset: str, dataset_type: str | None = None
) -> Mapping[str, Any]:
    """Return the entry `model-index` of the metadata of a model card on Hugging Face, JSON-ready.

    It states the lower bound on epsilon, whose name has the claim, the confidence and the verdict. Write it as YAML at
    the top of the card, with those of other metrics.

    Args:
        result: the audit of the training of the model.
        name: name of the model.
        task: kind of the task, such as "text-generation".
        dataset: name of the training data.
        dataset_type: their name on the hub; None for `dataset`.

    Raises:
        ParameterError: the trials were not independent, so that there is no bound.

    Example:
        >>> from dpassay import Laplace, audit
        >>> entry = model_index(audit(Laplace(epsilon=1.0), trials=500, seed=0), name="m", task="other", dataset="d")
        >>> entry["results"][0]["metrics"][0]["type"]
        'epsilon-lower-bound'
    """
    if result.verdict is Verdict.DEPENDENT:
        raise ParameterError("result must have a bound, but its trials are not independent.", argument="result")
    said = (
        f"epsilon is at least this at delta {number(result.delta)} with {confidence_text(result.confidence)} "
        f"confidence; claimed: {result.claim_name}; {result.verdict.value}"
    )
    metric = {"type": "epsilon-lower-bound", "value": float(result.bound.epsilon), "name": said}
    return {
        "name": name,
        "results": [
            {
                "task": {"type": task},
                "dataset": {"name": dataset, "type": dataset_type or dataset},
                "metrics": [metric],
            }
        ],
    }


__all__ = ["files", "model_index", "numbers", "words"]
