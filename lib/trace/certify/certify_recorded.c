/* What was recorded, and what is judged by it (certify.h). */
#include "trace/certify/certify.h"

#include "base/room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Winograd's and FFT's convolutions are off by, in parts of the largest bound: they mix what lies side by side. */
#define MIXED 0x1p10

/* Tensors of longer names are taken for not recorded. */
#define LONGEST_NAME 4096

static const clarke_tensor *
look_up(const clarke_certify *c, const char *part, const char *name)
{
  char full[LONGEST_NAME];

  if ((size_t)snprintf(full, sizeof full, "%s/%s", part, name) >= sizeof full)
    return NULL;
  return clarke_tensors_find(c->trace, full);
}

bool
clarke_certify_has(const clarke_certify *c, const char *part, const char *name)
{
  return look_up(c, part, name) != NULL;
}

clarke_tensor *
clarke_certify_find(clarke_certify *c, const char *part, const char *name)
{
  const clarke_tensor *t = look_up(c, part, name);

  if (t == NULL)
    return NULL;
  c->seen[t - c->trace->tensor] = true;
  return &c->trace->tensor[t - c->trace->tensor];
}

clarke_status
clarke_certify_unpack(clarke_certify *c, const char *part, const char *name, clarke_error *err)
{
  clarke_tensor *t = name != NULL ? clarke_certify_find(c, part, name) : NULL;

  return t != NULL ? clarke_tensor_unpack(t, err) : CLARKE_OK;
}

bool
clarke_certify_is_recorded(const clarke_certify *c, size_t v)
{
  const clarke_value *value = &c->g->values[v];

  return c->recorded[v] != NULL
         || (!value->constant && value->name != NULL && v != c->g->input && clarke_certify_has(c, "output", value->name));
}

clarke_certificate *
clarke_certify_add(clarke_certify *c, clarke_part part, const char *name, const char *op, clarke_error *err)
{
  if (!clarke_room(&c->certificate, &c->capacity, c->n + 1, sizeof *c->certificate)) {
    clarke_no_memory(err);
    return NULL;
  }
  if (clarke_certificate_init(&c->certificate[c->n], part, name, op, err) != CLARKE_OK)
    return NULL;
  return &c->certificate[c->n++];
}

/* No sum of products is so far off; where several entries are, and no farther than that, those algorithms may be why. */
static clarke_status
soften(clarke_certificate *c, clarke_error *err)
{
  if (c->certainty != CLARKE_IS_REFUTED || c->beyond < 2 || !(c->farthest <= MIXED * c->widest))
    return CLARKE_OK;
  return clarke_certificate_say(c, CLARKE_NOT_CERTIFIED, err, "%zu entries are no sums of a convolution's products in any order; "
                                "Winograd's and FFT's algorithms make such", c->beyond);
}

clarke_status
clarke_certify_replace(double **error, clarke_certify *c, clarke_certificate *to, const clarke_tensor *t, clarke_matrix *m,
                       const double *bound, bool conv, clarke_error *err)
{
  const size_t rows = m->rows, cols = m->cols;
  double *numbers = malloc((rows * cols + 1) * sizeof *numbers);
  clarke_status status = numbers != NULL ? clarke_certificate_judge(to, t, m, bound, err) : clarke_no_memory(err);

  *error = calloc(rows * cols + 1, sizeof **error);
  if (status == CLARKE_OK && *error == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK && conv)
    status = soften(to, err);
  for (size_t k = 0; k < t->count && status == CLARKE_OK; k++) {
    const size_t e = k % rows * cols + k / rows;

    numbers[e] = t->real[k];
    (*error)[e] = fabs(t->real[k]) < c->by.tiny ? fabs(t->real[k]) : 0;
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_doubles(m, rows, cols, numbers, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_trim(m, err);
  free(numbers);
  return status;
}

bool
clarke_certify_is_loss(clarke_certify *c, size_t step)
{
  const clarke_step *s = &c->g->steps[step];

  return s->out == c->g->output && c->loss->kind == CLARKE_LOSS_SUM && strcmp(s->op->name, "Div") == 0
         && clarke_certify_find(c, "output", c->g->values[s->out].name) == NULL
         && clarke_certify_find(c, "gradient", c->g->values[s->out].name) == NULL;
}

/* Does each entry of a sum have one operand at most, and is it that? */
static bool
picks(const clarke_graph *g, const clarke_step *s)
{
  for (size_t f = 0; f < g->values[s->out].count; f++) {
    size_t terms = 0;

    for (size_t k = 0; k < s->n_in; k++)
      terms += clarke_operand_entry(&s->in[k], f) != CLARKE_NONE;
    if (terms > 1)
      return false;
  }
  for (size_t k = 0; k < s->n_in; k++)
    if (s->in[k].coef != 1)
      return false;
  return true;
}

bool
clarke_certify_is_passed_on(const clarke_certify *c, size_t value)
{
  const size_t producer = c->g->values[value].producer;
  const clarke_step *s = producer != CLARKE_NONE ? &c->g->steps[producer] : NULL;

  return s != NULL && !clarke_certify_is_recorded(c, value) && (s->kind == CLARKE_GATHER || (s->kind == CLARKE_SUM && picks(c->g, s)));
}

static bool
is_wide_conv(const clarke_graph *g, const clarke_step *s)
{
  const clarke_value *w;
  size_t taps = 1;

  if (strncmp(s->op->name, "Conv", 4) != 0 || s->kind != CLARKE_DENSE)
    return false;
  w = &g->values[s->dense.weight];
  for (size_t a = 2; a < w->rank; a++)
    taps *= w->dims[a];
  return taps > 1;
}

static bool
any_wide_conv(const clarke_graph *g, size_t node)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].node == node && is_wide_conv(g, &g->steps[i]))
      return true;
  return false;
}

bool
clarke_certify_made_by_conv(const clarke_graph *g, size_t value)
{
  const size_t producer = g->values[value].producer;

  return producer != CLARKE_NONE && any_wide_conv(g, g->steps[producer].node);
}

/* Is it the value, or was it made of it? */
static bool
shows(const clarke_graph *g, size_t constant, size_t value)
{
  while (constant != value && g->values[constant].made_of != CLARKE_NONE)
    constant = g->values[constant].made_of;
  return constant == value;
}

bool
clarke_certify_read_by_conv(const clarke_graph *g, size_t value)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    bool reads = s->kind == CLARKE_DENSE && shows(g, s->dense.weight, value);

    for (size_t k = 0; k < s->n_in; k++)
      reads = reads || shows(g, s->in[k].value, value);
    if (reads && any_wide_conv(g, s->node))
      return true;
  }
  return false;
}
