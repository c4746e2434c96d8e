"""Colours, each in a light and a dark form, distinguishable with any kind of colour vision.

A figure is drawn in the light form. The dark form is a style sheet in the same file (`dark_rules`), so that one
SVG serves both themes, and programs without support for themes show the light one.

The hues follow Okabe and Ito (2008), darkened (or lightened) until text in them has a contrast of 4.5 on the page.
"""

from __future__ import annotations

from dataclasses import dataclass

PAGE = ("#ffffff", "#15191e")
"""Background of the page behind a figure, light and dark; figures themselves are transparent."""


@dataclass(frozen=True)
class Colour:
    """Colour of the palette, in a light and a dark form."""

    light: str
    dark: str


INK = Colour("#1f2328", "#e6e9ed")
MUTED = Colour("#59636e", "#a3adb8")
RULE = Colour("#d5dbe1", "#39424c")
BLUE = Colour("#0067a5", "#6cb6ff")
AMBER = Colour("#945900", "#f0b040")
GREEN = Colour("#00745a", "#45c9a0")
VERMILION = Colour("#c03c06", "#ff8f66")
PURPLE = Colour("#9b3d88", "#e79ad6")
STEEL = Colour("#4a6785", "#9fbcd9")
OLIVE = Colour("#6b6b00", "#c9c95a")

PALETTE = (INK, MUTED, RULE, BLUE, AMBER, GREEN, VERMILION, PURPLE, STEEL, OLIVE)

CLAIM, BOUND, EXACT, CEILING, VIOLATION = INK, BLUE, GREEN, MUTED, VERMILION
SIDE0, SIDE1 = AMBER, BLUE
SERIES = (BLUE, AMBER, GREEN, PURPLE, STEEL, OLIVE)
"""For lines that differ by a swept parameter; vermilion is kept for violations."""


def series_colour(index: int) -> Colour:
    """Return the colour of line number `index`; colours repeat after `len(SERIES)`, so lines also have markers."""
    return SERIES[index % len(SERIES)]


def dark_rules(scope: str) -> str:
    """Return CSS that repaints everything below `scope` in the dark form, on screens with a dark theme.

    Reads the inline styles that matplotlib writes, such as "fill: #0067a5", and overrides them.
    """
    rules = "".join(
        f'{scope} [style*="{paint}: {colour.light}"]{{{paint}:{colour.dark}!important}}'
        for colour in PALETTE
        for paint in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"
