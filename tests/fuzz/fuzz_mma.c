/* Records of tensor cores. The first byte chooses a reader: 0 to 4 factors of a format, 5 addends, 6 results, 7 instructions.
 * Factors that are accepted are multiplied by every rule that there is for so many. */
#include "trace/tensorcore/mma_rule.h"
#include "trace/tensorcore/mma_set.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

static const char *const gpus[] = {"V100", "A100", "L40S", "H100", "B200", "none"};

/* A result is a number of its format, or infinite, or the NaN. */
static void
require_result(uint32_t d, int output)
{
  clarke_mma_number x;

  REQUIRE(clarke_mma_decode(&x, &clarke_mma_formats[output], d) || (d & ~CLARKE_MMA_SIGN) == CLARKE_MMA_INFINITY || d == CLARKE_MMA_NAN ||
          d == UINT32_C(0x7fffe000));
}

static void
multiply(const clarke_mma_rows *r, int input)
{
  const size_t last = (r->rows - 1) * (size_t)r->columns;
  char text[128];

  for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++)
    for (int output = CLARKE_MMA_FP16; output <= CLARKE_MMA_FP32; output += CLARKE_MMA_FP32 - CLARKE_MMA_FP16) {
      const clarke_mma_question q = {gpus[g], input, output, r->columns, NULL};
      const clarke_mma_rule *rule = NULL;

      while ((rule = clarke_mma_rule_next(&q, rule)) != NULL) {
        require_result(clarke_mma_apply(rule, input, r->columns, r->bits, &r->bits[last], r->bits[last]), output);
        clarke_mma_describe(text, sizeof text, rule);
      }
    }
}

static void
require_rows(const clarke_mma_rows *r, int format, bool finite)
{
  clarke_mma_number x;

  REQUIRE(r->rows > 0 && r->columns > 0 && r->columns <= CLARKE_MMA_PRODUCTS_MOST);
  for (size_t i = 0; finite && i < r->rows * (size_t)r->columns; i++)
    REQUIRE(clarke_mma_decode(&x, &clarke_mma_formats[format], r->bits[i]));
}

static clarke_status
read_rows(const uint8_t *data, size_t size, int choice, clarke_error *err)
{
  const int format = choice < CLARKE_MMA_INPUTS ? choice : CLARKE_MMA_FP32;
  clarke_mma_rows r = {0};
  clarke_status status;

  if (choice < CLARKE_MMA_INPUTS)
    status = clarke_mma_parse_factors(&r, &clarke_mma_formats[format], data, size, "x.txt", err);
  else
    status = clarke_mma_parse_bits(&r, choice == 5, data, size, "x.txt", err);
  if (status == CLARKE_OK)
    require_rows(&r, format, choice <= 5);
  else
    REQUIRE(r.bits == NULL);
  if (status == CLARKE_OK && choice < CLARKE_MMA_INPUTS)
    multiply(&r, format);
  clarke_mma_rows_clear(&r);
  return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_mma_instructions i;
  clarke_status status;

  if (size == 0 || data[0] < '0' || data[0] > '7')
    return 0;
  if (data[0] == '7')
    status = clarke_mma_parse_instructions(&i, data + 1, size - 1, "x.txt", &err);
  else
    status = read_rows(data + 1, size - 1, data[0] - '0', &err);
  if (status != CLARKE_OK)
    require_refusal(status, &err, "x.txt");
  return 0;
}
