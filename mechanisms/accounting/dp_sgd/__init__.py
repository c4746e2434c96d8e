"""Accounting of many noisy steps on batches of the records.

correlated_noise.py        Gaussian noise that is correlated between steps: the matrix mechanism on the gradients of
                           training
deterministic_batches.py   Gaussian noise on batches of the records in a fixed or a shuffled order, without a claim of
                           amplification
fixed_size.py              Gaussian noise on a random sample of fixed size, drawn without replacement: a specific Renyi
                           bound
noisy_sgd.py               Noisy SGD by strong composition: the accounting before the moments accountant, for comparison
"""
