/* A number written as a combination of entries of earlier and earlier steps. Each time it is divided by what is not zero, until
 * only entries are left that end the way. */
#include "network/combination.h"
#include "network/derivative.h"
#include "network/product.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES ((size_t)1 << 20)
#define FEW_ACTIVATIONS ((size_t)1 << 14)
#define MOST_PRODUCTS ((size_t)1 << 12)

/* The combination: of entries, feature * n + column, by value, plus a number. Where the graph does not couple samples there is
 * one column, the touch's. */
typedef struct {
  const clarke_reduction *r;
  const clarke_graph *g;
  size_t n, column;
  mpq_t **of;   /* NULL: none is in it */
  size_t *size; /* entries of each that is not NULL, else 0 */
  size_t all;
  bool failed; /* no memory, or too many entries */
  mpq_t number, scratch;
} combination;

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

typedef enum { NO, ON, YES } progress;

static bool
combination_init(combination *c, const clarke_reduction *r, size_t column)
{
  const clarke_graph *g = r->f->g;

  memset(c, 0, sizeof *c);
  mpq_inits(c->number, c->scratch, NULL);
  c->r = r;
  c->g = g;
  c->n = clarke_graph_couples(g) ? r->f->n : 1;
  c->column = column;
  c->of = calloc(g->n_values + 1, sizeof *c->of);
  c->size = calloc(g->n_values + 1, sizeof *c->size);
  return c->of != NULL && c->size != NULL;
}

/* What entry e of the value is multiplied by. */
static mpq_ptr
at(combination *c, size_t v, size_t e)
{
  const size_t size = c->g->values[v].count * c->n;

  if (c->of[v] == NULL) {
    c->all += size;
    c->of[v] = c->all <= MOST_ENTRIES ? malloc((size + 1) * sizeof **c->of) : NULL;
    c->failed = c->failed || c->of[v] == NULL;
    for (; c->of[v] != NULL && c->size[v] < size; c->size[v]++)
      mpq_init(c->of[v][c->size[v]]);
  }
  return c->of[v] != NULL ? c->of[v][e] : c->scratch;
}

static size_t
column_of(const combination *c, size_t e)
{
  return c->n > 1 ? e % c->n : c->column;
}

/* Where the pass has entry e of a value. */
static size_t
place(const combination *c, size_t e)
{
  return e / c->n * c->r->f->n + column_of(c, e);
}

static void
combination_clear(combination *c)
{
  for (size_t v = 0; c->of != NULL && c->size != NULL && v < c->g->n_values; v++) {
    for (size_t e = 0; e < c->size[v]; e++)
      mpq_clear(c->of[v][e]);
    free(c->of[v]);
  }
  free(c->of);
  free(c->size);
  mpq_clears(c->number, c->scratch, NULL);
}

static bool
is_zero(const combination *c, size_t v)
{
  for (size_t e = 0; e < c->size[v]; e++)
    if (mpq_sgn(c->of[v][e]) != 0)
      return false;
  return true;
}

static bool
only_at(const combination *c, size_t v)
{
  for (size_t u = 0; u < c->g->n_values; u++)
    if (u != v && !is_zero(c, u))
      return false;
  return true;
}

/* Does the entry end the way? (Of numbers: none that is left does.) */
static bool
is_end(const combination *c, size_t v, size_t e)
{
  return c->r->mark != NULL && c->r->mark[v][place(c, e)] < 2;
}

static bool
at_end(const combination *c)
{
  for (size_t v = 0; v < c->g->n_values; v++)
    for (size_t e = 0; e < c->size[v]; e++)
      if (mpq_sgn(c->of[v][e]) != 0 && !is_end(c, v, e))
        return false;
  return true;
}

static void
add(combination *c, mpq_t y, const mpq_t a, const mpq_t b)
{
  mpq_mul(c->scratch, a, b);
  mpq_add(y, y, c->scratch);
}

