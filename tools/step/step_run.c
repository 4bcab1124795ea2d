#include "step_run.h"

#include "base/stop.h"
#include "command.h"
#include "session/json.h"
#include "step_run_inside.h"
#include "watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a parameter's tensors --------------------------------------------------------------------------------- */

/* What optimizers call the parts of their state. */
static const clarke_tensor *
slot_tensor(const clarke_tensors *ts, const char *part, int slot, const char *name)
{
  static const char *const names[CLARKE_N_SLOTS][6] = {
    [CLARKE_SLOT_PSI] = {"psi", NULL}, [CLARKE_SLOT_M] = {"exp_avg", "momentum_buffer", "m", NULL},
    [CLARKE_SLOT_V] = {"exp_avg_sq", "square_avg", "sum", "v", "variance", NULL}, [CLARKE_SLOT_U] = {"acc_delta", "exp_inf", NULL},
    [CLARKE_SLOT_PREV] = {"prev", NULL}, [CLARKE_SLOT_SIZE] = {"step_size", NULL}, [CLARKE_SLOT_AX] = {"ax", NULL},
    [CLARKE_SLOT_ROW] = {"row_var", NULL}, [CLARKE_SLOT_COL] = {"col_var", NULL}};
  const clarke_tensor *found = NULL;

  for (const char *const *one = names[slot]; *one != NULL && found == NULL; one++)
    found = clarke_update_tensor(ts, part, *one, name);
  return found;
}

/* A number of its own beside the tensors. */
static bool
scalar_of(double *to, const clarke_tensors *ts, const char *part, const char *slot, const char *name)
{
  const clarke_tensor *t = clarke_update_tensor(ts, part, slot, name);

  if (t == NULL || t->count != 1)
    return false;
  *to = t->real != NULL ? t->real[0] : (double)t->integer[0];
  return true;
}

/* One of the parameter's tensors, which is like theta. */
static clarke_status
take_tensor(const double **to, const clarke_tensor *t, const clarke_tensor *theta, const char *what, const char *name, clarke_error *err)
{
  if (t->real == NULL || t->dtype != theta->dtype)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s is %s, the parameter %s; a step in several types has no bound here", name, what,
                       clarke_dtype_name(t->dtype), clarke_dtype_name(theta->dtype));
  if (t->rank != theta->rank || memcmp(t->dims, theta->dims, t->rank * sizeof *t->dims) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s has another shape than the parameter (%zu entries, %zu)", name, what, t->count, theta->count);
  *to = t->real;
  return CLARKE_OK;
}

/* Averages of rows, or of columns, which have one entry for each. */
static clarke_status
take_factor(const double **to, const clarke_tensor *t, int slot, const clarke_step_parameter *p, clarke_error *err)
{
  const clarke_tensor *theta = p->theta;
  const size_t gone = slot == CLARKE_SLOT_ROW ? 1 : 2; /* that axis, from the end, has one entry */
  bool alike = t->real != NULL && t->dtype == theta->dtype && t->rank == theta->rank && t->rank >= 2;

  for (size_t i = 0; alike && i < t->rank; i++)
    alike = t->dims[i] == (i + gone == t->rank ? 1 : theta->dims[i]);
  if (!alike)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s has another type or shape than the parameter's %s have", p->name, clarke_slot_names[slot],
                       slot == CLARKE_SLOT_ROW ? "rows" : "columns");
  *to = t->real;
  return CLARKE_OK;
}

