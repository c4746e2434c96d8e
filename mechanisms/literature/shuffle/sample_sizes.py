"""Numbers of users that each trust model needs to learn or test a distribution, as rates.

The rates omit constants: they compare models and show the effect of each parameter, but do not give the number of
users of a study. alpha is a distance in total variation, half the l1 norm; k is the number of values.
"""

from __future__ import annotations

import math

from ...core import ParameterError, one_of, open_unit, positive, whole

MODELS = ("non-private", "central", "local", "shuffle")


def learning_samples(
    k: int, alpha: float, *, model: str, epsilon: float | None = None, delta: float | None = None
) -> float:
    """Return the number of users needed to learn a distribution on k values up to alpha, without constants.

        non-private   k / alpha^2
        central       that + k / (alpha epsilon)
        local         that + k^2 / (alpha^2 (e^epsilon - 1)^2) + k^2 / (alpha^2 e^epsilon)
        shuffle       that + k sqrt(ln(1/delta)) / (alpha epsilon)

    where "that" is the first line. The last rate is attained by shuffling the best local mechanism.

    Args:
        k: number of values, >= 2.
        alpha: distance, strictly between 0 and 1.
        model: one of `MODELS`.
        epsilon: > 0; only for the private models.
        delta: strictly between 0 and 1; only for "shuffle", whose guarantee is approximate.

    Raises:
        ParameterError: a value out of range, or missing, or given for a model that has none.

    References:
        Diakonikolas, Hardt and Schmidt (2015), central; Acharya, Sun and Zhang (2019), local; Canonne (2022), "Privacy
        Doona: Why We Should Hide Among The Clones", for the table.

    Example:
        >>> [round(learning_samples(100, 0.1, model=m, epsilon=0.1)) for m in ("central", "local")]
        [20000, 91323214]
    """
    _check(k, alpha)
    check_model(model, epsilon, delta)
    base = k / alpha**2
    if model == "non-private" or epsilon is None:
        return base
    if model == "central":
        return base + k / (alpha * epsilon)
    if model == "local":
        return k**2 / (alpha * math.expm1(epsilon)) ** 2 + k**2 / (alpha**2 * math.exp(epsilon)) + base
    return base + k * _root_log(delta) / (alpha * epsilon)


def uniformity_samples(
    k: int,
    alpha: float,
    *,
    model: str,
    epsilon: float | None = None,
    delta: float | None = None,
    coins: str | None = None,
) -> float:
    """Return the number of users needed to test uniformity on k values at distance alpha, without constants.

    The alternative is any distribution at distance alpha or more. The same rates hold for any other known distribution
    instead of the uniform one. In the local and the shuffle model, public `coins` help: random bits known to all users.

        non-private       sqrt(k) / alpha^2
        central           that + sqrt(k / epsilon) / alpha + (k / (alpha^4 epsilon^2))^(1/3) + 1 / (alpha epsilon)
        local, private    that + k^(3/2) / (alpha^2 (e^epsilon - 1)^2) + k^(3/2) / (alpha^2 e^epsilon)
        local, public     that + k / (alpha^2 (e^epsilon - 1)^2) + k / (alpha^2 e^(epsilon/2))
        shuffle, private  that + k^(3/4) sqrt(L) / (alpha epsilon)
        shuffle, public   that + (k^2 L / (alpha^4 epsilon^2))^(1/3) + sqrt(k L) / (alpha epsilon)

    where "that" is the first line, and L = ln(1/delta).

    Args:
        k, alpha, model, epsilon, delta: as for `learning_samples`.
        coins: "private" or "public"; only for "local" and "shuffle".

    Raises:
        ParameterError: a value out of range, or missing, or given for a model that has none.

    References:
        Paninski (2008); Acharya, Sun and Zhang (2018) and Aliakbarpour, Diakonikolas and Rubinfeld (2018), central;
        Acharya, Canonne, Freitag and Tyagi (2019) and Amin, Joseph and Mao (2020), local; Canonne (2022) for the table.

    Example:
        >>> private = uniformity_samples(10**4, 0.1, model="local", epsilon=1.0, coins="private")
        >>> round(private / uniformity_samples(10**4, 0.1, model="local", epsilon=1.0, coins="public"))
        74
    """
    _check(k, alpha)
    check_model(model, epsilon, delta, coins=coins, needs_coins=True)
    base = math.sqrt(k) / alpha**2
    if epsilon is None:
        return base
    if model == "central":
        mixed = math.cbrt(k / (alpha**4 * epsilon**2))
        return base + math.sqrt(k / epsilon) / alpha + mixed + 1.0 / (alpha * epsilon)
    if model == "local":
        power, rate = (1.5, epsilon) if coins == "private" else (1.0, 0.5 * epsilon)
        return base + math.pow(k, power) / alpha**2 * (1.0 / math.expm1(epsilon) ** 2 + math.exp(-rate))
    root = _root_log(delta)
    if coins == "private":
        return base + math.pow(k, 0.75) * root / (alpha * epsilon)
    mixed = math.cbrt((k * root) ** 2 / (alpha**4 * epsilon**2))
    return base + mixed + math.sqrt(k) * root / (alpha * epsilon)


def _root_log(delta: float | None) -> float:
    """Return sqrt(ln(1/delta))."""
    assert delta is not None
    return math.sqrt(-math.log(delta))


def check_model(
    model: str, epsilon: float | None, delta: float | None, *, coins: str | None = None, needs_coins: bool = False
) -> None:
    """Raise `ParameterError` for an option that the trust model requires but lacks, or has but does not use."""
    one_of(MODELS, model=model)
    for name, value, required in (("epsilon", epsilon, model != "non-private"), ("delta", delta, model == "shuffle")):
        if (value is not None) != required:
            raise ParameterError(
                f"{name} is {value!r}, but the model {model!r} {'needs one' if required else 'has none'}.",
                argument=name,
            )
    if epsilon is not None:
        positive(epsilon=epsilon)
    if delta is not None:
        open_unit(delta=delta)
    if needs_coins and (coins is not None) != (model in ("local", "shuffle")):
        raise ParameterError(
            f"coins is {coins!r}, but must be given for 'local' and 'shuffle' only: model is {model!r}.",
            argument="coins",
        )
    if coins is not None:
        one_of(("private", "public"), coins=coins)


def _check(k: int, alpha: float) -> None:
    whole(2, k=k)
    open_unit(alpha=alpha)
