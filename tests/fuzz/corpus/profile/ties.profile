like jax # and then
Clip 0 0
Clip 1 right
tie Max last
tie Sort hybrid 1/3
tie MaxPool mean
