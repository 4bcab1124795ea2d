/* Normalizations of the gradient, forward and back, in pairs of doubles (docs/gradient.md). Let x be the entries of a group, m of
 * them, c = x - mean, d = sqrt(mean of c^2 + epsilon), y = c / d. */
#include "network/derive/gradient/back_fixed.h"

#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

/* A NORMALIZE step at work. Groups are (group, column): one column for all samples where they are coupled. */
typedef struct {
  clarke_gradient_pass *p;
  const clarke_step *s;
  size_t columns, width; /* a column's samples: width of them */
  double m;              /* entries of a group */
  double gamma, unit;    /* what a mean over one takes; an operation that ends in y */
  double *zero, *drop;   /* `width` numbers: low parts of what has none, read and written */
} normalizing;

/* Sums of a group that are made side by side. */
#define SIDE_BY_SIDE 8

/* They, by parts (pair.h). */
typedef struct {
  double first[SIDE_BY_SIDE], second[SIDE_BY_SIDE], third[SIDE_BY_SIDE];
} long_sums;

/* A number for each. */
static inline void
add_block(long_sums *restrict to, const double *restrict x)
{
  for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
    const clarke_pair a = clarke_two_sum(to->first[k], x[k]), b = clarke_two_sum(to->second[k], a.low);

    to->first[k] = a.high;
    to->second[k] = b.high;
    to->third[k] += b.low;
  }
}

/* The next numbers of a row, zeros behind its end; how many there are. */
static inline size_t
take_block(double *restrict block, const double *restrict x, size_t i, size_t n)
{
  const size_t len = n - i < SIDE_BY_SIDE ? n - i : SIDE_BY_SIDE;

  if (len == SIDE_BY_SIDE)
    memcpy(block, x + i, SIDE_BY_SIDE * sizeof *block);
  else
    memcpy(block, x + i, len * sizeof *block);
  return len;
}

/* At least what a mean of m pairs takes of the mean of their sizes: of their sum (pair.h), and a few operations more. */
static double
gamma_of_mean(double m)
{
  const double n = 2 * m + 3 * SIDE_BY_SIDE;

  return clarke_up_by(16 * CLARKE_PAIR_UNIT + n * n * n * 0x1p-157, 0x1p32);
}

static normalizing
normalizing_of(clarke_gradient_pass *p, const clarke_step *s)
{
  const double unit = clarke_unit_of(&p->value[s->out]);
  const size_t columns = s->grouping.couples ? 1 : p->n, m = clarke_step_group_size(s, p->n);

  return (normalizing){p, s, columns, p->n / columns, (double)m, gamma_of_mean((double)m), unit, NULL, NULL};
}

static clarke_status
make_room(normalizing *q)
{
  q->zero = calloc(q->width + 1, sizeof *q->zero);
  q->drop = calloc(q->width + 1, sizeof *q->drop);
  return q->zero != NULL && q->drop != NULL ? CLARKE_OK : clarke_no_memory(q->p->err);
}

static void
drop_room(normalizing *q)
{
  free(q->zero);
  free(q->drop);
}

/* A row's low parts, to be read, and to be written. */
static const double *
low_of(const normalizing *q, const clarke_normed *v, size_t at)
{
  return v->low != NULL ? v->low + at : q->zero;
}

static double *
low_to(const normalizing *q, const clarke_normed *v, size_t at)
{
  return v->low != NULL ? v->low + at : q->drop;
}

/* Calls `go` for each row of a group: `width` entries from `at` on. */
static void
each_row(const normalizing *q, size_t group, size_t column, void (*go)(const normalizing *, size_t at, void *), void *context)
{
  for (size_t b = 0; b < q->s->grouping.blocks; b++)
    for (size_t i = 0; i < q->s->grouping.length; i++)
      go(q, clarke_group_row(q->s, b, group, i) * q->p->n + column * q->width, context);
}

static clarke_pair
minus(clarke_pair x)
{
  return (clarke_pair){-x.high, -x.low};
}

/* x / m: a pair's quotient is off by a few units. */
static clarke_pair
divided(clarke_pair x, double m)
{
  const double high = x.high / m;
  const clarke_pair back = clarke_two_product(high, m);
  const double rest = ((x.high - back.high) - back.low + x.low) / m;

  return clarke_two_sum_fast(high, rest);
}

