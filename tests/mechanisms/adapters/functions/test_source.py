"""What a function holds is listed where it is copied, and references replace what an import creates again."""

import array
import functools
import random
import runpy
import subprocess
import sys
import textwrap
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.audit import hidden_entropy as hidden, replayed_functions as replayed

from dpassay.mechanisms.adapters.functions.source import source_of, store_source
from dpassay.mechanisms.adapters.functions.state import content_digest

DRAWN = 0.123456789


def numbers(function):
    store_source(function)
    return source_of(function).numbers[""].tolist()


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def holding(value):
    return lambda dataset, rng: value


@pytest.mark.parametrize(
    "value",
    [
        DRAWN,
        [DRAWN],
        {"a": (DRAWN,)},
        np.array([DRAWN]),
        np.float64(DRAWN),
        Decimal("0.123456789"),
        Fraction(123456789, 1000000000),
        "0.123456789",
        b"0.123456789",
        bytearray(b"0.1234"),
        array.array("d", [DRAWN]),
        Slots(DRAWN),
        functools.partial(pow, DRAWN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_number_that_was_drawn_before_is_found_wherever_it_is(value):
    function = holding(value)
    numbers(function)
    assert source_of(function).holds(draws=True)


@pytest.mark.parametrize("value", [0.5, [1, 2, 3], "text", None, len, np.sum, np.float64])
def test_options_are_no_noise(value):
    function = holding(value)
    numbers(function)
    assert not source_of(function).holds(draws=True)


def test_a_pool_is_a_set_of_numbers_that_look_drawn():
    rng = np.random.default_rng(0)
    for pool, found in ((rng.random(20).tolist(), True), (list(range(20)), False), ([0, 1] * 10, True)):
        function = holding(pool)
        numbers(function)
        assert source_of(function).holds_pool() is found


def test_code_and_generators_hold_no_numbers():
    mine = random.Random(5)
    function = lambda dataset, rng: 0.7182818284 * mine.random()  # noqa: E731
    assert numbers(function) == []
    assert source_of(function).generators


def test_globals_of_a_module_are_references():
    assert numbers(replayed.copied_with_noise_of_the_import) == []
    assert numbers(hidden.from_a_global(1.0)) == [1.0]  # its epsilon, and not the generator of the module


def test_a_random_number_generator_of_the_system_is_created_anew():
    store_source(function := holding(random.SystemRandom()))
    assert source_of(function) is not None


def test_what_cannot_be_pickled_has_no_source():
    waiting = (value for value in iter(float, 1.0))
    store_source(function := holding(waiting))
    assert source_of(function) is None
    assert source_of(len) is None


PROGRAM = textwrap.dedent(
    """
    import numpy as np
    from dpassay.audit import audit
    from dpassay.mechanisms import Neighbours, PureDP

    EDGES = [k / 7 for k in range(12)]
    POOL = np.random.default_rng().random(12).tolist()

    def histogram(dataset, rng):
        return np.histogram(dataset, EDGES)[0].tolist()

    def of_a_pool(dataset, rng):
        return len(dataset) + POOL[rng.integers(12)]

    if __name__ == "__main__":
        pair = Neighbours([0.1, 0.3], [0.1, 0.3, 1.3], "add_remove")
        for function in (histogram, of_a_pool):
            result = audit(function, pair, claim=PureDP(0.1), trials=2_000, seed=0)
            print(result.verdict, result.dependence)
    """
)


def test_constants_of_a_program_are_no_noise_but_a_pool_is(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "violation None"
    assert second.startswith("dependent outputs repeat, and the function holds numbers that may be a pool")


def test_the_statements_of_a_program_are_run_without_its_calls(tmp_path):
    from dpassay.mechanisms.adapters.functions.isolated_process import constants

    source = "import math\nA = 2\nB = [math.sqrt(A), 1 / 3]\nopen('written', 'w')\ndef f(x): return x * A\nC = f(B[0])"
    found = constants(source, ["B", "C", "missing"])
    space = runpy.run_path(str(_written(tmp_path, source.replace("open('written', 'w')\n", ""))))
    assert found == {"B": content_digest(space["B"]), "C": content_digest(space["C"])}


def _written(folder, source):
    (folder / "program.py").write_text(source)
    return folder / "program.py"
