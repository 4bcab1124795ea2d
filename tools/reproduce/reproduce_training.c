#include "reproduce_training.h"
#include "reproduce_network.h"
#include "reproduce_sweep.h"

#include "base/stop.h"
#include "exact/literal.h"
#include "session/sweep.h"

#include <stdlib.h>
#include <string.h>

#define EXPECTED "expected MODEL BATCH FORMAT SEED STEPS RATE, and perhaps a loss"
#define MOST_STEPS 100000

typedef enum {
  COUNT_STEPS,
  COUNT_TOUCHED,  /* kinks and windows that are no trivial ties, in all steps */
  COUNT_TOUCHING, /* steps with some */
  COUNT_TIED,     /* windows with several largest entries, in all steps; */
  COUNT_PARTED,   /* steps where some of these are not one function: |S_j \ T_j| > 0 */
  COUNT_THEOREM_5,
  COUNT_THEOREM_8,
  COUNT_RIGHT, /* labels that are met after the last step */
  COUNTS,
} training_count;

static const char *const keys[COUNTS] = {"steps", "touched", "touching", "tied", "parted", "theorem-5", "theorem-8", "right"};

struct clarke_run_training {
  size_t of[COUNTS], verdict[CLARKE_UNDECIDED + 1], zone[CLARKE_ZONE_UNKNOWN + 1];
  bool parts;
  size_t parts_at; /* the first step behind which the weights of both trainings differ */
  bool left;       /* it ended before the last step: weights came to be infinite, or no numbers */
};

/* --- keys ------------------------------------------------------------------------------------- */

/* Where the key's count is; NULL: it is no count's. */
static const size_t *
count_of(const clarke_run_training *t, const char *key)
{
  for (size_t i = 0; i < COUNTS; i++)
    if (strcmp(key, keys[i]) == 0)
      return &t->of[i];
  for (int i = 0; i <= CLARKE_UNDECIDED; i++)
    if (strcmp(key, clarke_verdict_name(i)) == 0)
      return &t->verdict[i];
  for (int i = 0; i < CLARKE_ZONE_UNKNOWN; i++)
    if (strcmp(key, clarke_zone_name(i)) == 0)
      return &t->zone[i];
  return NULL;
}

bool
clarke_training_key_known(const char *key)
{
  const clarke_run_training t = {0};

  return count_of(&t, key) != NULL || strcmp(key, "parts-at") == 0;
}

clarke_status
clarke_training_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  const clarke_run_training *t = r->training;
  const size_t *count = count_of(t, key);

  if (count == &t->of[COUNT_RIGHT] && t->left)
    return clarke_result_word(result, "none", err);
  if (count != NULL)
    return clarke_result_count(result, *count, err);
  return t->parts ? clarke_result_count(result, t->parts_at, err) : clarke_result_word(result, "never", err);
}

/* --- training --------------------------------------------------------------------------------- */

static bool
theorem_holds(const clarke_audit *a, const char *name)
{
  for (size_t i = 0; i < CLARKE_THEOREMS; i++)
    if (a->theorem[i].name != NULL && strcmp(a->theorem[i].name, name) == 0)
      return a->theorem[i].applies && a->theorem[i].holds == CLARKE_YES;
  return false;
}

static clarke_status
take_step(clarke_run_training *t, const clarke_audit_session *s, clarke_error *err)
{
  const clarke_audit *a = &s->audit;
  size_t tied = 0, parted = 0;

  if (s->replay.open > 0)
    return clarke_fail(err, CLARKE_EINPUT, "step %zu: some arguments could not be told from their kinks", t->of[COUNT_STEPS] + 1);
  for (size_t i = 0; i < a->n_layers; i++) {
    tied += a->layer[i].ties;
    parted += a->layer[i].parted;
  }
  t->of[COUNT_STEPS]++;
  t->of[COUNT_TOUCHED] += s->replay.n_touches;
  t->of[COUNT_TOUCHING] += s->replay.n_touches > 0;
  t->of[COUNT_TIED] += tied;
  t->of[COUNT_PARTED] += parted > 0;
  t->of[COUNT_THEOREM_5] += theorem_holds(a, "Theorem 5");
  t->of[COUNT_THEOREM_8] += theorem_holds(a, "Theorem 8");
  t->verdict[a->verdict]++;
  t->zone[a->zone.zone]++;
  return CLARKE_OK;
}

/* One step, of the first training with what is found there. */
static clarke_status
step(clarke_run_training *t, clarke_sweep_training *one, bool first, clarke_error *err)
{
  clarke_audit_session s;
  clarke_status status;

  clarke_audit_session_init(&s);
  status = clarke_sweep_training_ask(&s, one, err);
  if (status == CLARKE_OK && first)
    status = take_step(t, &s, err);
  if (status == CLARKE_OK)
    status = clarke_sweep_training_step(one, &s, err);
  clarke_audit_session_clear(&s);
  return status;
}