/* The mean of m numbers, whose sums were made side by side. */
static clarke_pair
mean_of(const long_sums *sums, double m)
{
  clarke_long_sum sum[SIDE_BY_SIDE];

  for (size_t k = 0; k < SIDE_BY_SIDE; k++)
    sum[k] = (clarke_long_sum){sums->first[k], sums->second[k], sums->third[k]};
  clarke_long_sum_join(sum, SIDE_BY_SIDE);
  return divided(clarke_long_sum_pair(sum), m);
}

/* --- forward --------------------------------------------------------------------------------- */

typedef struct {
  long_sums sum, squares;
  clarke_pair mean, factor;
  double absolute[SIDE_BY_SIDE]; /* sums of |x| */
} moments;

CLARKE_WIDE static void
add_row(long_sums *restrict to, double *restrict absolute, const double *restrict x, const double *restrict low, size_t n)
{
  for (size_t i = 0, len; i < n; i += len) {
    double a[SIDE_BY_SIDE] = {0}, b[SIDE_BY_SIDE] = {0};

    len = take_block(a, x, i, n);
    take_block(b, low, i, n);
    add_block(to, a);
    add_block(to, b);
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
      absolute[k] += fabs(a[k]);
  }
}

static void
add_up(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *x = &q->p->value[q->s->in[0].value];
  moments *to = context;

  add_row(&to->sum, to->absolute, x->at + at, low_of(q, x, at), q->width);
}

static inline void
square_block(double *restrict a, double *restrict b)
{
  for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
    const clarke_pair square = clarke_pair_multiply((clarke_pair){a[k], b[k]}, (clarke_pair){a[k], b[k]});

    a[k] = square.high;
    b[k] = square.low;
  }
}

CLARKE_WIDE static void
centre_row(long_sums *restrict squares, double *restrict y, double *restrict y_low, const double *restrict x,
           const double *restrict low, double mean, double mean_low, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair c = clarke_pair_add((clarke_pair){x[i], low[i]}, (clarke_pair){mean, mean_low});

    y[i] = c.high;
    y_low[i] = c.low;
  }
  for (size_t i = 0, len; i < n; i += len) {
    double a[SIDE_BY_SIDE] = {0}, b[SIDE_BY_SIDE] = {0};

    len = take_block(a, y, i, n);
    take_block(b, y_low, i, n);
    square_block(a, b);
    add_block(squares, a);
    add_block(squares, b);
  }
}

/* y becomes c for now, and squares their sum. */
static void
centre(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *x = &q->p->value[q->s->in[0].value];
  const clarke_normed *y = &q->p->value[q->s->out];
  moments *to = context;

  centre_row(&to->squares, y->at + at, low_to(q, y, at), x->at + at, low_of(q, x, at), -to->mean.high, -to->mean.low, q->width);
}

CLARKE_WIDE static void
divide_row(double *restrict y, double *restrict low, double factor, double factor_low, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const clarke_pair of = clarke_pair_multiply((clarke_pair){factor, factor_low}, (clarke_pair){y[i], low[i]});

    y[i] = of.high;
    low[i] = of.low;
  }
}

static void
divide(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *y = &q->p->value[q->s->out];
  const moments *of = context;

  if (y->low == NULL)
    memset(q->drop, 0, q->width * sizeof *q->drop);
  divide_row(y->at + at, low_to(q, y, at), of->factor.high, of->factor.low, q->width);
}

/* 1 / sqrt(v + epsilon), and sqrt(v + epsilon) as a double. */
static clarke_pair
root_factor(double *d, clarke_pair v, const mpq_t epsilon)
{
  clarke_pair factor;
  mpq_t sum, low;

  mpq_inits(sum, low, NULL);
  mpq_set_d(sum, v.high);
  mpq_set_d(low, v.low);
  mpq_add(sum, sum, low);
  mpq_add(sum, sum, epsilon);
  if (mpq_sgn(sum) <= 0) /* squares' sum has no error of more than a small part of it */
    mpq_set(sum, epsilon);
  *d = sqrt(mpq_get_d(sum));
  factor = clarke_pair_of_root(sum);
  mpq_clears(sum, low, NULL);
  return factor;
}

