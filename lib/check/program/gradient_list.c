/* Lists of gradients (gradient_list.h). */
#include "check/program/gradient_list.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <string.h>

static size_t n_gradients, size, width; /* of entries of one: of all outputs, of one output */
static rational *gradients;
static bool *met;

static int
compare_gradients(const rational *a, const rational *b)
{
  for (size_t k = 0; k < size; k++) {
    int order = mpq_cmp(&a[k], &b[k]);
    if (order != 0)
      return order;
  }
  return 0;
}

size_t
gradient_list_read(size_t outputs, size_t variables)
{
  next_line("gradients");
  n_gradients = next_number();
  width = variables;
  size = outputs * variables;
  for (size_t g = 0; g < n_gradients; g++) {
    next_line("gradient");
    for (size_t k = 0; k < size; k++) {
      gradients = grow(gradients, g * size + k, sizeof *gradients);
      gradients[g * size + k] = rational_zero();
      next_rational(&gradients[g * size + k]);
    }
    require(g == 0 || compare_gradients(&gradients[(g - 1) * size], &gradients[g * size]) < 0,
            "gradients in increasing order are expected");
  }
  met = allocate(n_gradients, sizeof *met);
  return n_gradients;
}

void
gradient_list_meet(const rational *gradient)
{
  size_t from = 0, to = n_gradients;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (compare_gradients(&gradients[middle * size], gradient) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  require(from < n_gradients && compare_gradients(&gradients[from * size], gradient) == 0,
          "the region's gradient is not in the list");
  met[from] = true;
}

void
gradient_list_end(void)
{
  for (size_t g = 0; g < n_gradients; g++)
    require(met[g], "gradient %zu is that of no region", g);
}

void
gradient_list_state(void)
{
  for (size_t g = 0; g < n_gradients; g++)
    for (size_t k = 0; k < size; k++)
      gmp_fprintf(account, "%s%Qd%s",
                  k == 0           ? "  "
                  : k % width == 0 ? "; "
                                   : " ",
                  &gradients[g * size + k], k + 1 == size ? "\n" : "");
}
