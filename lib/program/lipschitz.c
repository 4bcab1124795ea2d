#include "program/lipschitz.h"
#include "exact/polynomial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY ((size_t)-2)  /* varies with several entries of wrt */
#define BOTH 2
#define TERMS 128         /* of a polynomial, or of a product before it is summed up */
#define STEPS ((size_t)1 << 27)

/* By instruction, whether or not it is executed at the point: */
typedef struct {
  bool good;           /* it has a value at the point, and is Lipschitz near */
  size_t culprit;      /* when it is not: because of that instruction, */
  const char *fault;   /* which has this fault */
  size_t far;          /* an instruction needed for it that is past a proof's reach, or CLARKE_NONE */
  int8_t arm;          /* BRANCH: the arm taken near the point, 1 or -1, or BOTH */
  size_t part;         /* PIECEWISE: the piece that it is on, near the point; ORDER: the argument that it is; or CLARKE_NONE */
  size_t varies;       /* near the point: with that entry of wrt alone, CLARKE_NONE or ANY */
  bool asked;          /* of the polynomials at hand */
  size_t variable;     /* its number among those, or CLARKE_NONE */
  clarke_polynomial *polynomial;
} near_point;

typedef struct {
  const clarke_execution *e;
  near_point *at;
  clarke_number *value, *partial; /* by instruction, at the point; room for one's arguments */
  size_t held;      /* the entry of wrt that is as at the point, or CLARKE_NONE */
  bool deep;        /* pieces, orders and quotients are taken apart, too */
  size_t variables, steps;
  fmpq_mpoly_ctx_t ring;
} neighbourhood;

static size_t
join(size_t a, size_t b)
{
  return a == CLARKE_NONE || a == b ? b : b == CLARKE_NONE ? a : ANY;
}

/* --- polynomials of inputs and of instructions taken as variables ----------------------------- */

static bool
is_held(const neighbourhood *n, size_t at)
{
  return n->at[at].varies == CLARKE_NONE || n->at[at].varies == n->held;
}

/* Is it a quotient by a rational? */
static bool
is_by_rational(const neighbourhood *n, size_t at)
{
  size_t divisor = n->e->p->instruction[at].in[1];

  return is_held(n, divisor) && n->value[divisor].exact;
}

/* Made of its arguments' polynomials? Of a BRANCH that is its arm's, of an ORDER the one that it is. */
static bool
is_made(const neighbourhood *n, size_t at)
{
  const clarke_instruction *i = &n->e->p->instruction[at];

  if (is_held(n, at))
    return false;
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
  case CLARKE_DO_PRODUCT:
    return true;
  case CLARKE_DO_QUOTIENT:
    return n->deep || is_by_rational(n, at);
  case CLARKE_DO_BRANCH:
    return n->at[at].arm != BOTH;
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ORDER:
    return n->deep && n->at[at].part != CLARKE_NONE;
  default:
    return false;
  }
}

/* Is it made of its k-th argument's, then? */
static bool
is_made_of(const neighbourhood *n, size_t at, size_t k)
{
  const clarke_instruction *i = &n->e->p->instruction[at];

  if (i->kind == CLARKE_DO_BRANCH)
    return k == (n->at[at].arm == 1 ? 2 : 3);
  return i->kind != CLARKE_DO_ORDER || i->in[k] == n->at[at].part;
}

/* Marks what the polynomials of these need, and numbers the variables. A quotient may turn out to be one. */
static void
ask(neighbourhood *n, const size_t *in, size_t count)
{
  size_t top = 0;

  n->variables = 0;
  for (size_t k = 0; k < count; k++) {
    n->at[in[k]].asked = true;
    top = in[k] > top ? in[k] : top;
  }
  n->steps += top + 1;
  for (size_t at = top + 1; at-- > 0;) {
    const clarke_instruction *i = &n->e->p->instruction[at];
    bool made = is_made(n, at);

    n->at[at].variable = CLARKE_NONE;
    if (!n->at[at].asked)
      continue;
    for (size_t k = 0; k < i->n_in && made; k++)
      if (is_made_of(n, at, k))
        n->at[i->in[k]].asked = true;
    if (made ? i->kind == CLARKE_DO_QUOTIENT && !is_by_rational(n, at) : !(is_held(n, at) && n->value[at].exact))
      n->at[at].variable = n->variables++;
  }
}

