"""Record a training step of PyTorch, and ask where automatic differentiation's gradient lies at the kinks it touched.

    with clarke.record("run/", model):
        loss = loss_fn(model(x), y)
        loss.backward()
    answer = clarke.audit("run/")
"""
from .answer import Answer, Audited, Failed, Stepped, audit, step
from .counting import counts
from .derivation import derive
from .derived import Derived
from .watching import monitor, summary
from .optimizers import DINAdam, INNAprop, INNApropReleased
from .recording.recorder import record
from .refused import Refused
from .sweeps import Swept, sweep
from .touched import Touched
from .watched import Watched

__all__ = ["Answer", "Audited", "DINAdam", "Derived", "Failed", "INNAprop", "INNApropReleased", "Refused", "Stepped", "Swept", "Touched", "Watched", "audit",
           "counts", "derive", "monitor", "record", "step", "summary", "sweep"]
__version__ = "0.1.0"
