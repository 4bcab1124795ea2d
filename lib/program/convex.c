#include "program/convex.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a function of the entries of wrt, everywhere. log_convex: it is above 0, and its logarithm is convex. */
typedef struct {
  bool constant, convex, concave, least0, most0, log_convex;
} shape;

/* What is known of a function of one number, on the numbers that its argument can be. */
typedef struct {
  bool convex, concave, rises, falls, least0, most0;
} curve;

static shape
constant(int sign)
{
  return (shape){.constant = true, .convex = true, .concave = true, .least0 = sign == 0 || sign == 1, .most0 = sign == 0 || sign == -1,
                 .log_convex = sign == 1};
}

/* c f for a number c of that sign */
static shape
times(shape f, int sign)
{
  const shape minus = {.constant = f.constant, .convex = f.concave, .concave = f.convex, .least0 = f.most0, .most0 = f.least0};

  if (sign == 0) /* of what may not be defined everywhere nothing is known then, either */
    return f.convex || f.concave ? constant(0) : (shape){.constant = false};
  return sign > 0 ? f : minus;
}

static shape
plus(shape a, shape b)
{
  return (shape){.convex = a.convex && b.convex, .concave = a.concave && b.concave, .least0 = a.least0 && b.least0,
                 .most0 = a.most0 && b.most0, .log_convex = a.log_convex && b.log_convex};
}

/* --- instructions --------------------------------------------------------------------------------------- */

/* A term 0 is left out: it would not be above 0. */
static shape
linear(const clarke_instruction *i, const shape *of)
{
  shape sum = constant(mpq_sgn(i->coef[i->n_in]));
  bool begun = mpq_sgn(i->coef[i->n_in]) != 0;

  for (size_t k = 0; k < i->n_in; k++) {
    const shape term = times(of[i->in[k]], mpq_sgn(i->coef[k]));

    if (mpq_sgn(i->coef[k]) == 0 && term.constant)
      continue;
    sum = begun ? plus(sum, term) : term;
    begun = true;
  }
  return sum;
}

/* Is its square, as the length of one entry, convex? */
static bool
has_convex_square(shape f)
{
  return (f.convex && f.concave) || (f.convex && f.least0) || (f.concave && f.most0);
}

static shape
product(const clarke_instruction *i, const clarke_execution *e, const shape *of)
{
  const shape a = of[i->in[0]], b = of[i->in[1]];

  if (a.constant || b.constant) {
    const int sign = clarke_number_sign(&e->value[i->in[a.constant ? 0 : 1]]);

    return sign == 2 ? (shape){.constant = false} : times(a.constant ? b : a, sign);
  }
  return (shape){.convex = (i->in[0] == i->in[1] && has_convex_square(a)) || (a.log_convex && b.log_convex),
                 .least0 = i->in[0] == i->in[1] || (a.least0 && b.least0) || (a.most0 && b.most0),
                 .most0 = (a.least0 && b.most0) || (a.most0 && b.least0), .log_convex = a.log_convex && b.log_convex};
}

/* By a number that is not 0. */
static shape
quotient(const clarke_instruction *i, const clarke_execution *e, const shape *of)
{
  const int sign = of[i->in[1]].constant ? clarke_number_sign(&e->value[i->in[1]]) : 2;

  return sign == 1 || sign == -1 ? times(of[i->in[0]], sign) : (shape){.constant = false};
}

static shape
analytic(const clarke_instruction *i, const shape *of)
{
  const shape x = of[i->in[0]];

  switch (i->function) {
  case CLARKE_FN_EXP:
    return (shape){.convex = x.convex, .least0 = true, .log_convex = x.convex};
  case CLARKE_FN_LOG:
    return (shape){.convex = x.log_convex};
  case CLARKE_FN_SQRT:
  case CLARKE_FN_SIGMOID:
    return (shape){.least0 = true};
  default:
    return (shape){.constant = false};
  }
}

