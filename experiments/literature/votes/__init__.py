"""Votes of teachers on public points, and what students learn from the answers (PATE).

glyph_like.py   Synthetic substitute for the Glyph data of PATE: 150 classes, 5,000 teachers, and partly wrong labels
rounds.py       Two rounds of PATE: Confident-GNMax labels data for a first student, and Interactive-GNMax corrects or
                confirms it
students.py     Accuracy of PATE students that learn from the answered points only, or from all public points
teachers.py     Votes of teachers on public points, and the results of one aggregator: answers, epsilons and a student
"""
