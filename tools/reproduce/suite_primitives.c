/* Each function of programs with a kink or ties, at ties and kinks: is what AD returns an associated gradient (Despres, section 5)? */
#include "suite_drawn.h"

#include <string.h>

#define INPUTS 3
#define ENTRIES 4

/* How arguments may move and stay at kinks and ties: one that is at a kink stays, each of its own (POINTWISE); all by one number (STATISTIC);
 * the same away from 0 (SIZE). */
typedef enum { POINTWISE, STATISTIC, SIZE } family;

/* The call, before and behind its arguments; kinks are at integers. */
static const struct {
  family family;
  const char *call, *end;
  long kink[2];
} primitives[] = {
  {POINTWISE, "relu(", ")", {0, 0}},       {POINTWISE, "leaky_relu(", ")", {0, 0}},  {POINTWISE, "leaky_relu(", ", 3)", {0, 0}},
  {POINTWISE, "abs(", ")", {0, 0}},        {POINTWISE, "relu6(", ")", {0, 6}},       {POINTWISE, "hardtanh(", ")", {-1, 1}},
  {POINTWISE, "clamp(", ", -1, 2)", {-1, 2}}, {POINTWISE, "hardsigmoid(", ")", {-3, 3}}, {POINTWISE, "norm1(", ")", {0, 0}},
  {STATISTIC, "max(", ")", {0, 0}},        {STATISTIC, "min(", ")", {0, 0}},         {STATISTIC, "maxpool(", ")", {0, 0}},
  {STATISTIC, "median(", ")", {0, 0}},     {STATISTIC, "kth(1, ", ")", {0, 0}},      {STATISTIC, "kth(2, ", ")", {0, 0}},
  {STATISTIC, "kth(4, ", ")", {0, 0}},     {SIZE, "norminf(", ")", {0, 0}},
};
#define N_PRIMITIVES (sizeof primitives / sizeof *primitives)

/* Arguments row[k] w + row[k][INPUTS] of the call, the point, and a direction whose first entry is 1. */
typedef struct {
  size_t primitive, n;
  long row[ENTRIES][INPUTS + 1], at[INPUTS], along[INPUTS];
} called;

static clarke_status
pose_call(clarke_posed *q, const called *c, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input w[%d]\noutput %s", INPUTS, primitives[c->primitive].call);
  for (size_t k = 0; k < c->n; k++) {
    fputs(k > 0 ? ", " : "", t.to);
    for (size_t i = 0; i < INPUTS; i++)
      fprintf(t.to, "(%ld)*w[%zu] + ", c->row[k][i], i);
    fprintf(t.to, "(%ld)", c->row[k][INPUTS]);
  }
  fprintf(t.to, "%s\n", primitives[c->primitive].end);
  return clarke_posed_read(q, &t, c->at, INPUTS, err);
}

/* What the direction moves an argument by that is x at the point. */
static long
movement(const called *c, clarke_draws *d, long x, long by)
{
  const long *kink = primitives[c->primitive].kink;

  if (primitives[c->primitive].family == STATISTIC)
    return by;
  if (primitives[c->primitive].family == SIZE)
    return x > 0 ? by : x < 0 ? -by : 0;
  return x == kink[0] || x == kink[1] ? 0 : clarke_draw_between(d, -2, 2);
}

/* Two arguments in three are the first one's number: ties, of sizes too. A kink's number is drawn half the time. */
static void
draw_call(called *c, clarke_draws *d)
{
  const bool one = strncmp(primitives[c->primitive].call, "norm", 4) != 0 && primitives[c->primitive].family == POINTWISE;
  const long by = clarke_draw_between(d, -2, 2), most = clarke_draw_below(d, 2) == 0 ? primitives[c->primitive].kink[clarke_draw_below(d, 2)] : clarke_draw_between(d, -4, 8);

  c->n = one ? 1 : ENTRIES;
  clarke_draw_point(c->at, d, INPUTS);
  for (size_t i = 0; i < INPUTS; i++)
    c->along[i] = i == 0 ? 1 : clarke_draw_between(d, -2, 2);
  for (size_t k = 0; k < c->n; k++) {
    const long x = k == 0 || clarke_draw_below(d, 3) > 0 ? most : primitives[c->primitive].family == SIZE && clarke_draw_below(d, 2) == 0 ? -most : clarke_draw_between(d, -4, 8);
    long *row = c->row[k], sum = 0;

    row[0] = movement(c, d, x, by);
    for (size_t i = 1; i < INPUTS; i++) {
      row[i] = clarke_draw_between(d, -2, 2);
      row[0] -= row[i] * c->along[i];
    }
    for (size_t i = 0; i < INPUTS; i++)
      sum += row[i] * c->at[i];
    row[INPUTS] = x - sum;
  }
}

