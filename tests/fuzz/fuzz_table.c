/* Tables of numbers, read by the library; what it takes, an arrangement can be made of. */
#include "exact/number.h"
#include "format/table.h"
#include "mutate.h"
#include "region/arrangement.h"
#include "target.h"

MUTATED_AS(mutate_text)

/* Small ones alone: ranks of large ones take long. */
static void
require_arrangement(const clarke_table *t)
{
  clarke_arrangement a;
  clarke_error err = {CLARKE_OK, ""};

  if (t->rows * t->columns > 400)
    return;
  REQUIRE(clarke_arrangement_init(&a, t->rows, t->columns, t->value, NULL, &err) == CLARKE_OK);
  REQUIRE(a.rank <= t->rows && a.rows.n <= t->columns && (a.rank > 0) == (a.rows.n > 0));
  for (size_t j = 0; j < a.p; j++)
    REQUIRE(a.row[j] == CLARKE_NO_ROW ? a.turn[j] == 0 : a.row[j] < a.rows.n && a.turn[j] * a.turn[j] == 1);
  clarke_arrangement_clear(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_table t;
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  clarke_table_init(&t);
  status = clarke_table_parse(&t, data, size, "x.txt", &err);
  if (status == CLARKE_OK) {
    REQUIRE(t.rows > 0 && t.columns > 0 && t.rows * t.columns <= CLARKE_TABLE_ENTRIES);
    for (size_t i = 0; i < t.rows * t.columns; i++)
      REQUIRE(clarke_rational_is_canonical(t.value[i]));
    require_arrangement(&t);
  } else {
    require_refusal(status, &err, "x.txt: ");
  }
  clarke_table_clear(&t);
  return 0;
}