static void
limit(clarke_polynomial *y, const neighbourhood *n)
{
  y->kept = y->kept && fmpq_mpoly_length(y->p, n->ring) <= TERMS;
}

static void
make_product(clarke_polynomial *y, const neighbourhood *n, const clarke_polynomial *a,
             const clarke_polynomial *b)
{
  if (!a->kept || !b->kept ||
      fmpq_mpoly_length(a->p, n->ring) * fmpq_mpoly_length(b->p, n->ring) > TERMS)
    y->kept = false;
  else
    clarke_polynomial_mul(y, a, b, n->ring);
}

/* The piece's c0 + c1 x + c2 x^2. */
static void
make_piece(clarke_polynomial *y, const neighbourhood *n, mpq_t *c, const clarke_polynomial *x)
{
  clarke_polynomial square;

  clarke_polynomial_init(&square, n->ring);
  if (mpq_sgn(c[2]) != 0)
    make_product(&square, n, x, x);
  clarke_polynomial_addmul(y, c[2], &square, n->ring);
  if (mpq_sgn(c[1]) != 0)
    clarke_polynomial_addmul(y, c[1], x, n->ring);
  clarke_polynomial_add_rational(y, c[0], n->ring);
  clarke_polynomial_clear(&square, n->ring);
}

/* The quotient of two polynomials is one when the numerator is zero, or the divisor a number; else it is a variable. */
static void
make_quotient(clarke_polynomial *y, const neighbourhood *n, const near_point *of, const clarke_polynomial *a,
              const clarke_polynomial *b)
{
  mpq_t q;
  fmpq_t c;

  if (a->kept && fmpq_mpoly_is_zero(a->p, n->ring))
    return;
  if (!b->kept || !fmpq_mpoly_is_fmpq(b->p, n->ring)) {
    fmpq_mpoly_gen(y->p, (slong)of->variable, n->ring);
    return;
  }
  mpq_init(q);
  fmpq_init(c);
  fmpq_mpoly_get_fmpq(c, b->p, n->ring);
  fmpq_get_mpq(q, c);
  mpq_inv(q, q);
  clarke_polynomial_addmul(y, q, a, n->ring);
  fmpq_clear(c);
  mpq_clear(q);
}

static void
make_sum(clarke_polynomial *y, const neighbourhood *n, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++) {
    clarke_polynomial_addmul(y, i->coef[k], n->at[i->in[k]].polynomial, n->ring);
    limit(y, n);
  }
  clarke_polynomial_add_rational(y, i->coef[i->n_in], n->ring);
}

static void
make(neighbourhood *n, size_t at)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  near_point *y = &n->at[at];
  mpq_t one;

  if (!is_made(n, at)) {
    if (y->variable != CLARKE_NONE)
      fmpq_mpoly_gen(y->polynomial->p, (slong)y->variable, n->ring);
    else
      clarke_polynomial_add_rational(y->polynomial, n->value[at].q, n->ring);
    return;
  }
  mpq_init(one);
  mpq_set_si(one, 1, 1);
  if (i->kind == CLARKE_DO_LINEAR)
    make_sum(y->polynomial, n, i);
  else if (i->kind == CLARKE_DO_PRODUCT)
    make_product(y->polynomial, n, n->at[i->in[0]].polynomial, n->at[i->in[1]].polynomial);
  else if (i->kind == CLARKE_DO_QUOTIENT)
    make_quotient(y->polynomial, n, y, n->at[i->in[0]].polynomial, n->at[i->in[1]].polynomial);
  else if (i->kind == CLARKE_DO_PIECEWISE)
    make_piece(y->polynomial, n, i->pieces->coef[y->part], n->at[i->in[0]].polynomial);
  else {
    size_t is = i->kind == CLARKE_DO_ORDER ? y->part : i->in[y->arm == 1 ? 2 : 3];

    clarke_polynomial_addmul(y->polynomial, one, n->at[is].polynomial, n->ring);
  }
  limit(y->polynomial, n);
  mpq_clear(one);
}

