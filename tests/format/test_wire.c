/* Numbers of the wire format: written and read back, counted without decoding, and refused where they are cut short. */
#include "protobuf.h"

#include "../ok.h"

#include "format/wire.h"

static const clarke_wire_rule rules[] = {
  { 1, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "many", NULL },
  { 2, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "one", NULL },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "never", NULL },
};
static const clarke_wire_message message = { "Message", 3, rules };

START_TEST(packed)
{
  bytes run = { 0 }, b = { 0 };
  clarke_wire_field f;
  clarke_wire_span span;
  clarke_wire w;
  size_t count;

  for (unsigned k = 0; k < 64; k++)
    put_varint(&run, (uint64_t)1 << k), put_varint(&run, ((uint64_t)1 << k) - 1);
  put_message(&b, 1, &run);
  span = (clarke_wire_span){ b.data, b.data, b.size };
  OK(clarke_wire_check(span, &message, &error));
  clarke_wire_open(&w, &message, span);
  OK(clarke_wire_next(&w, &f, &error));
  ck_assert_uint_eq(f.number, 1);
  OK(clarke_wire_count(&f, &count, &error));
  ck_assert_uint_eq(count, 128);
  span = f.span;
  for (unsigned k = 0; k < 128; k++) {
    uint64_t value;

    OK(clarke_wire_number(&span, CLARKE_WIRE_VARINT, &value, &error));
    ck_assert(value == ((uint64_t)1 << k / 2) - k % 2);
  }
  ck_assert_uint_eq(span.size, 0);
  OK(clarke_wire_next(&w, &f, &error));
  ck_assert_uint_eq(f.number, 0);
  bytes_clear(&b);
}
END_TEST

START_TEST(refused)
{
  static const struct { const char *data; size_t size; const char *says; } cases[] = {
    { "\x10\1\x10\1", 4, "Message.one is given twice" },
    { "\x12\1\1", 3, "Message.one has wire type 2; expected 0" },
    { "\x1a\0", 2, "Message.never is not supported" },
    { "\x20\1", 2, "Message has a field 4, which is not known" },
    { "\x10\x81", 2, "malformed at byte 1: a varint runs past the end" },
    { "\x10\x81\0", 3, "malformed at byte 1: a varint in more bytes than it takes" },
    { "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 11, "a varint is longer than 64 bits" },
    { "\x1a\2\1", 3, "a length runs past the end" },
    { "\x0a\1\x81", 3, "a varint runs past the end" },
  };

  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const bytes b = { (unsigned char *)cases[k].data, cases[k].size };
    bytes copy = tight(&b);

    ck_assert_int_eq(clarke_wire_check((clarke_wire_span){ copy.data, copy.data, copy.size }, &message, &error),
                     CLARKE_EINPUT);
    assert_says(error.text, cases[k].says);
    bytes_clear(&copy);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("wire");

  tcase_add_test(tests, packed);
  tcase_add_test(tests, refused);
  return run_tests();
}
