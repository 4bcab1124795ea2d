/* Tables of numbers as text (docs/formats.md). */
#ifndef CLARKE_KERNEL_TABLE_H
#define CLARKE_KERNEL_TABLE_H

#include "check/base/bytes.h"
#include "check/base/value.h"

typedef struct {
  size_t rows, columns;
  rational *value; /* rows x columns */
} table;

table table_read(bytes file, const char *what); /* rows of rationals; what: for messages */

#endif
