"""The membership game with fair coins as bits, which is required for a bound on epsilon.

    membership_game        any learner, canaries that are examples, any membership attack on the final model
    gradient_canary_game   noisy gradient steps, canaries that are gradients, every step is visible to the attack
    one_run                one of the shadow models as the run, the others as references

Each canary is in a run by the toss of its own coin. Scores may depend on the run, on public data, and on other runs
with independent coins, but never on a coin of this run. The bounds `one-run` and `one-run-fdp` read the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...attacks.membership.base import MembershipAttack
from ...attacks.membership.catalogue import catalogue
from ...attacks.membership.gradients import canary_log_ratio
from ...attacks.membership.queries import shadows_of
from ...attacks.membership.shadows import Shadows
from ...mechanisms.core import AttackError, ParameterError, Relation, RelationError, describe, plural, whole
from ...mechanisms.core.arrays import Bools, Floats
from ...mechanisms.learning.base import Learner, TrainingData, check_learner, examples_for
from ...mechanisms.learning.dp_sgd.capabilities import SupportsNoisyGradients, noise_strategy_of, require_capability
from ..evidence.scores import BitScores
from ..trials.array_files import Arrays
from ..trials.execution import in_this_process
from ..trials.options import RunOptions, Store
from ..trials.plan import Chunk
from ..trials.progress import Reporter
from ..trials.seeds import Stage, stream
from .training import QueryWork, plan_training, run_training


def membership_game(
    learner: Learner,
    canaries: Any,
    *,
    records: Any = None,
    n_runs: int = 1,
    attack: str | MembershipAttack = "loss",
    n_references: int = 0,
    seed: int,
    n_jobs: int | None = 1,
    store: Store = None,
    progress: bool | Reporter = False,
) -> BitScores:
    """Toss a coin for each canary, train on those that are in, and score all canaries on the trained model.

    Args:
        learner: the audited learner; if it has a relation, that must be add_remove: a canary is present or absent.
        canaries: `(X, y)`, or a table for `ShadowTables`; chosen before any coin is tossed.
        records: records in the same form that are in every run; None for none.
        n_runs: number of runs, each with fresh coins. One run with many canaries is enough.
        attack: name of a membership attack, or a `MembershipAttack`; higher = in.
        n_references: number of further runs, with independent coins, that the attack may learn from; trained once.
        seed: seed of coins and training, in separate streams.
        n_jobs, store, progress: see `dpassay.audit.games.train_shadows`; runs and references are both stored.

    Raises:
        RelationError: the guarantee of the learner holds for another relation.
        ParameterError: the canaries are gradients; use `gradient_canary_game`.
        AttackError: fewer references than the attack needs.
        FingerprintError, StoreError: the store holds something else, or cannot be written.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from dpassay.mechanisms.adapters.estimator import EstimatorLearner
        >>> rng = np.random.default_rng(0)
        >>> canaries = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        >>> game = membership_game(EstimatorLearner(KNeighborsClassifier(1)), canaries, attack="loss", seed=0)
        >>> bool(game.scores[game.bits].min() >= game.scores[~game.bits].max())
        True
    """
    options = RunOptions(n_jobs, store, progress)
    whole(1, n_runs=n_runs)
    whole(0, n_references=n_references, seed=seed)
    check_learner(learner)
    check_relation(learner)
    chosen = catalogue.build(attack) if isinstance(attack, str) else attack
    crafted = _examples("canaries", canaries, learner)
    always = None if records is None else _examples("records", records, learner)
    if crafted.n_gradients or (always is not None and always.n_gradients):
        raise ParameterError(
            "canaries and records must be examples. For gradient canaries use gradient_canary_game.",
            argument=("canaries", "records"),
        )
    data = crafted if always is None else _joined(crafted, always)
    inclusion = np.ones((n_runs + n_references, len(data)), dtype=np.bool_)
    bits = inclusion[:, : len(crafted)]
    bits[:] = _coins(seed, bits.shape)
    work = QueryWork(learner, data, inclusion, {"canaries": crafted}, seed)
    chunks = plan_training(len(inclusion), work.bytes_per_model)
    answers = work.split(run_training(chunks, work, {"game": "membership"} | work.describe(), learner, options))
    shadows = replace(shadows_of(answers["canaries"], crafted, bits), fair=True)
    references = n_runs + np.arange(n_references)
    with in_this_process():
        games = [one_run(shadows.take(np.append(run, references)), chosen) for run in range(n_runs)]
    return BitScores(
        bits=np.concatenate([game.bits for game in games]), scores=np.concatenate([game.scores for game in games])
    )


def one_run(shadows: Shadows, attack: str | MembershipAttack, *, model: int = 0) -> BitScores:
    """Return the bits of one shadow model, and the scores of an attack with the other models as references.

    Only one model is scored: a second one would serve as a target and as a reference, which leaks bits of the first.

    Args:
        shadows: models from `train_shadows`, where each bit is a fair coin.
        attack: a name, or an attack.
        model: index of the model that is the run; chosen beforehand.

    Raises:
        AttackError: the inclusion was not drawn by fair coins, as in a natural split into training and test set; or
            any error of `attack.score`.
        ParameterError: there is no such model.

    Guarantees:
        * Given the run, the scores are independent of its bits, for every attack: the attack sees neither these bits
          nor the complement of the run, which has the opposite bits and would be a second run with the same coins.
        * Records that the attack cannot score get the median of the others: they are guessed last.
    """
    if not shadows.fair:
        raise AttackError(
            "no bound on epsilon follows from this split: the bits of its records were not tossed as independent fair "
            "coins, and differential privacy makes no statement about two natural samples. Report metrics "
            "(dpassay.audit.metrics.membership.evaluate), or toss coins: train_shadows, or membership_game. If the "
            "bits of your own models are such coins, pass Shadows(..., fair=True)."
        )
    whole(0, model=model)
    if model >= len(shadows):
        raise ParameterError(
            f"model must be below {len(shadows)}, the number of models, but is {model}.", argument="model"
        )
    chosen = catalogue.build(attack) if isinstance(attack, str) else attack
    scores = chosen.score(_without_bits(shadows, model))[0]
    missing = np.isnan(scores)
    if missing.all():
        raise AttackError(f"attack {chosen.name!r} could score no record of model {model}. Train more references.")
    scores = np.where(missing, np.median(scores[~missing]), scores)
    return BitScores(bits=shadows.inclusion[model][None], scores=scores[None])


def gradient_canary_game(
    mechanism: Any,
    canaries: NDArray[Any],
    *,
    records: Any = None,
    n_runs: int = 1,
    seed: int,
    n_jobs: int | None = 1,
    store: Store = None,
    progress: bool | Reporter = False,
) -> BitScores:
    """Include gradient canaries by coin tosses, and score them by the likelihood ratio of every noisy step.

    Args:
        mechanism: a trainer with `SupportsNoisyGradients`, such as `DPSGD`; the attack sees the noisy gradients along
            the canaries, and does not use the count of adaptive clipping.
        canaries: `(n_canaries, n_parameters)` gradients of norm clip_norm or more, ideally orthogonal to each other
            and to the gradients of the records: random canaries need about twelve parameters each, or more.
        records: `(X, y)` that are in every run; None for none.
        n_runs: number of runs, each with fresh coins.
        seed: seed of coins and training, in separate streams.
        n_jobs, store, progress: see `dpassay.audit.games.train_shadows`.

    Raises:
        RelationError: the guarantee holds for another relation than add_remove.
        ParameterError: the trainer does not show noisy gradients or adds no noise, the canaries are not gradients of
            the model, or their norms are below clip_norm, for which the score is not valid.
        FingerprintError, StoreError: the store holds something else, or cannot be written.
    """
    options = RunOptions(n_jobs, store, progress)
    whole(1, n_runs=n_runs)
    whole(0, seed=seed)
    trainer: SupportsNoisyGradients = require_capability(mechanism, SupportsNoisyGradients, "the gradient-canary game")
    check_relation(trainer)
    gradients = _gradients(canaries, trainer)
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    always = trainer.no_examples() if records is None else _examples("records", records, trainer)
    data = TrainingData(always.X, always.y, gradients)
    bits = _coins(seed, (n_runs, len(gradients)))
    inclusion = np.concatenate([np.ones((n_runs, always.n_examples), dtype=np.bool_), bits], axis=1)
    work = GradientCanaryWork(trainer.showing(gradients / norms), data, inclusion, seed)
    chunks = plan_training(n_runs, 8 * trainer.steps * len(gradients))
    arrays = run_training(chunks, work, {"game": "gradient canaries"} | work.describe(), trainer, options)
    return BitScores(bits=bits, scores=arrays["scores"])


@dataclass(frozen=True, eq=False)
class GradientCanaryWork:
    """The work that makes the runs of a chunk and scores their canaries.

    Args:
        mechanism: a mechanism with the view "noisy_gradients".
        data: the records of every run, and the canaries.
        inclusion: `(n_runs, len(data))` mask of the records that each run is trained on.
        seed: root of the streams, one per chunk.
    """

    mechanism: SupportsNoisyGradients
    data: TrainingData
    inclusion: Bools
    seed: int

    def __call__(self, chunk: Chunk) -> Arrays:
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        inside = self.inclusion[chunk.start : chunk.start + chunk.size]
        values = self.mechanism.release_subsets(self.data, inside, rng).values
        assert self.data.gradients is not None
        scores = canary_log_ratio(
            values[:, :, : len(self.data.gradients)],  # without the count of adaptive clipping, which is of all records
            noise_multiplier=self.mechanism.noise_multiplier,
            sampling_probability=self.mechanism.scheme.inclusion_probability,
            strategy=noise_strategy_of(self.mechanism),
        )
        return {"scores": scores}

    def describe(self) -> dict[str, Any]:
        """Return everything that determines the scores, except how the coins were tossed."""
        return {
            "mechanism": describe(self.mechanism),
            "data": describe(self.data),
            "n_runs": len(self.inclusion),
            "seed": self.seed,
        }


def _coins(seed: int, shape: tuple[int, ...]) -> Bools:
    """Return fair coins, tossed before any training, from a separate stream."""
    return stream(seed, Stage.COINS).random(shape) < 0.5


def _gradients(canaries: Any, trainer: SupportsNoisyGradients) -> Floats:
    """Return `canaries` as `(n_canaries, n_parameters)`; raise `ParameterError` unless they have full norm."""
    n_parameters = trainer.n_parameters
    try:
        gradients = np.atleast_2d(np.asarray(canaries, dtype=np.float64))
        problem = f"have shape {gradients.shape}"
    except (TypeError, ValueError):
        gradients, problem = np.empty(0), f"are of type {type(canaries).__name__}"
    if gradients.ndim != 2 or not len(gradients) or gradients.shape[1] != n_parameters:
        raise ParameterError(
            f"canaries must be gradients, one flat row each, shape (n_canaries, {n_parameters}) for the {n_parameters} "
            f"parameters of the model, but {problem}. For canaries that are examples use membership_game.",
            argument="canaries",
        )
    norms = np.linalg.norm(gradients, axis=1)
    if not np.isfinite(norms).all() or (norms < trainer.clip_norm * (1.0 - 1e-9)).any():
        raise ParameterError(
            f"canaries must have norm clip_norm = {trainer.clip_norm:g} or more, all finite, but have norms from "
            f"{float(norms.min()):.4g} to {float(norms.max()):.4g}. Scale them: clip_norm * g / norm(g).",
            argument="canaries",
        )
    return gradients


def _examples(name: str, records: Any, learner: Any) -> TrainingData:
    """Return the records as examples; an error names the argument."""
    try:
        return examples_for(learner, records)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}", argument=name) from error


def _without_bits(shadows: Shadows, model: int) -> Shadows:
    """Return the run, with its bits cleared, followed by all other models except its complement."""
    others = np.setdiff1d(np.arange(len(shadows)), [model, shadows.partners[model]])
    visible = shadows.take([model, *others])
    inclusion = visible.inclusion.copy()
    inclusion[0] = False
    queries = tuple(replace(query, inclusion=inclusion) for query in visible.queries)
    return replace(visible, inclusion=inclusion, queries=queries)


def _joined(first: TrainingData, second: TrainingData) -> TrainingData:
    if first.X.shape[1] != second.X.shape[1]:
        raise ParameterError(
            f"canaries have {plural(first.X.shape[1], 'feature')}, but records have {second.X.shape[1]}. Both must "
            "have the same number.",
            argument=("canaries", "records"),
        )
    return TrainingData(np.concatenate([first.X, second.X]), np.concatenate([first.y, second.y]))


def check_relation(learner: Any) -> None:
    """Raise `RelationError` unless the guarantee holds for canaries that are present or absent (add_remove)."""
    relation = getattr(learner, "relation", Relation.ADD_REMOVE)
    if relation is not Relation.ADD_REMOVE:
        raise RelationError(
            f"in this game a canary is in the run or not there at all, which is 'add_remove', but the guarantee of "
            f"{type(learner).__name__} holds for {str(relation)!r}. Set "
            "relation='add_remove', with a sampling that has a bound under it, such as Poisson.",
            argument="relation",
        )
