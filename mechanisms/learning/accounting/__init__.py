"""What noisy gradient steps cost.

steps.py         the guarantee of a number of steps, by the accountant of your choice
calibration.py   how much noise a wanted epsilon needs
"""

from .calibration import calibrate_noise as calibrate_noise
from .steps import steps_guarantee as steps_guarantee
