"""Kinds of guarantees, one class each.

approximate.py     Pure and approximate differential privacy
bounded_range.py   Bounded range: all log likelihood ratios of the two sides lie in an interval of a known length
concentrated.py    Zero-concentrated differential privacy
exact.py           Exact curve of a pair of finite output distributions
gaussian.py        Gaussian differential privacy
laplace.py         Exact curve of Laplace noise on one number
privacy_loss.py    Privacy-loss distributions: numerical accounting by Google's dp-accounting
profile.py         Guarantees defined by their privacy profile delta(epsilon)
renyi.py           Renyi differential privacy at finitely many orders, and the moments accountant
two_laws.py        Exact curves of one number with noise whose centre and scale may both differ between the sides
"""
