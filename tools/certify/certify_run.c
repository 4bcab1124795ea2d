#include "certify_report.h"
#include "check_needs.h"
#include "command.h"
#include "recorded.h"
#include "session/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORST ((size_t)5) /* rows; -v shows all */

static int
longest_name(const clarke_certify *c)
{
  size_t most = 4;

  for (size_t i = 0; i < c->n; i++)
    most = strlen(c->certificate[i].name) > most ? strlen(c->certificate[i].name) : most;
  return (int)most;
}

static void
print_row(const clarke_certificate *c, int width)
{
  char ratio[CLARKE_SHARE_SIZE] = "-";

  if (c->certainty == CLARKE_WITHIN_BOUND || c->certainty == CLARKE_IS_REFUTED || c->certainty == CLARKE_NOT_CERTIFIED)
    clarke_share_write(ratio, c->worst, c->at_most);
  if (c->part == CLARKE_INDICES)
    snprintf(ratio, sizeof ratio, "-");
  printf("%-9s  %-*s  %-18s  %8zu  %-16s  %s\n", clarke_part_name(c->part), width, c->name, c->op != NULL ? c->op : "-", c->entries,
         clarke_certainty_name(c->certainty), ratio);
}

/* Why an answer is no yes. */
static void
print_reason(const clarke_certificate *c)
{
  const clarke_offender *o = &c->offender;

  printf("%s: %s %s", clarke_certainty_name(c->certainty), clarke_part_name(c->part), c->name);
  if (c->has_offender)
    printf("%s: recorded %.9g, exactly about %.9g", o->index, o->recorded, o->near);
  if (c->has_offender && isfinite(o->bound))
    printf(", rounding explains %.3g", o->bound);
  else if (c->has_offender)
    printf(", no bound on rounding is known");
  if (c->beyond > 1)
    printf(" (%zu of %zu entries)", c->beyond, c->entries);
  if (c->why != NULL)
    printf("%s%s", c->has_offender ? "; " : ": ", c->why);
  puts(".");
}

/* What was not recorded, and is no gap: rows that are `followed`. */
static void
print_followed(const clarke_certify *c)
{
  static const char *const of[] = {"", "", "winners of "}, *const what[] = {"output", "gradient", "pool"};
  size_t count[CLARKE_STATISTIC + 1] = {0};
  const char *before = "Not recorded, but followed to the records around them: ";

  for (size_t i = 0; i < c->n; i++)
    count[c->certificate[i].part] += c->certificate[i].certainty == CLARKE_FOLLOWED;
  for (clarke_part p = CLARKE_OUTPUT; p < CLARKE_PARAMETER; p++) {
    if (count[p] == 0)
      continue;
    printf("%s%s%zu %s%s", before, of[p], count[p], what[p], count[p] == 1 ? "" : "s");
    before = ", ";
  }
  if (*before == ',')
    puts(".");
}

/* A tree that was recorded for nothing. */
static void
print_tree(const clarke_certificate *c)
{
  printf("The recorded tree does not explain %s %s: %s.\n", clarke_part_name(c->part), c->name, c->tree_why);
}

static void
count_answers(size_t count[], const clarke_certify *c)
{
  for (size_t i = 0; i < c->n; i++)
    count[c->certificate[i].certainty]++;
}

static void
print_answer(const clarke_certified *c)
{
  size_t count[CLARKE_IS_REFUTED + 1] = {0};

  if (!c->traced) {
    puts("cannot say: the record is a light one, without outputs and gradients of nodes (clarke audit compares its gradient).");
    return;
  }
  count_answers(count, &c->nodes);
  printf("%s: of %zu tensors %zu are bit-exact, ", clarke_certainty_name(clarke_certified_answer(c)), c->nodes.n, count[CLARKE_BIT_EXACT]);
  if (count[CLARKE_BY_TREE] > 0)
    printf("%zu by their trees, ", count[CLARKE_BY_TREE]);
  printf("%zu within the bound", count[CLARKE_WITHIN_BOUND]);
  for (clarke_certainty a = CLARKE_FOLLOWED; a <= CLARKE_IS_REFUTED; a++)
    if (count[a] > 0)
      printf(", %zu %s", count[a], a == CLARKE_CANNOT_SAY ? "open" : clarke_certainty_name(a));
  puts(".");
}

/* All answers of what is certified, or followed, are alike here. */
static int
rank(const clarke_certificate *c)
{
  return c->certainty >= CLARKE_CANNOT_SAY ? (int)c->certainty : 0;
}

/* First the weakest answer, then the largest part of its bound, then the order of the record. */
static int
compare_certificates(const void *a, const void *b)
{
  const clarke_certificate *one = *(const clarke_certificate *const *)a, *two = *(const clarke_certificate *const *)b;

  if (rank(one) != rank(two))
    return rank(two) - rank(one);
  if (one->worst != two->worst)
    return one->worst > two->worst ? -1 : 1;
  return one < two ? -1 : one > two;
}