/* What a group's bounds become: of y's errors, with e the norm of x's. */
typedef struct {
  double steepest; /* 1 / d */
  double rounded;  /* the norm of what rounding takes from y */
  double turned;   /* of 1 / d, relative */
} group_bounds;

static double
absolute_of(const moments *of)
{
  double sum = 0;

  for (size_t k = 0; k < SIDE_BY_SIDE; k++)
    sum += of->absolute[k];
  return sum;
}

/* The mean is off by E = gamma mean |x|, c by E + 2 units of |c|. So d, the norm of (c / sqrt(m), sqrt(epsilon)), is off by
 * D = E + 2 gamma d; and y = c / d by (E + 2 units |c| + |y| D) / d + 8 units |y|, |y| having a norm of at most sqrt(m). */
static group_bounds
bounds_of(const normalizing *q, const moments *of, double d, double e)
{
  const double root = sqrt(q->m), mean = q->gamma * absolute_of(of) / q->m, off = mean + 2 * q->gamma * d;
  const double epsilon = clarke_down_by(sqrt(mpq_get_d(q->s->epsilon)), 0x1p12);
  const double least = fmax(clarke_down_by(d, 0x1p12) - off - e / root, epsilon), least_here = fmax(clarke_down_by(d, 0x1p12) - off, epsilon);
  group_bounds b = {.steepest = clarke_bound_up(1 / least)};

  b.rounded = clarke_bound_up(root * ((mean + 2 * q->unit * d * 2 + off) / least_here + 8 * q->unit * 2));
  b.turned = clarke_bound_up(e / root / least_here);
  return b;
}

static clarke_status
allocate(clarke_normalized *to, const normalizing *q)
{
  to->factor = calloc(q->s->grouping.groups * q->columns + 1, sizeof *to->factor);
  return to->factor != NULL ? CLARKE_OK : clarke_no_memory(q->p->err);
}

/* A group: its y, and what its bounds become. *relative, steepest and y's squared error grow. */
static void
forward_group(const normalizing *q, size_t g, size_t c, double *relative)
{
  clarke_gradient_pass *p = q->p;
  clarke_normalized *to = &p->normalized[q->s - p->g->steps];
  const size_t lane = p->lanes == 1 ? 0 : c;
  moments of = {.absolute = {0}};
  clarke_pair squares;
  group_bounds b;
  double d;

  each_row(q, g, c, add_up, &of);
  of.mean = mean_of(&of.sum, q->m);
  each_row(q, g, c, centre, &of);
  squares = mean_of(&of.squares, q->m);
  p->lost = p->lost || !isfinite(squares.high) || !isfinite(squares.low);
  if (p->lost)
    return;
  of.factor = to->factor[g * q->columns + c] = root_factor(&d, squares, q->s->epsilon);
  each_row(q, g, c, divide, &of);
  b = bounds_of(q, &of, d, p->seen != NULL ? 0 : p->value[q->s->in[0].value].error[lane]); /* a look needs no bound */
  to->steepest = fmax(to->steepest, b.steepest);
  *relative = fmax(*relative, b.turned);
  p->value[q->s->out].error[lane] += b.rounded * b.rounded;
}

clarke_status
clarke_normalized_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  normalizing q = normalizing_of(p, s);
  double relative = 0;
  clarke_status status = make_room(&q);

  if (status == CLARKE_OK)
    status = allocate(&p->normalized[s - p->g->steps], &q);
  for (size_t c = 0; c < q.columns && status == CLARKE_OK; c++)
    for (size_t g = 0; g < s->grouping.groups && !p->lost; g++)
      forward_group(&q, g, c, &relative);
  drop_room(&q);
  if (status == CLARKE_OK && !p->lost)
    clarke_normalized_settle(p, s, relative);
  return status;
}

void
clarke_normalized_settle(clarke_gradient_pass *p, const clarke_step *s, double relative)
{
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normalized *to = &p->normalized[s - p->g->steps];
  clarke_normed *y = &p->value[s->out];
  double most = 0;

  for (size_t j = 0; j < p->lanes; j++) {
    y->error[j] = clarke_bound_up(to->steepest * x->error[j] + sqrt(clarke_bound_up(y->error[j])));
    most = fmax(most, y->error[j]);
  }
  /* the derivative is (I - 1 1^T / m - y y^T / m) / d: 1 / d is off by a part, and y by a norm of at most `most` */
  if (p->seen != NULL)
    p->seen->steepest[s - p->g->steps] = to->steepest;
  to->turned = clarke_bound_up(to->steepest * (relative + 2 * most / sqrt((double)clarke_step_group_size(s, p->n))));
}

