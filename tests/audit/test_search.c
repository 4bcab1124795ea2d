/* What orders a search: gains and witnesses of classes made by hand, beside sums over all options; the moves of a direction as
 * numbers; where a search stopped. */
#include "../ok.h"
#include "../network/models.h"

#include "audit/direction.h"
#include "audit/obstacle.h"
#include "audit/pool.h"

#include <math.h>

enum { CLASSES = 4, COLUMNS = 3, OPTIONS = 3 };

/* Classes with drawn slopes and gains; small whole numbers, so that sums in doubles are exact. */
typedef struct {
  clarke_class class[CLASSES];
  double slope[CLASSES][OPTIONS * COLUMNS], gain[CLASSES][2][OPTIONS * COLUMNS], v[COLUMNS];
  clarke_classes of;
} drawn;

static void
draw_classes(drawn *c, uint64_t *state)
{
  memset(c, 0, sizeof *c);
  for (size_t i = 0; i < CLASSES; i++) {
    c->class[i].options = 2 + i % 2;
    c->class[i].slope = c->slope[i];
    for (size_t k = 0; k < c->class[i].options * COLUMNS; k++) {
      c->slope[i][k] = k < COLUMNS ? 0 : (double)draw_between(state, -3, 3);
      for (size_t sign = 0; sign < 2; sign++)
        c->gain[i][sign][k] = (double)draw_between(state, -3, 3);
    }
    for (size_t sign = 0; sign < 2; sign++)
      c->class[i].gain[sign] = c->gain[i][sign];
  }
  for (size_t j = 0; j < COLUMNS; j++)
    c->v[j] = (double)draw_between(state, -3, 3);
  c->of = (clarke_classes){.n = CLASSES, .class = c->class, .n_columns = COLUMNS};
}

static double
times(const double *row, const double *x)
{
  return row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
}

/* An open class adds the most of each sign's touches by itself; an option what it adds of both. */
START_TEST(gains_are_sums_of_both_signs)
{
  uint64_t state = 1;

  for (size_t round = 0; round < 200; round++) {
    clarke_gains g;
    drawn c;

    draw_classes(&c, &state);
    OK(clarke_gains_init(&g, &c.of, c.v, NULL, &error));
    ck_assert(g.base == 0);
    for (size_t i = 0; i < CLASSES; i++) {
      double open = 0, least = INFINITY;

      for (size_t sign = 0; sign < 2; sign++) {
        double most = -INFINITY;

        for (size_t o = 0; o < c.class[i].options; o++)
          most = fmax(most, times(c.gain[i][sign] + o * COLUMNS, c.v));
        open += most;
      }
      for (size_t o = 0; o < c.class[i].options; o++) {
        const double both = times(c.gain[i][0] + o * COLUMNS, c.v) + times(c.gain[i][1] + o * COLUMNS, c.v);

        ck_assert(g.option[i][o] == both);
        ck_assert(both <= open);
        least = fmin(least, both);
      }
      ck_assert(g.open[i] == open);
      ck_assert(clarke_gains_spread(&g, i) == open - least);
    }
    clarke_gains_clear(&g);
    ck_assert_ptr_null(g.option);
  }
}
END_TEST

/* --- witnesses --- */

/* Every direction leads to its options, takes those chosen, and is in the cone. */
static void
check_pool(const clarke_pool *p, const drawn *c, const size_t *chosen, const double *row, size_t n)
{
  size_t option[CLASSES];

  ck_assert_uint_le(p->n, p->most);
  for (size_t i = 0; i < p->n; i++) {
    const double *d = p->direction + i * COLUMNS;

    clarke_classes_along(option, &c->of, d);
    for (size_t k = 0; k < CLASSES; k++) {
      ck_assert_uint_eq(option[k], p->option[i * CLASSES + k]);
      ck_assert(chosen[k] == CLARKE_UNCHOSEN || chosen[k] == option[k]);
    }
    for (size_t r = 0; r < n; r++)
      ck_assert(times(row + r * COLUMNS, d) > 0);
  }
}

static void
check_best(const clarke_pool *p, const clarke_gains *g)
{
  size_t cell[CLASSES];
  const double best = clarke_pool_best(cell, p, g);
  double most = -INFINITY, sum = 0;

  for (size_t i = 0; i < p->n; i++) {
    double all = g->base;

    for (size_t k = 0; k < CLASSES; k++)
      all += g->option[k][p->option[i * CLASSES + k]];
    most = fmax(most, all);
  }
  ck_assert(best == most);
  for (size_t k = 0; k < CLASSES && p->n > 0; k++)
    sum += g->option[k][cell[k]];
  ck_assert(p->n == 0 || sum == best);
}

