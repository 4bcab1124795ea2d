/* Inputs of two parts: a file that proofs speak of, a line "===", and a proof about it. */
#ifndef CLARKE_TESTS_FUZZ_BESIDE_H
#define CLARKE_TESTS_FUZZ_BESIDE_H

#include "checker.h"

/* The end of the first part: "===\n" at the beginning of a line, or the end of the input. */
size_t end_of_first(const uint8_t *data, size_t size);

/* The target's own folder, made at the first call; gone at exit, with what `folder_write` put there. */
const char *own_folder(void);

/* A file of that name there, of up to six names. */
void folder_write(const char *name, const void *data, size_t size);

/* What the checker says of the proof, the input's second part (the first has n bytes), when its hashes are put right. A
 * "verified" begins with that word. */
checker_answer checked_beside(const uint8_t *data, size_t size, size_t n);

#endif
