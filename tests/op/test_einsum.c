/* Einsum by its definition: drawn equations of one and two operands, activations with the samples on any axis and constants, the
 * result summed entry by entry over whole arrays; how an equation is read; and what is refused. */
#include "steps.h"

#include "network/graph/build.h"
#include "op/equation.h"

#include "../ok.h"

#include <math.h>

#define SAMPLES 2
#define MOST 4 /* axes of an operand */

static clarke_model m;
static clarke_graph g;
static uint64_t state = 7;

/* n: the samples. Others by size: a, f have 1, b, d 2, c, e 3. */
static size_t
size_of(char label)
{
  static const size_t sizes[] = {1, 2, 3, 2, 3, 1};

  return label == 'n' ? SAMPLES : sizes[label - 'a'];
}

typedef struct {
  size_t rank, dims[MOST], count;
  char label[MOST + 1];
  double *v;
} operand;

static size_t
count_of(const operand *o)
{
  size_t n = 1;

  for (size_t a = 0; a < o->rank; a++)
    n *= o->dims[a];
  return n;
}

/* A label for an axis of that size; for one of 1 perhaps b or c, whose entries all take the one. */
static char
draw_label(operand *o, size_t size)
{
  char c;

  do
    c = (char)('a' + draw_below(&state, 6));
  while (size_of(c) != size && (size > 1 || c > 'c' || strchr(o->label, c) != NULL));
  if (size_of(c) != size)
    return c;
  for (const char *at = o->label; *at != '\0'; at++) /* it stands there already with one entry */
    if (*at == c && o->dims[at - o->label] != size)
      return draw_label(o, size);
  return c;
}

static void
draw_constant(operand *o, bool with_samples)
{
  *o = (operand){.rank = draw_below(&state, MOST + 1)};
  for (size_t a = 0; a < o->rank; a++) {
    o->dims[a] = 1 + draw_below(&state, 3);
    o->label[a] = draw_label(o, o->dims[a]);
  }
  if (with_samples && o->rank > 0 && o->dims[o->rank - 1] == 1)
    o->label[o->rank - 1] = 'n';
  o->v = calloc(count_of(o), sizeof *o->v);
  for (size_t e = 0; e < count_of(o); e++)
    o->v[e] = (double)draw_between(&state, -3, 3);
}

/* x, its axes in another order: perm[a] is x's axis that becomes a. */
static void
draw_activation(operand *o, const operand *x, long *perm)
{
  *o = (operand){.rank = x->rank};
  for (size_t a = 0; a < x->rank; a++)
    perm[a] = (long)a;
  for (size_t a = x->rank; a-- > 1;) {
    const size_t b = draw_below(&state, a + 1);
    const long t = perm[a];

    perm[a] = perm[b];
    perm[b] = t;
  }
  for (size_t a = 0; a < o->rank; a++) {
    o->dims[a] = x->dims[perm[a]];
    o->label[a] = perm[a] == 0 ? 'n' : draw_label(o, o->dims[a]);
  }
  o->v = calloc(count_of(o), sizeof *o->v);
  for (size_t e = 0; e < count_of(o); e++) {
    size_t index[MOST], rest = e, from = 0;

    for (size_t a = o->rank; a-- > 0; rest /= o->dims[a])
      index[perm[a]] = rest % o->dims[a];
    for (size_t a = 0; a < x->rank; a++)
      from = from * x->dims[a] + index[a];
    o->v[e] = x->v[from];
  }
}

/* Some labels of the operands, in some order; the samples' among them, if they have one. */
static void
draw_result(operand *y, const operand *o, size_t n)
{
  char all[2 * MOST + 1] = "";
  size_t met = 0;

  *y = (operand){.rank = 0};
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < o[i].rank; a++)
      if (strchr(all, o[i].label[a]) == NULL)
        all[met++] = o[i].label[a];
  for (size_t k = 0; k < met; k++)
    if (all[k] == 'n' || (y->rank + 1 < MOST && draw_below(&state, 3) > 0)) {
      const size_t at = draw_below(&state, y->rank + 1);

      memmove(y->label + at + 1, y->label + at, y->rank - at);
      y->label[at] = all[k];
      y->rank++;
    }
  for (size_t a = 0; a < y->rank; a++) {
    y->dims[a] = 1;
    for (size_t i = 0; i < n; i++)
      for (size_t b = 0; b < o[i].rank; b++)
        if (o[i].label[b] == y->label[a] && o[i].dims[b] > y->dims[a])
          y->dims[a] = o[i].dims[b];
  }
}

