/* Networks unrolled to programs. Every activation's entry becomes the number of an instruction; the
 * steps' kinds become LINEAR, PRODUCT, QUOTIENT, ANALYTIC, PIECEWISE and ORDER instructions, and what
 * only moves entries becomes nothing. Padding is the constant 0, and no term of a sum. */
#include "network/unroll.h"
#include "base/limit.h"

#include <stdlib.h>
#include <string.h>

/* Entries of all activations together, moved ones counted. */
#define HELD_MOST (4 * clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))

typedef struct {
  clarke_code *p;
  const clarke_graph *g;
  size_t **at;    /* by value: its entries' instructions; NULL: none yet, or a constant */
  size_t *first;  /* by parameter in wrt: its first instruction */
  bool *needed;   /* by value */
  size_t held;
  size_t room;    /* terms of one LINEAR */
  size_t *in;
  mpq_t *coef;    /* room + 1 */
  mpq_t constant, factor;
  size_t zero;    /* the constant 0's instruction; CLARKE_NONE: none yet */
  clarke_error *err;
} unrolling;

static clarke_status
out_of_memory(const unrolling *u)
{
  return clarke_fail(u->err, CLARKE_ENOMEM, "%s: out of memory", u->g->file);
}

/* Instruction of entry e of a value that is an activation or in wrt. */
static size_t
instruction(const unrolling *u, size_t value, size_t e)
{
  const clarke_value *v = &u->g->values[value];

  if (!v->constant)
    return u->at[value][e];
  return u->first[v->parameter] + (v->origin != NULL ? v->origin[e] : e);
}

/* A constant whose entries do not vary: numbers of the program. */
static bool
is_number(const unrolling *u, size_t value)
{
  return u->g->values[value].constant && !clarke_value_is_wrt(u->g, value);
}

static size_t
mapped(const clarke_operand *o, size_t f)
{
  return o->map != NULL ? o->map[f] : f;
}

/* Room for the instructions of a value's entries. */
static clarke_status
hold(unrolling *u, size_t value)
{
  size_t count = u->g->values[value].count;

  if (count > HELD_MOST - u->held)
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: as a program more than four times as many "
                             "entries in all; a network this large is not unrolled", u->g->file);
  u->held += count;
  u->at[value] = malloc((count + 1) * sizeof *u->at[value]);
  return u->at[value] != NULL ? CLARKE_OK : out_of_memory(u);
}

/* Room for a LINEAR of n terms. */
static clarke_status
make_room(unrolling *u, size_t n)
{
  size_t *in;
  mpq_t *coef;

  if (n <= u->room)
    return CLARKE_OK;
  if (n > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: a sum of %zu terms", u->g->file, n);
  in = realloc(u->in, n * sizeof *in);
  if (in == NULL)
    return out_of_memory(u);
  u->in = in;
  coef = realloc(u->coef, (n + 1) * sizeof *coef);
  if (coef == NULL)
    return out_of_memory(u);
  u->coef = coef;
  for (size_t i = u->room + 1; i <= n; i++)
    mpq_init(coef[i]);
  u->room = n;
  return CLARKE_OK;
}

/* The first n terms of u->in and u->coef, and the constant. */
static clarke_status
add_linear(unrolling *u, size_t *at, size_t n, const mpq_t constant)
{
  if (n == 0)
    return clarke_code_add_constant(u->p, at, constant, u->err);
  mpq_set(u->coef[n], constant);
  return clarke_code_add_linear(u->p, at, n, u->in, u->coef, u->err);
}

static clarke_status
add_product(unrolling *u, size_t *at, clarke_do kind, size_t a, size_t b)
{
  size_t in[2] = {a, b};

  return clarke_code_add(u->p, at, kind, 2, in, u->err);
}

/* --- steps ------------------------------------------------------------------------------------- */

static clarke_status
unroll_gather(unrolling *u, const clarke_step *s)
{
  clarke_status status = CLARKE_OK;

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t e = mapped(&s->in[0], f);

    mpq_set_ui(u->constant, 0, 1);
    if (e == CLARKE_NONE && u->zero == CLARKE_NONE)
      status = clarke_code_add_constant(u->p, &u->zero, u->constant, u->err);
    u->at[s->out][f] = e == CLARKE_NONE ? u->zero : instruction(u, s->in[0].value, e);
  }
  return status;
}

