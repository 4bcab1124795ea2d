/* clarke reproduce: runs the papers' examples; what is claimed, what is computed, do they agree? */
#include "command.h"
#include "failed.h"
#include "check_needs.h"
#include "base/stop.h"
#include "proof/text.h"
#include "proof/write.h"
#include "reproduce_compare.h"
#include "reproduce_keys.h"
#include "reproduce_line.h"
#include "reproduce_report.h"
#include "watch.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
  const char *pattern, *cases, *proofs;
  bool json;
  clarke_watch_limits watch;
} request;

typedef struct {
  size_t n;
  clarke_case *c;
  size_t unread; /* files that are no cases */
} library;

static const struct argp_option options[] = {
  {"cases", 'c', "DIR", 0, "the cases, *.prog (default: cases/papers)", 0},
  {"proofs", 'p', "DIR", 0, "write CLAIM[-n].proof there for each check with a decided verdict", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "Runs the papers' examples and prints, for each check, what is claimed, what is computed, and "
  "whether they agree. PATTERN chooses claims by name."
  "\vExample:\n"
  "  clarke reproduce 'P-L*' --proofs proofs\n\n"
  "Exit status: 0 when all is as the cases say is true (a paper may be wrong). 1 when something is "
  "not, 2 when a case could not be read, 3 when a limit or a stop came before the end.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;
  const clarke_shared_options shared = {.proof = &r->proofs, .json = &r->json};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &r->watch))
    return 0;
  switch (key) {
  case 'c':
    r->cases = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (r->pattern != NULL)
      argp_error(state, "one PATTERN is expected");
    r->pattern = arg;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* --- reading the cases ----------------------------------------------------------------------- */

static int
is_case(const struct dirent *entry)
{
  size_t n = strlen(entry->d_name);

  return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".prog") == 0;
}

/* By bytes, whatever the locale. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* Three texts as one (malloc). */
static char *
joined(const char *a, const char *b, const char *c)
{
  size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
  char *text = malloc(size);

  if (text != NULL)
    snprintf(text, size, "%s%s%s", a, b, c);
  return text;
}

static void
complain(const clarke_error *err)
{
  fprintf(stderr, "clarke reproduce: %s\n", err->text);
}

/* Does the command end with this error? One of the input is a result: it stands in the table. */
static bool
no_result(clarke_status status)
{
  return status != CLARKE_OK && status != CLARKE_EINPUT;
}

/* One that cannot be read is told of and counted; memory that runs out ends the command. */
static clarke_status
read_case(library *l, const char *folder, const char *name, clarke_error *err)
{
  char *path = joined(folder, "/", name);
  clarke_case *c = &l->c[l->n];
  clarke_status status;

  if (path == NULL)
    return clarke_no_memory(err);
  clarke_case_init(c);
  status = strchr(name, '\n') == NULL
             ? clarke_case_read(c, path, err)
             : clarke_fail(err, CLARKE_EINPUT, "%s: a case there whose name holds the end of a line", folder);
  free(path);
  l->n += status == CLARKE_OK;
  if (status == CLARKE_OK)
    return status;
  clarke_case_clear(c);
  if (no_result(status))
    return status;
  complain(err);
  l->unread++;
  return CLARKE_OK;
}

static clarke_status
read_library(library *l, const char *folder, clarke_error *err)
{
  struct dirent **entry = NULL;
  int n = scandir(folder, &entry, is_case, by_name);
  clarke_status status;

  if (n < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s", folder, strerror(errno));
  l->c = calloc((size_t)n + 1, sizeof *l->c);
  status = l->c != NULL ? CLARKE_OK : clarke_no_memory(err);
  for (int i = 0; i < n; i++) {
    if (status == CLARKE_OK)
      status = read_case(l, folder, entry[i]->d_name, err);
    free(entry[i]);
  }
  free(entry);
  if (status != CLARKE_OK)
    return status;
  return n > 0 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "%s: no *.prog in it", folder);
}

static void
library_clear(library *l)
{
  for (size_t i = 0; i < l->n; i++)
    clarke_case_clear(&l->c[i]);
  free(l->c);
}

/* --- proofs ---------------------------------------------------------------------------------- */

/* Is there a proof of such a check? */
static bool
has_proof(const clarke_check *check)
{
  return check->kind == CLARKE_CHECK_AT || check->kind == CLARKE_CHECK_NETWORK || check->kind == CLARKE_CHECK_LINE;
}

/* The number of a claim's checks in all cases that have proofs, and which of them this is (from 1). */
static size_t
place_in_claim(size_t *of, const library *l, const clarke_run *r)
{
  const char *name = r->c->claim[r->check->claim].name;
  size_t place = 0;

  *of = 0;
  for (size_t i = 0; i < l->n; i++)
    for (size_t k = 0; k < l->c[i].n_checks; k++) {
      const clarke_check *check = &l->c[i].check[k];

      *of += has_proof(check) && strcmp(l->c[i].claim[check->claim].name, name) == 0;
      if (check == r->check)
        place = *of;
    }
  return place;
}

