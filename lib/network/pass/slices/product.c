/* Products in slices: how finely W and its argument are cut, and what that loses (docs/filter.md, "Slices"). */
#include "network/pass/slices/multiply.h"

#include "network/norms/convolution_norm.h"

#include <math.h>
#include <stdlib.h>

/* Doubles of the columns gathered at a time; their number at least, twice W's rows if these are more: W is packed for each panel. */
#define PANEL ((size_t)1 << 17)
#define PANEL_COLUMNS ((size_t)128)

static void
product_clear(clarke_slice_product *p)
{
  clarke_cut_weight_clear(&p->w);
  clarke_recut_clear(&p->cut);
  if (p->taps > 0)
    free(p->made);
  free(p->turned);
  free(p->panel);
  free(p->sum);
}

/* --- what is cut ------------------------------------------------------------------------------ */

/* Products and sums that round an entry of W times the tail. */
static size_t
roundings(size_t inner)
{
  return inner > CLARKE_SUMMED ? CLARKE_SUMMED + (inner + CLARKE_SUMMED - 1) / CLARKE_SUMMED : inner;
}

/* What a tail must keep to. Units are those of the lowest place of y. */
typedef struct {
  size_t inner;
  double most, all;  /* the largest sum of a row of |W|; the norm of W, as often as entries are gathered */
  double unit;       /* x's lowest place */
  double root;       /* of y's entries */
  double allowed;    /* the norm of all errors */
  double product;    /* the most that an entry of the product may be */
} product_bounds;

/* Is a tail of so many planes near enough? Then it is off by no more than *off an entry, *off_norm all. */
static bool
tail_fits(const product_bounds *b, size_t joined, const clarke_tail_bound *tail, double *off, double *off_norm)
{
  const double gamma = clarke_gamma((double)(roundings(b->inner) + joined + 7), CLARKE_UNIT);
  const double product = clarke_slice_up(clarke_slice_up(b->most * tail->size) * b->unit);
  const double here = clarke_slice_up(gamma * product);
  const double all = clarke_slice_up(fmin(here * b->root, gamma * clarke_slice_up(clarke_slice_up(b->all * tail->norm) * b->unit)));

  if (!(product <= b->product && all <= b->allowed))
    return false;
  *off = here;
  *off_norm = all;
  return true;
}

/* The largest tail of x that is near enough: whole planes, and the lower bits of the next. */
static void
choose_tail(const clarke_slicing *f, const product_bounds *b, clarke_slice_product *p)
{
  const long width = f->plan->width;
  clarke_tail_bound whole = {0};

  for (size_t k = 0; k < p->x->planes; k++) {
    const clarke_tail_bound next = clarke_tail_grow(f, p->x, whole, k, width);

    if (tail_fits(b, k + 1, &next, &p->off, &p->off_norm)) {
      p->cut.bound = whole = next;
      p->cut.cut = p->x->low + width * (long)(k + 1);
      p->cut.joined = k + 1;
      continue;
    }
    for (long bits = width - 1; bits > 0; bits--) {
      const clarke_tail_bound tail = clarke_tail_grow(f, p->x, whole, k, bits);

      if (tail_fits(b, k + 1, &tail, &p->off, &p->off_norm)) {
        p->cut.bound = tail;
        p->cut.cut = p->x->low + width * (long)k + bits;
        p->cut.joined = k + 1;
        break;
      }
    }
    return;
  }
}

/* Bits of x above the place 2^cut. */
static long
bits_above(const clarke_slicing *f, const clarke_slice_product *p, long cut)
{
  return clarke_recut_top(f, p->x, p->largest, cut) - cut;
}

