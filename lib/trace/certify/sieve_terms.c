/* An entry's own products, when its sum alone says too little (sieve_terms.h). */
#include "trace/certify/sieve_terms.h"
#include "base/room.h"

#include <math.h>
#include <stdlib.h>

void
clarke_sieve_terms_clear(clarke_sieve_terms *p)
{
  free(p->a);
  free(p->b);
  free(p->start);
  free(p->reader);
  free(p->of_gradient);
  free(p->of_operand);
}

/* False: it was one too many. */
static bool
list_product(clarke_sieve_terms *p, double a, double b)
{
  if (p->n == p->capacity) {
    size_t of_a = p->capacity;

    p->failed = !clarke_room(&p->a, &of_a, p->n + 1, sizeof *p->a) ||
                !clarke_room(&p->b, &p->capacity, p->n + 1, sizeof *p->b);
    if (p->failed)
      return false;
  }
  p->a[p->n] = a;
  p->b[p->n++] = b;
  return true;
}

/* False: no more are wanted. */
static inline bool
add_product(clarke_sieve_terms *p, double a, double b)
{
  if (p->listed)
    return list_product(p, a, b);
  p->sum += a * b;
  p->mass += fabs(a * b);
  p->n++;
  p->stopped = !(p->mass <= p->enough);
  return !p->stopped;
}

static double
weight_at(const clarke_sieve_terms *p, size_t block, size_t o, size_t i)
{
  const clarke_dense *d = &p->v->dense->dense;
  const double *w = p->s->g->values[d->weight].real;

  return d->transposed ? w[i * d->outer + o] : w[((d->grouped ? block * d->outer : 0) + o) * d->inner + i];
}

static bool
of_output(clarke_sieve_terms *p, size_t f, size_t j)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
  bool well = true;

  for (size_t i = 0; i < d->inner && well; i++) {
    const float *x = clarke_sieve_operand(p->s, p->v->dense, (b * d->inner + i) * d->repeat + r);

    if (x != NULL)
      well = add_product(p, weight_at(p, b, o, i), x[j]);
  }
  return well;
}

/* Which entries of the laid-out operand are entry `from` of its source: reader[start[from]] and on. Made when first asked for. */
static bool
list_readers(clarke_sieve_terms *p, const size_t *map)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t laid = d->blocks * d->inner * d->repeat, count = p->s->g->values[clarke_sieve_source(p->s, p->v->dense)].count;

  if (p->start != NULL && p->reader != NULL)
    return true;
  free(p->start);
  free(p->reader);
  p->start = calloc(count + 2, sizeof *p->start);
  p->reader = malloc((laid + 1) * sizeof *p->reader);
  if (p->start == NULL || p->reader == NULL)
    return false;
  for (size_t f = 0; f < laid; f++)
    if (map[f] != CLARKE_NONE)
      p->start[map[f] + 2]++;
  for (size_t e = 2; e < count + 2; e++)
    p->start[e] += p->start[e - 1];
  for (size_t f = 0; f < laid; f++)
    if (map[f] != CLARKE_NONE)
      p->reader[p->start[map[f] + 1]++] = f;
  return true;
}

static bool
add_column(clarke_sieve_terms *p, size_t f, size_t j)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t r = f % d->repeat, i = f / d->repeat % d->inner, b = f / d->repeat / d->inner;
  const float *g = p->s->grad[p->v->dense->out].exact;
  bool well = true;

  for (size_t o = 0; o < d->outer && well; o++)
    well = add_product(p, weight_at(p, b, o, i), g[((b * d->outer + o) * d->repeat + r) * p->s->n + j]);
  return well;
}

static bool
of_input(clarke_sieve_terms *p, size_t from, size_t j)
{
  const size_t *map = clarke_sieve_map(p->s, p->v->dense);
  bool well = true;

  if (map == NULL)
    return add_column(p, from, j);
  p->failed = !list_readers(p, map);
  if (p->failed)
    return false;
  for (size_t k = p->start[from]; k < p->start[from + 1] && well; k++)
    well = add_column(p, p->reader[k], j);
  return well;
}

/* Entry e of a weight in its blocks' rows of g and of the operand, the blocks begin .. end. */
typedef struct {
  size_t begin, end, o, i;
} place;

static place
place_of(const clarke_dense *d, size_t e)
{
  const size_t line = d->transposed ? d->outer : d->inner, row = e / line, own = row / d->outer;

  return (place){.begin = d->grouped ? own : 0,
                 .end = d->grouped ? own + 1 : d->blocks,
                 .o = d->transposed ? e % line : row % d->outer,
                 .i = d->transposed ? row : e % line};
}

/* n numbers each: row r of what such an entry is the sum of products of. x: NULL for zeros. */
static void
rows_of(const float **g, const float **x, const clarke_sieve_terms *p, const place *at, size_t block, size_t r)
{
  const clarke_dense *d = &p->v->dense->dense;

  *g = p->s->grad[p->v->dense->out].exact + ((block * d->outer + at->o) * d->repeat + r) * p->s->n;
  *x = clarke_sieve_operand(p->s, p->v->dense, (block * d->inner + at->i) * d->repeat + r);
}

