"""Numerics that the kinds of guarantees share.

binomial.py   probabilities of the binomial distribution
losses.py     privacy profile of a privacy loss with finitely many values
renyi.py      Renyi divergences: conversion to (epsilon, delta), and Gaussian noise on a Poisson sample
"""