static clarke_status
make_all(neighbourhood *n, size_t end, clarke_error *err)
{
  for (size_t at = 0; at < end; at++) {
    if (!n->at[at].asked)
      continue;
    n->at[at].polynomial = malloc(sizeof *n->at[at].polynomial);
    if (n->at[at].polynomial == NULL)
      return clarke_no_memory(err);
    clarke_polynomial_init(n->at[at].polynomial, n->ring);
    make(n, at);
  }
  return CLARKE_OK;
}

static void
forget(neighbourhood *n, size_t end)
{
  for (size_t at = 0; at < end; at++) {
    if (n->at[at].polynomial != NULL)
      clarke_polynomial_clear(n->at[at].polynomial, n->ring);
    free(n->at[at].polynomial);
    n->at[at].polynomial = NULL;
    n->at[at].asked = false;
  }
}

/* y = the polynomial of a less that of b. */
static void
subtract(clarke_polynomial *y, const neighbourhood *n, size_t a, size_t b)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, 1, 1);
  clarke_polynomial_addmul(y, q, n->at[a].polynomial, n->ring);
  mpq_neg(q, q);
  clarke_polynomial_addmul(y, q, n->at[b].polynomial, n->ring);
  limit(y, n);
  mpq_clear(q);
}

/* Is x zero wherever y is? Where y is zero all around, one arm is taken. */
static bool
vanishes_with(const clarke_polynomial *x, const clarke_polynomial *y, const neighbourhood *n)
{
  fmpq_mpoly_t q;
  bool divides;

  if (x->kept && fmpq_mpoly_is_zero(x->p, n->ring))
    return true;
  if (n->held != CLARKE_NONE || !y->kept)
    return false;
  if (fmpq_mpoly_is_zero(y->p, n->ring))
    return true;
  if (!x->kept)
    return false;
  fmpq_mpoly_init(q, n->ring);
  divides = fmpq_mpoly_divides(q, x->p, y->p, n->ring) &&
            fmpq_mpoly_length(q, n->ring) * fmpq_mpoly_length(y->p, n->ring) <= TERMS;
  fmpq_mpoly_clear(q, n->ring);
  return divides;
}

/* What is asked of the polynomials of these instructions, once they are made. */
typedef bool (*question)(const neighbourhood *n, const size_t *in);

static clarke_status
answer(bool *yes, neighbourhood *n, const size_t *in, size_t count, question q, clarke_error *err)
{
  size_t end = 0;
  clarke_status status;

  *yes = false;
  ask(n, in, count);
  for (size_t k = 0; k < count; k++)
    end = in[k] >= end ? in[k] + 1 : end;
  if (n->variables > CLARKE_POLYNOMIAL_VARIABLES || n->steps > STEPS) {
    forget(n, end);
    return CLARKE_OK;
  }
  fmpq_mpoly_ctx_init(n->ring, n->variables > 0 ? (slong)n->variables : 1, ORD_LEX);
  status = make_all(n, end, err);
  *yes = status == CLARKE_OK && q(n, in);
  forget(n, end);
  fmpq_mpoly_ctx_clear(n->ring);
  return status;
}

/* Is the arms' difference zero wherever the comparands' is? */
static bool
arms_follow(const neighbourhood *n, const size_t *in)
{
  clarke_polynomial arms, gap;
  bool follow;

  clarke_polynomial_init(&arms, n->ring);
  clarke_polynomial_init(&gap, n->ring);
  subtract(&arms, n, in[2], in[3]);
  subtract(&gap, n, in[0], in[1]);
  follow = vanishes_with(&arms, &gap, n);
  clarke_polynomial_clear(&arms, n->ring);
  clarke_polynomial_clear(&gap, n->ring);
  return follow;
}

static bool
is_number(const neighbourhood *n, const size_t *in)
{
  const clarke_polynomial *x = n->at[*in].polynomial;

  return x->kept && fmpq_mpoly_is_fmpq(x->p, n->ring);
}

