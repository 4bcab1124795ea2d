/* A case: a program with claims about it in its header comments (docs/reproduce.md). */
#ifndef CLARKE_TOOLS_REPRODUCE_CASE_H
#define CLARKE_TOOLS_REPRODUCE_CASE_H

#include "program/prog.h"
#include "format/file.h"

/* KEY VALUE: what is true, and what is printed where that is something else (or NULL). */
typedef struct {
  char *key, *expect, *claimed;
  size_t line;
} clarke_fact;

/* What consecutive `at` lines share. */
typedef struct {
  size_t n;
  clarke_fact *fact;
} clarke_facts;

typedef struct {
  char *name, *where, *says, *note;
  char *small;  /* what is asked in place of the paper's own, larger experiment; or NULL */
  char *cannot; /* cannot-check, with the reason; or NULL */
  size_t line;
} clarke_claim;

typedef enum {
  CLARKE_CHECK_AT,
  CLARKE_CHECK_NETWORK,
  CLARKE_CHECK_LINE,
  CLARKE_CHECK_SUITE,
  CLARKE_CHECK_SWEEP,
  CLARKE_CHECK_TRAINING,
} clarke_check_kind;

/* One `at`, `network`, `line`, `suite`, `sweep` or `training`. */
typedef struct {
  size_t claim, facts; /* which of the case's */
  size_t line;
  clarke_check_kind kind;
  char *at;      /* the point; of a network its files and loss; of a line its ends; of the others their names and numbers */
  char *profile; /* a profile's text: `like NAME`, then its own proxies */
  char *against; /* the other profile, of a sweep or training; NULL: none */
  char *wrt;     /* names between commas; NULL: all inputs */
  char *prices;  /* of operations, c_nl=Q c_R=Q c+=Q cx=Q; NULL: all are 1 */
} clarke_check;

typedef struct {
  const char *name; /* the file's base name, in path */
  char *path;
  clarke_file file;
  clarke_prog source;
  clarke_code program; /* when there are checks of it */
  size_t n_claims;
  clarke_claim *claim;
  size_t n_facts;
  clarke_facts *facts;
  size_t n_checks;
  clarke_check *check;
} clarke_case;

void clarke_case_init(clarke_case *c);
void clarke_case_clear(clarke_case *c);

/* Messages are of the form FILE:LINE: what is wrong. */
clarke_status clarke_case_read(clarke_case *c, const char *path, clarke_error *err);

#endif
