/* Findings read off an answer. */
#include "findings_inside.h"

#include "command.h"
#include "object.h"
#include "plain.h"

#include <stdio.h>
#include <string.h>

/* --- verdicts --------------------------------------------------------------------------------- */

/* `answer` says whether operators of the network have another derivative than their own. */
static void
add_verdict(clarke_findings *list, const char *subject, const json_t *judged, const json_t *answer)
{
  const size_t n = json_array_size(clarke_surrogates_in(answer));
  static const clarke_rule rules[] = {CLARKE_RULE_NONE, CLARKE_RULE_IN_CLARKE, CLARKE_RULE_NOT_IN_CLARKE,
                                      CLARKE_RULE_UNDECIDED};
  clarke_verdict verdict;
  const clarke_plain *plain = clarke_plain_verdict(clarke_text_at(judged, "verdict"), &verdict);

  clarke_findings_add(list,
                      (clarke_finding){.rule = rules[verdict],
                                       .question = "verdict",
                                       .subject = subject,
                                       .count = 1,
                                       .status = clarke_verdict_status(verdict),
                                       .replaced = n > 0},
                      "%s (%s): %s%s", plain->sentence, plain->name, clarke_text_at(judged, "why"),
                      n == 0 ? "" : ". This is said of the network with surrogates, not of the one that is computed");
}

static void
add_layer(clarke_findings *list, const char *subject, const json_t *layer)
{
  const size_t touched = clarke_count_at(layer, "touched"), ties = clarke_count_at(layer, "ties");
  const char *name = clarke_text_at(layer, "name"), *op = clarke_text_at(layer, "op");
  const clarke_finding f = {.rule = touched > 0 ? CLARKE_RULE_TOUCHED : CLARKE_RULE_NONE,
                            .question = "touched",
                            .subject = subject,
                            .place = name,
                            .count = touched};

  if (json_is_null(json_object_get(layer, "touched")))
    clarke_findings_add(list, f, "layer %s (%s), %zu neurons: it is not known which kinks are touched in this batch", name, op,
                        clarke_count_at(layer, "neurons"));
  else
    clarke_findings_add(list, f, "layer %s (%s), %zu neurons: %zu kink%s touched in this batch, %zu tied window%s", name, op,
                        clarke_count_at(layer, "neurons"), touched, touched == 1 ? "" : "s", ties, ties == 1 ? "" : "s");
}

/* The kinks of a program. */
static void
add_touched(clarke_findings *list, const json_t *kink)
{
  const char *node = clarke_text_at(kink, "node");
  const clarke_finding f = {.rule = CLARKE_RULE_TOUCHED,
                            .question = "touched",
                            .place = node,
                            .count = 1,
                            .line = clarke_count_at(kink, "line"),
                            .column = clarke_count_at(kink, "column")};

  clarke_findings_add(list, f, "%s is at a kink: its argument is %s", node, clarke_text_at(kink, "argument"));
}

/* --- recorded steps --------------------------------------------------------------------------- */

static clarke_finding *
branch_at(const clarke_findings *list, const char *node)
{
  for (size_t i = 0; i < list->n; i++)
    if (list->finding[i].rule == CLARKE_RULE_TURNED && list->finding[i].place != NULL
        && strcmp(list->finding[i].place, node) == 0)
      return &list->finding[i];
  return NULL;
}

/* Adds what parted from the pattern and turned AD's gradient: a finding a node, for which entry and sample it was is another
 * in each batch. */
static void
add_parted(clarke_findings *list, const json_t *kink)
{
  const char *node = clarke_text_at(kink, "node");
  clarke_finding *before = branch_at(list, node);

  if (json_is_true(json_object_get(kink, "same_gradient")))
    return;
  if (before != NULL)
    before->count++;
  else
    clarke_findings_add(list, (clarke_finding){.rule = CLARKE_RULE_TURNED, .question = "branch", .place = node, .count = 1},
                        "%s: rounding took another side, first at %s of sample %zu (%s)", node, clarke_text_at(kink, "index"),
                        clarke_count_at(kink, "sample"), clarke_text_at(kink, "parting"));
}

/* Is the recorded gradient AD's? */
static void
add_gradient(clarke_findings *list, const json_t *gradient)
{
  static const struct {
    const char *name;
    clarke_rule rule;
    int status;
  } answers[] = {{"explained", CLARKE_RULE_NONE, EXIT_HOLDS},
                 {"turned", CLARKE_RULE_TURNED, EXIT_HOLDS},
                 {"refuted", CLARKE_RULE_REFUTED, EXIT_NOT_ASKED}};
  const char *answer = clarke_text_at(gradient, "answer");
  clarke_finding f = {.rule = CLARKE_RULE_NOT_KNOWN, .question = "gradient", .count = 1, .status = EXIT_UNDECIDED};

  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (strcmp(answer, answers[i].name) == 0) {
      f.rule = answers[i].rule;
      f.status = answers[i].status;
    }
  clarke_findings_add(list, f, "the recorded gradient is %s: %s", answer, clarke_text_at(gradient, "why"));
}

static void
add_each(clarke_findings *list, const json_t *array, void (*add)(clarke_findings *, const json_t *))
{
  for (size_t i = 0; i < json_array_size(array); i++)
    add(list, json_array_get(array, i));
}

static bool
is_any(const char *text, const char *const names[])
{
  for (; *names != NULL; names++)
    if (strcmp(text, *names) == 0)
      return true;
  return false;
}

