"""How every figure looks: canvas, colours, files.

canvas.py    where figures are drawn: figures, axes, titles and labels in one style
files.py     figures as files: SVG for screens (one file, light and dark), PNG at 200 dots an inch for papers
palette.py   colours, each in a light and a dark form, told apart by people with any kind of colour vision
"""

from .canvas import (
    EndLabel as EndLabel,
    NotebookFigure as NotebookFigure,
    legend as legend,
    new_figure as new_figure,
    style_axes as style_axes,
)
from .files import save as save, svg_text as svg_text
from .palette import PALETTE as PALETTE, Colour as Colour
