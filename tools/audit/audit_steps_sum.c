/* The steps of a run, summed up. */
#include "audit_steps.h"
#include "command.h"
#include "object.h"
#include "session/json.h"
#include "session/record.h"
#include "summary.h"

#include <stdio.h>
#include <string.h>

#define MOST_ROWS 20 /* of steps that ask for a look; the file of lines, and -v, have all */

/* --- counts ----------------------------------------------------------------------------------- */

static void
count(json_t **counts, const char *key, size_t n)
{
  clarke_json_set(counts, key, json_integer((json_int_t)(clarke_count_at(*counts, key) + n)));
}

/* Windows where S_j less T_j is not empty: in how many steps, how many, and how many entries in all. */
static void
count_sets(json_t **layer, const json_t *of, const char *set)
{
  const json_t *counts = json_object_get(of, set);
  const size_t windows = clarke_count_at(counts, "windows");
  json_t *sum = json_incref(json_object_get(*layer, set));

  if (sum == NULL)
    sum = json_pack("{s:i, s:i, s:i, s:i}", "steps", 0, "windows", 0, "entries", 0, "steps_not_known", 0);
  count(&sum, "steps", windows > 0);
  count(&sum, "windows", windows);
  count(&sum, "entries", clarke_count_at(counts, "entries"));
  count(&sum, "steps_not_known", json_is_null(counts));
  clarke_json_set(layer, set, sum);
}

static void
count_layer(json_t **layers, const json_t *of)
{
  static const char *const pair[][2] = {{"touched", "steps_touched"}, {"windows", "steps_with_windows"}, {"above_zero", "steps_above_zero"}};
  const char *name = clarke_text_at(of, "layer");
  json_t *layer = json_incref(json_object_get(*layers, name));

  if (layer == NULL)
    layer = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "module", clarke_text_at(of, "module"), "op", clarke_text_at(of, "op"), "steps_touched", 0,
                      "touched", 0, "steps_with_windows", 0, "windows", 0, "steps_above_zero", 0, "above_zero", 0, "parted", 0, "steps_not_known", 0);
  for (size_t i = 0; i < 3; i++) {
    count(&layer, pair[i][0], clarke_count_at(of, pair[i][0]));
    count(&layer, pair[i][1], clarke_count_at(of, pair[i][0]) > 0);
  }
  count(&layer, "parted", clarke_count_at(of, "parted"));
  count(&layer, "steps_not_known", json_is_null(json_object_get(of, "touched")));
  count_sets(&layer, of, "s_less_t");
  count_sets(&layer, of, "s_less_t_by_identity");
  clarke_json_set(layers, name, layer);
}

bool
clarke_steps_known(const json_t *line)
{
  const char *verdict = clarke_text_at(line, "verdict"), *gradient = clarke_text_at(line, "gradient");
  bool of_verdict = strcmp(verdict, CLARKE_STEP_NOT_EXPLAINED) == 0, of_gradient = strcmp(gradient, CLARKE_OUTSIDE_REALS) == 0;

  for (clarke_verdict v = CLARKE_IN_BOULIGAND; v <= CLARKE_UNDECIDED; v++)
    of_verdict = of_verdict || strcmp(verdict, clarke_verdict_name(v)) == 0;
  for (clarke_ran r = CLARKE_RAN_UNKNOWN; r <= CLARKE_RAN_REFUTED; r++)
    of_gradient = of_gradient || strcmp(gradient, clarke_ran_name(r)) == 0;
  return of_verdict && of_gradient;
}

/* As of one step: of a gradient that is not known to be the step's no verdict is one about the step. */
static int
status_of(const json_t *line)
{
  const char *verdict = clarke_text_at(line, "verdict");

  if (strcmp(verdict, CLARKE_STEP_NOT_EXPLAINED) == 0)
    return EXIT_NOT_ASKED;
  if (strcmp(verdict, clarke_verdict_name(CLARKE_UNDECIDED)) == 0 || strcmp(clarke_text_at(line, "gradient"), clarke_ran_name(CLARKE_RAN_UNKNOWN)) == 0)
    return EXIT_UNDECIDED;
  return strcmp(verdict, clarke_verdict_name(CLARKE_NOT_IN_CLARKE)) == 0 ? EXIT_FAILS : EXIT_HOLDS;
}

static bool
is_plain(const json_t *line)
{
  return strcmp(clarke_text_at(line, "verdict"), clarke_verdict_name(CLARKE_IN_BOULIGAND)) == 0
         && strcmp(clarke_text_at(line, "gradient"), clarke_ran_name(CLARKE_RAN_EXPLAINED)) == 0;
}

typedef struct {
  json_t *verdicts, *zones, *gradients, *layers, *first;
  size_t touched, not_known, replaced;
  int status;
} counts;

