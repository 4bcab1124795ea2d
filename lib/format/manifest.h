/* The description of a sweep: which weights and minibatches of a model are asked about, under which profiles and in which
 * floats (docs/sweep.md). Its files are named by patterns, which are not looked up here. */
#ifndef CLARKE_FORMAT_MANIFEST_H
#define CLARKE_FORMAT_MANIFEST_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLARKE_MOST_PROFILES ((size_t)16)
#define CLARKE_MOST_PATTERNS ((size_t)1 << 12)
#define CLARKE_MOST_SEEDS ((size_t)1 << 20)
#define CLARKE_FLOAT_FORMATS ((size_t)4)

typedef struct {
  size_t n;
  char **text;
} clarke_manifest_texts;

typedef struct {
  char *model, *loss; /* loss: ce, mse or sum; NULL: by what the batch's y is */
  bool sum;           /* the loss is the sum over the minibatch, where it would be the mean */
  clarke_manifest_texts checkpoints, batches, profiles, formats, wrt; /* batches: one or more; profiles: two or more */
  size_t n_seeds;
  uint32_t *seed;     /* weights that are drawn, in place of stored ones */
} clarke_manifest;

void clarke_manifest_init(clarke_manifest *m);
void clarke_manifest_clear(clarke_manifest *m);

/* From the bytes of a JSON file; `file` is its name in messages. A key that is not known is an error. */
clarke_status clarke_manifest_parse(clarke_manifest *m, const void *data, size_t size, const char *file, clarke_error *err);

#endif