/* *radius: how far the entry may be from q. */
static void
entry_value(mpq_t q, double *radius, const combination *c, size_t v, size_t e)
{
  const clarke_matrix *x = &c->r->f->value[v];

  clarke_matrix_get(q, x, e / c->n, column_of(c, e));
  *radius = clarke_matrix_radius(x, e / c->n, column_of(c, e));
}

/* Constants become numbers; where all are numbers, those that are exact do. */
static bool
take_constants(combination *c, size_t v)
{
  const bool numbers = c->r->mark == NULL;
  bool known = true;
  mpq_t x;

  mpq_init(x);
  for (size_t e = 0; e < c->size[v] && known; e++) {
    double radius;

    if (mpq_sgn(c->of[v][e]) == 0 || (!numbers && c->r->mark[v][place(c, e)] > 0))
      continue;
    entry_value(x, &radius, c, v, e);
    if (numbers && radius != 0)
      continue;
    known = radius == 0;
    add(c, c->number, c->of[v][e], x);
    mpq_set_ui(c->of[v][e], 0, 1);
  }
  mpq_clear(x);
  return known;
}

/* --- sums of products ------------------------------------------------------------------------ */

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
constant_factor(mpq_t q, combination *c, const clarke_step *s, const clarke_product *p)
{
  mpq_set_d(q, p->coef);
  if (p->c == CLARKE_NONE)
    return;
  mpq_set_d(c->scratch, c->g->values[p->c].real[p->c_entry]);
  (s->kind == CLARKE_SCALE && s->divide ? mpq_div : mpq_mul)(q, q, c->scratch);
}

static bool
is_constant_zero(const combination *c, size_t v, size_t e)
{
  return (c->r->mark == NULL || c->r->mark[v][place(c, e)] == 0) &&
         clarke_matrix_entry_is_zero(&c->r->f->value[v], e / c->n, column_of(c, e));
}

/* Adds what entry e of the step is made of. */
static bool
add_products(products *list, combination *c, const clarke_step *s, size_t e, clarke_product *scratch)
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
    add(c, place_for(list, &new)->coef, c->of[s->out][e], q);
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
take_products(combination *c, const products *list)
{
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];

    if (t->x == CLARKE_NONE)
      mpq_add(c->number, c->number, t->coef);
    else {
      mpq_ptr to = at(c, t->x, t->e);

      mpq_add(to, to, t->coef);
    }
  }
}

/* Is what the parameter is multiplied by certainly not zero? */
static bool
is_no_zero(combination *c, const products *list)
{
  mpq_t sum, x, radius;
  bool certain;

  mpq_inits(sum, x, radius, NULL);
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];
    double r = 0;

    mpq_set_ui(x, 1, 1);
    if (t->x != CLARKE_NONE)
      entry_value(x, &r, c, t->x, t->e);
    add(c, sum, t->coef, x);
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

static clarke_status
through_products(progress *found, combination *c, const clarke_step *s, clarke_error *err)
{
  products list = {0, malloc((MOST_PRODUCTS + 1) * sizeof *list.all)};
  clarke_product *scratch = malloc((clarke_step_products_most(s) + 1) * sizeof *scratch);
  bool room = list.all != NULL && scratch != NULL, fixed = false;
  const clarke_status status = room ? CLARKE_OK : clarke_no_memory(err);
  const product *one;

  *found = NO;
  for (size_t e = 0; e < c->size[s->out] && room; e++)
    if (mpq_sgn(c->of[s->out][e]) != 0)
      room = add_products(&list, c, s, e, scratch);
  one = room ? common(&list, &fixed) : NULL;
  if (room && (fixed || (one != NULL && only_at(c, s->out) && mpq_sgn(c->number) == 0))) {
    const bool on = fixed || one->weight != 0;

    *found = on ? ON : is_no_zero(c, &list) ? YES : NO;
    if (on)
      take_products(c, &list);
  }
  for (size_t i = 0; i < list.n; i++)
    mpq_clear(list.all[i].coef);
  free(list.all);
  free(scratch);
  return status;
}

