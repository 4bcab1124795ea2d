/* Which entries are 0: runs of bytes, a byte an entry. A value without any has none. */
#include "network/derive/zeros/zeros.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

static bool
value_lacks(const clarke_zeros_pass *p, size_t value)
{
  const clarke_value *v = &p->g->values[value];

  if (!v->constant)
    return p->zero[value] == NULL;
  for (size_t e = 0; e < v->count; e++)
    if (clarke_zeros_of_constant(v, e))
      return false;
  return true;
}

static bool
is_whole(const size_t *map, size_t entries)
{
  bool whole = true;

  for (size_t f = 0; map != NULL && f < entries; f++)
    whole &= map[f] != CLARKE_NONE;
  return whole;
}

bool
clarke_zeros_lack(const clarke_zeros_pass *p, const clarke_operand *o, size_t entries)
{
  return o->coef != 0 && value_lacks(p, o->value) && is_whole(o->map, entries);
}

static void
and_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] &= from[i];
}

void
clarke_zeros_and(uint8_t *zero, const clarke_zeros_pass *p, const clarke_operand *o, size_t first, size_t end)
{
  const clarke_value *v = &p->g->values[o->value];

  for (size_t f = first, run; f < end && o->coef != 0; f += run) {
    const size_t e = clarke_operand_entry(o, f);
    uint8_t *to = zero + (f - first) * p->n;

    run = v->constant ? 1 : clarke_operand_run(o, f, end);
    if (e == CLARKE_NONE)
      continue;
    if (v->constant) {
      if (!clarke_zeros_of_constant(v, e))
        memset(to, 0, p->n);
    } else if (p->zero[o->value] == NULL)
      memset(to, 0, run * p->n);
    else
      and_bytes(to, p->zero[o->value] + e * p->n, run * p->n);
  }
}

/* --- kinds of steps: of their entries from `first` to `end`, which are 1 to begin with --------- */

static void
sum_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  for (size_t i = 0; i < s->n_in; i++)
    clarke_zeros_and(zero, p, &s->in[i], first, end);
}

/* 0 where x is, and where c is, if it is multiplied by that. */
static void
scale_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  clarke_zeros_and(zero, p, &s->in[0], first, end);
  for (size_t f = first; f < end && !s->divide && !s->root; f++)
    for (size_t j = 0; j < p->n; j++)
      zero[(f - first) * p->n + j] |= s->in[1].coef == 0 || clarke_zeros_at(p, s->in[1].value, clarke_operand_entry(&s->in[1], f), j);
}

/* What a piece, or the value at a kink, says of entries there. */
typedef enum { NOT_ZERO, ZERO, ZERO_WITH_ARGUMENT } piece_zero;

/* PRelu's line goes through 0. */
static piece_zero
zero_of_piece(const clarke_pieces *c, size_t piece)
{
  if (piece == 0 && c->slope != CLARKE_NONE)
    return ZERO_WITH_ARGUMENT;
  if (mpq_sgn(c->coef[piece][0]) != 0)
    return NOT_ZERO;
  return mpq_sgn(c->coef[piece][1]) == 0 && mpq_sgn(c->coef[piece][2]) == 0 ? ZERO : ZERO_WITH_ARGUMENT;
}

static piece_zero
zero_at_kink(const clarke_pieces *c, size_t k)
{
  mpq_t y;
  bool zero;

  mpq_init(y);
  mpq_mul(y, c->coef[k + 1][2], c->kink[k]);
  mpq_add(y, y, c->coef[k + 1][1]);
  mpq_mul(y, y, c->kink[k]);
  mpq_add(y, y, c->coef[k + 1][0]);
  zero = mpq_sgn(y) == 0;
  mpq_clear(y);
  return zero ? ZERO : NOT_ZERO;
}

static void
piecewise_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  const clarke_branch *code = p->r->piece[s - p->g->steps] + first * p->n;
  piece_zero piece[CLARKE_MAX_KINKS + 1], kink[CLARKE_MAX_KINKS];

  for (size_t k = 0; k <= s->pieces.n_kinks; k++)
    piece[k] = zero_of_piece(&s->pieces, k);
  for (size_t k = 0; k < s->pieces.n_kinks; k++)
    kink[k] = zero_at_kink(&s->pieces, k);
  clarke_zeros_and(zero, p, &s->in[0], first, end);
  for (size_t e = 0; e < (end - first) * p->n; e++) {
    const piece_zero says = code[e] >= 0 ? piece[code[e]] : code[e] == CLARKE_OPEN ? NOT_ZERO : kink[CLARKE_KINK_OF(code[e])];

    zero[e] = says == ZERO || (says == ZERO_WITH_ARGUMENT && zero[e]);
  }
}

