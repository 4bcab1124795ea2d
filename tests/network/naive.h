/* Models evaluated straight from docs/operators.md, node by node on whole ONNX tensors (the batch
 * an axis like any other), in rationals, each with its tangent. Nothing here is shared with the
 * library but the model itself. */
#ifndef CLARKE_TESTS_NETWORK_NAIVE_H
#define CLARKE_TESTS_NETWORK_NAIVE_H

#include "models.h"

#include <gmp.h>

enum { NAIVE_RANK = 10, NAIVE_MOST = 128, NAIVE_BITS = 400 };

typedef struct {
  char *name;
  size_t rank, dims[NAIVE_RANK], count;
  mpq_t *v, *t;
  int64_t *integer;
} naive;

typedef struct {
  const clarke_model *m;
  size_t n;
  naive value[NAIVE_MOST];
  /* The slope at a kink where the sides' differ; left when it says so. */
  void (*proxy)(mpq_t slope, const char *op, size_t kink, const mpq_t left, const mpq_t right);
  /* What AD takes of tied entries: (1 - beta) of the first (last), beta of their mean. */
  bool last;
  double beta;
  size_t ties; /* windows with several largest entries */
} naive_run;

static inline naive *
naive_new(naive_run *r, const char *name, size_t rank, const size_t *dims)
{
  naive *x = &r->value[r->n++];

  ck_assert_uint_lt(r->n, NAIVE_MOST);
  memset(x, 0, sizeof *x);
  x->name = strdup(name);
  x->rank = rank;
  x->count = 1;
  for (size_t a = 0; a < rank; a++)
    x->count *= x->dims[a] = dims[a];
  x->v = malloc((x->count + 1) * sizeof *x->v);
  x->t = malloc((x->count + 1) * sizeof *x->t);
  for (size_t e = 0; e < x->count; e++)
    mpq_inits(x->v[e], x->t[e], NULL);
  return x;
}

static inline void
naive_clear(naive_run *r)
{
  for (size_t i = 0; i < r->n; i++) {
    naive *x = &r->value[i];

    for (size_t e = 0; e < x->count; e++)
      mpq_clears(x->v[e], x->t[e], NULL);
    free(x->v);
    free(x->t);
    free(x->name);
  }
  r->n = 0;
}

static inline naive *
naive_find(naive_run *r, const char *name)
{
  for (size_t i = r->n; i-- > 0;)
    if (strcmp(r->value[i].name, name) == 0)
      return &r->value[i];
  return NULL;
}

/* The entry of x that index (of a shape it broadcasts to, by its last axes) reads. */
static inline size_t
naive_at(const naive *x, const size_t *index, size_t rank)
{
  size_t at = 0;

  for (size_t a = 0; a < x->rank; a++)
    at = at * x->dims[a] + (x->dims[a] == 1 ? 0 : index[a + rank - x->rank]);
  return at;
}

static inline void
naive_index(size_t *index, const naive *y, size_t entry)
{
  for (size_t a = y->rank; a-- > 0; entry /= y->dims[a])
    index[a] = entry % y->dims[a];
}

/* v += a b, t += a' b + a b' */
static inline void
naive_fma(naive *y, size_t e, const naive *a, size_t i, const naive *b, size_t j)
{
  mpq_t q;

  mpq_init(q);
  mpq_mul(q, a->v[i], b->v[j]);
  mpq_add(y->v[e], y->v[e], q);
  mpq_mul(q, a->t[i], b->v[j]);
  mpq_add(y->t[e], y->t[e], q);
  mpq_mul(q, a->v[i], b->t[j]);
  mpq_add(y->t[e], y->t[e], q);
  mpq_clear(q);
}

static inline void
naive_divide(naive *y, size_t e, const naive *a, size_t i, const naive *b, size_t j)
{
  mpq_t q;

  mpq_init(q);
  mpq_div(y->v[e], a->v[i], b->v[j]);
  mpq_mul(q, y->v[e], b->t[j]);
  mpq_sub(q, a->t[i], q);
  mpq_div(y->t[e], q, b->v[j]);
  mpq_clear(q);
}

static inline void
naive_arithmetic(naive_run *r, const clarke_model_node *node, const naive *a, const naive *b)
{
  size_t rank = a->rank > b->rank ? a->rank : b->rank, dims[NAIVE_RANK], index[NAIVE_RANK];
  char op = node->op_type[0];
  naive *y;

  for (size_t x = 0; x < rank; x++) {
    size_t p = x + a->rank < rank ? 1 : a->dims[x + a->rank - rank];
    size_t q = x + b->rank < rank ? 1 : b->dims[x + b->rank - rank];

    dims[x] = p == 1 ? q : p;
  }
  y = naive_new(r, node->out[0], rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    size_t i, j;

    naive_index(index, y, e);
    i = naive_at(a, index, rank);
    j = naive_at(b, index, rank);
    if (op == 'M')
      naive_fma(y, e, a, i, b, j);
    else if (op == 'D')
      naive_divide(y, e, a, i, b, j);
    else {
      (op == 'A' ? mpq_add : mpq_sub)(y->v[e], a->v[i], b->v[j]);
      (op == 'A' ? mpq_add : mpq_sub)(y->t[e], a->t[i], b->t[j]);
    }
  }
}

/* NumPy's matmul; an operand of one axis is a row on the left, a column on the right. */
static inline void
naive_matmul(naive_run *r, const clarke_model_node *node, const naive *a, const naive *b)
{
  size_t ra = a->rank == 1 ? 2 : a->rank, rb = b->rank == 1 ? 2 : b->rank;
  size_t m = a->rank == 1 ? 1 : a->dims[a->rank - 2], k = a->dims[a->rank - 1];
  size_t n = b->rank == 1 ? 1 : b->dims[b->rank - 1];
  const naive *many = ra > rb ? a : b;
  size_t lead = (ra > rb ? ra : rb) - 2, dims[NAIVE_RANK], rank = lead, blocks = 1;
  naive *y;

  for (size_t x = 0; x < lead; x++)
    blocks *= dims[x] = many->dims[x];
  if (a->rank > 1)
    dims[rank++] = m;
  if (b->rank > 1)
    dims[rank++] = n;
  y = naive_new(r, node->out[0], rank, dims);
  for (size_t e = 0; e < blocks * m * n; e++)
    for (size_t l = 0; l < k; l++) {
      size_t block = e / (m * n), row = e / n % m, column = e % n;

      naive_fma(y, e, a, (ra > 2 ? block : 0) * m * k + row * k + l, b,
                (rb > 2 ? block : 0) * k * n + l * n + column);
    }
}

