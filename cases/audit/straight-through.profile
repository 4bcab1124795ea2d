like pytorch-2.13
surrogate QuantizeLinear rounded
