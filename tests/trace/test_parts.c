/* What the judgement of records is made of: a tensor beside its exact numbers, sums of sizes both ways, numbers of tensor cores
 * rounded. Each beside its definition. */
#include "../draw.h"
#include "../ok.h"

#include "trace/certificate.h"
#include "trace/mma_number.h"
#include "trace/rounding_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- certificates --- */

enum { ROWS = 3, COLUMNS = 4, ENTRIES = ROWS * COLUMNS };

/* Recorded floats near exact numbers; bounds of a few units, or none. */
typedef struct {
  double exact[ENTRIES], bound[ENTRIES]; /* row-major, features x samples */
  clarke_tensor recorded;                /* sample by sample */
} drawn;

static void
draw_record(drawn *d, uint64_t *state)
{
  const size_t dims[2] = { COLUMNS, ROWS };
  const bool wide = draw_below(state, 2);

  clarke_tensor_init(&d->recorded);
  OK(clarke_tensor_shape(&d->recorded, "t", CLARKE_F32, 2, dims, &error));
  for (size_t e = 0; e < ENTRIES; e++) {
    const double x = ldexp((double)(draw(state) >> 11) - 0x1p52, (int)draw_between(state, -56, -48));
    float near = (float)x;

    d->exact[e] = x;
    for (size_t n = draw_below(state, 4); n > 1; n--)
      near = nextafterf(near, draw_below(state, 2) ? INFINITY : -INFINITY);
    d->bound[e] = !wide && draw_below(state, 20) == 0 ? INFINITY : fabs(x) * ldexp(wide ? 64 : 1, -23) * (double)draw_between(state, 1, 3);
    d->recorded.real[e % COLUMNS * ROWS + e / COLUMNS] = near;
  }
}

/* In the tensor's own order; differences of doubles of 53 bits and floats of their size are exact in long doubles. */
static clarke_certainty
certainty_of(const drawn *d, size_t k)
{
  const size_t e = k % ROWS * COLUMNS + k / ROWS;
  const double recorded = d->recorded.real[k];

  if (recorded == (double)(float)d->exact[e])
    return CLARKE_BIT_EXACT;
  if (!isfinite(d->bound[e]))
    return CLARKE_CANNOT_SAY;
  return fabsl((long double)recorded - d->exact[e]) <= d->bound[e] ? CLARKE_WITHIN_BOUND : CLARKE_IS_REFUTED;
}

START_TEST(a_tensor_is_as_its_entries_are)
{
  uint64_t state = 1;
  size_t of[CLARKE_IS_REFUTED + 1] = {0};

  for (size_t round = 0; round < 2000; round++) {
    clarke_certainty weakest = CLARKE_BIT_EXACT;
    size_t exact = 0, beyond = 0, open = 0, offender = ENTRIES;
    clarke_certificate c;
    clarke_matrix m;
    char index[32];
    drawn d;

    draw_record(&d, &state);
    clarke_matrix_init(&m);
    OK(clarke_matrix_set_doubles(&m, ROWS, COLUMNS, d.exact, &error));
    for (size_t k = 0; k < ENTRIES; k++) {
      const clarke_certainty one = certainty_of(&d, k);

      if (one > weakest && one >= CLARKE_CANNOT_SAY)
        offender = k;
      weakest = one > weakest ? one : weakest;
      exact += one == CLARKE_BIT_EXACT;
      beyond += one == CLARKE_IS_REFUTED;
      open += one == CLARKE_CANNOT_SAY;
    }
    OK(clarke_certificate_init(&c, CLARKE_GRADIENT, "node", "Gemm", &error));
    OK(clarke_certificate_judge(&c, &d.recorded, &m, d.bound, &error));
    ck_assert_msg(c.certainty == weakest, "round %zu: %s, not %s", round, clarke_certainty_name(c.certainty),
                  clarke_certainty_name(weakest));
    ck_assert(c.entries == ENTRIES && c.exact == exact && c.beyond == beyond && c.open == open);
    ck_assert(c.has_offender == (offender < ENTRIES));
    if (c.has_offender) {
      snprintf(index, sizeof index, "[%zu, %zu]", offender / ROWS, offender % ROWS);
      ck_assert_str_eq(c.offender.index, index);
      ck_assert(c.offender.recorded == d.recorded.real[offender]);
    }
    of[weakest]++;
    clarke_certificate_clear(&c);
    ck_assert_ptr_null(c.name);
    clarke_matrix_clear(&m);
    clarke_tensor_clear(&d.recorded);
  }
  ck_assert(of[CLARKE_WITHIN_BOUND] > 200 && of[CLARKE_CANNOT_SAY] > 50 && of[CLARKE_IS_REFUTED] > 200);
}
END_TEST

