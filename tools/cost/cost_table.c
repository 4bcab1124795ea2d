/* clarke cost --table and --matrices: the thesis' tables and Theorem 4, computed. */
#include "cost_report.h"

#include "cost/directions.h"
#include "cost/table.h"
#include "session/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *cost, *joint, *more, *share, *omega, *most, *printed_cost, *printed_omega;
  bool wrong;
} texts;

static void
texts_clear(texts *t)
{
  free(t->cost);
  free(t->joint);
  free(t->more);
  free(t->share);
  free(t->omega);
  free(t->most);
  free(t->printed_cost);
  free(t->printed_omega);
}

/* above and below are so many operations, `arguments` more multiplications above. */
static char *
ratio(const clarke_operations *above, size_t arguments, const clarke_operations *below, const clarke_prices *prices)
{
  clarke_amount a, b;
  mpz_t one;
  char *text;

  mpz_init_set_ui(one, 1);
  clarke_amount_init(&a);
  clarke_amount_init(&b);
  if (above != NULL)
    clarke_amount_add(&a, above, one);
  mpz_add_ui(a.of[CLARKE_MULTIPLICATION], a.of[CLARKE_MULTIPLICATION], arguments);
  if (below != NULL)
    clarke_amount_add(&b, below, one);
  text = below != NULL ? clarke_amount_ratio_text(&a, &b, prices) : clarke_amount_text(&a, prices);
  clarke_amount_clear(&a);
  clarke_amount_clear(&b);
  mpz_clear(one);
  return text;
}

static char *
supremum(const clarke_elementary *e)
{
  mpq_t q;
  char *text;

  mpq_init(q);
  text = clarke_elementary_supremum(q, e) ? clarke_price_text(q) : strdup("unbounded");
  mpq_clear(q);
  return text;
}

static bool
is_wrong(const clarke_table_row_of_costs *row)
{
  return row->share != NULL || row->has_cost || !row->holds;
}

static clarke_status
find_texts(texts *t, const clarke_table_row_of_costs *row, const clarke_prices *prices, clarke_error *err)
{
  const clarke_elementary *e = &row->e;

  t->cost = ratio(&e->cost, 0, NULL, prices);
  t->joint = ratio(&e->joint, 0, NULL, prices);
  t->more = ratio(&e->joint, 0, &e->cost, prices);
  t->share = ratio(NULL, e->arguments, &e->cost, prices);
  t->omega = ratio(&e->joint, 2 * e->arguments, &e->cost, prices);
  t->most = row->is_unit ? strdup(row->bound) : supremum(e);
  t->wrong = is_wrong(row);
  t->printed_cost = row->has_cost ? ratio(&row->printed.cost, 0, NULL, prices) : strdup("");
  t->printed_omega = row->has_cost ? supremum(&row->printed) : strdup("");
  return t->cost != NULL && t->joint != NULL && t->more != NULL && t->share != NULL && t->omega != NULL && t->most != NULL
             && t->printed_cost != NULL && t->printed_omega != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
print_row(const clarke_table_row_of_costs *row, const texts *t)
{
  printf("  %-21s %-18s %4zu  %-18s %-17s %-22s %-34s %s\n", row->function, t->cost, row->e.arguments,
         t->joint, t->more, t->share, t->omega, t->most);
  if (row->share != NULL)
    printf("  %21s paper wrong: cx |pr| / cost(g) is printed as %s, which is 2 cx |pr| / cost(g)\n", "", row->share);
  if (row->has_cost)
    printf("  %21s paper wrong: cost(g) is printed as n + 2 n c_R - 1 = %s, by which omega is %s at most\n", "", t->printed_cost,
           t->printed_omega);
  if (!row->holds)
    printf("  %21s paper wrong: omega <= %s is printed; that holds if and only if n c_R >= 1\n", "", row->bound);
}

static json_t *
row_json(const clarke_table_row_of_costs *row, const texts *t)
{
  json_t *j = json_object(), *printed = json_object();

  clarke_json_set(&j, "function", json_string(row->function));
  clarke_json_set(&j, "cost", json_string(t->cost));
  clarke_json_set(&j, "predecessors", json_integer((json_int_t)row->e.arguments));
  clarke_json_set(&j, "cost_gd", json_string(t->joint));
  clarke_json_set(&j, "cost_gd_over_cost", json_string(t->more));
  clarke_json_set(&j, "share", json_string(t->share));
  clarke_json_set(&j, "omega", json_string(t->omega));
  clarke_json_set(&j, "at_most", json_string(t->most));
  clarke_json_set(&j, "outcome", json_string(t->wrong ? "paper wrong" : "agree"));
  if (row->share != NULL)
    clarke_json_set(&printed, "share", json_string(row->share));
  if (row->has_cost) {
    clarke_json_set(&printed, "cost", json_string(t->printed_cost));
    clarke_json_set(&printed, "at_most", json_string(t->printed_omega));
  }
  clarke_json_set(&printed, "bound", json_string(row->bound));
  clarke_json_set(&j, "printed", printed);
  return j;
}

/* The prices that are given; all 1 where the table has no letters. */
static void
set_prices(clarke_prices *to, const clarke_prices *from, bool unit)
{
  clarke_prices_init(to);
  for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
    mpq_set(to->of[k], from->of[k]);
    to->given[k] = from->given[k] || unit;
  }
}

