/* Cells of one block of touches, in floats, by what they change in AD's output: those that random directions lead to,
 * and those that lie farthest where a vector seems to separate. Guesses. */
#ifndef CLARKE_AUDIT_SAMPLE_H
#define CLARKE_AUDIT_SAMPLE_H

#include "audit/classes.h"

#include <stdint.h>

typedef struct {
  clarke_classes classes;
  size_t n, most;
  size_t *cell;   /* n x classes: each class's option */
  double *change; /* n x columns: AD's output less the cell's gradient */
  double *v;      /* by column */
  size_t *option; /* by class: of the cell to add next */
  uint64_t state;
} clarke_sample;

/* The marked touches' classes (clarke_classes_find), and 64 cells; as many as `most` may be added. */
clarke_status clarke_sample_init(clarke_sample *s, const clarke_question *q, const bool *among,
                                 clarke_error *err);
void clarke_sample_clear(clarke_sample *s);

/* Adds the cell of `option`, or of a random direction; nothing when there are as many as may be. */
void clarke_sample_add(clarke_sample *s);
void clarke_sample_draw(clarke_sample *s);
/* Is the cell of `option` one of them? */
bool clarke_sample_has(const clarke_sample *s);

/* v: of the hull of all changes the point nearest to the origin, after cells were added that it did not separate.
 * *found: it separates all; false: the hull holds the origin, as far as floats can tell. */
clarke_status clarke_sample_separate(bool *found, clarke_sample *s, clarke_error *err);

#endif
