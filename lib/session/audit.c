/* A question about a network (audit.h). */
#include "session/audit.h"

#include "base/limit.h"
#include "base/text.h"
#include "network/graph/build.h"
#include "network/graph/choose.h"
#include "network/graph/inputs.h"
#include "network/graph/masks.h"
#include "network/graph/promote.h"
#include "network/derive/tail.h"
#include "base/stop.h"
#include "session/checkpoint.h"
#include "session/names.h"
#include "session/notes.h"
#include "format/npz.h"
#include "format/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_audit_session_init(clarke_audit_session *s)
{
  memset(s, 0, sizeof *s);
  clarke_graph_init(&s->graph);
  clarke_profile_init(&s->profile);
  clarke_tensors_init(&s->batch);
  clarke_tensor_init(&s->with_masks);
  clarke_replay_init(&s->replay);
  clarke_margins_init(&s->margins);
  clarke_nearest_init(&s->nearest);
  clarke_zeros_init(&s->zeros);
  clarke_zeros_init(&s->near_zeros);
  clarke_audit_init(&s->audit);
}

void
clarke_audit_session_clear(clarke_audit_session *s)
{
  clarke_audit_clear(&s->audit);
  if (s->question.g != NULL)
    clarke_question_clear(&s->question);
  clarke_nearest_clear(&s->nearest);
  clarke_zeros_clear(&s->zeros);
  clarke_zeros_clear(&s->near_zeros);
  clarke_moved_clear(&s->moved);
  clarke_replay_clear(&s->replay);
  clarke_margins_clear(&s->margins);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
  clarke_tensors_clear(&s->batch);
  clarke_tensor_clear(&s->with_masks);
  free(s->loss_value);
  free(s->log_softmax);
  free(s->model.name);
  free(s->batch_file.name);
  free(s->params.name);
  free(s->output);
  clarke_names_free(s->left_out, s->n_left_out);
  clarke_names_free(s->wrt, s->n_wrt);
  clarke_names_free(s->notes, s->n_notes);
  clarke_audit_session_init(s);
}

static bool
parse_count(size_t *n, const char *text, unsigned long most)
{
  char *end;
  const unsigned long value = strtoul(text, &end, 10);

  if (*text < '0' || *text > '9' || *end != '\0' || value < 1 || value > most)
    return false;
  *n = value;
  return true;
}

bool
clarke_threads_parse(size_t *n, const char *text)
{
  return parse_count(n, text, CLARKE_MOST_THREADS);
}

bool
clarke_count_parse(size_t *n, const char *text)
{
  return parse_count(n, text, 1UL << 48);
}

/* x, and y where there is one; others are by the names of inputs. */
static clarke_status
name_arrays(clarke_audit_session *s, clarke_error *err)
{
  const char *name = s->batch_file.name;

  s->x = clarke_tensors_find(&s->batch, "x");
  s->y = clarke_tensors_find(&s->batch, "y");
  return s->x != NULL ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "%s: no array 'x'", name);
}

