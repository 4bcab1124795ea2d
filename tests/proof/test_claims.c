/* Lines that proofs are made of; and whole proofs about programs, networks and formulas, true ones and spoiled ones, which the checker
 * reads. */
#include "../check/apart.h"
#include "../network/models.h"
#include "../sat/formulas.h"

#include "format/file.h"
#include "format/onnx_write.h"
#include "network/graph/build.h"
#include "program/unroll/unroll.h"
#include "program/prog.h"
#include "proof/text.h"
#include "proof/write.h"
#include "proof/write_formula.h"
#include "proof/write_held.h"
#include "proof/write_patterns.h"
#include "proof/write_regions.h"
#include "proof/write_tree.h"
#include "region/functions.h"
#include "sat/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/clarke-claims-XXXXXX", given[64], model_path[64], proof[64];

/* The file's digest, in hex. */
static const char *
write_file(const char *at, const char *text)
{
  static char hex[65];
  clarke_file f;
  FILE *out = fopen(at, "w");

  ck_assert_ptr_nonnull(out);
  fputs(text, out);
  fclose(out);
  OK(clarke_file_read(&f, at, &error));
  snprintf(hex, sizeof hex, "%s", f.sha256);
  clarke_file_clear(&f);
  return hex;
}

/* The checker's exit status: 0 VERIFIED, 1 REFUTED. */
static int
checked(void)
{
  char said[512];

  return check_apart(proof, folder, 1, said, sizeof said);
}

static void
text_is(clarke_text *t, const char *want)
{
  OK(clarke_text_close(t, CLARKE_OK, &error));
  ck_assert_str_eq(t->text, want);
  clarke_text_clear(t);
}

/* A program, with respect to the inputs named (NULL: all), at small integers. */
typedef struct {
  clarke_code p;
  mpq_t *at;
  size_t n;
  const char *sha256;
} program;

static void
open_program(program *g, const char *text, const char *wrt, const long *at)
{
  size_t names;
  char **name = words_of(wrt, &names);

  g->sha256 = write_file(given, text);
  clarke_code_init(&g->p);
  OK(clarke_prog_parse(&g->p, text, strlen(text), "given", &error));
  OK(clarke_code_wrt(&g->p, name, names, &error));
  g->n = clarke_code_entries(&g->p);
  g->at = clarke_rationals(g->n);
  for (size_t i = 0; i < g->n; i++)
    mpq_set_si(g->at[i], at[i], 1);
  for (size_t i = 0; i < names; i++)
    free(name[i]);
  free(name);
}

static void
close_program(program *g)
{
  clarke_rationals_free(g->at, g->n);
  clarke_code_clear(&g->p);
}

/* --- lines --- */

START_TEST(what_is_held_and_what_varies)
{
  program g;
  clarke_text t;

  open_program(&g, "input a, v[2], b\noutput a + v[0] + v[1] + b", "v", (const long[]){5, -3, 7, 11});
  ck_assert(!clarke_proof_varies(&g.p, 0) && clarke_proof_varies(&g.p, 1) && clarke_proof_varies(&g.p, 2) && !clarke_proof_varies(&g.p, 3));
  ck_assert(clarke_proof_varies(NULL, 0) && clarke_proof_varies(NULL, 3));
  OK(clarke_text_open(&t, &error));
  clarke_proof_put_entries(t.to, "at", &g.p, g.at, 4, true);
  clarke_proof_put_entries(t.to, "rest", &g.p, g.at, 4, false);
  clarke_proof_put_entries(t.to, "all", NULL, g.at, 4, true);
  clarke_proof_put_entries(t.to, "none", NULL, g.at, 4, false);
  clarke_proof_put_held(t.to, &g.p, g.at, 4);
  text_is(&t, "at -3 7\nrest 5 11\nall 5 -3 7 11\nnone\nwrt v\nheld 5 11\n");
  OK(clarke_text_open(&t, &error));
  clarke_proof_put_constants(t.to, &g.p); /* none */
  g.p.input[1].promoted = g.p.input[2].promoted = true;
  clarke_proof_put_constants(t.to, &g.p);
  clarke_proof_put_held(t.to, &g.p, g.at, 4);
  text_is(&t, "constants v b\nconstants v b\nwrt v\nheld 5 11\n");
  close_program(&g);
}
END_TEST

