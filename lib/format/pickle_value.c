/* The values of a pickle, and the items of those that hold others. */
#include "format/pickle_value.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_pickle_room(void *array, size_t *capacity, size_t n, size_t size, clarke_error *err)
{
  const size_t larger = *capacity + *capacity / 2 + 64;
  void *old, *grown;

  if (n < *capacity)
    return CLARKE_OK;
  memcpy(&old, array, sizeof old);
  grown = realloc(old, larger * size);
  if (grown == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu values", larger);
  memcpy(array, &grown, sizeof grown);
  *capacity = larger;
  return CLARKE_OK;
}

clarke_status
clarke_pickle_add(uint32_t *value, clarke_pickle *p, clarke_pickle_kind kind, clarke_error *err)
{
  const clarke_status status =
      clarke_pickle_room(&p->value, &p->value_capacity, p->n_values, sizeof *p->value, err);

  *value = 0;
  if (status != CLARKE_OK)
    return status;
  *value = (uint32_t)p->n_values++;
  p->value[*value] = (clarke_pickle_value){ .kind = (uint8_t)kind };
  return CLARKE_OK;
}

clarke_status
clarke_pickle_append(clarke_pickle *p, uint32_t container, uint32_t value, clarke_error *err)
{
  clarke_pickle_value *c = &p->value[container];
  const clarke_status status =
      clarke_pickle_room(&p->item, &p->item_capacity, p->n_items, sizeof *p->item, err);

  if (status != CLARKE_OK)
    return status;
  p->item[p->n_items] = (clarke_pickle_item){ value, 0 };
  if (c->last != 0)
    p->item[c->last].next = (uint32_t)p->n_items;
  else
    c->first = (uint32_t)p->n_items;
  c->last = (uint32_t)p->n_items++;
  c->count++;
  return CLARKE_OK;
}

clarke_status
clarke_pickle_constants(clarke_pickle *p, clarke_error *err)
{
  static const clarke_pickle_kind kinds[] = { CLARKE_PICKLE_NONE, CLARKE_PICKLE_BOOL,
                                              CLARKE_PICKLE_BOOL, CLARKE_PICKLE_TUPLE };
  clarke_status status = clarke_pickle_room(&p->item, &p->item_capacity, 0, sizeof *p->item, err);
  uint32_t value;

  for (size_t k = 0; k < PICKLED_N_CONSTANTS && status == CLARKE_OK; k++)
    status = clarke_pickle_add(&value, p, kinds[k], err);
  if (status != CLARKE_OK)
    return status;
  p->item[0] = (clarke_pickle_item){ 0, 0 };
  p->n_items = 1;
  p->value[PICKLED_TRUE].integer = 1;
  return CLARKE_OK;
}
