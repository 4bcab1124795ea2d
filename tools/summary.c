#include "summary.h"

#include "object.h"
#include "op/operator.h"
#include "session/json.h"
#include "trace/certify/certificate.h"

#include <string.h>

clarke_status
clarke_summary_begin(clarke_summary *s, clarke_error *err)
{
  clarke_status status;

  memset(s, 0, sizeof *s);
  status = clarke_text_open(&s->asked, err);
  if (status == CLARKE_OK)
    status = clarke_text_open(&s->answer, err);
  if (status == CLARKE_OK)
    status = clarke_text_open(&s->next, err);
  return status;
}

/* Sentences end with a space, as if others came. */
static clarke_status
end(clarke_text *line, clarke_status status, clarke_error *err)
{
  status = clarke_text_close(line, status, err);
  while (line->size > 0 && line->text[line->size - 1] == ' ')
    line->text[--line->size] = '\0';
  return status;
}

clarke_status
clarke_summary_end(clarke_summary *s, clarke_status status, clarke_error *err)
{
  status = end(&s->asked, status, err);
  status = end(&s->answer, status, err);
  return end(&s->next, status, err);
}

void
clarke_summary_clear(clarke_summary *s)
{
  clarke_text_clear(&s->asked);
  clarke_text_clear(&s->answer);
  clarke_text_clear(&s->next);
}

void
clarke_summary_print(const clarke_summary *s)
{
  printf("Asked:  %s\nAnswer: %s\nNext:   %s\n\n", s->asked.text, s->answer.text, s->next.text);
}

clarke_status
clarke_summary_tell(clarke_summary *s, clarke_status status, clarke_error *err)
{
  status = clarke_summary_end(s, status, err);
  if (status == CLARKE_OK)
    clarke_summary_print(s);
  clarke_summary_clear(s);
  return status;
}

void
clarke_summary_set(json_t **answer, const clarke_summary *s, bool wanted)
{
  json_t *lines = wanted ? json_object() : NULL;

  if (!wanted)
    return;
  clarke_json_set(&lines, "asked", clarke_json_text(s->asked.text));
  clarke_json_set(&lines, "answer", clarke_json_text(s->answer.text));
  clarke_json_set(&lines, "next", clarke_json_text(s->next.text));
  clarke_json_set(answer, "summary", lines);
}

/* --- what the lines are made of --------------------------------------------------------------- */

