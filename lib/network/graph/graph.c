#include "network/graph/graph.h"

#include "base/kept.h"
#include "base/text.h"

#include <stdio.h>
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
    free(v->excluded);
    free(v->known);
  }
  for (size_t i = 0; i < g->n_parameters; i++)
    free(g->parameters[i].name);
  free(g->steps);
  free(g->values);
  free(g->parameters);
  free(g->file);
  free(g->declared);
  clarke_kept_free(g->kept);
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

static bool
has_floats(const clarke_tensor *t)
{
  return t->real != NULL || t->packed != NULL;
}

/* Floats, packed or not. */
static double
entry_of(const clarke_tensor *t, size_t e)
{
  return t->packed != NULL ? (double)clarke_f32_at(t->packed, e) : t->real[e];
}

static bool
same_entries(const clarke_parameter *p, const clarke_tensor *t)
{
  for (size_t e = 0; e < t->count; e++)
    if (entry_of(t, e) != p->real[e])
      return false;
  return true;
}

/* Names for a message, as many as fit, and how many there are. */
typedef struct {
  size_t n, hidden;
  char text[240];
} name_list;

/* shape: what follows the name; "". */
static void
add_name(name_list *list, const char *name, const char *shape)
{
  const size_t used = strlen(list->text), room = sizeof list->text - used;
  const int written = snprintf(list->text + used, room, "%s'%s'%s", list->n > 0 ? ", " : "", name, shape);

  if (written < 0 || (size_t)written >= room) {
    list->text[used] = '\0';
    list->hidden++;
  }
  list->n++;
}

static void
add_list(char *message, size_t size, const char *what, const name_list *list)
{
  const size_t used = strlen(message);
  char more[40] = "";

  if (list->n == 0)
    return;
  if (list->hidden > 0)
    snprintf(more, sizeof more, " and %zu more", list->hidden);
  snprintf(message + used, size - used, "%s%s: %s%s", used > 0 ? "; " : "", what, list->text, more);
}

/* "3 x 4"; "1 number" of a scalar. */
static void
write_shape(char *text, size_t size, const size_t *dims, size_t rank)
{
  size_t used = 0;

  snprintf(text, size, "%s", rank == 0 ? "1 number" : "");
  for (size_t k = 0; k < rank && used + 24 < size; k++)
    used += (size_t)snprintf(text + used, size - used, "%s%zu", k > 0 ? " x " : "", dims[k]);
}

static void
add_shapes(name_list *list, const clarke_parameter *p, const clarke_tensor *t)
{
  const bool transposed = has_floats(t) && p->rank == 2 && t->rank == 2 && p->dims[0] == t->dims[1] &&
                          p->dims[1] == t->dims[0];
  char have[80], want[80], text[240];

  write_shape(have, sizeof have, t->dims, t->rank);
  write_shape(want, sizeof want, p->dims, p->rank);
  snprintf(text, sizeof text, " (%s%s, not %s%s%s)", have, !has_floats(t) ? " integers" : "", want,
           !has_floats(t) ? " floats" : "", transposed ? ": an exporter turned it" : "");
  add_name(list, p->name, text);
}

/* Exporters fold a BatchNormalization into the weights before it: then its statistics are no parameters. */
static const char *
folded_hint(const char *strange)
{
  const bool statistic = clarke_ends_with(strange, ".running_mean") || clarke_ends_with(strange, ".running_var");

  return statistic ? ". Where the export folded BatchNormalization into other weights, torch.onnx.export(model, x, \"net.onnx\", dynamo=True, "
                     "optimize=False) keeps it" : "";
}

