/* Truth values in place of numbers: forward which entries are 0, back which causes make a gradient 0. */
#include "network/derive/zeros.h"

#include "base/stop.h"
#include "network/derive/reverse.h"

#include <stdlib.h>
#include <string.h>

/* Entries of all activations that are followed, samples counted, which take two bytes each. */
#define MOST_ENTRIES ((size_t)1 << 27)

typedef struct {
  const clarke_replay *r;
  const clarke_graph *g;
  const clarke_profile *profile;
  size_t n;              /* samples */
  bool loose, *carries;  /* n_values: does it depend on a wrt parameter? */
  uint8_t **zero;        /* n_values: 1 where an activation is known to be 0; NULL: of none */
  uint8_t **cause;       /* n_values: of the gradient in an activation; 0: nothing has come back yet */
  uint8_t **by_kink;     /* n_steps: of PIECEWISE, what is touched: the causes that AD's slope there makes, or 0 */
  clarke_zeros *z;
  clarke_error *err;
} pass;

static const char *const names[CLARKE_ZERO_CAUSES] = {"dead units", "slope 0 taken at a kink", "weights or constants that are 0",
                                                      "activations that are 0", "losers of windows", "no path to the loss",
                                                      "inputs that are 0"};

const char *
clarke_zero_cause_name(size_t i)
{
  return names[i];
}

void
clarke_zeros_init(clarke_zeros *z)
{
  memset(z, 0, sizeof *z);
}

void
clarke_zeros_clear(clarke_zeros *z)
{
  for (size_t p = 0; p < z->n && z->cause != NULL; p++)
    free(z->cause[p]);
  free(z->cause);
  clarke_zeros_init(z);
}

/* Where nothing came back, nothing that the loss is made of takes the entry. */
static inline uint8_t
read_cause(uint8_t cause)
{
  return cause == 0 ? CLARKE_ZERO_UNUSED : cause;
}

/* A path with one more factor. */
static inline uint8_t
times(uint8_t cause, bool zero, uint8_t why)
{
  return (cause & CLARKE_ZERO_NOT) != 0 && zero ? (uint8_t)((cause & ~CLARKE_ZERO_NOT) | why) : cause;
}

/* Do weights change a factor that is 0? */
static inline uint8_t
factor_cause(const pass *p, size_t value)
{
  const bool may_change = p->g->values[value].constant ? clarke_value_is_wrt(p->g, value) : p->carries[value];

  return may_change ? CLARKE_ZERO_FACTOR : CLARKE_ZERO_DATA;
}

/* --- what is 0 ------------------------------------------------------------------------------- */

static bool
constant_is_zero(const clarke_graph *g, size_t value, size_t e)
{
  const clarke_value *v = &g->values[value];

  return v->real != NULL ? v->real[e] == 0 : v->integer != NULL && v->integer[e] == 0;
}

static bool
is_zero(const pass *p, size_t value, size_t e, size_t j)
{
  if (p->g->values[value].constant)
    return constant_is_zero(p->g, value, e);
  return p->zero[value] != NULL && p->zero[value][e * p->n + j];
}

static bool
operand_is_zero(const pass *p, const clarke_operand *o, size_t f, size_t j)
{
  const size_t e = clarke_operand_entry(o, f);

  return e == CLARKE_NONE || o->coef == 0 || is_zero(p, o->value, e, j);
}

static void
input_zeros(pass *p)
{
  const clarke_tensor *x = p->r->x;
  const size_t count = p->g->values[p->g->input].count;
  uint8_t *zero = p->zero[p->g->input];

  for (size_t f = 0; zero != NULL && f < count; f++)
    for (size_t j = 0; j < p->n; j++)
      zero[f * p->n + j] = x->real != NULL ? x->real[j * count + f] == 0 : x->integer != NULL && x->integer[j * count + f] == 0;
}

