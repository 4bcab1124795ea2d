"""What cannot be recorded faithfully is refused, with the module and the line."""


class Refused(Exception):
    """The step has something that a run folder cannot say. Nothing was written.

    where: the module and FILE:LINE, the parameter, or the file. why: what stands in the way. instead: what to write, or do."""

    def __init__(self, where: str, why: str, instead: str) -> None:
        super().__init__(where, why, instead)
        self.where, self.why, self.instead = where, why, instead

    def __str__(self) -> str:
        return f"{self.where}: {self.why}; {self.instead}"


class Unbatched(Exception):
    """A graph with an axis of samples cannot say it: the step is written as a single run."""


COMPOSE = "compute it with operators that can be, or export the model to ONNX and audit that"
SEEN = "let autograd see it (no detach, no_grad or .data), or, where another derivative is meant, write y + (f(x) - y).detach(), y having that"
RELEASED = "PyTorch as it is released gives another: run the step there, or export the model to ONNX and audit that"
FOLDER = "another folder is needed"
