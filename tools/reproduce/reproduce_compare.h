/* What a result and a text have to do with each other. */
#ifndef CLARKE_TOOLS_REPRODUCE_COMPARE_H
#define CLARKE_TOOLS_REPRODUCE_COMPARE_H

#include "reproduce_result.h"

/* Is the result what this text says? Numbers are literals, compared exactly, or ~D: D rounded to
 * the digits it has. */
bool clarke_result_is(const clarke_result *result, const char *text);
/* Do two texts say the same (the first may have ~D)? */
bool clarke_texts_agree(const char *printed, const char *expected);

#endif
