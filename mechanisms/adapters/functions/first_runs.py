"""Findings of the first runs of a function: whether the given rng repeats them, and how the sides compare."""

from __future__ import annotations

from dataclasses import dataclass, field

from .same_seed import SameSeed


@dataclass(frozen=True)
class FirstRuns:
    """Findings of the first runs of a function.

    Args:
        repeated: True if the same rng and the same global random states gave the same results again.
        ignores_rng: True if no run drew from the given rng.
        generators: True if the function holds a generator of its own, of which each worker would get a copy.
        compared: findings of runs with the same seeds on both sides.
    """

    repeated: bool = True
    ignores_rng: bool = False
    generators: bool = False
    compared: SameSeed = field(default_factory=SameSeed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the reader of a result, one sentence each."""
        messages = list(self.compared.warnings)
        if not self.repeated:
            messages.append(
                "the results depend on something other than the given rng (a generator of its own, data that is kept "
                "from run to run, the entropy of the operating system, the time): no seed repeats these runs."
            )
        elif self.ignores_rng:
            messages.append(
                "the given rng was never drawn from in the first runs: noise from elsewhere, or none, cannot be "
                "repeated by a seed."
            )
        return tuple(messages)
