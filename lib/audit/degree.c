#include "audit/degree.h"

#include <stdlib.h>
#include <string.h>

void
clarke_marking_clear(clarke_marking *m)
{
  for (size_t v = 0; m->mark != NULL && v < m->q->g->n_values; v++)
    free(m->mark[v]);
  for (size_t i = 0; m->index != NULL && i < m->q->g->n_steps; i++)
    free(m->index[i]);
  free(m->mark);
  free(m->index);
  memset(m, 0, sizeof *m);
}

static bool
marking_init(clarke_marking *m, const clarke_question *q, const clarke_branch *side)
{
  const clarke_graph *g = q->g;

  memset(m, 0, sizeof *m);
  m->q = q;
  m->side = side;
  m->f = &q->replay->near;
  m->mark = calloc(g->n_values + 1, sizeof *m->mark);
  m->index = calloc(g->n_steps + 1, sizeof *m->index);
  if (m->mark == NULL || m->index == NULL)
    return false;
  for (size_t v = 0; v < g->n_values; v++)
    if (!g->values[v].constant &&
        (m->mark[v] = calloc(g->values[v].count * m->f->n + 1, 1)) == NULL)
      return false;
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_step_has_kinks(&g->steps[i]) &&
        (m->index[i] = calloc(g->values[g->steps[i].out].count * m->f->n + 1,
                              sizeof **m->index)) == NULL)
      return false;
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    m->index[t->step][t->feature * m->f->n + t->column] = k + 1;
  }
  return true;
}

static bool
entry_is_zero(const clarke_matrix *x, size_t f, size_t j)
{
  const uint64_t *word = x->word + (f * x->cols + j) * x->limbs;

  for (size_t l = 0; l < x->limbs; l++)
    if (word[l] != 0)
      return false;
  return x->radius == NULL || x->radius[f * x->cols + j] == 0;
}

/* The degree of entry (f, j) of an activation times an entry of a constant. */
static uint8_t
product_degree(const clarke_marking *m, size_t value, size_t f, size_t j, size_t constant)
{
  uint8_t x = m->mark[value][f * m->f->n + j];

  if (x == 0 && entry_is_zero(&m->f->value[value], f, j))
    return 0;
  return !clarke_value_is_wrt(m->q->g, constant) ? x : x == 0 ? 1 : 2;
}

static size_t
source(const clarke_operand *o, size_t f)
{
  return o->map != NULL ? o->map[f] : f;
}

static uint8_t
scale_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  size_t c = s->in[1].value;
  uint8_t degree = product_degree(m, s->in[0].value, source(&s->in[0], f), j, c);

  return degree > 0 && s->divide && clarke_value_is_wrt(m->q->g, c) ? 2 : degree;
}

static uint8_t
dense_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  size_t r = f % d->repeat, b = f / d->repeat / d->outer;
  uint8_t degree = 0;

  for (size_t i = 0; i < d->inner && degree < 2; i++) {
    uint8_t one =
      product_degree(m, s->in[0].value, (b * d->inner + i) * d->repeat + r, j, d->weight);

    degree = one > degree ? one : degree;
  }
  return degree;
}

/* The degree of piece p at an argument of that degree. PRelu's left piece is constant when its slope is 0 and
 * does not move. */
static uint8_t
piece_degree(const clarke_marking *m, const clarke_step *s, size_t p, size_t f, size_t j, uint8_t degree)
{
  size_t slope = s->pieces.slope;

  if (p == 0 && slope != CLARKE_NONE &&
      (clarke_value_is_wrt(m->q->g, slope) ||
       m->q->g->values[slope].real[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f] != 0))
    return product_degree(m, s->in[0].value, f, j, slope);
  if (mpq_sgn(s->pieces.coef[p][2]) != 0)
    return degree > 0 ? 2 : 0;
  return mpq_sgn(s->pieces.coef[p][1]) != 0 ? degree : 0;
}

static clarke_branch
side_of(const clarke_marking *m, size_t k)
{
  return m->side != NULL ? m->side[k] : CLARKE_PROXY;
}

