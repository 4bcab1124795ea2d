/* NORMALIZE steps, both ways, in doubles (sieve_entries.c): y = (x - m) / r, m the mean of a group's N entries and r^2 its variance + epsilon.
 *
 * With u = 2^-53, and A the mean of |x|: the sum of N doubles is off by N u of the sum of their absolute values (Higham, Lemma 3.1), so m is off by
 * d = (N + 4) u A. The root mean square of x - m' is that of x - m but for |m' - m|, as a norm is, and lies within (N + 8) u of itself when
 * it is made of squares. sqrt(s^2 + epsilon) moves by no more than s does. So r is off by d + (N + 16) u r, and y by
 * (d + 2 u |x - m|) / r and |y| of what r is off by in parts of itself, each a little enlarged. The bounds are those of rounding_normalize.c. */
#include "trace/certify/sieve_normalize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK CLARKE_SIEVE_CHUNK

typedef clarke_sieve_group group;

/* Sum i of the way back, in that order. */
static double *
sum_of(group *g, size_t i)
{
  double *const sum[] = {&g->gradient, &g->product, &g->size_of_gradient, &g->size_of_product,
                         &g->gradient_off, &g->product_off, &g->gradient_may, &g->product_may};

  return sum[i];
}

/* Groups side by side: each sample's own, or one of all. */
static size_t
lanes(const clarke_sieve *s, const clarke_step *step)
{
  return step->grouping.couples ? 1 : s->n;
}

/* Eight sums go side by side. */
CLARKE_WIDE static void
sum_run(group *g, const float *x, size_t n)
{
  double sum[8] = {0}, size[8] = {0};
  size_t i = 0;

  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; k++) {
      sum[k] += (double)x[i + k];
      size[k] += fabs((double)x[i + k]);
    }
  for (size_t k = 0; i < n; i++, k++) {
    sum[k] += (double)x[i];
    size[k] += fabs((double)x[i]);
  }
  for (size_t k = 0; k < 8; k++) {
    g->mean += sum[k];
    g->size += size[k];
  }
}

CLARKE_WIDE static void
square_run(group *g, const float *x, size_t n)
{
  const double mean = g->mean;
  double square[8] = {0};
  size_t i = 0;

  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; k++)
      square[k] += ((double)x[i + k] - mean) * ((double)x[i + k] - mean);
  for (size_t k = 0; i < n; i++, k++)
    square[k] += ((double)x[i] - mean) * ((double)x[i] - mean);
  for (size_t k = 0; k < 8; k++)
    g->square += square[k];
}

static void
sum_up(group *all, const clarke_sieve *s, const clarke_step *step, const float *x)
{
  const size_t run = step->grouping.length * s->n, across = lanes(s, step);

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &all[q % step->grouping.groups * across];

    if (across == 1)
      sum_run(first, x + q * run, run);
    for (size_t i = 0; across > 1 && i < run; i++) {
      first[i % across].mean += (double)x[q * run + i];
      first[i % across].size += fabs((double)x[q * run + i]);
    }
  }
}

