/* Forks by choices, and what a choice decides. */
#include "check/program/program_choices.h"
#include "check/base/allocate.h"
#include "check/program/program_follow.h"

/* The decision that `above` less `below` is positive; it is zero at the point. */
static void
decide(walk *w, size_t above, size_t below)
{
  decision d = {intervals(w->n_wrt), 0, {.known = true}};
  for (int i = 0; i < 2; i++) {
    size_t y = i == 0 ? above : below;
    if (y == NONE)
      continue;
    add_polynomial(w, &d.q, i == 0 ? &plus_one : &minus_one, y);
    d.degree = w->states[y].degree > d.degree ? w->states[y].degree : d.degree;
    for (size_t k = 0; k < w->n_wrt; k++)
      interval_add(&d.gradient[k], &w->states[y].g[k], i == 0 ? &plus_one : &minus_one);
  }
  if (d.q.known && (above == NONE || below == NONE)) { /* less the kink */
    static const unsigned char e[32];
    RATIONAL(kink);
    (above == NONE ? mpq_set : mpq_neg)(&kink, &w->states[above == NONE ? below : above].s->lo);
    if (mpq_sgn(&kink) != 0)
      add_term(w, &d.q, &kink, e);
  }
  w->fork.decisions = grow(w->fork.decisions, w->fork.n_decisions, sizeof d);
  w->fork.decisions[w->fork.n_decisions++] = d;
}

/* By choices: what is chosen, and its decisions. */
static size_t
choose(walk *w, size_t at, size_t n, const size_t *y, bool up)
{
  require(w->fork.n_used < w->fork.n_choices, "%s: the leaf is before a fork of %zu choices", place(w, at).text, n);
  require(w->fork.among[w->fork.n_used] == n || w->fork.among[w->fork.n_used] == 1, "%s: this fork has %zu choices",
          place(w, at).text, n);
  size_t c = w->fork.among[w->fork.n_used] == 1 ? NONE : w->fork.choices[w->fork.n_used];
  w->fork.n_used++;
  for (size_t j = 0; j < n && c != NONE; j++)
    if (j != c)
      decide(w, up ? y[j] : y[c], up ? y[c] : y[j]);
  w->fork.stopped = w->fork.dead && w->fork.n_used == w->fork.n_choices;
  return c;
}

void
follow_choices(walk *w, const size_t *at, const size_t *of, size_t n, bool ends)
{
  w->fork.choices = at;
  w->fork.among = of;
  w->fork.n_choices = n;
  w->fork.dead = ends;
  w->fork.largest = choose;
  follow_other(w, BY_CHOICES);
}
