"""Names of the attacks. A new attack is one file and one line here; `dpassay list attacks` shows them.

"auto" takes the first attack, in this order, that supports the target: attacks that know the output law come before
attacks that learn it from pilot runs, which are the portfolio for external code, and the classifier, which supports
every target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..mechanisms.core import Catalogue
from .base import Attack, Target
from .function import FunctionAttack

AttackChoice = str | Attack | Callable[[Any], Any]
"""An attack as an argument: its name, the attack, or a function from outputs to scores."""

catalogue = Catalogue(
    "attack",
    "dpassay.attacks.distinguishing",
    {
        "likelihood-ratio": "likelihood_ratio:LikelihoodRatio",
        "gradient-product": "gradient_product:GradientProduct",
        "canary-loss": "canary_attacks:CanaryLoss",
        "canary-direction": "canary_attacks:CanaryDirection",
        "portfolio": "portfolio:Portfolio",
        "classifier": "classifier:Classifier",
        "threshold": "threshold:Threshold",
    },
    group="dpassay.attacks",
    before="portfolio",
)


def choose(attack: AttackChoice, target: Target) -> tuple[str, Attack]:
    """Return the requested attack, checked against `target`, and its name.

    Args:
        attack: a name in the catalogue, with its default options; an `Attack`; a function from outputs to scores, see
            `FunctionAttack`; or "auto", the first one that supports the target: the likelihood ratio
            where the output law is known; on a DPSGD, the gradient product for trajectories and, for final models, the
            loss of a canary that is an example, or the direction of one that is a gradient; the portfolio on external
            code; the classifier elsewhere.
        target: mechanism and pair under attack.

    Returns:
        Name and attack. The name of an attack that is not in the catalogue is the name of its class, or of its
        function.

    Raises:
        UnknownNameError: no attack has this name.
        ParameterError: `attack` is neither a name, nor an `Attack`, nor a function.
        AttackError: the attack cannot be used on this target.

    Example:
        >>> from dpassay.mechanisms.noise.laplace import Laplace
        >>> mechanism = Laplace(epsilon=1.0)
        >>> choose("auto", Target(mechanism, mechanism.worst_case()))
        ('likelihood-ratio', LikelihoodRatio())
    """
    if attack == "auto":
        attack = next(name for name in catalogue.usable() if catalogue.build(name).supports(target))
    if callable(attack) and not isinstance(attack, (Attack, type)):
        attack = FunctionAttack(attack)
        return attack.name, attack
    instance = catalogue.instance(attack, Attack, argument="attack")  # type: ignore[type-abstract]
    instance.check(target)
    return catalogue.name_of(instance), instance
