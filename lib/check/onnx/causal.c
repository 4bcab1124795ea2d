/* A convolution by channel that looks back: entry l of the output is of entries l - k + 1 to l, those before the first being the past's,
 * or zeros. */
#include "check/onnx/causal.h"
#include "check/onnx/inner.h"

#include <string.h>

enum { X, WEIGHT, BIAS, PAST };

/* The last k - 1 entries of each channel, of x behind `before` of them; v has both one after another, where there is a past. */
static value
last_entries(builder *b, const value *v, size_t k, bool past)
{
  size_t channels = v->dims[1], length = v->dims[2], keep = k - 1;
  step *s = add_step(b, LINEAR, 1, 3, (size_t[]){v->dims[0], channels, keep});
  for (size_t f = 0; f < s->n; f++) {
    size_t line = f / keep, i = f % keep, at = length + i - keep;
    bool before = !past && length + i < keep; /* zeros */
    if (before)
      s->sources[f].step = PADDING;
    else
      operand(b, s, f, v, line * length + at);
  }
  value y = b->out;
  y.name = "";
  y.shared = v->constant == NULL ? v->shared : b->net->batched;
  return y;
}

void
lower_causal(builder *b)
{
  const char *name = text_attribute(b, "activation", "none");
  bool gate = strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0, past = has_input(b, PAST);
  size_t d[4][MAX_RANK];
  need(gate || strcmp(name, "none") == 0, "an unknown activation");
  need(run_axes(b, X, d[0]) == 3 && run_axes(b, WEIGHT, d[1]) == 3, "not an input and a weight of three axes");
  size_t k = d[1][2], channels = d[0][1];
  need(d[1][0] == channels && d[1][1] == 1 && k > 0 && channels > 0 && d[0][2] > 0,
       "channels that do not fit, or no entries");
  need(!past || (run_axes(b, PAST, d[3]) == 3 && d[3][0] == d[0][0] && d[3][1] == channels && d[3][2] == k - 1),
       "a past of other axes");
  need_batch_first(b, &b->in[X]);
  value x = b->in[X];
  if (past && k > 1)
    x = inner_joined(b, &b->in[PAST], &x, 2);
  value in[3] = {x, b->in[WEIGHT], b->in[BIAS]};
  if (!past && k > 1)
    in[0] = inner_node(b, "Pad", 2, (value[]){x, list_of(b, 6, (long[]){0, 0, (long)k - 1, 0, 0, 0})}, NULL);
  value y = inner_node(b, "Conv", has_input(b, BIAS) ? 3 : 2, in, inner_whole("group", (long)channels));
  if (gate) {
    value share = inner_of(b, "Sigmoid", &y, NULL);
    y = inner_of(b, "Mul", &y, &share);
  }
  b->out = y;
  if (b->node->n_out > 1 && *b->node->out[1] != '\0') {
    need(k > 1, "a state of no entries");
    value state = last_entries(b, &x, k, past);
    b->out = y;
    give_output(b, 1, state);
  }
}
