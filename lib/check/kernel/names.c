/* Parameters and touched kinks, by the names that proofs and messages have for them. */
#include "check/kernel/names.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

kink_name
kink(const point *p, size_t k)
{
  kink_name name;
  const touch *t = &p->touched[k];
  const step *st = &p->net->steps[t->step];
  snprintf(name.text, sizeof name.text, "touched kink %zu (node %zu '%.200s', feature %zu, sample %zu)", k, st->place,
           st->name, t->entry / p->net->batch, t->entry % p->net->batch);
  return name;
}

tensor *
next_parameter(network *net)
{
  char *name = next_name();
  size_t i = name_find(&net->named, name); /* initializers are its first values */
  require(i < net->n_tensors && net->tensors[i]->weight, "the model has no parameter '%s'", name);
  free(name);
  return net->tensors[i];
}

/* `direction` and its moves, into the tensors. */
void
read_direction(network *net)
{
  RATIONAL(coef);
  RATIONAL(t);
  rationals_begin(net->move, net->n_wrt);
  for (size_t i = 0; i < net->n_wrt; i++)
    mpq_set(&net->move[i], &zero);
  next_line("direction");
  next_line("move");
  do {
    tensor *w = next_parameter(net);
    const char *how = next_word();
    bool copy = strcmp(how, "copy") == 0, one = strcmp(how, "at") == 0;
    size_t from = one ? next_number() : 0, to = one ? from + 1 : w->count;
    require(copy || one || strcmp(how, "add") == 0, "copy, add or at is expected, not '%s'", how);
    next_rational(&coef);
    require(w->wrt, "parameter '%s' is not in wrt", w->name);
    require(to <= w->count && mpq_sgn(&coef) != 0, "no entry of '%s', or a coefficient 0", w->name);
    for (size_t i = from; i < to; i++) {
      mpq_mul(&t, &coef, copy ? &w->value[i] : &plus_one);
      mpq_add(&w->move[i], &w->move[i], &t);
    }
  } while (line_is("move"));
}
