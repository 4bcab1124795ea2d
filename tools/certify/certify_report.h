/* clarke certify RUN/: a recorded step, node by node. */
#ifndef CLARKE_TOOLS_CERTIFY_REPORT_H
#define CLARKE_TOOLS_CERTIFY_REPORT_H

#include "ci.h"
#include "session/certify_against.h"
#include "summary.h"
#include "watch.h"

typedef struct {
  clarke_certify_request ask;
  const char *against; /* another record of the step, or NULL */
  const char *proof;   /* where to write one, or NULL */
  bool json, verbose;
  clarke_ci ci;
  clarke_watch_limits watch;
} clarke_certify_command;

/* The whole command: *exit_status is that of the answer (command.h). */
clarke_status clarke_certify_run_folder(int *exit_status, const clarke_certify_command *command, clarke_error *err);

/* certify_summary.c: of what was certified, or stopped. The caller clears it, on errors too. */
clarke_status clarke_certify_summary(clarke_summary *summary, const clarke_certified *c, const clarke_certify_command *command,
                                     clarke_error *err);

/* certify_semantics.c: the pattern beside the exact one, and both semantics, where they were asked for. */
void clarke_certify_print_semantics(const clarke_certified *c);

/* certify_difference.c */
void clarke_certify_print_difference(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b);

#endif