/* --- back ------------------------------------------------------------------------------------ */

typedef struct {
  long_sums g, gy;
  clarke_pair sum, product, factor; /* their means; 1 / d */
} slopes;

static inline void
multiply_block(double *restrict a, double *restrict b, const double *restrict c, const double *restrict d)
{
  for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
    const clarke_pair of = clarke_pair_multiply((clarke_pair){a[k], b[k]}, (clarke_pair){c[k], d[k]});

    a[k] = of.high;
    b[k] = of.low;
  }
}

CLARKE_WIDE static void
slope_row(long_sums *restrict sum, long_sums *restrict product, const double *restrict g, const double *restrict g_low,
          const double *restrict y, const double *restrict y_low, size_t n)
{
  for (size_t i = 0, len; i < n; i += len) {
    double a[SIDE_BY_SIDE] = {0}, b[SIDE_BY_SIDE] = {0}, c[SIDE_BY_SIDE] = {0}, d[SIDE_BY_SIDE] = {0};

    len = take_block(a, g, i, n);
    take_block(b, g_low, i, n);
    take_block(c, y, i, n);
    take_block(d, y_low, i, n);
    add_block(sum, a);
    add_block(sum, b);
    multiply_block(a, b, c, d);
    add_block(product, a);
    add_block(product, b);
  }
}

static void
add_slopes(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *g = &q->p->grad[q->s->out], *y = &q->p->value[q->s->out];
  slopes *to = context;

  slope_row(&to->g, &to->gy, g->at + at, low_of(q, g, at), y->at + at, low_of(q, y, at), q->width);
}

CLARKE_WIDE static void
turn_row(double *restrict x, double *restrict x_low, const double *restrict g, const double *restrict g_low,
         const double *restrict y, const double *restrict y_low, const slopes *restrict of, size_t n)
{
  const clarke_pair sum = of->sum, product = of->product, factor = of->factor;

  for (size_t i = 0; i < n; i++) {
    const clarke_pair rest = clarke_pair_add((clarke_pair){g[i], g_low[i]}, sum);
    const clarke_pair turned = clarke_pair_add(rest, clarke_pair_multiply(product, (clarke_pair){y[i], y_low[i]}));
    const clarke_pair all = clarke_pair_add((clarke_pair){x[i], x_low[i]}, clarke_pair_multiply(factor, turned));

    x[i] = all.high;
    x_low[i] = all.low;
  }
}

/* (g - mean g - y mean (g y)) / d */
static void
turn_back(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *g = &q->p->grad[q->s->out], *y = &q->p->value[q->s->out], *x = &q->p->grad[q->s->in[0].value];

  if (x->low == NULL)
    memset(q->drop, 0, q->width * sizeof *q->drop);
  turn_row(x->at + at, low_to(q, x, at), g->at + at, low_of(q, g, at), y->at + at, low_of(q, y, at), context, q->width);
}

/* Each of the two means, times 1 or y, has a norm of at most that of g, and is off by gamma of it, y having a norm of sqrt(m). */
clarke_status
clarke_normalized_back(clarke_gradient_pass *p, const clarke_step *s)
{
  normalizing q = normalizing_of(p, s);
  const clarke_normalized *of = &p->normalized[s - p->g->steps];
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  if (p->grad[s->out].fixed.limb != NULL)
    return clarke_normalized_back_fixed(p, s);
  status = clarke_note_operand(p, s, &p->grad[s->out], of->steepest, clarke_bound_up(4 * q.gamma * of->steepest + of->turned), 0);
  if (status == CLARKE_OK)
    status = make_room(&q);
  for (size_t c = 0; c < q.columns && status == CLARKE_OK; c++)
    for (size_t g = 0; g < s->grouping.groups; g++) {
      slopes back = {.factor = of->factor[g * q.columns + c]};

      each_row(&q, g, c, add_slopes, &back);
      back.sum = minus(mean_of(&back.g, q.m));
      back.product = minus(mean_of(&back.gy, q.m));
      each_row(&q, g, c, turn_back, &back);
    }
  drop_room(&q);
  return status;
}
