# a profile
Relu 0 1/2
Clip 0 1
Clip 1 right
Abs 0 0.25
