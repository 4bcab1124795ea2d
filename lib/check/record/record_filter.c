/* Sums in doubles (record_filter.h). */
#include "check/record/record_filter.h"

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || __FINITE_MATH_ONLY__
#error "sums in doubles need each operation as it is written, and numbers that are none"
#endif
_Static_assert(FLT_EVAL_METHOD == 0 && DBL_MANT_DIG == 53 && FLT_MANT_DIG == 24, "doubles are computed as such");

#define LEAST 0x1p-900 /* what is as large was not rounded as a subnormal, nor is it by a coefficient's product */

/* Are the digits of a product of two so few that a double has all? */
static bool
is_short(double a)
{
  return (float)a == a;
}

/* One term more, t, which may be rounded. */
static void
add(filter *s, double t, bool exact)
{
  double more = s->sum + t, part = more - s->sum;
  bool whole = (s->sum - (more - part)) + (t - part) == 0; /* what Knuth's TwoSum says that is lost; false of a NaN */
  s->inexact = s->inexact || !exact || !whole;
  s->sum = more;
  s->size += fabs(t);
}

void
filter_add(filter *s, const coefficient *c, const recorded *a, const recorded *b)
{
  bool exact = c->plain && (b == NULL || (is_short(a->d) && is_short(b->d)));
  double t = b == NULL ? a->d : a->d * b->d;
  s->terms++;
  s->rounds = s->rounds || !c->plain || b != NULL;
  if (a->d == 0 || (b != NULL && b->d == 0) || c->d == 0)
    return;
  add(s, (b != NULL || !c->plain) && fabs(t) < LEAST ? NAN : c->d * t, exact);
}

void
filter_add_number(filter *s, const rational *q)
{
  bool exact = mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), 1ul << 53) <= 0;
  s->terms++;
  add(s, number_in_double(q), exact);
}

void
filter_join(filter *s, const filter *of, bool minus)
{
  s->sum += minus ? -of->sum : of->sum;
  s->size += of->size;
  s->terms += of->terms;
  s->rounds = s->rounds || of->rounds;
  s->inexact = true;
}

nearness
filter_judge(const filter *s, size_t type, size_t roundings, const recorded *x, bool exact)
{
  int k = (int)dtypes[type].fraction + 1, most = (int)type_most(type);
  bool number = s->terms == 1 && !s->rounds; /* nothing is rounded */
  if (!s->inexact && (type == FLOAT ? (float)s->sum : s->sum) == x->d)
    return BIT_EXACT;
  if (exact || number || k > FLT_MANT_DIG || roundings < s->terms || roundings >= 1ul << (k - 1))
    return UNTOLD;
  bool within = fabs(x->d - s->sum) <= ldexp((double)roundings * s->size, -k - 1);
  return within && s->size <= ldexp(1, most - 3) ? WITHIN_BOUND : UNTOLD;
}

/* Off by e M, e = (N + 4) 2^-51; this is more than twice that, and also of the computed size. */
span
filter_span(const filter *s, bound *mass)
{
  double part = ldexp((double)s->terms + 8, -50), off = span_above(s->size * part);
  bool fits = s->terms < (size_t)1 << FLT_MANT_DIG && isfinite(s->sum) && isfinite(s->size);
  *mass = fits ? bound_of_double(s->size * (1 - part)) : (bound){0, 0};
  if (s->size == 0)
    return (span){0, 0};
  return fits ? (span){span_below(s->sum - off), span_above(s->sum + off)} : SPAN_UNKNOWN;
}