/* --- other steps ----------------------------------------------------------------------------- */

/* 1 + the touch at the entry, or 0. */
static size_t
touch_at(const combination *c, size_t step, size_t e)
{
  return c->r->index != NULL ? c->r->index[step][place(c, e)] : 0;
}

/* The side of the touch at the entry; CLARKE_PROXY: none is chosen. */
static int8_t
side_at(const combination *c, size_t step, size_t e)
{
  const size_t k = touch_at(c, step, e);

  return k > 0 && c->r->side != NULL ? c->r->side[k - 1] : CLARKE_PROXY;
}

/* Of numbers, at a kink either piece will do. */
static bool
through_piece(combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const int8_t code = c->r->f->piece[step][place(c, e)], side = side_at(c, step, e);
  const size_t p = code >= 0 ? (size_t)code : CLARKE_KINK_OF(code) + (side == CLARKE_RIGHT);

  if (code == CLARKE_OPEN || (code < 0 && side == CLARKE_PROXY && c->r->mark != NULL) ||
      (p == 0 && s->pieces.slope != CLARKE_NONE) || mpq_sgn(s->pieces.coef[p][2]) != 0)
    return false;
  add(c, c->number, c->of[s->out][e], s->pieces.coef[p][0]);
  add(c, at(c, s->in[0].value, e), c->of[s->out][e], s->pieces.coef[p][1]);
  return true;
}

/* The feature that the window's output is; CLARKE_NONE: it is open. Of numbers, any that is largest. */
static size_t
option_of(const combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t k = touch_at(c, step, e);
  const int8_t code = c->r->f->piece[step][place(c, e)], side = side_at(c, step, e);
  size_t tied[CLARKE_MAX_WIDTH];

  if (code >= 0)
    return s->in[0].map[e / c->n * s->width + (size_t)code];
  if (code == CLARKE_OPEN || (c->r->mark != NULL && (k == 0 || side == CLARKE_PROXY)))
    return CLARKE_NONE;
  if (c->r->mark != NULL)
    return c->r->touch[k - 1].option[CLARKE_OPTION_OF(side)];
  return clarke_window_tied(tied, c->r->f, step, e / c->n, column_of(c, e)) > 0 ? s->in[0].map[e / c->n * s->width + tied[0]]
                                                                                : CLARKE_NONE;
}

static bool
through_window(combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t from = option_of(c, step, e);
  mpq_ptr to;

  if (from == CLARKE_NONE)
    return false;
  to = at(c, s->in[0].value, from * c->n + e % c->n);
  mpq_add(to, to, c->of[s->out][e]);
  return true;
}

/* Are the entries those of one group, or multiplied by one entry of the constant? */
static bool
one_root(const combination *c, const clarke_step *s)
{
  const size_t n = c->n;
  size_t first = CLARKE_NONE;

  for (size_t e = 0; e < c->size[s->out]; e++) {
    if (mpq_sgn(c->of[s->out][e]) == 0)
      continue;
    if (first == CLARKE_NONE)
      first = e;
    if (s->kind == CLARKE_NORMALIZE
          ? clarke_step_group(s, e / n) != clarke_step_group(s, first / n) ||
              (!s->grouping.couples && e % n != first % n)
          : clarke_operand_entry(&s->in[1], e / n) != clarke_operand_entry(&s->in[1], first / n))
      return false;
  }
  return true;
}

/* x / root, the root left out. */
static void
through_root(combination *c, const clarke_step *s, size_t e)
{
  mpq_ptr to = at(c, s->in[0].value, clarke_operand_entry(&s->in[0], e / c->n) * c->n + e % c->n);

  mpq_add(to, to, c->of[s->out][e]);
}

