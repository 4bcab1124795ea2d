/* Collections of named tensors. */
#include "bytes.h"

#include "format/tensors.h"

static clarke_error err;

/* Tensors of these names, in this order, of the integers 0, 1, 2, ... */
static void
named(clarke_tensors *ts, size_t n, const char *const *names)
{
  clarke_tensors_init(ts);
  ck_assert_int_eq(clarke_tensors_alloc(ts, n, &err), CLARKE_OK);
  ck_assert_uint_eq(ts->n, n);
  for (size_t i = 0; i < n; i++) {
    ck_assert(ts->tensor[i].name == NULL && ts->tensor[i].real == NULL);
    ts->tensor[i].name = strdup(names[i]);
    ts->tensor[i].count = i;
  }
}

START_TEST(tensors_are_in_the_order_of_their_bytes)
{
  static const char *const names[] = {"b", "\xc3\xa4", "a.b", "B", "a", "a-b"}, *const sorted[] = {"B", "a", "a-b", "a.b", "b", "\xc3\xa4"};
  clarke_tensors ts;

  named(&ts, 6, names);
  ck_assert_int_eq(clarke_tensors_sort(&ts, &err), CLARKE_OK);
  for (size_t i = 0; i < 6; i++) {
    ck_assert_str_eq(ts.tensor[i].name, sorted[i]);
    ck_assert_str_eq(names[ts.tensor[i].count], sorted[i]); /* all of it moves */
    ck_assert_ptr_eq(clarke_tensors_find(&ts, sorted[i]), &ts.tensor[i]);
  }
  ck_assert_ptr_null(clarke_tensors_find(&ts, "a."));
  clarke_tensors_clear(&ts);
  ck_assert(ts.n == 0 && ts.tensor == NULL);
}
END_TEST

START_TEST(a_name_is_of_one_tensor)
{
  static const char *const names[] = {"w", "b", "v", "w", "x", "w"};
  clarke_tensors ts;

  for (size_t first = 0; first < 4; first++) { /* of one name: the last two, none, the middle two, the first two */
    named(&ts, first == 3 ? 3 : 4, names + (first == 3 ? 3 : first));
    ck_assert_int_eq(clarke_tensors_sort(&ts, &err), first == 1 ? CLARKE_OK : CLARKE_EINPUT);
    ck_assert(first == 1 || strcmp(err.text, "two tensors are named \"w\"") == 0);
    clarke_tensors_clear(&ts);
  }
}
END_TEST

START_TEST(none_are_none)
{
  clarke_tensors ts;

  named(&ts, 0, NULL);
  ck_assert_ptr_null(ts.tensor);
  ck_assert_int_eq(clarke_tensors_sort(&ts, &err), CLARKE_OK);
  ck_assert_ptr_null(clarke_tensors_find(&ts, ""));
#ifndef SANITIZED /* its allocator ends the process */
  ck_assert_int_eq(clarke_tensors_alloc(&ts, SIZE_MAX / 8, &err), CLARKE_ENOMEM);
  ck_assert_uint_eq(ts.n, 0);
#endif
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("tensors");

  tcase_add_test(tests, tensors_are_in_the_order_of_their_bytes);
  tcase_add_test(tests, a_name_is_of_one_tensor);
  tcase_add_test(tests, none_are_none);
  return run_tests();
}
