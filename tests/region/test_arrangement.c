/* Sign vectors of arrangements, beside closed forms and beside the definition. */
#define _GNU_SOURCE /* qsort_r */
#include "../ok.h"
#include "drawn.h"

#include "exact/cone.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* What the walk told, each leaf's point looked at by the definition, in rationals. */
typedef struct {
  const clarke_arrangement *a;
  const drawn *d;
  char *seen; /* p signs a leaf, one after another */
  size_t leaves, circuits, most;
} told;

static int
sign_at(const drawn *d, const fmpz *point, size_t j)
{
  mpq_t sum, term;
  mpz_t x;
  int sign;

  mpq_inits(sum, term, NULL);
  mpz_init(x);
  for (size_t i = 0; i < d->n + (d->t != NULL); i++) {
    fmpz_get_mpz(x, point + i);
    mpq_set_z(term, x);
    mpq_mul(term, term, i < d->n ? d->v[i * d->p + j] : d->t[j]);
    if (i < d->n)
      mpq_add(sum, sum, term);
    else
      mpq_sub(sum, sum, term);
  }
  sign = mpq_sgn(sum);
  mpz_clear(x);
  mpq_clears(sum, term, NULL);
  return sign;
}

static clarke_status
see_leaf(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  told *t = context;
  fmpz *point = _fmpz_vec_init((slong)t->d->n + 1);

  (void)err;
  clarke_arrangement_point(point, t->a, w);
  t->seen = realloc(t->seen, (t->leaves + 1) * t->d->p);
  ck_assert(t->d->t == NULL || fmpz_sgn(point + t->d->n) > 0);
  for (size_t j = 0; j < t->d->p; j++) {
    const int s = clarke_arrangement_sign(t->a, sign, j);

    ck_assert_int_eq(s, sign_at(t->d, point, j));
    t->seen[t->leaves * t->d->p + j] = (char)s;
  }
  t->leaves++;
  *go_on = t->most == 0 || t->leaves < t->most;
  _fmpz_vec_clear(point, (slong)t->d->n + 1);
  return CLARKE_OK;
}

/* A circuit's combination of rows is 0. */
static clarke_status
see_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  told *t = context;
  fmpz_t sum;

  (void)err;
  fmpz_init(sum);
  for (size_t k = 0; k < t->a->rank; k++) {
    fmpz_zero(sum);
    for (size_t i = 0; i < c->n; i++)
      fmpz_addmul(sum, c->value + i, fmpz_mat_entry(t->a->rows.exact, (slong)c->row[i], (slong)k));
    ck_assert(fmpz_is_zero(sum));
  }
  fmpz_clear(sum);
  t->circuits++;
  return CLARKE_OK;
}

static int
compare_with(const void *a, const void *b, void *size)
{
  return memcmp(a, b, *(size_t *)size);
}

/* No sign vector came twice, not even as its opposite where both count. */
static void
all_distinct(told *t, bool both)
{
  const size_t p = t->d->p;
  size_t size = p;

  t->seen = realloc(t->seen, 2 * t->leaves * p + 1);
  for (size_t i = 0; both && i < t->leaves * p; i++)
    t->seen[t->leaves * p + i] = (char)-t->seen[i];
  qsort_r(t->seen, (both ? 2 : 1) * t->leaves, p, compare_with, &size);
  for (size_t i = 1; i < (both ? 2 : 1) * t->leaves; i++)
    ck_assert(memcmp(t->seen + (i - 1) * p, t->seen + i * p, p) != 0);
}

static size_t
count(const drawn *d)
{
  clarke_arrangement a;
  clarke_sign_tree tree;
  told t = {.a = &a, .d = d};
  const clarke_sign_visitor visitor = {.context = &t, .circuit = see_circuit, .leaf = see_leaf};
  size_t n;

  OK(clarke_arrangement_init(&a, d->n, d->p, d->v, d->t, &error));
  OK(clarke_arrangement_enumerate(&tree, &a, &visitor, &error));
  ck_assert(tree.complete && !tree.undecided);
  ck_assert_uint_eq(tree.leaves, t.leaves);
  ck_assert_uint_eq(tree.circuits, t.circuits);
  n = clarke_arrangement_count(&a, tree.leaves);
  all_distinct(&t, d->t == NULL && a.rows.n > 0);
  free(t.seen);
  clarke_arrangement_clear(&a);
  return n;
}

static size_t
choose(size_t n, size_t k)
{
  size_t c = 1;

  for (size_t i = 0; i < k; i++)
    c = c * (n - i) / (i + 1);
  return k > n ? 0 : c;
}

/* Zaslavsky: 2 sum_{i < n} C(p - 1, i), and sum_{i <= n} C(p, i). */
START_TEST(generic)
{
  for (size_t n = 1; n <= 6; n++)
    for (size_t p = 1; p <= 12; p++) {
      size_t central = 0, affine = 0;
      drawn d = drawn_generic(n, p, false);

      for (size_t i = 0; i <= n; i++) {
        central += i < n ? 2 * choose(p - 1, i) : 0;
        affine += choose(p, i);
      }
      ck_assert_uint_eq(count(&d), central);
      drawn_free(&d);
      d = drawn_generic(n, p, true);
      ck_assert_uint_eq(count(&d), affine);
      drawn_free(&d);
    }
}
END_TEST

