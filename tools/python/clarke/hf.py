"""For Hugging Face: Trainer(callbacks=[clarke.hf.AuditorCallback("runs/", every=100)])"""
from transformers import TrainerCallback

from .loop import Loop


class AuditorCallback(TrainerCallback):
    """Records a step in so many, into FOLDER/step-NUMBER, in the background; the options are clarke.record's. Of several batches
    (gradient_accumulation_steps) it is the first, whose gradients are not added to others yet."""

    def __init__(self, folder, every=100, **options):
        super().__init__()
        self.loop = Loop(folder, every, **options)

    @property
    def refused(self):
        """Why steps were not recorded, by their numbers."""
        return self.loop.refused

    def on_step_begin(self, args, state, control, model=None, **_):
        self.loop.begin(model, state.global_step)

    def on_substep_end(self, args, state, control, **_):
        self.loop.end()

    def on_pre_optimizer_step(self, args, state, control, **_):
        self.loop.end()
