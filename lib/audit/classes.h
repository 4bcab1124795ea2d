/* Touches whose conditions are positive multiples of each other's: near w they take their sides together. In
 * images many windows tie for the same few reasons.
 *
 * A kink has the options left (0) and right (1), a window its own. base[o] is what option o's entry has over
 * option 0's (of a kink: o = 1 the argument), as a row over all parameters; option o is taken where
 * <base[o] - base[p], d> > 0 for all other p. */
#ifndef CLARKE_AUDIT_CLASSES_H
#define CLARKE_AUDIT_CLASSES_H

#include "audit/separation.h"

typedef struct {
  size_t n, *touch;  /* increasing; the first stands for all */
  bool window;       /* kinks and windows are apart, though two options are as two sides: proofs join each with its like */
  size_t options;
  clarke_row *base;  /* by option; base[0] is empty; the first touch's */
  bool plain;        /* all touches are affine themselves, not but for a factor, and their rows are rational */
  double divided;    /* what base was divided by; a guess; 1 but for what is not rational */
  double *slope;     /* options x columns: base, in floats */
  double *gain[2];   /* options x columns: what the option adds to AD's output, by the touches for which the loss
                      * grows with their output, and by the others; floats, a guess */
} clarke_class;

typedef struct {
  size_t n;
  clarke_class *class;
  size_t n_columns, *column; /* those of the rows, increasing */
} clarke_classes;

void clarke_classes_init(clarke_classes *c);
void clarke_classes_clear(clarke_classes *c);

/* Classes without a common touch, their touches and the columns in order, finished rows. */
bool clarke_classes_are_valid(const clarke_classes *c, const clarke_question *q);

/* The classes of the marked touches whose arguments are affine, of a kink or two options but for a factor, exactly, whatever
 * the sides; others are left out. */
clarke_status clarke_classes_find(clarke_classes *c, const clarke_question *q,
                                    const bool *among, clarke_error *err);

/* AD takes option o of touch k with this weight, where it does so by no one side evenly; and the slope that option o gives to base[p]
 * (a kink's sides have slopes, a window's options are taken). Guesses, in floats. */
double clarke_share_of(const clarke_question *q, size_t k, size_t o);
double clarke_slope_given(const clarke_question *q, size_t k, size_t o, size_t p);

/* option[i], by class: the ones that the direction d (by column) leads to. */
void clarke_classes_along(size_t *option, const clarke_classes *c, const double *d);

/* What option o asks over p: a new row. */
clarke_status clarke_class_condition(clarke_row *row, const clarke_class *class, size_t o,
                                        size_t p, clarke_error *err);

#endif
