"""Results on disk: whatever is changed in them is noticed, and what is wrong with them has a name."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from numpy.typing import NDArray

from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.attacks.membership.shadows import Shadows, draw_inclusion
from dpassay.audit import AuditResult, SearchResult, StressResult, audit, search, stress
from dpassay.audit.calibration.certificate import Certificate, CertificatePlan, CertificateSetting, certify
from dpassay.audit.calibration.laws import randomized_response
from dpassay.audit.calibration.methods import catalogue_methods, uncorrected
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.metrics.membership import evaluate
from dpassay.audit.metrics.membership.result import MembershipResult
from dpassay.audit.results import saved
from dpassay.audit.results.saved import Saved
from dpassay.audit.search.hostile import FAMILIES
from dpassay.experiments.present.results.sweep import SweepResult, corrected
from dpassay.mechanisms import Laplace, Neighbours
from dpassay.mechanisms.accounting import GaussianDP, PureDP
from dpassay.mechanisms.core import ParameterError, ResultError
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"
MUTATIONS = 150
"""Of each of five types of result: 750."""


def one_audit():
    return audit(LaplaceInverseScale(epsilon=3.0), trials=400, seed=0)


def one_search():
    pairs = [Neighbours(0.0, d, "add_remove") for d in (0.3, 1.0)]
    return search(Laplace(epsilon=1.0), pairs, explore=100, trials=200, seed=0)


def one_stress():
    kinds = [name for name in FAMILIES if name not in ("ordinary", "nan")]
    return stress(Laplace(epsilon=1.0), claim=PureDP(0.2), without=kinds, trials=200, seed=0)


def one_sweep():
    results = [audit(Laplace(epsilon=e), trials=200, seed=1, claim=PureDP(0.2)) for e in (0.2, 3.0)]
    points, verdict, entry = corrected([{"mechanism.epsilon": e} for e in (0.2, 3.0)], results, confidence=0.9)
    return SweepResult("mine", "Title", "Words", "f" * 64, 3, 0.9, points, verdict, (entry,))


def one_membership():
    rng = np.random.default_rng(11)
    inclusion = draw_inclusion(8, 40, rng, design="pairs")
    signals = dict.fromkeys(("loss", "rescaled-logit"), rng.normal(size=inclusion.shape) + 1.5 * inclusion)
    shadows = Shadows(inclusion, np.zeros(40), signals, X=rng.normal(size=(40, 2)), partner=np.arange(8) ^ 1, fair=True)
    return evaluate(shadows, ["loss", LiRA(mode="offline-tail")], groups=np.arange(40) % 2, claim=GaussianDP(1.0))


def one_certificate():
    setting = CertificateSetting(randomized_response(1.0), (0.0,), ((20, 20),), repeats=20)
    return certify(
        CertificatePlan("tiny", (setting,)), [*catalogue_methods(("clopper-pearson",)), *uncorrected()], seed=1
    )


TYPES = {
    AuditResult: one_audit,
    SearchResult: one_search,
    StressResult: one_stress,
    SweepResult: one_sweep,
    MembershipResult: one_membership,
    Certificate: one_certificate,
}


@pytest.fixture(scope="module", params=TYPES, ids=lambda kind: kind.__name__)
def result(request):
    return TYPES[request.param]()


# --- reading back --------------------------------------------------------------------------------------------


def test_what_is_written_reads_back_equal_and_writes_the_same_bytes(result):
    text = result.to_json()
    again = type(result).from_json(text)
    assert again == result
    assert again.to_json() == text
    assert json.loads(text) == result.to_dict()


def test_spaces_and_line_breaks_do_not_matter(result):
    assert type(result).from_json(json.dumps(json.loads(result.to_json()))) == result


def test_the_published_schema_takes_the_result_and_nothing_else(result):
    file = SCHEMAS / f"{type(result).FORMAT.removeprefix('dpassay.')}.schema.json"
    schema = Draft202012Validator(json.loads(file.read_text()))
    content = json.loads(result.to_json())
    schema.validate(content)
    first = next(name for name in content if name not in ("format", "version", "sha256"))
    for wrong in ({first: {"strange": 1}}, {"version": 0}, {"sha256": "0"}, {"strange": 1}):
        assert not schema.is_valid(content | wrong), wrong
    assert not schema.is_valid({name: value for name, value in content.items() if name != first})


# --- what is changed is noticed --------------------------------------------------------------------------------


def mutated_text(text: str, rng: random.Random) -> str:
    """A few characters deleted, replaced, inserted, moved or repeated; or the end cut off."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, size = rng.randrange(len(text) + 1), rng.choice((1, 1, 2, 10, 200))
        piece = text[at : at + size]
        new = rng.choice(
            ["", piece * 2, "9", "-", ".", '"', "[" * size, "{", "\\ud800", "\x00", "null", "1e999", "NaN"]
        )
        text = text[:at] + new + text[at + size :] if rng.random() < 0.95 else text[:at]
    return text


