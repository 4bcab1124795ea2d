/* Running statistics beside programs in float32 that compute them: the formulas of docs/rounding-bound.md ("A running statistic"), on entries
 * and in orders that are hard for them. And what is said of entries that do not fit. */
#include "../draw.h"
#include "../suites.h"
#include "trace/certify/certify.h"
#include "op/operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(e) ck_assert_int_eq((e), CLARKE_OK)
#define MOST_CHANNELS 8

static clarke_error error;

/* --- a network of one normalization, and buffers --- */

static const clarke_op batch_norm = {.name = "BatchNormalization"}, group_norm = {.name = "GroupNormalization"};

typedef struct {
  clarke_value value[2];
  clarke_step step;
  clarke_graph g;
  clarke_matrix x[2];
  double *error[2];
  clarke_tensor tensor[6];
  clarke_tensors trace;
  bool seen[6];
  clarke_run_statistics update[4];
  clarke_certify c;
} scene;

/* Entries x[channel * n + i]: one sample has them all. */
static void
scene_make(scene *s, size_t channels, size_t n, const float *x)
{
  static const char *const name[] = {"before/mean", "after/mean", "before/var", "after/var", "before/count", "after/count"};

  memset(s, 0, sizeof *s);
  s->step = (clarke_step){.kind = CLARKE_NORMALIZE, .op = &batch_norm, .name = "norm", .out = 1, .n_in = 1, .grouping = {1, channels, n, false}};
  s->step.in = calloc(1, sizeof *s->step.in);
  s->value[0].count = s->value[1].count = channels * n;
  s->g.n_steps = 1;
  s->g.steps = &s->step;
  s->g.n_values = 2;
  s->g.values = s->value;
  clarke_matrix_init(&s->x[0]);
  s->error[0] = calloc(channels * n, sizeof *s->error[0]);
  for (size_t e = 0; e < channels * n; e++)
    s->error[0][e] = x[e];
  OK(clarke_matrix_set_doubles(&s->x[0], channels * n, 1, s->error[0], &error));
  memset(s->error[0], 0, channels * n * sizeof *s->error[0]);
  for (size_t i = 0; i < 6; i++)
    OK(clarke_tensor_shape(&s->tensor[i], name[i], i < 4 ? CLARKE_F32 : CLARKE_I64, 1, (size_t[]){i < 4 ? channels : 1}, &error));
  s->trace = (clarke_tensors){6, s->tensor};
  clarke_certify_init(&s->c);
  s->c.g = &s->g;
  s->c.pass.n = 1;
  s->c.pass.value = s->x;
  s->c.rounded.error = s->error;
  s->c.trace = &s->trace;
  s->c.trace_file = "trace";
  s->c.seen = s->seen;
  s->c.statistics = s->update;
  s->c.n_statistics = 1;
  ck_assert(clarke_rounding_add_type(&s->c.by, "float32"));
  for (size_t i = 0; i < 4; i++) {
    s->update[i] = (clarke_run_statistics){.node = "norm", .mean = "mean", .variance = "var", .samples = 1};
    mpq_init(s->update[i].momentum);
    mpq_set_ui(s->update[i].momentum, 1, 1);
  }
}

static void
scene_forget(scene *s)
{
  for (size_t i = 0; i < s->c.n; i++)
    clarke_certificate_clear(&s->c.certificate[i]);
  s->c.n = 0;
}

static void
scene_clear(scene *s)
{
  scene_forget(s);
  free(s->c.certificate);
  for (size_t i = 0; i < 4; i++)
    mpq_clear(s->update[i].momentum);
  for (size_t i = 0; i < 6; i++)
    clarke_tensor_clear(&s->tensor[i]);
  clarke_matrix_clear(&s->x[0]);
  free(s->error[0]);
  free(s->step.in);
}

/* What is said, of so many buffers. */
static const clarke_certificate *
said(scene *s, size_t n)
{
  scene_forget(s);
  OK(clarke_certify_statistics(&(bool){false}, &s->c, NULL, &error));
  ck_assert_uint_eq(s->c.n, n);
  return s->c.certificate;
}

/* --- formulas, in float32 --- */

typedef struct {
  float mean, squares; /* of differences from it */
  size_t n;
} part;

static part
two_passes(const float *x, size_t n)
{
  part p = {0, 0, n};

  for (size_t i = 0; i < n; i++)
    p.mean += x[i];
  p.mean /= (float)n;
  for (size_t i = 0; i < n; i++) {
    const float off = x[i] - p.mean;

    p.squares += off * off;
  }
  return p;
}

