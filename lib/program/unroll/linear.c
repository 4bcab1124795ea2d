/* Linear steps unrolled: entries moved, sums, multiples, products. */
#include "program/unroll/unroll_inside.h"

#include "base/limit.h"
#include "program/code.h"

#include <stdlib.h>

clarke_status
clarke_unroll_gather(clarke_unrolling *u, const clarke_step *s)
{
  clarke_status status = CLARKE_OK;

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t e = clarke_operand_entry(&s->in[0], f);

    mpq_set_ui(u->constant, 0, 1);
    if (e == CLARKE_NONE && u->zero == CLARKE_NONE)
      status = clarke_code_add_constant(u->p, &u->zero, u->constant, u->err);
    u->at[s->out][f] = e == CLARKE_NONE ? u->zero : clarke_unroll_entry(u, s->in[0].value, e);
  }
  return status;
}

/* The terms of a SUM's entry f but those of padding, and their number; numbers go to the constant.
 * *moved: all the others are padding, and the entry is that one term's. */
static size_t
sum_terms(clarke_unrolling *u, const clarke_step *s, size_t f, bool *moved)
{
  size_t n = 0, left = 0;

  mpq_set_ui(u->constant, 0, 1);
  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    size_t e = clarke_operand_entry(o, f);

    if (e == CLARKE_NONE)
      continue;
    left++;
    if (clarke_unroll_is_number(u, o->value)) {
      mpq_set_d(u->factor, u->g->values[o->value].real[e]);
      mpq_set_d(u->coef[n], o->coef);
      mpq_mul(u->factor, u->factor, u->coef[n]);
      mpq_add(u->constant, u->constant, u->factor);
      continue;
    }
    mpq_set_d(u->coef[n], o->coef);
    u->in[n++] = clarke_unroll_entry(u, o->value, e);
  }
  *moved = left < s->n_in && left == 1 && n == 1 && mpq_cmp_ui(u->coef[0], 1, 1) == 0;
  return n;
}

clarke_status
clarke_unroll_sum(clarke_unrolling *u, const clarke_step *s)
{
  clarke_status status = clarke_unroll_make_room(u, s->n_in);

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    bool moved;
    size_t n = sum_terms(u, s, f, &moved);

    if (moved)
      u->at[s->out][f] = u->in[0];
    else
      status = clarke_unroll_add_linear(u, &u->at[s->out][f], n, u->constant);
  }
  return status;
}

/* x c or x / c, c a number. */
static clarke_status
scaled_entry(clarke_unrolling *u, const clarke_step *s, size_t f)
{
  double c = u->g->values[s->in[1].value].real[clarke_operand_entry(&s->in[1], f)];

  if (s->divide && c == 0)
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' divides by zero", u->g->file, s->name);
  mpq_set_d(u->coef[0], c);
  if (s->divide)
    mpq_inv(u->coef[0], u->coef[0]);
  u->in[0] = clarke_unroll_entry(u, s->in[0].value, clarke_operand_entry(&s->in[0], f));
  mpq_set_ui(u->constant, 0, 1);
  return clarke_unroll_add_linear(u, &u->at[s->out][f], 1, u->constant);
}

/* *at becomes sqrt(c + epsilon) for entry e of the constant: itself a rational when it is one. */
static clarke_status
add_root(clarke_unrolling *u, size_t *at, const clarke_step *s, size_t e)
{
  clarke_status status;

  mpq_set_d(u->constant, u->g->values[s->in[1].value].real[e]);
  mpq_add(u->constant, u->constant, s->epsilon);
  if (!mpz_perfect_square_p(mpq_numref(u->constant)) ||
      !mpz_perfect_square_p(mpq_denref(u->constant))) {
    status = clarke_code_add_constant(u->p, at, u->constant, u->err);
    return status != CLARKE_OK ? status
                               : clarke_code_add_analytic(u->p, at, CLARKE_FN_SQRT, *at, u->err);
  }
  mpz_sqrt(mpq_numref(u->constant), mpq_numref(u->constant));
  mpz_sqrt(mpq_denref(u->constant), mpq_denref(u->constant));
  return clarke_code_add_constant(u->p, at, u->constant, u->err);
}

/* x / sqrt(c + epsilon), c numbers. */
static clarke_status
unroll_root(clarke_unrolling *u, const clarke_step *s)
{
  const clarke_value *c = &u->g->values[s->in[1].value];
  size_t *root = malloc((c->count + 1) * sizeof *root);
  clarke_status status = root != NULL ? CLARKE_OK : clarke_unroll_no_memory(u);

  for (size_t e = 0; status == CLARKE_OK && e < c->count; e++)
    status = add_root(u, &root[e], s, e);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    status = clarke_unroll_add_product(u, &u->at[s->out][f], CLARKE_DO_QUOTIENT,
                                       clarke_unroll_entry(u, s->in[0].value, clarke_operand_entry(&s->in[0], f)),
                                       root[clarke_operand_entry(&s->in[1], f)]);
  free(root);
  return status;
}

clarke_status
clarke_unroll_scale(clarke_unrolling *u, const clarke_step *s)
{
  bool number = clarke_unroll_is_number(u, s->in[1].value);
  clarke_status status = clarke_unroll_make_room(u, 1);

  if (s->root)
    return unroll_root(u, s);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    if (number)
      status = scaled_entry(u, s, f);
    else
      status = clarke_unroll_add_product(u, &u->at[s->out][f], s->divide ? CLARKE_DO_QUOTIENT : CLARKE_DO_PRODUCT,
                                         clarke_unroll_entry(u, s->in[0].value, clarke_operand_entry(&s->in[0], f)),
                                         clarke_unroll_entry(u, s->in[1].value, clarke_operand_entry(&s->in[1], f)));
  return status;
}

