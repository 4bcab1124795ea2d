/* What a file alone cannot tell of the program that it came from, where it could matter. */
#include "session/notes.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static clarke_status
note(clarke_audit_session *s, clarke_error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static clarke_status
note(clarke_audit_session *s, clarke_error *err, const char *format, ...)
{
  char **grown = realloc(s->notes, (s->n_notes + 1) * sizeof *grown);
  va_list args;

  if (grown == NULL)
    return clarke_no_memory(err);
  s->notes = grown;
  va_start(args, format);
  grown[s->n_notes] = clarke_text_vprint(format, args);
  va_end(args);
  if (grown[s->n_notes] == NULL)
    return clarke_no_memory(err);
  s->n_notes++;
  return CLARKE_OK;
}

/* "onnx::MatMul_12", "val_3", "17": exporters name so what they made themselves. */
static bool
is_exported(const char *name)
{
  const char *number = strncmp(name, "val_", 4) == 0 ? name + 4 : name;

  return strncmp(name, "onnx::", 6) == 0 || (*number != '\0' && strspn(number, "0123456789") == strlen(number));
}

static clarke_status
note_parameters(clarke_audit_session *s, clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    const clarke_parameter *q = &g->parameters[p];

    if (!q->wrt)
      continue;
    if (is_exported(q->name))
      status = note(s, err, "parameter '%s' has a name that an exporter gave; what it was made of is not in the file", q->name);
    if (status == CLARKE_OK && q->uses > 1)
      status = note(s, err, "parameter '%s' is read %zu times: tied weights, or several of equal values of which an exporter "
                    "made one", q->name, q->uses);
  }
  return status;
}

/* A Clip that is touched: hardtanh, relu6 and clamp export to it. */
static clarke_status
note_clips(clarke_audit_session *s, clarke_error *err)
{
  size_t last = CLARKE_NONE;
  clarke_status status = CLARKE_OK;

  for (size_t t = 0; t < s->replay.n_touches && status == CLARKE_OK; t++) {
    const size_t step = s->replay.touch[t].step;

    if (step == last || strcmp(s->graph.steps[step].op->name, "Clip") != 0)
      continue;
    last = step;
    status = note(s, err, "node '%s' is a Clip touched at a bound: AD's number there is taken to be hardtanh's; torch.clamp, "
                  "which exports to the same, has another", s->graph.steps[step].name);
  }
  return status;
}

/* Samples that are no part of the loss, by their label. */
static clarke_status
note_ignored(clarke_audit_session *s, clarke_error *err)
{
  const size_t samples = s->loss.samples, counted = clarke_loss_counted(&s->loss);
  size_t first = 0;

  while (first < samples && clarke_loss_label(&s->loss, first) != CLARKE_NONE)
    first++;
  if (counted == samples)
    return CLARKE_OK;
  return note(s, err, "%zu of %zu samples have the label %lld, which the loss ignores, the first sample %zu: the mean is over the other %zu",
              samples - counted, samples, (long long)s->loss.ignored, first, counted);
}

static clarke_status
note_loss(clarke_audit_session *s, clarke_error *err)
{
  const size_t producer = s->graph.values[s->graph.output].producer;
  clarke_status status = CLARKE_OK;

  if (s->loss_by_y && s->loss.kind == CLARKE_LOSS_MSE)
    status = note(s, err, "no loss was given, and y holds floats, so it is mse; integer labels mean ce");
  if (status == CLARKE_OK && s->loss.kind == CLARKE_LOSS_CE && producer != CLARKE_NONE
      && s->graph.steps[producer].kind == CLARKE_SOFTMAX)
    status = note(s, err, "the network ends in a %s, and loss ce takes its output for logits: a softmax of a softmax",
                  s->graph.steps[producer].op->name);
  return status == CLARKE_OK && s->loss.kind == CLARKE_LOSS_CE ? note_ignored(s, err) : status;
}

#define MOST_CONSTANTS 3

/* A matrix that is a Constant node may be a weight of which the exporter made a number: a yes then leaves it out. */
static clarke_status
note_constants(clarke_audit_session *s, clarke_error *err)
{
  const char *name[MOST_CONSTANTS] = {"", "", ""};
  const size_t found = s->n_wrt > 0 ? 0 : clarke_graph_constants(&s->graph, true, name, MOST_CONSTANTS);
  char more[40] = "";

  if (found == 0)
    return CLARKE_OK;
  if (found > MOST_CONSTANTS)
    snprintf(more, sizeof more, " and %zu more", found - MOST_CONSTANTS);
  return note(s, err, "Constant nodes are read as weights: %s%s%s%s%s%s. They are taken for numbers; those that are parameters are "
              "to be named by --wrt, beside the file's own", name[0], *name[1] != '\0' ? ", " : "", name[1], *name[2] != '\0' ? ", " : "", name[2], more);
}

clarke_status
clarke_audit_notes(clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = note_parameters(s, err);

  if (status == CLARKE_OK)
    status = note_constants(s, err);
  if (status == CLARKE_OK && s->graph.declared != NULL)
    status = note(s, err, "%s: runtimes go by what its nodes compute, and so does this report", s->graph.declared);
  if (status == CLARKE_OK)
    status = note_clips(s, err);
  return status == CLARKE_OK ? note_loss(s, err) : status;
}

#define MOST_BRANCHES 8

clarke_status
clarke_audit_note_branches(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < r->n_branches && i < MOST_BRANCHES && status == CLARKE_OK; i++)
    status = note(s, err, "at %s the program read what depends on the parameters, and only the branch that it took is in the graph",
                  r->branch[i]);
  if (status == CLARKE_OK && r->n_branches > MOST_BRANCHES)
    status = note(s, err, "so it did at so many other lines: %zu", r->n_branches - MOST_BRANCHES);
  if (status == CLARKE_OK && s->loss.kind == CLARKE_LOSS_CE)
    status = note_ignored(s, err);
  return status;
}