START_TEST(permutations)
{
  for (size_t n = 1, orders = 2; n <= 6; n++, orders *= n + 1) {
    drawn d = drawn_permutations(n);

    ck_assert_uint_eq(count(&d), orders);
    drawn_free(&d);
  }
}
END_TEST

/* --- the definition -------------------------------------------------------------------------- */

static bool
is_hyperplane(const drawn *d, size_t j)
{
  for (size_t i = 0; i < d->n; i++)
    if (mpq_sgn(d->v[i * d->p + j]) != 0)
      return true;
  return false;
}

/* A column's entries and its offset, turned, as integers. */
static void
set_row(fmpz_mat_t a, slong k, const drawn *d, size_t j, bool negative)
{
  const size_t dim = d->n + (d->t != NULL);
  mpz_t scale;
  mpq_t q;

  mpz_init_set_si(scale, negative ? -1 : 1);
  mpq_init(q);
  for (size_t i = 0; i < dim; i++)
    mpz_mul(scale, scale, mpq_denref(i < d->n ? d->v[i * d->p + j] : d->t[j]));
  for (size_t i = 0; i < dim; i++) {
    mpq_set_z(q, scale);
    mpq_mul(q, q, i < d->n ? d->v[i * d->p + j] : d->t[j]);
    fmpz_set_mpz(fmpz_mat_entry(a, k, (slong)i), mpq_numref(q));
    if (i == d->n)
      fmpz_neg(fmpz_mat_entry(a, k, (slong)i), fmpz_mat_entry(a, k, (slong)i));
  }
  mpq_clear(q);
  mpz_clear(scale);
}

/* Is there a point with these signs? */
static bool
occurs(const drawn *d, const size_t *column, size_t p, size_t mask)
{
  const slong dim = (slong)(d->n + (d->t != NULL));
  clarke_cone cone;
  fmpz_mat_t a;
  bool feasible;

  fmpz_mat_init(a, (slong)p + (d->t != NULL), dim);
  for (size_t k = 0; k < p; k++)
    set_row(a, (slong)k, d, column[k], (mask >> k & 1) == 1);
  if (d->t != NULL)
    fmpz_one(fmpz_mat_entry(a, (slong)p, dim - 1));
  clarke_cone_init(&cone);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, &error));
  ck_assert(cone.answer != CLARKE_CONE_UNKNOWN);
  feasible = cone.answer == CLARKE_CONE_FEASIBLE;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return feasible;
}

/* All 2^p sign vectors, each a strict system. */
static size_t
by_definition(const drawn *d)
{
  size_t column[16], p = 0, found = 0;

  for (size_t j = 0; j < d->p; j++)
    if (is_hyperplane(d, j))
      column[p++] = j;
  for (size_t mask = 0; mask < (size_t)1 << p; mask++)
    found += occurs(d, column, p, mask);
  return found;
}

START_TEST(definition)
{
  uint64_t state = 88172645463325252u;

  for (int k = 0; k < 300; k++) {
    const size_t n = 1 + roll(&state) % 4, p = 1 + roll(&state) % 7;
    drawn d = drawn_degenerate(&state, n, p, k % 2 == 1);

    ck_assert_uint_eq(count(&d), by_definition(&d));
    drawn_free(&d);
  }
}
END_TEST

/* --- edges ----------------------------------------------------------------------------------- */

/* Thin cones: the normals' angles are 2^-40, below what floats of few bits tell. */
START_TEST(thin)
{
  drawn d = drawn_new(2, 6, false);

  for (size_t j = 0; j < 6; j++) {
    mpq_set_ui(d.v[j], 1, 1);
    mpq_set_ui(d.v[6 + j], j, 1);
    mpq_div_2exp(d.v[6 + j], d.v[6 + j], j % 2 == 0 ? 40 : 200);
  }
  ck_assert_uint_eq(count(&d), 12);
  drawn_free(&d);
}
END_TEST

START_TEST(zeros)
{
  drawn d = drawn_new(3, 4, false);

  ck_assert_uint_eq(count(&d), 1);
  mpq_set_si(d.v[5], -2, 3); /* one hyperplane */
  ck_assert_uint_eq(count(&d), 2);
  drawn_free(&d);
  d = drawn_new(2, 3, true);
  mpq_set_si(d.t[1], 5, 1); /* 0 > 5 is false everywhere */
  ck_assert_uint_eq(count(&d), 1);
  drawn_free(&d);
}
END_TEST

/* A walk that is ended says so. */
START_TEST(ended)
{
  drawn d = drawn_permutations(4);
  clarke_arrangement a;
  clarke_sign_tree tree;
  told t = {.a = &a, .d = &d, .most = 7};
  const clarke_sign_visitor visitor = {.context = &t, .leaf = see_leaf};

  OK(clarke_arrangement_init(&a, d.n, d.p, d.v, d.t, &error));
  OK(clarke_arrangement_enumerate(&tree, &a, &visitor, &error));
  ck_assert(!tree.complete && !tree.undecided);
  ck_assert_uint_eq(t.leaves, 7);
  all_distinct(&t, true);
  free(t.seen);
  clarke_arrangement_clear(&a);
  drawn_free(&d);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("arrangement");

  tcase_add_test(tc, generic);
  tcase_add_test(tc, permutations);
  tcase_add_test(tc, definition);
  tcase_add_test(tc, thin);
  tcase_add_test(tc, zeros);
  tcase_add_test(tc, ended);
  return run_tests();
}
