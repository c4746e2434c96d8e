"""Federated learning: clients keep their records and send updates of the model; privacy is for whole clients.

averaging.py     Federated averaging with noise at the server: DP-FedSGD and DP-FedAvg, many independent runs at once
base.py          Base class of federated learners: the options of a round, and the updates of clients
broken.py        Intentionally broken federated averaging: the divisor, clipping or noise scale of another quantity
clients.py       Clients, the units of privacy in federated learning, and the checks of neighbouring datasets of clients
local_noise.py   Federated averaging with noise at the client, so that the server need not be trusted
"""

from .averaging import FederatedAveraging as FederatedAveraging
from .clients import split_by_client as split_by_client
from .local_noise import LocalNoiseAveraging as LocalNoiseAveraging
