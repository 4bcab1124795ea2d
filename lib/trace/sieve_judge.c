/* What is recorded beside what doubles say it should be (sieve.h). */
#include "trace/sieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this part of its bound, as it is guessed from the sum, an entry's own products are added up. */
#define DOUBTFUL 0.5
#define TILE 32
/* Entries of a row that are guessed at together. */
#define CHUNK 256

static void
turn_packed(double *to, const unsigned char *from, size_t rows, size_t cols, size_t f, size_t j)
{
  for (size_t f1 = f; f1 < rows && f1 < f + TILE; f1++)
    for (size_t j1 = j; j1 < cols && j1 < j + TILE; j1++)
      to[f1 * cols + j1] = clarke_f32_at(from, j1 * rows + f1);
}

static void
turn(double *to, const double *from, size_t rows, size_t cols, size_t f, size_t j)
{
  for (size_t f1 = f; f1 < rows && f1 < f + TILE; f1++)
    for (size_t j1 = j; j1 < cols && j1 < j + TILE; j1++)
      to[f1 * cols + j1] = from[j1 * rows + f1];
}

double *
clarke_sieve_turned(clarke_sieve *s, const clarke_tensor *t, size_t rows, size_t cols, clarke_error *err)
{
  double *to;

  if (t == NULL || (t->real == NULL && t->packed == NULL) || t->dtype != CLARKE_F32 || t->count != rows * cols) {
    s->open = true;
    return NULL;
  }
  to = clarke_sieve_take(s, rows * cols);
  if (to == NULL) {
    clarke_no_memory(err);
    return NULL;
  }
  for (size_t f = 0; f < rows; f += TILE)
    for (size_t j = 0; j < cols; j += TILE)
      if (t->packed != NULL)
        turn_packed(to, t->packed, rows, cols, f, j);
      else
        turn(to, t->real, rows, cols, f, j);
  return to;
}

/* --- an entry's own products --- */

typedef struct {
  clarke_sieve *s;
  const clarke_sieved *v;
  clarke_terms_kind kind;
  size_t n, capacity;
  double *a, *b;
  size_t *start, *reader; /* list_readers */
} products;

static bool
add_product(products *p, double a, double b)
{
  if (p->n == p->capacity) {
    const size_t wanted = 2 * p->capacity + 1024;
    double *x = realloc(p->a, wanted * sizeof *x), *y = realloc(p->b, wanted * sizeof *y);

    p->a = x != NULL ? x : p->a;
    p->b = y != NULL ? y : p->b;
    if (x == NULL || y == NULL)
      return false;
    p->capacity = wanted;
  }
  p->a[p->n] = a;
  p->b[p->n++] = b;
  return true;
}

static double
weight_at(const products *p, size_t block, size_t o, size_t i)
{
  const clarke_dense *d = &p->v->dense->dense;
  const double *w = p->s->g->values[d->weight].real;

  return d->transposed ? w[i * d->outer + o] : w[((d->grouped ? block * d->outer : 0) + o) * d->inner + i];
}

static bool
of_output(products *p, size_t f, size_t j)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
  bool well = true;

  for (size_t i = 0; i < d->inner && well; i++) {
    const double *x = clarke_sieve_operand(p->s, p->v->dense, (b * d->inner + i) * d->repeat + r);

    if (x != NULL)
      well = add_product(p, weight_at(p, b, o, i), x[j]);
  }
  return well;
}

/* Which entries of the laid-out operand are entry `from` of its source: reader[start[from]] and on. Made when first asked for. */
static bool
list_readers(products *p, const size_t *map)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t laid = d->blocks * d->inner * d->repeat, count = p->s->g->values[clarke_sieve_source(p->s, p->v->dense)].count;

  if (p->start != NULL)
    return true;
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
add_column(products *p, size_t f, size_t j)
{
  const clarke_dense *d = &p->v->dense->dense;
  const size_t r = f % d->repeat, i = f / d->repeat % d->inner, b = f / d->repeat / d->inner;
  const double *g = p->s->grad[p->v->dense->out].near;
  bool well = true;

  for (size_t o = 0; o < d->outer && well; o++)
    well = add_product(p, weight_at(p, b, o, i), g[((b * d->outer + o) * d->repeat + r) * p->s->n + j]);
  return well;
}

