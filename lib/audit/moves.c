#include "audit/moves.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_forward *f;
  const clarke_graph *g;
  const clarke_slopes *s;
  bool **moves;
  size_t n;
} walk;

static bool
moves_at(const walk *w, size_t value, size_t feature, size_t j)
{
  return feature != CLARKE_NONE && w->moves[value][feature * w->n + j];
}

/* Is the activation's entry exactly 0? */
static bool
is_zero(const walk *w, size_t value, size_t feature, size_t j)
{
  return feature == CLARKE_NONE || (w->f->value[value].rows > 0 && clarke_matrix_entry_is_zero(&w->f->value[value], feature, j));
}

static bool
sum_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  bool moves = false;

  for (size_t i = 0; i < s->n_in && !moves; i++) {
    const size_t e = clarke_operand_entry(&s->in[i], f), value = s->in[i].value;

    if (s->in[i].coef != 0 && e != CLARKE_NONE)
      moves = w->g->values[value].constant ? clarke_value_is_wrt(w->g, value) : w->moves[value][e * w->n + j];
  }
  return moves;
}

static bool
scale_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  const size_t x = clarke_operand_entry(&s->in[0], f), c = clarke_operand_entry(&s->in[1], f);
  const bool by_zero = !s->divide && !s->root && (c == CLARKE_NONE || w->g->values[s->in[1].value].real[c] == 0);

  return (!by_zero && moves_at(w, s->in[0].value, x, j)) || (clarke_value_is_wrt(w->g, s->in[1].value) && !is_zero(w, s->in[0].value, x, j));
}

/* PRelu's slope moves what is left of 0. */
static bool
slope_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  const clarke_matrix *slope = &w->s->slope[s - w->g->steps];

  if (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && clarke_value_is_wrt(w->g, s->pieces.slope) && !is_zero(w, s->in[0].value, f, j))
    return true;
  return moves_at(w, s->in[0].value, clarke_operand_entry(&s->in[0], f), j) && !(slope->rows > 0 && clarke_matrix_entry_is_zero(slope, f, j));
}

static bool
max_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  bool moves = false;

  for (size_t i = 0; i < s->width && !moves; i++)
    moves = moves_at(w, s->in[0].value, s->in[0].map[f * s->width + i], j);
  return moves;
}

static bool
product_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  bool moves = false;

  for (size_t k = 0; k < s->contraction.inner && !moves; k++) {
    const size_t a = clarke_step_factor(s, 0, f, k), c = clarke_step_factor(s, 1, f, k), x = s->in[0].value, y = s->in[1].value;

    moves = (moves_at(w, x, a, j) && !is_zero(w, y, c, j)) || (moves_at(w, y, c, j) && !is_zero(w, x, a, j));
  }
  return moves;
}

/* In a column of a product's argument; whatever output it is of. */
static bool
dense_moves(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  const bool weighs = clarke_value_is_wrt(w->g, d->weight);
  bool moves = false;

  for (size_t i = 0; i < d->inner && !moves; i++) {
    const size_t e = (f / d->repeat / d->outer * d->inner + i) * d->repeat + f % d->repeat;

    moves = moves_at(w, s->in[0].value, e, j) || (weighs && !is_zero(w, s->in[0].value, e, j));
  }
  return moves;
}

static bool (*const of_kind[CLARKE_STEP_KINDS])(const walk *w, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_GATHER] = sum_moves, [CLARKE_SUM] = sum_moves, [CLARKE_SCALE] = scale_moves, [CLARKE_DENSE] = dense_moves,
  [CLARKE_PIECEWISE] = slope_moves, [CLARKE_ANALYTIC] = slope_moves, [CLARKE_MAX] = max_moves, [CLARKE_PRODUCT] = product_moves,
};

/* Groups and lines: whatever is read, if any of it moves. */
static void
mark_all(const walk *w, const clarke_step *s)
{
  const size_t read = w->g->values[s->in[0].value].count * w->n;

  memset(w->moves[s->out], memchr(w->moves[s->in[0].value], true, read) != NULL, w->g->values[s->out].count * w->n);
}

/* Outputs of one column of a product are alike. */
static void
mark_step(const walk *w, const clarke_step *s)
{
  const size_t n = w->n, one = s->kind == CLARKE_DENSE ? s->dense.repeat * n : 0;
  bool *moves = w->moves[s->out];

  if (of_kind[s->kind] == NULL) {
    mark_all(w, s);
    return;
  }
  for (size_t f = 0; f < w->g->values[s->out].count; f++) {
    if (one != 0 && f / s->dense.repeat % s->dense.outer > 0) {
      memcpy(moves + f * n, moves + f * n - one, n);
      continue;
    }
    for (size_t j = 0; j < n; j++)
      moves[f * n + j] = of_kind[s->kind](w, s, f, j);
  }
}

clarke_status
clarke_moves_find(bool **moves, const clarke_forward *f, const clarke_slopes *s, size_t end, clarke_error *err)
{
  const clarke_graph *g = f->g;
  const walk w = {f, g, s, moves, f->n};

  moves[g->input] = calloc(g->values[g->input].count * f->n + 1, 1);
  for (size_t i = 0; i < end && moves[g->input] != NULL; i++) {
    const size_t out = g->steps[i].out;

    if (f->value[out].rows == 0)
      continue;
    moves[out] = malloc(g->values[out].count * f->n + 1);
    if (moves[out] == NULL)
      return clarke_no_memory(err);
    mark_step(&w, &g->steps[i]);
  }
  return moves[g->input] != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_moves_free(bool **moves, size_t n)
{
  for (size_t v = 0; moves != NULL && v < n; v++)
    free(moves[v]);
  free(moves);
}
