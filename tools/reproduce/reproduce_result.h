/* A result: a word, numbers, or a set of vectors; as text too. */
#ifndef CLARKE_TOOLS_REPRODUCE_RESULT_H
#define CLARKE_TOOLS_REPRODUCE_RESULT_H

#include "program/derive.h"

typedef struct {
  enum { CLARKE_RESULT_WORD, CLARKE_RESULT_NUMBERS, CLARKE_RESULT_SET } kind;
  char *text;
  size_t n;             /* NUMBERS */
  clarke_number *x;
  size_t dim;           /* SET */
  clarke_points points;
} clarke_result;

void clarke_result_init(clarke_result *result);
void clarke_result_clear(clarke_result *result);

/* Make the result, of one that is initialized. width: of the rows, in parentheses of their own when there are several, that
 * a vector is written in; 0: none. Numbers and doubles of n = 1 are bare. */
clarke_status clarke_result_word(clarke_result *result, const char *text, clarke_error *err);
clarke_status clarke_result_count(clarke_result *result, size_t n, clarke_error *err);
clarke_status clarke_result_truth(clarke_result *result, clarke_truth a, clarke_error *err); /* yes, no, unknown */
/* x (NULL: out of memory) is taken over. */
clarke_status clarke_result_numbers(clarke_result *result, clarke_number *x, size_t n, size_t width, clarke_error *err);
clarke_status clarke_result_rationals(clarke_result *result, mpq_t *q, size_t n, size_t width, clarke_error *err);
/* Exactly; as text by the fewest digits that read back as themselves. A word, if one is not finite. */
clarke_status clarke_result_doubles(clarke_result *result, const double *v, size_t n, size_t width, clarke_error *err);
clarke_status clarke_result_set(clarke_result *result, const clarke_points *s, size_t width, clarke_error *err);

#endif
