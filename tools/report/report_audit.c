/* An audit: the verdict, the question, layer by layer what was found, and the theorems. */
#include "report.h"

#include "markup.h"
#include "object.h"
#include "page.h"
#include "session/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS ((size_t)300)
#define MOST_ROWS ((size_t)200)
#define MOST_NAMED ((size_t)5)
#define MOST_CHECKPOINTS ((size_t)100)
#define FAR 1e8 /* float32's steps to the nearest kink, at which a bar is full */

/* --- the question ----------------------------------------------------------------------------- */

static void
put_question(FILE *to, const json_t *answer)
{
  const json_t *model = json_object_get(answer, "model");

  clarke_page_section(to, "What was asked");
  fputs("<dl>\n", to);
  clarke_page_fact_of(to, "model", model, "name");
  clarke_page_fact_of(to, "SHA-256", model, "sha256");
  clarke_page_fact_of(to, "samples in the batch", answer, "batch");
  clarke_page_fact_of(to, "loss", answer, "loss_kind");
  clarke_page_fact_of(to, "parameters", answer, "parameters");
  clarke_page_fact_of(to, "AD as in", answer, "profile");
  clarke_page_fact_of(to, "semantics", answer, "semantics");
  clarke_page_fact_of(to, "kinks touched", answer, "touched");
  clarke_page_fact_of(to, "of these flat", answer, "flat");
  clarke_page_fact_of(to, "stopped", answer, "stopped");
  fputs("</dl>\n", to);
  clarke_page_section_end(to);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* The nearest kink of a layer that is not touched; NULL: none is listed. */
static const json_t *
nearest_of(const json_t *answer, const char *layer)
{
  const json_t *list = json_object_get(answer, "nearest");

  for (size_t i = 0; i < json_array_size(list); i++)
    if (strcmp(clarke_text_at(json_array_get(list, i), "layer"), layer) == 0)
      return json_array_get(list, i);
  return NULL;
}

static void
put_count(FILE *to, const char *what, size_t count, double all, clarke_tone tone)
{
  char name[128];

  snprintf(name, sizeof name, "%s: %zu of %.0f", what, count, all);
  fputs("<p>", to);
  clarke_page_bar(to, name, all > 0 ? (double)count / all : 0, tone);
  clarke_markup(to, " %s</p>\n", name);
}

/* A bar that is the longer the farther, on a scale of powers of ten. */
static void
put_margin(FILE *to, const json_t *near)
{
  const double ulps = strtod(clarke_text_at(near, "ulps_at_least"), NULL);
  char name[256];

  snprintf(name, sizeof name, "nearest kink not touched: %.40s away or more (%.40s float32 steps), neuron %zu, sample %zu",
           clarke_text_at(near, "at_least"), clarke_text_at(near, "ulps_at_least"), clarke_count_at(near, "neuron"),
           clarke_count_at(near, "sample"));
  fputs("<p>", to);
  clarke_page_bar(to, name, ulps > 0 ? log10(1 + ulps) / log10(1 + FAR) : 0, CLARKE_TONE_GOOD);
  clarke_markup(to, " %s</p>\n", name);
}

static void
put_layer(FILE *to, const json_t *layer, const json_t *answer)
{
  const double all = (double)clarke_count_at(layer, "neurons") * (double)clarke_count_at(answer, "batch");
  const size_t touched = clarke_count_at(layer, "touched"), ties = clarke_count_at(layer, "ties");
  const json_t *near = nearest_of(answer, clarke_text_at(layer, "name")),
               *feasible = json_object_get(json_object_get(layer, "system"), "feasible");

  fputs("<li><h3>", to);
  clarke_page_text(to, clarke_text_at(layer, "name"));
  clarke_markup(to, " <small>%s, %zu neurons</small></h3>\n", clarke_text_at(layer, "op"), clarke_count_at(layer, "neurons"));
  if (json_is_null(json_object_get(layer, "touched")))
    fputs("<p>It is not known what is touched.</p>\n", to);
  else
    put_count(to, "touched", touched, all, CLARKE_TONE_BAD);
  if (ties > 0)
    put_count(to, "tied windows", ties, all, CLARKE_TONE_OPEN);
  if (near != NULL)
    put_margin(to, near);
  if (json_is_false(feasible))
    fputs("<p class=\"bad\">No direction of this layer's own weights takes its touched kinks to AD's sides.</p>\n", to);
  fputs("</li>\n", to);
}

static void
put_layers(FILE *to, const json_t *answer)
{
  const json_t *layers = json_object_get(answer, "layers");
  const size_t n = json_array_size(layers);
  size_t i = 0;

  clarke_page_section(to, "The network, layer by layer");
  clarke_markup(
      to,
      "<p>%zu layers with kinks, in order. Bars show shares of a layer's neurons times samples.</p>\n<ol class=\"layers\">\n",
      n);
  for (; i < n && clarke_page_goes_on(to, i, MOST_LAYERS); i++)
    put_layer(to, json_array_get(layers, i), answer);
  fputs("</ol>\n", to);
  clarke_page_more(to, n - i);
  clarke_page_section_end(to);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void
put_texts(FILE *to, const json_t *list)
{
  const size_t n = json_array_size(list);
  size_t i = 0;

  for (; i < n && clarke_page_goes_on(to, i, MOST_ROWS); i++) {
    fputs("<dd>", to);
    clarke_page_scalar(to, json_array_get(list, i));
    fputs("</dd>", to);
  }
}

static void
put_theorem(FILE *to, const json_t *t)
{
  const json_t *holds = json_object_get(t, "holds");

  clarke_page_cell_of(to, t, "name");
  clarke_page_cell(to, !json_is_true(json_object_get(t, "applies")) ? "does not apply"
                       : json_is_true(holds)                        ? "holds"
                       : json_is_false(holds)                       ? "does not hold"
                                                                    : "not known");
  clarke_page_cell_of(to, t, "why");
}

static void
put_touched(FILE *to, const json_t *t)
{
  const json_t *slopes = json_object_get(t, "slopes"), *sides = slopes != NULL ? slopes : json_object_get(t, "tied");

  clarke_page_cell_of(to, t, "layer");
  clarke_page_cell_of(to, t, "neuron");
  clarke_page_cell_of(to, t, "sample");
  clarke_page_cell_of(to, t, "argument");
  fputs("<td>", to);
  clarke_report_value(to, sides, 1);
  fputs("</td>", to);
  clarke_page_cell_of(to, t, "ad");
}

static void
put_turned(FILE *to, const json_t *t)
{
  clarke_page_cell_of(to, t, "node");
  clarke_page_cell_of(to, t, "index");
  clarke_page_cell_of(to, t, "sample");
  clarke_page_cell_of(to, t, "parting");
}

static void
put_table(FILE *to, const char *heading, const char *head, const json_t *list, clarke_page_row *row)
{
  if (json_array_size(list) == 0)
    return;
  clarke_page_section(to, heading);
  clarke_page_table(to, head, list, MOST_ROWS, row);
  clarke_page_section_end(to);
}

/* --- a recorded step -------------------------------------------------------------------------- */

static void
put_gradient(FILE *to, const json_t *gradient)
{
  const clarke_plain *plain = clarke_plain_gradient(clarke_text_at(gradient, "answer"));
  const json_t *claims = json_object_get(gradient, "claims");

  if (gradient == NULL)
    return;
  clarke_page_section(to, "The recorded gradient");
  clarke_markup(to, "<p>%s (%s).</p>\n<dl>\n", plain->sentence, plain->name);
  clarke_page_fact_of(to, "why", gradient, "why");
  if (strcmp(clarke_text_at(gradient, "by"), "nodes") == 0)
    clarke_page_fact(to, "not asked",
                     strcmp(clarke_text_at(gradient, "answer"), "turned") == 0
                       ? "how near the whole gradient is to AD's along the recorded branches: rounding is that of each operation"
                       : "how near the whole gradient is to AD's exact one: rounding is that of each operation");
  clarke_page_fact_of(to, "step", gradient, "step");
  clarke_page_fact_of(to, "types", gradient, "types");
  clarke_page_fact_of(to, "entries", gradient, "entries");
  if (json_array_size(claims) > 0) {
    fputs("<dt>told by run.json alone</dt>", to);
    put_texts(to, claims);
  }
  fputs("</dl>\n", to);
  clarke_page_section_end(to);
}

static const json_t *
nearest(const json_t *list)
{
  const json_t *least = json_array_get(list, 0);

  for (size_t i = 1; i < json_array_size(list); i++)
    if (strtod(clarke_text_at(json_array_get(list, i), "ulps_at_least"), NULL)
        < strtod(clarke_text_at(least, "ulps_at_least"), NULL))
      least = json_array_get(list, i);
  return least;
}

/* Which layers touch kinks; where none does, how near one comes. */
static void
put_touch(FILE *to, const json_t *answer)
{
  const json_t *layers = json_object_get(answer, "layers"), *near = nearest(json_object_get(answer, "nearest")),
               *touched = json_object_get(answer, "touched");
  size_t n = 0;

  if (!json_is_integer(touched))
    return;
  clarke_markup(to, "<p>Kinks touched: %zu", clarke_count_at(answer, "touched"));
  for (size_t i = 0; i < json_array_size(layers); i++) {
    const json_t *layer = json_array_get(layers, i);

    if (clarke_count_at(layer, "touched") > 0 && n++ < MOST_NAMED)
      clarke_markup(to, "%s%s %zu", n == 1 ? " (" : ", ", clarke_text_at(layer, "name"), clarke_count_at(layer, "touched"));
  }
  if (n > MOST_NAMED)
    clarke_markup(to, ", %zu more layers", n - MOST_NAMED);
  fputs(n > 0 ? ").</p>\n" : ".</p>\n", to);
  if (near != NULL && !json_is_object(json_object_get(answer, "summary"))) /* else that has named one */
    clarke_markup(to, "<p>The nearest that is not: %s, neuron %zu, sample %zu, %s float32 steps away or more.</p>\n",
                  clarke_text_at(near, "layer"), clarke_count_at(near, "neuron"), clarke_count_at(near, "sample"),
                  clarke_text_at(near, "ulps_at_least"));
}

/* What the verdict is about: the gradient along the sides that rounding took, where it took others. */
static const json_t *
judged_in(const json_t *answer)
{
  const json_t *recorded = json_object_get(json_object_get(json_object_get(answer, "gradient"), "turned"), "recorded");

  return recorded != NULL ? recorded : answer;
}

/* What network all is said of, where AD differentiates another one than is computed. */
static void
put_surrogates(FILE *to, const json_t *answer)
{
  const json_t *list = clarke_surrogates_in(answer);

  if (json_array_size(list) == 0)
    return;
  fputs("<p>All this is said of the network as AD differentiates it, by design another one than is computed (surrogates):</p>\n<dl>\n", to);
  put_texts(to, list);
  fputs("</dl>\n", to);
}

/* What the page says first. A verdict about another program than the one that ran is not it. */
static void
put_verdict(FILE *to, const json_t *answer)
{
  const json_t *gradient = json_object_get(answer, "gradient"), *judged = judged_in(answer);
  const bool turned = judged != answer;
  const clarke_plain *ran = clarke_plain_gradient(clarke_text_at(gradient, "answer"));
  const char *model = clarke_text_at(json_object_get(answer, "model"), "name");
  const clarke_plain *plain = clarke_plain_verdict(clarke_text_at(judged, "verdict"), NULL);
  const bool of_record = gradient != NULL && (ran->tone == CLARKE_TONE_BAD || ran->tone == CLARKE_TONE_OPEN);
  const clarke_plain *first = of_record ? ran : plain;
  char sentence[CLARKE_PAGE_SENTENCE];

  clarke_page_begin(to, "clarke audit", model, first->tone, first->name, clarke_page_sentence(sentence, answer, first->sentence),
                    of_record ? clarke_text_at(gradient, "why") : "");
  clarke_page_summary(to, answer);
  if (gradient != NULL && (ran->tone == CLARKE_TONE_BAD || turned))
    clarke_markup(
        to,
        "<p>What follows is about the graph's exact gradient, not about what was recorded (its verdict: %s).</p>\n",
        clarke_text_at(answer, "verdict"));
  put_surrogates(to, answer);
  put_touch(to, answer);
  clarke_page_head_end(to);
}

void
clarke_report_audit(FILE *to, const json_t *answer)
{
  const json_t *gradient = json_object_get(answer, "gradient"), *notes = json_object_get(answer, "notes");

  put_verdict(to, answer);
  clarke_report_pictures(to, answer);
  clarke_report_separator(to, answer);
  put_gradient(to, gradient);
  put_table(to, "Where rounding took another side", "node\tentry\tsample\twhat parted",
            json_object_get(json_object_get(gradient, "turned"), "kinks"), put_turned);
  put_question(to, answer);
  put_layers(to, answer);
  put_table(to, "Kinks touched", "layer\tneuron\tsample\targument\tslopes, or tied entries\tAD takes",
            json_object_get(answer, "touched_kinks"), put_touched);
  clarke_page_why(to, clarke_text_at(judged_in(answer), "why"));
  put_table(to, "Theorems", "theorem\tanswer\twhy", json_object_get(answer, "theorems"), put_theorem);
  if (json_object_get(answer, "obstacle") != NULL) {
    clarke_page_section(to, "Where the search stopped");
    clarke_report_value(to, json_object_get(answer, "obstacle"), 1);
    clarke_page_section_end(to);
  }
  if (json_array_size(notes) > 0) {
    clarke_page_section(to, "Notes");
    clarke_report_value(to, notes, 1);
    clarke_page_section_end(to);
  }
}

/* --- several checkpoints ---------------------------------------------------------------------- */

static const char *
outcome_of(const json_t *row)
{
  return json_object_get(row, "error") != NULL ? "not asked" : clarke_text_at(row, "verdict");
}

static void
put_checkpoint(FILE *to, const json_t *row)
{
  clarke_page_cell_of(to, row, "file");
  clarke_page_cell(to, outcome_of(row));
  clarke_page_cell_of(to, row, "touched");
  clarke_page_cell_of(to, row, json_object_get(row, "error") != NULL ? "error" : "why");
}

static size_t
count_outcomes(const json_t *rows, const char *outcome)
{
  size_t n = 0;

  for (size_t i = 0; i < json_array_size(rows); i++)
    n += strcmp(outcome_of(json_array_get(rows, i)), outcome) == 0;
  return n;
}

/* From the worst on. */
static const char *const outcomes[] = {"not asked", "not-explained", "not-in-clarke", "undecided", "in-clarke", "in-bouligand"};
#define N_OUTCOMES (sizeof outcomes / sizeof *outcomes)

/* Counts a run's steps as they are summed up: some of them may have no row, because a file of lines has them already. */
static void
count_answers(size_t n[N_OUTCOMES], const json_t *answer)
{
  const json_t *run = json_object_get(answer, "run"), *verdicts = json_object_get(run, "verdicts");

  for (size_t i = 0; i < N_OUTCOMES; i++)
    n[i] = run != NULL ? clarke_count_at(verdicts, outcomes[i]) : count_outcomes(json_object_get(answer, "checkpoints"), outcomes[i]);
  if (run != NULL)
    n[0] = clarke_count_at(run, "steps") - clarke_count_at(run, "asked");
}

/* What is not known to be better is undecided: nothing was answered, or the answer says so. */
static size_t
worst_of(const size_t n[N_OUTCOMES], const json_t *answer)
{
  const size_t undecided = 3;
  size_t worst = N_OUTCOMES;

  for (size_t i = N_OUTCOMES; i-- > 0;)
    worst = n[i] > 0 ? i : worst;
  if (worst == N_OUTCOMES || (worst > undecided && strcmp(clarke_text_at(answer, "verdict"), outcomes[undecided]) == 0))
    worst = undecided;
  return worst;
}

static void
put_layer_of_run(FILE *to, const json_t *layer)
{
  clarke_page_cell_of(to, layer, "layer");
  clarke_page_cell_of(to, layer, "op");
  clarke_page_cell_of(to, layer, "steps_touched");
  clarke_page_cell_of(to, layer, "touched");
  clarke_page_cell_of(to, layer, "steps_not_known");
}

static void
put_run(FILE *to, const json_t *run)
{
  json_t *rows = json_array(), *layer;
  const char *name;

  json_object_foreach(json_object_get(run, "layers"), name, layer) {
    json_t *row = json_copy(layer);

    clarke_json_set(&row, "layer", clarke_json_text(name));
    clarke_json_append(&rows, row);
  }
  clarke_page_section(to, "Layers that were touched");
  clarke_page_table(to, "layer\toperator\tsteps\ttouched in all\tsteps more, not known", rows, 200, put_layer_of_run);
  clarke_page_section_end(to);
  json_decref(rows);
}

/* What the page says first: the worst, in how many of all. */
static void
put_worst(FILE *to, const json_t *answer, const char *model, const size_t n[N_OUTCOMES])
{
  static const char *const sentences[N_OUTCOMES] = {"No answer is there for", "The recorded gradient is not the step's in", "AD's gradient is wrong in",
                                                    "Neither yes nor no was proved in", "AD's gradient is right, but only as a weighted mean, in",
                                                    "AD's gradient is right in"};
  const json_t *run = json_object_get(answer, "run");
  const size_t worst = worst_of(n, answer);
  const clarke_tone tone = worst < 2 ? CLARKE_TONE_BAD : clarke_plain_verdict(outcomes[worst], NULL)->tone;
  char sentence[256];
  size_t all = 0;

  for (size_t i = 0; i < N_OUTCOMES; i++)
    all += n[i];
  snprintf(sentence, sizeof sentence, "%s %zu of %zu %s%s", sentences[worst], n[worst], all, run != NULL ? "step" : "checkpoint", all == 1 ? "" : "s");
  clarke_page_begin(to, "clarke audit", model, tone, outcomes[worst], sentence, "");
  if (json_is_integer(json_object_get(run, "first_not_in_bouligand")))
    clarke_markup(to, "<p>The first that is not simply right is step %zu.</p>\n", clarke_count_at(run, "first_not_in_bouligand"));
  clarke_page_head_end(to);
}

/* The worst of many rows come first, and few of those that are right. */
static void
put_rows(FILE *to, const json_t *rows, const size_t n[N_OUTCOMES])
{
  const size_t all = json_array_size(rows), right = N_OUTCOMES - 1;
  json_t *sorted = json_array(), *row;
  size_t bad = 0, at;

  for (size_t i = 0; i < right; i++)
    bad += n[i];
  for (size_t i = 0; all > MOST_CHECKPOINTS && i <= right; i++)
    json_array_foreach(rows, at, row)
      if (strcmp(outcome_of(row), outcomes[i]) == 0)
        json_array_append(sorted, row);
  clarke_page_table(to, "file\tverdict\ttouched\twhy", all > MOST_CHECKPOINTS ? sorted : rows,
                    all <= MOST_CHECKPOINTS || bad > MOST_CHECKPOINTS ? MOST_CHECKPOINTS : bad + MOST_NAMED, put_checkpoint);
  if (all > MOST_CHECKPOINTS)
    clarke_page_more(to, all - json_array_size(sorted)); /* of other verdicts than there are */
  json_decref(sorted);
}

void
clarke_report_checkpoints(FILE *to, const json_t *answer)
{
  const json_t *rows = json_object_get(answer, "checkpoints"), *first = json_array_get(rows, 0), *run = json_object_get(answer, "run");
  const char *model = run != NULL ? clarke_text_at(run, "folder") : clarke_text_at(json_object_get(first, "model"), "name");
  size_t n[N_OUTCOMES];

  count_answers(n, answer);
  put_worst(to, answer, model, n);
  clarke_page_section(to, run != NULL ? "Steps" : "Checkpoints");
  fputs("<dl>\n", to);
  for (size_t i = 0; i < N_OUTCOMES; i++)
    if (n[i] > 0)
      clarke_markup(to, "<dt>%s</dt><dd>%zu</dd>\n", outcomes[i], n[i]);
  clarke_page_fact_of(to, "steps", run, "steps");
  clarke_page_fact_of(to, "with a touched kink", run, "steps_touched");
  if (clarke_count_at(run, "steps_with_surrogates") > 0)
    clarke_page_fact_of(to, "with functions replaced by design (surrogates)", run, "steps_with_surrogates");
  clarke_page_fact_of(to, "first that is not in-bouligand", run, "first_not_in_bouligand");
  clarke_page_fact_of(to, "stopped", run, "stopped");
  clarke_page_fact_of(to, "AD as in", first, "profile");
  fputs("</dl>\n", to);
  put_surrogates(to, first);
  put_rows(to, rows, n);
  clarke_page_section_end(to);
  if (json_object_size(json_object_get(run, "layers")) > 0)
    put_run(to, run);
}
