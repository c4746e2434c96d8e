"""How every figure looks: canvas, colours, files."""

from experiments.plots.style.canvas import EndLabel, NotebookFigure, new_figure, style_axes
from experiments.plots.style.files import save, svg_text
from experiments.plots.style.palette import PALETTE, Colour

__all__ = ["PALETTE", "Colour", "EndLabel", "NotebookFigure", "new_figure", "save", "style_axes", "svg_text"]
