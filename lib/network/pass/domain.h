/* Steps of functions, at every entry: of those that are defined everywhere, and of others. */
#ifndef CLARKE_NETWORK_PASS_DOMAIN_H
#define CLARKE_NETWORK_PASS_DOMAIN_H

#include "network/pass/analytic.h"

/* The value, or slope, of a step whose function has a domain, at every entry of x; rational where all are, of few digits, else
 * balls. Fails where an argument does not lie in the domain, *vague being set when its enclosure does not tell. */
clarke_status clarke_domain_apply(clarke_matrix *y, bool *vague, const clarke_step *s, const clarke_matrix *x, bool slope,
                                  long precision, clarke_error *err);

/* The same of a function that is defined everywhere, of a step of g: in enclosures. */
clarke_status clarke_analytic_apply(clarke_matrix *y, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, bool slope, long precision, clarke_error *err);

#endif
