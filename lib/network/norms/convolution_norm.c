/* A convolution's norm, at most that of the largest of its symbols: W(a, b) = sum over taps t of W_t exp(i (a y_t + b x_t)). On
 * the endless grid Fourier's transform makes it a multiplication by these; beyond an image there are zeros, and windows that
 * are left out, or strides, only make the norm less. Of all angles some are tried: a real trigonometric polynomial of degree d
 * with its maximum M at a is at least M cos(d (b - a)) where |b - a| <= pi / d (M. Riesz's lemma). So the largest |u* W(a, b) v|
 * is at most 1 / cos(pi d / ANGLES) of that at the nearest angle, for each axis. A small image is laid on a circle of N pixels,
 * zeros behind it: there Fourier's transform has N angles, and the largest of their symbols is the norm itself. */
#include "network/norms/convolution_norm.h"

#include "network/norms/operator_norm.h"

#include "base/wide.h"
#include "exact/upward.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

/* Angles of an axis that are tried where the image is long: multiples of an eighth of a turn. */
#define ANGLES ((size_t)8)
/* Degrees at which they say something: 1 / cos(2 pi / 8) is sqrt(2). */
#define MOST_DEGREE ((size_t)2)
/* A circle of no more pixels has as many angles, and needs no others between. */
#define MOST_AROUND ((size_t)9)

/* --- windows ----------------------------------------------------------------------------------- */

/* The shape of images, and of what windows make. */
typedef struct {
  long in[2], out[2];
} image;

static bool
find_image(image *m, const clarke_graph *g, const clarke_step *gather, const clarke_step *s)
{
  const clarke_value *x = &g->values[gather->in[0].value], *y = &g->values[s->out];

  if (x->rank < 2 || x->rank > 3 || y->rank != x->rank)
    return false;
  for (size_t a = 0; a < 2; a++) {
    const bool is_there = a == 1 || x->rank == 3;

    m->in[a] = is_there ? (long)x->dims[x->rank - 2 + a] : 1;
    m->out[a] = is_there ? (long)y->dims[y->rank - 2 + a] : 1;
  }
  return m->in[0] > 0 && m->in[1] > 0 && (size_t)(m->out[0] * m->out[1]) == s->dense.repeat;
}

/* What the first channel of the first block says: of a tap that no window has in the image, nothing. */
static bool
read_windows(clarke_convolution *c, const image *m, const size_t *map, size_t repeat)
{
  bool known[2] = {false, false};

  c->stride[0] = c->stride[1] = 1;
  for (size_t t = 0; t < c->taps; t++) {
    long first[2][2] = {{-1, 0}, {-1, 0}}; /* by axis: window and pixel */

    for (size_t p = 0; p < repeat; p++) {
      const size_t from = map[t * repeat + p];
      const long at[2] = {(long)p / m->out[1], (long)p % m->out[1]};

      if (from == CLARKE_NONE)
        continue;
      for (size_t a = 0; a < 2; a++) {
        const long pixel = a == 0 ? (long)from / m->in[1] : (long)from % m->in[1];

        if (first[a][0] < 0) {
          first[a][0] = at[a];
          first[a][1] = pixel;
        } else if (!known[a] && at[a] != first[a][0]) {
          c->stride[a] = (pixel - first[a][1]) / (at[a] - first[a][0]);
          known[a] = true;
          if (c->stride[a] < 1) /* windows that are one would each add to the norm */
            return false;
        }
      }
    }
    if (first[0][0] < 0)
      return false;
    for (size_t a = 0; a < 2; a++)
      c->offset[a][t] = first[a][1] - c->stride[a] * first[a][0];
  }
  return true;
}

/* Entries that are not those of the first channel, so many pixels on, or nowhere both. */
CLARKE_WIDE static size_t
count_moved(const size_t *map, const size_t *first, size_t pixels, size_t n)
{
  size_t moved = 0;

  for (size_t e = 0; e < n; e++)
    moved += map[e] != first[e] + (first[e] != CLARKE_NONE ? pixels : 0);
  return moved;
}

