/* Lines that say how far work is: what they have, with no clock. */
#include "../suite.h"
#include "watch.h"

#include <stdint.h>
#include <string.h>

static void
expect_line(const char *stage, size_t done, size_t parts, double since, double in_stage, const char *wanted)
{
  const clarke_watch_at at = {.stage = stage, .done = done, .parts = parts, .since = since, .in_stage = in_stage};
  char line[CLARKE_WATCH_ROOM];
  const size_t n = clarke_watch_line(line, &at);

  ck_assert_str_eq(line, wanted);
  ck_assert_uint_eq(n, strlen(wanted));
}

START_TEST(what_is_done_of_how_much)
{
  expect_line(NULL, 0, 0, 10, 10, "clarke at work, 10 s: reading\n");
  expect_line("patterns found", 1200, 0, 42, 12, "clarke at work, 42 s: patterns found, 1200\n");
  expect_line("verdict", 0, 0, 99.4, 12, "clarke at work, 99 s: verdict\n");
  expect_line("replay", 0, 64, 12, 12, "clarke at work, 12 s: replay, 0 of 64 (0%)\n");
  expect_line("replay", 64, 64, 12, 12, "clarke at work, 12 s: replay, 64 of 64 (100%)\n");
  expect_line("replay", 63, 64, 63, 63, "clarke at work, 63 s: replay, 63 of 64 (98%), about 1 s more\n");
}
END_TEST

/* As the stage went until now; what came before it is not asked. */
START_TEST(estimates)
{
  expect_line("replay", 16, 64, 1000, 20, "clarke at work, 17 min: replay, 16 of 64 (25%), about 60 s more\n");
  expect_line("replay", 1, 64, 9000, 100, "clarke at work, 2.5 h: replay, 1 of 64 (1%), about 1.8 h more\n");
  expect_line("replay", 1, 2, 600, 600, "clarke at work, 10 min: replay, 1 of 2 (50%), about 10 min more\n");
}
END_TEST

/* Counts that are one behind, or too large: no line of nonsense, and none that is too long. */
START_TEST(odd_counts)
{
  char text[CLARKE_WATCH_ROOM];
  static const char stage[] = "a stage with a name that is longer than anybody would give to one, and longer still, and then some more of it";
  const clarke_watch_at at = {.stage = stage, .done = SIZE_MAX / 2, .parts = SIZE_MAX, .since = 1e9, .in_stage = 1e9};

  expect_line("replay", 65, 64, 12, 12, "clarke at work, 12 s: replay, 65\n");
  expect_line("replay", SIZE_MAX / 2, SIZE_MAX, 12, 12, "clarke at work, 12 s: replay, 9223372036854775807 of 18446744073709551615 (50%), about 12 s more\n");
  ck_assert_uint_lt(clarke_watch_line(text, &at), CLARKE_WATCH_ROOM);
  ck_assert(strchr(text, '\n') == text + strlen(text) - 1);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("watch");

  tcase_add_test(tests, what_is_done_of_how_much);
  tcase_add_test(tests, estimates);
  tcase_add_test(tests, odd_counts);
  return run_tests();
}
