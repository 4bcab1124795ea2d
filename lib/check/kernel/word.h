/* Near values in machine words, the first to be asked (docs/checker.md, "Near values in words"). */
#ifndef CLARKE_KERNEL_WORD_H
#define CLARKE_KERNEL_WORD_H

#include "check/kernel/word_step.h"

/* The values of a step for a sample, or for all that are coupled: entry e is within r units of c[e / apart], a unit being
 * 2^-digits. It is as fine as the words allow, but not below 2^-61. */
typedef struct {
  int64_t *c;
  uint64_t r;
  unsigned digits, down; /* down: the shift to what the step that reads it takes */
  bool known;
} words;

/* Fills place for a sample, or all: NONE where it stays open. Does anything? The values, for words_free. */
words *words_values(point *p, size_t sample, bool *open);
void words_free(const point *p, words *v);

#endif
