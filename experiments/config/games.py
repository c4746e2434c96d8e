"""Catalogue of the games of [game]. A new game is one file and one line below; `dpassay list games` shows them.

The file has the keys of [game], the planning of the game, and its task; without [game] the task is `tasks.pair`.
"""

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "game",
    {
        "one-run": "dpassay.experiments.config.tasks.one_run:OneRunTask",
        "reconstruction": "dpassay.experiments.config.tasks.reconstruction:ReconstructionTask",
    },
)
