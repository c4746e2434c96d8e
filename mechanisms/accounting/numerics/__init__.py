"""Numerics that the kinds of guarantees share.

binomial.py          Probabilities of the binomial distribution, accurate for many trials and far in the tails
cells.py             Cells and spherical shells of the normal law, and laws on the edges of cells that are larger in
                     convex order
composed_losses.py   Composition of privacy-loss distributions by Fourier transforms, above the exact probabilities in
                     double precision
laplace.py           The Laplace distribution: its density, its distribution function, and the probability of intervals,
                     as logarithms
losses.py            Exact privacy profile of a privacy loss with finitely many values, with its inverse in closed form
noise_losses.py      Privacy losses of one step of noise on a Poisson sample: the arrays of dp-accounting without a loop
                     over losses
quadrature.py        Nodes and weights of quadrature rules on consecutive pieces of an interval
renyi.py             Renyi divergences: conversion to (epsilon, delta), one order at a time, and Gaussian noise on a
                     Poisson sample
"""