static bool
weights_agree(const clarke_tensors *a, const clarke_tensors *b)
{
  for (size_t p = 0; p < a->n; p++)
    for (size_t e = 0; e < a->tensor[p].count; e++)
      if (memcmp(&a->tensor[p].real[e], &b->tensor[p].real[e], sizeof(double)) != 0)
        return false;
  return true;
}

/* Both trainings step by step, the first one to its end; the second one while it is the same. */
static clarke_status
train(clarke_run_training *t, clarke_sweep_training *both, size_t n, size_t steps, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < steps && !t->left && status == CLARKE_OK; i++) {
    status = step(t, &both[0], true, err);
    t->left = both[0].left;
    if (status == CLARKE_OK && n == 2 && !t->parts) {
      status = step(t, &both[1], false, err);
      t->parts = status == CLARKE_OK && !weights_agree(&both[0].weights, &both[1].weights);
      t->parts_at = i + 1;
    }
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  return status;
}

static clarke_status
count_right(clarke_run_training *t, clarke_sweep_training *one, clarke_error *err)
{
  clarke_audit_session s;
  clarke_status status;

  clarke_audit_session_init(&s);
  status = clarke_sweep_training_ask(&s, one, err);
  if (status == CLARKE_OK)
    status = clarke_sweep_training_right(&t->of[COUNT_RIGHT], one, &s, err);
  clarke_audit_session_clear(&s);
  return status;
}

typedef struct {
  clarke_ieee format;
  uint32_t seed;
  size_t steps;
  double rate;
} settings;

static clarke_status
read_settings(settings *s, const clarke_words *w, clarke_error *err)
{
  size_t seed = 0;
  mpq_t rate;
  clarke_status status = w->n == 6 || w->n == 7 ? clarke_ieee_parse(&s->format, w->word[2], err) : clarke_fail(err, CLARKE_EINPUT, EXPECTED);

  if (status == CLARKE_OK)
    status = clarke_run_number(&seed, w->word[3], EXPECTED, err);
  if (status == CLARKE_OK)
    status = clarke_run_number(&s->steps, w->word[4], EXPECTED, err);
  if (status != CLARKE_OK)
    return status;
  if (s->steps > MOST_STEPS || seed > UINT32_MAX)
    return clarke_fail(err, CLARKE_EINPUT, "at most %d steps, and a seed of 32 bits", MOST_STEPS);
  s->seed = (uint32_t)seed;
  mpq_init(rate);
  if (clarke_literal_parse(rate, w->word[5])) {
    clarke_ieee_unit u;

    clarke_ieee_begin(&u, s->format);
    s->rate = clarke_ieee_rational(&u, rate);
    clarke_ieee_end(&u);
  } else {
    status = clarke_fail(err, CLARKE_EINPUT, EXPECTED);
  }
  mpq_clear(rate);
  return status;
}

static clarke_status
ask(clarke_run *r, const clarke_words *w, clarke_error *err)
{
  static char name[] = "case";
  char *const names[] = {name};
  clarke_sweep_training both[2] = {0};
  clarke_profile profile[2];
  settings set = {0};
  size_t n = 0;
  clarke_status status = clarke_run_profiles(profile, &n, r, err);

  if (status == CLARKE_OK)
    status = read_settings(&set, w, err);
  if (status == CLARKE_OK)
    status = clarke_run_read_files(r, w->word[0], w->word[1], err);
  for (size_t i = 0; i < 2; i++) {
    both[i] = (clarke_sweep_training){.q = {.ask = clarke_run_request(r, w->word[6]), .n_profiles = 1, .profile = &profile[i],
                                            .profile_name = names, .seed = &set.seed}, .format = set.format, .rate = set.rate};
    both[i].q.ask.profile_text = i == 0 ? r->check->profile : r->check->against;
  }
  if (status == CLARKE_OK)
    status = train(r->training, both, n, set.steps, err);
  if (status == CLARKE_OK && !r->training->left)
    status = count_right(r->training, &both[0], err);
  for (size_t i = 0; i < 2; i++)
    clarke_sweep_training_clear(&both[i]);
  clarke_run_profiles_clear(profile);
  return status;
}

clarke_status
clarke_run_training_ask(clarke_run *r, clarke_error *err)
{
  clarke_words w;
  clarke_status status = clarke_words_cut(&w, r->check->at, err);

  r->training = calloc(1, sizeof *r->training);
  if (status == CLARKE_OK)
    status = r->training != NULL ? ask(r, &w, err) : clarke_no_memory(err);
  clarke_words_clear(&w);
  return status;
}
