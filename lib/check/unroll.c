/* Networks as programs: sums, pointwise functions and maxima, entry by entry, in the order of the steps. */
#include "check/unroll.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/lines.h"
#include "check/kernel/point.h"
#include "check/kernel/question.h"
#include "check/onnx/choose.h"
#include "check/onnx/inputs.h"
#include "check/program/program_proof.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  program *p;
  const network *net;
  bool varies;  /* do parameters? */
  size_t **at;  /* of each step's features the instruction */
  size_t one;   /* the constant 1 */
  size_t first; /* of the parameters in wrt, end to end */
  size_t n_arguments;
} unrolling;

static size_t
add(unrolling *u, instruction i)
{
  program *p = u->p;
  u->n_arguments += i.n;
  size_t most = p->n + 1 > u->n_arguments ? p->n + 1 : u->n_arguments;
  within(LIMIT_INSTRUCTIONS, most, "the model as a program has more instructions, or arguments of them");
  p->instructions = grow(p->instructions, p->n, sizeof i);
  p->instructions[p->n] = i;
  return p->n++;
}

/* A sample of zeros, of the shape that the model declares for its input; an open first axis is 1. */
static tensor
sample_of(const model *m)
{
  tensor x = {.name = copy_text("x", 1), .type = FLOAT, .count = 1, .real = true};
  const port *in = NULL;
  for (size_t i = 0; i < m->n_inputs; i++) {
    if (is_initializer(m, m->inputs[i].name))
      continue;
    expect(in == NULL, "the model has more than one input");
    in = &m->inputs[i];
  }
  expect(in != NULL && in->shaped && in->rank > 0 && in->rank <= MAX_RANK,
         "the model has no input of a declared shape");
  x.rank = in->rank;
  for (size_t i = 0; i < in->rank; i++) {
    expect(in->dims[i] > 0 || i == 0, "axis %zu of the model's input has no declared length", i);
    x.dims[i] = in->dims[i] > 0 ? in->dims[i] : 1;
    within(LIMIT_ENTRIES, x.dims[i], "an input of more entries");
    x.count *= x.dims[i];
    within(LIMIT_ENTRIES, x.count, "an input of more entries");
  }
  x.value = rationals(x.count);
  return x;
}

