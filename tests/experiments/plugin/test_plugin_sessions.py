"""Whole sessions of pytest, each in a process of its own."""

import math
import re

import pytest
from scipy.stats import binom
from tests.experiments.plugin.plugin_project import Project

from dpassay.experiments.plugin.budget import share
from dpassay.mechanisms.core import number

RELEASES = """
    def noisy_count(dataset, size, rng):
        return len(dataset) + rng.laplace(scale=1.0, size=size)

    def leaky_count(dataset, size, rng):
        return len(dataset) + rng.laplace(scale=0.25, size=size)
"""

KEPT = """
    import pytest
    from releases import noisy_count

    pytestmark = pytest.mark.dp(d0=[1, 2, 3], d1=[1, 2, 3, 4], relation="add_remove", attack="threshold", trials=4_000)

    @pytest.mark.dp(epsilon=1.0)
    def test_count(dp_audit):
        result = dp_audit(noisy_count)
        assert result.ledger[-1].what == "test session"
        assert result.bound.epsilon <= result.claim == 1.0

    @pytest.mark.parametrize("epsilon", [1.0, 1.5])
    def test_counts(dp_audit, epsilon):
        dp_audit(noisy_count, epsilon=epsilon)

    @pytest.mark.xdist_group("together")
    def test_three_times(dp_audit):
        from dpassay.mechanisms import Laplace, PureDP

        dp_audit(noisy_count, epsilon=2.0)
        dp_audit(noisy_count, claim=PureDP(1.0))
        dp_audit(Laplace(epsilon=1.0), neighbours=Laplace(epsilon=1.0).worst_case(), epsilon=1.0, attack="auto")

    def test_without_privacy():
        pass
"""

BROKEN = """
    import pytest
    from releases import leaky_count, noisy_count

    @pytest.mark.dp(epsilon=1.0, d0=[1, 2], d1=[1, 2, 3], relation="add_remove", attack="threshold", trials=4_000)
    def test_leak(dp_audit):
        dp_audit(noisy_count)
        dp_audit(leaky_count)
"""

N_TESTS = 5


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("kept"))
    ini = "[pytest]\nmarkers =\n    xdist_group: known without pytest-xdist too\n"
    return project.write(releases=RELEASES, test_kept=KEPT, test_broken=BROKEN, pytest_ini=ini)


@pytest.fixture(scope="module")
def session(project):
    return project.run(fresh=True)


class TestVerdicts:
    def test_kept_claims_pass_and_a_broken_one_fails_the_session(self, session):
        assert session.code == 1
        assert "1 failed, 5 passed" in session.output
        verdicts = {key: check["verdict"] for key, check in session.checks.items()}
        assert verdicts.pop(("test_broken.py::test_leak", 2)) == "violation"
        assert set(verdicts.values()) == {"consistent"}
        assert len(verdicts) == 7

    def test_a_failure_is_the_line_of_the_test_and_the_evidence(self, session):
        lines = session.section("test_leak")
        assert lines[0] == "test_broken.py:8: in test_leak"
        assert lines[1].strip() == "dp_audit(leaky_count)"
        evidence = [line for line in lines if line.startswith("E ")]
        assert len(lines) == 2 + len(evidence) <= 20
        assert "PrivacyViolation: VIOLATION:" in evidence[0]
        assert "but at most 1 is claimed" in evidence[0]
        assert "is wrong, with 99.9999" in evidence[1]
        assert any("leaky_count" in line for line in evidence)

    def test_values_stand_on_the_terminal_and_not_in_the_junit_file_of_pytest(self, session):
        lines = session.section("values of the evidence")
        assert {"d0          [1, 2]", "d1          [1, 2, 3]"} < set(lines)
        outputs = [line.split("  ")[-1].strip() for line in lines if line.startswith("outputs ")]
        assert outputs
        assert "but at most 1 is claimed" in session.junit
        assert [value for value in (*outputs, "[1, 2]", "[1, 2, 3]") if value in session.junit] == []

    def test_a_failure_shows_no_line_of_the_library(self, session):
        for file in ("pytest_plugin.py", "check.py", "api.py"):
            assert file not in session.output

    def test_the_short_summary_names_the_violation(self, session):
        line = next(line for line in session.output.splitlines() if line.startswith("FAILED"))
        assert "test_leak - VIOLATION: epsilon >= " in line