static part
squares_less(const float *x, size_t n)
{
  part p = {0, 0, n};

  for (size_t i = 0; i < n; i++) {
    p.mean += x[i];
    p.squares += x[i] * x[i];
  }
  p.mean /= (float)n;
  p.squares -= (float)n * (p.mean * p.mean);
  return p;
}

static part
welford(const float *x, size_t n)
{
  part p = {0, 0, n};

  for (size_t i = 0; i < n; i++) {
    const float off = x[i] - p.mean;

    p.mean += off / (float)(i + 1);
    p.squares += off * (x[i] - p.mean);
  }
  return p;
}

static part
merged(part a, part b)
{
  const float off = b.mean - a.mean, by = (float)b.n / (float)(a.n + b.n);

  return (part){a.mean + off * by, a.squares + b.squares + off * off * (float)a.n * by, a.n + b.n};
}

static part
merged_by_weights(part a, part b)
{
  const float by = 1.0f / (float)(a.n + b.n), off = a.mean - b.mean;

  return (part){((float)a.n * a.mean + (float)b.n * b.mean) * by, a.squares + (b.squares + off * off * (float)a.n * (float)b.n * by), a.n + b.n};
}

/* By halves, down to runs of so many. */
static part
halves(const float *x, size_t n, size_t run, part (*merge)(part a, part b), part (*leaf)(const float *x, size_t n))
{
  return n <= run ? leaf(x, n) : merge(halves(x, n / 2, run, merge, leaf), halves(x + n / 2, n - n / 2, run, merge, leaf));
}

static part
by_pairs(const float *x, size_t n)
{
  return halves(x, n, 1, merged, two_passes);
}

static part
by_runs(const float *x, size_t n)
{
  return halves(x, n, 16, merged, two_passes);
}

static part
by_threads(const float *x, size_t n)
{
  return halves(x, n, (n + 31) / 32, merged_by_weights, welford);
}

/* One entry after another, each taking in all those before it: the worst order for a merge. */
static part
turned(const float *x, size_t n)
{
  part p = {x[0], 0, 1};

  for (size_t i = 1; i < n; i++)
    p = merged((part){x[i], 0, 1}, p);
  return p;
}

static part
chain_by_weights(const float *x, size_t n)
{
  part p = {x[0], 0, 1};

  for (size_t i = 1; i < n; i++)
    p = merged_by_weights(p, (part){x[i], 0, 1});
  return p;
}

static part (*const formula[])(const float *x, size_t n) = {two_passes, squares_less, welford, by_pairs, by_runs, by_threads, turned, chain_by_weights};
#define FORMULAS (sizeof formula / sizeof *formula)

/* --- entries --- */

static double
share(uint64_t *state)
{
  return (double)draw_below(state, 1 << 24) / (1 << 24);
}

static int
compare(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;

  return (x > y) - (x < y);
}

#define KINDS 11
static void
fill(float *x, size_t n, size_t kind, uint64_t *state)
{
  for (size_t i = 0; i < n; i++)
    x[i] = (float)(kind == 0   ? 1000 + share(state)                             /* large mean, small variance */
                   : kind == 1 ? 1000 + 0x1p-8 - 0x1p-13                         /* all sums are rounded one way */
                   : kind == 2 ? (share(state) - 0.5) * 2                        /* sums cancel */
                   : kind == 3 ? (i % 2 == 0 ? 1 : -1) * (1e6 + share(state))    /* and are small beside what they are of */
                   : kind == 4 ? share(state) * 1e-38                            /* subnormal, mostly */
                   : kind == 5 ? (i == 0 ? 1e5 : share(state))                   /* one is larger than all: the first, the last */
                   : kind == 6 ? (i == n - 1 ? 1e5 : share(state))
                   : kind == 7 ? ldexp(share(state) - 0.5, (int)(i % 60) - 30)   /* of all sizes */
                   : kind == 8 ? (share(state) - 0.4) * 1e-19                    /* squares are subnormal */
                   : kind == 9 ? 1 + 0x1p-23 * (double)draw_below(state, 3)      /* the least variance */
                   : i == 0    ? 1                                               /* the others' squares are lost beside the first's */
                               : (i % 2 == 0 ? 1 : -1) * (0x1p-12 - 0x1p-22));
  if (kind == 2)
    qsort(x, n, sizeof *x, compare); /* what is below the mean comes first */
}

