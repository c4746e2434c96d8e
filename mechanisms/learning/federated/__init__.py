"""Federated learning: clients keep their records and send updates of the model; privacy is for whole clients.

clients.py       what a client is, and how two datasets of clients may differ
base.py          what the learners share: local steps, clipping, the worst case
averaging.py     FedSGD and FedAvg with noise at the server
local_noise.py   ... with noise at the client, or none: what the server then sees
"""

from .averaging import FederatedAveraging as FederatedAveraging
from .clients import split_by_client as split_by_client
from .local_noise import LocalNoiseAveraging as LocalNoiseAveraging
