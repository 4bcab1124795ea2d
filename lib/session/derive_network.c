/* A network of an ONNX file as a program, at one sample. */
#include "session/derive.h"

#include "base/text.h"
#include "network/build.h"
#include "network/unroll.h"
#include "format/npz.h"
#include "format/onnx.h"

#include <stdlib.h>
#include <string.h>

/* The array of the graph's input: under its own name, or x; an .npy has one array. */
static clarke_status
read_sample(clarke_tensors *arrays, const clarke_tensor **x, const char *path,
            const char *input_name, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  const bool npy = clarke_ends_with(name, ".npy");
  clarke_file file = {0};
  bool stored;
  clarke_status status;

  if (!npy && !clarke_ends_with(name, ".npz"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: of a network, the point is a .npz or .npy file", path);
  status = clarke_file_read(&file, path, err);
  if (status == CLARKE_OK)
    status = clarke_arrays_parse(arrays, &stored, file.data, file.size, name, err);
  if (status == CLARKE_OK) {
    *x = npy ? &arrays->tensor[0] : clarke_tensors_find(arrays, input_name);
    *x = *x != NULL ? *x : clarke_tensors_find(arrays, "x");
    if (*x == NULL)
      status = clarke_fail(err, CLARKE_EINPUT, "%s: no array '%s' or 'x'", name, input_name);
  }
  clarke_file_clear(&file);
  return status;
}

/* Marks the parameters among the names of --wrt; the input is not one. */
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
  if (n > 0) /* none would mean all */
    status = clarke_graph_wrt(&s->graph, names, n, err);
  free(names);
  return status;
}

static clarke_status
unroll(clarke_derive_session *s, const clarke_tensor *x, const char *input_name,
       clarke_error *err)
{
  char *input = strdup(input_name), *only[1] = {input};
  clarke_status status = CLARKE_OK;

  if (input == NULL)
    return clarke_no_memory(err);
  if (s->graph.samples != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "the point has %zu samples; a derivation looks at one (an audit takes a "
                         "minibatch)", s->graph.samples);
  if (status == CLARKE_OK)
    status = mark_parameters(s, input, err);
  if (status == CLARKE_OK)
    status = clarke_unroll(&s->program, &s->at, &s->n_at, &s->graph, x, input, err);
  if (status == CLARKE_OK)
    status = s->n_wrt > 0 ? clarke_code_wrt(&s->program, s->wrt, s->n_wrt, err)
                          : clarke_code_wrt(&s->program, only, 1, err);
  free(input);
  return status;
}

clarke_status
clarke_derive_network(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err)
{
  clarke_tensors arrays;
  clarke_model model;
  const clarke_tensor *x = NULL;
  clarke_status status;

  if (r->n_at != 1)
    return clarke_fail(err, CLARKE_EINPUT, "of a network, the point is one file, .npz or .npy (clarke "
                       "derive --at FILE.npz)");
  clarke_tensors_init(&arrays);
  clarke_model_init(&model);
  status = clarke_onnx_parse_at(&model, r->file->data, r->file->size, r->path, err);
  if (status == CLARKE_OK && model.n_inputs != 1)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu inputs, expected one",
                         clarke_base_name(r->path), model.n_inputs);
  if (status == CLARKE_OK)
    status = read_sample(&arrays, &x, r->at[0], model.inputs[0].name, err);
  if (status == CLARKE_OK)
    status = clarke_graph_build(&s->graph, &model, x, err);
  if (status == CLARKE_OK)
    status = unroll(s, x, model.inputs[0].name, err);
  clarke_model_clear(&model);
  clarke_tensors_clear(&arrays);
  return status;
}