static uint8_t
piecewise_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  const size_t step = (size_t)(s - m->q->g->steps);
  size_t e = f * m->f->n + j, k = m->index[step][e];
  uint8_t degree = m->mark[s->in[0].value][e];
  clarke_branch code = m->f->piece[step][e];

  if (code >= 0)
    return piece_degree(m, s, (size_t)code, f, j, degree);
  if (code == CLARKE_OPEN)
    return 2;
  if (degree == 0) /* at its kink for good: PRelu's slope multiplies a zero */
    return 0;
  if (k == 0 || side_of(m, k - 1) == CLARKE_PROXY)
    return 2;
  return piece_degree(m, s, CLARKE_KINK_OF(code) + (m->side[k - 1] == CLARKE_RIGHT), f, j, degree);
}

/* A window's output is its largest entry, or the option that is chosen. */
static uint8_t
max_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  const size_t step = (size_t)(s - m->q->g->steps);
  const uint8_t *x = m->mark[s->in[0].value];
  clarke_branch code = m->f->piece[step][f * m->f->n + j];
  size_t k = m->index[step][f * m->f->n + j];
  const clarke_touch *t = k > 0 ? &m->q->replay->touch[k - 1] : NULL;

  if (code >= 0)
    return x[s->in[0].map[f * s->width + (size_t)code] * m->f->n + j];
  if (t == NULL)
    return 2;
  if (side_of(m, k - 1) != CLARKE_PROXY)
    return x[t->option[CLARKE_OPTION_OF(m->side[k - 1])] * m->f->n + j];
  for (size_t o = 0; o < t->n_options; o++)
    if (x[t->option[o] * m->f->n + j] != 0)
      return 2;
  return 0;
}

/* The degree of a sum of products of two entries: one that moves, times a number, has its own; two that move have any. */
static uint8_t
contraction_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  uint8_t degree = 0;

  for (size_t k = 0; k < s->contraction.inner && degree < 2; k++) {
    uint8_t of[2];
    bool nothing = false;

    for (size_t i = 0; i < 2; i++) {
      const size_t e = clarke_step_factor(s, i, f, k), x = s->in[i].value;

      of[i] = m->mark[x][e * m->f->n + j];
      nothing = nothing || (of[i] == 0 && entry_is_zero(&m->f->value[x], e, j));
    }
    of[0] = nothing ? 0 : of[0] > 0 && of[1] > 0 ? 2 : of[0] > of[1] ? of[0] : of[1];
    degree = of[0] > degree ? of[0] : degree;
  }
  return degree;
}

static uint8_t
analytic_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  return clarke_step_jumps(s) || m->mark[s->in[0].value][f * m->f->n + j] == 0 ? 0 : 2;
}

/* One that is alone in its line is the whole of its exponentials: a constant. */
static uint8_t
softmax_degree(const clarke_marking *m, const clarke_step *s, size_t f, size_t j)
{
  const size_t first = f / (s->length * s->stride) * s->length * s->stride + f % s->stride;

  for (size_t l = s->length == 1; l < s->length; l++)
    if (m->mark[s->in[0].value][(first + l * s->stride) * m->f->n + j] != 0)
      return 2;
  return 0;
}

/* The degree of an entry, by kind of step. Those of GATHER and SUM are marked by mark_sums, a NORMALIZE step's by mark_groups. */
static uint8_t (*const of_kind[CLARKE_STEP_KINDS])(const clarke_marking *m, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_SCALE] = scale_degree, [CLARKE_DENSE] = dense_degree,
  [CLARKE_PIECEWISE] = piecewise_degree, [CLARKE_ANALYTIC] = analytic_degree, [CLARKE_SOFTMAX] = softmax_degree,
  [CLARKE_MAX] = max_degree, [CLARKE_PRODUCT] = contraction_degree,
};

/* The first entry, of n columns, of the group that entry e is in. */
static size_t
group_place(const clarke_step *s, size_t e, size_t n)
{
  return clarke_step_group(s, e / n) * s->grouping.length * n + (s->grouping.couples ? 0 : e % n);
}