static clarke_status
read_batch(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_status status = clarke_named_file_set(&s->batch_file, r->batch_path, r->batch, err);

  if (status != CLARKE_OK)
    return status;
  if (!clarke_ends_with(r->batch_path, ".npy") && !clarke_ends_with(r->batch_path, ".npz"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a .npz or .npy file", s->batch_file.name);
  status = clarke_arrays_parse(&s->batch, &s->batch_stored, r->batch->data, r->batch->size, s->batch_file.name, err);
  if (status != CLARKE_OK || clarke_ends_with(r->batch_path, ".npz"))
    return status == CLARKE_OK ? name_arrays(s, err) : status;
  s->x = &s->batch.tensor[0]; /* the inputs alone */
  return CLARKE_OK;
}

/* No axis of the input's has samples. Where it declares 1 first, each sample is a whole input: x of shape (n, ...) becomes
 * (n, 1, ...). Else x is one, and becomes (1, n, ...). */
static clarke_status
part_samples(clarke_audit_session *s, const clarke_model *m, clarke_error *err)
{
  const clarke_model_port *port = &m->inputs[0];

  s->whole = m->n_inputs > 0 && port->shaped && port->rank > 0 && port->dims[0] == 1;
  s->together = !s->whole;
  for (size_t i = 0; i < s->batch.n; i++) {
    clarke_tensor *t = &s->batch.tensor[i];

    if (t != s->x)
      continue;
    if (t->rank < 1 || t->rank == CLARKE_MAX_RANK)
      return clarke_fail(err, CLARKE_EINPUT, "%s: x has %zu axes; with --batch-axis none from 1 to %d are read", s->batch_file.name,
                         t->rank, CLARKE_MAX_RANK - 1);
    memmove(t->dims + s->whole + 1, t->dims + s->whole, (t->rank - s->whole) * sizeof *t->dims);
    t->dims[s->whole] = 1;
    t->rank++;
  }
  return CLARKE_OK;
}

/* A whole output begins with the axis of one entry, too; losses speak of a sample's. */
static void
drop_first_axis(clarke_graph *g)
{
  clarke_value *v = &g->values[g->output];

  if (g->batched || v->rank == 0 || v->dims[0] != 1)
    return;
  g->bared = true;
  v->rank--;
  memmove(v->dims, v->dims + 1, v->rank * sizeof *v->dims);
}

/* What is refused for the batch's sake may be read without one. */
static clarke_status
hint(const clarke_audit_session *s, clarke_status status, clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  const char *said = err != NULL ? err->text : "", *name = s->model.name != NULL ? s->model.name : "";
  size_t used;

  said += strncmp(said, name, strlen(name)) == 0 ? strlen(name) : 0; /* the file's name may have the word, too */
  if (status != CLARKE_EINPUT || err == NULL || s->whole || !g->batched || (strstr(said, "batch") == NULL && strstr(said, "samples") == NULL))
    return status;
  used = strlen(err->text);
  if (g->together == 1)
    snprintf(err->text + used, sizeof err->text - used, ". Each sample is a run of its own here: --batch-axis none reads it as a whole "
             "input, none of whose axes is the batch");
  else
    snprintf(err->text + used, sizeof err->text - used, ". If the batch is another axis of x, or none, ask about all of it as one input: "
             "clarke audit %s --batch %s --batch-axis none", s->model.name, s->batch_file.name);
  return status;
}

/* Is it the mean over the batch, but for a label that is ignored? */
static bool
is_plain(const clarke_model_node *node)
{
  return strcmp(node->op_type, "NegativeLogLikelihoodLoss") == 0 && node->n_in == 2
         && node->n_attr == (size_t)(clarke_model_attr(node, "reduction") != NULL) + (size_t)(clarke_model_attr(node, "ignore_index") != NULL);
}

/* The loss is taken off the graph: which node of the file is the log-softmax that it begins with? */
static clarke_status
find_log_softmax(clarke_audit_session *s, const clarke_model *m, clarke_error *err)
{
  if (m->n_nodes < 2 || !is_plain(&m->nodes[m->n_nodes - 1]) || strcmp(m->nodes[m->n_nodes - 2].op_type, "LogSoftmax") != 0)
    return CLARKE_OK;
  s->log_softmax = strdup(m->nodes[m->n_nodes - 2].out[0]);
  return s->log_softmax != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* What it does not need is the session's then. */
static clarke_status
choose_output(clarke_audit_session *s, clarke_model *m, const char *name, clarke_error *err)
{
  clarke_status status = clarke_output_choose(m, name, err);

  if (status != CLARKE_OK || name == NULL)
    return status;
  s->left_out = m->left_out;
  s->n_left_out = m->n_left_out;
  m->left_out = NULL;
  m->n_left_out = 0;
  s->output = strdup(name);
  return s->output != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
read_model(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_status (*const parse)(clarke_model *, const void *, size_t, const char *, clarke_error *) =
    r->recorded ? clarke_onnx_parse_step : clarke_onnx_parse_at;
  clarke_model model;
  clarke_status status = clarke_named_file_set(&s->model, r->model_path, r->model, err);

  if (status != CLARKE_OK)
    return status;
  clarke_model_init(&model);
  status = parse(&model, r->model->data, r->model->size, r->model_path, err);
  s->external = model.external;
  model.surrogates = s->profile.surrogates;
  if (status == CLARKE_OK)
    status = choose_output(s, &model, r->output, err);
  if (status == CLARKE_OK && r->whole)
    status = part_samples(s, &model, err);
  if (status == CLARKE_OK)
    status = clarke_promote_constants(&model, s->wrt, s->n_wrt, err);
  if (status == CLARKE_OK)
    status = find_log_softmax(s, &model, err);
  if (status == CLARKE_OK)
    status = clarke_tail_take(&s->loss, &s->own_loss, &model, s->y, err);
  if (status == CLARKE_OK && clarke_ends_with(r->batch_path, ".npz"))
    status = clarke_masks_take(&model, &s->with_masks, s->x, s->batch.tensor, s->batch.n, s->batch_file.name, err);
  if (status == CLARKE_OK && clarke_ends_with(r->batch_path, ".npz"))
    status = clarke_inputs_take(&model, s->x, s->batch.tensor, s->batch.n, s->batch_file.name, err);
  if (status == CLARKE_OK && s->with_masks.count > 0)
    s->x = &s->with_masks;
  if (status == CLARKE_OK)
    status = hint(s, clarke_graph_build_from(&s->graph, &model, s->x, err), err);
  if (status == CLARKE_OK && s->whole)
    drop_first_axis(&s->graph);
  clarke_model_clear(&model);
  return status == CLARKE_OK && s->own_loss ? clarke_tail_check(&s->graph, s->loss.kind, err) : status;
}

static clarke_status
choose_loss(clarke_audit_session *s, const char *name, clarke_error *err)
{
  clarke_loss *loss = &s->loss;
  const clarke_loss_kind own = loss->kind;
  clarke_status status = CLARKE_OK;

  s->loss_by_y = name == NULL && !s->own_loss;
  loss->y = s->y;
  loss->samples = s->x->dims[0];
  if (name != NULL)
    status = clarke_loss_parse(&loss->kind, name, err);
  else if (s->own_loss)
    loss->kind = own;
  else
    loss->kind = s->y == NULL            ? CLARKE_LOSS_SUM
                 : s->y->integer != NULL ? CLARKE_LOSS_CE
                                         : CLARKE_LOSS_MSE;
  if (status == CLARKE_OK && s->own_loss && loss->kind != own)
    return clarke_fail(err, CLARKE_EINPUT, "%s: loss %s is asked for; the model ends in its own, %s", s->model.name,
                       clarke_loss_name(loss->kind), clarke_loss_name(own));
  return status == CLARKE_OK ? clarke_loss_check(loss, &s->graph, err) : status;
}

/* The checker reads less than the library does. */
clarke_status
clarke_audit_session_provable(const clarke_audit_session *s, clarke_error *err)
{
  if (!s->batch_stored)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a proof needs an uncompressed .npz, as "
                       "numpy.savez writes it (the checker does not decompress)", s->batch_file.name);
  if (s->external)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a proof needs the model in one file: it names "
                       "the model's file alone, and its weights lie in others. Save it with "
                       "onnx.save_model, save_as_external_data=False", s->model.name);
  return clarke_proof_possible(&s->graph, &s->profile, err);
}

clarke_status
clarke_audit_session_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_status status = r->profile_text == NULL
                           ? clarke_profile_load_surrogates(&s->profile, r->profile, err)
                           : clarke_profile_parse(&s->profile, r->profile_text, strlen(r->profile_text), r->profile, err);

  if (status == CLARKE_OK && r->recorded)
    status = clarke_profile_check_plain(&s->profile, err);
  if (status == CLARKE_OK)
    status = read_batch(s, r, err);
  if (status == CLARKE_OK)
    status = clarke_names_split(&s->wrt, &s->n_wrt, r->wrt, "wrt", err);
  if (status == CLARKE_OK)
    status = read_model(s, r, err);
  if (status == CLARKE_OK)
    status = clarke_graph_wrt(&s->graph, s->wrt, s->n_wrt, err);
  if (status == CLARKE_OK)
    status = clarke_graph_check_wrt(&s->graph, err);
  if (status == CLARKE_OK)
    status = choose_loss(s, r->loss, err);
  return status == CLARKE_OK && r->provable ? clarke_audit_session_provable(s, err) : status;
}

/* Where nothing is asked for, as many products as keep an exact pass over the samples concerned below a second; of a recorded step, whose price
 * is measured by the step's own, below a hundredth. */
#define MARGIN_WORK ((size_t)1 << 26)
#define MARGIN_WORK_OF_STEP ((size_t)1 << 20)

static clarke_status
find_nearest(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  s->near_known = r->nearest > 0 || (r->margins && s->replay.n_touches == 0 && s->replay.open == 0);
  return !s->near_known    ? CLARKE_OK
         : r->nearest > 0 ? clarke_nearest_find(&s->nearest, &s->replay, r->nearest, SIZE_MAX, err)
                          : clarke_nearest_find(&s->nearest, &s->replay, 1, r->recorded ? MARGIN_WORK_OF_STEP : MARGIN_WORK, err);
}

/* Lists longer than the limit are refused before anything is asked of the touches. */
static clarke_status
check_lists(const clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_LISTED);

  if (r->nearest > most)
    return clarke_limit_fail(err, CLARKE_LIMIT_LISTED, "%zu of each layer are asked for", r->nearest);
  if (r->touched && s->replay.n_touches > most)
    return clarke_limit_fail(err, CLARKE_LIMIT_LISTED, "%s: %zu kinks are touched", s->graph.file, s->replay.n_touches);
  return CLARKE_OK;
}

