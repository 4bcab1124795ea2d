/* Archives and their layout, apart from what their members are. */
#include "zips.h"

#include "format/archive.h"
#include "format/layout.h"

static clarke_error err;

static bytes
of_text(const char *text)
{
  bytes b = { 0 };

  put_text(&b, text);
  return b;
}

/* Members "a" and "b/c": "one", "three". */
static bytes
two_members(void)
{
  member members[2] = { member_of("a", of_text("one")), member_of("b/c", of_text("three")) };

  return archive_of(members, 2);
}

static void
open_of(clarke_archive *a, const bytes *b)
{
  ck_assert_msg(clarke_archive_open(a, b->data, b->size, "a test's archive", &err) == CLARKE_OK, "%s", err.text);
}

START_TEST(members_are_looked_at_and_read)
{
  bytes b = two_members();
  clarke_archive a;
  char *name, data[8] = "";
  size_t size;

  open_of(&a, &b);
  ck_assert_uint_eq(a.n, 2);
  ck_assert_int_eq(clarke_archive_name(&name, &a, 1, &err), CLARKE_OK);
  ck_assert_str_eq(name, "b/c");
  free(name);
  ck_assert_int_eq(clarke_archive_look(&size, &a, 1, &err), CLARKE_OK);
  ck_assert_uint_eq(size, 5);
  ck_assert(a.packed == 5 && a.unpacked == 5 && a.stored);
  ck_assert_int_eq(clarke_archive_read(data, &a, 1, size, &err), CLARKE_OK);
  ck_assert_str_eq(data, "three");
  ck_assert_int_eq(clarke_archive_look(&size, &a, 0, &err), CLARKE_OK);
  ck_assert_uint_eq(a.unpacked, 8);
  clarke_archive_close(&a);
  bytes_clear(&b);
}
END_TEST

START_TEST(bytes_come_in_order_and_end)
{
  bytes b = two_members();
  clarke_archive a;
  zip_file_t *f;
  char data[8] = "";

  open_of(&a, &b);
  ck_assert_int_eq(clarke_archive_enter(&f, &a, 1, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_archive_bytes(f, data, 2, &err), CLARKE_OK);
  ck_assert_str_eq(data, "th");
  ck_assert_int_eq(clarke_archive_check_end(f, &err), CLARKE_EINPUT);
  assert_says(err.text, "is longer than the archive says");
  zip_fclose(f);
  ck_assert_int_eq(clarke_archive_enter(&f, &a, 0, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_archive_bytes(f, data, 4, &err), CLARKE_EINPUT);
  assert_says(err.text, "ends after 3 bytes of 4");
  zip_fclose(f);
  ck_assert_int_eq(clarke_archive_enter(&f, &a, 2, &err), CLARKE_EINPUT);
  clarke_archive_close(&a);
  bytes_clear(&b);
}
END_TEST

START_TEST(a_changed_member_has_another_checksum)
{
  bytes b = two_members();
  clarke_archive a;
  char data[8];

  b.data[30 + 1] ^= 1; /* "one" becomes "nne": behind a local header and a name of one letter */
  open_of(&a, &b);
  ck_assert_int_eq(clarke_archive_read(data, &a, 0, 3, &err), CLARKE_EINPUT);
  assert_says(err.text, "cannot be read|CRC");
  clarke_archive_close(&a);
  bytes_clear(&b);
}
END_TEST

static void
look_refuses(member m, const char *says)
{
  bytes b = archive_of(&m, 1);
  clarke_archive a;
  size_t size = 9;

  open_of(&a, &b);
  ck_assert_int_eq(clarke_archive_look(&size, &a, 0, &err), CLARKE_EINPUT);
  assert_says(err.text, says);
  ck_assert_uint_eq(size, 0);
  clarke_archive_close(&a);
  bytes_clear(&b);
}

START_TEST(implausible_members_are_refused)
{
  member two_sizes = member_of("a", of_text("one")), bomb = two_sizes, method = two_sizes;

  two_sizes.size = 4;
  look_refuses(two_sizes, "is stored, but with two sizes");
  bomb.data = of_text("one");
  bomb.method = 8;
  bomb.size = 1032 * 4;
  look_refuses(bomb, "4128 bytes cannot come from 3 compressed ones");
  method.data = of_text("one");
  method.method = 12;
  look_refuses(method, "compression method 12|stored and deflated");
}
END_TEST

START_TEST(what_is_no_archive_is_not_opened)
{
  clarke_archive a;

  ck_assert_int_eq(clarke_archive_open(&a, "PK", 2, "a test's archive", &err), CLARKE_EINPUT);
  assert_says(err.text, "not a test's archive: it does not begin as a ZIP does");
  clarke_archive_close(&a);
  ck_assert_int_eq(clarke_archive_open(&a, "PK\3\4 and more", 13, "a test's archive", &err), CLARKE_EINPUT);
  assert_says(err.text, "the ZIP archive cannot be read");
  clarke_archive_close(&a);
}
END_TEST

/* --- layout --- */

static clarke_status
layout(const bytes *b)
{
  bytes copy = tight(b);
  clarke_status status = clarke_layout_check(copy.data, copy.size, &err);

  bytes_clear(&copy);
  return status;
}

START_TEST(every_header_byte_has_its_meaning)
{
  bytes b = two_members();
  size_t passed = 0;

  ck_assert_msg(layout(&b) == CLARKE_OK, "%s", err.text);
  ck_assert_int_eq(clarke_layout_ends(b.data, b.size, &err), CLARKE_OK);
  for (size_t k = 0; k < b.size; k++) {
    b.data[k] ^= 0x10;
    passed += layout(&b) == CLARKE_OK;
    b.data[k] ^= 0x10;
  }
  /* Data (8 bytes); of each entry what wrote it (2), and its attributes (6). */
  ck_assert_uint_eq(passed, 8 + 2 * (2 + 6));
  bytes_clear(&b);
}
END_TEST

START_TEST(nothing_lies_around_or_between)
{
  bytes b = two_members(), more = { 0 };

  put_text(&more, "x");
  put(&more, b.data, b.size);
  ck_assert_int_eq(layout(&more), CLARKE_EINPUT);
  bytes_clear(&more);
  put(&more, b.data, b.size);
  put_text(&more, "x");
  ck_assert_int_eq(layout(&more), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_layout_ends(more.data, more.size, &err), CLARKE_EINPUT);
  assert_says(err.text, "two in one file, or bytes that belong to no member");
  for (size_t n = 0; n < b.size; n++) {
    bytes cut = { b.data, n };

    ck_assert_int_eq(layout(&cut), CLARKE_EINPUT);
  }
  bytes_clear(&more);
  bytes_clear(&b);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("archive");

  tcase_add_test(tests, members_are_looked_at_and_read);
  tcase_add_test(tests, bytes_come_in_order_and_end);
  tcase_add_test(tests, a_changed_member_has_another_checksum);
  tcase_add_test(tests, implausible_members_are_refused);
  tcase_add_test(tests, what_is_no_archive_is_not_opened);
  tcase_add_test(tests, every_header_byte_has_its_meaning);
  tcase_add_test(tests, nothing_lies_around_or_between);
  return run_tests();
}
