/* Means of slopes: AD's gradient is that mean of the cells' gradients, exactly. */
#include "asked.h"
#include "drawn.h"

#include "audit/cell.h"
#include "audit/effect.h"
#include "audit/slope_hull.h"
#include "exact/number.h"

/* |x w| at w = 0, of samples on both sides of 0: the patterns that occur are opposites. */
START_TEST(opposite_patterns)
{
  asked a;

  asked_begin(&a, 3, 1, NUMBERS(1, -2, 3));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "u", SHAPE(1, 2,), NUMBERS(1, -2));
  node(&a, "MatMul", "x,w", "v");
  node(&a, "Abs", "v", "a");
  node(&a, "MatMul", "a,u", "s");
  node(&a, "Exp", "s", "out");
  a.profile = "Abs 0 0\n";
  ask(&a, "out");
  verdict_is(&a, CLARKE_IN_CLARKE);
  ck_assert(a.audit.evidence == CLARKE_EVIDENCE_HULL && a.audit.n_cells == 2);
  for (size_t i = 0; i < 2; i++)
    ck_assert_int_eq(mpq_cmp_ui(a.audit.weight[i], 1, 2), 0);
  asked_end(&a);
}
END_TEST

/* relu(2 v + |v|) - 3 relu(v) is 0, and AD says -1/2: a kink behind another. And |v| alone, where AD takes a side. */
START_TEST(none_behind_another)
{
  static const clarke_branch sides[2][3] = {{CLARKE_RIGHT, CLARKE_RIGHT, CLARKE_RIGHT}, {CLARKE_LEFT, CLARKE_LEFT, CLARKE_LEFT}};
  clarke_cell cell[2];
  clarke_membership m;
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "two", SHAPE(1, 1,), NUMBERS(2));
  weight(&a, "three", SHAPE(1, 1,), NUMBERS(3));
  node(&a, "MatMul", "x,w", "v");
  node(&a, "Abs", "v", "b");
  node(&a, "MatMul", "v,two", "d");
  node(&a, "Add", "b,d", "s");
  node(&a, "Relu", "s", "p");
  node(&a, "Relu", "v", "r");
  node(&a, "MatMul", "r,three", "q");
  node(&a, "Sub", "p,q", "out");
  a.profile = "Abs 0 0\nRelu 0 1/2\n";
  a.wrt = "w";
  ask(&a, "out");
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  ck_assert_uint_eq(a.replay.n_touches, 3);
  clarke_membership_init(&m);
  for (size_t i = 0; i < 2; i++) {
    clarke_cell_init(&cell[i]);
    OK(clarke_cell_set(&cell[i], &a.question, sides[i], &error));
  }
  OK(clarke_slope_hull_find(&m, &a.question, cell, 2, NULL, &error));
  ck_assert_int_eq(m.place, CLARKE_HULL_UNKNOWN);
  for (size_t i = 0; i < 2; i++)
    clarke_cell_clear(&cell[i]);
  OK(clarke_slope_hull_of_opposites(&m, cell, &a.question, &error));
  ck_assert_int_eq(m.place, CLARKE_HULL_UNKNOWN);
  clarke_membership_clear(&m, 2);
  for (size_t i = 0; i < 2; i++)
    clarke_cell_clear(&cell[i]);
  asked_end(&a);
}
END_TEST

/* Of two samples one touches the first layer, the other the second: neither is behind the other. */
START_TEST(samples_are_apart)
{
  asked a;

  asked_begin(&a, 2, 1, NUMBERS(1, 2));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(1));
  weight(&a, "b", SHAPE(1,), NUMBERS(-1));
  weight(&a, "c", SHAPE(1,), NUMBERS(-1));
  node(&a, "MatMul", "x,w", "v");
  node(&a, "Add", "v,b", "y");
  node(&a, "Abs", "y", "a1");
  node(&a, "Add", "a1,c", "y2");
  node(&a, "Abs", "y2", "a2");
  node(&a, "Exp", "a2", "out");
  a.profile = "Abs 0 0\n";
  a.wrt = "b";
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  verdict_is(&a, CLARKE_IN_CLARKE);
  ck_assert(a.audit.evidence == CLARKE_EVIDENCE_HULL && a.audit.n_cells == 2);
  asked_end(&a);
}
END_TEST

/* exp(0 relu(v) + a u): neither side of relu changes the gradient, nor does the sum's first entry at its target. */
START_TEST(no_effect_through_a_zero)
{
  bool effect[4];
  asked a;

  asked_begin(&a, 3, 1, NUMBERS(1, -2, 3));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "o", SHAPE(1, 2,), NUMBERS(0, 0));
  weight(&a, "u", SHAPE(1, 2,), NUMBERS(1, 1));
  node(&a, "MatMul", "x,w", "v");
  node(&a, "Relu", "v", "r");
  node(&a, "MatMul", "r,o", "s");
  node(&a, "MatMul", "x,u", "t");
  node(&a, "Add", "s,t", "z");
  node(&a, "Exp", "z", "out");
  a.profile = "Relu 0 0\n";
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 3);
  OK(clarke_effect_find(effect, &a.question, &error));
  for (size_t k = 0; k < 3; k++)
    ck_assert(!effect[k]);
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_COMPENSATION);
  asked_end(&a);
}
END_TEST

