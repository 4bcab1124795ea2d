/* What run.json has of an optimizer's recorded step (docs/run-format.md, "An optimizer's step"), beside what a proof says of it. */
#include "check/update/update_settings.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/files/json.h"

#include <stdlib.h>
#include <string.h>

#define MOST_EXPONENT 1100 /* of a double, with some to spare */

/* Classes of optimizers, and their rules: whether decay is added to the gradient, and whether a group's decoupled_weight_decay may say
 * otherwise, which other classes do not ask for; whether epsilon is below the root; what momentum and sigma are called (`betas`: its first number, its second). */
struct update_class {
  const char *module, *name, *rule;
  bool coupled, asks, inside;
  const char *momentum, *sigma;
};

static const update_class classes[] = {
    {.module = "torch.optim.", .name = "SGD", .rule = "torch-sgd", .coupled = true, .momentum = "momentum"},
    {.module = "torch.optim.",
     .name = "Adam",
     .rule = "torch-adam",
     .coupled = true,
     .asks = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.",
     .name = "AdamW",
     .rule = "torch-adamw",
     .asks = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.",
     .name = "NAdam",
     .rule = "torch-nadam",
     .coupled = true,
     .asks = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.",
     .name = "RAdam",
     .rule = "torch-radam",
     .coupled = true,
     .asks = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.",
     .name = "Adamax",
     .rule = "torch-adamax",
     .coupled = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.", .name = "Adagrad", .rule = "torch-adagrad", .coupled = true},
    {.module = "torch.optim.",
     .name = "RMSprop",
     .rule = "torch-rmsprop",
     .coupled = true,
     .momentum = "momentum",
     .sigma = "alpha"},
    {.module = "torch.optim.",
     .name = "Adadelta",
     .rule = "torch-adadelta",
     .coupled = true,
     .inside = true,
     .sigma = "rho"},
    {.module = "torch.optim.", .name = "ASGD", .rule = "torch-asgd", .coupled = true},
    {.module = "torch.optim.", .name = "Rprop", .rule = "torch-rprop", .coupled = true},
    {.module = "torch.optim.",
     .name = "SparseAdam",
     .rule = "torch-sparseadam",
     .coupled = true,
     .momentum = "betas",
     .sigma = "betas"},
    {.module = "torch.optim.", .name = "Adafactor", .rule = "torch-adafactor"},
    {.module = "torch.optim.", .name = "Muon", .rule = "torch-muon", .momentum = "momentum"},
    {.module = "torch.optim.", .name = "AveragedModel", .rule = "ema", .momentum = "decay"},
    {.module = "clarke.", .name = "INNAprop", .rule = "innaprop", .inside = true, .sigma = "sigma"},
    {.module = "clarke.", .name = "INNApropReleased", .rule = "innaprop-released", .sigma = "sigma"},
    {.module = "clarke.", .name = "DINAdam", .rule = "dinadam", .inside = true, .sigma = "sigma"},
};

/* Numbers that have one name, whatever the class; of a list that element. */
static const struct {
  const char *key;
  size_t element;
} keys[N_NUMBERS] = {
    [ETA] = {.key = "lr", .element = 0},
    [ALPHA] = {.key = "alpha", .element = 0},
    [BETA] = {.key = "beta", .element = 0},
    [EPS] = {.key = "eps", .element = 0},
    [DECAY] = {.key = "weight_decay", .element = 0},
    [DAMPENING] = {.key = "dampening", .element = 0},
    [MOMENTUM_DECAY] = {.key = "momentum_decay", .element = 0},
    [LAMBD] = {.key = "lambd", .element = 0},
    [T0] = {.key = "t0", .element = 0},
    [ETA_MINUS] = {.key = "etas", .element = 0},
    [ETA_PLUS] = {.key = "etas", .element = 1},
    [LEAST_SIZE] = {.key = "step_sizes", .element = 0},
    [MOST_SIZE] = {.key = "step_sizes", .element = 1},
    [BETA2_DECAY] = {.key = "beta2_decay", .element = 0},
    [EPS2] = {.key = "eps", .element = 1},
    [CLIP] = {.key = "d", .element = 0},
    [NS_A] = {.key = "ns_coefficients", .element = 0},
    [NS_B] = {.key = "ns_coefficients", .element = 1},
    [NS_C] = {.key = "ns_coefficients", .element = 2},
    [NS_STEPS] = {.key = "ns_steps", .element = 0},
};

/* Settings under which PyTorch makes other steps than those rules. */
static const char *const others[] = {"amsgrad", "centered", "differentiable"};

/* ---- Values */

static bool
is_word(bytes value, const char *word)
{
  return json_token(&value, word) && value.size == 0;
}

static bool
is_said(bytes object, const char *key, const char *text)
{
  bytes value = json_find(object, key);
  if (value.size == 0 || *value.data != '"')
    return false;
  char *said = json_text(value);
  bool is = strcmp(said, text) == 0;
  free(said);
  return is;
}

/* Behind 0x: digits, with a point among them; p, and a power of two. */
static void
read_hexadecimal(rational *q, const char *text)
{
  static const char digits[] = "0123456789abcdef";
  const char *at = text, *digit;
  long places = 0;
  bool point = false;
  for (; *at != '\0' && *at != 'p'; at++) {
    digit = strchr(digits, *at);
    expect(digit != NULL || (*at == '.' && !point), "run.json with '%s', which is no hexadecimal float", text);
    point = point || digit == NULL;
    if (digit == NULL)
      continue;
    mpz_mul_2exp(mpq_numref(q), mpq_numref(q), 4);
    mpz_add_ui(mpq_numref(q), mpq_numref(q), (unsigned long)(digit - digits));
    places += point ? 4 : 0;
  }
  char *end = NULL;
  long power = *at == 'p' ? strtol(at + 1, &end, 10) : 0;
  expect(end != NULL && end > at + 1 && *end == '\0' && power <= MOST_EXPONENT && power >= -MOST_EXPONENT
             && places <= MOST_EXPONENT,
         "run.json with '%s', which is no hexadecimal float", text);
  power -= places;
  if (power >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)power);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-power);
}

