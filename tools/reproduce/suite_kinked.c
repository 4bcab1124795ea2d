#include "suite_kinked.h"

#include <string.h>

static const struct {
  const char *name;
  size_t n_kinks;
  long kink[2], slope[3];
} functions[] = {
  [CLARKE_KINKED_RELU] = {"relu", 1, {0, 0}, {0, 1, 0}},
  [CLARKE_KINKED_RELU6] = {"relu6", 2, {0, 6}, {0, 1, 0}},
  [CLARKE_KINKED_HARDTANH] = {"hardtanh", 2, {-1, 1}, {0, 1, 0}},
};

/* --- drawing ---------------------------------------------------------------------------------- */

static long
value_of(clarke_kinked_function function, long y)
{
  const size_t n = functions[function].n_kinks;
  const long *kink = functions[function].kink, low = function == CLARKE_KINKED_HARDTANH ? -1 : 0;

  if (y < kink[0])
    return low;
  return n == 2 && y > kink[1] ? kink[1] : y;
}

long
clarke_kinked_argument(const clarke_kinked *net, size_t layer, size_t s, size_t i)
{
  const size_t n = layer == 0 ? net->n_in : net->layer[layer - 1].n_out;

  if (i >= n)
    return clarke_kinked_argument(net, layer - 1, s, i - n);
  return layer == 0 ? net->x[s][i] : net->layer[layer - 1].z[s][i];
}

static long
weighted(const clarke_kinked *net, size_t layer, size_t s, size_t o)
{
  const clarke_kinked_layer *l = &net->layer[layer];
  long sum = 0;

  for (size_t i = 0; i < l->n_in; i++)
    sum += net->w[l->weight[o][i]] * clarke_kinked_argument(net, layer, s, i);
  return sum;
}

/* The bias that puts a neuron of some sample at a kink, two times of three. */
static long
draw_bias(const clarke_kinked *net, clarke_draws *d, size_t layer, size_t o)
{
  const clarke_kinked_function f = net->layer[layer].function;
  const size_t s = clarke_draw_below(d, net->samples);

  if (clarke_draw_below(d, 3) == 0)
    return clarke_draw_between(d, -2, 2);
  return functions[f].kink[clarke_draw_below(d, functions[f].n_kinks)] - weighted(net, layer, s, o);
}

static size_t
new_parameter(clarke_kinked *net, long value)
{
  net->w[net->n_w] = value;
  return net->n_w++;
}

static void
draw_biases(clarke_kinked *net, clarke_draws *d, size_t layer, clarke_kinked_bias bias)
{
  clarke_kinked_layer *l = &net->layer[layer];
  size_t channel[2] = {NO_PARAMETER, NO_PARAMETER};

  for (size_t o = 0; o < l->n_out; o++) {
    const size_t c = clarke_draw_below(d, 2);

    l->bias[o] = NO_PARAMETER;
    if (bias == CLARKE_KINKED_UNBIASED)
      continue;
    if (bias == CLARKE_KINKED_SHARED && channel[c] != NO_PARAMETER)
      l->bias[o] = channel[c];
    else
      l->bias[o] = channel[c] = new_parameter(net, draw_bias(net, d, layer, o));
  }
}

static void
draw_layer(clarke_kinked *net, clarke_draws *d, size_t layer, clarke_kinked_bias bias)
{
  clarke_kinked_layer *l = &net->layer[layer];

  l->function = (clarke_kinked_function)clarke_draw_below(d, 3);
  l->n_out = 1 + clarke_draw_below(d, MOST_WIDTH);
  l->residual = layer == 1 && bias != CLARKE_KINKED_UNBIASED && clarke_draw_below(d, 2) == 0;
  l->n_in = (layer == 0 ? net->n_in : l[-1].n_out) + (l->residual ? l[-1].n_in : 0);
  for (size_t o = 0; o < l->n_out; o++)
    for (size_t i = 0; i < l->n_in; i++)
      l->weight[o][i] = new_parameter(net, clarke_draw_between(d, -2, 2));
  draw_biases(net, d, layer, bias);
  for (size_t s = 0; s < net->samples; s++)
    for (size_t o = 0; o < l->n_out; o++) {
      l->y[s][o] = weighted(net, layer, s, o) + (l->bias[o] != NO_PARAMETER ? net->w[l->bias[o]] : 0);
      l->z[s][o] = value_of(l->function, l->y[s][o]);
    }
}

void
clarke_kinked_draw(clarke_kinked *net, clarke_draws *d, size_t samples, clarke_kinked_bias bias)
{
  memset(net, 0, sizeof *net);
  net->samples = samples;
  net->n_in = 1 + clarke_draw_below(d, 2);
  net->n_layers = 1 + clarke_draw_below(d, MOST_LAYERS);
  for (size_t s = 0; s < samples; s++)
    for (size_t i = 0; i < MOST_WIDTH; i++) {
      net->x[s][i] = clarke_draw_between(d, -2, 2);
      net->c[s][i] = clarke_draw_between(d, 0, 1) ? clarke_draw_between(d, 1, 3) : -clarke_draw_between(d, 1, 3);
    }
  for (size_t l = 0; l < net->n_layers; l++)
    draw_layer(net, d, l, bias);
}

