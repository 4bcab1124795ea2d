"""What a hostile input is: files that are made when they are asked for, and the runs on them."""
from collections import namedtuple

# says: what it must print, a pattern; alone: the other program need not agree; seconds: of processor time, at most.
Run = namedtuple("Run", "command statuses says alone seconds", defaults=(30,))
Hostile = namedtuple("Hostile", "name files runs quick")

ENDS = (0, 1, 2, 3)


def run(command, statuses=ENDS, says=None, alone=False, seconds=30):
    return Run(command, statuses, says, alone, seconds)


def refused(command, limit=None, says=None, alone=False):
    """limit: the one that refuses it, by name."""
    return Run(command, (2,), "--limit %s=" % limit if limit is not None else says, alone)
