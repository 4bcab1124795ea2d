/* Exact products of integer matrices, by products of digits (digits.h); docs/exact.md has the argument.
 *
 * The integers of A are cut into balanced digits of some u bits, |d| <= 2^(u-1); those of B into digits of v bits. A running
 * carry for each entry of C turns the sums, weight by weight, into the bits of its words; one or two
 * words take the shifted sums directly. */
#include "exact/matrix_product_radius.h"
#include "exact/number.h"
#include "base/verify.h"
#include "base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles in the slices of one panel, and rows or columns of one. */
#define PANEL_SIZE ((size_t)1 << 22)
#define PANEL_SIDE ((size_t)1024)

/* --- summing --------------------------------------------------------------------------------- */

/* word += sum 2^bit for two words an entry, modulo 2^128. */
static void
add_to_two(const clarke_matrix_product *p, size_t bit)
{
  for (size_t i = 0; i < p->rows; i++) {
    uint64_t *word = clarke_entry(p->c, (p->i0 + i) * p->c->cols + p->j0);
    const double *sum = p->sum + i * p->cols;

    for (size_t j = 0; j < p->cols; j++) {
      const clarke_uint128 old = (clarke_uint128)word[2 * j + 1] << 64 | word[2 * j];
      const clarke_uint128 now = old + ((clarke_uint128)(clarke_int128)(int64_t)sum[j] << bit);

      word[2 * j] = (uint64_t)now;
      word[2 * j + 1] = (uint64_t)(now >> 64);
    }
  }
}

static void
add_to_one(const clarke_matrix_product *p, size_t bit)
{
  for (size_t i = 0; i < p->rows; i++) {
    uint64_t *word = clarke_entry(p->c, (p->i0 + i) * p->c->cols + p->j0);
    const double *sum = p->sum + i * p->cols;

    for (size_t j = 0; j < p->cols; j++)
      word[j] += (uint64_t)(int64_t)sum[j] << bit;
  }
}

/* Takes the sums, of weight 2^bit, to the words of C, or if these are many to the carries. Doubles
 * below 2^53 in magnitude convert exactly. */
static void
absorb(void *context, size_t bit)
{
  clarke_matrix_product *p = context;

  if (p->c->limbs > 2) {
    for (size_t e = 0; e < p->rows * p->cols; e++)
      p->carry[e] += (int64_t)p->sum[e];
  } else if (bit < 64 * p->c->limbs) {
    (p->c->limbs == 1 ? add_to_one : add_to_two)(p, bit);
  }
}

/* Moves the low `width` bits of each carry to the bits from `bit` up of its words; what falls beyond
 * the words is sign. width < 64. */
static void
emit(clarke_matrix_product *p, size_t bit, size_t width)
{
  const size_t q = bit / 64, limbs = p->c->limbs;
  const unsigned r = bit % 64;
  const uint64_t mask = ((uint64_t)1 << width) - 1;
  const bool two = r + width > 64 && q + 1 < limbs;
  int64_t *carry = p->carry;

  if (q >= limbs)
    return;
  for (size_t i = 0; i < p->rows; i++) {
    uint64_t *word = clarke_entry(p->c, (p->i0 + i) * p->c->cols + p->j0) + q;

    for (size_t j = 0; j < p->cols; j++, carry++) {
      const uint64_t digits = (uint64_t)*carry & mask;

      *carry >>= width;
      word[j * limbs] |= digits << r;
      if (two)
        word[j * limbs + 1] |= digits >> (64 - r);
    }
  }
}

/* The rest of the carries, with their signs, to the bits from `bit` up. */
static void
emit_last(clarke_matrix_product *p, size_t bit)
{
  const size_t q = bit / 64, limbs = p->c->limbs;
  const unsigned r = bit % 64;
  const int64_t *carry = p->carry;

  if (q >= limbs)
    return;
  for (size_t i = 0; i < p->rows; i++)
    for (size_t j = 0; j < p->cols; j++, carry++) {
      uint64_t *word = clarke_entry(p->c, (p->i0 + i) * p->c->cols + p->j0 + j);
      const int64_t sign = *carry < 0 ? -1 : 0;

      word[q] |= (uint64_t)*carry << r;
      if (q + 1 < limbs)
        word[q + 1] |= (uint64_t)(r == 0 ? sign : *carry >> (64 - r));
      for (size_t k = q + 2; k < limbs; k++)
        word[k] |= (uint64_t)sign;
    }
}

