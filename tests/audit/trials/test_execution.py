"""Attacks learn where the audit runs, whatever backend the caller has set for trials."""

import joblib
import pytest
from joblib.parallel import BACKENDS, SequentialBackend

from dpassay.attacks.distinguishing import Classifier
from dpassay.audit import audit
from dpassay.mechanisms import Laplace


class Elsewhere(SequentialBackend):
    """Counts what it is handed, as a cluster would be."""

    handed = 0

    def submit(self, func, callback=None):
        type(self).handed += 1
        return super().submit(func, callback)

    def configure(self, n_jobs=1, **options):
        type(self).handed += 1
        return super().configure(n_jobs, **options)


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setitem(BACKENDS, "elsewhere", Elsewhere)
    monkeypatch.setattr(Elsewhere, "handed", 0)
    with joblib.parallel_config(backend="elsewhere"):
        yield Elsewhere


@pytest.mark.usefixtures("without_power")
def test_a_classifier_of_the_library_is_not_handed_to_the_backend_of_the_trials(elsewhere):
    """A forest asks joblib for workers; on a cluster its sums came back with other last digits."""
    audit(Laplace(epsilon=1.0), attack=Classifier(model="forest"), trials=400, n_jobs=1)
    assert elsewhere.handed == 0