/* The largest entry; of several whatever they all are. */
static bool
window_is_zero(const clarke_zeros_pass *p, const clarke_step *s, size_t f, size_t j)
{
  const clarke_branch place = p->r->piece[s - p->g->steps][f * p->n + j];
  const size_t *window = &s->in[0].map[f * s->width];
  bool zero = place != CLARKE_OPEN;

  if (place >= 0)
    return clarke_zeros_at(p, s->in[0].value, window[place], j);
  for (size_t i = 0; i < s->width && zero; i++)
    zero = clarke_zeros_at(p, s->in[0].value, window[i], j);
  return zero;
}

static void
max_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  for (size_t f = first; f < end; f++)
    for (size_t j = 0; j < p->n; j++)
      zero[(f - first) * p->n + j] = window_is_zero(p, s, f, j);
}

/* All n samples of a sum of products. */
static void
product_row(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t f)
{
  for (size_t k = 0; k < s->contraction.inner; k++) {
    const size_t a = clarke_step_factor(s, 0, f, k), c = clarke_step_factor(s, 1, f, k);

    for (size_t j = 0; j < p->n; j++)
      zero[j] &= clarke_zeros_at(p, s->in[0].value, a, j) || clarke_zeros_at(p, s->in[1].value, c, j);
  }
}

static void
product_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  for (size_t f = first; f < end; f++)
    product_row(zero + (f - first) * p->n, p, s, f);
}

/* Columns of output o of block b from entry `at` of the argument's rows on: 0 where each product is. */
static void
dense_run(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t b, size_t o, size_t at, size_t n)
{
  const clarke_dense *d = &s->dense;
  const uint8_t *x = p->zero[s->in[0].value];

  for (size_t i = 0; i < d->inner && memchr(zero, 1, n) != NULL; i++) {
    if (clarke_zeros_of_constant(&p->g->values[d->weight], clarke_zeros_weight(d, b, o, i)))
      continue;
    if (x == NULL)
      memset(zero, 0, n);
    else
      and_bytes(zero, x + (b * d->inner + i) * d->repeat * p->n + at, n);
  }
}

static void
dense_zeros(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end)
{
  const clarke_dense *d = &s->dense;

  for (size_t f = first, run; f < end; f += run) {
    const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;

    run = d->repeat - r < end - f ? d->repeat - r : end - f;
    dense_run(zero + (f - first) * p->n, p, s, b, o, r * p->n, run * p->n);
  }
}

static void (*const zeros_of[CLARKE_STEP_KINDS])(uint8_t *zero, const clarke_zeros_pass *p, const clarke_step *s, size_t first, size_t end) = {
  [CLARKE_GATHER] = sum_zeros, [CLARKE_SUM] = sum_zeros, [CLARKE_SCALE] = scale_zeros, [CLARKE_DENSE] = dense_zeros,
  [CLARKE_PIECEWISE] = piecewise_zeros, [CLARKE_ANALYTIC] = sum_zeros, [CLARKE_MAX] = max_zeros, [CLARKE_PRODUCT] = product_zeros,
};

/* Is it one of the functions that are 0 at 0? */
static bool
starts_at_zero(const clarke_step *s)
{
  return s->function == CLARKE_TANH || s->function == CLARKE_ERF || s->function == CLARKE_ELU || s->function == CLARKE_SIN || s->function == CLARKE_ATAN;
}

/* Has each row of W a weight that is not 0? */
static bool
rows_have_weights(const clarke_graph *g, const clarke_dense *d)
{
  for (size_t b = 0; b < (d->grouped ? d->blocks : 1); b++)
    for (size_t o = 0; o < d->outer; o++) {
      size_t i = 0;

      while (i < d->inner && clarke_zeros_of_constant(&g->values[d->weight], clarke_zeros_weight(d, b, o, i)))
        i++;
      if (i == d->inner)
        return false;
    }
  return true;
}

