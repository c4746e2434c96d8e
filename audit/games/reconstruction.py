"""The reconstruction game: a secret is drawn, the mechanism runs once, and the secret is guessed.

    one of k candidates for a record   a round is won or lost: `Successes`, read by the bound `reconstruction`
    fair bits, one per record          every bit has a score: `BitScores`, read by the bounds on bits

Statistics. Each round draws a fresh secret from the known prior, runs once, and guesses from that output alone; the
guesser is fixed before the first round, on streams that no round draws from. So the number of successes is binomial,
and the bits of all rounds are independent fair coins, each in one run only. The prior success is exact: a maximum over
guesses. Datasets with different secrets must be neighbours under the relation of the guarantee, which is checked:

    replace_one             the datasets with any two candidates, or with a bit that is 0 or 1
    add_remove, zero_out    the dataset with each candidate, and the one without the record (candidates only)

Rounds with user code are tested for independence, at a separate significance level: if they are dependent, an error is
raised and no evidence is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...attacks.reconstruction.base import FairBits, OneOf, Reconstructor, Secret, SecretTarget
from ...attacks.reconstruction.catalogue import choose
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.guard import Guard, limit_calls
from ...mechanisms.core.base import Mechanism, Neighbours, Workers
from ...mechanisms.core.errors import DependentTrialsError, ParameterError
from ...mechanisms.core.fingerprint import describe
from ...mechanisms.core.guarantee import Guarantee
from ...mechanisms.core.printable import display_name
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.validation import whole
from ..evidence.scores import BitScores, Successes
from ..randomness.decision import one_output
from ..randomness.experiment import N_FEW, fresh_processes
from ..results.text import INDEPENDENCE_ADVICE
from ..trials.execution import announce, execute, in_this_process, measure_run_time
from ..trials.independence import Independence, independent_by_construction
from ..trials.options import RunOptions, Store, versions
from ..trials.plan import MIN_CHUNK_TRIALS, Chunk, check_width
from ..trials.progress import Reporter
from ..trials.reduction import SeveralReductions, StateChanges
from ..trials.repeated_outputs import DistinctOutputs, ReplayGuard, common_output_digest
from ..trials.seeds import Stage, child_seed, stream
from ..trials.work import run_each
from .rounds import BitReduction, BitRounds, CandidateRounds, SuccessReduction, plan_rounds
from .setup import check_function, workers_of

INDEPENDENCE_LEVEL = 1e-4
"""Significance level of the test of independence; a false alarm raises an error, so the bounds need no correction."""
N_REPEATED_RUNS = 64
"""Number of runs on one dataset that test whether outputs vary."""


def reconstruction_game(
    mechanism: Mechanism | Callable[..., Any],
    secret: Secret,
    *,
    attack: str | Reconstructor = "auto",
    n_rounds: int,
    seed: int,
    claim: Guarantee | None = None,
    n_jobs: int | None = 1,
    timeout: float | None = None,
    store: Store = None,
    progress: bool | Reporter = False,
) -> Any:
    """Run `n_rounds` independent rounds: a fresh secret, one run, one guess.

    Args:
        mechanism: a `Mechanism`; or a Python function, as in `dpassay.audit.audit`, with its `claim`.
        secret: `OneOf` candidates, or `FairBits`.
        attack: a name in `dpassay.attacks.reconstruction.catalogue`, a `Reconstructor`, or "auto", the first that
            supports the target: maximum likelihood if the law of the outputs is known, a learned model otherwise.
        n_rounds: number of rounds, a whole number >= 1.
        seed: seed of secrets, runs and the attack, in separate streams.
        claim: claim of a function; None for a `Mechanism`.
        n_jobs, timeout, store, progress: see `dpassay.audit.audit`.

    Returns:
        `Successes` for `OneOf`, `BitScores` for `FairBits`, which `dpassay.audit.audit_scores` reads.

    Raises:
        ParameterError: a value out of range, or a secret or a mechanism of an unknown kind.
        RelationError, NeighboursError: the guarantee does not hold for datasets that differ in the secret.
        AttackError: the attack cannot be used, or does not return guesses.
        DependentTrialsError: the rounds of user code are not independent.
        ReleaseError, FingerprintError, StoreError: see `dpassay.audit.audit`.

    Guarantees:
        * serial, parallel and resumed games with the same seed give the same evidence, byte for byte.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> mechanism = KAryRandomizedResponse(epsilon=1.0, k=4)
        >>> game = reconstruction_game(mechanism, OneOf.in_record([0], 0, range(4)), n_rounds=10_000, seed=0)
        >>> game.prior_success, abs(game.n_success / game.n_runs - mechanism.p_true) < 0.02
        (0.25, True)
    """
    options = RunOptions(n_jobs, store, progress)
    whole(1, n_rounds=n_rounds)
    whole(0, seed=seed)
    with limit_calls(timeout):
        target = _target(mechanism, secret, claim)
    _, chosen = choose(attack, target)
    game = _Game(target, chosen, n_rounds, seed, timeout)
    return game.play(options)


@dataclass(frozen=True, eq=False)
class _Game:
    """The checked arguments of a game, before any run."""

    target: SecretTarget
    attack: Reconstructor
    n_rounds: int
    seed: int
    timeout: float | None

    def play(self, options: RunOptions) -> Successes | BitScores:
        """Fit the attack, run the rounds, and return the evidence."""
        mechanism: Mechanism = self.target.mechanism
        secret: Any = self.target.secret
        tested = not independent_by_construction(mechanism)
        name = display_name(mechanism)
        if tested:
            _check_varies(mechanism, next(secret.neighbours(mechanism.relation)), self.seed, self.timeout)
        bytes_per_round, one_round = self._one_round()
        with in_this_process(), Guard(name, timeout=self.timeout, seed=child_seed(self.seed, Stage.FIT, 1)):
            guesser = self.attack.fit(self.target, stream(self.seed, Stage.FIT))
        bits = isinstance(secret, FairBits)
        vectorised = mechanism.workers is Workers.THREADS and not bits
        chunks = plan_rounds(self.n_rounds, bytes_per_round, MIN_CHUNK_TRIALS if vectorised else 1)
        independence = Independence([0.0]) if tested else None
        into: Any = (BitReduction if bits else SuccessReduction)(self.target, self.n_rounds, independence)
        changed = StateChanges(name)
        work = (BitRounds if bits else CandidateRounds)(self.target, guesser, self.seed, tested, self.timeout)
        size = chunks[0].size
        with options.opened(self._describe(size)) as (opened, reporter):
            announce(
                self.n_rounds * one_round if tested else measure_run_time(work, chunks[0], self.n_rounds, size),
                self.n_rounds,
                len(chunks),
                store=opened,
                n_jobs=options.n_jobs,
                workers=workers_of(mechanism),
                reporter=reporter,
            )
            execute(
                chunks,
                work,
                SeveralReductions(changed, into),
                store=opened,
                n_jobs=options.n_jobs,
                workers=workers_of(mechanism),
                repeats=ReplayGuard(name),
                reporter=reporter,
            )
            for warning in changed.warnings():
                reporter.message(warning)
            if independence is not None and (dependence := independence.dependence(INDEPENDENCE_LEVEL)) is not None:
                raise DependentTrialsError(name, dependence.what, INDEPENDENCE_ADVICE)
            evidence: Successes | BitScores = into.evidence()
        return evidence

    def _one_round(self) -> tuple[int, float]:
        """Return the memory that one round takes, its output and the arrays of a guess, and the seconds of a run."""
        mechanism: Mechanism = self.target.mechanism
        secret: Any = self.target.secret
        dataset = secret.candidates[0] if isinstance(secret, OneOf) else secret.zeros
        rng, chunk = stream(self.seed, Stage.PROBE), Chunk(Stage.PROBE, 0, 0, 0, 1)
        began = time.monotonic()
        ((outputs,), _) = run_each(mechanism, [(dataset, 1)], rng, self.seed, chunk, self.timeout)
        seconds = time.monotonic() - began
        check_width(outputs.values.nbytes, learns=False)
        per_round = 17 * secret.n if isinstance(secret, FairBits) else 32 if secret.close is None else 32 * secret.k
        return int(outputs.values.nbytes) + per_round, seconds

    def _describe(self, chunk_size: int) -> dict[str, Any]:
        """Return everything that determines the rounds."""
        return {
            "game": "reconstruction",
            "mechanism": describe(self.target.mechanism),
            "secret": describe(self.target.secret),
            "attack": describe(self.attack),
            "n_rounds": self.n_rounds,
            "chunk_size": chunk_size,
            "seed": self.seed,
            **versions(),
        }


def _target(mechanism: Mechanism | Callable[..., Any], secret: Any, claim: Guarantee | None) -> SecretTarget:
    """Return the target of the attack; check its parts against each other."""
    if not isinstance(secret, (OneOf, FairBits)):
        raise ParameterError(
            f"secret must be OneOf candidates or FairBits of dpassay.attacks.reconstruction, but is "
            f"{type(secret).__name__}.",
            argument="secret",
        )
    if not isinstance(mechanism, Mechanism):
        claim = check_function(mechanism, claim)
        pair = next(secret.neighbours(claim.relation or Relation.REPLACE_ONE))
        mechanism = FunctionMechanism(mechanism, claim=claim, neighbours=pair)
    elif claim is not None:
        raise ParameterError(
            "claim is for functions only; a Mechanism has its own, and audit_scores accepts another claim.",
            argument="claim",
        )
    for pair in secret.neighbours(mechanism.relation):
        mechanism.bind(pair)
    return SecretTarget(mechanism, secret)


def _check_varies(mechanism: Mechanism, pair: Neighbours, seed: int, timeout: float | None) -> None:
    """Raise `DependentTrialsError` if runs in this process repeat an output, but a run in a fresh process does not."""
    unvarying = DistinctOutputs()
    for side in (0, 1):
        chunk = Chunk(Stage.PROBE, side, 1, 0, N_REPEATED_RUNS)
        rng = stream(seed, Stage.PROBE, side, 1)
        ((outputs,), _) = run_each(mechanism, [(pair.side(side), N_REPEATED_RUNS)], rng, seed, chunk, timeout)
        unvarying.add(chunk, {"only_output": common_output_digest(outputs)})
    if not unvarying.sides:
        return
    if not isinstance(mechanism, FunctionMechanism):
        return
    fresh = fresh_processes(mechanism, pair, seed, N_FEW)
    if not fresh.can_run or one_output(fresh, unvarying, N_REPEATED_RUNS, INDEPENDENCE_LEVEL) is not None:
        reason = "runs in one process repeat the same output, and a run in a fresh process gives another one"
        raise DependentTrialsError(display_name(mechanism), reason, INDEPENDENCE_ADVICE)
