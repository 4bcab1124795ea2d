/* NORMALIZE steps, both ways, in doubles (sieve_entries.c): y = (x - m) / r, m the mean of a group's N entries and r^2 its variance + epsilon.
 *
 * With u = 2^-53, and A the mean of |x|: the sum of N doubles is off by N u of the sum of their absolute values (Higham, Lemma 3.1), so m is off by
 * d = (N + 4) u A. The root mean square of x - m' is that of x - m but for |m' - m|, as a norm is, and lies within (N + 8) u of itself when
 * it is made of squares. sqrt(s^2 + epsilon) moves by no more than s does. So r is off by d + (N + 16) u r, and y by
 * (d + 2 u |x - m|) / r and |y| of what r is off by in parts of itself, each a little enlarged. The bounds are those of rounding_normalize.c. */
#include "trace/sieve.h"

#include <math.h>
#include <stdlib.h>

#define SPARE 16

typedef struct clarke_sieve_group {
  double mean, size, square; /* means of x, |x|, x^2 */
  double mean_off;
  double root, root_off; /* the latter in parts of the root */
  double share, middle;  /* of the exact pass: what the root, and the mean, may be off by */
  /* of the way back: means of g and of g y; of their absolute values; what the former are off by; of g's errors, and those of products */
  double gradient, product, size_of_gradient, size_of_product, gradient_off, product_off, gradient_may, product_may;
} group;

/* Entry i of a group's run, of length x n numbers: all of one group, or each sample's of its own. */
static inline group *
group_at(group *first, const clarke_step *step, size_t n, size_t i)
{
  return step->grouping.couples || n == 1 ? first : first + i % n;
}

static size_t
lanes(const clarke_sieve *s, const clarke_step *step)
{
  return step->grouping.couples ? 1 : s->n;
}

static void
sum_up(group *all, const clarke_sieve *s, const clarke_step *step, const float *x)
{
  const size_t run = step->grouping.length * s->n;

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &all[q % step->grouping.groups * lanes(s, step)];

    for (size_t i = 0; i < run; i++) {
      group *g = group_at(first, step, s->n, i);

      g->mean += (double)x[q * run + i];
      g->size += fabs((double)x[q * run + i]);
    }
  }
}

static void
add_squares(group *all, const clarke_sieve *s, const clarke_step *step, const float *x)
{
  const size_t run = step->grouping.length * s->n;

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &all[q % step->grouping.groups * lanes(s, step)];

    for (size_t i = 0; i < run; i++) {
      group *g = group_at(first, step, s->n, i);
      const double d = (double)x[q * run + i] - g->mean;

      g->square += d * d;
    }
  }
}

static void
measure(group *g, clarke_sieve *s, double epsilon, double members)
{
  const double variance = g->square / members, spread = sqrt(variance);

  g->mean_off = clarke_taken(members + 4, g->size);
  g->root = sqrt(variance + epsilon);
  g->root_off = (g->mean_off + clarke_taken(members + 16, g->root + spread)) / g->root;
  g->square = variance + g->mean * g->mean;
  g->share = clarke_sieve_gamma(s, 2 * members + SPARE) * 2 * g->square / (g->root * g->root) + SPARE * s->c->by.unit;
  g->middle = clarke_sieve_gamma(s, members + SPARE) * g->size;
  /* so that a twentieth makes up for all that is divided by a root that is off */
  s->open = s->open || !(g->root_off < 0x1p-20) || !(g->share < 0.25) || !(g->square < 0x1p100);
}

/* Moments of all groups. */
static bool
take_moments(group **of, clarke_sieve *s, const clarke_step *step, const float *x)
{
  const size_t number = step->grouping.groups * lanes(s, step);
  const double members = (double)clarke_step_group_size(step, s->n), epsilon = mpq_get_d(step->epsilon);
  group *all = clarke_sieve_take(s, number * sizeof *all);

  *of = all;
  if (all == NULL)
    return false;
  for (size_t i = 0; i < number; i++)
    all[i] = (group){0};
  sum_up(all, s, step, x);
  for (size_t i = 0; i < number; i++) {
    all[i].mean /= members;
    all[i].size /= members;
  }
  add_squares(all, s, step, x);
  for (size_t i = 0; i < number; i++)
    measure(&all[i], s, epsilon, members);
  return true;
}

static void
normalize_entry(clarke_sieved *y, const group *g, size_t e, double x, double gamma)
{
  const double apart = x - g->mean, size = fabs(x) + g->size, off = (g->mean_off + clarke_taken(2, fabs(apart))) / g->root;
  const double own = apart / g->root, least = fmax(fabs(own) * (1 - 2 * g->root_off) - 2 * off, 0);

  y->near[e] = own;
  y->off[e] = 1.25 * off + fabs(own) * (1.25 * g->root_off + clarke_taken(4, 1)) + (size > 0 ? CLARKE_SIEVE_LEAST : 0);
  y->may[e] = (g->middle + gamma * size) * (1 + g->share) / g->root + least * g->share + gamma * (least + size / g->root);
}

