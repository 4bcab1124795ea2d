/* Arithmetic of whole numbers: an exporter's nodes that compute a shape. */
#include "integers.h"
#include "allocate.h"

#include <string.h>

static bool
is_whole(const value *v, size_t type)
{
  return v->name != NULL && v->constant != NULL && v->constant->type == type && !v->constant->real;
}

bool
of_integers(const builder *b)
{
  bool all = b->node->n_in > 0;
  for (size_t i = 0; i < b->node->n_in; i++)
    all = all && is_whole(&b->in[i], INT64);
  return all;
}

static void
need_whole(const builder *b, size_t i, size_t type)
{
  need(is_whole(&b->in[i], type), "an input is no constant of 64-bit integers, or of truth values");
}

/* The node's output, a constant of zeros. */
static rational *
put_whole(builder *b, size_t type, size_t rank, const size_t *dims)
{
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){.name = "", .type = type, .rank = rank, .count = product(dims, rank)};
  need(t->count > 0 && t->count <= 65536, "no integers, or more than are computed");
  memcpy(t->dims, dims, rank * sizeof *dims);
  t->value = rationals(t->count);
  put(b, t, 0, NULL, rank, dims);
  return t->value;
}

/* to = x op y; x, y are whole. */
static void
compute(const builder *b, integer *to, const integer *x, const integer *y)
{
  bool divided = b->op[0] == 'D' || b->op[1] == 'o';
  need(!divided || (mpz_sgn(x) >= 0 && mpz_sgn(y) > 0), "a negative number is divided, or by none above 0");
  if (b->op[0] == 'A')
    mpz_add(to, x, y);
  else if (b->op[0] == 'S')
    mpz_sub(to, x, y);
  else if (b->op[0] == 'E')
    mpz_set_ui(to, mpz_cmp(x, y) == 0);
  else if (b->op[0] == 'D')
    mpz_tdiv_q(to, x, y);
  else if (divided)
    mpz_tdiv_r(to, x, y);
  else
    mpz_mul(to, x, y);
  need(mpz_fits_slong_p(to), "the result is no 64-bit integer");
}

void
lower_whole(builder *b)
{
  bool chosen = b->op[0] == 'W';
  value *x = &b->in[chosen], *y = x + 1, *if_so = chosen ? &b->in[0] : x, all;
  size_t dims[MAX_RANK], rank = broadcast(b, x, y, dims);
  need_whole(b, chosen, INT64);
  need_whole(b, chosen + 1, INT64);
  need_whole(b, 0, chosen ? BOOL : INT64);
  all = (value){.constant = x->constant, .rank = rank};
  memcpy(all.dims, dims, rank * sizeof *dims);
  rank = broadcast(b, &all, if_so, dims);
  value p = spread(b, x, rank, dims), q = spread(b, y, rank, dims), r = spread(b, if_so, rank, dims);
  rational *out = put_whole(b, b->op[0] == 'E' ? BOOL : INT64, rank, dims);
  for (size_t f = 0; f < b->out.count; f++) {
    const rational *left = &p.constant->value[p.map[f]], *right = &q.constant->value[q.map[f]];
    if (chosen)
      mpq_set(&out[f], mpq_sgn(&r.constant->value[r.map[f]]) != 0 ? left : right);
    else
      compute(b, mpq_numref(&out[f]), mpq_numref(left), mpq_numref(right));
  }
}

void
lower_listed(builder *b)
{
  size_t n = 0, at = 0;
  long axis = whole_attribute(b, "axis", 1);
  need(axis == 0 || axis == -1, "no axis, or not that of lists");
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(b->in[i].rank == 1, "not lists");
    n += b->in[i].count;
  }
  rational *out = put_whole(b, INT64, 1, &n);
  for (size_t i = 0; i < b->node->n_in; i++)
    for (size_t j = 0; j < b->in[i].count; j++)
      mpq_set(&out[at++], &b->in[i].constant->value[b->in[i].map[j]]);
}

void
lower_shape(builder *b)
{
  const value *x = &b->in[0];
  size_t whole[MAX_RANK];
  long rank = (long)x->rank, end[2] = {whole_attribute(b, "start", 0), whole_attribute(b, "end", rank)};
  for (size_t i = 0; i < 2; i++) {
    end[i] += end[i] < 0 ? rank : 0;
    end[i] = end[i] < 0 ? 0 : end[i] > rank ? rank : end[i];
  }
  need(end[0] < end[1], "no axes");
  size_t n = (size_t)(end[1] - end[0]);
  rational *out = put_whole(b, INT64, 1, &n);
  whole_run(b, x, whole);
  for (size_t i = 0; i < n; i++)
    mpq_set_ui(&out[i], whole[i + (size_t)end[0]], 1);
}

void
lower_filled(builder *b)
{
  const tensor *with = find_attribute(b, "value");
  long list[MAX_RANK];
  size_t dims[MAX_RANK];
  need_whole(b, 0, INT64);
  size_t rank = whole_list(b, 0, "", list);
  need(with != NULL && with->type == INT64 && with->count == 1, "its value is no 64-bit integer");
  for (size_t i = 0; i < rank; i++) {
    need(list[i] > 0 && list[i] <= INT32_MAX, "not a shape");
    dims[i] = (size_t)list[i];
  }
  rational *out = put_whole(b, INT64, rank, dims);
  for (size_t i = 0; i < b->out.count; i++)
    mpq_set(&out[i], with->value);
}