/* Where each formula leaves the buffer is within the bound. The nearest it comes is in part[0], of the mean, and part[1], of the
 * variance. */
static void
compare_formulas(double nearest[2], size_t n, size_t kind, uint64_t *state)
{
  float *x = malloc(FORMULAS * n * sizeof *x);
  scene s;

  fill(x, n, kind, state);
  for (size_t f = 1; f < FORMULAS; f++)
    memcpy(x + f * n, x, n * sizeof *x);
  scene_make(&s, FORMULAS, n, x);
  for (size_t f = 0; f < FORMULAS; f++) {
    const part p = formula[f](x, n);

    s.tensor[1].real[f] = p.mean;
    s.tensor[3].real[f] = p.squares / (float)(n - 1);
  }
  said(&s, 2);
  for (size_t k = 0; k < 2; k++) {
    const clarke_certificate *made = &s.c.certificate[k];

    ck_assert_msg(made->certainty <= CLARKE_WITHIN_BOUND, "%s, entries of kind %zu, n = %zu: %s %s", made->name, kind, n,
                  clarke_certainty_name(made->certainty), made->has_offender ? made->offender.index : "");
    nearest[k] = fmax(nearest[k], made->worst);
  }
  scene_clear(&s);
  free(x);
}

START_TEST(formulas)
{
  static const size_t size[] = {2, 3, 5, 16, 100, 1000, 40000};
  double nearest[2] = {0};
  uint64_t state = 7;

  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (size_t kind = 0; kind < KINDS; kind++)
      for (size_t k = 0; k < (size[i] < 1000 ? 20 : 1); k++)
        compare_formulas(nearest, size[i], kind, &state);
  if (getenv("SHOW") != NULL)
    printf("nearest: %g of a mean's bound, %g of a variance's\n", nearest[0], nearest[1]);
  ck_assert_double_gt(nearest[0], 0.2);
  ck_assert_double_gt(nearest[1], 0.14);
}
END_TEST

/* What docs/rounding-bound.md says of the sums of squared differences, in parts of (|x| + A)^2: with t = n u, and ten roundings that do
 * not depend on n. */
START_TEST(deviations)
{
  for (int i = 1; i < 1000; i++)
    for (int n = 2; n < 1000000; n *= 3) {
      const double t = i / 12000.0, u = t / n, limit = 6 * (n + 8) * u;
      const double mean = 5 * t / (1 - 5 * t), d = 2.13 * mean / sqrt(12) + mean * mean / 2, sums = (n + 10) * u / (1 - (n + 10) * u);
      const double passes = sums * (1 + mean) * (1 + mean) + mean * mean / 4;
      const double squares = (mean * (2 + mean) + 8 * u / (1 - 8 * u) * (1 + mean) * (1 + mean)) / 4 + sums / 4;

      if (limit >= 0.5)
        continue;
      ck_assert_double_lt(d + sums * (1 + d), limit / (1 - limit));
      ck_assert_double_lt(passes, limit / (1 - limit));
      ck_assert_double_lt(squares, limit / (1 - limit));
    }
}
END_TEST

/* (1 - s) r + s b, in doubles. */
static double
brought_up(double r, double s, double b)
{
  return (1 - s) * r + s * b;
}

static const float entries[12] = {1, 2, 3, 6, 5, 4, 3, 8, -1, -2, -3, 2};
static const double means[3] = {3, 5, -1}, variances[3] = {14 / 3.0, 14 / 3.0, 14 / 3.0};

static void
expect_certainty(scene *s, size_t n, clarke_certainty want)
{
  const clarke_certificate *made = said(s, n);

  for (size_t k = 0; k < 2; k++)
    ck_assert_msg(made[k].certainty == want || (made[k].certainty == CLARKE_BIT_EXACT && want == CLARKE_WITHIN_BOUND), "%s: %s, %s", made[k].name,
                  clarke_certainty_name(made[k].certainty), made[k].why != NULL ? made[k].why : "");
}

