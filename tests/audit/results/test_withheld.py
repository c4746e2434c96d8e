"""Cards and build servers see verdicts, numbers, kinds and parts; no output, and no dataset of the pair."""

import json

import pytest

from dpassay.audit import Verdict, audit, search
from dpassay.audit.bounds.base import LedgerEntry
from dpassay.audit.results.found_pair import CHOSEN, WINNER, found_rows, without_pairs
from dpassay.audit.results.withheld import without_values
from dpassay.experiments.ci.findings import findings_of
from dpassay.experiments.present.builds.badge import badge
from dpassay.experiments.present.builds.findings import Place
from dpassay.experiments.present.builds.junit import junit
from dpassay.experiments.present.builds.sarif import sarif
from dpassay.experiments.present.card.card import Origin, card_of
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.mechanisms import Laplace, Neighbours, PureDP

PAIR = Neighbours([71234, 2], [71234, 2, 79876], "add_remove")
ORIGIN = Origin(title="a run", unit="", command="", environment={}, hashes={})


def named(data, rng):
    return {"kind": "Ada Lovelace" if len(data) > 2 else "Bob Miller", "mean": rng.laplace()}


def raises(data, rng):
    if rng.random() < 0.5:
        raise KeyError("Ada Lovelace" if len(data) > 2 else "Bob Miller")
    return 1.0


def no_noise(data, rng):
    return float(sum(data))


def words(data, rng):
    return "Ada Lovelace" if len(data) > 2 else "Bob Miller"


SECRETS = ("71234", "79876", "Ada", "Lovelace", "Bob", "Miller", "151112", "71236")
FUNCTIONS = (named, raises, no_noise, words)


@pytest.fixture(scope="module", params=FUNCTIONS, ids=lambda function: function.__name__)
def leak(request):
    return audit(request.param, PAIR, claim=PureDP(0.5), trials=1_000, seed=0)


def sweep_of(*results):
    texts = {"name": "a", "title": "a", "description": "", "fingerprint": "", "seed": 0}
    return SweepResult.of([{"a": i} for i in range(len(results))], list(results), 0.95, **texts)


def shared_forms(result):
    found, sweep = findings_of(result, Place("noise.py:release")), sweep_of(result)
    card = card_of(sweep, ORIGIN)
    return {
        "sarif": sarif(found),
        "junit": junit(found),
        "badge": badge(result.text()),
        "card.json": card.to_json(),
        "card.md": card.to_markdown(),
        "headline": sweep.text().headline,
    }


def test_no_shared_form_has_an_output_or_a_dataset(leak):
    assert any(secret in leak.summary() for secret in SECRETS)
    for name, text in shared_forms(leak).items():
        assert [secret for secret in SECRETS if secret in text] == [], name


def test_verdict_numbers_and_parts_stay(leak):
    shown = without_values(leak)
    assert (shown.verdict, shown.bounds, shown.p_value) == (leak.verdict, leak.bounds, leak.p_value)
    assert shown.tally == leak.tally
    shown.check()
    if leak.mechanism == "named()":
        assert shown.deciding.rule == "mostly output['kind']"
        assert "mostly output['kind']" in sarif(findings_of(leak, Place("noise.py:release")))
    if leak.mechanism == "raises()":
        assert set(shown.events) == {"raised KeyError"}
        assert sum(map(sum, shown.events.values())) == sum(map(sum, leak.events.values()))
    if leak.mechanism == "no_noise()":
        (witness,) = shown.witnesses
        assert "gave an output on side 0 and another on side 1" in witness.what


@pytest.fixture(scope="module")
def searched():
    def ignores_the_range(dataset, size, rng):
        return dataset.sum() + rng.laplace(size=size)

    return search(ignores_the_range, domain="numbers 0..5", claim=PureDP(1.0), trials=2_000, seed=0)


