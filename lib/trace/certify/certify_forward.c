/* Recorded outputs (certify.h). */
#include "trace/certify/certify.h"
#include "trace/bound/rounding_line.h"

#include "network/replay/replay_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 128
#define TILE 32

/* A tensor of the value's entries, of all samples; else an error. */
static clarke_status
check_shape(const clarke_certify *c, const clarke_tensor *t, size_t count, clarke_error *err)
{
  return t->real != NULL && t->count == count
           ? CLARKE_OK
           : clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s': expected %zu floats", c->trace_file, t->name, count);
}

/* Features x samples of a tensor whose first axis are the samples. */
static double *
turned(const clarke_tensor *t, size_t rows, size_t cols)
{
  double *numbers = malloc((rows * cols + 1) * sizeof *numbers);

  for (size_t f0 = 0; numbers != NULL && f0 < rows; f0 += TILE) /* in tiles, which the cache holds */
    for (size_t j = 0; j < cols; j++)
      for (size_t f = f0; f < rows && f < f0 + TILE; f++)
        numbers[f * cols + j] = t->real[j * rows + f];
  return numbers;
}

clarke_status
clarke_certify_collect(clarke_certify *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++) {
    const clarke_tensor *t;

    if (g->values[v].constant || g->values[v].name == NULL || v == g->input || c->recorded[v] != NULL)
      continue;
    t = clarke_certify_find(c, "output", g->values[v].name);
    if (t == NULL)
      continue;
    status = check_shape(c, t, g->values[v].count * c->pass.n, err);
    if (status == CLARKE_OK && (c->recorded[v] = turned(t, g->values[v].count, c->pass.n)) == NULL)
      status = clarke_no_memory(err);
  }
  return status;
}

clarke_status
clarke_certify_begin(clarke_certify *c, clarke_error *err)
{
  const size_t samples = c->g->samples;
  size_t *sample = malloc((samples + 1) * sizeof *sample);
  clarke_matrix input;
  clarke_status status = sample != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_matrix_init(&input);
  for (size_t j = 0; status == CLARKE_OK && j < samples; j++)
    sample[j] = j;
  if (status == CLARKE_OK)
    status = clarke_samples_matrix(&input, c->x, sample, samples, err);
  if (status == CLARKE_OK)
    status = clarke_forward_begin(&c->pass, c->constants, &input, PRECISION, err);
  clarke_matrix_clear(&input);
  free(sample);
  if (status != CLARKE_OK)
    return status;
  c->pass.replaced = true;
  c->rounded.f = &c->pass;
  c->rounded.slopes = &c->slopes;
  c->rounded.profile = c->profile;
  c->rounded.loss = c->loss;
  c->rounded.by = c->by;
  c->rounded.recorded = c->recorded;
  return clarke_roundoff_begin(&c->rounded, err);
}

/* Nothing was recorded of a node: its bound goes on. Of what is enclosed nothing is said where such a place is behind it: whether an
 * argument is there was looked up in the graph, where records have taken the place of what it computes. */
static clarke_status
pass_over(clarke_certify *c, size_t v, const char *op, clarke_error *err)
{
  const clarke_matrix *m = &c->pass.value[v];
  clarke_certificate *made = clarke_certify_add(c, CLARKE_OUTPUT, c->g->values[v].name, op, err);
  bool meets = false;

  if (made == NULL || (m->radius != NULL && clarke_certify_meets_place(&meets, c, v, false, err) != CLARKE_OK))
    return CLARKE_ENOMEM;
  for (size_t e = 0; meets && e < m->rows * m->cols; e++)
    c->rounded.error[v][e] = INFINITY;
  return clarke_certify_follow(c, made, v, c->rounded.error[v], m->rows * m->cols, err);
}

