"""Figures take longer than what most tests run: those that do not look at them leave them out."""

import pytest


@pytest.fixture
def without_pictures(monkeypatch):
    """Runs that write their numbers, and neither figures nor reports."""
    for draw in ("draw_all", "membership.draw_study"):
        monkeypatch.setattr(f"dpassay.experiments.plots.{draw}", lambda *_: [])
    for write in ("write", "write_membership"):
        monkeypatch.setattr(f"dpassay.experiments.report.{write}", lambda *_: [])


@pytest.fixture
def one_picture(monkeypatch):
    """Runs that draw and report the whole sweep, and no figures of its single audits."""
    monkeypatch.setattr("dpassay.experiments.plots.draw.shown", lambda points: [])
