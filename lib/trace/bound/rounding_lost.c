/* Where a gradient has no bound any more, nor has what it goes on to (rounding_lost.h). */
#include "trace/bound/rounding_lost.h"

#include <math.h>
#include <string.h>

bool
clarke_roundback_is_lost(const clarke_roundback *b)
{
  size_t e = 0;

  while (e < b->count * b->n && b->error[e] == INFINITY)
    e++;
  return e == b->count * b->n;
}

static void
lose_all(clarke_roundback *b, size_t value)
{
  const clarke_value *v = &b->g->values[value];

  if (v->constant ? b->sum[value].error == NULL : !b->carries[value])
    return;
  b->lost[value] = true;
  clarke_rounding_sum_clear(&b->sum[value]);
}

/* The entries that n entries of a map lead to: all of the value, where they are all that it has. */
static void
lose_mapped(clarke_roundback *b, size_t value, const size_t *map, size_t n)
{
  const clarke_value *v = &b->g->values[value];
  const size_t columns = v->constant ? 1 : b->n;
  clarke_rounding_sum *to = clarke_roundback_target(b, value);
  size_t met = 0;

  if (to == NULL)
    return;
  memset(b->reads, 0, v->count * sizeof *b->reads);
  for (size_t i = 0; i < n; i++)
    if (map[i] != CLARKE_NONE && b->reads[map[i]]++ == 0) {
      met++;
      for (size_t j = 0; j < columns; j++)
        to->error[map[i] * columns + j] = INFINITY;
    }
  if (met == v->count)
    lose_all(b, value);
}

static void
lose_operand(clarke_roundback *b, const clarke_step *s, size_t k, size_t n)
{
  if (s->in[k].map != NULL)
    lose_mapped(b, s->in[k].value, s->in[k].map, n);
  else
    lose_all(b, s->in[k].value);
}

static bool
is_zero(const clarke_roundback *b, size_t value)
{
  const size_t n = b->g->values[value].count * b->n;
  size_t e = 0;

  while (e < n && b->r->size[value][e] + b->r->error[value][e] == 0)
    e++;
  return e == n;
}

void
clarke_roundback_lose(clarke_roundback *b, size_t i)
{
  const clarke_step *s = &b->g->steps[i];
  const size_t count = b->g->values[s->out].count;

  b->lost[s->out] = true;
  for (size_t k = 0; k < s->n_in; k++)
    if (s->kind == CLARKE_PRODUCT)
      lose_all(b, s->in[k].value);
    else
      lose_operand(b, s, k, s->kind == CLARKE_MAX ? count * s->width : count);
  if (s->kind == CLARKE_DENSE && !is_zero(b, s->in[0].value)) /* products of zeros are 0 whatever comes back */
    lose_all(b, s->dense.weight);
  if (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE)
    lose_all(b, s->pieces.slope);
}
