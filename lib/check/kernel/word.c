/* Near values in machine words. A word is at most 2^61, a bound less than 2^61, a sum in 128 bits less than 2^126; what would
 * exceed that is not known.
 *
 * The true factors of a LINEAR step are m + s, with s from 0 to what m is rounded by, at most 2; the true values are c + d, with
 * |d| <= r and |c| <= most. So the sum of (m + s)(c + d) is at most norm r + lost (most + r) off from that of m c. This, shifted
 * to the step's own units, is less than 1 off once more where it is rounded. A PIECEWISE step is a continuous function whose
 * slopes are at most norm + lost: on whichever piece c lies, what it has there is at most (norm + lost) r off from what x has. */
#include "check/kernel/word.h"
#include "check/base/allocate.h"
#include "check/base/function.h"
#include "check/kernel/identity.h"
#include "check/kernel/place.h"
#include "check/kernel/window.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

static const int64_t most_word = INT64_C(1) << WORD_BITS;
#define FINER 10 /* digits that factors of products have less: so there may be 2^20 of them */

/* ---- Values of a sample */

typedef struct {
  point *p;
  words *v; /* one more than there are steps: 1, of NONE */
  size_t sample;
  bool open;
  unsigned digits; /* of what the step reads, when it is shifted down to the fewest that it has */
  uint64_t most;   /* the largest |c| of that */
  uint64_t r;      /* how far off it is */
  int128 *sum;     /* of each entry / apart of the step, in units of 2^-(digits + shift), rounded down */
  bool cut, rough; /* is one? is a constant of a PIECEWISE step? */
} pass;

static words *
words_of(const pass *a, size_t from)
{
  return &a->v[from == NONE ? a->p->net->n_steps : from];
}

static int64_t
word_at(const pass *a, source x, size_t e)
{
  const point *p = a->p;
  const words *v = words_of(a, x.step);
  return v->c[x.step == NONE ? 0 : entry_of(p, x, e) / p->net->apart] >> v->down;
}

/* Does a shift lose any of it? */
static bool
loses(const pass *a, size_t from, unsigned shift)
{
  size_t n = from == NONE ? 1 : entries(a->p, from) / a->p->net->apart;
  uint64_t bits = 0;
  for (size_t i = 0; i < n && shift > 0; i++)
    bits |= (uint64_t)words_of(a, from)->c[i];
  return (bits & ((UINT64_C(1) << shift) - 1)) != 0;
}

/* Is all known that the step reads? Shifts it to the same digits. */
static bool
reads_words(pass *a, const step *st)
{
  const step_words *in = &st->in_words;
  a->r = a->most = 0;
  a->digits = WORD_BITS;
  for (size_t i = 0; i < in->n_from; i++) {
    const words *v = words_of(a, in->from[i]);
    if (!v->known)
      return false;
    a->digits = v->digits < a->digits ? v->digits : a->digits;
  }
  if (st->kind == PRODUCT)
    a->digits -= a->digits < FINER ? a->digits : FINER;
  for (size_t i = 0; i < in->n_from; i++) {
    words *v = words_of(a, in->from[i]);
    v->down = v->digits - a->digits;
    uint64_t r = (v->r >> v->down) + (v->r >> v->down << v->down != v->r) + loses(a, in->from[i], v->down);
    a->r = r > a->r ? r : a->r;
  }
  return true;
}

static void
note_most(pass *a, int64_t c)
{
  a->most = (uint64_t)llabs(c) > a->most ? (uint64_t)llabs(c) : a->most;
}

static void
fill_patch(pass *a, const step *st, size_t row, size_t e, patch *to)
{
  const source *x = &st->sources[row * st->width];
  to->n = 0;
  for (size_t i = 0; i < st->width; i++) {
    int64_t c = x[i].step == PADDING ? 0 : word_at(a, x[i], e);
    to->at[to->n] = (uint32_t)i;
    to->c[to->n] = c;
    to->n += c != 0;
    note_most(a, c);
  }
}

/* The sums of one sample b; `rows` has room for a patch of every row of sources. */
static void
sums_of(pass *a, size_t s, size_t b, patch *rows)
{
  const step *st = &a->p->net->steps[s];
  for (size_t row = 0; row < rows_of_sources(st); row++)
    fill_patch(a, st, row, b, &rows[row]);
  for (size_t f = 0; f < st->n; f++)
    a->sum[(f * a->p->net->batch + b) / a->p->net->apart] =
        dot(&st->in_words.m[st->factor_row[f] * st->width], &rows[st->source_row[f]]);
}

static void
word_sums(pass *a, size_t s)
{
  const step *st = &a->p->net->steps[s];
  size_t n = rows_of_sources(st);
  patch *rows = allocate(n, sizeof *rows);
  uint32_t *at = allocate(n * (st->width + 1), sizeof *at);
  int64_t *c = allocate(n * (st->width + 1), sizeof *c);
  for (size_t i = 0; i < n; i++)
    rows[i] = (patch){0, at + i * (st->width + 1), c + i * (st->width + 1)};
  for (size_t b = a->sample; b < a->p->net->batch; b += a->p->net->apart)
    sums_of(a, s, b, rows);
  free(at);
  free(c);
  free(rows);
}

