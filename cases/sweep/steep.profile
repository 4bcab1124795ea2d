# Another slope of Relu at 0 than PyTorch takes.
Relu 0 1
