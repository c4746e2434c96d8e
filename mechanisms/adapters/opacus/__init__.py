"""Training with Opacus, audited.

mechanism.py   OpacusTraining, the mechanism: read this first
options.py     options, and the import of PyTorch and Opacus when a model is trained
runs.py        single trainings on any subset of the records, and methods for adversaries
training.py    training by PyTorch and Opacus
"""

from .mechanism import OpacusTraining as OpacusTraining