static inline int64_t
naive_int(const clarke_model_node *node, const char *name, int64_t absent)
{
  for (size_t i = 0; i < node->n_attr; i++)
    if (strcmp(node->attr[i].name, name) == 0)
      return node->attr[i].i;
  return absent;
}

static inline double
naive_float(const clarke_model_node *node, const char *name, double absent)
{
  for (size_t i = 0; i < node->n_attr; i++)
    if (strcmp(node->attr[i].name, name) == 0)
      return node->attr[i].f;
  return absent;
}

static inline void
naive_gemm(naive_run *r, const clarke_model_node *node, const naive *a, const naive *b,
           const naive *c)
{
  bool trans = naive_int(node, "transB", 0) != 0;
  size_t k = a->dims[1], n = b->dims[trans ? 0 : 1], index[2];
  naive *y = naive_new(r, node->out[0], 2, (size_t[]){a->dims[0], n});
  mpq_t alpha, beta, q;

  mpq_inits(alpha, beta, q, NULL);
  mpq_set_d(alpha, naive_float(node, "alpha", 1));
  mpq_set_d(beta, naive_float(node, "beta", 1));
  for (size_t e = 0; e < y->count; e++) {
    for (size_t l = 0; l < k; l++)
      naive_fma(y, e, a, e / n * k + l, b, trans ? e % n * k + l : l * n + e % n);
    mpq_mul(y->v[e], y->v[e], alpha);
    mpq_mul(y->t[e], y->t[e], alpha);
    if (c == NULL)
      continue;
    naive_index(index, y, e);
    mpq_mul(q, c->v[naive_at(c, index, 2)], beta);
    mpq_add(y->v[e], y->v[e], q);
    mpq_mul(q, c->t[naive_at(c, index, 2)], beta);
    mpq_add(y->t[e], y->t[e], q);
  }
  mpq_clears(alpha, beta, q, NULL);
}

/* One entry of a function that is polynomial between two kinks: below lo, between, above hi. */
typedef struct {
  bool has[2];
  mpq_t kink[2], coef[3][3];
} naive_pieces;

static inline void
naive_side(mpq_t slope, const naive_pieces *p, size_t piece, const mpq_t x)
{
  mpq_mul(slope, p->coef[piece][2], x);
  mpq_add(slope, slope, slope);
  mpq_add(slope, slope, p->coef[piece][1]);
}

/* slope[f] (a naive tensor, or NULL) multiplies x in piece 0 and moves. */
static inline void
naive_pass(naive_run *r, const char *op, naive *y, size_t e, const naive *x,
           const naive_pieces *p, const naive *slope, size_t f)
{
  mpq_t left, right, q;
  size_t piece = 1;
  bool touched = false;

  mpq_inits(left, right, q, NULL);
  if (p->has[0] && mpq_cmp(x->v[e], p->kink[0]) < 0)
    piece = 0;
  if (p->has[1] && mpq_cmp(x->v[e], p->kink[1]) > 0)
    piece = 2;
  naive_side(q, p, piece, x->v[e]);
  for (size_t k = 0; k < 2; k++)
    if (p->has[k] && mpq_equal(x->v[e], p->kink[k])) {
      naive_side(left, p, k, x->v[e]);
      naive_side(right, p, k + 1, x->v[e]);
      touched = !mpq_equal(left, right);
      if (touched)
        r->proxy(q, op, k, left, right);
    }
  mpq_mul(y->t[e], q, x->t[e]);
  mpq_mul(q, p->coef[piece][2], x->v[e]);
  mpq_add(q, q, p->coef[piece][1]);
  mpq_mul(q, q, x->v[e]);
  mpq_add(y->v[e], q, p->coef[piece][0]);
  if (slope != NULL && piece == 0) {
    mpq_mul(q, x->v[e], slope->t[f]);
    mpq_add(y->t[e], y->t[e], q);
  }
  mpq_clears(left, right, q, NULL);
}

static inline void
naive_set_pieces(naive_pieces *p, naive_run *r, const clarke_model_node *node)
{
  const char *op = node->op_type;

  p->has[0] = true;
  p->has[1] = false;
  if (strcmp(op, "Abs") == 0)
    mpq_set_si(p->coef[0][1], -1, 1);
  if (strcmp(op, "LeakyRelu") == 0)
    mpq_set_d(p->coef[0][1], naive_float(node, "alpha", (double)0.01f));
  mpq_set_si(p->coef[1][1], 1, 1);
  if (strcmp(op, "HardSwish") == 0) {
    p->has[1] = true;
    mpq_set_si(p->kink[0], -3, 1);
    mpq_set_si(p->kink[1], 3, 1);
    mpq_set_si(p->coef[1][1], 1, 2);
    mpq_set_si(p->coef[1][2], 1, 6);
    mpq_set_si(p->coef[2][1], 1, 1);
  } else if (strcmp(op, "HardSigmoid") == 0) {
    p->has[1] = true;
    mpq_set_d(p->coef[1][1], naive_float(node, "alpha", (double)0.2f));
    mpq_set_d(p->coef[1][0], naive_float(node, "beta", 0.5));
    if (naive_float(node, "alpha", 0) == (double)(1.0f / 6.0f))
      mpq_set_si(p->coef[1][1], 1, 6);
    mpq_set_si(p->coef[2][0], 1, 1);
    mpq_div(p->kink[0], p->coef[1][0], p->coef[1][1]);
    mpq_neg(p->kink[0], p->kink[0]);
    mpq_sub(p->kink[1], p->coef[2][0], p->coef[1][0]);
    mpq_div(p->kink[1], p->kink[1], p->coef[1][1]);
  } else if (strcmp(op, "Clip") == 0) {
    for (size_t k = 0; k < 2; k++) {
      p->has[k] = node->n_in > k + 1 && node->in[k + 1][0] != '\0';
      if (!p->has[k])
        continue;
      mpq_set(p->kink[k], naive_find(r, node->in[k + 1])->v[0]);
      mpq_set(p->coef[2 * k][0], p->kink[k]);
    }
  }
}

static inline void
naive_piecewise(naive_run *r, const clarke_model_node *node, const naive *x)
{
  naive *y = naive_new(r, node->out[0], x->rank, x->dims);
  const naive *slope = strcmp(node->op_type, "PRelu") == 0 ? naive_find(r, node->in[1]) : NULL;
  size_t index[NAIVE_RANK], f = 0;
  naive_pieces p;

  for (size_t i = 0; i < 9; i++)
    mpq_init(p.coef[i / 3][i % 3]);
  mpq_inits(p.kink[0], p.kink[1], NULL);
  naive_set_pieces(&p, r, node);
  for (size_t e = 0; e < y->count; e++) {
    naive_index(index, y, e);
    if (slope != NULL) {
      f = naive_at(slope, index, x->rank);
      mpq_set(p.coef[0][1], slope->v[f]);
    }
    naive_pass(r, node->op_type, y, e, x, &p, slope, f);
  }
  for (size_t i = 0; i < 9; i++)
    mpq_clear(p.coef[i / 3][i % 3]);
  mpq_clears(p.kink[0], p.kink[1], NULL);
}