/* A whole number, or a text that is a float; `{"tensor": ..., "value": ...}` is its value. */
static void
read_number(rational *q, bytes value)
{
  RATIONAL(found);
  if (value.size > 0 && *value.data == '{')
    value = json_member(value, "value");
  char *text = value.size > 0 && *value.data == '"' ? json_text(value) : copy_text(value.data, value.size);
  bool minus = *text == '-';
  if (strncmp(text + minus, "0x", 2) == 0) {
    read_hexadecimal(&found, text + minus + 2);
    if (minus)
      mpq_neg(&found, &found);
  } else {
    expect(*value.data != '"' && mpz_set_str(mpq_numref(&found), text, 10) == 0,
           "run.json with %s, where a whole number or a hexadecimal float is expected", text);
  }
  mpq_set(q, &found);
  free(text);
}

/* ---- The entry */

/* Is it that file? */
static bool
is_file(bytes file, const char *name, const char *hash)
{
  return file.size > 0 && is_said(file, "file", name) && is_said(file, "sha256", hash);
}

/* `update` in an object whose `optimizer` (of `files`, if it has them) is that file. */
static size_t
take_entry(update_settings *s, bytes object, const char *file, const char *hash)
{
  bytes files = json_find(object, "files");
  if (!is_file(json_find(files.size > 0 ? files : object, "optimizer"), file, hash))
    return 0;
  s->entry = json_member(object, "update");
  return 1;
}

static void
find_entry(update_settings *s, bytes run, const char *file, const char *hash)
{
  bytes steps = json_member(run, "steps"), step, one;
  size_t found = 0;
  while (json_item(&steps, &step)) {
    bytes more = json_find(step, "updates");
    found += take_entry(s, step, file, hash);
    while (more.size > 0 && json_item(&more, &one))
      found += take_entry(s, one, file, hash);
  }
  require(found == 1, "run.json has %zu steps whose optimizer's file is %s with that hash", found, file);
}

/* Is it the package, or below it? package: with a dot behind it. */
static bool
is_of(const char *module, const char *package)
{
  size_t n = strlen(package) - 1;
  return strncmp(module, package, n) == 0 && (module[n] == '.' || module[n] == '\0');
}

static void
find_class(update_settings *s)
{
  char *module = json_text(json_member(s->entry, "module"));
  for (size_t i = 0; i < sizeof classes / sizeof *classes && s->of == NULL; i++)
    if (is_of(module, classes[i].module) && is_said(s->entry, "optimizer", classes[i].name))
      s->of = &classes[i];
  require(s->of != NULL, "run.json has an optimizer of %s whose rule is not known", module);
  free(module);
}

static void
find_groups(update_settings *s)
{
  bytes groups = json_member(s->entry, "groups"), group, name;
  size_t room = 0;
  while (json_item(&groups, &group)) {
    bytes list = json_member(group, "parameters");
    while (json_item(&list, &name)) {
      require(name_add(&s->names, json_text(name)), "run.json has a parameter in two places of one step");
      if (s->names.n > room) {
        bytes *larger = allocate(2 * s->names.n, sizeof *larger);
        if (room > 0)
          memcpy(larger, s->group, room * sizeof *larger);
        free(s->group);
        s->group = larger;
        room = 2 * s->names.n;
      }
      s->group[s->names.n - 1] = group;
    }
  }
}

void
update_settings_read(update_settings *s, const char *folder, const char *file, const char *hash)
{
  bytes all = sibling_file(folder, "run.json"), run = json_value(&all);
  expect(all.size == 0, "run.json with more than one value");
  find_entry(s, run, file, hash);
  find_class(s);
  find_groups(s);
}

void
update_settings_state(const update_settings *s)
{
  char *module = json_text(json_member(s->entry, "module"));
  fprintf(account, "The rule, its settings and the scale are those that run.json has of this step: %s of ",
          s->of->name);
  state_name(module);
  fputs("\n", account);
  free(module);
}