static bool
of_weight(clarke_sieve_terms *p, size_t e)
{
  const clarke_dense *d = &p->v->dense->dense;
  const place at = place_of(d, e);
  const float *g, *x;
  bool well = true;

  for (size_t b = at.begin; b < at.end; b++)
    for (size_t r = 0; r < d->repeat; r++) {
      rows_of(&g, &x, p, &at, b, r);
      for (size_t j = 0; x != NULL && j < p->s->n && well; j++)
        well = add_product(p, g[j], x[j]);
    }
  return well;
}

static void
begin_products(clarke_sieve_terms *p)
{
  p->n = 0;
  p->sum = p->mass = 0;
  p->stopped = p->failed = false;
}

/* The products of the entry, its constant among them. */
static void
visit_products(clarke_sieve_terms *p, size_t row, size_t col)
{
  begin_products(p);
  if (p->v->shift != NULL && !add_product(p, p->v->shift[row], 1))
    return;
  switch (p->kind) {
  case CLARKE_TERMS_OF_OUTPUT:
    of_output(p, row, col);
    return;
  case CLARKE_TERMS_OF_INPUT:
    of_input(p, row, col);
    return;
  case CLARKE_TERMS_OF_WEIGHT:
    of_weight(p, row);
    return;
  }
}

/* A bit for each number of the rows, of n each, that is not 0. */
static uint64_t *
bits_of(const float *x, size_t rows, size_t n)
{
  const size_t words = (n + 63) / 64;
  uint64_t *bits = calloc(rows * words + 1, sizeof *bits);

  for (size_t f = 0; bits != NULL && f < rows; f++)
    for (size_t j = 0; j < n; j++)
      bits[f * words + j / 64] |= (uint64_t)(x[f * n + j] != 0) << j % 64;
  return bits;
}

/* Made when first asked for. */
static bool
make_bits(clarke_sieve_terms *p)
{
  const clarke_sieve *s = p->s;
  const clarke_dense *d = &p->v->dense->dense;
  const size_t x = clarke_sieve_source(s, p->v->dense);

  p->gradient = s->grad[p->v->dense->out].exact;
  p->operand = s->value[x].exact;
  p->map = clarke_sieve_map(s, p->v->dense);
  if (p->of_gradient == NULL)
    p->of_gradient = bits_of(p->gradient, d->blocks * d->outer * d->repeat, s->n);
  if (p->of_operand == NULL)
    p->of_operand = bits_of(p->operand, s->g->values[x].count, s->n);
  return p->of_gradient != NULL && p->of_operand != NULL;
}

/* The products of two rows that are not 0: most of them are, behind kinks and pools. False: no more are wanted. */
static bool
add_rows(clarke_sieve_terms *p, size_t g, size_t x)
{
  const size_t n = p->s->n, words = (n + 63) / 64;
  const float *a = p->gradient + g * n, *b = p->operand + x * n;

  for (size_t w = 0; w < words; w++)
    for (uint64_t both = p->of_gradient[g * words + w] & p->of_operand[x * words + w]; both != 0; both &= both - 1) {
      const size_t j = 64 * w + (size_t)__builtin_ctzll(both);

      if (!add_product(p, a[j], b[j]))
        return false;
    }
  return true;
}

/* The products of a weight's entry that are not 0. */
static void
add_weight(clarke_sieve_terms *p, size_t e)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t *map = p->map;
  const place at = place_of(d, e);
  bool more = true;

  for (size_t b = at.begin; b < at.end; b++)
    for (size_t r = 0; r < d->repeat && more; r++) {
      const size_t f = (b * d->inner + at.i) * d->repeat + r, x = map != NULL ? map[f] : f;

      more = x == CLARKE_NONE || add_rows(p, (b * d->outer + at.o) * d->repeat + r, x);
    }
}

bool
clarke_sieve_add_up(clarke_sieve_terms *p, double enough, size_t row, size_t col)
{
  p->listed = false;
  p->enough = enough;
  if (p->kind != CLARKE_TERMS_OF_WEIGHT) {
    visit_products(p, row, col);
    return !p->failed;
  }
  if ((p->of_gradient == NULL || p->of_operand == NULL) && !make_bits(p))
    return false;
  begin_products(p);
  add_weight(p, row);
  return true;
}

/* Is the record the exact sum, rounded once? */
clarke_status
clarke_sieve_is_rounded_sum(bool *is, clarke_sieve_terms *p, size_t row, size_t col, double recorded,
                            clarke_error *err)
{
  clarke_matrix m;
  mpq_t sum[1], a, b;
  clarke_status status;

  p->listed = true;
  visit_products(p, row, col);
  if (p->failed)
    return clarke_no_memory(err);
  clarke_matrix_init(&m);
  mpq_inits(sum[0], a, b, NULL);
  for (size_t k = 0; k < p->n; k++) {
    mpq_set_d(a, p->a[k]);
    mpq_set_d(b, p->b[k]);
    mpq_mul(a, a, b);
    mpq_add(sum[0], sum[0], a);
  }
  status = clarke_matrix_set_rationals(&m, 1, 1, sum, err);
  *is = status == CLARKE_OK && clarke_rounded(&m, 0, 0, CLARKE_F32) == recorded;
  mpq_clears(sum[0], a, b, NULL);
  clarke_matrix_clear(&m);
  return status;
}