static void
add_squares(group *all, const clarke_sieve *s, const clarke_step *step, const float *x)
{
  const size_t run = step->grouping.length * s->n, across = lanes(s, step);

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    group *first = &all[q % step->grouping.groups * across];

    if (across == 1)
      square_run(first, x + q * run, run);
    for (size_t i = 0; across > 1 && i < run; i++) {
      const double d = (double)x[q * run + i] - first[i % across].mean;

      first[i % across].square += d * d;
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
  g->share = clarke_sieve_gamma(s, 2 * members + CLARKE_SIEVE_SPARE_MOMENTS) * 2 * g->square / (g->root * g->root) + CLARKE_SIEVE_SPARE_MOMENTS * s->c->by.unit;
  g->middle = clarke_sieve_gamma(s, members + CLARKE_SIEVE_SPARE_MOMENTS) * g->size;
  /* so that a twentieth makes up for all that is divided by a root that is off */
  s->open = s->open || !(g->root_off < 0x1p-20) || !(g->share < 0.25) || !(g->square < 0x1p100);
}

bool
clarke_sieve_take_moments(group **of, clarke_sieve *s, const clarke_step *step, const float *x)
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

/* An entry normalized. */
typedef struct {
  double near, off, may;
} normal;

static inline normal
normalize_entry(const group *g, double x, double gamma)
{
  const double apart = x - g->mean, size = fabs(x) + g->size, off = (g->mean_off + clarke_taken(2, fabs(apart))) / g->root;
  const double own = apart / g->root, rest = fabs(own) * (1 - 2 * g->root_off) - 2 * off, least = rest > 0 ? rest : 0;

  return (normal){own, 1.25 * off + fabs(own) * (1.25 * g->root_off + clarke_taken(4, 1)) + (size > 0 ? CLARKE_SIEVE_LEAST : 0),
                  (g->middle + gamma * size) * (1 + g->share) / g->root + least * g->share + gamma * (least + size / g->root)};
}

CLARKE_WIDE static void
normalize_run(double *restrict near, double *restrict off, double *restrict may, const group *of, const float *restrict x, double gamma, size_t n)
{
  const group g = *of;

  for (size_t k = 0; k < n; k++) {
    const normal y = normalize_entry(&g, (double)x[k], gamma);

    near[k] = y.near;
    off[k] = y.off;
    may[k] = y.may;
  }
}

void
clarke_sieve_normalize_run(const clarke_sieve_sums *to, const group *of, const float *x, double gamma, size_t n)
{
  normalize_run(to->near, to->off, to->may, of, x, gamma, n);
}

/* The same where samples have groups of their own. */
static void
normalize_lanes(double *near, double *off, double *may, const group *first, size_t across, const float *x, double gamma, size_t n)
{
  for (size_t k = 0; k < n; k++) {
    const normal y = normalize_entry(&first[k % across], (double)x[k], gamma);

    near[k] = y.near;
    off[k] = y.off;
    may[k] = y.may;
  }
}

clarke_status
clarke_sieve_normalize(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t count = s->g->values[step->out].count, run = step->grouping.length * s->n, i = (size_t)(step - s->g->steps);
  const float *x = s->value[step->in[0].value].exact;
  const double gamma = clarke_sieve_gamma(s, CLARKE_SIEVE_SPARE_MOMENTS);
  clarke_sieved *y = &s->value[step->out];

  s->open = s->open || x == NULL || step->in[0].map != NULL || step->in[0].coef != 1;
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_take_moments(&s->group[i], s, step, x) || !clarke_sieve_begin_entries(s, y, count * s->n))
    return clarke_no_memory(err);
  y->enclosed = true;
  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++) {
    const size_t across = lanes(s, step), e = q * run;
    const group *first = &s->group[i][q % step->grouping.groups * across];

    if (across == 1)
      normalize_run(y->near + e, y->off + e, y->may + e, first, x + e, gamma, run);
    else
      normalize_lanes(y->near + e, y->off + e, y->may + e, first, across, x + e, gamma, run);
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
  double *room;          /* a line's, of CHUNK entries */
} back;

/* What entries add to the sums of their groups, in the order of `group`. */
typedef struct {
  double at[8][CHUNK];
} terms;

CLARKE_WIDE static void
find_terms(terms *restrict to, const clarke_sieve_line *of_gradient, const clarke_sieve_line *of_output, size_t n)
{
  const clarke_sieve_line g = *of_gradient, y = *of_output;

  for (size_t e = 0; e < n; e++) {
    const double rest = fabs(g.near[e]) - g.off[e], other = fabs(y.near[e]) - y.off[e];
    const double size = rest > 0 ? rest : 0, size_of_y = other > 0 ? other : 0;

    to->at[0][e] = g.near[e];
    to->at[1][e] = g.near[e] * y.near[e];
    to->at[2][e] = fabs(g.near[e]);
    to->at[3][e] = fabs(g.near[e] * y.near[e]);
    to->at[4][e] = g.off[e];
    to->at[5][e] = fabs(g.near[e]) * y.off[e] + g.off[e] * (fabs(y.near[e]) + y.off[e]);
    to->at[6][e] = g.may[e];
    to->at[7][e] = size_of_y * g.may[e] + y.may[e] * size;
  }
}

