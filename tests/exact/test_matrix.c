/* Matrices against plain rational arithmetic, over many shapes, widths, scales and denominators;
 * with radii, against points taken from inside and from the ends of the balls. */
#include "samples.h"
#include "../suite.h"

#include "exact/matrix_pairs.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

#define OK(call) ck_assert_int_eq((call), CLARKE_OK)

/* A random matrix of integers of up to `bits` bits, any scale, perhaps any denominator. */
static void
sample_matrix(clarke_matrix *m, size_t rows, size_t cols, size_t bits, bool den, uint64_t *state)
{
  clarke_status status = CLARKE_OK;
  mpz_t z;

  mpz_init(z);
  OK(clarke_matrix_resize(m, rows, cols, 1 + draw_below(state, 2), NULL));
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols && status == CLARKE_OK; j++) {
      sample_integer(z, state, bits);
      status = clarke_matrix_store(m, i, j, z, NULL);
    }
  OK(status);
  m->exp = (long)draw_below(state, 100) - 50;
  if (den && draw(state) % 2)
    mpz_set_ui(m->den, 1 + 2 * draw_below(state, 50));
  mpz_clear(z);
}

static size_t
sample_bits(uint64_t *state)
{
  static const size_t bits[] = { 0, 1, 5, 20, 21, 31, 41, 42, 62, 63, 64, 65, 100, 125, 126, 127,
                                 128, 129, 200, 500 };

  return bits[draw_below(state, sizeof bits / sizeof bits[0])];
}

static void
assert_grid(const clarke_matrix *m, const grid *want)
{
  mpq_t q;

  mpq_init(q);
  ck_assert_uint_eq(m->rows, want->rows);
  ck_assert_uint_eq(m->cols, want->cols);
  ck_assert(mpz_sgn(m->den) > 0 && mpz_odd_p(m->den));
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++) {
      clarke_matrix_get(q, m, i, j);
      ck_assert_msg(mpq_equal(q, want->at[i * m->cols + j]), "entry %zu %zu", i, j);
    }
  mpq_clear(q);
}

static bool
same_entries(const clarke_matrix *a, const clarke_matrix *b)
{
  bool same = a->rows == b->rows && a->cols == b->cols;
  mpq_t x, y;

  mpq_inits(x, y, NULL);
  for (size_t k = 0; k < a->rows * a->cols && same; k++) {
    clarke_matrix_get(x, a, k / a->cols, k % a->cols);
    clarke_matrix_get(y, b, k / b->cols, k % b->cols);
    same = mpq_equal(x, y);
  }
  mpq_clears(x, y, NULL);
  return same;
}

static grid
grid_mul(const grid *a, const grid *b)
{
  grid c = grid_new(a->rows, b->cols);
  mpq_t q;

  mpq_init(q);
  for (size_t i = 0; i < a->rows; i++)
    for (size_t j = 0; j < b->cols; j++)
      for (size_t k = 0; k < a->cols; k++) {
        mpq_mul(q, a->at[i * a->cols + k], b->at[k * b->cols + j]);
        mpq_add(c.at[i * c.cols + j], c.at[i * c.cols + j], q);
      }
  mpq_clear(q);
  return c;
}

static void
transpose(clarke_matrix *t, const clarke_matrix *m)
{
  mpz_t z;

  mpz_init(z);
  OK(clarke_matrix_resize(t, m->cols, m->rows, m->limbs, NULL));
  t->exp = m->exp;
  mpz_set(t->den, m->den);
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++) {
      clarke_matrix_load(z, m, i, j);
      OK(clarke_matrix_store(t, j, i, z, NULL));
    }
  mpz_clear(z);
}

START_TEST(products)
{
  uint64_t state = 1;
  clarke_matrix a, b, at, bt, c;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&at);
  clarke_matrix_init(&bt);
  clarke_matrix_init(&c);
  for (int round = 0; round < 300; round++) {
    const size_t n = draw_below(&state, 9), k = draw_below(&state, 20), m = draw_below(&state, 9);
    grid ga, gb, gc;

    sample_matrix(&a, n, k, sample_bits(&state), true, &state);
    sample_matrix(&b, k, m, sample_bits(&state), true, &state);
    ga = grid_of(&a);
    gb = grid_of(&b);
    gc = grid_mul(&ga, &gb);
    OK(clarke_matrix_mul(&c, &a, &b, NULL));
    assert_grid(&c, &gc);
    transpose(&at, &a);
    OK(clarke_matrix_mul_tn(&c, &at, &b, NULL));
    assert_grid(&c, &gc);
    transpose(&bt, &b);
    OK(clarke_matrix_mul_nt(&c, &a, &bt, NULL));
    assert_grid(&c, &gc);
    OK(clarke_matrix_trim(&c, NULL));
    assert_grid(&c, &gc);
    grid_free(&ga);
    grid_free(&gb);
    grid_free(&gc);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&at);
  clarke_matrix_clear(&bt);
  clarke_matrix_clear(&c);
}
END_TEST