/* Every parameter has a tensor of its shape, and every tensor of floats is one's. */
static clarke_status
check_fit(const clarke_graph *g, const clarke_tensor *tensors, size_t n, const char *file, clarke_error *err)
{
  name_list missing = {0}, strange = {0}, other = {0}, twice = {0}, compared = {0};
  char message[900] = "";
  const char *hint = "";

  for (size_t i = 0; i < g->n_parameters; i++) {
    const clarke_tensor *t = tensor_named(tensors, n, g->parameters[i].name);

    if (t == NULL)
      add_name(&missing, g->parameters[i].name, "");
    else if (!has_floats(t) || !same_shape(&g->parameters[i], t))
      add_shapes(&other, &g->parameters[i], t);
    else if (g->parameters[i].compared && !same_entries(&g->parameters[i], t))
      add_name(&compared, t->name, "");
    if (i > 0 && strcmp(g->parameters[i].name, g->parameters[i - 1].name) == 0) /* they are in order */
      add_name(&twice, g->parameters[i].name, "");
  }
  for (size_t i = 0; i < n; i++) {
    bool found = !has_floats(&tensors[i]);

    for (size_t p = 0; p < g->n_parameters && !found; p++)
      found = strcmp(g->parameters[p].name, tensors[i].name) == 0;
    if (!found)
      add_name(&strange, tensors[i].name, "");
    if (!found && *hint == '\0')
      hint = folded_hint(tensors[i].name);
  }
  add_list(message, sizeof message, "missing", &missing);
  add_list(message, sizeof message, "no parameters of it", &strange);
  add_list(message, sizeof message, "of another shape", &other);
  add_list(message, sizeof message, "compared in the model, and so to keep its entries", &compared);
  add_list(message, sizeof message, "a weight and a statistic of BatchNormalization, which one tensor cannot replace (export the "
           "checkpoint itself)", &twice);
  return *message == '\0' ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "%s does not fit %s: %s%s", file, g->file, message, hint);
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
  clarke_status status = check_fit(g, tensors, n, file, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < g->n_parameters; i++) {
    clarke_parameter *p = &g->parameters[i];
    const clarke_tensor *t = tensor_named(tensors, n, p->name);

    for (size_t e = 0; e < p->count; e++)
      p->real[e] = entry_of(t, e);
  }
  refresh_constants(g);
  return check_divisors(g, file, err);
}

/* The parameter of that name: of two the weight, not the statistic. */
static size_t
parameter_named(const clarke_graph *g, const char *name)
{
  size_t found = g->n_parameters;

  for (size_t i = 0; i < g->n_parameters; i++)
    if (strcmp(g->parameters[i].name, name) == 0 && (found == g->n_parameters || !g->parameters[i].statistic))
      found = i;
  return found;
}

/* The constant a step reads besides its activations: CLARKE_NONE when it has none. */
static size_t
inner_constant(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE       ? s->dense.weight
         : s->kind == CLARKE_PIECEWISE ? s->pieces.slope
                                       : CLARKE_NONE;
}

bool
clarke_graph_carries(const clarke_graph *g, const clarke_step *s, const bool *carries)
{
  const size_t c = inner_constant(s);
  bool any = c != CLARKE_NONE && clarke_value_is_wrt(g, c);

  for (size_t k = 0; k < s->n_in; k++)
    any = any || carries[s->in[k].value] || clarke_value_is_wrt(g, s->in[k].value);
  return any && !clarke_step_jumps(s);
}

clarke_status
clarke_graph_mark_still(clarke_graph *g, clarke_error *err)
{
  bool *carries = calloc(g->n_values + 1, sizeof *carries);

  if (carries == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps; i++) {
    clarke_step *s = &g->steps[i];

    carries[s->out] = clarke_graph_carries(g, s, carries);
    s->still = clarke_step_jumps(s) && !carries[s->in[0].value];
  }
  free(carries);
  return CLARKE_OK;
}

clarke_status
clarke_graph_wrt(clarke_graph *g, char *const *names, size_t n, clarke_error *err)
{
  for (size_t i = 0; i < g->n_parameters; i++)
    g->parameters[i].wrt = n == 0 && !g->parameters[i].statistic;
  for (size_t k = 0; k < n; k++) {
    const size_t i = parameter_named(g, names[k]);

    if (i == g->n_parameters)
      return clarke_fail(err, CLARKE_EINPUT, "%s has no parameter '%s'", g->file, names[k]);
    if (g->parameters[i].statistic)
      return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is a statistic of BatchNormalization, not a "
                         "parameter", g->file, names[k]);
    if (g->parameters[i].wrt)
      return clarke_fail(err, CLARKE_EINPUT, "%s: parameter '%s' is named twice", g->file, names[k]);
    g->parameters[i].wrt = true;
  }
  return clarke_graph_mark_still(g, err);
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

/* Does some step multiply by the constant, or by what it was rearranged to, as by a matrix? */
static bool
is_matrix(const clarke_graph *g, size_t constant)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    size_t v = g->steps[i].dense.weight;

    if (g->steps[i].kind != CLARKE_DENSE)
      continue;
    while (g->values[v].made_of != CLARKE_NONE)
      v = g->values[v].made_of;
    if (v == constant)
      return true;
  }
  return false;
}

