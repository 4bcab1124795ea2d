/* What clarke reproduce prints. */
#ifndef CLARKE_TOOLS_REPRODUCE_REPORT_H
#define CLARKE_TOOLS_REPRODUCE_REPORT_H

#include "reproduce_case.h"

typedef enum {
  CLARKE_ROW_AGREES,      /* all is as the paper has it */
  CLARKE_ROW_SMALL,       /* so it is of a smaller experiment; the paper's own was not asked about */
  CLARKE_ROW_PAPER_WRONG, /* all is as the case says is true, the paper has something else */
  CLARKE_ROW_DISAGREES,   /* something is not as the case says is true */
  CLARKE_ROW_CANNOT,      /* a claim that is not checked */
} clarke_outcome;

#define CLARKE_ROW_OUTCOMES 5

/* A check and what was found, or a claim that cannot be checked. */
typedef struct {
  const clarke_case *c;
  const clarke_claim *claim;
  const clarke_check *check; /* NULL: cannot be checked */
  char **computed;           /* by fact */
  bool *agrees;
  clarke_outcome outcome;
  char *proof; /* the file's name, or NULL */
} clarke_table_row;

typedef struct {
  size_t n;
  clarke_table_row *row;
  size_t count[CLARKE_ROW_OUTCOMES];
  size_t n_claims; /* distinct names */
} clarke_table;

const char *clarke_outcome_name(clarke_outcome outcome);
/* unread: files that are no cases. */
clarke_status clarke_table_print(const clarke_table *rows, size_t unread, clarke_error *err);
clarke_status clarke_table_print_json(const clarke_table *rows, clarke_error *err);

#endif
