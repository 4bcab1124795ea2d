/* Readers of files from strangers. Each reads a file wholly or refuses it with a message that says
 * what is wrong and where; nothing in a file is trusted (sizes, shapes, offsets, nesting), memory
 * stays proportional to the file, and every *_parse is a fuzz target. `file` is the name used in
 * messages. Outputs must be initialized and are owned (and cleared) by the caller. */
#ifndef CLARKE_FORMAT_READERS_H
#define CLARKE_FORMAT_READERS_H

#include "op/model.h"

#include <stdio.h>

/* A whole file in memory, with its SHA-256. */
typedef struct {
  unsigned char *data;
  size_t size;
  char sha256[65]; /* lower-case hexadecimal */
} clarke_file;

clarke_status clarke_file_read(clarke_file *f, const char *path, clarke_error *err);
/* The same of a file in the folder of `path`, but for symbolic links. name: one without a folder. */
clarke_status clarke_file_read_beside(clarke_file *f, const char *path, const char *name, clarke_error *err);
void clarke_file_clear(clarke_file *f);

/* Named tensors, as in a safetensors or .npz file. */
typedef struct {
  size_t n;
  clarke_tensor *tensor;
} clarke_tensors;

void clarke_tensors_init(clarke_tensors *ts);
void clarke_tensors_clear(clarke_tensors *ts);
/* Decodes all that are packed. */
clarke_status clarke_tensors_unpack(clarke_tensors *ts, clarke_error *err);
const clarke_tensor *clarke_tensors_find(const clarke_tensors *ts, const char *name);

clarke_status clarke_onnx_parse(clarke_model *m, const void *data, size_t size, const char *file,
                                clarke_error *err);
/* The same of the file that lies at `path`, whose base name is used in messages: initializers with
 * external data are read from its folder. */
clarke_status clarke_onnx_parse_at(clarke_model *m, const void *data, size_t size,
                                   const char *path, clarke_error *err);
clarke_status clarke_safetensors_parse(clarke_tensors *ts, const void *data, size_t size,
                                       const char *file, clarke_error *err);
/* The same, but float32 tensors stay packed (exact/tensor.h): data must outlive them. */
clarke_status clarke_safetensors_parse_packed(clarke_tensors *ts, const void *data, size_t size, const char *file, clarke_error *err);
clarke_status clarke_npy_parse(clarke_tensor *t, const void *data, size_t size, const char *file,
                               clarke_error *err);
/* Members NAME.npy become tensors NAME. *stored: were all members stored uncompressed? */
clarke_status clarke_npz_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size,
                               const char *file, clarke_error *err);
/* Either, by the ending of the file's name: an .npy is one array, named after the file, and stored. */
clarke_status clarke_arrays_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size, const char *file,
                                  clarke_error *err);

/* A PyTorch state dict, as torch.save writes it since version 1.6, or the one that a checkpoint's
 * dictionary holds: under the key, or, when that is NULL, under one of the usual names. The pickle in it is read as
 * data: nothing is executed. */
clarke_status clarke_pt_parse(clarke_tensors *ts, const char *key, const void *data, size_t size,
                              const char *file, clarke_error *err);

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
clarke_status clarke_shards_parse(clarke_shards *s, const void *data, size_t size, const char *file, clarke_error *err);
/* The tensors of an index that lies at `path`: each file in its folder holds just those that the index says. Symbolic
 * links are not followed. */
clarke_status clarke_shards_read(clarke_tensors *ts, const clarke_shards *s, const char *path, clarke_error *err);

/* Writes a model as ONNX: float32 initializers, inputs and outputs (inputs may be int64), attributes that are whole numbers. The same model gives
 * the same bytes; the graph's name is m->file. Whoever closes `out` learns whether the writes succeeded. */
clarke_status clarke_onnx_write(FILE *out, const clarke_model *m, clarke_error *err);

/* Writes float64 tensors as safetensors: to a temporary file beside path, then renamed. */
clarke_status clarke_safetensors_write(const char *path, const clarke_tensors *ts,
                                       clarke_error *err);

#endif