/* As proofs write it. */
static char *
written(const char *name)
{
  char *to = allocate(3 * strlen(name) + 1, 1), *end = to;
  for (; *name != '\0'; name++)
    end += sprintf(end, strchr(safe, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
  return to;
}

/* Its entries' instructions are the next n. */
static void
begin_input(program *p, const char *name, size_t n)
{
  program_input in = {.name = written(name), .first = p->n, .n = n, .vector = true};
  p->inputs = grow(p->inputs, p->n_inputs, sizeof in);
  p->inputs[p->n_inputs++] = in;
}

static size_t
add_entry(unrolling *u)
{
  return add(u, (instruction){.kind = AN_INPUT, .c = input_numbers(), .entry = NONE});
}

static void
add_input(unrolling *u)
{
  const step *st = &u->net->steps[0];
  begin_input(u->p, u->net->input->name, st->n);
  for (size_t f = 0; f < st->n; f++)
    u->at[0][f] = add_entry(u);
}

/* At their stored values. They are named in the order of the file. */
static void
add_parameters(unrolling *u)
{
  size_t before = 0;
  u->first = u->p->n;
  for (size_t i = 0; i < u->net->n_tensors; i++) {
    const tensor *w = u->net->tensors[i];
    if (!w->wrt)
      continue;
    require(w->move == u->net->move + before, "the parameters are not named in the order of the file");
    begin_input(u->p, w->name, w->count);
    for (size_t e = 0; e < w->count; e++) {
      size_t at = add_entry(u);
      mpq_set(u->p->instructions[at].c, &w->value[e]);
    }
    before += w->count;
  }
}

/* Term i of a feature. */
static term
term_of(const step *st, size_t f, size_t i)
{
  return (term){st->factors[st->factor_row[f] * st->width + i], st->sources[st->source_row[f] * st->width + i]};
}

static size_t
argument_of(const unrolling *u, source x)
{
  return x.step == NONE ? u->one : u->at[x.step][x.from];
}

static size_t
add_product(unrolling *u, size_t a, size_t b)
{
  instruction i = {.kind = A_PRODUCT, .n = 2, .in = allocate(2, sizeof *i.in)};
  i.in[0] = a;
  i.in[1] = b;
  return add(u, i);
}

/* A term whose weight is a parameter in wrt becomes the parameter times the source; the factor's coefficient multiplies
 * that. */
static size_t
add_varying(unrolling *u, const step *st, const term *t)
{
  size_t w = u->first + (size_t)(t->by.w->move - u->net->move) + t->by.at;
  refuse_if(st->divide, "node %zu (%s) divides by a parameter that varies", st->place, st->op);
  return t->x.step == NONE ? w : add_product(u, w, argument_of(u, t->x));
}

static size_t
add_sum(unrolling *u, const step *st, size_t f)
{
  instruction i = {.kind = A_SUM, .in = allocate(st->width, sizeof *i.in), .c = rationals(st->width)};
  for (size_t k = 0; k < st->width; k++) {
    term t = term_of(st, f, k);
    if (t.x.step == PADDING)
      continue;
    if (t.by.w != NULL && t.by.w->wrt) {
      mpq_set(&i.c[i.n], t.by.coef);
      i.in[i.n++] = add_varying(u, st, &t);
      continue;
    }
    weigh(st, &t.by, false, &i.c[i.n]);
    i.in[i.n++] = argument_of(u, t.x);
  }
  return add(u, i);
}

/* The sum of products of two entries each. */
static size_t
add_products(unrolling *u, const step *st, size_t f)
{
  instruction i = {.kind = A_SUM, .in = allocate(st->width / 2, sizeof *i.in), .c = rationals(st->width / 2)};
  for (size_t k = 0; k < st->width; k += 2) {
    source a = term_of(st, f, k).x, b = term_of(st, f, k + 1).x;
    if (a.step == PADDING || b.step == PADDING)
      continue;
    mpq_set(&i.c[i.n], &plus_one);
    i.in[i.n++] = add_product(u, argument_of(u, a), argument_of(u, b));
  }
  return add(u, i);
}

/* The step's pieces, with the weight of this feature, if it has one, in the first. */
static pieces *
pieces_of(const step *st, const factor *by)
{
  pieces *p = allocate(1, sizeof *p);
  p->n_kinks = st->n_kinks;
  p->first = st->n_kinks > 0 ? st->number[0] : 0;
  for (size_t k = 0; k < 2; k++) {
    p->at[k] = rational_zero();
    mpq_set(&p->at[k], &st->at[k]);
  }
  for (size_t k = 0; k < 9; k++) {
    p->piece[k / 3][k % 3] = rational_zero();
    mpq_set(&p->piece[k / 3][k % 3], &st->piece[k / 3][k % 3]);
  }
  if (by->w != NULL)
    mpq_set(&p->piece[0][1], &by->w->value[by->at]);
  return p;
}

static size_t
add_pieces(unrolling *u, const step *st, size_t f, pieces **shared)
{
  term t = term_of(st, f, 0);
  instruction i = {.kind = A_POINTWISE, .n = 1, .in = allocate(1, sizeof *i.in), .name = st->op};
  *i.in = argument_of(u, t.x);
  refuse_if(t.by.w != NULL && t.by.w->wrt, "node %zu (%s): its slope varies", st->place, st->op);
  kink_use(u->p, i.name);
  if (*shared == NULL || t.by.w != NULL)
    *shared = pieces_of(st, &t.by);
  i.pieces = *shared;
  return add(u, i);
}

/* The largest of the window's entries; of one it is that. */
static size_t
add_window(unrolling *u, const step *st, size_t f)
{
  instruction i = {.kind = AN_ORDER, .rank = 1, .in = allocate(st->width, sizeof *i.in)};
  i.name = network_rule(step_operator(st));
  for (size_t k = 0; k < st->width; k++) {
    source x = term_of(st, f, k).x;
    if (x.step != PADDING)
      i.in[i.n++] = argument_of(u, x);
  }
  expect(i.n > 0, "a window without entries");
  if (i.n == 1)
    return i.in[0];
  kink_use(u->p, i.name);
  return add(u, i);
}

/* x over the root of weight + at[0], which must be rational. */
static size_t
add_over_root(unrolling *u, const step *st, size_t f)
{
  term t = term_of(st, f, 0);
  instruction i = {.kind = A_SUM, .n = 1, .in = allocate(1, sizeof *i.in), .c = rationals(1)};
  mpq_add(i.c, &t.by.w->value[t.by.at], &st->at[0]);
  refuse_if(mpq_sgn(i.c) <= 0 || !mpz_perfect_square_p(mpq_numref(i.c)) || !mpz_perfect_square_p(mpq_denref(i.c)),
            "a division by a root that is not rational");
  mpz_sqrt(mpq_numref(i.c), mpq_numref(i.c));
  mpz_sqrt(mpq_denref(i.c), mpq_denref(i.c));
  mpq_inv(i.c, i.c);
  *i.in = argument_of(u, t.x);
  return add(u, i);
}

static void
add_features(unrolling *u, size_t s)
{
  const step *st = &u->net->steps[s];
  pieces *shared = NULL;
  expect(st->kind == LINEAR || st->kind == PIECEWISE || st->kind == WINDOW || st->kind == OVER_ROOT
             || (st->kind == PRODUCT && u->varies),
         "node %zu (%s) is no sum, no piecewise function and no maximum", st->place, st->op);
  for (size_t f = 0; f < st->n; f++)
    u->at[s][f] = st->kind == LINEAR      ? add_sum(u, st, f)
                  : st->kind == PIECEWISE ? add_pieces(u, st, f, &shared)
                  : st->kind == WINDOW    ? add_window(u, st, f)
                  : st->kind == PRODUCT   ? add_products(u, st, f)
                                          : add_over_root(u, st, f);
}

static void
unroll_steps(program *p, const network *net, bool varies)
{
  unrolling u = {.p = p, .net = net, .varies = varies, .at = allocate(net->n_steps, sizeof *u.at)};
  for (size_t s = 0; s < net->n_steps; s++)
    u.at[s] = allocate(net->steps[s].n, sizeof **u.at);
  add_input(&u);
  if (varies)
    add_parameters(&u);
  instruction one = {.kind = A_CONSTANT, .c = rationals(1)};
  mpq_set(one.c, &plus_one);
  u.one = add(&u, one);
  for (size_t s = 1; s < net->n_steps; s++)
    add_features(&u, s);
  p->outputs = allocate(net->n_outputs, sizeof *p->outputs);
  p->n_outputs = net->n_outputs;
  for (size_t f = 0; f < net->n_outputs; f++)
    p->outputs[f] = u.at[net->output][net->map[f]];
  for (size_t s = 0; s < net->n_steps; s++)
    free(u.at[s]);
  free(u.at);
}

/* The line `wrt`, if it is next. */
static bool
names_parameters(network *net)
{
  bool named = line_is("wrt");
  if (named)
    read_wrt_names(net);
  return named;
}

static bool
read_unrolled(program *p, bytes file, const operator_set *operators)
{
  model m;
  network net;
  onnx_read(&m, file);
  operators->types(&m);
  operators->fold(&m);
  read_output(&m);
  read_constants(&m);
  tensor x = sample_of(&m);
  const arrays given = {.x = &x};
  network_build(&net, &m, &given, operators);
  expect(net.batch == 1 && net.own.kind == LOSS_NONE, "the model's input is not one sample, or it ends in a loss");
  expect(!net.read[DECIDED], "a comparison of initializers was decided by their numbers, which a program may move");
  state_network(&net, &m, &given);
  bool varies = names_parameters(&net);
  unroll_steps(p, &net, varies);
  return varies;
}

bool
read_function(program *p, const char *folder, const operator_set *operators)
{
  kinks_begin(p);
  if (operators != NULL)
    return read_unrolled(p, next_file(folder, "Model, whose output is F"), operators);
  bytes text = next_file(folder, "Program, whose output is F");
  state_program(text);
  program_read(p, text);
  return false;
}