START_TEST(forks_and_arcs)
{
  mpq_t *u = clarke_rationals(3), *step[2] = {clarke_rationals(2), clarke_rationals(2)};
  const size_t decision[3] = {4, 2, 1}; /* the second has no weight */
  clarke_node dead = {.kind = CLARKE_DEAD}, parting = {.kind = CLARKE_BRANCH, .n_branches = 3}, leaf = {.kind = CLARKE_LEAF};
  const clarke_pattern arc = {.n_directions = 2, .direction = step}, none = {.n_directions = 0};
  clarke_text t;

  mpq_set_si(u[0], 3, 1);
  mpq_set_si(u[2], 1, 2);
  mpq_set_si(step[0][1], -1, 7);
  mpq_set_si(step[1][0], 2, 1);
  OK(clarke_text_open(&t, &error));
  OK(clarke_gordan_read(&dead.gordan, u, decision, NULL, 3, &error));
  clarke_proof_put_node(t.to, &parting, parting.n_branches, NULL, NULL);
  clarke_proof_put_node(t.to, &dead, 0, NULL, NULL);
  clarke_proof_put_node(t.to, &leaf, 0, NULL, NULL);
  clarke_gordan_clear(&dead.gordan);
  clarke_proof_put_arc(t.to, &arc, 2);
  clarke_proof_put_arc(t.to, &none, 2);
  text_is(&t, "branch 3\ndead 2\nu 1 1/2\nu 4 3\nleaf\narc 2\nstep 0 -1/7\nstep 2 0\narc 0\n");
  clarke_rationals_free(u, 3);
  clarke_rationals_free(step[0], 2);
  clarke_rationals_free(step[1], 2);
}
END_TEST

/* A network of two operators with kinks; its proxies stand in the order of their names, each once. */
static void
build_network(clarke_graph *g, clarke_model *m, const clarke_tensor *x)
{
  model_begin(m, 17);
  model_input(m, "x", SHAPE(-1, 2,));
  memcpy(model_floats(m, "w 1", SHAPE(2, 2,)), (const double[]){1, 0, 0, 1}, 4 * sizeof(double));
  model_floats(m, "b", SHAPE(2,));
  model_node(m, "MatMul", "x,w 1", "p");
  model_node(m, "Add", "p,b", "q");
  model_node(m, "Relu", "q", "r");
  model_node(m, "LeakyRelu", "r", "s");
  model_node(m, "Relu", "s", "out");
  model_output(m, "out");
  clarke_graph_init(g);
  OK(clarke_graph_build(g, m, x, &error));
}

START_TEST(statements_about_networks)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  char *name[1] = {"b"};
  clarke_profile profile;
  clarke_model m;
  clarke_graph g;
  clarke_text t;

  build_network(&g, &m, &x);
  clarke_profile_init(&profile);
  OK(clarke_profile_parse(&profile, "Relu 0 1/2\nLeakyRelu 0 left\n", 28, "by hand", &error));
  OK(clarke_proof_possible(&g, &profile, &error));
  OK(clarke_graph_wrt(&g, name, 1, &error));
  OK(clarke_text_open(&t, &error));
  clarke_proof_put_wrt(t.to, &g, false, &profile);
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  clarke_proof_put_wrt(t.to, &g, false, &profile);
  clarke_proof_put_wrt(t.to, &g, true, &profile);
  OK(clarke_proof_put_proxies(t.to, &g, &profile, &error));
  text_is(&t, "wrt b\nprofile by%20hand\nwrt w%201 b\nprofile by%20hand\nwrt *\nprofile by%20hand\nproxy LeakyRelu 0 left\nproxy Relu 0 1/2\n");
  clarke_profile_clear(&profile);
  clarke_profile_init(&profile); /* it knows nothing */
  ck_assert_int_eq(clarke_proof_possible(&g, &profile, &error), CLARKE_EINPUT);
  ck_assert(strstr(error.text, "Relu") != NULL);
  clarke_profile_clear(&profile);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

