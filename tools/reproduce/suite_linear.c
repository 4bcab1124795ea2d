/* Linear ReLU networks: sums and ReLUs without constants (suite.h). Thesis, Lemmas 2 and 3. */
#include "suite_drawn.h"

#define INPUTS 2
#define NODES 8

/* Has it the value 0 at all points of integers near 0? It is positively homogeneous: so these stand for as many directions. */
#define NEAR 12
static bool
vanishes_near(const clarke_drawn *p)
{
  for (long x = -NEAR; x <= NEAR; x++)
    for (long y = -NEAR; y <= NEAR; y++)
      if (clarke_drawn_value(p, (const long[]){x, y}, INPUTS + p->n - 1) != 0)
        return false;
  return true;
}

/* Lemma 2: the Clarke set at 0 is {0} if and only if the network is constant. Those that are differ. */
clarke_status
clarke_suite_constant(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  static const long at[INPUTS] = {0};
  clarke_drawn p;
  clarke_posed q;
  clarke_status status;

  clarke_drawn_draw(&p, d, at, INPUTS, NODES, CLARKE_DRAWN_RELU, false);
  for (size_t i = 0; i < p.n; i += 2)
    p.node[i].of[2] = 0;
  clarke_posed_init(&q);
  status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    const bool constant = vanishes_near(&p);
    bool zero = q.d.clarke.n == 1;

    for (size_t i = 0; zero && i < INPUTS; i++)
      zero = mpq_sgn(q.d.clarke.entry[i]) == 0;
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += constant;
    clarke_suite_add(t, !q.d.sets_known ? CLARKE_UNKNOWN : zero == constant ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}

/* --- Lemma 3 ----------------------------------------------------------------------------------- */

#define MOST_LEVELS 5
#define MOST_ENTRIES (1 << MOST_LEVELS)

/* max(a, b) = relu(a - b) + relu(b) - relu(-b), pair by pair: level after level has half as many. */
static clarke_status
pose_maximum(clarke_posed *q, size_t levels, const long *x, clarke_error *err)
{
  const size_t n = (size_t)1 << levels;
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input w[%zu]\n", n);
  for (size_t i = 0; i < n; i++)
    fprintf(t.to, "let m0_%zu = w[%zu]\n", i, i);
  for (size_t l = 0; l < levels; l++)
    for (size_t i = 0; i < n >> (l + 1); i++)
      fprintf(t.to, "let m%zu_%zu = relu(m%zu_%zu - m%zu_%zu) + relu(m%zu_%zu) - relu(-m%zu_%zu)\n", l + 1, i, l, 2 * i, l, 2 * i + 1, l, 2 * i + 1, l,
              2 * i + 1);
  fprintf(t.to, "output m%zu_0\n", levels);
  return clarke_posed_read(q, &t, x, n, err);
}

/* The value at x, and AD's output where all is 0, with ReLU'(0) = s, which is s^k in each entry. */
static clarke_status
ask_maximum(bool *right, clarke_posed *q, size_t levels, long greatest, clarke_error *err)
{
  static const struct {
    const char *profile;
    unsigned long n, d;
  } slopes[] = {{"like pytorch-2.13\n", 0, 1}, {"like pytorch-2.13\nRelu 0 1/2\n", 1, 2}, {"like pytorch-2.13\nRelu 0 1\n", 1, 1}};
  mpq_t *g = clarke_rationals(q->n), power, s;
  clarke_status status = g != NULL ? clarke_posed_run(q, NULL, err) : clarke_no_memory(err);

  mpq_inits(power, s, NULL);
  *right = status == CLARKE_OK && mpq_cmp_si(q->d.execution.value[q->p.output[0]].q, greatest, 1) == 0;
  for (size_t i = 0; i < q->n; i++)
    mpq_set_ui(q->at[i], 0, 1);
  for (size_t k = 0; k < sizeof slopes / sizeof *slopes && status == CLARKE_OK; k++) {
    status = clarke_posed_take(q, slopes[k].profile, err);
    if (status == CLARKE_OK)
      status = clarke_posed_run(q, g, err);
    mpq_set_ui(s, slopes[k].n, slopes[k].d);
    mpq_set_ui(power, 1, 1);
    for (size_t l = 0; l < levels; l++)
      mpq_mul(power, power, s);
    for (size_t i = 0; i < q->n && status == CLARKE_OK; i++)
      *right = *right && mpq_equal(g[i], power);
  }
  mpq_clears(power, s, NULL);
  clarke_rationals_free(g, q->n);
  return status;
}

/* Lemma 3: the maximum of 2^k numbers by k layers of ReLUs, with weights 1 and -1. Points at which several entries are largest differ. */
clarke_status
clarke_suite_maxima(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t levels = 1 + clarke_draw_below(d, MOST_LEVELS), n = (size_t)1 << levels;
  long x[MOST_ENTRIES], greatest = 0;
  size_t largest = 0;
  clarke_posed q;
  bool right = false;
  clarke_status status;

  for (size_t i = 0; i < n; i++) {
    x[i] = clarke_draw_between(d, -20, 20);
    greatest = i == 0 || x[i] > greatest ? x[i] : greatest;
  }
  for (size_t i = 0; i < n; i++)
    largest += x[i] == greatest;
  clarke_posed_init(&q);
  status = pose_maximum(&q, levels, x, err);
  if (status == CLARKE_OK)
    status = ask_maximum(&right, &q, levels, greatest, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_DIFFER] += largest > 1;
    clarke_suite_add(t, right ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}
