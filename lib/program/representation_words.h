/* What is said of a representation: words added to a text, which is cut where it is full. */
#ifndef CLARKE_PROGRAM_REPRESENTATION_WORDS_H
#define CLARKE_PROGRAM_REPRESENTATION_WORDS_H

#include "program/code.h"

typedef struct {
  char text[512];
  size_t n;
} clarke_sentence;

/* Appends to the sentence, which is cut where it is full. */
void clarke_say(clarke_sentence *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A rational; in digits when it is long. */
void clarke_say_number(clarke_sentence *w, const mpq_t q);
/* "piece 2 (line 7)" */
void clarke_say_piece(clarke_sentence *w, const clarke_code *p, size_t piece);
/* "at x=0,1 y=2": all inputs, those in wrt from the point. */
void clarke_say_point(clarke_sentence *w, const clarke_code *p, mpq_t *at, mpq_t *point);
/* Where an instruction is in the text. */
void clarke_say_instruction(clarke_sentence *w, const clarke_code *p, size_t at);
/* That no piece holds (first: CLARKE_NONE), or that these two do. */
void clarke_say_holding(clarke_sentence *w, const clarke_code *p, size_t first, size_t second);

#endif
