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
    found = _first(target) if attack == "auto" else build(attack) if isinstance(attack, str) else attack
    if not isinstance(found, Reconstructor):
        raise ParameterError(
            f"attack must be 'auto', a name ({', '.join(catalogue)}) or a Reconstructor, but is {attack!r} "
            f"({type(attack).__name__}). Give an instance of a class that extends "
            "dpassay.attacks.reconstruction.Reconstructor.",
            argument="attack",
        )
    found.check(target)
    return _name_of(found), found


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
        "read it, as attack=. The one that can read any output, maximum-likelihood, takes OneOf candidates and a "
        "mechanism whose law of outputs is known."
    )


def _name_of(attack: Reconstructor) -> str:
    """The catalogue's name of the class of `attack`, or the name of the class."""
    path = f"{type(attack).__module__}:{type(attack).__qualname__}"
    return next((name for name, entry in catalogue.entries.items() if entry == path), type(attack).__name__)