def somewhere(data, rng: random.Random) -> tuple[dict | list, str | int]:
    """A container in a JSON value and a place in it; deep places are as likely as those in long lists."""
    while True:
        places = list(data) if isinstance(data, dict) else range(len(data))
        inside = data[place := rng.choice(places)]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.2:
            return data, place
        data = inside


STRANGE = (
    None,
    True,
    False,
    0,
    -1,
    2**70,
    0.5,
    -0.5,
    1e308,
    9.459,
    "",
    "inf",
    "nan",
    "consistent",
    [],
    [1],
    {},
    {"a": 1},
)


def mutated_value(text: str, rng: random.Random) -> dict:
    """One place holds something else, is gone, or has a neighbour that nobody knows."""
    data = json.loads(text)
    inner, place = somewhere(data, rng)
    kind = rng.randrange(4)
    if kind == 0:
        del inner[place]
    elif kind == 1 and isinstance(inner, dict):
        inner["new"] = rng.choice(STRANGE)
    else:
        inner[place] = rng.choice(STRANGE)
    return data


def test_a_changed_text_is_refused_or_equal_to_the_result(result):
    rng, text, refused = random.Random(5), result.to_json(), 0
    for turn in range(MUTATIONS):
        changed = json.dumps(mutated_value(text, rng)) if turn % 2 else mutated_text(text, rng)
        try:
            assert type(result).from_json(changed) == result
        except ResultError:
            refused += 1
    assert refused > 0.8 * MUTATIONS


