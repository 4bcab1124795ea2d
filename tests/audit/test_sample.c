/* Sampled cells in floats, where all touches are of one layer: what a cell changes in AD's output is the difference of two exact
 * gradients; what separates does so from every cell; an ascent's gain is that of the cell it names. */
#include "drawn.h"

#include "audit/ascent.h"
#include "audit/enumerate.h"
#include "audit/membership.h"
#include "audit/sample.h"
#include "exact/mdm.h"

#include <math.h>
#include <stdio.h>

/* Are all touches of one step, and each in a class? What AD mixes of several options is guessed: none is. */
static bool
is_whole(const clarke_sample *s, const clarke_question *q)
{
  const clarke_replay *r = q->replay;
  size_t n = 0;

  for (size_t i = 0; i < s->classes.n; i++)
    n += s->classes.class[i].n;
  for (size_t k = 0; k < r->n_touches; k++)
    if (r->touch[k].step != r->touch[0].step || (r->touch[k].n_options > 0 && q->touch[k].ad_side == CLARKE_PROXY))
      return false;
  return n == r->n_touches;
}

static void
sides_of(clarke_branch *side, const clarke_sample *s, const size_t *option, const clarke_replay *r)
{
  for (size_t i = 0; i < s->classes.n; i++) {
    const clarke_class *class = &s->classes.class[i];

    ck_assert_uint_lt(option[i], class->options);
    for (size_t k = 0; k < class->n; k++)
      side[class->touch[k]] = clarke_side_numbered(&r->touch[class->touch[k]], option[i]);
  }
}

/* AD's gradient less that of the sides, by all parameters' entries. */
static double *
difference(const drawn *n, const clarke_branch *side)
{
  const clarke_graph *g = &n->g;
  double *all = calloc(clarke_column_base(g, g->n_parameters) + 1, sizeof *all);

  for (int way = 0; way < 2; way++) {
    clarke_matrix *gradient = clarke_matrices_new(g->n_parameters);

    OK(clarke_partial_gradient(gradient, &n->q, way == 0 ? NULL : side, &error));
    for (size_t p = 0; p < g->n_parameters; p++)
      for (size_t e = 0; e < gradient[p].rows; e++)
        all[clarke_column_base(g, p) + e] += (way == 0 ? 1 : -1) * clarke_matrix_get_double(&gradient[p], e, 0);
    clarke_matrices_free(gradient, g->n_parameters);
  }
  return all;
}

/* Cell number i; does it change anything? */
static bool
compare_change(const clarke_sample *s, size_t i, const drawn *n)
{
  const size_t columns = s->classes.n_columns;
  const double *change = s->change + i * columns;
  clarke_branch *side = malloc((n->replay.n_touches + 1) * sizeof *side);
  double *expected;
  bool any = false;

  sides_of(side, s, s->cell + i * s->classes.n, &n->replay);
  expected = difference(n, side);
  for (size_t c = 0; c < columns; c++) {
    double *one = &expected[s->classes.column[c]];

    ck_assert_msg(fabs(change[c] - *one) < 1e-9, "%g, not %g", change[c], *one);
    any = any || *one != 0;
    *one = 0;
  }
  for (size_t e = 0; e < clarke_column_base(&n->g, n->g.n_parameters); e++)
    ck_assert_double_lt(fabs(expected[e]), 1e-9); /* no other entry's changes */
  free(expected);
  free(side);
  return any;
}

static void
compare_ascent(clarke_sample *s)
{
  const size_t columns = s->classes.n_columns, before = s->n;
  double value, sum = 0;

  OK(clarke_ascend(s->option, &value, &s->classes, s->v, &s->state, &error));
  clarke_sample_add(s);
  ck_assert_uint_eq(s->n, before + (before < s->most));
  for (size_t c = 0; c < columns && s->n > before; c++)
    sum -= s->change[before * columns + c] * s->v[c];
  ck_assert(s->n == before || fabs(sum - value) < 1e-9 * (1 + fabs(sum)));
}

typedef struct {
  size_t whole, changes, separated, not;
} tally;

static void
check_sample(drawn *n, tally *count)
{
  bool *among = malloc(n->replay.n_touches + 1), found;
  clarke_sample s;

  memset(among, true, n->replay.n_touches);
  OK(clarke_adjoints_find(&n->q, &error));
  OK(clarke_sample_init(&s, &n->q, among, &error));
  if (is_whole(&s, &n->q)) {
    const size_t drawn_at_first = s.n;

    count->whole++;
    OK(clarke_sample_separate(&found, &s, &error));
    for (size_t i = 0; i < s.n; i += i < drawn_at_first ? 9 : 1)
      count->changes += compare_change(&s, i, n);
    for (size_t i = 0; i < s.n && found; i++)
      ck_assert_double_gt(clarke_dot(s.v, s.change + i * s.classes.n_columns, s.classes.n_columns), 0);
    count->separated += found;
    count->not += !found;
    compare_ascent(&s);
    while (s.n < s.most)
      clarke_sample_draw(&s);
    clarke_sample_draw(&s); /* nothing: there are as many as may be */
    ck_assert_uint_eq(s.n, s.most);
  }
  clarke_sample_clear(&s);
  free(among);
}

START_TEST(changes_are_differences_of_gradients)
{
  uint64_t state = 71;
  tally count = {0, 0, 0, 0};

  for (size_t i = 0; i < 300; i++) {
    drawn n;

    draw_touched(&n, &state, 1 << 16);
    check_sample(&n, &count);
    drawn_clear(&n);
  }
  printf("%zu of one layer, %zu changes; %zu separated, %zu not\n", count.whole, count.changes, count.separated,
         count.not);
  ck_assert_uint_gt(count.changes, 100);
  ck_assert(count.separated > 10 && count.not > 10);
}
END_TEST

START_TEST(what_is_drawn_is_fixed_and_between_1_and_minus_1)
{
  uint64_t state = 1, again = 1;
  double sum = 0, squares = 0;

  for (size_t i = 0; i < 4000; i++) {
    double v = clarke_draw(&state);

    ck_assert(v == clarke_draw(&again) && v >= -1 && v < 1);
    sum += v;
    squares += v * v;
  }
  ck_assert_double_lt(fabs(sum / 4000), 0.05);
  ck_assert_double_eq_tol(squares / 4000, 1. / 3, 0.03);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("sample");
  int failed;

  tcase_add_test(tests, changes_are_differences_of_gradients);
  tcase_add_test(tests, what_is_drawn_is_fixed_and_between_1_and_minus_1);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
