"""A step in so many of a training loop that others run, recorded in the background: what clarke.lightning and clarke.hf share."""
import os
import sys

from .recording.recorder import record
from .refused import Refused


class Loop:
    """Steps 0, every, 2 every, ... each into a folder of its own, FOLDER/step-NUMBER. A step that is refused at its end does not end the training: `refused`
    has why, by the step's number, and the first is told on standard error. What cannot be followed as it runs (sparse tensors, torch.func) does."""

    def __init__(self, folder, every=100, **options):
        if every < 1:
            raise ValueError(f"every is {every}: give it 1 or more")
        self.folder, self.every, self.options = folder, every, {"background": True, **options}
        self.recording, self.number, self.refused = None, None, {}

    def begin(self, model, number):
        """A step is about to run, with no gradients of another."""
        self.drop()
        if number % self.every:
            return
        recording = record(os.path.join(self.folder, f"step-{number:06}"), model, step=number, **self.options)
        self.number = number
        try:
            recording.__enter__()
        except Refused as why:
            self.note(why)
        else:
            self.recording = recording

    def end(self):
        """Its backward pass has run."""
        recording, self.recording = self.recording, None
        if recording is None:
            return
        try:
            recording.__exit__(None, None, None)
        except Refused as why:
            self.note(why)

    def drop(self):
        """A step that was begun and has no end, as the training failed in it."""
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.__exit__(RuntimeError, RuntimeError("the step has no end"), None)

    def note(self, why):
        if not self.refused:
            print(f"clarke: step {self.number} was not recorded: {why}", file=sys.stderr)
        self.refused[self.number] = str(why)
