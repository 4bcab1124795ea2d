/* Products of matrices, as programs and by hand (suite.h): thesis, proof of Theorem 4; Bolte and Pauwels, Lemma 1. */
#include "suite_posed.h"

#include "cost/program.h"

#include <string.h>
#include <flint/fmpz_mat.h>

#define MOST_SIDE 8

/* let TO_i = sum of the entries of a matrix, row by row or column by column, times those of FROM. */
static void
put_product(FILE *to, const char *matrix, bool transposed, const char *result, const char *from, size_t p)
{
  const bool input = strcmp(from, "x") == 0;

  for (size_t i = 0; i < p; i++) {
    fprintf(to, "let %s%zu = ", result, i);
    for (size_t j = 0; j < p; j++)
      fprintf(to, "%s%s[%zu]*%s%s%zu%s", j > 0 ? " + " : "", matrix, transposed ? j * p + i : i * p + j, from, input ? "[" : "", j, input ? "]" : "");
    fputs("\n", to);
  }
}

/* F(x) = (1/p) sum_i |[U B^T M x]_i|. */
static clarke_status
pose_norm(clarke_posed *q, size_t p, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input x[%zu], B[%zu], M[%zu], U[%zu]\n", p, p * p, p * p, p * p);
  put_product(t.to, "M", false, "y", "x", p);
  put_product(t.to, "B", true, "z", "y", p);
  put_product(t.to, "U", false, "t", "z", p);
  for (size_t i = 0; i < p; i++)
    fprintf(t.to, "%s(relu(t%zu) + relu(-t%zu))", i > 0 ? " + " : "output (", i, i);
  fprintf(t.to, ") / %zu\n", p);
  return clarke_posed_read(q, &t, NULL, p + 3 * p * p, err);
}

/* Theorem 4's P_F costs 6 p^2 + 2 p, which is at most 8 p^2. Sides for which it is less differ. */
clarke_status
clarke_suite_matrix_costs(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t p = 1 + clarke_draw_below(d, MOST_SIDE);
  clarke_posed q;
  clarke_count c;
  clarke_amount cost;
  clarke_prices prices;
  mpq_t x;
  clarke_status status;

  clarke_posed_init(&q);
  clarke_count_init(&c);
  clarke_amount_init(&cost);
  clarke_prices_init(&prices);
  mpq_init(x);
  status = pose_norm(&q, p, err);
  if (status == CLARKE_OK)
    status = clarke_count_program(&c, &q.p, err);
  if (status == CLARKE_OK) {
    clarke_count_cost(&cost, &c);
    clarke_amount_price(x, &cost, &prices);
    clarke_suite_add(t, mpq_cmp_ui(x, 6 * p * p + 2 * p, 1) == 0 && mpq_cmp_ui(x, 8 * p * p, 1) <= 0 ? CLARKE_YES : CLARKE_NO);
    t->of[CLARKE_COUNT_DIFFER] += mpq_cmp_ui(x, 8 * p * p, 1) < 0;
  }
  mpq_clear(x);
  clarke_prices_clear(&prices);
  clarke_amount_clear(&cost);
  clarke_count_clear(&c);
  clarke_posed_clear(&q);
  return status;
}

static void
draw_entries(long *entry, size_t n, clarke_draws *d)
{
  for (size_t i = 0; i < n; i++)
    entry[i] = clarke_draw_between(d, -4, 4);
}

/* The sum of b_i^T M a_i, a_i and b_i being columns. */
static clarke_status
pose_sum(clarke_posed *q, const long *a, const long *b, const long *m, size_t p, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input M[%zu]\noutput 0", p * p);
  for (size_t i = 0; i < p; i++)
    for (size_t r = 0; r < p; r++) {
      fprintf(t.to, " + (%ld)*(0", b[r * p + i]);
      for (size_t c = 0; c < p; c++)
        fprintf(t.to, " + (%ld)*M[%zu]", a[c * p + i], r * p + c);
      fputs(")", t.to);
    }
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, m, p * p, err);
}

/* The gradient in M of the sum of b_i^T M a_i is B A^T, so that both products cost what that gradient does. */
clarke_status
clarke_suite_matrix_gradients(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t p = 1 + clarke_draw_below(d, MOST_SIDE / 2);
  long a[MOST_SIDE * MOST_SIDE], b[MOST_SIDE * MOST_SIDE], m[MOST_SIDE * MOST_SIDE];
  mpq_t *g = clarke_rationals(p * p);
  clarke_posed q;
  bool equal = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  draw_entries(a, p * p, d);
  draw_entries(b, p * p, d);
  draw_entries(m, p * p, d);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = pose_sum(&q, a, b, m, p, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  for (size_t r = 0; r < p && status == CLARKE_OK; r++)
    for (size_t c = 0; c < p; c++) {
      long sum = 0;

      for (size_t i = 0; i < p; i++)
        sum += b[r * p + i] * a[c * p + i];
      equal = equal && mpq_cmp_si(g[r * p + c], sum, 1) == 0;
    }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, p * p);
  return status;
}

/* --- Lemma 1 ----------------------------------------------------------------------------------- */

/* to = from (I + d e_i^T), or from (I - e_i e_i^T + d e_i^T): only column i changes. */
static void
multiply(fmpz_mat_t to, const fmpz_mat_t from, const long *column, slong i, bool instead)
{
  fmpz_mat_t by;

  fmpz_mat_init(by, to->c, to->c);
  fmpz_mat_one(by);
  for (slong r = 0; r < to->c; r++) {
    if (instead && r == i)
      fmpz_zero(fmpz_mat_entry(by, r, i));
    fmpz_add_si(fmpz_mat_entry(by, r, i), fmpz_mat_entry(by, r, i), column[r]);
  }
  fmpz_mat_mul(to, from, by);
  fmpz_mat_clear(by);
}

/* P_p times the product over i > p of I - e_i e_i^T + d_i e_i^T is P_p times that of I + d_i e_i^T, whatever d_i is; P_p keeps the first p
 * entries. Without it the products are others: those instances differ. */
clarke_status
clarke_suite_products(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const slong m = 2 + (slong)clarke_draw_below(d, MOST_SIDE - 1), p = 1 + (slong)clarke_draw_below(d, (size_t)m - 1);
  fmpz_mat_t kept[2], whole[2], next;
  long column[MOST_SIDE];

  (void)err;
  fmpz_mat_init(next, m, m);
  for (size_t k = 0; k < 2; k++) {
    fmpz_mat_init(kept[k], m, m);
    fmpz_mat_init(whole[k], m, m);
    fmpz_mat_one(whole[k]);
    for (slong i = 0; i < p; i++)
      fmpz_one(fmpz_mat_entry(kept[k], i, i));
  }
  for (slong i = p; i < m; i++) {
    draw_entries(column, (size_t)m, d);
    for (size_t k = 0; k < 2; k++) {
      multiply(next, kept[k], column, i, k == 0);
      fmpz_mat_swap(next, kept[k]);
      multiply(next, whole[k], column, i, k == 0);
      fmpz_mat_swap(next, whole[k]);
    }
  }
  clarke_suite_add(t, fmpz_mat_equal(kept[0], kept[1]) ? CLARKE_YES : CLARKE_NO);
  t->of[CLARKE_COUNT_DIFFER] += !fmpz_mat_equal(whole[0], whole[1]);
  for (size_t k = 0; k < 2; k++) {
    fmpz_mat_clear(kept[k]);
    fmpz_mat_clear(whole[k]);
  }
  fmpz_mat_clear(next);
  return CLARKE_OK;
}
