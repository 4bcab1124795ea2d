/* A network of an ONNX file as a program, at one sample. */
#include "session/derive.h"

#include "base/text.h"
#include "exact/literal.h"
#include "format/npz.h"
#include "format/onnx.h"
#include "network/graph/build.h"
#include "network/graph/choose.h"
#include "network/graph/promote.h"
#include "program/unroll/unroll.h"
#include "session/regions.h"
#include "session/sample.h"

#include <stdlib.h>
#include <string.h>

/* --- the point ------------------------------------------------------------------------------- */

typedef struct {
  clarke_tensors arrays;
  clarke_tensor zeros;
  clarke_tensor *x;     /* one of these */
  mpq_t *entry;         /* of a list; else NULL: those of x */
} sample;

static void
sample_clear(sample *s)
{
  clarke_rationals_free(s->entry, s->entry != NULL ? s->zeros.count : 0);
  clarke_tensor_clear(&s->zeros);
  clarke_tensors_clear(&s->arrays);
}

/* The array of the graph's input: under its own name, or x; an .npy has one array. */
static clarke_status
read_arrays(sample *s, const char *path, const clarke_model *m, clarke_error *err)
{
  const char *name = clarke_base_name(path), *input = m->inputs[0].name;
  clarke_file file = {0};
  bool stored;
  clarke_status status = clarke_file_read(&file, path, err);

  if (status == CLARKE_OK)
    status = clarke_arrays_parse(&s->arrays, &stored, file.data, file.size, name, err);
  clarke_file_clear(&file);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < s->arrays.n && (s->x == NULL || strcmp(s->x->name, input) != 0); i++)
    if (clarke_ends_with(name, ".npy") || strcmp(s->arrays.tensor[i].name, input) == 0 || strcmp(s->arrays.tensor[i].name, "x") == 0)
      s->x = &s->arrays.tensor[i];
  if (s->x == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no array '%s' or 'x'", name, input);
  clarke_sample_lift(s->x, m);
  return CLARKE_OK;
}

/* v,v,... or a table; NAME= may stand before it, as of a program. */
static clarke_status
read_list(sample *s, const char *text, const clarke_model *m, clarke_error *err)
{
  const size_t length = strcspn(text, "=");
  const char *input = m->inputs[0].name;
  const bool named = text[length] == '=';
  clarke_status status = clarke_sample_zeros(&s->zeros, m, err);

  if (status != CLARKE_OK)
    return status;
  if (named && !(strlen(input) == length && memcmp(text, input, length) == 0) && !(length == 1 && text[0] == 'x'))
    return clarke_fail(err, CLARKE_EINPUT, "--at %.*s: the input is called '%s'", (int)length, text, input);
  s->x = &s->zeros;
  return clarke_region_point(&s->entry, named ? text + length + 1 : text, s->zeros.count, "--at", err);
}

static clarke_status
read_sample(sample *s, const char *text, const clarke_model *m, clarke_error *err)
{
  return clarke_ends_with(text, ".npy") || clarke_ends_with(text, ".npz") ? read_arrays(s, text, m, err) : read_list(s, text, m, err);
}

/* --- what varies ----------------------------------------------------------------------------- */

/* Marks the parameters among the names of --wrt; the input is not one. `params` alone: all. */
static clarke_status
mark_parameters(clarke_derive_session *s, const char *input_name, clarke_error *err)
{
  char **names = malloc((s->n_wrt + 1) * sizeof *names);
  clarke_status status = CLARKE_OK;
  size_t n = 0;

  if (names == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->n_wrt; i++)
    if (strcmp(s->wrt[i], input_name) != 0)
      names[n++] = s->wrt[i];
  if (s->all_parameters)
    status = clarke_graph_wrt(&s->graph, NULL, 0, err);
  else if (n > 0) /* none would mean all */
    status = clarke_graph_wrt(&s->graph, names, n, err);
  free(names);
  return status == CLARKE_OK && (s->all_parameters || n > 0) ? clarke_graph_check_wrt(&s->graph, err) : status;
}

/* Unrolls the graph as marked. Unrolling marks its parameters, or else the input. */
static clarke_status
unroll(clarke_code *p, mpq_t **at, size_t *n_at, const clarke_derive_session *s, const sample *x, const char *input, clarke_error *err)
{
  clarke_status status = clarke_unroll(p, at, n_at, &s->graph, x->x, input, err);

  for (size_t i = 0; status == CLARKE_OK && x->entry != NULL && i < x->zeros.count; i++)
    mpq_set((*at)[i], x->entry[i]);
  return status == CLARKE_OK && s->n_wrt > 0 && !s->all_parameters ? clarke_code_wrt(p, s->wrt, s->n_wrt, err) : status;
}

/* The program with its input held, in which a network of ReLUs may be piecewise linear. */
static clarke_status
hold(clarke_derive_session *s, const sample *x, const char *input, clarke_error *err)
{
  mpq_t *at = NULL;
  size_t n = 0;
  clarke_status status = unroll(&s->held, &at, &n, s, x, input, err);

  if (status == CLARKE_OK)
    status = clarke_derive_hold(s, at, err);
  clarke_rationals_free(at, n);
  return status;
}

static clarke_status
ask_of(clarke_derive_session *s, const sample *x, const char *input_name, clarke_error *err)
{
  char *input = strdup(input_name);
  clarke_status status = input != NULL ? CLARKE_OK : clarke_no_memory(err);

  s->all_parameters = s->n_wrt == 1 && strcmp(s->wrt[0], "params") == 0;
  if (status == CLARKE_OK && s->graph.samples != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "the point has %zu samples; a derivation looks at one (an audit takes a "
                         "minibatch)", s->graph.samples);
  if (status == CLARKE_OK)
    status = mark_parameters(s, input, err);
  if (status == CLARKE_OK)
    status = unroll(&s->program, &s->at, &s->n_at, s, x, input, err);
  if (status == CLARKE_OK && s->program.n_inputs > 1)
    status = hold(s, x, input, err);
  free(input);
  return status;
}

static clarke_status
choose_output(clarke_derive_session *s, clarke_model *m, const char *name, clarke_error *err)
{
  clarke_status status = clarke_output_choose(m, name, err);

  s->output = status == CLARKE_OK && name != NULL ? strdup(name) : NULL;
  return status == CLARKE_OK && name != NULL && s->output == NULL ? clarke_no_memory(err) : status;
}

clarke_status
clarke_derive_network(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err)
{
  sample x = {.x = NULL};
  clarke_model model;
  clarke_status status;

  if (r->n_at != 1)
    return clarke_fail(err, CLARKE_EINPUT, "of a network, the point is one: a file (.npy, .npz, a table) or numbers with commas between");
  clarke_tensors_init(&x.arrays);
  clarke_tensor_init(&x.zeros);
  clarke_model_init(&model);
  status = clarke_onnx_parse_at(&model, r->file->data, r->file->size, r->path, err);
  if (status == CLARKE_OK)
    status = choose_output(s, &model, r->output, err);
  if (status == CLARKE_OK && model.n_inputs != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs, expected one",
                         clarke_base_name(r->path), model.n_inputs);
  if (status == CLARKE_OK)
    status = clarke_promote_constants(&model, s->wrt, s->n_wrt, err);
  if (status == CLARKE_OK)
    status = read_sample(&x, r->at[0], &model, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&s->graph, &model, x.x, err);
  if (status == CLARKE_OK)
    status = ask_of(s, &x, model.inputs[0].name, err);
  clarke_model_clear(&model);
  sample_clear(&x);
  return status;
}
