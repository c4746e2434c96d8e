"""Names of the bounds. A new bound is one file and one line in this table; `dpassay list bounds` prints it."""

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "bound",
    {
        "accountant-family": "dpassay.audit.bounds.pair.family:Family",
        "betting": "dpassay.audit.bounds.pair.betting:Betting",
        "clopper-pearson": "dpassay.audit.bounds.pair.clopper_pearson:ClopperPearson",
        "one-run": "dpassay.audit.bounds.bits.one_run:OneRun",
        "one-run-fdp": "dpassay.audit.bounds.bits.one_run_fdp:OneRunFDP",
        "joint-exact": "dpassay.audit.bounds.pair.joint:JointExact",
        "reconstruction": "dpassay.audit.bounds.reconstruction:Reconstruction",
        "simultaneous-band": "dpassay.audit.bounds.pair.simultaneous:SimultaneousBand",
    },
)
get = catalogue.get
build = catalogue.build