/* The smallest weight u s + v t above bit; SIZE_MAX when there is none. */
static size_t
next_weight(const clarke_matrix_product *p, size_t bit)
{
  const size_t u = (size_t)p->pa.m.width, v = (size_t)p->pb.m.width;
  size_t best = SIZE_MAX;

  for (size_t s = 0; s < p->pa.m.planes; s++) {
    const size_t first = s * u, from = bit + 1;
    const size_t t = from <= first ? 0 : (from - first + v - 1) / v;

    if (t < p->pb.m.planes && first + t * v < best)
      best = first + t * v;
  }
  return best;
}

/* Zeros again the zeros of the block at work: writing first spares a page fault for each page that
 * calloc has not backed yet, since a read would map the page of zeros. */
static void
touch_block(clarke_matrix_product *p)
{
  const size_t bytes = p->cols * p->c->limbs * sizeof *p->c->word;

  for (size_t i = 0; i < p->rows; i++)
    memset(clarke_entry(p->c, (p->i0 + i) * p->c->cols + p->j0), 0, bytes);
}

/* The block of C at (i0, j0) from the panels as they are. */
static void
multiply_panels(clarke_matrix_product *p, size_t i0, size_t j0)
{
  size_t bit = 0, next;
  clarke_digit_product sums = { .a = &p->pa.m, .b = &p->pb.m, .a_transposed = p->a_transposed, .b_transposed = p->b_transposed,
                                .inner = p->k1 - p->k0, .room = clarke_digits_room(p->pb.m.width, false), .sum = p->sum,
                                .take = absorb, .context = p };

  p->i0 = i0;
  p->j0 = j0;
  sums.rows = p->rows = p->a_transposed ? p->pa.cols : p->pa.rows;
  sums.cols = p->cols = p->b_transposed ? p->pb.rows : p->pb.cols;
  memset(p->carry, 0, p->rows * p->cols * sizeof *p->carry);
  touch_block(p);
  for (;; bit = next) {
    clarke_digits_multiply(&sums, bit);
    next = next_weight(p, bit);
    if (next == SIZE_MAX)
      break;
    if (p->c->limbs > 2)
      emit(p, bit, next - bit);
  }
  if (p->c->limbs > 2)
    emit_last(p, bit);
}

static void
cut_a(clarke_matrix_product *p, size_t i0, size_t n)
{
  const size_t inner = p->k1 - p->k0;

  p->pa.rows = p->a_transposed ? inner : n;
  p->pa.cols = p->a_transposed ? n : inner;
  clarke_panel_cut(&p->pa, p->a, p->a_transposed ? p->k0 : i0, p->a_transposed ? i0 : p->k0);
}

static void
cut_b(clarke_matrix_product *p, size_t j0, size_t n)
{
  const size_t inner = p->k1 - p->k0;

  p->pb.rows = p->b_transposed ? n : inner;
  p->pb.cols = p->b_transposed ? inner : n;
  clarke_panel_cut(&p->pb, p->b, p->b_transposed ? j0 : p->k0, p->b_transposed ? p->k0 : j0);
}

/* Rows (or columns) a panel may have: PANEL_SIZE digits, at least one row, at most PANEL_SIDE. */
static size_t
panel_side(size_t side, size_t inner, size_t slices)
{
  size_t most = PANEL_SIZE / slices / inner;

  most = most < 1 ? 1 : most > PANEL_SIDE ? PANEL_SIDE : most;
  return side < most ? side : most;
}

/* A's masses, in parts of as many products as a sum holds: all digits may be the largest. */
static void
bound_masses(clarke_matrix_product *p)
{
  const size_t inner = p->k1 - p->k0, reach = inner < p->limit ? inner : p->limit;

  for (size_t s = 0; s < p->pa.m.planes; s++) {
    p->pa.m.plane[s].reach = reach;
    p->pa.m.plane[s].mass = ldexp((double)reach, (int)p->pa.m.width - 1);
  }
}

