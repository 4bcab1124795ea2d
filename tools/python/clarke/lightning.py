"""For Lightning: Trainer(callbacks=[clarke.lightning.Auditor("runs/", every=100)])"""
try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from .loop import Loop


class Auditor(Callback):
    """Records a batch in so many, into FOLDER/step-NUMBER, in the background; the options are clarke.record's. Batches are counted
    through all epochs that this callback sees.

    A batch whose gradients are added to those of others (accumulate_grad_batches) is left out, unless it is their first."""

    def __init__(self, folder, every=100, **options):
        super().__init__()
        self.loop, self.seen = Loop(folder, every, **options), 0

    @property
    def refused(self):
        """Why steps were not recorded, by their numbers."""
        return self.loop.refused

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        """Lightning clears the gradients behind the forward pass; a record wants none before it. Those there are would be cleared unread."""
        number, self.seen = self.seen, self.seen + 1  # batch_idx begins anew in each epoch
        if batch_idx % (trainer.accumulate_grad_batches or 1) == 0 and module.automatic_optimization:
            if number % self.loop.every == 0:
                module.zero_grad()
            self.loop.begin(module, number)

    def on_after_backward(self, trainer, module):
        self.loop.end()

    def on_exception(self, trainer, module, exception):
        self.loop.drop()
