/* What comes back: runs of bytes, the causes of an entry each. Of paths that are ORed together all that matters of one with another end is
 * whether each has a factor 0. */
#include "network/derive/zeros/pass.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

/* A block of a step's entries, from `first` to `end`: what came back to them, and room for what goes on, and for zeros. */
typedef struct {
  size_t first, end;
  uint8_t *cause, *goes_on, *zero;
} block;

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
factor_cause(const clarke_zeros_pass *p, size_t value)
{
  const bool may_change = p->g->values[value].constant ? clarke_value_is_wrt(p->g, value) : p->carries[value];

  return may_change ? CLARKE_ZERO_FACTOR : CLARKE_ZERO_DATA;
}

/* --- runs of bytes ---------------------------------------------------------------------------- */

static void
or_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] |= from[i];
}

static uint8_t
any_byte(const uint8_t *from, size_t n)
{
  uint8_t any = 0;

  for (size_t i = 0; i < n; i++)
    any |= from[i];
  return any;
}

/* zero: 0 or 1 */
static void
times_bytes(uint8_t *restrict to, const uint8_t *restrict cause, const uint8_t *restrict zero, uint8_t why, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = times(cause[i], zero[i] != 0, why);
}

static void
times_all(uint8_t *restrict to, const uint8_t *restrict cause, uint8_t why, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = times(cause[i], true, why);
}

static void
read_bytes(uint8_t *restrict to, const uint8_t *restrict cause, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = read_cause(cause[i]);
}

/* Does anything take what comes back to this value? */
static bool
takes(const clarke_zeros_pass *p, size_t value)
{
  return p->g->values[value].constant ? clarke_value_is_wrt(p->g, value) : p->carries[value];
}

/* To entry e of a parameter. */
static void
give_parameter(clarke_zeros_pass *p, size_t value, size_t e, uint8_t cause)
{
  const clarke_value *v = &p->g->values[value];

  p->z->cause[v->parameter][v->origin != NULL ? v->origin[e] : e] |= cause;
}

/* To n samples of entry e of what a step reads, which takes it: on to its own gradient, or to the parameter's. */
static void
give(clarke_zeros_pass *p, size_t value, size_t e, const uint8_t *cause)
{
  if (e == CLARKE_NONE)
    return;
  if (p->g->values[value].constant)
    give_parameter(p, value, e, any_byte(cause, p->n));
  else
    or_bytes(p->cause[value] + e * p->n, cause, p->n);
}

/* A block's causes to what its entries read of an operand. */
static void
give_block(clarke_zeros_pass *p, const clarke_operand *o, const block *b, const uint8_t *cause)
{
  const bool constant = p->g->values[o->value].constant;

  for (size_t f = b->first, run; takes(p, o->value) && f < b->end; f += run, cause += run * p->n) {
    const size_t e = clarke_operand_entry(o, f);

    run = constant ? 1 : clarke_operand_run(o, f, b->end);
    while (constant && f + run < b->end && clarke_operand_entry(o, f + run) == e)
      run++;
    if (e != CLARKE_NONE && constant)
      give_parameter(p, o->value, e, any_byte(cause, run * p->n));
    else if (e != CLARKE_NONE)
      or_bytes(p->cause[o->value] + e * p->n, cause, run * p->n);
  }
}

/* Fills b->zero with the operand's. */
static void
find_zeros(const clarke_zeros_pass *p, const clarke_operand *o, block *b)
{
  memset(b->zero, 1, (b->end - b->first) * p->n);
  clarke_zeros_and(b->zero, p, o, b->first, b->end);
}

/* --- kinds of steps --------------------------------------------------------------------------- */

static void
sum_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  for (size_t i = 0; i < s->n_in; i++) {
    if (s->in[i].coef == 0)
      times_all(b->goes_on, b->cause, CLARKE_ZERO_WEIGHT, (b->end - b->first) * p->n);
    give_block(p, &s->in[i], b, s->in[i].coef == 0 ? b->goes_on : b->cause);
  }
}

