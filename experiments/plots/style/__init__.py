"""How every figure looks: canvas, colours, files."""

from .canvas import EndLabel, NotebookFigure, new_figure, style_axes
from .files import save, svg_text
from .palette import PALETTE, Colour

__all__ = ["PALETTE", "Colour", "EndLabel", "NotebookFigure", "new_figure", "save", "style_axes", "svg_text"]
