"""Shadow models, and the models of the game, trained by the trials engine.

    coins for all models -> chunks of models -> each chunk trained on its own stream and queried -> all answers joined

The coins are tossed before any training, on a separate stream. The number of models in a chunk depends on their number
and size only, so that serial, parallel and resumed training give the same bytes. A pair of complements is always in one
chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from ...attacks.membership.queries import query_signals, shadows_of, shows_trajectory, train
from ...attacks.membership.shadows import Shadows, draw_inclusion
from ...mechanisms.core import Bools, Ints, ParameterError, Workers, describe, display_name, none_missing, plural, whole
from ...mechanisms.learning.base import Learner, TrainingData, check_learner, examples_for
from ..trials.array_files import Arrays, Expected, check_arrays
from ..trials.execution import execute
from ..trials.options import RunOptions, Store, versions
from ..trials.plan import CHUNKS_PER_SIDE, MAX_CHUNK_BYTES, Chunk
from ..trials.progress import Reporter
from ..trials.repeated_outputs import NO_SIGNATURE, SIGNATURE_TYPE, ReplayGuard
from ..trials.seeds import Stage, stream

Mask = Bools


def train_shadows(
    learner: Learner,
    records: Any,
    n_models: int,
    *,
    seed: int,
    design: str = "pairs",
    population: Any = None,
    persons: Any = None,
    n_jobs: int | None = 1,
    store: Store = None,
    progress: bool | Reporter = False,
) -> Shadows:
    """Train models on random halves of the records, and query each model on every record.

    Args:
        learner: a learner that trains on subsets, such as `DPSGD`, `EstimatorLearner(MLPClassifier())` or
            `ShadowTables(mechanism)`, whose models are synthetic tables.
        records: the `(X, y)` that are scored, or `TrainingData`; labels 0 .. n_classes - 1. For `ShadowTables` a table.
        n_models: number of models; even for "pairs".
        seed: seed of the coins and of the training, in separate streams.
        design: "pairs" or "bernoulli"; see `dpassay.attacks.membership.shadows`.
        population: `(X, y)` from the same source that are in no model and are not scored: Attack-P, RMIA, exposure
            and quantile regression use them as a reference.
        persons: `(n_records,)` names of the person of each record: one coin decides for all records of a person, and
            the bits of single records are not independent (`fair` is False); None for a coin for each record.
        n_jobs: workers, as in `dpassay.audit.audit`: threads for `DPSGD`, processes for other learners.
        store: directory for the answers of trained models, so that interrupted training continues; None for no store.
        progress: True shows a progress bar if stderr is a terminal; or a `Reporter`, which counts models.

    Returns:
        Signals of every model on every record, with the log probabilities if they are not too large. Models with
        gradients have the signal "gradient-norm"; models of a learner with the view "trajectory" have
        "gradient-inner-product".

    Raises:
        ParameterError: not a learner, such as a bare scikit-learn classifier; an odd number of models in pairs;
            gradient records, which have no label to predict; a population equal to the records; labels that are not
            whole numbers, or that belong to no class of the models.
        FingerprintError, StoreError: the store holds something else, or cannot be written.

    Guarantees:
        * Serial, parallel and resumed training with the same seed give the same shadows, byte for byte.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from dpassay.mechanisms.adapters.estimator import EstimatorLearner
        >>> rng = np.random.default_rng(0)
        >>> records = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        >>> shadows = train_shadows(EstimatorLearner(KNeighborsClassifier(1)), records, 4, seed=0)
        >>> len(shadows), bool(shadows.signal("correct")[shadows.inclusion].all())
        (4, True)
    """
    options = RunOptions(n_jobs, store, progress)
    whole(0, seed=seed)
    check_learner(learner)
    queried = {"records": _examples("records", records, learner)}
    if population is not None:
        queried["population"] = _examples("population", population, learner)
        if np.array_equal(queried["population"].X, queried["records"].X):
            raise ParameterError(
                "population must be records that no model is trained on, but holds the scored ones: half of them are "
                "members of each model. Take other records of the same source, or leave out population.",
                argument="population",
            )
    data = queried["records"]
    index = np.arange(len(data)) if persons is None else person_of(persons, len(data))[0]
    inclusion = draw_inclusion(n_models, int(index.max()) + 1, stream(seed, Stage.COINS), design=design)[:, index]
    work = QueryWork(learner, data, inclusion, queried, seed)
    chunks = plan_training(n_models, work.bytes_per_model, together=2 if design == "pairs" else 1)
    about = {"game": "shadow models", "design": design} | work.describe()
    if persons is not None:
        about["persons"] = describe(index)
    answers = work.split(run_training(chunks, work, about, learner, options))
    outside = np.zeros((n_models, len(queried.get("population", ()))), dtype=np.bool_)
    return replace(
        shadows_of(answers["records"], data, inclusion),
        population=None if population is None else shadows_of(answers["population"], queried["population"], outside),
        partner=np.arange(n_models) ^ 1 if design == "pairs" else None,
        fair=persons is None,
    )


def person_of(persons: Any, n_records: int) -> tuple[Ints, list[str]]:
    """Return the number of the person of each record, and the names of the persons in that order."""
    names = np.asarray(persons)
    if names.shape != (n_records,):
        raise ParameterError(
            f"persons must name the person of each record, ({n_records},), but has shape {names.shape}.",
            argument="persons",
        )
    none_missing(persons=names)
    unique, index = np.unique(names.astype(str), return_inverse=True)
    return index.astype(np.int64), unique.tolist()


@dataclass(frozen=True, eq=False)
class QueryWork:
    """The work that trains the models of a chunk and queries them on records.

    Args:
        learner: the learner.
        data: all records that it may train on.
        inclusion: `(n_models, len(data))` mask of the records that each model is trained on.
        asked: name -> records of the queries; the first ones also get the signals of training.
        seed: root of the streams, one per chunk.
    """

    learner: Learner
    data: TrainingData
    inclusion: Mask
    asked: Mapping[str, TrainingData]
    seed: int

    def __call__(self, chunk: Chunk) -> Arrays:
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        first = next(iter(self.asked))
        inside = self.inclusion[chunk.start : chunk.start + chunk.size]
        models, steps = train(self.learner, self.data, inside, rng, self.asked[first])
        answers = {name: query_signals(models, data, n_models=len(self.inclusion)) for name, data in self.asked.items()}
        answers[first] |= steps
        return {f"{name}.{signal}": values for name, signals in answers.items() for signal, values in signals.items()}

    @property
    def bytes_per_model(self) -> int:
        """Approximate memory of one model's answers, or of its trajectory."""
        answers = sum(len(data) * (int(data.y.max(initial=0)) + 1) for data in self.asked.values())
        if not shows_trajectory(self.learner):
            return 8 * max(answers, 1)
        trainer: Any = self.learner
        return int(8 * max(answers, (len(trainer.rates()) + 1) * trainer.n_parameters))

    def split(self, arrays: Arrays) -> dict[str, Arrays]:
        """Return the answers on the records of each name."""
        return {
            name: {key.partition(".")[2]: values for key, values in arrays.items() if key.startswith(f"{name}.")}
            for name in self.asked
        }

    def describe(self) -> dict[str, Any]:
        """Return everything that determines the answers, except how the coins were tossed."""
        return {
            "learner": describe(self.learner),
            "data": describe(self.data),
            "asked": describe(self.asked),
            "n_models": len(self.inclusion),
            "seed": self.seed,
        }


