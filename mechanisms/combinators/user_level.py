"""User-level privacy: all records of one person are added, removed or replaced together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import group
from ..core.arrays import Bools, Floats
from ..core.base import Data, Dataset, LogDensity, Mechanism, Neighbours, Outputs, known_law
from ..core.constraints import Finite, PositiveInt, instance_of
from ..core.errors import NeighboursError, ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..core.validation import missing_entries, none_missing
from ..noise.laplace import Laplace
from ..noise.queries.sums import Sum
from .base import Combinator
from .parallel import moves_every_answer

SUM = Laplace(1.0, query=Sum())


@dataclass(frozen=True)
class UserLevel(Combinator):
    """A mechanism for records, run on the records of users who own several records each; claim by group privacy.

    A dataset is a pair `(users, values)` of arrays of the same length: the owner and the value of each record. Every
    record needs an owner, and all owners are of one type, such as numbers or names; a value may be missing (NaN). The
    first `most_records` records of each user are used, and the others are dropped. So two datasets that differ in one
    user are at most `most_records` steps of the base's relation apart.

    Args:
        base: a mechanism on an array of numbers; under add_remove a user is added or removed with all records, under
            replace_one the values of a user change.
        most_records: k, >= 1; public.
        record, other: the values of the user of `worst_case()`, on side 1 and, under replace_one, on side 0.

    Guarantees:
        * The guarantee of `base` for groups of k: k epsilon for a pure one (Dwork and Roth 2014, theorem 2.2). Exact
          if all k records move the answer of the base in the same direction, by its full sensitivity each.

    Example:
        >>> mechanism = UserLevel(most_records=3)  # a sum of values in [0, 1], with epsilon 1 per record
        >>> mechanism.guarantee().epsilon(0.0)
        3.0
        >>> users, values = np.array([7, 7, 7, 7, 8]), np.array([1.0, 1.0, 1.0, 1.0, 0.5])
        >>> mechanism.bounded((users, values)).tolist()
        [1.0, 1.0, 1.0, 0.5]
    """

    _dataset = Data.OTHER

    base: Annotated[Mechanism, instance_of(Mechanism, "Laplace(epsilon=0.1)")] = SUM
    _: KW_ONLY
    most_records: PositiveInt = 3
    record: Finite = 1.0
    other: Finite = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(
                "the relation of base must be add_remove or replace_one, but is zero_out.", argument="base"
            )
        _ = self.guarantee()

    def bounded(self, dataset: Dataset) -> NDArray[np.generic]:
        """Return the values of the records that are used, in order: the first `most_records` of each user."""
        users, values = _columns(dataset)
        order = _order(users)
        starts = np.flatnonzero(np.append(True, users[order][1:] != users[order][:-1])) if len(users) else order
        rank = np.arange(len(users)) - np.repeat(starts, np.diff(np.append(starts, len(users))))
        return np.asarray(values[np.sort(order[rank < self.most_records])])

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` outputs of the base on the records that are used."""
        return self.base.release(self.bounded(dataset), size, rng)

    def output_law(self) -> LogDensity | None:
        """Return the output law of the base on the records that are used, or None if it is unknown."""
        return None if self.base.output_law() is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`."""
        law = known_law(self.base)
        return law.log_density(outputs, self.bounded(dataset))

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the base for groups of `most_records`."""
        return group(self.base.guarantee(), self.most_records)

    def worst_case(self) -> Neighbours:
        """Return a pair with one user, whose records are missing on side 0 or have other values there.

        The user has one record more than is used, so that an audit of the pair also tests that it is dropped.
        """
        owned = self.most_records + 1
        full = (np.zeros(owned, dtype=np.int64), np.full(owned, self.record))
        if self.relation is Relation.ADD_REMOVE:
            return remove_user(full, 0)
        return replace_user(full, 0, np.full(owned, self.other))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the claim if the records of the worst case move the answer by k sensitivities; otherwise None."""
        pair, claim = self.worst_case(), self.guarantee()
        d0, d1 = self.bounded(pair.d0), self.bounded(pair.d1)
        return claim if claim.exact and moves_every_answer(self.base, d0, d1, self.most_records) else None

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_users(neighbours)


def remove_user(dataset: Dataset, user: int) -> Neighbours:
    """Return the pair under add_remove in which side 0 lacks all records of `user`.

    Args:
        dataset: `(users, values)`; side 1.
        user: a user who owns a record.

    Example:
        >>> pair = remove_user((np.array([4, 5, 4]), np.array([0.1, 0.2, 0.3])), 4)
        >>> pair.d0[1]
        array([0.2])
    """
    users, values = _columns(dataset)
    others = users != _owner(users, user)
    return Neighbours((users[others], values[others]), (users, values), Relation.ADD_REMOVE)


def replace_user(dataset: Dataset, user: int, replacement: ArrayLike) -> Neighbours:
    """Return the pair under replace_one in which the records of `user` have other values on side 0.

    Args:
        dataset: `(users, values)`; side 1.
        user: a user who owns a record.
        replacement: a value for each record of that user.
    """
    users, values = _columns(dataset)
    owned, new = users == _owner(users, user), np.asarray(replacement)
    if new.shape != (int(owned.sum()),):
        raise ParameterError(
            f"replacement must hold a value for each of the {int(owned.sum())} records of user {user!r}, but has "
            f"shape {new.shape}.",
            argument="replacement",
        )
    changed = values.astype(np.result_type(values, new))
    changed[owned] = new
    return Neighbours((users, changed), (users, values), Relation.REPLACE_ONE)


def check_users(neighbours: Neighbours) -> None:
    """Raise `NeighboursError` unless the two sides differ in the records of exactly one user.

    Under add_remove one side lacks all records of that user; under replace_one their values differ.
    """
    (users0, values0), (users1, values1) = _columns(neighbours.d0), _columns(neighbours.d1)
    if neighbours.relation is Relation.REPLACE_ONE:
        same = np.array_equal(users0, users1)
        fits = same and len(set(users0[~_equal(values0, values1)].tolist())) == 1
    else:
        small, large = sorted(((users0, values0), (users1, values1)), key=lambda side: len(side[0]))
        missing = set(large[0].tolist()) - set(small[0].tolist())
        remaining = ~np.isin(large[0], list(missing))
        common = [column[remaining] for column in large]
        fits = len(missing) == 1 and len(common[0]) == len(small[0])
        fits = fits and all(_equal(a, b).all() for a, b in zip(common, small, strict=True))
    if not fits:
        raise NeighboursError(
            f"under {neighbours.relation.value!r} the two datasets must differ in all records of one user, and in "
            "those only. Build the pair with remove_user or replace_user of dpassay.mechanisms.combinators.",
            argument="d0",
        )


def _owner(users: NDArray[np.generic], user: int) -> int:
    """Return `user`; raise `ParameterError` if this user owns no record."""
    if user not in users:
        raise ParameterError(f"user must own a record, but {user!r} owns none.", argument="user")
    return user


def _columns(dataset: Dataset) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Return users and values, checked to be of the same length."""
    if not isinstance(dataset, tuple) or len(dataset) != 2:
        raise ParameterError("the dataset must be a pair (users, values) of arrays.", argument="dataset")
    users, values = np.asarray(dataset[0]), np.asarray(dataset[1])
    if users.ndim != 1 or users.shape != values.shape:
        raise ParameterError(
            f"users and values must have the same length, but have shapes {users.shape} and {values.shape}.",
            argument="dataset",
        )
    none_missing(users=users)
    return users, values


def _equal(column0: NDArray[np.generic], column1: NDArray[np.generic]) -> Bools:
    """Return where two columns of the same length are equal; missing values are equal to each other."""
    return np.asarray((column0 == column1) | (missing_entries(column0) & missing_entries(column1)), dtype=bool)


def _order(users: NDArray[np.generic]) -> NDArray[np.intp]:
    """Return the positions of the records, sorted by owner and then by position."""
    try:
        return np.argsort(users, kind="stable")
    except TypeError as error:
        raise ParameterError(
            f"users must be of one type, such as whole numbers or names, but cannot be sorted ({error}).",
            argument="dataset",
        ) from error
