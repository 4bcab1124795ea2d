/* The sets of records in a folder, and in the folders of it. */
#ifndef CLARKE_TRACE_MMA_FOLDER_H
#define CLARKE_TRACE_MMA_FOLDER_H

#include "trace/tensorcore/mma_set.h"

#include <stdbool.h>

/* The dot products of one GPU and format: files a_GPU_FORMAT.txt, b_GPU_FORMAT.txt, c_GPU_fp32.txt, and d_GPU_fp32.txt or
 * d_GPU_fp16.txt or both, and instruction.txt, which may be missing. */
typedef struct {
  char *path;   /* of the folder, as it is opened */
  char *folder; /* the same from where the search began; "" is that one */
  char *gpu;
  int input;    /* format */
  bool has_fp32, has_fp16;
} clarke_mma_place;

typedef struct {
  size_t n;
  clarke_mma_place *place;
} clarke_mma_places;

/* All sets below a folder, by name. Links are followed; names that begin with a dot are passed over, and so are other files. An
 * error: no set, folders too deep, an unknown format, two sets of one GPU in a folder (their files c and d would be one), a file b, c
 * or d without its a, an a without b, c or any d. *p must be zeroed; clear it whatever comes out. */
clarke_status clarke_mma_places_find(clarke_mma_places *p, const char *directory, clarke_error *err);
void clarke_mma_places_clear(clarke_mma_places *p);
#define CLARKE_MMA_DEPTH 6 /* folders in folders */

/* A set in memory: rows of one number of each, columns of a and b alike; d has no rows where no file was. */
typedef struct {
  clarke_mma_rows a, b, c, fp32, fp16;
  clarke_mma_instructions instruction;
} clarke_mma_set;

/* *s must be zeroed; clear it whatever comes out. An instruction must say the formats and number of products of its set. */
clarke_status clarke_mma_set_read(clarke_mma_set *s, const clarke_mma_place *p, clarke_error *err);
void clarke_mma_set_clear(clarke_mma_set *s);

#endif
