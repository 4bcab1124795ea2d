#include "step_run.h"

#include <string.h>

void
clarke_step_settings_init(clarke_step_settings *s)
{
  memset(s, 0, sizeof *s);
  clarke_hypers_init(&s->hypers);
  mpq_init(s->lr_decay);
}

void
clarke_step_settings_clear(clarke_step_settings *s)
{
  clarke_hypers_clear(&s->hypers);
  mpq_clear(s->lr_decay);
}

/* Is it the package, or below it? package: with a dot behind it. */
static bool
is_of(const char *module, const char *package)
{
  const size_t n = strlen(package) - 1;

  return strncmp(module, package, n) == 0 && (module[n] == '.' || module[n] == '\0');
}

const clarke_rule *
clarke_step_rule_of(const clarke_run_update *u)
{
  static const struct {
    const char *module, *optimizer, *rule;
  } known[] = {
    {"torch.optim.", "SGD", "torch-sgd"}, {"torch.optim.", "Adam", "torch-adam"}, {"torch.optim.", "AdamW", "torch-adamw"},
    {"torch.optim.", "NAdam", "torch-nadam"}, {"torch.optim.", "Adagrad", "torch-adagrad"}, {"torch.optim.", "RMSprop", "torch-rmsprop"},
    {"torch.optim.", "Adadelta", "torch-adadelta"}, {"torch.optim.", "Adamax", "torch-adamax"}, {"torch.optim.", "RAdam", "torch-radam"},
    {"torch.optim.", "ASGD", "torch-asgd"}, {"torch.optim.", "Rprop", "torch-rprop"},
    {"torch.optim.", "SparseAdam", "torch-sparseadam"}, {"torch.optim.", "Adafactor", "torch-adafactor"},
    {"torch.optim.", "Muon", "torch-muon"}, {"torch.optim.", "LBFGS", "torch-lbfgs"}, {"torch.optim.", "AveragedModel", "ema"},
    {"clarke.", "INNAprop", "innaprop"}, {"clarke.", "INNApropReleased", "innaprop-released"}, {"clarke.", "DINAdam", "dinadam"},
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (u->module != NULL && is_of(u->module, known[i].module)
        && strcmp(u->optimizer, known[i].optimizer) == 0)
      return clarke_rule_find(known[i].rule);
  return NULL;
}

/* Number i of the setting, if the rule takes such. */
static void
take(clarke_step_settings *s, clarke_hyper h, const clarke_run_group *g, const char *name, size_t i)
{
  const clarke_run_setting *one = clarke_run_setting_find(g, name);

  if (one == NULL || one->n <= i || (i == 0 && one->lacks_first) || s->hypers.given[h] || !clarke_rule_takes(s->rule, h))
    return;
  s->hypers.given[h] = true;
  mpq_set(s->hypers.of[h], one->number[i]);
}

/* As Python takes it: a number other than 0 sets it, too. */
static bool
is_set(const clarke_run_group *g, const char *name)
{
  const clarke_run_setting *one = clarke_run_setting_find(g, name);

  return one != NULL && (one->is_flag ? one->flag : one->n == 1 && mpq_sgn(one->number[0]) != 0);
}

/* What groups call the numbers of rules. */
static const struct {
  clarke_hyper h;
  const char *name;
  size_t i;
} all[] = {
  {CLARKE_HYPER_STEP, "lr", 0}, {CLARKE_HYPER_ALPHA, "alpha", 0}, {CLARKE_HYPER_BETA, "beta", 0}, {CLARKE_HYPER_MOMENTUM, "momentum", 0},
  {CLARKE_HYPER_MOMENTUM, "betas", 0}, {CLARKE_HYPER_MOMENTUM, "decay", 0}, {CLARKE_HYPER_SIGMA, "betas", 1}, {CLARKE_HYPER_SIGMA, "sigma", 0}, {CLARKE_HYPER_SIGMA, "rho", 0},
  {CLARKE_HYPER_LAMBD, "lambd", 0}, {CLARKE_HYPER_T0, "t0", 0}, {CLARKE_HYPER_ETA_MINUS, "etas", 0}, {CLARKE_HYPER_ETA_PLUS, "etas", 1},
  {CLARKE_HYPER_SIZE_MIN, "step_sizes", 0}, {CLARKE_HYPER_SIZE_MAX, "step_sizes", 1}, {CLARKE_HYPER_EPS, "eps", 0},
  {CLARKE_HYPER_EPS2, "eps", 1}, {CLARKE_HYPER_BETA2_DECAY, "beta2_decay", 0}, {CLARKE_HYPER_CLIP, "d", 0},
  {CLARKE_HYPER_NS_A, "ns_coefficients", 0}, {CLARKE_HYPER_NS_B, "ns_coefficients", 1}, {CLARKE_HYPER_NS_C, "ns_coefficients", 2},
  {CLARKE_HYPER_NS_STEPS, "ns_steps", 0}, {CLARKE_HYPER_MAX_ITER, "max_iter", 0}, {CLARKE_HYPER_MAX_EVAL, "max_eval", 0},
  {CLARKE_HYPER_TOLERANCE_GRAD, "tolerance_grad", 0}, {CLARKE_HYPER_TOLERANCE_CHANGE, "tolerance_change", 0}, {CLARKE_HYPER_HISTORY_SIZE, "history_size", 0},
  {CLARKE_HYPER_DECAY, "weight_decay", 0}, {CLARKE_HYPER_DAMPENING, "dampening", 0}, {CLARKE_HYPER_MOMENTUM_DECAY, "momentum_decay", 0},
};

/* A setting of something that is no number, as of a class of its own, has no rule; nor has a flag that is none. */
static bool
is_unread(const clarke_run_setting *one)
{
  return !one->is_null && !one->is_flag && one->text == NULL && one->n == 0;
}

/* How the setting is kept: in a tensor, its numbers have been rounded to, and PyTorch computes with them in, its type. */
static void
note_kept(clarke_step_settings *s, const clarke_run_setting *one)
{
  if (is_unread(one))
    s->unknown = one->name;
  else if (strcmp(one->name, "lr") == 0)
    s->bits = one->bits;
  else if (one->bits < 53)
    s->coarse = one->name;
}

static void
note_all_kept(clarke_step_settings *s, const clarke_run_group *g)
{
  static const char *const flags[] = {"maximize", "amsgrad", "centered", "differentiable", "capturable", "nesterov", "decoupled_weight_decay", "lr_decay"};
  const clarke_run_setting *one;

  s->bits = 53;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if ((one = clarke_run_setting_find(g, all[i].name)) != NULL)
      note_kept(s, one);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if ((one = clarke_run_setting_find(g, flags[i])) != NULL)
      note_kept(s, one);
}

static void
take_all(clarke_step_settings *s, const clarke_run_group *g)
{
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    take(s, all[i].h, g, all[i].name, all[i].i);
  if (!s->rule->needs[CLARKE_HYPER_ALPHA]) /* RMSprop's alpha */
    take(s, CLARKE_HYPER_SIGMA, g, "alpha", 0);
}

/* What torch.finfo says of the type: how far the float behind 1 is from it. */
static void
take_finfo(clarke_step_settings *s, const clarke_run_group *g, clarke_dtype first)
{
  const clarke_run_setting *eps = clarke_run_setting_find(g, "eps");
  const mp_bitcnt_t bits = first == CLARKE_F64 ? 52 : first == CLARKE_F32 ? 23 : first == CLARKE_F16 ? 10 : 7;

  if (eps == NULL || !eps->lacks_first || s->hypers.given[CLARKE_HYPER_EPS])
    return;
  s->hypers.given[CLARKE_HYPER_EPS] = true;
  mpq_set_ui(s->hypers.of[CLARKE_HYPER_EPS], 1, 1);
  mpq_div_2exp(s->hypers.of[CLARKE_HYPER_EPS], s->hypers.of[CLARKE_HYPER_EPS], bits);
}

/* Muon's choices. */
static void
take_choices(clarke_step_settings *s, const clarke_run_group *g)
{
  const clarke_run_setting *adjusts = clarke_run_setting_find(g, "adjust_lr_fn");

  s->hypers.nesterov = is_set(g, "nesterov");
  s->hypers.plain = !s->hypers.nesterov;
  s->hypers.matches = adjusts != NULL && adjusts->text != NULL && strcmp(adjusts->text, "match_rms_adamw") == 0;
}

clarke_status
clarke_step_settings_read(clarke_step_settings *s, const clarke_rule *rule, const clarke_run_group *g, clarke_dtype first, clarke_error *err)
{
  static const char *const switched[] = {"torch-adam", "torch-adamw", "torch-nadam", "torch-radam"}; /* other optimizers do not ask for the flag */
  const clarke_run_setting *decay = clarke_run_setting_find(g, "lr_decay"), *decoupled = clarke_run_setting_find(g, "decoupled_weight_decay");
  const clarke_run_setting *search;
  bool asked = false;

  s->rule = rule;
  take_all(s, g);
  if (rule->slot[CLARKE_SLOT_ROW])
    take_finfo(s, g, first);
  s->whole = true;
  for (int h = 0; h < CLARKE_N_HYPERS; h++)
    s->whole = s->whole && (s->hypers.given[h] || !clarke_rule_takes(rule, (clarke_hyper)h));
  s->maximize = is_set(g, "maximize");
  s->capturable = is_set(g, "capturable");
  s->unknown = is_set(g, "amsgrad") ? "amsgrad" : is_set(g, "centered") ? "centered" : is_set(g, "differentiable") ? "differentiable" : NULL;
  note_all_kept(s, g);
  search = clarke_run_setting_find(g, "line_search_fn");
  if (rule->evaluates && search != NULL && search->text != NULL)
    s->unknown = "line_search_fn (\"strong_wolfe\": its lengths are roots, at each of which it evaluates)";
  s->hypers.nesterov = is_set(g, "nesterov") && strcmp(rule->name, "torch-sgd") == 0;
  if (clarke_rule_takes(rule, CLARKE_HYPER_NS_STEPS))
    take_choices(s, g);
  for (size_t i = 0; i < sizeof switched / sizeof *switched; i++)
    asked = asked || strcmp(rule->name, switched[i]) == 0;
  if (asked && decoupled != NULL && (decoupled->is_flag || decoupled->n == 1))
    s->hypers.decay = is_set(g, "decoupled_weight_decay") ? CLARKE_DECAY_DECOUPLED : CLARKE_DECAY_COUPLED;
  if (decay != NULL && decay->n == 1)
    mpq_set(s->lr_decay, decay->number[0]);
  return clarke_rule_check(&s->hypers, rule, err);
}
