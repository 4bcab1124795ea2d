"""What cannot be recorded faithfully is refused, with the module and the line."""


class Refused(Exception):
    """The step has something that a run folder cannot say. Nothing was written."""
