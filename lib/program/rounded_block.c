/* Matrix products of networks in the replay in floats, as the instructions would be replayed that they stand for: with the matrix
 * in wrt a product for each term, all of one run, and a sum of them for each result; else a LINEAR for each result. */
#include "program/rounded_inside.h"

void
clarke_machine_block_forward(clarke_machine *m, size_t block)
{
  const clarke_block *b = &m->block[block];
  const double *w = m->weight[block];

  for (size_t f = 0; f < b->n; f++) {
    const clarke_block_row row = clarke_block_row_of(&b->shape, f);
    double y = 0;
    bool begun = false;

    for (size_t i = 0; i < b->shape.inner; i++) {
      const size_t x = b->x[row.x + i * row.x_step];

      if (x != CLARKE_NONE)
        clarke_machine_add(m, &y, &begun, clarke_ieee_mul(&m->unit, w[row.weight + i * row.weight_step], m->value[x]));
    }
    m->value[b->first + f] = y;
  }
}

/* Is there something in wrt behind the argument's entries? The first input alone is none, unless there is no other. */
static bool
argument_moves(const clarke_machine *m, const clarke_block *b)
{
  const clarke_code_input *in = &m->p->input[0];

  for (size_t e = 0; e < b->n_x; e++)
    if (b->x[e] != CLARKE_NONE && (in->wrt || b->x[e] < in->first || b->x[e] >= in->first + in->n))
      return true;
  return false;
}

/* The products' turn: all give to the matrix, or all to the argument. */
static void
undo_products(clarke_machine *m, const clarke_block *b, const double *w, bool to_matrix)
{
  for (size_t f = 0; f < b->n; f++) {
    const clarke_block_row row = clarke_block_row_of(&b->shape, f);
    const double g = m->adjoint[b->first + f];

    for (size_t i = 0; m->reached[b->first + f] && i < b->shape.inner; i++) {
      const size_t weight = row.weight + i * row.weight_step, x = b->x[row.x + i * row.x_step];

      if (x == CLARKE_NONE)
        continue;
      if (to_matrix)
        clarke_machine_give(m, b->parameter[weight], clarke_ieee_mul(&m->unit, g, m->value[x]));
      else
        clarke_machine_give(m, x, clarke_ieee_mul(&m->unit, g, w[weight]));
    }
  }
  clarke_machine_flush(m);
}

/* How many terms of a result are no padding. */
static size_t
terms(const clarke_block *b, const clarke_block_row *row)
{
  size_t n = 0;

  for (size_t i = 0; i < b->shape.inner; i++)
    n += b->x[row->x + i * row->x_step] != CLARKE_NONE;
  return n;
}

/* The k-th of them. */
static size_t
term(const clarke_block *b, const clarke_block_row *row, size_t n, size_t k)
{
  size_t i = 0;

  if (n == b->shape.inner)
    return k;
  for (size_t found = 0; b->x[row->x + i * row->x_step] == CLARKE_NONE || found++ < k; i++)
    ;
  return i;
}

/* The sums of results from `start` to `end`, of n terms each: a run. */
static void
undo_sums(clarke_machine *m, const clarke_block *b, const double *w, size_t start, size_t end, size_t n)
{
  for (size_t turn = 0; turn < n; turn++) {
    for (size_t f = start; f < end; f++) {
      const clarke_block_row row = clarke_block_row_of(&b->shape, f);
      const bool one = b->weight[row.weight + term(b, &row, n, 0) * row.weight_step] == 1;
      const size_t i = term(b, &row, n, clarke_machine_turn(n, turn, one));

      if (m->reached[b->first + f])
        clarke_machine_give(m, b->x[row.x + i * row.x_step],
                            clarke_ieee_mul(&m->unit, m->adjoint[b->first + f], w[row.weight + i * row.weight_step]));
    }
    clarke_machine_flush(m);
  }
}

void
clarke_machine_block_backward(clarke_machine *m, size_t block)
{
  const clarke_block *b = &m->block[block];
  const double *w = m->weight[block];
  const bool moves = argument_moves(m, b);

  m->several = true;
  if (b->parameter != NULL) {
    undo_products(m, b, w, true);
    if (moves)
      undo_products(m, b, w, false);
    return;
  }
  for (size_t end = b->n; moves && end > 0;) {
    clarke_block_row row = clarke_block_row_of(&b->shape, end - 1);
    const size_t n = terms(b, &row);
    size_t start = end - 1;

    for (; start > 0; start--) {
      row = clarke_block_row_of(&b->shape, start - 1);
      if (terms(b, &row) != n)
        break;
    }
    undo_sums(m, b, w, start, end, n);
    end = start;
  }
}
