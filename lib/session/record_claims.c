/* What run.json says of a step, beside what the record's own files show (record.h). */
#include "session/record.h"

#include "base/text.h"
#include "session/names.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  clarke_dtype dtype;
  const char *name;
} type[] = {{CLARKE_BF16, "bfloat16"}, {CLARKE_F16, "float16"}, {CLARKE_F32, "float32"}, {CLARKE_F64, "float64"}};

#define TYPES (sizeof type / sizeof *type)

clarke_status
clarke_record_tell(clarke_record *r, clarke_error *err, const char *format, ...)
{
  char **grown = realloc(r->claim, (r->n_claims + 1) * sizeof *grown);
  va_list args;

  if (grown == NULL)
    return clarke_no_memory(err);
  r->claim = grown;
  va_start(args, format);
  grown[r->n_claims] = clarke_text_vprint(format, args);
  va_end(args);
  if (grown[r->n_claims] == NULL)
    return clarke_no_memory(err);
  r->n_claims++;
  return CLARKE_OK;
}

static bool
starts(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

/* --- types --- */

/* Is a tensor of the type among what was computed? (Buffers are kept, not computed with.) */
static bool
shows(const clarke_record *r, clarke_dtype dtype)
{
  bool shown = false;

  for (size_t t = 0; t < r->gradients.n; t++)
    shown = shown || r->gradients.tensor[t].dtype == dtype;
  for (size_t t = 0; t < r->trace.n; t++)
    if (starts(r->trace.tensor[t].name, "output/") || starts(r->trace.tensor[t].name, "gradient/"))
      shown = shown || r->trace.tensor[t].dtype == dtype;
  return shown;
}

static bool
is_told(const clarke_record *r, const char *type_name)
{
  return clarke_names_have(r->run.dtype, r->run.n_dtypes, type_name);
}

/* Is some step a convolution's sum of products, or a matrix product's? */
static bool
has_products(const clarke_graph *g, bool conv)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    if ((s->kind == CLARKE_DENSE || s->kind == CLARKE_PRODUCT)
        && (conv ? clarke_roundoff_convolves : clarke_roundoff_contracts)(s->op->name))
      return true;
  }
  return false;
}

const char *
clarke_record_factors(const clarke_record *r, bool conv)
{
  static const char *const name[] = {NULL, "TF32", "bfloat16", "TF32 or bfloat16", "float16", "TF32 or float16", "bfloat16 or float16",
                                     "TF32, bfloat16 or float16"};

  return name[conv ? r->run.conv : r->run.matmul];
}

static clarke_status
claim_factors(clarke_record *r, const clarke_graph *g, bool conv, clarke_error *err)
{
  const char *factors = clarke_record_factors(r, conv);

  if (factors == NULL || !is_told(r, "float32") || !has_products(g, conv))
    return CLARKE_OK;
  r->widened = true;
  return clarke_record_tell(r, err, "settings that round float32 factors of %s to %s", conv ? "convolutions" : "matrix products", factors);
}

static clarke_status
claim_types(clarke_record *r, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *r->types = '\0';
  for (size_t i = 0; i < TYPES && status == CLARKE_OK; i++) {
    const bool shown = shows(r, type[i].dtype);

    if (shown && *r->types != '\0')
      strcat(r->types, ", ");
    if (shown)
      strcat(r->types, type[i].name);
    if (shown || !is_told(r, type[i].name))
      continue;
    if (r->step->trace.name != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s: run.json says that numbers of type %s were computed; no tensor of the trace is of it",
                         r->folder, type[i].name);
    r->widened = true;
    status = clarke_record_tell(r, err, "numbers of type %s", type[i].name);
  }
  if (status == CLARKE_OK)
    status = claim_factors(r, g, false, err);
  return status == CLARKE_OK ? claim_factors(r, g, true, err) : status;
}

/* oneDNN adds up in float32 what it multiplies of narrower factors. What a tensor core keeps of its sums is not told: there all is
 * bounded as if it was computed in the narrow type. So it is of float16, whose range is smaller. */
static void
add_factors(clarke_rounding *by, double *factor, unsigned to, bool cpu)
{
  if (to & CLARKE_TO_TF32 && cpu)
    *factor = fmax(*factor, 0x1p-11);
  else if (to & CLARKE_TO_TF32)
    clarke_rounding_add_type(by, "tf32");
  if (to & CLARKE_TO_BF16 && cpu)
    *factor = fmax(*factor, 0x1p-8);
  else if (to & CLARKE_TO_BF16)
    clarke_rounding_add_type(by, "bfloat16");
  if (to & CLARKE_TO_F16)
    clarke_rounding_add_type(by, "float16");
}

