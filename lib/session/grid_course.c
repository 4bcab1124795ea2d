/* A program along a segment that moves: the points where kinks are met, as affine functions of the movement. */
#include "session/grid_inside.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

static void
row_clear(clarke_moving_row *row)
{
  clarke_rationals_free(row->x, row->x != NULL ? 2 * row->room : 0);
}

void
clarke_course_clear(clarke_course *c)
{
  for (size_t i = 0; c->value != NULL && i < c->p->n; i++)
    row_clear(&c->value[i]);
  free(c->value);
  row_clear(&c->t);
  if (c->p != NULL)
    mpq_clear(c->until);
  memset(c, 0, sizeof *c);
}

/* Room for so many moving numbers; those that are there stay. */
static clarke_status
reserve(clarke_moving_row *row, size_t n, clarke_error *err)
{
  clarke_moving_row wide = {.room = 2 * n};

  if (n <= row->room)
    return CLARKE_OK;
  wide.x = clarke_rationals(2 * wide.room);
  if (wide.x == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < 2 * row->room; k++)
    mpq_swap(wide.x[k], row->x[k]);
  row_clear(row);
  *row = wide;
  return CLARKE_OK;
}

clarke_status
clarke_course_begin(clarke_course *c, const clarke_code *p, clarke_error *err)
{
  clarke_status status;

  *c = (clarke_course){.p = p, .n = 2, .value = calloc(p->n + 1, sizeof *c->value)};
  mpq_init(c->until);
  status = c->value != NULL ? reserve(&c->t, 2, err) : clarke_no_memory(err);
  for (size_t i = 0; i < p->n && status == CLARKE_OK; i++)
    if (p->instruction[i].kind == CLARKE_DO_INPUT)
      status = reserve(&c->value[i], 2, err);
  return status;
}

/* The sign of a + b h for small h > 0. Where it ends at some h the course ends there at the latest. */
static int
sign_of(clarke_course *c, const mpq_t a, const mpq_t b)
{
  const int sign = mpq_sgn(a);

  if (sign != 0 && mpq_sgn(b) == -sign) {
    mpq_t root;

    mpq_init(root);
    mpq_div(root, a, b);
    mpq_neg(root, root);
    if (!c->ends || mpq_cmp(root, c->until) < 0)
      mpq_set(c->until, root);
    c->ends = true;
    mpq_clear(root);
  }
  return sign != 0 ? sign : mpq_sgn(b);
}

/* d = x - y, of moving numbers; y NULL: less `number`. */
static void
subtract(mpq_t d[2], mpq_t *x, mpq_t *y, mpq_srcptr number)
{
  mpq_sub(d[0], x[0], y != NULL ? y[0] : number);
  if (y != NULL)
    mpq_sub(d[1], x[1], y[1]);
  else
    mpq_set(d[1], x[1]);
}

/* The sign of that difference. */
static int
compare(clarke_course *c, mpq_t *x, mpq_t *y, mpq_srcptr number)
{
  mpq_t d[2];
  int sign;

  mpq_inits(d[0], d[1], NULL);
  subtract(d, x, y, number);
  sign = sign_of(c, d[0], d[1]);
  mpq_clears(d[0], d[1], NULL);
  return sign;
}

/* slope = (y1 - y0) / (x1 - x0), two differences of moving numbers that are proportional. */
static void
divide(mpq_t slope, mpq_t *y1, mpq_t *y0, mpq_t *x1, mpq_t *x0)
{
  mpq_t by;

  mpq_init(by);
  for (size_t part = 0; part < 2 && mpq_sgn(by) == 0; part++) {
    mpq_sub(by, x1[part], x0[part]);
    mpq_sub(slope, y1[part], y0[part]);
  }
  mpq_div(slope, slope, by);
  mpq_clear(by);
}