/* An entry of a group is constant when all of them are, or it is alone: then it is its own mean. */
static void
mark_groups(clarke_marking *m, const clarke_step *s)
{
  const uint8_t *x = m->mark[s->in[0].value];
  size_t n = m->f->n, entries = m->q->g->values[s->out].count * n;
  uint8_t *mark = m->mark[s->out];

  for (size_t e = 0; e < entries && clarke_step_group_size(s, n) > 1; e++)
    if (x[e] != 0)
      mark[group_place(s, e, n)] = 2;
  for (size_t e = 0; e < entries; e++)
    mark[e] = mark[group_place(s, e, n)];
}

static void
raise_marks(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* The largest degree of what is added, run by run: padding is the constant 0. */
static void
mark_sums(clarke_marking *m, const clarke_step *s)
{
  const size_t n = m->f->n, count = m->q->g->values[s->out].count;
  uint8_t *mark = m->mark[s->out];

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    const uint8_t *from = m->mark[o->value];

    if (from == NULL && !clarke_value_is_wrt(m->q->g, o->value))
      continue;
    for (size_t f = 0, run; f < count; f += run) {
      const size_t e = clarke_operand_entry(o, f);

      run = from != NULL ? clarke_operand_run(o, f, count) : 1;
      if (e != CLARKE_NONE && from != NULL)
        raise_marks(mark + f * n, from + e * n, run * n);
      for (size_t j = f * n; e != CLARKE_NONE && from == NULL && j < (f + 1) * n; j++)
        mark[j] = mark[j] == 0 ? 1 : mark[j];
    }
  }
}

/* All entries of a step's output. Those of a DENSE step do not depend on which output they are. */
static void
mark_step(clarke_marking *m, size_t step)
{
  const clarke_step *s = &m->q->g->steps[step];
  size_t n = m->f->n, one = s->kind == CLARKE_DENSE ? s->dense.repeat * n : 0;
  uint8_t *mark = m->mark[s->out];

  if (s->kind == CLARKE_NORMALIZE) {
    mark_groups(m, s);
    return;
  }
  if (s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM) {
    mark_sums(m, s);
    return;
  }
  for (size_t f = 0; f < m->q->g->values[s->out].count; f++) {
    if (one != 0 && f / s->dense.repeat % s->dense.outer > 0) {
      memcpy(mark + f * n, mark + f * n - one, n);
      continue;
    }
    for (size_t j = 0; j < n; j++)
      mark[f * n + j] = of_kind[s->kind](m, s, f, j);
  }
}

clarke_status
clarke_marking_run(clarke_marking *m, const clarke_question *q, const clarke_branch *side, clarke_error *err)
{
  const clarke_graph *g = q->g;

  if (!marking_init(m, q, side)) {
    clarke_marking_clear(m);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < g->n_steps; i++)
    if (m->f->value[g->steps[i].out].rows > 0)
      mark_step(m, i);
  return CLARKE_OK;
}

uint8_t
clarke_marking_degree(const clarke_marking *m, size_t k, size_t condition)
{
  const clarke_touch *t = &m->q->replay->touch[k];

  return m->mark[m->q->g->steps[t->step].in[0].value]
                [(t->n_options > 0 ? t->option[condition] : t->feature) * m->f->n + t->column];
}

clarke_status
clarke_degrees(uint8_t *degree, const clarke_question *q, const clarke_branch *side, clarke_error *err)
{
  clarke_marking m;
  clarke_status status;

  if (q->replay->n_touches == 0)
    return CLARKE_OK;
  status = clarke_marking_run(&m, q, side, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k < q->replay->n_touches; k++)
    for (size_t c = 0; c < clarke_touch_conditions(&q->replay->touch[k]); c++)
      degree[q->replay->touch[k].first_condition + c] = clarke_marking_degree(&m, k, c);
  clarke_marking_clear(&m);
  return CLARKE_OK;
}

clarke_status
clarke_flat(bool *flat, const clarke_question *q, const clarke_branch *side, clarke_error *err)
{
  uint8_t *degree = malloc(q->replay->n_conditions + 1);
  clarke_status status = degree != NULL ? clarke_degrees(degree, q, side, err)
                                        : clarke_no_memory(err);

  for (size_t k = 0; k < q->replay->n_touches && status == CLARKE_OK; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    flat[k] = true;
    for (size_t c = 0; c < clarke_touch_conditions(t); c++)
      flat[k] = flat[k] && degree[t->first_condition + c] == 0;
  }
  free(degree);
  return status;
}
