/* Proofs about arrangements (docs/proof-format.md): the sign vectors of hyperplanes are that many. A tree gives signs; circuits
 * refute branches, and each leaf has a point. */
#include "check/program/arrangement.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/table.h"

#include <stdlib.h>
#include <string.h>

/* A combination of columns that is zero. */
typedef struct {
  size_t n;
  size_t *column;
  signed char *sign; /* of the coefficients */
} circuit;

static size_t n, p;       /* the matrix: n rows, p columns */
static bool affine;       /* then vectors have an entry more, and column p is (0, 1), which is positive */
static integer *vector;   /* p + 1 of n + affine entries: primitive, in the direction of its column */
static bool *hyperplane;  /* p: neither 0 nor said to be parallel to one before */
static signed char *sign; /* p + 1: given so far, or 0 */
static size_t *trail, n_trail;
static circuit *circuits;
static size_t n_circuits;

static integer *
vector_of(size_t j)
{
  return vector + j * (n + affine);
}

/* ---- The arrangement */

/* x times the common denominator, over the greatest common divisor. */
static void
make_primitive(integer *to, rational **x, size_t size)
{
  INTEGER(common);
  mpz_set_ui(&common, 1);
  for (size_t i = 0; i < size; i++)
    mpz_lcm(&common, &common, mpq_denref(x[i]));
  for (size_t i = 0; i < size; i++) {
    mpz_divexact(&to[i], &common, mpq_denref(x[i]));
    mpz_mul(&to[i], &to[i], mpq_numref(x[i]));
  }
  mpz_set_ui(&common, 0);
  for (size_t i = 0; i < size; i++)
    mpz_gcd(&common, &common, &to[i]);
  for (size_t i = 0; i < size && mpz_sgn(&common) != 0; i++)
    mpz_divexact(&to[i], &to[i], &common);
}

static void
set_vectors(const table *v, const table *offsets)
{
  size_t size = n + affine;
  rational **x = allocate(size, sizeof *x);
  vector = allocate((p + 1) * size, sizeof *vector);
  hyperplane = allocate(p, sizeof *hyperplane);
  sign = allocate(p + 1, sizeof *sign);
  trail = allocate(p + 1, sizeof *trail);
  for (size_t i = 0; i < (p + 1) * size; i++)
    vector[i] = integer_zero();
  for (size_t j = 0; j < p; j++) {
    for (size_t i = 0; i < n; i++) {
      x[i] = &v->value[i * p + j];
      hyperplane[j] = hyperplane[j] || mpq_sgn(x[i]) != 0;
    }
    if (affine)
      x[n] = &offsets->value[j];
    make_primitive(vector_of(j), x, size);
    if (affine)
      mpz_neg(&vector_of(j)[n], &vector_of(j)[n]);
  }
  if (affine)
    mpz_set_ui(&vector_of(p)[n], 1);
  sign[p] = affine;
  free(x);
}

static void
read_arrangement(const char *folder)
{
  next_line("arrangement");
  table v = table_read(next_file(folder, "Hyperplanes"), "the hyperplanes"), t = {0, 0, NULL};
  n = v.rows;
  p = v.columns;
  affine = line_is("offsets");
  if (affine)
    t = table_read(next_file(folder, "Offsets"), "the offsets");
  expect(!affine || (t.rows == 1 && t.columns == p) || (t.columns == 1 && t.rows == p),
         "there is not one offset for each column");
  set_vectors(&v, &t);
  rationals_free(v.value, v.rows * v.columns);
  rationals_free(t.value, t.rows * t.columns);
}

/* Equal, or opposite. */
static bool
parallel(const integer *a, const integer *b)
{
  bool same = true, opposite = true;
  for (size_t i = 0; i < n + affine; i++) {
    same = same && mpz_cmp(&a[i], &b[i]) == 0;
    opposite = opposite && mpz_cmpabs(&a[i], &b[i]) == 0 && mpz_sgn(&a[i]) == -mpz_sgn(&b[i]);
  }
  return same || opposite;
}

/* A column that is a hyperplane of its own. */
static size_t
next_hyperplane(void)
{
  size_t j = next_number();
  require(j < p && hyperplane[j], "column %zu is no hyperplane, or was said to be another's", j);
  return j;
}

static void
read_parallel(void)
{
  for (size_t least = 0; line_is("parallel");) {
    size_t j = next_hyperplane(), k = next_hyperplane();
    require(j >= least && k < j, "parallel columns in order, each with one before it, are expected");
    require(parallel(vector_of(j), vector_of(k)), "columns %zu and %zu are not parallel", j, k);
    hyperplane[j] = false;
    least = j + 1;
  }
}

/* ---- The tree */

static void
give(size_t j, signed char s)
{
  sign[j] = s;
  trail[n_trail++] = j;
}

static void
take_back(size_t to)
{
  while (n_trail > to)
    sign[trail[--n_trail]] = 0;
}

static size_t
next_open(void)
{
  size_t j = next_hyperplane();
  require(sign[j] == 0, "column %zu has its sign already", j);
  return j;
}

