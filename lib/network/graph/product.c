#include "network/graph/product.h"

size_t
clarke_step_products_most(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE ? s->dense.inner : s->n_in;
}

static size_t
dense_products(clarke_product *list, const clarke_step *s, size_t f)
{
  const clarke_dense *d = &s->dense;
  const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;

  for (size_t i = 0; i < d->inner; i++)
    list[i] = (clarke_product){
      1, s->in[0].value, (b * d->inner + i) * d->repeat + r, d->weight,
      d->transposed ? i * d->outer + o : (d->grouped ? b * d->outer + o : o) * d->inner + i};
  return d->inner;
}

static size_t
sum_products(clarke_product *list, const clarke_graph *g, const clarke_step *s, size_t f)
{
  size_t n = 0;

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    const size_t entry = clarke_operand_entry(o, f);

    if (entry == CLARKE_NONE)
      continue;
    list[n++] = g->values[o->value].constant
                  ? (clarke_product){o->coef, CLARKE_NONE, 0, o->value, entry}
                  : (clarke_product){o->coef, o->value, entry, CLARKE_NONE, 0};
  }
  return n;
}

size_t
clarke_step_products(clarke_product *list, const clarke_graph *g, const clarke_step *s, size_t f)
{
  if (s->kind == CLARKE_DENSE)
    return dense_products(list, s, f);
  if (s->kind != CLARKE_SCALE)
    return sum_products(list, g, s, f);
  list[0] = (clarke_product){1, s->in[0].value, clarke_operand_entry(&s->in[0], f), s->in[1].value,
                             clarke_operand_entry(&s->in[1], f)};
  return 1;
}
