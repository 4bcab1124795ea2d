/* Numbers for sequences of words: equal ones have one number. */
#ifndef CLARKE_KERNEL_SEQUENCES_H
#define CLARKE_KERNEL_SEQUENCES_H

#include "check/base/value.h"

/* All sequences end to end, and a table of where to look. {0} has none. */
typedef struct {
  size_t n, *end;              /* sequence k is word[end[k - 1]], ..., word[end[k] - 1] */
  size_t n_words, room, *word; /* n_words: with those of a sequence that has not ended */
  size_t n_places,
      *place; /* at its hash, or behind: 1 + a sequence's number; 0: nothing. A power of two, over half of it 0 */
} sequences;

void put_word(sequences *t, size_t word);           /* to a sequence that the next call of end_sequence ends */
void put_rational(sequences *t, const rational *q); /* likewise */
size_t end_sequence(sequences *t);                  /* its number: 0, 1, ... in the order in which new ones come */
void sequences_free(sequences *t);                  /* is {0} then */

#endif