/* The terms of a SUM's entry f but those of padding, and their number; numbers go to the constant.
 * *moved: all the others are padding, and the entry is that one term's. */
static size_t
sum_terms(unrolling *u, const clarke_step *s, size_t f, bool *moved)
{
  size_t n = 0, left = 0;

  mpq_set_ui(u->constant, 0, 1);
  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    size_t e = mapped(o, f);

    if (e == CLARKE_NONE)
      continue;
    left++;
    if (is_number(u, o->value)) {
      mpq_set_d(u->factor, u->g->values[o->value].real[e]);
      mpq_set_d(u->coef[n], o->coef);
      mpq_mul(u->factor, u->factor, u->coef[n]);
      mpq_add(u->constant, u->constant, u->factor);
      continue;
    }
    mpq_set_d(u->coef[n], o->coef);
    u->in[n++] = instruction(u, o->value, e);
  }
  *moved = left < s->n_in && left == 1 && n == 1 && mpq_cmp_ui(u->coef[0], 1, 1) == 0;
  return n;
}

static clarke_status
unroll_sum(unrolling *u, const clarke_step *s)
{
  clarke_status status = make_room(u, s->n_in);

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    bool moved;
    size_t n = sum_terms(u, s, f, &moved);

    if (moved)
      u->at[s->out][f] = u->in[0];
    else
      status = add_linear(u, &u->at[s->out][f], n, u->constant);
  }
  return status;
}

/* x c or x / c, c a number. */
static clarke_status
scaled_entry(unrolling *u, const clarke_step *s, size_t f)
{
  double c = u->g->values[s->in[1].value].real[mapped(&s->in[1], f)];

  if (s->divide && c == 0)
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' divides by zero", u->g->file, s->name);
  mpq_set_d(u->coef[0], c);
  if (s->divide)
    mpq_inv(u->coef[0], u->coef[0]);
  u->in[0] = instruction(u, s->in[0].value, mapped(&s->in[0], f));
  mpq_set_ui(u->constant, 0, 1);
  return add_linear(u, &u->at[s->out][f], 1, u->constant);
}

/* *at becomes sqrt(c + epsilon) for entry e of the constant: itself a rational when it is one. */
static clarke_status
add_root(unrolling *u, size_t *at, const clarke_step *s, size_t e)
{
  clarke_status status;

  mpq_set_d(u->constant, u->g->values[s->in[1].value].real[e]);
  mpq_add(u->constant, u->constant, s->epsilon);
  if (!mpz_perfect_square_p(mpq_numref(u->constant)) ||
      !mpz_perfect_square_p(mpq_denref(u->constant))) {
    status = clarke_code_add_constant(u->p, at, u->constant, u->err);
    return status != CLARKE_OK ? status
                               : clarke_code_add_analytic(u->p, at, CLARKE_FN_SQRT, *at, u->err);
  }
  mpz_sqrt(mpq_numref(u->constant), mpq_numref(u->constant));
  mpz_sqrt(mpq_denref(u->constant), mpq_denref(u->constant));
  return clarke_code_add_constant(u->p, at, u->constant, u->err);
}