/* Are the arms equal wherever the comparands are? Comparands that vary with one entry of wrt are so where it is as at
 * the point, or all along on a side of that, where then one arm is taken. */
static clarke_status
arms_meet(bool *meet, neighbourhood *n, size_t at, clarke_error *err)
{
  const size_t *in = n->e->p->instruction[at].in;
  size_t with = join(n->at[in[0]].varies, n->at[in[1]].varies);
  clarke_status status = CLARKE_OK;

  *meet = in[2] == in[3] || (in[0] == in[2] && in[1] == in[3]) ||
          (in[0] == in[3] && in[1] == in[2]);
  for (int way = 0; way < 3 && !*meet && status == CLARKE_OK; way++) {
    n->deep = way > 0; /* which may be too many terms */
    n->held = with == ANY || way == 2 ? CLARKE_NONE : with;
    status = answer(meet, n, in, 4, arms_follow, err);
  }
  return status;
}

/* What varies, by the look of it, is found to be constant near the point where its polynomial is a number. */
static clarke_status
stand_still(neighbourhood *n, size_t at, clarke_error *err)
{
  bool still = false;
  clarke_status status = CLARKE_OK;

  n->held = CLARKE_NONE;
  n->deep = true;
  if (n->at[at].varies != CLARKE_NONE)
    status = answer(&still, n, &at, 1, is_number, err);
  if (still)
    n->at[at].varies = CLARKE_NONE;
  return status;
}

/* --- values ----------------------------------------------------------------------------------- */

static void
complain(neighbourhood *n, size_t at, const char *fault)
{
  n->at[at].good = false;
  n->at[at].culprit = at;
  n->at[at].fault = fault;
}

/* Is it more than 2^bits, or less than -2^bits? */
static bool
is_beyond(const clarke_number *x, mp_bitcnt_t bits)
{
  mpq_t size, most;
  bool beyond;

  mpq_inits(size, most, NULL);
  clarke_number_middle(size, x);
  mpq_abs(size, size);
  mpq_set_ui(most, 1, 1);
  mpq_mul_2exp(most, most, bits);
  beyond = mpq_cmp(size, most) > 0;
  mpq_clears(size, most, NULL);
  return beyond;
}

/* Is x, the argument of an analytic function, beyond the checker's reach? */
static bool
is_far(const clarke_instruction *i, const clarke_number *x)
{
  switch (i->function) {
  case CLARKE_FN_EXP:
    return is_beyond(x, CLARKE_REACH_EXP);
  case CLARKE_FN_SIN:
  case CLARKE_FN_COS:
    return is_beyond(x, CLARKE_REACH_CIRCLE);
  default:
    return false;
  }
}

static bool
is_root_of_zero(const neighbourhood *n, size_t at)
{
  const clarke_instruction *i = &n->e->p->instruction[at];

  return i->kind == CLARKE_DO_ANALYTIC && i->function == CLARKE_FN_SQRT && clarke_number_sign(&n->value[i->in[0]]) == 0;
}

static clarke_status
place_smooth(neighbourhood *n, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  bool slope = false, open = false;
  clarke_error inner = {CLARKE_OK, ""};
  clarke_status status = is_root_of_zero(n, at) ? stand_still(n, i->in[0], err) : CLARKE_OK;

  if (status != CLARKE_OK)
    return status;
  if (i->kind == CLARKE_DO_ANALYTIC)
    slope = n->at[i->in[0]].varies != CLARKE_NONE;
  if (i->kind == CLARKE_DO_INPUT)
    clarke_number_set_q(&n->value[at], n->e->at[clarke_code_entry(n->e->p, at)]);
  else if (i->kind == CLARKE_DO_NORM && clarke_norm_at_zero(i, n->value))
    clarke_number_set_si(&n->value[at], 0);
  else
    status = clarke_smooth_value(&n->value[at], slope ? n->partial : NULL, &open, n->e->p, at,
                                 n->value, n->e->precision, &inner);
  if (status != CLARKE_OK && status != CLARKE_EINPUT)
    return clarke_fail(err, status, "%s", inner.text);
  if (status == CLARKE_EINPUT)
    complain(n, at, "this is taken arbitrarily near the end of its domain, or beyond");
  else if (open)
    complain(n, at, "no precision tells whether this is defined");
  if (i->kind == CLARKE_DO_ANALYTIC && is_far(i, &n->value[i->in[0]]))
    n->at[at].far = at;
  return CLARKE_OK;
}

