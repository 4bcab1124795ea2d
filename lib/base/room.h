/* Arrays that grow. */
#ifndef CLARKE_BASE_ROOM_H
#define CLARKE_BASE_ROOM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for n entries of that size, 1 or more, in an array that has *room. When that is less the array moves, to twice as many or more.
 * array: where its pointer is, which may be NULL as long as *room is 0. False: out of memory, and all is as it was. */
bool clarke_room(void *array, size_t *room, size_t n, size_t size);
/* The same, as a status. */
clarke_status clarke_make_room(void *array, size_t *room, size_t n, size_t size, clarke_error *err);

#endif