/* sum += weight * the gradient under those sides (NULL: AD's). */
static void
add_gradient(mpq_t *sum, const drawn *n, const clarke_branch *side, const mpq_t weight)
{
  clarke_matrix *gradient = clarke_matrices_new(n->g.n_parameters);
  mpq_t q;

  mpq_init(q);
  OK(clarke_partial_gradient(gradient, &n->q, side, &error));
  for (size_t p = 0; p < n->g.n_parameters; p++)
    for (size_t e = 0; e < gradient[p].rows; e++) {
      mpq_t *to = &sum[clarke_column_base(&n->g, p) + e];

      clarke_matrix_get(q, &gradient[p], e, 0);
      mpq_mul(q, q, weight);
      mpq_add(*to, *to, q);
    }
  mpq_clear(q);
  clarke_matrices_free(gradient, n->g.n_parameters);
}

/* Is the mean of the cells' gradients AD's? */
static void
is_the_mean(const drawn *n, const clarke_cell *cell, size_t cells, const clarke_membership *m)
{
  const size_t dim = clarke_column_base(&n->g, n->g.n_parameters - 1) + n->g.parameters[n->g.n_parameters - 1].count;
  mpq_t *sum = clarke_rationals(dim), minus;

  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  for (size_t i = 0; i < cells; i++)
    add_gradient(sum, n, cell[i].side, m->weight[i]);
  add_gradient(sum, n, NULL, minus);
  for (size_t e = 0; e < dim; e++)
    ck_assert_int_eq(mpq_sgn(sum[e]), 0);
  mpq_clear(minus);
  clarke_rationals_free(sum, dim);
}

enum { CELLS = 6 };

static bool
try_drawn(size_t *idle, const drawn *n, size_t patterns, uint64_t *state)
{
  const size_t cells = 2 + draw_below(state, CELLS - 1);
  clarke_branch *side = malloc((n->replay.n_touches + 1) * sizeof *side);
  clarke_cell cell[CELLS];
  clarke_membership m;
  bool inside, *effect = malloc(n->replay.n_touches + 1);

  OK(clarke_effect_find(effect, &n->q, &error));
  for (size_t k = 0; k < n->replay.n_touches; k++)
    *idle += !effect[k];
  clarke_membership_init(&m);
  for (size_t i = 0; i < cells; i++) {
    clarke_cell_init(&cell[i]);
    pattern_sides(side, &n->replay, i % 2 == 1 && cells == 2 ? patterns - 1 : draw_below(state, patterns));
    OK(clarke_cell_set(&cell[i], &n->q, side, &error));
  }
  OK(clarke_slope_hull_find(&m, &n->q, cell, cells, draw_below(state, 2) ? effect : NULL, &error));
  inside = m.place == CLARKE_HULL_INSIDE;
  if (inside)
    is_the_mean(n, cell, cells, &m);
  clarke_membership_clear(&m, cells);
  for (size_t i = 0; i < cells; i++)
    clarke_cell_clear(&cell[i]);
  free(side);
  free(effect);
  return inside;
}

START_TEST(drawn_means_are_gradients)
{
  uint64_t state = 3;
  size_t inside = 0, idle = 0;

  for (size_t i = 0; i < 400; i++) {
    drawn n;
    size_t patterns;

    draw_touched(&n, &state, 64);
    patterns = patterns_of(&n.replay, 64);
    for (size_t t = 0; t < 8 && n.q.loss.kind != CLARKE_LOSS_CE; t++)
      inside += try_drawn(&idle, &n, patterns, &state);
    drawn_clear(&n);
  }
  ck_assert_msg(inside > 50 && idle > 50, "%zu, %zu", inside, idle);
}
END_TEST

/* Selu(x w) at w = 0 has the slopes 1 and 2, its gamma in both; a profile's number is its slope, too. */
START_TEST(selus_slope_has_its_gamma)
{
  static const struct {
    const char *profile;
    clarke_verdict verdict;
  } of[] = {
    {"Selu 0 1\n", CLARKE_IN_BOULIGAND}, {"Selu 0 right\n", CLARKE_IN_BOULIGAND},   {"Selu 0 2\n", CLARKE_IN_BOULIGAND},
    {"Selu 0 3/2\n", CLARKE_IN_CLARKE},  {"Selu 0 1/2\n", CLARKE_NOT_IN_CLARKE}, {"Selu 0 3\n", CLARKE_NOT_IN_CLARKE},
  };

  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    asked a;
    clarke_model_node *selu;

    asked_begin(&a, 1, 1, NUMBERS(1));
    a.profile = of[i].profile;
    weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
    node(&a, "MatMul", "x,w", "y");
    selu = node(&a, "Selu", "y", "out");
    attr_float(selu, "alpha", 0.5);
    attr_float(selu, "gamma", 2);
    ask(&a, "out");
    verdict_is(&a, of[i].verdict);
    asked_end(&a);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("slope_hull");

  tcase_add_test(tests, opposite_patterns);
  tcase_add_test(tests, none_behind_another);
  tcase_add_test(tests, samples_are_apart);
  tcase_add_test(tests, no_effect_through_a_zero);
  tcase_add_test(tests, drawn_means_are_gradients);
  tcase_add_test(tests, selus_slope_has_its_gamma);
  return run_tests();
}
