#include "subdiff/structure.h"

#include <stdlib.h>
#include <string.h>

/* A mark for every entry of every activation of the replay's exact pass. */
typedef struct {
  const clarke_question *q;
  const int8_t *side;
  const clarke_forward *f;
  uint8_t **mark;         /* by value: features x columns */
  size_t **index;         /* by step */
} marking;

static void
marking_clear(marking *m)
{
  for (size_t v = 0; m->mark != NULL && v < m->q->g->n_values; v++)
    free(m->mark[v]);
  for (size_t i = 0; m->index != NULL && i < m->q->g->n_steps; i++)
    free(m->index[i]);
  free(m->mark);
  free(m->index);
}

static bool
marking_init(marking *m, const clarke_question *q, const int8_t *side)
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
    if (g->steps[i].kind == CLARKE_PIECEWISE &&
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
piece_is_constant(const clarke_step *s, size_t piece)
{
  if (piece == 0 && s->pieces.slope != CLARKE_NONE)
    return false;
  return mpq_sgn(s->pieces.coef[piece][1]) == 0 && mpq_sgn(s->pieces.coef[piece][2]) == 0;
}

/* Entry (f, j) of a SUM, GATHER or SCALE step: every operand constant, parameters outside wrt. */
static bool
operands_flat(const marking *m, const clarke_step *s, size_t f, size_t j)
{
  const clarke_graph *g = m->q->g;

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];

    if (g->values[o->value].constant ? clarke_value_is_wrt(g, o->value)
                                     : !m->mark[o->value][(o->map != NULL ? o->map[f] : f) *
                                                            m->f->n + j])
      return false;
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

/* Every term flat: a constant activation times a weight outside wrt, or a constant zero. */
static bool
dense_flat(const marking *m, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  size_t x = s->in[0].value, r = f % d->repeat, b = f / d->repeat / d->outer;
  bool moves = clarke_value_is_wrt(m->q->g, d->weight);

  for (size_t i = 0; i < d->inner; i++) {
    size_t from = (b * d->inner + i) * d->repeat + r;

    if (!m->mark[x][from * m->f->n + j] || (moves && !entry_is_zero(&m->f->value[x], from, j)))
      return false;
  }
  return true;
}

static bool
piecewise_flat(const marking *m, size_t step, size_t f, size_t j)
{
  const clarke_step *s = &m->q->g->steps[step];
  size_t e = f * m->f->n + j, k = m->index[step][e];
  int8_t code = m->f->piece[step][e];

  if (m->mark[s->in[0].value][e])
    return s->pieces.slope == CLARKE_NONE || !clarke_value_is_wrt(m->q->g, s->pieces.slope);
  if (code >= 0)
    return piece_is_constant(s, (size_t)code);
  if (code == CLARKE_OPEN || k == 0 || m->side[k - 1] == CLARKE_PROXY)
    return false;
  return piece_is_constant(s, CLARKE_KINK_OF(code) + (m->side[k - 1] == CLARKE_RIGHT ? 1 : 0));
}

static bool
entry_flat(const marking *m, size_t step, size_t f, size_t j)
{
  const clarke_step *s = &m->q->g->steps[step];

  switch (s->kind) {
  case CLARKE_GATHER:
  case CLARKE_SUM:
  case CLARKE_SCALE:
    return operands_flat(m, s, f, j);
  case CLARKE_DENSE:
    return dense_flat(m, s, f, j);
  case CLARKE_PIECEWISE:
    return piecewise_flat(m, step, f, j);
  case CLARKE_ANALYTIC:
    return m->mark[s->in[0].value][f * m->f->n + j];
  case CLARKE_SOFTMAX:
    return false;
  }
  return false;
}

clarke_status
clarke_flat(bool *flat, const clarke_question *q, const int8_t *side, clarke_error *err)
{
  marking m;
  const clarke_graph *g = q->g;

  if (q->replay->n_touches == 0)
    return CLARKE_OK;
  if (!marking_init(&m, q, side)) {
    marking_clear(&m);
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  }
  memset(m.mark[g->input], 1, g->values[g->input].count * m.f->n);
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    if (m.f->value[s->out].rows == 0)
      continue;
    for (size_t f = 0; f < g->values[s->out].count; f++)
      for (size_t j = 0; j < m.f->n; j++)
        m.mark[s->out][f * m.f->n + j] = entry_flat(&m, i, f, j);
  }
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    flat[k] = m.mark[g->steps[t->step].in[0].value][t->feature * m.f->n + t->column];
  }
  marking_clear(&m);
  return CLARKE_OK;
}

