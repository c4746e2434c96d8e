"""Training with Opacus, audited.

mechanism.py   OpacusTraining, the mechanism: read this first
options.py     its options, and what Opacus makes of them
runs.py        single trainings, on any subset of the records, and what adversaries ask of them
training.py    what PyTorch and Opacus do
loading.py     imports it when a model is trained
"""

from .mechanism import OpacusTraining as OpacusTraining
