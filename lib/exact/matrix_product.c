/* Exact products of integer matrices by dgemm on slices; docs/exact.md has the argument.
 *
 * An integer is cut into digits of 21 bits, balanced to |d| <= 2^20: w = sum_s d_s 2^(21 s). The
 * products of slices s of A and t of B all carry the weight 2^(21 (s + t)); one double matrix
 * collects those of one weight as long as the number of products in each sum is at most 2^13, for
 * 2^13 * 2^40 = 2^53. A running carry for each entry of C turns the sums, weight by weight, into
 * the bits of its words. */
#include "exact/matrix.h"

#include "exact/matrix_words.h"
#include "exact/upward.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#undef I

#define DIGIT_BITS 21
#define DIGIT_HALF ((int32_t)1 << (DIGIT_BITS - 1))
#define DIGIT_MASK (((uint64_t)1 << DIGIT_BITS) - 1)
/* Products of digits in one sum of doubles, 2^53 / 2^40. */
#define SUM_LIMIT ((size_t)1 << 13)
/* Products of digits in all sums of one weight: 2^62 / 2^40, so that carries fit in 63 bits. */
#define WEIGHT_LIMIT ((size_t)1 << 22)
/* Doubles in the slices of one panel. */
#define PANEL_SIZE ((size_t)1 << 22)
#define PANEL_SIDE ((size_t)1024)
#define MAX_SLICES (64 * CLARKE_MAX_LIMBS / DIGIT_BITS + 2)

/* Digits of a rectangle of a matrix: slice s, row-major, at digit + s * rows * cols. */
typedef struct {
  double *digit;
  size_t rows, cols, slices;
  bool used[MAX_SLICES]; /* slices that are not all zero */
} panel;

typedef struct {
  clarke_matrix *c;
  const clarke_matrix *a, *b;
  bool a_transposed, b_transposed;
  size_t k0, k1; /* the range of the inner index */
  panel pa, pb;
  double *sum;
  int64_t *carry;
} product;

/* With |w| < 2^bits and bits <= 21 n - 1, n balanced digits suffice, the last at most 2^20. */
static size_t
slices_for(size_t bits)
{
  return bits / DIGIT_BITS + 1;
}

/* --- cutting --------------------------------------------------------------------------------- */

/* All cutters add 2^20 (1 + 2^21 + ... + 2^(21 (n - 1))), which makes w nonnegative; its 21-bit
 * fields, the last one unmasked, are then the balanced digits plus 2^20. */

static void
cut_row_1(double *to, size_t stride, size_t slices, const uint64_t *word, size_t n, uint64_t *any)
{
  uint64_t bias = 0;

  for (size_t s = 0; s < slices; s++)
    bias = bias << DIGIT_BITS | (uint64_t)DIGIT_HALF;
  for (size_t s = 0; s < slices; s++) {
    const uint64_t mask = s + 1 < slices ? DIGIT_MASK : UINT32_MAX;
    const unsigned shift = DIGIT_BITS * (unsigned)s;
    uint64_t found = 0;

    for (size_t j = 0; j < n; j++) {
      const int32_t digit = (int32_t)((word[j] + bias) >> shift & mask) - DIGIT_HALF;

      found |= (uint32_t)digit;
      to[s * stride + j] = (double)digit;
    }
    any[s] |= found;
  }
}

static void
cut_row_2(double *to, size_t stride, size_t slices, const uint64_t *word, size_t n, uint64_t *any)
{
  clarke_uint128 bias = 0;

  for (size_t s = 0; s < slices; s++)
    bias = bias << DIGIT_BITS | (uint64_t)DIGIT_HALF;
  for (size_t s = 0; s < slices; s++) {
    const uint64_t mask = s + 1 < slices ? DIGIT_MASK : UINT32_MAX;
    const unsigned shift = DIGIT_BITS * (unsigned)s;
    uint64_t found = 0;

    for (size_t j = 0; j < n; j++) {
      const clarke_uint128 w = (clarke_uint128)word[2 * j + 1] << 64 | word[2 * j];
      const int32_t digit = (int32_t)((uint64_t)((w + bias) >> shift) & mask) - DIGIT_HALF;

      found |= (uint32_t)digit;
      to[s * stride + j] = (double)digit;
    }
    any[s] |= found;
  }
}

