"""The catalogue of mechanisms: names lead to classes, and options are checked."""

import inspect
import subprocess
import sys
from pydoc import locate

import pytest

from dpassay.mechanisms import PureDP
from dpassay.mechanisms.catalogue import build, catalogue, get
from dpassay.mechanisms.core import Mechanism, ParameterError, UnknownNameError
from dpassay.mechanisms.noise.laplace import Laplace


def test_every_name_leads_to_a_mechanism_with_a_summary():
    assert [name for name in catalogue if not issubclass(get(name), Mechanism)] == []
    assert [name for name in catalogue if not catalogue.summary(name).endswith(".")] == []
    broken = {name for name in catalogue if ".broken" in catalogue.entries[name]}
    assert broken == {name for name in catalogue if name.startswith("broken-")}


def test_a_mechanism_is_built_by_name():
    assert build("laplace", epsilon=2.0, relation="replace_one") == Laplace(2.0, relation="replace_one")


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'laplace'"):
        get("laplas")


def test_a_wrong_option_of_a_class_is_a_type_error_with_the_nearest_name():
    for kind in map(get, catalogue):
        options = [key for key in inspect.signature(kind).parameters if not key.startswith("_")]
        for option in options:
            with pytest.raises(TypeError, match=f"option of {kind.__name__}.* Did you mean .*{option!r}"):
                kind(**{f"{option}x": 1})


def test_a_missing_option_of_a_class_is_the_error_of_python():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'epsilon'"):
        Laplace()
    with pytest.raises(TypeError, match=r"unknown option of PureDP: 'eps'. Did you mean 'epsilon'"):
        PureDP(eps=1.0)


def test_unknown_and_missing_options_are_refused():
    with pytest.raises(ParameterError, match="Did you mean 'sensitivity'"):
        build("laplace", epsilon=1.0, sensitivty=2.0)
    with pytest.raises(
        ParameterError, match=r"^mechanism 'laplace' needs epsilon, which is missing\. .* pydoc dpassay.mechanisms"
    ):
        build("laplace")
    with pytest.raises(
        ParameterError, match="needs model, steps and noise_multiplier, but model and steps are missing"
    ):
        build("dp-sgd", noise_multiplier=1.0)


def test_where_to_read_about_options_is_a_place_that_pydoc_finds():
    places = {name: entry.replace(":", ".") for name, entry in catalogue.entries.items()}
    assert [place for name, place in places.items() if locate(place) is not get(name)] == []


def test_importing_the_room_loads_nothing_heavy():
    heavy = "'scipy.stats', 'pandas', 'sklearn', 'matplotlib', 'joblib', 'pydantic', 'dp_accounting'"
    code = f"import sys, dpassay.mechanisms.catalogue; sys.exit(','.join({{{heavy}}} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
