/* Loops over many numbers are compiled twice, for processors with wider registers too, and the loader takes the one that runs.
 * Both do the same operations in the same order on each number: nothing that they compute differs. */
#ifndef CLARKE_BASE_WIDE_H
#define CLARKE_BASE_WIDE_H

#include <stdlib.h> /* __GLIBC__ */

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
  !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLARKE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CLARKE_WIDE
#endif

/* The same where fma is in the loop, which rounds once wherever it is: an instruction, or the C library's function. */
#if defined(__GNUC__) && __GNUC__ >= 12 && defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(__clang__) && \
  !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLARKE_FUSED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLARKE_FUSED
#endif

#endif
