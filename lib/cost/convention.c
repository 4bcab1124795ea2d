#include "cost/convention.h"

#include <string.h>

#define PRODUCTS(n) [CLARKE_TERM_CONVOLUTION] = n, [CLARKE_TERM_LINEAR] = n
#define ALL_PRODUCTS(n) PRODUCTS(n), [CLARKE_TERM_ATTENTION] = n
#define BIASES(n) [CLARKE_TERM_CONVOLUTION_BIAS] = n, [CLARKE_TERM_LINEAR_BIAS] = n
#define GRADIENTS(n) [CLARKE_TERM_BACK_WEIGHTS] = n, [CLARKE_TERM_BACK_ACTIVATIONS] = n
/* XLA: a reduction of n numbers is n - 1 operations; the network's outputs are summed for a loss. */
#define XLA                                                                                                             \
  ALL_PRODUCTS(2), [CLARKE_TERM_PADDING] = -2, BIASES(1), [CLARKE_TERM_RELU] = 1, [CLARKE_TERM_POOL_COMPARISONS] = 1,   \
  [CLARKE_TERM_OUTPUTS] = 1
/* And its gradients: two operations for an entry of relu, one for each of a window's, the sums over a bias. */
#define XLA_BOTH                                                                                                        \
  ALL_PRODUCTS(2), [CLARKE_TERM_PADDING] = -2, BIASES(1), [CLARKE_TERM_RELU] = 3, [CLARKE_TERM_POOL_COMPARISONS] = 2,   \
  [CLARKE_TERM_POOL_OUTPUT] = 1, [CLARKE_TERM_OUTPUTS] = 1, GRADIENTS(2), [CLARKE_TERM_BACK_PADDING] = -2,              \
  [CLARKE_TERM_BACK_BIAS] = 1

static const clarke_convention conventions[] = {
  {"torch", "forward", false, "two for each multiply-add of convolutions and matrix products, padding's too", {ALL_PRODUCTS(2)}, 0},
  {"torch", "forward", false, "the same, and nothing for fused attention on a CPU", {PRODUCTS(2)}, 0},
  {"torch", "backward", false, "two for each multiply-add of gradients", {GRADIENTS(2)}, 0},
  {"torch", "backward", false, "the same, and nothing for fused attention on a CPU",
   {GRADIENTS(2), [CLARKE_TERM_BACK_ATTENTION] = -2}, 0},
  {"torch", "with-input", false, "two for each multiply-add of gradients", {GRADIENTS(2), [CLARKE_TERM_BACK_INPUT] = 2}, 0},
  {"torch", "with-input", false, "the same, and nothing for fused attention on a CPU",
   {GRADIENTS(2), [CLARKE_TERM_BACK_INPUT] = 2, [CLARKE_TERM_BACK_ATTENTION] = -2}, 0},
  {"torch", "backward", true, "two for each multiply-add of both passes", {ALL_PRODUCTS(2), GRADIENTS(2)}, 0},
  {"torch", "with-input", true, "two for each multiply-add of both passes",
   {ALL_PRODUCTS(2), GRADIENTS(2), [CLARKE_TERM_BACK_INPUT] = 2}, 0},
  {"fvcore", "forward", false, "multiply-adds; two for an entry of batch normalization, five of layer normalization",
   {ALL_PRODUCTS(1), [CLARKE_TERM_BATCH_NORM] = 2, [CLARKE_TERM_LAYER_NORM] = 5, [CLARKE_TERM_MEAN_INPUT] = 1}, 0},
  {"fvcore", "forward", false, "the same, and nothing for fused attention",
   {PRODUCTS(1), [CLARKE_TERM_BATCH_NORM] = 2, [CLARKE_TERM_LAYER_NORM] = 5, [CLARKE_TERM_MEAN_INPUT] = 1}, 0},
  {"thop", "forward", false, "multiply-adds of modules; four for an entry of a normalization; no attention",
   {PRODUCTS(1), [CLARKE_TERM_BATCH_NORM] = 4, [CLARKE_TERM_LAYER_NORM] = 4}, 0},
  {"ptflops", "forward", false, "multiply-adds, biases, normalizations; relu and pooling twice where they are modules that call functions",
   {PRODUCTS(1), BIASES(1), [CLARKE_TERM_RELU] = 2, [CLARKE_TERM_POOL_INPUT] = 2, [CLARKE_TERM_BATCH_NORM] = 2,
    [CLARKE_TERM_LAYER_NORM] = 1, [CLARKE_TERM_GELU] = 1}, 0},
  {"ptflops-aten", "forward", false, "multiply-adds and biases", {ALL_PRODUCTS(1), BIASES(1)}, 0},
  {"ptflops-aten", "forward", false, "the same, and nothing for fused attention", {PRODUCTS(1), BIASES(1)}, 0},
  {"calflops", "forward", false, "two for each multiply-add of modules, a convolution's bias, relu, pooling, normalizations; no attention",
   {PRODUCTS(2), [CLARKE_TERM_CONVOLUTION_BIAS] = 1, [CLARKE_TERM_RELU] = 1, [CLARKE_TERM_POOL_INPUT] = 1,
    [CLARKE_TERM_BATCH_NORM] = 2, [CLARKE_TERM_LAYER_NORM] = 5, [CLARKE_TERM_GELU] = 1}, 0},
  {"torchinfo", "forward", false, "multiply-adds and biases of convolutions; of other layers their parameters, whatever the tokens",
   {[CLARKE_TERM_CONVOLUTION] = 1, [CLARKE_TERM_CONVOLUTION_BIAS] = 1, [CLARKE_TERM_LINEAR_WEIGHTS] = 1,
    [CLARKE_TERM_NORM_WEIGHTS] = 1}, 0},
  {"jax", "forward", false, "XLA's operations: products without padding's, biases, relu, comparisons, the sum of the outputs", {XLA}, -1},
  {"jax", "backward", true, "the same, and its gradients", {XLA_BOTH}, -1},
  {"jax", "with-input", true, "the same, and its gradients",
   {XLA_BOTH, [CLARKE_TERM_BACK_INPUT] = 2, [CLARKE_TERM_BACK_INPUT_PADDING] = -2}, -1},
};

static const clarke_convention own[] = {
  {"clarke", "forward", false, "", {ALL_PRODUCTS(2)}, 0},
  {"clarke", "backward", false, "", {GRADIENTS(2)}, 0},
  {"clarke", "with-input", false, "", {GRADIENTS(2), [CLARKE_TERM_BACK_INPUT] = 2}, 0},
  {"clarke", "backward", true, "", {ALL_PRODUCTS(2), GRADIENTS(2)}, 0},
  {"clarke", "with-input", true, "", {ALL_PRODUCTS(2), GRADIENTS(2), [CLARKE_TERM_BACK_INPUT] = 2}, 0},
};

const clarke_convention *
clarke_convention_at(size_t i)
{
  return i < sizeof conventions / sizeof *conventions ? &conventions[i] : NULL;
}

const clarke_convention *
clarke_convention_own(const char *mode, bool both)
{
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(own[i].mode, mode) == 0 && own[i].both == both)
      return &own[i];
  return NULL;
}

void
clarke_convention_total(mpz_t total, const clarke_convention *c, const clarke_layer_cost *l)
{
  mpz_t factor;

  mpz_init(factor);
  mpz_set_si(total, c->constant);
  for (int t = 0; t < CLARKE_N_TERMS; t++) {
    mpz_set_si(factor, c->of[t]);
    mpz_addmul(total, factor, l->term[t]);
  }
  mpz_clear(factor);
}