/* All rows, or the worst. */
static clarke_status
print_rows(const clarke_certify *n, bool all, clarke_error *err)
{
  const int width = longest_name(n);
  const size_t shown = all || n->n <= MOST_WORST ? n->n : MOST_WORST;
  const clarke_certificate **row = malloc((n->n + 1) * sizeof *row);

  if (row == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n->n; i++)
    row[i] = &n->certificate[i];
  if (shown < n->n)
    qsort(row, n->n, sizeof *row, compare_certificates);
  if (n->n > 0)
    printf("\n%s%-9s  %-*s  %-18s  %8s  %-16s  %s\n", shown < n->n ? "The worst (-v: all):\n" : "", "part", width, "name", "operator", "entries",
           "answer", "error/bound");
  for (size_t i = 0; i < shown; i++)
    print_row(row[i], width);
  free(row);
  return CLARKE_OK;
}

static clarke_status
print_text(const clarke_certified *c, bool verbose, clarke_error *err)
{
  const clarke_certify *n = &c->nodes;
  clarke_status status;

  print_answer(c);
  clarke_print_record(&c->record);
  print_followed(n);
  for (size_t i = 0; i < n->n; i++)
    if (n->certificate[i].certainty >= CLARKE_CANNOT_SAY)
      print_reason(&n->certificate[i]);
  for (size_t i = 0; i < n->n; i++)
    if (n->certificate[i].tree == CLARKE_TREE_DOES_NOT)
      print_tree(&n->certificate[i]);
  status = print_rows(n, verbose, err);
  clarke_certify_print_semantics(c);
  return status;
}

static int
exit_status_of(clarke_certainty answer)
{
  return answer == CLARKE_IS_REFUTED ? EXIT_FAILS : answer >= CLARKE_CANNOT_SAY ? EXIT_UNDECIDED : EXIT_HOLDS;
}

/* The other record, its nodes alone, and what makes the two differ. */
static clarke_status
run_other(clarke_difference *d, clarke_certified *other, const clarke_certified *c, const clarke_certify_command *command,
          clarke_error *err)
{
  const clarke_certify_request ask = {.folder = command->against, .step = command->ask.step, .nodes_only = true}; /* of the same number */
  clarke_status status;

  if (command->against == NULL)
    return CLARKE_OK;
  status = clarke_certified_run(other, &ask, err);
  return status == CLARKE_OK ? clarke_certified_against(d, c, other, err) : status;
}

static json_t *
answer_json(const clarke_certified *c, const clarke_certified *other, const clarke_difference *d, const clarke_summary *summary,
            const clarke_check_needs *needs, const clarke_certify_command *command)
{
  json_t *answer = clarke_certified_json(c);

  if (command->against != NULL && c->stopped == NULL) {
    json_t *against = clarke_difference_json(d, c, other);

    clarke_json_set(&against, "step", json_integer((json_int_t)c->record.step->step));
    clarke_json_set(&against, "same_steps", json_integer(command->apart != NULL ? (json_int_t)command->apart->same : 0));
    clarke_json_set(&answer, "against", against);
  }
  clarke_set_check_needs(&answer, needs);
  clarke_summary_set(&answer, summary, command->verbose);
  return answer;
}

static clarke_status
print(const clarke_certified *c, const clarke_certified *other, const clarke_difference *d, const clarke_summary *summary,
      const clarke_certify_command *command, clarke_error *err)
{
  if (command->json || command->ci.quiet)
    return CLARKE_OK;
  clarke_summary_print(summary);
  if (c->stopped != NULL) {
    printf("cannot say: %s.\n", c->stopped);
    return CLARKE_OK;
  }
  if (command->against != NULL)
    clarke_certify_print_difference(d, c, other, command->apart);
  return print_text(c, command->verbose, err);
}

static clarke_status
tell(int *exit_status, const clarke_certified *c, const clarke_certified *other, const clarke_difference *d,
     const clarke_check_needs *needs, const clarke_certify_command *command, clarke_error *err)
{
  const char *graph = c->record.graph_path != NULL ? c->record.graph_path : command->ask.folder;
  const clarke_ci_source source = {.command = "certify", .path = graph, .json = command->json};
  clarke_summary summary;
  clarke_status status = clarke_certify_summary(&summary, c, command, err);

  if (status == CLARKE_OK)
    status = print(c, other, d, &summary, command, err);
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &command->ci, &source,
                            clarke_ci_wants(&command->ci, command->json) ? answer_json(c, other, d, &summary, needs, command) : NULL, err);
  clarke_summary_clear(&summary);
  return status;
}

/* How many there are; *bytes: what they take in their file. */
static size_t
numbers(size_t *bytes, const clarke_tensors *all)
{
  size_t n = 0;

  for (size_t i = 0; i < all->n; i++) {
    n += all->tensor[i].count;
    *bytes += all->tensor[i].count * clarke_dtype_size(all->tensor[i].dtype);
  }
  return n;
}

