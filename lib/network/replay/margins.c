/* Margins behind the filter's: of what enclosures decide, and of exact passes. */
#include "network/replay/replay_inside.h"

#include <string.h>

void
clarke_replay_join_margins(clarke_replay *r, clarke_margin **margin, const size_t *sample, size_t n)
{
  for (size_t i = 0; margin != NULL && i < r->g->n_steps; i++)
    for (size_t j = 0; margin[i] != NULL && j < n; j++)
      clarke_margin_join(&r->margins->at[i][sample[j]], &margin[i][j]);
}

static bool
touches(const clarke_forward *f)
{
  for (size_t i = 0; i < f->g->n_steps; i++) {
    const size_t entries = f->piece[i] != NULL ? f->g->values[f->g->steps[i].out].count * f->n : 0;

    for (size_t e = 0; e < entries; e++)
      if (f->piece[i][e] < 0)
        return true;
  }
  return false;
}

void
clarke_replay_measure_pass(clarke_replay *r, const clarke_forward *f, const size_t *sample)
{
  const bool forget = r->margins != NULL && touches(f);

  for (size_t i = 0; r->margins != NULL && i < r->g->n_steps; i++) {
    const clarke_step *s = &r->g->steps[i];
    clarke_margin *m = r->margins->at[i];

    for (size_t j = 0; m != NULL && j < f->n; j++) {
      clarke_margin_forget(&m[sample[j]]);
      if (!forget) {
        m[sample[j]] = (clarke_margin){.least = INFINITY, .most = INFINITY};
        clarke_margin_column(&m[sample[j]], r->g, s, &f->value[s->in[0].value], f->piece[i], j);
      }
    }
  }
}
