/* How the time to derive a program grows with its touched kinks and with the cells around the point.
 *
 *   derive_growth [SECONDS]
 *
 * Prints the table of docs/patterns.md: families of programs at the origin with a known number of
 * cells, and for each the processor time of one exact execution, of the tree of patterns, and of the
 * whole derivation, the last two as multiples of the first. Each is the least of as many runs as fit
 * in SECONDS (1), or of one. */
#include "program/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  clarke_code p;
  const clarke_op *relu, *max;
  clarke_error err;
  bool failed;
} maker;

/* Processor time, in seconds. */
static double
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- programs ---------------------------------------------------------------------------------- */

static size_t
linear(maker *m, size_t n, const size_t *in, const long *coef)
{
  mpq_t *c = malloc((n + 1) * sizeof *c);
  size_t at = 0;

  if (c == NULL) {
    m->failed = true;
    return 0;
  }
  for (size_t i = 0; i <= n; i++) {
    mpq_init(c[i]);
    mpq_set_si(c[i], i < n ? coef[i] : 0, 1);
  }
  m->failed |= clarke_code_add_linear(&m->p, &at, n, in, c, &m->err) != CLARKE_OK;
  for (size_t i = 0; i <= n; i++)
    mpq_clear(c[i]);
  free(c);
  return at;
}

static size_t
relu(maker *m, size_t in)
{
  size_t at = 0;

  m->failed |= clarke_code_add_pointwise(&m->p, &at, m->relu, in, 0, NULL, &m->err)
               != CLARKE_OK;
  return at;
}

static size_t
inputs(maker *m, size_t n)
{
  size_t first = 0;

  m->failed |= clarke_code_add_input(&m->p, &first, "x", n, true, &m->err) != CLARKE_OK;
  return first;
}

/* y + sign z, or z for y == CLARKE_NONE. */
static size_t
plus(maker *m, size_t y, int sign, size_t z)
{
  return y == CLARKE_NONE ? z : linear(m, 2, (const size_t[]){ y, z }, (const long[]){ 1, sign });
}

/* (1, i, i^2) x: any `width` of them are independent. */
static size_t
form(maker *m, size_t x, size_t width, long i)
{
  const size_t in[3] = { x, x + 1, x + 2 };
  const long coef[3] = { 1, i, i * i };

  return linear(m, width, in, coef);
}

/* Sums of n ReLUs of forms in general position: 2 n cells in the plane, n^2 - n + 2 in space. */
static size_t
fan(maker *m, size_t n, size_t width)
{
  size_t x = inputs(m, width), sum = CLARKE_NONE;

  for (size_t i = 0; i < n; i++)
    sum = plus(m, sum, 1, relu(m, form(m, x, width, (long)i + 1)));
  return sum;
}

static size_t
lines(maker *m, size_t n)
{
  return fan(m, n, 2);
}

static size_t
planes(maker *m, size_t n)
{
  return fan(m, n, 3);
}

/* relu(q) - relu(-q), n / 2 times: n kinks, the cells of n / 2 planes, and one gradient. */
static size_t
halves(maker *m, size_t n)
{
  size_t x = inputs(m, 3), sum = CLARKE_NONE;

  for (size_t i = 0; i < n / 2; i++) {
    size_t q = form(m, x, 3, (long)i + 1);
    size_t minus = linear(m, 1, &q, (const long[]){ -1 });

    sum = plus(m, sum, 1, plus(m, relu(m, q), -1, relu(m, minus)));
  }
  return sum;
}

/* r_k = relu(form_k - r_{k-1}): kinks above one another. */
static size_t
chain(maker *m, size_t n)
{
  size_t x = inputs(m, 3), r = CLARKE_NONE;

  for (size_t i = 0; i < n; i++) {
    size_t q = form(m, x, 3, (long)i + 1 - (long)n / 2);

    r = relu(m, r == CLARKE_NONE ? q : plus(m, q, -1, r));
  }
  return r;
}

/* The sum of relu(x_i): 2^n cells. */
static size_t
orthants(maker *m, size_t n)
{
  size_t x = inputs(m, n), sum = CLARKE_NONE;

  for (size_t i = 0; i < n; i++)
    sum = plus(m, sum, 1, relu(m, x + i));
  return sum;
}

static size_t
ordered(maker *m, size_t n, const clarke_op *op, size_t rank)
{
  size_t x = inputs(m, n), in[64], at = 0;

  for (size_t i = 0; i < n; i++)
    in[i] = x + i;
  m->failed |= clarke_code_add_order(&m->p, &at, op, rank, n, in, &m->err) != CLARKE_OK;
  return at;
}

/* The largest of n: n cells. */
static size_t
largest(maker *m, size_t n)
{
  return ordered(m, n, m->max, 1);
}

/* --- timing ------------------------------------------------------------------------------------ */

typedef struct {
  double execution, patterns, whole; /* seconds */
  size_t touched, cells, forks;
  bool known;
  clarke_verdict verdict;
} figures;

