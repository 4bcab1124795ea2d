#include "base/room.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool
clarke_room(void *array, size_t *room, size_t n, size_t size)
{
  const size_t twice = *room < SIZE_MAX / 4 ? 2 * *room + 16 : SIZE_MAX, wanted = n > twice ? n : twice;
  void *old, *grown; /* of entries of any type: their pointer is copied as bytes */

  if (n <= *room)
    return true;
  memcpy(&old, array, sizeof old);
  grown = size > 0 && wanted <= PTRDIFF_MAX / size ? realloc(old, wanted * size) : NULL;
  if (grown == NULL)
    return false;
  memcpy(array, &grown, sizeof grown);
  *room = wanted;
  return true;
}

clarke_status
clarke_make_room(void *array, size_t *room, size_t n, size_t size, clarke_error *err)
{
  return clarke_room(array, room, n, size) ? CLARKE_OK : clarke_no_memory(err);
}