/* --- steps of which no entry is known to be 0: a rule a kind --- */

static bool
moved_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (clarke_zeros_lack(p, &s->in[i], p->g->values[s->out].count))
      return true;
  return false;
}

static bool
scale_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count;

  return clarke_zeros_lack(p, &s->in[0], count) && (s->divide || s->root || clarke_zeros_lack(p, &s->in[1], count));
}

static bool
dense_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  return value_lacks(p, s->in[0].value) && rows_have_weights(p->g, &s->dense);
}

static bool
analytic_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  return !starts_at_zero(s) || clarke_zeros_lack(p, &s->in[0], p->g->values[s->out].count);
}

/* Each window has an entry. */
static bool
window_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  return value_lacks(p, s->in[0].value);
}

static bool
product_lacks(const clarke_zeros_pass *p, const clarke_step *s)
{
  const clarke_contraction *c = &s->contraction;

  return c->inner > 0 && clarke_zeros_lack(p, &s->in[0], c->blocks * c->rows * c->inner)
         && clarke_zeros_lack(p, &s->in[1], c->blocks * c->inner * c->cols);
}

/* A constant piece may be 0 anywhere. */
static bool
pieces_lack(const clarke_zeros_pass *p, const clarke_step *s)
{
  (void)p, (void)s;
  return false;
}

/* Kinds without a rule never have an entry that is known to be 0. */
static bool (*const lacks[CLARKE_STEP_KINDS])(const clarke_zeros_pass *p, const clarke_step *s) = {
  [CLARKE_GATHER] = moved_lacks, [CLARKE_SUM] = moved_lacks,     [CLARKE_SCALE] = scale_lacks,  [CLARKE_DENSE] = dense_lacks,
  [CLARKE_ANALYTIC] = analytic_lacks, [CLARKE_MAX] = window_lacks, [CLARKE_PRODUCT] = product_lacks, [CLARKE_PIECEWISE] = pieces_lack,
};

static bool
lacks_all(const clarke_zeros_pass *p, const clarke_step *s)
{
  return lacks[s->kind] == NULL || lacks[s->kind](p, s);
}

/* A value's bytes, which become its own; none if none is 1. */
static void
keep_zeros(clarke_zeros_pass *p, size_t value, uint8_t *zero)
{
  if (memchr(zero, 1, p->g->values[value].count * p->n) != NULL)
    p->zero[value] = zero;
  else
    free(zero);
}

static clarke_status
step_zeros(clarke_zeros_pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count, rows = clarke_zeros_rows(p);
  uint8_t *zero = malloc(count * p->n + 1);
  clarke_status status = zero != NULL ? CLARKE_OK : clarke_no_memory(p->err);

  for (size_t first = 0; first < count && status == CLARKE_OK; first += rows) {
    const size_t end = count - first < rows ? count : first + rows;

    memset(zero + first * p->n, 1, (end - first) * p->n);
    zeros_of[s->kind](zero + first * p->n, p, s, first, end);
    status = clarke_work_check(p->err);
  }
  if (status == CLARKE_OK)
    keep_zeros(p, s->out, zero);
  else
    free(zero);
  return status;
}

static clarke_status
input_zeros(clarke_zeros_pass *p)
{
  const clarke_tensor *x = p->r->x;
  const size_t count = p->g->values[p->g->input].count;
  uint8_t *zero = malloc(count * p->n + 1);

  if (zero == NULL)
    return clarke_no_memory(p->err);
  for (size_t f = 0; f < count; f++)
    for (size_t j = 0; j < p->n; j++)
      zero[f * p->n + j] = x->real != NULL ? x->real[j * count + f] == 0 : x->integer != NULL && x->integer[j * count + f] == 0;
  keep_zeros(p, p->g->input, zero);
  return CLARKE_OK;
}

clarke_status
clarke_zeros_forward(clarke_zeros_pass *p)
{
  clarke_status status = p->needed[p->g->input] ? input_zeros(p) : CLARKE_OK;

  for (size_t i = 0; i < p->g->n_steps && status == CLARKE_OK; i++)
    if (p->needed[p->g->steps[i].out] && !lacks_all(p, &p->g->steps[i]))
      status = step_zeros(p, &p->g->steps[i]);
  return status;
}