/* Is every entry of the map where these windows have it? */
static bool
windows_hold(const clarke_convolution *c, const image *m, const size_t *map, const clarke_dense *d)
{
  const size_t each = c->taps * d->repeat;

  for (size_t t = 0; t < c->taps; t++)
    for (size_t p = 0; p < d->repeat; p++) {
      const long y = (long)p / m->out[1] * c->stride[0] + c->offset[0][t], x = (long)p % m->out[1] * c->stride[1] + c->offset[1][t];
      const bool inside = y >= 0 && y < m->in[0] && x >= 0 && x < m->in[1];

      if (map[t * d->repeat + p] != (inside ? (size_t)(y * m->in[1] + x) : CLARKE_NONE))
        return false;
    }
  for (size_t k = 1; k < d->blocks * c->channels; k++)
    if (count_moved(map + k * each, map, k * (size_t)(m->in[0] * m->in[1]), each) > 0)
      return false;
  return true;
}

/* A tap of a window is a pixel's number, from `low` to `high`. Those beyond the image must be beyond it modulo N, too. (Two windows at
 * one place of the circle are none but zeros in one of them.) */
static void
find_circle(clarke_convolution *c, const image *m, size_t a, long most)
{
  const long low = c->least[a], high = (m->out[a] - 1) * c->stride[a] + most;
  long around = m->in[a];

  around = m->in[a] - low > around ? m->in[a] - low : around;
  around = high + 1 > around ? high + 1 : around;
  c->around[a] = (size_t)around;
}

static void
find_degrees(clarke_convolution *c, const image *m)
{
  for (size_t a = 0; a < 2; a++) {
    long most = c->offset[a][0];

    c->least[a] = c->offset[a][0];
    for (size_t t = 1; t < c->taps; t++) {
      c->least[a] = c->offset[a][t] < c->least[a] ? c->offset[a][t] : c->least[a];
      most = c->offset[a][t] > most ? c->offset[a][t] : most;
    }
    c->degree[a] = ((size_t)(most - c->least[a]) + 1) / 2;
    find_circle(c, m, a, most);
  }
}

clarke_status
clarke_convolution_recognize(clarke_convolution *c, bool *found, const clarke_graph *g, const clarke_step *s, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  const size_t producer = g->values[s->in[0].value].producer;
  const clarke_step *gather = producer != CLARKE_NONE ? &g->steps[producer] : NULL;
  image m;

  *c = (clarke_convolution){0};
  *found = false;
  if (gather == NULL || gather->kind != CLARKE_GATHER || gather->in[0].map == NULL || !find_image(&m, g, gather, s))
    return CLARKE_OK;
  c->channels = g->values[gather->in[0].value].count / (size_t)(m.in[0] * m.in[1]) / d->blocks;
  if (c->channels == 0 || d->inner % c->channels != 0)
    return CLARKE_OK;
  c->taps = d->inner / c->channels;
  c->offset[0] = malloc((c->taps + 1) * sizeof **c->offset);
  c->offset[1] = malloc((c->taps + 1) * sizeof **c->offset);
  if (c->offset[0] == NULL || c->offset[1] == NULL)
    return clarke_no_memory(err);
  *found = read_windows(c, &m, gather->in[0].map, d->repeat) && windows_hold(c, &m, gather->in[0].map, d);
  if (*found)
    find_degrees(c, &m);
  return CLARKE_OK;
}

void
clarke_convolution_clear(clarke_convolution *c)
{
  free(c->offset[0]);
  free(c->offset[1]);
  *c = (clarke_convolution){0};
}

/* --- symbols ----------------------------------------------------------------------------------- */

static size_t
angles_of(const clarke_convolution *c, size_t axis)
{
  return c->degree[axis] == 0 ? 1 : c->around[axis] <= MOST_AROUND ? c->around[axis] : ANGLES;
}

/* Do the angles say something of the norm? */
static bool
are_enough(const clarke_convolution *c)
{
  for (size_t a = 0; a < 2; a++)
    if (c->around[a] > MOST_AROUND && c->degree[a] > MOST_DEGREE)
      return false;
  return true;
}

double
clarke_convolution_cost(const clarke_convolution *c, const clarke_step *s)
{
  const double outer = (double)s->dense.outer, channels = (double)c->channels, least = fmin(outer, channels);
  const double blocks = s->dense.grouped ? (double)s->dense.blocks : 1;
  const double symbols = blocks * (double)(angles_of(c, 0) * angles_of(c, 1)) / 2;

  if (!are_enough(c) || c->taps == 1)
    return INFINITY;
  return symbols * (outer * channels * ((double)c->taps + (least > 1 ? 8 * least : 0)) + (least > 1 ? 12 * least * least * least : 0));
}