/* --- kinks ------------------------------------------------------------------------------------ */

/* Which kink; n_kinks: none. */
static size_t
kink_of(const clarke_kinked_layer *l, size_t sample, size_t neuron)
{
  size_t k = 0;

  while (k < functions[l->function].n_kinks && l->y[sample][neuron] != functions[l->function].kink[k])
    k++;
  return k;
}

bool
clarke_kinked_touches(const clarke_kinked_layer *l, size_t sample, size_t neuron, long *left, long *right)
{
  const size_t k = kink_of(l, sample, neuron);

  if (k == functions[l->function].n_kinks)
    return false;
  if (left != NULL)
    *left = functions[l->function].slope[k];
  if (right != NULL)
    *right = functions[l->function].slope[k + 1];
  return true;
}

size_t
clarke_kinked_touched(const clarke_kinked *net)
{
  size_t n = 0;

  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++)
        n += clarke_kinked_touches(&net->layer[l], s, o, NULL, NULL);
  return n;
}

/* --- as a program ------------------------------------------------------------------------------ */

static void
put_argument(FILE *to, const clarke_kinked *net, size_t layer, size_t s, size_t i)
{
  const size_t n = layer == 0 ? net->n_in : net->layer[layer - 1].n_out;

  if (i >= n)
    put_argument(to, net, layer - 1, s, i - n);
  else if (layer == 0)
    fprintf(to, "(%ld)", net->x[s][i]);
  else
    fprintf(to, "z%zu_%zu_%zu", layer - 1, s, i);
}

static void
put_neuron(FILE *to, const clarke_kinked *net, size_t layer, size_t s, size_t o)
{
  const clarke_kinked_layer *l = &net->layer[layer];
  const clarke_kinked_number q = l->proxy[s][o];

  fprintf(to, "let y%zu_%zu_%zu = 0", layer, s, o);
  for (size_t i = 0; i < l->n_in; i++) {
    fprintf(to, " + w[%zu]*", l->weight[o][i]);
    put_argument(to, net, layer, s, i);
  }
  if (l->bias[o] != NO_PARAMETER)
    fprintf(to, " + w[%zu]", l->bias[o]);
  fprintf(to, "\nlet z%zu_%zu_%zu = %s", layer, s, o, functions[l->function].name);
  if (clarke_kinked_touches(l, s, o, NULL, NULL))
    fprintf(to, "{%ld/%ld}", q.n, q.d);
  fprintf(to, "(y%zu_%zu_%zu)\n", layer, s, o);
}

static void
put_loss(FILE *to, const clarke_kinked *net)
{
  const size_t last = net->n_layers - 1;

  for (size_t s = 0; s < net->samples; s++)
    for (size_t o = 0; o < net->layer[last].n_out; o++)
      fprintf(to, "%s(%ld)*z%zu_%zu_%zu", s + o > 0 ? " + " : "output ", net->c[s][o], last, s, o);
  fputs("\n", to);
}

static void
put_rows(FILE *to, const clarke_kinked *net)
{
  const char *before = "output ";

  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++) {
        const clarke_kinked_layer *layer = &net->layer[l];
        long left, right;

        if (!clarke_kinked_touches(layer, s, o, &left, &right))
          continue;
        for (long sign = -1; sign <= 1; sign += 2)
          if (layer->proxy[s][o].n == (sign < 0 ? left : right) * layer->proxy[s][o].d) {
            fprintf(to, "%s(%ld)*(y%zu_%zu_%zu - (%ld))", before, sign, l, s, o, layer->y[s][o]);
            before = ", ";
          }
      }
  fputs("\n", to);
}

static void
put_arguments(FILE *to, const clarke_kinked *net)
{
  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++)
        fprintf(to, "%sy%zu_%zu_%zu", l + s + o > 0 ? ", " : "output ", l, s, o);
  fputs("\n", to);
}

clarke_status
clarke_kinked_pose(clarke_posed *q, const clarke_kinked *net, clarke_kinked_outputs outputs, clarke_error *err)
{
  static void (*const put[])(FILE *, const clarke_kinked *) = {
    [CLARKE_KINKED_LOSS] = put_loss, [CLARKE_KINKED_ROWS] = put_rows, [CLARKE_KINKED_ARGUMENTS] = put_arguments};
  clarke_text t;
  clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input w[%zu]\n", net->n_w);
  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t s = 0; s < net->samples; s++)
      for (size_t o = 0; o < net->layer[l].n_out; o++)
        put_neuron(t.to, net, l, s, o);
  put[outputs](t.to, net);
  return clarke_posed_read(q, &t, net->w, net->n_w, err);
}
