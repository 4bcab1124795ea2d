/* Lines, in intervals of as many bits: each entry that is read lies within r of c. */
#include "check/kernel/near_line.h"
#include "check/base/elementary.h"
#include "check/kernel/line.h"

#define FINER 64 /* bits of roots and exponentials beyond those of near values */

/* Is it known? */
static bool
normalize(interval *x, size_t m, const rational *epsilon)
{
  INTERVAL(r);
  centre(x, m);
  if (!is_root_known(x, m, epsilon))
    return false;
  inverse_root(&r, x, m, epsilon);
  interval_round(&r);
  for (size_t i = 0; i < m; i++)
    interval_mul(&x[i], &x[i], &r);
  return true;
}

bool
near_lines(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  interval *x = intervals(m);
  const unsigned long own = session_bits;
  bool known = !st->log;
  session_set_bits(p->net->near_bits + FINER);
  for (size_t e = sample; e < entries(p, s) && known; e += p->net->apart) {
    if (e != line_entry(p, st, e, 0))
      continue;
    for (size_t i = 0; i < m; i++) {
      size_t at = line_entry(p, st, e, i);
      near_interval(p, v, read_by(p, st, at), at, &x[i]);
    }
    if (st->kind == SOFTMAX)
      interval_softmax(x, x, m, 1, false);
    else
      known = normalize(x, m, &st->at[0]);
    for (size_t i = 0; i < m && known; i++)
      near_put(p, &v[s], line_entry(p, st, e, i), &x[i]);
  }
  session_set_bits(own);
  intervals_free(x, m);
  return known;
}
