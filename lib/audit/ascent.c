/* The gain along v jumps where a class changes its side. Ascent is on a smooth one: each class takes its options with
 * the weights of a softmax, which sharpens. */
#include "audit/ascent.h"

#include "base/stop.h"
#include "exact/mdm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARTS 4
#define STEPS 60
#define STEP 0.1
#define MOMENTUM 0.9

typedef struct {
  const clarke_classes *c;
  double **gain;                   /* by class and option: along v */
  double *scale;                   /* by class: 1 / its largest slope */
  double *d, *gradient, *momentum; /* by column */
  double *weight;                  /* by option */
  size_t *option;
} ascent;

double
clarke_draw(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int32_t)(*state >> 32) / 2147483648.0;
}

static void
add(double *a, double by, const double *b, size_t n)
{
  for (size_t i = 0; i < n; i++)
    a[i] += by * b[i];
}

static void
normalize(double *x, size_t n)
{
  double length = sqrt(clarke_dot(x, x, n));

  for (size_t i = 0; i < n && length > 0; i++)
    x[i] /= length;
}

/* A class's part of the gradient. */
static void
add_class(ascent *k, size_t i, double sharpness)
{
  const clarke_class *class = &k->c->class[i];
  const size_t n = k->c->n_columns;
  double most = 0, sum = 0, mean = 0;

  for (size_t o = 0; o < class->options; o++) {
    k->weight[o] = sharpness * k->scale[i] * clarke_dot(class->slope + o * n, k->d, n);
    most = k->weight[o] > most ? k->weight[o] : most;
  }
  for (size_t o = 0; o < class->options; o++) {
    k->weight[o] = exp(k->weight[o] - most);
    sum += k->weight[o];
  }
  for (size_t o = 0; o < class->options; o++) {
    k->weight[o] /= sum;
    mean += k->weight[o] * k->gain[i][o];
  }
  for (size_t o = 1; o < class->options; o++)
    add(k->gradient, k->weight[o] * (k->gain[i][o] - mean) * k->scale[i], class->slope + o * n, n);
}

static double
value_of(const ascent *k, const size_t *option)
{
  double sum = 0;

  for (size_t i = 0; i < k->c->n; i++)
    sum += k->gain[i][option[i]];
  return sum;
}

static void
climb(ascent *k, size_t *best, double *value)
{
  const size_t n = k->c->n_columns;

  memset(k->momentum, 0, n * sizeof *k->momentum);
  normalize(k->d, n);
  for (size_t step = 0; step < STEPS; step++) {
    clarke_work_spend(k->c->n * (n + 16) / 4);
    memset(k->gradient, 0, n * sizeof *k->gradient);
    for (size_t i = 0; i < k->c->n; i++)
      add_class(k, i, 2 + (double)step / 2);
    normalize(k->gradient, n);
    for (size_t j = 0; j < n; j++)
      k->momentum[j] = MOMENTUM * k->momentum[j] + k->gradient[j];
    add(k->d, STEP, k->momentum, n);
    normalize(k->d, n);
    if (step % 5 != 4)
      continue;
    clarke_classes_along(k->option, k->c, k->d);
    if (value_of(k, k->option) > *value) {
      *value = value_of(k, k->option);
      memcpy(best, k->option, k->c->n * sizeof *best);
    }
  }
}

static bool
begin(ascent *k, const double *v)
{
  const clarke_classes *c = k->c;
  const size_t n = c->n_columns;
  size_t most = 0, done = 0;

  k->gain = calloc(c->n + 1, sizeof *k->gain);
  k->scale = malloc((c->n + 1) * sizeof *k->scale);
  for (size_t i = 0; k->gain != NULL && k->scale != NULL && i < c->n; i++) {
    const clarke_class *class = &c->class[i];
    double largest = 0;

    k->gain[i] = malloc(class->options * sizeof **k->gain);
    done += k->gain[i] != NULL;
    for (size_t o = 0; k->gain[i] != NULL && o < class->options; o++)
      k->gain[i][o] = clarke_dot(class->gain[0] + o * n, v, n) + clarke_dot(class->gain[1] + o * n, v, n);
    for (size_t e = 0; e < class->options * n; e++)
      largest = fabs(class->slope[e]) > largest ? fabs(class->slope[e]) : largest;
    k->scale[i] = 1 / largest;
    most = class->options > most ? class->options : most;
  }
  k->d = malloc((n + 1) * sizeof *k->d);
  k->gradient = malloc((n + 1) * sizeof *k->gradient);
  k->momentum = malloc((n + 1) * sizeof *k->momentum);
  k->weight = malloc((most + 1) * sizeof *k->weight);
  k->option = malloc((c->n + 1) * sizeof *k->option);
  return done == c->n && k->scale != NULL && k->d != NULL && k->gradient != NULL &&
         k->momentum != NULL && k->weight != NULL && k->option != NULL;
}

static void
end(ascent *k)
{
  for (size_t i = 0; k->gain != NULL && i < k->c->n; i++)
    free(k->gain[i]);
  free(k->gain);
  free(k->scale);
  free(k->d);
  free(k->gradient);
  free(k->momentum);
  free(k->weight);
  free(k->option);
}

clarke_status
clarke_ascend(size_t *option, double *value, const clarke_classes *c, const double *v,
             uint64_t *state, clarke_error *err)
{
  ascent k = {.c = c};
  bool begun = begin(&k, v);

  *value = -INFINITY;
  for (size_t start = 0; begun && start < STARTS; start++) {
    for (size_t j = 0; j < c->n_columns; j++)
      k.d[j] = start == 0 ? v[j] : start == 1 ? -v[j] : clarke_draw(state);
    climb(&k, option, value);
  }
  end(&k);
  return begun ? CLARKE_OK : clarke_no_memory(err);
}
