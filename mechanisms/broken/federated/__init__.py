"""Federated averaging that is wrong on purpose: one slip each, the claim that it makes, and what it really is.

averaging.py   divided by the realised number of clients; clipped per record; noise of the mean on the sum
"""

from .averaging import (
    NoiseOfMeanOnSum as NoiseOfMeanOnSum,
    PerRecordClipping as PerRecordClipping,
    RealisedClients as RealisedClients,
)
