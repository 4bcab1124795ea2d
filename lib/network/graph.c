#include "network/graph.h"

#include <stdlib.h>
#include <string.h>

void
clarke_graph_init(clarke_graph *g)
{
  memset(g, 0, sizeof *g);
  g->input = g->output = CLARKE_NONE;
}

static void
step_clear(clarke_step *s)
{
  free(s->name);
  for (size_t i = 0; i < s->n_in; i++)
    free(s->in[i].map);
  free(s->in);
  if (s->root || s->kind == CLARKE_NORMALIZE)
    mpq_clear(s->epsilon);
  if (s->kind != CLARKE_PIECEWISE)
    return;
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_clear(s->pieces.kink[k]);
  for (size_t p = 0; p <= CLARKE_MAX_KINKS; p++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(s->pieces.coef[p][c]);
  free(s->pieces.slope_map);
}

void
clarke_graph_clear(clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    step_clear(&g->steps[i]);
  for (size_t i = 0; i < g->n_values; i++) {
    clarke_value *v = &g->values[i];

    free(v->name);
    free(v->real);
    free(v->integer);
    free(v->origin);
  }
  for (size_t i = 0; i < g->n_parameters; i++)
    free(g->parameters[i].name);
  free(g->steps);
  free(g->values);
  free(g->parameters);
  free(g->file);
  clarke_graph_init(g);
}

/* Every constant that shows a parameter, rearranged or not, gets its new entries. */
static void
refresh_constants(clarke_graph *g)
{
  for (size_t i = 0; i < g->n_values; i++) {
    clarke_value *v = &g->values[i];

    if (v->parameter == CLARKE_NONE || !v->constant ||
        v->real == g->parameters[v->parameter].real)
      continue;
    for (size_t e = 0; e < v->count; e++)
      v->real[e] = g->parameters[v->parameter].real[v->origin != NULL ? v->origin[e] : e];
  }
}

static const clarke_tensor *
tensor_named(const clarke_tensor *tensors, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(tensors[i].name, name) == 0)
      return &tensors[i];
  return NULL;
}

static bool
same_shape(const clarke_parameter *p, const clarke_tensor *t)
{
  return p->rank == t->rank && memcmp(p->dims, t->dims, p->rank * sizeof p->dims[0]) == 0;
}

/* The parameter whose name a tensor's ends with, after a point: a state dict of a wrapped module. */
static const clarke_parameter *
wrapped(const clarke_graph *g, const char *name)
{
  for (const char *at = strchr(name, '.'); at != NULL; at = strchr(at + 1, '.'))
    for (size_t p = 0; p < g->n_parameters; p++)
      if (strcmp(g->parameters[p].name, at + 1) == 0)
        return &g->parameters[p];
  return NULL;
}

static clarke_status
fail_stranger(const clarke_graph *g, const char *name, const char *file, clarke_error *err)
{
  const clarke_parameter *p = wrapped(g, name);

  if (p != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s' is no parameter of %s; '%s' is: the names begin with '%.*s', as a "
                       "wrapped module's", file, name, g->file, p->name, (int)(strlen(name) - strlen(p->name)), name);
  return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s' is no parameter of %s; expected the same network's names, such as '%s'",
                     file, name, g->file, g->n_parameters > 0 ? g->parameters[0].name : "");
}

static clarke_status
check_no_stranger(const clarke_graph *g, const clarke_tensor *tensors, size_t n, const char *file,
                  clarke_error *err)
{
  for (size_t i = 0; i < n; i++) {
    bool found = tensors[i].real == NULL;

    for (size_t p = 0; p < g->n_parameters && !found; p++)
      found = strcmp(g->parameters[p].name, tensors[i].name) == 0;
    if (!found)
      return fail_stranger(g, tensors[i].name, file, err);
  }
  return CLARKE_OK;
}