/* Those of one option, and no others; then all are chosen, and no class is left to branch on. */
static void
check_parts(const clarke_pool *p, const drawn *c, const clarke_gains *g, size_t *chosen)
{
  clarke_pool part;
  size_t sum = 0, class, take[CLASSES];
  double bound = 0;

  for (size_t k = 0; k < CLASSES; k++)
    bound += chosen[k] == CLARKE_UNCHOSEN ? g->open[k] : g->option[k][chosen[k]];
  OK(clarke_pool_choose(&class, p, g, chosen, bound, &error));
  ck_assert(class == CLARKE_NONE || (class < CLASSES && chosen[class] == CLARKE_UNCHOSEN));
  for (size_t o = 0; o < c->class[2].options; o++) {
    memcpy(take, chosen, sizeof take);
    take[2] = o;
    OK(clarke_pool_init(&part, &c->of, &error));
    clarke_pool_take(&part, p, 2, o);
    check_pool(&part, c, take, NULL, 0);
    sum += part.n;
    clarke_pool_clear(&part);
  }
  ck_assert_uint_eq(sum, p->n);
  for (size_t k = 0; k < CLASSES; k++)
    chosen[k] = 0;
  OK(clarke_pool_choose(&class, p, g, chosen, bound, &error));
  ck_assert(class == CLARKE_NONE);
}

START_TEST(witnesses_are_in_the_cone_and_take_what_is_chosen)
{
  uint64_t state = 2;
  size_t filled = 0;

  for (size_t round = 0; round < 200; round++) {
    size_t chosen[CLASSES] = { CLARKE_UNCHOSEN, CLARKE_UNCHOSEN, CLARKE_UNCHOSEN, CLARKE_UNCHOSEN }, before;
    double first[COLUMNS], row[2 * COLUMNS];
    clarke_pool p;
    clarke_gains g;
    drawn c;

    draw_classes(&c, &state);
    OK(clarke_gains_init(&g, &c.of, c.v, NULL, &error));
    OK(clarke_pool_init(&p, &c.of, &error));
    check_best(&p, &g); /* of none: nothing */
    for (size_t j = 0; j < COLUMNS; j++)
      first[j] = (double)draw_between(&state, 1, 4) / 8;
    for (size_t k = 0; k < 2 * COLUMNS; k++) /* first is inside */
      row[k] = (double)draw_between(&state, k % COLUMNS == 0 ? 4 : -1, 4);
    if (times(row, first) <= 0 || times(row + COLUMNS, first) <= 0)
      row[0] = row[COLUMNS] = 40;
    OK(clarke_pool_fill(&p, row, 2, chosen, &state, &error));
    ck_assert_uint_eq(p.n, 0); /* nobody knows a direction in the cone */
    clarke_pool_add(&p, first, chosen);
    ck_assert_uint_eq(p.n, 1);
    chosen[0] = p.option[0];
    before = 1 - chosen[0];
    clarke_pool_add(&p, first, (size_t[]){ before, CLARKE_UNCHOSEN, CLARKE_UNCHOSEN, CLARKE_UNCHOSEN });
    ck_assert_uint_eq(p.n, 1); /* it does not take that option */
    OK(clarke_pool_fill(&p, row, 2, chosen, &state, &error));
    check_pool(&p, &c, chosen, row, 2);
    check_best(&p, &g);
    check_parts(&p, &c, &g, chosen);
    filled += p.n > 8;
    clarke_pool_clear(&p);
    clarke_gains_clear(&g);
  }
  ck_assert_uint_gt(filled, 150);
}
END_TEST

/* --- directions --- */

