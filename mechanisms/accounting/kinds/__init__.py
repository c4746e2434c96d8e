"""Kinds of guarantees, one class each.

profile.py        ProfileGuarantee: the base class, a guarantee that is defined by its privacy profile
approximate.py    PureDP, ApproximateDP
bounded_range.py  BoundedRange: all log likelihood ratios lie in an interval of a known length
concentrated.py   ConcentratedDP
renyi.py          RenyiDP at finitely many orders, and MomentsDP with the conversion of the moments accountant
gaussian.py       GaussianDP
laplace.py        LaplaceDP: the exact curve of Laplace noise on one number
two_laws.py       exact curves of one number with noise whose centre and scale may both differ between the sides
exact.py          ExactDP: the exact curve of a pair of finite output distributions
privacy_loss.py   PrivacyLossDP: numerical accounting by Google's dp-accounting
"""
