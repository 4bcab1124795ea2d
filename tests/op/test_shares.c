/* The shares of entries at places that are computed, of a node made by hand. */
#include "node.h"

#include "op/grid_moved.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/shares.h"

/* Value v is a constant of numbers, expected row after row. */
static void
matrix_is(size_t v, size_t rows, size_t columns, const double *expected)
{
  ck_assert_uint_eq(g.values[v].rank, 2);
  ck_assert(g.values[v].dims[0] == rows && g.values[v].dims[1] == columns);
  for (size_t i = 0; i < rows * columns; i++)
    ck_assert_msg(g.values[v].real[i] == expected[i], "entry %zu is %g, expected %g", i, g.values[v].real[i], expected[i]);
}

/* The constant of the graph's last product with one. */
static size_t
last_matrix(void)
{
  size_t s = g.n_steps;

  while (s-- > 0)
    if (g.steps[s].kind == CLARKE_DENSE)
      return g.steps[s].dense.weight;
  ck_abort_msg("no product");
  return 0;
}

static size_t
places(void)
{
  static const size_t dims[] = {2, 3, 1};

  set_value(0, false, 3, dims);
  return 0;
}

/* Entries 0 and 1 at the numbers -1 to 2; by rows what max(p - k, 0) is multiplied with. */
START_TEST(between_entries_are_hats)
{
  static const double open[] = {1, 0, -2, 1, 1, -2, 0, 1}, ended[] = {1, 0, -2, 1, 1, -1, 0, 0}, alone[] = {1, -1, 0};
  size_t y = clarke_shares(&low, places(), 2, CLARKE_SEES_BETWEEN, false, &error);

  ck_assert_uint_ne(y, CLARKE_NONE);
  ck_assert(g.values[y].rank == 3 && g.values[y].dims[2] == 2 && g.values[y].count == 12);
  matrix_is(last_matrix(), 4, 2, open);
  ck_assert_uint_ne(clarke_shares(&low, 0, 2, CLARKE_SEES_BETWEEN, true, &error), CLARKE_NONE);
  matrix_is(last_matrix(), 4, 2, ended);
  ck_assert_uint_ne(clarke_shares(&low, 0, 1, CLARKE_SEES_BETWEEN, true, &error), CLARKE_NONE);
  matrix_is(last_matrix(), 3, 1, alone);
}
END_TEST

START_TEST(kinks_are_those_of_grid_sample)
{
  size_t kinks = 0;

  ck_assert_uint_ne(clarke_shares(&low, places(), 3, CLARKE_SEES_BETWEEN, true, &error), CLARKE_NONE);
  for (size_t s = 0; s < g.n_steps; s++)
    if (g.steps[s].kind == CLARKE_PIECEWISE) {
      kinks += g.values[g.steps[s].out].count;
      ck_assert_str_eq(g.steps[s].op->name, "GridSample");
      ck_assert_uint_eq(g.steps[s].pieces.n_kinks, 1);
    }
  ck_assert_uint_eq(kinks, 6 + 6 * 5); /* where the border cuts off; at -1 to 3 */
}
END_TEST

START_TEST(nearest_entries_are_steps)
{
  static const double open[] = {1, 0, -1, 1, 0, -1}, ended[] = {0, 0, -1, 1, 0, 0};

  ck_assert_uint_ne(clarke_shares(&low, places(), 2, CLARKE_SEES_NEAREST, false, &error), CLARKE_NONE);
  matrix_is(last_matrix(), 3, 2, open);
  ck_assert_uint_ne(clarke_shares(&low, 0, 2, CLARKE_SEES_NEAREST, true, &error), CLARKE_NONE);
  matrix_is(last_matrix(), 3, 2, ended);
  for (size_t s = 0; s < g.n_steps; s++)
    ck_assert(g.steps[s].kind != CLARKE_PIECEWISE);
}
END_TEST

START_TEST(shares_of_axes_are_multiplied)
{
  static const size_t first[] = {2, 3, 2}, second[] = {2, 3, 4}, n[] = {2, 4}, along[] = {0, 1};
  size_t y;

  g.batched = false;
  set_value(0, false, 3, first);
  free(g.values[1].integer);
  set_value(1, false, 3, second);
  y = clarke_shares_joined(&low, along, 2, 2, 3, n, &error);
  ck_assert_uint_ne(y, CLARKE_NONE);
  ck_assert(g.values[y].rank == 3 && g.values[y].dims[0] == 2 && g.values[y].dims[1] == 3 && g.values[y].dims[2] == 8);
}
END_TEST

START_TEST(grids_fit_the_image)
{
  static const size_t image[] = {2, 1, 3, 4}, grid[] = {2, 5, 6, 3};
  const clarke_grid_rules rules = {false, false, false};

  g.batched = false;
  set_value(0, false, 4, image);
  free(g.values[1].integer);
  set_value(1, false, 4, grid);
  ck_assert_int_eq(clarke_lower_moved_grid(&low, &rules, &error), CLARKE_EINPUT);
  says(error.text, "an input of 4 axes and a grid of 4|as many samples");
  g.values[1].dims[3] = 2;
  g.values[1].count = 120;
  ck_assert_int_eq(clarke_lower_moved_grid(&low, &rules, &error), CLARKE_OK);
  ck_assert(g.values[g.n_values - 1].rank == 4 && g.values[g.n_values - 1].count == 60);
}
END_TEST

/* Two outputs that no node has. */
static void
begin_with_output(void)
{
  static size_t out[2];

  begin();
  out[0] = out[1] = CLARKE_NONE;
  low.out = out;
}

int
main(void)
{
  TCase *tests = tests_of("shares");

  tcase_add_checked_fixture(tests, begin_with_output, end);
  tcase_add_test(tests, between_entries_are_hats);
  tcase_add_test(tests, kinks_are_those_of_grid_sample);
  tcase_add_test(tests, nearest_entries_are_steps);
  tcase_add_test(tests, shares_of_axes_are_multiplied);
  tcase_add_test(tests, grids_fit_the_image);
  return run_tests();
}