/* x / sqrt(c + epsilon), c numbers. */
static clarke_status
unroll_root(unrolling *u, const clarke_step *s)
{
  const clarke_value *c = &u->g->values[s->in[1].value];
  size_t *root = malloc((c->count + 1) * sizeof *root);
  clarke_status status = root != NULL ? CLARKE_OK : out_of_memory(u);

  for (size_t e = 0; status == CLARKE_OK && e < c->count; e++)
    status = add_root(u, &root[e], s, e);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    status = add_product(u, &u->at[s->out][f], CLARKE_DO_QUOTIENT,
                         instruction(u, s->in[0].value, mapped(&s->in[0], f)),
                         root[mapped(&s->in[1], f)]);
  free(root);
  return status;
}

static clarke_status
unroll_scale(unrolling *u, const clarke_step *s)
{
  bool number = is_number(u, s->in[1].value);
  clarke_status status = make_room(u, 1);

  if (s->root)
    return unroll_root(u, s);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    if (number)
      status = scaled_entry(u, s, f);
    else
      status = add_product(u, &u->at[s->out][f], s->divide ? CLARKE_DO_QUOTIENT : CLARKE_DO_PRODUCT,
                           instruction(u, s->in[0].value, mapped(&s->in[0], f)),
                           instruction(u, s->in[1].value, mapped(&s->in[1], f)));
  return status;
}

/* A term of the output's entry f: the weight's entry and that of x which it multiplies. */
static void
dense_term(const clarke_dense *d, size_t f, size_t inner, size_t *weight, size_t *x)
{
  size_t repeat = f % d->repeat, outer = f / d->repeat % d->outer;
  size_t block = f / d->repeat / d->outer;

  *weight = d->transposed ? inner * d->outer + outer : outer * d->inner + inner;
  if (d->grouped)
    *weight += block * d->outer * d->inner;
  *x = (block * d->inner + inner) * d->repeat + repeat;
}

/* The terms of output entry f but those of padding: with a weight in wrt, products made before
 * (products[i]). */
static size_t
dense_terms(unrolling *u, const clarke_step *s, size_t f, const size_t *products)
{
  size_t n = 0;

  for (size_t i = 0; i < s->dense.inner; i++) {
    size_t weight, x;

    dense_term(&s->dense, f, i, &weight, &x);
    if (instruction(u, s->in[0].value, x) == u->zero)
      continue;
    if (products != NULL) {
      u->in[n] = products[i];
      mpq_set_ui(u->coef[n++], 1, 1);
      continue;
    }
    u->in[n] = instruction(u, s->in[0].value, x);
    mpq_set_d(u->coef[n++], u->g->values[s->dense.weight].real[weight]);
  }
  return n;
}

/* All products W x of a step whose weight is in wrt, output by output: one group. */
static clarke_status
dense_products(unrolling *u, const clarke_step *s, size_t **products)
{
  const clarke_dense *d = &s->dense;
  size_t count = u->g->values[s->out].count;
  clarke_status status = CLARKE_OK;

  if (d->inner != 0 && count > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS) / d->inner)
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: more products than allowed; a network this large is "
                             "not unrolled with these weights in wrt", u->g->file);
  *products = malloc((count * d->inner + 1) * sizeof **products);
  if (*products == NULL)
    return out_of_memory(u);
  for (size_t f = 0; f < count; f++)
    for (size_t i = 0; status == CLARKE_OK && i < d->inner; i++) {
      size_t weight, x;

      dense_term(d, f, i, &weight, &x);
      if (instruction(u, s->in[0].value, x) != u->zero)
        status = add_product(u, &(*products)[f * d->inner + i], CLARKE_DO_PRODUCT,
                             instruction(u, d->weight, weight),
                             instruction(u, s->in[0].value, x));
    }
  clarke_code_new_group(u->p);
  return status;
}

static clarke_status
unroll_dense(unrolling *u, const clarke_step *s)
{
  size_t *products = NULL, inner = s->dense.inner;
  clarke_status status = make_room(u, inner);

  if (status == CLARKE_OK && !is_number(u, s->dense.weight))
    status = dense_products(u, s, &products);
  mpq_set_ui(u->constant, 0, 1);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t n = dense_terms(u, s, f, products != NULL ? products + f * inner : NULL);

    status = add_linear(u, &u->at[s->out][f], n, u->constant);
  }
  free(products);
  return status;
}

