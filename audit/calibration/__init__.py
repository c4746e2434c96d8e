"""Coverage and power of the bounds, measured on laws with a known epsilon.

cell.py          one cell of the certificate, and the misses that it is allowed
certificate.py   the coverage-and-power certificate: every bound on every law, measured
coverage.py      how often a bound exceeds the truth, measured on laws whose exact curve is known
laws.py          laws of scores whose exact curve is known: where bounds are measured
methods.py       what is put to the test: bounds, and the uncorrected maxima that are often taken for bounds
peers.py         the estimators of jax-privacy on the samples of the certificate
"""
