"""How many of what is drawn a test draws, where not all are wanted: tests/draw.h says the same to tests in C."""
import os

ONE_IN = max(1, int(os.environ.get("DRAW_ONE_IN", "1")))


def draw_count(n):
    """Of n one in ONE_IN, rounded up."""
    return -(-n // ONE_IN)
