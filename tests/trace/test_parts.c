/* What the judgement of records is made of: a tensor beside its exact numbers, sums of sizes both ways, numbers of tensor cores
 * rounded. Each beside its definition. */
#include "../draw.h"
#include "../ok.h"

#include "trace/certify/certificate.h"
#include "trace/tensorcore/mma_number.h"
#include "trace/bound/rounding_dense.h"
#include "trace/certify/sieve.h"

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

/* Numbers that were only moved are judged as entry by entry; where one is another, nothing is said. */
START_TEST(moved_numbers_are_judged_alike)
{
  uint64_t state = 5;

  for (size_t round = 0; round < 200; round++) {
    const size_t dims[1] = { ENTRIES }, changed = draw_below(&state, ENTRIES);
    clarke_certificate c, moved;
    clarke_matrix m;
    clarke_tensor t;
    drawn d;

    draw_record(&d, &state);
    clarke_tensor_init(&t);
    clarke_matrix_init(&m);
    OK(clarke_tensor_shape(&t, "t", round % 4 == 3 ? CLARKE_F64 : CLARKE_F32, 1, dims, &error));
    for (size_t k = 0; k < ENTRIES; k++)
      t.real[k] = d.exact[k] = k == 0 ? 0 : ldexp(d.recorded.real[k], round % 4 == 3 ? -600 : 0); /* whose squares are 0 */
    OK(clarke_matrix_set_doubles(&m, ENTRIES, 1, d.exact, &error));
    OK(clarke_certificate_init(&c, CLARKE_OUTPUT, "w", NULL, &error));
    OK(clarke_certificate_init(&moved, CLARKE_OUTPUT, "w", NULL, &error));
    OK(clarke_certificate_judge(&c, &t, &m, d.bound, &error));
    ck_assert(clarke_certificate_judge_moved(&moved, &t, d.exact, d.bound));
    ck_assert(fabs(moved.norm - c.norm) <= 0x1p-40 * c.norm); /* it is about that, by either way of adding up */
    ck_assert(moved.certainty == c.certainty && moved.entries == c.entries && moved.exact == c.exact && moved.slack == c.slack
              && moved.widest == c.widest && moved.worst == c.worst && !moved.has_offender);
    clarke_certificate_clear(&moved);
    OK(clarke_certificate_init(&moved, CLARKE_OUTPUT, "w", NULL, &error));
    t.real[changed] = t.real[changed] == 0 ? 0x1p-149 : -t.real[changed];
    ck_assert(!clarke_certificate_judge_moved(&moved, &t, d.exact, d.bound) && moved.entries == 0 && moved.exact == 0);
    clarke_certificate_clear(&moved);
    clarke_certificate_clear(&c);
    clarke_matrix_clear(&m);
    clarke_tensor_clear(&t);
    clarke_tensor_clear(&d.recorded);
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

/* --- bounds of roundings --------------------------------------------------------------------- */

static double
draw_size(uint64_t *state)
{
  return draw_below(state, 5) == 0 ? 0 : ldexp((double)(draw(state) >> 11), (int)draw_between(state, -190, 20));
}

/* At least midpoint and radius of every entry. */
START_TEST(sizes_of_matrices)
{
  uint64_t state = 12;

  for (int round = 0; round < 200; round++) {
    const double entries[6] = {draw_size(&state), -draw_size(&state), 0, draw_size(&state), -1, draw_size(&state)};
    clarke_matrix m;
    double *size;

    clarke_matrix_init(&m);
    OK(clarke_matrix_set_doubles(&m, 2, 3, entries, &error));
    if (round % 2 == 0) {
      OK(clarke_matrix_need_radius(&m, &error));
      for (size_t e = 0; e < 6; e++)
        m.radius[e] = draw_size(&state) * 0x1p-20;
    }
    size = clarke_roundoff_sizes(&m);
    for (size_t e = 0; e < 6; e++) {
      const long double least = fabsl((long double)entries[e]) + (m.radius != NULL ? (long double)m.radius[e] : 0);

      ck_assert((long double)size[e] >= least && (long double)size[e] <= least * (1 + 0x1p-40L) + 0x1p-1000L);
    }
    free(size);
    clarke_matrix_clear(&m);
  }
}
END_TEST

/* What a cast takes of a constant: half a unit in its last place, and all of what is subnormal. */
START_TEST(cast_constants)
{
  uint64_t state = 13;
  clarke_roundoff r;
  clarke_rounding by = {0};

  ck_assert(clarke_rounding_add_type(&by, "float32"));
  memset(&r, 0, sizeof r);
  r.by = by;
  r.by.casts = true;
  for (int round = 0; round < 5000; round++) {
    const double v = (draw(&state) & 1 ? -1 : 1) * draw_size(&state), cast = (double)(float)v;
    const double flushed = fabs(cast) < 0x1p-126 ? 0 : cast, bound = clarke_roundoff_constant(&r, v);

    if (isinf(cast))
      continue;
    ck_assert(bound >= fabs(v - cast) && bound >= fabs(v - flushed));
    ck_assert(bound <= fabs(v) * 0x1p-23 + 0x1p-124);
  }
  r.by.casts = false;
  ck_assert(clarke_roundoff_constant(&r, 0.1) == 0 && clarke_roundoff_constant(&r, -0x1p-130) == 0x1p-130);
}
END_TEST

/* Weights' sizes, or what casting them takes; activations' largest sizes. */
START_TEST(sizes_of_factors)
{
  double real[] = {0.1, -2, 0, 0x1p-140}, size[] = {1, 2, 3, 4}, off[] = {0.5, 0, 0.25, 1};
  double *sizes[2] = {NULL, size}, *errors[2] = {NULL, off}, *w, *top;
  clarke_value values[2] = {{.constant = true, .count = 4, .real = real}, {.count = 2}};
  clarke_graph g = {.n_values = 2, .values = values};
  clarke_forward f = {.g = &g, .n = 2};
  clarke_roundoff r;

  memset(&r, 0, sizeof r);
  r.f = &f;
  r.size = sizes;
  r.error = errors;
  ck_assert(clarke_rounding_add_type(&r.by, "float32"));
  r.by.casts = true;
  w = clarke_roundoff_weights(&r, 0, false);
  for (size_t e = 0; e < 4; e++)
    ck_assert(w[e] == fabs(real[e]));
  free(w);
  ck_assert(clarke_roundoff_casts(&r, 0));
  r.by.casts = false;
  ck_assert(clarke_roundoff_casts(&r, 0)); /* the last is subnormal as a float32, and taken for 0 by some */
  real[3] = 0x1p-120;
  ck_assert(!clarke_roundoff_casts(&r, 0));
  real[3] = 0x1p-140;
  r.by.casts = true;
  w = clarke_roundoff_weights(&r, 0, true);
  for (size_t e = 0; e < 4; e++)
    ck_assert(w[e] == clarke_roundoff_constant(&r, real[e]) && w[e] >= fabs(real[e] - (double)(float)real[e]));
  free(w);
  top = clarke_roundoff_tops(&r, 1);
  for (size_t e = 0; e < 4; e++)
    ck_assert(top[e] >= size[e] + off[e] && top[e] <= (size[e] + off[e]) * (1 + 0x1p-50));
  free(top);
}
END_TEST

/* Sums in doubles of so many terms, in the worst order that is tried, stay below the slack. */
START_TEST(slack_of_sums)
{
  uint64_t state = 14;

  ck_assert(clarke_sieve_up(1) > 1 && clarke_sieve_up(0) == 0);
  for (int round = 0; round < 300; round++) {
    const size_t n = 1 + draw_below(&state, 300);
    double sum = 0, top = 0;
    mpq_t exact, term;

    mpq_inits(exact, term, NULL);
    for (size_t k = 0; k < n; k++) {
      const double a = (double)(float)ldexp((double)draw_between(&state, -16777215, 16777215), (int)draw_between(&state, -30, 5));
      const double b = (double)(float)ldexp((double)draw_between(&state, -16777215, 16777215), (int)draw_between(&state, -30, 5));

      sum += a * b;
      top += fabs(a * b);
      mpq_set_d(term, a * b);
      mpq_add(exact, exact, term);
    }
    mpq_set_d(term, sum);
    mpq_sub(exact, exact, term);
    ck_assert_double_le(fabs(mpq_get_d(exact)), clarke_sieve_slack((double)n, clarke_sieve_up(top)));
    mpq_clears(exact, term, NULL);
  }
}
END_TEST

/* Of rows of any length what the definitions say; numbers are small integers, so that sums are exact. */
START_TEST(rows_of_numbers)
{
  uint64_t state = 16;

  for (size_t n = 0; n <= 40; n++) {
    float x[41] = {0}, tops[41] = {0};
    double wide[41], to[41], sum = 5, mass = 7, most = 0, total = 5, absolute = 7, squares = 0;

    for (size_t j = 0; j < n; j++) {
      x[j] = (float)draw_between(&state, -1000, 1000) / 8;
      to[j] = 1;
      tops[j] = 50;
      most = fmax(most, fabs((double)x[j]));
      total += (double)x[j];
      absolute += fabs((double)x[j]);
      squares += (double)x[j] * (double)x[j];
    }
    clarke_sieve_widen(wide, x, n);
    clarke_sieve_total(&sum, &mass, x, n);
    clarke_sieve_largest_in_columns(tops, x, 1, n);
    ck_assert(sum == total && mass == absolute && clarke_sieve_squares(x, n) == squares && clarke_sieve_largest(x, n) == most);
    ck_assert(clarke_sieve_add_row(to, -2, x, n) == most);
    for (size_t j = 0; j < n; j++)
      ck_assert(wide[j] == (double)x[j] && to[j] == 1 - 2 * (double)x[j] && (double)tops[j] == fmax(50, fabs((double)x[j])));
  }
}
END_TEST

/* Each entry by itself: left of a kink what was there, at it and right of it the gradient times a number. More entries than are
 * chosen together. */
START_TEST(beyond)
{
  enum { LONGEST = 300 };
  uint64_t state = 17;

  for (size_t n = 0; n <= LONGEST; n += n < 20 ? 1 : 47) {
    float x[LONGEST], g[LONGEST], part[LONGEST + 1], was[LONGEST];
    const float at = (float)draw_between(&state, -2, 2) / 2, slope = (float)draw_between(&state, -1, 2);

    for (size_t j = 0; j < n; j++) {
      x[j] = (float)draw_between(&state, -2, 2) / 4;
      g[j] = (float)draw_between(&state, -9, 9);
      part[j] = was[j] = (float)draw_between(&state, 20, 30);
    }
    part[n] = 77;
    clarke_sieve_beyond(part, x, g, 0.25f, at, slope, n);
    for (size_t j = 0; j < n; j++)
      ck_assert(part[j] == (x[j] < 0.25f ? was[j] : x[j] == 0.25f ? at * g[j] : slope * g[j]));
    ck_assert(part[n] == 77);
  }
}
END_TEST

/* Pieces that are each a number or x itself, by a relu6 and what is none: a slope, a square, numbers that are no doubles. */
START_TEST(selecting_pieces)
{
  clarke_pieces p;
  double kink[CLARKE_MAX_KINKS], number[CLARKE_MAX_KINKS + 1];
  bool itself[CLARKE_MAX_KINKS + 1];

  memset(&p, 0, sizeof p);
  p.n_kinks = 2;
  p.slope = CLARKE_NONE;
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_init(p.kink[k]);
  for (size_t k = 0; k <= CLARKE_MAX_KINKS; k++)
    for (size_t d = 0; d < 3; d++)
      mpq_init(p.coef[k][d]);
  mpq_set_si(p.kink[1], 6, 1);
  mpq_set_si(p.coef[1][1], 1, 1);
  mpq_set_si(p.coef[2][0], 6, 1);
  ck_assert(clarke_sieve_selects(kink, number, itself, &p));
  ck_assert(kink[0] == 0 && kink[1] == 6 && !itself[0] && itself[1] && !itself[2] && number[0] == 0 && number[2] == 6);
  p.slope = 3;
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  p.slope = CLARKE_NONE;
  mpq_set_si(p.kink[1], 1, 3);
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  mpq_set_si(p.kink[1], 6, 1);
  mpq_set_si(p.coef[2][0], 1, 3);
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  mpq_set_si(p.coef[2][0], 6, 1);
  mpq_set_si(p.coef[1][0], 1, 1); /* x + 1 */
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  mpq_set_si(p.coef[1][0], 0, 1);
  mpq_set_si(p.coef[1][1], 2, 1);
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  mpq_set_si(p.coef[1][1], 1, 1);
  mpq_set_si(p.coef[0][2], 1, 1);
  ck_assert(!clarke_sieve_selects(kink, number, itself, &p));
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_clear(p.kink[k]);
  for (size_t k = 0; k <= CLARKE_MAX_KINKS; k++)
    for (size_t d = 0; d < 3; d++)
      mpq_clear(p.coef[k][d]);
}
END_TEST

/* What is printed of an error in parts of its bound is on the error's side of 1; of one that is at most so large, above it. */
START_TEST(shares_in_words)
{
  static const struct {
    double share;
    bool at_most;
    const char *text;
  } want[] = {{0.9999, false, "0.9999"},  {1.00001, false, "1.00001"}, {1, false, "1"},           {0, false, "0"},
              {0.123, false, "0.12"},     {0x1.fffffffffffffp-1, false, "0.9999999999999999"},   {INFINITY, false, "inf"},
              {0.5, true, "< 0.51"},      {0.0103, true, "< 0.011"},   {1.035, true, "< 1.1"},    {0, true, "0"}};
  char text[CLARKE_SHARE_SIZE];

  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    clarke_share_write(text, want[i].share, want[i].at_most);
    ck_assert_str_eq(text, want[i].text);
  }
}
END_TEST

/* Of a window the first of its largest entries, padding apart. */
START_TEST(winners_of_windows)
{
  uint64_t state = 15;

  for (int round = 0; round < 500; round++) {
    size_t map[6];
    clarke_operand in = {.value = 0, .map = map};
    const clarke_step step = {.kind = CLARKE_MAX, .n_in = 1, .in = &in, .width = 3};
    float x[8];

    for (size_t e = 0; e < 8; e++)
      x[e] = (float)draw_between(&state, -1, 1);
    for (size_t k = 0; k < 6; k++)
      map[k] = draw_below(&state, 4) == 0 ? CLARKE_NONE : draw_below(&state, 4);
    for (size_t f = 0; f < 2; f++) {
      uint32_t winner[2];
      float top[2];

      clarke_sieve_winners(top, winner, &step, x, 2, f);
      for (size_t j = 0; j < 2; j++) {
        size_t best = CLARKE_NONE;

        for (size_t i = 3; i-- > 0;)
          if (map[f * 3 + i] != CLARKE_NONE && (best == CLARKE_NONE || x[map[f * 3 + i] * 2 + j] >= x[best * 2 + j]))
            best = map[f * 3 + i];
        ck_assert_uint_eq(winner[j], best != CLARKE_NONE ? best : CLARKE_NO_WINNER);
        ck_assert_double_eq((double)top[j], best != CLARKE_NONE ? (double)x[best * 2 + j] : -INFINITY);
      }
    }
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("parts");

  tcase_add_test(tests, a_tensor_is_as_its_entries_are);
  tcase_add_test(tests, an_enclosure_may_leave_it_open);
  tcase_add_test(tests, moved_numbers_are_judged_alike);
  tcase_add_test(tests, dense_sums_both_ways);
  tcase_add_test(tests, numbers_are_rounded_as_said);
  tcase_add_test(tests, sizes_of_matrices);
  tcase_add_test(tests, cast_constants);
  tcase_add_test(tests, sizes_of_factors);
  tcase_add_test(tests, slack_of_sums);
  tcase_add_test(tests, rows_of_numbers);
  tcase_add_test(tests, beyond);
  tcase_add_test(tests, selecting_pieces);
  tcase_add_test(tests, winners_of_windows);
  tcase_add_test(tests, shares_in_words);
  return run_tests();
}
