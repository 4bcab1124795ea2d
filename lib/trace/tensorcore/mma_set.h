/* Records of dot products that tensor cores computed, as text files hold them (docs/certify.md). */
#ifndef CLARKE_TRACE_MMA_SET_H
#define CLARKE_TRACE_MMA_SET_H

#include "base/status.h"
#include "trace/tensorcore/mma_number.h"

#include <stddef.h>

/* Rows of numbers, each the bits of a float32. */
typedef struct {
  size_t rows;
  int columns;
  uint32_t *bits; /* rows x columns */
} clarke_mma_rows;

/* Zeroed is empty. */
void clarke_mma_rows_clear(clarke_mma_rows *r);

/* Lines of eight hexadecimal digits a number, a blank after each (or between them): as many in every line, each a number of the
 * format. Messages name `file` and the line. *r must be empty; on failure it is. */
clarke_status clarke_mma_parse_factors(clarke_mma_rows *r, const clarke_mma_format *f, const void *data, size_t size,
                                       const char *file, clarke_error *err);

/* Lines of 32 digits 0 or 1. finite: an infinite number, or NaN, is refused. */
clarke_status clarke_mma_parse_bits(clarke_mma_rows *r, bool finite, const void *data, size_t size, const char *file,
                                    clarke_error *err);

/* The instructions that instruction.txt names: lines "fp32 NAME" or "fp16 NAME", of formats of results, and comments (#). */
#define CLARKE_MMA_INSTRUCTION 128 /* characters of a name, its NUL too */
typedef struct {
  char fp32[CLARKE_MMA_INSTRUCTION], fp16[CLARKE_MMA_INSTRUCTION]; /* empty: not named */
} clarke_mma_instructions;

/* Reads them; messages name `file` and the line. */
clarke_status clarke_mma_parse_instructions(clarke_mma_instructions *i, const void *data, size_t size, const char *file,
                                            clarke_error *err);

#endif
