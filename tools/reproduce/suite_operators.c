/* Bolte and Pauwels on AD as an operator (suite.h): minibatches, any number at any point, sorting. */
#include "suite_drawn.h"

#include <string.h>

#define INPUTS 2
#define NODES 6

/* --- Minibatches ------------------------------------------------------------------------------- */

#define MOST_LOSSES 4

typedef struct {
  size_t n;
  long at[INPUTS];
  clarke_drawn of[MOST_LOSSES];
} losses;

/* g += AD's output of the mean of those losses whose bits are set, as one program. */
static clarke_status
add_minibatch(mpq_t *g, size_t *touched, const losses *l, size_t bits, clarke_error *err)
{
  mpq_t *one = clarke_rationals(INPUTS);
  clarke_posed q;
  clarke_text t;
  size_t n = 0;
  clarke_status status = one != NULL ? clarke_text_open(&t, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_rationals_free(one, INPUTS);
    return status;
  }
  fprintf(t.to, "input w[%d]\n", INPUTS);
  for (size_t i = 0; i < l->n; i++)
    if (bits >> i & 1)
      clarke_drawn_put(t.to, &l->of[i], (char)('a' + i), "w[", "]");
  for (size_t i = 0; i < l->n; i++)
    if (bits >> i & 1)
      fprintf(t.to, "%s%c%d", n++ > 0 ? " + " : "output (", (char)('a' + i), NODES - 1);
  fprintf(t.to, ") / %zu\n", n);
  clarke_posed_init(&q);
  status = clarke_posed_read(&q, &t, l->at, INPUTS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, one, err);
  *touched = status == CLARKE_OK ? q.d.execution.n_touched : 0;
  for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++)
    mpq_add(g[i], g[i], one[i]);
  clarke_posed_clear(&q);
  clarke_rationals_free(one, INPUTS);
  return status;
}

/* The minibatches of so many losses (0: of any number) have AD's output of all losses for the mean of theirs; *alone: each of them has it. */
static clarke_status
compare_mean(bool *equal, bool *alone, const losses *l, size_t of, mpq_t *whole, clarke_error *err)
{
  mpq_t *sum = clarke_rationals(2 * INPUTS), *one = sum + INPUTS, x;
  size_t count = 0, touched;
  clarke_status status = sum != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(x);
  for (size_t bits = 1; bits < (size_t)1 << l->n && status == CLARKE_OK; bits++) {
    if (of > 0 && (size_t)__builtin_popcountl(bits) != of)
      continue;
    for (size_t i = 0; i < INPUTS; i++)
      mpq_set_ui(one[i], 0, 1);
    status = add_minibatch(one, &touched, l, bits, err);
    for (size_t i = 0; i < INPUTS; i++) {
      *alone = *alone && mpq_equal(one[i], whole[i]);
      mpq_add(sum[i], sum[i], one[i]);
    }
    count++;
  }
  mpq_set_ui(x, count > 0 ? count : 1, 1);
  for (size_t i = 0; i < INPUTS && status == CLARKE_OK; i++) {
    mpq_div(sum[i], sum[i], x);
    *equal = *equal && mpq_equal(sum[i], whole[i]);
  }
  mpq_clear(x);
  clarke_rationals_free(sum, 2 * INPUTS);
  return status;
}

/* The mean of AD's outputs, over all minibatches of any size, and over those of each size, is that of the whole loss, at kinks too. Instances
 * in which a minibatch has another output differ. */
clarke_status
clarke_suite_minibatches(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  mpq_t *whole = clarke_rationals(INPUTS);
  losses l = {.n = 2 + clarke_draw_below(d, MOST_LOSSES - 1)};
  bool equal = true, alone = true;
  size_t touched = 0;
  clarke_status status = whole != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(l.at, d, INPUTS);
  for (size_t i = 0; i < l.n; i++)
    clarke_drawn_draw(&l.of[i], d, l.at, INPUTS, NODES, CLARKE_DRAWN_MAX, true);
  if (status == CLARKE_OK)
    status = add_minibatch(whole, &touched, &l, ((size_t)1 << l.n) - 1, err);
  for (size_t of = 0; of <= l.n && status == CLARKE_OK; of++)
    status = compare_mean(&equal, &alone, &l, of, whole, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_TOUCHED] += touched;
    t->of[CLARKE_COUNT_DIFFER] += !alone;
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  }
  clarke_rationals_free(whole, INPUTS);
  return status;
}

/* --- Any number -------------------------------------------------------------------------------- */

/* The program, and by * zero(w_i - at) more where add is set: zero is 0 everywhere, and AD's derivative of it is 1 at 0. */
static clarke_status
pose_more(clarke_posed *q, const clarke_drawn *p, const long *at, bool add, long by, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_drawn_open(&t, p, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "let u = w[0] - (%ld)\noutput v%d", at[0], NODES - 1);
  if (add)
    fprintf(t.to, " + (%ld)/7*(relu(-u) + u - relu(u))", by);
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, at, INPUTS, err);
}

