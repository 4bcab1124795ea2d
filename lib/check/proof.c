/* The proof, line by line, and what each line claims (docs/proof-format.md). */
#include "check/program/pattern_proof.h"
#include "check/proof.h"
#include "check/base/allocate.h"
#include "check/program/arrangement.h"
#include "check/kernel/behind.h"
#include "check/kernel/bound.h"
#include "check/kernel/cell.h"
#include "check/kernel/factor.h"
#include "check/formula/formula_proof.h"
#include "check/kernel/gradient.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/near.h"
#include "check/onnx/network.h"
#include "check/program/program_proof.h"
#include "check/onnx/question.h"
#include "check/record/record_proof.h"
#include "check/program/region_proof.h"
#include "check/program/segment_proof.h"
#include "check/kernel/simplex.h"
#include "check/onnx/statement.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

static network net;
static point p = {.net = &net};
static cell c;
static rational *ad;  /* the proxies, as slopes; of windows, what the tie rule gives */
static rational *sum; /* a combination of gradients; wrt's entries end to end */

/* ---- Evidence */

/* The cell with the sides in c is realized, by the directions that follow. */
static void
check_cell(void)
{
  bool *found = allocate(p.n_slopes, sizeof *found);
  cell_settle(&c, &p, false);
  next_line("directions");
  size_t n = next_number();
  for (size_t i = 0; i < n; i++) {
    read_direction();
    motion d = tangents(&p, c.slope);
    note_moves(&p, &c, &d, found);
    tangents_free(&d);
  }
  must_move_or_rest(&p, &c, found);
  free(found);
}

/* The step of the next node of that name after step `from`; NONE when there is none. */
static size_t
find_node(size_t from, const char *name)
{
  char unnamed[64], turn[32];
  for (size_t s = from; s < net.n_steps; s++) {
    const node *n = net.steps[s].node;
    if (net.steps[s].kind != PIECEWISE)
      continue;
    snprintf(unnamed, sizeof unnamed, "%s_%zu", n->op, net.steps[s].place);
    turn[0] = '\0';
    if (net.steps[s].turn > 0)
      snprintf(turn, sizeof turn, "@%zu", net.steps[s].turn);
    const char *own = *n->name != '\0' ? n->name : unnamed;
    if (strncmp(name, own, strlen(own)) == 0 && strcmp(name + strlen(own), turn) == 0)
      return s;
  }
  return NONE;
}

/* The cells of `mix`, or with no mixed nodes the one of `ad`. */
static void
check_mix(const char *word, size_t n)
{
  size_t *mixed = allocate(net.n_steps, sizeof *mixed); /* i + 1, or 0 */
  rational *lambda = rationals(n);
  RATIONAL(t);
  for (size_t i = 0, s = 0; i < n; i++) {
    next_line("mix");
    s = find_node(s + 1, next_name());
    next_rational(&lambda[i]);
    require(s != NONE, "there is no such node with kinks after the one before");
    require(mpq_sgn(&lambda[i]) > 0 && mpq_cmp(&lambda[i], &plus_one) < 0, "not between 0 and 1");
    mixed[s] = i + 1;
  }
  for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
    known_line("cell", word);
    const char *signs = n > 0 ? next_word() : "";
    require(strlen(signs) == n, "one sign for each mixed node is expected");
    for (size_t i = 0; i < n; i++)
      require(signs[i] == "-+"[mask >> (n - 1 - i) & 1], "the cells' signs must be in order");
    for (size_t k = 0; k < p.n_touched; k++) {
      const touch *to = &p.touched[k];
      size_t i = mixed[to->step];
      c.side[k] = own_side(&p, ad, k);
      if (i == 0)
        continue;
      mpq_sub(&t, &to->left, &to->right);
      mpq_mul(&t, &t, &lambda[i - 1]);
      mpq_add(&t, &t, &to->right);
      c.side[k] = !mpq_equal(&t, &ad[to->slope]) ? 0 : signs[i - 1] == '+' ? 1 : -1;
    }
    check_cell();
  }
}

/* sum += q * the gradient that was made last. */
static void
add_gradient(const rational *q)
{
  for (size_t i = 0; i < net.n_wrt; i++)
    add_multiple(&sum[i], &net.gradient[i], q);
}

/* The cells of a hull, as they are read. */
typedef struct {
  rational weight;
  int *side;
} weighed;

static void
read_sides(void)
{
  static const char each[] = "one side for each touched kink is expected";
  const char *sides = next_word();
  require(p.n_touched > 0 || strcmp(sides, ".") == 0, each);
  for (size_t k = 0; k < p.n_touched; k++) {
    require(*sides != '\0', each);
    c.side[k] = side_named(&p, k, &sides);
  }
  require(p.n_touched == 0 || *sides == '\0', each);
}

/* mean += weight * the cell's slopes less AD's. A flat kink's slope does not matter: AD's will do. split: the slope is not AD's. */
static void
add_slopes(rational *mean, bool *split, const rational *weight)
{
  RATIONAL(less);
  for (size_t k = 0; k < p.n_touched; k++)
    for (size_t o = 0; o < p.touched[k].n && !c.flat[k]; o++) {
      size_t at = p.touched[k].slope + o;
      mpq_sub(&less, &c.slope[at], &ad[at]);
      split[k] = split[k] || mpq_sgn(&less) != 0;
      add_multiple(&mean[at], weight, &less);
    }
}

