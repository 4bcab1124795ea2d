/* Near values: first with few bits. An entry that stays open then, and is not known exactly, has the pass ended, and another one
 * begun with more; with these, one that is off by more than 2^-64; what is finer is evaluated exactly. */
#include "check/near/near.h"
#include "check/base/allocate.h"
#include "check/kernel/identity.h"
#include "check/near/near_sum.h"
#include "check/base/parallel.h"
#include "check/kernel/place.h"
#include "check/kernel/smooth.h"
#include "check/kernel/window.h"

#include <stdlib.h>

#define FEW_BITS 112    /* of the first pass */
#define FINE 64         /* what is off by less than 2^-FINE is evaluated exactly */
#define MOST_BEGUN 1024 /* session_bits with which no other pass is begun */

/* The pass of a sample, or of all samples when they are coupled. open: may it be ended, to be begun with more bits? Is it? */
typedef struct {
  point *p;
  near *v;
  size_t sample;
  bool *open;
} pass;

static unsigned long
many_bits(void)
{
  return session_bits + GUARD;
}

/* Is the pass ended by an entry that stays open, and is known up to r, or not at all? */
static bool
put_off(const pass *a, bool known, const integer *r)
{
  unsigned long bits = a->p->net->near_bits;
  bool few = bits < many_bits(), coarse = known && mpz_sizeinbase(r, 2) > bits - FINE;
  if (a->open != NULL && (few ? !known || mpz_sgn(r) != 0 : coarse))
    *a->open = true;
  return a->open != NULL && *a->open;
}

/* Is something known near all that step s reads? How far off that is at most. */
static bool
reads(const pass *a, const step *st, integer *r)
{
  for (size_t i = 0; i < st->n_reads; i++) {
    const near *from = near_read(a->p, a->v, (source){st->reads[i], 0});
    if (!from->known)
      return false;
    larger(r, &from->r);
  }
  return true;
}

/* Puts c near q; is it rounded? */
static bool
put_near(integer *c, const rational *q, unsigned long bits)
{
  fixed(c, q, bits, false);
  return digits(q) > bits;
}

/* ---- Pieces and windows: of places those that are NONE */

/* An entry of x of an open decision: what is near it may be the value itself. */
static void
note_near(const pass *a, source x, size_t e)
{
  if (x.step < PADDING && a->v[x.step].known && mpz_sgn(&a->v[x.step].r) == 0)
    note_value(a->p, x, e, center(a->p, a->v, x, e), a->p->net->near_bits);
}

/* The piece on which x must lie, being within r of c; or NONE. A kink is from its units on, and below the next unit. */
static size_t
near_piece(const step *st, const integer *at, const integer *c, const integer *r)
{
  INTEGER(end);
  for (size_t j = 0; j < st->n_kinks; j++) {
    mpz_add(&end, c, r);
    if (mpz_cmp(&end, &at[j]) < 0)
      return j;
    mpz_sub(&end, c, r);
    if (mpz_cmp(&end, &at[j]) <= 0)
      return NONE;
  }
  return st->n_kinks;
}

/* What the piece has at c; is it rounded? */
static bool
put_piece(integer *y, const rational *piece, const rational *slope, const integer *c, unsigned long bits)
{
  RATIONAL(x);
  RATIONAL(t);
  bool plain = mpq_sgn(&piece[0]) == 0 && mpq_sgn(&piece[2]) == 0;
  if (plain && (mpq_sgn(slope) == 0 || mpq_equal(slope, &plus_one))) {
    mpz_mul_ui(y, c, mpq_sgn(slope) != 0);
    return false;
  }
  unfixed(&x, c, bits);
  mpq_mul(&t, &x, &piece[2]);
  mpq_add(&t, &t, slope);
  mpq_mul(&t, &t, &x);
  mpq_add(&t, &t, &piece[0]);
  return put_near(y, &t, bits);
}

/* Sets norm to a whole number not less than any slope of a PIECEWISE step between two x of at most so many units. */
static void
steepest(integer *norm, const step *st, const integer *most, unsigned long bits)
{
  INTEGER(z);
  mpz_set(norm, &st->norm);
  for (size_t j = 0; j < 3; j++) {
    mpz_mul(&z, mpq_numref(&st->piece[j][2]), most);
    mpz_abs(&z, &z);
    mpz_cdiv_q(&z, &z, mpq_denref(&st->piece[j][2]));
    mpz_mul_2exp(&z, &z, 1);
    mpz_cdiv_q_2exp(&z, &z, bits);
    mpz_add(norm, norm, &z);
  }
}