void
clarke_put_count(FILE *to, size_t n, const char *what)
{
  fprintf(to, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

void
clarke_put_hash(FILE *to, const char *sha256)
{
  fprintf(to, "SHA-256 %.12s", *sha256 != '\0' ? sha256 : "not known");
}

void
clarke_put_verdict(FILE *to, clarke_verdict verdict, bool derivative, const char *what, const char *points)
{
  const char *word = clarke_verdict_name(verdict);

  switch (verdict) {
  case CLARKE_IN_BOULIGAND:
    if (derivative)
      fprintf(to, "Yes: %s is the true derivative here (%s)", what, word);
    else
      fprintf(to, "Yes: %s is right here: at %s as near as you like, there are true derivatives as near to it as you like (%s)", what,
              points, word);
    break;
  case CLARKE_IN_CLARKE:
    fprintf(to, "Yes, as a mean: %s is a weighted mean of true derivatives at %s nearby, or as near to one as you like (%s)", what,
            points, word);
    break;
  case CLARKE_NOT_IN_CLARKE:
    fprintf(to, "No: %s is wrong here: at no %s nearby is a true derivative near it, nor is a weighted mean of such derivatives (%s)",
            what, points, word);
    break;
  default:
    fprintf(to, "Not decided: of %s neither yes nor no was proved (%s)", what, word);
  }
}

void
clarke_put_proof(FILE *to, const char *proof)
{
  fputs("The proof is in ", to);
  fputs(proof, to);
  fputs(", for clarke-check. ", to);
}

/* --- several answers -------------------------------------------------------------------------- */

const char *
clarke_worst_verdict(const json_t *verdicts, bool open)
{
  static const clarke_verdict known[] = {CLARKE_IN_BOULIGAND, CLARKE_IN_CLARKE, CLARKE_NOT_IN_CLARKE};
  size_t n[3], all = 0;
  const char *name;
  json_t *count;

  json_object_foreach((json_t *)verdicts, name, count)
    all += (size_t)json_integer_value(count);
  for (size_t i = 0; i < 3; i++)
    n[i] = clarke_count_at(verdicts, clarke_verdict_name(known[i]));
  if (n[2] > 0)
    return clarke_verdict_name(CLARKE_NOT_IN_CLARKE);
  if (open || all == 0 || n[0] + n[1] < all)
    return clarke_verdict_name(CLARKE_UNDECIDED);
  return clarke_verdict_name(n[1] > 0 ? CLARKE_IN_CLARKE : CLARKE_IN_BOULIGAND);
}

void
clarke_put_verdicts(FILE *to, const json_t *verdicts, bool open, const char *is, const char *in, const char *what)
{
  static const char *const word[][2] = {{"in-bouligand", "right"}, {"in-clarke", "a weighted mean of true derivatives"}, {"not-in-clarke", "wrong"},
                                        {"undecided", "not decided"}, {CLARKE_STEP_NOT_EXPLAINED, "not what was recorded"}};
  static const char *const begins[] = {"Yes: ", "Yes, as a mean: ", "No: ", "Not decided: "};
  const char *worst = clarke_worst_verdict(verdicts, open);
  bool begun = false;

  if (clarke_count_at(verdicts, CLARKE_STEP_NOT_EXPLAINED) > 0)
    worst = clarke_verdict_name(CLARKE_NOT_IN_CLARKE); /* in words, for what was recorded is wrong */
  for (clarke_verdict v = CLARKE_IN_BOULIGAND; v <= CLARKE_UNDECIDED; v++)
    if (strcmp(worst, clarke_verdict_name(v)) == 0)
      fputs(begins[v], to);
  for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
    const size_t n = clarke_count_at(verdicts, word[i][0]);

    if (n == 0)
      continue;
    fprintf(to, "%s%s %s ", begun ? "; " : is, word[i][1], in);
    clarke_put_count(to, n, what);
    fprintf(to, " (%s)", word[i][0]);
    begun = true;
  }
  fputs(begun ? ". " : "nothing is answered. ", to);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Do the step's channels stay those of its operand, one by one? */
static bool
keeps_channels(const clarke_step *s)
{
  static const char *const kept[] = {"Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "MaxPool", "BatchNormalization"};

  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (strcmp(s->op->name, kept[i]) == 0)
      return s->n_in > 0;
  return false;
}

/* Samples first, channels second, and places in a picture behind: the channel of an entry; NONE: it is no picture. */
static size_t
channel_of(const clarke_value *v, size_t entry)
{
  if (v->constant || v->batch.merged || v->batch.none || v->batch.axis != 0 || v->rank < 2 || v->count == 0)
    return CLARKE_NONE;
  return entry / (v->count / v->dims[0]);
}

/* One of the operand's entries that entry f of the step is made of. */
static size_t
entry_before(const clarke_step *s, size_t f)
{
  const clarke_operand *x = &s->in[0];

  if (s->kind != CLARKE_MAX)
    return clarke_operand_entry(x, f);
  for (size_t i = 0; i < s->width; i++)
    if (clarke_operand_entry(x, f * s->width + i) != CLARKE_NONE)
      return clarke_operand_entry(x, f * s->width + i);
  return CLARKE_NONE;
}

/* The convolution's filter that entry f is of, back through what keeps channels; NONE: it is not known to be of one. */
static size_t
filter_of(const clarke_graph *g, size_t step, size_t f)
{
  const clarke_step *s = &g->steps[step];
  const size_t channel = channel_of(&g->values[s->out], f);

  for (size_t most = g->n_steps; most > 0 && g->batched && channel != CLARKE_NONE && f != CLARKE_NONE; most--) {
    if (channel_of(&g->values[s->out], f) != channel)
      return CLARKE_NONE;
    if (strcmp(s->op->name, "Conv") == 0)
      return channel;
    if (!keeps_channels(s) || g->values[s->in[0].value].producer == CLARKE_NONE)
      return CLARKE_NONE;
    f = entry_before(s, f);
    s = &g->steps[g->values[s->in[0].value].producer];
  }
  return CLARKE_NONE;
}

void
clarke_put_place(FILE *to, const clarke_graph *g, size_t step, size_t feature, size_t sample)
{
  const clarke_value *v = &g->values[g->steps[step].out];
  const size_t filter = filter_of(g, step, feature);
  char index[256];

  fputs(g->steps[step].name, to);
  if (filter != CLARKE_NONE) {
    clarke_put_index(index, sizeof index, v->dims + 1, v->rank - 1, feature % (v->count / v->dims[0]));
    fprintf(to, ", filter %zu at %s", filter, index);
  } else if (v->rank <= 1)
    fprintf(to, ", neuron %zu", feature);
  else {
    clarke_put_index(index, sizeof index, v->dims, v->rank, feature);
    fprintf(to, ", entry %s", index);
  }
  fprintf(to, ", sample %zu", sample);
}
