"""A mechanism for one of many pairs: a function with the form of its results on the pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ...mechanisms.adapters.functions.forms import ResultForm
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.guard import limit_calls
from ...mechanisms.core import AlwaysRaisesError, Guarantee, Mechanism, Neighbours


def fitted(
    mechanism: Mechanism | Callable[..., Any],
    pair: Neighbours,
    *,
    claim: Guarantee | None,
    records: bool,
    timeout: float | None,
) -> Mechanism:
    """Return the mechanism for this pair; for a function, with the form of its results on the pair.

    A function whose first runs raise on both sides, but not the same, is accepted: exceptions are its outcomes.

    Raises:
        ParameterError: the mechanism refuses the pair.
        AlwaysRaisesError: the first runs of a function raise the same on both sides.
        ReleaseError: the first runs failed otherwise.
    """
    if isinstance(mechanism, FunctionMechanism):
        make = partial(replace, mechanism, neighbours=pair, records=records, first_runs=None)
    elif isinstance(mechanism, Mechanism):
        mechanism.bind(pair)
        return mechanism
    else:
        assert claim is not None
        make = partial(FunctionMechanism, mechanism, claim=claim, neighbours=pair, records=records)
    with limit_calls(timeout):
        try:
            return make(form=None)
        except AlwaysRaisesError as error:
            if error.same_on_both:
                raise
            return make(form=ResultForm())