/* A number more between k and k + 1 of a row that has room: where t is `by` behind t[k]. */
static void
put_between(clarke_moving_row *row, mpq_t *t, size_t n, size_t k, mpq_t by[2])
{
  mpq_t slope, x;

  mpq_inits(slope, x, NULL);
  divide(slope, clarke_moving(row->x, k + 1), clarke_moving(row->x, k), clarke_moving(t, k + 1), clarke_moving(t, k));
  for (size_t j = 2 * n; j-- > 2 * (k + 1);)
    mpq_swap(row->x[j + 2], row->x[j]);
  for (size_t part = 0; part < 2; part++) {
    mpq_mul(x, slope, by[part]);
    mpq_add(clarke_moving(row->x, k + 1)[part], clarke_moving(row->x, k)[part], x);
  }
  mpq_clears(slope, x, NULL);
}

#define MOST_POINTS 100000

/* A point more between k and k + 1, `by` behind k. */
static clarke_status
insert(clarke_course *c, size_t k, mpq_t by[2], clarke_error *err)
{
  clarke_status status = clarke_work_check(err);

  if (status == CLARKE_OK && c->n >= MOST_POINTS)
    status = clarke_fail(err, CLARKE_EINPUT, "more than %d points where a kink is met", MOST_POINTS);
  for (size_t i = 0; i < c->p->n && status == CLARKE_OK; i++)
    if (c->value[i].x != NULL)
      status = reserve(&c->value[i], c->n + 1, err);
  if (status == CLARKE_OK)
    status = reserve(&c->t, c->n + 1, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < c->p->n; i++)
    if (c->value[i].x != NULL)
      put_between(&c->value[i], c->t.x, c->n, k, by);
  put_between(&c->t, c->t.x, c->n, k, by);
  c->n++;
  clarke_work_spend(c->n * c->done);
  return CLARKE_OK;
}

/* Where a - b changes its sign between two points, there is a point more. b: NULL, and then `number`. */
static clarke_status
cut(clarke_course *c, size_t a, const size_t *b, mpq_srcptr number, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t d[2][2], slope;

  mpq_inits(d[0][0], d[0][1], d[1][0], d[1][1], slope, NULL);
  for (size_t k = 0; k + 1 < c->n && status == CLARKE_OK; k++) {
    for (size_t j = 0; j < 2; j++)
      subtract(d[j], clarke_moving(c->value[a].x, k + j), b != NULL ? clarke_moving(c->value[*b].x, k + j) : NULL, number);
    if (sign_of(c, d[0][0], d[0][1]) * sign_of(c, d[1][0], d[1][1]) >= 0)
      continue;
    /* d0 + slope by = 0 */
    divide(slope, d[1], d[0], clarke_moving(c->t.x, k + 1), clarke_moving(c->t.x, k));
    for (size_t part = 0; part < 2; part++) {
      mpq_div(d[0][part], d[0][part], slope);
      mpq_neg(d[0][part], d[0][part]);
    }
    status = insert(c, k, d[0], err);
  }
  mpq_clears(d[0][0], d[0][1], d[1][0], d[1][1], slope, NULL);
  return status;
}

static clarke_status
refuse(const clarke_course *c, size_t i, clarke_error *err)
{
  return clarke_code_fail(c->p, i, err, "not piecewise linear in what varies: of such a program numbers in zones are not counted");
}

/* Pieces of degree 1 that meet at the kinks. */
static bool
is_bent_line(const clarke_pieces *p)
{
  bool is = p->slope == CLARKE_NONE;
  mpq_t left, right;

  mpq_init(left);
  mpq_init(right);
  for (size_t k = 0; k <= p->n_kinks; k++)
    is = is && mpq_sgn(p->coef[k][2]) == 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    mpq_mul(left, p->coef[k][1], p->kink[k]);
    mpq_add(left, left, p->coef[k][0]);
    mpq_mul(right, p->coef[k + 1][1], p->kink[k]);
    mpq_add(right, right, p->coef[k + 1][0]);
    is = is && mpq_equal(left, right);
  }
  mpq_clear(left);
  mpq_clear(right);
  return is;
}