/* Have the cells' gradients the mean that AD gives? Samples in which nothing is touched have one gradient under all sides, which the
 * sum leaves out. */
static void
check_gradients(const weighed *of, size_t n)
{
  rationals_begin(sum, net.n_wrt);
  for (size_t i = 0; i < n; i++) {
    memcpy(c.side, of[i].side, p.n_touched * sizeof *c.side);
    cell_settle(&c, &p, false);
    loss_gradient(&p, c.slope, &c, true);
    add_gradient(&of[i].weight);
  }
  loss_gradient(&p, ad, NULL, true);
  add_gradient(&minus_one);
  require(zeros(sum, net.n_wrt), "the combination of the cells' gradients is not AD's output");
}

/* The gradient is affine in slopes of touched kinks of which none is behind another: then their mean is enough. */
static void
check_hull(bool bouligand)
{
  size_t n = next_number();
  weighed *of = NULL;
  rational *mean = rationals(p.n_slopes);
  bool *split = allocate(p.n_touched, sizeof *split);
  RATIONAL(total);
  require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
  for (size_t i = 0; i < n; i++) {
    of = grow(of, i, sizeof *of);
    of[i] = (weighed){rational_zero(), allocate(p.n_touched, sizeof(int))};
    next_line("cell");
    next_rational(&of[i].weight);
    require(mpq_sgn(&of[i].weight) >= 0, "a weight is negative");
    read_sides();
    memcpy(of[i].side, c.side, p.n_touched * sizeof *c.side);
    check_cell();
    add_slopes(mean, split, &of[i].weight);
    mpq_add(&total, &total, &of[i].weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  if (!zeros(mean, p.n_slopes) || one_behind_another(&p, split))
    check_gradients(of, n);
}

/* `dead N`: a positive combination of N derivatives, of arguments turned to their sides or of a
 * side's option less another, is 0. What is affine follows from the sides given, those of the path or, of bounds, none. */
static void
check_dead(const cell *given)
{
  size_t n = next_number(), next = 0;
  RATIONAL(value);
  require(n >= 1, "a combination of no kinks proves nothing");
  if (given == &c)
    cell_settle(&c, &p, true);
  rationals_begin(sum, net.n_wrt);
  for (size_t i = 0; i < net.n_wrt; i++)
    mpq_set(&sum[i], &zero);
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    require(k < p.n_touched, "there is no touched kink %zu", k);
    const touch *t = &p.touched[k];
    const uint8_t *degree = given->degree[t->from];
    require(c.side[k] != 0, "%s has not been branched on", kink(k));
    size_t a = is_window(t) ? (size_t)c.side[k] - 1 : 0, b = next_option(&p, &c, k);
    next_rational(&value);
    require(t->slope + b >= next, "touched kinks in increasing order are expected");
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require((degree[t->at[a]] < 2 && degree[t->at[b]] < 2) || affine_but_for_a_factor(&p, given, t, a, b),
            "%s: its argument is not affine, nor is it but for a factor", kink(k));
    if (c.side[k] < 0)
      mpq_neg(&value, &value);
    kink_row(&p, given, k, a, b);
    add_gradient(&value);
    next = t->slope + b + 1;
    require(!zeros(net.gradient, net.n_wrt), "%s: its argument has derivative zero", kink(k));
  }
  require(zeros(sum, net.n_wrt), "the combination of the derivatives is not zero");
}

/* sum += q * the derivative of the loss along the moves under those slopes, of a leaf or of AD. */
static void
add_tangent(interval *to, const rational *slope, const rational *q, bool leaf)
{
  INTERVAL(t);
  motion d = tangents(&p, slope);
  if (leaf)
    must_be_still(&p, &c, &d);
  tangent_loss(&t, &d);
  tangents_free(&d);
  interval_add(to, &t, q);
}

/* `leaf`: along v AD's output exceeds the gradient under the sides. */
static void
check_leaf(const interval *output)
{
  INTERVAL(margin);
  cell_settle(&c, &p, true);
  interval_add(&margin, output, &plus_one);
  add_tangent(&margin, c.slope, &minus_one, true);
  require(interval_sign(&margin, "whether AD's output is separated from this cell") > 0,
          "AD's output is not separated from this cell");
}

static void
check_separator(bool bound)
{
  size_t depth = 0, leaves = 0, *path = allocate(p.n_touched, sizeof *path), next = 0;
  INTERVAL(output);
  RATIONAL(value);
  rationals_begin(net.move, net.n_wrt);
  next_line("v");
  do {
    const tensor *t = next_parameter();
    size_t index = next_number(), at = (size_t)(t->move - net.move) + index;
    next_rational(&value);
    require(t->wrt && index < t->count && at >= next && mpq_sgn(&value) != 0,
            "nonzero entries of parameters in wrt, in order, are expected");
    mpq_set(&net.move[at], &value);
    next = at + 1;
  } while (line_is("v"));
  bound ? bound_begin(&p, &c, ad) : add_tangent(&output, ad, &plus_one, false);
  next_line("tree");
  do {
    if (line_is("branch")) {
      size_t k = next_number();
      require(k < p.n_touched && (bound ? bound_branches(&c, k) : depth == 0 || k > path[depth - 1]),
              "a branch on a touched kink after those above is expected");
      path[depth++] = k;
      next_side(&p, &c, k);
      continue;
    }
    if (line_is("dead"))
      check_dead(bound ? bound_open() : &c);
    else {
      next_line("leaf");
      leaves++;
      bound ? bound_leaf(&c) : check_leaf(&output);
    }
    while (depth > 0 && !next_side(&p, &c, path[depth - 1]))
      depth--;
  } while (depth > 0);
  require(leaves > 0, "a tree without a leaf");
  fprintf(account, "%s near the weights: at most %zu\n", bound ? "Families of sign patterns" : "Sign patterns", leaves);
}

static void
check_evidence(const char *verdict)
{
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  next_line("evidence");
  const char *word = next_word();
  fprintf(account, "Evidence: %s\n", word);
  if (strcmp(word, "ad") == 0 && bouligand) {
    check_mix(word, 0);
  } else if (strcmp(word, "mix") == 0 && !bouligand && !outside) {
    size_t n = next_number();
    require(n >= 1 && n <= 30, "a mix is of 1 to 30 nodes");
    check_mix(word, n);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    check_hull(bouligand);
  } else if (strcmp(word, "simplices") == 0 && !outside) {
    check_simplices(&p, &c, ad, bouligand);
  } else {
    bool bound = strcmp(word, "bound") == 0;
    require((bound || strcmp(word, "separator") == 0) && outside, "'%s' does not prove %s", word, verdict);
    check_separator(bound);
  }
  last_line();
}

/* ---- Statement */

/* The proxy of every kink of every operator in the model. */
static void
read_proxies(void)
{
  const char *op;
  for (size_t i = 0, kinks; (op = network_operator(i, &kinks)) != NULL; i++) {
    bool used = network_has(&net, op);
    for (size_t j = 0; used && j < kinks; j++) {
      RATIONAL(value);
      proxy_side side = read_proxy(op, j, &value);
      for (size_t k = 0; k < p.n_touched; k++) {
        const touch *t = &p.touched[k];
        const step *st = &net.steps[t->step];
        if (strcmp(step_operator(st), op) == 0 && st->number[t->kink] == j)
          mpq_set(&ad[t->slope], side == PROXY_LEFT ? &t->left : side == PROXY_RIGHT ? &t->right : &value);
      }
    }
  }
}

/* `claim WHAT`. */
static void
check_claim(const char *folder)
{
  static const struct {
    const char *what;
    void (*check)(const char *folder);
  } claims[] = {{"arrangement", check_arrangement},
                {"patterns", check_patterns},
                {"record", check_record},
                {"regions", check_regions},
                {"segment", check_segment}};
  const char *what = next_word();
  size_t i = 0, n = sizeof claims / sizeof *claims;
  while (i < n && strcmp(what, claims[i].what) != 0)
    i++;
  require(i < n,
          "'claim arrangement', 'claim patterns', 'claim record', 'claim regions' or 'claim segment' is expected");
  claims[i].check(folder);
}

/* The statement and the evidence of a proof about a network, from `model` on; its verdict. */
static void
check_network(const char *folder, const char *word)
{
  model m;
  read_network(&p, &m, folder);
  read_loss(&p);
  read_wrt(&net);
  sum = allocate(net.n_wrt, sizeof *sum); /* numbers once they are needed */
  point_evaluate(&p);
  c = cell_new(&p);
  ad = rationals(p.n_slopes);
  next_line("profile");
  state_profile(next_name());
  read_proxies();
  size_t n_windows = read_ties(&p, ad);
  next_line("touched");
  require(next_number() == p.n_touched, "the number of touched kinks is %zu", p.n_touched);
  fprintf(account, "Touched kinks: %zu\n", p.n_touched);
  if (n_windows > 0)
    fprintf(account, "Of these, windows with ties: %zu\n", n_windows);
  check_evidence(word);
  printf("VERIFIED\n%s", account_text());
  print_verdict(&net, word);
}

void
clarke_check_proof(const char *path, const char *data)
{
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  const char *folder = data != NULL ? data : copy_text(path, length);
  account_begin();
  folder = *folder != '\0' ? folder : ".";
  lines_begin(read_file(path));
  known_line("clarke-proof", "1");
  if (line_is("claim")) {
    check_claim(folder);
    return;
  }
  next_line("verdict");
  const char *word = next_word();
  bool formula = formula_verdict_known(word);
  require(formula || verdict_known(word), "unknown verdict '%s'", word);
  known_line("semantics", "real");
  if (formula) {
    next_line("formula");
    check_formula(folder, word);
    return;
  }
  bool of_network = line_is("network");
  if (of_network || line_is("program")) {
    check_program(folder, word, of_network);
    printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
    return;
  }
  check_network(folder, word);
}
