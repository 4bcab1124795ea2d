/* How patterns and exact numbers are printed. */
#ifndef CLARKE_TOOLS_PATTERNS_TEXT_H
#define CLARKE_TOOLS_PATTERNS_TEXT_H

#include "program/code.h"
#include "session/grid.h"

#include <stdio.h>

/* A fraction, in JSON (quoted) as a string. */
void clarke_patterns_put_rational(FILE *to, const mpq_t q, bool quoted);
/* n of them, with a space or, in JSON, a comma between. */
void clarke_patterns_put_row(FILE *to, mpq_t *q, size_t n, bool json);

/* A pattern's character: of a kink its piece, of a maximum or minimum the letter of its winner, `.` for no side (CLARKE_NONE). */
void clarke_patterns_put_choice(FILE *to, clarke_do kind, size_t choice);

/* Numbers of a format along a segment, or points of their grid in a plane, and those in the zone; and the same as a key of an object. */
void clarke_patterns_put_grid(const clarke_grid *g, const char *format, bool plane);
void clarke_patterns_put_grid_key(const clarke_grid *g, const char *format);

#endif