static shape
order(const clarke_instruction *i, const shape *of)
{
  shape y = {.convex = i->rank == 1, .concave = i->rank == i->n_in, .least0 = true, .most0 = true, .log_convex = i->rank == 1};

  for (size_t k = 0; k < i->n_in; k++) {
    const shape x = of[i->in[k]];

    y.convex = y.convex && x.convex;
    y.concave = y.concave && x.concave;
    y.least0 = y.least0 && x.least0;
    y.most0 = y.most0 && x.most0;
    y.log_convex = y.log_convex && x.log_convex;
  }
  for (size_t k = 0; k < i->n_in; k++) { /* a maximum is not below any, a minimum not above */
    y.least0 = y.least0 || (i->rank == 1 && of[i->in[k]].least0);
    y.most0 = y.most0 || (i->rank == i->n_in && of[i->in[k]].most0);
  }
  return y;
}

static shape
norm(const clarke_instruction *i, const shape *of)
{
  shape y = {.convex = true, .least0 = true};

  for (size_t k = 0; k < i->n_in; k++)
    y.convex = y.convex && has_convex_square(of[i->in[k]]);
  return y;
}

/* --- pieces ---------------------------------------------------------------------------------------------- */

/* Takes in a slope, and a value, of a piece. */
static void
take_slope(curve *c, const mpq_t slope)
{
  c->rises = c->rises && mpq_sgn(slope) >= 0;
  c->falls = c->falls && mpq_sgn(slope) <= 0;
}

static void
take_value(curve *c, const mpq_t value)
{
  c->least0 = c->least0 && mpq_sgn(value) >= 0;
  c->most0 = c->most0 && mpq_sgn(value) <= 0;
}

static void
value_at(mpq_t y, const clarke_pieces *p, size_t piece, const mpq_t x)
{
  mpq_mul(y, p->coef[piece][2], x);
  mpq_add(y, y, p->coef[piece][1]);
  mpq_mul(y, y, x);
  mpq_add(y, y, p->coef[piece][0]);
}

/* Far to the right (side 1) or left (-1) the slope has the sign of its own leading term, and the value of its. */
static void
take_far(curve *c, const clarke_pieces *p, size_t piece, int side)
{
  mpq_t far;

  mpq_init(far);
  mpq_set_si(far, mpq_sgn(p->coef[piece][2]) != 0 ? mpq_sgn(p->coef[piece][2]) * side : mpq_sgn(p->coef[piece][1]), 1);
  take_slope(c, far);
  mpq_set_si(far, mpq_sgn(p->coef[piece][2]) != 0   ? mpq_sgn(p->coef[piece][2])
                  : mpq_sgn(p->coef[piece][1]) != 0 ? mpq_sgn(p->coef[piece][1]) * side
                                                    : mpq_sgn(p->coef[piece][0]), 1);
  take_value(c, far);
  mpq_clear(far);
}

static void
take_at(curve *c, const clarke_pieces *p, size_t piece, const mpq_t x)
{
  mpq_t y;

  mpq_init(y);
  clarke_pieces_slope(y, p, piece, x);
  take_slope(c, y);
  value_at(y, p, piece, x);
  take_value(c, y);
  mpq_clear(y);
}

/* Takes a parabola's vertex, where it lies between (NULL: no end). */
static void
take_vertex(curve *c, const clarke_pieces *p, size_t piece, mpq_srcptr left, mpq_srcptr right)
{
  mpq_t x, y;

  if (mpq_sgn(p->coef[piece][2]) == 0)
    return;
  mpq_inits(x, y, NULL);
  mpq_add(y, p->coef[piece][2], p->coef[piece][2]);
  mpq_div(x, p->coef[piece][1], y);
  mpq_neg(x, x);
  if ((left == NULL || mpq_cmp(left, x) < 0) && (right == NULL || mpq_cmp(x, right) < 0)) {
    value_at(y, p, piece, x);
    take_value(c, y);
  }
  mpq_clears(x, y, NULL);
}

