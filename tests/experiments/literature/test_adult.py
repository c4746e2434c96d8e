"""The census of the five-marginal example, with or without Adult."""

from dpassay.experiments.literature.adult import ADULT, FIVE, _made_up, census


def test_a_synthetic_census_stands_in_where_there_is_no_adult(monkeypatch, tmp_path):
    monkeypatch.setenv("DPASSAY_DATA", str(tmp_path))
    what, table = census()
    assert "synthetic" in what
    assert len(table) == 48_842


def test_synthetic_records_are_in_the_domain_of_adult():
    records = _made_up(500)
    assert tuple(records.columns) == ADULT.names
    assert (records.max().to_numpy() < ADULT.shape).all()
    assert {name for names in FIVE.marginals for name in names} <= set(ADULT.names)
