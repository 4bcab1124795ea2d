#include "network/graph/contraction.h"

#include <math.h>
#include <stdlib.h>

/* Numbers of more words than these, both together, are multiplied entry by entry, zeros left out: products of digits take the square of
 * their length. */
#define MOST_WORDS 24
/* So are blocks of fewer products: a product of matrices takes as long to begin. */
#define LEAST_PRODUCTS 256

/* --- block by block, as products of matrices -------------------------------------------------- */

/* Block b of each sample is y = a c, of rows x inner and inner x cols entries; g is y's gradient. An entry of an operand may stand in
 * several places of a block, and in several blocks. */
typedef struct {
  const clarke_step *s;
  const clarke_matrix *of[2]; /* what stands for the operands; of a gradient, g in the place of the one that is asked for */
  size_t to;                  /* 0, 1: that operand's gradient is asked for; 2: the values */
  size_t *map[3];             /* a block's entries: of the operands, and of y */
  clarke_error *err;
} blocks;

static size_t
rows_of(const clarke_contraction *c, size_t which)
{
  return which == 1 ? c->inner : c->rows;
}

static size_t
cols_of(const clarke_contraction *c, size_t which)
{
  return which == 0 ? c->inner : c->cols;
}

/* Where the entries of block b are, of an operand or of y. */
static void
set_map(const blocks *p, size_t which, size_t b)
{
  const clarke_contraction *c = &p->s->contraction;
  const size_t count = rows_of(c, which) * cols_of(c, which);

  for (size_t e = 0; e < count; e++)
    p->map[which][e] = which < 2 ? clarke_operand_entry(&p->s->in[which], b * count + e) : b * count + e;
}

/* How many places the fullest entry of what is asked for has. */
static clarke_status
fullest(size_t *most, const blocks *p, size_t n_out)
{
  const clarke_contraction *c = &p->s->contraction;
  size_t *times = calloc(n_out + 1, sizeof *times);

  *most = 1;
  if (times == NULL)
    return clarke_no_memory(p->err);
  for (size_t b = 0; b < c->blocks; b++) {
    set_map(p, p->to, b);
    for (size_t e = 0; e < rows_of(c, p->to) * cols_of(c, p->to); e++)
      if (p->map[p->to][e] < n_out && ++times[p->map[p->to][e]] > *most)
        *most = times[p->map[p->to][e]];
  }
  free(times);
  return CLARKE_OK;
}

/* y zeros of n_out rows, with words for sums of products, and their scale. */
static clarke_status
begin(clarke_matrix *y, const blocks *p, size_t n_out)
{
  const clarke_contraction *c = &p->s->contraction;
  const clarke_matrix *a = p->of[0], *z = p->of[1];
  const size_t terms = p->to == 0 ? c->cols : p->to == 1 ? c->rows : c->inner;
  size_t most = 1, bits = clarke_matrix_bits(a) + clarke_matrix_bits(z);
  clarke_status status = p->to < 2 ? fullest(&most, p, n_out) : CLARKE_OK;

  for (size_t all = most * terms; all > 0; all /= 2)
    bits++;
  if (status == CLARKE_OK)
    status = clarke_matrix_resize(y, n_out, a->cols, bits / 64 + 1, p->err);
  if (status != CLARKE_OK)
    return status;
  y->exp = a->exp + z->exp;
  mpz_mul(y->den, a->den, z->den);
  return CLARKE_OK;
}

/* y += block b of sample j. */
static clarke_status
add_block(clarke_matrix *y, const blocks *p, size_t j)
{
  const clarke_contraction *c = &p->s->contraction;
  clarke_matrix part[2], product;
  clarke_status status = CLARKE_OK;

  clarke_matrix_init(&part[0]);
  clarke_matrix_init(&part[1]);
  clarke_matrix_init(&product);
  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++) {
    const size_t which = i == p->to ? 2 : i;

    status = clarke_matrix_lay_out(&part[i], p->of[i], j, p->map[which], rows_of(c, which), cols_of(c, which), p->err);
  }
  if (status == CLARKE_OK) /* g c^T, a^T g, a c */
    status = p->to == 0   ? clarke_matrix_mul_nt(&product, &part[0], &part[1], p->err)
             : p->to == 1 ? clarke_matrix_mul_tn(&product, &part[0], &part[1], p->err)
                          : clarke_matrix_mul(&product, &part[0], &part[1], p->err);
  if (status == CLARKE_OK)
    status = clarke_matrix_put_back(y, &product, j, p->map[p->to], p->err);
  clarke_matrix_clear(&part[0]);
  clarke_matrix_clear(&part[1]);
  clarke_matrix_clear(&product);
  return status;
}