/* That the outputs are 0 for all inputs: clarke-check needs the program alone. */
static clarke_status
write_identity(const char *path, const clarke_run *r, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fputs("clarke-proof 1\nclaim identity\nsemantics real\n", t.to);
  clarke_proof_put_file(t.to, "program", r->c->name, r->c->file.sha256);
  return clarke_proof_save(&t, status, path, err);
}

/* Was it computed that all outputs are 0 for all inputs? */
static bool
is_identity(const clarke_table_row *row)
{
  const clarke_facts *f = &row->c->facts[row->check->facts];

  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->fact[i].key, "vanishes") == 0 && strcmp(row->computed[i], "yes") == 0)
      return true;
  return false;
}

/* CLAIM.proof, or CLAIM-n.proof when the claim has several checks. */
static clarke_status
write_proof(char **name, const library *l, const clarke_run *r, const char *folder, bool identity,
            clarke_error *err)
{
  size_t of, place = place_in_claim(&of, l, r);
  clarke_check_needs needs;
  char number[32] = "", *path;
  clarke_status status;

  if (of > 1)
    snprintf(number, sizeof number, "-%zu", place);
  *name = joined(r->c->claim[r->check->claim].name, number, ".proof");
  path = *name != NULL ? joined(folder, "/", *name) : NULL;
  if (path == NULL)
    return clarke_no_memory(err);
  if (r->network != NULL) {
    status = clarke_audit_session_prove(r->network, path, err);
  } else if (r->line != NULL) {
    status = clarke_line_prove(r, path, err);
  } else {
    status = identity ? write_identity(path, r, err) : clarke_proof_write_program(path, r->c->name, r->c->file.sha256, &r->d, NULL, err);
    if (status == CLARKE_OK && !identity) {
      clarke_check_needs_read(&needs, path, NULL, 0);
      clarke_check_needs_to_follow(&needs, r->d.p, clarke_code_wrt_count(r->d.p), true);
      clarke_say_check_needs("reproduce", &needs);
    }
  }
  free(path);
  return status;
}

/* --- running --------------------------------------------------------------------------------- */

static clarke_table_row *
new_row(clarke_table *rows, const clarke_case *c, const clarke_claim *claim)
{
  clarke_table_row *grown = realloc(rows->row, (rows->n + 1) * sizeof *grown), *row;

  if (grown == NULL)
    return NULL;
  rows->row = grown;
  row = &grown[rows->n++];
  memset(row, 0, sizeof *row);
  row->c = c;
  row->claim = claim;
  return row;
}

static void
rows_clear(clarke_table *rows)
{
  for (size_t i = 0; i < rows->n; i++) {
    clarke_table_row *row = &rows->row[i];

    for (size_t k = 0; row->computed != NULL && k < row->c->facts[row->check->facts].n; k++)
      free(row->computed[k]);
    free(row->computed);
    free(row->agrees);
    free(row->proof);
  }
  free(rows->row);
}

