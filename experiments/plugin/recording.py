"""The object of the fixture `dp_record`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .options import audit_arguments, marked, merge
from .session import CALLS, OUTCOMES, Outcome

if TYPE_CHECKING:
    from ...audit.recording import Recordings


class DPRecord:
    """Callable of the fixture `dp_record`: call it with a function, once or several times."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, function: Any, **options: Any) -> Recordings:
        """Record the random primitives that `function` calls on d0, replay them on d1, and return the recordings.

        Args:
            function: `release(dataset, rng)`, `release(dataset, size, rng)` or `release(dataset)`.
            **options: `d0`, `d1` and `relation` or `neighbours`; the claim, `epsilon` and `delta` or `claim`, which may
                be left out; also from `@pytest.mark.dp`, whose options for an audit are ignored.

        Raises:
            PrivacyViolation: control flow, noise or budget depend on the data, a distance exceeds the declared
                sensitivity, or the composed guarantee exceeds the claim.
            ParameterError: the options do not define a pair.
        """
        __tracebackhide__ = True
        from ...audit.recording import record
        from ...mechanisms.core import DpassayError, ParameterError, PrivacyViolation

        outcome = Outcome()
        if CALLS in self._item.stash:
            self._item.stash.setdefault(OUTCOMES, []).append(outcome)
        try:
            arguments = audit_arguments(function, merge(*marked(self._item), options))
            if "neighbours" not in arguments:
                raise ParameterError("d0 and d1 are missing: a recording needs a pair.", argument=("d0", "d1"))
            recorded = record(function, arguments["neighbours"])
            recorded.require(arguments.get("claim"), delta=arguments.get("delta"))
        except (DpassayError, PrivacyViolation) as error:
            outcome.error = error
            raise error.with_traceback(None)  # noqa: B904 - the traceback through the library is not informative
        except BaseException as error:
            outcome.error = error
            raise
        outcome.finished = True
        return recorded
