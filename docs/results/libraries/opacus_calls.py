"""Calls of Opacus: one epoch of DP-SGD on a linear model of 20 weights, whose gradient is 0: only noise moves it."""

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch.utils.data import DataLoader, TensorDataset

NOISE, DELTA = 2.0, 1e-5


def model_and_optimizer():
    model = torch.nn.Linear(20, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    return model, torch.optim.SGD(model.parameters(), lr=1.0)


def epoch(model, optimizer, loader):
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return next(iter(model.parameters())).detach().numpy().ravel().astype(float)


def loader_of(dataset):
    inputs = torch.zeros(len(dataset), 20)
    return DataLoader(TensorDataset(inputs, torch.zeros(len(dataset), 1)), batch_size=10)


def trained(dataset, rng):
    """Return the weights after one epoch with `make_private` and batches of ten."""
    torch.manual_seed(int(rng.integers(2**31)))
    model, optimizer = model_and_optimizer()
    model, optimizer, loader = PrivacyEngine(accountant="prv").make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader_of(dataset),
        noise_multiplier=NOISE,
        max_grad_norm=1.0,
    )
    return epoch(model, optimizer, loader)


def with_public_constants(dataset, rng):
    """Return the weights after one step on all records, with a public divisor."""
    torch.manual_seed(int(rng.integers(2**31)))
    model, optimizer = model_and_optimizer()
    model = GradSampleModule(model)
    optimizer = DPOptimizer(optimizer, noise_multiplier=NOISE, max_grad_norm=1.0, expected_batch_size=10)
    return epoch(model, optimizer, [loader_of(dataset).dataset.tensors])


def stated_epsilon(n_records):
    """Return what the engine states after the epoch."""
    model, optimizer = model_and_optimizer()
    engine = PrivacyEngine(accountant="prv")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader_of(np.zeros(n_records)),
        noise_multiplier=NOISE,
        max_grad_norm=1.0,
    )
    epoch(model, optimizer, loader)
    return engine.get_epsilon(DELTA)
