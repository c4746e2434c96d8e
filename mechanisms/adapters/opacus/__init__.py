"""Training with Opacus, audited.

mechanism.py   Training with Opacus as a mechanism: the user's module and optimiser, with Opacus' PrivacyEngine
options.py     Options of a training with Opacus, and the quantities that Opacus derives from them
runs.py        Trainings with Opacus on any subset of the records, with the capabilities that adversaries need
training.py    Training for `OpacusTraining` by PyTorch and Opacus: import this module only if both are installed
"""

from .mechanism import OpacusTraining as OpacusTraining
