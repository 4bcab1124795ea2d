/* Proofs about arrangements (docs/proof-format.md): the sign vectors of hyperplanes are that many. A tree gives signs; circuits
 * refute branches, and each leaf has a point. */
#include "check/program/arrangement.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/circuit.h"
#include "check/program/table.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t n, p;       /* the matrix: n rows, p columns */
  bool affine;       /* then vectors have an entry more, and column p is (0, 1), which is positive */
  integer *vector;   /* p + 1 of n + affine entries: primitive, in the direction of its column */
  bool *hyperplane;  /* p: neither 0 nor said to be parallel to one before */
  signed char *sign; /* p + 1: given so far, or 0 */
  size_t *trail, n_trail;
  circuit *circuits;
  size_t n_circuits;
  integer *point; /* of the leaf at hand */
} arrangement;

static integer *
vector_of(arrangement *a, size_t j)
{
  return a->vector + j * (a->n + a->affine);
}

/* ---- The arrangement */

/* x times the common denominator, over the greatest common divisor. */
static void
set_primitive(integer *to, rational **x, size_t size)
{
  INTEGER(common);
  mpz_set_ui(&common, 1);
  for (size_t i = 0; i < size; i++)
    mpz_lcm(&common, &common, mpq_denref(x[i]));
  for (size_t i = 0; i < size; i++) {
    mpz_divexact(&to[i], &common, mpq_denref(x[i]));
    mpz_mul(&to[i], &to[i], mpq_numref(x[i]));
  }
  make_primitive(to, size);
}

static void
set_vectors(arrangement *a, const table *v, const table *offsets)
{
  size_t size = a->n + a->affine;
  rational **x = allocate(size, sizeof *x);
  a->vector = allocate((a->p + 1) * size, sizeof *a->vector);
  a->hyperplane = allocate(a->p, sizeof *a->hyperplane);
  a->sign = allocate(a->p + 1, sizeof *a->sign);
  a->trail = allocate(a->p + 1, sizeof *a->trail);
  for (size_t i = 0; i < (a->p + 1) * size; i++)
    a->vector[i] = integer_zero();
  for (size_t j = 0; j < a->p; j++) {
    for (size_t i = 0; i < a->n; i++) {
      x[i] = &v->value[i * a->p + j];
      a->hyperplane[j] = a->hyperplane[j] || mpq_sgn(x[i]) != 0;
    }
    if (a->affine)
      x[a->n] = &offsets->value[j];
    set_primitive(vector_of(a, j), x, size);
    if (a->affine)
      mpz_neg(&vector_of(a, j)[a->n], &vector_of(a, j)[a->n]);
  }
  if (a->affine)
    mpz_set_ui(&vector_of(a, a->p)[a->n], 1);
  a->sign[a->p] = a->affine;
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
  set_vectors(a, &v, &t);
  rationals_free(v.value, v.rows * v.columns);
  rationals_free(t.value, t.rows * t.columns);
}

/* Equal, or opposite. */
static bool
parallel(const arrangement *a, const integer *x, const integer *y)
{
  bool same = true, opposite = true;
  for (size_t i = 0; i < a->n + a->affine; i++) {
    same = same && mpz_cmp(&x[i], &y[i]) == 0;
    opposite = opposite && mpz_cmpabs(&x[i], &y[i]) == 0 && mpz_sgn(&x[i]) == -mpz_sgn(&y[i]);
  }
  return same || opposite;
}

/* A column that is a hyperplane of its own. */
static size_t
next_hyperplane(arrangement *a)
{
  size_t j = next_number();
  require(j < a->p && a->hyperplane[j], "column %zu is no hyperplane, or was said to be another's", j);
  return j;
}

static void
read_parallel(arrangement *a)
{
  for (size_t least = 0; line_is("parallel");) {
    size_t j = next_hyperplane(a), k = next_hyperplane(a);
    require(j >= least && k < j, "parallel columns in order, each with one before it, are expected");
    require(parallel(a, vector_of(a, j), vector_of(a, k)), "columns %zu and %zu are not parallel", j, k);
    a->hyperplane[j] = false;
    least = j + 1;
  }
}

