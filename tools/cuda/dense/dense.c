/* Trains a dense network by the kernels of kernels.h and records a step of it: on a GPU, or on the CPU, where the kernels are
 * loops. The record says which. */
#include "folder.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *out;
  sum_order order;
  numbers type;
  size_t steps, samples, width, layers, features, classes, scale, seed;
} request;

static const struct argp_option options[] = {
  {"out", 'o', "DIR", 0, "the run folder to write", 0},
  {"order", 'r', "ORDER", 0, "in which products are added: sequential, tree, warp (the default), split, cublas", 0},
  {"numbers", 'n', "TYPE", 0, "of factors and activations: float32 (the default), float16, bfloat16; tf32, by cublas alone", 0},
  {"steps", 's', "N", 0, "train so many steps and record the last (10)", 0},
  {"samples", 'b', "N", 0, "of the batch (48)", 0},
  {"width", 'w', "N", 0, "of hidden layers (40)", 0},
  {"layers", 'l', "N", 0, "2 to 8 (3)", 0},
  {"features", 'f', "N", 0, "of a sample (6); two of them are a spiral's", 0},
  {"classes", 'c', "N", 0, "spirals (3)", 0},
  {"scale", 'x', "N", 0, "what the loss is multiplied by, a power of 2 (1)", 0},
  {"seed", 'd', "N", 0, "of parameters and samples (1)", 0},
  {NULL, 0, NULL, 0, NULL, 0},
};

static size_t
number(const char *text, size_t least, size_t most, struct argp_state *state)
{
  char *end;
  const unsigned long n = strtoul(text, &end, 10);

  if (*text < '0' || *text > '9' || *end != '\0' || n < least || n > most)
    argp_error(state, "'%s': expected a number from %zu to %zu", text, least, most);
  return n;
}

static int
word(const char *text, const char *const *of, int n, struct argp_state *state)
{
  for (int i = 0; i < n; i++)
    if (strcmp(text, of[i]) == 0)
      return i;
  argp_error(state, "'%s' is not known", text);
  return 0;
}

/* Numbers that a request makes, of activations and weights, are at most these: some GiB, with gradients, copies and the record. */
#define MOST_NUMBERS ((size_t)1 << 26)

static void
check_sizes(const request *r, struct argp_state *state)
{
  const size_t hidden = (r->layers - 1) * r->width;
  const size_t activations = r->samples * (r->features + hidden + r->classes);
  const size_t weights = r->features * r->width + (r->layers - 2) * r->width * r->width + r->width * r->classes;

  if (activations + weights > MOST_NUMBERS)
    argp_error(state, "%zu activations and %zu weights: expected at most %zu together; take fewer samples, layers, features or a smaller width",
               activations, weights, MOST_NUMBERS);
}

static void
check(const request *r, struct argp_state *state)
{
  if (r->out == NULL)
    argp_error(state, "--out DIR is needed");
  if (r->order == ORDER_CUBLAS && !device_has_cublas())
    argp_error(state, "this was compiled without cuBLAS");
  if (r->type == NUMBERS_TF32 && r->order != ORDER_CUBLAS)
    argp_error(state, "tf32 is cuBLAS's alone: --order cublas");
  if ((r->scale & (r->scale - 1)) != 0)
    argp_error(state, "--scale: a power of 2 is expected");
  check_sizes(r, state);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *r = state->input;

  switch (key) {
  case 'o': r->out = arg; return 0;
  case 'r': r->order = (sum_order)word(arg, order_names, N_ORDERS, state); return 0;
  case 'n': r->type = (numbers)word(arg, numbers_names, N_NUMBERS, state); return 0;
  case 's': r->steps = number(arg, 1, 1000000, state); return 0;
  case 'b': r->samples = number(arg, 1, 65536, state); return 0;
  case 'w': r->width = number(arg, 1, 8192, state); return 0;
  case 'l': r->layers = number(arg, 2, MOST_LAYERS, state); return 0;
  case 'f': r->features = number(arg, 2, 8192, state); return 0;
  case 'c': r->classes = number(arg, 2, 1000, state); return 0;
  case 'x': r->scale = number(arg, 1, 1 << 24, state); return 0;
  case 'd': r->seed = number(arg, 0, SIZE_MAX, state); return 0;
  case ARGP_KEY_END: check(r, state); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static clarke_status
train(dense_network *d, const request *r, clarke_error *err)
{
  size_t widths[MOST_LAYERS + 1];

  for (size_t i = 0; i <= r->layers; i++)
    widths[i] = i == 0 ? r->features : i == r->layers ? r->classes : r->width;
  d->order = r->order;
  d->type = r->type;
  d->scale = (float)r->scale;
  d->rate = 0.5f;
  if (!dense_network_init(d, r->samples, widths, r->layers, r->seed))
    return clarke_no_memory(err);
  dense_network_draw(d, r->seed + 1);
  for (size_t step = 1; step <= r->steps; step++) {
    if (!dense_network_step(d) || (step < r->steps && !dense_network_descend(d)))
      return clarke_fail(err, CLARKE_EINPUT, "the device failed in step %zu", step);
    if (step == 1 || step == r->steps)
      printf("step %zu: loss %.6g\n", step, dense_network_loss(d));
  }
  return folder_write(r->out, d, r->steps, err);
}

int
main(int argc, char **argv)
{
  static const char doc[] = "Trains a dense network on spirals and records its last step as a run folder (docs/run-format.md).";
  const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
  request r = {.order = ORDER_WARP, .steps = 10, .samples = 48, .width = 40, .layers = 3, .features = 6, .classes = 3, .scale = 1, .seed = 1};
  dense_network d = {.n_layers = 0};
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;

  argp_err_exit_status = 2;
  if (argp_parse(&argp, argc, argv, 0, NULL, &r) != 0) {
    fprintf(stderr, "dense: the command line cannot be read: out of memory\n");
    return 2;
  }
  if (device_name() == NULL)
    return 2;
  printf("device: %s\n", device_name());
  status = train(&d, &r, &err);
  dense_network_clear(&d);
  if (status == CLARKE_OK)
    return 0;
  fprintf(stderr, "dense: %s\n", err.text);
  return 2;
}
