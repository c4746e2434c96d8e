"""Gain of attacks on people's data over baselines, and membership metrics; none of them bounds epsilon.

assistants.py      Audit of an assistant with retrieval or memory: which canary documents are in its store, guessed from
                   its answers
disclosure.py      Singling out, linkability and attribute inference, measured on two releases of disjoint halves of the
                   people
gain.py            Gain of an attack over its baselines, on the same people
membership/        Metrics of membership attacks on shadow models, which `dpassay.audit.games` trains
relative_test.py   Are unlearned models nearer to retrained or to original ones? A metric, and no bound on epsilon
residual_risk.py   Residual risks by the definition of Giomi et al. (2023), for comparison with published ones; not
                   bounds
table_risk/        Risks of one synthetic table: records that it was made of, compared with records that it was not made
                   of
text.py            The texts of gains: of one attack over its baselines, and of an attack over all people and over
                   groups
"""

from .assistants import audit_assistant as audit_assistant
from .disclosure import DisclosureGains as DisclosureGains, disclosure as disclosure, most_gained as most_gained
from .gain import (
    BaselineGain as BaselineGain,
    Gain as Gain,
    Rate as Rate,
    attribute_gain as attribute_gain,
    gain as gain,
)
from .relative_test import RelativeTest as RelativeTest, relative_test as relative_test
from .residual_risk import ResidualRisk as ResidualRisk, residual_risk as residual_risk
from .table_risk import (
    KeyedTable as KeyedTable,
    RiskResult as RiskResult,
    TableKeys as TableKeys,
    TossedTable as TossedTable,
    risk as risk,
    toss_table as toss_table,
)
