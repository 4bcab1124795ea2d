/* Checkpoints in several files. */
#ifndef CLARKE_FORMAT_SHARDS_H
#define CLARKE_FORMAT_SHARDS_H

#include "format/tensors.h"

/* An index of shards, as model.safetensors.index.json is: which file holds which tensor. Both are names; files are ones
 * without a folder, and no hidden ones. Sorted by file, then tensor. */
typedef struct {
  char *file, *tensor;
} clarke_shard;

typedef struct {
  size_t n;
  clarke_shard *shard;
} clarke_shards;

void clarke_shards_init(clarke_shards *s);
void clarke_shards_clear(clarke_shards *s);
/* Reads an index alone, none of its files. file: its name, for messages. */
clarke_status clarke_shards_parse(clarke_shards *s, const void *data, size_t size, const char *file, clarke_error *err);
/* The tensors of an index that lies at `path`: each file in its folder holds just those that the index says. Symbolic
 * links are not followed. */
clarke_status clarke_shards_read(clarke_tensors *ts, const clarke_shards *s, const char *path, clarke_error *err);

#endif