/* m (x - mean), the root left out. */
static void
through_group(combination *c, const clarke_step *s, size_t e)
{
  const size_t n = c->n;
  mpq_t by;

  mpq_init(by);
  for (size_t i = 0; i < c->size[s->out]; i++) {
    if (clarke_step_group(s, i / n) != clarke_step_group(s, e / n) || (!s->grouping.couples && i % n != e % n))
      continue;
    mpq_set_si(by, (i == e ? (long)clarke_step_group_size(s, n) : 0) - 1, 1);
    add(c, at(c, s->in[0].value, i), c->of[s->out][e], by);
  }
  mpq_clear(by);
}

static clarke_status
through_step(progress *found, combination *c, size_t step, clarke_error *err)
{
  const clarke_step *s = &c->g->steps[step];
  const bool root = s->kind == CLARKE_NORMALIZE || (s->kind == CLARKE_SCALE && s->root);

  if (s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_DENSE ||
      (s->kind == CLARKE_SCALE && !root))
    return through_products(found, c, s, err);
  *found = ON;
  if (s->kind == CLARKE_ANALYTIC || s->kind == CLARKE_SOFTMAX || s->kind == CLARKE_PRODUCT ||
      (root && (!only_at(c, s->out) || mpq_sgn(c->number) != 0 || !one_root(c, s))))
    *found = NO;
  for (size_t e = 0; e < c->size[s->out] && *found == ON; e++) {
    if (mpq_sgn(c->of[s->out][e]) == 0)
      continue;
    if (s->kind == CLARKE_NORMALIZE)
      through_group(c, s, e);
    else if (root)
      through_root(c, s, e);
    else if (!(s->kind == CLARKE_MAX ? through_window : through_piece)(c, step, e))
      *found = NO;
  }
  return CLARKE_OK;
}

static void
forget(combination *c, size_t v)
{
  for (size_t e = 0; e < c->size[v]; e++)
    mpq_set_ui(c->of[v][e], 0, 1);
}

static clarke_status
reduce(bool *ends, combination *c, size_t value, size_t a, size_t b, size_t column, clarke_error *err)
{
  const clarke_graph *g = c->g;
  const size_t at_column = c->n > 1 ? column : 0;
  progress found = ON;
  clarke_status status = CLARKE_OK;

  mpq_set_ui(at(c, value, a * c->n + at_column), 1, 1);
  if (b != CLARKE_NONE)
    mpq_set_si(at(c, value, b * c->n + at_column), -1, 1);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK && found == ON && !c->failed;) {
    const size_t v = g->steps[i].out;

    if (is_zero(c, v))
      continue;
    found = !take_constants(c, v) ? NO : at_end(c) ? YES : ON;
    if (found == ON)
      status = through_step(&found, c, i, err);
    forget(c, v);
  }
  if (found == ON) /* back at the input, which is exact */
    found = take_constants(c, g->input) && at_end(c) ? YES : NO;
  *ends = status == CLARKE_OK && found == YES && !c->failed;
  return status;
}

clarke_status
clarke_reduce(bool *ends, const clarke_reduction *r, size_t value, size_t a, size_t b, size_t column,
              clarke_error *err)
{
  combination c;
  clarke_status status = combination_init(&c, r, column) ? reduce(ends, &c, value, a, b, column, err) : clarke_no_memory(err);

  combination_clear(&c);
  return status;
}

bool
clarke_cancels(const clarke_forward *f, size_t value, size_t a, size_t b, const mpq_t q, size_t column)
{
  const clarke_reduction r = {.f = f};
  combination c;
  bool ends = false;

  if (f->g->activations > FEW_ACTIVATIONS)
    return false;
  if (combination_init(&c, &r, column)) {
    if (b == CLARKE_NONE)
      mpq_neg(c.number, q);
    if (reduce(&ends, &c, value, a, b, column, NULL) != CLARKE_OK)
      ends = false;
  }
  ends = ends && mpq_sgn(c.number) == 0;
  combination_clear(&c);
  return ends;
}