/* ---- What a proof says */

void
update_settings_check_scale(const update_settings *s, const rational *scale)
{
  RATIONAL(q);
  bytes told = json_find(s->entry, "grad_scale");
  mpq_set_ui(&q, 1, 1);
  if (told.size > 0)
    read_number(&q, told);
  require(mpq_equal(&q, scale) != 0, "run.json has another scale of the gradients");
}

/* A number of the rule, as the group has it. An epsilon of a list may be null. */
static void
number_of(rational *q, const update_settings *s, bytes group, int number, size_t finfo)
{
  const char *key = number == MOMENTUM ? s->of->momentum : number == SIGMA ? s->of->sigma : keys[number].key;
  size_t element = number == SIGMA && strcmp(key, "betas") == 0 ? 1 : keys[number].element;
  bytes value = json_member(group, key), item = value;
  bool listed = *value.data == '[';
  if (listed)
    for (size_t i = 0; i <= element; i++)
      expect(json_item(&value, &item), "run.json with too short a list '%s'", key);
  if (number == EPS && listed && is_word(item, "null")) {
    mpq_set(q, &plus_one);
    mpq_div_2exp(q, q, finfo);
  } else {
    read_number(q, item);
  }
}

static void
check_numbers(const update_settings *s, bytes group, const char *parameter, const update *rule, size_t k, size_t finfo)
{
  RATIONAL(q);
  RATIONAL(by);
  for (int i = 0; i < N_NUMBERS; i++) {
    if (!rule->of->number[i])
      continue;
    number_of(&q, s, group, i, finfo);
    bytes decay = i == ETA && strcmp(s->of->name, "Adagrad") == 0 ? json_find(group, "lr_decay") : (bytes){NULL, 0};
    if (decay.size > 0) { /* Adagrad's: lr / (1 + k lr_decay) */
      read_number(&by, decay);
      mpz_mul_ui(mpq_numref(&by), mpq_numref(&by), k);
      mpq_canonicalize(&by);
      mpq_add(&by, &by, &plus_one);
      require(mpq_sgn(&by) > 0, "run.json with a decay of the step below 0");
      mpq_div(&q, &q, &by);
    }
    require(mpq_equal(&q, &rule->number[i]) != 0, "%s: run.json has another number: %s", parameter,
            i == MOMENTUM ? "momentum"
            : i == SIGMA  ? "sigma"
                          : keys[i].key);
  }
}

/* As Python takes it: a number other than 0 sets it, too. */
static bool
is_set(bytes group, const char *key)
{
  RATIONAL(q);
  bytes value = json_find(group, key);
  if (value.size == 0 || is_word(value, "false") || is_word(value, "null"))
    return false;
  if (!is_word(value, "true"))
    read_number(&q, value);
  return is_word(value, "true") || mpq_sgn(&q) != 0;
}

static bytes
group_of(const update_settings *s, const char *parameter)
{
  size_t i = name_find(&s->names, parameter);
  require(i != NONE, "%s: run.json has it in no group of this step", parameter);
  return s->group[i];
}

char *
update_settings_first(const update_settings *s, const char *parameter)
{
  bytes list = json_member(group_of(s, parameter), "parameters"), first;
  expect(json_item(&list, &first), "run.json with a group of no parameters");
  return json_text(first);
}

void
update_settings_check(const update_settings *s, const char *parameter, const update *rule, bool up, size_t k,
                      size_t finfo)
{
  bytes group = group_of(s, parameter);
  require(strcmp(s->of->rule, rule->of->name) == 0, "run.json has another optimizer: %s, whose rule is %s", s->of->name,
          s->of->rule);
  check_numbers(s, group, parameter, rule, k, finfo);
  bool said = s->of->asks && json_find(group, "decoupled_weight_decay").size > 0,
       coupled = said ? !is_set(group, "decoupled_weight_decay") : s->of->coupled;
  require(mpq_sgn(&rule->number[DECAY]) == 0 || coupled == rule->coupled, "%s: run.json has another weight decay",
          parameter);
  require(!rule->of->number[NS_STEPS] || is_said(group, "adjust_lr_fn", "match_rms_adamw") == rule->matches,
          "%s: run.json has another 'adjust_lr_fn'", parameter);
  require(!rule->of->slot[V] || rule->inside == s->of->inside, "%s: its rule has epsilon at another place", parameter);
  require(!(rule->of->number[DAMPENING] || rule->of->number[NS_STEPS]) || is_set(group, "nesterov") == rule->nesterov,
          "%s: run.json has another 'nesterov'", parameter);
  require(is_set(group, "maximize") == up, "%s: run.json has another direction", parameter);
  for (size_t o = 0; o < sizeof others / sizeof *others; o++)
    require(!is_set(group, others[o]), "%s: run.json sets '%s', which the rule does not have", parameter, others[o]);
}