/* ---- The tree */

static void
give(arrangement *a, size_t j, signed char s)
{
  a->sign[j] = s;
  a->trail[a->n_trail++] = j;
}

static void
take_back(arrangement *a, size_t to)
{
  while (a->n_trail > to)
    a->sign[a->trail[--a->n_trail]] = 0;
}

static size_t
next_open(arrangement *a)
{
  size_t j = next_hyperplane(a);
  require(a->sign[j] == 0, "column %zu has its sign already", j);
  return j;
}

/* Column p is the one that an affine arrangement has more. */
static hyperplane
column_at(const void *of, size_t j)
{
  const arrangement *a = of;
  const bool is = j < a->p ? a->hyperplane[j] : a->affine && j == a->p;
  return (hyperplane){is ? a->vector + j * (a->n + a->affine) : NULL, is ? a->sign[j] : 0};
}

static hyperplanes
columns(const arrangement *a)
{
  return (hyperplanes){a, column_at, a->n + a->affine, "column"};
}

static void
read_circuit(arrangement *a)
{
  const hyperplanes all = columns(a);
  a->circuits = grow(a->circuits, a->n_circuits, sizeof *a->circuits);
  a->circuits[a->n_circuits++] = circuit_read(&all);
}

/* `forced J C` */
static void
take_forced(arrangement *a)
{
  const hyperplanes all = columns(a);
  size_t j = next_open(a), k = next_number();
  require(k < a->n_circuits, "there is no circuit %zu yet", k);
  give(a, j, (signed char)-circuit_refutes(&a->circuits[k], k, j, &all));
}

/* `leaf X ...`: a point that has all signs. */
static void
check_leaf(arrangement *a)
{
  const hyperplanes all = columns(a);
  if (a->point == NULL) {
    a->point = allocate(a->n + a->affine, sizeof *a->point);
    for (size_t i = 0; i < a->n + a->affine; i++)
      a->point[i] = integer_zero();
  }
  next_point(a->point, a->n + a->affine);
  require(!a->affine || mpz_sgn(&a->point[a->n]) > 0, "the last entry must be above 0");
  for (size_t j = 0; j < a->p; j++)
    if (a->hyperplane[j])
      require_side(a->point, &all, j);
}

/* A split whose second branch is to come. */
typedef struct {
  size_t column, given; /* signs that stand above it */
} choice_point;

/* The tree in preorder; how many leaves it has. */
static size_t
check_tree(arrangement *a)
{
  size_t leaves = 0, depth = 0;
  choice_point *path = allocate(a->p + 1, sizeof *path);
  for (;;) {
    if (line_is("circuit")) {
      read_circuit(a);
    } else if (line_is("forced")) {
      take_forced(a);
    } else if (line_is("split")) {
      path[depth++] = (choice_point){next_open(a), a->n_trail};
      give(a, path[depth - 1].column, -1);
    } else {
      next_line("leaf");
      check_leaf(a);
      leaves++;
      if (depth == 0)
        break;
      take_back(a, path[--depth].given);
      give(a, path[depth].column, 1);
    }
  }
  free(path);
  return leaves;
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
  arrangement all = {0}, *a = &all;
  size_t planes = 0;
  known_line("semantics", "real");
  read_arrangement(a, folder);
  next_line("regions");
  size_t regions = next_number();
  read_parallel(a);
  for (size_t j = 0; j < a->p; j++)
    planes += a->hyperplane[j];
  bool half = !a->affine && planes > 0;
  if (half) {
    next_line("half");
    give(a, next_open(a), 1);
  }
  next_line("tree");
  size_t leaves = check_tree(a);
  require(regions == (half ? 2 : 1) * leaves, "the tree has %zu leaves", leaves);
  last_line();
  print_statement(a, regions, planes);
}
