#include "network.h"

#include <math.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood), in [0, 1). */
static double
drawn(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

bool
dense_network_halves(const dense_network *d)
{
  return d->type == NUMBERS_FLOAT16 || d->type == NUMBERS_BFLOAT16;
}

numbers
dense_network_kept(const dense_network *d)
{
  return dense_network_halves(d) ? d->type : NUMBERS_FLOAT32;
}

static bool
layer_init(dense_layer *l, const dense_network *d, bool last, uint64_t *state)
{
  const size_t weights = l->in * l->out, entries = d->n * l->out;
  const double bound = 1 / sqrt((double)l->in);

  l->weight = device_new(weights);
  l->bias = device_new(l->out);
  l->weight_cast = dense_network_halves(d) ? device_new(weights) : l->weight;
  l->bias_cast = dense_network_halves(d) ? device_new(l->out) : l->bias;
  l->weight_gradient = device_new(weights);
  l->bias_gradient = device_new(l->out);
  l->output = device_new(entries);
  l->output_gradient = device_new(entries);
  l->active = last ? NULL : device_new(entries);
  l->active_gradient = last ? NULL : device_new(entries);
  if (l->weight == NULL || l->bias == NULL || l->weight_cast == NULL || l->bias_cast == NULL || l->weight_gradient == NULL
      || l->bias_gradient == NULL || l->output == NULL || l->output_gradient == NULL
      || (!last && (l->active == NULL || l->active_gradient == NULL)))
    return false;
  for (size_t e = 0; e < weights; e++)
    l->weight[e] = (float)((2 * drawn(state) - 1) * bound);
  for (size_t e = 0; e < l->out; e++)
    l->bias[e] = (float)((2 * drawn(state) - 1) * bound);
  return true;
}

/* The most entries that any product has. */
static size_t
most_entries(const dense_network *d)
{
  size_t most = 1;

  for (size_t i = 0; i < d->n_layers; i++) {
    const dense_layer *l = &d->layer[i];
    const size_t wide = l->in > l->out ? l->in : l->out;

    most = d->n * wide > most ? d->n * wide : most;
    most = l->in * l->out > most ? l->in * l->out : most;
  }
  return most;
}

bool
dense_network_init(dense_network *d, size_t n, const size_t *widths, size_t n_layers, uint64_t seed)
{
  bool done = true;

  d->n = n;
  d->features = widths[0];
  d->n_layers = n_layers;
  d->classes = widths[n_layers];
  for (size_t i = 0; i < n_layers && done; i++) {
    d->layer[i].in = widths[i];
    d->layer[i].out = widths[i + 1];
    done = layer_init(&d->layer[i], d, i + 1 == n_layers, &seed);
  }
  d->x = device_new(n * d->features);
  d->x_cast = dense_network_halves(d) ? device_new(n * d->features) : d->x;
  d->labels = device_new(n);
  d->log_softmax = device_new(n * d->classes);
  d->pieces = device_new(PIECES * most_entries(d));
  d->one = device_new(1);
  if (d->one != NULL)
    d->one[0] = 1;
  return done && d->x != NULL && d->x_cast != NULL && d->labels != NULL && d->log_softmax != NULL && d->pieces != NULL && d->one != NULL;
}

void
dense_network_clear(dense_network *d)
{
  for (size_t i = 0; i < d->n_layers; i++) {
    dense_layer *l = &d->layer[i];

    if (l->weight_cast != l->weight)
      device_free(l->weight_cast);
    if (l->bias_cast != l->bias)
      device_free(l->bias_cast);
    device_free(l->weight);
    device_free(l->bias);
    device_free(l->weight_gradient);
    device_free(l->bias_gradient);
    device_free(l->output);
    device_free(l->output_gradient);
    device_free(l->active);
    device_free(l->active_gradient);
  }
  if (d->x_cast != d->x)
    device_free(d->x_cast);
  device_free(d->x);
  device_free(d->labels);
  device_free(d->log_softmax);
  device_free(d->pieces);
  device_free(d->one);
  memset(d, 0, sizeof *d);
}

static const float *
input_of(const dense_network *d, size_t i)
{
  return i == 0 ? d->x_cast : d->layer[i - 1].active;
}

static void
forward(dense_network *d, size_t i)
{
  dense_layer *l = &d->layer[i];
  const product_task product = {.a = input_of(d, i), .ai = l->in, .ak = 1, .b = l->weight_cast, .bk = 1, .bj = l->in,
                                .bias = l->bias_cast, .c = l->output, .rows = d->n, .cols = l->out, .inner = l->in,
                                .result = dense_network_kept(d), .pieces = d->pieces};

  if (dense_network_halves(d)) {
    device_cast(l->weight_cast, l->weight, l->in * l->out, d->type);
    device_cast(l->bias_cast, l->bias, l->out, d->type);
  }
  device_product(d->order, d->type, product);
  if (l->active != NULL)
    device_gate(l->active, l->output, l->output, d->n * l->out);
}

static void
backward(dense_network *d, size_t i)
{
  dense_layer *l = &d->layer[i];
  const product_task weight = {.a = l->output_gradient, .ai = 1, .ak = l->out, .b = input_of(d, i), .bk = l->in, .bj = 1,
                               .c = l->weight_gradient, .rows = l->out, .cols = l->in, .inner = d->n, .pieces = d->pieces};
  const product_task bias = {.a = d->one, .b = l->output_gradient, .bk = l->out, .bj = 1, .c = l->bias_gradient, .rows = 1,
                             .cols = l->out, .inner = d->n, .pieces = d->pieces};

  device_product(d->order, d->type, weight);
  device_product(d->order, d->type, bias);
  if (i > 0) {
    dense_layer *before = &d->layer[i - 1];
    const product_task input = {.a = l->output_gradient, .ai = l->out, .ak = 1, .b = l->weight_cast, .bk = l->in, .bj = 1,
                                .c = before->active_gradient, .rows = d->n, .cols = l->in, .inner = l->out,
                                .result = dense_network_kept(d), .pieces = d->pieces};

    device_product(d->order, d->type, input);
    device_gate(before->output_gradient, before->active_gradient, before->output, d->n * l->in);
  }
}

bool
dense_network_step(dense_network *d)
{
  dense_layer *last = &d->layer[d->n_layers - 1];
  const loss_task loss = {last->output, d->labels, d->log_softmax, last->output_gradient, d->n, d->classes, d->scale, dense_network_kept(d)};

  if (dense_network_halves(d))
    device_cast(d->x_cast, d->x, d->n * d->features, d->type);
  for (size_t i = 0; i < d->n_layers; i++)
    forward(d, i);
  device_loss(loss);
  for (size_t i = d->n_layers; i-- > 0;)
    backward(d, i);
  return device_wait() == 0;
}

bool
dense_network_descend(dense_network *d)
{
  for (size_t i = 0; i < d->n_layers; i++) {
    dense_layer *l = &d->layer[i];

    device_descend(l->weight, l->weight_gradient, l->in * l->out, d->rate / d->scale);
    device_descend(l->bias, l->bias_gradient, l->out, d->rate / d->scale);
  }
  return device_wait() == 0;
}

double
dense_network_loss(const dense_network *d)
{
  double sum = 0;

  for (size_t j = 0; j < d->n; j++)
    sum -= d->log_softmax[j * d->classes + (size_t)d->labels[j]];
  return sum / (double)d->n;
}

void
dense_network_draw(dense_network *d, uint64_t seed)
{
  const double turn = 6.283185307179586;

  for (size_t j = 0; j < d->n; j++) {
    const size_t label = j % d->classes;
    const double far = drawn(&seed), angle = turn * ((double)label / (double)d->classes + 0.75 * far) + 0.2 * (drawn(&seed) - 0.5);

    d->labels[j] = (float)label;
    for (size_t f = 0; f < d->features; f++)
      d->x[j * d->features + f] = (float)(f == 0 ? far * cos(angle) : f == 1 ? far * sin(angle) : drawn(&seed) - 0.5);
  }
}
