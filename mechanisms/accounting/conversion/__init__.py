"""Conversion between kinds of guarantees, calibration of noise, and a Bayesian interpretation.

convert.py      to_approximate, to_concentrated, to_renyi, to_privacy_loss
calibration.py  least_noise_multiplier: the noise for a target (epsilon, delta), with any accountant
belief.py       posterior_interval: how far one release can change an observer's belief
"""
