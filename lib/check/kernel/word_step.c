/* Factors and slopes as machine words. */
#include "check/kernel/word_step.h"
#include "check/base/allocate.h"

#include <limits.h>
#include <stdlib.h>

int128
dot(const int64_t *m, const patch *of)
{
  int128 sum = 0;
  for (size_t i = 0; i < of->n; i++)
    sum += (int128)m[of->at[i]] * of->c[i];
  return sum;
}

bool
word_of(int64_t *z, const rational *q, unsigned shift, bool up)
{
  INTEGER(whole);
  fixed(&whole, q, shift, up);
  if (mpz_sizeinbase(&whole, 2) > WORD_BITS + 1)
    return false;
  *z = mpz_get_si(&whole);
  return true;
}

static void
note_reads(step *st)
{
  step_words *in = &st->in_words;
  for (size_t i = 0, last = PADDING; i < st->n_sources; i++) {
    size_t from = st->sources[i].step, k = 0;
    if (from == last || from == PADDING)
      continue;
    while (k < in->n_from && in->from[k] != from)
      k++;
    if (k == in->n_from) {
      in->from = grow(in->from, in->n_from, sizeof *in->from);
      in->from[in->n_from++] = from;
    }
    last = from;
  }
}

/* The factor, of OVER_ROOT an interval. A weight alone is read where it is, others are put into room. */
static void
factor_ends(const step *st, const factor *t, rational *room, const rational **lo, const rational **hi)
{
  if (st->kind == OVER_ROOT) {
    *lo = &st->root[t->at].lo;
    *hi = &st->root[t->at].hi;
    return;
  }
  bool plain = t->coef == &plus_one && !st->divide;
  if (!plain)
    weigh(st, t, false, room);
  *lo = *hi = !plain ? room : t->w != NULL ? &t->w->value[t->at] : &plus_one;
}

long
magnitude(const rational *q)
{
  long n = (long)mpz_sizeinbase(mpq_numref(q), 2), d = (long)mpz_sizeinbase(mpq_denref(q), 2);
  return mpq_sgn(q) == 0 ? LONG_MIN : n - d + 1;
}

long
longer(long a, long b)
{
  return a > b ? a : b;
}

/* The shift with which a row of factors that are less than 2^top has a sum less than 2^62; fits, is there one? At most 64 are
 * used. */
static void
put_shift(step *st, long top)
{
  step_words *in = &st->in_words;
  long room = WORD_BITS;
  for (size_t n = st->width; n > 0; n /= 2)
    room--;
  room = top == LONG_MIN || room - top > 64 ? 64 : room - top;
  in->fits = room >= 0 && st->width <= UINT32_MAX;
  in->shift = room >= 0 ? (unsigned)room : 0;
}

static void
prepare_factors(step *st)
{
  step_words *in = &st->in_words;
  const rational *lo, *hi;
  RATIONAL(room);
  long top = LONG_MIN;
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_ends(st, &st->factors[i], &room, &lo, &hi);
    top = longer(top, magnitude(lo));
    top = longer(top, magnitude(hi));
  }
  put_shift(st, top);
  in->m = allocate(in->fits ? st->n_factors : 0, sizeof *in->m);
  for (size_t row = 0; row < st->n_factors && in->fits; row += st->width) {
    uint64_t norm = 0, lost = 0;
    for (size_t i = row; i < row + st->width; i++) {
      int64_t above = 0;
      factor_ends(st, &st->factors[i], &room, &lo, &hi);
      in->fits = in->fits && word_of(&in->m[i], lo, in->shift, false) && word_of(&above, hi, in->shift, true);
      norm += (uint64_t)llabs(in->m[i]);
      lost += (uint64_t)(above - in->m[i]);
    }
    in->norm = norm > in->norm ? norm : in->norm;
    in->lost = lost > in->lost ? lost : in->lost;
  }
}

/* A PIECEWISE step's m are the slopes that factors give piece 0. */
static void
prepare_pieces(step *st)
{
  step_words *in = &st->in_words;
  long top = LONG_MIN;
  for (size_t i = 0; i < st->n_factors; i++)
    if (st->factors[i].w != NULL)
      top = longer(top, magnitude(&st->factors[i].w->value[st->factors[i].at]));
  for (size_t j = 0; j <= st->n_kinks; j++)
    top = longer(top, magnitude(&st->piece[j][1]));
  put_shift(st, top);
  in->m = allocate(st->n_factors, sizeof *in->m);
  for (size_t i = 0; i < st->n_factors + st->n_kinks + 1 && in->fits; i++) {
    const factor *t = i < st->n_factors ? &st->factors[i] : NULL;
    const rational *q = t == NULL ? &st->piece[i - st->n_factors][1] : t->w != NULL ? &t->w->value[t->at] : &zero;
    int64_t *to = t == NULL ? &in->slope[i - st->n_factors] : &in->m[i], above = 0;
    in->fits = word_of(to, q, in->shift, false) && word_of(&above, q, in->shift, true);
    in->norm = (uint64_t)llabs(*to) > in->norm ? (uint64_t)llabs(*to) : in->norm;
    in->lost = in->lost > 0 || above > *to;
  }
  for (size_t j = 0; j <= st->n_kinks; j++)
    in->fits = in->fits && mpq_sgn(&st->piece[j][2]) == 0;
}

void
words_prepare(step *st)
{
  st->in_words = (step_words){.fits = st->kind == INPUT || st->kind == WINDOW || st->kind == PRODUCT};
  note_reads(st);
  if (st->kind == LINEAR || st->kind == OVER_ROOT)
    prepare_factors(st);
  if (st->kind == PIECEWISE)
    prepare_pieces(st);
}
