/* Verdicts and answers in plain words: a sentence, and whether it is good news. Whatever shows an answer to people says them
 * so. */
#ifndef CLARKE_TOOLS_PLAIN_H
#define CLARKE_TOOLS_PLAIN_H

#include "clarke.h" /* clarke_verdict */

typedef enum { CLARKE_TONE_GOOD, CLARKE_TONE_NOTE, CLARKE_TONE_OPEN, CLARKE_TONE_BAD } clarke_tone;

typedef struct {
  const char *name;     /* the field's word, as JSON has it */
  const char *sentence; /* with no full stop */
  clarke_tone tone;
} clarke_plain;

/* By the name that JSON has; the verdict's number is *verdict (NULL: not asked). What is no verdict is undecided. */
const clarke_plain *clarke_plain_verdict(const char *name, clarke_verdict *verdict);

/* Is a recorded gradient AD's: explained, turned, refuted; else it is not known. */
const clarke_plain *clarke_plain_gradient(const char *name);

/* What certify says of a record or of tensor cores' results; else that nothing can be said. */
const clarke_plain *clarke_plain_certainty(const char *name);

#endif
