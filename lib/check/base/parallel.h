/* Work on samples, in threads. */
#ifndef CLARKE_KERNEL_PARALLEL_H
#define CLARKE_KERNEL_PARALLEL_H

#include "check/base/session.h"

/* Calls work(what, b) for each sample b < n, in session_threads threads: it changes nothing of another sample. */
void for_each_sample(size_t n, void (*work)(void *what, size_t b), void *what);

#endif
