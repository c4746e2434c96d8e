"""One run of the user's own training loop, with a coin for each canary."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.games.coins import Coins
from dpassay.audit.results.withheld import without_values
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP
from dpassay.mechanisms.core import ParameterError

N = 600
CLAIM = ApproximateDP(1.0, 1e-5)


def tossed(n=N, seed=0):
    return Coins.toss([f"record {i}" for i in range(n)], seed=seed)


def losses_of(coins, leak, rng):
    return dict(zip(coins.ids, rng.normal(size=len(coins.ids)) - leak * coins.included, strict=True))


def test_a_leak_of_more_than_the_claim_is_a_violation():
    coins = tossed()
    result = coins.audit(losses=losses_of(coins, 5.0, np.random.default_rng(1)), claim=CLAIM)
    assert result.verdict.value == "violation"


class TestTheCanariesWhoseGuessesRefuteAClaim:
    def test_few_records_that_leak_are_named_and_no_other(self):
        coins, rng = tossed(), np.random.default_rng(1)
        leaked = [id_ for id_, is_in in zip(coins.ids, coins.included, strict=True) if is_in][:60]
        losses = dict(zip(coins.ids, rng.normal(size=N), strict=True)) | {id_: -9.0 - i for i, id_ in enumerate(leaked)}
        result = coins.audit(losses=losses, claim=CLAIM)
        assert result.bound.guesses == (50, 0)
        assert result.guessed.right == tuple(reversed(leaked[10:]))  # the lowest losses are the surest guesses
        assert result.guessed.wrong == ()
        assert "the 50 highest of all scores" in str(result.summary())
        assert "more guesses of the attack are right than the claim allows, 50 of 50" in str(result.summary())
        assert f"guessed right  {'; '.join(leaked[:-6:-1])}; and 45 more" in str(result.summary())

    def test_right_and_wrong_guesses_of_both_kinds_are_those_that_the_ledger_counts(self):
        coins = tossed()
        losses = losses_of(coins, 2.5, np.random.default_rng(1))
        result = coins.audit(losses=losses, claim=PureDP(0.5), bound="one-run")
        right, wrong, is_in = result.guessed.right, result.guessed.wrong, set(coins.included_ids)
        n_in, n_out = result.bound.guesses
        assert (n_in, n_out) == (150, 150)
        assert f"{len(right)} right" in result.bound.ledger[-1].looked_at
        assert len(wrong) > 0
        assert len({*right, *wrong}) == n_in + n_out == len(right) + len(wrong)
        lowest = set(sorted(losses, key=losses.get)[:n_in])
        assert {id_ for id_ in right if id_ in is_in} | {id_ for id_ in wrong if id_ not in is_in} == lowest

    def test_no_canary_is_named_where_no_guesses_refute_the_claim(self):
        coins = tossed()
        losses = losses_of(coins, 2.0, np.random.default_rng(1))
        assert coins.audit(losses=losses, claim=PureDP(9.0)).guessed is None
        by_size = OneRun(center=0.0)
        refuted = coins.audit(losses=losses_of(coins, 9.0, np.random.default_rng(1)), claim=CLAIM, bound=by_size)
        assert (refuted.verdict.value, refuted.guessed) == ("violation", None)

    def test_ids_are_not_passed_on(self):
        coins = tossed()
        result = coins.audit(losses=losses_of(coins, 5.0, np.random.default_rng(1)), claim=CLAIM)
        assert "record 1" in result.to_json()
        assert "record 1" not in without_values(result).to_json()


def test_scores_are_minus_losses():
    coins = tossed()
    losses = losses_of(coins, 2.0, np.random.default_rng(1))
    scores = {id_: -loss for id_, loss in losses.items()}
    assert coins.audit(losses=losses, claim=CLAIM).bound == coins.audit(scores, claim=CLAIM).bound


def test_scores_are_joined_by_id_in_any_order_and_type():
    coins = Coins.toss(range(N), seed=3)
    values = pd.Series(np.random.default_rng(2).normal(size=N), index=np.arange(N))
    expected = coins.evidence(values).scores
    np.testing.assert_array_equal(expected[0], values)
    for same in (values[::-1], dict(values), {str(key): value for key, value in values.items()}):
        np.testing.assert_array_equal(coins.evidence(same).scores, expected)


def test_coins_of_a_seed_repeat_and_differ_from_those_of_another_seed():
    first, second, other = (tossed(seed=seed).included for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert 200 < np.count_nonzero(first != other) < 400  # 300 on average; outside with probability 1e-16


def test_coins_without_a_seed_are_fair():
    n_heads = Coins.toss(range(100_000)).included.sum()
    assert stats.binomtest(int(n_heads), 100_000).pvalue > 1e-6


@pytest.mark.usefixtures("without_power")
def test_a_true_claim_is_refuted_no_more_often_than_stated():
    """A mechanism with mu = 1 on each canary, audited at its exact claim: at most 5 % of 150 runs may violate it."""
    rng = np.random.default_rng(7)
    violations = 0
    for seed in range(150):
        coins = tossed(300, seed)
        result = coins.audit(losses=losses_of(coins, 1.0, rng), claim=GaussianDP(1.0), delta=1e-5)
        violations += result.verdict.value == "violation"
    assert violations <= stats.binom.isf(1e-6, 150, 0.05)


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ({"record 0": 1.0, "typo": 2.0}, "'typo' has none"),
        ({**{f"record {i}": 1.0 for i in range(N)}, "record 5": "high"}, "that of 'record 5' is 'high'"),
        ({f"record {i}": 1.0 for i in range(N // 2 - 1)}, "are missing or NaN"),
        ([1.0] * N, "but is list"),
        (pd.Series([1.0] * (N + 1), index=[f"record {i % N}" for i in range(N + 1)]), "several for 'record 0'"),
    ],
    ids=["unknown-id", "text", "too-few", "list", "duplicate"],
)
def test_scores_that_cannot_be_joined_are_refused(scores, problem):
    with pytest.raises(ParameterError, match=problem):
        tossed().audit(scores, claim=CLAIM)


def test_exactly_one_of_scores_and_losses_is_required():
    coins = tossed()
    values = losses_of(coins, 1.0, np.random.default_rng(0))
    for given in ({}, {"scores": values, "losses": values}):
        with pytest.raises(ParameterError, match="one of scores"):
            coins.audit(**given, claim=CLAIM)


def test_missing_scores_are_counted_and_guessed_last():
    coins = tossed()
    losses = losses_of(coins, 3.0, np.random.default_rng(1))
    for id_ in coins.ids[:60]:
        losses[id_] = math.nan
    for id_ in coins.ids[60:90]:
        del losses[id_]
    result = coins.audit(losses=losses, claim=CLAIM)
    assert "90 of 600" in str(result.ledger)
    scores = coins.evidence(losses=losses).scores[0]
    assert set(scores[:90]) == {np.median(scores[90:])}


def test_scores_of_one_side_only_are_refused():
    coins = tossed()
    inside = dict.fromkeys(coins.included_ids, 1.0)
    some = dict.fromkeys(set(coins.ids) - set(coins.included_ids), 1.0)
    for partial in (inside, some):
        more = dict(list({id_: 0.0 for id_ in coins.ids if id_ not in partial}.items())[:30])
        with pytest.raises(ParameterError, match=r"missing independently of the coins|at least half"):
            coins.audit(partial | more, claim=CLAIM)


def test_inverted_scores_leave_no_verdict_and_random_ones_do():
    coins = tossed()
    rng = np.random.default_rng(4)
    with pytest.raises(
        ParameterError, match=r"lower scores than .* there is no verdict. Give losses with the opposite"
    ):
        coins.audit(losses_of(coins, 2.0, rng), claim=CLAIM)
    assert tossed().audit(losses_of(coins, 0.0, rng), claim=CLAIM).warnings == ()


def test_a_second_set_of_scores_is_warned_of_with_the_confidence_of_both():
    coins, rng = tossed(), np.random.default_rng(4)
    first, second = losses_of(coins, 0.0, rng), losses_of(coins, 0.0, rng)
    for epsilon in (1.0, 2.0, 1.0):  # the same scores again, and nested claims, are no new look
        assert coins.audit(losses=first, claim=ApproximateDP(epsilon, 1e-5), source="a.csv").warnings == ()
    (warning,) = coins.audit(losses=second, claim=CLAIM).warnings
    assert "a.csv" in warning
    assert "the 2 looks have 90 % confidence, not 95 %" in warning


@pytest.mark.parametrize("other", [{"delta": 1e-3}, {"bound": "one-run"}, {"claim": GaussianDP(1.0), "delta": 1e-5}])
def test_another_question_to_the_same_scores_is_another_look(other):
    coins = tossed()
    losses = losses_of(coins, 0.0, np.random.default_rng(4))
    assert coins.audit(losses=losses, claim=CLAIM).warnings == ()
    assert "2 looks" in coins.audit(losses=losses, **({"claim": CLAIM} | other)).warnings[0]


def test_planned_looks_share_the_significance_and_one_more_is_warned_of():
    coins, rng = tossed(), np.random.default_rng(4)
    for _ in range(2):
        result = coins.audit(losses=losses_of(coins, 0.0, rng), claim=CLAIM, looks=2)
        assert (result.warnings, result.confidence) == ((), pytest.approx(0.975))
    third = coins.audit(losses=losses_of(coins, 0.0, rng), claim=CLAIM, looks=2)
    assert "the 3 looks have 92.5 % confidence" in third.warnings[0]


def test_a_look_that_was_made_at_a_larger_significance_keeps_it():
    coins, rng = tossed(), np.random.default_rng(4)
    first, second = losses_of(coins, 0.0, rng), losses_of(coins, 0.0, rng)
    coins.audit(losses=first, claim=CLAIM)
    coins.audit(losses=first, claim=CLAIM, looks=2)
    assert "92.5 %" in coins.audit(losses=second, claim=CLAIM, looks=2).warnings[0]


@pytest.mark.parametrize("sealed", ["at the toss", "afterwards"])
def test_looks_at_coins_in_a_file_are_counted_across_processes(tmp_path, sealed):
    file = tmp_path / "coins.json"
    coins = Coins.toss(range(N), seed=0, file=file if sealed == "at the toss" else None)
    rng = np.random.default_rng(4)
    first = losses_of(coins, 0.0, rng)
    assert coins.audit(losses=first, claim=CLAIM, source="a.csv").warnings == ()
    if sealed == "afterwards":
        coins.save(file)
    assert Coins.load(file).audit(losses=first, claim=CLAIM).warnings == ()
    warnings = Coins.load(file).audit(losses=losses_of(coins, 0.0, rng), claim=CLAIM).warnings
    assert ["a.csv" in warning for warning in warnings] == [True]
    file.unlink()
    other = Coins.toss(range(N), seed=1, file=file)  # looks at other coins do not count
    assert other.audit(losses=first, claim=CLAIM).warnings == ()


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff", b'{"coins": 1}', b"[" * 100_000])
def test_a_damaged_record_of_looks_is_refused(tmp_path, content):
    coins = Coins.toss(range(N), seed=0, file=tmp_path / "coins.json")
    (tmp_path / "coins.json.looks").write_bytes(content)
    losses = losses_of(coins, 0.0, np.random.default_rng(4))
    if not content:
        assert coins.audit(losses=losses, claim=CLAIM).warnings == ()
        return
    with pytest.raises(ParameterError, match=r"coins\.json\.looks"):
        coins.audit(losses=losses, claim=CLAIM)


def test_a_look_that_cannot_be_recorded_is_warned_of(tmp_path):
    coins = Coins.toss(range(N), seed=0, file=tmp_path / "coins.json")
    (tmp_path / "coins.json").unlink()
    tmp_path.rmdir()
    (warning,) = coins.audit(losses=losses_of(coins, 0.0, np.random.default_rng(4)), claim=CLAIM).warnings
    assert "cannot be recorded" in warning


def test_a_file_keeps_the_coins_and_shows_a_change(tmp_path):
    file = tmp_path / "coins.json"
    coins = Coins.toss(["a", "b", "c", "d"], file=file)
    again = Coins.load(file)
    assert (again.ids, again.digest) == (coins.ids, coins.digest)
    np.testing.assert_array_equal(again.included, coins.included)
    content = json.loads(file.read_text())
    content["included"], content["excluded"] = content["excluded"], content["included"]
    file.write_text(json.dumps(content))
    with pytest.raises(ParameterError, match="changed after the toss"):
        Coins.load(file)


def test_a_file_of_coins_is_not_overwritten(tmp_path):
    tossed().save(tmp_path / "coins.json")
    with pytest.raises(ParameterError, match=r"must not exist.* resume .* Coins\.load\('.*\.json'\)"):
        Coins.toss(range(3), file=tmp_path / "coins.json")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "dpassay coins 1"}', '{"format": 3}', "[" * 100_000, "\xff", "nul\0"]
)
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "coins.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ParameterError, match=r"coins\.json"):
        Coins.load(tmp_path / "coins.json")


@pytest.mark.parametrize("ids", [[], ["a", "a"], [1, "1"]])
def test_ids_must_exist_and_differ(ids):
    with pytest.raises(ParameterError, match="ids"):
        Coins.toss(ids)


def test_pure_claims_are_audited_too():
    coins = tossed()
    result = coins.audit(losses=losses_of(coins, 6.0, np.random.default_rng(1)), claim=PureDP(0.5), delta=0.0)
    assert result.verdict.value == "violation"


class Tensor:
    """What Coins reads of a tensor of PyTorch or JAX."""

    def __init__(self, value):
        self.value, self.ndim = value, np.ndim(value)

    def item(self):
        return np.asarray(self.value).item()

    def __str__(self):
        return f"tensor({self.value})"


@pytest.mark.parametrize("wrapped", [np.int64, np.int32, Tensor, str], ids=lambda kind: kind.__name__)
def test_ids_of_any_type_are_those_of_whole_numbers(wrapped):
    assert Coins.toss(map(wrapped, range(5)), seed=0).ids == ("0", "1", "2", "3", "4")


@pytest.mark.parametrize("wrapped", [np.float32, np.float16, np.array, lambda x: np.array([x]), Tensor])
def test_values_of_any_type_are_those_of_numbers(wrapped):
    coins, values = tossed(), np.arange(N, dtype=np.float64)
    given = {id_: wrapped(value) for id_, value in zip(coins.ids, values, strict=True)}
    np.testing.assert_array_equal(coins.evidence(given).scores[0], values)


@pytest.mark.parametrize("nothing", [None, pd.NA, math.nan])
def test_empty_values_are_missing_scores(nothing):
    values = {id_: nothing if i < 10 else float(i) for i, id_ in enumerate(tossed().ids)}
    assert "10 of 600" in str(tossed().audit(values, claim=CLAIM).ledger)


@pytest.mark.parametrize(
    "value",
    [
        "1.0",
        1j,
        np.complex64(1j),
        np.ones(2),
        np.datetime64(0, "ns"),
        np.timedelta64(0, "ns"),
        10**400,
        [1.0],
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_are_not_one_real_number_are_refused(value):
    with pytest.raises(ParameterError, match="one real number per id, but that of 'record 3'"):
        tossed().audit(dict.fromkeys(tossed().ids, 1.0) | {"record 3": value}, claim=CLAIM)


@pytest.mark.parametrize(
    "ids",
    ["abc", 5, None, np.ones((3, 2)), pd.DataFrame({"id": ["a", "b"]}), [1.0, 2.0], [None, "a"], [b"a"], [True], [""]],
    ids=repr,
)
def test_ids_that_are_neither_texts_nor_whole_numbers_are_refused(ids):
    with pytest.raises(ParameterError, match="ids must"):
        Coins.toss(ids)


def test_leading_zeros_are_part_of_an_id():
    coins = Coins.toss([f"{i:04}" for i in range(N)])
    with pytest.raises(ParameterError, match=r"'0', '1'.*begin with '0000'"):
        coins.audit(dict.fromkeys(range(N), 1.0), claim=CLAIM)


def test_many_unknown_ids_are_refused_at_once():
    coins = tossed(100_000)
    with pytest.raises(ParameterError, match="99995 more have none"):
        coins.audit(dict.fromkeys(range(100_000), 1.0), claim=CLAIM)


@pytest.mark.parametrize("name", ["coins.csv", "coins"])
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    with pytest.raises(ParameterError, match=r"must end in \.json, .* Try '.*coins\.json'"):
        Coins.toss(range(3), file=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_no_directory_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be written"):
        Coins.toss(range(3), file=tmp_path / "none" / "coins.json")


def test_missing_scores_among_infinite_ones_are_guessed_last():
    coins = tossed()
    values = [-math.inf, math.inf, -math.inf, math.inf, math.nan] * (len(coins.ids) // 5)
    assert set(coins.evidence(dict(zip(coins.ids, values, strict=True))).scores[0]) == {-math.inf, 0.0, math.inf}


def test_equal_scores_are_warned_of():
    coins = tossed()
    result = coins.audit(dict.fromkeys(coins.ids, 1.0), claim=CLAIM)
    assert "All 600 scores are 1" in result.warnings[0]