static clarke_status
replay(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_margins *margins = r->nearest > 0 || r->margins ? &s->margins : NULL;
  clarke_status status = clarke_replay_run(&s->replay, margins, &s->graph, s->x, r->exact, r->threads, err);

  if (status == CLARKE_OK)
    status = check_lists(s, r, err);
  if (status == CLARKE_OK)
    status = clarke_question_init(&s->question, &s->replay, &s->profile, &s->loss, err);
  s->replayed = status == CLARKE_OK;
  return status;
}

/* Undecided, for that reason, unless a verdict was proved. What is known of layers is what was touched. */
static clarke_status
keep_known(clarke_audit_session *s, const char *why)
{
  clarke_audit *a = &s->audit;

  s->stopped = why;
  s->near_known = false;
  clarke_nearest_clear(&s->nearest);
  if (a->theorem[0].name != NULL) /* all was judged */
    return CLARKE_OK;
  a->verdict = CLARKE_UNDECIDED;
  a->evidence = CLARKE_EVIDENCE_NONE;
  snprintf(a->why, sizeof a->why, "%s", s->stopped);
  for (size_t i = 0; i < a->n_layers; i++) {
    a->layer[i].moving = a->layer[i].constraints = 0;
    a->layer[i].pool = CLARKE_NONE;
    a->layer[i].feasible = CLARKE_UNKNOWN;
    a->layer[i].two_kinks = false;
    a->layer[i].blocks = (clarke_block_counts){0};
  }
  return CLARKE_OK;
}