/* The same entries in a shape of these axes. */
static inline void
naive_reshaped(naive_run *r, const clarke_model_node *node, const naive *x, size_t rank,
               const size_t *dims)
{
  naive *y = naive_new(r, node->out[0], rank, dims);

  ck_assert_uint_eq(y->count, x->count);
  for (size_t e = 0; e < y->count; e++) {
    mpq_set(y->v[e], x->v[e]);
    mpq_set(y->t[e], x->t[e]);
  }
}

static inline void
naive_transpose(naive_run *r, const clarke_model_node *node, const naive *x)
{
  size_t dims[NAIVE_RANK], from[NAIVE_RANK], index[NAIVE_RANK], perm[NAIVE_RANK];
  naive *y;

  for (size_t a = 0; a < x->rank; a++) {
    perm[a] = node->n_attr > 0 ? (size_t)node->attr[0].ints[a] : x->rank - 1 - a;
    dims[a] = x->dims[perm[a]];
  }
  y = naive_new(r, node->out[0], x->rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    naive_index(index, y, e);
    for (size_t a = 0; a < x->rank; a++)
      from[perm[a]] = index[a];
    mpq_set(y->v[e], x->v[naive_at(x, from, x->rank)]);
    mpq_set(y->t[e], x->t[naive_at(x, from, x->rank)]);
  }
}

static inline void
naive_shape_op(naive_run *r, const clarke_model_node *node, const naive *x)
{
  size_t dims[NAIVE_RANK] = {1, 1}, rank = 0, known = 1, open = NAIVE_RANK;
  const int64_t *list = node->n_in > 1 ? naive_find(r, node->in[1])->integer : NULL;
  size_t n = node->n_in > 1 ? naive_find(r, node->in[1])->count : 0;
  bool marked[NAIVE_RANK] = {false};

  if (node->op_type[0] == 'F') {
    for (size_t a = 0; a < x->rank; a++)
      dims[a == 0 ? 0 : 1] *= x->dims[a];
    rank = 2;
  } else if (node->op_type[0] == 'R') {
    for (rank = 0; rank < n; rank++) {
      dims[rank] = list[rank] == 0 ? x->dims[rank] : list[rank] == -1 ? 1 : (size_t)list[rank];
      open = list[rank] == -1 ? rank : open;
      known *= dims[rank];
    }
    if (open < NAIVE_RANK)
      dims[open] = x->count / known;
  } else {
    bool insert = node->op_type[0] == 'U';
    size_t total = x->rank + (insert ? n : 0), from = 0;

    for (size_t i = 0; i < n; i++)
      marked[list[i] < 0 ? (size_t)(list[i] + (int64_t)total) : (size_t)list[i]] = true;
    for (size_t a = 0; a < total; a++) {
      if (insert || !marked[a])
        dims[rank++] = marked[a] ? 1 : x->dims[from];
      from += !(insert && marked[a]);
    }
  }
  naive_reshaped(r, node, x, rank, dims);
}

/* --- windows, means, normalization, and what joins and pads -------------------------------------- */

static inline const clarke_attr *
naive_attr(const clarke_model_node *node, const char *name)
{
  for (size_t i = 0; i < node->n_attr; i++)
    if (strcmp(node->attr[i].name, name) == 0)
      return &node->attr[i];
  return NULL;
}

/* A convolution's or a pooling's geometry along axes 2 and 3 (the last one of a single entry when
 * there is none), as ONNX states it. */
typedef struct {
  size_t axes;
  long in[2], kernel[2], stride[2], dilation[2], before[2], after[2], out[2];
  bool cropped; /* auto_pad pads by less than nothing, or a pool with dilations: it is refused */
} naive_window;

static inline long
naive_ceil(long a, long b)
{
  return a / b + (a % b > 0);
}

static inline void
naive_window_set(naive_window *w, const clarke_model_node *node, const naive *x, const naive *weight)
{
  const clarke_attr *kernel = naive_attr(node, "kernel_shape"), *pads = naive_attr(node, "pads");
  const clarke_attr *strides = naive_attr(node, "strides");
  const clarke_attr *dilations = naive_attr(node, "dilations");
  const clarke_attr *automatic = naive_attr(node, "auto_pad");
  bool ceil_mode = naive_int(node, "ceil_mode", 0) != 0, conv = strcmp(node->op_type, "Conv") == 0;

  w->axes = x->rank - 2;
  w->cropped = false;
  for (size_t a = 0; a < 2; a++) {
    bool here = a < w->axes;
    long reach, room;

    w->in[a] = here ? (long)x->dims[a + 2] : 1;
    w->kernel[a] = !here ? 1 : weight != NULL ? (long)weight->dims[a + 2] : (long)kernel->ints[a];
    w->stride[a] = here && strides != NULL ? (long)strides->ints[a] : 1;
    w->dilation[a] = here && dilations != NULL ? (long)dilations->ints[a] : 1;
    w->before[a] = here && pads != NULL ? (long)pads->ints[a] : 0;
    w->after[a] = here && pads != NULL ? (long)pads->ints[a + w->axes] : 0;
    reach = (w->kernel[a] - 1) * w->dilation[a] + 1;
    if (automatic != NULL && automatic->s[0] == 'S') {
      long total;

      w->out[a] = naive_ceil(w->in[a], w->stride[a]);
      total = (w->out[a] - 1) * w->stride[a] + reach - w->in[a];
      w->cropped = w->cropped || (conv ? total < -1 : total < 0 || w->dilation[a] > 1);
      total = total > 0 ? total : 0;
      w->before[a] = strcmp(automatic->s, "SAME_LOWER") == 0 ? naive_ceil(total, 2) : total / 2;
      w->after[a] = total - w->before[a];
      continue;
    }
    room = w->in[a] + w->before[a] + w->after[a] - reach;
    w->out[a] = (ceil_mode ? naive_ceil(room, w->stride[a]) : -naive_ceil(-room, w->stride[a])) + 1;
    if (ceil_mode && (w->out[a] - 1) * w->stride[a] >= w->in[a] + w->before[a])
      w->out[a]--;
  }
}

/* The entry of plane x[n, c] at the place that tap (i, j) of the window at (p, q) reads; -1 in the
 * padding, -2 past it. */
