/* Descriptions of sweeps: what is accepted has what a sweep needs, within its limits, and each thing once. */
#include "format/manifest.h"
#include "mutate.h"
#include "target.h"

#include <string.h>

MUTATED_AS(mutate_text)

static void
require_texts(const clarke_manifest_texts *t, size_t least, size_t most)
{
  REQUIRE(t->n >= least && t->n <= most);
  for (size_t i = 0; i < t->n; i++) {
    REQUIRE(*t->text[i] != '\0' && strchr(t->text[i], '\n') == NULL);
    for (size_t k = 0; k < i && t->n < 64; k++)
      REQUIRE(strcmp(t->text[i], t->text[k]) != 0);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_manifest m;
  clarke_error err;

  clarke_manifest_init(&m);
  if (clarke_manifest_parse(&m, data, size, "sweep.json", &err) == CLARKE_OK) {
    REQUIRE(m.model != NULL && *m.model != '\0');
    require_texts(&m.batches, 1, CLARKE_MOST_PATTERNS);
    require_texts(&m.checkpoints, 0, CLARKE_MOST_PATTERNS);
    require_texts(&m.profiles, 2, CLARKE_MOST_PROFILES);
    require_texts(&m.formats, 0, CLARKE_FLOAT_FORMATS);
    REQUIRE(m.n_seeds <= CLARKE_MOST_SEEDS && (m.n_seeds == 0 || m.checkpoints.n == 0));
  }
  clarke_manifest_clear(&m);
  return 0;
}
