/* Numbers as people write them. */
#ifndef CLARKE_EXACT_LITERAL_H
#define CLARKE_EXACT_LITERAL_H

#include "exact/number.h"

/* A literal of programs and command lines, exactly: 3, -1/3, 0.1 (one tenth),
 * 1e-3, 0x1.99999ap-4, 0.1f (the float32 nearest to one tenth), 0.1h (the nearest float16), 0.1d (float64). The whole text
 * must be one. False when it is none, or has over 4096 digits or an exponent beyond 4096. */
bool clarke_literal_parse(mpq_t value, const char *text);

#endif