class TestBudget:
    def test_each_call_runs_at_its_share(self, session):
        for (_, call), check in session.checks.items():
            assert check["significance"] == pytest.approx(share(1e-6, N_TESTS, call), rel=1e-8)
            assert check["significance"] <= share(1e-6, N_TESTS, call)

    def test_option_and_ini_set_the_budget_and_the_option_wins(self, tmp_path):
        project = Project(tmp_path).write(
            releases=RELEASES, test_kept=KEPT, pytest_ini="[pytest]\ndp_false_alarm = 1e-3\nmarkers = xdist_group\n"
        )
        from_ini = project.run("-k", "test_count and not counts")
        assert from_ini.checks["test_kept.py::test_count", 1]["significance"] == pytest.approx(share(1e-3, 1, 1))
        from_option = project.run("-k", "test_counts", "--dp-false-alarm=1e-4", "--dp-trials=5000")
        significances = [check["significance"] for check in from_option.checks.values()]
        assert significances == pytest.approx([share(1e-4, 2, 1)] * 2)
        assert {c["trials"] for c in from_option.checks.values()} == {5000}

    @pytest.mark.slow
    def test_sessions_of_kept_claims_fail_no_more_often_than_their_budget(self, tmp_path):
        """Without the shares each of 120 checks would fail 3 times in 10, and every session would."""
        text = """
            import pytest
            from dpassay.mechanisms import RandomizedResponse

            @pytest.mark.parametrize("number", range(40))
            def test_exact_claim(dp_audit, number):
                for _ in range(3):
                    dp_audit(RandomizedResponse(epsilon=1.0), trials=2_000)
        """
        project, n = Project(tmp_path).write(test_many=text), 15
        codes = [project.run("--dp-false-alarm=0.3", f"--dp-seed={seed}", "-q").code for seed in range(n)]
        assert set(codes) <= {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        assert sum(code != pytest.ExitCode.OK for code in codes) <= binom.isf(1e-6, n, 0.3)

    def test_the_summary_adds_up(self, session):
        lines = session.section("privacy checks (dpassay)")
        spent = math.fsum(check["significance"] for check in session.checks.values())
        assert lines[0].startswith("8 checks, seed 0.")
        assert f"at most {number(spent, 2)}, of a budget of 1e-6 for" in lines[0]
        assert len(lines) == 2 + 8
        assert lines[1].split() == ["verdict", "claim", "bound", "detects", "false", "alarm", "test"]
        leak = next(line for line in lines if "test_leak (check 2)" in line).split()
        check = session.checks["test_broken.py::test_leak", 2]
        assert leak[:3] == ["violation", "1", number(check["bound"])]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    text = """
        from releases import Laplace, elsewhere

        PAIR = {"d0": [1, 0], "d1": [1, 0, 0], "relation": "add_remove"}

        def by_count(dataset, rng):
            return (sum(dataset) + rng.laplace()) / len(dataset)

        def raises(dataset, rng):
            return rng.laplace(scale=-1.0)

        def test_leak(dp_record):
            dp_record(by_count, epsilon=1.0, **PAIR)

        def test_raises(dp_record):
            dp_record(raises, epsilon=1.0, **PAIR)

        def test_half_a_pair(dp_record):
            dp_record(by_count, epsilon=1.0, d0=[1])

        def test_one(dp_audit):
            dp_audit(elsewhere, epsilon=1.0, trials=300, attack="threshold", **PAIR)

        def test_two(dp_audit):
            dp_audit(elsewhere, epsilon=1.0, trials=300, attack="threshold", **PAIR)
    """
    releases = """
        import os
        from dpassay.mechanisms import Laplace

        def elsewhere(dataset, rng):
            return int.from_bytes(os.urandom(6), "big")
    """
    return Project(tmp_path_factory.mktemp("recorded")).write(releases=releases, test_it=text).run()


class TestRecorded:
    def test_a_finding_is_the_line_of_the_test_and_a_line_each(self, recorded):
        lines = recorded.section("_ test_leak _")
        assert lines[1].strip() == "dp_record(by_count, epsilon=1.0, **PAIR)"
        assert len(lines) == 4
        assert "FAILED test_it.py::test_leak - VIOLATION: by_count is not private" in recorded.output

    def test_no_line_of_the_library_is_shown(self, recorded):
        for test in ("test_leak", "test_raises", "test_half_a_pair"):
            shown = "\n".join(recorded.section(f"_ {test} _"))
            for file in ("program.py", "tape.py", "standard.py", "recorded.py", "options.py"):
                assert file not in shown

    def test_a_warning_that_two_checks_share_is_shown_once(self, recorded):
        shown = [line for line in recorded.output.splitlines() if "no seed repeats these runs" in line]
        assert len(shown) == 1
        assert shown[0].endswith("(in 2 checks)")


class TestDeterminism:
    def test_workers_and_hash_seeds_do_not_change_a_number(self, project, session):
        spread = project.run("-p", "xdist", "-n", "2", "--dist", "loadgroup", PYTHONHASHSEED="77")
        assert spread.checks == session.checks
        assert spread.section("privacy checks (dpassay)") == session.section("privacy checks (dpassay)")
        assert spread.section("test_leak")[-12:] == session.section("test_leak")[-12:]

    def test_a_selection_keeps_the_trials_and_gets_larger_shares(self, project, session):
        selected = project.run("test_kept.py::test_count", "--dp-seed=0").checks["test_kept.py::test_count", 1]
        all_tests = session.checks["test_kept.py::test_count", 1]
        assert selected["seed"] == all_tests["seed"]
        assert selected["significance"] == pytest.approx(N_TESTS * all_tests["significance"])
        assert selected["bound"] > all_tests["bound"]

    def test_another_seed_gives_other_trials(self, project, session):
        other = project.run("test_kept.py::test_count", "--dp-seed=1").checks["test_kept.py::test_count", 1]
        assert other["seed"] != session.checks["test_kept.py::test_count", 1]["seed"]

    def test_every_call_has_a_stream_of_its_own(self, session):
        assert len({check["seed"] for check in session.checks.values()}) == len(session.checks)


@pytest.fixture(scope="module")
def misused(tmp_path_factory):
    text = """
        import pytest
        from releases import leaky_count, noisy_count

        PAIR = {"d0": [1], "d1": [1, 2], "relation": "add_remove"}

        def test_no_relation(dp_audit):
            dp_audit(noisy_count, epsilon=1.0, d0=[1], d1=[1, 2])

        def test_wrong_relation(dp_audit):
            dp_audit(noisy_count, epsilon=1.0, d0=[1], d1=[1, 2], relation="add-remove")

        def test_half_a_pair(dp_audit):
            dp_audit(noisy_count, epsilon=1.0, d0=[1], relation="add_remove")

        def test_no_claim(dp_audit):
            dp_audit(noisy_count, **PAIR)

        def test_no_pair(dp_audit):
            dp_audit(noisy_count, epsilon=1.0)

        def test_negative_epsilon(dp_audit):
            dp_audit(noisy_count, epsilon=-1.0, **PAIR)

        def test_not_a_mechanism(dp_audit):
            dp_audit(3, epsilon=1.0, **PAIR)

        def test_too_few_trials(dp_audit):
            dp_audit(noisy_count, epsilon=1.0, trials=1, **PAIR)

        @pytest.mark.dp(epsilom=1.0)
        def test_unknown_option(dp_audit):
            dp_audit(noisy_count, **PAIR)

        @pytest.mark.dp(1.0)
        def test_by_position(dp_audit):
            dp_audit(noisy_count, **PAIR)

        def test_datasets_by_position(dp_audit):
            dp_audit(noisy_count, [1.0], [])

        @pytest.mark.dp(epsilon=1.0, **PAIR)
        def test_marked_without_a_check():
            pass

        def test_with_the_fixture_and_without_a_check(dp_audit):
            pass

        def test_too_late(request):
            request.getfixturevalue("dp_audit")

        def test_expected_leak(dp_audit):
            from dpassay.mechanisms.core.errors import PrivacyViolation

            with pytest.raises(PrivacyViolation, match="1 is claimed"):
                dp_audit(leaky_count, epsilon=1.0, attack="threshold", trials=4_000, **PAIR)
    """
    return Project(tmp_path_factory.mktemp("misuse")).write(releases=RELEASES, test_misuse=text).run()


class TestMisuse:
    @pytest.mark.parametrize(
        ("test", "message"),
        [
            ("test_no_relation", "relation is missing; it states how d0 and d1 differ: 'add_remove', 'replace_one'"),
            ("test_wrong_relation", "Did you mean 'add_remove'"),
            ("test_half_a_pair", "needs both d0 and d1"),
            ("test_no_claim", "claim must be given for a function such as noisy_count"),
            ("test_no_pair", "neighbours must be given for a function such as noisy_count"),
            ("test_negative_epsilon", "epsilon must be"),
            ("test_not_a_mechanism", "mechanism must be a Mechanism or a function"),
            ("test_too_few_trials", "trials must be"),
            ("test_unknown_option", "'epsilom'. Did you mean 'epsilon'?"),
            ("test_by_position", "pytest.mark.dp accepts options by name only, but got (1.0,)"),
            ("test_datasets_by_position", "dp_audit accepts options by name only, but got ([1.0], [])"),
            ("test_marked_without_a_check", "is a privacy test, but it checked nothing. Use the fixture dp_audit"),
            ("test_with_the_fixture_and_without_a_check", "is a privacy test, but it checked nothing"),
            ("test_too_late", "too late for a share of the session's false-alarm budget"),
        ],
    )
    def test_it_is_named_with_the_way_out(self, misused, test, message):
        shown = "\n".join(misused.section(f"_ {test} _"))
        assert message in shown
        for file in ("pytest_plugin.py", "check.py", "api.py"):
            assert file not in shown

    def test_a_leak_that_a_test_expects_passes(self, misused):
        assert "14 failed, 1 passed" in misused.output or "13 failed, 1 passed, 1 error" in misused.output
        assert misused.checks["test_misuse.py::test_expected_leak", 1]["verdict"] == "violation"

    @pytest.mark.parametrize("option", ["--dp-false-alarm=0", "--dp-false-alarm=often", "--dp-trials=0"])
    def test_options_out_of_range_stop_the_session_at_its_start(self, tmp_path, option):
        session = Project(tmp_path).write(test_nothing="def test_nothing(): pass").run(option)
        assert session.code == pytest.ExitCode.USAGE_ERROR
        assert f"{option.partition('=')[0]} must " in session.output


class TestUnderpowered:
    TEXT = """
        import pytest
        from releases import noisy_count

        @pytest.mark.dp(epsilon=8.0, d0=[1], d1=[1, 2], relation="add_remove", attack="threshold", trials=2_000)
        def test_large_claim(dp_audit):
            dp_audit(noisy_count)
    """

    @pytest.fixture
    def project(self, tmp_path):
        return Project(tmp_path).write(releases=RELEASES, test_power=self.TEXT)

    def test_it_passes_with_a_note_that_says_what_would_help(self, project):
        session = project.run()
        assert session.code == 0
        note = next(
            line for line in session.section("privacy checks") if "underpowered: the bound from 2,000 runs" in line
        )
        assert "can never refute a claim of 8" in note
        enough = int(re.search(r"\(([\d,]+) with the pilot\)", note)[1].replace(",", ""))
        assert (
            project.run(f"--dp-trials={enough}").checks["test_power.py::test_large_claim", 1]["verdict"] == "consistent"
        )

    def test_it_fails_when_strict(self, project):
        session = project.run("--dp-strict")
        assert session.code == 1
        assert session.section("_ test_large_claim _")[0].startswith(
            "underpowered: the bound from 2,000 runs a side is at most"
        )


class TestCost:
    def test_a_session_without_privacy_tests_imports_only_the_plugin(self, tmp_path):
        text = """
            import sys

            def test_nothing_was_imported():
                ours = {name for name in sys.modules if name.startswith("dpassay.")}
                own = ("dpassay.pytest_plugin", "dpassay.experiments.plugin")
                lazy = {"", ".core", ".core.lazy_names"}
                light = {"dpassay.experiments"} | {f"dpassay.mechanisms{name}" for name in lazy}
                assert {name for name in ours if not name.startswith(own)} == light
                assert "numpy" not in sys.modules
        """
        session = Project(tmp_path).write(test_it=text).run(fresh=True)
        assert session.code == 0
        assert "privacy checks" not in session.output


def test_dp_stop_ends_failing_checks_early(tmp_path):
    project = Project(tmp_path).write(
        releases=RELEASES,
        test_broken="""
            import pytest
            from releases import leaky_count

            pytestmark = pytest.mark.dp(d0=[1, 2], d1=[1, 2, 3], relation="add_remove", epsilon=1.0, trials=4_000)

            def test_by_option(dp_audit):
                dp_audit(leaky_count, stop="anytime", attack="threshold")

            def test_by_session(dp_audit):
                dp_audit(leaky_count, attack="threshold")

            def test_with_a_bound_of_its_own(dp_audit):
                dp_audit(leaky_count, attack="threshold", bound="simultaneous-band")
        """,
    )
    trials = {}
    for arguments in ((), ("--dp-stop", "anytime")):
        session = project.run(*arguments)
        assert session.code == 1
        trials[arguments] = [session.checks[key]["trials"] for key in sorted(session.checks)]
        assert all(check["verdict"] == "violation" for check in session.checks.values())
    with_option, with_session_option, other_bound = trials["--dp-stop", "anytime"]
    assert with_option < 1_000
    assert with_session_option < 1_000
    assert other_bound == 4_000
    assert trials[()][1:] == [4_000, 4_000]
    project.write(pytest_ini="[pytest]\ndp_stop = soon\n")
    assert "dp_stop must be anytime" in project.run().output
