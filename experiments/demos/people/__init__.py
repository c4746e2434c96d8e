"""Demos on information about people in studies, models and visits.

in_this_study.py         membership inference from one row and published means: exact, rounded, private
leave_one_out.py         learners of equal accuracy, one of which leaks an outlier
medical_visits.py        visits without names: linkage, k-anonymity, intersection, and a defence
row_of_a_regression.py   reconstruction of a patient from regression coefficients: exact, rounded, noisy
"""