/* A certificate of one tensor. */
static void
add_node(clarke_findings *list, const json_t *node)
{
  static const char *const good[] = {"bit-exact", "bit-exact (tree)", "within the bound", "followed", NULL};
  const char *answer = clarke_text_at(node, "answer"), *part = clarke_text_at(node, "part"),
             *name = clarke_text_at(node, "name"), *why = clarke_text_at(node, "why");
  const json_t *first = json_object_get(node, "first");
  const bool refuted = strcmp(answer, "refuted") == 0;
  const size_t bad = clarke_count_at(node, refuted ? "refuted" : "open");
  clarke_finding f = {.question = part, .place = name, .count = bad > 0 ? bad : 1};

  if (!is_any(answer, good)) {
    f.rule = refuted ? CLARKE_RULE_REFUTED : CLARKE_RULE_NOT_KNOWN;
    f.status = refuted ? EXIT_FAILS : EXIT_UNDECIDED;
  }
  clarke_findings_add(list, f, "%s %s%s is %s%s%s", part, name, clarke_text_at(first, "index"), answer,
                      *why != '\0' ? ": " : "", why);
}

/* Results of tensor cores: a file of them. */
static void
add_set(clarke_findings *list, const json_t *set)
{
  const char *outcome = clarke_text_at(set, "outcome"), *file = clarke_text_at(set, "file");
  const bool differs = strcmp(outcome, "differs") == 0, exact = strcmp(outcome, "bit-exact") == 0;
  const size_t results = clarke_count_at(set, "results"), agree = clarke_count_at(set, "agree");
  const clarke_finding f = {.rule = exact     ? CLARKE_RULE_NONE
                                    : differs ? CLARKE_RULE_REFUTED
                                              : CLARKE_RULE_NOT_KNOWN,
                            .question = "results",
                            .file = file,
                            .count = exact ? 1 : results - agree,
                            .line = clarke_count_at(json_object_get(set, "first"), "line"),
                            .status = exact     ? EXIT_HOLDS
                                      : differs ? EXIT_FAILS
                                                : EXIT_UNDECIDED};

  clarke_findings_add(list, f, "%s: of %zu results %zu are what the GPU's rule gives", outcome, results, agree);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Adds the answer about a model or a program, or about one checkpoint of several: then `subject` is its name. A verdict
 * about a program that is not the one that ran is none. */
static void
add_answer(clarke_findings *list, const json_t *answer, const char *subject)
{
  const json_t *gradient = json_object_get(answer, "gradient"), *layers = json_object_get(answer, "layers"),
               *recorded = json_object_get(json_object_get(gradient, "turned"), "recorded");
  const char *answered = clarke_text_at(gradient, "answer");

  if (json_object_get(answer, "error") != NULL) {
    clarke_findings_add(
        list,
        (clarke_finding){
            .rule = CLARKE_RULE_NOT_ASKED, .question = "verdict", .subject = subject, .count = 1, .status = EXIT_NOT_ASKED},
        "%s", clarke_text_at(answer, "error"));
    return;
  }
  if (strcmp(answered, "refuted") != 0)
    add_verdict(list, subject, recorded != NULL ? recorded : answer, answer);
  if (gradient != NULL)
    add_gradient(list, gradient);
  add_each(list, json_object_get(json_object_get(gradient, "turned"), "kinks"), add_parted);
  for (size_t i = 0; i < json_array_size(layers); i++)
    add_layer(list, subject, json_array_get(layers, i));
  add_each(list, json_object_get(answer, "touched"),
           add_touched); /* a list of a program's kinks; a network's number has none */
}

/* The status is the command's to say. What asks for a worse one is not its last word: a verdict beside a gradient that is not
 * known to be AD's. Where nothing asks for as bad a one there is more than these entries: one says so. */
static void
agree(clarke_findings *list, const json_t *answer, int own)
{
  const char *why = clarke_text_at(answer, "stopped"), *said = clarke_text_at(answer, "answer");
  const clarke_rule rule = own == EXIT_FAILS       ? CLARKE_RULE_REFUTED
                           : own == EXIT_UNDECIDED ? CLARKE_RULE_NOT_KNOWN
                                                   : CLARKE_RULE_NOT_ASKED;
  int worst = EXIT_HOLDS;

  for (size_t i = 0; i < list->n; i++) {
    if (clarke_status_worse(own, list->finding[i].status) != own)
      list->finding[i].status = own;
    worst = clarke_status_worse(worst, list->finding[i].status);
  }
  if (worst != own)
    clarke_findings_add(list, (clarke_finding){.rule = rule, .question = "answer", .count = 1, .status = own}, "%s",
                        *why != '\0'    ? why
                        : *said != '\0' ? said
                                        : clarke_rule_told(rule)->summary);
}

clarke_status
clarke_findings_read(clarke_findings *list, const json_t *answer, int own, clarke_error *err)
{
  const json_t *several = json_object_get(answer, "checkpoints");

  list->asked = several != NULL ? json_array_get(several, 0) : answer;
  list->profile = clarke_text_at(list->asked, "profile");
  for (size_t i = 0; i < json_array_size(several); i++)
    add_answer(list, json_array_get(several, i), clarke_text_at(json_array_get(several, i), "file"));
  add_each(list, json_object_get(answer, "nodes"), add_node);
  add_each(list, json_object_get(json_object_get(answer, "pattern"), "list"), add_parted);
  add_each(list, json_object_get(answer, "sets"), add_set);
  if (several == NULL && json_object_get(answer, "nodes") == NULL && json_object_get(answer, "sets") == NULL)
    add_answer(list, answer, NULL);
  agree(list, answer, own);
  return list->failed ? clarke_no_memory(err) : CLARKE_OK;
}