static clarke_status
take_rows(const clarke_table_row_of_costs *row, size_t n, const clarke_prices *given, json_t **list, clarke_error *err)
{
  clarke_prices prices;
  clarke_status status = CLARKE_OK;

  set_prices(&prices, given, n > 0 && row[0].is_unit);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    texts t = {.cost = NULL};

    status = find_texts(&t, &row[i], &prices, err);
    if (status == CLARKE_OK && list != NULL)
      clarke_json_append(list, row_json(&row[i], &t));
    else if (status == CLARKE_OK)
      print_row(&row[i], &t);
    texts_clear(&t);
  }
  clarke_prices_clear(&prices);
  return status;
}

clarke_status
clarke_cost_table_print(const char *table, const clarke_prices *prices, clarke_error *err)
{
  clarke_table_row_of_costs row[CLARKE_COST_ROWS];
  const size_t n = clarke_cost_table(row, table);

  printf("Table %s%s\n\n  %-21s %-18s %4s  %-18s %-17s %-22s %-34s %s\n", table, row[0].is_unit ? "" : ", c_nl >= 1, c_R >= 0", "g",
         "cost(g)", "|pr|", "cost(gd)", "cost(gd)/cost(g)", "cx |pr| / cost(g)", "omega = (cost(gd)+2cx|pr|)/cost(g)", "at most");
  return take_rows(row, n, prices, NULL, err);
}

clarke_status
clarke_cost_table_tell(const char *table, clarke_error *err)
{
  clarke_table_row_of_costs row[CLARKE_COST_ROWS];
  const size_t n = clarke_cost_table(row, table);
  size_t wrong = 0;

  for (size_t i = 0; i < n; i++)
    wrong += is_wrong(&row[i]);
  return clarke_cost_tell_table(table, n, wrong, err);
}

clarke_status
clarke_cost_table_json(json_t **j, const char *table, const clarke_prices *prices, clarke_error *err)
{
  clarke_table_row_of_costs row[CLARKE_COST_ROWS];
  json_t *list = json_array();
  clarke_status status = take_rows(row, clarke_cost_table(row, table), prices, &list, err);

  clarke_json_set(j, "table", json_string(table));
  clarke_json_set(j, "rows", list);
  return status;
}

/* --- Theorem 4 ---------------------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *key;
  size_t additions, cutoff; /* additions 0: naive */
} scheme;

static const scheme schemes[] = {
  {"naive", "naive", 0, 0},
  {"Strassen, 18 additions, to 1 x 1", "strassen", 18, 1},
  {"Winograd, 15 additions, to 1 x 1", "winograd", 15, 1},
  {"Strassen, with the best cut-off", "strassen_cut_off", 18, 0},
  {"Winograd, with the best cut-off", "winograd_cut_off", 15, 0},
};