/* y = x c, y = x / c: the derivative in c is x, or -y / c. */
static void
scale_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  const size_t n = (b->end - b->first) * p->n;

  if (takes(p, s->in[0].value) && !s->divide && !s->root) {
    find_zeros(p, &s->in[1], b);
    times_bytes(b->goes_on, b->cause, b->zero, CLARKE_ZERO_WEIGHT, n);
  }
  give_block(p, &s->in[0], b, !s->divide && !s->root ? b->goes_on : b->cause);
  if (!takes(p, s->in[1].value))
    return;
  find_zeros(p, &s->in[0], b);
  times_bytes(b->goes_on, b->cause, b->zero, factor_cause(p, s->in[0].value), n);
  give_block(p, &s->in[1], b, b->goes_on);
}

/* Why a decided piece's slope is 0; 0: it may be another number. */
static uint8_t
piece_cause(const clarke_zeros_pass *p, const clarke_step *s, size_t f, bool zero, size_t piece)
{
  const clarke_pieces *c = &s->pieces;

  if (piece == 0 && c->slope != CLARKE_NONE)
    return clarke_zeros_of_constant(&p->g->values[c->slope], c->slope_map != NULL ? c->slope_map[f] : f) ? CLARKE_ZERO_WEIGHT : 0;
  if (mpq_sgn(c->coef[piece][1]) != 0)
    return 0;
  return mpq_sgn(c->coef[piece][2]) == 0 ? CLARKE_ZERO_FLAT : zero ? CLARKE_ZERO_FACTOR : 0;
}

/* PRelu's slope has min(x, 0) for its derivative. */
static void
slope_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  const clarke_branch *code = p->r->piece[s - p->g->steps] + b->first * p->n;
  const clarke_operand slope = {s->pieces.slope, 1, s->pieces.slope_map};

  for (size_t e = 0; e < (b->end - b->first) * p->n; e++)
    b->goes_on[e] = times(b->cause[e], code[e] != 0, CLARKE_ZERO_FACTOR);
  give_block(p, &slope, b, b->goes_on);
}

static void
piecewise_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  const size_t i = (size_t)(s - p->g->steps);
  const clarke_branch *code = p->r->piece[i] + b->first * p->n;
  const bool slopes = s->pieces.slope != CLARKE_NONE;
  uint8_t why[2][CLARKE_MAX_KINKS + 1]; /* of an argument that is 0, or is not, on each piece */

  for (size_t k = 0; k <= s->pieces.n_kinks; k++)
    for (size_t zero = 0; zero < 2 && !(slopes && k == 0); zero++)
      why[zero][k] = piece_cause(p, s, 0, zero != 0, k);
  find_zeros(p, &s->in[0], b);
  for (size_t e = 0; e < (b->end - b->first) * p->n; e++) {
    uint8_t is = 0;

    if (code[e] == 0 && slopes)
      is = piece_cause(p, s, b->first + e / p->n, false, 0);
    else if (code[e] >= 0)
      is = why[b->zero[e]][code[e]];
    else if (p->by_kink[i] != NULL)
      is = p->by_kink[i][b->first * p->n + e];
    b->goes_on[e] = times(b->cause[e], is != 0, is);
  }
  give_block(p, &s->in[0], b, b->goes_on);
  if (slopes)
    slope_back(p, s, b);
}

static void
analytic_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  if (clarke_step_jumps(s))
    times_all(b->goes_on, b->cause, CLARKE_ZERO_FLAT, (b->end - b->first) * p->n);
  give_block(p, &s->in[0], b, clarke_step_jumps(s) ? b->goes_on : b->cause);
}

static void
max_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  const clarke_branch *place = p->r->piece[s - p->g->steps];

  for (size_t f = b->first; takes(p, s->in[0].value) && f < b->end; f++)
    for (size_t i = 0; i < s->width; i++) {
      for (size_t j = 0; j < p->n; j++) {
        const clarke_branch at = place[f * p->n + j];

        b->goes_on[j] = times(b->cause[(f - b->first) * p->n + j], at >= 0 && i != (size_t)at, CLARKE_ZERO_LOSER);
      }
      give(p, s->in[0].value, s->in[0].map[f * s->width + i], b->goes_on);
    }
}