static inline long
naive_tap(const naive_window *w, long p, long q, long i, long j)
{
  const long at[2] = {p * w->stride[0] + i * w->dilation[0] - w->before[0],
                      q * w->stride[1] + j * w->dilation[1] - w->before[1]};

  for (size_t a = 0; a < 2; a++)
    if (at[a] >= w->in[a] + w->after[a])
      return -2;
  for (size_t a = 0; a < 2; a++)
    if (at[a] < 0 || at[a] >= w->in[a])
      return -1;
  return at[0] * w->in[1] + at[1];
}

static inline naive *
naive_windowed(naive_run *r, const clarke_model_node *node, const naive *x, size_t channels,
               const naive_window *w)
{
  size_t dims[4] = {x->dims[0], channels, (size_t)w->out[0], (size_t)w->out[1]};

  ck_assert(w->out[0] > 0 && w->out[1] > 0);
  return naive_new(r, node->out[0], x->rank, dims);
}

/* y[n, o, p, q] = b[o] + sum of W[o, c, i, j] x[n, g C + c, ...], g the group of o. */
static inline void
naive_conv(naive_run *r, const clarke_model_node *node, const naive *x, const naive *weight,
           const naive *bias)
{
  size_t outputs = weight->dims[0], each = weight->dims[1];
  size_t per_group = outputs / (size_t)naive_int(node, "group", 1), e = 0;
  naive_window w;
  naive *y;

  naive_window_set(&w, node, x, weight);
  y = naive_windowed(r, node, x, outputs, &w);
  for (size_t n = 0; n < x->dims[0]; n++)
    for (size_t o = 0; o < outputs; o++)
      for (long p = 0; p < w.out[0]; p++)
        for (long q = 0; q < w.out[1]; q++, e++) {
          for (size_t c = 0; c < each; c++)
            for (long k = 0; k < w.kernel[0] * w.kernel[1]; k++) {
              long at = naive_tap(&w, p, q, k / w.kernel[1], k % w.kernel[1]);
              size_t plane = n * x->dims[1] + o / per_group * each + c;

              if (at >= 0)
                naive_fma(y, e, weight,
                          (o * each + c) * (size_t)(w.kernel[0] * w.kernel[1]) + (size_t)k, x,
                          plane * (size_t)(w.in[0] * w.in[1]) + (size_t)at);
            }
          if (bias == NULL)
            continue;
          mpq_add(y->v[e], y->v[e], bias->v[o]);
          mpq_add(y->t[e], y->t[e], bias->t[o]);
        }
}

/* The maximum over the entries of x listed, and what AD takes. */
static inline void
naive_maximum(naive_run *r, naive *y, size_t e, const naive *x, const size_t *from, size_t n)
{
  size_t tied = 0, one = 0;
  mpq_t share, q;

  mpq_inits(share, q, NULL);
  for (size_t i = 0; i < n; i++) {
    int sign = i == 0 ? 1 : mpq_cmp(x->v[from[i]], y->v[e]);

    if (sign > 0)
      mpq_set(y->v[e], x->v[from[i]]);
    tied = sign > 0 ? 1 : tied + (sign == 0);
    if (sign > 0 || (sign == 0 && r->last))
      one = from[i];
  }
  r->ties += tied > 1;
  mpq_set_d(share, r->beta);
  mpq_set_ui(q, tied, 1);
  mpq_div(share, share, q);
  for (size_t i = 0; i < n; i++) {
    if (!mpq_equal(x->v[from[i]], y->v[e]))
      continue;
    mpq_mul(q, share, x->t[from[i]]);
    mpq_add(y->t[e], y->t[e], q);
  }
  mpq_set_d(q, 1 - r->beta);
  mpq_mul(q, q, x->t[one]);
  mpq_add(y->t[e], y->t[e], q);
  mpq_clears(share, q, NULL);
}

/* The maximum, or the mean over the entries, or over those and the padding. */
static inline void
naive_pool(naive_run *r, const clarke_model_node *node, const naive *x)
{
  bool max = node->op_type[0] == 'M', padding = naive_int(node, "count_include_pad", 0) != 0;
  size_t planes = x->dims[0] * x->dims[1], e = 0;
  naive_window w;
  naive *y;
  mpq_t all;

  mpq_init(all);
  naive_window_set(&w, node, x, NULL);
  y = naive_windowed(r, node, x, x->dims[1], &w);
  for (size_t plane = 0; plane < planes; plane++)
    for (long p = 0; p < w.out[0]; p++)
      for (long q = 0; q < w.out[1]; q++, e++) {
        size_t from[CLARKE_MAX_WIDTH], n = 0;
        unsigned long count = 0;

        for (long k = 0; k < w.kernel[0] * w.kernel[1]; k++) {
          long at = naive_tap(&w, p, q, k / w.kernel[1], k % w.kernel[1]);

          count += at >= 0 || (at == -1 && padding);
          if (at >= 0)
            from[n++] = plane * (size_t)(w.in[0] * w.in[1]) + (size_t)at;
        }
        ck_assert(n > 0);
        if (max) {
          naive_maximum(r, y, e, x, from, n);
          continue;
        }
        mpq_set_ui(all, count, 1);
        for (size_t i = 0; i < n; i++) {
          mpq_add(y->v[e], y->v[e], x->v[from[i]]);
          mpq_add(y->t[e], y->t[e], x->t[from[i]]);
        }
        mpq_div(y->v[e], y->v[e], all);
        mpq_div(y->t[e], y->t[e], all);
      }
  mpq_clear(all);
}

/* The mean over the axes marked, each of one entry in y, or gone. */
static inline void
naive_mean(naive_run *r, const clarke_model_node *node, const naive *x, const bool *over, bool keep)
{
  size_t dims[NAIVE_RANK], rank = 0, index[NAIVE_RANK];
  naive *y;
  mpq_t n;

  for (size_t a = 0; a < x->rank; a++)
    if (keep || !over[a])
      dims[rank++] = over[a] ? 1 : x->dims[a];
  y = naive_new(r, node->out[0], rank, dims);
  mpq_init(n);
  mpq_set_ui(n, x->count, y->count);
  mpq_canonicalize(n);
  for (size_t f = 0; f < x->count; f++) {
    size_t e = 0;

    naive_index(index, x, f);
    for (size_t a = 0; a < x->rank; a++)
      if (!over[a])
        e = e * x->dims[a] + index[a];
    mpq_add(y->v[e], y->v[e], x->v[f]);
    mpq_add(y->t[e], y->t[e], x->t[f]);
  }
  for (size_t e = 0; e < y->count; e++) {
    mpq_div(y->v[e], y->v[e], n);
    mpq_div(y->t[e], y->t[e], n);
  }
  mpq_clear(n);
}

