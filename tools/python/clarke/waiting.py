"""The recorded steps of a monitor that are not answered yet: between the training's thread and the monitor's."""
from collections import deque
from concurrent.futures import Future
from threading import Condition

BYTES, MOST = 1 << 26, 8  # of the steps that wait
PAUSE = 0.05  # seconds


class Deferred(Future):
    """What is to be done of a step, when run() is called."""

    def __init__(self, work, *args):
        super().__init__()
        self.left = work, args

    def run(self):
        left, self.left = self.left, None
        if left is None:
            return
        try:
            self.set_result(left[0](*left[1]))
        except BaseException as why:  # result() raises it
            self.set_exception(why)


class Waiting:
    """One step is asked about, and no more than `most` wait. When there is no room a training waits until all but two are answered, and then has room
    for several: whoever waits for each answer finds the processor's caches full of others' numbers at each step.

    quiet: steps follow one another, so the training will wait soon; the monitor's thread works when it does. (It would take turns with
    the training's thread in Python, and its caches.)"""

    def __init__(self, most, quiet):
        """most: None, as many as hold BYTES, from 2 to MOST."""
        self.given, self.most, self.quiet = most is not None, 2 if most is None else most, quiet
        self.items, self.taken, self.full, self.ended, self.changed = deque(), 0, False, False, Condition()

    # ---- In the training's thread

    def enter(self):
        """A step is to be recorded, when there is room."""
        with self.changed:
            if self.taken > self.most:
                self.full = True
                self.changed.notify_all()
                self.changed.wait_for(self.has_room)
                self.full = False
            self.taken += 1

    def has_room(self):
        """For several: one is asked about, one waits."""
        return self.taken <= min(self.most, 2)

    def put(self, *item):
        with self.changed:
            self.items.append(item)
            if not self.quiet:
                self.changed.notify_all()

    def end(self):
        """Nothing more will come."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    # ---- In the monitor's

    def get(self):
        """The next; None: there is none, and none will come."""
        with self.changed:
            while not self.items and not self.ended:
                self.changed.wait(PAUSE if self.quiet else None)
            return self.items.popleft() if self.items else None

    def next(self):
        """The one behind, if the training waits, or has ended."""
        with self.changed:
            return self.items[0] if self.items and (self.full or self.ended) else None

    def pause(self):
        """Until the training waits, if it will soon."""
        with self.changed:
            if self.quiet:
                self.changed.wait_for(lambda: self.full or self.ended, PAUSE)

    def leave(self):
        """It is answered, or there is none."""
        with self.changed:
            self.taken -= 1
            if self.full and self.has_room():
                self.changed.notify_all()

    def measure(self, size):
        """So many bytes a step has."""
        with self.changed:
            if not self.given:
                self.most = min(max(BYTES // max(size, 1), 2), MOST)
