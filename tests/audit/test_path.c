/* Paths: a direction that follows all constraints, or a Gordan relation among them as a dead node; checked by the definitions. */
#include "../ok.h"
#include "../network/models.h"

#include "audit/path.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 3, MOST = 7 };

static void
add_drawn(clarke_path *p, uint64_t *state)
{
  /* Pairs of touch and condition out of order, none twice. */
  const size_t number = (p->n * 5 + 3) % MOST;
  clarke_row *row = clarke_path_add(p, number / 2, number % 2);
  mpq_t v;

  mpq_init(v);
  for (size_t c = 0; c < COLUMNS; c++) {
    mpq_set_si(v, draw_between(state, -2, 2), 3);
    mpq_canonicalize(v);
    OK(clarke_row_add(row, c, v, &error));
  }
  clarke_row_finish(row);
  mpq_clear(v);
}

/* sum[column] += u row */
static void
add_times(mpq_t *sum, const mpq_t u, const clarke_row *row)
{
  mpq_t v;

  mpq_init(v);
  for (size_t i = 0; i < row->n; i++) {
    mpq_mul(v, u, row->value[i]);
    mpq_add(sum[row->column[i]], sum[row->column[i]], v);
  }
  mpq_clear(v);
}

static void
follows(const clarke_direction *d, const clarke_path *p)
{
  mpq_t at[COLUMNS], product, v;

  mpq_inits(product, v, NULL);
  for (size_t c = 0; c < COLUMNS; c++)
    mpq_init(at[c]);
  for (size_t i = 0; i < d->n; i++)
    for (size_t c = 0; c < COLUMNS; c++) {
      ck_assert(d->move[i].kind != CLARKE_MOVE_COPY);
      if (d->move[i].kind == CLARKE_MOVE_ADD || d->move[i].entry == c)
        mpq_add(at[c], at[c], d->move[i].coef);
    }
  for (size_t k = 0; k < p->n; k++) {
    const clarke_row *row = &p->constraint[k].row;

    mpq_set_ui(product, 0, 1);
    for (size_t i = 0; i < row->n; i++) {
      mpq_mul(v, row->value[i], at[row->column[i]]);
      mpq_add(product, product, v);
    }
    ck_assert_int_eq(mpq_sgn(product), 1);
  }
  for (size_t c = 0; c < COLUMNS; c++)
    mpq_clear(at[c]);
  mpq_clears(product, v, NULL);
}

static void
contradicts(const clarke_node *node, const clarke_path *p)
{
  mpq_t sum[COLUMNS];

  ck_assert_int_eq(node->kind, CLARKE_DEAD);
  ck_assert_uint_gt(node->gordan.n, 0);
  for (size_t c = 0; c < COLUMNS; c++)
    mpq_init(sum[c]);
  for (size_t i = 0; i < node->gordan.n; i++) {
    const clarke_multiplier *u = &node->gordan.multiplier[i];
    size_t k = 0;

    ck_assert_int_eq(mpq_sgn(u->u), 1);
    ck_assert(i == 0 || u[-1].of < u->of || (u[-1].of == u->of && u[-1].condition < u->condition));
    while (k < p->n && (p->constraint[k].touch != u->of || p->constraint[k].condition != u->condition))
      k++;
    ck_assert_uint_lt(k, p->n);
    add_times(sum, u->u, &p->constraint[k].row);
  }
  for (size_t c = 0; c < COLUMNS; c++) {
    ck_assert_int_eq(mpq_sgn(sum[c]), 0);
    mpq_clear(sum[c]);
  }
}

/* The answer about the path as it is. */
static clarke_cone_answer
solve(clarke_tree *t, const clarke_path *p, const clarke_graph *g)
{
  const size_t before = t->n;
  clarke_cone_answer answer, again;
  clarke_direction d;

  clarke_direction_init(&d);
  OK(clarke_path_solve(&answer, &d, t, p, g, &error));
  ck_assert_int_ne(answer, CLARKE_CONE_UNKNOWN);
  ck_assert_uint_eq(t->n, before + (answer == CLARKE_CONE_EMPTY));
  if (answer == CLARKE_CONE_EMPTY)
    contradicts(&t->node[before], p);
  else
    follows(&d, p);
  OK(clarke_path_solve(&again, NULL, t, p, g, &error));
  ck_assert_int_eq(again, answer);
  clarke_direction_clear(&d);
  return answer;
}

/* Constraints one after another, and back to where there was a way. */
START_TEST(drawn_paths)
{
  clarke_parameter weight = {.count = COLUMNS, .wrt = true};
  const clarke_graph g = {.n_parameters = 1, .parameters = &weight};
  uint64_t state = 31;
  size_t dead = 0, followed = 0;

  for (size_t i = 0; i < 200; i++) {
    clarke_path p;
    clarke_tree t;

    clarke_tree_init(&t);
    OK(clarke_path_init(&p, MOST, &error));
    while (p.n < MOST) {
      add_drawn(&p, &state);
      if (solve(&t, &p, &g) == CLARKE_CONE_FEASIBLE) {
        followed++;
        continue;
      }
      dead++;
      clarke_path_drop(&p, p.n - 1); /* which had a way */
      ck_assert(p.n == 0 || solve(&t, &p, &g) == CLARKE_CONE_FEASIBLE);
      if (draw_below(&state, 3) == 0)
        break;
    }
    clarke_path_clear(&p);
    clarke_tree_clear(&t);
  }
  printf("%zu paths followed, %zu dead\n", followed, dead);
  ck_assert_uint_gt(followed, 200);
  ck_assert_uint_gt(dead, 100);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("path");
  int failed;

  tcase_add_test(tests, drawn_paths);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
