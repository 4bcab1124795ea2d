/* Points of the command line, NAME=v,v,..., the literals in them, and names of profiles' kinds of numbers. */
#include "exact/literal.h"
#include "program/prog.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

static const char inputs[] = "input t\ninput v[3]\ninput longer_name[2]\noutput t + v[0] + v[1] + v[2] + longer_name[0]\n";

static void
require_literal(const char *text)
{
  mpq_t value, again;
  char *printed;

  mpq_init(value);
  mpq_init(again);
  if (clarke_literal_parse(value, text)) {
    REQUIRE(mpz_sgn(mpq_denref(value)) > 0);
    printed = mpq_get_str(NULL, 10, value);
    REQUIRE(clarke_literal_parse(again, printed) && mpq_equal(value, again));
    free(printed);
  }
  mpq_clear(value);
  mpq_clear(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static clarke_code p;
  clarke_error err = {CLARKE_OK, ""};
  mpq_t at[6];
  bool given[3] = {false, false, false};
  char *text = malloc(size + 1);

  REQUIRE(text != NULL);
  memcpy(text, data, size);
  text[size] = '\0';
  if (p.n == 0) {
    clarke_code_init(&p);
    REQUIRE(clarke_prog_parse(&p, inputs, strlen(inputs), "point.prog", &err) == CLARKE_OK);
  }
  for (size_t i = 0; i < 6; i++)
    mpq_init(at[i]);
  if (clarke_point_parse(at, given, &p, text, &err) == CLARKE_OK)
    REQUIRE(given[0] + given[1] + given[2] == 1);
  require_literal(text);
  for (size_t i = 0; i < 6; i++)
    mpq_clear(at[i]);
  free(text);
  return 0;
}
