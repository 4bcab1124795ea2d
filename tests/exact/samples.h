/* Random samples for the tests of the exact room, and matrices of mpq that tests compute with in the plainest way. */
#ifndef CLARKE_TESTS_EXACT_SAMPLES_H
#define CLARKE_TESTS_EXACT_SAMPLES_H

#include "exact/matrix.h"

#include "../draw.h"

#include <stdlib.h>

/* An integer of up to `bits` bits, often of a special form: 0, +-1, +-2^k, +-(2^k - 1). */
static inline void
sample_integer(mpz_t z, uint64_t *state, size_t bits)
{
  const size_t width = bits == 0 ? 0 : draw_below(state, bits + 1);

  mpz_set_ui(z, 0);
  switch (draw_below(state, 6)) {
  case 0:
    break;
  case 1:
    mpz_setbit(z, width);
    break;
  case 2:
    mpz_setbit(z, width);
    mpz_sub_ui(z, z, 1);
    break;
  default:
    for (size_t k = 0; k < width; k += 64) {
      mpz_mul_2exp(z, z, 64);
      mpz_add_ui(z, z, draw(state));
    }
    mpz_fdiv_r_2exp(z, z, width);
  }
  if (draw(state) & 1)
    mpz_neg(z, z);
}

typedef struct {
  size_t rows, cols;
  mpq_t *at;
} grid;

static inline grid
grid_new(size_t rows, size_t cols)
{
  grid g = { rows, cols, malloc((rows * cols + 1) * sizeof *g.at) };

  for (size_t k = 0; k < rows * cols; k++)
    mpq_init(g.at[k]);
  return g;
}

static inline void
grid_free(grid *g)
{
  for (size_t k = 0; k < g->rows * g->cols; k++)
    mpq_clear(g->at[k]);
  free(g->at);
}

/* The midpoints of m. */
static inline grid
grid_of(const clarke_matrix *m)
{
  grid g = grid_new(m->rows, m->cols);

  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++)
      clarke_matrix_get(g.at[i * m->cols + j], m, i, j);
  return g;
}

#endif
