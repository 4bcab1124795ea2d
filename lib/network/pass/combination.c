/* A number written as a combination of entries of earlier and earlier steps. Each time it is divided by what is not zero, until
 * only entries are left that end the way. */
#include "network/pass/combination.h"

#include "network/pass/combination/combination.h"
#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES ((size_t)1 << 20)
#define FEW_ACTIVATIONS ((size_t)1 << 14)

static bool
combination_init(clarke_combination *c, const clarke_reduction *r, size_t column)
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
mpq_ptr
clarke_combination_at(clarke_combination *c, size_t v, size_t e)
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

size_t
clarke_combination_column(const clarke_combination *c, size_t e)
{
  return c->n > 1 ? e % c->n : c->column;
}

/* Where the pass has entry e of a value. */
size_t
clarke_combination_place(const clarke_combination *c, size_t e)
{
  return e / c->n * c->r->f->n + clarke_combination_column(c, e);
}

static void
combination_clear(clarke_combination *c)
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
is_zero(const clarke_combination *c, size_t v)
{
  for (size_t e = 0; e < c->size[v]; e++)
    if (mpq_sgn(c->of[v][e]) != 0)
      return false;
  return true;
}

bool
clarke_combination_only_at(const clarke_combination *c, size_t v)
{
  for (size_t u = 0; u < c->g->n_values; u++)
    if (u != v && !is_zero(c, u))
      return false;
  return true;
}

/* Does the entry end the way? (Of numbers: none that is left does.) */
static bool
is_end(const clarke_combination *c, size_t v, size_t e)
{
  return c->r->mark != NULL && c->r->mark[v][clarke_combination_place(c, e)] < 2;
}

static bool
at_end(const clarke_combination *c)
{
  for (size_t v = 0; v < c->g->n_values; v++)
    for (size_t e = 0; e < c->size[v]; e++)
      if (mpq_sgn(c->of[v][e]) != 0 && !is_end(c, v, e))
        return false;
  return true;
}

void
clarke_combination_add(clarke_combination *c, mpq_t y, const mpq_t a, const mpq_t b)
{
  mpq_mul(c->scratch, a, b);
  mpq_add(y, y, c->scratch);
}

/* *radius: how far the entry may be from q. */
void
clarke_combination_value(mpq_t q, double *radius, const clarke_combination *c, size_t v, size_t e)
{
  const clarke_matrix *x = &c->r->f->value[v];

  clarke_matrix_get(q, x, e / c->n, clarke_combination_column(c, e));
  *radius = clarke_matrix_radius(x, e / c->n, clarke_combination_column(c, e));
}

/* Constants become numbers; where all are numbers, those that are exact do. */
static bool
take_constants(clarke_combination *c, size_t v)
{
  const bool numbers = c->r->mark == NULL;
  bool known = true;
  mpq_t x;

  mpq_init(x);
  for (size_t e = 0; e < c->size[v] && known; e++) {
    double radius;

    if (mpq_sgn(c->of[v][e]) == 0 || (!numbers && c->r->mark[v][clarke_combination_place(c, e)] > 0))
      continue;
    clarke_combination_value(x, &radius, c, v, e);
    if (numbers && radius != 0)
      continue;
    known = radius == 0;
    clarke_combination_add(c, c->number, c->of[v][e], x);
    mpq_set_ui(c->of[v][e], 0, 1);
  }
  mpq_clear(x);
  return known;
}

/* --- other steps ----------------------------------------------------------------------------- */

/* 1 + the touch at the entry, or 0. */
static size_t
touch_at(const clarke_combination *c, size_t step, size_t e)
{
  return c->r->index != NULL ? c->r->index[step][clarke_combination_place(c, e)] : 0;
}

/* The side of the touch at the entry; CLARKE_PROXY: none is chosen. */
static clarke_branch
side_at(const clarke_combination *c, size_t step, size_t e)
{
  const size_t k = touch_at(c, step, e);

  return k > 0 && c->r->side != NULL ? c->r->side[k - 1] : CLARKE_PROXY;
}

/* For numbers either piece will do at a kink. */
static bool
through_piece(clarke_combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const clarke_branch code = c->r->f->piece[step][clarke_combination_place(c, e)], side = side_at(c, step, e);
  const size_t p = code >= 0 ? (size_t)code : CLARKE_KINK_OF(code) + (side == CLARKE_RIGHT);

  if (code == CLARKE_OPEN || (code < 0 && side == CLARKE_PROXY && c->r->mark != NULL) ||
      (p == 0 && s->pieces.slope != CLARKE_NONE) || mpq_sgn(s->pieces.coef[p][2]) != 0)
    return false;
  clarke_combination_add(c, c->number, c->of[s->out][e], s->pieces.coef[p][0]);
  clarke_combination_add(c, clarke_combination_at(c, s->in[0].value, e), c->of[s->out][e], s->pieces.coef[p][1]);
  return true;
}

/* The feature that the window's output is; CLARKE_NONE: it is open. Of numbers, any that is largest. */
static size_t
option_of(const clarke_combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t k = touch_at(c, step, e);
  const clarke_branch code = c->r->f->piece[step][clarke_combination_place(c, e)], side = side_at(c, step, e);
  size_t tied[CLARKE_MAX_WIDTH];

  if (code >= 0)
    return s->in[0].map[e / c->n * s->width + (size_t)code];
  if (code == CLARKE_OPEN || (c->r->mark != NULL && (k == 0 || side == CLARKE_PROXY)))
    return CLARKE_NONE;
  if (c->r->mark != NULL)
    return c->r->touch[k - 1].option[CLARKE_OPTION_OF(side)];
  return clarke_window_tied(tied, c->r->f, step, e / c->n, clarke_combination_column(c, e)) > 0 ? s->in[0].map[e / c->n * s->width + tied[0]]
                                                                                : CLARKE_NONE;
}

