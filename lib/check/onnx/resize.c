/* Resize (docs/operators.md, "Images made larger"): each place of an axis takes shares of entries, axis after axis. */
#include "check/onnx/resize.h"
#include "check/base/allocate.h"

#include <string.h>

enum { ROI = 1, SCALES, SIZES };
enum { MOST = 4 };              /* entries of which a place takes shares */
enum { MOST_HALVES = 1 << 22 }; /* of so many entries float32 has the halves, too */

/* An axis: from n entries to out, which are `scale` times as many. A crop is of what lies between two shares of the axis. */
typedef struct {
  size_t n, out;
  rational scale, from, to;
} stretched;

/* What place j takes: share[4 j + k] of entry[4 j + k], `taken` of them; none beyond the ends of a crop. */
typedef struct {
  size_t *taken, *entry;
  rational *share;
} portions;

static bool
is_mode(const builder *b, const char *mode)
{
  return strcmp(text_attribute(b, "mode", "nearest"), mode) == 0;
}

static bool
is_where(const builder *b, const char *where)
{
  return strcmp(text_attribute(b, "coordinate_transformation_mode", "half_pixel"), where) == 0;
}

static bool
keeps(const builder *b, const char *policy)
{
  return strcmp(text_attribute(b, "keep_aspect_ratio_policy", "stretch"), policy) == 0;
}

static bool
is_among(const char *word, const char *const among[], size_t n)
{
  size_t i = 0;
  while (i < n && strcmp(word, among[i]) != 0)
    i++;
  return i < n;
}

/* ---- Places */

/* Which of the scales or sizes is axis i's: its own number, or where `axes` lists it; NONE where it does not. */
static size_t
listed_at(const builder *b, size_t i)
{
  const tensor *axes = find_attribute(b, "axes");
  size_t found = axes == NULL ? i : NONE;
  for (size_t k = 0; axes != NULL && k < axes->count; k++)
    if (axis_of(b, whole_entry(b, axes, k), b->in[0].rank) == i) {
      need(found == NONE, "an axis twice");
      found = k;
    }
  return found;
}

/* Size `at` over the entries of its axis i. */
static void
ratio_of(const builder *b, size_t i, size_t at, rational *q)
{
  long size = whole_entry(b, b->in[SIZES].constant, b->in[SIZES].map[at]);
  need(size > 0 && size <= INT32_MAX && b->in[0].dims[i] > 0, "a size is not above 0, or too large");
  mpq_set_ui(q, (unsigned long)size, b->in[0].dims[i]);
  mpq_canonicalize(q);
}

/* By sizes: the axis's own, or, where the image's proportions are kept, those of the least or the largest scale of all. */
static void
scale_by_size(const builder *b, stretched *a, size_t i, size_t at)
{
  bool least = keeps(b, "not_larger"), batch = on_batch(b, &b->in[0], i);
  RATIONAL(q);
  ratio_of(b, i, at, &a->scale);
  if (keeps(b, "stretch")) {
    long size = whole_entry(b, b->in[SIZES].constant, b->in[SIZES].map[at]);
    size_t whole = batch ? b->net->together : 1;
    need((size_t)size % whole == 0, "a size is not above 0, or too large");
    a->out = (size_t)size / whole;
    mpq_set_ui(&a->scale, a->out, a->n);
    mpq_canonicalize(&a->scale);
    return;
  }
  need(!batch, "the image's proportions are kept along the axis of the samples");
  for (size_t k = 0; k < b->in[0].rank; k++)
    if (listed_at(b, k) != NONE) {
      ratio_of(b, k, listed_at(b, k), &q);
      if (least == (mpq_cmp(&q, &a->scale) < 0))
        mpq_set(&a->scale, &q);
    }
  mpq_set_ui(&q, 2 * a->n, 1); /* floor(x + 1/2) is floor((2 x + 1) / 2) */
  mpq_mul(&q, &q, &a->scale);
  mpq_add(&q, &q, &plus_one);
  mpz_mul_2exp(mpq_denref(&q), mpq_denref(&q), 1);
  mpz_fdiv_q(mpq_numref(&q), mpq_numref(&q), mpq_denref(&q));
  need(mpz_sgn(mpq_numref(&q)) > 0 && mpz_cmp_ui(mpq_numref(&q), INT32_MAX) <= 0,
       "a size is not above 0, or too large");
  a->out = mpz_get_ui(mpq_numref(&q));
}