static bool
sum_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  bool zero = true;

  for (size_t i = 0; i < s->n_in && zero; i++)
    zero = operand_is_zero(p, &s->in[i], f, j);
  return zero;
}

static bool
scale_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  return operand_is_zero(p, &s->in[0], f, j) || (!s->divide && !s->root && operand_is_zero(p, &s->in[1], f, j));
}

/* The value at a kink, or of a piece that is a constant; PRelu's line goes through 0. */
static bool
piecewise_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  const clarke_branch code = p->r->piece[s - p->g->steps][f * p->n + j];
  const clarke_pieces *c = &s->pieces;
  size_t piece;
  mpq_t y;
  bool zero;

  if (code == CLARKE_OPEN)
    return false;
  piece = code >= 0 ? (size_t)code : CLARKE_KINK_OF(code) + 1;
  if (piece == 0 && c->slope != CLARKE_NONE)
    return operand_is_zero(p, &s->in[0], f, j);
  if (code >= 0)
    return mpq_sgn(c->coef[piece][0]) == 0 && ((mpq_sgn(c->coef[piece][1]) == 0 && mpq_sgn(c->coef[piece][2]) == 0)
                                               || operand_is_zero(p, &s->in[0], f, j));
  mpq_init(y);
  mpq_mul(y, c->coef[piece][2], c->kink[piece - 1]);
  mpq_add(y, y, c->coef[piece][1]);
  mpq_mul(y, y, c->kink[piece - 1]);
  mpq_add(y, y, c->coef[piece][0]);
  zero = mpq_sgn(y) == 0;
  mpq_clear(y);
  return zero;
}

/* Is it one of the functions that are 0 at 0, there? */
static bool
analytic_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  const bool starts_there = s->function == CLARKE_TANH || s->function == CLARKE_ERF || s->function == CLARKE_ELU || s->function == CLARKE_SIN
                            || s->function == CLARKE_ATAN;

  return starts_there && operand_is_zero(p, &s->in[0], f, j);
}

static bool
never(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  (void)p, (void)s, (void)f, (void)j;
  return false;
}

/* The largest entry; of several whatever they all are. */
static bool
max_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  const clarke_branch place = p->r->piece[s - p->g->steps][f * p->n + j];
  const size_t *window = &s->in[0].map[f * s->width];
  bool zero = place != CLARKE_OPEN;

  if (place >= 0)
    return is_zero(p, s->in[0].value, window[place], j);
  for (size_t i = 0; i < s->width && zero; i++)
    zero = window[i] == CLARKE_NONE || is_zero(p, s->in[0].value, window[i], j);
  return zero;
}

static bool
product_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  bool zero = true;

  for (size_t k = 0; k < s->contraction.inner && zero; k++) {
    const size_t a = clarke_step_factor(s, 0, f, k), c = clarke_step_factor(s, 1, f, k);

    zero = a == CLARKE_NONE || c == CLARKE_NONE || is_zero(p, s->in[0].value, a, j) || is_zero(p, s->in[1].value, c, j);
  }
  return zero;
}

/* Where entry (o, i) of block b's weight is stored. */
static size_t
weight_entry(const clarke_dense *d, size_t b, size_t o, size_t i)
{
  return d->grouped ? (b * d->outer + o) * d->inner + i : d->transposed ? i * d->outer + o : o * d->inner + i;
}

static bool
dense_is_zero(const pass *p, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
  bool zero = true;

  for (size_t i = 0; i < d->inner && zero; i++)
    zero = is_zero(p, s->in[0].value, (b * d->inner + i) * d->repeat + r, j) || constant_is_zero(p->g, d->weight, weight_entry(d, b, o, i));
  return zero;
}