/* Updates one after another, each with its share, which may be any number: in their order. */
START_TEST(several_updates)
{
  static const char *const shares[] = {"1/4", "3/2", "-2", "1/8"};
  scene s;

  scene_make(&s, 3, 4, entries);
  for (size_t n = 1; n <= 4; n++) {
    s.c.n_statistics = n;
    for (size_t k = 0; k < 3; k++) {
      double mean = s.tensor[0].real[k] = 7, variance = s.tensor[2].real[k] = 0.5;

      for (size_t i = 0; i < n; i++) {
        mpq_set_str(s.update[i].momentum, shares[i], 10);
        mean = brought_up(mean, mpq_get_d(s.update[i].momentum), means[k]);
        variance = brought_up(variance, mpq_get_d(s.update[i].momentum), variances[k]);
      }
      s.tensor[1].real[k] = (float)mean;
      s.tensor[3].real[k] = (float)variance;
    }
    expect_certainty(&s, 2, CLARKE_WITHIN_BOUND);
    mpq_set_str(s.update[n - 1].momentum, "127/1024", 10);
    expect_certainty(&s, 2, CLARKE_IS_REFUTED);
  }
  scene_clear(&s);
}
END_TEST

/* Three samples that are normalized by themselves, of one channel: the mean of their statistics, of which each is as far off as its own. */
START_TEST(several_samples)
{
  scene s;

  scene_make(&s, 3, 4, entries);
  for (size_t i = 0; i < 4; i++)
    s.tensor[i].count = 1;
  s.update[0].samples = 3;
  mpq_set_str(s.update[0].momentum, "1/2", 10);
  s.tensor[0].real[0] = s.tensor[2].real[0] = 1;
  s.tensor[1].real[0] = (float)(0.5 + 0.5 * 7 / 3);
  s.tensor[3].real[0] = (float)(0.5 + 0.5 * 14 / 3);
  expect_certainty(&s, 2, CLARKE_WITHIN_BOUND);
  s.tensor[1].real[0] = (float)(0.5 + 0.5 * means[0]); /* the first sample's alone */
  s.tensor[3].real[0] = (float)(0.5 + 0.5 * (14 + 14 + 14 + 4 * (3 - 7 / 3.0) * (3 - 7 / 3.0)) / 11); /* about the mean of all */
  expect_certainty(&s, 2, CLARKE_IS_REFUTED);
  s.update[0].samples = 2;
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  s.update[0].samples = SIZE_MAX;
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  s.update[0].samples = 1;
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  ck_assert_str_eq(s.c.certificate[0].why, "it has another number of entries than its node has channels");
  scene_clear(&s);
}
END_TEST

/* u(n, M) in float32. */
static double
rounding(double n, double mass)
{
  return n * 0x1p-24 / (1 - n * 0x1p-24) * mass + n * 0x1p-126;
}

/* A mean or variance of four entries, and its bound. */
static void
own_bound(double own[2], const float *x, bool variance)
{
  double mean = 0, size = 0, sum = 0, spread = 0;

  for (size_t i = 0; i < 4; i++) {
    mean += x[i] / 4;
    size += fabs((double)x[i]) / 4;
  }
  for (size_t i = 0; i < 4; i++) {
    sum += pow(x[i] - mean, 2) / 3;
    spread += pow(fabs((double)x[i]) + size, 2) / 3;
  }
  own[0] = variance ? sum : mean;
  own[1] = variance ? rounding(72, spread) : rounding(28, size);
}

/* The bound by its definition, of two updates with two shares, of one channel or of three samples of it. */
START_TEST(bounds_by_definition)
{
  static const float x[24] = {1, 2, 3, 6, 5, -4, 3, 8, -1, -2, -3, 2, 1, 1, 1, 2, 9, -9, 9, 8, 0, 0, 0, -5};
  static const double shares[] = {0.25, -0.5};
  scene s;

  scene_make(&s, 6, 4, x);
  for (size_t samples = 1; samples <= 6; samples++)
    for (size_t variance = 0; variance < 2 && 6 % samples == 0; variance++) {
      const size_t count = 6 / samples;
      double widest = 0;

      s.c.n_statistics = 2;
      for (size_t i = 0; i < 4; i++)
        s.tensor[i].count = count;
      for (size_t i = 0; i < 2; i++) {
        s.update[i].samples = samples;
        mpq_set_d(s.update[i].momentum, shares[i]);
      }
      for (size_t k = 0; k < count; k++) {
        double r = s.tensor[0].real[k] = s.tensor[2].real[k] = (double)k - 7, off = 0;

        for (size_t i = 0; i < 2; i++) {
          double b = 0, of_b = 0, size = 0, own[2];

          for (size_t j = 0; j < samples; j++) {
            own_bound(own, x + 4 * (j * count + k), variance);
            b += own[0] / (double)samples;
            of_b += own[1] / (double)samples;
            size += (fabs(own[0]) + own[1]) / (double)samples;
          }
          off = fabs(1 - shares[i]) * off + fabs(shares[i]) * of_b
                + rounding(samples > 1 ? (double)samples + 10 : 8, (1 + fabs(shares[i])) * (fabs(r) + off) + fabs(shares[i]) * size);
          r = brought_up(r, shares[i], b);
        }
        s.tensor[1 + 2 * variance].real[k] = (float)r;
        widest = fmax(widest, off);
      }
      said(&s, 2);
      ck_assert_int_le(s.c.certificate[variance].certainty, CLARKE_WITHIN_BOUND);
      ck_assert_double_eq_tol(s.c.certificate[variance].widest / widest, 1, 1e-9);
    }
  scene_clear(&s);
}
END_TEST

