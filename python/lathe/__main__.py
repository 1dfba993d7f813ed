"""``python -m lathe`` is the command."""

import os
import sys

from ._report import command

os.execv(command(), ["lathe", *sys.argv[1:]])