static void
count_line(counts *c, const json_t *line)
{
  const json_t *layers = json_object_get(line, "layers");
  const char *zone = clarke_text_at(line, "zone");

  count(&c->verdicts, clarke_text_at(line, "verdict"), 1);
  count(&c->zones, *zone != '\0' ? zone : "not known", 1);
  count(&c->gradients, clarke_text_at(line, "gradient"), 1);
  for (size_t i = 0; i < json_array_size(layers); i++)
    count_layer(&c->layers, json_array_get(layers, i));
  c->touched += clarke_count_at(line, "touched") > 0;
  c->not_known += json_is_null(json_object_get(line, "touched"));
  c->replaced += clarke_count_at(line, "surrogates") > 0;
  c->status = clarke_status_worse(c->status, status_of(line));
  if (c->first == NULL && strcmp(clarke_text_at(line, "verdict"), clarke_verdict_name(CLARKE_IN_BOULIGAND)) != 0)
    c->first = json_incref(json_object_get(line, "step"));
}

clarke_status
clarke_steps_sum(json_t **summed, int *exit_status, const clarke_lines *lines, const clarke_steps_asked *asked, clarke_error *err)
{
  counts c = {json_object(), json_object(), json_object(), json_object(), NULL, 0, 0, 0, EXIT_HOLDS};
  bool read = true;

  for (size_t i = 0; i < lines->n; i++) {
    json_t *line = json_loads(lines->line[i].text, 0, NULL);

    read = read && line != NULL;
    count_line(&c, line);
    json_decref(line);
  }
  if (asked->unasked > 0)
    c.status = clarke_status_worse(c.status, EXIT_NOT_ASKED);
  if (asked->stopped != NULL)
    c.status = clarke_status_worse(c.status, EXIT_UNDECIDED);
  *exit_status = c.status;
  *summed = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:o?, s:o, s:s?}", "folder", asked->folder, "steps",
                      (json_int_t)asked->steps, "asked", (json_int_t)lines->n, "unanswered", (json_int_t)asked->unasked, "verdicts", c.verdicts, "zones",
                      c.zones, "gradients", c.gradients, "steps_touched", (json_int_t)c.touched, "steps_not_known", (json_int_t)c.not_known,
                      "steps_with_surrogates", (json_int_t)c.replaced, "first_not_in_bouligand", c.first, "layers", c.layers,
                      "stopped", asked->stopped);
  return *summed != NULL && read ? CLARKE_OK : clarke_no_memory(err);
}

/* --- text ------------------------------------------------------------------------------------- */

static bool
is_open(const json_t *summed, const clarke_steps_asked *asked)
{
  return clarke_count_at(summed, "asked") < asked->steps || clarke_count_at(json_object_get(summed, "gradients"), clarke_ran_name(CLARKE_RAN_UNKNOWN)) > 0;
}

const char *
clarke_steps_verdict(const json_t *summed, const clarke_steps_asked *asked)
{
  return clarke_worst_verdict(json_object_get(summed, "verdicts"), is_open(summed, asked));
}

static void
put_unanswered(FILE *to, const json_t *summed, const clarke_steps_asked *asked)
{
  const size_t n = asked->steps - clarke_count_at(summed, "asked");

  if (n > 0)
    fprintf(to, "%zu of %zu %s not answered. ", n, asked->steps, n == 1 ? "is" : "are");
}

static void
put_touched(FILE *to, const json_t *summed, const clarke_steps_asked *asked)
{
  const size_t answered = clarke_count_at(summed, "asked");
  const size_t touched = clarke_count_at(summed, "steps_touched"), unknown = clarke_count_at(json_object_get(summed, "gradients"), clarke_ran_name(CLARKE_RAN_UNKNOWN));
  const size_t not_known = clarke_count_at(summed, "steps_not_known");

  if (touched == 0 && answered > 0)
    fprintf(to, "No kink is %stouched in %s.", not_known > 0 ? "known to be " : "", answered < asked->steps ? "those that are" : "any of them");
  else if (touched > 0) {
    fputs("Kinks are touched in ", to);
    clarke_put_count(to, touched, "step");
    fputs(".", to);
  }
  if (not_known > 0) {
    fputs(" Which kinks are touched is not known of ", to);
    clarke_put_count(to, not_known, "step");
    fputs(".", to);
  }
  if (unknown > 0) {
    fputs(" Whether the recorded gradient is AD's, but for rounding, is not known of ", to);
    clarke_put_count(to, unknown, "step");
    fputs(".", to);
  }
}

static void
put_surrogates(FILE *to, const json_t *summed)
{
  const size_t n = clarke_count_at(summed, "steps_with_surrogates");

  if (n == 0)
    return;
  fputs(" Of ", to);
  clarke_put_count(to, n, "step");
  fputs(" all this is said as AD differentiates it, with functions replaced by design (surrogates).", to);
}

static void
put_first(FILE *to, const clarke_audit_step *first)
{
  fprintf(to, "The first to look at is step %zu: clarke audit %s --step %zu tells all of it.", first->step, first->folder, first->step);
}