/* Of an enclosure nothing is bit-exact, and what its radius leaves open is said to be. */
START_TEST(an_enclosure_may_leave_it_open)
{
  static const struct {
    double radius, recorded;
    clarke_certainty want;
  } cases[] = {
    { 0, 1, CLARKE_BIT_EXACT }, { 0.125, 1, CLARKE_WITHIN_BOUND }, { 0.125, 1.125, CLARKE_WITHIN_BOUND },
    { 0.125, 1.25, CLARKE_CANNOT_SAY }, { 0.125, 1.375, CLARKE_CANNOT_SAY }, { 0.125, 1.5, CLARKE_IS_REFUTED },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double exact = 1, bound = 0.25;
    clarke_certificate c;
    clarke_matrix m;
    clarke_tensor t;

    clarke_tensor_init(&t);
    OK(clarke_tensor_shape(&t, "t", CLARKE_F32, 0, NULL, &error));
    t.real[0] = cases[i].recorded;
    clarke_matrix_init(&m);
    OK(clarke_matrix_set_doubles(&m, 1, 1, &exact, &error));
    OK(clarke_matrix_need_radius(&m, &error));
    m.radius[0] = cases[i].radius;
    OK(clarke_certificate_init(&c, CLARKE_OUTPUT, "node", NULL, &error));
    OK(clarke_certificate_judge(&c, &t, &m, &bound, &error));
    ck_assert_msg(c.certainty == cases[i].want, "case %zu: %s", i, clarke_certainty_name(c.certainty));
    OK(clarke_certificate_say(&c, CLARKE_CANNOT_SAY, &error, "%zu of %s", i, "them"));
    ck_assert(c.certainty == CLARKE_CANNOT_SAY && strcmp(c.why + 1, " of them") == 0);
    clarke_certificate_clear(&c);
    clarke_matrix_clear(&m);
    clarke_tensor_clear(&t);
  }
}
END_TEST

/* --- sums of sizes --- */

enum { MOST = 256 };

static void
draw_numbers(double *x, size_t n, uint64_t *state)
{
  for (size_t k = 0; k < n; k++)
    x[k] = (double)draw_below(state, 9);
}

static double
inner(const double *a, const double *b, size_t n)
{
  double sum = 0;

  for (size_t k = 0; k < n; k++)
    sum += a[k] * b[k];
  return sum;
}