/* Degrees in the wrt parameters: 0 none, 1 affine, 2 more. */
static uint8_t
operand_degree(const marking *m, const clarke_operand *o, size_t f, size_t j)
{
  const clarke_graph *g = m->q->g;

  if (g->values[o->value].constant)
    return clarke_value_is_wrt(g, o->value) ? 1 : 0;
  return m->mark[o->value][(o->map != NULL ? o->map[f] : f) * m->f->n + j];
}

static uint8_t
dense_degree(const marking *m, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  size_t r = f % d->repeat, b = f / d->repeat / d->outer;
  uint8_t degree = 0;

  for (size_t i = 0; i < d->inner; i++) {
    uint8_t x = m->mark[s->in[0].value][((b * d->inner + i) * d->repeat + r) * m->f->n + j];

    degree = x > degree ? x : degree;
  }
  degree = (uint8_t)(degree + (clarke_value_is_wrt(m->q->g, d->weight) ? 1 : 0));
  return degree > 2 ? 2 : degree;
}

static uint8_t
piecewise_degree(const marking *m, size_t step, size_t f, size_t j)
{
  const clarke_step *s = &m->q->g->steps[step];
  size_t e = f * m->f->n + j, k = m->index[step][e];
  uint8_t degree = m->mark[s->in[0].value][e];
  bool slope_moves = s->pieces.slope != CLARKE_NONE && clarke_value_is_wrt(m->q->g,
                                                                           s->pieces.slope);

  if (degree == 0 && !slope_moves)
    return 0;
  for (size_t p = 0; p <= s->pieces.n_kinks; p++)
    if (mpq_sgn(s->pieces.coef[p][2]) != 0)
      return 2;
  if (slope_moves || m->f->piece[step][e] == CLARKE_OPEN ||
      (m->f->piece[step][e] < 0 && (k == 0 || m->side[k - 1] == CLARKE_PROXY)))
    return 2;
  return degree;
}

static uint8_t
entry_degree(const marking *m, size_t step, size_t f, size_t j)
{
  const clarke_step *s = &m->q->g->steps[step];
  uint8_t degree = 0, c;

  switch (s->kind) {
  case CLARKE_GATHER:
  case CLARKE_SUM:
    for (size_t i = 0; i < s->n_in; i++) {
      uint8_t one = operand_degree(m, &s->in[i], f, j);

      degree = one > degree ? one : degree;
    }
    return degree;
  case CLARKE_SCALE:
    c = operand_degree(m, &s->in[1], f, j);
    degree = (uint8_t)(operand_degree(m, &s->in[0], f, j) + (s->divide ? 2 * c : c));
    return degree > 2 ? 2 : degree;
  case CLARKE_DENSE:
    return dense_degree(m, s, f, j);
  case CLARKE_PIECEWISE:
    return piecewise_degree(m, step, f, j);
  case CLARKE_ANALYTIC:
    return m->mark[s->in[0].value][f * m->f->n + j] == 0 ? 0 : 2;
  case CLARKE_SOFTMAX:
    for (size_t l = 0; l < s->length; l++)
      if (m->mark[s->in[0].value][((f / (s->length * s->stride) * s->length + l) * s->stride +
                                   f % s->stride) * m->f->n + j] != 0)
        return 2;
    return 0;
  }
  return 2;
}

clarke_status
clarke_affine(bool *affine, const clarke_question *q, const int8_t *side, clarke_error *err)
{
  marking m;
  const clarke_graph *g = q->g;

  if (q->replay->n_touches == 0)
    return CLARKE_OK;
  if (!marking_init(&m, q, side)) {
    marking_clear(&m);
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  }
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    if (m.f->value[s->out].rows == 0)
      continue;
    for (size_t f = 0; f < g->values[s->out].count; f++)
      for (size_t j = 0; j < m.f->n; j++)
        m.mark[s->out][f * m.f->n + j] = entry_degree(&m, i, f, j);
  }
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    affine[k] = m.mark[g->steps[t->step].in[0].value][t->feature * m.f->n + t->column] < 2;
  }
  marking_clear(&m);
  return CLARKE_OK;
}
