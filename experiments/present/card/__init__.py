"""Evidence card of a run: what was claimed, how it was tested, what it showed, and which hazards that covers.

card.py       The evidence card: one page and one JSON file that say what a run claims, how it was tested and what it
              showed
hazards.py    The 24 hazards of NIST SP 800-226, in the order of its draft: how to see each here, and what a run covers
              of them
registry.py   registry.yaml: what a run can say in the form of the OpenDP deployments registry
"""
