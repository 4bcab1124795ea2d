/* Three lines in front of a report, in the words of people who train networks: what was asked, the answer with the field's word
 * in brackets, what to do next. JSON has the same texts where -v asks for them. */
#ifndef CLARKE_TOOLS_SUMMARY_H
#define CLARKE_TOOLS_SUMMARY_H

#include "base/output.h"
#include "base/verdict.h"
#include "op/step.h"

#include <jansson.h>
#include <stdbool.h>

/* Written to until it is ended; nobody checks single writes. */
typedef struct {
  clarke_text asked, answer, next;
} clarke_summary;

clarke_status clarke_summary_begin(clarke_summary *s, clarke_error *err);
/* Ends all three, which must be open. Returns status when that is an error already. */
clarke_status clarke_summary_end(clarke_summary *s, clarke_status status, clarke_error *err);
/* Zeroed, open or ended. */
void clarke_summary_clear(clarke_summary *s);

/* Ends one, prints it unless that is an error, and clears it. */
clarke_status clarke_summary_tell(clarke_summary *s, clarke_status status, clarke_error *err);

/* Prints an ended one on standard output, and an empty line. */
void clarke_summary_print(const clarke_summary *s);
/* In an answer, under "summary", if it is wanted. */
void clarke_summary_set(json_t **answer, const clarke_summary *s, bool wanted);

/* --- what the lines are made of --- */

/* "3 kinks"; of more words than one the last has the plural. */
void clarke_put_count(FILE *to, size_t n, const char *what);

/* The first 12 digits of a hash. */
void clarke_put_hash(FILE *to, const char *sha256);

/* "Yes: AD's gradient is ... (in-bouligand)", with no full stop. what: whose gradient; points: "weights". derivative: of what is
 * in-bouligand, is it proved that the function has this one derivative there? */
void clarke_put_verdict(FILE *to, clarke_verdict verdict, bool derivative, const char *what, const char *points);

/* Stands for a verdict where a recorded gradient is not the step's. */
#define CLARKE_STEP_NOT_EXPLAINED "not-explained"
/* The worst verdict of several answers, so many by verdict; open: some are missing. What is no verdict is undecided. */
const char *clarke_worst_verdict(const json_t *verdicts, bool open);
/* "No: AD's gradient is right in 11 steps (in-bouligand); wrong in 1 step (not-in-clarke). ": is, in, what. */
void clarke_put_verdicts(FILE *to, const json_t *verdicts, bool open, const char *is, const char *in, const char *what);

/* A proof was written there. */
void clarke_put_proof(FILE *to, const char *proof);

/* "conv1/Relu, filter 3 at [4, 5], sample 17": an entry of what a step computes. A filter is named where the channels are surely
 * a convolution's. */
void clarke_put_place(FILE *to, const clarke_graph *g, size_t step, size_t feature, size_t sample);

/* How many of a list such a line names. */
#define CLARKE_NAMED ((size_t)3)

#endif
