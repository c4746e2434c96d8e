"""Declared constraints: every public class refuses every bad value of every field that declares one."""

import ast
import inspect
import math
import re
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import pytest

import dpassay
from dpassay.mechanisms.core import constraints
from dpassay.mechanisms.core.constraints import Options, Positive, PositiveInt, at_least, constraints_of, one_of_names
from dpassay.mechanisms.core.errors import ParameterError

ROOT = Path(dpassay.__file__).parent
CONSTRAINTS = (
    "Finite",
    "Positive",
    "NonNegative",
    "OpenUnit",
    "UnitInterval",
    "PositiveProbability",
    "Delta",
    "PositiveInt",
    "NonNegativeInt",
    "Flag",
    "at_least",
    "one_of_names",
    "instance_of",
    "AddOrReplace",
)
NEEDS_TORCH = ROOT / "mechanisms" / "adapters" / "opacus" / "training.py"


def modules():
    """Name and file of every module of the package that can be imported without other libraries."""
    for room in ("mechanisms", "attacks", "audit", "experiments"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if path != NEEDS_TORCH:
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                yield f"dpassay.{name}", path


def classes():
    """Every dataclass of the package and each of its fields with a constraint."""
    for name, _ in modules():
        module = import_module(name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and is_dataclass(kind):
                for field in constraints_of(kind):
                    yield kind, field


def declared_in_source():
    """Every field of the package whose annotation names a constraint: its module, class and name."""
    words = re.compile(rf"\b({'|'.join(CONSTRAINTS)})\b")
    for name, path in modules():
        for kind in ast.parse(path.read_text()).body:
            for field in kind.body if isinstance(kind, ast.ClassDef) else ():
                if isinstance(field, ast.AnnAssign) and words.search(ast.unparse(field.annotation)):
                    yield name, kind.name, field.target.id


def test_every_constraint_in_the_source_is_known_at_run_time():
    """A name that is imported for type checkers only would leave its field without a check."""
    fields = list(declared_in_source())
    assert len(fields) > 400
    lost = []
    for module, kind, field in fields:
        owner = getattr(import_module(module), kind)
        if not list(constraints._of_annotation(field, inspect.get_annotations(owner)[field], owner)):
            lost.append((module, kind, field))
    assert lost == []


def concrete(kind):
    """The class, with its abstract methods set to None."""
    abstract = getattr(kind, "__abstractmethods__", None)
    return type(kind.__name__, (kind,), dict.fromkeys(abstract)) if abstract else kind


def good_value(constraint):
    """A value that the constraint takes; for the class of such values, an object without attributes."""
    good = constraint.good
    return object.__new__(concrete(good)) if isinstance(good, type) else good


def options_with(kind, field, value):
    """Good values for the other constrained fields, None for other required ones."""
    good = {other.name: good_value(other.constraint) for other in constraints_of(kind)}
    required = {f.name: None for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING}
    return {**required, **good, field.name: value}


def refused(kind, field, value):
    """Whether the class refuses the value, and names the field."""
    try:
        concrete(kind)(**options_with(kind, field, value))
    except ParameterError as error:
        return error.argument == field.name
    return False


def test_every_class_refuses_every_bad_value_of_a_constrained_field():
    cases = [(kind, field, bad) for kind, field in classes() for bad in field.constraint.bad]
    cases = [(kind, field, bad) for kind, field, bad in cases if bad is not None or not field.optional]
    assert len(cases) > 5_000
    assert [(kind, field.name, bad) for kind, field, bad in cases if not refused(kind, field, bad)] == []


@dataclass(frozen=True)
class Sample(Options):
    epsilon: Positive
    n: PositiveInt = 1
    k: Annotated[int, at_least(3)] | None = None
    noise: Annotated[str, one_of_names("laplace", "gaussian")] = "laplace"


@dataclass(frozen=True)
class Derived(Sample):
    epsilon: float
    rate: Positive = 1.0

    def __post_init__(self):
        super().__post_init__()
        if self.rate > 2.0:
            raise ParameterError(argument="rate", value=self.rate, allowed="be at most 2")


def test_constraints_are_inherited_in_the_order_of_the_fields():
    assert [field.name for field in constraints_of(Sample)] == ["epsilon", "n", "k", "noise"]
    assert [field.name for field in constraints_of(Derived)] == ["epsilon", "n", "k", "noise", "rate"]
    with pytest.raises(ParameterError, match="epsilon"):
        Derived(-1.0)


def test_none_is_taken_where_the_annotation_allows_it():
    assert Sample(1.0, k=None).k is None
    with pytest.raises(ParameterError, match=r"k must be a whole number >= 3, but is 2"):
        Sample(1.0, k=2)


@pytest.mark.parametrize("bad", [0.0, math.inf, math.nan, "1", None])
def test_the_message_names_argument_value_and_what_is_allowed(bad):
    with pytest.raises(ParameterError, match=r"epsilon must be a finite number > 0, but is") as error:
        Sample(bad)
    assert error.value.argument == "epsilon"


def test_an_unknown_option_is_answered_with_the_nearest_name():
    with pytest.raises(TypeError, match="epsilon"):
        Sample(epsilom=1.0)
