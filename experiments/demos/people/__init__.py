"""Demos on information about people in studies, models and visits.

in_this_study.py         Membership inference from one row and the published means of a hundred: exact, rounded, and
                         private
leave_one_out.py         Generalisation is not privacy: learners of equal accuracy, one of which reveals an outlier of
                         its training data
row_of_a_regression.py   Reconstruction of a row from regression coefficients: exact, rounded, noisy, and differentially
                         private
"""
