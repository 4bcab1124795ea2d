/* Tables of numbers as text: a row a line, its numbers parted by spaces or tabs; all rows are equally long. What follows a # on
 * its line is a comment; lines without numbers are passed over. A number is -3, 0.25, 1e-3 or 1/3, exactly; numpy.savetxt and
 * Matlab write such files. */
#ifndef CLARKE_FORMAT_TABLE_H
#define CLARKE_FORMAT_TABLE_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

#define CLARKE_TABLE_ENTRIES ((size_t)1 << 20)
#define CLARKE_TABLE_EXPONENT 400 /* after an e, at most */

typedef struct {
  size_t rows, columns; /* both at least 1 */
  mpq_t *value;         /* rows x columns */
} clarke_table;

/* One number as above, the whole word. */
bool clarke_table_number(mpq_t value, const char *word);

void clarke_table_init(clarke_table *t);
void clarke_table_clear(clarke_table *t);

/* Reads a table of one number or more. file: its name, for messages. */
clarke_status clarke_table_parse(clarke_table *t, const void *data, size_t size, const char *file, clarke_error *err);

#endif
