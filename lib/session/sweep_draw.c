/* Weights drawn as PyTorch's modules are initialized: uniform between -b and b, b = 1 / sqrt(fan in), the matrix and its bias. The
 * generator is Philox 4x32-10 (Salmon and others, Parallel random numbers: as easy as 1, 2, 3, 2011). */
#include "session/sweep_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
philox(uint32_t c[4], uint32_t key)
{
  uint32_t k0 = key, k1 = 0;

  for (int round = 0; round < 10; round++) {
    const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t x = (uint32_t)(b >> 32) ^ c[1] ^ k0, z = (uint32_t)(a >> 32) ^ c[3] ^ k1;

    c[0] = x;
    c[1] = (uint32_t)b;
    c[2] = z;
    c[3] = (uint32_t)a;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
}

/* A float32 of [-bound, bound): 24 bits of the counter's. */
static double
uniform(uint32_t seed, size_t parameter, size_t entry, float bound)
{
  uint32_t c[4] = {(uint32_t)(entry / 4), (uint32_t)(entry / 4 >> 32), (uint32_t)parameter, 0};
  float unit;

  philox(c, seed);
  unit = (float)(c[entry % 4] >> 8) * 0x1p-24f;
  return (double)(unit * (2 * bound) - bound);
}

static void
draw_tensor(clarke_tensors *ts, const clarke_graph *g, size_t value, uint32_t seed, size_t fan_in)
{
  const size_t parameter = g->values[value].parameter;
  const float bound = 1 / sqrtf((float)(fan_in > 0 ? fan_in : 1));

  for (size_t e = 0; parameter != CLARKE_NONE && e < ts->tensor[parameter].count; e++)
    ts->tensor[parameter].real[e] = uniform(seed, parameter, e, bound);
}

/* The constant that is added to what the step makes, its bias; CLARKE_NONE: there is none. */
static size_t
bias_of(const clarke_graph *g, const clarke_step *s)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *t = &g->steps[i];

    for (size_t k = 0; k < 2 && t->kind == CLARKE_SUM && t->n_in == 2; k++)
      if (t->in[k].value == s->out && g->values[t->in[1 - k].value].constant)
        return t->in[1 - k].value;
  }
  return CLARKE_NONE;
}

clarke_status
clarke_sweep_draw(clarke_graph *g, uint32_t seed, clarke_error *err)
{
  clarke_tensors ts;
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_checkpoint_of(&ts, g, err);
  for (size_t i = 0; status == CLARKE_OK && i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t bias = s->kind == CLARKE_DENSE ? bias_of(g, s) : CLARKE_NONE;

    if (s->kind != CLARKE_DENSE)
      continue;
    draw_tensor(&ts, g, s->dense.weight, seed, s->dense.inner);
    if (bias != CLARKE_NONE)
      draw_tensor(&ts, g, bias, seed, s->dense.inner);
  }
  if (status == CLARKE_OK)
    status = clarke_graph_replace(g, ts.tensor, ts.n, "drawn weights", err);
  clarke_tensors_clear(&ts);
  return status;
}
