/* The checker's work in a child of the test's own, as the program does it but for its options: no program is begun, so that
 * thousands of these take seconds. */
#ifndef CLARKE_TESTS_CHECK_APART_H
#define CLARKE_TESTS_CHECK_APART_H

#include <stddef.h>

/* The exit status of clarke-check PROOF --data DATA --threads N; data may be NULL. The beginning of what it says, size - 1
 * characters at most, in said. */
int check_apart(const char *proof, const char *data, size_t threads, char *said, size_t size);

#endif