/* Value and AD's output there, of both programs: are the values equal, and by how much is the derivative by w_0 more? */
static clarke_status
compare_more(bool *equal, mpq_t more, clarke_posed q[2], clarke_error *err)
{
  mpq_t *g = clarke_rationals(2 * INPUTS);
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++)
    status = clarke_posed_run(&q[k], g + k * INPUTS, err);
  if (status == CLARKE_OK) {
    *equal = *equal && mpq_equal(q[0].d.execution.value[q[0].p.output[0]].q, q[1].d.execution.value[q[1].p.output[0]].q);
    mpq_sub(more, g[INPUTS], g[0]);
    *equal = *equal && mpq_equal(g[1], g[INPUTS + 1]);
  }
  clarke_rationals_free(g, 2 * INPUTS);
  return status;
}

/* A function is programmed so that AD's derivative at a point is any number; values stay what they are, and so does AD's output elsewhere. */
clarke_status
clarke_suite_any_number(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const long by = clarke_draw_between(d, -50, 50);
  long at[INPUTS];
  clarke_drawn p;
  clarke_posed q[2];
  bool equal = true;
  mpq_t more, wanted;
  clarke_status status = CLARKE_OK;

  mpq_inits(more, wanted, NULL);
  mpq_set_si(wanted, by, 7);
  mpq_canonicalize(wanted);
  clarke_draw_point(at, d, INPUTS);
  clarke_drawn_draw(&p, d, at, INPUTS, NODES, CLARKE_DRAWN_MAX, true);
  for (size_t k = 0; k < 2; k++) {
    clarke_posed_init(&q[k]);
    if (status == CLARKE_OK)
      status = pose_more(&q[k], &p, at, k == 1, by, err);
  }
  if (status == CLARKE_OK)
    status = compare_more(&equal, more, q, err);
  equal = equal && mpq_equal(more, wanted);
  t->of[CLARKE_COUNT_TOUCHED] += status == CLARKE_OK ? q[1].d.execution.n_touched : 0;
  t->of[CLARKE_COUNT_DIFFER] += mpq_sgn(more) != 0;
  for (long away = -2; away <= 2 && status == CLARKE_OK; away++) {
    if (away == 0)
      continue;
    for (size_t k = 0; k < 2; k++)
      mpq_set_si(q[k].at[0], at[0] + away, 1);
    status = compare_more(&equal, more, q, err);
    equal = equal && mpq_sgn(more) == 0;
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  for (size_t k = 0; k < 2; k++)
    clarke_posed_clear(&q[k]);
  mpq_clears(more, wanted, NULL);
  return status;
}

/* --- Sorting ----------------------------------------------------------------------------------- */

#define MOST_SORTED 4

/* Is the permutation, of n entries, number `k` of n!; place[i]: the entry that stands at i. */
static void
permutation_of(size_t *place, size_t n, size_t k)
{
  size_t left[MOST_SORTED];

  for (size_t i = 0; i < n; i++)
    left[i] = i;
  for (size_t i = 0; i < n; i++) {
    const size_t j = k % (n - i);

    k /= n - i;
    place[i] = left[j];
    memmove(&left[j], &left[j + 1], (n - i - j - 1) * sizeof *left);
  }
}

/* Has the Bouligand set each permutation that sorts x, and so many elements? */
static clarke_status
has_permutations(bool *right, const clarke_points *set, const long *x, size_t n, clarke_error *err)
{
  mpq_t *p = clarke_rationals(n * n);
  size_t sorting = 0, all = 1, place[MOST_SORTED];

  if (p == NULL)
    return clarke_no_memory(err);
  for (size_t i = 2; i <= n; i++)
    all *= i;
  for (size_t k = 0; k < all; k++) {
    bool sorts = true;

    permutation_of(place, n, k);
    for (size_t i = 1; i < n; i++)
      sorts = sorts && x[place[i - 1]] <= x[place[i]];
    for (size_t i = 0; i < n * n; i++)
      mpq_set_ui(p[i], place[i / n] == i % n, 1);
    sorting += sorts;
    *right = *right && (clarke_points_find(set, p) != SIZE_MAX) == sorts;
  }
  *right = *right && set->n == sorting;
  clarke_rationals_free(p, n * n);
  return CLARKE_OK;
}

/* The Clarke Jacobian of sorting is the hull of the permutations that sort the point. Points with several differ. */
clarke_status
clarke_suite_sorting(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t n = 2 + clarke_draw_below(d, MOST_SORTED - 1);
  long x[MOST_SORTED];
  clarke_posed q;
  clarke_text text;
  bool right = true;
  clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < n; i++)
    x[i] = clarke_draw_between(d, 0, 2);
  fprintf(text.to, "input w[%zu]\noutput sort(w)\n", n);
  clarke_posed_init(&q);
  status = clarke_posed_read(&q, &text, x, n, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK)
    status = has_permutations(&right, &q.d.bouligand, x, n, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += q.d.bouligand.n > 1;
    clarke_suite_add(t, !q.d.sets_known ? CLARKE_UNKNOWN : right && q.d.clarke.n == q.d.bouligand.n ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}
