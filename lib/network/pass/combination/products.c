/* Sums of products: products of the same factors added up, and what they have in common taken out. */
#include "network/pass/combination/combination.h"
#include "network/graph/product.h"

#include <stdlib.h>

#define MOST_PRODUCTS ((size_t)1 << 12)

/* coef times a parameter's entry (CLARKE_NONE: none) times entry e of value x (CLARKE_NONE: 1). */
typedef struct {
  size_t parameter, at, x, e;
  double weight; /* the parameter's */
  mpq_t coef;
} product;

typedef struct {
  size_t n;
  product *all;
} products;

static product *
place_for(products *list, const product *new)
{
  size_t i = 0;

  while (i < list->n && (list->all[i].parameter != new->parameter || list->all[i].at != new->at ||
                         list->all[i].x != new->x || list->all[i].e != new->e))
    i++;
  if (i == list->n) {
    list->all[i] = *new;
    mpq_init(list->all[i].coef);
    list->n++;
  }
  return &list->all[i];
}

/* coef times what the step makes of the constant. */
static void
constant_factor(mpq_t q, clarke_combination *c, const clarke_step *s, const clarke_product *p)
{
  mpq_set_d(q, p->coef);
  if (p->c == CLARKE_NONE)
    return;
  mpq_set_d(c->scratch, c->g->values[p->c].real[p->c_entry]);
  (s->kind == CLARKE_SCALE && s->divide ? mpq_div : mpq_mul)(q, q, c->scratch);
}

static bool
is_constant_zero(const clarke_combination *c, size_t v, size_t e)
{
  return (c->r->mark == NULL || c->r->mark[v][clarke_combination_place(c, e)] == 0) &&
         clarke_matrix_entry_is_zero(&c->r->f->value[v], e / c->n, clarke_combination_column(c, e));
}

/* Adds what entry e of the step is made of. */
static bool
add_products(products *list, clarke_combination *c, const clarke_step *s, size_t e, clarke_product *scratch)
{
  const size_t n = c->n, many = clarke_step_products(scratch, c->g, s, e / n);
  mpq_t q;

  mpq_init(q);
  for (size_t i = 0; i < many && list->n < MOST_PRODUCTS; i++) {
    const clarke_product *t = &scratch[i];
    const bool wrt = c->r->mark != NULL && t->c != CLARKE_NONE && clarke_value_is_wrt(c->g, t->c);
    const clarke_value *v = wrt ? &c->g->values[t->c] : NULL;
    product new = {.parameter = wrt ? v->parameter : CLARKE_NONE,
                   .x = t->x,
                   .e = t->x != CLARKE_NONE ? t->x_entry * n + e % n : 0};

    if (t->x != CLARKE_NONE && is_constant_zero(c, t->x, new.e))
      continue;
    if (wrt) {
      new.at = v->origin != NULL ? v->origin[t->c_entry] : t->c_entry;
      new.weight = v->real[t->c_entry];
      mpq_set_d(q, t->coef);
    } else
      constant_factor(q, c, s, t);
    clarke_combination_add(c, place_for(list, &new)->coef, c->of[s->out][e], q);
  }
  mpq_clear(q);
  return list->n < MOST_PRODUCTS;
}

/* The one parameter's entry in all products; NULL where some have none, or another. */
static const product *
common(const products *list, bool *fixed)
{
  const product *one = NULL;
  bool shared = true;

  *fixed = true;
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];

    if (mpq_sgn(t->coef) == 0)
      continue;
    *fixed = *fixed && t->parameter == CLARKE_NONE;
    shared = shared && t->parameter != CLARKE_NONE &&
             (one == NULL || (t->parameter == one->parameter && t->at == one->at));
    one = t;
  }
  return shared ? one : NULL;
}

static void
take_products(clarke_combination *c, const products *list)
{
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];

    if (t->x == CLARKE_NONE)
      mpq_add(c->number, c->number, t->coef);
    else {
      mpq_ptr to = clarke_combination_at(c, t->x, t->e);

      mpq_add(to, to, t->coef);
    }
  }
}

/* Is what the parameter is multiplied by certainly not zero? */
static bool
is_no_zero(clarke_combination *c, const products *list)
{
  mpq_t sum, x, radius;
  bool certain;

  mpq_inits(sum, x, radius, NULL);
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];
    double r = 0;

    mpq_set_ui(x, 1, 1);
    if (t->x != CLARKE_NONE)
      clarke_combination_value(x, &r, c, t->x, t->e);
    clarke_combination_add(c, sum, t->coef, x);
    mpq_set_d(x, r);
    mpq_abs(c->scratch, t->coef);
    mpq_mul(x, x, c->scratch);
    mpq_add(radius, radius, x);
  }
  mpq_abs(sum, sum);
  certain = mpq_cmp(sum, radius) > 0;
  mpq_clears(sum, x, radius, NULL);
  return certain;
}

clarke_status
clarke_combination_products(clarke_progress *found, clarke_combination *c, const clarke_step *s, clarke_error *err)
{
  products list = {0, malloc((MOST_PRODUCTS + 1) * sizeof *list.all)};
  clarke_product *scratch = malloc((clarke_step_products_most(s) + 1) * sizeof *scratch);
  bool room = list.all != NULL && scratch != NULL, fixed = false;
  const clarke_status status = room ? CLARKE_OK : clarke_no_memory(err);
  const product *one;

  *found = CLARKE_WAY_NO;
  for (size_t e = 0; e < c->size[s->out] && room; e++)
    if (mpq_sgn(c->of[s->out][e]) != 0)
      room = add_products(&list, c, s, e, scratch);
  one = room ? common(&list, &fixed) : NULL;
  if (room && (fixed || (one != NULL && clarke_combination_only_at(c, s->out) && mpq_sgn(c->number) == 0))) {
    const bool on = fixed || one->weight != 0;

    *found = on ? CLARKE_WAY_ON : is_no_zero(c, &list) ? CLARKE_WAY_YES : CLARKE_WAY_NO;
    if (on)
      take_products(c, &list);
  }
  for (size_t i = 0; i < list.n; i++)
    mpq_clear(list.all[i].coef);
  free(list.all);
  free(scratch);
  return status;
}
