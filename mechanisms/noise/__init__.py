"""Noise.

additive/            Mechanisms that add noise to numbers
counts/              Counts of many subsets of one column of bits: what reconstruction attacks read
discrete/            Noise on whole numbers and on grids, without floating-point trouble
queries/             Functions of the records, each with its sensitivity under every neighbouring relation
statistics/          Statistics of records whose noise depends on more than a sensitivity
studies/             Studies: what is published about a group of people, each with 0 or 1 in many columns
"""
