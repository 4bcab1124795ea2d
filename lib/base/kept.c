#include "base/kept.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SHELF 1024
#define SHELVES (CLARKE_KEPT_KEYS / SHELF)

typedef _Atomic(void *) place;

/* A shelf is SHELF places, and is made when one of them is asked for. */
struct clarke_kept {
  place shelf[SHELVES];
};

clarke_kept *
clarke_kept_new(void)
{
  return calloc(1, sizeof(clarke_kept));
}

void
clarke_kept_free(clarke_kept *kept)
{
  for (size_t s = 0; kept != NULL && s < SHELVES; s++) {
    place *shelf = atomic_load(&kept->shelf[s]);

    for (size_t k = 0; shelf != NULL && k < SHELF; k++)
      free(atomic_load(&shelf[k]));
    free(shelf);
  }
  free(kept);
}

/* What is at the place; where there is nothing, what is made, which is put there. */
static void *
find_or_make(place *at, void *(*make)(const void *of), const void *of)
{
  void *there = atomic_load_explicit(at, memory_order_acquire), *made;

  if (there != NULL)
    return there;
  made = make(of);
  if (made == NULL || atomic_compare_exchange_strong(at, &there, made))
    return made;
  free(made);
  return there;
}

static void *
make_shelf(const void *of)
{
  (void)of;
  return calloc(SHELF, sizeof(place));
}

const void *
clarke_kept_at(clarke_kept *kept, size_t key, void *(*make)(const void *of), const void *of)
{
  place *shelf = find_or_make(&kept->shelf[key / SHELF], make_shelf, NULL);

  return shelf != NULL ? find_or_make(&shelf[key % SHELF], make, of) : NULL;
}