clarke_status
clarke_record_rounding(clarke_rounding *by, const clarke_record *r, const clarke_graph *g, bool claimed, clarke_error *err)
{
  const clarke_run_description *run = &r->run;
  const bool single = claimed && is_told(r, "float32");
  clarke_rounding any = {0};

  memset(by, 0, sizeof *by);
  for (size_t i = 0; i < run->n_dtypes; i++)
    if (!clarke_rounding_add_type(&any, run->dtype[i]))
      return clarke_fail(err, CLARKE_EINPUT, "%s: run.json: numbers of type '%s' are not known", r->folder, run->dtype[i]);
  for (size_t i = 0; i < TYPES; i++)
    if (shows(r, type[i].dtype) || (claimed && is_told(r, type[i].name)))
      clarke_rounding_add_type(by, type[i].name);
  if (single && has_products(g, false))
    add_factors(by, &by->matmul, run->matmul, run->cpu);
  if (single && has_products(g, true))
    add_factors(by, &by->conv, run->conv, run->cpu);
  return CLARKE_OK;
}

/* --- parameters --- */

static bool
is_trained(const clarke_record *r, const char *name)
{
  return clarke_names_have(r->run.parameter, r->run.n_parameters, name);
}

/* A gradient that autograd made is of what is trained. */
static clarke_status
check_gradients(const clarke_record *r, const clarke_audit_session *s, clarke_error *err)
{
  const clarke_graph *g = &s->graph;

  for (size_t t = 0; t < r->gradients.n; t++)
    if (!is_trained(r, r->gradients.tensor[t].name))
      return clarke_fail(err, CLARKE_EINPUT, "%s: %s has a gradient of '%s', which run.json does not count among the parameters", r->folder,
                         r->step->gradients.name, r->gradients.tensor[t].name);
  for (size_t v = 0; v < g->n_values; v++) {
    const clarke_value *value = &g->values[v];
    char name[4096];

    if (!value->constant || value->name == NULL || value->parameter == CLARKE_NONE
        || is_trained(r, g->parameters[value->parameter].name))
      continue;
    snprintf(name, sizeof name, "gradient/%.4000s", value->name);
    if (clarke_tensors_find(&r->trace, name) != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "%s: the trace has a gradient in '%s', which is made of '%s'; run.json does not count that "
                         "among the parameters", r->folder, value->name, g->parameters[value->parameter].name);
  }
  return CLARKE_OK;
}

static clarke_status
claim_untrained(clarke_record *r, const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < s->graph.n_parameters && status == CLARKE_OK; p++)
    if (!is_trained(r, s->graph.parameters[p].name))
      status = clarke_record_tell(r, err, "%s is not trained", s->graph.parameters[p].name);
  return status;
}

/* AD's numbers at kinks are those of the version that ran, or were measured of it. */
static clarke_status
claim_profile(clarke_record *r, clarke_error *err)
{
  static const char name[] = "pytorch-";
  const clarke_run_description *run = &r->run;
  const char *of = starts(run->profile, name) ? run->profile + strlen(name) : "";
  const size_t n = strlen(of);

  if (!clarke_profile_known(run->profile))
    return clarke_record_tell(r, err, "the profile %s: of %s %s none is known, and it was measured when the step was recorded", run->profile,
                              run->framework, run->version);
  if (strcmp(run->framework, "torch") == 0 && (!starts(run->version, of) || (run->version[n] != '.' && run->version[n] != '\0')))
    return clarke_record_tell(r, err, "the profile %s, which is not that of %s %s", run->profile, run->framework, run->version);
  return CLARKE_OK;
}

clarke_status
clarke_record_claims(clarke_record *r, const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = claim_types(r, &s->graph, err);

  if (status == CLARKE_OK)
    status = claim_profile(r, err);
  if (status == CLARKE_OK)
    status = check_gradients(r, s, err);
  if (status == CLARKE_OK)
    status = claim_untrained(r, s, err);
  for (size_t i = 0; i < r->run.n_constants && status == CLARKE_OK; i++)
    status = clarke_record_tell(r, err, "%s", r->run.constant[i]);
  if (status == CLARKE_OK && mpq_cmp_ui(r->step->scale, 1, 1) != 0) {
    char *scale = mpq_get_str(NULL, 10, r->step->scale);
    void (*freed)(void *, size_t);

    status = clarke_record_tell(r, err, "a loss scale of %s", scale);
    mp_get_memory_functions(NULL, NULL, &freed);
    freed(scale, strlen(scale) + 1);
  }
  return status;
}