/* One entry has no variance. */
START_TEST(single_entries)
{
  scene s;

  scene_make(&s, 3, 1, entries);
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  ck_assert_str_eq(s.c.certificate[0].why, "its node normalizes single entries");
  scene_clear(&s);
}
END_TEST

/* Samples that are normalized together, or each by itself: then no statistic is of the batch. */
START_TEST(samples_together)
{
  scene s;
  double columns[12];

  scene_make(&s, 1, 12, entries);
  for (size_t e = 0; e < 6; e++)
    for (size_t j = 0; j < 2; j++)
      columns[2 * e + j] = entries[6 * j + e];
  OK(clarke_matrix_set_doubles(&s.x[0], 6, 2, columns, &error));
  s.value[0].count = s.value[1].count = s.step.grouping.length = 6;
  s.c.pass.n = 2;
  s.tensor[1].real[0] = (float)(28 / 12.0);
  s.tensor[3].real[0] = (float)((182 - 28 * 28 / 12.0) / 11);
  s.step.grouping.couples = true;
  expect_certainty(&s, 2, CLARKE_WITHIN_BOUND);
  s.step.op = &group_norm;
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  s.step.op = &batch_norm;
  s.step.grouping.couples = false;
  expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
  ck_assert_str_eq(s.c.certificate[0].why, "the graph has no normalization of its node");
  scene_clear(&s);
}
END_TEST

/* Each is asked once, however many entries name it. */
START_TEST(what_does_not_fit)
{
  static const char *const why[] = {"it is called a mean and a variance", "the graph has no normalization of its node",
                                    "it was not recorded before and after the step", "more than 64 normalizations bring it up to date"};
  clarke_run_statistics many[65];
  scene s;

  scene_make(&s, 3, 4, entries);
  mpq_clear(s.update[1].momentum);
  for (size_t i = 0; i < 4; i++) {
    s.c.n_statistics = 2;
    s.update[1] = s.update[0];
    if (i == 0) {
      s.update[1].mean = "var";
      s.update[1].variance = "mean";
    } else if (i == 1) {
      s.update[1].node = "another";
    } else if (i == 2) {
      s.update[0].mean = s.update[1].mean = "men";
      s.update[0].variance = s.update[1].variance = "vr";
    } else {
      s.update[0].mean = "mean";
      s.update[0].variance = "var";
      for (size_t k = 0; k < 65; k++)
        many[k] = s.update[0];
      s.c.statistics = many;
      s.c.n_statistics = 65;
    }
    expect_certainty(&s, 2, CLARKE_CANNOT_SAY);
    ck_assert_str_eq(s.c.certificate[0].why, why[i]);
    ck_assert_str_eq(s.c.certificate[1].why, why[i]);
  }
  s.c.n_statistics = 64; /* each takes the batch's alone */
  for (size_t k = 0; k < 3; k++) {
    s.tensor[1].real[k] = means[k];
    s.tensor[3].real[k] = (float)variances[k];
  }
  expect_certainty(&s, 2, CLARKE_WITHIN_BOUND);
  many[0].variance = many[0].mean; /* an entry that names one buffer twice has one answer */
  s.c.n_statistics = 1;
  ck_assert_str_eq(said(&s, 1)->why, why[0]);
  mpq_init(s.update[1].momentum);
  scene_clear(&s);
}
END_TEST

