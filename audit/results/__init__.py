"""Results of audits: frozen, with a table, a figure and one JSON form.

audit_result.py     The result of an audit: frozen, complete, and with a versioned JSON form
breakdown.py        Where the epsilon of a claim goes: the steps from the claim down to the bound, and what each of them
                    loses
claim_curve.py      The claimed curves, sampled for drawing, with few points, placed where the curve bends
estimates/          Estimates of epsilon without coverage: for plots and comparison, never for a verdict
explanations.py     The steps of an explanation: one that fails is missing, with a warning, and the result is there
found_pair.py       The pair that a search found, from the ledger of its confirmation, and the options that audit it
                    again
plain.py            A result as plain text, for terminals, logs and notebooks: a table of two columns, the details below
recovery.py         Success rate of a reconstruction, with the success of a blind guess and the largest one that the
                    claim allows
refuting_event.py   The deciding event of a violation in readable form: its rule in words, and example outputs of each
                    side
result_text.py      The text of a result: one model that the terminal, pages, cards, build servers and figures render
saved.py            The JSON form of all results, checked in full when it is read
text.py             The text of an audit: verdict, claim and bound, the evidence, the next step, and the details
with_estimates.py   Estimates added to a result by name: shown without a guarantee, and never compared to a claim
withheld.py         A result without values of the data: for cards, and for build servers, which keep and show what they
                    receive
witness/            Witnesses: findings without statistics, which a third party can check
witness_file.py     A violation as a JSON file that a third party can check with `checker.py`, which needs numpy and
                    scipy only
"""

from .audit_result import AuditResult as AuditResult, ClaimCurve as ClaimCurve