/* `circuit J VALUE J VALUE ...`: the combination of these vectors is zero. */
static void
read_circuit(void)
{
  circuit c = {0, NULL, NULL};
  integer *sum = allocate(n + affine, sizeof *sum);
  RATIONAL(value);
  for (size_t i = 0; i < n + affine; i++)
    sum[i] = integer_zero();
  while (more_words()) {
    size_t j = next_number();
    next_rational(&value);
    require((j < p && hyperplane[j]) || (affine && j == p), "column %zu is no hyperplane", j);
    require(c.n == 0 || j > c.column[c.n - 1], "columns in increasing order are expected");
    require(mpq_sgn(&value) != 0 && mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers that are not 0 are expected");
    for (size_t i = 0; i < n + affine; i++)
      mpz_addmul(&sum[i], mpq_numref(&value), &vector_of(j)[i]);
    c.column = grow(c.column, c.n, sizeof *c.column);
    c.sign = grow(c.sign, c.n, sizeof *c.sign);
    c.column[c.n] = j;
    c.sign[c.n++] = (signed char)mpq_sgn(&value);
  }
  for (size_t i = 0; i < n + affine; i++) {
    require(mpz_sgn(&sum[i]) == 0, "the combination of the columns is not 0");
    mpz_clear(&sum[i]);
  }
  free(sum);
  circuits = grow(circuits, n_circuits, sizeof *circuits);
  circuits[n_circuits++] = c;
}

/* `forced J C`: all other columns of circuit C have the signs of its coefficients, or all the opposite ones; so column J has
 * not. */
static void
take_forced(void)
{
  size_t j = next_open(), k = next_number(), members = 0;
  require(k < n_circuits, "there is no circuit %zu yet", k);
  const circuit *c = &circuits[k];
  signed char turn = 0, own = 0;
  for (size_t i = 0; i < c->n; i++) {
    signed char s = (signed char)(sign[c->column[i]] * c->sign[i]);
    if (c->column[i] == j) {
      own = c->sign[i];
      continue;
    }
    require(s != 0 && (members == 0 || s == turn), "the signs given do not stand as in circuit %zu, nor all opposite",
            k);
    turn = s;
    members++;
  }
  require(own != 0 && members > 0, "circuit %zu has no column %zu, or no other", k, j);
  give(j, (signed char)-(turn * own));
}

/* `leaf X ...`: a point that has all signs. */
static void
check_leaf(void)
{
  static integer *x;
  RATIONAL(value);
  INTEGER(product);
  if (x == NULL) {
    x = allocate(n + affine, sizeof *x);
    for (size_t i = 0; i < n + affine; i++)
      x[i] = integer_zero();
  }
  for (size_t i = 0; i < n + affine; i++) {
    next_rational(&value);
    require(mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers are expected");
    mpz_set(&x[i], mpq_numref(&value));
  }
  require(!affine || mpz_sgn(&x[n]) > 0, "the last entry must be above 0");
  for (size_t j = 0; j < p; j++) {
    if (!hyperplane[j])
      continue;
    require(sign[j] != 0, "column %zu has no sign here", j);
    mpz_set_ui(&product, 0);
    for (size_t i = 0; i < n + affine; i++)
      mpz_addmul(&product, &x[i], &vector_of(j)[i]);
    require(mpz_sgn(&product) == sign[j], "the point does not have the sign given to column %zu", j);
  }
}

/* A split whose second branch is to come. */
typedef struct {
  size_t column, given; /* signs that stand above it */
} parting;

/* The tree in preorder; how many leaves it has. */
static size_t
check_tree(void)
{
  size_t leaves = 0, depth = 0;
  parting *path = allocate(p + 1, sizeof *path);
  for (;;) {
    if (line_is("circuit")) {
      read_circuit();
    } else if (line_is("forced")) {
      take_forced();
    } else if (line_is("split")) {
      path[depth++] = (parting){next_open(), n_trail};
      give(path[depth - 1].column, -1);
    } else {
      next_line("leaf");
      check_leaf();
      leaves++;
      if (depth == 0)
        break;
      take_back(path[--depth].given);
      give(path[depth].column, 1);
    }
  }
  free(path);
  return leaves;
}

/* ---- The proof */

static void
print_statement(size_t vectors, size_t planes)
{
  printf("VERIFIED\n%s", account_text());
  printf("The columns of the matrix are %zu normals in dimension %zu; %zu of them are not 0 and no multiple of one "
         "before.\n",
         p, n, planes);
  printf("%s arrangement of these hyperplanes has exactly %zu region%s: so many sign vectors\n",
         affine ? "The affine" : "The central", vectors, vectors == 1 ? "" : "s");
  printf("occur at points that lie on no hyperplane. The proof has a point for %s.\n",
         affine || planes == 0 ? "each" : "one of each two opposite ones");
}

void
check_arrangement(const char *folder)
{
  size_t planes = 0;
  known_line("semantics", "real");
  read_arrangement(folder);
  next_line("regions");
  size_t regions = next_number();
  read_parallel();
  for (size_t j = 0; j < p; j++)
    planes += hyperplane[j];
  bool half = !affine && planes > 0;
  if (half) {
    next_line("half");
    give(next_open(), 1);
  }
  next_line("tree");
  size_t leaves = check_tree();
  require(regions == (half ? 2 : 1) * leaves, "the tree has %zu leaves", leaves);
  last_line();
  print_statement(regions, planes);
}
