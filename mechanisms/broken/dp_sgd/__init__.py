"""DP-SGD that is wrong on purpose: one slip each, the claim that it makes, and what it really is.

base.py            what they share: read this first
noise_scale.py     noise divided by the batch size once too often; noise for the sum on the mean
stale_noise.py     noise that is not fresh: in every step, in every layer, in every run
partial_noise.py   no noise on the biases; noise only after the momentum
mean_clipped.py    the mean of the batch, or of microbatches, is clipped instead of each gradient
layers.py          every layer clipped to the whole norm; one layer not clipped
raw_mean.py        the mean gradient, not clipped, mixed into the sum
divisor.py         updates divided by a batch size that is taken from the data
counting.py        shuffled batches counted as Poisson sampling; micro-steps counted as steps
calibration.py     searches for the noise multiplier that return a wrong one

Nothing is imported here, so that each part costs only itself.
"""
