"""Conditions: entries of tensors that are true or false, as comparisons that a program's branches ask."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """kind "known": parts is true or false; "is": a comparison's text; "not", "and", "or": of other conditions."""

    kind: str
    parts: tuple

    @staticmethod
    def known(value):
        return Condition("known", (bool(value),))

    def choose(self, then, other, branch):
        """One of two entries: branch(comparison, then, other) writes a branch."""
        first, *rest = self.parts
        match self.kind:
            case "known":
                return then if first else other
            case "is":
                return then if then == other else branch(first, then, other)
            case "not":
                return first.choose(other, then, branch)
            case "and":
                return first.choose(rest[0].choose(then, other, branch), other, branch)
            case "or":
                return first.choose(then, rest[0].choose(then, other, branch), branch)