bool
clarke_audit_touches_known(const clarke_audit_session *s)
{
  return s->replayed && s->replay.open == 0;
}

size_t
clarke_audit_asked(const clarke_audit_session *s)
{
  size_t n = 0;

  for (size_t i = 0; i < s->graph.n_steps; i++)
    if (clarke_step_has_kinks(&s->graph.steps[i]))
      n += s->graph.values[s->graph.steps[i].out].count * s->x->dims[0];
  return n;
}

size_t
clarke_audit_decided(const clarke_audit_session *s)
{
  const clarke_replay *r = &s->replay;
  size_t n = 0;

  for (size_t i = 0; r->piece != NULL && i < s->graph.n_steps; i++)
    for (size_t e = 0; r->piece[i] != NULL && e < s->graph.values[s->graph.steps[i].out].count * r->samples; e++)
      n += r->piece[i][e] >= 0;
  return n;
}

clarke_status
clarke_audit_session_ask(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_error wrong = {CLARKE_OK, ""};
  clarke_status status = r->params != NULL ? clarke_checkpoint_read(s, r, &wrong) : CLARKE_OK;

  s->list_touched = r->touched;
  s->exact = r->exact;
  if (status == CLARKE_OK)
    status = replay(s, r, &wrong);
  clarke_work_begin("verdict", 0);
  if (status == CLARKE_OK)
    status = clarke_audit_run(&s->audit, &s->question, r->ranks, &wrong);
  if (status == CLARKE_OK)
    status = find_nearest(s, r, &wrong);
  if (status == CLARKE_OK)
    status = r->recorded ? clarke_audit_note_branches(s, r, &wrong) : clarke_audit_notes(s, &wrong);
  if (status == CLARKE_ESTOPPED)
    return keep_known(s, clarke_work_stopped());
  if (status == CLARKE_EVAGUE)
    return keep_known(s, "at the highest precision an enclosure had no bounds");
  if (status != CLARKE_OK && err != NULL)
    *err = wrong;
  return status;
}

static clarke_proof_statement
statement_of(const clarke_audit_session *s)
{
  return (clarke_proof_statement){
    .model = {s->model.name, s->model.sha256, s->output},
    .params = {s->params.name, s->params.sha256, NULL},
    .batch = {s->batch_file.name, s->batch_file.sha256, NULL},
    .whole = s->whole,
    .together = s->together,
    .wrt = s->wrt,
    .n_wrt = s->n_wrt,
  };
}

/* clarke-check takes no statement about nothing. */
static clarke_status
check_provable(const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status;

  if (clarke_graph_wrt_count(&s->graph) == 0)
    return clarke_fail(err, CLARKE_EINPUT, "the network has no parameters: there is no proof");
  status = clarke_audit_session_provable(s, err);
  return status == CLARKE_OK ? clarke_checkpoint_provable(s, err) : status;
}

clarke_status
clarke_audit_session_prove(const clarke_audit_session *s, const char *path, clarke_error *err)
{
  const clarke_proof_statement statement = statement_of(s);
  clarke_status status;

  if (s->audit.verdict == CLARKE_UNDECIDED)
    return clarke_fail(err, CLARKE_EINPUT, "undecided: there is no proof");
  status = check_provable(s, err);
  return status == CLARKE_OK ? clarke_proof_write(path, &statement, &s->audit, &s->question, err) : status;
}

clarke_status
clarke_audit_session_prove_zone(const clarke_audit_session *s, const char *path, clarke_error *err)
{
  const clarke_proof_statement statement = statement_of(s);
  clarke_status status = check_provable(s, err);

  return status == CLARKE_OK ? clarke_proof_write_zone(path, &statement, &s->audit, &s->question, err) : status;
}
