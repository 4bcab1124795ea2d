/* What depends on touched kinks, from step to step: entries are marked that do. */
#include "check/kernel/behind.h"
#include "check/base/allocate.h"
#include "check/kernel/line.h"

#include <stdlib.h>

/* Of a sample, or of all that are coupled. */
typedef struct {
  const point *p;
  size_t sample;
  bool **marked; /* [step][entry / apart]; NULL: none is */
} marks;

static bool
source_marked(const marks *m, source x, size_t e)
{
  return x.step < PADDING && m->marked[x.step] != NULL && m->marked[x.step][entry_of(m->p, x, e) / m->p->net->apart];
}

static bool
any_marked(const marks *m, const step *st, size_t e)
{
  for (size_t i = 0; i < st->width; i++)
    if (source_marked(m, term_at(m->p, st, e, i).x, e))
      return true;
  return false;
}

/* Marks what the step reads marked entries for. Entries with one row of sources are alike. */
static void
mark_readers(const marks *m, size_t s)
{
  const step *st = &m->p->net->steps[s];
  size_t apart = m->p->net->apart, batch = m->p->net->batch, group = batch / apart;
  uint8_t *known = allocate(rows_of_sources(st) * group, 1); /* 1 + the mark */
  for (size_t e = m->sample; e < entries(m->p, s); e += apart) {
    uint8_t *of = &known[st->source_row[e / batch] * group + e % batch / apart];
    if (*of == 0)
      *of = 1 + any_marked(m, st, e);
    m->marked[s][e / apart] = *of == 2;
  }
  free(known);
}

/* A line's entries depend on all of it. */
static void
mark_lines(const marks *m, size_t s)
{
  const point *p = m->p;
  const step *st = &p->net->steps[s];
  size_t apart = p->net->apart, n = line_length(p, st);
  for (size_t e = m->sample; e < entries(p, s); e += apart) {
    size_t first = line_entry(p, st, e, 0);
    bool any = first < e && m->marked[s][first / apart];
    for (size_t i = 0; i < n && first >= e && !any; i++)
      any = any_marked(m, st, line_entry(p, st, e, i));
    m->marked[s][e / apart] = any;
  }
}

static bool
reads_marked(const marks *m, const step *st)
{
  for (size_t i = 0; i < st->in_words.n_from; i++)
    if (st->in_words.from[i] < PADDING && m->marked[st->in_words.from[i]] != NULL)
      return true;
  return false;
}

/* Marks step s, and its own kinks among those. Is one of these marked already? */
static bool
mark_step(const marks *m, size_t s, const bool *among)
{
  const point *p = m->p;
  const step *st = &p->net->steps[s];
  size_t apart = p->net->apart;
  if (reads_marked(m, st)) {
    m->marked[s] = allocate(entries(p, s) / apart, sizeof(bool));
    (st->length > 0 ? mark_lines : mark_readers)(m, s);
  }
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    if (!among[k] || t->step != s || t->entry % apart != m->sample)
      continue;
    if (m->marked[s] == NULL)
      m->marked[s] = allocate(entries(p, s) / apart, sizeof(bool));
    if (m->marked[s][t->entry / apart])
      return true;
    m->marked[s][t->entry / apart] = true;
  }
  return false;
}

static bool
one_in_sample(const point *p, const bool *among, size_t sample)
{
  size_t first = NONE, last = 0;
  bool found = false;
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    if (!among[k] || t->entry % p->net->apart != sample)
      continue;
    first = first == NONE || t->step < first ? t->step : first;
    last = t->step > last ? t->step : last;
  }
  if (first == NONE || first == last) /* no entry of a step depends on another of its own */
    return false;
  const marks m = {p, sample, allocate(p->net->n_steps, sizeof(bool *))};
  for (size_t s = first; s <= last && !found; s++)
    found = mark_step(&m, s, among);
  for (size_t s = first; s <= last; s++)
    free(m.marked[s]);
  free(m.marked);
  return found;
}

bool
one_behind_another(const point *p, const bool *among)
{
  for (size_t sample = 0; sample < p->net->apart; sample++)
    if (one_in_sample(p, among, sample))
      return true;
  return false;
}