static void
take_piece(curve *c, const clarke_pieces *p, size_t piece, mpq_srcptr left, mpq_srcptr right)
{
  if (left != NULL && right != NULL && mpq_cmp(left, right) >= 0)
    return;
  c->convex = c->convex && mpq_sgn(p->coef[piece][2]) >= 0;
  c->concave = c->concave && mpq_sgn(p->coef[piece][2]) <= 0;
  if (left != NULL)
    take_at(c, p, piece, left);
  else
    take_far(c, p, piece, -1);
  if (right != NULL)
    take_at(c, p, piece, right);
  else
    take_far(c, p, piece, 1);
  take_vertex(c, p, piece, left, right);
}

/* Nothing is known of a function that jumps. */
static void
take_kink(curve *c, const clarke_pieces *p, size_t kink)
{
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  clarke_pieces_slope(left, p, kink, p->kink[kink]);
  clarke_pieces_slope(right, p, kink + 1, p->kink[kink]);
  c->convex = c->convex && mpq_cmp(left, right) <= 0;
  c->concave = c->concave && mpq_cmp(left, right) >= 0;
  value_at(left, p, kink, p->kink[kink]);
  value_at(right, p, kink + 1, p->kink[kink]);
  if (!mpq_equal(left, right))
    memset(c, 0, sizeof *c);
  mpq_clears(left, right, NULL);
}

static curve
pieces(const clarke_pieces *p, shape x)
{
  curve c = {true, true, true, true, true, true};
  mpq_t zero;

  if (p->slope != CLARKE_NONE)
    return (curve){.convex = false};
  mpq_init(zero);
  for (size_t i = 0; i <= p->n_kinks; i++) { /* the argument may be 0, or is it always: then its value counts, and nothing else */
    const bool left = i == 0 || mpq_sgn(p->kink[i - 1]) <= 0, right = i == p->n_kinks || mpq_sgn(p->kink[i]) >= 0;

    if (x.least0 && x.most0 && left && right)
      take_value(&c, p->coef[i][0]);
  }
  for (size_t i = 0; i <= p->n_kinks; i++) {
    mpq_srcptr left = i > 0 ? p->kink[i - 1] : NULL, right = i < p->n_kinks ? p->kink[i] : NULL;

    if (x.least0 && (left == NULL || mpq_sgn(left) < 0))
      left = zero;
    if (x.most0 && (right == NULL || mpq_sgn(right) > 0))
      right = zero;
    take_piece(&c, p, i, left, right);
  }
  for (size_t k = 0; k < p->n_kinks; k++)
    if (!(x.least0 && mpq_sgn(p->kink[k]) <= 0) && !(x.most0 && mpq_sgn(p->kink[k]) >= 0))
      take_kink(&c, p, k);
  mpq_clear(zero);
  return c;
}

/* alpha (exp(x) - 1) below 0, whose slope goes from 0 to alpha, then 1 */
static curve
elu(const mpq_t alpha, shape x)
{
  const bool up = mpq_sgn(alpha) >= 0;

  return (curve){.convex = up && mpq_cmp_ui(alpha, 1, 1) <= 0, .rises = up, .least0 = x.least0, .most0 = x.most0 && up};
}

static shape
composed(curve f, shape x)
{
  const bool affine = x.convex && x.concave;

  return (shape){.convex = f.convex && (affine || (f.rises && x.convex) || (f.falls && x.concave)),
                 .concave = f.concave && (affine || (f.rises && x.concave) || (f.falls && x.convex)),
                 .least0 = f.least0, .most0 = f.most0};
}

/* --- the program ------------------------------------------------------------------------------------------ */

static bool
is_constant(const clarke_code *p, size_t at, const shape *of)
{
  const clarke_instruction *i = &p->instruction[at];
  bool is = i->kind != CLARKE_DO_INPUT || clarke_code_wrt_entry(p, at) == CLARKE_NONE;

  for (size_t k = 0; k < i->n_in && is; k++)
    is = of[i->in[k]].constant;
  return is;
}