static clarke_status
certify_output(clarke_certify *c, size_t step, clarke_error *err)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t v = s->out;
  clarke_certificate *made;
  const clarke_tensor *t;
  double *error = NULL;
  clarke_status status;

  if (c->g->values[v].name == NULL)
    return CLARKE_OK;
  if (clarke_certify_is_passed_on(c, v) || (c->recorded[v] == NULL && clarke_certify_is_loss(c, step)))
    return CLARKE_OK;
  if (c->recorded[v] == NULL)
    return pass_over(c, v, s->op->name, err);
  t = clarke_certify_find(c, "output", c->g->values[v].name);
  made = clarke_certify_add(c, CLARKE_OUTPUT, c->g->values[v].name, s->op->name, err);
  if (made == NULL || t == NULL)
    return clarke_no_memory(err);
  status = clarke_certify_replace(&error, c, made, t, &c->pass.value[v], c->rounded.error[v],
                                  clarke_certify_made_by_conv(c->g, v), err);
  free(c->rounded.error[v]);
  free(c->rounded.size[v]);
  c->rounded.error[v] = error;
  c->rounded.size[v] = status == CLARKE_OK ? clarke_roundoff_sizes(&c->pass.value[v]) : NULL;
  return status == CLARKE_OK && c->rounded.size[v] == NULL ? clarke_no_memory(err) : status;
}

/* A rearranged constant: its parameter's entries, cast perhaps. */
static clarke_status
certify_constant(clarke_certify *c, size_t v, clarke_error *err)
{
  const clarke_value *value = &c->g->values[v];
  clarke_tensor *t = clarke_certify_find(c, "output", value->name);
  clarke_certificate *made;
  double *bound, *numbers;
  clarke_matrix m;
  clarke_status status;

  if (t == NULL)
    return CLARKE_OK;
  status = clarke_tensor_unpack(t, err);
  if (status == CLARKE_OK)
    status = check_shape(c, t, value->count, err);
  made = status == CLARKE_OK ? clarke_certify_add(c, CLARKE_OUTPUT, value->name, NULL, err) : NULL;
  if (made == NULL)
    return status != CLARKE_OK ? status : CLARKE_ENOMEM;
  bound = malloc((value->count + 1) * sizeof *bound);
  numbers = malloc((value->count + 1) * sizeof *numbers);
  clarke_matrix_init(&m);
  if (bound == NULL || numbers == NULL)
    status = clarke_no_memory(err);
  for (size_t e = 0; e < value->count && status == CLARKE_OK; e++) {
    numbers[e] = value->negated ? -value->real[e] : value->real[e];
    bound[e] = clarke_roundoff_constant(&c->rounded, numbers[e]);
  }
  if (status == CLARKE_OK && !clarke_certificate_judge_moved(made, t, numbers, bound)) {
    status = clarke_matrix_set_doubles(&m, value->count, 1, numbers, err);
    if (status == CLARKE_OK)
      status = clarke_certificate_judge(made, t, &m, bound, err);
  }
  clarke_matrix_clear(&m);
  free(bound);
  free(numbers);
  return status;
}

clarke_status
clarke_certify_constants(clarke_certify *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    if (g->values[v].constant && g->values[v].name != NULL && g->values[v].real != NULL && g->values[v].parameter != CLARKE_NONE)
      status = certify_constant(c, v, err);
  return status;
}

clarke_status
clarke_certify_forward(clarke_certify *c, clarke_error *err)
{
  const clarke_graph *g = c->g;
  clarke_status status = clarke_certify_begin(c, err);

  if (status == CLARKE_OK)
    status = clarke_certify_collect(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_constants(c, err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    clarke_certify_doubt_sides(c, i);
    status = clarke_forward_next(&c->pass, i, err);
    if (status == CLARKE_OK)
      status = clarke_roundoff_shrink(&c->pass.value[g->steps[i].out], &c->rounded, i, err);
    if (status == CLARKE_OK)
      status = clarke_roundoff_step(&c->rounded, i, err);
    if (status == CLARKE_OK)
      status = certify_output(c, i, err);
  }
  return status;
}