/* The cosines of all multiples of a turn's n-th part, and the sines behind them, each off by less than 2^-53. */
static double *
cosines(size_t n)
{
  double *all = malloc((2 * n + 1) * sizeof *all);
  mpfr_t angle, turn;

  mpfr_inits2(128, angle, turn, (mpfr_ptr)NULL);
  mpfr_const_pi(turn, MPFR_RNDN);
  mpfr_mul_ui(turn, turn, 2, MPFR_RNDN);
  for (size_t k = 0; all != NULL && k < n; k++) {
    mpfr_mul_ui(angle, turn, (unsigned long)k, MPFR_RNDN);
    mpfr_div_ui(angle, angle, (unsigned long)n, MPFR_RNDN);
    mpfr_sin(angle, angle, MPFR_RNDN);
    all[n + k] = mpfr_get_d(angle, MPFR_RNDN);
    mpfr_mul_ui(angle, turn, (unsigned long)k, MPFR_RNDN);
    mpfr_div_ui(angle, angle, (unsigned long)n, MPFR_RNDN);
    mpfr_cos(angle, angle, MPFR_RNDN);
    all[k] = mpfr_get_d(angle, MPFR_RNDN);
  }
  mpfr_clears(angle, turn, (mpfr_ptr)NULL);
  return all;
}

/* What the norm may exceed the largest at the angles of an axis by: 1 / cos(pi degree / ANGLES), or more; nothing on a circle. */
static double
between_angles(const clarke_convolution *c, size_t axis)
{
  const double all[MOST_DEGREE + 1] = {1, 1.0824, 1.41422};

  return c->around[axis] <= MOST_AROUND ? 1 : all[c->degree[axis]];
}

/* Numbers of symbols that are made together, at most, if one alone has no more. */
#define TOGETHER ((size_t)1 << 18)

/* Symbols of a block, made together: those of some angles, of which one is taken of two that are opposite: there they are
 * conjugate. */
typedef struct {
  const clarke_convolution *c;
  size_t outer, angles[2];
  double *cosine, *sine; /* of the parts of a turn: as many as there are angles of both axes together */
  size_t n, most;        /* so many, of at most so many together */
  size_t *angle;         /* most: first times angles[1], and second */
  double *wave;          /* two rows a symbol, one number a tap */
  double *part;          /* two matrices a symbol, the real part A and the imaginary B */
  double *room;          /* of a symbol */
} symbols;

static size_t
opposite_of(const symbols *q, size_t angle)
{
  const size_t n0 = q->angles[0], n1 = q->angles[1];

  return (n0 - angle / n1) % n0 * n1 + (n1 - angle % n1) % n1;
}

/* The next angles, from `angle` on; what follows them. */
static size_t
next_angles(symbols *q, size_t angle)
{
  const clarke_convolution *c = q->c;
  const size_t turn = q->angles[0] * q->angles[1];

  for (q->n = 0; q->n < q->most && angle < turn; angle++) {
    double *wave = q->wave + 2 * q->n * c->taps;

    if (opposite_of(q, angle) < angle)
      continue;
    q->angle[q->n++] = angle;
    for (size_t t = 0; t < c->taps; t++) {
      const size_t k = angle / q->angles[1] * q->angles[1] * (size_t)(c->offset[0][t] - c->least[0]) +
                       angle % q->angles[1] * q->angles[0] * (size_t)(c->offset[1][t] - c->least[1]);

      wave[t] = q->cosine[k % turn];
      wave[c->taps + t] = q->sine[k % turn];
    }
  }
  return angle;
}

/* The symbols of a block at these angles: products of waves and taps. */
static void
make_symbols(const symbols *q, const double *w)
{
  const int numbers = (int)(q->outer * q->c->channels), taps = (int)q->c->taps;

  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(2 * q->n), numbers, taps, 1, q->wave, taps, w, taps, 0, q->part, numbers);
}

/* Symbol k as a real matrix of twice as many rows and columns, [A, -B; B, A]; where B is 0 as A alone. */
static const double *
lay_symbol(const symbols *q, size_t k, bool real)
{
  const size_t channels = q->c->channels, outer = q->outer, n = outer * channels;
  const double *a = q->part + 2 * k * n, *b = a + n;

  for (size_t o = 0; o < outer && !real; o++) {
    double *row = q->room + 2 * o * channels, *low = row + 2 * n;

    memcpy(row, a + o * channels, channels * sizeof *row);
    memcpy(low + channels, a + o * channels, channels * sizeof *row);
    memcpy(low, b + o * channels, channels * sizeof *row);
    for (size_t i = 0; i < channels; i++)
      row[channels + i] = -b[o * channels + i];
  }
  return real ? a : q->room;
}