/* Divisors were checked when the graph was built: the new ones must be, too. */
static clarke_status
check_divisors(const clarke_graph *g, const char *file, clarke_error *err)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    size_t e = clarke_step_bad_divisor(g, s);

    if (e != CLARKE_NONE)
      return clarke_fail(err, CLARKE_EINPUT, "%s: node '%s' of %s divides by %s'%s', whose entry "
                         "%zu is %s", file, s->name, g->file,
                         s->root ? "the square root of epsilon + " : "",
                         g->values[s->in[1].value].name, e,
                         s->root ? "too small" : "zero");
  }
  return CLARKE_OK;
}

clarke_status
clarke_graph_replace(clarke_graph *g, const clarke_tensor *tensors, size_t n, const char *file,
                     clarke_error *err)
{
  clarke_status status = check_no_stranger(g, tensors, n, file, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < g->n_parameters; i++) {
    clarke_parameter *p = &g->parameters[i];
    const clarke_tensor *t = tensor_named(tensors, n, p->name);

    if (t == NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s: no tensor '%s', a parameter of %s", file,
                         p->name, g->file);
    if (t->real != NULL && !same_shape(p, t) && p->rank == 2 && t->rank == 2 && p->dims[0] == t->dims[1] && p->dims[1] == t->dims[0])
      return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s' has the transposed shape of %s's: an exporter turned it there", file,
                         p->name, g->file);
    if (t->real == NULL || !same_shape(p, t))
      return clarke_fail(err, CLARKE_EINPUT,
                         "%s: tensor '%s': expected floats of the shape it has in %s (%zu entries)",
                         file, p->name, g->file, p->count);
    memcpy(p->real, t->real, p->count * sizeof *p->real);
  }
  refresh_constants(g);
  return check_divisors(g, file, err);
}

clarke_status
clarke_graph_wrt(clarke_graph *g, char *const *names, size_t n, clarke_error *err)
{
  for (size_t i = 0; i < g->n_parameters; i++)
    g->parameters[i].wrt = n == 0 && !g->parameters[i].statistic;
  for (size_t k = 0; k < n; k++) {
    size_t i = 0;

    while (i < g->n_parameters && strcmp(g->parameters[i].name, names[k]) != 0)
      i++;
    if (i == g->n_parameters)
      return clarke_fail(err, CLARKE_EINPUT, "%s has no parameter '%s'", g->file, names[k]);
    if (g->parameters[i].statistic)
      return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is a statistic of BatchNormalization, not a "
                         "parameter", g->file, names[k]);
    if (g->parameters[i].wrt)
      return clarke_fail(err, CLARKE_EINPUT, "%s: parameter '%s' is named twice", g->file, names[k]);
    g->parameters[i].wrt = true;
  }
  return CLARKE_OK;
}

size_t
clarke_graph_wrt_count(const clarke_graph *g)
{
  size_t count = 0;

  for (size_t i = 0; i < g->n_parameters; i++)
    if (g->parameters[i].wrt)
      count += g->parameters[i].count;
  return count;
}

bool
clarke_value_is_wrt(const clarke_graph *g, size_t value)
{
  const clarke_value *v = &g->values[value];

  return v->constant && v->parameter != CLARKE_NONE && g->parameters[v->parameter].wrt;
}

size_t
clarke_graph_inner(const clarke_graph *g, size_t step)
{
  size_t before = g->values[g->steps[step].in[0].value].producer;

  return g->steps[step].kind == CLARKE_MAX && before != CLARKE_NONE &&
             g->steps[before].kind == CLARKE_PIECEWISE
           ? before
           : CLARKE_NONE;
}

bool
clarke_graph_couples(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_NORMALIZE && g->steps[i].grouping.couples)
      return true;
  return false;
}

void
clarke_graph_needed(const clarke_graph *g, bool loss, bool *needed)
{
  memset(needed, 0, g->n_values * sizeof *needed);
  if (loss)
    needed[g->output] = true;
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out] && !clarke_step_has_kinks(s))
      continue;
    for (size_t k = 0; k < s->n_in; k++)
      needed[s->in[k].value] = true;
  }
}