/* W and x are cut for the fewest products, with a tail or without. */
static clarke_status
choose_cuts(clarke_slicing *f, const clarke_weight_bits *bits, const product_bounds *b, clarke_slice_product *p)
{
  double with = INFINITY, without;
  clarke_cut_weight whole = {0};

  p->cut.cut = p->x->low;
  choose_tail(f, b, p);
  if (p->cut.cut >= p->x->low + f->plan->width * (long)p->x->planes)
    return CLARKE_OK;
  without = clarke_cut_weight_choose(&whole, bits, b->inner, b->most, bits_above(f, p, p->x->low));
  if (p->cut.joined > 0)
    with = (double)b->inner + clarke_cut_weight_choose(&p->w, bits, b->inner, b->most, bits_above(f, p, p->cut.cut));
  f->lost = f->lost || fmin(with, without) == INFINITY; /* W has numbers too far from 1 */
  if (f->lost || with < without)
    return f->lost ? CLARKE_EINPUT : CLARKE_OK;
  p->w = whole;
  p->cut.cut = p->x->low;
  p->cut.joined = 0;
  p->cut.bound = (clarke_tail_bound){0};
  p->off = p->off_norm = 0;
  return CLARKE_OK;
}

/* Doubles at most that taps may take, in planes of x and in what is made of them. */
#define MOST_OF_TAPS ((size_t)1 << 22)

/* Where a convolution has few outputs, its products with x as it is are fewer than its columns' entries. */
static clarke_status
choose_taps(clarke_slicing *f, const clarke_step *s, clarke_slice_product *p)
{
  const clarke_dense *d = p->d;
  const double *w = f->g->values[d->weight].real;
  clarke_convolution c;
  bool found = false;
  size_t channels, taps, pixels;
  clarke_status status = CLARKE_OK;

  p->done = *d;
  if (p->map == NULL || d->blocks != 1 || d->transposed || 8 * d->outer > d->inner)
    return CLARKE_OK;
  status = clarke_convolution_recognize(&c, &found, f->g, s, f->err);
  channels = found ? c.channels : 0;
  taps = found ? c.taps : 0;
  clarke_convolution_clear(&c);
  if (!found || taps < 2 || 2 * d->outer > channels || channels > CLARKE_SUMMED ||
      channels + taps > roundings(d->inner))
    return status;
  pixels = p->x->rows / channels;
  if (pixels * channels != p->x->rows || pixels > 2 * d->repeat ||
      ((p->x->planes + 1) * channels + taps * d->outer) * pixels * f->n > MOST_OF_TAPS)
    return status;
  p->turned = malloc((d->outer * d->inner + 1) * sizeof *p->turned);
  if (p->turned == NULL)
    return clarke_no_memory(f->err);
  for (size_t o = 0; o < d->outer; o++)
    for (size_t i = 0; i < channels; i++)
      for (size_t t = 0; t < taps; t++)
        p->turned[(t * d->outer + o) * channels + i] = w[(o * channels + i) * taps + t];
  p->taps = taps;
  p->done.outer = taps * d->outer;
  p->done.inner = channels;
  p->done.repeat = pixels;
  return CLARKE_OK;
}

/* --- what is lost ----------------------------------------------------------------------------- */

/* W times the errors of x's segments, each by the norm of its columns, in y's scaling: infinity where that is not known. */
static double
sum_of_segments(const clarke_slicing *f, const clarke_step *s, const clarke_sliced *x)
{
  const double *by = f->plan->growths->by_segment[s - f->g->steps];
  double sum = 0;

  if (by == NULL || x->segment == NULL || clarke_scaling_of(f, s->in[0].value) != NULL)
    return INFINITY;
  for (size_t k = 0; k < f->plan->growths->segments[s->in[0].value].n; k++)
    sum += clarke_slice_up(by[k] * x->segment[k]);
  return clarke_slice_up(sum);
}

/* An entry's error: W times that of its column; the places that are left out, what lies below y's lowest, and the tail. gathered: what
 * a GATHER that was left to this product makes of norms. */
