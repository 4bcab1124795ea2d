"""What ran, written: as a graph of ONNX's nodes, or as a program of `clarke`, with what AD differentiates in the place of others."""