static inline void
naive_reduce_mean(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const clarke_attr *attr = naive_attr(node, "axes");
  const naive *input = node->n_in > 1 ? naive_find(r, node->in[1]) : NULL;
  const int64_t *list = attr != NULL ? attr->ints : input != NULL ? input->integer : NULL;
  size_t n = attr != NULL ? attr->n : input != NULL ? input->count : 0;
  bool over[NAIVE_RANK], all = n == 0 && naive_int(node, "noop_with_empty_axes", 0) == 0;

  for (size_t a = 0; a < x->rank; a++)
    over[a] = all;
  for (size_t i = 0; i < n; i++)
    over[list[i] < 0 ? list[i] + (int64_t)x->rank : list[i]] = true;
  naive_mean(r, node, x, over, naive_int(node, "keepdims", 1) != 0);
}

static inline void
naive_global_average(naive_run *r, const clarke_model_node *node, const naive *x)
{
  bool over[NAIVE_RANK];

  for (size_t a = 0; a < x->rank; a++)
    over[a] = a >= 2;
  naive_mean(r, node, x, over, true);
}

/* The root of a square of a rational: tests choose variances so. */
static inline void
naive_root(mpq_t y, const mpq_t x)
{
  ck_assert(mpz_perfect_square_p(mpq_numref(x)) && mpz_perfect_square_p(mpq_denref(x)));
  mpz_sqrt(mpq_numref(y), mpq_numref(x));
  mpz_sqrt(mpq_denref(y), mpq_denref(x));
}

/* (x - mean) / sqrt(var + epsilon) * scale + B; mean and var do not move. */
static inline void
naive_batchnorm(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const naive *scale = naive_find(r, node->in[1]), *b = naive_find(r, node->in[2]);
  const naive *mean = naive_find(r, node->in[3]), *var = naive_find(r, node->in[4]);
  naive *y = naive_new(r, node->out[0], x->rank, x->dims);
  size_t repeat = 1;
  mpq_t q, root;

  mpq_inits(q, root, NULL);
  for (size_t a = 2; a < x->rank; a++)
    repeat *= x->dims[a];
  for (size_t e = 0; e < y->count; e++) {
    size_t c = e / repeat % x->dims[1];

    mpq_set_d(q, naive_float(node, "epsilon", (double)1e-5f));
    mpq_add(q, q, var->v[c]);
    naive_root(root, q);
    mpq_sub(q, x->v[e], mean->v[c]);
    mpq_div(q, q, root); /* normalized */
    mpq_mul(y->t[e], q, scale->t[c]);
    mpq_mul(q, q, scale->v[c]);
    mpq_add(y->v[e], q, b->v[c]);
    mpq_div(q, x->t[e], root);
    mpq_mul(q, q, scale->v[c]);
    mpq_add(y->t[e], y->t[e], q);
    mpq_add(y->t[e], y->t[e], b->t[c]);
  }
  mpq_clears(q, root, NULL);
}

/* Expand, Tile: along each axis the places modulo the length. */
static inline void
naive_repeat(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const naive *list = naive_find(r, node->in[1]);
  const size_t rank = list->count > x->rank ? list->count : x->rank;
  size_t dims[NAIVE_RANK];
  naive *y;

  for (size_t a = 0; a < rank; a++) {
    const size_t own = a + x->rank < rank ? 1 : x->dims[a + x->rank - rank];
    const size_t given = a + list->count < rank ? 1 : (size_t)list->integer[a + list->count - rank];

    dims[a] = node->op_type[0] == 'T' ? own * given : own == 1 ? given : own;
  }
  y = naive_new(r, node->out[0], rank, dims);
  for (size_t f = 0; f < y->count; f++) {
    size_t rest = f, from = 0, stride = 1;

    for (size_t a = rank, b = x->rank; b > 0; rest /= dims[a]) {
      a--;
      b--;
      from += rest % dims[a] % x->dims[b] * stride;
      stride *= x->dims[b];
    }
    mpq_set(y->v[f], x->v[from]);
    mpq_set(y->t[f], x->t[from]);
  }
}

/* A constant's batch axis of one entry goes to every sample. */
static inline void
naive_concat(naive_run *r, const clarke_model_node *node)
{
  const naive *part = naive_find(r, node->in[0]);
  size_t dims[NAIVE_RANK], index[NAIVE_RANK], axis, start = 0;
  naive *y;

  for (size_t i = 1; i < node->n_in; i++)
    if (naive_find(r, node->in[i])->dims[0] > part->dims[0])
      part = naive_find(r, node->in[i]);
  axis = (size_t)(naive_int(node, "axis", 0) + (naive_int(node, "axis", 0) < 0 ? (int64_t)part->rank
                                                                              : 0));
  memcpy(dims, part->dims, sizeof dims);
  dims[axis] = 0;
  for (size_t i = 0; i < node->n_in; i++)
    dims[axis] += naive_find(r, node->in[i])->dims[axis];
  y = naive_new(r, node->out[0], part->rank, dims);
  for (size_t i = 0; i < node->n_in; i++) {
    part = naive_find(r, node->in[i]);
    for (size_t e = 0; e < y->count; e++) {
      size_t from;

      naive_index(index, y, e);
      if (index[axis] < start || index[axis] - start >= part->dims[axis])
        continue;
      index[axis] -= start;
      from = 0;
      for (size_t a = 0; a < part->rank; a++)
        from = from * part->dims[a] + (part->dims[a] == 1 ? 0 : index[a]);
      mpq_set(y->v[e], part->v[from]);
      mpq_set(y->t[e], part->t[from]);
    }
    start += part->dims[axis];
  }
}

static inline void
naive_pad(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const clarke_attr *attr = naive_attr(node, "pads");
  const naive *listed = node->n_in > 3 ? naive_find(r, node->in[3]) : NULL;
  const int64_t *pads = attr != NULL ? attr->ints : naive_find(r, node->in[1])->integer;
  size_t n = listed != NULL ? listed->count : x->rank, dims[NAIVE_RANK], index[NAIVE_RANK];
  long before[NAIVE_RANK] = {0};
  naive *y;

  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 0; i < n; i++) {
    int64_t named = listed != NULL ? listed->integer[i] : (int64_t)i;
    size_t a = (size_t)(named < 0 ? named + (int64_t)x->rank : named);

    before[a] = (long)pads[i];
    dims[a] = (size_t)((int64_t)dims[a] + pads[i] + pads[i + n]);
  }
  y = naive_new(r, node->out[0], x->rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    size_t from = 0;
    bool inside = true;

    naive_index(index, y, e);
    for (size_t a = 0; a < x->rank; a++) {
      long at = (long)index[a] - before[a];

      inside = inside && at >= 0 && at < (long)x->dims[a];
      from = from * x->dims[a] + (size_t)at;
    }
    if (inside)
      mpq_set(y->v[e], x->v[from]);
    if (inside)
      mpq_set(y->t[e], x->t[from]);
  }
}