/* Are they known? */
static bool
word_products(pass *a, size_t s)
{
  const point *p = a->p;
  const step *st = &p->net->steps[s];
  const uint64_t small = UINT64_C(1) << 52;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart)
    for (size_t i = 0; i < st->width; i++)
      note_most(a, word_at(a, term_at(p, st, e, i).x, e));
  if (a->most > small || a->r > small || st->width > 1 << 20)
    return false;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart) {
    int128 *sum = &a->sum[e / p->net->apart];
    for (size_t i = 0; i < st->width; i += 2)
      *sum += (int128)word_at(a, term_at(p, st, e, i).x, e) * word_at(a, term_at(p, st, e, i + 1).x, e);
  }
  return true;
}

static bool
word_inputs(pass *a, size_t s)
{
  const point *p = a->p;
  long top = 0;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart)
    top = longer(top, magnitude(input_at(p, &p->net->steps[s], e)));
  if (top > WORD_BITS)
    return false;
  a->digits = WORD_BITS - (unsigned)top;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart) {
    const rational *q = input_at(p, &p->net->steps[s], e);
    int64_t c = 0, above = 0;
    if (!word_of(&c, q, a->digits, false) || !word_of(&above, q, a->digits, true))
      return false;
    a->sum[e / p->net->apart] = c;
    a->cut = a->cut || above > c;
  }
  return true;
}

/* ---- Pieces and windows */

/* Kinks and constants in the unit of what is read, rounded down; what is beyond all words is 2^100 or -2^100. */
typedef struct {
  int128 at[2], add[3];
} units;

static int128
in_units(const pass *a, const rational *q, bool *rough)
{
  INTEGER(z);
  INTEGER(above);
  fixed(&z, q, a->digits, false);
  fixed(&above, q, a->digits, true);
  *rough = *rough || mpz_cmp(&z, &above) != 0;
  return mpz_fits_slong_p(&z) ? mpz_get_si(&z) : (int128)mpz_sgn(&z) * ((int128)1 << 100);
}

static units
units_of(pass *a, const step *st)
{
  units u = {{0}, {0}};
  bool any = false;
  for (size_t j = 0; j < st->n_kinks; j++)
    u.at[j] = in_units(a, &st->at[j], &any);
  for (size_t j = 0; j <= st->n_kinks; j++)
    u.add[j] = in_units(a, &st->piece[j][0], &a->rough);
  return u;
}

/* The piece on which x must lie, being within r of c; or NONE. A kink is from its units on, and below the next unit. */
static size_t
word_piece(const step *st, const units *u, int128 c, int128 r)
{
  for (size_t j = 0; j < st->n_kinks; j++) {
    if (c + r < u->at[j])
      return j;
    if (c - r <= u->at[j])
      return NONE;
  }
  return st->n_kinks;
}

/* May what is left open be decided now? Only by values that are known exactly, or by identities; and only where nothing before
 * it is open. */
static bool
decides(const pass *a)
{
  return a->r == 0 && !a->open;
}

static void
note_word(const pass *a, source x, size_t e)
{
  INTEGER(z);
  mpz_set_si(&z, (long)word_at(a, x, e));
  note_value(a->p, x, e, &z, a->digits);
}

static size_t
open_piece(pass *a, size_t s, size_t e)
{
  if (!decides(a)) {
    a->open = true;
    return NONE;
  }
  note_word(a, term_at(a->p, &a->p->net->steps[s], e, 0).x, e);
  return locate(a->p, s, e);
}

/* Are the sums known? */
static bool
word_pieces(pass *a, size_t s)
{
  point *p = a->p;
  const step *st = &p->net->steps[s];
  const step_words *in = &st->in_words;
  const units u = units_of(a, st);
  bool known = true;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart) {
    const term t = term_at(p, st, e, 0);
    int64_t c = word_at(a, t.x, e);
    size_t piece = word_piece(st, &u, c, (int128)a->r), j = 0;
    note_most(a, c);
    p->place[s][e] = piece != NONE ? piece : open_piece(a, s, e);
    while (j < st->n_kinks && c > u.at[j])
      j++;
    known = known && u.add[j] <= most_word && u.add[j] >= -most_word;
    if (known)
      a->sum[e / p->net->apart] =
          (int128)(j == 0 && t.by.w != NULL ? in->m[st->factor_row[e / p->net->batch]] : in->slope[j]) * c
          + u.add[j] * ((int128)1 << in->shift);
  }
  return known;
}

/* The place of a window in which several entries may be the largest. */
static size_t
open_window(pass *a, size_t s, size_t e, const bool *among)
{
  point *p = a->p;
  const step *st = &p->net->steps[s];
  size_t first = 0;
  bool one = !a->open;
  while (!among[first])
    first++;
  source top = term_at(p, st, e, first).x;
  for (size_t i = first + 1; i < st->width && one; i++) {
    source x = term_at(p, st, e, i).x;
    one = !among[i] || one_identity(p, top.step, entry_of(p, top, e), x.step, entry_of(p, x, e));
  }
  if (one)
    return first;
  if (!decides(a)) {
    a->open = true;
    return NONE;
  }
  for (size_t i = 0; i < st->width; i++)
    if (among[i])
      note_word(a, term_at(p, st, e, i).x, e);
  return window_place(p, s, e, among);
}

