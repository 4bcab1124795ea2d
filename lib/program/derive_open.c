#include "program/derive_open.h"

static bool
is_ad(const clarke_derivation *d, const clarke_walk *w)
{
  const clarke_code *p = d->p;
  clarke_number none;
  bool equal = true;

  clarke_number_init(&none);
  for (size_t o = 0; o < p->n_outputs && equal; o++)
    for (size_t k = 0; k < w->width && equal; k++) {
      const clarke_number *g = w->gradient[p->output[o]];

      equal = clarke_numbers_equal(&d->ad[o * w->width + k], g != NULL ? &g[k] : &none, 1);
    }
  clarke_number_clear(&none);
  return equal;
}

clarke_status
clarke_derive_open(clarke_derivation *d, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_STUCK;
  clarke_walk w;
  clarke_status status = clarke_walk_init(&w, &d->execution, NULL, 0, err);

  w.open = true;
  if (status == CLARKE_OK)
    status = clarke_walk_on(&w, &state, err);
  if (status == CLARKE_OK && state == CLARKE_WALK_END && is_ad(d, &w)) {
    d->opened = true;
    d->n_open = w.n_open;
  }
  clarke_walk_clear(&w);
  return status;
}