/* C = (range k0..k1 of) A B into zeroed words wide enough; p has its operands and slice counts. */
static clarke_status
multiply_range(clarke_matrix_product *p, clarke_error *err)
{
  const size_t rows = p->c->rows, cols = p->c->cols, inner = p->k1 - p->k0;
  const size_t high = panel_side(rows, inner, p->pa.m.planes);
  const size_t wide = panel_side(cols, inner, p->pb.m.planes);
  bool fits = clarke_digits_alloc(&p->pa.m, p->pa.m.planes * high * inner);
  clarke_status status = CLARKE_OK;

  fits = clarke_digits_alloc(&p->pb.m, p->pb.m.planes * wide * inner) && fits;
  p->sum = malloc(high * wide * sizeof *p->sum);
  p->carry = malloc(high * wide * sizeof *p->carry);
  if (fits && p->sum != NULL && p->carry != NULL)
    bound_masses(p);
  else
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
  clarke_digits_clear(&p->pa.m);
  clarke_digits_clear(&p->pb.m);
  free(p->sum);
  free(p->carry);
  return status;
}

/* --- products -------------------------------------------------------------------------------- */

/* p->c += p's range, by way of another matrix of the same shape. */
static clarke_status
add_range(clarke_matrix_product *p, clarke_error *err)
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
multiply_words(clarke_matrix_product *p, size_t inner, clarke_error *err)
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
  p->pa.bits = a_bits;
  p->pb.bits = b_bits;
  clarke_product_choose_widths(p, inner);
  step = clarke_product_carry_limit((size_t)p->pa.m.width, (size_t)p->pb.m.width,
                                    p->pa.m.planes < p->pb.m.planes ? p->pa.m.planes : p->pb.m.planes);
  for (p->k0 = 0; p->k0 < inner && status == CLARKE_OK; p->k0 = p->k1) {
    p->k1 = inner - p->k0 < step ? inner : p->k0 + step;
    status = p->k0 == 0 ? multiply_range(p, err) : add_range(p, err);
  }
  return status;
}

static clarke_status
multiply_all(clarke_matrix_product *p, clarke_error *err)
{
  const size_t rows = p->a_transposed ? p->a->cols : p->a->rows;
  const size_t inner = p->a_transposed ? p->a->rows : p->a->cols;
  const size_t inner_b = p->b_transposed ? p->b->cols : p->b->rows;
  const size_t cols = p->b_transposed ? p->b->rows : p->b->cols;
  clarke_status status;
  mpz_t den;

  CLARKE_VERIFY_CHECK(clarke_matrix_is_valid(p->a) && clarke_matrix_is_valid(p->b));
  if (inner != inner_b)
    return clarke_fail(err, CLARKE_EINPUT, "a product of %zu x %zu by %zu x %zu does not exist",
                       rows, inner, inner_b, cols);
  if (rows > INT32_MAX || inner > INT32_MAX || cols > INT32_MAX)
    return clarke_fail(err, CLARKE_ENOMEM, "a product of %zu x %zu by %zu x %zu is too large",
                       rows, inner, inner, cols);
  clarke_tally_add(inner > 0 ? rows * cols * (inner - 1) : 0, rows * cols * inner, 0);
  clarke_work_spend(rows * cols / 8 * (inner / 8 + 4));
  status = clarke_work_check(err);
  if (status == CLARKE_OK)
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
    status = clarke_product_bound_radius(p, err);
  return status;
}

clarke_status
clarke_matrix_mul(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                  clarke_error *err)
{
  clarke_matrix_product p = { .c = c, .a = a, .b = b };

  return multiply_all(&p, err);
}

clarke_status
clarke_matrix_mul_tn(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                     clarke_error *err)
{
  clarke_matrix_product p = { .c = c, .a = a, .b = b, .a_transposed = true };

  return multiply_all(&p, err);
}

clarke_status
clarke_matrix_mul_nt(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                     clarke_error *err)
{
  clarke_matrix_product p = { .c = c, .a = a, .b = b, .b_transposed = true };

  return multiply_all(&p, err);
}