/* All points where the instruction's side may change. */
static clarke_status
cut_at(clarke_course *c, size_t i, clarke_error *err)
{
  const clarke_instruction *in = &c->p->instruction[i];
  clarke_status status = CLARKE_OK;

  if (in->kind == CLARKE_DO_PIECEWISE) {
    if (!is_bent_line(in->pieces))
      return refuse(c, i, err);
    for (size_t k = 0; k < in->pieces->n_kinks && status == CLARKE_OK; k++)
      status = cut(c, in->in[0], NULL, in->pieces->kink[k], err);
    return status;
  }
  for (size_t a = 0; in->kind == CLARKE_DO_ORDER && a < in->n_in; a++)
    for (size_t b = 0; b < a && status == CLARKE_OK; b++)
      status = cut(c, in->in[a], &in->in[b], NULL, err);
  return status;
}

/* y = coefficient x + constant, of moving numbers */
static void
piece_value(clarke_course *c, mpq_t *y, const clarke_pieces *p, mpq_t *x)
{
  size_t piece = 0;

  while (piece < p->n_kinks && compare(c, x, NULL, p->kink[piece]) > 0)
    piece++;
  for (size_t part = 0; part < 2; part++)
    mpq_mul(y[part], p->coef[piece][1], x[part]);
  mpq_add(y[0], y[0], p->coef[piece][0]);
}

/* The rank-th largest. */
static void
order_value(clarke_course *c, mpq_t *y, const clarke_instruction *in, size_t k)
{
  for (size_t a = 0; a < in->n_in; a++) {
    mpq_t *x = clarke_moving(c->value[in->in[a]].x, k);
    size_t above = 0, level = 0;

    for (size_t b = 0; b < in->n_in; b++) {
      const int sign = compare(c, clarke_moving(c->value[in->in[b]].x, k), x, NULL);

      above += sign > 0;
      level += sign == 0;
    }
    if (above < in->rank && in->rank <= above + level) {
      mpq_set(y[0], x[0]);
      mpq_set(y[1], x[1]);
      return;
    }
  }
}

static void
linear_value(const clarke_course *c, mpq_t *y, const clarke_instruction *in, size_t k)
{
  mpq_t x;

  mpq_init(x);
  mpq_set(y[0], in->coef[in->n_in]);
  for (size_t a = 0; a < in->n_in; a++)
    for (size_t part = 0; part < 2; part++) {
      mpq_mul(x, in->coef[a], clarke_moving(c->value[in->in[a]].x, k)[part]);
      mpq_add(y[part], y[part], x);
    }
  mpq_clear(x);
}

/* The instruction's values, behind its cuts. Inputs have theirs. */
static clarke_status
compute(clarke_course *c, size_t i, clarke_error *err)
{
  const clarke_instruction *in = &c->p->instruction[i];
  clarke_status status = cut_at(c, i, err);

  if (status != CLARKE_OK || in->kind == CLARKE_DO_INPUT)
    return status;
  if (in->kind != CLARKE_DO_CONSTANT && in->kind != CLARKE_DO_LINEAR && in->kind != CLARKE_DO_PIECEWISE && in->kind != CLARKE_DO_ORDER)
    return refuse(c, i, err);
  status = reserve(&c->value[i], c->n, err);
  for (size_t k = 0; k < c->n && status == CLARKE_OK; k++) {
    mpq_t *y = clarke_moving(c->value[i].x, k);

    switch (in->kind) {
    case CLARKE_DO_CONSTANT:
      mpq_set(y[0], in->coef[0]);
      break;
    case CLARKE_DO_LINEAR:
      linear_value(c, y, in, k);
      break;
    case CLARKE_DO_PIECEWISE:
      piece_value(c, y, in->pieces, clarke_moving(c->value[in->in[0]].x, k));
      break;
    default:
      order_value(c, y, in, k);
    }
  }
  return status;
}

clarke_status
clarke_course_run(clarke_course *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->p->n && status == CLARKE_OK; i++) {
    c->done = i;
    status = compute(c, i, err);
  }
  return status;
}
