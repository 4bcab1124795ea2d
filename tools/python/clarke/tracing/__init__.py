"""What ran: the operators of a step as PyTorch's dispatcher runs them, the memory that they share, and what Python held meanwhile."""
