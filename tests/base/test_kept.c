/* What is made once and kept, for all threads. */
#include "../suite.h"

#include "base/kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 8, KEYS = 3000 };

static atomic_size_t made;

static size_t
key_of(size_t i)
{
  return i * 7919 % CLARKE_KEPT_KEYS;
}

static void *
make_number(const void *of)
{
  size_t *number = malloc(sizeof *number);

  *number = *(const size_t *)of;
  atomic_fetch_add(&made, 1);
  return number;
}

static void *
make_nothing(const void *of)
{
  (void)of;
  return NULL;
}

typedef struct {
  clarke_kept *kept;
  const void *found[KEYS];
} asker;

static void *
ask(void *of)
{
  asker *a = of;

  for (size_t i = 0; i < KEYS; i++)
    a->found[i] = clarke_kept_at(a->kept, key_of(i), make_number, &i);
  return NULL;
}

/* All threads are given one and the same, which was made for the key. */
START_TEST(one_for_all_threads)
{
  static asker askers[THREADS];
  clarke_kept *kept = clarke_kept_new();
  pthread_t thread[THREADS];
  size_t before;

  for (size_t t = 0; t < THREADS; t++) {
    askers[t].kept = kept;
    ck_assert_int_eq(pthread_create(&thread[t], NULL, ask, &askers[t]), 0);
  }
  for (size_t t = 0; t < THREADS; t++)
    pthread_join(thread[t], NULL);
  for (size_t i = 0; i < KEYS; i++) {
    ck_assert_uint_eq(*(const size_t *)askers[0].found[i], i);
    for (size_t t = 1; t < THREADS; t++)
      ck_assert_ptr_eq(askers[t].found[i], askers[0].found[i]);
  }
  before = atomic_load(&made);
  ck_assert_uint_ge(before, KEYS);
  ask(&askers[0]);
  ck_assert_uint_eq(atomic_load(&made), before);
  clarke_kept_free(kept);
}
END_TEST

/* What could not be made is asked for again. */
START_TEST(nothing_is_not_kept)
{
  clarke_kept *kept = clarke_kept_new();
  const size_t last = CLARKE_KEPT_KEYS - 1;

  ck_assert_ptr_null(clarke_kept_at(kept, last, make_nothing, NULL));
  ck_assert_uint_eq(*(const size_t *)clarke_kept_at(kept, last, make_number, &last), last);
  clarke_kept_free(kept);
  clarke_kept_free(NULL);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("kept");

  tcase_add_test(tests, one_for_all_threads);
  tcase_add_test(tests, nothing_is_not_kept);
  return run_tests();
}
