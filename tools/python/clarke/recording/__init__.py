"""clarke.record: a step is run once more, compared with those of the same program, and written as a run folder."""
