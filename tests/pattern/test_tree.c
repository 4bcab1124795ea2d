/* Nodes of trees, and the multipliers that refute. */
#include "pattern/tree.h"
#include "exact/number.h"
#include "../draw.h"
#include "../ok.h"

#include <stdlib.h>

#define MOST 12

/* Drawn weights, some of them 0, of names in no order. */
static size_t
draw_weights(mpq_t *u, size_t *of, size_t *condition, uint64_t *state)
{
  const size_t n = draw_below(state, MOST);

  for (size_t i = 0; i < n; i++) {
    const size_t place = draw_below(state, i + 1);

    of[i] = of[place];
    condition[i] = condition[place];
    of[place] = i / 2; /* each twice, with two conditions */
    condition[place] = 7 - i % 2;
    mpq_set_ui(u[i], draw_below(state, 3), 1 + draw_below(state, 2));
    mpq_canonicalize(u[i]);
  }
  return n;
}

/* Each weight above 0 is there once, of the same name. */
static void
has_weights(const clarke_gordan *g, mpq_t *u, const size_t *of, const size_t *condition, size_t n)
{
  size_t above = 0;

  for (size_t i = 0; i < n; i++) {
    size_t k = 0;

    if (mpq_sgn(u[i]) == 0)
      continue;
    while (k < g->n && (g->multiplier[k].of != of[i] || g->multiplier[k].condition != condition[i]))
      k++;
    ck_assert(k < g->n && mpq_equal(g->multiplier[k].u, u[i]));
    above++;
  }
  ck_assert_uint_eq(g->n, above);
}

START_TEST(weights_are_read_in_order)
{
  mpq_t *u = clarke_rationals(MOST);
  size_t of[MOST], condition[MOST], none = 0;
  uint64_t state = 5;

  for (int round = 0; round < 500; round++) {
    const size_t n = draw_weights(u, of, condition, &state);
    clarke_gordan g = {0}, copy = {0};

    OK(clarke_gordan_read(&g, u, of, condition, n, &error));
    has_weights(&g, u, of, condition, n);
    ck_assert(clarke_gordan_is_valid(&g) == (g.n > 0));
    none += g.n == 0;
    OK(clarke_gordan_copy(&copy, &g, &error));
    clarke_gordan_clear(&g);
    ck_assert(g.n == 0 && g.multiplier == NULL);
    has_weights(&copy, u, of, condition, n);
    clarke_gordan_clear(&copy);
  }
  ck_assert(none > 20 && none < 250);
  clarke_rationals_free(u, MOST);
}
END_TEST

START_TEST(what_refutes_nothing_is_not_valid)
{
  mpq_t *u = clarke_rationals(2);
  const size_t of[2] = {3, 4};
  clarke_gordan g = {0};

  ck_assert(!clarke_gordan_is_valid(&g));
  mpq_set_ui(u[0], 1, 2);
  mpq_set_ui(u[1], 2, 1);
  OK(clarke_gordan_read(&g, u, of, NULL, 2, &error));
  ck_assert(clarke_gordan_is_valid(&g) && g.multiplier[0].condition == 0);
  g.multiplier[1].of = 3; /* twice */
  ck_assert(!clarke_gordan_is_valid(&g));
  g.multiplier[1].condition = 1;
  ck_assert(clarke_gordan_is_valid(&g));
  g.multiplier[0].condition = 2;
  ck_assert(!clarke_gordan_is_valid(&g));
  g.multiplier[0].condition = 0;
  mpq_set_ui(g.multiplier[1].u, 0, 1);
  ck_assert(!clarke_gordan_is_valid(&g));
  mpq_set_si(g.multiplier[1].u, -1, 3);
  ck_assert(!clarke_gordan_is_valid(&g));
  mpz_set_ui(mpq_numref(g.multiplier[1].u), 2); /* 2/4 */
  mpz_set_ui(mpq_denref(g.multiplier[1].u), 4);
  ck_assert(!clarke_gordan_is_valid(&g));
  clarke_gordan_clear(&g);
  clarke_rationals_free(u, 2);
}
END_TEST

START_TEST(nodes_are_added)
{
  clarke_tree t;

  clarke_tree_init(&t);
  for (size_t i = 0; i < 1000; i++) {
    clarke_node *node = clarke_tree_add(&t, (clarke_node_kind)(i % 3));

    ck_assert(node == &t.node[i] && t.n == i + 1 && node->gordan.n == 0 && node->side == NULL && node->at == 0);
    node->at = i;
    if (node->kind == CLARKE_LEAF)
      node->side = calloc(2, sizeof *node->side);
  }
  for (size_t i = 0; i < 1000; i++)
    ck_assert(t.node[i].at == i && t.node[i].kind == (clarke_node_kind)(i % 3));
  clarke_tree_clear(&t);
  ck_assert(t.n == 0 && t.node == NULL && !t.complete);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("pattern tree");

  tcase_add_test(tests, weights_are_read_in_order);
  tcase_add_test(tests, what_refutes_nothing_is_not_valid);
  tcase_add_test(tests, nodes_are_added);
  return run_tests();
}
