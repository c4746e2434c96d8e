"""From one kind of guarantee to another, and from a wanted epsilon to noise.

convert.py        to_...                   from one kind to another
calibration.py    least_noise_multiplier   the least noise for a wanted epsilon, for any accountant
belief.py         posterior_interval       how far a release can move what an observer believes
"""