static bool (*const is_zero_of[CLARKE_STEP_KINDS])(const pass *p, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_GATHER] = sum_is_zero, [CLARKE_SUM] = sum_is_zero, [CLARKE_SCALE] = scale_is_zero, [CLARKE_DENSE] = dense_is_zero,
  [CLARKE_PIECEWISE] = piecewise_is_zero, [CLARKE_ANALYTIC] = analytic_is_zero, [CLARKE_SOFTMAX] = never, [CLARKE_NORMALIZE] = never,
  [CLARKE_MAX] = max_is_zero, [CLARKE_PRODUCT] = product_is_zero,
};

static clarke_status
forward(pass *p)
{
  clarke_status status = CLARKE_OK;

  input_zeros(p);
  for (size_t i = 0; i < p->g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &p->g->steps[i];
    uint8_t *zero = p->zero[s->out];

    for (size_t f = 0; zero != NULL && f < p->g->values[s->out].count && status == CLARKE_OK; f++) {
      for (size_t j = 0; j < p->n; j++)
        zero[f * p->n + j] = is_zero_of[s->kind](p, s, f, j);
      status = clarke_work_check(p->err);
    }
  }
  return status;
}

/* --- the way back ---------------------------------------------------------------------------- */

/* To entry e of what a step reads: on to its own gradient, or to the parameter's. */
static void
give(pass *p, size_t value, size_t e, size_t j, uint8_t cause)
{
  const clarke_value *v = &p->g->values[value];

  if (e == CLARKE_NONE)
    return;
  if (!v->constant) {
    if (p->carries[value])
      p->cause[value][e * p->n + j] |= cause;
  } else if (clarke_value_is_wrt(p->g, value))
    p->z->cause[v->parameter][v->origin != NULL ? v->origin[e] : e] |= cause;
}

static void
sum_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  for (size_t i = 0; i < s->n_in; i++)
    give(p, s->in[i].value, clarke_operand_entry(&s->in[i], f), j, times(cause, s->in[i].coef == 0, CLARKE_ZERO_WEIGHT));
}

/* y = x c, y = x / c: the derivative in c is x, or -y / c. */
static void
scale_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  const bool by_zero = !s->divide && !s->root && operand_is_zero(p, &s->in[1], f, j);

  give(p, s->in[0].value, clarke_operand_entry(&s->in[0], f), j, times(cause, by_zero, CLARKE_ZERO_WEIGHT));
  give(p, s->in[1].value, clarke_operand_entry(&s->in[1], f), j, times(cause, operand_is_zero(p, &s->in[0], f, j), factor_cause(p, s->in[0].value)));
}

/* Why a decided piece's slope is 0; 0: it may be another number. */
static uint8_t
piece_cause(const pass *p, const clarke_step *s, size_t f, size_t j, size_t piece)
{
  const clarke_pieces *c = &s->pieces;

  if (piece == 0 && c->slope != CLARKE_NONE)
    return constant_is_zero(p->g, c->slope, c->slope_map != NULL ? c->slope_map[f] : f) ? CLARKE_ZERO_WEIGHT : 0;
  if (mpq_sgn(c->coef[piece][1]) != 0)
    return 0;
  return mpq_sgn(c->coef[piece][2]) == 0 ? CLARKE_ZERO_FLAT : operand_is_zero(p, &s->in[0], f, j) ? CLARKE_ZERO_FACTOR : 0;
}

/* PRelu's slope has min(x, 0) for its derivative. */
static void
piecewise_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  const size_t i = (size_t)(s - p->g->steps);
  const clarke_branch code = p->r->piece[i][f * p->n + j];
  const uint8_t why = code >= 0 ? piece_cause(p, s, f, j, (size_t)code) : p->by_kink[i] != NULL ? p->by_kink[i][f * p->n + j] : 0;

  give(p, s->in[0].value, clarke_operand_entry(&s->in[0], f), j, times(cause, why != 0, why));
  if (s->pieces.slope != CLARKE_NONE)
    give(p, s->pieces.slope, s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f, j, times(cause, code != 0, CLARKE_ZERO_FACTOR));
}

