#include "trace/certify/certificate.h"

#include "base/text.h"
#include "trace/bound/rounding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rational longer than this is given as a decimal. */
#define LONGEST 200

const char *
clarke_certainty_name(clarke_certainty c)
{
  static const char *const name[] = {"bit-exact", "bit-exact (tree)", "within the bound", "followed",
                                     "cannot say", "not certified", "refuted"};

  return name[c];
}

void
clarke_share_write(char text[CLARKE_SHARE_SIZE], double share, bool at_most)
{
  int digits = 2, percent = 101;

  if (!isfinite(share))
    snprintf(text, CLARKE_SHARE_SIZE, "inf");
  else if (at_most && share > 0)
    do
      snprintf(text, CLARKE_SHARE_SIZE, "< %.2g", share * percent++ / 100);
    while (!(strtod(text + 2, NULL) > share) && percent < 200);
  else
    do
      snprintf(text, CLARKE_SHARE_SIZE, "%.*g", digits++, share);
    while (digits <= 17 && share != 1 && (strtod(text, NULL) == 1 || (strtod(text, NULL) < 1) != (share < 1)));
}

const char *
clarke_part_name(clarke_part p)
{
  static const char *const name[] = {"output", "gradient", "indices", "parameter", "statistic"};

  return name[p];
}