/* Every entry of a PRelu outside wrt has pieces of its own. */
static clarke_status
unroll_prelu(unrolling *u, const clarke_step *s)
{
  const clarke_value *slope = &u->g->values[s->pieces.slope];
  clarke_pieces pieces = s->pieces; /* shares all but the slope's coefficient */
  clarke_status status = CLARKE_OK;

  if (!is_number(u, s->pieces.slope))
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s): its slope is in wrt, and a "
                       "program's pointwise functions have constant slopes; leave '%s' out of wrt",
                       u->g->file, s->name, s->op->name,
                       u->g->parameters[slope->parameter].name);
  mpq_init(pieces.coef[0][1]);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    mpq_set_d(pieces.coef[0][1],
              slope->real[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f]);
    status = clarke_code_add_pieces(u->p, &u->at[s->out][f], s->op,
                                       instruction(u, s->in[0].value, f), &pieces, u->err);
  }
  mpq_clear(pieces.coef[0][1]);
  return status;
}

static clarke_status
unroll_piecewise(unrolling *u, const clarke_step *s)
{
  clarke_status status = CLARKE_OK;

  if (s->pieces.slope != CLARKE_NONE)
    return unroll_prelu(u, s);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    status = clarke_code_add_pieces(u->p, &u->at[s->out][f], s->op,
                                       instruction(u, s->in[0].value, f), &s->pieces, u->err);
  return status;
}

/* Windows of one entry only move it. */
static clarke_status
unroll_max(unrolling *u, const clarke_step *s)
{
  clarke_status status = make_room(u, s->width);

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t n = 0;

    for (size_t i = 0; i < s->width; i++) {
      size_t e = mapped(&s->in[0], f * s->width + i);

      if (e != CLARKE_NONE)
        u->in[n++] = instruction(u, s->in[0].value, e);
    }
    if (n == 1)
      u->at[s->out][f] = u->in[0];
    else
      status = clarke_code_add_order(u->p, &u->at[s->out][f], s->op, 1, n, u->in, u->err);
  }
  return status;
}

static clarke_status
unroll_analytic(unrolling *u, const clarke_step *s)
{
  clarke_analytic f = s->function == CLARKE_TANH ? CLARKE_FN_TANH : CLARKE_FN_SIGMOID;
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; status == CLARKE_OK && e < u->g->values[s->out].count; e++)
    status = clarke_code_add_analytic(u->p, &u->at[s->out][e], f,
                                         instruction(u, s->in[0].value, e), u->err);
  return status;
}

/* The sum of the group's exponentials, made before; with `log` its logarithm. */
static clarke_status
softmax_denominator(unrolling *u, const clarke_step *s, size_t *at, const size_t *exponential,
                    size_t base)
{
  clarke_status status;

  for (size_t i = 0; i < s->length; i++) {
    u->in[i] = exponential[base + i * s->stride];
    mpq_set_ui(u->coef[i], 1, 1);
  }
  mpq_set_ui(u->constant, 0, 1);
  status = add_linear(u, at, s->length, u->constant);
  if (status == CLARKE_OK && s->log)
    status = clarke_code_add_analytic(u->p, at, CLARKE_FN_LOG, *at, u->err);
  return status;
}

/* exp x / sum exp, or x - log sum exp. */
static clarke_status
softmax_entry(unrolling *u, const clarke_step *s, size_t e, size_t exponential, size_t denominator)
{
  if (!s->log)
    return add_product(u, &u->at[s->out][e], CLARKE_DO_QUOTIENT, exponential, denominator);
  u->in[0] = instruction(u, s->in[0].value, e);
  u->in[1] = denominator;
  mpq_set_si(u->coef[0], 1, 1);
  mpq_set_si(u->coef[1], -1, 1);
  return add_linear(u, &u->at[s->out][e], 2, u->constant);
}

