#include "reproduce_sweep.h"
#include "reproduce_network.h"

#include "base/stop.h"
#include "session/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPECTED "expected MODEL BATCH SEED COUNT, and perhaps a loss; and before it another profile (against)"
#define MOST_JOBS 10000

/* The formats that are asked about are those of the keys. */
static const clarke_ieee formats[] = {CLARKE_IEEE_F16, CLARKE_IEEE_BF16, CLARKE_IEEE_F32, CLARKE_IEEE_F64};
#define N_FORMATS (sizeof formats / sizeof *formats)

static const char *const exact_keys[] = {"exactly-equal", "exactly-different", "exactly-unknown"};
static const char *const label_keys[] = {"equal", "rounding", "branch", "bifurcation", "unknown"};
#define N_LABELS (sizeof label_keys / sizeof *label_keys)

struct clarke_run_sweep {
  size_t jobs, zone[CLARKE_ZONE_UNKNOWN + 1], exactly[3];
  size_t label[N_FORMATS][N_LABELS];
  double greatest[N_FORMATS]; /* infinite where a difference is not finite */
};

/* --- keys ------------------------------------------------------------------------------------- */

/* FORMAT-WORD: which of the formats; NULL: none. Else the word. */
static const char *
format_word(size_t *format, const char *key)
{
  for (size_t k = 0; k < N_FORMATS; k++) {
    const char *name = clarke_ieee_name(formats[k]);
    const size_t n = strlen(name);

    if (strncmp(key, name, n) == 0 && key[n] == '-') {
      *format = k;
      return key + n + 1;
    }
  }
  return NULL;
}

/* Where the key's count is; NULL: it is no count's. */
static const size_t *
count_of(const clarke_run_sweep *s, const char *key)
{
  size_t format = 0;
  const char *word = format_word(&format, key);

  if (strcmp(key, "jobs") == 0)
    return &s->jobs;
  for (int zone = 0; zone < CLARKE_ZONE_UNKNOWN; zone++)
    if (strcmp(key, clarke_zone_name(zone)) == 0)
      return &s->zone[zone];
  for (size_t i = 0; i < sizeof exact_keys / sizeof *exact_keys; i++)
    if (strcmp(key, exact_keys[i]) == 0)
      return &s->exactly[i];
  for (size_t i = 0; word != NULL && i < N_LABELS; i++)
    if (strcmp(word, label_keys[i]) == 0)
      return &s->label[format][i];
  return NULL;
}

bool
clarke_sweep_key_known(const char *key)
{
  const clarke_run_sweep s = {0};
  size_t format = 0;
  const char *word = format_word(&format, key);

  return count_of(&s, key) != NULL || (word != NULL && strcmp(word, "greatest") == 0);
}

clarke_status
clarke_sweep_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  const size_t *count = count_of(r->sweep, key);
  size_t format = 0;

  format_word(&format, key);
  return count != NULL ? clarke_result_count(result, *count, err) : clarke_result_doubles(result, &r->sweep->greatest[format], 1, 0, err);
}

/* --- what sweeps and trainings share ---------------------------------------------------------- */

clarke_status
clarke_run_profiles(clarke_profile profile[2], size_t *n, const clarke_run *r, clarke_error *err)
{
  const char *text[2] = {r->check->profile, r->check->against};
  clarke_status status = CLARKE_OK;

  *n = text[1] != NULL ? 2 : 1;
  for (size_t i = 0; i < 2; i++)
    clarke_profile_init(&profile[i]);
  for (size_t i = 0; i < *n && status == CLARKE_OK; i++)
    status = clarke_profile_parse(&profile[i], text[i], strlen(text[i]), i == 0 ? "case" : "against", err);
  return status;
}

void
clarke_run_profiles_clear(clarke_profile profile[2])
{
  for (size_t i = 0; i < 2; i++)
    clarke_profile_clear(&profile[i]);
}

clarke_status
clarke_run_number(size_t *n, const char *word, const char *expected, clarke_error *err)
{
  return word != NULL && clarke_count_parse(n, word) ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "%s; numbers from 1 on", expected);
}

/* --- asking ----------------------------------------------------------------------------------- */