/* The bias of `slices` digits in `limbs` words. */
static void
make_bias(uint64_t *bias, size_t limbs, size_t slices)
{
  memset(bias, 0, limbs * sizeof *bias);
  for (size_t s = 0; s < slices; s++) {
    const size_t bit = DIGIT_BITS * (s + 1) - 1;

    bias[bit / 64] |= (uint64_t)1 << bit % 64;
  }
}

static void
cut_row(double *to, size_t stride, size_t slices, const uint64_t *word, size_t limbs, size_t n,
        uint64_t *any)
{
  /* One word more than 21 n + 1 bits need, so that every field can read the word above it. */
  const size_t room = (DIGIT_BITS * slices + 1) / 64 + 2;
  uint64_t bias[CLARKE_MAX_LIMBS + 3], w[CLARKE_MAX_LIMBS + 3];

  make_bias(bias, room, slices);
  for (size_t j = 0; j < n; j++) {
    clarke_word_shift(w, room, word + j * limbs, limbs, 0);
    mpn_add_n((mp_limb_t *)w, (mp_limb_t *)w, (mp_limb_t *)bias, (mp_size_t)room);
    for (size_t s = 0; s < slices; s++) {
      const size_t bit = DIGIT_BITS * s, q = bit / 64;
      const unsigned r = bit % 64;
      const uint64_t field = r == 0 ? w[q] : w[q] >> r | w[q + 1] << (64 - r);
      const int32_t digit =
          (int32_t)(field & (s + 1 < slices ? DIGIT_MASK : UINT32_MAX)) - DIGIT_HALF;

      any[s] |= (uint32_t)digit;
      to[s * stride + j] = (double)digit;
    }
  }
}

/* The digits of rows r0.. (p->rows of them) and columns c0.. (p->cols) of m. */
static void
cut(panel *p, const clarke_matrix *m, size_t r0, size_t c0)
{
  const size_t stride = p->rows * p->cols;
  uint64_t any[MAX_SLICES] = { 0 };

  for (size_t i = 0; i < p->rows; i++) {
    const uint64_t *word = clarke_entry(m, (r0 + i) * m->cols + c0);
    double *to = p->digit + i * p->cols;

    if (m->limbs == 1 && p->slices <= 3)
      cut_row_1(to, stride, p->slices, word, p->cols, any);
    else if (m->limbs == 2 && p->slices <= 6)
      cut_row_2(to, stride, p->slices, word, p->cols, any);
    else
      cut_row(to, stride, p->slices, word, m->limbs, p->cols, any);
  }
  for (size_t s = 0; s < p->slices; s++)
    p->used[s] = any[s] != 0;
}

/* --- summing --------------------------------------------------------------------------------- */

/* carry += sum, n entries; doubles below 2^53 in magnitude convert exactly. */
static void
absorb(int64_t *carry, const double *sum, size_t n)
{
  for (size_t e = 0; e < n; e++)
    carry[e] += (int64_t)sum[e];
}

/* Moves the low 21 bits of each carry to the bits from `bit` up of its words, rows x cols of them in
 * C at (i0, j0); what falls beyond the words is sign. */
static void
emit(clarke_matrix *c, size_t i0, size_t j0, size_t rows, size_t cols, int64_t *carry, size_t bit)
{
  const size_t q = bit / 64, limbs = c->limbs;
  const unsigned r = bit % 64;

  if (q >= limbs)
    return;
  for (size_t i = 0; i < rows; i++) {
    uint64_t *word = clarke_entry(c, (i0 + i) * c->cols + j0) + q;

    for (size_t j = 0; j < cols; j++, carry++) {
      const uint64_t digit = (uint64_t)*carry & DIGIT_MASK;

      *carry >>= DIGIT_BITS;
      word[j * limbs] |= digit << r;
      if (r > 64 - DIGIT_BITS && q + 1 < limbs)
        word[j * limbs + 1] |= digit >> (64 - r);
    }
  }
}

