/* Entries that are 0 by structure. */
#include "vanish.h"
#include "line.h"
#include "window.h"

static bool
one_function(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t first = line_entry(p, st, e, 0), m = line_length(p, st);
  source top = read_by(p, st, first);
  bool one = true;
  if (e != first && p->degree[s][e] > 0)
    return p->same[s][first] == ZERO; /* which is then no constant's value */
  for (size_t i = 1; i < m && one; i++) {
    size_t other = line_entry(p, st, e, i);
    source x = read_by(p, st, other);
    one = compare_entries(p, x.step, entry_of(p, x, other), top.step, entry_of(p, top, e)) == 0;
  }
  return one;
}

bool
vanishes(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  bool all = st->kind == LINEAR || st->kind == OVER_ROOT;
  for (size_t i = 0; all && i < st->width; i++)
    all = left_out(p, term_at(p, st, e, i).x, e);
  return all || (st->kind == NORMALIZE && one_function(p, s, e));
}