/* 1/sqrt(x): exact when it is rational, else a dyadic less than 2^-NAIVE_BITS below it. */
static inline void
naive_root_reciprocal(mpq_t y, const mpq_t x)
{
  if (mpz_perfect_square_p(mpq_numref(x)) && mpz_perfect_square_p(mpq_denref(x))) {
    naive_root(y, x);
    mpq_inv(y, y);
    return;
  }
  mpq_inv(y, x);
  mpz_mul_2exp(mpq_numref(y), mpq_numref(y), 2 * NAIVE_BITS);
  mpz_tdiv_q(mpq_numref(y), mpq_numref(y), mpq_denref(y));
  mpz_sqrt(mpq_numref(y), mpq_numref(y));
  mpz_set_ui(mpq_denref(y), 1);
  mpq_div_2exp(y, y, NAIVE_BITS);
}

/* 1 / x, and the root of x > 0. */
static inline void
naive_inside(naive_run *r, const clarke_model_node *node, const naive *x)
{
  naive *y = naive_new(r, node->out[0], x->rank, x->dims);
  const bool root = node->op_type[0] == 'S';

  for (size_t e = 0; e < y->count; e++) {
    if (root) {
      naive_root_reciprocal(y->t[e], x->v[e]);
      mpq_inv(y->v[e], y->t[e]);
      mpq_div_2exp(y->t[e], y->t[e], 1);
    } else {
      mpq_inv(y->v[e], x->v[e]);
      mpq_mul(y->t[e], y->v[e], y->v[e]);
      mpq_neg(y->t[e], y->t[e]);
    }
    mpq_mul(y->t[e], y->t[e], x->t[e]);
  }
}

/* Group and channel of every entry of x. */
static inline void
naive_groups(const clarke_model_node *node, const naive *x, size_t *group, size_t *channel)
{
  size_t index[NAIVE_RANK], space = 1, each = 1, axis = 0;
  char op = node->op_type[0];

  for (size_t a = 2; a < x->rank; a++)
    space *= x->dims[a];
  if (op == 'L')
    axis = (size_t)(naive_int(node, "axis", -1) + (naive_int(node, "axis", -1) < 0 ? (long)x->rank : 0));
  for (size_t a = axis; a < x->rank && op == 'L'; a++)
    each *= x->dims[a];
  if (op == 'G')
    each = x->dims[1] / (size_t)naive_int(node, "num_groups", 1) * space;
  for (size_t e = 0; e < x->count; e++) {
    naive_index(index, x, e);
    channel[e] = x->rank > 1 ? index[1] : 0;
    group[e] = op == 'B' ? channel[e] : op == 'I' ? e / space : e / each;
  }
}

/* y = (x - mean) / sqrt(var + epsilon) over the entries of one group, marked; the tangent is
 * (x' - mean') / root - (x - mean) mean((x - mean) x') / root^3. */
static inline void
naive_normalize_group(naive *y, const naive *x, const size_t *group, size_t one, double epsilon)
{
  mpq_t n, mean, slope, var, along, root, c, q;
  size_t count = 0;

  mpq_inits(n, mean, slope, var, along, root, c, q, NULL);
  for (size_t e = 0; e < x->count; e++)
    if (group[e] == one) {
      count++;
      mpq_add(mean, mean, x->v[e]);
      mpq_add(slope, slope, x->t[e]);
    }
  mpq_set_ui(n, 1, count);
  mpq_mul(mean, mean, n);
  mpq_mul(slope, slope, n);
  for (size_t e = 0; e < x->count; e++)
    if (group[e] == one) {
      mpq_sub(c, x->v[e], mean);
      mpq_mul(q, c, c);
      mpq_add(var, var, q);
      mpq_mul(q, c, x->t[e]);
      mpq_add(along, along, q);
    }
  mpq_mul(var, var, n);
  mpq_mul(along, along, n);
  mpq_set_d(q, epsilon);
  mpq_add(var, var, q);
  naive_root_reciprocal(root, var);
  for (size_t e = 0; e < x->count; e++)
    if (group[e] == one) {
      mpq_sub(c, x->v[e], mean);
      mpq_mul(y->v[e], c, root);
      mpq_sub(q, x->t[e], slope);
      mpq_mul(y->t[e], q, root);
      mpq_mul(q, y->v[e], along);
      mpq_mul(q, q, root);
      mpq_mul(q, q, root);
      mpq_sub(y->t[e], y->t[e], q);
    }
  mpq_clears(n, mean, slope, var, along, root, c, q, NULL);
}

/* y scale + B, each read as the operator says. */
static inline void
naive_affine(naive_run *r, const clarke_model_node *node, naive *y, const size_t *channel)
{
  const naive *scale = naive_find(r, node->in[1]);
  const naive *b = node->n_in > 2 ? naive_find(r, node->in[2]) : NULL;
  size_t index[NAIVE_RANK];
  mpq_t q;

  mpq_init(q);
  for (size_t e = 0; e < y->count; e++) {
    size_t i, j = 0;

    naive_index(index, y, e);
    if (node->op_type[0] == 'L') {
      i = naive_at(scale, index, y->rank);
      j = b != NULL ? naive_at(b, index, y->rank) : 0;
    } else
      i = j = channel[e] * scale->count / y->dims[1];
    mpq_mul(y->t[e], y->t[e], scale->v[i]);
    mpq_mul(q, y->v[e], scale->t[i]);
    mpq_add(y->t[e], y->t[e], q);
    mpq_mul(y->v[e], y->v[e], scale->v[i]);
    if (b == NULL)
      continue;
    mpq_add(y->v[e], y->v[e], b->v[j]);
    mpq_add(y->t[e], y->t[e], b->t[j]);
  }
  mpq_clear(q);
}

/* LayerNormalization, InstanceNormalization, GroupNormalization, BatchNormalization in training. */
static inline void
naive_normalize(naive_run *r, const clarke_model_node *node, const naive *x)
{
  naive *y = naive_new(r, node->out[0], x->rank, x->dims);
  size_t *group = malloc((2 * x->count + 1) * sizeof *group), *channel = group + x->count, most = 0;

  naive_groups(node, x, group, channel);
  for (size_t e = 0; e < x->count; e++)
    most = group[e] > most ? group[e] : most;
  for (size_t one = 0; one <= most; one++)
    naive_normalize_group(y, x, group, one, naive_float(node, "epsilon", (double)1e-5f));
  naive_affine(r, node, y, channel);
  free(group);
}

