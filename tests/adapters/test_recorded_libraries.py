"""Primitives of the real OpenDP and diffprivlib, recorded: run by `make test-adapters`, else skipped."""

import pytest

from dpassay.audit import record
from dpassay.mechanisms import ConcentratedDP, Neighbours, PureDP

ONE_MORE = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")


def kinds(function, claim):
    return {finding.kind for finding in record(function, ONE_MORE).findings(claim)}


def test_a_sensitivity_told_to_diffprivlib_is_compared_with_the_distance():
    mechanisms = pytest.importorskip(
        "diffprivlib.mechanisms", reason="needs the extra diffprivlib", exc_type=ImportError
    )

    def release(d, sensitivity):
        return mechanisms.Laplace(epsilon=1.0, sensitivity=sensitivity).randomise(float(sum(d)))

    assert kinds(lambda d: release(d, 0.5), PureDP(1.0)) == {"distance"}
    assert kinds(lambda d: release(d, 1.0), PureDP(1.0)) == set()
    assert kinds(lambda d: release(d, len(d)), PureDP(1.0)) == {"parameters"}
    assert kinds(lambda d: [release(d, 1.0), release(d, 1.0)], PureDP(1.0)) == {"spent"}


def test_measurements_of_opendp_spend_what_their_map_says():
    dp = pytest.importorskip("opendp.prelude", reason="needs opendp", exc_type=ImportError)
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=2.0)
    recorded = record(lambda d: laplace(float(sum(d))), ONE_MORE)
    assert recorded.spent() == PureDP(0.5)
    assert recorded.findings(PureDP(0.5)) == ()
    assert {one.kind for one in recorded.findings(PureDP(0.4))} == {"spent"}
    vectors = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    gaussian = dp.m.make_gaussian(*vectors, scale=2.0)
    spent = record(lambda d: gaussian([float(sum(d)), float(len(d))]), ONE_MORE).spent()
    assert isinstance(spent, ConcentratedDP)
    assert spent.rho == pytest.approx(0.25)