static void
scale_by_scale(const builder *b, stretched *a, size_t at)
{
  const value *scales = &b->in[SCALES];
  RATIONAL(q);
  RATIONAL(more);
  mpq_set(&a->scale, &scales->constant->value[scales->map[at]]);
  mpz_mul_ui(mpq_numref(&q), mpq_numref(&a->scale), a->n);
  mpz_fdiv_q(mpq_numref(&q), mpq_numref(&q), mpq_denref(&a->scale));
  need(mpz_sgn(mpq_numref(&q)) > 0 && mpz_cmp_ui(mpq_numref(&q), INT32_MAX) <= 0,
       "a scale leaves no entries, or too many");
  a->out = mpz_get_ui(mpq_numref(&q));
  mpq_set_ui(&q, a->n, 1);
  mpq_mul(&q, &q, &a->scale);
  mpq_set(&more, &q);
  mpq_div_2exp(&more, &more, 23); /* floats of the product may be so much more */
  mpq_add(&q, &q, &more);
  need(mpq_cmp_ui(&q, a->out + 1, 1) < 0, "rounding floats decides how long an axis is");
}

/* The length and scale of axis i, and what is cropped of it. */
static void
find_axis(const builder *b, stretched *a, size_t i)
{
  const value *roi = &b->in[ROI];
  size_t at = listed_at(b, i);
  a->n = a->out = b->in[0].dims[i];
  mpq_set_ui(&a->scale, 1, 1);
  mpq_set_ui(&a->from, 0, 1);
  mpq_set_ui(&a->to, 1, 1);
  if (at == NONE)
    return;
  if (b->in[SIZES].name != NULL)
    scale_by_size(b, a, i, at);
  else
    scale_by_scale(b, a, at);
  if (is_where(b, "tf_crop_and_resize")) {
    mpq_set(&a->from, &roi->constant->value[roi->map[at]]);
    mpq_set(&a->to, &roi->constant->value[roi->map[at + roi->count / 2]]);
    need(on_batch(b, &b->in[0], i) || a->n != a->out || (mpq_sgn(&a->from) == 0 && mpq_cmp_ui(&a->to, 1, 1) == 0),
         "readers differ on a crop that leaves an axis its length");
  }
  need(!on_batch(b, &b->in[0], i)
           || (mpq_cmp_ui(&a->scale, 1, 1) == 0 && mpq_sgn(&a->from) == 0 && mpq_cmp_ui(&a->to, 1, 1) == 0),
       "samples would be mixed");
}

/* x becomes where place j lies among the entries. False: beyond the ends that a crop of the axis may reach. */
static bool
find_place(const builder *b, const stretched *a, size_t j, rational *x)
{
  RATIONAL(y);
  bool crop = is_where(b, "tf_crop_and_resize");
  mpq_set_ui(x, j, 1);
  if (crop && a->out == 1) {
    mpq_add(x, &a->from, &a->to);
    mpq_div_2exp(x, x, 1);
  }
  if (is_where(b, "align_corners") || (crop && a->out > 1)) { /* as a share of the axis's length */
    mpq_set_ui(&y, a->out > 1 ? a->out - 1 : 1, 1);
    mpq_div(x, x, &y);
  }
  if (crop && a->out > 1) {
    mpq_sub(&y, &a->to, &a->from);
    mpq_mul(x, x, &y);
    mpq_add(x, x, &a->from);
  }
  if (crop || is_where(b, "align_corners")) {
    mpq_set_ui(&y, a->n - 1, 1);
    mpq_mul(x, x, &y);
    return !crop || (mpq_sgn(x) >= 0 && mpq_cmp(x, &y) <= 0);
  }
  bool alone = is_where(b, "pytorch_half_pixel") && a->out == 1;
  mpq_set_ui(&y, is_where(b, "asymmetric") || alone ? 0 : 1, 2);
  mpq_canonicalize(&y);
  mpq_add(x, x, &y);
  mpq_div(x, x, &a->scale);
  mpq_sub(x, x, &y);
  if (is_where(b, "half_pixel_symmetric")) { /* n / 2 (1 - out / (scale n)) more */
    RATIONAL(more);
    mpq_set_ui(&y, a->out, 1);
    mpq_div(&y, &y, &a->scale);
    mpq_set_ui(&more, a->n, 1);
    mpq_sub(&y, &more, &y);
    mpq_div_2exp(&y, &y, 1);
    mpq_add(x, x, &y);
  }
  return true;
}