static void
bound_product(const clarke_slicing *f, const clarke_step *s, const clarke_slice_product *p, clarke_sliced *y, double gathered)
{
  const clarke_sliced *x = p->x;
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_growth *g = &f->plan->growths->growth[i][0];
  const double exact = clarke_slice_up((p->dropped + 2) * ldexp(1, (int)y->low)); /* of digits */
  const double own = clarke_slice_up(exact + clarke_slice_up(p->off * ldexp(1, (int)y->low)));
  const double entries = (double)y->rows * (double)(f->n / f->lanes), root = sqrt((double)p->d->inner);

  const clarke_scaling *scaling = clarke_scaling_of(f, s->out);
  const size_t producer = f->g->values[s->in[0].value].producer;
  /* what joined is of: behind a GATHER that is done, x is what that made */
  const bool whole = p->map != NULL || producer == CLARKE_NONE || f->g->steps[producer].kind != CLARKE_GATHER;
  const double plain = clarke_slice_up(g->norm * gathered);
  const double growth = whole && scaling == NULL ? fmin(plain, f->plan->growths->joined[i]) : plain;
  const double by_segments = f->lanes == 1 ? sum_of_segments(f, s, x) : INFINITY;

  for (size_t j = 0; j < f->lanes; j++) {
    const double column = fmin(clarke_slice_up(f->plan->growths->column[i] * x->norm[j]), clarke_slice_up(root * x->most[j]));
    const double most = fmin(clarke_slice_up(f->plan->growths->row[i] * column), clarke_slice_up(g->most * x->most[j]));

    y->most[j] = clarke_slice_up(most + own);
    y->norm[j] = scaling == NULL ? fmin(clarke_slice_up(growth * x->norm[j]), by_segments) : clarke_slice_up(growth * x->norm[j]);
    y->norm[j] = clarke_slice_up(y->norm[j] + clarke_slice_up(exact * sqrt(entries)));
    y->norm[j] = clarke_slice_up(y->norm[j] + clarke_slice_up(p->off_norm * ldexp(1, (int)y->low)));
    y->most[j] = fmin(y->most[j], y->norm[j]);
    y->norm[j] = fmin(y->norm[j], clarke_slice_up(y->most[j] * sqrt(entries)));
  }
  if (whole && scaling != NULL)
    y->scaled = clarke_slice_up(fmin(clarke_slice_up(f->plan->growths->joined[i] * x->norm[0]), by_segments) +
                                clarke_slice_up(clarke_slice_up(exact * sqrt((double)f->n)) * scaling->size) +
                                clarke_slice_up(p->off_norm * ldexp(1, (int)y->low) * scaling->most));
}

/* --- the product ------------------------------------------------------------------------------ */

/* The digits of W and x. The lowest places are left out where all that they hold is less than y's lowest: sums of a place are at most
 * `mass` of its units times 2^(width - 1), and those of all below less than 2^(1 - width) of that. */
static clarke_status
cut_both(clarke_slicing *f, const clarke_sliced *y, clarke_slice_product *p)
{
  const double *real = p->taps > 0 ? p->turned : f->g->values[p->d->weight].real;
  clarke_recut *cut = &p->cut;
  clarke_status status = CLARKE_OK;

  if (cut->cut < p->x->low + f->plan->width * (long)p->x->planes) {
    status = clarke_cut_weight_make(f, &p->done, real, p->d->outer, &p->w);
    if (status != CLARKE_OK)
      return status;
    cut->width = p->w.m.width;
    cut->planes = (size_t)((bits_above(f, p, cut->cut) + cut->width) / cut->width);
  }
  for (; cut->planes > 0 && p->first < p->w.m.planes + cut->planes; p->first++) {
    const double mass = p->first < p->w.m.first ? p->w.of_lists : p->w.mass;
    const long place = p->w.m.low + cut->cut + cut->width * (long)p->first - y->low;
    const double below = ldexp(mass, (int)(place + cut->width - 1)) * (1 + ldexp(1, 1 - (int)cut->width));

    if (below > 1)
      break;
    p->dropped = clarke_slice_up(below);
  }
  return clarke_recut_make(f, p->x, cut);
}