def test_a_search_shows_the_pair_that_it_found_and_how_to_keep_it(searched):
    lines = searched.summary().splitlines()
    assert "found       d0 = [], d1 = [5.0]" in lines[:6]
    assert "keep it     --d0 '[]' --d1 '[5.0]' --relation add_remove" in lines[:6]
    assert not any(line.startswith("found") for line in audit(Laplace(1.0), trials=500, seed=0).summary().splitlines())


def test_no_shared_form_has_the_pair_of_a_search(searched):
    assert searched.verdict is Verdict.VIOLATION
    for name, text in shared_forms(searched.confirmed).items():
        assert "d0 = " not in text, name
        assert "d1 = " not in text, name
    ledger = json.loads(shared_forms(searched.confirmed)["card.json"])["audits"][0]["ledger"]
    assert [entry["looked_at"] for entry in ledger if entry["what"] == "pair"] == ["1 of 1"]


def test_the_pair_of_a_list_of_candidates_is_found_too():
    near, far = Neighbours(0.0, 0.3, "add_remove"), Neighbours(0.0, 1.0, "add_remove")
    ledger = search(Laplace(epsilon=1.0), [near, far], trials=4_000, seed=0).ledger
    assert found_rows(ledger) == [("found", "Neighbours(d0=0, d1=1, relation=add_remove)")]
    assert found_rows(without_pairs(ledger)) == []
    looks = [entry.looked_at for entry in without_pairs(ledger) if entry.what.startswith("look")]
    assert [look.partition(" under ")[0] for look in looks] == ["pair 1", "pair 2"]


@pytest.mark.parametrize(
    ("pair", "rows"),
    [
        ("d0 = [1, 2...", 1),
        ('d0 = ["a, d1 = under"], d1 = []', 2),
        ('d0 = ["it\'s"], d1 = []', 2),
    ],
)
def test_only_whole_datasets_are_offered_again(pair, rows):
    ledger = [LedgerEntry("pair", f"1 of 3: {pair}, d1 = []" if "..." in pair else f"1 of 3: {pair}", CHOSEN)]
    assert len(found_rows(ledger)) == rows
    (entry,) = without_pairs(ledger)
    assert entry.looked_at == "1 of 3"


def test_a_dataset_with_the_words_of_the_ledger_is_withheld():
    look = LedgerEntry("look 1", 'd0 = ["x under y"], d1 = [] under auto: epsilon >= 1 at confidence 0.75', WINNER)
    assert found_rows([look]) == [
        ("found", 'd0 = ["x under y"], d1 = []'),
        ("keep it", "--d0 '[\"x under y\"]' --d1 '[]'"),
    ]
    (entry,) = without_pairs([look])
    assert entry.looked_at == "a pair under auto: epsilon >= 1 at confidence 0.75"


def test_entries_of_a_card_name_their_audit():
    results = [audit(Laplace(1.0), trials=trials, seed=0) for trials in (500, 600)]
    rows = card_of(sweep_of(*results), ORIGIN).to_markdown()
    assert "| choice | looked at | correction | audit |" in rows
    assert "| sweep | 2 audits, each with a p-value for its claim | Holm over 2 at significance 0.05 | all |" in rows
    thresholds = [row.split("|")[-2].strip() for row in rows.splitlines() if row.startswith("| threshold |")]
    assert sorted(thresholds) == ["a = 0", "a = 1"]
    alone = card_of(sweep_of(results[0]), ORIGIN).to_markdown()
    assert "| choice | looked at | correction |\n" in alone


def test_a_pure_claim_that_the_bound_refutes_shows_no_other_point_of_its_curve():
    pure = audit(no_noise, PAIR, claim=PureDP(0.5), trials=1_000, seed=0)
    assert pure.curve_violation is not None
    assert not any(line.startswith("curve") for line in pure.summary().splitlines())
    elsewhere = audit(no_noise, PAIR, claim=PureDP(0.5), delta=1e-3, trials=1_000, seed=0)
    assert elsewhere.refuted_elsewhere is None
    assert not any(line.startswith("curve") for line in elsewhere.summary().splitlines())