/* The rest of the carries, with their signs, to the bits from `bit` up. */
static void
emit_last(clarke_matrix *c, size_t i0, size_t j0, size_t rows, size_t cols, const int64_t *carry,
          size_t bit)
{
  const size_t q = bit / 64, limbs = c->limbs;
  const unsigned r = bit % 64;

  if (q >= limbs)
    return;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++, carry++) {
      uint64_t *word = clarke_entry(c, (i0 + i) * c->cols + j0 + j);
      const int64_t sign = *carry < 0 ? -1 : 0;

      word[q] |= (uint64_t)*carry << r;
      if (q + 1 < limbs)
        word[q + 1] |= (uint64_t)(r == 0 ? sign : *carry >> (64 - r));
      for (size_t k = q + 2; k < limbs; k++)
        word[k] |= (uint64_t)sign;
    }
}

/* sum (+)= A_s B_t over the inner indices k, k + n. */
static void
multiply(product *p, size_t s, size_t t, size_t k, size_t n, bool add)
{
  const panel *pa = &p->pa, *pb = &p->pb;
  const size_t rows = p->a_transposed ? pa->cols : pa->rows;
  const size_t cols = p->b_transposed ? pb->rows : pb->cols;
  const double *a = pa->digit + s * pa->rows * pa->cols + (p->a_transposed ? k * pa->cols : k);
  const double *b = pb->digit + t * pb->rows * pb->cols + (p->b_transposed ? k : k * pb->cols);

  cblas_dgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans,
              p->b_transposed ? CblasTrans : CblasNoTrans, (int)rows, (int)cols, (int)n, 1.0, a,
              (int)pa->cols, b, (int)pb->cols, add ? 1.0 : 0.0, p->sum, (int)cols);
}

/* Adds all products of weight s + t = weight to the carries. */
static void
sum_weight(product *p, size_t weight, size_t entries)
{
  const size_t inner = p->k1 - p->k0;
  size_t used = 0; /* products of digits in each sum so far */

  for (size_t s = weight < p->pb.slices ? 0 : weight - p->pb.slices + 1;
       s < p->pa.slices && s <= weight; s++) {
    if (!p->pa.used[s] || !p->pb.used[weight - s])
      continue;
    for (size_t k = 0; k < inner; k += SUM_LIMIT) {
      const size_t n = inner - k < SUM_LIMIT ? inner - k : SUM_LIMIT;

      if (used + n > SUM_LIMIT) {
        absorb(p->carry, p->sum, entries);
        used = 0;
      }
      multiply(p, s, weight - s, k, n, used > 0);
      used += n;
    }
  }
  if (used > 0)
    absorb(p->carry, p->sum, entries);
}

/* The block of C at (i0, j0) from the panels as they are. */
static void
multiply_panels(product *p, size_t i0, size_t j0)
{
  const size_t rows = p->a_transposed ? p->pa.cols : p->pa.rows;
  const size_t cols = p->b_transposed ? p->pb.rows : p->pb.cols;
  const size_t weights = p->pa.slices + p->pb.slices - 1;

  memset(p->carry, 0, rows * cols * sizeof *p->carry);
  for (size_t w = 0; w < weights; w++) {
    sum_weight(p, w, rows * cols);
    emit(p->c, i0, j0, rows, cols, p->carry, DIGIT_BITS * w);
  }
  emit_last(p->c, i0, j0, rows, cols, p->carry, DIGIT_BITS * weights);
}

static void
cut_a(product *p, size_t i0, size_t n)
{
  const size_t inner = p->k1 - p->k0;

  p->pa.rows = p->a_transposed ? inner : n;
  p->pa.cols = p->a_transposed ? n : inner;
  cut(&p->pa, p->a, p->a_transposed ? p->k0 : i0, p->a_transposed ? i0 : p->k0);
}

static void
cut_b(product *p, size_t j0, size_t n)
{
  const size_t inner = p->k1 - p->k0;

  p->pb.rows = p->b_transposed ? n : inner;
  p->pb.cols = p->b_transposed ? inner : n;
  cut(&p->pb, p->b, p->b_transposed ? j0 : p->k0, p->b_transposed ? p->k0 : j0);
}

/* Rows (or columns) a panel may have: PANEL_SIZE digits, at least one row, at most PANEL_SIDE. */
static size_t
panel_side(size_t side, size_t inner, size_t slices)
{
  size_t most = PANEL_SIZE / slices / inner;

  most = most < 1 ? 1 : most > PANEL_SIDE ? PANEL_SIDE : most;
  return side < most ? side : most;
}

