/* Indexes of shards: names that stay in the folder, in order. */
#include "mutate.h"
#include "target.h"
#include "format/shards.h"

MUTATED_AS(mutate_text)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_shards s;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_shards_init(&s);
  status = clarke_shards_parse(&s, data, size, "x.index.json", &err);
  if (status != CLARKE_OK)
    require_refusal(status, &err, "x.index.json: ");
  for (size_t i = 0; i < s.n; i++) {
    const char *file = s.shard[i].file;
    const int order = i == 0 ? -1 : strcmp(s.shard[i - 1].file, file);

    REQUIRE(strchr(file, '/') == NULL && file[0] != '.' && file[0] != '\0');
    REQUIRE(order < 0 || (order == 0 && strcmp(s.shard[i - 1].tensor, s.shard[i].tensor) < 0));
  }
  REQUIRE(status == CLARKE_OK || (s.n == 0 && s.shard == NULL));
  clarke_shards_clear(&s);
  return 0;
}
