/* Convolutions of 3 x 3 kernels in doubles, by Winograd's algorithm: F(m x m, 3 x 3) of Lavin and Gray (2015), m = 2 or 4.
 *
 * A tile of m x m outputs is At (G w Gt . Bt d B) A, summed over the planes, d being (m + 2) x (m + 2) inputs, and . the product
 * entry by entry: a^2 multiplications instead of 9 m^2, a = m + 2. Where a plane of 2 x 2 has a border of zeros, a = 3 suffices. It is bilinear, so that the weight's gradient comes by the same matrices,
 * transposed: Gt (A g At . Bt d B) G, summed over tiles and samples. It loses some bits. Of float32 numbers doubles have 29
 * to spare; how many are lost is bounded by the matrices' absolute sums (docs/rounding-bound.md). */
#include "trace/certify/sieve.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* Columns of a panel: more would leave the cache, and take new pages. */
#define WIDTH 255
/* Planes below which transforms cost more than they save. */
#define FEWEST 16
/* Transformed numbers of kernels that are kept at hand; rows of them at least. */
#define AT_HAND 2400000
#define LEAST_ROWS 32
/* Kernels that are transformed together. */
#define BLOCK 64
/* Roundings of all transforms, and some to spare: of G w Gt twice 4, of each of the others twice 7 at most. */
#define TRANSFORMS 64

#define A CLARKE_WINOGRAD_MOST

typedef struct {
  size_t m, a;
  double bt[A][A], g[A][3], at[A][A];
} algorithm;

