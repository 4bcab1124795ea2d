/* What is recorded beside what doubles say it should be (sieve.h). */
#include "trace/certify/sieve_terms.h"

#include <math.h>
#include <string.h>

/* Beyond this part of its bound, as it is guessed from the sum, an entry's own products are added up. */
#define DOUBTFUL 0.5
/* Sides of the squares that are turned together: a line of the cache of 64 bytes holds a row of one. */
#define TILE 16
#define AHEAD 64
/* Rows that are turned for all samples before the next: what was read beside a square, and what was written, is in the cache still. */
#define BAND 256
/* Entries of a row that are guessed at together. */
#define CHUNK 256

#if defined __GNUC__ && __BYTE_ORDER == __LITTLE_ENDIAN && (defined __clang__ || __GNUC__ >= 12)
typedef float four __attribute__((vector_size(16)));

/* Four numbers of four samples; both rows of TILE samples and of n. */
static inline void
turn_four(float *to, size_t n, const float *from)
{
  four a, b, c, d, r[4];

  memcpy(&a, from, sizeof a);
  memcpy(&b, from + TILE, sizeof b);
  memcpy(&c, from + 2 * TILE, sizeof c);
  memcpy(&d, from + 3 * TILE, sizeof d);
  {
    const four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const four ba = __builtin_shufflevector(a, b, 2, 6, 3, 7), dc = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    r[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(ba, dc, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(ba, dc, 2, 3, 6, 7);
  }
  for (size_t i = 0; i < 4; i++)
    memcpy(to + i * n, &r[i], sizeof r[i]);
}

/* A whole square of packed numbers, whose bytes are those of floats. */
static bool
turn_whole(float *restrict to, const unsigned char *from, size_t all, size_t n, size_t f, size_t j, size_t rows, size_t cols)
{
  float own[TILE][TILE];

  if (rows != TILE || cols != TILE)
    return false;
  for (size_t k = 0; k < TILE; k++) {
    memcpy(own[k], from + 4 * ((j + k) * all + f), sizeof own[k]);
    if (f + AHEAD < all)
      __builtin_prefetch(from + 4 * ((j + k) * all + f + AHEAD));
  }
  for (size_t i = 0; i < TILE; i += 4)
    for (size_t k = 0; k < TILE; k += 4)
      turn_four(to + (f + i) * n + j + k, n, &own[k][i]);
  return true;
}
#else
static bool
turn_whole(float *to, const unsigned char *from, size_t all, size_t n, size_t f, size_t j, size_t rows, size_t cols)
{
  (void)to, (void)from, (void)all, (void)n, (void)f, (void)j, (void)rows, (void)cols;
  return false;
}
#endif

/* Numbers f .. f + rows of samples j .. j + cols: each sample's are read at once, for samples lie far apart, and often so that the
 * cache holds few of them. */
static void
turn_square(float *restrict to, const unsigned char *from, size_t all, size_t n, size_t f, size_t j, size_t rows, size_t cols)
{
  float own[TILE][TILE];

  if (turn_whole(to, from, all, n, f, j, rows, cols))
    return;
  for (size_t k = 0; k < cols; k++)
    for (size_t i = 0; i < rows; i++)
      own[k][i] = clarke_f32_at(from, (j + k) * all + f + i);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < cols; k++)
      to[(f + i) * n + j + k] = own[k][i];
}

/* Is the tensor packed, and its bytes those of floats? */
static bool
stays_packed(const clarke_tensor *t)
{
  return t->packed != NULL && htole32(1) == 1;
}

/* Packed numbers are turned into a room. A row or a column stays as it lies. */
static const float *
turn_packed(clarke_sieve *s, const unsigned char *from, size_t rows, size_t cols)
{
  float *to;

  if ((rows == 1 || cols == 1) && (uintptr_t)from % _Alignof(float) == 0)
    return (const float *)(const void *)from;
  to = clarke_sieve_take_floats(s, rows * cols);
  for (size_t begin = 0; to != NULL && begin < rows; begin += BAND) {
    const size_t end = rows - begin < BAND ? rows : begin + BAND;

    for (size_t j = 0; j < cols; j += TILE)
      for (size_t f = begin; f < end; f += TILE)
        turn_square(to, from, rows, cols, f, j, end - f < TILE ? end - f : TILE, cols - j < TILE ? cols - j : TILE);
  }
  return to;
}

/* Turns a tensor whose numbers are decoded first. */
static const float *
turn_decoded(clarke_sieve *s, clarke_tensor *t, size_t rows, size_t cols, clarke_error *err)
{
  float *to = clarke_tensor_unpack(t, err) == CLARKE_OK ? clarke_sieve_take_floats(s, rows * cols) : NULL;

  for (size_t e = 0; to != NULL && e < rows * cols; e++)
    to[e] = (float)t->real[e % cols * rows + e / cols];
  return to;
}

const float *
clarke_sieve_turned(clarke_sieve *s, clarke_tensor *t, size_t rows, size_t cols, clarke_error *err)
{
  const float *to;

  if (t == NULL || (t->real == NULL && t->packed == NULL) || t->dtype != CLARKE_F32 || t->count != rows * cols) {
    s->open = true;
    return NULL;
  }
  to = stays_packed(t) ? turn_packed(s, t->packed, rows, cols) : turn_decoded(s, t, rows, cols, err);
  if (to == NULL)
    clarke_no_memory(err);
  return to;
}

/* --- entries --- */

typedef struct {
  clarke_sieve *s;
  clarke_certificate *made;
  const float *recorded;
  size_t cols;
  double by; /* the bound in parts of the absolute values' sum, rounded down */
  clarke_sieve_terms p;
  size_t wrong; /* entries that are no rounded sum; when there are any they are no longer counted, and exact ones neither */
} judging;

/* The sum that doubles gave, without the constant among its terms; what is known, where that is so. */
static double
near_at(const judging *j, size_t row, size_t col)
{
  const clarke_sieved *v = j->p.v;

  return v->near != NULL ? v->near[row * j->cols + col] : (double)v->exact[row * j->cols + col];
}

static double
shift_at(const clarke_sieved *v, size_t row)
{
  return v->shift != NULL ? v->shift[row] : 0;
}

/* Between which doubles is the exact number? */
static double
slack_at(const clarke_sieved *v, size_t row, size_t col, double near)
{
  const double slack = v->slack != NULL ? v->slack[row] * (v->scale != NULL ? v->scale[col] : 1) : 0;

  return slack > 0 ? slack + clarke_taken(2, fabs(near)) : 0;
}

/* Where the entry's products are looked up. */
static size_t
row_of_terms(const judging *j, size_t row, size_t col)
{
  return j->p.kind == CLARKE_TERMS_OF_WEIGHT ? row * j->cols + col : row;
}

static size_t
col_of_terms(const judging *j, size_t col)
{
  return j->p.kind == CLARKE_TERMS_OF_WEIGHT ? 0 : col;
}

/* The sum that doubles gave says too little of an entry. */
static clarke_status
judge_doubtful(judging *j, size_t row, size_t col, clarke_error *err)
{
  const clarke_sieved *v = j->p.v;
  const double sum = near_at(j, row, col), near = sum + shift_at(v, row), recorded = j->recorded[row * j->cols + col];
  double off = clarke_up_by(fabs(recorded - near), 4) + slack_at(v, row, col, near), bound;

  if (v->dense != NULL) {
    if (!clarke_sieve_add_up(&j->p, clarke_up_by(off / (DOUBTFUL * j->by), 0x1p35), row_of_terms(j, row, col), col_of_terms(j, col)))
      return clarke_no_memory(err);
    bound = clarke_down_by(j->by * j->p.mass, 0x1p34); /* some products' absolute values are no more than all */
    if (!j->p.stopped) {
      off = clarke_up_by(fabs(recorded - j->p.sum), 4);
      off += j->p.mass > 0 ? clarke_sieve_slack((double)j->p.n, j->p.mass) : 0;
    }
  } else if (v->floor != NULL) {
    bound = j->by * v->floor[row];
  } else {
    bound = j->by * (fabs(sum) + fabs(shift_at(v, row)) - (v->slack != NULL ? v->slack[row] : 0));
  }
  if (off > 0 && !(off <= bound))
    j->s->open = true;
  else if (off > 0)
    j->made->worst = fmax(j->made->worst, off / bound);
  return CLARKE_OK;
}

bool
clarke_sieve_is_equal(const float *a, const float *b, size_t n)
{
  size_t different = 0;

  for (size_t e = 0; e < n; e++)
    different |= a[e] != b[e];
  return different == 0;
}

bool
clarke_sieve_is_same(const clarke_tensor *a, const clarke_tensor *b)
{
  return a != NULL && b != NULL && a->dtype == CLARKE_F32 && b->dtype == CLARKE_F32 && a->packed != NULL && b->packed != NULL
         && a->count == b->count && memcmp(a->packed, b->packed, a->count * sizeof(float)) == 0;
}

/* Some entries of a row. */
typedef struct {
  size_t n;
  const double *sum;
  const float *recorded;
  const double *scale;
  double shift, wide, floor, roundings; /* of the row */
} entries;

static inline double
sum_at(const entries *t, size_t e)
{
  return t->sum[e] + t->shift;
}

/* How far the record may be from the exact number, and less than what the absolute values add up to. */
static inline double
off_at(const entries *t, size_t e)
{
  return clarke_up_by(fabs((double)t->recorded[e] - sum_at(t, e)), 4) + (t->wide * t->scale[e] + clarke_taken(t->roundings, fabs(sum_at(t, e))));
}

static inline double
mass_at(const entries *t, size_t e)
{
  return clarke_down_by(fabs(t->sum[e]), 4) + t->floor;
}

/* Is each within that part of its bound, as it is guessed from the sum? No branch, no call, so that compilers make vectors of it. */
CLARKE_WIDE static bool
all_within(const entries *t, double part)
{
  size_t beyond = 0;

  for (size_t e = 0; e < t->n; e++)
    beyond |= !(off_at(t, e) <= part * mass_at(t, e));
  return beyond == 0;
}

/* Which are not? Each has a byte, which is not 0. */
CLARKE_WIDE static void
find_beyond(unsigned char *restrict beyond, const entries *t, double part)
{
  for (size_t e = 0; e < t->n; e++)
    beyond[e] = !(off_at(t, e) <= part * mass_at(t, e));
}

/* The error in parts of the bound. */
static double
guess(const entries *t, size_t e, double by)
{
  const double off = off_at(t, e), mass = mass_at(t, e);

  return off == 0 ? 0 : mass > 0 ? off / (by * mass) : INFINITY;
}

/* How many are exact, and how many are no rounded sum? */
CLARKE_WIDE static void
count(size_t *exact, size_t *wrong, const entries *t)
{
  size_t same = 0, other = 0;

  for (size_t e = 0; e < t->n; e++) {
    const double near = sum_at(t, e), own = t->wide * t->scale[e] + clarke_taken(t->roundings, fabs(near));
    const float low = (float)(near - own), high = (float)(near + own);

    same += (low == t->recorded[e]) & (high == t->recorded[e]);
    other += (t->recorded[e] < low) | (t->recorded[e] > high);
  }
  *exact += same;
  *wrong += other;
}

/* Those that lie beyond a part of their bounds which others reached already. */
static clarke_status
judge_entries(judging *j, const entries *t, size_t row, size_t from, clarke_error *err)
{
  unsigned char beyond[CHUNK];
  clarke_status status = CLARKE_OK;

  find_beyond(beyond, t, fmin(j->made->worst, DOUBTFUL) * j->by);
  for (size_t e = 0; e < t->n && status == CLARKE_OK; e++) {
    double ratio;

    if (!beyond[e])
      continue;
    ratio = guess(t, e, j->by);
    if (!(ratio <= DOUBTFUL))
      status = judge_doubtful(j, row, from + e, err);
    else if (ratio > j->made->worst)
      j->made->worst = ratio;
  }
  return status;
}

static clarke_status
judge_row(judging *j, size_t row, const double *ones, clarke_error *err)
{
  const clarke_sieved *v = j->p.v;
  const float *recorded = j->recorded + row * j->cols;
  const double shift = shift_at(v, row), wide = v->slack != NULL ? v->slack[row] : 0;
  double sums[CHUNK];
  clarke_status status = CLARKE_OK;

  if (v->exact != NULL && clarke_sieve_is_equal(v->exact + row * j->cols, recorded, j->cols)) {
    j->made->exact += j->cols;
    return CLARKE_OK;
  }
  for (size_t from = 0; from < j->cols && status == CLARKE_OK; from += CHUNK) {
    const entries t = {.n = j->cols - from < CHUNK ? j->cols - from : CHUNK,
                       .sum = v->near != NULL ? v->near + row * j->cols + from : sums,
                       .recorded = recorded + from,
                       .scale = v->scale != NULL ? v->scale + from : ones,
                       .shift = shift,
                       .wide = wide,
                       .floor = fabs(shift) - wide,
                       .roundings = wide > 0 ? 2 : 0};

    for (size_t e = 0; v->near == NULL && e < t.n; e++)
      sums[e] = v->exact[row * j->cols + from + e];
    if (j->wrong == 0)
      count(&j->made->exact, &j->wrong, &t);
    if (!all_within(&t, fmin(j->made->worst, DOUBTFUL) * j->by))
      status = judge_entries(j, &t, row, from, err);
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
    const double near = near_at(j, row, col) + shift_at(v, row), wide = slack_at(v, row, col, near);
    const double recorded = j->recorded[row * j->cols + col];
    bool is = false;

    if ((float)(near - wide) == recorded && (float)(near + wide) == recorded)
      continue;
    if (v->dense == NULL) {
      j->s->open = true;
      return CLARKE_OK;
    }
    status = clarke_sieve_is_rounded_sum(&is, &j->p, row_of_terms(j, row, col), col_of_terms(j, col), recorded, err);
    j->made->exact += is;
    j->wrong += !is;
  }
  return status;
}

/* At least the Euclidean norm of all bounds: rows' sums of absolute values, scaled by columns, what underflows, and what is subnormal, besides. */
static double
slack_of(const judging *j, size_t rows, double roundings)
{
  const clarke_sieved *v = j->p.v;
  double down = 0, across = 0;

  for (size_t row = 0; v->top != NULL && row < rows; row++)
    down += v->top[row] * v->top[row];
  for (size_t col = 0; col < j->cols; col++)
    across += v->scale != NULL ? v->scale[col] * v->scale[col] : 1;
  down = clarke_up_root(down, rows);
  across = clarke_up_root(across, j->cols);
  return v->top == NULL ? INFINITY : clarke_sieve_up(j->by * down * across)
                                     + 4 * roundings * j->s->c->by.tiny * (1 + down) * (double)rows * (double)j->cols;
}

clarke_status
clarke_sieve_judge(clarke_sieve *s, clarke_certificate *made, const clarke_sieved *v, size_t rows, size_t cols,
                   const float *recorded, double roundings, clarke_terms_kind kind, clarke_error *err)
{
  const double nu = roundings * s->c->by.unit;
  judging j = {.s = s, .made = made, .recorded = recorded, .cols = cols, .p = {.s = s, .v = v, .kind = kind}};
  double ones[CHUNK];
  clarke_status status = CLARKE_OK;

  if (v->off != NULL)
    return clarke_sieve_judge_entries(s, made, v, rows * cols, recorded, roundings);
  for (size_t e = 0; e < CHUNK; e++)
    ones[e] = 1;
  j.by = clarke_down_by(nu / (1 - nu), 0x1p12);
  s->open = s->open || nu >= 0.5;
  for (size_t row = 0; v->top != NULL && row < rows; row++)
    s->open = s->open || !(v->top[row] <= s->c->by.largest); /* a sum may have overflown on its way */
  if (v->exact != NULL && clarke_sieve_is_equal(v->exact, recorded, rows * cols))
    made->exact = rows * cols;
  else
    for (size_t row = 0; row < rows && status == CLARKE_OK && !s->open; row++)
      status = judge_row(&j, row, ones, err);
  for (size_t row = 0; row < rows && status == CLARKE_OK && !s->open && j.wrong == 0 && made->exact < rows * cols; row++)
    status = settle_row(&j, row, err);
  made->entries = rows * cols;
  if (((v->exact != NULL && v->parts == 1) || v->terms == 1) && made->exact < made->entries)
    s->open = true; /* what is one term may not be rounded at all: the exact pass tells */
  made->at_most = true;
  made->certainty = made->exact == made->entries ? CLARKE_BIT_EXACT : CLARKE_WITHIN_BOUND;
  made->slack = made->certainty == CLARKE_BIT_EXACT ? 0 : slack_of(&j, rows, roundings);
  made->norm = clarke_sieve_norm(s, made, recorded);
  clarke_sieve_terms_clear(&j.p);
  return status;
}
