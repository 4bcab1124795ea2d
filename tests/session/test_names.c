/* Lists of names: what is split and joined again is the list; what is not a list says which option it was for. */
#include "../ok.h"

#include "session/audit.h"
#include "session/names.h"

#include <stdlib.h>
#include <string.h>

/* All lists of up to 6 characters of a, b and the comma: names are what is between commas, and not empty. */
START_TEST(every_little_list)
{
  size_t lists = 1, good = 0;

  for (size_t length = 0; length <= 6; length++, lists *= 3)
    for (size_t number = 0; number < lists; number++) {
      char list[8] = "", joined[16] = "", **names = NULL;
      size_t n = 0, rest = number, commas = 0;
      bool empty;
      clarke_status status;

      for (size_t i = 0; i < length; i++, rest /= 3) {
        list[i] = "ab,"[rest % 3];
        commas += list[i] == ',';
      }
      empty = length == 0 || list[0] == ',' || list[length - 1] == ',' || strstr(list, ",,") != NULL;
      status = clarke_names_split(&names, &n, list, "--these", &error);
      ck_assert_int_eq(status, empty ? CLARKE_EINPUT : CLARKE_OK);
      if (status == CLARKE_OK) {
        ck_assert_uint_eq(n, commas + 1);
        for (size_t i = 0; i < n; i++) {
          ck_assert_ptr_null(strchr(names[i], ','));
          ck_assert(clarke_names_have(names, n, names[i]) && !clarke_names_have(names, i, "c") && !clarke_names_have(names, 0, names[i]));
          strcat(strcat(joined, i > 0 ? "," : ""), names[i]);
        }
        ck_assert_str_eq(joined, list);
        good++;
      } else
        ck_assert_ptr_nonnull(strstr(error.text, "--these"));
      clarke_names_free(names, n);
    }
  ck_assert_uint_gt(good, 300);
}
END_TEST

START_TEST(no_list_adds_nothing)
{
  char **names = NULL;
  size_t n = 0;

  OK(clarke_names_split(&names, &n, NULL, "these", &error));
  ck_assert_uint_eq(n, 0);
  OK(clarke_names_split(&names, &n, "one,two", "these", &error));
  OK(clarke_names_split(&names, &n, NULL, "these", &error));
  ck_assert_uint_eq(n, 2);
  ck_assert_str_eq(names[1], "two");
  clarke_names_free(names, n);
}
END_TEST

/* Digits alone, from 1 to the most that there may be. */
START_TEST(counts)
{
  static const char *const bad[] = {"", "0", "-1", "+1", " 1", "1 ", "1x", "0x2", "99999999999999999999999", "1.0"};
  size_t n = 77;

  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
    ck_assert(!clarke_threads_parse(&n, bad[k]) && !clarke_count_parse(&n, bad[k]) && n == 77);
  ck_assert(clarke_threads_parse(&n, "1") && n == 1);
  ck_assert(!clarke_threads_parse(&n, "1000000"));
  ck_assert(clarke_count_parse(&n, "1000000") && n == 1000000);
  ck_assert(clarke_count_parse(&n, "281474976710656") && n == (size_t)1 << 48);
  ck_assert(!clarke_count_parse(&n, "281474976710657"));
}
END_TEST

START_TEST(named_files)
{
  const clarke_file file = {.sha256 = "abc"};
  clarke_named_file named = {0};

  OK(clarke_named_file_set(&named, "some/folder/net.onnx", &file, &error));
  ck_assert_str_eq(named.name, "net.onnx");
  ck_assert_str_eq(named.sha256, "abc");
  free(named.name);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("names");

  tcase_add_test(tests, every_little_list);
  tcase_add_test(tests, no_list_adds_nothing);
  tcase_add_test(tests, counts);
  tcase_add_test(tests, named_files);
  return run_tests();
}
