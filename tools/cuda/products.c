#include "products.h"

#include <string.h>

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t
next(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* From low to high, both included. */
static int
between(uint64_t *state, int low, int high)
{
  return low + (int)(next(state) % (uint64_t)(high - low + 1));
}

/* Fractions of few bits make ties and exact sums; others are anything. */
static uint32_t
fraction(uint64_t *state)
{
  uint32_t any = (uint32_t)next(state);

  switch (next(state) % 8) {
  case 0:
    return 0;
  case 1:
    return UINT32_MAX;
  default:
    return any;
  }
}

/* The fraction is drawn first, then the exponent, then the sign: records were made so. */
static uint32_t
of_size(const number_format *f, uint64_t *state, int low, int high)
{
  uint32_t rest = fraction(state);
  int exponent = between(state, low, high);

  return number_make(f, next(state) & 1, exponent, rest);
}

/* Exponents like those of normally distributed numbers: each smaller one half as likely. */
static uint32_t
about_normal(const number_format *f, uint64_t *state)
{
  uint32_t rest;
  int e = 1;

  for (uint64_t r = next(state); (r & 1) && e > -16; r >>= 1)
    e--;
  rest = (uint32_t)next(state);
  return number_make(f, next(state) & 1, e, rest);
}

static const number_format float32 = {"fp32", 8, 23, 32, -126, 127};

static void
fill(product *p, const number_format *f, int k, uint64_t *state, int low, int high)
{
  for (int i = 0; i < k; i++) {
    p->a[i] = of_size(f, state, low, high);
    p->b[i] = of_size(f, state, low, high);
  }
}

/* A product's exponent, about. */
static int
size_of(const product *p, const number_format *f, int i)
{
  int a = (int)(number_to_float32(f, p->a[i]) >> 23 & 255), b = (int)(number_to_float32(f, p->b[i]) >> 23 & 255);

  return a + b - 254;
}

static int
largest(const product *p, const number_format *f, int k)
{
  int most = -300;

  for (int i = 0; i < k; i++)
    if (size_of(p, f, i) > most)
      most = size_of(p, f, i);
  return most;
}

/* Half of the products are the others with one sign turned, and some of the rest are small; then they change places. */
static void
cancel(product *p, const number_format *f, int k, uint64_t *state, int low, int high)
{
  const uint32_t sign = number_make(f, 1, f->least - 100, 0);

  fill(p, f, k, state, low, high);
  for (int i = 0; i + 1 < k; i += 2) {
    if (next(state) % 4 == 0) {
      p->a[i] = of_size(f, state, low - 8, low);
      continue;
    }
    p->a[i + 1] = p->b[i];
    p->b[i + 1] = p->a[i] ^ sign;
  }
  for (int i = k - 1; i > 0; i--) {
    int j = between(state, 0, i);
    uint32_t a = p->a[i], b = p->b[i];

    p->a[i] = p->a[j];
    p->b[i] = p->b[j];
    p->a[j] = a;
    p->b[j] = b;
  }
}

static void
put_zeros(product *p, const number_format *f, int k, uint64_t *state)
{
  unsigned often = 1 + (unsigned)(next(state) % 8);

  for (int i = 0; i < k; i++) {
    if (next(state) % 8 < often)
      p->a[i] = number_make(f, next(state) & 1, f->least - 100, 0);
    if (next(state) % 8 < often)
      p->b[i] = number_make(f, next(state) & 1, f->least - 100, 0);
  }
  if (next(state) & 1)
    p->c = (uint32_t)(next(state) & 1) << 31;
}

/* As large as a product, or a little away, or far below. */
static void
choose_c(product *p, const number_format *f, int k, uint64_t *state, int reach)
{
  int e = largest(p, f, k) + between(state, -reach, reach);
  uint32_t rest = fraction(state);

  p->c = number_make(&float32, next(state) & 1, e, rest);
}

static void
choose_small_c(product *p, uint64_t *state, int low, int high)
{
  p->c = of_size(&float32, state, low, high);
}

/* --- kinds ----------------------------------------------------------------------------------- */

/* The exponents of a kind lie about a middle. A wide format has the exponents of a float32. */
typedef struct {
  product *p;
  const number_format *f;
  int k;
  uint64_t *state;
  int middle, width, wide;
} making;

static void
make_normal(const making *m)
{
  for (int j = 0; j < m->k; j++) {
    m->p->a[j] = about_normal(m->f, m->state);
    m->p->b[j] = about_normal(m->f, m->state);
  }
  m->p->c = about_normal(&float32, m->state);
}

static void
make_any(const making *m)
{
  fill(m->p, m->f, m->k, m->state, m->f->least - m->f->fraction, m->f->most);
  choose_c(m->p, m->f, m->k, m->state, 40);
}

static void
make_neighbours(const making *m)
{
  fill(m->p, m->f, m->k, m->state, m->middle - m->width, m->middle + m->width);
  choose_c(m->p, m->f, m->k, m->state, 6);
}

static void
make_cancelling(const making *m)
{
  cancel(m->p, m->f, m->k, m->state, m->middle - m->width / 2, m->middle + m->width / 2);
  choose_c(m->p, m->f, m->k, m->state, 30);
}

/* Products of two subnormal numbers of a wide format would all be zero: one factor is about 1. */
static void
make_subnormal(const making *m)
{
  fill(m->p, m->f, m->k, m->state, m->f->least - m->f->fraction - 1, m->f->least + m->width);
  choose_c(m->p, m->f, m->k, m->state, 12);
  for (int j = 0; m->wide && j < m->k; j++)
    m->p->b[j] = of_size(m->f, m->state, -20, 10);
  if (next(m->state) & 1)
    choose_small_c(m->p, m->state, m->wide ? -150 : -40, m->wide ? -115 : -10);
}

/* Products about the least float32. */
static void
make_tiny(const making *m)
{
  int middle = between(m->state, -71, -62);

  if (m->wide)
    fill(m->p, m->f, m->k, m->state, middle - 4, middle + 1);
  else
    fill(m->p, m->f, m->k, m->state, m->f->least - m->f->fraction - 1, m->f->least);
  if (next(m->state) % 4 == 0)
    choose_small_c(m->p, m->state, -155, -120);
}

static void
make_huge(const making *m)
{
  fill(m->p, m->f, m->k, m->state, m->wide ? 60 : m->f->most - 3, m->wide ? 64 : m->f->most);
  choose_c(m->p, m->f, m->k, m->state, 4);
}

static void
make_zeros(const making *m)
{
  fill(m->p, m->f, m->k, m->state, m->middle - m->width, m->middle + m->width);
  choose_c(m->p, m->f, m->k, m->state, 10);
  put_zeros(m->p, m->f, m->k, m->state);
}

void
product_make(product *p, const number_format *f, int k, uint64_t seed, uint64_t i)
{
  static void (*const kind[PRODUCT_KINDS])(const making *) = {
    make_normal, make_any, make_neighbours, make_cancelling, make_subnormal, make_tiny, make_huge, make_zeros};
  uint64_t state = seed * UINT64_C(0xd1342543de82ef95) + i * UINT64_C(0x2545f4914f6cdd1d);
  making m = {p, f, k, &state, 0, 0, f->exponent == 8};

  memset(p, 0, sizeof *p);
  next(&state);
  m.middle = between(&state, f->least / 2, f->most / 2);
  m.width = between(&state, 1, 14);
  kind[i % PRODUCT_KINDS](&m);
}