/* *equal: is f(w + h v) - f(w) = h <AD, v> for a small h? */
static clarke_status
follow_direction(bool *equal, clarke_posed *q, const called *c, clarke_error *err)
{
  mpq_t *g = clarke_rationals(INPUTS), h, slope, x;
  clarke_status status = g != NULL ? clarke_posed_run(q, g, err) : clarke_no_memory(err);

  mpq_inits(h, slope, x, NULL);
  mpq_set_ui(h, 1, 1);
  mpq_div_2exp(h, h, 60);
  for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++) {
    mpq_set_si(x, c->along[i], 1);
    mpq_mul(x, x, h);
    mpq_add(q->at[i], q->at[i], x);
    mpq_mul(x, x, g[i]);
    mpq_add(slope, slope, x);
  }
  if (status == CLARKE_OK) {
    mpq_add(slope, slope, q->d.execution.value[q->p.output[0]].q);
    status = clarke_posed_run(q, NULL, err);
  }
  *equal = status == CLARKE_OK && mpq_equal(slope, q->d.execution.value[q->p.output[0]].q);
  mpq_clears(h, slope, x, NULL);
  clarke_rationals_free(g, INPUTS);
  return status;
}

/* An associated gradient is any vector whose products with directions that keep all kinks and ties are the derivatives along these. */
clarke_status
clarke_suite_primitives(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  called c = {.primitive = clarke_draw_below(d, N_PRIMITIVES)};
  clarke_posed q;
  bool equal = false;
  clarke_status status;

  draw_call(&c, d);
  clarke_posed_init(&q);
  status = pose_call(&q, &c, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, NULL, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    status = follow_direction(&equal, &q, &c, err);
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  return status;
}

/* --- hybrid pools ------------------------------------------------------------------------------ */

#define MOST_POOLED 5
#define PARTS 12 /* beta is so many parts of 1 */

/* AD's output of a pool's largest entry: (1 - beta) to the first of those that are largest, and beta / a to each of the a. */
static bool
is_hybrid(mpq_t *g, const long *x, size_t n, long greatest, long a, const mpq_t beta)
{
  bool is = true, first = true;
  mpq_t share, rest;

  mpq_inits(share, rest, NULL);
  mpq_set_si(rest, a, 1);
  mpq_div(share, beta, rest);
  for (size_t i = 0; i < n; i++) {
    mpq_set_si(rest, x[i] == greatest && first, 1);
    if (x[i] == greatest && first)
      mpq_sub(rest, rest, beta);
    if (x[i] == greatest)
      mpq_add(rest, rest, share);
    first = first && x[i] != greatest;
    is = is && mpq_equal(g[i], rest);
  }
  mpq_clears(share, rest, NULL);
  return is;
}

/* Definition 10: with a largest entries the hybrid output is in the Clarke set for beta in [0, a / (a - 1)], and no other. Those with beta above
 * 1 that are differ. */
clarke_status
clarke_suite_hybrid(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t n = 2 + clarke_draw_below(d, MOST_POOLED - 1);
  const long parts = clarke_draw_between(d, -PARTS / 2, 5 * PARTS / 2);
  long x[MOST_POOLED], greatest = 0, a = 0;
  mpq_t *g = clarke_rationals(n), beta;
  clarke_posed q;
  clarke_text text;
  clarke_status status = g != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_rationals_free(g, n);
    return status;
  }
  for (size_t i = 0; i < n; i++) {
    x[i] = clarke_draw_between(d, 0, 1);
    greatest = x[i] > greatest ? x[i] : greatest;
  }
  for (size_t i = 0; i < n; i++)
    a += x[i] == greatest;
  fprintf(text.to, "input w[%zu]\noutput maxpool{hybrid %ld/%d}(w)\n", n, parts, PARTS);
  clarke_posed_init(&q);
  mpq_init(beta);
  mpq_set_si(beta, parts, PARTS);
  mpq_canonicalize(beta);
  status = clarke_posed_read(&q, &text, x, n, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  const bool right = status == CLARKE_OK && is_hybrid(g, x, n, greatest, a, beta);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    const bool within = a == 1 || (parts >= 0 && parts * (a - 1) <= PARTS * a), in = q.d.verdict == CLARKE_IN_BOULIGAND || q.d.verdict == CLARKE_IN_CLARKE;

    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += a > 1 && in && parts > PARTS;
    clarke_suite_add(t, q.d.verdict == CLARKE_UNDECIDED ? CLARKE_UNKNOWN : right && in == within ? CLARKE_YES : CLARKE_NO);
  }
  mpq_clear(beta);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, n);
  return status;
}
