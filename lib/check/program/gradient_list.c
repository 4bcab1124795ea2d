/* Lists of gradients (gradient_list.h). */
#include "check/program/gradient_list.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <string.h>

static int
compare_gradients(gradient_list *l, const rational *a, const rational *b)
{
  for (size_t k = 0; k < l->size; k++) {
    int order = mpq_cmp(&a[k], &b[k]);
    if (order != 0)
      return order;
  }
  return 0;
}

size_t
gradient_list_read(gradient_list *l, size_t outputs, size_t variables)
{
  next_line("gradients");
  l->n_gradients = next_number();
  l->width = variables;
  l->size = outputs * variables;
  for (size_t g = 0; g < l->n_gradients; g++) {
    next_line("gradient");
    for (size_t k = 0; k < l->size; k++) {
      l->gradients = grow(l->gradients, g * l->size + k, sizeof *l->gradients);
      l->gradients[g * l->size + k] = rational_zero();
      next_rational(&l->gradients[g * l->size + k]);
    }
    require(g == 0 || compare_gradients(l, &l->gradients[(g - 1) * l->size], &l->gradients[g * l->size]) < 0,
            "gradients in increasing order are expected");
  }
  l->met = allocate(l->n_gradients, sizeof *l->met);
  return l->n_gradients;
}

void
gradient_list_meet(gradient_list *l, const rational *gradient)
{
  size_t from = 0, to = l->n_gradients;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (compare_gradients(l, &l->gradients[middle * l->size], gradient) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  require(from < l->n_gradients && compare_gradients(l, &l->gradients[from * l->size], gradient) == 0,
          "the region's gradient is not in the list");
  l->met[from] = true;
}

void
gradient_list_end(gradient_list *l)
{
  for (size_t g = 0; g < l->n_gradients; g++)
    require(l->met[g], "gradient %zu is that of no region", g);
}

void
gradient_list_state(gradient_list *l)
{
  for (size_t g = 0; g < l->n_gradients; g++)
    for (size_t k = 0; k < l->size; k++)
      gmp_fprintf(account, "%s%Qd%s",
                  k == 0              ? "  "
                  : k % l->width == 0 ? "; "
                                      : " ",
                  &l->gradients[g * l->size + k], k + 1 == l->size ? "\n" : "");
}
