/* Descriptions of run folders: what is accepted has plain names with hashes, a scale that is not 0, and a step. Of a trace the hash may be
 * missing. */
#include "format/run.h"
#include "mutate.h"
#include "target.h"

#include <string.h>

MUTATED_AS(mutate_text)

static void
require_plain(const clarke_run_file *f, bool required, bool hashed)
{
  REQUIRE(f->name != NULL || !required);
  REQUIRE(f->name == NULL || (*f->name != '\0' && *f->name != '.' && strchr(f->name, '/') == NULL));
  REQUIRE(f->name == NULL || strlen(f->sha256) == 64 || (!hashed && *f->sha256 == '\0'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_run_description r;
  clarke_error err;

  clarke_run_description_init(&r);
  if (clarke_run_description_parse(&r, data, size, "run.json", &err) == CLARKE_OK) {
    REQUIRE(r.n_steps > 0 && r.n_dtypes > 0 && r.n_parameters > 0 && r.profile != NULL && r.loss != NULL);
    require_plain(&r.graph, true, true);
    for (size_t i = 0; i < r.n_steps; i++) {
      REQUIRE(mpq_sgn(r.step[i].scale) != 0);
      require_plain(&r.step[i].batch, true, true);
      require_plain(&r.step[i].parameters, true, true);
      require_plain(&r.step[i].gradients, true, true);
      require_plain(&r.step[i].trace, false, false);
      require_plain(&r.step[i].trees, false, true);
    }
  }
  clarke_run_description_clear(&r);
  return 0;
}