/* ---- Shares */

/* The entry that is nearest to x by nearest_mode, of n. */
static size_t
nearest(const builder *b, const rational *x, size_t n)
{
  const char *how = text_attribute(b, "nearest_mode", "round_prefer_floor");
  bool up = strcmp(how, "ceil") == 0 || strcmp(how, "round_prefer_floor") == 0;
  RATIONAL(y);
  if (how[0] == 'r') /* the nearest whole number; of two the one below (up) or above */
    mpq_set_si(&y, up ? -1 : 1, 2);
  mpq_add(&y, x, &y);
  if (up)
    mpz_cdiv_q(mpq_numref(&y), mpq_numref(&y), mpq_denref(&y));
  else
    mpz_fdiv_q(mpq_numref(&y), mpq_numref(&y), mpq_denref(&y));
  if (mpz_sgn(mpq_numref(&y)) < 0)
    return 0;
  return mpz_cmp_ui(mpq_numref(&y), n - 1) > 0 ? n - 1 : mpz_get_ui(mpq_numref(&y));
}

/* sum becomes sum d + n a + m. */
static void
horner(rational *sum, const rational *d, const rational *a, long n, long m)
{
  RATIONAL(c);
  mpq_mul(sum, sum, d);
  mpq_set_si(&c, n, 1);
  mpq_mul(&c, &c, a);
  mpq_add(sum, sum, &c);
  mpq_set_si(&c, m, 1);
  mpq_add(sum, sum, &c);
}

/* Do floats have place j exactly, if it lies between two entries? The scale is a float there, and the quotient another one; or no scale is asked.
 * A crop's ends are shares, from which they have it not. */
static bool
has_exact_place(const builder *b, const stretched *a, size_t j)
{
  bool crop = is_where(b, "tf_crop_and_resize");
  if (a->n > MOST_HALVES || a->out > MOST_HALVES)
    return false;
  if (crop || is_where(b, "align_corners"))
    return !crop || (mpq_sgn(&a->from) == 0 && mpq_cmp_ui(&a->to, 1, 1) == 0);
  if ((is_where(b, "asymmetric") && j == 0) || (is_where(b, "pytorch_half_pixel") && a->out == 1))
    return true;
  RATIONAL(whole);
  mpq_set_ui(&whole, a->n, 1);
  mpq_mul(&whole, &whole, &a->scale);
  if (is_where(b, "half_pixel_symmetric") && mpq_cmp_ui(&whole, a->out, 1) != 0)
    return false;
  return mpz_popcount(mpq_denref(&a->scale)) == 1
         && mpz_sizeinbase(mpq_numref(&a->scale), 2) - mpz_scan1(mpq_numref(&a->scale), 0) <= 24;
}

/* How far seven roundings take a float32 of a place away at most: 2^-21 of the axis, and of a crop's ends. */
static void
set_slack(rational *off, const stretched *a)
{
  RATIONAL(y);
  mpq_abs(off, &a->from);
  mpq_abs(&y, &a->to);
  mpq_add(off, off, &y);
  mpq_add(off, off, &plus_one);
  mpq_set_ui(&y, a->n + 1, 1);
  mpq_mul(off, off, &y);
  mpq_div_2exp(off, off, 21);
}