/* Eight sums go side by side. */
CLARKE_WIDE static double
sum_terms(const double *term, size_t n)
{
  double sum[8] = {0}, all = 0;
  size_t e = 0;

  for (; e + 8 <= n; e += 8)
    for (size_t k = 0; k < 8; k++)
      sum[k] += term[e + k];
  for (size_t k = 0; e < n; e++, k++)
    sum[k] += term[e];
  for (size_t k = 0; k < 8; k++)
    all += sum[k];
  return all;
}

static void
add_terms(group *first, size_t across, const terms *t, size_t from, size_t n)
{
  for (size_t i = 0; i < 8; i++) {
    if (across == 1)
      *sum_of(first, i) += sum_terms(t->at[i], n);
    for (size_t e = 0; across > 1 && e < n; e++)
      *sum_of(&first[(from + e) % across], i) += t->at[i][e];
  }
}

void
clarke_sieve_add_terms(group *to, const clarke_sieve_line *g, const clarke_sieve_line *y, size_t n)
{
  terms own;

  find_terms(&own, g, y, n);
  add_terms(to, 1, &own, 0, n);
}

/* What sums are off by: N + 4 roundings of the absolute values', and what their terms are off by. */
void
clarke_sieve_divide_sums(group *g, double members)
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

/* A gradient handed on, before it is divided by the root. */
typedef struct {
  double whole, off, may, mass;
} handed;

static inline handed
hand_entry(const group *of, double g, double g_off, double g_may, double y, double y_off, double y_may, double gamma)
{
  const double rest = fabs(g) - g_off, size = rest > 0 ? rest : 0;
  const double other = fabs(y) - y_off, top = (other > 0 ? other : 0) + y_may;
  const double taken = y * of->product, whole = g - of->gradient - taken;
  const double off = g_off + of->gradient_off + (fabs(y) + y_off) * of->product_off + y_off * fabs(of->product)
                     + clarke_taken(6, fabs(g) + fabs(of->gradient) + fabs(taken));
  /* means of sizes, less what they are off by */
  const double one = of->size_of_gradient - of->gradient_off, two = of->size_of_product - of->product_off;
  const double first = one > 0 ? one : 0, second = two > 0 ? two : 0, mass = size + g_may + first + top * second;
  const double apart = g_may + of->gradient_may + top * of->product_may + y_may * second + gamma * mass;

  return (handed){whole, 1.25 * (off + fabs(whole) * (of->root_off + CLARKE_UNIT)) / of->root + (off > 0 ? CLARKE_SIEVE_LEAST : 0),
                  (apart * (1 + of->share) + mass * of->share) / of->root, mass};
}

/* Is a sum so large that a product of means might overflow in float32? */
#define IS_LARGE(mass) (!((mass) < 0x1p60))

CLARKE_WIDE static bool
hand_line(double *restrict near, double *restrict off, double *restrict may, double *restrict mass, const group *of,
          const clarke_sieve_line *of_gradient, const clarke_sieve_line *of_output, double gamma, size_t n)
{
  const clarke_sieve_line g = *of_gradient, y = *of_output;
  const group own = *of;
  size_t large = 0;

  for (size_t e = 0; e < n; e++) {
    const handed h = hand_entry(&own, g.near[e], g.off[e], g.may[e], y.near[e], y.off[e], y.may[e], gamma);

    large += IS_LARGE(h.mass);
    off[e] += h.off;
    clarke_sieve_plus(&near[e], &off[e], h.whole / own.root);
    may[e] += h.may;
    mass[e] += h.mass / own.root;
  }
  return large > 0;
}