static void
near_pieces(const pass *a, size_t s, const integer *r)
{
  point *p = a->p;
  near *v = &a->v[s];
  const step *st = &p->net->steps[s];
  const unsigned long bits = p->net->near_bits;
  bool cut = false;
  INTEGER(most);
  INTEGER(norm);
  integer at[2] = {integer_zero(), integer_zero()};
  for (size_t j = 0; j < st->n_kinks; j++)
    fixed(&at[j], &st->at[j], bits, false);
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart) {
    const term to = term_at(p, st, e, 0);
    const integer *c = v->known ? center(p, a->v, to.x, e) : NULL;
    size_t *place = &p->place[s][e], i = 0;
    if (*place == NONE && v->known)
      *place = near_piece(st, at, c, r);
    if (*place == NONE) {
      if (put_off(a, v->known, r))
        break;
      note_near(a, to.x, e);
      *place = locate(p, s, e);
    }
    if (!v->known)
      continue;
    larger(&most, c);
    while (i < st->n_kinks && mpz_cmp(c, &at[i]) > 0)
      i++;
    const rational *slope = i == 0 && to.by.w != NULL ? &to.by.w->value[to.by.at] : &st->piece[i][1];
    cut = put_piece(&v->c[e / p->net->apart], st->piece[i], slope, c, bits) || cut;
  }
  mpz_add(&most, &most, r);
  steepest(&norm, st, &most, bits);
  mpz_mul(&v->r, &norm, r);
  mpz_add_ui(&v->r, &v->r, cut);
  mpz_clears(&at[0], &at[1], NULL);
}

/* Marks of a window the entries that may be the largest: those that are not below the largest c by more than 2 r. How many? */
static size_t
mark(const pass *a, size_t s, size_t e, const integer *r, bool *among)
{
  const step *st = &a->p->net->steps[s];
  const bool known = a->v[s].known;
  const integer *top = NULL;
  size_t n = 0;
  INTEGER(least);
  for (size_t i = 0; i < st->width && known; i++) {
    source x = term_at(a->p, st, e, i).x;
    if (x.step != PADDING && (top == NULL || mpz_cmp(center(a->p, a->v, x, e), top) > 0))
      top = center(a->p, a->v, x, e);
  }
  if (known) {
    mpz_set(&a->v[s].c[e / a->p->net->apart], top);
    mpz_submul_ui(&least, r, 2);
    mpz_add(&least, &least, top);
  }
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(a->p, st, e, i).x;
    among[i] = x.step != PADDING && (!known || mpz_cmp(center(a->p, a->v, x, e), &least) >= 0);
    n += among[i];
  }
  return n;
}

/* Is what may be the largest one function? */
static bool
is_one(const pass *a, size_t s, size_t e, const bool *among)
{
  const step *st = &a->p->net->steps[s];
  source top = {NONE, 0};
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(a->p, st, e, i).x;
    if (!among[i])
      continue;
    if (top.step == NONE)
      top = x;
    if (!one_identity(a->p, top.step, entry_of(a->p, top, e), x.step, entry_of(a->p, x, e)))
      return false;
  }
  return true;
}

static void
near_windows(const pass *a, size_t s, const integer *r)
{
  point *p = a->p;
  const step *st = &p->net->steps[s];
  bool *among = allocate(st->width, sizeof *among), ended = false;
  for (size_t e = a->sample; e < entries(p, s) && !ended; e += p->net->apart) {
    size_t n = mark(a, s, e, r, among), i = 0;
    if (p->place[s][e] != NONE)
      continue;
    while (!among[i])
      i++;
    if (n > 1 && (!a->v[s].known || !is_one(a, s, e, among)))
      ended = put_off(a, a->v[s].known, r);
    for (size_t j = i; j < st->width && !ended; j++)
      if (among[j])
        note_near(a, term_at(p, st, e, j).x, e);
    if (!ended)
      p->place[s][e] = n > 1 ? window_place(p, s, e, among) : i;
  }
  mpz_set(&a->v[s].r, r);
  free(among);
}

/* ---- Functions */

/* Nothing is said of a network near a point where a function is not smooth, or is none: not of entries that a 0 multiplies,
 * either. */
static void
expect_inside(const pass *a, size_t s, bool known, const integer *r)
{
  const step *st = &a->p->net->steps[s];
  INTERVAL(x);
  for (size_t e = a->sample; e < entries(a->p, s); e += a->p->net->apart) {
    if (known)
      near_interval(a->p, a->v, read_by(a->p, st, e), e, &x);
    if (known && a->p->net->smooth->holds(st->of, &x, st->still))
      continue;
    if (put_off(a, known, r))
      return;
    expect_domain(a->p, s, e);
  }
}

/* ---- Steps */