START_TEST(moves_add_up)
{
  static double numbers[2][3] = {{ 0.5, -2, 4 }, { 1, 1, 1 }};
  clarke_parameter parameter[2] = {{.count = 3, .real = numbers[0], .wrt = true}, {.count = 3, .real = numbers[1], .wrt = true}};
  const clarke_graph g = {.n_parameters = 2, .parameters = parameter};
  uint64_t state = 3;
  mpq_t coef, want[3], found;

  mpq_inits(coef, want[0], want[1], want[2], found, NULL);
  for (size_t round = 0; round < 200; round++) {
    clarke_matrix *d = clarke_matrices_new(2);
    clarke_direction sum;

    clarke_direction_init(&sum);
    for (size_t e = 0; e < 3; e++)
      mpq_set_ui(want[e], 0, 1);
    for (size_t n = draw_below(&state, 12); n > 0; n--) {
      const clarke_move_kind kind = (clarke_move_kind)draw_below(&state, 3);
      const size_t entry = draw_below(&state, 3);

      mpq_set_si(coef, draw_between(&state, -9, 9), (unsigned long)draw_between(&state, 1, 7));
      mpq_canonicalize(coef);
      OK(clarke_direction_move(&sum, kind, 0, entry, coef, &error));
      for (size_t e = 0; e < 3; e++) {
        mpq_set_d(found, kind == CLARKE_MOVE_COPY ? numbers[0][e] : kind == CLARKE_MOVE_ADD || e == entry);
        mpq_mul(found, found, coef);
        mpq_add(want[e], want[e], found);
      }
    }
    ck_assert(clarke_direction_is_valid(&sum, &g));
    OK(clarke_direction_matrices(d, &sum, &g, &error));
    ck_assert_uint_eq(d[1].rows, 0); /* nothing moves it */
    ck_assert_uint_eq(d[0].rows, sum.n > 0 ? 3 : 0);
    for (size_t e = 0; e < d[0].rows; e++) {
      clarke_matrix_get(found, &d[0], e, 0);
      ck_assert(mpq_equal(found, want[e]));
    }
    clarke_matrices_free(d, 2);
    clarke_direction_clear(&sum);
  }
  mpq_clears(coef, want[0], want[1], want[2], found, NULL);
}
END_TEST

START_TEST(moves_that_there_are_not)
{
  clarke_parameter parameter = {.count = 3, .wrt = true};
  const clarke_graph g = {.n_parameters = 1, .parameters = &parameter};
  clarke_direction d;
  mpq_t one;

  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  clarke_direction_init(&d);
  OK(clarke_direction_move(&d, CLARKE_MOVE_AT, 0, 2, one, &error));
  ck_assert(clarke_direction_is_valid(&d, &g));
  d.move[0].entry = 3;
  ck_assert(!clarke_direction_is_valid(&d, &g));
  d.move[0].kind = CLARKE_MOVE_ADD; /* of all entries */
  ck_assert(clarke_direction_is_valid(&d, &g));
  parameter.wrt = false;
  ck_assert(!clarke_direction_is_valid(&d, &g));
  parameter.wrt = true;
  d.move[0].parameter = 1;
  ck_assert(!clarke_direction_is_valid(&d, &g));
  clarke_direction_clear(&d);
  mpq_clear(one);
}
END_TEST

/* --- obstacles --- */

START_TEST(the_first_obstacle_is_told)
{
  clarke_obstacle o = {.sideless = calloc(4, sizeof *o.sideless)};

  for (int k = CLARKE_OBSTACLE_NONE; k <= CLARKE_OBSTACLE_COMPARE; k++)
    for (int i = CLARKE_OBSTACLE_NONE; i < k; i++)
      ck_assert_str_ne(clarke_obstacle_name((clarke_obstacle_kind)i), clarke_obstacle_name((clarke_obstacle_kind)k));
  clarke_obstacle_meet(&o, CLARKE_OBSTACLE_SIMPLEX, 7);
  clarke_obstacle_meet(&o, CLARKE_OBSTACLE_TREE, 5);
  clarke_obstacle_meet(&o, CLARKE_OBSTACLE_CURVED, 3);
  clarke_obstacle_meet(&o, CLARKE_OBSTACLE_TREE, 2);
  ck_assert_int_eq(o.kind, CLARKE_OBSTACLE_TREE);
  ck_assert_uint_eq(o.touches, 5);
  ck_assert_uint_lt(clarke_list_nodes(), clarke_tree_nodes());
  ck_assert_uint_ge(4 * clarke_list_nodes(), clarke_tree_nodes());
  clarke_obstacle_clear(&o);
  ck_assert_int_eq(o.kind, CLARKE_OBSTACLE_NONE);
  ck_assert_ptr_null(o.sideless);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("search");

  tcase_add_test(tests, gains_are_sums_of_both_signs);
  tcase_add_test(tests, witnesses_are_in_the_cone_and_take_what_is_chosen);
  tcase_add_test(tests, moves_add_up);
  tcase_add_test(tests, moves_that_there_are_not);
  tcase_add_test(tests, the_first_obstacle_is_told);
  return run_tests();
}