size_t
clarke_graph_constants(const clarke_graph *g, bool matrices, const char **name, size_t most)
{
  size_t found = 0;

  for (size_t v = 0; v < g->n_values; v++) {
    const clarke_value *c = &g->values[v];

    if (!c->weight || c->count < 2 || c->name == NULL || (matrices && !is_matrix(g, v)))
      continue;
    if (found++ < most)
      name[found - 1] = c->name;
  }
  return found;
}

#define MOST_OFFERED 64

/* Constant nodes may be weights all the same, but which of them are not mere numbers the file does not say. */
clarke_status
clarke_graph_check_wrt(const clarke_graph *g, clarke_error *err)
{
  const char *name[MOST_OFFERED];
  char list[680] = "";
  size_t found, told = 0, at = 0;

  if (clarke_graph_wrt_count(g) > 0)
    return CLARKE_OK;
  found = clarke_graph_constants(g, false, name, MOST_OFFERED);
  for (; told < found && told < MOST_OFFERED && at + strlen(name[told]) + 2 < sizeof list; told++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", told > 0 ? "," : "", name[told]);
  if (found == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s has no parameters: no floating-point initializer is used as a weight, and nothing can be asked "
                       "about it", g->file);
  return clarke_fail(err, CLARKE_EINPUT, "%s has no parameters: no floating-point initializer is used as a weight. %zu Constant node%s of several "
                     "floats %s. Name those that are parameters: --wrt %s%s (docs/operators.md, \"Weights that are Constant nodes\")",
                     g->file, found, found == 1 ? "" : "s", found == 1 ? "is" : "are", list, found > told ? ",..." : "");
}

bool
clarke_value_is_wrt(const clarke_graph *g, size_t value)
{
  const clarke_value *v = &g->values[value];

  return v->constant && v->parameter != CLARKE_NONE && g->parameters[v->parameter].wrt;
}

/* The activation that a step hands on, moved or with constants added that are not in wrt: its value, or CLARKE_NONE. */
static size_t
passed_through(const clarke_graph *g, const clarke_step *s)
{
  size_t from = CLARKE_NONE;

  if (s->kind != CLARKE_GATHER && s->kind != CLARKE_SUM)
    return CLARKE_NONE;
  for (size_t k = 0; k < s->n_in; k++) {
    const size_t value = s->in[k].value;

    if (g->values[value].constant ? clarke_value_is_wrt(g, value) : from != CLARKE_NONE)
      return CLARKE_NONE;
    if (!g->values[value].constant)
      from = value;
  }
  return from;
}

size_t
clarke_graph_inner(const clarke_graph *g, size_t step)
{
  size_t before = g->values[g->steps[step].in[0].value].producer;

  if (g->steps[step].kind != CLARKE_MAX)
    return CLARKE_NONE;
  while (before != CLARKE_NONE && g->steps[before].kind != CLARKE_PIECEWISE) {
    const size_t from = passed_through(g, &g->steps[before]);

    before = from != CLARKE_NONE ? g->values[from].producer : CLARKE_NONE;
  }
  return before;
}

bool
clarke_graph_couples(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_NORMALIZE && g->steps[i].grouping.couples)
      return true;
  return false;
}

bool
clarke_graph_has_domain(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_step_has_domain(&g->steps[i]))
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

    needed[s->out] = needed[s->out] || clarke_step_has_domain(s);
    if (!needed[s->out] && !clarke_step_has_kinks(s))
      continue;
    for (size_t k = 0; k < s->n_in; k++)
      needed[s->in[k].value] = true;
  }
}

void
clarke_graph_last_uses(size_t *last, const clarke_graph *g, const bool *needed)
{
  for (size_t v = 0; v < g->n_values; v++)
    last[v] = CLARKE_NONE;
  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in && (needed == NULL || needed[g->steps[i].out]); k++)
      last[g->steps[i].in[k].value] = i;
}

void
clarke_graph_defer_gathers(const clarke_step **deferred, size_t *last, const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t reader = last[s->out], source = s->in[0].value;
    size_t readers = 0;

    if (s->kind != CLARKE_GATHER || reader == CLARKE_NONE || g->steps[reader].kind != CLARKE_DENSE)
      continue;
    for (size_t k = i + 1; k <= reader; k++)
      for (size_t o = 0; o < g->steps[k].n_in; o++)
        readers += g->steps[k].in[o].value == s->out;
    if (readers != 1)
      continue;
    deferred[s->out] = s;
    if (last[source] < reader)
      last[source] = reader;
  }
}
