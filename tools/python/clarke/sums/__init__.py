"""In which order PyTorch adds: trees of sums, found by questions, and followed in the arithmetic of IEEE 754."""
