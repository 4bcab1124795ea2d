/* Work on samples, in threads. */
#include "check/base/parallel.h"
#include "check/base/limit.h"
#include "check/base/number_memory.h"

#include <pthread.h>

typedef struct {
  size_t n, next;
  void (*work)(void *what, size_t b);
  void *what;
  unsigned long bits;
} samples;

static void
take_samples(samples *all)
{
  for (size_t b; (b = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->n;)
    all->work(all->what, b);
}

static void *
begin_thread(void *of)
{
  samples *all = of;
  session_set_bits(all->bits);
  take_samples(all);
  number_memory_end();
  return NULL;
}

void
for_each_sample(size_t n, void (*work)(void *what, size_t b), void *what)
{
  samples all = {n, 0, work, what, session_bits};
  pthread_t thread[MAX_THREADS];
  size_t others = 0;
  pthread_attr_t how;
  expect(pthread_attr_init(&how) == 0 && pthread_attr_setstacksize(&how, STACK_BYTES) == 0, "no threads");
  while (others + 1 < session_threads && others + 1 < n
         && pthread_create(&thread[others], &how, begin_thread, &all) == 0)
    others++;
  pthread_attr_destroy(&how);
  take_samples(&all);
  while (others > 0)
    expect(pthread_join(thread[--others], NULL) == 0, "a thread was lost");
}