/* cutoff 0: the cheapest. */
static size_t
product_cost(mpz_t cost, const scheme *s, size_t p)
{
  size_t best = p;
  mpz_t other;

  if (s->additions == 0) {
    clarke_product_naive(cost, p);
    return p;
  }
  clarke_product_by_seven(cost, p, s->additions, s->cutoff > 0 ? s->cutoff : p);
  mpz_init(other);
  for (size_t n = p; s->cutoff == 0 && n % 2 == 0; n /= 2) {
    clarke_product_by_seven(other, p, s->additions, n / 2);
    if (mpz_cmp(other, cost) < 0) {
      mpz_set(cost, other);
      best = n / 2;
    }
  }
  mpz_clear(other);
  return s->cutoff > 0 ? s->cutoff : best;
}

static void
print_scheme(const scheme *s, size_t p, json_t **list)
{
  mpz_t c;
  mpq_t ratio_of, stated;
  size_t cutoff;

  mpz_init(c);
  mpq_inits(ratio_of, stated, NULL);
  cutoff = product_cost(c, s, p);
  clarke_directions_ratio(ratio_of, stated, c, p);
  if (list == NULL)
    gmp_printf("  %-34s %16Zd %8zu  %-22Qd %Qd\n", s->name, c, cutoff, ratio_of, stated);
  else {
    json_t *j = json_object();
    char *texts_of[2] = {clarke_price_text(ratio_of), clarke_price_text(stated)};

    clarke_json_set(&j, "product", json_string(s->key));
    clarke_json_set(&j, "cost", clarke_cost_whole(c));
    clarke_json_set(&j, "cutoff", json_integer((json_int_t)cutoff));
    clarke_json_set(&j, "ratio", json_string(texts_of[0]));
    clarke_json_set(&j, "ratio_2_7", json_string(texts_of[1]));
    clarke_json_append(list, j);
    free(texts_of[0]);
    free(texts_of[1]);
  }
  mpz_clear(c);
  mpq_clears(ratio_of, stated, NULL);
}

static clarke_status
tell_matrices(size_t p, const mpz_t cost, clarke_error *err)
{
  size_t best = 0;
  clarke_status status;
  mpz_t c, least;

  mpz_inits(c, least, NULL);
  product_cost(least, &schemes[0], p);
  for (size_t k = 1; k < sizeof schemes / sizeof *schemes; k++) {
    product_cost(c, &schemes[k], p);
    if (mpz_cmp(c, least) < 0) {
      mpz_set(least, c);
      best = k;
    }
  }
  status = clarke_cost_tell_matrices(p, cost, schemes[best].name, least, err);
  mpz_clears(c, least, NULL);
  return status;
}

clarke_status
clarke_cost_matrices_print(size_t p, bool json, clarke_error *err)
{
  static const char *const signs[] = {"none: 4 does not divide p", "Sylvester's", "not known here"};
  json_t *j = json_object(), *list = json_array();
  clarke_status status;
  mpz_t cost;

  mpz_init(cost);
  clarke_directions_cost(cost, p);
  status = json ? CLARKE_OK : tell_matrices(p, cost, err);
  if (!json && status == CLARKE_OK)
    gmp_printf("Theorem 4, p = %zu\n  cost(P_F) = 6 p^2 + 2 p = %Zd\n  U with entries 1 and -1, U^T U = p I: %s\n\n"
               "  If c(p), the least cost of a product of p x p matrices, were\n  %-34s %16s %8s  %-22s %s\n", p, cost,
               signs[clarke_orthogonal_signs(p)], "that of a product", "c", "cut-off", "(c - 5p) / 5 cost(P_F)",
               "(c - 5p) / 40 p^2 (2.7)");
  for (size_t k = 0; k < sizeof schemes / sizeof *schemes && status == CLARKE_OK; k++)
    print_scheme(&schemes[k], p, json ? &list : NULL);
  clarke_json_set(&j, "p", json_integer((json_int_t)p));
  clarke_json_set(&j, "cost", clarke_cost_whole(cost));
  clarke_json_set(&j, "signs", json_string(signs[clarke_orthogonal_signs(p)]));
  clarke_json_set(&j, "products", list);
  mpz_clear(cost);
  if (json)
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  json_decref(j);
  return status;
}