static clarke_status
multiply_blocks(clarke_matrix *y, blocks *p, size_t n_out)
{
  const clarke_contraction *c = &p->s->contraction;
  clarke_matrix fresh;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < 3 && status == CLARKE_OK; k++) {
    p->map[k] = malloc((rows_of(c, k) * cols_of(c, k) + 1) * sizeof *p->map[k]);
    status = p->map[k] != NULL ? CLARKE_OK : clarke_no_memory(p->err);
  }
  clarke_matrix_init(&fresh);
  if (status == CLARKE_OK)
    status = begin(&fresh, p, n_out);
  for (size_t b = 0; b < c->blocks && status == CLARKE_OK; b++) {
    for (size_t k = 0; k < 3; k++)
      set_map(p, k, b);
    for (size_t j = 0; j < fresh.cols && status == CLARKE_OK; j++)
      status = add_block(&fresh, p, j);
  }
  if (status == CLARKE_OK)
    clarke_matrix_swap(y, &fresh);
  clarke_matrix_clear(&fresh);
  for (size_t k = 0; k < 3; k++)
    free(p->map[k]);
  return status;
}

/* --- entry by entry --------------------------------------------------------------------------- */

/* Is a radius infinite? Zero times it is zero, which a product of matrices does not see. */
static bool
is_unbounded(const clarke_matrix *m)
{
  for (size_t e = 0; m->radius != NULL && e < m->rows * m->cols; e++)
    if (!isfinite(m->radius[e]))
      return true;
  return false;
}

/* Do matrices' products do? */
static bool
by_blocks(const clarke_step *s, const clarke_matrix *a, const clarke_matrix *c)
{
  const clarke_contraction *k = &s->contraction;

  return k->rows * k->inner * k->cols >= LEAST_PRODUCTS && a->limbs + c->limbs <= MOST_WORDS && !is_unbounded(a) && !is_unbounded(c);
}

/* The entries of an operand that are factor k of each entry of the output. */
static void
factor_map(size_t *map, const clarke_step *s, size_t operand, size_t k)
{
  const clarke_contraction *c = &s->contraction;

  for (size_t f = 0; f < c->blocks * c->rows * c->cols; f++)
    map[f] = clarke_step_factor(s, operand, f, k);
}

static size_t *
new_map(const clarke_step *s, clarke_error *err)
{
  const clarke_contraction *c = &s->contraction;
  size_t *map = malloc((c->blocks * c->rows * c->cols + 1) * sizeof *map);

  if (map == NULL)
    clarke_no_memory(err);
  return map;
}

static clarke_status
gather_factor(clarke_matrix *y, size_t *map, const clarke_step *s, size_t operand, size_t k, const clarke_matrix *x,
              clarke_error *err)
{
  const clarke_contraction *c = &s->contraction;

  factor_map(map, s, operand, k);
  return clarke_matrix_gather_rows(y, x, map, c->blocks * c->rows * c->cols, err);
}

static clarke_status
contract_entries(clarke_matrix *y, const clarke_step *s, const clarke_matrix *a, const clarke_matrix *c, clarke_error *err)
{
  size_t *map = new_map(s, err);
  clarke_matrix left, right;
  clarke_status status = map != NULL ? CLARKE_OK : CLARKE_ENOMEM;

  clarke_matrix_init(&left);
  clarke_matrix_init(&right);
  for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
    status = gather_factor(&left, map, s, 0, k, a, err);
    if (status == CLARKE_OK)
      status = gather_factor(&right, map, s, 1, k, c, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(k == 0 ? y : &left, &left, &right, err);
    if (status == CLARKE_OK && k > 0)
      status = clarke_matrix_add(y, y, &left, err);
  }
  clarke_matrix_clear(&left);
  clarke_matrix_clear(&right);
  free(map);
  return status;
}

static clarke_status
hand_back_entries(clarke_matrix *grad, const clarke_step *s, size_t to, size_t count, const clarke_matrix *g,
                  const clarke_matrix *other, clarke_error *err)
{
  size_t *map = new_map(s, err);
  clarke_matrix share, term;
  clarke_status status = map != NULL ? CLARKE_OK : CLARKE_ENOMEM;

  clarke_matrix_init(&share);
  clarke_matrix_init(&term);
  for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
    status = gather_factor(&share, map, s, 1 - to, k, other, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&share, g, &share, err);
    factor_map(map, s, to, k);
    if (status == CLARKE_OK)
      status = clarke_matrix_scatter_rows(k == 0 ? grad : &term, &share, map, count, err);
    if (status == CLARKE_OK && k > 0)
      status = clarke_matrix_add(grad, grad, &term, err);
  }
  clarke_matrix_clear(&share);
  clarke_matrix_clear(&term);
  free(map);
  return status;
}

/* ---------------------------------------------------------------------------------------------- */

clarke_status
clarke_contract(clarke_matrix *y, const clarke_step *s, const clarke_matrix *a, const clarke_matrix *c, clarke_error *err)
{
  blocks p = {.s = s, .of = {a, c}, .to = 2, .err = err};

  if (!by_blocks(s, a, c))
    return contract_entries(y, s, a, c, err);
  return multiply_blocks(y, &p, s->contraction.blocks * s->contraction.rows * s->contraction.cols);
}

clarke_status
clarke_contract_back(clarke_matrix *grad, const clarke_step *s, size_t to, size_t count, const clarke_matrix *g,
                     const clarke_matrix *other, clarke_error *err)
{
  blocks p = {.s = s, .of = {to == 0 ? g : other, to == 0 ? other : g}, .to = to, .err = err};

  if (!by_blocks(s, g, other))
    return hand_back_entries(grad, s, to, count, g, other, err);
  return multiply_blocks(grad, &p, count);
}