/* The terms of output entry f but those of padding: with a weight in wrt, products made before
 * (products[i]). */
static size_t
dense_terms(clarke_unrolling *u, const clarke_step *s, size_t f, const size_t *products)
{
  const clarke_block_row row = clarke_block_row_of(&s->dense, f);
  size_t n = 0;

  for (size_t i = 0; i < s->dense.inner; i++) {
    const size_t at = clarke_unroll_entry(u, s->in[0].value, row.x + i * row.x_step);

    if (at == u->zero)
      continue;
    if (products != NULL) {
      u->in[n] = products[i];
      mpq_set_ui(u->coef[n++], 1, 1);
      continue;
    }
    u->in[n] = at;
    mpq_set_d(u->coef[n++], u->g->values[s->dense.weight].real[row.weight + i * row.weight_step]);
  }
  return n;
}

/* All products W x of a step whose weight is in wrt, output by output: one group. */
static clarke_status
dense_products(clarke_unrolling *u, const clarke_step *s, size_t **products)
{
  const clarke_dense *d = &s->dense;
  size_t count = u->g->values[s->out].count;
  clarke_status status = CLARKE_OK;

  if (d->inner != 0 && count > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS) / d->inner)
    return clarke_limit_fail(u->err, CLARKE_LIMIT_INSTRUCTIONS, "%s: more products than allowed; a network "
                             "this large is not unrolled with these weights in wrt", u->g->file);
  *products = malloc((count * d->inner + 1) * sizeof **products);
  if (*products == NULL)
    return clarke_unroll_no_memory(u);
  for (size_t f = 0; f < count; f++)
    for (size_t i = 0; status == CLARKE_OK && i < d->inner; i++) {
      const clarke_block_row row = clarke_block_row_of(d, f);
      const size_t at = clarke_unroll_entry(u, s->in[0].value, row.x + i * row.x_step);

      if (at != u->zero)
        status = clarke_unroll_add_product(u, &(*products)[f * d->inner + i], CLARKE_DO_PRODUCT,
                                           clarke_unroll_entry(u, d->weight, row.weight + i * row.weight_step), at);
    }
  clarke_code_new_group(u->p);
  return status;
}

/* The argument's entries, and where the matrix is in wrt, the matrix's. */
static clarke_status
name_entries(clarke_unrolling *u, clarke_block *b, const clarke_step *s)
{
  const bool numbers = clarke_unroll_is_number(u, s->dense.weight);

  b->x = malloc((b->n_x + 1) * sizeof *b->x);
  b->parameter = numbers ? NULL : malloc((b->n_weights + 1) * sizeof *b->parameter);
  if (b->x == NULL || (!numbers && b->parameter == NULL))
    return clarke_unroll_no_memory(u);
  for (size_t e = 0; e < b->n_x; e++) {
    const size_t at = clarke_unroll_entry(u, s->in[0].value, e);

    b->x[e] = at == u->zero ? CLARKE_NONE : at;
  }
  for (size_t e = 0; !numbers && e < b->n_weights; e++)
    b->parameter[e] = clarke_unroll_entry(u, s->dense.weight, e);
  return CLARKE_OK;
}

/* Whole: its results are inputs. */
static clarke_status
fold_dense(clarke_unrolling *u, const clarke_step *s)
{
  clarke_folded *to = u->folded;
  clarke_block *grown = realloc(to->block, (to->n + 1) * sizeof *grown), *b;
  const clarke_value *w = &u->g->values[s->dense.weight];
  clarke_status status;

  if (grown == NULL)
    return clarke_unroll_no_memory(u);
  to->block = grown;
  b = &to->block[to->n++];
  *b = (clarke_block){.n = u->g->values[s->out].count, .shape = s->dense, .n_weights = w->count, .weight = w->real,
                      .n_x = u->g->values[s->in[0].value].count};
  status = name_entries(u, b, s);
  return status == CLARKE_OK ? clarke_unroll_add_results(u, s, &b->first) : status;
}

clarke_status
clarke_unroll_dense(clarke_unrolling *u, const clarke_step *s)
{
  size_t *products = NULL, inner = s->dense.inner;
  clarke_status status;

  if (u->folded != NULL)
    return fold_dense(u, s);
  status = clarke_unroll_make_room(u, inner);
  if (status == CLARKE_OK && !clarke_unroll_is_number(u, s->dense.weight))
    status = dense_products(u, s, &products);
  mpq_set_ui(u->constant, 0, 1);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t n = dense_terms(u, s, f, products != NULL ? products + f * inner : NULL);

    status = clarke_unroll_add_linear(u, &u->at[s->out][f], n, u->constant);
  }
  free(products);
  return status;
}

/* Products, and their sum. */
clarke_status
clarke_unroll_product(clarke_unrolling *u, const clarke_step *s)
{
  const size_t n = s->contraction.inner;
  clarke_status status = clarke_unroll_make_room(u, n);

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    for (size_t k = 0; k < n && status == CLARKE_OK; k++)
      status = clarke_unroll_add_product(u, n == 1 ? &u->at[s->out][f] : &u->in[k], CLARKE_DO_PRODUCT,
                                         clarke_unroll_entry(u, s->in[0].value, clarke_step_factor(s, 0, f, k)),
                                         clarke_unroll_entry(u, s->in[1].value, clarke_step_factor(s, 1, f, k)));
    if (n == 1 || status != CLARKE_OK)
      continue;
    for (size_t k = 0; k < n; k++)
      mpq_set_ui(u->coef[k], 1, 1);
    mpq_set_ui(u->constant, 0, 1);
    status = clarke_unroll_add_linear(u, &u->at[s->out][f], n, u->constant);
  }
  return status;
}