/* Room for columns and sums. */
static clarke_status
make_room(clarke_slicing *f, clarke_slice_product *p)
{
  const clarke_dense *d = p->d;
  const size_t column = p->done.inner * (p->cut.planes + (p->cut.joined > 0)) * f->n;
  const size_t least = (2 * d->outer > PANEL_COLUMNS ? 2 * d->outer : PANEL_COLUMNS) / f->n + 1;
  size_t entries;

  p->places = PANEL / (column + 1) < least ? least : PANEL / (column + 1);
  p->places = p->places < d->repeat && p->taps == 0 ? p->places : d->repeat;
  entries = d->outer * p->places * f->n;
  p->panel = malloc((column * (p->taps > 0 ? p->done.repeat : p->places) + 1) * sizeof *p->panel);
  p->sum = malloc((4 * entries + 1) * sizeof *p->sum);
  p->pending = p->sum + entries;
  p->rest = p->pending + entries;
  p->part = p->rest + entries;
  p->made = p->taps > 0 ? malloc((p->done.outer * p->done.repeat * f->n + 1) * sizeof *p->made) : p->sum;
  return p->panel != NULL && p->sum != NULL && p->made != NULL ? CLARKE_OK : clarke_no_memory(f->err);
}

/* The places of y: as low as is planned or, where it is exact before, that; and as many as its largest entry asks for. */
static clarke_status
place_product(clarke_slicing *f, const clarke_step *s, const clarke_weight_bits *bits, const clarke_slice_product *p, clarke_sliced *y)
{
  const clarke_dense *d = &s->dense;
  const long width = f->plan->width, least = clarke_slice_grid(bits->low, width) + p->x->low;
  const long low = f->plan->low[s->out] > least ? f->plan->low[s->out] : least;
  const double x = ldexp(p->largest + 1, (int)(p->x->low + width * (long)(p->x->planes - 1)));
  const double sum = clarke_slice_up(f->plan->growths->growth[s - f->g->steps][0].most * x);
  const double most = clarke_slice_up(sum + ldexp(4, (int)low));
  long planes = 1;
  int top;

  if (!(most <= 0x1p500)) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  frexp(most, &top);
  if (top + 1 > low && (top + 1 - low + width - 1) / width > planes)
    planes = (top + 1 - low + width - 1) / width;
  return clarke_sliced_alloc(f, y, d->blocks * d->outer * d->repeat, (size_t)planes, low);
}

/* Everything that is chosen before. gathered: by what norms grow before they are multiplied. */
static clarke_status
prepare(clarke_slicing *f, const clarke_step *s, double gathered, clarke_slice_product *p, clarke_sliced *y)
{
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_value *v = &f->g->values[s->dense.weight];
  clarke_weight_bits bits;
  product_bounds b;
  double unused;
  clarke_status status;

  clarke_weight_bits_count(&bits, v->real, v->count);
  clarke_plane_measure(f, p->x, p->x->planes - 1, &p->largest, &unused);
  status = place_product(f, s, &bits, p, y);
  if (status != CLARKE_OK)
    return status;
  b = (product_bounds){.inner = s->dense.inner,
                    .most = f->plan->growths->growth[i][0].most,
                    .all = f->plan->growths->size[i] * gathered,
                    .unit = ldexp(1, (int)(p->x->low - y->low)),
                    .root = sqrt((double)y->rows * (double)(f->n / f->lanes)),
                    .product = ldexp(1, 50 + (int)f->plan->width)};
  b.allowed = f->plan->allowed[s->out] * ldexp(1, (int)-y->low) * b.root;
  status = choose_cuts(f, &bits, &b, p);
  if (status == CLARKE_OK)
    status = choose_taps(f, s, p);
  if (status == CLARKE_OK)
    status = cut_both(f, y, p);
  return status == CLARKE_OK ? make_room(f, p) : status;
}

clarke_status
clarke_slices_dense(clarke_slicing *f, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const clarke_step *gather = f->deferred[s->in[0].value];
  const double gathered = gather != NULL ? f->plan->growths->growth[gather - f->g->steps][0].norm : 1;
  clarke_sliced *y = &f->value[s->out];
  clarke_slice_product p = {.d = d, .map = gather != NULL ? gather->in[0].map : NULL,
                            .x = &f->value[gather != NULL ? gather->in[0].value : s->in[0].value]};
  clarke_status status = prepare(f, s, gathered, &p, y);

  if (status == CLARKE_OK) {
    clarke_slice_multiply(f, &p, y);
    bound_product(f, s, &p, y, gathered);
    clarke_sliced_trim(f, y);
  }
  product_clear(&p);
  return status;
}
