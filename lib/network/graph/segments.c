/* Rows that Concats put side by side, and the steps that leave them so. */
#include "network/graph/segments.h"

#include <stdlib.h>
#include <string.h>

/* Segments of a value at most: of more there are none. */
#define MOST_SEGMENTS ((size_t)256)

size_t
clarke_segment_of(const clarke_segments *s, size_t r)
{
  size_t k = 0;

  while (k + 1 < s->n && s->end[k] <= r)
    k++;
  return k;
}

bool
clarke_segments_join(const clarke_graph *g, const clarke_step *s)
{
  for (size_t k = 0; k < s->n_in; k++)
    if (g->values[s->in[k].value].constant)
      return false;
  return s->kind == CLARKE_SUM && s->n_in > 1;
}

/* What owns each row: an operand, or a segment of it; 0: none. false: some row takes two. */
static bool
find_owners(size_t *owner, const clarke_segments *of, const clarke_step *s, size_t rows)
{
  size_t first = 1;

  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_segments *from = &of[s->in[k].value];

    for (size_t r = 0, run; r < rows; r += run) {
      const size_t entry = clarke_operand_entry(&s->in[k], r);
      size_t at = entry != CLARKE_NONE ? clarke_segment_of(from, entry) : 0;

      run = clarke_operand_run(&s->in[k], r, rows);
      for (size_t e = 0; e < run && entry != CLARKE_NONE; e++) {
        if (owner[r + e] != 0)
          return false;
        at += at + 1 < from->n && entry + e >= from->end[at];
        owner[r + e] = first + at;
      }
    }
    first += from->n > 0 ? from->n : 1;
  }
  return true;
}

static clarke_status
copy_segments(clarke_segments *to, const clarke_segments *from, clarke_error *err)
{
  if (from->n == 0)
    return CLARKE_OK;
  to->end = malloc(from->n * sizeof *to->end);
  if (to->end == NULL)
    return clarke_no_memory(err);
  memcpy(to->end, from->end, from->n * sizeof *to->end);
  to->n = from->n;
  return CLARKE_OK;
}

/* Rows of no owner, zeros, belong to those before them. */
static clarke_status
join_segments(clarke_segments *of, const clarke_step *s, size_t rows, clarke_error *err)
{
  clarke_segments *to = &of[s->out];
  size_t *owner = calloc(rows + 1, sizeof *owner), last = 0;
  clarke_status status = CLARKE_OK;

  to->end = malloc(MOST_SEGMENTS * sizeof *to->end);
  if (owner == NULL || to->end == NULL)
    status = clarke_no_memory(err);
  else if (find_owners(owner, of, s, rows))
    for (size_t r = 0; r < rows && to->n <= MOST_SEGMENTS; r++) {
      if (owner[r] == 0 || owner[r] == last)
        continue;
      if (last != 0 && to->n < MOST_SEGMENTS)
        to->end[to->n] = r;
      to->n += last != 0;
      last = owner[r];
    }
  if (status == CLARKE_OK && to->n > 0 && to->n < MOST_SEGMENTS) {
    to->end[to->n++] = rows;
  } else {
    free(to->end);
    *to = (clarke_segments){0};
  }
  free(owner);
  return status;
}

/* Does the step make every segment of its output of the same rows of its one activation? */
static bool
keeps_segments(const clarke_graph *g, const clarke_step *s, const clarke_segments *from)
{
  const clarke_grouping *o = &s->grouping;

  if (s->kind == CLARKE_PIECEWISE)
    return s->in[0].map == NULL;
  if (s->kind == CLARKE_SCALE)
    return s->in[0].map == NULL;
  if (s->kind == CLARKE_SUM)
    return s->n_in == 2 && s->in[0].map == NULL && g->values[s->in[1].value].constant;
  for (size_t k = 0; k < from->n && s->kind == CLARKE_NORMALIZE; k++)
    if (from->end[k] % o->length != 0)
      return false;
  return s->kind == CLARKE_NORMALIZE && o->couples && o->blocks == 1;
}

clarke_status
clarke_segments_find(clarke_segments *of, const clarke_graph *g, const bool *needed, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out])
      continue;
    if (clarke_segments_join(g, s))
      status = join_segments(of, s, g->values[s->out].count, err);
    else if (keeps_segments(g, s, &of[s->in[0].value]))
      status = copy_segments(&of[s->out], &of[s->in[0].value], err);
  }
  return status;
}

void
clarke_segments_free(clarke_segments *of, const clarke_graph *g)
{
  for (size_t v = 0; of != NULL && v < g->n_values; v++)
    free(of[v].end);
  free(of);
}

size_t
clarke_segment_source(const clarke_segments *of, const clarke_step *s, size_t k, size_t *segment)
{
  const clarke_segments *to = &of[s->out];

  for (size_t r = k > 0 ? to->end[k - 1] : 0; r < to->end[k]; r++)
    for (size_t o = 0; o < s->n_in; o++) {
      const size_t entry = clarke_operand_entry(&s->in[o], r);

      if (entry != CLARKE_NONE) {
        *segment = clarke_segment_of(&of[s->in[o].value], entry);
        return o;
      }
    }
  *segment = 0;
  return 0;
}