class JoinedChunks:
    """The arrays of all chunks, joined along their first axis in the order of the chunks."""

    def __init__(self) -> None:
        self._parts: dict[int, Arrays] = {}

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk; raise `ValueError` unless it has a row for each model, as the first one has."""
        first = next(iter(self._parts.values()), arrays)
        expected = {name: Expected(array.dtype.kind, (chunk.size, *array.shape[1:])) for name, array in first.items()}
        check_arrays(arrays, expected | {"signature": SIGNATURE_TYPE})
        self._parts[chunk.index] = arrays

    def arrays(self) -> Arrays:
        """Return the values of all models by name."""
        parts = [self._parts[index] for index in sorted(self._parts)]
        names = [name for name in parts[0] if name != "signature"]
        return {name: np.concatenate([part[name] for part in parts]) for name in names}


def plan_training(n_models: int, bytes_per_model: int, *, together: int = 1) -> list[Chunk]:
    """Return the chunks of a number of training runs, each of a multiple of `together` runs.

    >>> [chunk.size for chunk in plan_training(6, 1, together=2)], len(plan_training(1000, 1))
    ([2, 2, 2], 32)
    """
    wanted = min(-(-n_models // CHUNKS_PER_SIDE), max(1, MAX_CHUNK_BYTES // max(1, bytes_per_model)))
    size = together * -(-wanted // together)
    starts = enumerate(range(0, n_models, size))
    return [Chunk(Stage.TRAINING, 0, index, start, min(size, n_models - start)) for index, start in starts]


def run_training(
    chunks: list[Chunk], work: Callable[[Chunk], Arrays], about: Mapping[str, Any], learner: Any, options: RunOptions
) -> Arrays:
    """Run the chunks that the store does not hold, and return the joined arrays of all chunks.

    Args:
        chunks: chunks from `plan_training`.
        work: function that trains the models of one chunk; the first axis of its arrays is the model.
        about: everything that determines the arrays, JSON-ready.
        learner: the learner, with the kind of workers in `workers` if it has this attribute.
        options: workers, store, progress.
    """
    joined = JoinedChunks()
    description = {**about, "chunk_size": chunks[0].size, "scikit-learn": version("scikit-learn"), **versions()}
    with options.opened(description) as (store, reporter):
        execute(
            chunks,
            _Unsigned(work),
            joined,
            store=store,
            n_jobs=options.n_jobs,
            workers=getattr(learner, "workers", Workers.PROCESSES),
            repeats=ReplayGuard(display_name(learner)),
            reporter=reporter,
        )
        return joined.arrays()


@dataclass(frozen=True, eq=False)
class _Unsigned:
    """Work with chunks that may repeat each other."""

    work: Callable[[Chunk], Arrays]

    def __call__(self, chunk: Chunk) -> Arrays:
        return self.work(chunk) | {"signature": NO_SIGNATURE}


def _examples(name: str, dataset: Any, learner: Learner) -> TrainingData:
    data = examples_for(learner, dataset)
    if data.n_gradients:
        raise ParameterError(
            f"{name} must be examples with labels, but hold {plural(data.n_gradients, 'gradient record')}.",
            argument=name,
        )
    if (data.y < 0).any() or (data.y != np.rint(data.y)).any():
        raise ParameterError(
            f"{name} must have labels 0 .. n_classes - 1, whole numbers, but y holds others.", argument=name
        )
    return data