/* needs: what the check of the proof needs. Of what is refuted there is no proof, which is no error. */
static clarke_status
prove(clarke_check_needs *needs, const clarke_certified *c, const char *path, clarke_error *err)
{
  const clarke_record *r = &c->record;
  size_t n = 0, bytes = 0;
  clarke_status status;

  if (path == NULL || clarke_certified_answer(c) == CLARKE_IS_REFUTED)
    return CLARKE_OK;
  status = clarke_certified_prove(c, path, err);
  if (status != CLARKE_OK)
    return status;
  clarke_check_needs_read(needs, path, (const char *[]){r->graph_path, r->batch_path, r->params_path}, 3);
  n = numbers(&bytes, &r->trace);
  n += numbers(&bytes, &r->gradients);
  needs->bytes += bytes;
  clarke_check_needs_record(needs, &c->audit.graph, n);
  return CLARKE_OK;
}

/* The answer is told, be there a proof or none. */
static clarke_status
prove_and_tell(int *exit_status, const clarke_certified *c, const clarke_certified *other, const clarke_difference *d,
               const clarke_certify_command *command, clarke_error *err)
{
  clarke_error why = { CLARKE_OK, "" };
  clarke_check_needs needs = { .bytes = 0 };
  clarke_status proved = prove(&needs, c, command->proof, &why), status = tell(exit_status, c, other, d, &needs, command, err);

  if (status != CLARKE_OK || command->proof == NULL)
    return status;
  fflush(stdout);
  if (proved != CLARKE_OK && err != NULL)
    *err = why;
  else if (clarke_certified_answer(c) == CLARKE_IS_REFUTED)
    fputs("clarke certify: something is refuted: no proof was written\n", stderr);
  else
    clarke_say_check_needs("certify", &needs);
  return proved;
}

/* Nothing that was found by then is an answer. */
static clarke_status
tell_stop(int *exit_status, clarke_certified *c, const clarke_certified *other, const clarke_certify_command *command,
          clarke_error *err)
{
  if (c->stopped == NULL)
    c->stopped = other->stopped;
  *exit_status = EXIT_UNDECIDED;
  if (command->proof != NULL)
    fputs("clarke certify: stopped: no proof was written\n", stderr);
  return tell(exit_status, c, other, NULL, &(const clarke_check_needs){ .bytes = 0 }, command, err);
}

static int
worse(const clarke_certified *c, const clarke_certified *other, const clarke_difference *d)
{
  const int one = exit_status_of(clarke_certified_answer(c)), two = exit_status_of(clarke_certified_answer(other));

  return one == EXIT_FAILS || two == EXIT_FAILS                              ? EXIT_FAILS
         : one == EXIT_UNDECIDED || d->kind == CLARKE_NOT_EXPLAINED ? EXIT_UNDECIDED
                                                                    : two;
}

/* The step, and that of the other record. */
static clarke_status
run_both(clarke_certified *c, clarke_certified *other, clarke_difference *d, const clarke_certify_command *command, clarke_error *err)
{
  const clarke_status status = clarke_certified_run(c, &command->ask, err);

  return status == CLARKE_OK ? run_other(d, other, c, command, err) : status;
}

/* Finds the first step, of those that both runs have, whose numbers differ: *command becomes the question about it. */
static clarke_status
run_first(clarke_certified *c, clarke_certified *other, clarke_difference *d, clarke_certify_command *command, clarke_steps_apart *apart,
          clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  do {
    status = clarke_steps_apart_next(apart, err);
    if (status != CLARKE_OK)
      return status;
    command->ask.folder = apart->folder[0];
    command->against = apart->folder[1];
    command->ask.step = apart->step;
    clarke_certified_clear(other);
    clarke_certified_clear(c);
    clarke_certified_init(other);
    clarke_certified_init(c);
    status = run_both(c, other, d, command, err);
    apart->same += status == CLARKE_OK && apart->found && d->kind == CLARKE_NO_DIFFERENCE;
  } while (status == CLARKE_OK && apart->found && d->kind == CLARKE_NO_DIFFERENCE);
  return status;
}

clarke_status
clarke_certify_run_folder(int *exit_status, const clarke_certify_command *command, clarke_error *err)
{
  clarke_certify_command of = *command;
  clarke_certified c, other;
  clarke_difference d = {.kind = CLARKE_NO_DIFFERENCE};
  clarke_steps_apart apart = {.at = 0};
  clarke_status status = CLARKE_OK;

  clarke_certified_init(&c);
  clarke_certified_init(&other);
  if (of.against != NULL && of.ask.step == CLARKE_NONE)
    status = clarke_steps_apart_begin(&apart, of.ask.folder, of.against, err);
  of.apart = clarke_steps_apart_several(&apart) ? &apart : NULL;
  if (status == CLARKE_OK)
    status = of.apart != NULL ? run_first(&c, &other, &d, &of, &apart, err) : run_both(&c, &other, &d, &of, err);
  if (status == CLARKE_ESTOPPED) {
    status = tell_stop(exit_status, &c, &other, &of, err);
  } else if (status == CLARKE_OK) {
    *exit_status = of.against != NULL ? worse(&c, &other, &d) : exit_status_of(clarke_certified_answer(&c));
    status = prove_and_tell(exit_status, &c, &other, &d, &of, err);
  }
  clarke_certified_clear(&other);
  clarke_certified_clear(&c);
  clarke_steps_apart_clear(&apart);
  return status;
}
