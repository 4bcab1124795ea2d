/* Kinks of operators, in words. */
#ifndef CLARKE_TOOLS_EXPLAIN_KINK_H
#define CLARKE_TOOLS_EXPLAIN_KINK_H

#include "base/status.h"

#include <stdbool.h>

/* Prints what each known profile takes at the operator's kinks and ties (case does not matter), behind an empty line unless it is the
 * first text. *found is false, and nothing printed, where there is no such operator. */
clarke_status clarke_explain_kink(bool *found, const char *op, bool first, clarke_error *err);

/* Explains, from a report that a command printed with --json, the touched kinks that the text names, each with its place,
 * argument and slopes, and what AD took; then the operators, as above. A kink is LAYER, LAYER,NEURON or LAYER,NEURON,SAMPLE;
 * of a program the beginning of its name. NULL: all. That there is none is an error that says which there are. */
clarke_status clarke_explain_touched(const char *report, const char *kink, clarke_error *err);

#endif
