"""Demos on what is learned about people from studies, models and visits.

in_this_study.py         one row against published means: exact, rounded, private
medical_visits.py        visits without names: linked, k-anonymous and intersected, and the cure
row_of_a_regression.py   a patient from the coefficients of a regression, and what rounding and noise do
leave_one_out.py         learners of equal accuracy, of which one gives an outlier away
"""