static void
product_back(clarke_zeros_pass *p, const clarke_step *s, block *b)
{
  const bool taken[2] = {takes(p, s->in[0].value), takes(p, s->in[1].value)};
  const uint8_t why[2] = {factor_cause(p, s->in[1].value), factor_cause(p, s->in[0].value)};

  for (size_t f = b->first; f < b->end; f++)
    for (size_t k = 0; k < s->contraction.inner; k++) {
      const size_t entry[2] = {clarke_step_factor(s, 0, f, k), clarke_step_factor(s, 1, f, k)};

      for (size_t to = 0; to < 2; to++) {
        for (size_t j = 0; taken[to] && j < p->n; j++)
          b->goes_on[j] = times(b->cause[(f - b->first) * p->n + j], clarke_zeros_at(p, s->in[1 - to].value, entry[1 - to], j), why[to]);
        if (taken[to])
          give(p, s->in[to].value, entry[to], b->goes_on);
      }
    }
}

/* Of steps whose outputs go back each on its own. */
static void (*const back_of[CLARKE_STEP_KINDS])(clarke_zeros_pass *p, const clarke_step *s, block *b) = {
  [CLARKE_GATHER] = sum_back, [CLARKE_SUM] = sum_back, [CLARKE_SCALE] = scale_back, [CLARKE_PIECEWISE] = piecewise_back,
  [CLARKE_ANALYTIC] = analytic_back, [CLARKE_MAX] = max_back, [CLARKE_PRODUCT] = product_back,
};

static clarke_status
blocks_back(clarke_zeros_pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count, rows = clarke_zeros_rows(p), room = rows * p->n;
  uint8_t *bytes = malloc(3 * room);
  clarke_status status = bytes != NULL ? CLARKE_OK : clarke_no_memory(p->err);

  for (size_t first = 0; first < count && status == CLARKE_OK; first += rows) {
    block b = {first, count - first < rows ? count : first + rows, bytes, bytes + room, bytes + 2 * room};

    read_bytes(b.cause, p->cause[s->out] + first * p->n, (b.end - first) * p->n);
    back_of[s->kind](p, s, &b);
    status = clarke_work_check(p->err);
  }
  free(bytes);
  return status;
}

/* All entries of a group are made of all that come back to it. */
static size_t
group_of(const clarke_step *s, size_t f)
{
  return s->kind == CLARKE_NORMALIZE ? clarke_step_group(s, f) : f / (s->length * s->stride) * s->stride + f % s->stride;
}

static clarke_status
groups_back(clarke_zeros_pass *p, const clarke_step *s)
{
  const size_t count = p->g->values[s->out].count;
  const bool couples = s->kind == CLARKE_NORMALIZE && s->grouping.couples;
  uint8_t *all = calloc(count * p->n + 1, 1);

  if (all == NULL)
    return clarke_no_memory(p->err);
  for (size_t f = 0; f < count; f++) {
    uint8_t *group = all + group_of(s, f) * p->n;

    for (size_t j = 0; j < p->n; j++)
      group[couples ? 0 : j] |= read_cause(p->cause[s->out][f * p->n + j]);
  }
  for (size_t f = 0; takes(p, s->in[0].value) && f < count; f++) {
    uint8_t *group = all + group_of(s, f) * p->n;

    if (couples)
      memset(group, group[0], p->n);
    give(p, s->in[0].value, clarke_operand_entry(&s->in[0], f), group);
  }
  free(all);
  return CLARKE_OK;
}

/* --- products with weights -------------------------------------------------------------------- */

/* From output o of block b, whose weight is w: to the columns that have no other path yet. */
static void
or_weighed(uint8_t *restrict to, const uint8_t *restrict cause, bool zero, size_t n)
{
  for (size_t c = 0; c < n; c++) {
    const uint8_t more = times(read_cause(cause[c]), zero, CLARKE_ZERO_WEIGHT);

    to[c] |= (to[c] & CLARKE_ZERO_NOT) != 0 ? 0 : more;
  }
}

/* Has each of them a path without a factor 0? */
static bool
are_not(const uint8_t *cause, size_t n)
{
  uint8_t all = CLARKE_ZERO_NOT;

  for (size_t c = 0; c < n; c++)
    all &= cause[c];
  return all != 0;
}