static inline void
naive_global_maximum(naive_run *r, const clarke_model_node *node, const naive *x)
{
  size_t dims[NAIVE_RANK], space = 1, from[CLARKE_MAX_WIDTH];
  naive *y;

  for (size_t a = 0; a < x->rank; a++) {
    dims[a] = a < 2 ? x->dims[a] : 1;
    space *= a < 2 ? 1 : x->dims[a];
  }
  y = naive_new(r, node->out[0], x->rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    for (size_t i = 0; i < space; i++)
      from[i] = e * space + i;
    naive_maximum(r, y, e, x, from, space);
  }
}

/* x, or minus it, under a name that no node has. */
static inline naive *
naive_signed(naive_run *r, const naive *x, bool minus)
{
  naive *y = naive_new(r, "(signed)", x->rank, x->dims);

  for (size_t e = 0; e < y->count; e++) {
    (minus ? mpq_neg : mpq_set)(y->v[e], x->v[e]);
    (minus ? mpq_neg : mpq_set)(y->t[e], x->t[e]);
  }
  return y;
}

static inline void
naive_turn(naive *y, bool minus)
{
  for (size_t e = 0; e < y->count && minus; e++) {
    mpq_neg(y->v[e], y->v[e]);
    mpq_neg(y->t[e], y->t[e]);
  }
}

/* ReduceMax, ReduceMin: entries of x at the output's index where an axis is kept, and anywhere along those that are not. */
static inline void
naive_reduced_extremum(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const clarke_attr *attr = naive_attr(node, "axes");
  const naive *list = node->n_in > 1 ? naive_find(r, node->in[1]) : NULL;
  const size_t named = attr != NULL ? attr->n : list != NULL ? list->count : 0;
  const bool minus = strcmp(node->op_type, "ReduceMin") == 0, keep = naive_int(node, "keepdims", 1) != 0;
  bool over[NAIVE_RANK] = {false};
  size_t dims[NAIVE_RANK], rank = 0, index[NAIVE_RANK], from[CLARKE_MAX_WIDTH], n;
  const naive *turned = naive_signed(r, x, minus);
  naive *y;

  for (size_t i = 0; i < named; i++) {
    const int64_t a = attr != NULL ? attr->ints[i] : list->integer[i];

    over[a < 0 ? a + (int64_t)x->rank : a] = true;
  }
  for (size_t a = 0; a < x->rank; a++)
    over[a] = over[a] || named == 0;
  for (size_t a = 0; a < x->rank; a++)
    if (keep || !over[a])
      dims[rank++] = over[a] ? 1 : x->dims[a];
  y = naive_new(r, node->out[0], rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    n = 0;
    for (size_t f = 0; f < x->count; f++) {
      size_t at = 0;

      naive_index(index, x, f);
      for (size_t a = 0; a < x->rank; a++)
        at = over[a] ? at : at * x->dims[a] + index[a];
      if (at == e)
        from[n++] = f;
    }
    naive_maximum(r, y, e, turned, from, n);
  }
  naive_turn(y, minus);
}

/* Max, Min, of inputs that broadcast. */
static inline void
naive_extremum(naive_run *r, const clarke_model_node *node)
{
  const bool minus = node->op_type[1] == 'i';
  const size_t n = node->n_in;
  const naive *x[CLARKE_MAX_WIDTH];
  size_t dims[NAIVE_RANK], index[NAIVE_RANK], from[CLARKE_MAX_WIDTH], rank = 0;
  naive *y, *all = naive_new(r, "(all)", 1, &n);

  for (size_t i = 0; i < n; i++) {
    x[i] = naive_find(r, node->in[i]);
    from[i] = i;
    rank = x[i]->rank > rank ? x[i]->rank : rank;
  }
  for (size_t a = 0; a < rank; a++) {
    dims[a] = 1;
    for (size_t i = 0; i < n; i++)
      if (a + x[i]->rank >= rank && x[i]->dims[a + x[i]->rank - rank] != 1)
        dims[a] = x[i]->dims[a + x[i]->rank - rank];
  }
  y = naive_new(r, node->out[0], rank, dims);
  for (size_t e = 0; e < y->count; e++) {
    naive_index(index, y, e);
    for (size_t i = 0; i < n; i++) {
      const size_t at = naive_at(x[i], index, rank);

      (minus ? mpq_neg : mpq_set)(all->v[i], x[i]->v[at]);
      (minus ? mpq_neg : mpq_set)(all->t[i], x[i]->t[at]);
    }
    naive_maximum(r, y, e, all, from, n);
  }
  naive_turn(y, minus);
}

/* Is entry a of x before entry b in the order asked for? Of equal ones the first is. */
static inline bool
naive_before(const naive *x, size_t a, size_t b, bool largest)
{
  const int sign = mpq_cmp(x->v[a], x->v[b]);

  return sign == 0 ? a < b : (sign > 0) == largest;
}

/* TopK, Sorted: of each line the entry that so many others are before. */
static inline void
naive_sorted(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const int64_t at = naive_int(node, "axis", -1), k = node->n_in > 1 ? naive_find(r, node->in[1])->integer[0] : naive_int(node, "k", 0);
  const size_t axis = (size_t)(at < 0 ? at + (int64_t)x->rank : at), n = x->dims[axis];
  const bool largest = naive_int(node, "largest", 1) != 0;
  size_t dims[NAIVE_RANK], behind = 1;
  naive *y;

  memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[axis] = (size_t)k;
  for (size_t a = axis + 1; a < x->rank; a++)
    behind *= x->dims[a];
  y = naive_new(r, node->out[0], x->rank, dims);
  for (size_t e = 0; e < x->count; e++) {
    const size_t line = e / behind / n * n * behind + e % behind;
    size_t place = 0;

    for (size_t i = 0; i < n; i++) {
      const size_t other = line + i * behind;

      place += other != e && naive_before(x, other, e, largest);
      r->ties += other != e && mpq_equal(x->v[other], x->v[e]);
    }
    if (place < (size_t)k) {
      const size_t to = (e / behind / n * (size_t)k + place) * behind + e % behind;

      mpq_set(y->v[to], x->v[e]);
      mpq_set(y->t[to], x->t[e]);
    }
  }
}

