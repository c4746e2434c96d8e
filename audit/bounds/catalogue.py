"""Names of the bounds. A new one is one file and one line here; `dpassay list bounds` shows them."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "bound",
    {
        "accountant-family": "audit.bounds.family:Family",
        "betting": "audit.bounds.betting:Betting",
        "clopper-pearson": "audit.bounds.clopper_pearson:ClopperPearson",
        "one-run": "audit.bounds.one_run:OneRun",
        "one-run-fdp": "audit.bounds.one_run_fdp:OneRunFDP",
        "joint-exact": "audit.bounds.joint:JointExact",
        "reconstruction": "audit.bounds.reconstruction:Reconstruction",
        "simultaneous-band": "audit.bounds.simultaneous:SimultaneousBand",
    },
)
get = catalogue.get
build = catalogue.build
