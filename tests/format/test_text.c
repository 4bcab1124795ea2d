/* Names: UTF-8 checked against its definition by code points, over every start of one to four
 * bytes that can matter. */
#include "base/text.h"
#include "../suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* RFC 3629: the bytes that encode a code point; their number, or 0 when it is no scalar value. */
static size_t
encode(unsigned char *to, uint32_t c)
{
  const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
    return 0;
  for (size_t k = n; k-- > 1; c >>= 6)
    to[k] = (unsigned char)(0x80 | (c & 0x3f));
  to[0] = (unsigned char)(lead[n] | c);
  return n;
}

static bool
is_control(uint32_t c)
{
  return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

START_TEST(every_character)
{
  for (uint32_t c = 0; c <= 0x110000; c++) {
    unsigned char s[4];
    const size_t n = encode(s, c);

    if (n == 0)
      continue;
    if (clarke_text_valid(s, n) == is_control(c))
      ck_abort_msg("U+%04X", c);
    for (size_t k = 1; k < n; k++)
      if (clarke_text_valid(s, k) || clarke_text_valid(s + k, n - k))
        ck_abort_msg("U+%04X cut after %zu bytes", c, k);
  }
}
END_TEST

/* The characters of two bytes or more that begin so: valid only if decoding and encoding again gives
 * the same bytes, which rules out overlong forms, surrogates and what lies past U+10FFFF. */
START_TEST(every_start)
{
  static const unsigned char last[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0xbf, 0xc0, 0xff };

  for (uint32_t lead = 0xc0; lead < 0x100; lead++)
    for (uint32_t second = 0; second < 0x100; second++)
      for (size_t k = 0; k < sizeof last; k++) {
        const size_t n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        const unsigned char s[4] = { (unsigned char)lead, (unsigned char)second, last[k], 0x80 };
        unsigned char again[4];
        uint32_t c = lead & (0xffu >> (n + 1));

        for (size_t i = 1; i < n; i++)
          c = c << 6 | (s[i] & 0x3f);
        if (clarke_text_valid(s, n)
            != (encode(again, c) == n && memcmp(s, again, n) == 0 && !is_control(c)))
          ck_abort_msg("%02x %02x %02x", s[0], s[1], s[2]);
      }
}
END_TEST

START_TEST(copies)
{
  char *copy;
  clarke_error err;

  ck_assert(clarke_text_valid(NULL, 0));
  ck_assert_int_eq(clarke_text_copy(&copy, NULL, 0, "it", NULL), CLARKE_OK);
  ck_assert_str_eq(copy, "");
  free(copy);
  ck_assert_int_eq(clarke_text_copy(&copy, "layer.0/\xc3\xa9", 10, "it", NULL), CLARKE_OK);
  ck_assert_str_eq(copy, "layer.0/\xc3\xa9");
  free(copy);
  ck_assert_int_eq(clarke_text_copy(&copy, "a\0b", 3, "its name", &err), CLARKE_EINPUT);
  ck_assert(copy == NULL && strncmp(err.text, "its name is not text", 20) == 0);
  ck_assert_str_eq(clarke_base_name("a/b/c"), "c");
  ck_assert_str_eq(clarke_base_name("c"), "c");
  ck_assert_str_eq(clarke_base_name("a/"), "");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("text");

  tcase_add_test(tests, every_character);
  tcase_add_test(tests, every_start);
  tcase_add_test(tests, copies);
  return run_tests();
}