/* The entry nearest to place j, at x: where another entry is as near as floats may be off, they must have x itself. */
static size_t
told_nearest(const builder *b, const stretched *a, size_t j, const rational *x)
{
  bool halves = text_attribute(b, "nearest_mode", "round_prefer_floor")[0] == 'r';
  RATIONAL(off);
  RATIONAL(y);
  set_slack(&off, a);
  mpq_sub(&y, x, &off);
  size_t before = nearest(b, &y, a->n);
  mpq_add(&y, x, &off);
  if (before == nearest(b, &y, a->n))
    return before;
  mpq_set_ui(&off, halves ? 1 : 0, 2);
  mpq_canonicalize(&off);
  mpq_sub(&y, x, &off);
  need(mpz_cmp_ui(mpq_denref(&y), 1) == 0 && has_exact_place(b, a, j),
       "rounding floats decides which entry is the nearest");
  return nearest(b, x, a->n);
}

static bool
is_end(const rational *q)
{
  return mpq_sgn(q) == 0 || mpq_cmp(q, &plus_one) == 0;
}

/* A crop's place x must be farther from the axis's ends than floats may be off. Of crops whose own ends are 0 and 1 they have it exactly there. */
static void
check_side(const builder *b, const stretched *a, const rational *x)
{
  RATIONAL(off);
  RATIONAL(away);
  if (is_end(&a->from) && is_end(&a->to) && a->n <= MOST_HALVES && a->out <= MOST_HALVES)
    return;
  set_slack(&off, a);
  mpq_abs(&away, x);
  bool told = mpq_cmp(&away, &off) > 0;
  mpq_set_ui(&away, a->n - 1, 1);
  mpq_sub(&away, x, &away);
  mpq_abs(&away, &away);
  need(told && mpq_cmp(&away, &off) > 0, "rounding floats decides whether a crop's place is beyond the axis");
}

/* The share of an entry at a distance d from 0 to 2, by the polynomials of Keys:
 * (a + 2) d^3 - (a + 3) d^2 + 1 up to 1, and then a d^3 - 5 a d^2 + 8 a d - 4 a. */
static void
keys(rational *share, const rational *d, const rational *a)
{
  static const long near[4][2] = {{1, 2}, {-1, -3}, {0, 0}, {0, 1}}, far[4][2] = {{1, 0}, {-5, 0}, {8, 0}, {-4, 0}};
  const long(*by)[2] = mpq_cmp_ui(d, 1, 1) <= 0 ? near : far;
  mpq_set_ui(share, 0, 1);
  for (size_t k = 0; k < 4; k++)
    horner(share, d, a, by[k][0], by[k][1]);
}

void
cubic_shares(rational *share, const rational *r, const rational *coefficient)
{
  for (long k = 0; k < MOST; k++) {
    RATIONAL(d);
    mpq_set_si(&d, k - 1, 1);
    mpq_sub(&d, &d, r);
    mpq_abs(&d, &d);
    keys(&share[k], &d, coefficient);
  }
}

