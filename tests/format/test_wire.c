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

/* One byte more than is there is too many, and so is any number of more. */
START_TEST(numbers_cut_short)
{
  static const struct { clarke_wire_type type; size_t width; } fixed[] = { { CLARKE_WIRE_64, 8 }, { CLARKE_WIRE_32, 4 } };

  for (size_t k = 0; k < 2; k++)
    for (size_t size = 1; size <= fixed[k].width; size++) {
      const bytes b = { (unsigned char *)"\1\0\0\0\0\0\0\0", size };
      bytes copy = tight(&b);
      clarke_wire_span run = { copy.data, copy.data, copy.size };
      uint64_t value;
      const clarke_status status = clarke_wire_number(&run, fixed[k].type, &value, &error);

      ck_assert_int_eq(status, size < fixed[k].width ? CLARKE_EINPUT : CLARKE_OK);
      if (status == CLARKE_OK)
        ck_assert(value == 1 && run.size == 0);
      else
        assert_says(error.text, "a fixed-width number runs past the end");
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
  tcase_add_test(tests, numbers_cut_short);
  return run_tests();
}
