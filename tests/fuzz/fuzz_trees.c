/* Files of summation trees. What is read has ranges; each tree that is read holds every leaf once, and leaves one sum. */
#include "format/summation.h"
#include "mutate.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

MUTATED_AS(mutate_text)

#define MOST_LEAVES 4096

static void
require_tree(const clarke_summation_tree *t)
{
  bool *seen = calloc(t->leaves, sizeof *seen);
  size_t sums = 0, found = 0;

  REQUIRE(seen != NULL);
  for (size_t i = 0; i < t->n; i++) {
    const clarke_summation_step *s = &t->step[i];

    REQUIRE(s->act != CLARKE_SUMMATION_ADD || sums >= 2);
    REQUIRE(s->act != CLARKE_SUMMATION_FUSE || sums >= 1);
    sums += s->act == CLARKE_SUMMATION_PUSH;
    sums -= s->act == CLARKE_SUMMATION_ADD;
    REQUIRE(sums <= CLARKE_SUMMATION_DEPTH + 1);
    if (s->act == CLARKE_SUMMATION_ADD)
      continue;
    REQUIRE(s->leaf < t->leaves && !seen[s->leaf]);
    seen[s->leaf] = true;
    found++;
  }
  REQUIRE(sums == 1 && found == t->leaves && t->n < 2 * t->leaves);
  free(seen);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_summations s;
  clarke_error err;

  clarke_summations_init(&s);
  if (clarke_summations_parse(&s, data, size, "trees.json", &err) == CLARKE_OK)
    for (size_t i = 0; i < s.n; i++) {
      const clarke_summation *sum = &s.sum[i];

      REQUIRE(sum->part != NULL && sum->name != NULL && sum->leaves > 0 && sum->n_parts > 0);
      REQUIRE(sum->n_parts <= CLARKE_SUMMATION_TREES && (sum->type == CLARKE_F32 || sum->type == CLARKE_F64));
      for (size_t k = 0; k < sum->n_parts; k++) {
        clarke_summation_tree t;

        REQUIRE(sum->at[k].row[0] <= sum->at[k].row[1] && sum->at[k].column[0] <= sum->at[k].column[1]);
        if (sum->leaves > MOST_LEAVES || clarke_summation_tree_parse(&t, sum->at[k].tree, sum->leaves, &err) != CLARKE_OK)
          continue;
        require_tree(&t);
        clarke_summation_tree_clear(&t);
      }
    }
  clarke_summations_clear(&s);
  return 0;
}