/* Group by group along the axis (groups, length, stride), once all exponentials are made. */
static clarke_status
softmax_groups(unrolling *u, const clarke_step *s, const size_t *exponential)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < s->groups; k++)
    for (size_t r = 0; r < s->stride; r++) {
      size_t base = k * s->length * s->stride + r, denominator = 0;

      clarke_code_new_group(u->p);
      if (status == CLARKE_OK)
        status = softmax_denominator(u, s, &denominator, exponential, base);
      clarke_code_new_group(u->p);
      for (size_t i = 0; status == CLARKE_OK && i < s->length; i++)
        status = softmax_entry(u, s, base + i * s->stride, exponential[base + i * s->stride],
                               denominator);
    }
  return status;
}

static clarke_status
unroll_softmax(unrolling *u, const clarke_step *s)
{
  size_t count = u->g->values[s->out].count;
  size_t *exponential = malloc((count + 1) * sizeof *exponential);
  clarke_status status = exponential != NULL ? make_room(u, s->length > 2 ? s->length : 2)
                                             : out_of_memory(u);

  for (size_t e = 0; status == CLARKE_OK && e < count; e++)
    status = clarke_code_add_analytic(u->p, &exponential[e], CLARKE_FN_EXP,
                                         instruction(u, s->in[0].value, e), u->err);
  if (status == CLARKE_OK)
    status = softmax_groups(u, s, exponential);
  free(exponential);
  return status;
}

/* --- normalizations: x - mean, their squares, sqrt(variance + epsilon), quotients --- */

/* *at = factor times the sum of the listed entries that are in the group, less or more by a constant. */
static clarke_status
group_sum(unrolling *u, size_t *at, const clarke_step *s, size_t group, const size_t *entry,
          const mpq_t factor, const mpq_t constant)
{
  size_t n = 0;

  for (size_t f = 0; f < u->g->values[s->out].count; f++)
    if (clarke_step_group(s, f) == group) {
      u->in[n] = entry[f];
      mpq_set(u->coef[n++], factor);
    }
  return add_linear(u, at, n, constant);
}

/* centred[f] = x[f] - mean, the means made before. */
static clarke_status
centre_entries(unrolling *u, const clarke_step *s, size_t *centred, const size_t *mean)
{
  clarke_status status = CLARKE_OK;

  mpq_set_ui(u->constant, 0, 1);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    u->in[0] = instruction(u, s->in[0].value, f);
    u->in[1] = mean[clarke_step_group(s, f)];
    mpq_set_si(u->coef[0], 1, 1);
    mpq_set_si(u->coef[1], -1, 1);
    status = add_linear(u, &centred[f], 2, u->constant);
  }
  return status;
}

/* of = the group's means of the entries, plus a constant. */
static clarke_status
group_means(unrolling *u, const clarke_step *s, size_t *of, const size_t *entry, const mpq_t constant)
{
  clarke_status status = CLARKE_OK;
  mpq_t factor;

  mpq_init(factor);
  mpq_set_ui(factor, 1, clarke_step_group_size(s, 1));
  for (size_t k = 0; status == CLARKE_OK && k < s->grouping.groups; k++)
    status = group_sum(u, &of[k], s, k, entry, factor, constant);
  mpq_clear(factor);
  clarke_code_new_group(u->p);
  return status;
}

