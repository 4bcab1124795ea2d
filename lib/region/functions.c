/* A set of affine functions (functions.h). */
#include "region/functions.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

void
clarke_functions_init(clarke_functions *s, const clarke_forms *forms)
{
  memset(s, 0, sizeof *s);
  s->forms = forms;
  s->width = forms->p->n_outputs * (forms->dim + 1);
}

void
clarke_functions_clear(clarke_functions *s)
{
  for (size_t i = 0; i < s->n * s->width; i++)
    fmpz_clear(s->key + i);
  free(s->key);
  free(s->slot);
  memset(s, 0, sizeof *s);
}

/* FNV-1a, of the integers' low words and signs. */
static uint64_t
hash(const fmpz *key, size_t n)
{
  uint64_t h = 14695981039346656037u;

  for (size_t i = 0; i < n; i++) {
    h = (h ^ fmpz_get_ui(key + i)) * 1099511628211u;
    h = (h ^ (uint64_t)(fmpz_sgn(key + i) + 1)) * 1099511628211u;
    h ^= h >> 29;
  }
  return h;
}

static size_t
slot_of(const clarke_functions *s, const fmpz *key)
{
  size_t at = (size_t)hash(key, s->width) & (s->slots - 1);

  while (s->slot[at] != 0 && !_fmpz_vec_equal(s->key + (s->slot[at] - 1) * s->width, key, (slong)s->width))
    at = (at + 1) & (s->slots - 1);
  return at;
}

static clarke_status
grow(clarke_functions *s, clarke_error *err)
{
  fmpz *key;

  if (s->n < s->room)
    return CLARKE_OK;
  key = reallocarray(s->key, 2 * s->room + 16, s->width * sizeof *key);
  if (key == NULL)
    return clarke_no_memory(err);
  s->key = key;
  s->room = 2 * s->room + 16;
  free(s->slot);
  for (s->slots = 64; s->slots < 2 * s->room; s->slots *= 2)
    ;
  s->slot = calloc(s->slots, sizeof *s->slot);
  if (s->slot == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->n; i++)
    s->slot[slot_of(s, s->key + i * s->width)] = i + 1;
  return CLARKE_OK;
}

clarke_status
clarke_functions_add(size_t *number, clarke_functions *s, clarke_error *err)
{
  const clarke_code *p = s->forms->p;
  const size_t width = s->forms->dim + 1;
  clarke_status status = grow(s, err);
  fmpz *key;
  size_t at;

  if (status != CLARKE_OK)
    return status;
  key = s->key + s->n * s->width;
  for (size_t o = 0; o < p->n_outputs; o++)
    for (size_t j = 0; j < width; j++)
      fmpz_init_set(key + o * width + j, clarke_forms_at(s->forms, p->output[o]) + j);
  at = slot_of(s, key);
  if (s->slot[at] == 0)
    s->slot[at] = ++s->n;
  else
    for (size_t j = 0; j < s->width; j++)
      fmpz_clear(key + j);
  *number = s->slot[at] - 1;
  return CLARKE_OK;
}