static bool
through_window(clarke_combination *c, size_t step, size_t e)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t from = option_of(c, step, e);
  mpq_ptr to;

  if (from == CLARKE_NONE)
    return false;
  to = clarke_combination_at(c, s->in[0].value, from * c->n + e % c->n);
  mpq_add(to, to, c->of[s->out][e]);
  return true;
}

/* Are the entries those of one group, or multiplied by one entry of the constant? */
static bool
one_root(const clarke_combination *c, const clarke_step *s)
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
through_root(clarke_combination *c, const clarke_step *s, size_t e)
{
  mpq_ptr to = clarke_combination_at(c, s->in[0].value, clarke_operand_entry(&s->in[0], e / c->n) * c->n + e % c->n);

  mpq_add(to, to, c->of[s->out][e]);
}

/* m (x - mean), the root left out. */
static void
through_group(clarke_combination *c, const clarke_step *s, size_t e)
{
  const size_t n = c->n;
  mpq_t by;

  mpq_init(by);
  for (size_t i = 0; i < c->size[s->out]; i++) {
    if (clarke_step_group(s, i / n) != clarke_step_group(s, e / n) || (!s->grouping.couples && i % n != e % n))
      continue;
    mpq_set_si(by, (i == e ? (long)clarke_step_group_size(s, n) : 0) - 1, 1);
    clarke_combination_add(c, clarke_combination_at(c, s->in[0].value, i), c->of[s->out][e], by);
  }
  mpq_clear(by);
}

static clarke_status
through_step(clarke_progress *found, clarke_combination *c, size_t step, clarke_error *err)
{
  const clarke_step *s = &c->g->steps[step];
  const bool root = s->kind == CLARKE_NORMALIZE || (s->kind == CLARKE_SCALE && s->root);

  if (s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_DENSE ||
      (s->kind == CLARKE_SCALE && !root))
    return clarke_combination_products(found, c, s, err);
  *found = CLARKE_WAY_ON;
  if (s->kind == CLARKE_ANALYTIC || s->kind == CLARKE_SOFTMAX || s->kind == CLARKE_PRODUCT ||
      (root && (!clarke_combination_only_at(c, s->out) || mpq_sgn(c->number) != 0 || !one_root(c, s))))
    *found = CLARKE_WAY_NO;
  for (size_t e = 0; e < c->size[s->out] && *found == CLARKE_WAY_ON; e++) {
    if (mpq_sgn(c->of[s->out][e]) == 0)
      continue;
    if (s->kind == CLARKE_NORMALIZE)
      through_group(c, s, e);
    else if (root)
      through_root(c, s, e);
    else if (!(s->kind == CLARKE_MAX ? through_window : through_piece)(c, step, e))
      *found = CLARKE_WAY_NO;
  }
  return CLARKE_OK;
}

static void
forget(clarke_combination *c, size_t v)
{
  for (size_t e = 0; e < c->size[v]; e++)
    mpq_set_ui(c->of[v][e], 0, 1);
}

static clarke_status
reduce(bool *ends, clarke_combination *c, size_t value, size_t a, size_t b, const mpq_t q, size_t column, clarke_error *err)
{
  const clarke_graph *g = c->g;
  const size_t at_column = c->n > 1 ? column : 0;
  clarke_progress found = CLARKE_WAY_ON;
  clarke_status status = CLARKE_OK;

  mpq_set_ui(clarke_combination_at(c, value, a * c->n + at_column), 1, 1);
  if (b != CLARKE_NONE)
    mpq_set_si(clarke_combination_at(c, value, b * c->n + at_column), -1, 1);
  else
    mpq_neg(c->number, q);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK && found == CLARKE_WAY_ON && !c->failed;) {
    const size_t v = g->steps[i].out;

    if (is_zero(c, v))
      continue;
    found = !take_constants(c, v) ? CLARKE_WAY_NO : at_end(c) ? CLARKE_WAY_YES : CLARKE_WAY_ON;
    if (found == CLARKE_WAY_ON)
      status = through_step(&found, c, i, err);
    forget(c, v);
  }
  if (found == CLARKE_WAY_ON) /* back at the input, which is exact */
    found = take_constants(c, g->input) && at_end(c) ? CLARKE_WAY_YES : CLARKE_WAY_NO;
  *ends = status == CLARKE_OK && found == CLARKE_WAY_YES && !c->failed;
  return status;
}

clarke_status
clarke_reduce(bool *ends, const clarke_reduction *r, size_t value, size_t a, size_t b, const mpq_t q, size_t column,
              clarke_error *err)
{
  clarke_combination c;
  clarke_status status =
    combination_init(&c, r, column) ? reduce(ends, &c, value, a, b, q, column, err) : clarke_no_memory(err);

  combination_clear(&c);
  return status;
}

bool
clarke_cancels(const clarke_forward *f, size_t value, size_t a, size_t b, const mpq_t q, size_t column)
{
  const clarke_reduction r = {.f = f};
  clarke_combination c;
  bool ends = false;

  if (f->g->activations > FEW_ACTIVATIONS)
    return false;
  if (combination_init(&c, &r, column) && reduce(&ends, &c, value, a, b, q, column, NULL) != CLARKE_OK)
    ends = false;
  ends = ends && mpq_sgn(c.number) == 0;
  combination_clear(&c);
  return ends;
}