static void
analytic_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  give(p, s->in[0].value, clarke_operand_entry(&s->in[0], f), j, times(cause, clarke_step_jumps(s), CLARKE_ZERO_FLAT));
}

static void
max_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  const clarke_branch place = p->r->piece[s - p->g->steps][f * p->n + j];

  for (size_t i = 0; i < s->width; i++)
    give(p, s->in[0].value, s->in[0].map[f * s->width + i], j, times(cause, place >= 0 && i != (size_t)place, CLARKE_ZERO_LOSER));
}

static void
product_back(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause)
{
  for (size_t k = 0; k < s->contraction.inner; k++) {
    const size_t entry[2] = {clarke_step_factor(s, 0, f, k), clarke_step_factor(s, 1, f, k)};

    for (size_t to = 0; to < 2; to++) {
      const size_t other = entry[1 - to];

      give(p, s->in[to].value, entry[to], j,
           times(cause, other == CLARKE_NONE || is_zero(p, s->in[1 - to].value, other, j), factor_cause(p, s->in[1 - to].value)));
    }
  }
}

/* Entry by entry, of steps whose outputs go back each on its own. */
static void (*const back_of[CLARKE_STEP_KINDS])(pass *p, const clarke_step *s, size_t f, size_t j, uint8_t cause) = {
  [CLARKE_GATHER] = sum_back, [CLARKE_SUM] = sum_back, [CLARKE_SCALE] = scale_back, [CLARKE_PIECEWISE] = piecewise_back,
  [CLARKE_ANALYTIC] = analytic_back, [CLARKE_MAX] = max_back, [CLARKE_PRODUCT] = product_back,
};

/* All entries of a group are made of all that come back to it. */
static size_t
group_of(const clarke_step *s, size_t f)
{
  return s->kind == CLARKE_NORMALIZE ? clarke_step_group(s, f) : f / (s->length * s->stride) * s->stride + f % s->stride;
}

static clarke_status
groups_back(pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count;
  const bool couples = s->kind == CLARKE_NORMALIZE && s->grouping.couples;
  uint8_t *all = calloc(count * p->n + 1, 1);

  if (all == NULL)
    return clarke_no_memory(p->err);
  for (size_t e = 0; e < count * p->n; e++)
    all[group_of(s, e / p->n) * p->n + (couples ? 0 : e % p->n)] |= read_cause(p->cause[s->out][e]);
  for (size_t e = 0; e < count * p->n; e++)
    give(p, s->in[0].value, clarke_operand_entry(&s->in[0], e / p->n), e % p->n,
         all[group_of(s, e / p->n) * p->n + (couples ? 0 : e % p->n)]);
  free(all);
  return CLARKE_OK;
}

/* --- products with weights ------------------------------------------------------------------- */

/* To entry i of block b's column: of all outputs whose weight is not 0. */
static uint8_t
dense_back_entry(const pass *p, const clarke_step *s, size_t b, size_t i, size_t rj)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = d->repeat * p->n;
  uint8_t cause = 0;

  for (size_t o = 0; o < d->outer && (cause & CLARKE_ZERO_NOT) == 0; o++)
    cause |= times(read_cause(p->cause[s->out][(b * d->outer + o) * columns + rj]),
                   constant_is_zero(p->g, d->weight, weight_entry(d, b, o, i)), CLARKE_ZERO_WEIGHT);
  return cause;
}

/* What entry o of block b has met in all its columns. */
static uint8_t
row_cause(const pass *p, const clarke_step *s, size_t b, size_t o)
{
  const size_t columns = s->dense.repeat * p->n;
  uint8_t cause = 0;

  for (size_t c = 0; c < columns; c++)
    cause |= read_cause(p->cause[s->out][(b * s->dense.outer + o) * columns + c]);
  return cause;
}

