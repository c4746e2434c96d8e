"""Accounting of many noisy steps on batches of the records.

correlated_noise.py        Gaussian noise that is correlated between steps: the matrix mechanism on the gradients of
                           training
deterministic_batches.py   Gaussian noise on batches of the records in a fixed or a shuffled order, without a claim of
                           amplification
fixed_size.py              Gaussian noise on a random sample of fixed size, drawn without replacement: a Renyi bound,
                           and privacy losses
noisy_sgd.py               Noisy SGD by strong composition: the accounting before the moments accountant, for comparison
random_allocation.py       Gaussian noise where a record takes part in k of t steps, chosen at random: random
                           allocation, and balls in bins
sampled_group.py           Gaussian noise on Poisson samples of the records, for datasets that differ in a group of k
                           records, such as a user's
truncated_poisson.py       Gaussian noise on Poisson samples that are cut at a largest size B
"""