static bool
of_input(products *p, size_t from, size_t j)
{
  const size_t *map = clarke_sieve_map(p->s, p->v->dense);
  bool well = true;

  if (map == NULL)
    return add_column(p, from, j);
  if (!list_readers(p, map))
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
rows_of(const double **g, const double **x, const products *p, const place *at, size_t block, size_t r)
{
  const clarke_dense *d = &p->v->dense->dense;

  *g = p->s->grad[p->v->dense->out].near + ((block * d->outer + at->o) * d->repeat + r) * p->s->n;
  *x = clarke_sieve_operand(p->s, p->v->dense, (block * d->inner + at->i) * d->repeat + r);
}

static bool
of_weight(products *p, size_t e)
{
  const clarke_dense *d = &p->v->dense->dense;
  const place at = place_of(d, e);
  const double *g, *x;
  bool well = true;

  for (size_t b = at.begin; b < at.end; b++)
    for (size_t r = 0; r < d->repeat; r++) {
      rows_of(&g, &x, p, &at, b, r);
      for (size_t j = 0; x != NULL && j < p->s->n && well; j++)
        well = add_product(p, g[j], x[j]);
    }
  return well;
}

/* All products of the entry, its constant among them. */
static bool
list_products(products *p, size_t row, size_t col)
{
  p->n = 0;
  if (p->v->shift != NULL && !add_product(p, p->v->shift[row], 1))
    return false;
  switch (p->kind) {
  case CLARKE_TERMS_OF_OUTPUT:
    return of_output(p, row, col);
  case CLARKE_TERMS_OF_INPUT:
    return of_input(p, row, col);
  case CLARKE_TERMS_OF_WEIGHT:
    return of_weight(p, row);
  }
  return false;
}

/* The sum of n products, and what their absolute values add up to, in four parts each, for vectors. */
static void
add_products(double *sum, double *mass, const double *a, const double *b, size_t n)
{
  double part[4] = {0, 0, 0, 0}, size[4] = {0, 0, 0, 0};

  for (size_t k = 0; k + 4 <= n; k += 4)
    for (size_t q = 0; q < 4; q++) {
      const double product = a[k + q] * b[k + q];

      part[q] += product;
      size[q] += fabs(product);
    }
  for (size_t k = n / 4 * 4; k < n; k++) {
    part[0] += a[k] * b[k];
    size[0] += fabs(a[k] * b[k]);
  }
  *sum += part[0] + part[1] + part[2] + part[3];
  *mass += size[0] + size[1] + size[2] + size[3];
}

/* The same of an entry; how many there are. A weight's, which are many, lie in rows. */
static bool
add_up(double *sum, double *mass, double *terms, products *p, size_t row, size_t col)
{
  const clarke_dense *d = &p->v->dense->dense;
  const place at = place_of(d, row);
  const double *g, *x;

  *sum = *mass = *terms = 0;
  if (p->kind != CLARKE_TERMS_OF_WEIGHT) {
    if (!list_products(p, row, col))
      return false;
    add_products(sum, mass, p->a, p->b, p->n);
    *terms = (double)p->n;
    return true;
  }
  for (size_t b = at.begin; b < at.end; b++)
    for (size_t r = 0; r < d->repeat; r++) {
      rows_of(&g, &x, p, &at, b, r);
      if (x != NULL)
        add_products(sum, mass, g, x, p->s->n);
    }
  *terms = (double)(at.end - at.begin) * (double)(d->repeat * (p->s->n + 1));
  return true;
}

/* Is the record the exact sum, rounded once? */
static clarke_status
is_rounded_sum(bool *is, const products *p, double recorded, clarke_error *err)
{
  clarke_matrix m;
  mpq_t sum[1], a, b;
  clarke_status status;

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

/* --- entries --- */

typedef struct {
  clarke_sieve *s;
  clarke_certificate *made;
  const double *recorded;
  size_t cols;
  double by; /* the bound in parts of the absolute values' sum, rounded down */
  products p;
  size_t wrong; /* entries that are no rounded sum */
} judging;

/* Between which doubles is the exact number? */
static double
slack_at(const clarke_sieved *v, size_t row, double near)
{
  return v->slack != NULL && v->slack[row] > 0 ? v->slack[row] + fabs(near) * 0x1p-51 : 0;
}

/* The sum that doubles gave says too little of an entry. */
static clarke_status
judge_doubtful(judging *j, size_t row, size_t col, clarke_error *err)
{
  const clarke_sieved *v = j->p.v;
  const double near = v->near[row * j->cols + col], recorded = j->recorded[row * j->cols + col];
  double off = fabs(recorded - near) * (1 + 0x1p-50) + slack_at(v, row, near), bound, sum, mass, terms;

  if (v->dense != NULL) {
    if (!add_up(&sum, &mass, &terms, &j->p, row, col))
      return clarke_no_memory(err);
    off = fabs(recorded - sum) * (1 + 0x1p-50);
    off += mass > 0 ? clarke_sieve_slack(terms, mass) : 0;
    bound = j->by * mass * (1 - 0x1p-18);
  } else if (v->floor != NULL) {
    bound = j->by * v->floor[row];
  } else {
    bound = j->by * (fabs(near) - (v->slack != NULL ? v->slack[row] : 0));
  }
  if (off > 0 && !(off <= bound))
    j->s->open = true;
  else if (off > 0)
    j->made->worst = fmax(j->made->worst, off / bound);
  return CLARKE_OK;
}

/* Numbers that are exact beside their records. */
static size_t
count_equal(const double *near, const double *recorded, size_t n)
{
  size_t equal = 0;

  for (size_t e = 0; e < n; e++)
    equal += near[e] == recorded[e];
  return equal;
}

/* The errors of some entries of a row in parts of their bounds, as they are guessed from the sums: no branch, no call, so that
 * compilers make vectors of it. */
static void
guess(double *restrict ratio, judging *j, size_t row, const double *restrict near, const double *restrict recorded, size_t n)
{
  const clarke_sieved *v = j->p.v;
  const double by = j->by;
  const double shift = v->shift != NULL ? v->shift[row] : 0, wide = v->slack != NULL ? v->slack[row] : 0;
  const double floor = fabs(shift) - wide, more = wide > 0 ? 0x1p-51 : 0;
  size_t exact = 0, wrong = 0;

  for (size_t e = 0; e < n; e++) {
    const double own = wide + fabs(near[e]) * more;
    const double off = fabs(recorded[e] - near[e]) * (1 + 0x1p-50) + own;
    const double mass = fabs(near[e] - shift) * (1 - 0x1p-50) + floor, part = off / (by * mass);
    const double low = (float)(near[e] - own), high = (float)(near[e] + own);

    exact += (low == recorded[e]) & (high == recorded[e]);
    wrong += (recorded[e] < low) | (recorded[e] > high);
    ratio[e] = off == 0 ? 0 : mass > 0 ? part : INFINITY;
  }
  j->made->exact += exact;
  j->wrong += wrong;
}

static clarke_status
judge_row(judging *j, size_t row, clarke_error *err)
{
  const clarke_sieved *v = j->p.v;
  const double *near = v->near + row * j->cols, *recorded = j->recorded + row * j->cols;
  double ratio[CHUNK];
  clarke_status status = CLARKE_OK;

  if (v->slack == NULL && count_equal(near, recorded, j->cols) == j->cols) {
    j->made->exact += j->cols;
    return CLARKE_OK;
  }
  for (size_t from = 0; from < j->cols && status == CLARKE_OK; from += CHUNK) {
    const size_t n = j->cols - from < CHUNK ? j->cols - from : CHUNK;
    double worst = j->made->worst;

    guess(ratio, j, row, near + from, recorded + from, n);
    for (size_t e = 0; e < n; e++)
      worst = ratio[e] > worst && ratio[e] <= DOUBTFUL ? ratio[e] : worst;
    j->made->worst = worst;
    for (size_t e = 0; e < n && status == CLARKE_OK; e++)
      if (!(ratio[e] <= DOUBTFUL))
        status = judge_doubtful(j, row, from + e, err);
  }
  return status;
}

/* Only entries that doubles do not tell from a rounded sum are left: exactly. */
static clarke_status
settle_row(judging *j, size_t row, clarke_error *err)
{
  const clarke_sieved *v = j->p.v;
  clarke_status status = CLARKE_OK;

  for (size_t col = 0; col < j->cols && status == CLARKE_OK && j->wrong == 0; col++) {
    const double near = v->near[row * j->cols + col], wide = slack_at(v, row, near), recorded = j->recorded[row * j->cols + col];
    bool is = false;

    if ((float)(near - wide) == recorded && (float)(near + wide) == recorded)
      continue;
    if (v->dense == NULL) {
      j->s->open = true;
      return CLARKE_OK;
    }
    status = list_products(&j->p, row, col) ? is_rounded_sum(&is, &j->p, recorded, err) : clarke_no_memory(err);
    j->made->exact += is;
    j->wrong += !is;
  }
  return status;
}

clarke_status
clarke_sieve_judge(clarke_sieve *s, clarke_certificate *made, const clarke_sieved *v, size_t rows, size_t cols,
                   const double *recorded, double roundings, clarke_terms_kind kind, clarke_error *err)
{
  const double nu = roundings * s->c->by.unit;
  judging j = {.s = s, .made = made, .recorded = recorded, .cols = cols, .p = {.s = s, .v = v, .kind = kind}};
  clarke_status status = CLARKE_OK;

  j.by = nu / (1 - nu) * (1 - 0x1p-40);
  s->open = s->open || nu >= 0.5;
  for (size_t row = 0; v->top != NULL && row < rows; row++)
    s->open = s->open || !(v->top[row] <= s->c->by.largest); /* a sum may have overflown on its way */
  for (size_t row = 0; row < rows && status == CLARKE_OK && !s->open; row++)
    status = judge_row(&j, row, err);
  for (size_t row = 0; row < rows && status == CLARKE_OK && !s->open && j.wrong == 0 && made->exact < rows * cols; row++)
    status = settle_row(&j, row, err);
  made->entries = rows * cols;
  made->at_most = true;
  made->certainty = made->exact == made->entries ? CLARKE_BIT_EXACT : CLARKE_WITHIN_BOUND;
  free(j.p.a);
  free(j.p.b);
  free(j.p.start);
  free(j.p.reader);
  return status;
}