static size_t
label_of(const json_t *difference)
{
  const json_t *label = json_object_get(difference, "label"), *l1 = json_object_get(difference, "l1");

  if (json_is_string(l1) && strcmp(json_string_value(l1), "0") == 0)
    return 0;
  for (size_t i = 1; json_is_string(label) && i < N_LABELS; i++)
    if (strcmp(json_string_value(label), label_keys[i]) == 0)
      return i;
  return N_LABELS - 1;
}

static void
take_answer(clarke_run_sweep *s, const json_t *answer)
{
  const json_t *pair = json_array_get(json_object_get(answer, "pairs"), 0), *floats = json_object_get(pair, "floats");
  const json_t *zero = json_object_get(json_object_get(pair, "exact"), "zero");
  const char *zone = json_string_value(json_object_get(answer, "zone"));

  s->jobs++;
  s->exactly[json_is_true(zero) ? 0 : json_is_false(zero) ? 1 : 2]++;
  for (int i = 0; zone != NULL && i < CLARKE_ZONE_UNKNOWN; i++)
    s->zone[i] += strcmp(zone, clarke_zone_name(i)) == 0;
  for (size_t k = 0; k < N_FORMATS; k++) {
    const json_t *difference = json_object_get(floats, clarke_ieee_name(formats[k]));

    if (difference == NULL)
      continue;
    s->label[k][label_of(difference)]++;
    s->greatest[k] = fmax(s->greatest[k], json_is_true(json_object_get(difference, "finite"))
                                            ? json_real_value(json_object_get(difference, "l1_float")) : INFINITY);
  }
}

static clarke_status
ask_all(clarke_run *r, clarke_sweep_question *q, size_t seed, size_t count, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < count && status == CLARKE_OK; i++) {
    const uint32_t drawn = (uint32_t)(seed + i);
    json_t *answer = NULL;

    q->seed = &drawn;
    status = clarke_sweep_answer(&answer, q, err);
    if (status == CLARKE_OK)
      take_answer(r->sweep, answer);
    json_decref(answer);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  return status;
}

/* The formats of the check's keys. */
static size_t
find_formats(clarke_ieee *asked, const clarke_run *r)
{
  const clarke_facts *f = &r->c->facts[r->check->facts];
  size_t n = 0;

  for (size_t k = 0; k < N_FORMATS; k++) {
    bool is = false;
    size_t format = 0;

    for (size_t i = 0; i < f->n; i++)
      is = is || (format_word(&format, f->fact[i].key) != NULL && format == k);
    if (is)
      asked[n++] = formats[k];
  }
  return n;
}

static clarke_status
ask(clarke_run *r, const clarke_words *w, clarke_error *err)
{
  static char first[] = "case", other[] = "against";
  char *const names[] = {first, other};
  clarke_ieee asked[N_FORMATS];
  clarke_profile profile[2];
  size_t seed = 0, count = 0, n = 0;
  clarke_sweep_question q = {.profile = profile, .profile_name = names, .format = asked, .n_formats = find_formats(asked, r)};
  clarke_status status = clarke_run_profiles(profile, &n, r, err);

  q.n_profiles = n;
  if (status == CLARKE_OK && (n != 2 || w->n < 4 || w->n > 5))
    status = clarke_fail(err, CLARKE_EINPUT, EXPECTED);
  if (status == CLARKE_OK)
    status = clarke_run_number(&seed, w->word[2], EXPECTED, err);
  if (status == CLARKE_OK)
    status = clarke_run_number(&count, w->word[3], EXPECTED, err);
  if (status == CLARKE_OK && (count > MOST_JOBS || seed > UINT32_MAX - MOST_JOBS))
    status = clarke_fail(err, CLARKE_EINPUT, "at most %d seeds, of 32 bits", MOST_JOBS);
  if (status == CLARKE_OK)
    status = clarke_run_read_files(r, w->word[0], w->word[1], err);
  q.ask = clarke_run_request(r, w->word[4]);
  if (status == CLARKE_OK)
    status = ask_all(r, &q, seed, count, err);
  clarke_run_profiles_clear(profile);
  return status;
}

clarke_status
clarke_run_sweep_ask(clarke_run *r, clarke_error *err)
{
  clarke_words w;
  clarke_status status = clarke_words_cut(&w, r->check->at, err);

  r->sweep = calloc(1, sizeof *r->sweep);
  if (status == CLARKE_OK)
    status = r->sweep != NULL ? ask(r, &w, err) : clarke_no_memory(err);
  clarke_words_clear(&w);
  return status;
}
