import numpy as np
import pytest
from scipy import stats

from dpassay.experiments.data.census import ages_law, census_blocks, female_share, population
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms.core.errors import ParameterError
from dpassay.mechanisms.query_release.tables import census_domain

FALSE_ALARM = 1e-6


def test_people_of_many_blocks_are_spread_as_the_population_says():
    """Ages, and sexes at each age; races vary from block to block, but not on average."""
    blocks = census_blocks(n=2000, n_blocks=26, seed=3)
    counts = np.bincount(blocks[:, 0], minlength=111)[:100]
    assert stats.chisquare(counts, len(blocks) * ages_law()[:100]).pvalue > FALSE_ALARM
    women = np.bincount(blocks[blocks[:, 1] == 0, 0], minlength=111)[:100]
    scores = (women - counts * female_share()[:100]) / np.sqrt(counts * 0.25)
    assert np.abs(scores).max() < stats.norm.isf(FALSE_ALARM / 200)
    shares = np.array([(blocks[blocks[:, 3] == b, 2] == 0).mean() for b in range(26)])
    assert shares.std() > 0.1
    assert abs(shares.mean() - 0.62) < stats.norm.isf(FALSE_ALARM / 2) * 0.2 / np.sqrt(26)


def test_the_population_is_that_of_the_domain():
    law, types = population(), census_domain().every_type
    assert law.shape == (len(types),)
    np.testing.assert_allclose([law[types[:, 2] == race].sum() for race in range(4)], [0.62, 0.12, 0.06, 0.20])
    np.testing.assert_allclose(np.bincount(types[:, 0], law), ages_law())
    assert law[types[:, 0] >= 100].sum() == 0.0


def test_blocks_repeat_with_their_seed_and_fit_their_domain():
    blocks = load("census-blocks", n=7, n_blocks=3, seed=4)
    np.testing.assert_array_equal(blocks, census_blocks(n=7, n_blocks=3, seed=4))
    assert census_domain(3).checked(blocks).shape == (21, 4)
    assert census_domain(1).checked(census_blocks(n=7, n_blocks=1)).shape == (7, 3)
    with pytest.raises(ParameterError, match="n_blocks must be at most 26"):
        census_blocks(n_blocks=27)