static bool
time_execution(double *seconds, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  clarke_execution e;
  double begin = now();
  bool good;

  clarke_execution_init(&e);
  good = clarke_execute(&e, p, at, err) == CLARKE_OK;
  clarke_execution_clear(&e);
  *seconds = now() - begin;
  return good;
}

static bool
time_patterns(double *seconds, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  clarke_execution e;
  clarke_patterns t;
  double begin = now();
  bool good;

  clarke_execution_init(&e);
  clarke_patterns_init(&t);
  good = clarke_execute(&e, p, at, err) == CLARKE_OK
         && clarke_patterns_find(&t, &e, err) == CLARKE_OK;
  clarke_patterns_clear(&t);
  clarke_execution_clear(&e);
  *seconds = now() - begin;
  return good;
}

static bool
time_whole(double *seconds, figures *f, const clarke_code *p, mpq_t *at,
           const clarke_profile *profile, clarke_error *err)
{
  clarke_derivation d;
  double begin = now();
  bool good;

  clarke_derivation_init(&d);
  good = clarke_derive(&d, p, at, profile, err) == CLARKE_OK;
  f->touched = d.execution.n_touched;
  f->cells = d.patterns.n;
  f->forks = d.patterns.tree.n;
  f->known = d.sets_known;
  f->verdict = d.verdict;
  clarke_derivation_clear(&d);
  *seconds = now() - begin;
  return good;
}

static bool
measure(figures *f, const clarke_code *p, mpq_t *at, const clarke_profile *profile,
        double seconds, clarke_error *err)
{
  double spent = 0, one;

  *f = (figures){ .execution = 1e9, .patterns = 1e9, .whole = 1e9 };
  for (int run = 0; run == 0 || (run < 1000 && spent < seconds); run++) {
    if (!time_whole(&one, f, p, at, profile, err))
      return false;
    f->whole = one < f->whole ? one : f->whole;
    spent += one;
    if (!time_patterns(&one, p, at, err))
      return false;
    f->patterns = one < f->patterns ? one : f->patterns;
    spent += one;
    for (int k = 0; k < 5; k++) {
      if (!time_execution(&one, p, at, err))
        return false;
      f->execution = one < f->execution ? one : f->execution;
    }
  }
  return true;
}

typedef struct {
  const char *name;
  size_t (*make)(maker *m, size_t n);
  size_t size[6];
} family;

static bool
row(const family *g, size_t n, const clarke_profile *profile, double seconds)
{
  maker m = { .relu = clarke_operator_find("Relu"), .max = clarke_operator_find("Max") };
  figures f;
  mpq_t *at = malloc((n + 3) * sizeof *at);
  size_t output;
  bool good;

  if (at == NULL)
    return false;
  for (size_t i = 0; i < n + 3; i++)
    mpq_init(at[i]);
  clarke_code_init(&m.p);
  output = g->make(&m, n);
  good = !m.failed && clarke_code_add_output(&m.p, output, &m.err) == CLARKE_OK
         && clarke_code_wrt(&m.p, NULL, 0, &m.err) == CLARKE_OK
         && measure(&f, &m.p, at, profile, seconds, &m.err);
  if (good)
    printf("| %s | %zu | %zu | %zu | %.3g | %.3g | %.0f | %.0f | %.1f | %s%s |\n", g->name,
           f.touched, f.cells, f.forks, 1e3 * f.execution, 1e3 * f.whole,
           f.patterns / f.execution, f.whole / f.execution,
           f.patterns / f.execution / (double)(f.cells > 0 ? f.cells : 1),
           clarke_verdict_name(f.verdict), f.known ? "" : ", sets not known");
  else
    fprintf(stderr, "derive_growth: %s: %s\n", g->name, m.err.text);
  fflush(stdout);
  clarke_code_clear(&m.p);
  for (size_t i = 0; i < n + 3; i++)
    mpq_clear(at[i]);
  free(at);
  return good;
}

int
main(int argc, char **argv)
{
  static const family families[] = {
    { "lines in the plane", lines, { 10, 20, 40, 80, 160, 0 } },
    { "planes in space", planes, { 5, 10, 20, 40, 0 } },
    { "planes, in two halves each", halves, { 10, 20, 40, 80, 0 } },
    { "a chain in space", chain, { 5, 10, 20, 40, 0 } },
    { "orthants", orthants, { 4, 6, 8, 10, 12, 0 } },
    { "the largest of n", largest, { 4, 8, 16, 32, 0 } },
  };
  double seconds = argc > 1 ? atof(argv[1]) : 1;
  clarke_profile profile;
  clarke_error err = { 0 };
  bool good;

  clarke_profile_init(&profile);
  good = clarke_profile_load(&profile, "pytorch-2.13", &err) == CLARKE_OK;
  printf("| family | kinks | cells | forks | execution, ms | whole, ms | tree / execution "
         "| whole / execution | the tree, of one cell | verdict |\n"
         "|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; good && i < sizeof families / sizeof *families; i++)
    for (size_t k = 0; good && families[i].size[k] > 0; k++)
      good = row(&families[i], families[i].size[k], &profile, seconds);
  clarke_profile_clear(&profile);
  flint_cleanup();
  return good ? 0 : 1;
}