/* At least the norm of n numbers. */
static double
euclidean(const double *v, size_t n)
{
  double most = 0, square = 0;

  for (size_t e = 0; e < n; e++)
    most = fmax(most, fabs(v[e]));
  for (size_t e = 0; e < n && most > 0; e++)
    square += v[e] / most * (v[e] / most);
  return clarke_up_by(most * sqrt(square), (double)(n + 8));
}

/* At least the norm of the matrix of one row or column of complex numbers, or of any. */
static clarke_status
symbol_norm(double *norm, const double *symbol, size_t outer, size_t channels, bool real, clarke_error *err)
{
  const size_t rows = (real ? 1 : 2) * outer, cols = (real ? 1 : 2) * channels;

  if (outer > 1 && channels > 1)
    return clarke_operator_norm(norm, symbol, rows, cols, err);
  *norm = euclidean(symbol, rows * cols) * (real ? 1 : clarke_up_by(sqrt(0.5), 4)); /* each number is there twice */
  return CLARKE_OK;
}

/* At least the norm of a block's largest symbol. */
static clarke_status
block_norm(double *norm, symbols *q, const double *w, clarke_error *err)
{
  const clarke_convolution *c = q->c;
  const double taps = (double)c->taps, size = euclidean(w, q->outer * c->channels * c->taps);
  /* each entry of a symbol is a sum of `taps` products with cosines, which are rounded: off by no more than (taps + 3) u of
   * the sum of sizes, at most sqrt(taps) times their norm; twice, for A and B, and twice in the matrix */
  const double off = clarke_taken(2 * (taps + 3), sqrt(taps) * size);
  clarke_status status = CLARKE_OK;

  *norm = size == 0 || size >= 0x1p-900 ? 0 : NAN; /* what underflows is below off */
  for (size_t at = next_angles(q, 0); q->n > 0 && status == CLARKE_OK; at = next_angles(q, at)) {
    make_symbols(q, w);
    for (size_t k = 0; k < q->n && status == CLARKE_OK; k++) {
      const bool real = opposite_of(q, q->angle[k]) == q->angle[k];
      double here = 0;

      status = symbol_norm(&here, lay_symbol(q, k, real), q->outer, c->channels, real, err);
      *norm = here <= *norm ? *norm : here; /* a NaN is kept */
    }
  }
  *norm = clarke_up_by((*norm + off) * between_angles(c, 0) * between_angles(c, 1), 0x1p12);
  return status;
}

/* Room for symbols of these angles. */
static clarke_status
symbols_init(symbols *q, clarke_error *err)
{
  const size_t n = q->outer * q->c->channels, turn = q->angles[0] * q->angles[1];

  q->most = TOGETHER / (2 * n + 1) + 1;
  q->most = q->most < turn ? q->most : turn;
  q->cosine = cosines(turn);
  q->sine = q->cosine != NULL ? q->cosine + turn : NULL;
  q->angle = malloc((q->most + 1) * sizeof *q->angle);
  q->wave = malloc((2 * q->most * (q->c->taps + n) + 4 * n + 1) * sizeof *q->wave);
  if (q->cosine == NULL || q->angle == NULL || q->wave == NULL)
    return clarke_no_memory(err);
  q->part = q->wave + 2 * q->most * q->c->taps;
  q->room = q->part + 2 * q->most * n;
  return CLARKE_OK;
}

clarke_status
clarke_convolution_norm(double *norm, const clarke_convolution *c, const clarke_step *s, const double *w, clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  symbols q = {.c = c, .outer = d->outer, .angles = {angles_of(c, 0), angles_of(c, 1)}};
  clarke_status status = CLARKE_OK;

  *norm = INFINITY;
  if (!are_enough(c))
    return CLARKE_OK;
  status = symbols_init(&q, err);
  *norm = status == CLARKE_OK ? 0 : INFINITY;
  for (size_t b = 0; b < (d->grouped ? d->blocks : 1) && status == CLARKE_OK; b++) {
    double here = 0;

    status = block_norm(&here, &q, w + b * d->outer * d->inner, err);
    *norm = here <= *norm ? *norm : here;
  }
  free(q.cosine);
  free(q.angle);
  free(q.wave);
  if (!(*norm >= 0)) /* a NaN */
    *norm = INFINITY;
  return status;
}