/* The entry of o at the labels' indices; where it has one entry along an axis, that. */
static double
at_indices(const operand *o, const size_t *index)
{
  size_t at = 0;

  for (size_t a = 0; a < o->rank; a++)
    at = at * o->dims[a] + (o->dims[a] == 1 ? 0 : index[(size_t)(o->label[a] - 'a')]);
  return o->v[at];
}

/* By the definition: for each choice of an index for each label the product is added to its entry. */
static void
sum_up(operand *y, const operand *o, size_t n)
{
  size_t size[26], index[26] = {0}, c;

  for (c = 0; c < 26; c++)
    size[c] = 1;
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < o[i].rank; a++)
      if (o[i].dims[a] > size[o[i].label[a] - 'a'])
        size[o[i].label[a] - 'a'] = o[i].dims[a];
  y->v = calloc(count_of(y), sizeof *y->v);
  do {
    double term = 1;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
      term *= at_indices(&o[i], index);
    for (size_t a = 0; a < y->rank; a++)
      at = at * y->dims[a] + (y->dims[a] == 1 ? 0 : index[y->label[a] - 'a']);
    y->v[at] += term;
    for (c = 0; c < 26 && ++index[c] == size[c]; c++)
      index[c] = 0;
  } while (c < 26);
}

static size_t
find_value(const char *name)
{
  for (size_t v = 0; v < g.n_values; v++)
    if (g.values[v].name != NULL && strcmp(g.values[v].name, name) == 0)
      return v;
  ck_abort_msg("no value '%s'", name);
}

/* Entry e of y, whole, is which of its sample's? */
static void
check_result(const operand *y, const clarke_tensor *x, const char *equation)
{
  const size_t v = find_value("y");
  const size_t axis = (size_t)(strchr(y->label, 'n') - y->label);
  size_t behind = 1;
  steps_run run;

  ck_assert_uint_eq(g.values[v].batch.axis, axis);
  ck_assert(!g.values[v].batch.merged && !g.values[v].batch.none);
  ck_assert_uint_eq(g.values[v].rank, y->rank - 1);
  for (size_t a = axis + 1; a < y->rank; a++)
    behind *= y->dims[a];
  steps_begin(&run, &g);
  for (size_t s = 0; s < SAMPLES; s++) {
    steps_go(&run, x, s);
    for (size_t e = 0; e < count_of(y); e++) {
      const size_t entry = e / behind / SAMPLES * behind + e % behind;

      if (e / behind % SAMPLES == s && mpq_get_d(run.value[v][entry]) != y->v[e])
        ck_abort_msg("%s: entry %zu is %g, expected %g", equation, e, mpq_get_d(run.value[v][entry]), y->v[e]);
    }
  }
  steps_end(&run);
}

/* (a, b, c) as SHAPE says it. */
static void
list_dims(long *shape, const operand *o)
{
  for (size_t a = 0; a < o->rank; a++)
    shape[a] = (long)o->dims[a];
  shape[o->rank] = SHAPE_END;
}

/* An operand's name, and what makes it. The weights are negated, computed of two, or expanded, now and then. */
static const char *
add_operand(const operand *o, size_t i, bool constant, const long *perm)
{
  static const char *const names[2][3] = {{"p", "p1", "p2"}, {"q", "q1", "q2"}};
  long shape[MOST + 1];
  const size_t how = draw_below(&state, 4);
  double *entries;

  list_dims(shape, o);
  if (!constant) {
    memcpy(shape, perm, o->rank * sizeof *shape);
    attr_ints(model_node(&m, "Transpose", "x", names[i][0]), "perm", shape);
    return names[i][0];
  }
  entries = model_floats(&m, how > 2 ? names[i][0] : names[i][1], shape);
  memcpy(entries, o->v, count_of(o) * sizeof *entries);
  for (size_t e = 0; how == 0 && e < count_of(o); e++)
    entries[e] = -entries[e];
  if (how == 0)
    model_node(&m, "Neg", names[i][1], names[i][0]);
  if (how == 2) { /* one entry along the samples' axis, expanded to all */
    int64_t *to = model_integers(&m, i == 0 ? "p3" : "q3", (long[]){(long)o->rank, SHAPE_END});

    for (size_t a = 0; a < o->rank; a++)
      to[a] = o->label[a] == 'n' ? SAMPLES : (int64_t)o->dims[a];
    model_node(&m, "Expand", i == 0 ? "p1,p3" : "q1,q3", names[i][0]);
  }
  if (how == 1) {
    model_floats(&m, names[i][2], SHAPE());
    model_node(&m, "Add", i == 0 ? "p1,p2" : "q1,q2", names[i][0]);
  }
  return names[i][0];
}