static void
near_inputs(const pass *a, size_t s)
{
  const point *p = a->p;
  bool cut = false;
  for (size_t e = a->sample; e < entries(p, s); e += p->net->apart)
    cut = put_near(&a->v[s].c[e / p->net->apart], input_at(p, &p->net->steps[s], e), p->net->near_bits) || cut;
  mpz_set_ui(&a->v[s].r, cut);
}

static void
near_step(const pass *a, size_t s)
{
  const step *st = &a->p->net->steps[s];
  near *v = &a->v[s];
  INTEGER(r);
  bool known = reads(a, st, &r);
  v->known = known;
  if (st->kind == FUNCTION && function_has_domain(st->of))
    expect_inside(a, s, known, &r);
  if (a->open != NULL && *a->open)
    return;
  if (st->kind == PIECEWISE)
    near_pieces(a, s, &r);
  if (st->kind == WINDOW)
    near_windows(a, s, &r);
  if (st->kind == INPUT)
    near_inputs(a, s);
  if (known && (st->kind == LINEAR || st->kind == OVER_ROOT))
    near_sums(a->p, a->v, s, a->sample);
  if (known && st->kind == PRODUCT)
    near_products(a->p, a->v, s, a->sample);
  if (known && (st->kind == NORMALIZE || st->kind == SOFTMAX))
    v->known = a->p->net->smooth->line_near(a->p, a->v, s, a->sample);
  if (known && st->kind == FUNCTION)
    v->known = a->p->net->smooth->function_near(a->p, a->v, s, a->sample);
}

near *
near_values(point *p, size_t sample, bool *open)
{
  size_t n = p->net->n_steps;
  const pass a = {p, allocate(n + 1, sizeof *a.v), sample, open};
  for (size_t s = 0; s <= n; s++) {
    near *v = &a.v[s];
    v->n = s == n ? 1 : p->net->steps[s].asked ? entries(p, s) / p->net->apart : 0;
    v->c = allocate(v->n, sizeof *v->c);
    v->r = integer_zero();
    for (size_t i = 0; i < v->n; i++)
      v->c[i] = integer_zero();
  }
  mpz_setbit(a.v[n].c, p->net->near_bits);
  a.v[n].known = true;
  if (open != NULL)
    *open = false;
  for (size_t s = 0; s < n && (open == NULL || !*open); s++)
    if (p->net->steps[s].asked)
      near_step(&a, s);
  return a.v;
}

void
near_free(const point *p, near *v)
{
  for (size_t s = 0, n = p->net->n_steps; s <= n; s++) {
    for (size_t i = 0; i < v[s].n; i++)
      mpz_clear(&v[s].c[i]);
    mpz_clear(&v[s].r);
    free(v[s].c);
  }
  free(v);
}

/* ---- All values */

typedef struct {
  point *p;
  bool *open; /* of each sample, or of all when they are coupled */
  bool last;  /* is no other pass begun? */
} evaluation;

static void
by_near_values(void *of, size_t sample)
{
  evaluation *v = of;
  if (!v->open[sample])
    return;
  if (v->last)
    v->open[sample] = false;
  near_free(v->p, near_values(v->p, sample, v->last ? NULL : &v->open[sample]));
  if (!v->open[sample])
    identities_forget(v->p, sample);
}

static void
more_bits(const network *net)
{
  session_set_bits(session_bits + many_bits() / 2);
  for (size_t s = 0; s < net->n_steps; s++)
    if (net->steps[s].kind == OVER_ROOT)
      net->smooth->root_prepare(&net->steps[s]);
}

/* Whose bounds grow so much that few bits would be in vain. */
static bool
has_lines(const network *net)
{
  size_t s = 0;
  while (s < net->n_steps && net->steps[s].length == 0)
    s++;
  return s < net->n_steps;
}

void
near_places(point *p)
{
  size_t apart = p->net->apart, open = apart;
  evaluation v = {p, allocate(apart, sizeof(bool)), false};
  for (size_t b = 0; b < apart; b++)
    v.open[b] = true;
  if (p->net->rough != NULL)
    p->net->rough(p, v.open);
  for (size_t b = 0; b < apart; b++)
    open -= !v.open[b];
  for (bool few = !has_lines(p->net), begun = false; open > 0; begun = !few, few = false) {
    if (begun)
      more_bits(p->net);
    v.last = session_bits >= MOST_BEGUN;
    near_prepare(p->net, few ? FEW_BITS : many_bits(), few);
    for_each_sample(apart, by_near_values, &v);
    open = 0;
    for (size_t b = 0; b < apart; b++)
      open += v.open[b];
  }
  free(v.open);
}
