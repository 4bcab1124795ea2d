/* PyTorch checkpoints. */
#ifndef CLARKE_FORMAT_PT_H
#define CLARKE_FORMAT_PT_H

#include "format/tensors.h"

/* A PyTorch state dict, as torch.save writes it, or the one that a checkpoint's
 * dictionary holds: under the key, or, when that is NULL, under one of the usual names. The pickle in it is read as
 * data: nothing is executed. */
clarke_status clarke_pt_parse(clarke_tensors *ts, const char *key, const void *data, size_t size,
                              const char *file, clarke_error *err);

#endif
