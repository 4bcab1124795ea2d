/* Things that are made when they are first asked for, and kept as long as their store: by any thread, for all. */
#ifndef CLARKE_BASE_KEPT_H
#define CLARKE_BASE_KEPT_H

#include <stddef.h>

typedef struct clarke_kept clarke_kept;

/* Keys are below this. */
#define CLARKE_KEPT_KEYS ((size_t)1 << 16)

/* Without anything; NULL: out of memory. */
clarke_kept *clarke_kept_new(void);
/* With all that it keeps, each of which free() takes. NULL: nothing is done. */
void clarke_kept_free(clarke_kept *kept);
/* What is kept for the key: where there is nothing, what make(of) gives, be it NULL, which is not kept. Of two threads that make one at a
 * time the later takes the other's. The same key must always be asked for with what makes the same. */
const void *clarke_kept_at(clarke_kept *kept, size_t key, void *(*make)(const void *of), const void *of);

#endif
