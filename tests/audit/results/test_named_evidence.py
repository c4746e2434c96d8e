"""The evidence of a violation names the part of the output that leaks, with counts that are those of the runs."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.audit import leaky_parts

from dpassay.attacks.distinguishing.simple_rules import OutputSample, SimpleRule
from dpassay.audit import AuditResult, Verdict, audit
from dpassay.audit.trials import work
from dpassay.audit.trials.examples import Examples, examples as examples_of
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.core import NO_NAMES, Outputs

PAIR = Neighbours([1, 2, 3], [1, 2, 3, 4], "add_remove")
OPTIONS = {"claim": PureDP(0.5), "trials": 4_000, "seed": 0}


@cache
def audited(function):
    return audit(function, PAIR, **OPTIONS)


@pytest.mark.parametrize("function", leaky_parts.SAID, ids=lambda function: function.__name__)
def test_the_rule_names_the_part_that_leaks(function):
    result = audited(function)
    assert result.verdict is Verdict.VIOLATION
    assert re.search(leaky_parts.SAID[function], result.deciding.rule), result.deciding.rule
    assert (
        f"rule         {result.deciding.rule}".split()[:3]
        == [word for line in result.summary().splitlines() if line.startswith("rule") for word in line.split()][:3]
    )


@pytest.mark.parametrize("function", [leaky_parts.a_dict, leaky_parts.series, leaky_parts.named_tuple])
def test_counts_of_a_rule_are_those_of_all_evaluation_runs(function, monkeypatch):
    """Every evaluation output is kept, and the rule is counted on them again, from its words."""
    kept = {0: [], 1: []}
    whole = work.run

    def keeping(mechanism, neighbours, seed, chunk, timeout=None):
        outputs, changed = whole(mechanism, neighbours, seed, chunk, timeout)
        if chunk.stage is Stage.EVALUATION:
            names = mechanism._output_names(outputs.texts)
            kept[chunk.side] += [
                {names.name(place): (value, names.value(place, value)) for place, value in enumerate(row)}
                for row in outputs.values
            ]
        return outputs, changed

    monkeypatch.setattr(work, "run", keeping)
    result = audit(function, PAIR, **OPTIONS)
    name, what, value = re.search(
        r"(output\['\w+'\]|output\.\w+) is (at least|at most|)\s?(\S+?)[\" ]", result.deciding.rule
    ).groups()
    counted = []
    for side in (0, 1):
        cells = [row[name] for row in kept[side]]
        if what:
            numbers, limit = np.array([number for number, _ in cells]), float(value)
            near = np.abs(numbers - limit).min()  # the limit is shown with six digits: no output may lie that close
            assert near > 5e-6 * abs(limit) or near == 0.0
            counted.append(int((numbers >= limit).sum() if what == "at least" else (numbers <= limit).sum()))
        else:
            counted.append(sum(shown == value for _, shown in cells))
    stated = dict.fromkeys((0, 1), 0)
    for count, side in re.findall(
        r"in ([\d,]+) of [\d,]+(?: evaluation runs| runs)? of side (\d)", result.deciding.rule
    ):
        stated[int(side)] = int(count.replace(",", ""))
    assert counted == [stated[0], stated[1]]


def test_texts_of_the_outputs_are_shown():
    result = audited(leaky_parts.a_dict)
    assert all(output.startswith("[kind = 'ok', mean = ") for output in result.deciding.outputs1)
    assert result.deciding.where == "output['kind']"


def test_descriptions_depend_on_no_worker_and_no_interruption(tmp_path):
    plain = audited(leaky_parts.a_dict).to_json()
    assert audit(leaky_parts.a_dict, PAIR, n_jobs=2, store=tmp_path, **OPTIONS).to_json() == plain
    assert audit(leaky_parts.a_dict, PAIR, store=tmp_path, **OPTIONS).to_json() == plain
    assert AuditResult.from_json(plain).deciding.where == "output['kind']"


def test_descriptions_change_no_number(monkeypatch):
    options = OPTIONS | {"attack": "classifier"}
    named = audit(leaky_parts.series, PAIR, **options)
    monkeypatch.setattr(OutputSample, "of", classmethod(lambda *_: None))
    plain = audit(leaky_parts.series, PAIR, **options)
    assert plain.deciding.rule.startswith("log odds of side 1")
    assert replace(named, deciding=None).to_json() == replace(plain, deciding=None).to_json()


def test_a_rule_that_fails_costs_no_verdict(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("a broken rule")

    monkeypatch.setattr(OutputSample, "rule", fail)
    monkeypatch.setattr(OutputSample, "parts", fail)
    result = audit(leaky_parts.series, PAIR, **OPTIONS | {"attack": "classifier"})
    assert result.verdict is Verdict.VIOLATION
    assert any("a broken rule" in warning for warning in result.warnings)


def test_a_rule_is_counted_in_the_first_runs_of_whole_chunks():
    rule = SimpleRule(None, True, (), True, intervals=((2.0, math.inf),))
    chunks = [Chunk(Stage.EVALUATION, side, index, 3 * index, 3) for index in (2, 0, 1) for side in (0, 1)]
    examples = Examples()
    (followed,) = examples.follow([1.0], lambda threshold: rule)
    assert (followed.threshold, followed.rule) == (1.0, rule)
    assert examples.rule(1.0, above=True, n_runs=6) is None
    for chunk in chunks:
        values = np.array([0.0, 2.0, 3.0]) if chunk.side else np.array([0.0, 1.0, float(chunk.index)])
        examples.add(chunk, examples_of(Outputs(values), values, examples.followed, NO_NAMES))
    assert examples.rule(1.0, above=True, n_runs=6) == (rule, (0, 4))
    assert examples.rule(1.0, above=True, n_runs=9) == (rule, (1, 6))
    assert examples.rule(1.0, above=True, n_runs=12) is None
    assert examples.rule(1.0, above=True, n_runs=5) is None
    assert examples.rule(1.0, above=False, n_runs=9) is None
    assert examples.rule(2.0, above=True, n_runs=9) is None
