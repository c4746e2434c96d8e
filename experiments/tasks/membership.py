"""Membership attacks on shadow models in a file, or on a model that is a function and records in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...audit.metrics.membership import evaluate
from ...audit.metrics.membership.given_model import Predict, names_of_models, shadows_of_model
from ...audit.metrics.membership.result import MembershipResult
from ...audit.trials.options import RunOptions
from ...mechanisms.adapters.functions.forms import EXCEPTIONAL_NAMES, OutputRow
from ...mechanisms.adapters.functions.isolated_function import IsolatedFunction, NoFunctionError
from ...mechanisms.adapters.functions.reading import read_result
from ...mechanisms.core import ParameterError, ReleaseError, describe
from ...mechanisms.core.fingerprint import fingerprint
from ..data.shadow_files import NamedShadows, load_records, load_shadows
from .base import HERE, FileTask, stated


@dataclass(frozen=True, eq=False, kw_only=True)
class MembershipStudy(FileTask):
    """Shadow models in a file, or a function and records, and the attacks on them: `dpassay membership`.

    Args:
        file, signal, fair: see `load_shadows`; with a function as target, see `load_records`.
        target: see `evaluate`; or the function of the model, "path/to/file.py:name" or "package.module:name".
        reference: functions of reference models that saw none of the records.
        outputs: what the functions return, see `audit_model`.
        random_split: see `audit_model`.
        per_model, confidence: see `evaluate`.
        attack: names of attacks; empty for all that apply.
    """

    command: ClassVar[str] = "membership"

    file: Path
    target: str | None = None
    reference: tuple[str, ...] = ()
    outputs: str = "probabilities"
    random_split: bool = False
    attack: tuple[str, ...] = ()
    signal: str | None = None
    fair: bool = False
    per_model: bool = False
    confidence: float = stated(0.95)

    def run(self, options: RunOptions = HERE) -> NamedShadows:
        """Read the shadow models; or the records, and call the functions in processes of their own."""
        if self.of_function:
            return self._called()
        if self.reference:
            raise ParameterError(
                "--reference names functions, and needs --target FILE:NAME, the function of the audited model.",
                argument="reference",
            )
        return load_shadows(self.file, fair=self.fair, signal=self.signal)

    @property
    def of_function(self) -> bool:
        """True if the target is a function: a file or module and a name."""
        return self.target is not None and ":" in self.target

    def _called(self) -> NamedShadows:
        records = load_records(self.file)
        targets = [str(self.target), *self.reference]
        with ExitStack() as stack:
            predict, *references = [_predict(stack, target) for target in targets]
            shadows = shadows_of_model(predict, records.members, records.others, references, outputs=self.outputs)
        return NamedShadows(shadows, records.ids, tuple(names_of_models(len(shadows))), records.groups)

    def answer(self, evidence: NamedShadows) -> MembershipResult:
        """Run the attacks, and compute the metrics."""
        alone = self.of_function and len(evidence.models) == 1
        result = evaluate(
            evidence.shadows,
            self.attack or None,
            target=None if alone else evidence.models[0] if self.of_function else self.target,
            models=evidence.models,
            per_model=self.per_model,
            groups=evidence.groups,
            confidence=self.confidence,
        )
        return replace(result, random_split=self.random_split)

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the arrays."""
        shadows = self.evidence.shadows
        return {"shadows": fingerprint({"arrays": describe({"membership": shadows.inclusion, **shadows.signals})})}

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the records of the file."""
        ids: Sequence[str] = self.evidence.ids
        return ids


def _predict(stack: ExitStack, target: str) -> Predict:
    """Return a function that runs in a process of its own, and answers with an array."""
    try:
        function = stack.enter_context(IsolatedFunction(target))
    except NoFunctionError:
        raise ParameterError(
            f"{target} must be a function of a batch of records. In its file: "
            "def predict(X): return model.predict_proba(X).",
            argument="target",
        ) from None

    def predict(batch: Any) -> Any:
        (returned,) = function.calls("own-randomness").singles(batch, 1, np.random.default_rng(0))
        outcome = read_result(returned)
        if not isinstance(outcome, OutputRow):
            raise ReleaseError(f"{target} must return an array with one row a record, but {outcome.label}.")
        values = outcome.numbers.astype(np.float64)
        for mark, name in EXCEPTIONAL_NAMES.items():
            values[outcome.marks == mark] = float("nan" if name == "None" else name)
        return values.reshape(outcome.shape)

    return predict