/* C = (range k0..k1 of) A B into zeroed words wide enough; p has its operands and slice counts. */
static clarke_status
multiply_range(product *p, clarke_error *err)
{
  const size_t rows = p->c->rows, cols = p->c->cols, inner = p->k1 - p->k0;
  const size_t high = panel_side(rows, inner, p->pa.slices);
  const size_t wide = panel_side(cols, inner, p->pb.slices);
  clarke_status status = CLARKE_OK;

  p->pa.digit = malloc(p->pa.slices * high * inner * sizeof(double));
  p->pb.digit = malloc(p->pb.slices * wide * inner * sizeof(double));
  p->sum = malloc(high * wide * sizeof *p->sum);
  p->carry = malloc(high * wide * sizeof *p->carry);
  if (p->pa.digit == NULL || p->pb.digit == NULL || p->sum == NULL || p->carry == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for a product of %zu x %zu by %zu x %zu",
                         rows, inner, inner, cols);
  for (size_t j = 0; j < cols && status == CLARKE_OK; j += wide) {
    cut_b(p, j, cols - j < wide ? cols - j : wide);
    for (size_t i = 0; i < rows; i += high) {
      if (j == 0 || high < rows)
        cut_a(p, i, rows - i < high ? rows - i : high);
      multiply_panels(p, i, j);
    }
  }
  free(p->pa.digit);
  free(p->pb.digit);
  free(p->sum);
  free(p->carry);
  return status;
}

static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

/* One BLAS thread unless the user asked for more: times stay reproducible (results always are). */
static void
limit_threads(void)
{
  if (getenv("OPENBLAS_NUM_THREADS") == NULL)
    openblas_set_num_threads(1);
}

/* --- radii ----------------------------------------------------------------------------------- */

/* Upper bounds of |entries|, plus their radii if asked. */
static void
magnitudes(double *to, const clarke_matrix *m, bool with_radius)
{
  const clarke_scale_bound bound = clarke_matrix_scale_bound(m);

  for (size_t k = 0; k < m->rows * m->cols; k++) {
    to[k] = clarke_matrix_magnitude(m, bound, k);
    if (with_radius && m->radius != NULL)
      to[k] = clarke_up_add(to[k], m->radius[k]);
  }
}

/* radius += an upper bound of |A| |B| for nonnegative doubles. A dgemm sum of n such products is
 * below the exact one by a factor of at most (1 - 2^-53)^(n + 1), in any order, fused or not, and
 * by n underflows of at most 2^-1075. */
static void
add_bound(double *radius, const product *p, double *sum, const double *a, const double *b)
{
  const size_t rows = p->c->rows, cols = p->c->cols;
  const size_t inner = p->a_transposed ? p->a->rows : p->a->cols;
  const double factor = 1 + (double)(inner + 8) * 0x1p-52;
  const double tiny = (double)(inner + 8) * CLARKE_TINY;

  cblas_dgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans,
              p->b_transposed ? CblasTrans : CblasNoTrans, (int)rows, (int)cols, (int)inner, 1.0,
              a, (int)p->a->cols, b, (int)p->b->cols, 0.0, sum, (int)cols);
  for (size_t k = 0; k < rows * cols; k++) {
    const double r = sum[k] * factor + tiny;

    /* infinity times zero among the products gives a NaN: nothing is known then */
    radius[k] = r <= DBL_MAX ? clarke_up_add(radius[k], r) : (double)INFINITY;
  }
}

