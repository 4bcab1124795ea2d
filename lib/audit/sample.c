#include "audit/sample.h"

#include "audit/ascent.h"
#include "exact/mdm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN 64
#define ROUNDS 256
#define NEARLY 0.01 /* a cell is worth adding */

void
clarke_sample_clear(clarke_sample *s)
{
  clarke_classes_clear(&s->classes);
  free(s->cell);
  free(s->change);
  free(s->v);
  free(s->option);
  memset(s, 0, sizeof *s);
}

void
clarke_sample_add(clarke_sample *s)
{
  const clarke_classes *c = &s->classes;
  double *change = s->change + s->n * c->n_columns;

  if (s->n == s->most)
    return;
  memcpy(s->cell + s->n * c->n, s->option, c->n * sizeof *s->cell);
  memset(change, 0, c->n_columns * sizeof *change);
  for (size_t i = 0; i < c->n; i++)
    for (size_t j = 0; j < c->n_columns; j++)
      for (size_t sign = 0; sign < 2; sign++)
        change[j] -= c->class[i].gain[sign][s->option[i] * c->n_columns + j];
  s->n++;
}

bool
clarke_sample_has(const clarke_sample *s)
{
  const size_t classes = s->classes.n;

  for (size_t i = 0; i < s->n; i++)
    if (memcmp(s->cell + i * classes, s->option, classes * sizeof *s->option) == 0)
      return true;
  return false;
}

void
clarke_sample_draw(clarke_sample *s)
{
  for (size_t j = 0; j < s->classes.n_columns; j++)
    s->v[j] = clarke_draw(&s->state);
  clarke_classes_along(s->option, &s->classes, s->v);
  clarke_sample_add(s);
}

clarke_status
clarke_sample_init(clarke_sample *s, const clarke_question *q, const bool *among, clarke_error *err)
{
  clarke_status status;

  memset(s, 0, sizeof *s);
  clarke_classes_init(&s->classes);
  status = clarke_classes_find(&s->classes, q, among, err);
  if (status != CLARKE_OK)
    return status;
  s->most = BEGIN + ROUNDS;
  s->state = 1;
  s->cell = malloc((s->most * s->classes.n + 1) * sizeof *s->cell);
  s->change = malloc((s->most * s->classes.n_columns + 1) * sizeof *s->change);
  s->v = malloc((s->classes.n_columns + 1) * sizeof *s->v);
  s->option = malloc((s->classes.n + 1) * sizeof *s->option);
  if (s->cell == NULL || s->change == NULL || s->v == NULL || s->option == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < BEGIN; i++)
    clarke_sample_draw(s);
  return CLARKE_OK;
}

/* The largest gain along v of the cells so far. */
static double
most_gained(const clarke_sample *s)
{
  const size_t n = s->classes.n_columns;
  double most = -INFINITY;

  for (size_t i = 0; i < s->n; i++) {
    double sum = 0;

    for (size_t j = 0; j < n; j++)
      sum -= s->change[i * n + j] * s->v[j];
    most = sum > most ? sum : most;
  }
  return most;
}

clarke_status
clarke_sample_separate(bool *found, clarke_sample *s, clarke_error *err)
{
  double value, before;
  clarke_status status;

  do {
    status = clarke_nearest(found, s->v, s->change, s->n, s->classes.n_columns, err);
    if (status != CLARKE_OK || !*found)
      return status;
    before = most_gained(s);
    status = clarke_ascend(s->option, &value, &s->classes, s->v, &s->state, err);
    if (status != CLARKE_OK || !(value > before + NEARLY * fabs(before)))
      return status;
    clarke_sample_add(s);
  } while (s->n < s->most);
  return status;
}