/* Entries below the largest c by more than 2 r are not the largest. */
static void
word_window(pass *a, size_t s, size_t e, bool *among)
{
  const point *p = a->p;
  const step *st = &p->net->steps[s];
  int64_t top = INT64_MIN;
  size_t n = 0, place = 0;
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    if (x.step != PADDING && word_at(a, x, e) > top)
      top = word_at(a, x, e);
  }
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    among[i] = x.step != PADDING && (uint64_t)top - (uint64_t)word_at(a, x, e) <= 2 * a->r;
    place = among[i] ? i : place;
    n += among[i];
  }
  a->sum[e / p->net->apart] = top;
  p->place[s][e] = n > 1 ? open_window(a, s, e, among) : place;
}

static void
word_windows(pass *a, size_t s)
{
  const point *p = a->p;
  bool *among = allocate(p->net->steps[s].width, sizeof *among);
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart)
    word_window(a, s, e, among);
  free(among);
}

/* ---- A step's bound, and all steps */

/* How far the sums are off from the true ones. */
static uint128
sums_off(const pass *a, const step *st)
{
  const step_words *in = &st->in_words;
  if (st->kind == LINEAR || st->kind == OVER_ROOT || st->kind == PIECEWISE)
    return (uint128)in->norm * a->r + (uint128)in->lost * (a->most + a->r) + ((uint128)a->rough << in->shift);
  if (st->kind == PRODUCT)
    return (uint128)(2 * a->most + a->r) * a->r * (st->width / 2);
  return st->kind == WINDOW ? a->r : 0;
}

static unsigned
bits_of(uint128 x)
{
  unsigned n = 0;
  while (x >> n != 0)
    n++;
  return n;
}

/* Takes the sums, of `digits` digits, to words. Are they known? */
static bool
put_words(const pass *a, size_t s, unsigned digits)
{
  words *v = &a->v[s];
  size_t n = entries(a->p, s) / a->p->net->apart;
  uint128 top = 0, off = sums_off(a, &a->p->net->steps[s]), lost = 0;
  for (size_t i = 0; i < n; i++)
    top |= (uint128)(a->sum[i] < 0 ? -a->sum[i] : a->sum[i]);
  unsigned bits = bits_of(top), shift = bits > WORD_BITS ? bits - WORD_BITS : 0;
  shift = digits > WORD_BITS && digits - WORD_BITS > shift ? digits - WORD_BITS : shift;
  if (shift > digits)
    return false;
  for (size_t i = 0; i < n; i++) {
    v->c[i] = (int64_t)(a->sum[i] >> shift);
    lost |= (uint128)a->sum[i] & (((uint128)1 << shift) - 1);
  }
  v->digits = digits - shift;
  off = (off >> shift) + (off >> shift << shift != off) + (lost != 0) + a->cut;
  v->r = (uint64_t)off;
  return off < (uint128)most_word;
}

static bool
word_step(pass *a, size_t s)
{
  const point *p = a->p;
  const step *st = &p->net->steps[s];
  bool known = st->in_words.fits && reads_words(a, st);
  if (st->kind == FUNCTION && function_has_domain(st->of)) /* near values ask whether each argument lies in it */
    a->open = true;
  for (size_t e = a->sample; e < entries(p, s) && !known && p->place[s] != NULL; e += p->net->apart) {
    p->place[s][e] = NONE;
    a->open = true;
  }
  if (!known)
    return false;
  a->cut = a->rough = false;
  a->sum = allocate(entries(p, s) / p->net->apart, sizeof *a->sum);
  if (st->kind == PIECEWISE)
    known = word_pieces(a, s);
  if (st->kind == WINDOW)
    word_windows(a, s);
  if (st->kind == INPUT)
    known = word_inputs(a, s);
  if (st->kind == LINEAR || st->kind == OVER_ROOT)
    word_sums(a, s);
  if (st->kind == PRODUCT)
    known = word_products(a, s);
  known = known && put_words(a, s, a->digits + (st->kind == PRODUCT ? a->digits : st->in_words.shift));
  free(a->sum);
  return known;
}

words *
words_values(point *p, size_t sample, bool *open)
{
  size_t n = p->net->n_steps;
  pass a = {.p = p, .v = allocate(n + 1, sizeof *a.v), .sample = sample};
  for (size_t s = 0; s <= n; s++)
    a.v[s].c = allocate(s < n ? entries(p, s) / p->net->apart : 1, sizeof(int64_t));
  *a.v[n].c = most_word;
  a.v[n].digits = WORD_BITS;
  a.v[n].known = true;
  for (size_t s = 0; s < n; s++)
    a.v[s].known = word_step(&a, s);
  *open = a.open;
  return a.v;
}

void
words_free(const point *p, words *v)
{
  for (size_t s = 0; s <= p->net->n_steps; s++)
    free(v[s].c);
  free(v);
}
