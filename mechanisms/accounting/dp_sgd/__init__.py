"""Many noisy steps on batches of the records: what DP-SGD is accounted by.

fixed_size.py               Gaussian noise on samples of fixed size
deterministic_batches.py    Gaussian noise on shuffled and cyclic batches
moments.py                  MomentsDP            Renyi divergences, converted as the moments accountant does
noisy_sgd.py                strong_composition   noisy SGD before the moments accountant, and curves to compare
"""
