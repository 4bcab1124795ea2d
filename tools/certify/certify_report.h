/* clarke certify RUN/: a recorded step, node by node. */
#ifndef CLARKE_TOOLS_CERTIFY_REPORT_H
#define CLARKE_TOOLS_CERTIFY_REPORT_H

#include "audit_steps.h"
#include "ci.h"
#include "session/certify_against.h"
#include "summary.h"
#include "watch.h"

typedef struct {
  clarke_certify_request ask;
  const char *against; /* another record of the step, or of its run, or NULL */
  const struct clarke_steps_apart *apart; /* of runs: what was found of their steps; or NULL */
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


/* --- certify_steps.c: two runs of several steps, begun as {0} --- */

typedef struct clarke_steps_apart {
  clarke_audit_step_list one, other;
  size_t at, common, same; /* the next of one's steps; of those gone through, how many both have, and how many are the same numbers */
  bool found;
  size_t step;             /* the step that differs; where none was found the first one; */
  const char *folder[2];   /* and where it is */
} clarke_steps_apart;

/* The steps of both, which are run folders or folders of these. */
clarke_status clarke_steps_apart_begin(clarke_steps_apart *s, const char *one, const char *other, clarke_error *err);
void clarke_steps_apart_clear(clarke_steps_apart *s);
/* Has one of them several? */
bool clarke_steps_apart_several(const clarke_steps_apart *s);
/* The next step, by number, whose records have other bytes in both. An error: there is no common one, or it begins with other parameters than
 * the steps before would lead to. */
clarke_status clarke_steps_apart_next(clarke_steps_apart *s, clarke_error *err);

/* certify_difference.c. apart: or NULL. */
void clarke_certify_print_difference(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b, const clarke_steps_apart *apart);

#endif
