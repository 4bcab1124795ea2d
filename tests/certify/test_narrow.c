/* Half precision in integers (tools/cuda/narrow.h) beside doubles: every 16-bit number, every midpoint between two of them, and
 * what lies just beside the midpoints. */
#include "../draw.h"
#include "../suite.h"
#include "narrow.h"

#include "trace/certify/certificate.h"

#include <math.h>
#include <string.h>

static uint32_t
bits_of(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float
of_bits(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, sizeof x);
  return x;
}

typedef struct {
  uint16_t (*narrow)(uint32_t);
  uint32_t (*widen)(uint16_t);
  double (*value)(uint16_t);
  clarke_dtype type;
  uint16_t infinite;
} half;

static uint16_t
narrow16(uint32_t x)
{
  return narrow_float16(x);
}

static uint32_t
widen16(uint16_t x)
{
  return widen_float16(x);
}

static uint16_t
narrowb(uint32_t x)
{
  return narrow_bfloat16(x);
}

static uint32_t
widenb(uint16_t x)
{
  return widen_bfloat16(x);
}

static const half halves[] = {{narrow16, widen16, clarke_f16_value, CLARKE_F16, 0x7c00},
                              {narrowb, widenb, clarke_bf16_value, CLARKE_BF16, 0x7f80}};

START_TEST(every_number)
{
  const half *h = &halves[_i];

  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const uint32_t magnitude = bits & 0x7fff;
    const float wide = of_bits(h->widen((uint16_t)bits));

    if (magnitude > h->infinite) {
      ck_assert(isnan(wide));
      ck_assert((h->narrow(bits_of(wide)) & 0x7fff) > h->infinite);
      continue;
    }
    if (magnitude < h->infinite)
      ck_assert((double)wide == h->value((uint16_t)bits));
    else
      ck_assert(isinf(wide));
    ck_assert((signbit(wide) != 0) == (bits >> 15 != 0));
    ck_assert_uint_eq(h->narrow(bits_of(wide)), bits);
  }
}
END_TEST

/* The nearest, with its sign, as rounding of doubles has it. */
static void
nearest(const half *h, float x)
{
  const double want = clarke_round_double((double)x, h->type), got = (double)of_bits(h->widen(h->narrow(bits_of(x))));

  ck_assert_msg(got == want && (signbit(got) != 0) == (signbit(x) != 0), "%a: %a, not %a", (double)x, got, want);
}

START_TEST(every_boundary)
{
  const half *h = &halves[_i];

  for (uint32_t bits = 0; bits < h->infinite; bits++) {
    const float low = of_bits(h->widen((uint16_t)bits));
    /* the last one's neighbour would be a number of one exponent more */
    const double high = bits + 1u < h->infinite ? h->value((uint16_t)(bits + 1)) : 2 * (double)low - h->value((uint16_t)(bits - 1));
    const float middle = (float)(((double)low + high) / 2);

    for (int sign = -1; sign <= 1; sign += 2) {
      nearest(h, (float)sign * middle);
      nearest(h, (float)sign * nextafterf(middle, 0));
      if (isfinite(nextafterf(middle, INFINITY)))
        nearest(h, (float)sign * nextafterf(middle, INFINITY));
    }
  }
}
END_TEST

START_TEST(drawn_numbers)
{
  uint64_t state = 3;

  for (int trial = 0; trial < 2000000; trial++) {
    const float x = of_bits((uint32_t)draw(&state));

    if (isfinite(x))
      nearest(&halves[_i], x);
  }
  ck_assert(isinf(of_bits(halves[_i].widen(halves[_i].narrow(bits_of(INFINITY))))));
  ck_assert(isinf(of_bits(halves[_i].widen(halves[_i].narrow(0x7f7fffff)))));
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("narrow");

  tcase_add_loop_test(tests, every_number, 0, 2);
  tcase_add_loop_test(tests, every_boundary, 0, 2);
  tcase_add_loop_test(tests, drawn_numbers, 0, 2);
  return run_tests();
}
