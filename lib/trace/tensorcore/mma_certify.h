/* Recorded results of tensor cores beside what the rules of their generations give. */
#ifndef CLARKE_TRACE_MMA_CERTIFY_H
#define CLARKE_TRACE_MMA_CERTIFY_H

#include "trace/tensorcore/mma_rule.h"
#include "trace/tensorcore/mma_set.h"

typedef enum {
  CLARKE_MMA_EXACT,       /* one rule gives every result, bit for bit */
  CLARKE_MMA_DIFFERS,     /* none of the rules does */
  CLARKE_MMA_UNEXPLAINED, /* there is no rule for such results: nothing is said of them */
} clarke_mma_outcome;

/* Results in one file d. */
typedef struct {
  char *file; /* from where the search began */
  char *gpu, *instruction; /* the latter may be NULL */
  clarke_architecture architecture;
  int input, output, k;
  size_t results;
  clarke_mma_outcome outcome;
  const clarke_mma_rule *rule; /* that was followed longest; NULL when unexplained */
  size_t agree;                /* results that it gives */
  size_t line;                 /* the first that it does not, from 1; 0: none */
  uint32_t recorded, given;    /* there */
} clarke_mma_result;

typedef struct {
  size_t n;
  clarke_mma_result *result;
} clarke_mma_report;

/* Every set below a directory, one after another. *r must be zeroed; clear it whatever comes out. */
clarke_status clarke_mma_certify(clarke_mma_report *r, const char *directory, clarke_error *err);
void clarke_mma_report_clear(clarke_mma_report *r);

/* The whole: differs when any does, else unexplained when any is. */
clarke_mma_outcome clarke_mma_report_outcome(const clarke_mma_report *r);

#endif