/* The shares of place j, at x: of linear and cubic interpolation the entries outside are those at the ends; or have none. */
static void
find_portion(const builder *b, const stretched *a, portions *p, size_t j, const rational *x)
{
  bool cubic = is_mode(b, "cubic"), inside = whole_attribute(b, "exclude_outside", 0) != 0;
  rational *share = &p->share[MOST * j];
  RATIONAL(r);
  RATIONAL(coefficient);
  RATIONAL(sum);
  mpq_set_si(&coefficient, -3, 4);
  if (find_attribute(b, "cubic_coeff_a") != NULL)
    real_attribute(b, "cubic_coeff_a", &coefficient, 0);
  mpz_fdiv_q(mpq_numref(&r), mpq_numref(x), mpq_denref(x));
  need(mpz_cmpabs_ui(mpq_numref(&r), INT32_MAX) < 0, "a place is too far outside");
  long first = mpz_get_si(mpq_numref(&r)) - cubic;
  mpq_sub(&r, x, &r);
  if (cubic)
    cubic_shares(share, &r, &coefficient);
  else {
    mpq_sub(&share[0], &plus_one, &r);
    mpq_set(&share[1], &r);
  }
  p->taken[j] = cubic ? MOST : 2;
  for (size_t k = 0; k < p->taken[j]; k++) {
    long at = first + (long)k, last = (long)a->n - 1;
    if (inside && (at < 0 || at > last))
      mpq_set_ui(&share[k], 0, 1);
    p->entry[MOST * j + k] = (size_t)(at < 0 ? 0 : at > last ? last : at);
    mpq_add(&sum, &sum, &share[k]);
  }
  need(mpq_sgn(&sum) != 0, "a place has no shares of entries inside");
  for (size_t k = 0; k < p->taken[j] && inside; k++)
    mpq_div(&share[k], &share[k], &sum);
}

static portions
find_portions(const builder *b, const stretched *a)
{
  portions p = {allocate(a->out, sizeof *p.taken), allocate(MOST * a->out, sizeof *p.entry), NULL};
  p.share = rationals(MOST * a->out);
  for (size_t j = 0; j < a->out; j++) {
    RATIONAL(x);
    bool inside = find_place(b, a, j, &x);
    if (is_where(b, "tf_crop_and_resize"))
      check_side(b, a, &x);
    if (!inside)
      continue;
    if (is_mode(b, "nearest")) {
      p.taken[j] = 1;
      p.entry[MOST * j] = told_nearest(b, a, j, &x);
      mpq_set_ui(&p.share[MOST * j], 1, 1);
    } else
      find_portion(b, a, &p, j, &x);
  }
  return p;
}

/* ---- Steps */

static void
check_crop(const builder *b, size_t n)
{
  const value *roi = &b->in[ROI];
  need(b->in[SIZES].name != NULL && keeps(b, "stretch"), "a crop of other than sizes");
  need(roi->name != NULL && roi->constant != NULL && roi->constant->real && roi->count == 2 * n,
       "a crop needs two constant numbers for each axis");
  roi->constant->number = true;
}