/* False when the node is none of these. */
/* RNN with relu, from the equation of docs/operators.md: each entry of Y in the order of time. No initial state. */
static inline void
naive_recurrent(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const naive *w = naive_find(r, node->in[1]), *q = naive_find(r, node->in[2]);
  const naive *b = node->n_in > 3 ? naive_find(r, node->in[3]) : NULL;
  const clarke_attr *way = naive_attr(node, "direction");
  const size_t times = x->dims[0], rows = x->dims[1], inputs = x->dims[2], ways = w->dims[0], units = w->dims[1];
  naive *sum, *y, *one;
  naive_pieces p;

  sum = naive_new(r, "", 4, (size_t[]){times, ways, rows, units});
  y = naive_new(r, node->out[0], 4, sum->dims);
  one = naive_new(r, "", 0, NULL);
  mpq_set_si(one->v[0], 1, 1);
  for (size_t i = 0; i < 9; i++)
    mpq_init(p.coef[i / 3][i % 3]);
  mpq_inits(p.kink[0], p.kink[1], NULL);
  p.has[0] = true;
  p.has[1] = false;
  mpq_set_si(p.coef[1][1], 1, 1);
  for (size_t d = 0; d < ways; d++)
    for (size_t s = 0; s < times; s++)
      for (size_t f = 0; f < rows * units; f++) {
        const bool back = d == 1 || (way != NULL && way->s[0] == 'r');
        const size_t t = back ? times - 1 - s : s, before = back ? t + 1 : t - 1, row = f / units, u = f % units;
        const size_t e = (t * ways + d) * rows * units + f;

        for (size_t i = 0; i < inputs; i++)
          naive_fma(sum, e, x, (t * rows + row) * inputs + i, w, (d * units + u) * inputs + i);
        for (size_t i = 0; s > 0 && i < units; i++)
          naive_fma(sum, e, y, ((before * ways + d) * rows + row) * units + i, q, (d * units + u) * units + i);
        for (size_t i = 0; b != NULL && i < 2; i++)
          naive_fma(sum, e, one, 0, b, (2 * d + i) * units + u);
        naive_pass(r, "Relu", y, e, sum, &p, NULL, 0);
      }
  for (size_t i = 0; i < 9; i++)
    mpq_clear(p.coef[i / 3][i % 3]);
  mpq_clears(p.kink[0], p.kink[1], NULL);
}

static inline bool
naive_convolutional(naive_run *r, const clarke_model_node *node, const naive *x)
{
  const char *op = node->op_type;

  if (strcmp(op, "Conv") == 0)
    naive_conv(r, node, x, naive_find(r, node->in[1]),
               node->n_in > 2 ? naive_find(r, node->in[2]) : NULL);
  else if (strcmp(op, "MaxPool") == 0 || strcmp(op, "AveragePool") == 0)
    naive_pool(r, node, x);
  else if (strcmp(op, "GlobalAveragePool") == 0)
    naive_global_average(r, node, x);
  else if (strcmp(op, "ReduceMean") == 0)
    naive_reduce_mean(r, node, x);
  else if (strcmp(op, "BatchNormalization") == 0 && naive_int(node, "training_mode", 0) == 0)
    naive_batchnorm(r, node, x);
  else if (strstr(op, "Normalization") != NULL)
    naive_normalize(r, node, x);
  else if (strcmp(op, "GlobalMaxPool") == 0)
    naive_global_maximum(r, node, x);
  else if (strcmp(op, "ReduceMax") == 0 || strcmp(op, "ReduceMin") == 0)
    naive_reduced_extremum(r, node, x);
  else if ((strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0) && node->n_in > 1)
    naive_extremum(r, node);
  else if (strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0)
    naive_reshaped(r, node, x, x->rank, x->dims);
  else if (strcmp(op, "Expand") == 0 || strcmp(op, "Tile") == 0)
    naive_repeat(r, node, x);
  else if (strcmp(op, "TopK") == 0 || strcmp(op, "Sorted") == 0)
    naive_sorted(r, node, x);
  else if (strcmp(op, "Concat") == 0)
    naive_concat(r, node);
  else if (strcmp(op, "Pad") == 0)
    naive_pad(r, node, x);
  else if (strcmp(op, "RNN") == 0)
    naive_recurrent(r, node, x);
  else
    return false;
  return true;
}

static inline void
naive_node(naive_run *r, const clarke_model_node *node)
{
  static const char *const pointwise[] = {"Relu", "LeakyRelu", "PRelu", "Abs", "Clip",
                                          "HardSigmoid", "HardSwish"};
  const char *op = node->op_type;
  const naive *x = naive_find(r, node->in[0]);
  const naive *b = node->n_in > 1 ? naive_find(r, node->in[1]) : NULL;

  for (size_t i = 0; i < sizeof pointwise / sizeof pointwise[0]; i++)
    if (strcmp(op, pointwise[i]) == 0) {
      naive_piecewise(r, node, x);
      return;
    }
  if (naive_convolutional(r, node, x))
    return;
  if (strcmp(op, "MatMul") == 0)
    naive_matmul(r, node, x, b);
  else if (strcmp(op, "Gemm") == 0)
    naive_gemm(r, node, x, b, node->n_in > 2 ? naive_find(r, node->in[2]) : NULL);
  else if (strcmp(op, "Transpose") == 0)
    naive_transpose(r, node, x);
  else if (strcmp(op, "Identity") == 0 || strcmp(op, "Dropout") == 0)
    naive_reshaped(r, node, x, x->rank, x->dims);
  else if (strcmp(op, "Reciprocal") == 0 || strcmp(op, "Sqrt") == 0)
    naive_inside(r, node, x);
  else if (strchr("ASMD", op[0]) != NULL && strlen(op) == 3)
    naive_arithmetic(r, node, x, b);
  else
    naive_shape_op(r, node, x);
}

static inline void
naive_load(naive_run *r, const char *name, const clarke_tensor *t)
{
  naive *x = naive_new(r, name, t->rank, t->dims);

  x->integer = t->integer;
  for (size_t e = 0; e < t->count && t->real != NULL; e++)
    mpq_set_d(x->v[e], t->real[e]);
}

/* Initializers and the batch; then the caller may set tangents and call naive_go. */
static inline void
naive_begin(naive_run *r, const clarke_model *m, const clarke_tensor *x)
{
  r->m = m;
  r->n = 0;
  for (size_t i = 0; i < m->n_tensors; i++)
    naive_load(r, m->tensors[i].name, &m->tensors[i]);
  naive_load(r, m->inputs[0].name, x);
}

static inline void
naive_go(naive_run *r)
{
  for (size_t i = 0; i < r->m->n_nodes; i++)
    naive_node(r, &r->m->nodes[i]);
}

#endif