/* What counts the updates. */
START_TEST(counts)
{
  scene s;

  scene_make(&s, 3, 4, entries);
  for (size_t k = 0; k < 3; k++) {
    s.tensor[1].real[k] = means[k];
    s.tensor[3].real[k] = (float)variances[k];
  }
  s.update[0].count = s.update[1].count = "count";
  s.c.n_statistics = 2;
  for (int64_t more = -1; more < 4; more++)
    for (int i = 0; i < 3; i++) {
      const int64_t before = i == 0 ? 0 : i == 1 ? 1000 : -1;
      const clarke_certificate *made;

      s.tensor[4].integer[0] = before;
      s.tensor[5].integer[0] = before + more;
      made = &said(&s, 3)[2];
      ck_assert_str_eq(made->name, "count");
      ck_assert_int_eq(made->certainty, more == 2 ? CLARKE_BIT_EXACT : CLARKE_IS_REFUTED);
      ck_assert_uint_eq(made->beyond + made->exact, 1);
    }
  s.tensor[4].integer[0] = INT64_MAX;
  s.tensor[5].integer[0] = INT64_MIN + 1;
  ck_assert_int_eq(said(&s, 3)[2].certainty, CLARKE_IS_REFUTED);
  s.update[1].count = s.update[0].count = "counted";
  ck_assert_int_eq(said(&s, 3)[2].certainty, CLARKE_CANNOT_SAY);
  s.update[1].count = s.update[0].count = "mean"; /* no integer */
  ck_assert_int_eq(clarke_certify_statistics(&(bool){false}, &s.c, NULL, &error), CLARKE_EINPUT);
  s.update[0].count = NULL;
  s.update[0].mean = "count"; /* no float */
  s.c.n_statistics = 1;
  ck_assert_int_eq(clarke_certify_statistics(&(bool){false}, &s.c, NULL, &error), CLARKE_EINPUT);
  scene_clear(&s);
}
END_TEST

/* Buffers that no update tells: changed floats, and those of which one number alone was recorded. */
START_TEST(untold)
{
  const float x[4] = {1, 2, 3, 4};
  scene s;

  scene_make(&s, 1, 4, x);
  ck_assert(clarke_certify_normalization(&s.c, "norm") == &s.step && clarke_certify_normalization(&s.c, "other") == NULL);
  ck_assert(clarke_certify_is_told(&s.c, "mean") && clarke_certify_is_told(&s.c, "var") && !clarke_certify_is_told(&s.c, "count"));
  s.tensor[5].integer[0] = 1; /* what counts may be untold */
  OK(clarke_certify_untold(&s.c, &error));
  ck_assert_uint_eq(s.c.n, 0);
  s.c.n_statistics = 0;
  OK(clarke_certify_untold(&s.c, &error)); /* none changed */
  ck_assert_uint_eq(s.c.n, 0);
  s.tensor[3].real[0] = 1;
  OK(clarke_certify_untold(&s.c, &error));
  ck_assert_uint_eq(s.c.n, 1);
  ck_assert_str_eq(s.c.certificate[0].name, "var");
  ck_assert(s.c.certificate[0].certainty == CLARKE_CANNOT_SAY && strstr(s.c.certificate[0].why, "does not say how") != NULL);
  for (size_t gone = 0; gone < 6; gone++) {
    char *name = s.tensor[gone].name;

    scene_forget(&s);
    s.tensor[3].real[0] = 0;
    s.tensor[gone].name = "output/other";
    OK(clarke_certify_untold(&s.c, &error));
    s.tensor[gone].name = name;
    ck_assert_uint_eq(s.c.n, 1);
    ck_assert_str_eq(s.c.certificate[0].name, gone < 2 ? "mean" : gone < 4 ? "var" : "count");
    ck_assert_str_eq(s.c.certificate[0].why, gone % 2 == 0 ? "it was recorded after the step alone" : "it was recorded before the step alone");
  }
  s.g.n_steps = 0;
  ck_assert(clarke_certify_normalization(&s.c, "norm") == NULL);
  scene_clear(&s);
}
END_TEST

MODULE(statistics)
{
  TCase *tests = tests_of("statistics");

  tcase_add_test(tests, formulas);
  tcase_add_test(tests, deviations);
  tcase_add_test(tests, several_updates);
  tcase_add_test(tests, several_samples);
  tcase_add_test(tests, bounds_by_definition);
  tcase_add_test(tests, single_entries);
  tcase_add_test(tests, samples_together);
  tcase_add_test(tests, what_does_not_fit);
  tcase_add_test(tests, counts);
  tcase_add_test(tests, untold);
  return all_tests;
}
