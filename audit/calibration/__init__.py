"""Coverage and power of the bounds, measured on laws with a known epsilon.

cell.py          One cell of the certificate: a method on one law at one delta, confidence and size
certificate.py   The coverage-and-power certificate: every bound on every law, measured
laws.py          Laws (distributions) of scores with a known exact curve, on which bounds are measured
methods.py       Methods under test: bounds, and the uncorrected maxima that are often mistaken for bounds
peers.py         The estimators of jax-privacy on the samples of the certificate. Needs the extra `jax`; imported on
                 request
published.py     Rules from published audits, rebuilt from their descriptions, to measure how often they report a leak
                 where none is
text.py          The text of a certificate: whether every bound keeps its level, how often each misses, and how close it
                 comes
"""
