"""What answers cost on the very votes that were cast, and how that number can be published.

renyi.py             Renyi divergences of an answer, from how likely it is not the first label
data_dependent.py    data_dependent: the epsilon of a table of votes, which is itself private
smooth.py            how far that number may move: its smooth sensitivity
private_epsilon.py   PrivateEpsilon: that number with noise, as a mechanism
"""