START_TEST(steps_that_the_checker_makes)
{
  static const struct {
    const char *text;
    bool plain, products;
  } known[] = {{"input x, y\noutput relu(x + 2*y) - max(x, y, 1)", true, true}, {"input x, y\noutput x*y", false, true},
               {"input x, y\noutput x/3", true, true},  {"input x, y\noutput x/y", false, false}, {"input x, y\noutput exp(x)", false, false},
               {"input x, y\noutput if x > y then x else y", false, false}, {"input x, y\noutput norm2(x, y)", false, false}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    program g;

    open_program(&g, known[i].text, NULL, (const long[]){1, 2});
    ck_assert_msg(clarke_proof_of_steps(&g.p, false) == known[i].plain, "%s", known[i].text);
    ck_assert_msg(clarke_proof_of_steps(&g.p, true) == known[i].products, "%s", known[i].text);
    close_program(&g);
  }
}
END_TEST

/* --- all patterns around a point --- */

static const struct {
  const char *text, *wrt;
  long at[4];
} patterned[] = {
  {"input x, y\noutput relu(x*y) + abs(x)\n", NULL, {0, 2}},
  {"input w, x[2]\noutput relu(w*x[0]) + max(x[0]*x[1], x[0], 0)\n", "x", {3, 0, 1}},
  {"input x, y\noutput relu(x - y)*relu(y) + x\n", NULL, {0, 0}},
};

START_TEST(patterns_are_proved)
{
  for (size_t i = 0; i < sizeof patterned / sizeof patterned[0]; i++) {
    clarke_patterns_statement s = {.network = false};
    clarke_execution e;
    clarke_patterns t;
    program g;

    open_program(&g, patterned[i].text, patterned[i].wrt, patterned[i].at);
    clarke_execution_init(&e);
    clarke_patterns_init(&t);
    OK(clarke_execute(&e, &g.p, g.at, &error));
    OK(clarke_patterns_find(&t, &e, &error));
    ck_assert_msg(t.tree.complete && t.all_known && t.n > 1, "%s", patterned[i].text);
    s.function = (clarke_proof_input){"given", g.sha256, NULL};
    s.held = &g.p;
    s.point = g.at;
    OK(clarke_patterns_prove(&t, &s, proof, &error));
    ck_assert_msg(checked() == 0, "%s", patterned[i].text);
    t.tree.n--; /* the last leaf is not told */
    OK(clarke_patterns_prove(&t, &s, proof, &error));
    ck_assert_int_eq(checked(), 1);
    t.tree.n++;
    clarke_number_set_si(&t.pattern[0].gradient[0], 77); /* another gradient is claimed */
    OK(clarke_patterns_prove(&t, &s, proof, &error));
    ck_assert_int_eq(checked(), 1);
    clarke_patterns_clear(&t);
    clarke_execution_clear(&e);
    close_program(&g);
  }
}
END_TEST

/* --- regions --- */

typedef struct {
  clarke_regions_proof proof;
  clarke_functions functions;
  size_t regions, left_out;
} walk;

static void
variable(mpq_t *form, size_t entry, void *context)
{
  ck_assert_ptr_null(context);
  mpq_set_ui(form[entry], 1, 1);
}

/* Around a point z is the displacement. */
static void
displacement(mpq_t *form, size_t entry, void *context)
{
  mpq_t *at = context;

  mpq_set_ui(form[entry], 1, 1);
  mpq_set(form[2], at[entry]);
}

static clarke_status
take_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  walk *w = context;
  size_t function;
  clarke_status status = clarke_functions_add(&function, &w->functions, region->forms, err);

  *go_on = true;
  if (status != CLARKE_OK || w->regions++ == w->left_out)
    return status;
  return clarke_regions_proof_leaf(&w->proof, region, function, err);
}

static const char *const piecewise[] = {
  "input x, y\noutput relu(x) + relu(y - x) + relu(x + y - 1)\n",
  "input x, y\nlet a = relu(x - y)\noutput max(a, y, 0) - relu(2*a - 1), abs(x)\n",
  "input x, y\noutput max(x, y, -x) + hardtanh(x + y - 1)\n",
  "input x, y\noutput abs(x) + abs(abs(y) - 1)\n",
};