/* The steps that were made before: of the state, or 0 where it is empty; and was one made? */
static clarke_status
read_count(clarke_step_parameter *p, const clarke_run *r, bool has_slots, clarke_error *err)
{
  const clarke_tensors *ts = &r->record.update;
  double before = 0, after = 0;
  const bool counted = scalar_of(&before, ts, "before", "step", p->name), ends = scalar_of(&after, ts, "after", "step", p->name);

  if (before < 0 || before != floor(before) || before > 0x1p40)
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'step' before is %g, no number of steps", p->name, before);
  p->k = counted ? (size_t)before : has_slots ? 1 : 0;
  p->miscounted = ends && after != before + 1 ? "step" : NULL;
  p->counted[0] = before;
  p->counted[1] = after;
  if (!counted && has_slots && ends)
    return clarke_fail(err, CLARKE_EINPUT, "%s: the state before has no 'step', the state after has", p->name);
  return CLARKE_OK;
}

static clarke_status
take_slots(clarke_step_parameter *p, const clarke_run *r, const clarke_tensor *theta, clarke_error *err)
{
  static const char *const parts[] = {"before", "after"};
  bool any = false;
  clarke_status status = CLARKE_OK;

  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    for (int when = 0; when < 2 && status == CLARKE_OK; when++) {
      const clarke_tensor *t = slot_tensor(&r->record.update, parts[when], s, p->name);

      any = any || (t != NULL && when == 0);
      if (t != NULL)
        status = s >= CLARKE_SLOT_ROW ? take_factor(&p->tensor.slot[when][s], t, s, p, err)
                                      : take_tensor(&p->tensor.slot[when][s], t, theta, clarke_slot_names[s], p->name, err);
    }
  return status == CLARKE_OK ? read_count(p, r, any, err) : status;
}

/* Does the step leave such a slot behind? m only where there is momentum: a number that is not 0, or one that grows. */
static bool
leaves(const clarke_step_settings *s, const clarke_step_shape *shape, int slot)
{
  return clarke_shape_has(shape, s->rule, slot)
         && (slot != CLARKE_SLOT_M || s->rule->whole != NULL || clarke_rule_grows(s->rule, &s->hypers) || !clarke_rule_takes(s->rule, CLARKE_HYPER_MOMENTUM)
             || mpq_sgn(s->hypers.of[CLARKE_HYPER_MOMENTUM]) != 0);
}

/* A slot that the step leaves behind must have been there before it, unless it is the first. */
static clarke_status
check_slots(const clarke_step_parameter *p, const clarke_step_settings *settings, clarke_error *err)
{
  for (int s = 0; s < CLARKE_N_SLOTS; s++) {
    if (!leaves(settings, &p->tensor.shape, s))
      continue;
    if (p->tensor.slot[1][s] == NULL)
      return clarke_fail(err, CLARKE_EINPUT, "'%s' after the step is missing; %s has it", clarke_slot_names[s], settings->rule->name);
    if (p->tensor.slot[0][s] == NULL && p->k > 0)
      return clarke_fail(err, CLARKE_EINPUT, "'%s' before the step is missing; %s has it after %zu steps", clarke_slot_names[s],
                         settings->rule->name, p->k);
  }
  return CLARKE_OK;
}

/* How often a sparse gradient has each entry. What it does not have is 0. */
static clarke_status
take_sparse(clarke_step_parameter *p, const clarke_run *r, const clarke_tensor *theta, clarke_error *err)
{
  const clarke_tensor *times = clarke_update_tensor(&r->record.update, "times", NULL, p->name);
  const clarke_tensor *sizes = clarke_update_tensor(&r->record.update, "sizes", NULL, p->name);

  if (times == NULL)
    return CLARKE_OK;
  if (times->integer == NULL || times->count != theta->count || (sizes != NULL && (sizes->real == NULL || sizes->count != theta->count)))
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'times' or 'sizes' of its sparse gradient are of another type or shape", p->name);
  for (size_t i = 0; i < times->count; i++)
    if (times->integer[i] < 0 || times->integer[i] > (int64_t)1 << 40 || (times->integer[i] == 0 && p->tensor.gradient != NULL && p->tensor.gradient[i] != 0)
        || (times->integer[i] > 1 && (sizes == NULL || sizes->real[i] < 0)))
      return clarke_fail(err, CLARKE_EINPUT, "%s: entry %zu of its sparse gradient is there %lld times, its number or the sum of sizes does not suit that",
                         p->name, i, (long long)times->integer[i]);
  p->tensor.times = times->integer;
  p->tensor.sizes = sizes != NULL ? sizes->real : NULL;
  return CLARKE_OK;
}