/* room holds count entries, twice, then a number a group. */
static clarke_status
normalize_entries(unrolling *u, const clarke_step *s, size_t *room)
{
  size_t count = u->g->values[s->out].count;
  size_t *square = room, *centred = room + count, *of = centred + count;
  clarke_status status;

  for (size_t f = 0; f < count; f++)
    square[f] = instruction(u, s->in[0].value, f);
  mpq_set_ui(u->constant, 0, 1);
  status = group_means(u, s, of, square, u->constant);
  if (status == CLARKE_OK)
    status = centre_entries(u, s, centred, of);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < count; f++)
    status = add_product(u, &square[f], CLARKE_DO_PRODUCT, centred[f], centred[f]);
  clarke_code_new_group(u->p);
  if (status == CLARKE_OK)
    status = group_means(u, s, of, square, s->epsilon);
  for (size_t k = 0; status == CLARKE_OK && k < s->grouping.groups; k++)
    status = clarke_code_add_analytic(u->p, &of[k], CLARKE_FN_SQRT, of[k], u->err);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < count; f++)
    status = add_product(u, &u->at[s->out][f], CLARKE_DO_QUOTIENT, centred[f],
                         of[clarke_step_group(s, f)]);
  return status;
}

/* One sample: its groups are whole. */
static clarke_status
unroll_normalize(unrolling *u, const clarke_step *s)
{
  size_t count = u->g->values[s->out].count, size = clarke_step_group_size(s, 1);
  size_t *room = malloc((2 * count + s->grouping.groups + 1) * sizeof *room);
  clarke_status status = room != NULL ? make_room(u, size > 2 ? size : 2) : out_of_memory(u);

  if (status == CLARKE_OK && s->grouping.couples && u->g->samples != 1)
    status = clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s) takes all samples together; a "
                         "program is of one", u->g->file, s->name, s->op->name);
  if (status == CLARKE_OK)
    status = normalize_entries(u, s, room);
  free(room);
  return status;
}

static clarke_status
unroll_step(unrolling *u, const clarke_step *s)
{
  clarke_status status = hold(u, s->out);

  if (status != CLARKE_OK)
    return status;
  clarke_code_new_group(u->p);
  switch (s->kind) {
  case CLARKE_GATHER:
    return unroll_gather(u, s);
  case CLARKE_SUM:
    return unroll_sum(u, s);
  case CLARKE_SCALE:
    return unroll_scale(u, s);
  case CLARKE_DENSE:
    return unroll_dense(u, s);
  case CLARKE_PIECEWISE:
    return unroll_piecewise(u, s);
  case CLARKE_ANALYTIC:
    return unroll_analytic(u, s);
  case CLARKE_SOFTMAX:
    return unroll_softmax(u, s);
  case CLARKE_NORMALIZE:
    return unroll_normalize(u, s);
  case CLARKE_MAX:
    return unroll_max(u, s);
  }
  return clarke_fail(u->err, CLARKE_EINTERNAL, "step of an unknown kind");
}

/* --- the whole --------------------------------------------------------------------------------- */

/* The values that the output depends on. */
static void
mark_needed(unrolling *u)
{
  u->needed[u->g->output] = true;
  for (size_t i = u->g->n_steps; i-- > 0;) {
    const clarke_step *s = &u->g->steps[i];

    for (size_t k = 0; u->needed[s->out] && k < s->n_in; k++)
      u->needed[s->in[k].value] = true;
  }
}

static clarke_status
add_inputs(unrolling *u, const char *name)
{
  const clarke_graph *g = u->g;
  size_t first;
  clarke_status status = hold(u, g->input);

  if (status == CLARKE_OK)
    status = clarke_code_add_input(u->p, &first, name, g->values[g->input].count, true, u->err);
  for (size_t e = 0; status == CLARKE_OK && e < g->values[g->input].count; e++)
    u->at[g->input][e] = first + e;
  for (size_t i = 0; status == CLARKE_OK && i < g->n_parameters; i++) {
    const clarke_parameter *w = &g->parameters[i];

    if (!w->wrt)
      continue;
    if (strcmp(w->name, name) == 0)
      return clarke_fail(u->err, CLARKE_EINPUT, "%s: '%s' is a parameter's name; the program's "
                         "input needs another", g->file, name);
    clarke_code_new_group(u->p);
    status = clarke_code_add_input(u->p, &u->first[i], w->name, w->count, true, u->err);
  }
  return status;
}