/* Of a box -2 <= x, y <= 2, or around the point; without region number left_out, if there is one. */
static void
prove_regions(const char *text, bool local, size_t left_out, char **tree)
{
  clarke_regions_statement s = {.local = local, .n = 2};
  walk w = {.left_out = left_out};
  clarke_region_listener listener;
  mpq_t *bounds = clarke_rationals(4);
  clarke_regions found;
  clarke_forms forms;
  fmpz_mat_t box;
  program g;

  open_program(&g, text, NULL, (const long[]){0, 0});
  OK(clarke_forms_init(&forms, &g.p, 2, local ? displacement : variable, local ? g.at : NULL, &error));
  clarke_functions_init(&w.functions, &forms);
  OK(clarke_regions_proof_init(&w.proof, &forms, local, &error));
  listener = clarke_regions_proof_listener(&w.proof);
  ck_assert_ptr_eq(listener.context, &w.proof);
  fmpz_mat_init(box, 4, 3);
  for (slong i = 0; i < 4; i++) {
    mpq_set_si(bounds[i], i % 2 == 0 ? -2 : 2, 1);
    fmpz_set_si(fmpz_mat_entry(box, i, i / 2), i % 2 == 0 ? 1 : -1);
    fmpz_set_ui(fmpz_mat_entry(box, i, 2), 2);
  }
  OK(clarke_regions_tell(&found, &forms, local ? NULL : box, take_region, &w, &listener, &error));
  ck_assert(found.complete && found.regions == w.regions && w.regions > 1);
  s.function = (clarke_proof_input){"given", g.sha256, NULL};
  if (local)
    s.point = g.at;
  else
    s.bounds = bounds;
  OK(clarke_regions_proof_save(&w.proof, proof, &s, &error));
  if (tree != NULL) {
    clarke_text t;

    OK(clarke_text_open(&t, &error));
    clarke_regions_proof_tree(t.to, &w.proof);
    OK(clarke_text_close(&t, CLARKE_OK, &error));
    *tree = t.text;
  }
  clarke_regions_proof_clear(&w.proof);
  ck_assert(w.proof.gradient == NULL && w.proof.level == NULL);
  clarke_functions_clear(&w.functions);
  clarke_forms_clear(&forms);
  fmpz_mat_clear(box);
  clarke_rationals_free(bounds, 4);
  close_program(&g);
}

START_TEST(regions_are_proved)
{
  for (size_t i = 0; i < sizeof piecewise / sizeof piecewise[0]; i++)
    for (int local = 0; local < 2; local++) {
      clarke_file f;
      char *tree, *at;

      prove_regions(piecewise[i], local, SIZE_MAX, &tree);
      ck_assert_msg(checked() == 0, "%s", piecewise[i]);
      OK(clarke_file_read(&f, proof, &error)); /* what stands after the line `tree` is the tree, and the digest */
      at = strstr((const char *)f.data, "\ntree\n");
      ck_assert(at != NULL && strncmp(at + 6, tree, strlen(tree)) == 0 && strncmp(at + 6 + strlen(tree), "end ", 4) == 0);
      clarke_file_clear(&f);
      free(tree);
      for (size_t left_out = 0; left_out < 2; left_out++) {
        prove_regions(piecewise[i], local, left_out, NULL);
        ck_assert_msg(checked() == 1, "%s without region %zu", piecewise[i], left_out);
      }
    }
}
END_TEST

START_TEST(a_tree_is_ended_before_it_is_told)
{
  static const char text[] = "input x, y\noutput relu(x)\n";
  clarke_regions_proof p;
  clarke_forms forms;
  program g;

  open_program(&g, text, NULL, (const long[]){0, 0});
  OK(clarke_forms_init(&forms, &g.p, 2, variable, NULL, &error));
  OK(clarke_regions_proof_init(&p, &forms, true, &error));
  fputs("split 0\n", p.tree.to);
  OK(clarke_regions_proof_end(&p, &error));
  ck_assert_str_eq(p.tree.text, "split 0\n");
  ck_assert_uint_eq(p.tree.size, 8);
  clarke_regions_proof_clear(&p);
  clarke_forms_clear(&forms);
  close_program(&g);
}
END_TEST

/* --- networks --- */

/* relu(x W + b) summed, at a sample where one of two is on its kink; its file, and the program of it. */
typedef struct {
  clarke_model m;
  clarke_graph g;
  clarke_tensor x;
  clarke_code p;
  mpq_t *at;
  size_t n;
  clarke_profile profile;
  clarke_derivation d;
  clarke_file file;
} network;