static const algorithm two = {
  2, 4,
  {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
  {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
  {{1, 1, 1, 0}, {0, 1, -1, -1}},
};
static const algorithm four = {
  4, 6,
  {{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
  {{1.0 / 4, 0, 0},
   {-1.0 / 6, -1.0 / 6, -1.0 / 6},
   {-1.0 / 6, 1.0 / 6, -1.0 / 6},
   {1.0 / 24, 1.0 / 12, 1.0 / 6},
   {1.0 / 24, -1.0 / 12, 1.0 / 6},
   {0, 0, 1}},
  {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
};

/* Where only d1 and d2 of d are no zeros: the outputs are w1 d1 + w2 d2 and w0 d1 + w1 d2, and w1 (d1 + d2) is in both. */
static const algorithm bordered = {
  2, 3,
  {{0, 1, 1, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}},
  {{0, 1, 0}, {0, -1, 1}, {1, -1, 0}},
  {{1, 1, 0}, {1, 0, 1}},
};

/* --- which steps --- */

/* Is every entry of the operand the one that such a convolution reads? */
static bool
is_laid_out_so(const clarke_sieve_conv *c, const size_t *map)
{
  size_t at = 0;

  for (size_t p = 0; p < c->planes; p++)
    for (size_t tap = 0; tap < 9; tap++)
      for (size_t y = 0; y < c->oh; y++)
        for (size_t x = 0; x < c->ow; x++, at++) {
          const size_t sy = y + tap / 3 - c->top, sx = x + tap % 3 - c->left; /* beyond the sizes where they wrap below 0 */

          if (map[at] != (sy < c->h && sx < c->w ? (p * c->h + sy) * c->w + sx : CLARKE_NONE))
            return false;
        }
  return true;
}

bool
clarke_sieve_is_conv(clarke_sieve_conv *c, const clarke_sieve *s, const clarke_step *dense)
{
  const clarke_dense *d = &dense->dense;
  const size_t *map = clarke_sieve_map(s, dense), source = clarke_sieve_source(s, dense);
  const clarke_value *x = source != CLARKE_NONE ? &s->g->values[source] : NULL;

  if (map == NULL || x == NULL || x->rank != 3 || d->blocks != 1 || d->transposed || d->inner != 9 * x->dims[0]
      || x->dims[0] < FEWEST || d->outer < FEWEST || d->inner > INT_MAX / s->n || d->outer > INT_MAX / s->n)
    return false;
  for (size_t border = 0; border < 9; border++) {
    *c = (clarke_sieve_conv){.planes = x->dims[0], .h = x->dims[1], .w = x->dims[2], .top = border / 3, .left = border % 3};
    for (c->oh = 1; c->oh <= c->h + 2 && c->oh <= d->repeat; c->oh++) {
      c->ow = d->repeat / c->oh;
      if (c->oh * c->ow == d->repeat && c->ow <= c->w + 2 && is_laid_out_so(c, map))
        return true;
    }
  }
  return false;
}

/* --- transforms --- */

/* to = the sum of l[k] in[k * step], or += it; n numbers each. NULL: zeros. */
CLARKE_WIDE static void
combine(double *restrict to, const double *l, size_t q, const double *const *in, size_t step, size_t n, bool add)
{
  const double *x[A + 3];
  double c[A + 3];
  size_t terms = 0;

  for (size_t k = 0; k < q; k++)
    if (l[k] != 0 && in[k * step] != NULL) {
      c[terms] = l[k];
      x[terms++] = in[k * step];
    }
  for (size_t more = 1; terms > 0 && more < 4; more++) { /* four at a time */
    c[terms + more - 1] = 0;
    x[terms + more - 1] = x[0];
  }
  for (size_t k = 0; k < terms; k += 4, add = true) {
    const double *a0 = x[k], *a1 = x[k + 1], *a2 = x[k + 2], *a3 = x[k + 3];
    const double c0 = c[k], c1 = c[k + 1], c2 = c[k + 2], c3 = c[k + 3];

    for (size_t j = 0; j < n && add; j++)
      to[j] += (c0 * a0[j] + c1 * a1[j]) + (c2 * a2[j] + c3 * a3[j]);
    for (size_t j = 0; j < n && !add; j++)
      to[j] = (c0 * a0[j] + c1 * a1[j]) + (c2 * a2[j] + c3 * a3[j]);
  }
  if (!add)
    memset(to, 0, n * sizeof *to);
}

/* out = L in Lt, or += it: L is p x q in rows of A, in q x q vectors, out p x p (NULL: not asked for). */
static void
transform(double *const *out, const double (*l)[A], size_t p, size_t q, const double *const *in, double *room, size_t n, bool add)
{
  const double *half[A * A];

  for (size_t i = 0; i < p; i++)
    for (size_t j = 0; j < q; j++) {
      combine(room + (i * q + j) * n, l[i], q, in + j, q, n, false);
      half[i * q + j] = room + (i * q + j) * n;
    }
  for (size_t i = 0; i < p; i++)
    for (size_t j = 0; j < p; j++)
      if (out[i * p + j] != NULL)
        combine(out[i * p + j], l[j], q, half + i * q, 1, n, add);
}

/* Planes of h x w entries, n numbers each, in tiles; a panel has the transforms of some of them: a^2 x planes x columns. */
typedef struct {
  const algorithm *k;
  size_t n;
  size_t across, tiles; /* tiles in a row; in all */
  size_t from, columns; /* of the panel: its first tile; tiles times n */
  double *room, *wide;  /* for (m + 2)^2 vectors each */
} tiling;

/* How many inputs a tile has in a row. */
static size_t
side_of(const tiling *t)
{
  return t->k->m + 2;
}

/* Where the tile's entry (i, j) is in its plane; CLARKE_NONE: beyond it. The tile's first row and column are m times its place less
 * the border. */
static size_t
entry_of(const tiling *t, size_t h, size_t w, size_t tile, size_t i, size_t j, size_t top, size_t left)
{
  const size_t y = tile / t->across * t->k->m + i - top, x = tile % t->across * t->k->m + j - left;

  return y < h && x < w ? (y * w + x) * t->n : CLARKE_NONE;
}

static double *
in_panel(const tiling *t, double *panel, size_t planes, size_t point, size_t plane, size_t tile)
{
  return panel + (point * planes + plane) * t->columns + (tile - t->from) * t->n;
}

/* The panel of x by Bt, with a border, or of a gradient by A: a matrix of a rows. */
static void
to_panel(double *panel, const tiling *t, const float *x, size_t planes, size_t h, size_t w, const double (*l)[A], size_t side,
         size_t top, size_t left)
{
  const size_t a = t->k->a;
  const double *in[A * A];
  double *out[A * A];

  for (size_t p = 0; p < planes; p++)
    for (size_t tile = t->from; tile < t->from + t->columns / t->n; tile++) {
      for (size_t e = 0; e < side * side; e++) {
        const size_t at = entry_of(t, h, w, tile, e / side, e % side, top, left);

        in[e] = at != CLARKE_NONE ? t->wide + e * t->n : NULL;
        if (at != CLARKE_NONE)
          clarke_sieve_widen(t->wide + e * t->n, x + p * h * w * t->n + at, t->n);
      }
      for (size_t e = 0; e < a * a; e++)
        out[e] = in_panel(t, panel, planes, e, p, tile);
      transform(out, l, a, side, in, t->room, t->n, false);
    }
}

/* y = At panel A, or += it. */
static void
from_panel(double *y, const tiling *t, double *panel, size_t planes, size_t h, size_t w, bool add)
{
  const size_t a = t->k->a, m = t->k->m;
  const double *in[A * A];
  double *out[A * A];

  for (size_t p = 0; p < planes; p++)
    for (size_t tile = t->from; tile < t->from + t->columns / t->n; tile++) {
      for (size_t e = 0; e < a * a; e++)
        in[e] = in_panel(t, panel, planes, e, p, tile);
      for (size_t e = 0; e < m * m; e++) {
        const size_t at = entry_of(t, h, w, tile, e / m, e % m, 0, 0);

        out[e] = at != CLARKE_NONE ? y + p * h * w * t->n + at : NULL;
      }
      transform(out, t->k->at, m, a, in, t->room, t->n, add);
    }
}

/* --- products --- */

typedef struct {
  tiling t;
  double *in, *out, *matrix; /* panels of what is read and written; for each point a matrix of rows x what is read */
  size_t rows;               /* of what is written, whose kernels are at hand at a time */
} work;

static const algorithm *
algorithm_of(const clarke_sieve_conv *c, size_t oh, size_t ow)
{
  if (c->h == 2 && c->w == 2 && c->oh == 2 && c->ow == 2 && c->top == 1 && c->left == 1)
    return &bordered;
  return oh < 4 && ow < 4 ? &two : &four;
}

static bool
begin(work *k, clarke_sieve *s, const clarke_sieve_conv *c, size_t oh, size_t ow, size_t in, size_t out)
{
  const algorithm *by = algorithm_of(c, oh, ow);
  const size_t across = (ow + by->m - 1) / by->m, tiles = across * ((oh + by->m - 1) / by->m);
  const size_t most = WIDTH / s->n + 1 < tiles ? WIDTH / s->n + 1 : tiles, points = by->a * by->a;

  *k = (work){.t = {.k = by, .n = s->n, .across = across, .tiles = tiles, .columns = most * s->n}};
  k->in = clarke_sieve_take_doubles(s, points * in * k->t.columns);
  k->out = clarke_sieve_take_doubles(s, points * out * k->t.columns);
  k->rows = AT_HAND / (points * in) + LEAST_ROWS;
  k->matrix = clarke_sieve_take_doubles(s, points * in * (k->rows < out ? k->rows : out));
  k->t.room = clarke_sieve_take_doubles(s, side_of(&k->t) * side_of(&k->t) * s->n);
  k->t.wide = clarke_sieve_take_doubles(s, side_of(&k->t) * side_of(&k->t) * s->n);
  return k->in != NULL && k->out != NULL && k->matrix != NULL && k->t.room != NULL && k->t.wide != NULL;
}

static void
end(const work *k, clarke_sieve *s)
{
  clarke_sieve_leave(s, k->in);
  clarke_sieve_leave(s, k->out);
  clarke_sieve_leave(s, k->matrix);
  clarke_sieve_leave(s, k->t.room);
  clarke_sieve_leave(s, k->t.wide);
}

/* Tiles from .. on, as many as go into a panel; false: there are none. */
static bool
next(tiling *t, size_t from, size_t most)
{
  t->from = from;
  t->columns = (t->tiles - from < most ? t->tiles - from : most) * t->n;
  return from < t->tiles;
}

/* to = the sum of c[k] in[k], m < n numbers each. */
static inline void
mix(double *restrict to, const double *c, size_t line, double (*in)[BLOCK], size_t step, size_t m, size_t n)
{
  for (size_t e = 0; e < n; e++)
    to[e] = c[0] * in[0][e];
  for (size_t k = 1; k < m; k++)
    for (size_t e = 0; e < n && c[k * line] != 0; e++)
      to[e] += c[k * line] * in[k * step][e];
}

/* The transformed kernels of rows first .. first + rows of what is written: a^2 matrices of rows x what is read. w: outer x planes
 * kernels; back: of planes, which are written from what is outside, and of kernels that are turned about. */
CLARKE_WIDE static void
kernels(double *matrix, const work *k, const double *w, size_t outer, size_t planes, size_t first, size_t rows, bool back)
{
  const size_t a = k->t.k->a, in = back ? outer : planes;
  double tap[9][BLOCK], half[A * 3][BLOCK];

  for (size_t row = 0; row < rows; row++)
    for (size_t from = 0; from < in; from += BLOCK) {
      const size_t n = in - from < BLOCK ? in - from : BLOCK;

      for (size_t e = 0; e < n; e++)
        for (size_t t = 0; t < 9; t++)
          tap[back ? 8 - t : t][e] = w[(back ? (from + e) * planes + first + row : (first + row) * planes + from + e) * 9 + t];
      for (size_t i = 0; i < a; i++)
        for (size_t c = 0; c < 3; c++)
          mix(half[i * 3 + c], k->t.k->g[i], 1, tap + c, 3, 3, n);
      for (size_t point = 0; point < a * a; point++)
        mix(matrix + (point * rows + row) * in + from, k->t.k->g[point % a], 1, half + point / a * 3, 1, 3, n);
    }
}

/* y = the convolution of x, in planes of h x w, with the kernels, or += it; of oh x ow outputs. back: with the transposed. */
static bool
convolve(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const double *w, const float *x, double *y, bool back, bool add)
{
  const size_t in = back ? outer : c->planes, out = back ? c->planes : outer;
  const size_t h = back ? c->oh : c->h, width = back ? c->ow : c->w, oh = back ? c->h : c->oh, ow = back ? c->w : c->ow;
  work k;
  const bool well = begin(&k, s, c, oh, ow, in, out);
  const size_t most = k.t.columns / s->n;

  for (size_t from = 0; well && next(&k.t, from, most); from += most) {
    to_panel(k.in, &k.t, x, in, h, width, k.t.k->bt, side_of(&k.t), back ? 2 - c->top : c->top, back ? 2 - c->left : c->left);
    for (size_t first = 0, rows; first < out; first += rows) {
      rows = out - first < k.rows ? out - first : k.rows;
      if (from == 0 || rows < out) /* else all are at hand */
        kernels(k.matrix, &k, w, outer, c->planes, first, rows, back);
      for (size_t point = 0; point < k.t.k->a * k.t.k->a; point++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)k.t.columns, (int)in, 1,
                    k.matrix + point * rows * in, (int)in, in_panel(&k.t, k.in, in, point, 0, from), (int)k.t.columns, 0,
                    in_panel(&k.t, k.out, out, point, first, from), (int)k.t.columns);
    }
    from_panel(y, &k.t, k.out, out, oh, ow, add);
  }
  end(&k, s);
  return well;
}

bool
clarke_sieve_conv_run(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const double *w, const float *x, double *y)
{
  return convolve(s, c, outer, w, x, y, false, false);
}

bool
clarke_sieve_conv_back(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const double *w, const float *g, double *x,
                       bool add)
{
  return convolve(s, c, outer, w, g, x, true, add);
}

/* w = Gt matrices G, of so many kernels, or += it. */
CLARKE_WIDE static void
make_kernels(double *w, const work *k, size_t count, bool add)
{
  const size_t a = k->t.k->a;
  const double *g = k->t.k->g[0];
  double point[A * A][BLOCK], half[3 * A][BLOCK], tap[BLOCK];

  for (size_t from = 0; from < count; from += BLOCK) {
    const size_t n = count - from < BLOCK ? count - from : BLOCK;

    for (size_t p = 0; p < a * a; p++)
      memcpy(point[p], k->matrix + p * count + from, n * sizeof *point[p]);
    for (size_t j = 0; j < 3 * a; j++)
      mix(half[j], g + j / a, 3, point + j % a, a, a, n);
    for (size_t t = 0; t < 9; t++) {
      mix(tap, g + t % 3, 3, half + t / 3 * a, 1, a, n);
      for (size_t e = 0; e < n; e++)
        w[(from + e) * 9 + t] = (add ? w[(from + e) * 9 + t] : 0) + tap[e];
    }
  }
}

bool
clarke_sieve_conv_weight(clarke_sieve *s, const clarke_sieve_conv *c, size_t outer, const float *x, const float *g, double *w,
                         bool add)
{
  double a[A][A] = {{0}};
  const double (*turned)[A] = (const double (*)[A])a;
  work k;
  const bool well = begin(&k, s, c, c->oh, c->ow, c->planes, outer);
  const size_t most = k.t.columns / s->n;

  for (size_t i = 0; i < A * A; i++)
    a[i / A][i % A] = k.t.k->at[i % A][i / A];
  for (size_t from = 0; well && next(&k.t, from, most); from += most) {
    to_panel(k.in, &k.t, x, c->planes, c->h, c->w, k.t.k->bt, side_of(&k.t), c->top, c->left);
    to_panel(k.out, &k.t, g, outer, c->oh, c->ow, turned, k.t.k->m, 0, 0);
    for (size_t first = 0, rows; first < outer; first += rows) {
      rows = outer - first < k.rows ? outer - first : k.rows;
      for (size_t point = 0; point < k.t.k->a * k.t.k->a; point++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)c->planes, (int)k.t.columns, 1,
                    in_panel(&k.t, k.out, outer, point, first, from), (int)k.t.columns,
                    in_panel(&k.t, k.in, c->planes, point, 0, from), (int)k.t.columns, 0, k.matrix + point * rows * c->planes,
                    (int)c->planes);
      make_kernels(w + first * c->planes * 9, &k, rows * c->planes, add || from > 0);
    }
  }
  end(&k, s);
  return well;
}

/* --- what it loses --- */

/* The absolute sum of point k's row. */
static double
row_sum(const double *l, size_t n)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += fabs(l[i]);
  return sum;
}

/* What a number 1 of each input can add up to in an output at most: sum of |At| |G| |Bt|, point by point. */
static double
loss_of_output(const algorithm *k)
{
  double most = 0;

  for (size_t i = 0; i < k->m; i++) {
    double sum = 0;

    for (size_t point = 0; point < k->a; point++)
      sum += fabs(k->at[i][point]) * row_sum(k->g[point], 3) * row_sum(k->bt[point], A);
    most = fmax(most, sum);
  }
  return most;
}

/* The same of a kernel's gradient: G's column in the place of At's row, and At's columns in that of G's rows. */
static double
loss_of_weight(const algorithm *k)
{
  double most = 0;

  for (size_t tap = 0; tap < 3; tap++) {
    double sum = 0;

    for (size_t point = 0; point < k->a; point++) {
      double column = 0;

      for (size_t i = 0; i < k->m; i++)
        column += fabs(k->at[i][point]);
      sum += fabs(k->g[point][tap]) * column * row_sum(k->bt[point], A);
    }
    most = fmax(most, sum);
  }
  return most;
}

/* The algorithms at their worst, which is F(4 x 4, 3 x 3)'s. */
double
clarke_sieve_conv_slack(size_t planes, double top)
{
  const double loss = loss_of_output(&four);

  return clarke_sieve_slack((double)planes + TRANSFORMS, clarke_sieve_up(loss * loss) * top);
}

double
clarke_sieve_conv_weight_slack(const clarke_sieve_conv *c, size_t n, double top)
{
  const double loss = loss_of_weight(&four), tiles = (double)((c->oh + 1) / 2) * (double)((c->ow + 1) / 2);

  return clarke_sieve_slack(tiles * (double)(n + A * A) + TRANSFORMS, clarke_sieve_up(2 * loss * loss) * top);
}