/* The causes of all columns' products with weight (o, i). all: what the row has met. */
static uint8_t
weight_cause(const pass *p, const clarke_step *s, size_t b, size_t o, size_t i, uint8_t all)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = d->repeat * p->n;
  const uint8_t why = factor_cause(p, s->in[0].value);
  uint8_t cause = 0;

  if ((all & CLARKE_ZERO_NOT) == 0)
    return all;
  for (size_t c = 0; c < columns && (cause & CLARKE_ZERO_NOT) == 0; c++)
    cause |= times(read_cause(p->cause[s->out][(b * d->outer + o) * columns + c]),
                   is_zero(p, s->in[0].value, (b * d->inner + i) * d->repeat + c / p->n, c % p->n), why);
  return cause;
}

static clarke_status
dense_back(pass *p, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = d->repeat * p->n;
  const bool weighs = clarke_value_is_wrt(p->g, d->weight), carries = p->carries[s->in[0].value];
  clarke_status status = CLARKE_OK;

  for (size_t b = 0; b < d->blocks && status == CLARKE_OK; b++) {
    for (size_t i = 0; carries && i < d->inner && status == CLARKE_OK; i++) {
      for (size_t c = 0; c < columns; c++)
        give(p, s->in[0].value, (b * d->inner + i) * d->repeat + c / p->n, c % p->n, dense_back_entry(p, s, b, i, c));
      status = clarke_work_check(p->err);
    }
    for (size_t o = 0; weighs && o < d->outer && status == CLARKE_OK; o++) {
      const uint8_t all = row_cause(p, s, b, o);

      for (size_t i = 0; i < d->inner; i++)
        give(p, d->weight, weight_entry(d, b, o, i), 0, weight_cause(p, s, b, o, i, all));
      status = clarke_work_check(p->err);
    }
  }
  return status;
}

static clarke_status
step_back(pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count;
  clarke_status status = CLARKE_OK;

  if (s->kind == CLARKE_DENSE)
    return dense_back(p, s);
  if (back_of[s->kind] == NULL)
    return groups_back(p, s);
  for (size_t f = 0; f < count && status == CLARKE_OK; f++) {
    for (size_t j = 0; j < p->n; j++)
      back_of[s->kind](p, s, f, j, read_cause(p->cause[s->out][f * p->n + j]));
    status = clarke_work_check(p->err);
  }
  return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Where AD takes a slope 0 at a kink. */
static clarke_status
mark_kinks(pass *p)
{
  clarke_status status = CLARKE_OK;
  mpq_t slope;

  mpq_init(slope);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK && !p->loose; k++) {
    const clarke_touch *t = &p->r->touch[k];
    const size_t entries = p->g->values[p->g->steps[t->step].out].count * p->n;

    if (t->n_options > 0)
      continue;
    status = clarke_touch_proxy(slope, p->g, t, p->profile, p->err);
    if (status == CLARKE_OK && p->by_kink[t->step] == NULL)
      p->by_kink[t->step] = calloc(entries + 1, 1);
    if (status == CLARKE_OK && p->by_kink[t->step] == NULL)
      status = clarke_no_memory(p->err);
    if (status == CLARKE_OK)
      p->by_kink[t->step][t->feature * p->n + t->sample] = mpq_sgn(slope) == 0 ? CLARKE_ZERO_KINK : 0;
  }
  mpq_clear(slope);
  return status;
}

