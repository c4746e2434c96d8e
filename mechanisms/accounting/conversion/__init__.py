"""Conversion between kinds of guarantees, calibration of noise, and a Bayesian interpretation.

belief.py        Bayesian interpretation of a guarantee: how far one release can change an observer's belief
calibration.py   Noise calibration: the noise multiplier for a target (epsilon, delta), with any accountant
convert.py       Conversions from one kind of guarantee to another; an error if no implemented theorem gives the
                 conversion
"""