clarke_status
clarke_sieve_normalize(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t count = s->g->values[step->out].count, run = step->grouping.length * s->n, i = (size_t)(step - s->g->steps);
  const float *x = s->value[step->in[0].value].exact;
  const double gamma = clarke_sieve_gamma(s, SPARE);
  clarke_sieved *y = &s->value[step->out];

  s->open = s->open || x == NULL || step->in[0].map != NULL || step->in[0].coef != 1;
  if (s->open)
    return CLARKE_OK;
  if (!take_moments(&s->group[i], s, step, x) || !clarke_sieve_begin_entries(s, y, count * s->n))
    return clarke_no_memory(err);
  y->enclosed = true;
  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &s->group[i][q % step->grouping.groups * lanes(s, step)];

    for (size_t k = 0; k < run; k++)
      normalize_entry(y, group_at(first, step, s->n, k), q * run + k, (double)x[q * run + k], gamma);
  }
  clarke_sieve_check_sizes(s, y, count * s->n);
  return CLARKE_OK;
}

/* --- back: (g - mean g - y mean (g y)) / r --- */

typedef struct {
  clarke_sieve *s;
  const clarke_step *step;
  clarke_sieve_numbers g, y;
  group *all;
  double gamma, members; /* of the exact pass's roundings */
} back;

static void
sum_entry(group *of, const back *b, size_t e)
{
  const double g = clarke_sieve_near(&b->g, e), y = b->y.near[e], g_off = clarke_sieve_off(&b->g, e), y_off = b->y.off[e];
  const double size = clarke_sieve_size(&b->g, e), size_of_y = clarke_sieve_size(&b->y, e), may = clarke_sieve_may(&b->g, e);

  of->gradient += g;
  of->product += g * y;
  of->size_of_gradient += fabs(g);
  of->size_of_product += fabs(g * y);
  of->gradient_off += g_off;
  of->product_off += fabs(g) * y_off + g_off * (fabs(y) + y_off);
  of->gradient_may += may;
  of->product_may += size_of_y * may + b->y.may[e] * size;
}

/* Sums become means. What they are off by: N + 4 roundings of the absolute values', and what their terms are off by. */
static void
divide(group *g, double members)
{
  g->gradient /= members;
  g->product /= members;
  g->size_of_gradient /= members;
  g->size_of_product /= members;
  g->gradient_off = 1.01 * (g->gradient_off / members) + clarke_taken(members + 4, g->size_of_gradient);
  g->product_off = 1.01 * (g->product_off / members) + clarke_taken(members + 4, g->size_of_product + g->product_off / members);
  g->gradient_may /= members;
  g->product_may /= members;
}

static void
give_entry(clarke_sieved *to, const back *b, const group *of, size_t e)
{
  const double g = clarke_sieve_near(&b->g, e), y = b->y.near[e], g_off = clarke_sieve_off(&b->g, e), y_off = b->y.off[e];
  const double size_of_y = clarke_sieve_size(&b->y, e), top = size_of_y + b->y.may[e];
  const double taken = y * of->product, whole = g - of->gradient - taken;
  const double off = g_off + of->gradient_off + (fabs(y) + y_off) * of->product_off + y_off * fabs(of->product)
                     + clarke_taken(6, fabs(g) + fabs(of->gradient) + fabs(taken));
  /* means of sizes, less what they are off by */
  const double first = fmax(of->size_of_gradient - of->gradient_off, 0), second = fmax(of->size_of_product - of->product_off, 0);
  const double mass = clarke_sieve_size(&b->g, e) + clarke_sieve_may(&b->g, e) + first + top * second;
  const double apart = clarke_sieve_may(&b->g, e) + of->gradient_may + top * of->product_may + b->y.may[e] * second + b->gamma * mass;

  b->s->open = b->s->open || !(mass < 0x1p60); /* no product of means overflows in float32 */
  clarke_sieve_join(to, e, whole / of->root,
                    1.25 * (off + fabs(whole) * (of->root_off + CLARKE_UNIT)) / of->root + (off > 0 ? CLARKE_SIEVE_LEAST : 0),
                    (apart * (1 + of->share) + mass * of->share) / of->root, mass / of->root);
}

static void
each_entry(const back *b, clarke_sieved *to)
{
  const clarke_step *step = b->step;
  const size_t run = step->grouping.length * b->s->n;

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &b->all[q % step->grouping.groups * lanes(b->s, step)];

    for (size_t k = 0; k < run; k++)
      if (to == NULL)
        sum_entry(group_at(first, step, b->s->n, k), b, q * run + k);
      else
        give_entry(to, b, group_at(first, step, b->s->n, k), q * run + k);
  }
}

clarke_status
clarke_sieve_normalize_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t value = step->in[0].value;
  back b = {.s = s, .step = step, .all = s->group[step - s->g->steps], .members = (double)clarke_step_group_size(step, s->n)};
  clarke_sieved *to = &s->grad[value];

  if (!s->carries[value])
    return CLARKE_OK;
  b.gamma = clarke_sieve_gamma(s, 2 * b.members + SPARE);
  s->open = s->open || s->value[step->out].exact != NULL; /* it has a record of its own */
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&b.g, s, step->out) || !clarke_sieve_read(&b.y, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[value].count, s->n))
    return clarke_no_memory(err);
  each_entry(&b, NULL);
  for (size_t i = 0; i < step->grouping.groups * lanes(s, step); i++)
    divide(&b.all[i], b.members);
  each_entry(&b, to);
  to->enclosed = true;
  to->terms += 1;
  to->parts += 2;
  clarke_sieve_check_sizes(s, to, s->g->values[value].count * s->n);
  return CLARKE_OK;
}
