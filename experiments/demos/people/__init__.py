"""Demos on information about people in studies, models and visits.

leave_one_out.py         Generalisation is not privacy: learners of equal accuracy, one of which reveals an outlier of
                         its training data
row_of_a_regression.py   Reconstruction of a row from regression coefficients: exact, rounded, noisy, and differentially
                         private
"""