/* Constants of float32 that are no parameters: of Constant nodes, or computed. */
bool
of_floats(const builder *b)
{
  bool all = b->node->n_in > 0;
  for (size_t i = 0; i < b->node->n_in; i++) {
    const value *v = &b->in[i];
    all = all && v->name != NULL && v->constant != NULL && v->constant->real && v->constant->type == FLOAT
          && !v->constant->initializer && !v->negated;
  }
  return all;
}

/* q becomes the float32 nearest to it, of two the even one: 0, or a normal number. */
static void
round_float(const builder *b, rational *q)
{
  INTEGER(rest);
  INTEGER(n);
  long sign = mpq_sgn(q), size = 0;
  if (sign == 0)
    return;
  mpq_abs(q, q);
  size = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2) - 24;
  for (;; size++) { /* q / 2^size is below 2^25; until it is below 2^24 */
    mpz_set(&n, mpq_numref(q));
    mpz_set(&rest, mpq_denref(q));
    mpz_mul_2exp(size < 0 ? &n : &rest, size < 0 ? &n : &rest, (mp_bitcnt_t)(size < 0 ? -size : size));
    mpz_mul_2exp(&rest, &rest, 24);
    if (mpz_cmp(&n, &rest) < 0)
      break;
  }
  mpz_fdiv_q_2exp(&rest, &rest, 24); /* n / rest = q / 2^size, from 2^23 on */
  mpz_mul_2exp(&n, &n, 1);
  INTEGER(twice);
  mpz_fdiv_qr(&twice, &n, &n, &rest); /* twice that, and what is left */
  bool half = mpz_odd_p(&twice), more = mpz_sgn(&n) != 0;
  mpz_fdiv_q_2exp(&twice, &twice, 1);
  if (half && (more || mpz_odd_p(&twice)))
    mpz_add_ui(&twice, &twice, 1);
  need(mpz_sizeinbase(&twice, 2) >= 24 && size >= -149 && size + (long)mpz_sizeinbase(&twice, 2) <= 128,
       "no number of float32, or one below its normal numbers");
  mpq_set_z(q, &twice);
  if (size < 0)
    mpq_div_2exp(q, q, (mp_bitcnt_t)-size);
  else
    mpq_mul_2exp(q, q, (mp_bitcnt_t)size);
  if (sign < 0)
    mpq_neg(q, q);
}

/* The root of q, or a number that is rounded to the same float32: between the root's neighbours of 64 digits. */
static void
near_root(const builder *b, rational *q)
{
  INTEGER(root);
  INTEGER(rest);
  need(mpq_sgn(q) >= 0, "the root of a negative number");
  mp_bitcnt_t by = 64 + mpz_sizeinbase(mpq_denref(q), 2);
  mpz_mul_2exp(&root, mpq_numref(q), 2 * by);
  mpz_fdiv_qr(&root, &rest, &root, mpq_denref(q));
  bool exact = mpz_sgn(&rest) == 0;
  mpz_sqrtrem(&root, &rest, &root);
  exact = exact && mpz_sgn(&rest) == 0;
  mpz_mul_2exp(&root, &root, 1);
  if (!exact)
    mpz_add_ui(&root, &root, 1);
  mpq_set_z(q, &root);
  mpq_div_2exp(q, q, by + 1);
}

/* Sqrt, Div, Cast to float32: each rounded to float32. */
void
lower_floats(builder *b)
{
  value *x = &b->in[0], *y = &b->in[b->node->n_in - 1];
  size_t dims[MAX_RANK], rank = broadcast(b, x, y, dims);
  value p = spread(b, x, rank, dims), q = spread(b, y, rank, dims);
  rational *out = put_whole(b, FLOAT, rank, dims);
  tensor *t = b->out.constant;
  t->real = true;
  b->net->read[ROUNDED] = true;
  for (size_t f = 0; f < b->out.count; f++) {
    mpq_set(&out[f], &p.constant->value[p.map[f]]);
    if (b->op[0] == 'S')
      near_root(b, &out[f]);
    if (b->op[0] == 'D') {
      const rational *by = &q.constant->value[q.map[f]];
      need(mpq_sgn(by) != 0, "division by zero");
      mpq_div(&out[f], &out[f], by);
    }
    round_float(b, &out[f]);
  }
}

/* To 64-bit integers, or float32. */
void
lower_cast(builder *b)
{
  const value *x = &b->in[0];
  if (whole_attribute(b, "to", 0) == FLOAT && (of_floats(b) || is_whole(x, INT64) || is_whole(x, BOOL))) {
    lower_floats(b);
    return;
  }
  need((is_whole(x, INT64) || is_whole(x, BOOL)) && whole_attribute(b, "to", 0) == INT64,
       "not of constant integers or truth values, to 64-bit integers or float32");
  rational *out = put_whole(b, INT64, x->rank, x->dims);
  for (size_t i = 0; i < x->count; i++)
    mpq_set(&out[i], &x->constant->value[x->map[i]]);
}