static void
check_resize(const builder *b)
{
  static const char *const wheres[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"};
  static const char *const roundings[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  const value *x = &b->in[0], *scales = &b->in[SCALES], *sizes = &b->in[SIZES];
  bool by_scales = scales->name != NULL && scales->count > 0, by_sizes = sizes->name != NULL;
  need(x->constant == NULL && by_scales != by_sizes, "its input must be an activation, with scales or sizes");
  const value *v = by_sizes ? sizes : scales;
  const tensor *axes = find_attribute(b, "axes");
  size_t n = axes != NULL ? axes->count : x->rank;
  need(v->constant != NULL && v->constant->real == by_scales && v->count == n && x->rank > 0,
       "scales or sizes are not constant, or not one for each axis");
  need((is_mode(b, "linear") || is_mode(b, "nearest") || is_mode(b, "cubic")) && whole_attribute(b, "antialias", 0) == 0
           && (whole_attribute(b, "exclude_outside", 0) == 0 || is_mode(b, "cubic")),
       "a mode that is not supported");
  need(keeps(b, "stretch") || ((keeps(b, "not_larger") || keeps(b, "not_smaller")) && by_sizes),
       "a policy of proportions that is not supported");
  need(is_among(text_attribute(b, "coordinate_transformation_mode", wheres[0]), wheres, b->opset < 19 ? 5 : 6),
       "unknown coordinates");
  need(is_among(text_attribute(b, "nearest_mode", roundings[2]), roundings, 4), "unknown nearest_mode");
  if (is_where(b, "tf_crop_and_resize"))
    check_crop(b, n);
  if (by_scales)
    scales->constant->number = true;
}

/* Does each place of the axis take the entry of its own number, and nothing else? */
static bool
stays(const stretched *a, const portions *p)
{
  bool same = a->n == a->out;
  for (size_t j = 0; j < a->out && same; j++) {
    size_t whole = 0;
    while (whole < p->taken[j] && mpq_cmp_ui(&p->share[MOST * j + whole], 1, 1) != 0)
      whole++;
    same = whole < p->taken[j] && p->entry[MOST * j + whole] == j;
    for (size_t k = 0; k < p->taken[j]; k++)
      same = same && (k == whole || mpq_sgn(&p->share[MOST * j + k]) == 0);
  }
  return same;
}

/* x with axis i as the output has it. */
static void
put_axis(builder *b, const value *x, size_t i, const stretched *a, const portions *p)
{
  size_t dims[MAX_RANK], behind = product(x->dims + i + 1, x->rank - i - 1);
  size_t width = is_mode(b, "nearest") ? 1 : is_mode(b, "linear") ? 2 : MOST;
  memcpy(dims, x->dims, sizeof dims);
  dims[i] = a->out;
  step *s = add_step(b, LINEAR, width, x->rank, dims);
  s->copy = width == 1;
  for (size_t f = 0; f < s->n; f++) {
    size_t j = f / behind % a->out, first = f / behind / a->out * a->n;
    for (size_t k = 0; k < width; k++) {
      const rational *share = &p->share[MOST * j + k];
      if (k >= p->taken[j] || mpq_sgn(share) == 0) {
        s->sources[width * f + k].step = PADDING;
        continue;
      }
      factor *by = operand(b, s, width * f + k, x, (first + p->entry[MOST * j + k]) * behind + f % behind);
      if (width > 1)
        by->coef = share;
    }
  }
}

/* The output, but where a place along any axis is beyond a crop's ends the number that the node says. */
static void
put_beyond(builder *b, portions *const *along)
{
  value x = b->out;
  rational *beyond = rationals(1);
  real_attribute(b, "extrapolation_value", beyond, 0);
  if (mpq_sgn(beyond) == 0)
    return;
  step *s = add_step(b, LINEAR, 1, x.rank, x.dims);
  for (size_t f = 0; f < s->n; f++) {
    bool outside = false;
    for (size_t i = x.rank, rest = f; i-- > 0; rest /= x.dims[i])
      outside = outside || (along[i] != NULL && along[i]->taken[rest % x.dims[i]] == 0);
    if (outside)
      s->factors[s->factor_row[f]].coef = beyond;
    else
      operand(b, s, f, &x, f);
  }
}

/* Axis by axis, those that stay left out. */
void
lower_resize(builder *b)
{
  check_resize(b);
  portions *along[MAX_RANK] = {NULL};
  bool beyond = false, changes = false, scaled = false;
  value x = b->in[0];
  put(b, NULL, x.step, x.map, x.rank, x.dims);
  for (size_t i = 0; i < b->in[0].rank; i++) {
    stretched a = {0, 0, rational_zero(), rational_zero(), rational_zero()};
    find_axis(b, &a, i);
    changes = changes || a.n != a.out;
    scaled = scaled || mpq_cmp_ui(&a.scale, 1, 1) != 0;
    along[i] = allocate(1, sizeof *along[i]);
    *along[i] = find_portions(b, &a);
    for (size_t j = 0; j < a.out; j++)
      beyond = beyond || along[i]->taken[j] == 0;
    need(!is_mode(b, "cubic") || !is_where(b, "tf_crop_and_resize") || i + 2 >= x.rank || stays(&a, along[i]),
         "a cubic crop of other axes than the last two");
    x = b->out;
    if (!on_batch(b, &b->in[0], i) && !stays(&a, along[i]))
      put_axis(b, &x, i, &a, along[i]);
    mpq_clear(&a.scale);
    mpq_clear(&a.from);
    mpq_clear(&a.to);
  }
  need(changes || !scaled, "readers differ on a scale that is not 1 and leaves the shape");
  if (beyond)
    put_beyond(b, along);
}
