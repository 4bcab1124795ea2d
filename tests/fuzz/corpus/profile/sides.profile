LeakyRelu 0 left

  PRelu 0 -3/4 # comment
HardSigmoid 1 0