/* y[b,o,r] = sum over i of W[o,i] x[b,i,r]; then <g, W x> = <W^T g, x> = <g x^T, w>. */
START_TEST(dense_sums_both_ways)
{
  uint64_t state = 2;

  for (size_t round = 0; round < 400; round++) {
    clarke_step s = {.kind = CLARKE_DENSE};
    clarke_dense *d = &s.dense;
    const size_t n = 1 + draw_below(&state, 3);
    double w[MOST], x[MOST], g[MOST], y[MOST] = {0}, back[MOST] = {0}, dw[MOST] = {0}, once;
    size_t n_w, n_x, n_y;

    *d = (clarke_dense){.blocks = 1 + draw_below(&state, 3), .inner = 1 + draw_below(&state, 4), .outer = 1 + draw_below(&state, 4),
                        .repeat = 1 + draw_below(&state, 3)};
    d->grouped = draw_below(&state, 3) == 0;
    d->transposed = !d->grouped && draw_below(&state, 2);
    n_w = (d->grouped ? d->blocks : 1) * d->inner * d->outer;
    n_x = d->blocks * d->inner * d->repeat * n;
    n_y = d->blocks * d->outer * d->repeat * n;
    draw_numbers(w, n_w, &state);
    draw_numbers(x, n_x, &state);
    draw_numbers(g, n_y, &state);
    clarke_roundoff_dense(y, &s, w, x, n);
    for (size_t k = 0; k < n_y; k++) {
      const size_t e = k % (d->repeat * n), o = k / (d->repeat * n) % d->outer, b = k / (d->repeat * n) / d->outer;
      double want = 0;

      for (size_t i = 0; i < d->inner; i++)
        want += w[d->transposed ? i * d->outer + o : ((d->grouped ? b * d->outer : 0) + o) * d->inner + i]
                * x[(b * d->inner + i) * d->repeat * n + e];
      ck_assert_msg(y[k] == want, "round %zu, entry %zu", round, k);
    }
    once = inner(g, y, n_y);
    clarke_roundoff_dense_back(back, &s, w, g, n);
    clarke_roundoff_dense_weight(dw, &s, g, x, n);
    ck_assert(inner(back, x, n_x) == once && inner(dw, w, n_w) == once);
    clarke_roundoff_dense(y, &s, w, x, n); /* it adds */
    ck_assert(inner(g, y, n_y) == 2 * once);
  }
}
END_TEST

/* --- numbers of tensor cores --- */

/* By the nearest multiple of the last place; magnitudes are doubles. */
static double
rounded(double x, const clarke_mma_format *f, int fraction, clarke_mma_rounding rounding)
{
  const int top = x == 0 ? f->least : ilogb(x), unit = (top > f->least ? top : f->least) - fraction;
  const double scaled = ldexp(x, -unit), y = ldexp(rounding == CLARKE_MMA_TO_NEAREST ? rint(scaled) : trunc(scaled), unit);

  return (x != 0 && top > f->most) || (y != 0 && ilogb(y) > f->most) ? INFINITY : y;
}

START_TEST(numbers_are_rounded_as_said)
{
  uint64_t state = 3;
  size_t infinite = 0, subnormal = 0;

  for (size_t round = 0; round < 200000; round++) {
    const clarke_mma_format *f = &clarke_mma_formats[draw_below(&state, CLARKE_MMA_FORMATS)];
    const int fraction = f->fraction - (int)draw_below(&state, (size_t)f->fraction), bits = (int)draw_below(&state, 54);
    const uint64_t magnitude = bits == 0 ? 0 : draw(&state) >> (64 - bits);
    const int exponent = (int)draw_between(&state, f->least - 60, f->most + 4);
    const clarke_mma_rounding rounding = draw_below(&state, 2) ? CLARKE_MMA_TO_NEAREST : CLARKE_MMA_TOWARD_ZERO;
    const bool negative = draw_below(&state, 2);
    const double want = rounded(ldexp((double)magnitude, exponent), f, fraction, rounding);
    const uint32_t found = clarke_mma_round(negative, magnitude, exponent, f, fraction, rounding);
    float value;

    memcpy(&value, &found, sizeof value);
    ck_assert_msg(fabs((double)value) == want && (signbit(value) != 0) == negative, "%s: %g, not %g", f->name, (double)value, want);
    infinite += isinf(want);
    subnormal += want > 0 && ilogb(want) < f->least;
  }
  ck_assert(infinite > 1000 && subnormal > 1000);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("parts");

  tcase_add_test(tests, a_tensor_is_as_its_entries_are);
  tcase_add_test(tests, an_enclosure_may_leave_it_open);
  tcase_add_test(tests, dense_sums_both_ways);
  tcase_add_test(tests, numbers_are_rounded_as_said);
  return run_tests();
}
