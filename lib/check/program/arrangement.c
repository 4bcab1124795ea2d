/* Proofs about arrangements (docs/proof-format.md): the sign vectors of hyperplanes are that many. The columns are rows of a tree
 * of signs, whose leaves have points. */
#include "check/program/arrangement.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/signs.h"
#include "check/program/table.h"

#include <stdlib.h>

typedef struct {
  size_t n, p; /* the matrix: n rows, p columns */
  bool affine; /* then vectors have an entry more, and there is a column more, (0, 1), which is positive */
  signs column;
} arrangement;

/* ---- The arrangement */

/* A column: x times the common denominator. */
static void
push_column(arrangement *a, rational **x, integer *vector)
{
  INTEGER(common);
  mpz_set_ui(&common, 1);
  for (size_t i = 0; i < a->column.width; i++)
    mpz_lcm(&common, &common, mpq_denref(x[i]));
  for (size_t i = 0; i < a->column.width; i++) {
    mpz_divexact(&vector[i], &common, mpq_denref(x[i]));
    mpz_mul(&vector[i], &vector[i], mpq_numref(x[i]));
  }
  if (a->affine)
    mpz_neg(&vector[a->n], &vector[a->n]);
  signs_push(&a->column, vector);
}

/* Those that are 0 are no hyperplanes. */
static void
set_columns(arrangement *a, const table *v, const table *offsets)
{
  size_t size = a->n + a->affine;
  rational **x = allocate(size, sizeof *x);
  integer *vector = allocate(size, sizeof *vector);
  signs_begin(&a->column, size, a->affine, "column");
  for (size_t i = 0; i < size; i++)
    vector[i] = integer_zero();
  for (size_t j = 0; j < a->p; j++) {
    bool is_zero = true;
    for (size_t i = 0; i < a->n; i++) {
      x[i] = &v->value[i * a->p + j];
      is_zero = is_zero && mpq_sgn(x[i]) == 0;
    }
    if (a->affine)
      x[a->n] = &offsets->value[j];
    push_column(a, x, vector);
    if (is_zero)
      signs_leave_out(&a->column, j);
  }
  for (size_t i = 0; i < size; i++)
    mpz_set_ui(&vector[i], i == a->n);
  if (a->affine) {
    signs_push(&a->column, vector);
    signs_give(&a->column, a->p, 1);
  }
  free(x);
}

static void
read_arrangement(arrangement *a, const char *folder)
{
  next_line("arrangement");
  table v = table_read(next_file(folder, "Hyperplanes"), "the hyperplanes"), t = {0, 0, NULL};
  a->n = v.rows;
  a->p = v.columns;
  a->affine = line_is("offsets");
  if (a->affine)
    t = table_read(next_file(folder, "Offsets"), "the offsets");
  expect(!a->affine || (t.rows == 1 && t.columns == a->p) || (t.columns == 1 && t.rows == a->p),
         "there is not one offset for each column");
  set_columns(a, &v, &t);
  rationals_free(v.value, v.rows * v.columns);
  rationals_free(t.value, t.rows * t.columns);
}

/* Equal, or opposite. */
static bool
parallel(const arrangement *a, const integer *x, const integer *y)
{
  bool same = true, opposite = true;
  for (size_t i = 0; i < a->column.width; i++) {
    same = same && mpz_cmp(&x[i], &y[i]) == 0;
    opposite = opposite && mpz_cmpabs(&x[i], &y[i]) == 0 && mpz_sgn(&x[i]) == -mpz_sgn(&y[i]);
  }
  return same || opposite;
}

static void
read_parallel(arrangement *a)
{
  for (size_t least = 0; line_is("parallel");) {
    size_t j = signs_next_row(&a->column), k = signs_next_row(&a->column);
    require(j >= least && k < j, "parallel columns in order, each with one before it, are expected");
    require(parallel(a, a->column.rows[j].vector, a->column.rows[k].vector), "columns %zu and %zu are not parallel", j,
            k);
    signs_leave_out(&a->column, j);
    least = j + 1;
  }
}

/* ---- The tree */

static size_t
read_tree(void *of)
{
  signs *s = of;
  if (signs_read(s) > 0)
    return 2;
  signs_read_circuits(s);
  next_line("leaf");
  signs_read_point(s);
  return TREE_LEAF;
}

/* ---- The proof */

static void
print_statement(arrangement *a, size_t vectors, size_t planes)
{
  printf("VERIFIED\n%s", account_text());
  printf("The columns of the matrix are %zu normals in dimension %zu; %zu of them are not 0 and no multiple of one "
         "before.\n",
         a->p, a->n, planes);
  printf("%s arrangement of these hyperplanes has exactly %zu region%s: so many sign vectors\n",
         a->affine ? "The affine" : "The central", vectors, vectors == 1 ? "" : "s");
  printf("occur at points that lie on no hyperplane. The proof has a point for %s.\n",
         a->affine || planes == 0 ? "each" : "one of each two opposite ones");
}

void
check_arrangement(const char *folder)
{
  static const tree_rules rules = {read_tree, signs_enter, NULL};
  arrangement all = {0}, *a = &all;
  known_line("semantics", "real");
  read_arrangement(a, folder);
  next_line("regions");
  size_t regions = next_number();
  read_parallel(a);
  size_t planes = a->column.n_open;
  bool half = !a->affine && planes > 0;
  if (half) {
    next_line("half");
    signs_give(&a->column, signs_next_open(&a->column), 1);
  }
  next_line("tree");
  size_t leaves = tree_read(&a->column.path, &rules, &a->column);
  require(regions == (half ? 2 : 1) * leaves, "the tree has %zu leaves", leaves);
  last_line();
  print_statement(a, regions, planes);
}
