/* Loops over many doubles are compiled for wider registers, too, and the loader takes what the processor has. Each number goes through
 * the same operations in the same order. */
#ifndef CLARKE_CHECK_BASE_WIDE_H
#define CLARKE_CHECK_BASE_WIDE_H

#include <stdlib.h> /* __GLIBC__ */

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(__clang__)                         \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

#endif
