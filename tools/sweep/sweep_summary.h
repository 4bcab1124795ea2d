/* What a sweep's results say together: by pair of profiles and format how far gradients are apart, and how often. */
#ifndef CLARKE_TOOLS_SWEEP_SUMMARY_H
#define CLARKE_TOOLS_SWEEP_SUMMARY_H

#include "lines.h"

#include <argp.h>

/* Beyond tau a difference is counted in the shares. *missing: how many of the jobs have no line. */
clarke_status clarke_sweep_summary(size_t *missing, const clarke_lines *r, double tau, bool json, clarke_error *err);

/* The value of --tau, or the command ends. */
double clarke_sweep_read_tau(const char *text, const struct argp_state *state);

#endif
