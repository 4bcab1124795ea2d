/* Values of a pickle being made. (clarke_pickle_add: pickle.h.) */
#ifndef CLARKE_FORMAT_PICKLE_VALUE_H
#define CLARKE_FORMAT_PICKLE_VALUE_H

#include "format/pickle.h"

/* Values that every pickle has, by their index. */
enum { PICKLED_NONE, PICKLED_FALSE, PICKLED_TRUE, PICKLED_EMPTY_TUPLE, PICKLED_N_CONSTANTS };

/* Makes these, in a pickle without values. */
clarke_status clarke_pickle_constants(clarke_pickle *p, clarke_error *err);

/* Room for one more in the array that the pointer at `array` means. Every value, item, place on the stack, mark and place
 * in the memo is asked for by a byte of the pickle at least (a tuple of k values by the k bytes that pushed them). */
clarke_status clarke_pickle_room(void *array, size_t *capacity, size_t n, size_t size, clarke_error *err);

/* The value becomes the last item of the container. */
clarke_status clarke_pickle_append(clarke_pickle *p, uint32_t container, uint32_t value, clarke_error *err);

#endif