/* The shape of an instruction that was executed, and whose arguments were. */
static shape
shape_of(const clarke_execution *e, size_t at, const shape *of)
{
  const clarke_instruction *i = &e->p->instruction[at];

  switch (i->kind) {
  case CLARKE_DO_INPUT:
    return (shape){.convex = true, .concave = true};
  case CLARKE_DO_LINEAR:
    return linear(i, of);
  case CLARKE_DO_PRODUCT:
    return product(i, e, of);
  case CLARKE_DO_QUOTIENT:
    return quotient(i, e, of);
  case CLARKE_DO_ANALYTIC:
    return analytic(i, of);
  case CLARKE_DO_PIECEWISE:
    return composed(pieces(i->pieces, of[i->in[0]]), of[i->in[0]]);
  case CLARKE_DO_ELU:
    return composed(elu(i->coef[0], of[i->in[0]]), of[i->in[0]]);
  case CLARKE_DO_ORDER:
    return order(i, of);
  case CLARKE_DO_NORM:
    return norm(i, of);
  case CLARKE_DO_BRANCH:
    return of[i->in[0]].constant && of[i->in[1]].constant ? of[i->in[e->piece[at] == 1 ? 2 : 3]] : (shape){.constant = false};
  default:
    return (shape){.constant = false};
  }
}

clarke_status
clarke_convex_find(bool *convex, const clarke_execution *e, size_t output, clarke_error *err)
{
  const clarke_code *p = e->p;
  shape *of = calloc(p->n + 1, sizeof *of);

  *convex = false;
  if (of == NULL)
    return clarke_no_memory(err);
  for (size_t at = 0; at < p->n; at++)
    if (e->live[at])
      of[at] = is_constant(p, at, of) ? constant(clarke_number_sign(&e->value[at])) : shape_of(e, at, of);
  *convex = of[p->output[output]].convex;
  free(of);
  return CLARKE_OK;
}

/* --- a gradient ------------------------------------------------------------------------------------------- */

/* Row k of the system: the direction, then the value. */
static bool
eliminate(mpq_t *row, size_t n)
{
  const size_t width = n + 1;
  mpq_t by;
  bool full = true;

  mpq_init(by);
  for (size_t c = 0; c < n && full; c++) {
    size_t pivot = c;

    while (pivot < n && mpq_sgn(row[pivot * width + c]) == 0)
      pivot++;
    full = pivot < n;
    for (size_t j = 0; j < width && full; j++)
      mpq_swap(row[pivot * width + j], row[c * width + j]);
    for (size_t r = 0; r < n && full; r++) {
      if (r == c || mpq_sgn(row[r * width + c]) == 0)
        continue;
      mpq_div(by, row[r * width + c], row[c * width + c]);
      for (size_t j = c; j < width; j++) {
        mpq_t term;

        mpq_init(term);
        mpq_mul(term, by, row[c * width + j]);
        mpq_sub(row[r * width + j], row[r * width + j], term);
        mpq_clear(term);
      }
    }
  }
  mpq_clear(by);
  return full;
}

bool
clarke_gradient_along(mpq_t *g, mpq_t *const *line, const clarke_number *value, size_t n, size_t width)
{
  mpq_t *row = n == width ? clarke_rationals(n * (n + 1)) : NULL;
  bool found = row != NULL;

  for (size_t k = 0; k < n && found; k++) {
    found = value[k].exact;
    for (size_t c = 0; c < n; c++)
      mpq_set(row[k * (n + 1) + c], line[k][c]);
    if (found)
      mpq_set(row[k * (n + 1) + n], value[k].q);
  }
  found = found && eliminate(row, n);
  for (size_t c = 0; c < n && found; c++)
    mpq_div(g[c], row[c * (n + 1) + n], row[c * (n + 1) + c]);
  clarke_rationals_free(row, row != NULL ? n * (n + 1) : 0);
  return found;
}
