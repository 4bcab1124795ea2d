#include "audit/factor.h"

#include "network/combination.h"

clarke_status
clarke_affine_but_for_a_factor(bool *is, const clarke_marking *m, size_t k, int8_t side, size_t condition,
                               clarke_error *err)
{
  const clarke_touch *t = &m->q->replay->touch[k];
  const clarke_reduction r = {m->f, m->mark, m->index, m->side, m->q->replay->touch};
  const bool window = t->n_options > 0;

  return clarke_reduce(is, &r, m->q->g->steps[t->step].in[0].value,
                       window ? t->option[CLARKE_OPTION_OF(side)] : t->feature, window ? t->option[condition] : CLARKE_NONE,
                       t->column, err);
}