bool
clarke_sieve_hand_line(const clarke_sieve_sums *to, const group *of, const clarke_sieve_line *g, const clarke_sieve_line *y, double gamma, size_t n)
{
  return hand_line(to->near, to->off, to->may, to->mass, of, g, y, gamma, n);
}

/* The same where samples have groups of their own. */
static bool
hand_lanes(clarke_sieved *to, size_t at, const group *first, size_t across, size_t from, const clarke_sieve_line *g, const clarke_sieve_line *y,
           double gamma, size_t n)
{
  bool large = false;

  for (size_t e = 0; e < n; e++) {
    const group *of = &first[(from + e) % across];
    const handed h = hand_entry(of, g->near[e], g->off[e], g->may[e], y->near[e], y->off[e], y->may[e], gamma);

    large = large || IS_LARGE(h.mass);
    clarke_sieve_join(to, at + e, h.whole / of->root, h.off, h.may, h.mass / of->root);
  }
  return large;
}

/* So many entries from the first of a run on: to the sums of their groups, or, these being known, to the gradient of what was normalized. */
static void
take_chunk(const back *b, clarke_sieved *to, group *first, size_t run, size_t from, size_t n)
{
  const size_t at = run + from, across = lanes(b->s, b->step);
  const clarke_sieve_line g = clarke_sieve_line_of(&b->g, at, n, b->room), y = {b->y.near + at, b->y.off + at, b->y.may + at};
  terms own;
  bool large;

  if (to == NULL) {
    find_terms(&own, &g, &y, n);
    add_terms(first, across, &own, from, n);
    return;
  }
  memset(to->joined + at, 2, n);
  large = across == 1 ? hand_line(to->near + at, to->off + at, to->may + at, to->mass + at, first, &g, &y, b->gamma, n)
                      : hand_lanes(to, at, first, across, from, &g, &y, b->gamma, n);
  b->s->open = b->s->open || large;
}

static void
each_entry(const back *b, clarke_sieved *to)
{
  const clarke_step *step = b->step;
  const size_t run = step->grouping.length * b->s->n;

  for (size_t q = 0; q < step->grouping.blocks * step->grouping.groups; q++)
    for (size_t k = 0; k < run; k += CHUNK)
      take_chunk(b, to, &b->all[q % step->grouping.groups * lanes(b->s, step)], q * run, k, run - k < CHUNK ? run - k : CHUNK);
}

clarke_status
clarke_sieve_normalize_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t value = step->in[0].value;
  back b = {.s = s, .step = step, .all = s->group[step - s->g->steps], .members = (double)clarke_step_group_size(step, s->n)};
  clarke_sieved *to = &s->grad[value];

  if (!s->carries[value])
    return CLARKE_OK;
  b.gamma = clarke_sieve_gamma(s, 2 * b.members + CLARKE_SIEVE_SPARE_MOMENTS);
  s->open = s->open || s->value[step->out].exact != NULL; /* it has a record of its own */
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&b.g, s, step->out) || !clarke_sieve_read(&b.y, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  b.room = clarke_sieve_line_room(s, CHUNK);
  if (b.room == NULL || !clarke_sieve_begin_gradient(s, to, s->g->values[value].count, s->n))
    return clarke_no_memory(err);
  each_entry(&b, NULL);
  for (size_t i = 0; i < step->grouping.groups * lanes(s, step); i++)
    clarke_sieve_divide_sums(&b.all[i], b.members);
  each_entry(&b, to);
  clarke_sieve_leave(s, b.room);
  to->enclosed = true;
  to->terms += 1;
  to->parts += 2;
  clarke_sieve_check_sizes(s, to, s->g->values[value].count * s->n);
  return CLARKE_OK;
}
