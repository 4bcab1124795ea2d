/* Piecewise linear programs that are drawn, as texts. */
#ifndef CLARKE_TESTS_REGION_DRAWN_PROGRAM_H
#define CLARKE_TESTS_REGION_DRAWN_PROGRAM_H

#include "drawn.h"

#include "../suite.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct {
  char text[1 << 14];
  size_t n;
} source;

static inline void put(source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void
put(source *s, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  s->n += (size_t)vsnprintf(s->text + s->n, sizeof s->text - s->n, format, list);
  va_end(list);
  ck_assert_uint_lt(s->n, sizeof s->text);
}

/* A neuron of the layer before: small coefficients, some 0, some offsets 0. */
static inline void
put_sum(source *s, uint64_t *state, const char *before, size_t width)
{
  for (size_t i = 0; i < width; i++)
    put(s, "%ld * %s%zu + ", draw_entry(state, 2), before, i);
  put(s, "%ld/%ld", roll(state) % 2 == 0 ? 0 : draw_entry(state, 3), (long)(1 + roll(state) % 2));
}

/* Layers of few neurons, one of which may be another again; skips; a maximum or minimum between layers. proxies (NULL: none): two texts in braces,
 * AD's numbers at the kinks of pointwise functions and at ties. */
static inline void
put_network(source *s, uint64_t *state, size_t inputs, const char *const *proxies)
{
  const char *at_kinks = proxies != NULL ? proxies[0] : "", *at_ties = proxies != NULL ? proxies[1] : "";
  static const char *const functions[] = {"relu", "relu", "relu", "hardtanh", "leaky_relu", "abs", "relu6"};
  const size_t layers = 1 + roll(state) % 3;
  char before[32] = "x";
  size_t width = inputs;

  for (size_t i = 0; i < inputs; i++)
    put(s, "input x%zu\n", i);
  for (size_t l = 0; l < layers; l++) {
    const size_t neurons = 1 + roll(state) % 3, again = roll(state) % 6;
    const char *function = functions[roll(state) % 7];

    for (size_t i = 0; i < neurons; i++) {
      put(s, "let l%zu_%zu = %s%s(", l, i, function, at_kinks);
      if (i > 0 && again == 0)
        put(s, "2 * l%zu_0 - 1)\n", l);
      else {
        put_sum(s, state, before, width);
        put(s, roll(state) % 4 == 0 ? " + x0)\n" : ")\n");
      }
    }
    width = neurons;
    snprintf(before, sizeof before, "l%zu_", l);
    if (neurons == 3 && roll(state) % 2 == 0) {
      put(s, "let m%zu_0 = %s%s(l%zu_0, l%zu_1, l%zu_2)\n", l, roll(state) % 3 == 0 ? "min" : "max", at_ties, l, l, l);
      width = 1;
      snprintf(before, sizeof before, "m%zu_", l);
    }
  }
  put(s, "output ");
  put_sum(s, state, before, width);
  put(s, "\n");
}

#endif
