/* What depends on touched kinks, from step to step: entries are marked that do. */
#include "check/kernel/behind.h"
#include "check/base/allocate.h"
#include "check/kernel/identity.h"

#include <stdlib.h>

/* What is marked of a sample, or of all samples when they are coupled. */
typedef struct {
  const point *p;
  size_t sample;
  bool **marked; /* [step][entry / apart]; NULL: none is */
  const cell *c; /* what is constant under it is not marked, and of windows only what is tied is read; or NULL */
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

/* Is entry e of window step s tied with its largest, and what is the option? NONE: it is smaller, or padding. */
static size_t
option_of(const point *p, size_t s, size_t e, source x)
{
  size_t place = p->place[s][e], at = entry_of(p, x, e);
  const touch *t = place < TOUCHED ? NULL : &p->touched[place - TOUCHED];
  if (x.step >= PADDING)
    return NONE;
  if (t == NULL) {
    source top = term_at(p, &p->net->steps[s], e, place).x;
    return one_identity(p, x.step, at, top.step, entry_of(p, top, e)) ? 0 : NONE;
  }
  for (size_t o = 0; o < t->n; o++)
    if (one_identity(p, x.step, at, t->from, t->at[o]))
      return o;
  return NONE;
}

/* Does a window have a tied entry that is marked? */
static bool
tied_marked(const marks *m, size_t s, size_t e)
{
  const step *st = &m->p->net->steps[s];
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(m->p, st, e, i).x;
    if (source_marked(m, x, e) && option_of(m->p, s, e, x) != NONE)
      return true;
  }
  return false;
}

/* Are there two tied entries of one option, and is one that is tied marked? */
static bool
is_loose(const marks *m, size_t s, size_t e)
{
  const point *p = m->p;
  const step *st = &p->net->steps[s];
  if (!tied_marked(m, s, e))
    return false;
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    size_t option = option_of(p, s, e, x);
    for (size_t j = 0; j < i && option != NONE; j++) {
      source y = term_at(p, st, e, j).x;
      if (option_of(p, s, e, y) == option && y.from != x.from)
        return true;
    }
  }
  return false;
}

static void
mark_windows(const marks *m, size_t s)
{
  for (size_t e = m->sample; e < entries(m->p, s); e += m->p->net->apart)
    m->marked[s][e / m->p->net->apart] = tied_marked(m, s, e);
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
  for (size_t i = 0; i < st->n_reads; i++)
    if (st->reads[i] < PADDING && m->marked[st->reads[i]] != NULL)
      return true;
  return false;
}

/* Takes the marks off what is constant. */
static void
clear_constants(const marks *m, size_t s)
{
  for (size_t e = m->sample; e < entries(m->p, s) && m->c != NULL; e += m->p->net->apart)
    if (m->c->degree[s][e] == 0)
      m->marked[s][e / m->p->net->apart] = false;
}

/* Marks step s, and its own kinks among those. Is one of these marked already? */
static bool
mark_step(const marks *m, size_t s, const bool *among)
{
  const point *p = m->p;
  const step *st = &p->net->steps[s];
  size_t apart = p->net->apart;
  bool found = false;
  if (reads_marked(m, st)) {
    m->marked[s] = allocate(entries(p, s) / apart, sizeof(bool));
    (st->length > 0 ? mark_lines : m->c != NULL && st->kind == WINDOW ? mark_windows : mark_readers)(m, s);
    clear_constants(m, s);
  }
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    if (!among[k] || t->step != s || t->entry % apart != m->sample)
      continue;
    if (m->marked[s] == NULL)
      m->marked[s] = allocate(entries(p, s) / apart, sizeof(bool));
    found = found || m->marked[s][t->entry / apart];
    m->marked[s][t->entry / apart] = true;
  }
  return found;
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
    first = first == NONE ? t->step : first; /* they are in the order of their steps */
    last = t->step;
  }
  if (first == NONE || first == last) /* no entry of a step depends on another of its own */
    return false;
  const marks m = {p, sample, allocate(p->net->n_steps, sizeof(bool *)), NULL};
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

static void
find_loose(bool **loose, const point *p, const cell *c, const bool *among, size_t sample)
{
  size_t apart = p->net->apart;
  const marks m = {p, sample, allocate(p->net->n_steps, sizeof(bool *)), c};
  for (size_t s = 0; s < p->net->n_steps; s++) {
    mark_step(&m, s, among);
    for (size_t e = sample; e < entries(p, s) && p->net->steps[s].kind == WINDOW; e += apart)
      if (is_loose(&m, s, e)) {
        if (loose[s] == NULL)
          loose[s] = allocate(entries(p, s), sizeof(bool));
        loose[s][e] = true;
      }
  }
  for (size_t s = 0; s < p->net->n_steps; s++)
    free(m.marked[s]);
  free(m.marked);
}

bool **
loose_windows(const point *p, const cell *c, const bool *among)
{
  bool **loose = allocate(p->net->n_steps, sizeof *loose), *asked = allocate(p->net->apart, sizeof *asked);
  for (size_t k = 0; k < p->n_touched; k++)
    asked[p->touched[k].entry % p->net->apart] |= among[k];
  for (size_t sample = 0; sample < p->net->apart; sample++)
    if (asked[sample])
      find_loose(loose, p, c, among, sample);
  free(asked);
  return loose;
}
