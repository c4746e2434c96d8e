"""How every figure looks: canvas, colours, files.

canvas.py    where figures are drawn: figures, axes, titles and labels in one style
files.py     figures as files: SVG for screens (one file, light and dark), PNG at 200 dots an inch for papers
palette.py   colours, each in a light and a dark form, told apart by people with any kind of colour vision
"""

from .canvas import EndLabel, NotebookFigure, legend, new_figure, style_axes
from .files import save, svg_text
from .palette import PALETTE, Colour

__all__ = ["PALETTE", "Colour", "EndLabel", "NotebookFigure", "legend", "new_figure", "save", "style_axes", "svg_text"]