/* rad(C) = |A| rad(B) + rad(A) (|B| + rad(B)) */
static clarke_status
bound_radius(product *p, clarke_error *err)
{
  const size_t count = p->c->rows * p->c->cols;
  double *a = malloc((p->a->rows * p->a->cols + 1) * sizeof *a);
  double *b = malloc((p->b->rows * p->b->cols + 1) * sizeof *b);
  double *sum = malloc((count + 1) * sizeof *sum);
  clarke_status status = clarke_matrix_need_radius(p->c, err);

  if (a == NULL || b == NULL || sum == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the radii of a product");
  if (status == CLARKE_OK && p->b->radius != NULL) {
    magnitudes(a, p->a, false);
    add_bound(p->c->radius, p, sum, a, p->b->radius);
  }
  if (status == CLARKE_OK && p->a->radius != NULL) {
    magnitudes(b, p->b, true);
    add_bound(p->c->radius, p, sum, p->a->radius, b);
  }
  free(a);
  free(b);
  free(sum);
  return status;
}

/* --- products -------------------------------------------------------------------------------- */

/* p->c += p's range, by way of another matrix of the same shape. */
static clarke_status
add_range(product *p, clarke_error *err)
{
  clarke_matrix *whole = p->c, part;
  clarke_status status;

  clarke_matrix_init(&part);
  status = clarke_matrix_resize(&part, whole->rows, whole->cols, whole->limbs, err);
  p->c = &part;
  if (status == CLARKE_OK)
    status = multiply_range(p, err);
  p->c = whole;
  for (size_t k = 0; k < whole->rows * whole->cols && status == CLARKE_OK; k++)
    mpn_add_n((mp_limb_t *)clarke_entry(whole, k), (mp_limb_t *)clarke_entry(whole, k),
              (mp_limb_t *)clarke_entry(&part, k), (mp_size_t)whole->limbs);
  clarke_matrix_clear(&part);
  return status;
}

static clarke_status
multiply_words(product *p, size_t inner, clarke_error *err)
{
  const size_t a_bits = clarke_matrix_bits(p->a), b_bits = clarke_matrix_bits(p->b);
  clarke_matrix *c = p->c;
  const size_t rows = c->rows, cols = c->cols;
  clarke_status status;
  size_t step;

  if (a_bits == 0 || b_bits == 0 || rows == 0 || cols == 0)
    return CLARKE_OK;
  status = clarke_matrix_shape_bits(c, rows, cols, a_bits + b_bits + clarke_log2_up(inner), err);
  if (status != CLARKE_OK)
    return status;
  p->pa.slices = slices_for(a_bits);
  p->pb.slices = slices_for(b_bits);
  step = WEIGHT_LIMIT / (p->pa.slices < p->pb.slices ? p->pa.slices : p->pb.slices);
  for (p->k0 = 0; p->k0 < inner && status == CLARKE_OK; p->k0 = p->k1) {
    p->k1 = inner - p->k0 < step ? inner : p->k0 + step;
    status = p->k0 == 0 ? multiply_range(p, err) : add_range(p, err);
  }
  return status;
}

static clarke_status
multiply_all(product *p, clarke_error *err)
{
  const size_t rows = p->a_transposed ? p->a->cols : p->a->rows;
  const size_t inner = p->a_transposed ? p->a->rows : p->a->cols;
  const size_t inner_b = p->b_transposed ? p->b->cols : p->b->rows;
  const size_t cols = p->b_transposed ? p->b->rows : p->b->cols;
  clarke_status status;
  mpz_t den;

  if (inner != inner_b)
    return clarke_fail(err, CLARKE_EINPUT, "a product of %zu x %zu by %zu x %zu does not exist",
                       rows, inner, inner_b, cols);
  if (rows > INT32_MAX || inner > INT32_MAX || cols > INT32_MAX)
    return clarke_fail(err, CLARKE_ENOMEM, "a product of %zu x %zu by %zu x %zu is too large",
                       rows, inner, inner, cols);
  pthread_once(&threads_once, limit_threads);
  status = clarke_matrix_resize(p->c, rows, cols, 1, err);
  if (status == CLARKE_OK && inner > 0)
    status = multiply_words(p, inner, err);
  if (status != CLARKE_OK)
    return status;
  mpz_init(den);
  mpz_mul(den, p->a->den, p->b->den);
  status = clarke_matrix_set_scale(p->c, p->a->exp + p->b->exp, den, err);
  mpz_clear(den);
  if (status == CLARKE_OK && (p->a->radius != NULL || p->b->radius != NULL) && rows > 0
      && inner > 0 && cols > 0)
    status = bound_radius(p, err);
  return status;
}

clarke_status
clarke_matrix_mul(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                  clarke_error *err)
{
  product p = { .c = c, .a = a, .b = b };

  return multiply_all(&p, err);
}

clarke_status
clarke_matrix_mul_tn(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                     clarke_error *err)
{
  product p = { .c = c, .a = a, .b = b, .a_transposed = true };

  return multiply_all(&p, err);
}

clarke_status
clarke_matrix_mul_nt(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                     clarke_error *err)
{
  product p = { .c = c, .a = a, .b = b, .b_transposed = true };

  return multiply_all(&p, err);
}
