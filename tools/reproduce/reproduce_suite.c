#include "reproduce_suite.h"

#include "base/stop.h"
#include "session/audit.h"

#include <stdlib.h>
#include <string.h>

/* No suite has more instances. */
#define MOST_INSTANCES 100000

static const struct {
  const char *name;
  clarke_suite *ask;
} suites[] = {
  {"theorem-1", clarke_suite_theorem_1},
  {"theorem-1-clarke", clarke_suite_theorem_1_clarke},
  {"theorem-4", clarke_suite_theorem_4},
  {"theorem-4-clarke", clarke_suite_theorem_4_clarke},
  {"theorem-5", clarke_suite_theorem_5},
  {"theorem-6", clarke_suite_theorem_6},
  {"theorem-8", clarke_suite_theorem_8},
  {"algorithm-2", clarke_suite_algorithm_2},
  {"constraints", clarke_suite_constraints},
  {"condition-2", clarke_suite_condition_2},
  {"lemma-9", clarke_suite_lemma_9},
  {"lemma-10", clarke_suite_lemma_10},
  {"lemma-11", clarke_suite_lemma_11},
  {"lemma-12", clarke_suite_lemma_12},
  {"lemma-13", clarke_suite_lemma_13},
  {"lemma-14", clarke_suite_lemma_14},
  {"lemma-15", clarke_suite_lemma_15},
  {"ranks", clarke_suite_ranks},
  {"smooth", clarke_suite_smooth},
  {"almost-everywhere", clarke_suite_almost_everywhere},
  {"segments", clarke_suite_segments},
  {"zones", clarke_suite_zones},
  {"paths", clarke_suite_paths},
  {"chain-rule", clarke_suite_chain_rule},
  {"slope-of-relu", clarke_suite_slope_of_relu},
  {"selections", clarke_suite_selections},
  {"primitives", clarke_suite_primitives},
  {"hybrid", clarke_suite_hybrid},
  {"modes", clarke_suite_modes},
  {"costs", clarke_suite_costs},
  {"max-linear", clarke_suite_max_linear},
  {"norm-1", clarke_suite_norm_1},
  {"descent", clarke_suite_descent},
  {"formulas", clarke_suite_formulas},
  {"minibatches", clarke_suite_minibatches},
  {"any-number", clarke_suite_any_number},
  {"sorting", clarke_suite_sorting},
  {"matrix-costs", clarke_suite_matrix_costs},
  {"matrix-gradients", clarke_suite_matrix_gradients},
  {"products", clarke_suite_products},
  {"constant", clarke_suite_constant},
  {"maxima", clarke_suite_maxima},
  {"tied-pieces", clarke_suite_tied_pieces},
  {"copies", clarke_suite_copies},
  {"pooled", clarke_suite_pooled},
  {"essential", clarke_suite_essential},
  {"linear-program", clarke_suite_linear_program},
  {"without-relus", clarke_suite_without_relus},
  {"block-products", clarke_suite_block_products},
  {"hessians", clarke_suite_hessians},
  {"averages", clarke_suite_averages},
};

static const char *const keys[CLARKE_COUNTS] = {"holds", "fails", "not-known", "touched", "empty", "differ"};

static uint64_t
draw(clarke_draws *d)
{
  uint64_t z = d->state += 0x9e3779b97f4a7c15u;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

size_t
clarke_draw_below(clarke_draws *d, size_t n)
{
  return (size_t)(draw(d) % n);
}

long
clarke_draw_between(clarke_draws *d, long low, long high)
{
  return low + (long)clarke_draw_below(d, (size_t)(high - low + 1));
}

void
clarke_suite_add(clarke_suite_counts *t, clarke_truth holds)
{
  t->of[holds == CLARKE_YES ? CLARKE_COUNT_HOLDS : holds == CLARKE_NO ? CLARKE_COUNT_FAILS : CLARKE_COUNT_UNKNOWN]++;
}

static clarke_status
ask_all(clarke_suite_counts *t, clarke_suite *ask, size_t count, size_t seed, clarke_error *err)
{
  clarke_draws d = {seed};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < count && status == CLARKE_OK; i++) {
    status = ask(t, &d, err);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  return status;
}

static clarke_suite *
suite_of(const char *name)
{
  for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
    if (strcmp(suites[i].name, name) == 0)
      return suites[i].ask;
  return NULL;
}

clarke_status
clarke_run_suite(clarke_run *r, clarke_error *err)
{
  size_t n = 0, seed = 0;
  clarke_words w;
  clarke_status status = clarke_words_cut(&w, r->check->at, err);

  r->counts = calloc(1, sizeof *r->counts);
  if (status == CLARKE_OK && r->counts == NULL)
    status = clarke_no_memory(err);
  clarke_suite *ask = status == CLARKE_OK && w.n > 0 ? suite_of(w.word[0]) : NULL;

  if (status == CLARKE_OK && ask == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "no such suite: '%s' (docs/reproduce.md)", w.n > 0 ? w.word[0] : "");
  else if (status == CLARKE_OK && (w.n != 3 || !clarke_count_parse(&n, w.word[1]) || !clarke_count_parse(&seed, w.word[2]) || n > MOST_INSTANCES))
    status = clarke_fail(err, CLARKE_EINPUT, "expected NAME COUNT SEED, numbers from 1 on, of instances at most %d", MOST_INSTANCES);
  else if (status == CLARKE_OK)
    status = ask_all(r->counts, ask, n, seed, err);
  clarke_words_clear(&w);
  return status;
}

bool
clarke_suite_key_known(const char *key)
{
  for (size_t i = 0; i < CLARKE_COUNTS; i++)
    if (strcmp(keys[i], key) == 0)
      return true;
  return false;
}

clarke_status
clarke_suite_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  size_t i = 0;

  while (strcmp(keys[i], key) != 0)
    i++;
  return clarke_result_count(result, r->counts->of[i], err);
}
