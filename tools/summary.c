#include "summary.h"

#include "op/operator.h"
#include "session/json.h"
#include "trace/certificate.h"

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

/* --- places ----------------------------------------------------------------------------------- */

/* Has the step the channels of its operand, one by one? */
static bool
keeps_channels(const clarke_step *s)
{
  static const char *const kept[] = {"Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "MaxPool", "BatchNormalization"};

  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (strcmp(s->op->name, kept[i]) == 0)
      return s->n_in > 0;
  return false;
}

/* Samples first, channels second, and places in a picture behind. */
static bool
is_picture(const clarke_value *v)
{
  return !v->constant && !v->batch.merged && !v->batch.none && v->batch.axis == 0 && v->rank >= 2;
}

static bool
is_filter(const clarke_graph *g, size_t step)
{
  const clarke_step *s = &g->steps[step];
  const size_t channels = g->values[s->out].dims[0];

  for (size_t most = g->n_steps; most > 0 && g->batched; most--) {
    const clarke_value *v = &g->values[s->out];

    if (!is_picture(v) || v->dims[0] != channels)
      return false;
    if (strcmp(s->op->name, "Conv") == 0)
      return true;
    if (!keeps_channels(s) || g->values[s->in[0].value].producer == CLARKE_NONE)
      return false;
    s = &g->steps[g->values[s->in[0].value].producer];
  }
  return false;
}

void
clarke_put_place(FILE *to, const clarke_graph *g, size_t step, size_t feature, size_t sample)
{
  const clarke_value *v = &g->values[g->steps[step].out];
  char index[256];

  fputs(g->steps[step].name, to);
  if (v->rank > 0 && v->dims[0] > 0 && is_filter(g, step)) {
    const size_t size = v->count / v->dims[0];

    clarke_put_index(index, sizeof index, v->dims + 1, v->rank - 1, feature % size);
    fprintf(to, ", filter %zu at %s", feature / size, index);
  } else if (v->rank <= 1)
    fprintf(to, ", neuron %zu", feature);
  else {
    clarke_put_index(index, sizeof index, v->dims, v->rank, feature);
    fprintf(to, ", entry %s", index);
  }
  fprintf(to, ", sample %zu", sample);
}
