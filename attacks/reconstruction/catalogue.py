"""Names of the reconstruction attacks. A new one is one file and one line; `dpassay list reconstructors` shows them.

"auto" takes the first of them, in this order, that supports the target: those that know the law of what they see come
before those that have to learn it, and that which learns from anything is the last.
"""

from __future__ import annotations

from ...mechanisms.errors import AttackError, ParameterError
from ...mechanisms.registry import Catalogue
from .base import Reconstructor, SecretTarget

catalogue = Catalogue(
    "reconstruction attack",
    {
        "maximum-likelihood": "dpassay.attacks.reconstruction.maximum_likelihood:MaximumLikelihood",
        "prior-aware": "dpassay.attacks.reconstruction.training.prior_aware:PriorAware",
        "least-squares": "dpassay.attacks.reconstruction.answers.least_squares:BoxedLeastSquares",
        "l1-decoding": "dpassay.attacks.reconstruction.answers.l1:L1Decoding",
        "linear-programme": "dpassay.attacks.reconstruction.answers.linear_programme:LinearProgramme",
        "gaussian-likelihood": "dpassay.attacks.reconstruction.answers.flips:GaussianLikelihood",
        "integer-programme": "dpassay.attacks.reconstruction.answers.integer_programme:IntegerProgramme",
        "secret-sharer": "dpassay.attacks.extraction.secret_sharer:SecretSharer",
        "published-tables": "dpassay.attacks.reconstruction.tables.reconstructor:TablesReconstructor",
        "exhaustive": "dpassay.attacks.reconstruction.answers.exhaustive:Exhaustive",
        "model-confidence": "dpassay.attacks.inference.records:ModelConfidence",
        "learned": "dpassay.attacks.reconstruction.learned:Learned",
    },
)
get = catalogue.get
build = catalogue.build


def choose(attack: str | Reconstructor, target: SecretTarget) -> tuple[str, Reconstructor]:
    """The attack that is meant, which can be used on `target`, and its name.

    Args:
        attack: a name in the catalogue, with its default options; a `Reconstructor`; or "auto", the first one that
            needs no options and supports the target.
        target: what is attacked.

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
    meant = _first(target) if attack == "auto" else attack
    found = catalogue.instance(meant, Reconstructor, argument="attack")  # type: ignore[type-abstract]
    found.check(target)
    return catalogue.name_of(found), found


def _first(target: SecretTarget) -> Reconstructor:
    """The first one that supports the target; those with options that must be given are not tried."""
    for name in catalogue.entries:
        try:
            attack: Reconstructor = build(name)
        except ParameterError:
            continue
        if attack.supports(target):
            return attack
    raise AttackError(
        f"no reconstruction attack of the library guesses {type(target.secret).__name__} from what "
        f"{type(target.mechanism).__name__} releases: in Python, give a Reconstructor of your own that knows how to "
        "read it, as attack=."
    )