def test_a_change_with_a_digest_of_its_own_is_refused_or_can_be_shown(result):
    rng, text = random.Random(6), result.to_json()
    for _ in range(MUTATIONS // 4):
        data = mutated_value(text, rng)
        data.pop("sha256", None)
        try:
            read = type(result).from_json(json.dumps(data | {"sha256": saved.digest(data)}))
        except ResultError:
            continue
        shown = [getattr(read, name, str)() for name in ("summary", "to_frame", "to_json")]
        assert all(part is not None for part in shown)


def with_digest(data: dict) -> str:
    content = {key: value for key, value in data.items() if key != "sha256"}
    return json.dumps(content | {"sha256": saved.digest(content)})


def test_an_edited_bound_does_not_stay_consistent():
    result = audit(Laplace(epsilon=0.5), trials=400, seed=0)
    assert result.verdict is Verdict.CONSISTENT
    data = result.to_dict()
    data["bounds"][0]["epsilon"] = 9.459
    with pytest.raises(ResultError, match="do not match their sha256: they were changed or damaged"):
        AuditResult.from_json(json.dumps(data))
    with pytest.raises(ResultError, match=r"the verdict is 'consistent', but epsilon >= 9\.459 .* 0\.5 is 'violation'"):
        AuditResult.from_json(with_digest(data))


@pytest.mark.parametrize("verdict", [Verdict.CONSISTENT, Verdict.UNDERPOWERED])
def test_a_violation_cannot_be_renamed(verdict):
    result = audit(Laplace(epsilon=2.0), trials=2_000, seed=0, claim=PureDP(0.5))
    assert result.verdict is Verdict.VIOLATION
    with pytest.raises(ResultError, match=f"the verdict is '{verdict.value}', but .* is 'violation'"):
        AuditResult.from_json(replace(result, verdict=verdict).to_json())


def test_the_verdicts_of_a_sweep_are_derived_again():
    sweep = one_sweep()
    assert [point.verdict for point in sweep.points] == [Verdict.CONSISTENT, Verdict.VIOLATION]
    tame = replace(sweep.points[1], verdict=Verdict.CONSISTENT)
    with pytest.raises(ResultError, match=r"points\[1\]: the verdict is consistent .*, but violation .* follows"):
        SweepResult.from_json(replace(sweep, points=(sweep.points[0], tame)).to_json())
    with pytest.raises(ResultError, match="verdict: it is consistent, but violation follows from the audits"):
        SweepResult.from_json(replace(sweep, verdict=Verdict.CONSISTENT).to_json())


@pytest.mark.parametrize(("verdict", "reason"), [(Verdict.DEPENDENT, None), (Verdict.CONSISTENT, "drift")])
def test_dependent_trials_have_no_other_verdict(verdict, reason):
    result = audit(Laplace(epsilon=0.5), trials=400, seed=0)
    with pytest.raises(ResultError, match=f"the verdict is '{verdict.value}', and the reason for dependent trials"):
        AuditResult.from_json(replace(result, verdict=verdict, dependence=reason).to_json())
    dependent = replace(result, verdict=Verdict.DEPENDENT, dependence="drift")
    assert AuditResult.from_json(dependent.to_json()) == dependent


def test_a_search_cannot_name_another_winner():
    result = one_search()
    assert result.winner == 1
    with pytest.raises(ResultError, match="winner: another look has the largest bound"):
        SearchResult.from_json(replace(result, winner=0).to_json())


def test_a_certificate_cannot_allow_itself_more_misses():
    result = one_certificate()
    loose = replace(result.cells[0], allowed=20)
    with pytest.raises(ResultError, match=r"cells\[0\]: 20 misses are allowed, but the limit is \d+"):
        Certificate.from_json(replace(result, cells=(loose, *result.cells[1:])).to_json())


# --- the form itself -----------------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    number: float
    name: str = "x"

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ParameterError(f"number must be >= 0, but is {self.number}.")


@dataclass(frozen=True, eq=False)
class Outer(Saved):
    FORMAT: ClassVar[str] = "outer"
    VERSION: ClassVar[int] = 3
    inner: tuple[Inner, ...]
    pair: tuple[int, str]
    table: dict[str, tuple[float, ...]]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    colour: Colour
    maybe: Inner | None = None
    anything: dict[str, object] = field(default_factory=dict)
    flag: bool = True


def outer() -> Outer:
    values = np.array([1.5, np.inf, -np.inf, np.nan])
    table = {"a": (1.0, 2.0), "b": ()}
    return Outer((Inner(np.float64(1)), Inner(2)), (np.int64(3), "c"), table, values, np.array([2**62]), Colour.RED)


def test_every_kind_of_field_reads_back():
    text = outer().to_json()
    again = Outer.from_json(text)
    assert (again.inner, again.pair, again.table, again.colour) == (
        (Inner(1.0), Inner(2.0)),
        (3, "c"),
        {"a": (1.0, 2.0), "b": ()},
        Colour.RED,
    )
    np.testing.assert_array_equal(again.values, outer().values)
    assert (again.values.dtype, again.counts.dtype, again.counts.tolist()) == (np.float64, np.int64, [2**62])
    assert again.to_json() == text


def test_a_field_with_a_default_may_be_missing():
    data = json.loads(outer().to_json())
    del data["flag"], data["maybe"], data["inner"][0]["name"]
    assert (Outer.from_json(with_digest(data)).flag, Outer.from_json(with_digest(data)).inner[0].name) == (True, "x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": {}}, "inner must be a list, but is a JSON dict"),
        ({"inner": [3]}, r"inner\[0\] must be an object, but is 3"),
        ({"inner": [{"name": "x"}]}, r"inner\[0\]\.number is missing"),
        ({"inner": [{"number": 1}]}, r"inner\[0\]\.number must be a number with a decimal point, .* but is 1\."),
        ({"inner": [{"number": True}]}, r"inner\[0\]\.number must be a number"),
        ({"inner": [{"number": -1.0}]}, r"inner\[0\]: number must be >= 0, but is -1\.0"),
        ({"inner": [{"number": 1.0, "nmae": ""}]}, r"inner\[0\]\.nmae is not known"),
        ({"pair": [1]}, "pair must be a list of 2, but is a JSON list"),
        ({"pair": [True, "c"]}, r"pair\[0\] must be a whole number of at most 63 bits, but is true"),
        ({"pair": [2**63, "c"]}, r"pair\[0\] must be a whole number"),
        ({"pair": [1, 2]}, r"pair\[1\] must be text, but is 2"),
        ({"table": {"a": ["infinity"]}}, r"table\.a\[0\] must be a number .* but is \"infinity\""),
        ({"counts": [1.0]}, r"counts\[0\] must be a whole number"),
        ({"colour": "blue"}, "colour must be one of 'red', but is \"blue\""),
        ({"colour": ["red"]}, "colour must be one of 'red', but is a JSON list"),
        ({"flag": 1}, "flag must be true or false, but is 1"),
    ],
)
def test_a_field_of_another_type_is_named_with_its_place(change, message):
    data = json.loads(outer().to_json())
    with pytest.raises(ResultError, match=message):
        Outer.from_json(with_digest(data | change))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not readable as JSON"),
        ('{"a": NaN}', "NaN is not valid JSON"),
        ("[" * 100_000, "not readable as JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not readable as JSON"),
        ("3", "results must be a JSON object, but are a JSON int"),
        ("{}", "format must be 'outer', but is null"),
        ('{"format": "outer"}', "version must be 3, but is null: another release"),
        ('{"format": "outer", "version": 2}', "but is 2: another release.*run the same command again"),
        ('{"format": "outer", "version": 4}', "but is 4: a newer dpassay wrote these results. Update dpassay"),
        ('{"format": "outer", "version": true}', "version must be 3, but is true"),
        ('{"format": "outer", "version": 3}', "do not match their sha256"),
    ],
)
def test_what_is_no_such_result_is_refused_with_the_way_out(text, message):
    with pytest.raises(ResultError, match=message):
        Outer.from_json(text)
