/* What the options of classes add to the loss's derivative along a vector v, as AD has it. Floats: they order a search, and
 * a leaf is proved otherwise (separation.h). */
#ifndef CLARKE_AUDIT_GAINS_H
#define CLARKE_AUDIT_GAINS_H

#include "audit/classes.h"
#include "audit/separation.h"

typedef struct {
  const clarke_classes *c;
  double **option; /* by class and option */
  double *open;    /* by class: the most that its touches add, each for itself */
  double base;     /* what the touches outside the classes add at most */
} clarke_gains;

/* separation: of v; NULL to guess by the classes' gains, v being by their columns. */
clarke_status clarke_gains_init(clarke_gains *g, const clarke_classes *c, const double *v,
                                const clarke_separation *separation, clarke_error *err);
void clarke_gains_clear(clarke_gains *g);

/* How much lies between a class left open and its least option. */
double clarke_gains_spread(const clarke_gains *g, size_t class);

#endif
