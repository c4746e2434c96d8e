"""Forms of texts: a new text has the log odds of its form, as in trailing zeros, double spaces or exponents.

The form of a label keeps its length, its signs and its last character; digits become 0, letters a or A. It is learned
from the labels that the pilot has once: their runs would have been new without themselves (see `labels`), so that they
estimate how likely a new label of this form is on each side. Labels of rare forms are pooled by their coarse form, the
kinds of their characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import Floats, Ints
from .labels import MIN_LABEL_RUNS, odds_of_counts

_CUT = re.compile(r"\.\.\. #[0-9a-f]{8}$")
"""End of a label that was cut: a digest, which differs between any two texts."""


class _Kinds(dict[int, str]):
    """Characters -> what stands for them in a form."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isdigit():
            kind = "0"
        elif character.isalpha():
            kind = "A" if character.isupper() else "a"
        else:
            kind = character
        self[code] = kind
        return kind


_KINDS = _Kinds()


def form_of(label: str) -> str:
    """Return the form of a label.

    >>> form_of("text '12.50'"), form_of("text '1e-05'")
    ("aaaa '00.00' ending in '0'", "aaaa '0a-00' ending in '5'")
    """
    text = _CUT.sub("", label)
    end = text.rstrip("'\"")[-1:]
    return f"{text.translate(_KINDS)} ending in {end!r}"


def _coarse_form_of(form: str) -> str:
    """Return the coarse form of a label with this form: which kinds of characters it has.

    >>> _coarse_form_of(form_of("text '1e-05'"))
    "aaaa ' '-0a'"
    """
    beginning, _, rest = form.partition(" ")
    kinds = set(rest.rpartition(" ending in ")[0].strip("'\""))
    return f"{beginning} ' {''.join(sorted(kinds))!r}"


def form_in_words(form: str) -> str:
    """Return the form of a text in words.

    >>> form_in_words(form_of("text '12.50'")), form_in_words(_coarse_form_of(form_of("text 'x1'")))
    ("like '00.00' ending in '0'", "with the characters '0a'")
    """
    _, _, rest = form.partition(" ")
    coarse = rest.startswith("' ")
    return f"with the characters {rest[2:]}" if coarse else f"like {rest}"


@dataclass(frozen=True, eq=False)
class FormOdds:
    """Log odds of side 1 of new labels, by their form, or by their coarse form if they have few of their form.

    Args:
        forms: `(n_forms,)` forms and coarse forms with `MIN_LABEL_RUNS` pilot runs or more, sorted.
        counts: `(2, n_forms)` their runs on the two sides.
        n: pilot runs of each side.
    """

    forms: NDArray[np.str_]
    counts: Ints
    n: tuple[int, int]

    @classmethod
    def learn(cls, labels: NDArray[np.str_], counts: Ints, n: tuple[int, int]) -> FormOdds:
        """Learn from `(n_labels,)` labels of the pilot and their `(2, n_labels)` runs."""
        single = counts.sum(axis=0) == 1
        forms = np.array([form_of(label) for label in labels[single].tolist()], dtype=object)
        names, at, size = np.unique(forms.astype(np.str_), return_inverse=True, return_counts=True)
        rare = (size < MIN_LABEL_RUNS)[at]
        forms[rare] = [_coarse_form_of(form) for form in forms[rare]]
        names, at = np.unique(forms.astype(np.str_), return_inverse=True)
        runs = np.stack([np.bincount(at, weights=counts[side, single], minlength=len(names)) for side in (0, 1)])
        frequent = runs.sum(axis=0) >= MIN_LABEL_RUNS
        return cls(names[frequent].astype(np.str_), runs[:, frequent].astype(np.int64), n)

    def of_new(self) -> Floats:
        """Return the log odds of a new label of each form, shape `(n_forms,)`."""
        return odds_of_counts(self.counts, self.n)

    def places(self, labels: NDArray[np.str_]) -> Ints:
        """Return the index of the form of each label, -1 for another form; shape as `labels`."""
        index = {form: at for at, form in enumerate(self.forms.tolist())}
        if not index:
            return np.full(len(labels), -1)
        forms = map(form_of, labels.tolist())
        return np.array([index[form] if form in index else index.get(_coarse_form_of(form), -1) for form in forms])

    def left_out(self, places: Ints, side: int) -> Floats:
        """Return the log odds of forms without one run on a side; `places` >= 0."""
        counts = self.counts[:, places]
        counts[side] -= 1
        return replace(self, counts=counts).of_new()