static clarke_status
take_parameter(clarke_step_parameter *p, clarke_run *r, const char *name, size_t group, clarke_error *err)
{
  const clarke_tensors *ts = &r->record.update;
  const clarke_tensor *theta = clarke_update_tensor(ts, "before", "theta", name), *end = clarke_update_tensor(ts, "after", "theta", name);
  const clarke_tensor *g = clarke_update_tensor(ts, "gradient", NULL, name);
  clarke_status status;

  *p = (clarke_step_parameter){.name = name, .group = group, .theta = theta};
  if (theta == NULL || end == NULL || (g == NULL && !r->record.step->update.found_inf))
    return clarke_fail(err, CLARKE_EINPUT, "%s: %s is missing in %s", name,
                       theta == NULL ? "theta before" : end == NULL ? "theta after" : "the gradient", r->record.step->optimizer.name);
  if (theta->real == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: its type is %s; floats are expected", name, clarke_dtype_name(theta->dtype));
  p->tensor.n = theta->count;
  p->tensor.shape = clarke_step_shape_of(theta->dims, theta->rank);
  status = take_tensor(&p->tensor.theta[0], theta, theta, "theta before", name, err);
  if (status == CLARKE_OK)
    status = take_tensor(&p->tensor.theta[1], end, theta, "theta after", name, err);
  if (status == CLARKE_OK && g != NULL)
    status = take_tensor(&p->tensor.gradient, g, theta, "the gradient", name, err);
  if (status == CLARKE_OK)
    status = take_sparse(p, r, theta, err);
  return status == CLARKE_OK ? take_slots(p, r, theta, err) : status;
}

/* Every parameter of the file is in one group: what is in none would not be judged. */
static clarke_status
check_listed(const clarke_run *r, clarke_error *err)
{
  static const char part[] = "after/theta/";
  const clarke_tensors *ts = &r->record.update;

  for (size_t i = 0; i < ts->n; i++) {
    const bool is_theta = strncmp(ts->tensor[i].name, part, strlen(part)) == 0;
    size_t listed = 0;

    for (size_t k = 0; is_theta && k < r->n; k++)
      listed += strcmp(r->parameter[k].name, ts->tensor[i].name + strlen(part)) == 0;
    if (is_theta && listed != 1)
      return clarke_fail(err, CLARKE_EINPUT, "%s is in %zu groups of run.json; it was stepped in one", ts->tensor[i].name + strlen(part), listed);
  }
  return CLARKE_OK;
}

static clarke_status
take_parameters(clarke_run *r, clarke_error *err)
{
  const clarke_run_update *u = &r->record.step->update;
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  for (size_t g = 0; g < u->n_groups; g++)
    n += u->group[g].n_parameters;
  r->parameter = calloc(n + 1, sizeof *r->parameter);
  if (r->parameter == NULL)
    return clarke_no_memory(err);
  for (size_t g = 0; g < u->n_groups; g++)
    for (size_t i = 0; i < u->group[g].n_parameters && status == CLARKE_OK; i++)
      status = take_parameter(&r->parameter[r->n++], r, u->group[g].parameter[i], g, err);
  if (status == CLARKE_OK)
    status = check_listed(r, err);
  if (status == CLARKE_OK && r->n == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "step %zu: the optimizer stepped no parameter", r->record.step->step);
  return status;
}

/* --- questions ------------------------------------------------------------------------------------------------ */

/* What programs of the tensors' type may round. Steps whose counters are on a device compute the shared numbers in float32. */
clarke_step_rounding
clarke_run_rounding(clarke_dtype dtype, bool capturable)
{
  const long scalar = capturable ? 20 : 52;

  switch (dtype) {
  case CLARKE_F16:
    return (clarke_step_rounding){.unit = 11, .tiny = 24, .scalar = scalar};
  case CLARKE_BF16:
    return (clarke_step_rounding){.unit = 8, .tiny = 126, .scalar = scalar};
  case CLARKE_F32:
    return (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = scalar};
  default:
    return (clarke_step_rounding){.unit = 53, .tiny = 1022, .scalar = scalar};
  }
}

/* Numbers of a parameter that are no slots of its entries: NAdam's product of mu, ASGD's eta and mu. All begin with 1, or lr. */
static bool
numbers_of(double number[2], const clarke_run *r, const clarke_step_parameter *p, const char *name, double start)
{
  number[0] = start;
  scalar_of(&number[0], &r->record.update, "before", name, p->name);
  return scalar_of(&number[1], &r->record.update, "after", name, p->name);
}

/* stray: that before the step is not what so many steps make of it; then what comes of it is not asked. */
static void
note_number(clarke_step_parameter *p, const char *name, const double number[2], bool stray, bool follows)
{
  if (p->miscounted != NULL || p->stray != NULL || (!stray && follows))
    return;
  p->stray = stray ? name : NULL;
  p->miscounted = stray ? NULL : name;
  memcpy(p->counted, number, sizeof p->counted);
}

static void
check_numbers(clarke_step_parameter *p, const clarke_run *r, const clarke_step_settings *s)
{
  static const char *const of_asgd[] = {"eta", "mu"};
  double number[2];

  if (strcmp(s->rule->name, "torch-nadam") == 0 && numbers_of(number, r, p, "mu_product", 1)) {
    const bool stray = !clarke_step_product_is(number[0], &s->hypers, p->k);

    note_number(p, "mu_product", number, stray, !stray && clarke_step_product_follows(number, &s->hypers, p->k));
  }
  for (int i = 0; i < 2 && strcmp(s->rule->name, "torch-asgd") == 0; i++)
    if (numbers_of(number, r, p, of_asgd[i], i == 0 ? mpq_get_d(s->hypers.of[CLARKE_HYPER_STEP]) : 1))
      note_number(p, of_asgd[i], number, !clarke_step_average_is(number[0], i == 0, &s->hypers, p->k),
                  clarke_step_average_is(number[1], i == 0, &s->hypers, p->k + 1));
}

/* ASGD keeps its step size in float32, unless PyTorch's default is another type. In a state that was loaded the tensor has the parameter's type,
 * and the number is a float32 still. */
static bool
is_short_number(const clarke_tensor *t, const double number[2])
{
  return t != NULL && (t->dtype == CLARKE_F32 || (number[0] == (double)(float)number[0] && number[1] == (double)(float)number[1]));
}

bool
clarke_run_question(clarke_step_question *q, clarke_single *single, clarke_step_settings *s, const clarke_run *r, const clarke_step_parameter *p)
{
  const clarke_run_update *u = &r->record.step->update;
  clarke_single_more more = {.lr = mpq_get_d(s->hypers.of[CLARKE_HYPER_STEP]), .lr_decay = mpq_get_d(s->lr_decay), .maximize = s->maximize, .sparse = p->tensor.times != NULL};
  const clarke_tensor *product = clarke_update_tensor(&r->record.update, "after", "mu_product", p->name);
  const clarke_tensor *of_eta = clarke_update_tensor(&r->record.update, "after", "eta", p->name);
  double eta[2], mu[2];

  numbers_of(more.product, r, p, "mu_product", 1);
  more.product_float32 = product != NULL && product->dtype == CLARKE_F32;
  numbers_of(eta, r, p, "eta", of_eta != NULL && of_eta->dtype == CLARKE_F32 ? (double)(float)more.lr : more.lr);
  numbers_of(mu, r, p, "mu", 1);
  more.eta = eta[0];
  more.mu = mu[0];
  s->hypers.rounding = clarke_run_rounding(p->theta->dtype, s->capturable);
  if (is_short_number(of_eta, eta) && !s->capturable)
    s->hypers.rounding.scalar = 24;
  *q = (clarke_step_question){.dtype = p->theta->dtype, .elsewhere = !r->record.run.cpu, .short_factors = r->record.run.matmul != 0,
                              .rule = s->rule, .hypers = &s->hypers, .k = p->k, .maximize = s->maximize, .scale = u->scaled ? u->scale : NULL};
  if (!s->capturable && !u->scaled && clarke_single_make(single, s->rule, &s->hypers, p->k, p->theta->dtype, &more))
    q->single = single;
  return q->single != NULL;
}

void
clarke_run_decay_step(clarke_step_settings *s, size_t k)
{
  mpq_t q, one;

  if (mpq_sgn(s->lr_decay) == 0)
    return;
  mpq_inits(q, one, NULL);
  mpq_set_ui(one, 1, 1);
  mpq_set_ui(q, k, 1);
  mpq_mul(q, q, s->lr_decay);
  mpq_add(q, q, one);
  mpq_div(s->hypers.of[CLARKE_HYPER_STEP], s->hypers.of[CLARKE_HYPER_STEP], q);
  mpq_clears(q, one, NULL);
}

clarke_dtype
clarke_run_first_type(const clarke_run *r, size_t group)
{
  for (size_t i = 0; i < r->n; i++)
    if (r->parameter[i].group == group)
      return r->parameter[i].theta->dtype;
  return CLARKE_F64;
}

/* Have the group's parameters several types? */
static bool
has_other_types(const clarke_run *r, size_t group)
{
  const clarke_dtype first = clarke_run_first_type(r, group);
  bool has = false;

  for (size_t i = 0; i < r->n && !has; i++)
    has = r->parameter[i].group == group && r->parameter[i].theta->dtype != first;
  return has;
}

clarke_status
clarke_run_settings(clarke_step_settings *s, const clarke_rule *rule, const clarke_run *r, const clarke_step_parameter *p, clarke_error *err)
{
  const clarke_run_group *g = &r->record.step->update.group[p->group];
  const clarke_status status = clarke_step_settings_read(s, rule, g, clarke_run_first_type(r, p->group), err);

  if (status == CLARKE_OK && rule->slot[CLARKE_SLOT_ROW] && clarke_run_setting_find(g, "eps") != NULL
      && clarke_run_setting_find(g, "eps")->lacks_first && (g->path == NULL || strcmp(g->path, "single") != 0) && has_other_types(r, p->group))
    s->unknown = "'eps' (None, of parameters of several types, by foreach: of which type it is depends on an order that is not recorded)";
  if (s->coarse == NULL && s->bits < clarke_run_rounding(p->theta->dtype, false).unit)
    s->coarse = "lr";
  return status;
}

static clarke_status
judge_parameter(clarke_run *r, clarke_step_parameter *p, clarke_error *err)
{
  clarke_step_settings s;
  clarke_step_question q;
  clarke_single single;
  clarke_status status;

  clarke_step_settings_init(&s);
  status = clarke_run_settings(&s, r->rule, r, p, err);
  if (status == CLARKE_OK)
    status = check_slots(p, &s, err);
  if (status == CLARKE_OK && s.unknown != NULL)
    r->unknown = s.unknown;
  if (s.coarse != NULL)
    r->coarse = s.coarse;
  if (status == CLARKE_OK && s.unknown == NULL) {
    clarke_run_question(&q, &single, &s, r, p);
    check_numbers(p, r, &s);
    clarke_run_decay_step(&s, p->k);
    status = clarke_step_judge(&p->finding, &q, &p->tensor, false, err);
    clarke_run_add(r, p);
  }
  clarke_step_settings_clear(&s);
  return status != CLARKE_OK ? clarke_fail_in(err, status, "%s", p->name) : status;
}

/* Has the rule all that the step left behind? Else entries would not be asked about. */
static bool
has_all(const clarke_step_parameter *p, const clarke_rule *rule)
{
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    if (p->tensor.slot[1][s] != NULL && !clarke_shape_has(&p->tensor.shape, rule, s))
      return false;
  return true;
}

/* Is this rule, or this change of it, what all entries follow? Not where the bound would let any pass. */
static clarke_status
explains(bool *is, clarke_run *r, clarke_other *wanted, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *is = true;
  for (size_t i = 0; i < r->n && *is && status == CLARKE_OK; i++) {
    clarke_step_parameter *p = &r->parameter[i];
    clarke_step_finding f = {.by_rule = NULL};
    clarke_step_settings s;
    clarke_step_question q;
    clarke_single single;
    clarke_error why = {CLARKE_OK, ""};
    clarke_other changed = *wanted, *const other = &changed;

    clarke_step_settings_init(&s);
    *is = !other->rule->evaluates && clarke_run_settings(&s, other->rule, r, p, &why) == CLARKE_OK && check_slots(p, &s, &why) == CLARKE_OK && has_all(p, other->rule)
          && clarke_shape_check(&p->tensor.shape, other->rule, &why) == CLARKE_OK
          && clarke_other_change(&s, other) && (p->k > 0 || other->later >= 0);
    if (*is) {
      clarke_run_question(&q, &single, &s, r, p);
      clarke_run_decay_step(&s, p->k);
      q.single = NULL;
      q.k = p->k + (size_t)other->later;
      q.maximize = q.maximize != other->ascends;
      status = clarke_step_judge(&f, &q, &p->tensor, true, err);
      *is = status == CLARKE_OK && f.wrong + f.open == 0 && !clarke_step_is_wide(&f, NULL);
    }
    if (*is && i + 1 == r->n)
      *wanted = changed;
    clarke_step_finding_clear(&f);
    clarke_step_settings_clear(&s);
  }
  return status;
}

/* The first of the others that explains all. */
static clarke_status
find_other(clarke_run *r, clarke_error *err)
{
  clarke_other other;
  clarke_status status = CLARKE_OK;
  bool is = false;

  for (size_t i = 0; status == CLARKE_OK && !is && clarke_other_at(&other, r->rule, i); i++)
    status = explains(&is, r, &other, err);
  if (is)
    memcpy(r->instead, other.says, sizeof r->instead);
  return status;
}

/* --- answers ---------------------------------------------------------------------------------------------------- */

/* Is a slot as it was? One that was not there before is made of zeros (`begins`), or it is not asked about. */
static bool
slot_stayed(const clarke_step_tensor *t, int slot, bool begins)
{
  const size_t n = clarke_shape_count(&t->shape, slot);
  const double *before = t->slot[0][slot], *after = t->slot[1][slot];
  bool zeros = true;

  if (before != NULL && after != NULL)
    return memcmp(before, after, n * sizeof *before) == 0;
  for (size_t i = 0; i < n && after != NULL; i++)
    zeros = zeros && after[i] == 0;
  return !begins || (before == NULL && zeros);
}

/* Did nothing change at all? skipped: the count did not, either, and slots did not come or go but as a first step's begin. */
static bool
nothing_changed(const clarke_run *r, bool skipped)
{
  for (size_t i = 0; i < r->n; i++) {
    const clarke_step_parameter *p = &r->parameter[i];
    const clarke_step_tensor *t = &p->tensor;

    if (memcmp(t->theta[0], t->theta[1], t->n * sizeof **t->theta) != 0 || (skipped && p->counted[0] != p->counted[1]))
      return false;
    for (int s = 0; s < CLARKE_N_SLOTS; s++)
      if (!slot_stayed(t, s, skipped))
        return false;
  }
  return true;
}

static void
answer_counts(clarke_run *r)
{
  if (r->sum.wrong > 0 && r->miscounted == NULL && r->coarse != NULL)
    r->answer = CLARKE_STEP_UNKNOWN;
  else if (r->sum.wrong > 0 || r->miscounted != NULL)
    r->answer = CLARKE_STEP_WRONG;
  else if (r->sum.open > 0)
    r->answer = CLARKE_STEP_OPEN;
  else if (r->stray != NULL)
    r->answer = CLARKE_STEP_STRAY;
  else if (r->wide != NULL)
    r->answer = CLARKE_STEP_WIDE;
  else
    r->answer = r->sum.within > 0 ? CLARKE_STEP_WITHIN : CLARKE_STEP_BITS;
}

/* All parameters together, which are of one group. */
static clarke_status
judge_evaluating(clarke_run *r, clarke_error *err)
{
  clarke_step_settings s;
  clarke_status status;

  if (r->record.step->update.n_groups != 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s has %zu groups; one is expected", r->rule->name, r->record.step->update.n_groups);
  clarke_step_settings_init(&s);
  status = clarke_run_settings(&s, r->rule, r, &r->parameter[0], err);
  r->unknown = s.unknown;
  if (status == CLARKE_OK && s.unknown == NULL)
    status = clarke_run_judge_lbfgs(r, &s, err);
  if (r->unknown != NULL)
    r->answer = CLARKE_STEP_UNKNOWN;
  clarke_step_settings_clear(&s);
  return status;
}

static clarke_status
judge(clarke_run *r, clarke_error *err)
{
  clarke_status status = take_parameters(r, err);

  if (status == CLARKE_OK)
    status = clarke_given_find(&r->given, &r->record, err);
  if (status == CLARKE_OK && r->rule->evaluates)
    return judge_evaluating(r, err);
  if (status == CLARKE_OK && r->record.step->update.found_inf) {
    r->answer = nothing_changed(r, true) ? CLARKE_STEP_SKIPPED : CLARKE_STEP_WRONG;
    return status;
  }
  clarke_work_begin("parameters", r->n);
  for (size_t i = 0; i < r->n && status == CLARKE_OK && r->unknown == NULL; i++) {
    status = judge_parameter(r, &r->parameter[i], err);
    clarke_work_done();
  }
  if (status != CLARKE_OK || r->unknown != NULL) {
    r->answer = CLARKE_STEP_UNKNOWN;
    return status;
  }
  answer_counts(r);
  if (r->answer == CLARKE_STEP_WRONG && nothing_changed(r, false))
    snprintf(r->instead, sizeof r->instead, "no step: nothing was changed");
  else if (r->answer == CLARKE_STEP_WRONG)
    status = find_other(r, err);
  return status;
}

/* The rule that is asked about; none: it is not known. */
static clarke_status
choose_rule(clarke_run *r, const clarke_step_request *q, clarke_error *err)
{
  r->rule = q->rule != NULL ? clarke_rule_find(q->rule) : clarke_step_rule_of(&r->record.step->update);
  if (q->rule != NULL && r->rule == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "there is no rule '%s'; clarke step list has all of them", q->rule);
  if (r->rule != NULL && r->rule != clarke_step_rule_of(&r->record.step->update)
      && (r->rule->evaluates || (clarke_step_rule_of(&r->record.step->update) != NULL && clarke_step_rule_of(&r->record.step->update)->evaluates)))
    return clarke_fail(err, CLARKE_EINPUT, "--rule %s: steps that evaluate where they go are asked about by their own rule, and others by other rules", r->rule->name);
  return CLARKE_OK;
}

/* which: of the optimizers' steps */
static clarke_status
answer(clarke_run *r, const clarke_step_request *q, size_t which, clarke_error *err)
{
  const clarke_run_update *u;
  clarke_status status = clarke_record_open_update(&r->record, q->folder, q->step, which, err);

  if (status != CLARKE_OK)
    return status;
  u = &r->record.step->update;
  if (!u->there && (which > 0 || r->record.step->n_more == 0))
    return clarke_fail(err, CLARKE_EINPUT, "step %zu has no optimizer's step: record it with clarke.record(..., optimizer=optimizer), and call "
                                           "optimizer.step() in the block or after it", r->record.step->step);
  if (!u->there) {
    r->answer = CLARKE_STEP_ABSENT;
    return CLARKE_OK;
  }
  if (u->skipped != NULL) {
    r->answer = r->record.why != NULL ? CLARKE_STEP_SKIPPED : CLARKE_STEP_NONE;
    return CLARKE_OK;
  }
  if (u->missing != NULL || r->record.step->optimizer.name == NULL) {
    r->answer = CLARKE_STEP_MISSING;
    return CLARKE_OK;
  }
  status = choose_rule(r, q, err);
  r->answer = CLARKE_STEP_UNKNOWN;
  return status == CLARKE_OK && r->rule != NULL ? judge(r, err) : status;
}

/* A rule, or a proof, is of one. */
static clarke_status
check_several(const clarke_run *r, const clarke_step_request *q, clarke_error *err)
{
  if (r->record.step->n_more > 0 && q->which == CLARKE_NONE && (q->rule != NULL || q->proof != NULL))
    return clarke_fail(err, CLARKE_EINPUT, "step %zu has %zu optimizers' steps: --%s is of one; --optimizer N says of which, from 0 on",
                       r->record.step->step, r->record.step->n_more + 1, q->rule != NULL ? "rule" : "proof");
  return CLARKE_OK;
}

/* status_of: an exit status, before and with this one's; the worst of several. n: how many there are. */
static clarke_status
answer_one(int *status_of, size_t *step, size_t *n, json_t **list, const clarke_step_request *q, size_t which, clarke_error *err)
{
  clarke_run r = {.n = 0};
  clarke_status status;
  int mine;

  clarke_record_init(&r.record);
  status = answer(&r, q, which, err);
  if (status == CLARKE_OK)
    status = check_several(&r, q, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && q->proof != NULL && r.rule != NULL && r.rule->evaluates)
    status = clarke_fail(err, CLARKE_EINPUT, "--proof: of recorded steps of %s there is no proof; clarke step %s makes one of files", r.rule->name, r.rule->name);
  if (status == CLARKE_OK && q->proof != NULL)
    status = clarke_run_prove(&r, q->proof, err);
  if (status == CLARKE_OK && r.answer != CLARKE_STEP_ABSENT) {
    status = clarke_run_print(list, &r, q->json, q->proof, err);
    mine = clarke_run_status(&r);
    *status_of = mine == EXIT_FAILS || *status_of == EXIT_HOLDS ? mine : *status_of;
  }
  if (status == CLARKE_OK) {
    *step = r.record.step->step;
    *n = 1 + r.record.step->n_more;
  }
  for (size_t i = 0; i < r.n; i++)
    clarke_step_finding_clear(&r.parameter[i].finding);
  free(r.parameter);
  clarke_record_clear(&r.record);
  return status;
}

clarke_status
clarke_step_run(int *status_of, const clarke_step_request *q, clarke_error *err)
{
  const size_t first = q->which != CLARKE_NONE ? q->which : 0;
  json_t *list = json_array();
  size_t step = 0, n = first + 1;
  clarke_status status = CLARKE_OK;

  *status_of = EXIT_HOLDS;
  for (size_t which = first; status == CLARKE_OK && which < n; which++) {
    status = answer_one(status_of, &step, &n, &list, q, which, err);
    n = q->which != CLARKE_NONE ? first + 1 : n;
  }
  if (status == CLARKE_OK && q->json)
    status = clarke_run_print_all(list, step, *status_of, err);
  json_decref(list);
  return status;
}
