/* Errors are values. Every function that can fail returns a clarke_status and, when it is not
 * CLARKE_OK, has written to *err what is wrong, where (file, tensor, node) and what was expected.
 *
 * A NULL err is allowed everywhere: the code alone is returned. On failure outputs are left
 * initialized (safe to clear), their values unspecified. */
#ifndef CLARKE_BASE_STATUS_H
#define CLARKE_BASE_STATUS_H

#include "clarke.h" /* clarke_status, clarke_error */

/* Records code and the formatted message in *err (if any) and returns code. */
clarke_status clarke_fail(clarke_error *err, clarke_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* CLARKE_ENOMEM, "out of memory". */
clarke_status clarke_no_memory(clarke_error *err);

/* Puts "context: " before the message already in *err; returns err's code. */
clarke_status clarke_fail_in(clarke_error *err, clarke_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
