/* Growing and ordering a collection of named tensors, for the readers of files that hold many. */
#ifndef CLARKE_FORMAT_TENSORS_H
#define CLARKE_FORMAT_TENSORS_H

#include "format/readers.h"

/* Makes room for n initialized tensors in an empty collection. */
clarke_status clarke_tensors_alloc(clarke_tensors *ts, size_t n, clarke_error *err);

/* Sorts by name (bytes), which makes the order independent of the file's; refuses two tensors of
 * one name. Every tensor has a name. */
clarke_status clarke_tensors_sort(clarke_tensors *ts, clarke_error *err);

#endif