/* x is (samples, ...); o[i] is a constant where constant[i]. */
static void
draw_one(void)
{
  operand x = {.rank = 1 + draw_below(&state, MOST - 1), .dims = {SAMPLES}}, o[2], y;
  const size_t n = 1 + (draw_below(&state, 5) > 0), of = draw_below(&state, n), both = draw_below(&state, 2);
  char equation[64] = "", in[16] = "";
  long perm[MOST], declared[MOST + 1];
  size_t dims[MOST];
  clarke_tensor batch;

  model_begin(&m, 17);
  clarke_graph_init(&g);
  for (size_t a = 1; a < x.rank; a++)
    x.dims[a] = 1 + draw_below(&state, 3);
  list_dims(declared, &x);
  declared[0] = -1;
  model_input(&m, "x", declared);
  x.v = calloc(count_of(&x), sizeof *x.v);
  for (size_t e = 0; e < count_of(&x); e++)
    x.v[e] = (double)draw_between(&state, -3, 3);
  for (size_t i = 0; i < n; i++) {
    if (i == of || both == 0)
      draw_activation(&o[i], &x, perm);
    else
      draw_constant(&o[i], draw_below(&state, 3) == 0);
    strcat(strcat(in, i > 0 ? "," : ""), add_operand(&o[i], i, i != of && both != 0, perm));
    strncat(strcat(equation, i > 0 ? "," : ""), o[i].label, o[i].rank);
  }
  draw_result(&y, o, n);
  strncat(strcat(equation, draw_below(&state, 2) ? "->" : " - > "), y.label, y.rank);
  attr_string(model_node(&m, "Einsum", in, "y"), "equation", equation);
  memset(perm, 0, sizeof perm);
  for (size_t a = 0, k = 1; a < y.rank; a++)
    perm[y.label[a] == 'n' ? 0 : k++] = (long)a;
  list_dims(declared, &y);
  memcpy(declared, perm, y.rank * sizeof *perm);
  attr_ints(model_node(&m, "Transpose", "y", "out"), "perm", declared);
  model_output(&m, "out");
  for (size_t a = 0; a < x.rank; a++)
    dims[a] = x.dims[a];
  clarke_tensor_init(&batch);
  OK(clarke_tensor_shape(&batch, "x", CLARKE_F64, x.rank, dims, &error));
  memcpy(batch.real, x.v, count_of(&x) * sizeof *x.v);
  if (clarke_graph_build(&g, &m, &batch, &error) != CLARKE_OK)
    ck_abort_msg("%s: %s", equation, error.text);
  sum_up(&y, o, n);
  check_result(&y, &batch, equation);
  for (size_t i = 0; i < n; i++)
    free(o[i].v);
  free(x.v);
  free(y.v);
  clarke_tensor_clear(&batch);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

START_TEST(sums_are_the_definition)
{
  for (size_t i = 0; i < draw_count(3000); i++)
    draw_one();
}
END_TEST

/* As text again: letters, and 0, 1, ... for the axes of dots. */
static void
check_reading(const char *text, size_t n, const size_t *ranks, const char *expected)
{
  clarke_equation e;
  char read[64] = "";
  const char *wrong = clarke_equation_read(&e, text, n, ranks);
  size_t at = 0;

  for (size_t i = 0; wrong == NULL && i < 3; i += i + 1 == n ? 3 - n : 1) {
    for (size_t a = 0; a < e.rank[i]; a++)
      read[at++] = (char)(e.label[i][a] < 26 ? 'a' + e.label[i][a] : e.label[i][a] < 52 ? 'A' + e.label[i][a] - 26 : '0' + e.label[i][a] - 52);
    read[at++] = '|';
  }
  ck_assert_msg(strstr(wrong != NULL ? wrong : read, expected) != NULL, "\"%s\": %s", text, wrong != NULL ? wrong : read);
}

START_TEST(equations_are_read)
{
  static const struct {
    const char *text;
    size_t n, ranks[2];
    const char *expected;
  } cases[] = {
    {"BTNH,BSNH->BNTS", 2, {4, 4}, "BTNH|BSNH|BNTS|"}, {"ij,jk", 2, {2, 2}, "ij|jk|ik|"}, {"ba", 1, {2}, "ba|ab|"},
    {"ii", 1, {2}, "ii||"}, {" i j , j k - > k i ", 2, {2, 2}, "ij|jk|ki|"}, {"...ij,...jk->...ik", 2, {4, 4}, "01ij|01jk|01ik|"},
    {"...ij,jk->...ik", 2, {3, 2}, "0ij|jk|0ik|"}, {"...ij,...jk", 2, {3, 3}, "0ij|0jk|0ik|"}, {"i...->...i", 1, {3}, "i01|01i|"},
    {"i...i->i...", 1, {2}, "ii|i|"}, {",ij->ij", 2, {0, 2}, "|ij|ij|"}, {"->", 1, {0}, "||"}, {"", 1, {0}, "||"}, {"aA,Ab", 2, {2, 2}, "aA|Ab|ab|"},
    {"Ba", 1, {2}, "capitals"}, {"ij,jk->ik", 1, {2}, "it is no list"}, {"ij->ij", 2, {2, 2}, "fewer operands"}, {"ij,jk,kl->il", 2, {2, 2}, "no list"},
    {"ij->ij->ij", 1, {2}, "no list"}, {"ij", 1, {3}, "another number of axes"}, {"ij", 1, {1}, "another number of axes"},
    {"...ij->ij", 1, {3}, "operands or in the result alone"}, {"ij->...ij", 1, {2}, "operands or in the result alone"},
    {"...i,...i->...", 2, {2, 3}, "another number of axes in another"}, {"...i...->i", 1, {3}, "dots"}, {"..i->i", 1, {2}, "dots"}, {"....i->i", 1, {2}, "dots"},
    {"...ijk->...", 1, {2}, "another number of axes"}, {"ij->iji", 1, {2}, "twice"}, {"ij->ik", 1, {2}, "no operand"}, {"i1->i", 1, {2}, "another number"},
    {"ij\t->ji", 1, {2}, "no list"}, {"ij->ji\n", 1, {2}, "no list"}, {"i-j", 1, {1}, "no list"}, {"abcdefghij->", 1, {9}, "more labels"}, {"ab...->...", 1, {9}, "ab0123456|0123456|"},
    {"abcde,fghij->abcdefghij", 2, {5, 5}, "more labels"}, {"abcde,fghij", 2, {5, 5}, "more labels"}, {"a,b,c", 3, {1, 1}, "one or two"},
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_reading(cases[i].text, cases[i].n, cases[i].ranks, cases[i].expected);
}
END_TEST

/* x of shape (samples, 2, 3), w (2, 3), v (samples, 3), t (samples, 1). */
static void
refused(const char *in, const char *equation, const char *words)
{
  const size_t dims[3] = {SAMPLES, 2, 3};
  clarke_tensor batch;

  model_begin(&m, 17);
  clarke_graph_init(&g);
  model_input(&m, "x", SHAPE(-1, 2, 3,));
  model_floats(&m, "w", SHAPE(2, 3,));
  memcpy(model_floats(&m, "v", SHAPE(SAMPLES, 3,)), (double[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(double));
  model_floats(&m, "u", SHAPE(0,));
  model_integers(&m, "i", SHAPE(3,));
  attr_string(model_node(&m, "Einsum", in, "y"), equation[0] == '?' ? "equal" : "equation", equation);
  model_output(&m, "y");
  clarke_tensor_init(&batch);
  OK(clarke_tensor_shape(&batch, "x", CLARKE_F64, 3, dims, &error));
  ck_assert_msg(clarke_graph_build(&g, &m, &batch, &error) == CLARKE_EINPUT, "%s", equation);
  says(error.text, words);
  says(error.text, "node 0 '/y' (Einsum)");
  clarke_tensor_clear(&batch);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
}

START_TEST(what_is_refused)
{
  refused("x", "nij->ij", "axis 0 of input 0 is the batch|samples would be mixed");
  refused("x", "nnj->nj", "axis 0 of input 0 is the batch|samples would be mixed");
  refused("x,x", "nij,mij->nm", "the equation calls otherwise|samples would be mixed");
  refused("x,x", "nij,inj->nij", "the equation calls otherwise");
  refused("x,v", "nij,nj->nij", "input 1 has 2 entries along the batch axis|batch of one");
  refused("v,x", "nj,nij->nij", "input 0 has 2 entries along the batch axis");
  refused("x,w", "nij,jk->nik", "one label to axes of 3 and of 2 entries");
  refused("x", "nii->n", "one label to axes of 2 and of 3 entries");
  refused("x,u", "nij,k->nij", "input 1 has no entries");
  refused("x,i", "nij,j->ni", "must hold floats");
  refused("x,w,w", "nij,ij,ij->n", "3 operands|chain");
  refused("x,", "nij,->n", "input 1 is missing");
  refused("x", "nij->nk", "\"nij->nk\": the result has a label that no operand has");
  refused("x", "?", "attribute 'equal' is not known here|equation:s");
  refused("x,x", "nij,nkl->nijkl,", "no list of letters");
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("einsum");

  tcase_add_test(tcase, sums_are_the_definition);
  tcase_add_test(tcase, equations_are_read);
  tcase_add_test(tcase, what_is_refused);
  return run_tests();
}
