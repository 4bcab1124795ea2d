/* What a sweep's results say together: by pair of profiles and format how far gradients are apart, and how often. */
#ifndef CLARKE_TOOLS_SWEEP_SUMMARY_H
#define CLARKE_TOOLS_SWEEP_SUMMARY_H

#include "lines.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

/* What is asked of the results. */
typedef struct {
  double tau;            /* beyond it a difference is counted in the shares; */
  const char *tau_of;    /* NULL, or a pair "P,Q": beyond the least positive difference of these, in each format (thesis, (3.13)) */
  const char *svg;       /* a file for the histograms, or NULL */
  bool json;
} clarke_sweep_summing;

enum { CLARKE_OPTION_TAU = 640, CLARKE_OPTION_SWEEP_SVG };

#define CLARKE_OPTIONS_OF_SUMMARY                                                                                                             \
  {"tau", CLARKE_OPTION_TAU, "T|P,Q", 0,                                                                                                      \
   "count differences beyond T in the summary's shares (default: 0); of a pair of profiles: beyond their least positive difference", 0},      \
  {"svg", CLARKE_OPTION_SWEEP_SVG, "FILE", 0, "draw histograms of the differences", 0},                                                       \
  {"json", 'j', NULL, 0, "print the summary as one JSON object", 0}

/* Is it one of the first two? Then it has been taken. What is no tau ends the command. */
bool clarke_sweep_take(int key, const char *arg, const struct argp_state *state, clarke_sweep_summing *to);

/* *missing: how many of the jobs have no line. */
clarke_status clarke_sweep_summary(size_t *missing, const clarke_lines *r, const clarke_sweep_summing *q, clarke_error *err);

/* sweep_svg.c: a histogram for each group of the summary's JSON. */
clarke_status clarke_sweep_histograms(const json_t *groups, const char *path, clarke_error *err);

#endif
