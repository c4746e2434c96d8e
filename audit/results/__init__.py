"""What is returned: frozen, with its words and its one JSON form.

audit_result.py   AuditResult, ClaimCurve
claim_curve.py    the accountant's curve, sampled for drawing
refuting_event.py the event that refutes a claim, with outputs of each side in it
explained.py      steps that explain a verdict, and may fail
low_bits.py       what is shown without the low bits of floats
drawing.py        who draws a result: looked up in the package's metadata
recovery.py       how much of a secret was recovered, and how much the claim allows
text.py           the table and the sentences that a person reads
saved.py          Saved: how every result is written and read
consistency.py    do the numbers of a result that was read agree with each other?
with_estimates.py    Estimates added to a result by name: shown without a guarantee, and never compared to a claim
witness_file.py      A violation as a JSON file that a third party can check with `checker.py`, which needs numpy and s
estimates/           Numbers without coverage: for plots and comparison, never for a verdict
witness/             Findings without statistics: what one side can give and the other cannot, and how a third party lo
"""

from .audit_result import AuditResult as AuditResult, ClaimCurve as ClaimCurve