/* Extreme digits, long sums: every product in a sum is as large as a product of digits can be. */
START_TEST(long_sums)
{
  static const size_t inner[] = { 8191, 8192, 8193, 20000 };
  clarke_matrix a, b, c;
  mpz_t x, y, want, got;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  mpz_inits(x, y, want, got, NULL);
  for (size_t t = 0; t < sizeof inner / sizeof inner[0]; t++)
    for (size_t slices = 1; slices <= 5; slices += 2)
      for (int sign = 0; sign < 2; sign++) {
        OK(clarke_matrix_resize(&a, 1, inner[t], 1, NULL));
        OK(clarke_matrix_resize(&b, inner[t], 1, 1, NULL));
        mpz_set_ui(x, 0);
        for (size_t s = 0; s < slices; s++) {
          mpz_mul_2exp(x, x, 21);
          mpz_sub_ui(x, x, 1u << 20);
        }
        mpz_add_ui(y, x, (unsigned long)sign);
        if (sign)
          mpz_neg(y, y);
        for (size_t k = 0; k < inner[t]; k++) {
          if (clarke_matrix_store(&a, 0, k, x, NULL) != CLARKE_OK
              || clarke_matrix_store(&b, k, 0, y, NULL) != CLARKE_OK)
            ck_abort_msg("no memory");
        }
        OK(clarke_matrix_mul(&c, &a, &b, NULL));
        mpz_mul(want, x, y);
        mpz_mul_ui(want, want, inner[t]);
        clarke_matrix_load(got, &c, 0, 0);
        ck_assert_int_eq(mpz_cmp(want, got), 0);
      }
  mpz_clears(x, y, want, got, NULL);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

/* Is c = a b modulo p, at some entries? */
static void
assert_product_modulo(const clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                      uint64_t p, uint64_t *state)
{
  const size_t n = a->rows, k = a->cols, m = b->cols, probes = n * m < 200 ? n * m : 200;
  bool equal = true;
  uint64_t *ra = malloc(n * k * sizeof *ra), *rb = malloc(k * m * sizeof *rb);
  uint64_t *rc = malloc(n * m * sizeof *rc);

  clarke_matrix_residues(ra, a, p);
  clarke_matrix_residues(rb, b, p);
  clarke_matrix_residues(rc, c, p);
  for (size_t probe = 0; probe < probes && equal; probe++) {
    const size_t i = draw_below(state, n), j = draw_below(state, m);
    uint64_t sum = 0;

    for (size_t l = 0; l < k; l++)
      sum = (sum + ra[i * k + l] * rb[l * m + j]) % p;
    equal = sum == rc[i * m + j];
  }
  ck_assert(equal);
  free(ra);
  free(rb);
  free(rc);
}

/* Shapes that need several panels or ranges, and widths of digits other than the default. */
START_TEST(panels)
{
  static const size_t shapes[][5] = {
    { 1100, 7, 1050, 130, 60 }, { 3, 31000, 2, 1500, 1500 }, { 40, 3000, 40, 130, 60 },
    { 17, 300, 19, 45, 32 },    { 17, 300, 19, 45, 8 },      { 17, 300, 19, 44, 83 },
    { 17, 300, 19, 24, 24 },    { 17, 300, 19, 63, 63 },     { 17, 300, 19, 127, 64 },
    { 17, 300, 19, 53, 1 },     { 17, 300, 19, 400, 40 },    { 5, 2000, 9, 300, 300 },
    { 90, 9, 90, 45, 100 },     { 90, 1, 90, 29, 29 },       { 60, 60, 60, 58, 59 },
    { 1, 1 << 19, 1, 43, 22 },  { 2, 4000, 1, 20000, 10 },   { 2, 3000, 1, 7000, 7000 },
  };
  uint64_t state = 2;
  clarke_matrix a, b, c;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  for (size_t t = 0; t < sizeof shapes / sizeof shapes[0]; t++) {
    const size_t *s = shapes[t];

    sample_matrix(&a, s[0], s[1], s[3], false, &state);
    sample_matrix(&b, s[1], s[2], s[4], false, &state);
    OK(clarke_matrix_mul(&c, &a, &b, NULL));
    ck_assert(c.rows == s[0] && c.cols == s[2]);
    assert_product_modulo(&c, &a, &b, 2147483647, &state);
    assert_product_modulo(&c, &a, &b, 2147483629, &state);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

enum { ADD, SUB, TIMES };

static grid
grid_entrywise(const grid *a, const grid *b, int what)
{
  grid c = grid_new(a->rows, a->cols);

  for (size_t i = 0; i < a->rows; i++)
    for (size_t j = 0; j < a->cols; j++) {
      mpq_t *x = &a->at[i * a->cols + j], *y = &b->at[b->cols == 1 ? i : i * b->cols + j];

      (what == ADD ? mpq_add : what == SUB ? mpq_sub : mpq_mul)(c.at[i * c.cols + j], *x, *y);
    }
  return c;
}

static clarke_status
entrywise(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b, int what)
{
  return what == ADD   ? clarke_matrix_add(c, a, b, NULL)
         : what == SUB ? clarke_matrix_sub(c, a, b, NULL)
                       : clarke_matrix_hadamard(c, a, b, NULL);
}

START_TEST(entry_by_entry)
{
  uint64_t state = 3;
  clarke_matrix a, b, c;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  for (int round = 0; round < 900; round++) {
    const size_t n = draw_below(&state, 6), m = draw_below(&state, 6);
    const int what = round % 3;
    grid ga, gb, gc;

    sample_matrix(&a, n, m, sample_bits(&state), true, &state);
    sample_matrix(&b, n, round % 2 ? m : 1, sample_bits(&state), true, &state);
    ga = grid_of(&a);
    gb = grid_of(&b);
    gc = grid_entrywise(&ga, &gb, what);
    OK(entrywise(&c, &a, &b, what));
    assert_grid(&c, &gc);
    if (b.cols == m && round % 4 == 1) {
      OK(entrywise(&b, &a, &b, what));
      assert_grid(&b, &gc);
    }
    OK(entrywise(&a, &a, round % 2 ? &c : &b, ADD));
    grid_free(&ga);
    grid_free(&gb);
    grid_free(&gc);
  }
  OK(clarke_matrix_resize(&a, 2, 3, 1, NULL));
  OK(clarke_matrix_resize(&b, 3, 2, 1, NULL));
  ck_assert_int_eq(clarke_matrix_add(&c, &a, &b, NULL), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_matrix_mul_nt(&c, &a, &b, NULL), CLARKE_EINPUT);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

START_TEST(multiples)
{
  uint64_t state = 4;
  clarke_matrix a, c;
  mpq_t q;

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  mpq_init(q);
  for (int round = 0; round < 300; round++) {
    grid g;

    sample_matrix(&a, 3, 4, sample_bits(&state), true, &state);
    sample_integer(mpq_numref(q), &state, sample_bits(&state));
    mpz_set_ui(mpq_denref(q), 1 + draw_below(&state, 1000));
    mpq_canonicalize(q);
    g = grid_of(&a);
    for (size_t k = 0; k < 12; k++)
      mpq_mul(g.at[k], g.at[k], q);
    OK(clarke_matrix_scale(&c, &a, q, NULL));
    assert_grid(&c, &g);
    OK(clarke_matrix_trim(&c, NULL));
    assert_grid(&c, &g);
    OK(clarke_matrix_scale(&a, &a, q, NULL));
    assert_grid(&a, &g);
    grid_free(&g);
  }
  mpq_clear(q);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
}
END_TEST

START_TEST(maps)
{
  uint64_t state = 5;
  clarke_matrix a, c;

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  for (int round = 0; round < 200; round++) {
    const size_t rows = 1 + draw_below(&state, 6), cols = 1 + draw_below(&state, 6);
    size_t map[8];
    grid g, want;

    sample_matrix(&a, rows, cols, sample_bits(&state), true, &state);
    g = grid_of(&a);
    for (size_t k = 0; k < 8; k++)
      map[k] = draw_below(&state, 5) == 0 ? SIZE_MAX : draw_below(&state, rows);
    OK(clarke_matrix_gather_rows(&c, &a, map, 8, NULL));
    want = grid_new(8, cols);
    for (size_t k = 0; k < 8 * cols; k++)
      if (map[k / cols] != SIZE_MAX)
        mpq_set(want.at[k], g.at[map[k / cols] * cols + k % cols]);
    assert_grid(&c, &want);
    grid_free(&want);

    for (size_t k = 0; k < 8; k++)
      map[k] = draw_below(&state, 5) == 0 ? SIZE_MAX : draw_below(&state, cols);
    OK(clarke_matrix_gather_cols(&c, &a, map, 8, NULL));
    want = grid_new(rows, 8);
    for (size_t k = 0; k < rows * 8; k++)
      if (map[k % 8] != SIZE_MAX)
        mpq_set(want.at[k], g.at[k / 8 * cols + map[k % 8]]);
    assert_grid(&c, &want);
    grid_free(&want);

    for (size_t k = 0; k < 8; k++)
      map[k] = draw_below(&state, 5) == 0 ? SIZE_MAX : draw_below(&state, 3);
    OK(clarke_matrix_scatter_rows(&c, &a, map, 3, NULL));
    want = grid_new(3, cols);
    for (size_t k = 0; k < rows * cols; k++)
      if (map[k / cols] != SIZE_MAX) {
        mpq_t *sum = &want.at[map[k / cols] * cols + k % cols];
        mpq_add(*sum, *sum, g.at[k]);
      }
    assert_grid(&c, &want);
    grid_free(&want);

    OK(clarke_matrix_row_sums(&c, &a, NULL));
    want = grid_new(rows, 1);
    for (size_t k = 0; k < rows * cols; k++)
      mpq_add(want.at[k / cols], want.at[k / cols], g.at[k]);
    assert_grid(&c, &want);
    grid_free(&want);
    grid_free(&g);
  }
  ck_assert_int_eq(clarke_matrix_gather_rows(&c, &a, (size_t[]){ a.rows }, 1, NULL),
                   CLARKE_EINTERNAL);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
}
END_TEST

/* The nearest double by MPFR, subnormals included. */
static double
nearest(const mpq_t q)
{
  mpfr_t x;
  double d;
  int inexact;

  mpfr_set_emin(-1073);
  mpfr_set_emax(1024);
  mpfr_init2(x, 53);
  inexact = mpfr_set_q(x, q, MPFR_RNDN);
  mpfr_subnormalize(x, inexact, MPFR_RNDN);
  d = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return d;
}

START_TEST(doubles_out)
{
  static const long exps[] = { 0, -60, -1074, -1100, -1130, -1140, -1200, 900, 960, 970, 1000 };
  uint64_t state = 6;
  clarke_matrix a;
  mpq_t q;

  clarke_matrix_init(&a);
  mpq_init(q);
  for (int round = 0; round < 1000; round++) {
    sample_matrix(&a, 2, 2, sample_bits(&state), true, &state);
    a.exp = exps[draw_below(&state, sizeof exps / sizeof exps[0])];
    for (size_t k = 0; k < 4; k++) {
      clarke_matrix_get(q, &a, k / 2, k % 2);
      ck_assert(clarke_matrix_get_double(&a, k / 2, k % 2) == nearest(q));
    }
  }
  mpq_clear(q);
  clarke_matrix_clear(&a);
}
END_TEST

/* Quotients beside the middle of two doubles, from below or above by a part that only the lowest words tell; or in the middle. */
START_TEST(doubles_out_of_quotients)
{
  uint64_t state = 8;
  clarke_matrix a;
  mpz_t z, den;
  mpq_t q;

  clarke_matrix_init(&a);
  mpz_inits(z, den, NULL);
  mpq_init(q);
  for (int round = 0; round < 4000; round++) {
    const uint64_t half = (1ULL << 53 | draw(&state) >> 11) << 1 | 1;
    const size_t limbs = 1 + draw_below(&state, 5);

    mpz_set_ui(den, draw(&state) >> draw_below(&state, 64) | 1);
    mpz_mul_ui(z, den, half);
    if (limbs > 1)
      mpz_mul_2exp(z, z, draw_below(&state, 64 * (limbs - 1)));
    if (round % 4 != 0)
      (round % 4 == 1 ? mpz_add_ui : mpz_sub_ui)(z, z, 1 + draw_below(&state, 3));
    if (round % 3 == 0)
      mpz_neg(z, z);
    OK(clarke_matrix_resize(&a, 1, 1, 1, NULL));
    OK(clarke_matrix_store(&a, 0, 0, z, NULL));
    mpz_set(a.den, den);
    a.exp = (long)draw_below(&state, 100) - 50;
    clarke_matrix_get(q, &a, 0, 0);
    ck_assert(clarke_matrix_get_double(&a, 0, 0) == nearest(q));
  }
  mpz_clears(z, den, NULL);
  mpq_clear(q);
  clarke_matrix_clear(&a);
}
END_TEST

START_TEST(doubles_in)
{
  uint64_t state = 7;
  clarke_matrix a;
  double values[6], bad[2] = { 1, NAN };
  clarke_error err;
  mpq_t q, want;

  clarke_matrix_init(&a);
  mpq_inits(q, want, NULL);
  for (int round = 0; round < 1000; round++) {
    for (int k = 0; k < 6; k++) {
      const int spread = round % 3 == 0 ? 3 : round % 3 == 1 ? 40 : 1000;

      values[k] = ldexp((double)(int64_t)draw(&state), (int)draw_below(&state, spread) - spread);
      if (draw_below(&state, 8) == 0)
        values[k] = draw(&state) & 1 ? -0.0 : -0x1p-1074;
      if (draw_below(&state, 4) == 0)
        values[k] = (double)(float)values[k];
      if (!isfinite(values[k]))
        values[k] = 1;
    }
    OK(clarke_matrix_set_doubles(&a, 2, 3, values, NULL));
    for (size_t k = 0; k < 6; k++) {
      clarke_matrix_get(q, &a, k / 3, k % 3);
      mpq_set_d(want, values[k]);
      ck_assert(mpq_equal(q, want));
      ck_assert(clarke_matrix_get_double(&a, k / 3, k % 3) == values[k]);
    }
  }
  ck_assert_int_eq(clarke_matrix_set_doubles(&a, 1, 2, bad, &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "entry (0, 1) is NaN; it must be finite");
  mpq_clears(q, want, NULL);
  clarke_matrix_clear(&a);
}
END_TEST

START_TEST(rationals_in)
{
  uint64_t state = 8;
  clarke_matrix a, b;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  for (int round = 0; round < 200; round++) {
    grid g = grid_new(3, 2);

    for (size_t k = 0; k < 6; k++) {
      sample_integer(mpq_numref(g.at[k]), &state, sample_bits(&state));
      mpz_set_ui(mpq_denref(g.at[k]), 1 + draw_below(&state, 99));
      mpq_canonicalize(g.at[k]);
      mpq_div_2exp(g.at[k], g.at[k], draw_below(&state, 80));
    }
    OK(clarke_matrix_set_rationals(&a, 3, 2, g.at, NULL));
    assert_grid(&a, &g);
    OK(clarke_matrix_copy(&b, &a, NULL));
    assert_grid(&b, &g);
    grid_free(&g);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
}
END_TEST

START_TEST(sizes_and_signs)
{
  uint64_t state = 9;
  clarke_matrix a;
  mpz_t z;
  mpq_t c, q;

  clarke_matrix_init(&a);
  mpz_init(z);
  mpq_inits(c, q, NULL);
  for (int round = 0; round < 500; round++) {
    const uint64_t p = round % 2 ? 2147483647 : 2 + draw_below(&state, 1000);
    uint64_t residue[6];
    signed char sign[6];
    size_t bits = 0;

    sample_matrix(&a, 2, 3, sample_bits(&state), true, &state);
    clarke_matrix_residues(residue, &a, p);
    clarke_matrix_get(c, &a, 1, 1);
    if (round % 3 == 0)
      mpq_set_si(c, (long)draw_below(&state, 7) - 3, 3);
    if (round % 3 == 1)
      mpq_set_ui(c, 0, 1);
    mpq_canonicalize(c);
    clarke_matrix_signs(sign, &a, c);
    for (size_t k = 0; k < 6; k++) {
      clarke_matrix_load(z, &a, k / 3, k % 3);
      if (mpz_sgn(z) != 0 && mpz_sizeinbase(z, 2) > bits)
        bits = mpz_sizeinbase(z, 2);
      ck_assert_uint_eq(residue[k], mpz_fdiv_ui(z, p));
      clarke_matrix_get(q, &a, k / 3, k % 3);
      ck_assert_int_eq(sign[k], (mpq_cmp(q, c) > 0) - (mpq_cmp(q, c) < 0));
      ck_assert_int_eq(sign[k], clarke_matrix_compare(&a, k / 3, k % 3, c));
    }
    ck_assert_uint_eq(bits, clarke_matrix_bits(&a));
  }
  mpz_clear(z);
  mpq_clears(c, q, NULL);
  clarke_matrix_clear(&a);
}
END_TEST

/* Gives m random radii, some zero, on the scale of its entries. */
static void
sample_radius(clarke_matrix *m, uint64_t *state)
{
  m->radius = calloc(m->rows * m->cols + 1, sizeof *m->radius);
  for (size_t k = 0; k < m->rows * m->cols; k++)
    if (draw_below(state, 4) != 0)
      m->radius[k] = ldexp(1 + (double)draw_below(state, 1000) / 7,
                           (int)m->exp + (int)draw_below(state, 80) - 40);
}

/* One true value for each entry of m: an end of its ball, its centre, or between. */
static grid
inside(const clarke_matrix *m, uint64_t *state)
{
  grid g = grid_of(m);
  mpq_t r, part;

  mpq_inits(r, part, NULL);
  for (size_t k = 0; k < m->rows * m->cols && m->radius != NULL; k++) {
    mpq_set_d(r, m->radius[k]);
    mpq_set_si(part, (long)draw_below(state, 5) - 2, 2);
    mpq_canonicalize(part);
    mpq_mul(r, r, part);
    mpq_add(g.at[k], g.at[k], r);
  }
  mpq_clears(r, part, NULL);
  return g;
}

static void
assert_encloses(const clarke_matrix *m, const grid *truth)
{
  mpq_t gap, r;

  mpq_inits(gap, r, NULL);
  for (size_t k = 0; k < m->rows * m->cols; k++) {
    const double radius = clarke_matrix_radius(m, k / m->cols, k % m->cols);

    clarke_matrix_get(gap, m, k / m->cols, k % m->cols);
    mpq_sub(gap, gap, truth->at[k]);
    mpq_abs(gap, gap);
    if (!isfinite(radius))
      continue;
    mpq_set_d(r, radius);
    ck_assert_msg(mpq_cmp(gap, r) <= 0, "entry %zu escapes", k);
  }
  mpq_clears(gap, r, NULL);
}

START_TEST(enclosures)
{
  uint64_t state = 10;
  clarke_matrix a, b, c;
  const size_t map[] = { 1, 0, 1, SIZE_MAX };

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  for (int round = 0; round < 600; round++) {
    const size_t k = 1 + draw_below(&state, 12);
    grid ga, gb, want;

    sample_matrix(&a, 4, k, sample_bits(&state), true, &state);
    sample_matrix(&b, round % 2 ? k : 4, round % 2 ? 3 : round % 4 ? 1 : k, sample_bits(&state), true,
                  &state);
    if (round % 3 != 0)
      sample_radius(&a, &state);
    if (round % 3 != 1)
      sample_radius(&b, &state);
    ga = inside(&a, &state);
    gb = inside(&b, &state);
    if (round % 2) {
      want = grid_mul(&ga, &gb);
      OK(clarke_matrix_mul(&c, &a, &b, NULL));
    } else {
      const int what = (round / 2) % 3;
      want = grid_entrywise(&ga, &gb, what);
      OK(entrywise(&c, &a, &b, what));
    }
    assert_encloses(&c, &want);
    grid_free(&want);
    OK(clarke_matrix_scatter_rows(&c, &a, map, 2, NULL));
    want = grid_new(2, k);
    for (size_t e = 0; e < 3 * k; e++)
      mpq_add(want.at[map[e / k] * k + e % k], want.at[map[e / k] * k + e % k], ga.at[e]);
    assert_encloses(&c, &want);
    grid_free(&want);
    OK(clarke_matrix_row_sums(&c, &a, NULL));
    want = grid_new(4, 1);
    for (size_t e = 0; e < 4 * k; e++)
      mpq_add(want.at[e / k], want.at[e / k], ga.at[e]);
    assert_encloses(&c, &want);
    grid_free(&want);
    grid_free(&ga);
    grid_free(&gb);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

/* Huge, tiny and infinite radii stay upper bounds. */
START_TEST(extreme_radii)
{
  const double radii[] = { 0, 0x1p-1074, 0x1p-1022, 1, DBL_MAX, INFINITY };
  clarke_matrix a, b, c;
  mpq_t zero, q;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  mpq_inits(zero, q, NULL);
  for (int k = 0; k < 6; k++)
    for (int e = -1200; e <= 1200; e += 300) {
      OK(clarke_matrix_resize(&a, 1, 1, 1, NULL));
      OK(clarke_matrix_resize(&b, 1, 1, 1, NULL));
      a.radius = calloc(1, sizeof *a.radius);
      a.radius[0] = radii[k];
      b.word[0] = 3;
      b.exp = e;
      mpz_set_ui(b.den, 7);
      OK(clarke_matrix_mul(&c, &a, &b, NULL));
      ck_assert(c.radius[0] >= 0 && (radii[k] == 0 || c.radius[0] > 0));
      if (isfinite(c.radius[0])) {
        grid g = grid_new(1, 1);
        mpq_set_d(g.at[0], radii[k]);
        clarke_matrix_get(q, &b, 0, 0);
        mpq_mul(g.at[0], g.at[0], q);
        assert_encloses(&c, &g);
        grid_free(&g);
      }
      ck_assert_int_eq(clarke_matrix_compare(&c, 0, 0, zero), c.radius[0] == 0 ? 0 : 2);
      clarke_matrix_get(q, &b, 0, 0);
      OK(clarke_matrix_scale(&c, &a, q, NULL));
      ck_assert(c.radius[0] >= 0 && (radii[k] == 0) == (c.radius[0] == 0));
    }
  mpq_clears(zero, q, NULL);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

/* Makes a's denominator long: three drawn odd numbers beside it. */
static void
lengthen_den(clarke_matrix *a, uint64_t *state)
{
  for (int i = 0; i < 3; i++) {
    mpz_mul_ui(a->den, a->den, draw_below(state, UINT32_MAX) | 1);
    mpz_mul_ui(a->den, a->den, draw_below(state, UINT32_MAX) | 1);
  }
}

/* A rounded enclosure holds what it held, in fewer bits, without a long denominator; an exact matrix is left alone. */
START_TEST(rounding_holds_what_was_there)
{
  uint64_t state = 12;
  clarke_matrix a, c;
  mpq_t x, y, r;

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  mpq_init(x);
  mpq_init(y);
  mpq_init(r);
  for (int round = 0; round < 200; round++) {
    const size_t bits = 1 + draw_below(&state, 60);

    sample_matrix(&a, 2, 3, 200, true, &state);
    if (round % 4 != 0)
      sample_radius(&a, &state);
    if (round % 3 == 0)
      lengthen_den(&a, &state);
    OK(clarke_matrix_copy(&c, &a, NULL));
    OK(clarke_matrix_round(&c, bits, NULL));
    ck_assert(clarke_matrix_is_valid(&c));
    ck_assert(a.radius == NULL || mpz_sizeinbase(c.den, 2) <= 64);
    ck_assert(c.radius != NULL || same_entries(&a, &c));
    for (size_t k = 0; k < 6; k++) {
      const double before = clarke_matrix_radius(&a, k / 3, k % 3), after = clarke_matrix_radius(&c, k / 3, k % 3);

      clarke_matrix_get(x, &a, k / 3, k % 3);
      clarke_matrix_get(y, &c, k / 3, k % 3);
      mpq_sub(x, x, y);
      mpq_abs(x, x);
      mpq_set_d(y, before);
      mpq_add(x, x, y);
      mpq_set_d(r, after);
      ck_assert_msg(mpq_cmp(x, r) <= 0, "round %d: %g of %g", round, after, before);
    }
    ck_assert(a.radius == NULL || clarke_matrix_bits(&c) <= bits + 1);
    clarke_matrix_swap(&a, &c);
    ck_assert(a.radius == NULL || clarke_matrix_bits(&a) <= bits + 1);
  }
  mpq_clear(x);
  mpq_clear(y);
  mpq_clear(r);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
}
END_TEST

/* Two doubles and what they are off by hold the midpoint and all that is within its radius. */
static void
assert_pair(const clarke_matrix *m, size_t e, double high, double low, double off)
{
  const double radius = clarke_matrix_radius(m, e / m->cols, e % m->cols);
  mpq_t q, sum;

  mpq_inits(q, sum, NULL);
  ck_assert(isfinite(high) && fabs(low) <= 0x1p-53 * fabs(high) && off >= radius && off <= (radius + 0x1p-102 * fabs(high)) * 1.0001 + 0x1p-900);
  clarke_matrix_get(q, m, e / m->cols, e % m->cols);
  mpq_set_d(sum, high);
  mpq_sub(q, q, sum);
  mpq_set_d(sum, low);
  mpq_sub(q, q, sum);
  mpq_abs(q, q);
  mpq_set_d(sum, radius);
  mpq_add(q, q, sum);
  mpq_set_d(sum, off);
  ck_assert_msg(mpq_cmp(q, sum) <= 0, "entry %zu: %g + %g is farther than %g", e, high, low, off);
  mpq_clears(q, sum, NULL);
}

START_TEST(pairs_out)
{
  uint64_t state = 77;

  for (size_t round = 0; round < draw_count(4000); round++) {
    double high[12], low[12], off[12];
    clarke_matrix m;

    clarke_matrix_init(&m);
    sample_matrix(&m, 3, 4, sample_bits(&state), draw_below(&state, 4) == 0, &state);
    m.exp *= draw_below(&state, 4) == 0 ? 6 : 1;
    if (draw_below(&state, 4) == 0) { /* all ones, or none, below the highest bits */
      for (size_t w = 0; w < 12 * m.limbs; w++)
        m.word[w] = draw_below(&state, 3) == 0 ? m.word[w] : draw_below(&state, 2) ? UINT64_MAX : 0;
    }
    if (draw_below(&state, 2)) {
      OK(clarke_matrix_need_radius(&m, NULL));
      for (size_t e = 0; e < 12; e++)
        m.radius[e] = draw_below(&state, 4) == 0 ? 0 : ldexp(1 + (double)draw_below(&state, 1000), -(int)draw_below(&state, 200));
    }
    clarke_matrix_pairs(high, low, off, &m);
    for (size_t e = 0; e < 12; e++)
      assert_pair(&m, e, high[e], low[e], off[e]);
    clarke_matrix_clear(&m);
  }
}
END_TEST

START_TEST(comparisons_with_radius)
{
  uint64_t state = 11;
  clarke_matrix a;
  mpq_t c, gap, r;

  clarke_matrix_init(&a);
  mpq_inits(c, gap, r, NULL);
  for (int round = 0; round < 500; round++) {
    sample_matrix(&a, 2, 2, sample_bits(&state), true, &state);
    sample_radius(&a, &state);
    clarke_matrix_get(c, &a, 0, 1);
    if (a.radius[1] > 0 && round % 2) {
      mpq_set_d(r, a.radius[1]);
      mpq_add(c, c, r);
    }
    for (size_t k = 0; k < 4; k++) {
      const int sign = clarke_matrix_compare(&a, k / 2, k % 2, c);
      int want;

      clarke_matrix_get(gap, &a, k / 2, k % 2);
      mpq_sub(gap, gap, c);
      want = mpq_sgn(gap);
      mpq_abs(gap, gap);
      mpq_set_d(r, a.radius[k]);
      if (mpq_sgn(r) != 0 && mpq_cmp(gap, r) <= 0)
        want = 2;
      ck_assert_int_eq(sign, want);
    }
  }
  mpq_clears(c, gap, r, NULL);
  clarke_matrix_clear(&a);
}
END_TEST

START_TEST(limits)
{
  const double far[] = { 0x1p1023, 0x1p-1074 };
  clarke_matrix a, b, c;
  clarke_error err;
  mpq_t q;

  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  mpq_init(q);
  ck_assert_int_eq(clarke_matrix_resize(&a, SIZE_MAX / 2, 3, 1, &err), CLARKE_ENOMEM);
  ck_assert_int_eq(clarke_matrix_resize(&a, 1, 1, CLARKE_MAX_LIMBS + 1, &err), CLARKE_ENOMEM);
  OK(clarke_matrix_set_doubles(&a, 1, 2, far, NULL));
  ck_assert_uint_eq(a.limbs, 33);
  for (int k = 0; k < 4; k++) {
    OK(clarke_matrix_hadamard(&a, &a, &a, NULL));
    OK(clarke_matrix_trim(&a, NULL));
  }
  ck_assert_int_eq(clarke_matrix_hadamard(&c, &a, &a, &err), CLARKE_ENOMEM);
  OK(clarke_matrix_resize(&c, 1, 1, 1, NULL));
  c.word[0] = 1;
  mpq_set_ui(q, 1, 1);
  mpq_mul_2exp(q, q, 100000);
  OK(clarke_matrix_scale(&b, &c, q, NULL));
  ck_assert_int_eq(clarke_matrix_add(&a, &b, &c, &err), CLARKE_ENOMEM);
  ck_assert(!same_entries(&b, &c));
  mpq_clear(q);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

/* --- rows and entries in other places ----------------------------------------------------------- */

/* Row of the source for each of n entries, SIZE_MAX now and then. */
static size_t *
sample_map(size_t n, size_t rows, uint64_t *state)
{
  size_t *map = malloc((n + 1) * sizeof *map);

  for (size_t e = 0; e < n; e++)
    map[e] = rows == 0 || draw_below(state, 5) == 0 ? SIZE_MAX : draw_below(state, rows);
  return map;
}

/* The entries whose indices are listed, those of a, added where they go: value and, from above, radius.
 * to[e]: the entry of c that entry e of a is added to. */
static void
assert_added(const clarke_matrix *c, const clarke_matrix *a, const size_t *to, const size_t *from,
             size_t n)
{
  grid want = grid_new(c->rows, c->cols), radius = grid_new(c->rows, c->cols);
  mpq_t q, slack;

  mpq_init(q);
  mpq_init(slack);
  mpq_set_d(slack, 1 + 0x1p-40);
  for (size_t e = 0; e < n; e++) {
    clarke_matrix_get(q, a, from[e] / a->cols, from[e] % a->cols);
    mpq_add(want.at[to[e]], want.at[to[e]], q);
    mpq_set_d(q, clarke_matrix_radius(a, from[e] / a->cols, from[e] % a->cols));
    mpq_add(radius.at[to[e]], radius.at[to[e]], q);
  }
  assert_grid(c, &want);
  for (size_t e = 0; e < c->rows * c->cols; e++) {
    mpq_set_d(q, clarke_matrix_radius(c, e / c->cols, e % c->cols));
    ck_assert_msg(mpq_cmp(q, radius.at[e]) >= 0, "the radius of entry %zu is too small", e);
    mpq_mul(radius.at[e], radius.at[e], slack);
    ck_assert_msg(mpq_cmp(q, radius.at[e]) <= 0, "the radius of entry %zu is too large", e);
  }
  mpq_clear(q);
  mpq_clear(slack);
  grid_free(&want);
  grid_free(&radius);
}

/* All entries of a added to some column of zeros, by a map to its n rows. */
static void
assert_column_put_back(const clarke_matrix *a, const size_t *map, size_t n, uint64_t *state)
{
  const size_t count = a->rows * a->cols, cols = 1 + draw_below(state, 3), j = draw_below(state, cols);
  size_t *to = malloc((count + 1) * sizeof *to), *from = malloc((count + 1) * sizeof *from), found = 0;
  clarke_matrix c;

  clarke_matrix_init(&c);
  OK(clarke_matrix_resize(&c, n, cols, a->limbs + 1, NULL));
  c.exp = a->exp + 1;
  mpz_set(c.den, a->den);
  ck_assert_int_ne(clarke_matrix_put_back(&c, a, j, map, NULL), CLARKE_OK);
  c.exp = a->exp;
  OK(clarke_matrix_put_back(&c, a, j, map, NULL));
  for (size_t e = 0; e < count; e++)
    if (map[e] != SIZE_MAX) {
      to[found] = map[e] * cols + j;
      from[found++] = e;
    }
  assert_added(&c, a, to, from, found);
  clarke_matrix_clear(&c);
  free(from);
  free(to);
}

/* Some column, laid out as a matrix, padding among its entries. */
static void
assert_column_laid_out(const clarke_matrix *a, uint64_t *state)
{
  const size_t rows = 1 + draw_below(state, 4), cols = 1 + draw_below(state, 4), j = draw_below(state, a->cols);
  size_t *map = sample_map(rows * cols, a->rows, state), to[16], from[16], found = 0;
  clarke_matrix c;

  clarke_matrix_init(&c);
  OK(clarke_matrix_lay_out(&c, a, j, map, rows, cols, NULL));
  ck_assert(c.rows == rows && c.cols == cols);
  for (size_t e = 0; e < rows * cols; e++)
    if (map[e] != SIZE_MAX) {
      to[found] = e;
      from[found++] = map[e] * a->cols + j;
    }
  assert_added(&c, a, to, from, found);
  map[0] = a->rows;
  ck_assert_int_ne(clarke_matrix_lay_out(&c, a, j, map, rows, cols, NULL), CLARKE_OK);
  clarke_matrix_clear(&c);
  free(map);
}

START_TEST(entries_in_other_places)
{
  uint64_t state = 91;
  clarke_matrix a, c;

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  for (int round = 0; round < 1500; round++) {
    const size_t rows = draw_below(&state, 7), cols = 1 + draw_below(&state, 5);
    const size_t n = draw_below(&state, 9), most = (n > rows ? n : rows) * cols;
    size_t *map = sample_map(n * cols, rows, &state), *to = malloc((most + 1) * sizeof *to);
    size_t *from = malloc((most + 1) * sizeof *from), found = 0;

    sample_matrix(&a, rows, cols, sample_bits(&state), true, &state);
    if (draw(&state) % 2)
      sample_radius(&a, &state);
    OK(clarke_matrix_gather_entries(&c, &a, map, n, NULL));
    ck_assert_uint_eq(c.rows, n);
    for (size_t e = 0; e < n * cols; e++)
      if (map[e] != SIZE_MAX) {
        to[found] = e;
        from[found++] = map[e] * cols + e % cols;
      }
    assert_added(&c, &a, to, from, found);
    free(map);
    map = sample_map(rows * cols, n, &state);
    OK(clarke_matrix_scatter_entries(&c, &a, map, n, NULL));
    ck_assert_uint_eq(c.rows, n);
    found = 0;
    for (size_t e = 0; e < rows * cols; e++)
      if (map[e] != SIZE_MAX) {
        to[found] = map[e] * cols + e % cols;
        from[found++] = e;
      }
    assert_added(&c, &a, to, from, found);
    assert_column_put_back(&a, map, n, &state);
    assert_column_laid_out(&a, &state);
    if (n > 0 && rows > 0) {
      map[draw_below(&state, rows * cols)] = n;
      ck_assert_int_ne(clarke_matrix_scatter_entries(&c, &a, map, n, NULL), CLARKE_OK);
    }
    free(map);
    free(to);
    free(from);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
}
END_TEST

/* All entries into one: as many as sums need words for. */
START_TEST(scattered_sums_do_not_overflow)
{
  clarke_matrix a, c;
  mpz_t z, want;
  size_t map[64] = {0};

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  mpz_inits(z, want, NULL);
  for (size_t bits = 60; bits < 68; bits++)
    for (size_t rows = 1; rows <= 64; rows++)
      for (int sign = -1; sign < 2; sign += 2) {
        OK(clarke_matrix_resize(&a, rows, 1, 1, NULL));
        mpz_set_ui(z, 0);
        mpz_setbit(z, bits);
        mpz_sub_ui(z, z, 1);
        mpz_mul_si(z, z, sign);
        for (size_t i = 0; i < rows; i++)
          OK(clarke_matrix_store(&a, i, 0, z, NULL));
        OK(clarke_matrix_scatter_entries(&c, &a, map, 1, NULL));
        mpz_mul_ui(want, z, rows);
        clarke_matrix_load(z, &c, 0, 0);
        ck_assert(mpz_cmp(z, want) == 0);
      }
  mpz_clears(z, want, NULL);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
}
END_TEST

/* A matrix cut into blocks of rows, each perhaps of other words and without radii, and stacked. */
START_TEST(rows_and_stacks)
{
  uint64_t state = 92;
  clarke_matrix a, c, part[4];

  clarke_matrix_init(&a);
  clarke_matrix_init(&c);
  for (size_t k = 0; k < 4; k++)
    clarke_matrix_init(&part[k]);
  for (int round = 0; round < 800; round++) {
    const size_t rows = draw_below(&state, 9), cols = draw_below(&state, 5);
    size_t n = 1 + draw_below(&state, 4), at = 0;
    grid want;

    sample_matrix(&a, rows, cols, sample_bits(&state), true, &state);
    if (draw(&state) % 2)
      sample_radius(&a, &state);
    want = grid_of(&a);
    for (size_t k = 0; k < n; k++) {
      const size_t left = rows - at, taken = k + 1 == n ? left : draw_below(&state, left + 1);

      OK(clarke_matrix_rows(&part[k], &a, at, taken, NULL));
      ck_assert_uint_eq(part[k].rows, taken);
      ck_assert_uint_eq(part[k].cols, cols);
      for (size_t e = 0; e < taken * cols; e++)
        ck_assert(clarke_matrix_radius(&part[k], e / cols, e % cols) ==
                  clarke_matrix_radius(&a, at + e / cols, e % cols));
      if (taken * cols > 0 && draw(&state) % 2) { /* wider words of the same value */
        mpz_t z, wide;

        mpz_inits(z, wide, NULL);
        clarke_matrix_load(z, &part[k], 0, 0);
        mpz_setbit(wide, 64 * part[k].limbs + 5);
        OK(clarke_matrix_store(&part[k], 0, 0, wide, NULL));
        OK(clarke_matrix_store(&part[k], 0, 0, z, NULL));
        mpz_clears(z, wide, NULL);
      }
      at += taken;
    }
    OK(clarke_matrix_stack(&c, part, n, NULL));
    assert_grid(&c, &want);
    for (size_t e = 0; e < rows * cols; e++)
      ck_assert(clarke_matrix_radius(&c, e / cols, e % cols) ==
                clarke_matrix_radius(&a, e / cols, e % cols));
    if (n > 1 && part[0].exp == part[1].exp) {
      part[1].exp++;
      ck_assert_int_eq(clarke_matrix_stack(&c, part, n, NULL), CLARKE_EINTERNAL);
    }
    grid_free(&want);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&c);
  for (size_t k = 0; k < 4; k++)
    clarke_matrix_clear(&part[k]);
}
END_TEST

/* Two entries of a column: exactly, or as far as their radii allow. */
START_TEST(entries_compared)
{
  uint64_t state = 93;
  size_t counts[4] = {0};
  clarke_matrix a;
  mpq_t p, q, r;

  clarke_matrix_init(&a);
  mpq_inits(p, q, r, NULL);
  for (int round = 0; round < 3000; round++) {
    const size_t rows = 2 + draw_below(&state, 3), cols = 1 + draw_below(&state, 3);
    const size_t i = draw_below(&state, rows), k = draw_below(&state, rows);
    const size_t j = draw_below(&state, cols);
    int sign, exact;
    mpz_t z;

    sample_matrix(&a, rows, cols, sample_bits(&state), true, &state);
    mpz_init(z);
    if (round % 3 == 0) { /* next to each other */
      clarke_matrix_load(z, &a, i, j);
      mpz_add_ui(z, z, draw_below(&state, 2));
      OK(clarke_matrix_store(&a, k, j, z, NULL));
    }
    mpz_clear(z);
    if (round % 2 == 1)
      sample_radius(&a, &state);
    clarke_matrix_get(p, &a, i, j);
    clarke_matrix_get(q, &a, k, j);
    exact = mpq_cmp(p, q) < 0 ? -1 : mpq_cmp(p, q) > 0;
    sign = clarke_matrix_compare_entries(&a, i, k, j);
    counts[sign + 1]++;
    mpq_set_d(r, clarke_matrix_radius(&a, i, j));
    mpq_sub(p, p, q);
    mpq_abs(p, p);
    mpq_set_d(q, clarke_matrix_radius(&a, k, j));
    mpq_add(r, r, q);
    if (mpq_sgn(r) == 0 || mpq_cmp(p, r) > 0) {
      mpq_set_d(q, 1 + 0x1p-40); /* radii are added upward */
      mpq_mul(r, r, q);
      ck_assert(sign == exact || (sign == 2 && mpq_cmp(p, r) <= 0));
    } else
      ck_assert_int_eq(sign, 2);
  }
  for (size_t c = 0; c < 4; c++)
    ck_assert_uint_gt(counts[c], 100);
  mpq_clears(p, q, r, NULL);
  clarke_matrix_clear(&a);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("matrix");

  tcase_add_test(tests, products);
  tcase_add_test(tests, long_sums);
  tcase_add_test(tests, panels);
  tcase_add_test(tests, entry_by_entry);
  tcase_add_test(tests, multiples);
  tcase_add_test(tests, maps);
  tcase_add_test(tests, doubles_out);
  tcase_add_test(tests, doubles_out_of_quotients);
  tcase_add_test(tests, doubles_in);
  tcase_add_test(tests, rationals_in);
  tcase_add_test(tests, sizes_and_signs);
  tcase_add_test(tests, enclosures);
  tcase_add_test(tests, extreme_radii);
  tcase_add_test(tests, rounding_holds_what_was_there);
  tcase_add_test(tests, pairs_out);
  tcase_add_test(tests, comparisons_with_radius);
  tcase_add_test(tests, limits);
  tcase_add_test(tests, entries_in_other_places);
  tcase_add_test(tests, scattered_sums_do_not_overflow);
  tcase_add_test(tests, rows_and_stacks);
  tcase_add_test(tests, entries_compared);
  return run_tests();
}