/* Is x at the right end of a piece? */
static bool
is_at(const clarke_number *x, const clarke_pieces *p, size_t piece)
{
  return piece < p->n_kinks && x->exact && mpq_equal(x->q, p->kink[piece]);
}

/* Near the point it is one of those that are tied there. */
static clarke_status
place_order(neighbourhood *n, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  near_point *y = &n->at[at];
  size_t *tied = malloc(i->n_in * sizeof *tied), n_tied, rank;

  if (tied == NULL)
    return clarke_no_memory(err);
  if (clarke_order_place(tied, &n_tied, &rank, i, n->value, n->e->precision)) {
    clarke_number_set(&n->value[at], &n->value[i->in[tied[0]]]);
    y->part = i->in[tied[0]];
    y->varies = CLARKE_NONE;
    for (size_t k = 0; k < n_tied; k++) {
      y->varies = join(y->varies, n->at[i->in[tied[k]]].varies);
      y->part = i->in[tied[k]] == y->part ? y->part : CLARKE_NONE;
    }
  } else
    complain(n, at, "no precision tells these numbers apart");
  free(tied);
  return CLARKE_OK;
}

/* By continuity what is between two kinks stays there. */
static void
place_pointwise(neighbourhood *n, size_t at)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  const clarke_number *x = &n->value[i->in[0]];
  size_t piece;
  clarke_place_kind kind = clarke_pointwise_place(&piece, i, x, n->e->precision);

  if (kind == CLARKE_PLACE_OPEN) {
    complain(n, at, "no precision tells on which side of its kink this is");
    return;
  }
  clarke_pointwise_value(&n->value[at], NULL, i, piece, x, n->e->precision);
  if (i->kind == CLARKE_DO_PIECEWISE && kind == CLARKE_PLACE_INSIDE && !is_at(x, i->pieces, piece))
    n->at[at].part = piece;
}

/* An instruction is no better than what it needs, and no nearer. */
static void
need(neighbourhood *n, size_t at, size_t from)
{
  if (n->at[at].far == CLARKE_NONE)
    n->at[at].far = n->at[from].far;
  if (!n->at[at].good || n->at[from].good)
    return;
  n->at[at].good = false;
  n->at[at].culprit = n->at[from].culprit;
}

static clarke_status
place_branch(neighbourhood *n, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  near_point *y = &n->at[at];
  bool varies = n->at[i->in[0]].varies != CLARKE_NONE || n->at[i->in[1]].varies != CLARKE_NONE;
  bool then, meet = true;
  clarke_status status = CLARKE_OK;
  int sign;

  need(n, at, i->in[0]);
  need(n, at, i->in[1]);
  if (!y->good)
    return CLARKE_OK;
  sign = clarke_branch_place(i, n->value, n->e->precision);
  if (sign == 2) {
    complain(n, at, "no precision tells whether this condition holds");
    return CLARKE_OK;
  }
  then = clarke_relation_holds(i->relation, sign);
  y->arm = sign == 0 && i->in[0] != i->in[1] && varies ? BOTH : then ? 1 : -1;
  for (size_t k = 2; k < 4; k++)
    if (y->arm != (k == 2 ? -1 : 1))
      need(n, at, i->in[k]);
  if (!y->good)
    return CLARKE_OK;
  clarke_number_set(&n->value[at], &n->value[i->in[then ? 2 : 3]]);
  if (y->arm == BOTH)
    status = arms_meet(&meet, n, at, err);
  if (!meet)
    complain(n, at, "the arms of this branch do not meet where its comparands do, or cannot be told to");
  return status;
}

