# D^AD(Clip) at its upper kink, larger than both slopes there.
like pytorch-2.13
Clip 1 9
