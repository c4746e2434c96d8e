"""Data and studies of systems of the literature: census tables, votes of teachers, and shadow tables.

adult.py           Adult, a census table in codes, its five-marginal example, and a synthetic table of its size
assistants.py      Assistants that answer from documents, with TF-IDF and extractive answers: leaking ones, and one with
                   a claim
census.py          Synthetic people of census blocks: ages, sexes and races distributed as in a large country, by block
shadow_tables.py   Membership attacks on synthetic tables for [membership]: every shadow model is a table of half of the
                   records
votes/             Votes of teachers on public points, and what students learn from the answers (PATE)
"""
