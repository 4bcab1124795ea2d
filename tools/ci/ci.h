/* What continuous integration asks of a command that answers: files of findings, and an exit status of its own choice. */
#ifndef CLARKE_TOOLS_CI_H
#define CLARKE_TOOLS_CI_H

#include "base/status.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
  const char *sarif, *junit, *html, *baseline; /* files; NULL: none */
  const char *fail_on;                         /* names with commas; NULL: none */
  bool exit_zero, quiet;
  bool *told; /* set once the answer is printed as JSON: what fails behind it prints no second object. NULL: nothing can */
} clarke_ci;

enum {
  CLARKE_OPTION_SARIF = 512,
  CLARKE_OPTION_JUNIT,
  CLARKE_OPTION_BASELINE,
  CLARKE_OPTION_FAIL_ON,
  CLARKE_OPTION_EXIT_ZERO,
  CLARKE_OPTION_HTML
};

#define CLARKE_OPTIONS_OF_CI                                                                                                  \
  {"sarif", CLARKE_OPTION_SARIF, "FILE", 0, "write the findings as SARIF 2.1.0, as code hosts show them", 1},                 \
  {"junit", CLARKE_OPTION_JUNIT, "FILE", 0, "write the questions and findings as JUnit's XML, as test reports are shown", 1}, \
  {"html", CLARKE_OPTION_HTML, "FILE", 0, "write the answer as one page, as clarke report does", 1},                          \
  {"fail-on", CLARKE_OPTION_FAIL_ON, "NAME,...", 0,                                                                           \
   "exit with 1 for these, too: in-clarke, undecided, not-in-clarke, touched, turned, refuted, not-known", 1},                \
  {"baseline", CLARKE_OPTION_BASELINE, "FILE", 0,                                                                             \
   "what FILE has, written by --sarif before, does not fail; what is gone is told", 1},                                       \
  {"exit-zero", CLARKE_OPTION_EXIT_ZERO, NULL, 0, "exit with 0 whatever the answer is; with 2 still where there is none", 1}, \
  {"quiet", 'q', NULL, 0, "print no report", 1}

/* Is it one of them? Then it has been taken. Names that --fail-on does not know end the command. */
bool clarke_ci_take(int key, const char *arg, const struct argp_state *state, clarke_ci *to);

/* Where an answer comes from. */
typedef struct {
  const char *command;                   /* "audit", ... */
  const char *path, *batch, *checkpoint; /* as findings.h has them */
  const char *proof;                     /* the one that was written; NULL: none was */
  bool json;                             /* it is printed as JSON */
} clarke_ci_source;

/* Does anybody want the answer as JSON? Else it need not be made. */
bool clarke_ci_wants(const clarke_ci *ci, bool json);

/* Takes over the answer (NULL: nobody wanted it). Writes what was asked for, and prints the answer. *exit_status is the
 * command's, and becomes what the options make of it. */
clarke_status clarke_ci_tell(int *exit_status, const clarke_ci *ci, const clarke_ci_source *source, json_t *answer,
                             clarke_error *err);

/* The command ends with an error, or was stopped before it knew anything: says so on standard error, in the files and, as
 * JSON, on standard output: {"error": ...}. The exit status. */
int clarke_ci_fail(const clarke_ci *ci, const clarke_ci_source *source, const clarke_error *why);

#endif
