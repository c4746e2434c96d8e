"""Results of audits: frozen, with a table, a figure and one JSON form.

audit_result.py    AuditResult, and Provenance: the part of it that the game knows
saved.py           Saved and DrawnResult: how every result is written, read, checked and drawn
text.py            the summary table, and the evidence for a violation
claim_curve.py     the claimed curves, sampled for drawing
refuting_event.py  RefutingEvent: the event that refutes a claim, with outputs of each side
recovery.py        Recovery: success rate of a reconstruction, and the one that the claim allows
with_estimates.py  estimates added to a result by name
witness_file.py    a violation as a JSON file that a third party can check
estimates/         numbers without coverage, never compared to a claim
witness/           findings without statistics, and the checker for third parties
"""

from .audit_result import AuditResult as AuditResult, ClaimCurve as ClaimCurve
