"""`dp_audit(..., stress=True)`: one check of a session, on hostile data."""

from tests.experiments.plugin.plugin_project import Project

SUMS = """
    import numpy as np
    import pytest

    from dpassay.audit.search.hostile import FAMILIES

    KINDS = [name for name in FAMILIES if name not in ("nan", "order")]
    EXAMPLE = np.array([0.25, 0.7531])
    pytestmark = pytest.mark.dp(epsilon=1.0, d0=EXAMPLE, relation="add_remove", trials=120, stress=True)

    def noisy_sum(dataset, size, rng):
        return np.clip(dataset, 0, 1).sum() + rng.laplace(size=size)

    def right_sum(dataset, size, rng):
        return np.nan_to_num(dataset, nan=0.5).clip(0, 1).sum() + rng.laplace(size=size)

    def test_leaking(dp_audit):
        dp_audit(noisy_sum, bounds=(0, 1), without=KINDS)

    def test_right(dp_audit):
        result = dp_audit(right_sum, bounds=(0, 1), without=KINDS)
        assert result.reported.ledger[-1].what == "test session"

    def test_mixed(dp_audit):
        with pytest.raises(ValueError, match="one example dataset"):
            dp_audit(right_sum, d1=np.array([0.25]))

    def test_alone(dp_audit):
        with pytest.raises(ValueError, match="bounds is for stress"):
            dp_audit(right_sum, stress=False, d1=np.array([0.25]), bounds=(0, 1))
"""


def test_hostile_data_are_one_check_of_a_session(tmp_path):
    done = Project(tmp_path).write(test_sums=SUMS).run("--dp-false-alarm=1e-3")
    assert done.code == 1, done.output
    verdicts = {test.partition("::")[2]: check["verdict"] for (test, _), check in done.checks.items()}
    assert verdicts == {"test_leaking": "violation", "test_right": "consistent"}
    assert "1 kind of data of 2 refutes the claim" in done.output
    assert "np.array([0.25, 0.7531, nan])" in done.output
    assert "0.7531" not in done.junit
    shares = [check["significance"] for check in done.checks.values()]
    assert all(share <= 1e-3 / 4 for share in shares)