static clarke_status
place(neighbourhood *n, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &n->e->p->instruction[at];

  n->at[at].good = true;
  n->at[at].far = n->at[at].part = CLARKE_NONE;
  if (i->kind == CLARKE_DO_BRANCH)
    return place_branch(n, at, err);
  for (size_t k = 0; k < i->n_in; k++)
    need(n, at, i->in[k]);
  if (!n->at[at].good)
    return CLARKE_OK;
  if (i->kind == CLARKE_DO_ORDER)
    return place_order(n, at, err);
  if (i->kind != CLARKE_DO_PIECEWISE && i->kind != CLARKE_DO_ELU)
    return place_smooth(n, at, err);
  place_pointwise(n, at);
  return CLARKE_OK;
}

static bool
is_nothing(const neighbourhood *n, size_t at)
{
  return n->at[at].varies == CLARKE_NONE && n->value[at].exact && mpq_sgn(n->value[at].q) == 0;
}

/* Does an instruction that is placed take no notice of its k-th argument, near the point? */
static bool
ignores(const neighbourhood *n, size_t at, size_t k)
{
  const clarke_instruction *i = &n->e->p->instruction[at];
  size_t part = n->at[at].part;

  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    return mpq_sgn(i->coef[k]) == 0;
  case CLARKE_DO_PRODUCT:
    return is_nothing(n, i->in[0]) || is_nothing(n, i->in[1]);
  case CLARKE_DO_QUOTIENT:
    return is_nothing(n, i->in[0]);
  case CLARKE_DO_BRANCH:
    return n->at[at].arm != BOTH && k != (n->at[at].arm == 1 ? 2 : 3);
  case CLARKE_DO_PIECEWISE:
    return part != CLARKE_NONE && mpq_sgn(i->pieces->coef[part][1]) == 0 && mpq_sgn(i->pieces->coef[part][2]) == 0;
  default:
    return false;
  }
}

/* What an instruction that is placed varies with near the point; of an ORDER that is known. */
static void
vary(neighbourhood *n, size_t at)
{
  const clarke_instruction *i = &n->e->p->instruction[at];

  if (i->kind == CLARKE_DO_ORDER)
    return;
  n->at[at].varies = i->kind == CLARKE_DO_INPUT ? clarke_code_wrt_entry(n->e->p, at) : CLARKE_NONE;
  for (size_t k = 0; k < i->n_in; k++)
    if (!ignores(n, at, k))
      n->at[at].varies = join(n->at[at].varies, n->at[i->in[k]].varies);
}

static size_t
widest(const clarke_code *p)
{
  size_t n = 1;

  for (size_t i = 0; i < p->n; i++)
    n = p->instruction[i].n_in > n ? p->instruction[i].n_in : n;
  return n;
}

clarke_status
clarke_lipschitz(bool *known, char *why, size_t *far, const clarke_execution *e, clarke_error *err)
{
  const clarke_code *p = e->p;
  neighbourhood n = {.e = e, .held = CLARKE_NONE};
  size_t wide = widest(p);
  clarke_status status = CLARKE_OK;

  n.at = calloc(p->n + 1, sizeof *n.at);
  n.value = clarke_numbers(p->n);
  n.partial = clarke_numbers(wide);
  if (n.at == NULL || n.value == NULL || n.partial == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < p->n && status == CLARKE_OK; i++) {
    status = place(&n, i, err);
    vary(&n, i);
  }
  *known = status == CLARKE_OK;
  *far = CLARKE_NONE;
  for (size_t o = 0; o < p->n_outputs && *known; o++) {
    const near_point *y = &n.at[p->output[o]];
    const clarke_instruction *i = &p->instruction[y->culprit];

    *known = y->good;
    *far = *far == CLARKE_NONE ? y->far : *far;
    if (!y->good)
      snprintf(why, CLARKE_LIPSCHITZ_WHY, "line %zu, column %zu: %s", i->line, i->column,
               n.at[y->culprit].fault);
  }
  free(n.at);
  clarke_numbers_free(n.value, p->n);
  clarke_numbers_free(n.partial, wide);
  return status;
}
