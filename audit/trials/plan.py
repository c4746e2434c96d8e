"""The plan of trials: their number, and their division into chunks.

The plan depends on the question alone (trials, attack, size of an output), never on the number of workers: serial,
parallel and resumed runs make the same chunks and so the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...mechanisms.core import ParameterError, whole
from .seeds import Stage

DEFAULT_TRIALS = 100_000
"""Default number of trials per side."""
MAX_TRIALS = 10**11
"""Largest number of trials per side: about an hour of the fastest mechanisms."""
MIN_TRIALS = 10
"""Smallest number of trials per side; a perfect attack on 10 runs per side shows less than epsilon = 1."""
MAX_KEPT_SCORES = 2_000_000
"""Number of evaluation trials per side up to which every score is kept; beyond, scores are counted on a grid."""
MAX_CHUNK_BYTES = 16 * 2**20
"""Largest size of the outputs of one chunk, in bytes."""
MAX_CHUNK_TRIALS = 2**17
"""Largest number of trials in a chunk; larger chunks are not faster."""
CHUNKS_PER_SIDE = 32
"""Target number of chunks per side, for progress, for several workers, and for little loss if a run is killed."""
MIN_CHUNK_TRIALS = 256
"""Smallest number of trials in a chunk of a vectorised mechanism: smaller chunks have too much overhead."""
FIRST_LOOK = 32
"""Number of evaluation trials per side before the first look of an audit that may stop at any time."""
LOOK_GROWTH = 4
"""The next look follows after another 1/4 of the trials so far: the largest share of unnecessary trials."""
CHUNKS_PER_LOOK = 8
"""Number of chunks per side between two looks, unless they are smaller than `MIN_CHUNK_TRIALS`."""
MAX_ANYTIME_PILOT = 500
"""Largest pilot of an audit that may stop at any time, since the pilot runs before the first look."""
LEAST_PILOT = 50
"""Smallest pilot of an attack that learns, or of a bound that chooses a threshold."""
MAX_LEARNED_BYTES = 256 * 2**10
"""Largest output, in bytes, that an attack can learn from: 32,768 numbers, each a feature."""
MAX_OUTPUT_BYTES = 256 * 2**20
"""Largest output, in bytes, for attacks that do not learn."""
MAX_PILOT_BYTES = 256 * 2**20
"""Largest size of the pilot outputs of one side, in bytes."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive trials of one stage and side that share one random stream.

    Args:
        stage: pilot or evaluation.
        side: 0 or 1.
        index: position among the chunks of that stage and side.
        start: number of trials of that stage and side in previous chunks.
        size: number of trials in this chunk.
    """

    stage: Stage
    side: int
    index: int
    start: int
    size: int

    @property
    def key(self) -> str:
        """Name in the store."""
        return f"{self.stage.label}-{self.side}-{self.index:06d}"


@dataclass(frozen=True)
class Chunks(Sequence[Chunk]):
    """The chunks of both sides for the trials from `begin` to `end`, numbered from `first` and created lazily.

    Both sides are interleaved, so that a partial run is balanced.
    """

    stage: Stage
    first: int
    begin: int
    end: int
    size: int

    def __len__(self) -> int:
        return 2 * -(-max(self.end - self.begin, 0) // self.size)

    def __iter__(self) -> Iterator[Chunk]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        step, side = divmod(range(len(self))[index], 2)
        start = self.begin + step * self.size
        return Chunk(self.stage, side, self.first + step, start, min(self.size, self.end - start))


@dataclass(frozen=True)
class TrialPlan:
    """Numbers of trials per side, and the chunk size. `pilot + evaluation` is the requested number.

    Args:
        pilot, evaluation: numbers of trials per side.
        chunk_size: largest chunk.
        smallest: smallest chunk between two looks, except for the first and the last ones.
        first_look: number of evaluation trials per side before the first of several looks; 0 for one look at the end.
    """

    pilot: int
    evaluation: int
    chunk_size: int
    smallest: int = 1
    first_look: int = 0

    @property
    def per_side(self) -> int:
        """Number of all trials of one side."""
        return self.pilot + self.evaluation

    @property
    def holds_scores(self) -> bool:
        """True if every evaluation score is kept, False if they are counted on a grid."""
        return self.evaluation <= MAX_KEPT_SCORES

    def chunks(self, stage: Stage) -> Iterator[Chunk]:
        """Yield the chunks of a stage."""
        for part in self.rounds() if stage is Stage.EVALUATION else [self.pilot_chunks(stage)]:
            yield from part

    def pilot_chunks(self, stage: Stage = Stage.PILOT) -> Chunks:
        """Return the chunks before the evaluation."""
        return Chunks(stage, 0, 0, self.pilot, self.chunk_size)

    def rounds(self) -> Iterator[Chunks]:
        """Yield the chunks of the evaluation between two looks; all of them if there is one look, at the end."""
        if not self.first_look:
            yield Chunks(Stage.EVALUATION, 0, 0, self.evaluation, self.chunk_size)
            return
        index = start = 0
        while start < self.evaluation:
            size = max(self.first_look, start // LOOK_GROWTH) if start else self.first_look
            end = min(start + size, self.evaluation)
            chunk_size = min(max(-(-size // CHUNKS_PER_LOOK), self.smallest), self.chunk_size)
            chunks = Chunks(Stage.EVALUATION, index, start, end, chunk_size)
            yield chunks
            index, start = chunks[-1].index + 1, end


@dataclass(frozen=True)
class Slice:
    """One of `count` slices of an experiment, each run on a separate machine, without contact to the others.

    The chunks of all audits are lined up: chunk j of m in audit a is at a + (j + 1/2) / m. Each slice has an interval
    of the same length, so that the audits and chunks that it runs are consecutive, and it needs few pilots.

    Args:
        number: position of the slice, 1 to `count`.
        count: number of slices.
        audit: position of the audit in the experiment, from 0.
        n_audits: number of audits of the experiment.
    """

    number: int
    count: int
    audit: int = 0
    n_audits: int = 1

    @classmethod
    def parse(cls, text: str) -> Slice:
        """Return the slice "3/100", the third of a hundred; raise `ParameterError` for another text.

        >>> Slice.parse("3/100") == Slice(3, 100)
        True
        """
        parts = [part if part.isascii() and part.isdigit() else "0" for part in text.split("/")]
        number, count = map(int, parts) if len(parts) == 2 else (0, 0)
        if not 1 <= number <= count:
            raise ParameterError(
                argument="slice", value=text, allowed="be NUMBER/COUNT with 1 <= NUMBER <= COUNT, such as 3/100"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def reaches(self) -> bool:
        """True if the interval of the slice overlaps with this audit."""
        begin, end = (number * self.n_audits for number in (self.number - 1, self.number))
        return begin < (self.audit + 1) * self.count and end > self.audit * self.count

    def of(self, n_chunks: int) -> slice:
        """Return the positions of the chunks of this audit that belong to the slice.

        >>> [Slice(number, 3).of(4) for number in (1, 2, 3)]
        [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
        >>> [Slice(2, 4, audit, 2).of(10) for audit in (0, 1)]
        [slice(5, 10, None), slice(0, 0, None)]
        """

        def first(number: int) -> int:  # smallest j with audit + (j + 1/2) / n_chunks >= number * n_audits / count
            twice = 2 * n_chunks * (number * self.n_audits - self.audit * self.count) - self.count
            return min(max(-(-twice // (2 * self.count)), 0), n_chunks)

        return slice(first(self.number - 1), first(self.number))


def check_width(bytes_per_run: int, learns: bool) -> None:
    """Raise `ParameterError` for outputs that are too wide for memory, or for an attack that learns."""
    widest = MAX_LEARNED_BYTES if learns else MAX_OUTPUT_BYTES
    if bytes_per_run > widest:
        user = "an attack that learns takes" if learns else "an audit takes"
        raise ParameterError(
            f"one output takes {bytes_per_run:,} bytes ({bytes_per_run // 8:,} numbers), but {user} at most {widest:,} "
            f"({widest // 8:,} numbers), so that time and memory stay bounded. Return a summary of it, such as a few "
            "projections, or give attack=... one that does not learn.",
            argument="mechanism",
        )


def plan_trials(
    trials: int, *, bytes_per_run: int, learns: bool, chooses: bool, vectorised: bool, anytime: bool = False
) -> TrialPlan:
    """Return the plan for `trials` runs per side, including the pilot.

    Args:
        trials: number of runs per side.
        bytes_per_run: memory that one output takes.
        learns: True if the attack is trained on the pilot. The pilot is then a quarter of the trials, otherwise a
            tenth, and a smaller share of many trials, at most 100,000.
        chooses: True if a threshold is chosen on the pilot. If nothing is learned, chosen or gridded on the pilot,
            there is none and every trial counts.
        vectorised: True if `release` is one numpy call for many runs; otherwise chunks are smaller.
        anytime: True if there are several looks at the evaluation, which may stop early; the pilot is then small.
    """
    whole(1, trials=trials)
    if trials < MIN_TRIALS:
        raise ParameterError(
            f"trials must be at least {MIN_TRIALS} per side, but is {trials}: fewer cannot refute any claim. "
            "A pure claim of epsilon = 1 needs some 100, a tight bound 10,000 or more.",
            argument="trials",
        )
    if trials > MAX_TRIALS:
        raise ParameterError(
            f"trials must be at most {MAX_TRIALS:,} per side, but is {trials:,}, which would take days. "
            "Choose fewer trials.",
            argument="trials",
        )
    if learns:
        pilot = min(max(trials // 4, LEAST_PILOT), 100_000, trials // 2)
    elif chooses or trials > MAX_KEPT_SCORES:
        pilot = min(max(trials // 10, LEAST_PILOT), max(20_000, trials // 20), 100_000, trials // 2)
    else:
        pilot = 0
    if anytime:
        pilot = min(pilot, MAX_ANYTIME_PILOT)
        if trials - pilot > MAX_KEPT_SCORES:
            raise ParameterError(
                f"trials must be at most {MAX_KEPT_SCORES:,} per side if the audit may stop at any time, because it "
                f"keeps every score in order, but is {trials:,}. Choose fewer trials, or leave out stop.",
                argument="trials",
            )
    pilot = min(pilot, max(MAX_PILOT_BYTES // max(bytes_per_run, 1), min(pilot, LEAST_PILOT)))
    largest = min(MAX_CHUNK_TRIALS, max(1, MAX_CHUNK_BYTES // max(bytes_per_run, 1)))
    smallest = MIN_CHUNK_TRIALS if vectorised else 1
    wanted = max(-(-trials // CHUNKS_PER_SIDE), smallest)
    return TrialPlan(pilot, trials - pilot, min(largest, wanted), smallest, FIRST_LOOK if anytime else 0)
