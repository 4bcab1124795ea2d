/* The network's last step as a run folder (docs/run-format.md). */
#ifndef CLARKE_CUDA_DENSE_FOLDER_H
#define CLARKE_CUDA_DENSE_FOLDER_H

#include "network.h"

#include "base/status.h"

/* The folder may exist; its files are replaced. The parameters must be those that the step began with. */
clarke_status folder_write(const char *folder, const dense_network *d, size_t step, clarke_error *err);

#endif
