"""Names of the reconstruction attacks. A new attack is one file and one line; `dpassay list reconstructors` shows them.

"auto" takes the first attack, in this order, that supports the target: attacks that know the output law come before
attacks that learn it, and the attack that learns from any output is the last.
"""

from __future__ import annotations

from ...mechanisms.core import AttackError, Catalogue, ParameterError
from .base import Reconstructor, SecretTarget

catalogue = Catalogue(
    "reconstruction attack",
    "dpassay.attacks.reconstruction",
    {
        "maximum-likelihood": "maximum_likelihood:MaximumLikelihood",
        "learned": "learned:LearnedReconstruction",
    },
    group="dpassay.reconstruction",
    before="learned",
)


def choose(attack: str | Reconstructor, target: SecretTarget) -> tuple[str, Reconstructor]:
    """Return the requested attack, checked against `target`, and its name.

    Args:
        attack: a name in the catalogue, with its default options; a `Reconstructor`; or "auto", the first attack that
            needs no options and supports the target.
        target: mechanism and secret under attack.

    Raises:
        UnknownNameError: no attack has this name.
        ParameterError: `attack` is neither a name nor a `Reconstructor`.
        AttackError: the attack, or none of them, can be used on this target.

    Example:
        >>> from dpassay.attacks.reconstruction import OneOf
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> choose("auto", SecretTarget(KAryRandomizedResponse(epsilon=1.0, k=4), OneOf((0, 1, 2, 3))))
        ('maximum-likelihood', MaximumLikelihood())
    """
    requested = _first(target) if attack == "auto" else attack
    instance = catalogue.instance(requested, Reconstructor, argument="attack")  # type: ignore[type-abstract]
    instance.check(target)
    return catalogue.name_of(instance), instance


def _first(target: SecretTarget) -> Reconstructor:
    """Return the first attack that supports the target; attacks with required options are skipped."""
    for name in catalogue.usable():
        try:
            attack: Reconstructor = catalogue.build(name)
        except ParameterError:
            continue
        if attack.supports(target):
            return attack
    raise AttackError(
        f"no reconstruction attack of the library guesses {type(target.secret).__name__} from what "
        f"{type(target.mechanism).__name__} releases: in Python, give a Reconstructor of your own that knows how to "
        "read it, as attack=."
    )