static void
put_next(FILE *to, const json_t *summed, const clarke_steps_asked *asked)
{
  const json_t *first = json_object_get(summed, "first_not_in_bouligand");

  if (asked->stopped != NULL)
    fprintf(to, "It was stopped: %s. %s ", asked->stopped,
            asked->lines != NULL ? "The same command goes on where it ended." : "With --lines FILE the same command goes on where it ended.");
  if (asked->proof != NULL)
    clarke_put_proof(to, asked->proof);
  if (json_is_integer(first))
    put_first(to, clarke_audit_step_find(asked->list, (size_t)json_integer_value(first)));
  else if (asked->unasked > 0)
    fputs("The messages on standard error say why.", to);
  else if (is_open(summed, asked) && asked->stopped == NULL)
    fputs("Look at the steps below; clarke certify tells what is known of each node.", to);
  else if (asked->stopped == NULL)
    fputs("Nothing needs doing.", to);
}

static clarke_status
print_summary(const json_t *summed, const clarke_steps_asked *asked, clarke_error *err)
{
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(s.asked.to, "Were the gradients of the recorded steps in %s right? ", asked->folder);
  clarke_put_count(s.asked.to, asked->steps, "step");
  if (asked->steps > 1)
    fprintf(s.asked.to, ", %zu to %zu", asked->list->step[0].step, asked->list->step[asked->steps - 1].step);
  fputs(".", s.asked.to);
  clarke_put_verdicts(s.answer.to, json_object_get(summed, "verdicts"), is_open(summed, asked), "AD's gradient is ", "in", "step");
  put_unanswered(s.answer.to, summed, asked);
  put_touched(s.answer.to, summed, asked);
  put_surrogates(s.answer.to, summed);
  put_next(s.next.to, summed, asked);
  return clarke_summary_tell(&s, status, err);
}

/* In how many steps S_j less T_j is not empty, and the mean of |S_j less T_j| over the windows where it is not. */
static void
print_sets(const char *name, const json_t *layer)
{
  static const char *const set[][2] = {{"s_less_t", "T by derivatives"}, {"s_less_t_by_identity", "T by identity"}};

  for (size_t i = 0; i < 2; i++) {
    const json_t *sum = json_object_get(layer, set[i][0]);
    const size_t steps = clarke_count_at(sum, "steps"), windows = clarke_count_at(sum, "windows"), unknown = clarke_count_at(sum, "steps_not_known");

    if (steps + unknown == 0)
      continue;
    printf("%s: S less T, %s, is not empty in %zu step%s", name, set[i][1], steps, steps == 1 ? "" : "s");
    if (windows > 0)
      printf(", of %.4g entries a window", (double)clarke_count_at(sum, "entries") / (double)windows);
    if (unknown > 0)
      printf("; of %zu it is not known", unknown);
    putchar('\n');
  }
}

static void
print_open(const char *name, const json_t *layer)
{
  const size_t n = clarke_count_at(layer, "steps_not_known");

  if (n > 0)
    printf("%s: of %zu step%s more it is not known what is touched or tied\n", name, n, n == 1 ? "" : "s");
}

static void
print_layers(const json_t *layers)
{
  const char *name;
  json_t *l;

  if (json_object_size(layers) == 0)
    return;
  printf("%-28s %-12s %14s %9s %15s %9s %12s\n", "layer", "op", "steps touched", "touched", "steps with ties", "ties", "not of zeros");
  json_object_foreach((json_t *)layers, name, l)
    printf("%-28s %-12s %14zu %9zu %15zu %9zu %12zu\n", name, clarke_text_at(l, "op"), clarke_count_at(l, "steps_touched"), clarke_count_at(l, "touched"),
           clarke_count_at(l, "steps_with_windows"), clarke_count_at(l, "windows"), clarke_count_at(l, "above_zero"));
  json_object_foreach((json_t *)layers, name, l)
    print_open(name, l);
  json_object_foreach((json_t *)layers, name, l)
    print_sets(name, l);
  putchar('\n');
}

static void
print_row(const json_t *line)
{
  char touched[32] = "?";

  if (!json_is_null(json_object_get(line, "touched")))
    snprintf(touched, sizeof touched, "%zu", clarke_count_at(line, "touched"));
  printf("%10zu %9s  %-13s %-10s %s\n", clarke_count_at(line, "step"), touched, clarke_text_at(line, "verdict"), clarke_text_at(line, "gradient"),
         clarke_text_at(line, "why"));
}

/* Those that ask for a look: not in-bouligand, or of a gradient that is not explained. */
static void
print_rows(const clarke_lines *lines, bool all)
{
  size_t n = 0;

  for (size_t i = 0; i < lines->n; i++) {
    json_t *line = json_loads(lines->line[i].text, 0, NULL);

    if (all || !is_plain(line)) {
      if (n == 0)
        printf("%10s %9s  %-13s %-10s %s\n", "step", "touched", "verdict", "gradient", "why");
      if (all || n < MOST_ROWS)
        print_row(line);
      n++;
    }
    json_decref(line);
  }
  if (!all && n > MOST_ROWS)
    printf("%zu more; -v lists all steps\n", n - MOST_ROWS);
}

clarke_status
clarke_steps_print(const json_t *summed, const clarke_lines *lines, const clarke_steps_asked *asked, bool verbose, clarke_error *err)
{
  clarke_status status = print_summary(summed, asked, err);

  if (status == CLARKE_OK) {
    print_layers(json_object_get(summed, "layers"));
    print_rows(lines, verbose);
  }
  return status;
}
