"""Names of the games that [game] may name. A new one is one file and one line here; `dpassay list games` shows them.

The file holds the keys of [game], how the game is planned, and the task; without [game] it is `tasks.pair`.
"""

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "game",
    {
        "one-run": "dpassay.experiments.tasks.one_run:OneRunTask",
        "reconstruction": "dpassay.experiments.tasks.reconstruction:ReconstructionTask",
    },
)
