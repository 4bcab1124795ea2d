#include "audit/factor.h"

#include "network/pass/combination.h"

clarke_status
clarke_affine_but_for_a_factor(bool *is, const clarke_marking *m, size_t k, clarke_branch side, size_t condition,
                               clarke_error *err)
{
  const clarke_touch *t = &m->q->replay->touch[k];
  const clarke_reduction r = {m->f, m->mark, m->index, m->side, m->q->replay->touch};
  const clarke_step *s = &m->q->g->steps[t->step];

  return t->n_options > 0 ? clarke_reduce(is, &r, s->in[0].value, t->option[CLARKE_OPTION_OF(side)], t->option[condition],
                                          NULL, t->column, err)
                          : clarke_reduce(is, &r, s->in[0].value, t->feature, CLARKE_NONE, s->pieces.kink[t->kink],
                                          t->column, err);
}
