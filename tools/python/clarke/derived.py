"""What clarke.derive answers."""
from __future__ import annotations

from .answer import Said
from .touched import Touched, of_function


class Derived(Said):
    """All that `clarke derive --json` says, by its keys: "verdict", "value", "ad", "clarke", ...; and these, as of an audit's answer.

    Vectors are lists of exact numbers as texts, in the order of the inputs' entries; "program" is the program's text, "proof" its proof
    where there is a verdict, "branches" the lines of Python's branches that hang on the inputs. verdict: in-bouligand, in-clarke,
    not-in-clarke, undecided."""

    @property
    def reason(self) -> str:
        """Why, a sentence."""
        return self["why"]

    @property
    def touched(self) -> list[Touched] | None:
        """The kinks that are touched, each with its operator and line; None: they are not known."""
        return None if self["touched"] is None else [of_function(kink) for kink in self["touched"]]

    @property
    def proof(self) -> bytes | None:
        """For clarke-check, beside the program in a file traced.prog; None when undecided."""
        return self["proof"].encode() if "proof" in self else None

    @property
    def in_clarke(self) -> bool:
        """Is AD's derivative shown to be in the Clarke subdifferential?"""
        return self.verdict in ("in-bouligand", "in-clarke")
