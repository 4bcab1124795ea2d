/* Models evaluated straight from docs/operators.md, node by node on whole ONNX tensors (the batch
 * an axis like any other), in rationals, each with its tangent. Nothing here is shared with the
 * library but the model itself. */
#ifndef CLARKE_TESTS_REPLAY_NAIVE_H
#define CLARKE_TESTS_REPLAY_NAIVE_H

#include "../graph/models.h"

#include <gmp.h>

enum { NAIVE_RANK = 10, NAIVE_MOST = 128 };

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
  if (strcmp(op, "MatMul") == 0)
    naive_matmul(r, node, x, b);
  else if (strcmp(op, "Gemm") == 0)
    naive_gemm(r, node, x, b, node->n_in > 2 ? naive_find(r, node->in[2]) : NULL);
  else if (strcmp(op, "Transpose") == 0)
    naive_transpose(r, node, x);
  else if (strcmp(op, "Identity") == 0 || strcmp(op, "Dropout") == 0)
    naive_reshaped(r, node, x, x->rank, x->dims);
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
