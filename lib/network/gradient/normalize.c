/* Normalizations of the gradient, forward and back, in pairs of doubles (docs/gradient.md). Let x be the entries of a group, m of
 * them, c = x - mean, d = sqrt(mean of c^2 + epsilon), y = c / d. */
#include "network/gradient/back_fixed.h"

#include <stdlib.h>
#include <string.h>

/* A NORMALIZE step at work. Groups are (group, column): one column for all samples where they are coupled. */
typedef struct {
  clarke_descent *p;
  const clarke_step *s;
  size_t columns, width; /* a column's samples: width of them */
  double m;              /* entries of a group */
  double gamma, unit;    /* what a mean over one takes; an operation that ends in y */
} normalizing;

/* Sums of a group that are made side by side. */
#define SIDE_BY_SIDE 4

/* At least what a mean of m pairs takes of the mean of their sizes: of their sum (pair.h), and a few operations more. */
static double
gamma_of_mean(double m)
{
  const double n = 2 * m + 3 * SIDE_BY_SIDE;

  return (16 * CLARKE_PAIR_UNIT + n * n * n * 0x1p-157) * (1 + 0x1p-20);
}

static normalizing
normalizing_of(clarke_descent *p, const clarke_step *s)
{
  const double unit = clarke_unit_of(&p->value[s->out]);
  const size_t columns = s->grouping.couples ? 1 : p->n, m = clarke_step_group_size(s, p->n);

  return (normalizing){p, s, columns, p->n / columns, (double)m, gamma_of_mean((double)m), unit};
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

/* Of m numbers, whose sums were made side by side. */
static clarke_pair
mean_of(clarke_long_sum *sum, double m)
{
  clarke_long_sum_join(sum, SIDE_BY_SIDE);
  return divided(clarke_long_sum_pair(sum), m);
}

/* --- forward --------------------------------------------------------------------------------- */

typedef struct {
  clarke_long_sum sum[SIDE_BY_SIDE], squares[SIDE_BY_SIDE];
  clarke_pair mean, factor;
  double absolute; /* the sum of |x| */
} moments;

static void
add_up(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *x = &q->p->value[q->s->in[0].value];
  moments *to = context;

  for (size_t j = at; j < at + q->width; j++) {
    clarke_long_sum_add(&to->sum[j % SIDE_BY_SIDE], clarke_normed_get(x, j));
    to->absolute += fabs(x->at[j]);
  }
}

/* y becomes c for now, and squares their sum. */
static void
centre(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *x = &q->p->value[q->s->in[0].value];
  clarke_normed *y = &q->p->value[q->s->out];
  moments *to = context;

  for (size_t j = at; j < at + q->width; j++) {
    const clarke_pair c = clarke_pair_add(clarke_normed_get(x, j), minus(to->mean));

    clarke_normed_put(y, j, c);
    clarke_long_sum_add(&to->squares[j % SIDE_BY_SIDE], clarke_pair_multiply(c, c));
  }
}

static void
divide(const normalizing *q, size_t at, void *context)
{
  clarke_normed *y = &q->p->value[q->s->out];
  const moments *of = context;

  for (size_t j = at; j < at + q->width; j++)
    clarke_normed_put(y, j, clarke_pair_multiply(of->factor, clarke_normed_get(y, j)));
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

/* The mean is off by E = gamma mean |x|, c by E + 2 units of |c|. So d, the norm of (c / sqrt(m), sqrt(epsilon)), is off by
 * D = E + 2 gamma d; and y = c / d by (E + 2 units |c| + |y| D) / d + 8 units |y|, |y| having a norm of at most sqrt(m). */
static group_bounds
bounds_of(const normalizing *q, const moments *of, double d, double e)
{
  const double root = sqrt(q->m), mean = q->gamma * of->absolute / q->m, off = mean + 2 * q->gamma * d;
  const double epsilon = sqrt(mpq_get_d(q->s->epsilon)) * (1 - 0x1p-40);
  const double least = fmax(d * (1 - 0x1p-40) - off - e / root, epsilon), least_here = fmax(d * (1 - 0x1p-40) - off, epsilon);
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

clarke_status
clarke_normalized_forward(clarke_descent *p, const clarke_step *s)
{
  const normalizing q = normalizing_of(p, s);
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normalized *to = &p->normalized[s - p->g->steps];
  clarke_normed *y = &p->value[s->out];
  double relative = 0;

  if (allocate(to, &q) != CLARKE_OK)
    return CLARKE_ENOMEM;
  for (size_t c = 0; c < q.columns; c++)
    for (size_t g = 0; g < s->grouping.groups; g++) {
      const size_t lane = p->lanes == 1 ? 0 : c;
      moments of = {.absolute = 0};
      clarke_pair squares;
      group_bounds b;
      double d;

      each_row(&q, g, c, add_up, &of);
      of.mean = mean_of(of.sum, q.m);
      each_row(&q, g, c, centre, &of);
      squares = mean_of(of.squares, q.m);
      p->lost = p->lost || !isfinite(squares.high) || !isfinite(squares.low);
      if (p->lost)
        return CLARKE_OK;
      of.factor = to->factor[g * q.columns + c] = root_factor(&d, squares, s->epsilon);
      each_row(&q, g, c, divide, &of);
      b = bounds_of(&q, &of, d, p->seen != NULL ? 0 : x->error[lane]); /* a look needs no bound */
      to->steepest = fmax(to->steepest, b.steepest);
      relative = fmax(relative, b.turned);
      y->error[lane] += b.rounded * b.rounded;
    }
  clarke_normalized_settle(p, s, relative);
  return CLARKE_OK;
}

void
clarke_normalized_settle(clarke_descent *p, const clarke_step *s, double relative)
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
  clarke_long_sum g[SIDE_BY_SIDE], gy[SIDE_BY_SIDE];
  clarke_pair sum, product, factor; /* their means; 1 / d */
} slopes;

static void
add_slopes(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *g = &q->p->grad[q->s->out], *y = &q->p->value[q->s->out];
  slopes *to = context;

  for (size_t j = at; j < at + q->width; j++) {
    clarke_long_sum_add(&to->g[j % SIDE_BY_SIDE], clarke_normed_get(g, j));
    clarke_long_sum_add(&to->gy[j % SIDE_BY_SIDE], clarke_pair_multiply(clarke_normed_get(g, j), clarke_normed_get(y, j)));
  }
}

/* (g - mean g - y mean (g y)) / d */
static void
turn_back(const normalizing *q, size_t at, void *context)
{
  const clarke_normed *g = &q->p->grad[q->s->out], *y = &q->p->value[q->s->out];
  clarke_normed *x = &q->p->grad[q->s->in[0].value];
  const slopes *of = context;

  for (size_t j = at; j < at + q->width; j++) {
    const clarke_pair rest = clarke_pair_add(clarke_normed_get(g, j), of->sum);

    clarke_normed_add(x, j, clarke_pair_multiply(of->factor, clarke_pair_add(rest, clarke_pair_multiply(
                                                                              of->product, clarke_normed_get(y, j)))));
  }
}

/* Each of the two means, times 1 or y, has a norm of at most that of g, and is off by gamma of it, y having a norm of sqrt(m). */
clarke_status
clarke_normalized_back(clarke_descent *p, const clarke_step *s)
{
  const normalizing q = normalizing_of(p, s);
  const clarke_normalized *of = &p->normalized[s - p->g->steps];
  clarke_status status = CLARKE_OK;

  if (!p->carries[s->in[0].value])
    return status;
  if (p->grad[s->out].fixed.limb != NULL)
    return clarke_normalized_back_fixed(p, s);
  status = clarke_note_operand(p, s, &p->grad[s->out], of->steepest, clarke_bound_up(4 * q.gamma * of->steepest + of->turned), 0);
  for (size_t c = 0; c < q.columns && status == CLARKE_OK; c++)
    for (size_t g = 0; g < s->grouping.groups; g++) {
      slopes back = {.factor = of->factor[g * q.columns + c]};

      each_row(&q, g, c, add_slopes, &back);
      back.sum = minus(mean_of(back.g, q.m));
      back.product = minus(mean_of(back.gy, q.m));
      each_row(&q, g, c, turn_back, &back);
    }
  return status;
}