static void
open_network(network *k, const char *activation, bool parameters)
{
  char *name[1] = {"b"};
  FILE *out = fopen(model_path, "wb");

  k->x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
  memcpy(k->x.real, (const double[]){1, 2}, 2 * sizeof(double));
  model_begin(&k->m, 17);
  model_input(&k->m, "x", SHAPE(-1, 2,));
  memcpy(model_floats(&k->m, "W", SHAPE(2, 2,)), (const double[]){2, 1, -1, 1}, 4 * sizeof(double));
  memcpy(model_floats(&k->m, "b", SHAPE(2,)), (const double[]){0, 1}, 2 * sizeof(double));
  memcpy(model_floats(&k->m, "V", SHAPE(2, 1,)), (const double[]){3, -1}, 2 * sizeof(double));
  model_node(&k->m, "MatMul", "x,W", "p");
  model_node(&k->m, "Add", "p,b", "q");
  model_node(&k->m, activation, "q", "r");
  model_node(&k->m, "MatMul", "r,V", "out");
  model_output(&k->m, "out");
  for (size_t i = 0; i < k->m.n_tensors; i++)
    k->m.tensors[i].dtype = CLARKE_F32;
  k->m.inputs[0].dtype = k->m.outputs[0].dtype = CLARKE_F32;
  k->m.outputs[0].shaped = true;
  k->m.outputs[0].rank = 2;
  k->m.outputs[0].dims[0] = -1;
  k->m.outputs[0].dims[1] = 1;
  OK(clarke_onnx_write(out, &k->m, &error));
  fclose(out);
  OK(clarke_file_read(&k->file, model_path, &error));
  clarke_graph_init(&k->g);
  OK(clarke_graph_build(&k->g, &k->m, &k->x, &error));
  if (parameters)
    OK(clarke_graph_wrt(&k->g, name, 1, &error));
  clarke_code_init(&k->p);
  OK(clarke_unroll(&k->p, &k->at, &k->n, &k->g, &k->x, "x", &error));
  clarke_profile_init(&k->profile);
  OK(clarke_profile_load(&k->profile, "pytorch-2.13", &error));
  clarke_derivation_init(&k->d);
  OK(clarke_derive(&k->d, &k->p, k->at, &k->profile, &error));
}

static void
close_network(network *k)
{
  clarke_derivation_clear(&k->d);
  clarke_profile_clear(&k->profile);
  clarke_rationals_free(k->at, k->n);
  clarke_code_clear(&k->p);
  clarke_graph_clear(&k->g);
  clarke_file_clear(&k->file);
  clarke_model_clear(&k->m);
  clarke_tensor_clear(&k->x);
}

START_TEST(networks_are_proved_at_their_input_or_parameters)
{
  for (int parameters = 0; parameters < 2; parameters++) {
    network k;

    open_network(&k, "Relu", parameters);
    ck_assert(k.d.verdict == CLARKE_IN_BOULIGAND && k.d.execution.n_touched == 1);
    OK(clarke_proof_write_network(proof, &(clarke_proof_input){"model.onnx", k.file.sha256, NULL}, &k.d, NULL, &error));
    ck_assert_int_eq(checked(), 0);
#ifndef CLARKE_VERIFY /* which stops at it */
    k.d.verdict = CLARKE_NOT_IN_CLARKE; /* with the evidence of another verdict */
    OK(clarke_proof_write_network(proof, &(clarke_proof_input){"model.onnx", k.file.sha256, NULL}, &k.d, NULL, &error));
    ck_assert_int_eq(checked(), 1);
    k.d.verdict = CLARKE_IN_BOULIGAND;
#endif
    if (parameters) {
      k.p.input[0].wrt = true;
      ck_assert_int_eq(clarke_proof_write_network(proof, &(clarke_proof_input){"model.onnx", k.file.sha256, NULL}, &k.d, NULL, &error), CLARKE_EINPUT);
      ck_assert(strstr(error.text, "not to both") != NULL);
      k.p.input[0].wrt = false;
    }
    close_network(&k);
  }
}
END_TEST

START_TEST(other_steps_have_no_proof)
{
  network k;

  open_network(&k, "Exp", false);
  ck_assert_int_eq(clarke_proof_write_network(proof, &(clarke_proof_input){"model.onnx", k.file.sha256, NULL}, &k.d, NULL, &error), CLARKE_EINPUT);
  ck_assert(strstr(error.text, "this one has other steps") != NULL);
  close_network(&k);
}
END_TEST

/* --- formulas --- */

