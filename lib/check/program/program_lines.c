/* Forks along lines: the first that tells. */
#include "check/program/program_lines.h"
#include "check/program/program_follow.h"

/* Along lines, the sign of a less b by the first line that tells; 0 when it is 0 along all. */
static int
sign_along(walk *w, size_t at, size_t a, size_t b)
{
  const interval nought = {zero, zero};
  int sign = 0;
  for (size_t k = 0; k < w->n_wrt && sign == 0; k++) {
    INTERVAL(t);
    interval_add(&t, &w->states[a].g[k], &plus_one);
    if (b != NONE)
      interval_add(&t, &w->states[b].g[k], &minus_one);
    sign = interval_compare(&t, &nought);
  }
  if (sign == 2)
    leave(UNDECIDED, "%s: where the directions lead is not decided with intervals of %d bits", place(w, at).text,
          MAX_BITS);
  return sign;
}

/* Along lines: which of n numbers comes first, from the end that `up` names. */
static size_t
first_along(walk *w, size_t at, size_t n, const size_t *y, bool up)
{
  size_t first = 0;
  for (size_t c = 1; c < n; c++)
    if (sign_along(w, at, y[c], y[first]) == (up ? -1 : 1))
      first = c;
  for (size_t c = 0; c < n; c++)
    w->vague = w->vague || (c != first && sign_along(w, at, y[c], y[first]) == 0);
  return first;
}

void
follow_lines(walk *w)
{
  w->fork.largest = first_along;
  w->fork.sign = sign_along;
  follow_other(w, ALONG_LINES);
}
