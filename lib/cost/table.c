#include "cost/table.h"

#include <string.h>

static clarke_elementary
same_jointly(const char *name, size_t arguments, clarke_operations cost)
{
  return (clarke_elementary){.name = name, .arguments = arguments, .cost = cost, .joint = cost};
}

#define OF(...) ((clarke_operations){{__VA_ARGS__}})

clarke_elementary
clarke_elementary_one_norm(size_t n)
{
  return same_jointly("1-norm", n, OF(n - 1, n, 0, n));
}

clarke_elementary
clarke_elementary_infinity_norm(size_t n)
{
  return same_jointly("infinity norm", n, OF(0, n, 0, 2 * n - 1));
}

clarke_elementary
clarke_elementary_linear_maximum(size_t m, size_t n)
{
  return same_jointly("max of linear", m * n, OF(m * (n - 1), m * n, 0, m - 1));
}

clarke_elementary
clarke_elementary_pooled(void)
{
  return same_jointly("3x3 max-pool", 9, OF(9 * 8, 9 * 9, 0, 8));
}

/* a c_nl + b c_R + c over the same of cost(g) is quasilinear: it is largest at the corner c_nl = 1, c_R = 0, or far out along an edge. */
bool
clarke_elementary_supremum(mpq_t most, const clarke_elementary *e)
{
  const clarke_operations *const g = &e->cost, *const gd = &e->joint;
  const size_t below[3] = {g->of[CLARKE_ADDITION] + g->of[CLARKE_MULTIPLICATION] + g->of[CLARKE_NONLINEAR], g->of[CLARKE_NONLINEAR],
                           g->of[CLARKE_SIGN]};
  const size_t above[3] = {gd->of[CLARKE_ADDITION] + gd->of[CLARKE_MULTIPLICATION] + gd->of[CLARKE_NONLINEAR] + 2 * e->arguments,
                           gd->of[CLARKE_NONLINEAR], gd->of[CLARKE_SIGN]};
  bool is = true;
  mpq_t q;

  mpq_init(q);
  mpq_set_ui(most, 0, 1);
  for (int k = 0; k < 3 && is; k++) {
    is = below[k] > 0 || above[k] == 0;
    if (below[k] == 0)
      continue;
    mpq_set_ui(q, above[k], below[k]);
    mpq_canonicalize(q);
    if (mpq_cmp(q, most) > 0)
      mpq_set(most, q);
  }
  mpq_clear(q);
  return is;
}

/* --- tables -------------------------------------------------------------------------------------------- */

static clarke_table_row_of_costs
right(const char *function, clarke_elementary e, const char *bound)
{
  return (clarke_table_row_of_costs){.function = function, .e = e, .bound = bound, .holds = true};
}

/* The last row but one has 2 cost(x) |pr|, not cost(x) |pr|, in its first columns. */
static clarke_table_row_of_costs
twice(const char *function, clarke_elementary e, const char *bound, const char *share)
{
  clarke_table_row_of_costs row = right(function, e, bound);

  row.share = share;
  return row;
}

/* Printed: n + 2 n c_R - 1. */
static clarke_table_row_of_costs
infinity_row(const char *function, size_t n)
{
  clarke_table_row_of_costs row = right(function, clarke_elementary_infinity_norm(n), "3");

  row.has_cost = true;
  row.printed = same_jointly("printed", n, OF(n - 1, 0, 0, 2 * n));
  return row;
}

static clarke_table_row_of_costs
one_row(const char *function, size_t n)
{
  clarke_table_row_of_costs row = right(function, clarke_elementary_one_norm(n), "2");

  row.holds = false;
  return row;
}

static clarke_elementary
relu(void)
{
  return same_jointly("relu", 1, OF(0, 0, 0, 1));
}

static size_t
first(clarke_table_row_of_costs *row)
{
  size_t n = 0;

  row[n++] = right("+, x", clarke_elementary_addition(), "5");
  row[n++] = right("+c, xc", clarke_elementary_times_constant(), "3");
  row[n++] = right("log", clarke_elementary_analytic(CLARKE_FN_LOG), "4");
  row[n++] = right("exp", clarke_elementary_analytic(CLARKE_FN_EXP), "3");
  row[n++] = right("inv", clarke_elementary_inverse(), "5");
  row[n++] = right("ReLU", relu(), "3");
  for (size_t i = 0; i < n; i++)
    row[i].is_unit = true;
  return n;
}

static size_t
second(clarke_table_row_of_costs *row)
{
  size_t n = 0;

  row[n++] = twice("+, x", clarke_elementary_addition(), "5", "4");
  row[n++] = twice("+c, xc", clarke_elementary_times_constant(), "3", "2");
  row[n++] = right("log", clarke_elementary_analytic(CLARKE_FN_LOG), "4");
  row[n++] = right("exp", clarke_elementary_analytic(CLARKE_FN_EXP), "3");
  row[n++] = right("inv", clarke_elementary_inverse(), "5");
  row[n++] = right("x ReLU", clarke_elementary_times_relu(), "5");
  return n;
}

static size_t
third(clarke_table_row_of_costs *row)
{
  size_t n = 0;

  row[n++] = twice("+, x", clarke_elementary_addition(), "5", "4");
  row[n++] = right("|.|", same_jointly("abs", 1, OF(0, 1, 0, 1)), "3");
  row[n++] = right("ELU", clarke_elementary_elu(), "2");
  row[n++] = right("3x3 max-pool", clarke_elementary_pooled(), "1.12");
  row[n++] = infinity_row("infinity norm, n = 1", 1);
  row[n++] = infinity_row("infinity norm, n = 2", 2);
  row[n++] = infinity_row("infinity norm, n = 3", 3);
  row[n++] = infinity_row("infinity norm, n = 5", 5);
  row[n++] = one_row("1-norm, n = 1", 1);
  row[n++] = one_row("1-norm, n = 2", 2);
  row[n++] = one_row("1-norm, n = 3", 3);
  return n;
}

size_t
clarke_cost_table(clarke_table_row_of_costs row[CLARKE_COST_ROWS], const char *table)
{
  return strcmp(table, "2.1") == 0   ? first(row)
         : strcmp(table, "2.2") == 0 ? second(row)
         : strcmp(table, "2.3") == 0 ? third(row)
                                     : 0;
}
