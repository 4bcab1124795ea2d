/* A check being run. */
#ifndef CLARKE_TOOLS_REPRODUCE_RUN_H
#define CLARKE_TOOLS_REPRODUCE_RUN_H

#include "reproduce_case.h"
#include "cost/program.h"
#include "program/derive.h"
#include "session/audit.h"
#include "suite.h"

typedef struct clarke_line clarke_line;                 /* reproduce_line.h */
typedef struct clarke_run_sweep clarke_run_sweep;       /* reproduce_sweep.h */
typedef struct clarke_run_training clarke_run_training; /* reproduce_training.h */

/* The words of a check's line, in a copy. */
#define CLARKE_MOST_WORDS 8
typedef struct {
  char *text;
  size_t n; /* one more than the most, where there are more */
  const char *word[CLARKE_MOST_WORDS + 1];
} clarke_words;

clarke_status clarke_words_cut(clarke_words *w, const char *text, clarke_error *err);
void clarke_words_clear(clarke_words *w);

typedef struct {
  const clarke_case *c;
  const clarke_check *check;
  clarke_code *p; /* the case's, with wrt marked */
  mpq_t *at;
  size_t n_at;
  clarke_profile profile;
  clarke_derivation d;
  clarke_audit_session *network; /* of a check of a network, else NULL; */
  char *model_path, *batch_path; /* of a network, sweep or training, */
  clarke_file model, batch;      /* and what is there */
  clarke_line *line;             /* of a check along a line, else NULL */
  clarke_suite_counts *counts;   /* of a suite, else NULL */
  clarke_run_sweep *sweep;       /* of a sweep, else NULL */
  clarke_run_training *training; /* of a training, else NULL */
  clarke_count count; /* the program's functions */
  clarke_prices prices;
} clarke_run;

void clarke_run_init(clarke_run *r);
void clarke_run_clear(clarke_run *r);
/* UNDECIDED where none was asked for, too. */
clarke_verdict clarke_run_verdict(const clarke_run *r);
/* Reads the point and the profile, marks wrt, and derives; where no fact needs more, d has the
 * execution and AD alone, and no verdict. Or asks what another kind of check does. */
clarke_status clarke_run_check(clarke_run *r, clarke_case *c, const clarke_check *check,
                               clarke_error *err);

#endif
