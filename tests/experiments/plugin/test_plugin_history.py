"""Checks of a session that add their evidence to a history of builds."""

from tests.experiments.plugin.plugin_project import Project

from dpassay.experiments.ci.history import History

TESTS = """
    from dpassay.mechanisms import Laplace

    def test_noise(dp_audit):
        dp_audit(Laplace(epsilon=1.4), epsilon=1.0, trials=400, history="audits.jsonl")
"""


def test_sessions_together_refute_a_claim_that_none_refutes_alone(tmp_path):
    project, file = Project(tmp_path).write(test_mine=TESTS), tmp_path / "audits.jsonl"
    for session in range(1, 8):
        done = project.run("-p", "no:randomly")
        assert len(History.read(file).builds) == session
        if done.code:
            break
        assert History.read(file).verdict.value == "consistent"
    last = History.read(file).last
    assert (last.own.verdict.value, last.verdict.value) == ("consistent", "violation")
    assert "VIOLATION" in done.output
    assert "refute the claim for at least one of them" in done.output
