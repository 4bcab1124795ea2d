/* Proofs as clarke-check wants them: hashes put right. */
#ifndef CLARKE_TESTS_FUZZ_SEAL_H
#define CLARKE_TESTS_FUZZ_SEAL_H

#include "buffer.h"

/* A proof's text with the hash of each file that it names and the folder has, and its own at the end, in place of those that
 * are there. */
buffer sealed_proof(const char *folder, const void *text, size_t size);

#endif
