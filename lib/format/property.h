/* What a VNNLIB query asks for (SMT-LIB text), wholly, and the counterexamples that verifiers write.
 *
 * A query is a conjunction of assertions: (<= A B), (>= A B), (and ...), (or ...), where A and B are linear in inputs X_i and outputs Y_j: numbers,
 * variables, +, -, * by a number. A counterexample is a point where all of them hold. vnnlib.h reads of a query the box of the inputs alone. */
#ifndef CLARKE_FORMAT_PROPERTY_H
#define CLARKE_FORMAT_PROPERTY_H

#include "exact/number.h"

typedef enum { CLARKE_PROPERTY_ALL, CLARKE_PROPERTY_ANY, CLARKE_PROPERTY_AT_LEAST } clarke_property_kind;

/* AT_LEAST: coef[0] v[0] + ... + coef[n_terms] >= 0. */
typedef struct clarke_property {
  clarke_property_kind kind;
  size_t line;
  size_t n; /* ALL (of none: it holds), ANY (of none: it does not) */
  struct clarke_property *part;
  size_t n_terms, *variable; /* inputs, then outputs; in order, each once */
  mpq_t *coef;               /* n_terms + 1 */
} clarke_property;

typedef struct {
  size_t n_inputs, n_outputs;
  clarke_property asserted; /* ALL, a part an assertion */
} clarke_query;

/* Reads a property into a zeroed query; the file's name is for messages. Errors leave it zeroed. */
clarke_status clarke_query_parse(clarke_query *q, const void *data, size_t size, const char *file, clarke_error *err);
void clarke_query_clear(clarke_query *q);

/* How far it is from failing: at least 0 where it holds, below 0 where it does not. Of AT_LEAST the form's value, of ALL the least of its
 * parts', of ANY the largest. value: of all inputs, then of all outputs. What cannot be told apart at that precision is a ball that holds it. Of
 * no parts it is 1 (ALL) or -1 (ANY). */
void clarke_property_margin(clarke_number *margin, const clarke_property *p, const clarke_number *value, long precision);

/* A counterexample as VNN-COMP wants it: `sat`, which may be missing, and ((X_0 0.5) ... (Y_0 1.25) ...): every input once, and of outputs
 * every one once, or none. */
typedef struct {
  size_t n_inputs, n_outputs;
  mpq_t *input, *output;
} clarke_counterexample;

/* Reads a counterexample into a zeroed one; the file's name is for messages. Errors leave it zeroed. */
clarke_status clarke_counterexample_parse(clarke_counterexample *c, const void *data, size_t size, const char *file, clarke_error *err);
void clarke_counterexample_clear(clarke_counterexample *c);

#endif
