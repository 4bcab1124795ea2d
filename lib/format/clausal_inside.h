/* Between the files of the reader of refutations: clausal.c keeps, clausal_text.c and clausal_binary.c read. */
#ifndef CLARKE_FORMAT_CLAUSAL_INSIDE_H
#define CLARKE_FORMAT_CLAUSAL_INSIDE_H

#include "format/clausal.h"

/* One step more, or a literal or hint of the last one; they fail only for want of memory. */
clarke_status clarke_clausal_begin(clarke_clausal *p, bool deletion, size_t place, int64_t number, clarke_error *err);
clarke_status clarke_clausal_literal(clarke_clausal *p, int32_t literal, clarke_error *err);
clarke_status clarke_clausal_hint(clarke_clausal *p, int64_t hint, clarke_error *err);

/* Read a file in words, or a binary one, into an empty *p. */
clarke_status clarke_clausal_text(clarke_clausal *p, const unsigned char *data, size_t size, const char *file,
                                  clarke_error *err);
clarke_status clarke_clausal_binary(clarke_clausal *p, const unsigned char *data, size_t size, const char *file,
                                    clarke_error *err);

#endif