/* The results of a run, beside what is expected. A run that failed has its message instead. */
static clarke_status
compare(clarke_table_row *row, const clarke_run *r, clarke_status ran, clarke_error *err)
{
  const clarke_facts *f = &row->c->facts[row->check->facts];

  row->computed = calloc(f->n + 1, sizeof *row->computed);
  row->agrees = calloc(f->n + 1, sizeof *row->agrees);
  row->outcome = row->claim->small != NULL ? CLARKE_ROW_SMALL : CLARKE_ROW_AGREES;
  for (size_t i = 0; i < f->n && row->computed != NULL && row->agrees != NULL; i++) {
    const clarke_fact *fact = &f->fact[i];
    clarke_result result;
    clarke_status status = ran;

    clarke_result_init(&result);
    if (status == CLARKE_OK)
      status = clarke_result_find(&result, r, fact->key, err);
    if (no_result(status)) {
      clarke_result_clear(&result);
      return status;
    }
    row->computed[i] = strdup(status == CLARKE_OK ? result.text : err->text);
    row->agrees[i] = status == CLARKE_OK && clarke_result_is(&result, fact->expect);
    clarke_result_clear(&result);
    if (row->computed[i] == NULL)
      return clarke_no_memory(err);
    if (!row->agrees[i])
      row->outcome = CLARKE_ROW_DISAGREES;
    else if (fact->claimed != NULL && !clarke_texts_agree(fact->claimed, fact->expect)
             && row->outcome != CLARKE_ROW_DISAGREES)
      row->outcome = CLARKE_ROW_PAPER_WRONG;
  }
  return row->computed != NULL && row->agrees != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

static clarke_status
run_check(clarke_table *rows, const library *l, clarke_case *c, const clarke_check *check,
          const request *q, clarke_error *err)
{
  clarke_table_row *row = new_row(rows, c, &c->claim[check->claim]);
  clarke_run r;
  clarke_status status;

  if (row == NULL)
    return clarke_no_memory(err);
  row->check = check;
  clarke_run_init(&r);
  status = clarke_run_check(&r, c, check, err);
  bool decided = status == CLARKE_OK && has_proof(check) && (r.line != NULL ? clarke_line_holds(&r) : clarke_run_verdict(&r) != CLARKE_UNDECIDED);
  status = compare(row, &r, status, err);
  if (status == CLARKE_OK && q->proofs != NULL && (decided || is_identity(row)))
    status = write_proof(&row->proof, l, &r, q->proofs, !decided, err);
  clarke_run_clear(&r);
  return status;
}

static bool
wanted(const request *q, const clarke_claim *claim)
{
  return q->pattern == NULL || fnmatch(q->pattern, claim->name, 0) == 0;
}

static clarke_status
run_case(clarke_table *rows, const library *l, clarke_case *c, const request *q, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->n_checks && status == CLARKE_OK; i++)
    if (wanted(q, &c->claim[c->check[i].claim]))
      status = run_check(rows, l, c, &c->check[i], q, err);
  if (status == CLARKE_OK) /* what was cut short agrees with nothing */
    status = clarke_work_check(err);
  for (size_t i = 0; i < c->n_claims && status == CLARKE_OK; i++)
    if (c->claim[i].cannot != NULL && wanted(q, &c->claim[i])) {
      clarke_table_row *row = new_row(rows, c, &c->claim[i]);

      if (row == NULL)
        return clarke_no_memory(err);
      row->outcome = CLARKE_ROW_CANNOT;
    }
  return status;
}

/* The same bytes whatever the files' names: by claim, in the order they were run. */
static int
by_claim(const void *a, const void *b)
{
  const clarke_table_row *x = a, *y = b;
  int order = strcmp(x->claim->name, y->claim->name);

  if (order == 0)
    order = strcmp(x->c->name, y->c->name);
  if (order == 0 && x->check != NULL && y->check != NULL)
    order = x->check->line < y->check->line ? -1 : x->check->line > y->check->line;
  return order != 0 ? order : (x->check == NULL) - (y->check == NULL);
}

static void
summarize(clarke_table *rows)
{
  if (rows->n > 0)
    qsort(rows->row, rows->n, sizeof *rows->row, by_claim);
  for (size_t i = 0; i < rows->n; i++) {
    rows->count[rows->row[i].outcome]++;
    rows->n_claims += i == 0 || strcmp(rows->row[i].claim->name, rows->row[i - 1].claim->name) != 0;
  }
}

static clarke_status
reproduce(clarke_table *rows, library *l, const request *q, clarke_error *err)
{
  clarke_status status;

  if (q->proofs != NULL && mkdir(q->proofs, 0777) != 0 && errno != EEXIST)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s", q->proofs, strerror(errno));
  status = read_library(l, q->cases, err);
  for (size_t i = 0; i < l->n && status == CLARKE_OK; i++)
    status = run_case(rows, l, &l->c[i], q, err);
  if (status == CLARKE_OK && rows->n == 0 && l->unread == 0)
    return clarke_fail(err, CLARKE_EINPUT, "no claim matches '%s'", q->pattern);
  if (status != CLARKE_OK)
    return status;
  summarize(rows);
  if (q->json)
    return clarke_table_print_json(rows, err);
  return clarke_table_print(rows, l->unread, err);
}

int
clarke_command_reproduce(int argc, char **argv)
{
  static char name[] = "clarke reproduce";
  struct argp argp = {options, parse, "[PATTERN]", doc, NULL, NULL, NULL};
  request q = {.cases = "cases/papers"};
  clarke_error err = {CLARKE_OK, ""};
  clarke_table rows = {0, NULL, {0}, 0};
  library l = {0, NULL, 0};
  clarke_status status;
  int answer;

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  clarke_watch_begin(&q.watch);
  status = reproduce(&rows, &l, &q, &err);
  clarke_watch_end();
  answer = status != CLARKE_OK                    ? clarke_failed("reproduce", q.json, &err)
           : l.unread > 0                         ? EXIT_NOT_ASKED
           : rows.count[CLARKE_ROW_DISAGREES] > 0 ? EXIT_FAILS
                                                  : EXIT_HOLDS;
  rows_clear(&rows);
  library_clear(&l);
  flint_cleanup_master();
  return answer;
}
