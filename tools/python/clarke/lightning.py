"""For Lightning: Trainer(callbacks=[clarke.lightning.Auditor("runs/", every=100)])"""
try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from .loop import Loop


class Auditor(Callback):
    """Records a batch in so many, into FOLDER/step-NUMBER, in the background; the options are clarke.record's.

    A batch whose gradients are added to those of others (accumulate_grad_batches) is left out, unless it is their first."""

    def __init__(self, folder, every=100, **options):
        super().__init__()
        self.loop = Loop(folder, every, **options)

    @property
    def refused(self):
        """Why steps were not recorded, by their numbers."""
        return self.loop.refused

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        """Lightning clears the gradients behind the forward pass; a record wants none before it. Those there are would be cleared unread."""
        if batch_idx % (trainer.accumulate_grad_batches or 1) == 0 and module.automatic_optimization:
            if batch_idx % self.loop.every == 0:
                module.zero_grad()
            self.loop.begin(module, batch_idx)

    def on_after_backward(self, trainer, module):
        self.loop.end()

    def on_exception(self, trainer, module, exception):
        self.loop.drop()