/* To entry i of block b's columns: of all outputs whose weight is not 0, up to the first that has a path. */
static void
dense_row_back(clarke_zeros_pass *p, const clarke_step *s, size_t b, size_t i, uint8_t *row)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = d->repeat * p->n;

  memset(row, 0, columns);
  for (size_t o = 0; o < d->outer && (o == 0 || !are_not(row, columns)); o++)
    or_weighed(row, p->cause[s->out] + (b * d->outer + o) * columns,
               clarke_zeros_of_constant(&p->g->values[d->weight], clarke_zeros_weight(d, b, o, i)), columns);
  or_bytes(p->cause[s->in[0].value] + (b * d->inner + i) * columns, row, columns);
}

/* Is there a column that has a path, and no 0? Eight at a time, as far as these go. zero: NULL, or 0 and 1. */
static bool
has_path(const uint8_t *cause, const uint8_t *zero, size_t n)
{
  const uint64_t tops = UINT64_C(0x8080808080808080);
  uint64_t some, none = 0;

  for (size_t c = 0; c + sizeof some <= n; c += sizeof some) {
    memcpy(&some, cause + c, sizeof some);
    if (zero != NULL)
      memcpy(&none, zero + c, sizeof none);
    if ((some & ~(none << 7) & tops) != 0)
      return true;
  }
  for (size_t c = n / sizeof some * sizeof some; c < n; c++)
    if ((cause[c] & CLARKE_ZERO_NOT) != 0 && (zero == NULL || zero[c] == 0))
      return true;
  return false;
}

/* The causes of all columns' products with weight (o, i). A path without a factor 0 is all that counts, where there is one. */
static uint8_t
weight_cause(const uint8_t *cause, const uint8_t *zero, uint8_t why, size_t n)
{
  uint8_t all = 0;

  if (has_path(cause, zero, n))
    return CLARKE_ZERO_NOT;
  for (size_t c = 0; c < n; c++)
    all |= times(read_cause(cause[c]), zero != NULL && zero[c] != 0, why);
  return all;
}

static void
weights_back(clarke_zeros_pass *p, const clarke_step *s, size_t b, size_t o)
{
  const clarke_dense *d = &s->dense;
  const size_t columns = d->repeat * p->n;
  const uint8_t *cause = p->cause[s->out] + (b * d->outer + o) * columns, *zero = p->zero[s->in[0].value];
  const uint8_t why = factor_cause(p, s->in[0].value), all = weight_cause(cause, NULL, why, columns);
  const bool alike = zero == NULL || (all & CLARKE_ZERO_NOT) == 0;

  for (size_t i = 0; i < d->inner; i++)
    give_parameter(p, d->weight, clarke_zeros_weight(d, b, o, i),
                   alike ? all : weight_cause(cause, zero + (b * d->inner + i) * columns, why, columns));
}

static clarke_status
dense_back(clarke_zeros_pass *p, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const bool weighs = clarke_value_is_wrt(p->g, d->weight), carries = p->carries[s->in[0].value];
  uint8_t *row = malloc(d->repeat * p->n + 1);
  clarke_status status = row != NULL ? CLARKE_OK : clarke_no_memory(p->err);

  for (size_t b = 0; b < d->blocks && status == CLARKE_OK; b++) {
    for (size_t i = 0; carries && i < d->inner && status == CLARKE_OK; i++) {
      dense_row_back(p, s, b, i, row);
      status = clarke_work_check(p->err);
    }
    for (size_t o = 0; weighs && o < d->outer && status == CLARKE_OK; o++) {
      weights_back(p, s, b, o);
      status = clarke_work_check(p->err);
    }
  }
  free(row);
  return status;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The loss's own derivative in the outputs may be any number. */
clarke_status
clarke_zeros_backward(clarke_zeros_pass *p)
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
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    const clarke_step *s = &g->steps[i];

    if (p->cause[s->out] != NULL)
      status = s->kind == CLARKE_DENSE ? dense_back(p, s) : back_of[s->kind] != NULL ? blocks_back(p, s) : groups_back(p, s);
  }
  for (size_t q = 0; q < g->n_parameters; q++)
    if (p->z->cause[q] != NULL)
      for (size_t e = 0; e < g->parameters[q].count; e++)
        p->z->cause[q][e] = read_cause(p->z->cause[q][e]);
  return status;
}
