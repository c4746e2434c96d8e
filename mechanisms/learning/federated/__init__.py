"""Federated learning: clients keep their records and send updates of the model; privacy is for whole clients.

clients.py       datasets of clients, and neighbouring datasets that differ in one client
base.py          base class of the learners: local steps, clipping, the worst case
averaging.py     FedSGD and FedAvg with noise at the server
local_noise.py   FedAvg with noise at the client, or none, as the server observes it
"""

from .averaging import FederatedAveraging as FederatedAveraging
from .clients import split_by_client as split_by_client
from .local_noise import LocalNoiseAveraging as LocalNoiseAveraging