static void
prove_formula(const clarke_cnf *f, bool spoiled, bool *satisfied)
{
  char text[4000], formula[65];
  clarke_sign_network net;
  clarke_solution s;
  clarke_three three;
  clarke_model m;
  clarke_file file;
  FILE *out = fmemopen(text, sizeof text, "w");

  fprintf(out, "p cnf %zu %zu\n", f->n_variables, f->n_clauses);
  for (size_t c = 0; c < f->n_clauses; c++) {
    for (size_t i = f->first[c]; i < f->first[c + 1]; i++)
      fprintf(out, "%d ", (int)f->literal[i]);
    fputs("0\n", out);
  }
  fclose(out);
  snprintf(formula, sizeof formula, "%s", write_file(given, text));
  clarke_three_init(&three);
  clarke_solution_init(&s);
  clarke_sign_network_init(&net);
  clarke_model_init(&m);
  OK(clarke_three_make(&three, f, &error));
  OK(clarke_sign_network_make(&net, &three, &error));
  OK(clarke_sign_network_model(&m, &net, &error));
  out = fopen(model_path, "wb");
  OK(clarke_onnx_write(out, &m, &error));
  fclose(out);
  OK(clarke_file_read(&file, model_path, &error));
  OK(clarke_solve(&s, &three, SIZE_MAX, &error));
  *satisfied = s.answer == CLARKE_FORMULA_SATISFIED;
  if (spoiled && *satisfied)
    for (size_t v = 0; v < three.n_variables; v++)
      s.value[v] = three.clause[0][0] != 0 && labs((long)three.clause[0][0]) == (long)v + 1 ? three.clause[0][0] < 0 : s.value[v];
  else if (spoiled)
    s.refutation.n--; /* without the empty clause */
  OK(clarke_proof_write_formula(proof, &(clarke_proof_input){"given", formula, NULL}, &(clarke_proof_input){"model.onnx", file.sha256, NULL}, &three, &s,
                                &error));
  if (spoiled && !*satisfied)
    s.refutation.n++;
  clarke_file_clear(&file);
  clarke_model_clear(&m);
  clarke_sign_network_clear(&net);
  clarke_solution_clear(&s);
  clarke_three_clear(&three);
}

START_TEST(formulas_are_proved_either_way)
{
  uint64_t state = 12;
  size_t yes = 0, no = 0;

  for (int k = 0; k < 14; k++) {
    clarke_cnf f = draw_formula(&state, 3, 2 + 3 * (size_t)k / 2, 1, 3);
    bool satisfied;

    prove_formula(&f, false, &satisfied);
    ck_assert_int_eq(satisfied, can_be_satisfied(&f));
    ck_assert_int_eq(checked(), 0);
    yes += satisfied;
    no += !satisfied;
    if (!satisfied) {
      prove_formula(&f, true, &satisfied);
      ck_assert_int_eq(checked(), 1);
    }
    clarke_cnf_clear(&f);
  }
  ck_assert(yes > 2 && no > 2);
  { /* two clauses, and the variable of one of them turned */
    clarke_cnf f = FORMULA(2, 1, 0, 2, 0,);
    bool satisfied;

    prove_formula(&f, true, &satisfied);
    ck_assert(satisfied && checked() == 1);
    clarke_cnf_clear(&f);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("claims");
  int failed;

  if (mkdtemp(folder) == NULL)
    return 1;
  snprintf(given, sizeof given, "%s/given", folder);
  snprintf(model_path, sizeof model_path, "%s/model.onnx", folder);
  snprintf(proof, sizeof proof, "%s/made.proof", folder);
  tcase_add_test(tests, what_is_held_and_what_varies);
  tcase_add_test(tests, forks_and_arcs);
  tcase_add_test(tests, statements_about_networks);
  tcase_add_test(tests, steps_that_the_checker_makes);
  tcase_add_test(tests, patterns_are_proved);
  tcase_add_test(tests, regions_are_proved);
  tcase_add_test(tests, a_tree_is_ended_before_it_is_told);
  tcase_add_test(tests, networks_are_proved_at_their_input_or_parameters);
  tcase_add_test(tests, other_steps_have_no_proof);
  tcase_add_test(tests, formulas_are_proved_either_way);
  failed = run_tests();
  unlink(given);
  unlink(model_path);
  unlink(proof);
  rmdir(folder);
  return failed;
}