/* Parameters are what the question is about; without any, the input. */
static void
mark_wrt(clarke_code *p)
{
  for (size_t i = 0; i < p->n_inputs; i++)
    p->input[i].wrt = i > 0 || p->n_inputs == 1;
}

static clarke_status
unroll_graph(unrolling *u, const char *input_name)
{
  const clarke_graph *g = u->g;
  clarke_status status = add_inputs(u, input_name);

  mark_needed(u);
  for (size_t i = 0; status == CLARKE_OK && i < g->n_steps; i++) {
    if (!u->needed[g->steps[i].out])
      continue;
    status = unroll_step(u, &g->steps[i]);
    if (status == CLARKE_ENOMEM)
      clarke_fail_in(u->err, status, "node '%s'", g->steps[i].name);
  }
  for (size_t e = 0; status == CLARKE_OK && e < g->values[g->output].count; e++)
    status = clarke_code_add_output(u->p, instruction(u, g->output, e), u->err);
  mark_wrt(u->p);
  u->p->output_vector = true;
  return status;
}

/* Sample 0 of x, then the parameters. */
static clarke_status
make_point(mpq_t **point, size_t *n, const unrolling *u, const clarke_tensor *x)
{
  const clarke_graph *g = u->g;
  size_t count = g->values[g->input].count, at = 0;

  if (x->count < count || (x->real == NULL && x->integer == NULL))
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: a sample has %zu entries; x has %zu in all",
                       g->file, count, x->count);
  *n = clarke_code_entries(u->p);
  *point = malloc((*n + 1) * sizeof **point);
  if (*point == NULL)
    return out_of_memory(u);
  for (size_t i = 0; i < *n; i++)
    mpq_init((*point)[i]);
  for (; at < count; at++)
    if (x->real != NULL)
      mpq_set_d((*point)[at], x->real[at]);
    else
      mpq_set_si((*point)[at], (long)x->integer[at], 1);
  for (size_t i = 0; i < g->n_parameters; i++)
    for (size_t e = 0; g->parameters[i].wrt && e < g->parameters[i].count; e++)
      mpq_set_d((*point)[at++], g->parameters[i].real[e]);
  return CLARKE_OK;
}

static bool
begin(unrolling *u)
{
  const clarke_graph *g = u->g;

  u->at = calloc(g->n_values + 1, sizeof *u->at);
  u->first = calloc(g->n_parameters + 1, sizeof *u->first);
  u->needed = calloc(g->n_values + 1, sizeof *u->needed);
  u->coef = malloc(sizeof *u->coef);
  u->zero = CLARKE_NONE;
  mpq_inits(u->constant, u->factor, NULL);
  if (u->coef != NULL)
    mpq_init(u->coef[0]);
  u->p->file = strdup(g->file);
  return u->at != NULL && u->first != NULL && u->needed != NULL && u->coef != NULL &&
         u->p->file != NULL;
}

static void
end(unrolling *u)
{
  for (size_t v = 0; u->at != NULL && v < u->g->n_values; v++)
    free(u->at[v]);
  for (size_t i = 0; u->coef != NULL && i <= u->room; i++)
    mpq_clear(u->coef[i]);
  mpq_clears(u->constant, u->factor, NULL);
  free(u->at);
  free(u->first);
  free(u->needed);
  free(u->in);
  free(u->coef);
}

clarke_status
clarke_unroll(clarke_code *p, mpq_t **point, size_t *n, const clarke_graph *g,
              const clarke_tensor *x, const char *input_name, clarke_error *err)
{
  unrolling u = {.p = p, .g = g, .err = err};
  clarke_status status = begin(&u) ? CLARKE_OK : out_of_memory(&u);

  *point = NULL;
  *n = 0;
  if (status == CLARKE_OK)
    status = unroll_graph(&u, input_name != NULL ? input_name : "input");
  if (status == CLARKE_OK)
    status = make_point(point, n, &u, x);
  end(&u);
  return status;
}