/* For all that the loss is made of, within the limit; *fits is false beyond it. */
static clarke_status
allocate(pass *p, bool *fits)
{
  const clarke_graph *g = p->g;
  bool *needed = calloc(g->n_values + 1, sizeof *needed);
  size_t entries = 0;

  p->carries = calloc(g->n_values + 1, sizeof *p->carries);
  p->zero = calloc(g->n_values + 1, sizeof *p->zero);
  p->cause = calloc(g->n_values + 1, sizeof *p->cause);
  p->by_kink = calloc(g->n_steps + 1, sizeof *p->by_kink);
  p->z->n = g->n_parameters;
  p->z->cause = calloc(g->n_parameters + 1, sizeof *p->z->cause);
  if (needed == NULL || p->carries == NULL || p->zero == NULL || p->cause == NULL || p->by_kink == NULL || p->z->cause == NULL) {
    free(needed);
    return clarke_no_memory(p->err);
  }
  clarke_reverse_carriers(p->carries, g, CLARKE_NONE);
  clarke_graph_needed(g, true, needed);
  for (size_t v = 0; v < g->n_values; v++)
    entries += needed[v] && !g->values[v].constant ? g->values[v].count * p->n : 0;
  *fits = entries <= MOST_ENTRIES;
  for (size_t v = 0; v < g->n_values && *fits; v++) {
    if (!needed[v] || g->values[v].constant)
      continue;
    p->zero[v] = calloc(g->values[v].count * p->n + 1, 1);
    p->cause[v] = calloc(g->values[v].count * p->n + 1, 1);
    if (p->zero[v] == NULL || p->cause[v] == NULL) {
      free(needed);
      return clarke_no_memory(p->err);
    }
  }
  free(needed);
  return CLARKE_OK;
}

static void
release(pass *p)
{
  for (size_t v = 0; v < p->g->n_values; v++) {
    if (p->zero != NULL)
      free(p->zero[v]);
    if (p->cause != NULL)
      free(p->cause[v]);
  }
  for (size_t i = 0; i < p->g->n_steps && p->by_kink != NULL; i++)
    free(p->by_kink[i]);
  free(p->carries);
  free(p->zero);
  free(p->cause);
  free(p->by_kink);
}

/* The loss's own derivative in the outputs may be any number. */
static clarke_status
backward(pass *p)
{
  const clarke_graph *g = p->g;
  clarke_status status = CLARKE_OK;

  for (size_t q = 0; q < g->n_parameters; q++) {
    if (!g->parameters[q].wrt)
      continue;
    p->z->cause[q] = calloc(g->parameters[q].count + 1, 1);
    if (p->z->cause[q] == NULL)
      return clarke_no_memory(p->err);
  }
  if (p->cause[g->output] != NULL)
    memset(p->cause[g->output], CLARKE_ZERO_NOT, g->values[g->output].count * p->n);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;)
    if (p->cause[g->steps[i].out] != NULL && p->carries[g->steps[i].out])
      status = step_back(p, &g->steps[i]);
  for (size_t q = 0; q < g->n_parameters; q++)
    for (size_t e = 0; p->z->cause[q] != NULL && e < g->parameters[q].count; e++)
      p->z->cause[q][e] = read_cause(p->z->cause[q][e]);
  return status;
}

clarke_status
clarke_zeros_find(clarke_zeros *z, const clarke_replay *r, const clarke_profile *profile, bool loose, clarke_error *err)
{
  pass p = {.r = r, .g = r->g, .profile = profile, .n = r->samples, .loose = loose, .z = z, .err = err};
  bool fits = false;
  clarke_status status = allocate(&p, &fits);

  if (status == CLARKE_OK && fits && r->open == 0) {
    status = mark_kinks(&p);
    if (status == CLARKE_OK)
      status = forward(&p);
    if (status == CLARKE_OK)
      status = backward(&p);
    z->known = status == CLARKE_OK;
  }
  release(&p);
  return status;
}

clarke_zero_counts
clarke_zeros_count(const clarke_zeros *z, const clarke_graph *g, size_t parameter)
{
  clarke_zero_counts counts = {0};

  for (size_t e = 0; z->known && z->cause[parameter] != NULL && e < g->parameters[parameter].count; e++) {
    const uint8_t cause = z->cause[parameter][e];

    counts.zero += (cause & CLARKE_ZERO_NOT) == 0;
    for (size_t i = 0; i < CLARKE_ZERO_CAUSES && (cause & CLARKE_ZERO_NOT) == 0; i++)
      counts.by[i] += (cause >> i & 1) != 0;
  }
  return counts;
}
