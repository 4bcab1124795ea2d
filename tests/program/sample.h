/* Random little programs with many touched kinks, and the same programs as the library has them. */
#ifndef CLARKE_TESTS_PROGRAM_SAMPLE_H
#define CLARKE_TESTS_PROGRAM_SAMPLE_H

#include "build.h"
#include "little.h"

/* A program of about `size` nodes and a point; with jumps, arms of an IF may differ where it parts;
 * curved, there are products. */
void sample_program(little *p, int *w, uint64_t *state, int size, bool jumps, bool curved);
void sample_build(clarke_code *out, const little *p);
/* For messages: the program in the library's language, nearly. */
const char *sample_text(const little *p, const int *w);

#endif