clarke_status
clarke_certificate_init(clarke_certificate *c, clarke_part part, const char *name, const char *op, clarke_error *err)
{
  memset(c, 0, sizeof *c);
  c->part = part;
  c->op = op;
  c->name = strdup(name);
  return c->name != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_certificate_clear(clarke_certificate *c)
{
  free(c->name);
  free(c->why);
  free(c->tree_why);
  free(c->offender.index);
  free(c->offender.should);
  memset(c, 0, sizeof *c);
}

clarke_status
clarke_certificate_say(clarke_certificate *c, clarke_certainty certainty, clarke_error *err, const char *format, ...)
{
  va_list args;

  free(c->why);
  c->certainty = certainty;
  va_start(args, format);
  c->why = clarke_text_vprint(format, args);
  va_end(args);
  return c->why != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_put_index(char *text, size_t size, const size_t *dims, size_t rank, size_t entry)
{
  size_t at[CLARKE_MAX_RANK + 1], n = 0;

  for (size_t a = rank; a-- > 0; entry /= dims[a])
    at[a] = entry % dims[a];
  n += (size_t)snprintf(text, size, "[");
  for (size_t a = 0; a < rank && n < size; a++)
    n += (size_t)snprintf(text + n, size - n, a > 0 ? ", %zu" : "%zu", at[a]);
  if (n < size)
    snprintf(text + n, size - n, "]");
}

/* --- rounded to nearest --- */

typedef struct {
  int bits, least; /* of a significand; the exponent of the smallest normal number */
  double largest;
} format;

static format
format_of(clarke_dtype type)
{
  switch (type) {
  case CLARKE_F16:
    return (format){11, -14, 65504};
  case CLARKE_BF16:
    return (format){8, -126, 0x1.fep127};
  case CLARKE_F32:
    return (format){24, -126, 0x1.fffffep127};
  default:
    return (format){53, -1022, 0x1.fffffffffffffp1023};
  }
}

double
clarke_rounded(const clarke_matrix *m, size_t i, size_t j, clarke_dtype type)
{
  const format f = format_of(type);
  const double d = clarke_matrix_get_double(m, i, j);
  double scaled, rounded;
  int unit;

  if (d == 0 || f.bits == 53)
    return d; /* the nearest double as it is */
  unit = (ilogb(d) > f.least ? ilogb(d) : f.least) - (f.bits - 1);
  scaled = ldexp(d, -unit);
  rounded = rint(scaled);
  if (fabs(scaled - rounded) == 0.5) { /* the double is halfway: on which side is the exact number? */
    mpq_t exact, half;

    mpq_inits(exact, half, NULL);
    clarke_matrix_get(exact, m, i, j);
    mpq_set_d(half, d);
    if (mpq_cmp(exact, half) != 0)
      rounded = mpq_cmp(exact, half) > 0 ? ceil(scaled) : floor(scaled);
    mpq_clears(exact, half, NULL);
  }
  rounded = ldexp(rounded, unit);
  return fabs(rounded) > f.largest ? copysign(INFINITY, rounded) : rounded;
}

double
clarke_round_double(double d, clarke_dtype type)
{
  const format f = format_of(type);
  int unit;

  if (d == 0 || !isfinite(d) || f.bits == 53)
    return d;
  unit = (ilogb(d) > f.least ? ilogb(d) : f.least) - (f.bits - 1);
  d = ldexp(rint(ldexp(d, -unit)), unit);
  return fabs(d) > f.largest ? copysign(INFINITY, d) : d;
}

/* --- one entry --- */

/* A bound below this may be nothing but what the doubles that are added up are rounded by (clarke_roundoff_lift). */
static double
slack_of(clarke_dtype type)
{
  return type == CLARKE_F64 ? 0x1p-1040 : 0x1p-980;
}

typedef struct {
  const clarke_matrix *m;
  size_t i, j;
  double recorded, bound, radius, near, apart;
} entry;

/* What doubles leave open, in rationals. */
static clarke_certainty
judge_exactly(const entry *e)
{
  clarke_certainty c;
  mpq_t apart, limit, radius;

  mpq_inits(apart, limit, radius, NULL);
  clarke_matrix_get(limit, e->m, e->i, e->j);
  mpq_set_d(apart, e->recorded);
  mpq_sub(apart, apart, limit);
  mpq_abs(apart, apart);
  mpq_set_d(radius, e->radius);
  mpq_set_d(limit, e->bound);
  mpq_sub(limit, limit, radius);
  c = mpq_cmp(apart, limit) <= 0 ? CLARKE_WITHIN_BOUND : CLARKE_CANNOT_SAY;
  mpq_add(limit, limit, radius);
  mpq_add(limit, limit, radius);
  if (mpq_cmp(apart, limit) > 0)
    c = CLARKE_IS_REFUTED;
  mpq_clears(apart, limit, radius, NULL);
  return c;
}

static clarke_certainty
judge_entry(entry *e, clarke_dtype type)
{
  double slack;

  e->radius = clarke_matrix_radius(e->m, e->i, e->j);
  e->near = clarke_matrix_get_double(e->m, e->i, e->j);
  e->apart = fabs(e->recorded - e->near);
  if (e->radius == 0 && clarke_rounded(e->m, e->i, e->j, type) == e->recorded)
    return CLARKE_BIT_EXACT;
  if (!isfinite(e->bound))
    return CLARKE_CANNOT_SAY;
  /* near is the nearest double, and the difference is rounded once */
  slack = clarke_taken(2, fabs(e->near) + fabs(e->recorded)) + e->radius + 0x1p-1060;
  if (e->apart + slack <= clarke_down_by(e->bound, 4))
    return e->bound < slack_of(type) ? CLARKE_CANNOT_SAY : CLARKE_WITHIN_BOUND;
  if (e->apart - slack > clarke_up_by(e->bound, 4))
    return CLARKE_IS_REFUTED;
  return judge_exactly(e);
}

/* --- a tensor --- */

static clarke_status
keep_offender(clarke_certificate *c, const entry *e, const clarke_tensor *t, size_t k, clarke_error *err)
{
  char index[256], about[64], *exact = NULL;
  mpq_t q;

  clarke_put_index(index, sizeof index, t->dims, t->rank, k);
  free(c->offender.index);
  free(c->offender.should);
  if (e->radius == 0) {
    mpq_init(q);
    clarke_matrix_get(q, e->m, e->i, e->j);
    exact = mpq_get_str(NULL, 10, q);
    mpq_clear(q);
  }
  snprintf(about, sizeof about, "about %.17g", e->near);
  if (exact == NULL || strlen(exact) > LONGEST) {
    void (*freed)(void *, size_t);

    mp_get_memory_functions(NULL, NULL, &freed);
    if (exact != NULL)
      freed(exact, strlen(exact) + 1);
    exact = strdup(about);
  }
  c->offender = (clarke_offender){strdup(index), e->recorded, exact, e->near, e->bound};
  c->has_offender = true;
  return c->offender.index != NULL && exact != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
count_entry(clarke_certificate *c, const entry *e, clarke_certainty judged)
{
  c->exact += judged == CLARKE_BIT_EXACT;
  c->open += judged == CLARKE_CANNOT_SAY;
  c->unsure += judged == CLARKE_CANNOT_SAY && isfinite(e->bound);
  c->beyond += judged == CLARKE_IS_REFUTED;
  if (judged == CLARKE_IS_REFUTED)
    c->farthest = fmax(c->farthest, e->apart);
  c->norm = hypot(c->norm, e->near);
  c->slack = judged == CLARKE_BIT_EXACT ? c->slack : hypot(c->slack, e->bound);
  if (isfinite(e->bound)) {
    c->widest = fmax(c->widest, e->bound);
    if (e->apart > 0)
      c->worst = fmax(c->worst, e->apart / e->bound);
  }
}

/* About the Euclidean norm. Squares are added up where none is lost, or infinite, that counts. */
static double
norm_of(const double *number, size_t count)
{
  double largest = 0, squares = 0;

  for (size_t k = 0; k < count; k++)
    largest = fabs(number[k]) > largest ? fabs(number[k]) : largest;
  if (largest > 0x1p-400 && largest < 0x1p400) {
    for (size_t k = 0; k < count; k++)
      squares += number[k] * number[k];
    return sqrt(squares);
  }
  for (size_t k = 0; k < count; k++)
    squares = hypot(squares, number[k]);
  return squares;
}

bool
clarke_certificate_judge_moved(clarke_certificate *c, const clarke_tensor *t, const double *number, const double *bound)
{
  for (size_t k = 0; k < t->count; k++)
    if (!(t->real[k] == number[k]))
      return false;
  for (size_t k = 0; k < t->count; k++)
    if (isfinite(bound[k]) && bound[k] > c->widest)
      c->widest = bound[k];
  c->exact += t->count;
  c->norm = hypot(c->norm, norm_of(number, t->count));
  c->entries = t->count;
  c->certainty = CLARKE_BIT_EXACT;
  return true;
}

clarke_status
clarke_certificate_judge(clarke_certificate *c, const clarke_tensor *t, const clarke_matrix *m, const double *bound, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  c->entries = t->count;
  for (size_t k = 0; k < t->count && status == CLARKE_OK; k++) {
    entry e = {.m = m, .i = k % m->rows, .j = k / m->rows, .recorded = t->real[k]};
    clarke_certainty judged;

    e.bound = bound[e.i * m->cols + e.j];
    judged = judge_entry(&e, t->dtype);
    count_entry(c, &e, judged);
    if ((judged == CLARKE_IS_REFUTED && c->beyond == 1) || (judged == CLARKE_CANNOT_SAY && c->open == 1 && c->beyond == 0))
      status = keep_offender(c, &e, t, k, err);
  }
  c->certainty = c->beyond > 0             ? CLARKE_IS_REFUTED
                 : c->open > 0             ? CLARKE_CANNOT_SAY
                 : c->exact == c->entries ? CLARKE_BIT_EXACT
                                          : CLARKE_WITHIN_BOUND;
  return status;
}
