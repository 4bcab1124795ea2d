/* The proof, line by line, and what each line claims (docs/proof-format.md). */
#include "proof.h"
#include "allocate.h"
#include "bound.h"
#include "cell.h"
#include "gradient.h"
#include "limit.h"
#include "near.h"
#include "program_proof.h"
#include "sha256.h"
#include "simplex.h"
#include "statement.h"
#include "window.h"

#include <stdlib.h>
#include <string.h>

static bytes rest;       /* the lines to come */
char *words, *words_end; /* what is left of this one; every word ends with a NUL */
FILE *account;
static network net;
static point p = {.net = &net};
static cell c;
static rational *ad;  /* the proxies, as slopes; of windows, what the tie rule gives */
static rational *sum; /* a combination of gradients; wrt's entries end to end */

const char *
next_word(void)
{
  const char *word = words;
  require(words < words_end, "the line ends too early");
  words += strlen(word) + 1;
  return word;
}

/* Begins the next line, if it begins with the keyword; all words of this one must be read. */
bool
line_is(const char *keyword)
{
  size_t length = strlen(keyword);
  if (rest.size <= length || memcmp(rest.data, keyword, length) != 0 || rest.data[length] > ' ')
    return false;
  require(words == words_end, "'%s' is more than was expected", words);
  const unsigned char *end = memchr(rest.data, '\n', rest.size);
  size_t n = end != NULL ? (size_t)(end - rest.data) : 0;
  session_line++;
  require(end != NULL, "the line is not ended");
  within(LIMIT_LINE, n, "a line of %zu bytes", n);
  words = (char *)rest.data;
  words_end = words + n + 1;
  for (size_t i = 0; i <= n; i++) {
    unsigned char *at = &rest.data[i];
    bool space = *at == ' ' && i > 0 && i + 1 < n && at[-1] != '\0';
    require(space || i == n || (*at > ' ' && *at < 127), "not words of ASCII one space apart");
    *at = space || i == n ? '\0' : *at;
  }
  take(&rest, n + 1);
  next_word();
  return true;
}

void
next_line(const char *keyword)
{
  bool begun = line_is(keyword);
  session_line += !begun;
  require(begun, "'%s' is expected", keyword);
}

void
last_line(void)
{
  next_line("end");
  require(rest.size == 0, "lines after the evidence");
}

/* `KEYWORD WORD` with a word that is known. */
static void
known_line(const char *keyword, const char *word)
{
  next_line(keyword);
  require(strcmp(next_word(), word) == 0, "'%s %s' is expected", keyword, word);
}

/* A rational in the one way it may be written, which is GMP's. */
void
next_rational(rational *q)
{
  const char *word = next_word();
  bool good = mpq_set_str(q, word, 10) == 0 && mpz_sgn(mpq_denref(q)) > 0;
  if (good)
    mpq_canonicalize(q);
  char *again = good ? mpq_get_str(NULL, 10, q) : NULL; /* GMP writes a denominator above zero only */
  require(again != NULL && strcmp(again, word) == 0, "'%.40s' is not a rational in lowest terms", word);
  free(again);
}

size_t
next_number(void)
{
  RATIONAL(q);
  next_rational(&q);
  require(mpz_cmp_ui(mpq_denref(&q), 1) == 0 && mpz_fits_slong_p(mpq_numref(&q)) && mpq_sgn(&q) >= 0,
          "a number is expected, no fraction");
  return mpz_get_ui(mpq_numref(&q));
}

/* The next word, decoded; what may stand for itself must. */
char *
next_name(void)
{
  static const char digits[] = "0123456789ABCDEF";
  const char *word = next_word();
  char *name = copy_text(word, strlen(word)), *end = name;
  for (const char *at = word; *at != '\0'; at++, end++) {
    const char *high = *at == '%' && at[1] != '\0' ? strchr(digits, at[1]) : NULL;
    const char *low = high != NULL && at[2] != '\0' ? strchr(digits, at[2]) : NULL;
    *end = low != NULL ? (char)((high - digits) * 16 + (low - digits)) : *at;
    require(*end != '\0' && (strchr(safe, *end) != NULL) == (low == NULL), "'%s' is not a name as it must be written",
            word);
    at += low != NULL ? 2 : 0;
  }
  *end = '\0';
  require(is_text((bytes){(unsigned char *)name, strlen(name)}), "'%s' is no text", word);
  return name;
}

static tensor *
next_parameter(void)
{
  char *name = next_name();
  size_t i = 0;
  while (i < net.n_tensors && (!net.tensors[i]->weight || strcmp(net.tensors[i]->name, name) != 0))
    i++;
  require(i < net.n_tensors, "the model has no parameter '%s'", name);
  free(name);
  return net.tensors[i];
}

/* After the keyword, `NAME HASH`: the file, if it has the hash. */
bytes
next_file(const char *folder, const char *what)
{
  char hex[65];
  const char *word = words;
  char *name = next_name(), *path = allocate(strlen(folder) + strlen(name) + 2, 1);
  require(strchr(name, '/') == NULL, "'%s' is not a base name", name);
  sprintf(path, "%s/%s", folder, name);
  bytes b = read_file(path);
  sha256(b, hex);
  require(strcmp(next_word(), hex) == 0, "the hash of %s is %s", path, hex);
  fprintf(account, "%s: %s\n  SHA-256 %s\n", what, word, hex);
  return b;
}

/* ---- Evidence */

const char *
kink(size_t k)
{
  static char text[512];
  const touch *t = &p.touched[k];
  const step *st = &net.steps[t->step];
  snprintf(text, sizeof text, "touched kink %zu (node %zu '%.200s', feature %zu, sample %zu)", k, st->place,
           st->node->name, t->entry / net.batch, t->entry % net.batch);
  return text;
}

/* `direction` and its moves, into the tensors. */
void
read_direction(void)
{
  RATIONAL(coef);
  RATIONAL(t);
  for (size_t i = 0; i < net.n_wrt; i++)
    mpq_set(&net.move[i], &zero);
  next_line("direction");
  next_line("move");
  do {
    tensor *w = next_parameter();
    const char *how = next_word();
    bool copy = strcmp(how, "copy") == 0, one = strcmp(how, "at") == 0;
    size_t from = one ? next_number() : 0, to = one ? from + 1 : w->count;
    require(copy || one || strcmp(how, "add") == 0, "copy, add or at is expected, not '%s'", how);
    next_rational(&coef);
    require(w->wrt, "parameter '%s' is not in wrt", w->name);
    require(to <= w->count && mpq_sgn(&coef) != 0, "no entry of '%s', or a coefficient 0", w->name);
    for (size_t i = from; i < to; i++) {
      mpq_mul(&t, &coef, copy ? &w->value[i] : &plus_one);
      mpq_add(&w->move[i], &w->move[i], &t);
    }
  } while (line_is("move"));
}

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
  char unnamed[64];
  for (size_t s = from; s < net.n_steps; s++) {
    const node *n = net.steps[s].node;
    if (net.steps[s].kind != PIECEWISE)
      continue;
    snprintf(unnamed, sizeof unnamed, "%s_%zu", n->op, net.steps[s].place);
    if (strcmp(name, *n->name != '\0' ? n->name : unnamed) == 0)
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

/* Samples in which nothing is touched have one gradient under all sides, which the sum leaves out. */
static void
check_hull(bool bouligand)
{
  size_t n = next_number();
  RATIONAL(weight);
  RATIONAL(total);
  require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
  for (size_t i = 0; i < n; i++) {
    next_line("cell");
    next_rational(&weight);
    const char *sides = next_word();
    require(mpq_sgn(&weight) >= 0, "a weight is negative");
    require(p.n_touched == 0 ? strcmp(sides, ".") == 0 : strlen(sides) == p.n_touched,
            "one side for each touched kink is expected");
    for (size_t k = 0; k < p.n_touched; k++)
      c.side[k] = side_named(&p, k, sides[k]);
    check_cell();
    loss_gradient(&p, c.slope, &c, true);
    add_gradient(&weight);
    mpq_add(&total, &total, &weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  loss_gradient(&p, ad, NULL, true);
  add_gradient(&minus_one);
  require(zeros(sum, net.n_wrt), "the combination of the cells' gradients is not AD's output");
}

/* `dead N`: a positive combination of N derivatives, of arguments turned to their sides or of a
 * side's option less another, is 0. */
static void
check_dead(bool settled)
{
  size_t n = next_number(), next = 0;
  RATIONAL(value);
  require(n >= 1, "a combination of no kinks proves nothing");
  if (!settled)
    cell_settle(&c, &p, true);
  for (size_t i = 0; i < net.n_wrt; i++)
    mpq_set(&sum[i], &zero);
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    require(k < p.n_touched, "there is no touched kink %zu", k);
    const touch *t = &p.touched[k];
    const uint8_t *degree = c.degree[t->from];
    require(c.side[k] != 0, "%s has not been branched on", kink(k));
    size_t a = is_window(t) ? (size_t)c.side[k] - 1 : 0, b = next_option(&p, &c, k);
    next_rational(&value);
    require(t->slope + b >= next, "touched kinks in increasing order are expected");
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require(degree[t->at[a]] < 2 && degree[t->at[b]] < 2, "%s: its argument is not affine", kink(k));
    if (c.side[k] < 0)
      mpq_neg(&value, &value);
    kink_row(&p, &c, k, a, b);
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
      check_dead(bound);
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
    bool used = false;
    for (size_t s = 1; s < net.n_steps; s++)
      used = used || strcmp(net.steps[s].node->op, op) == 0;
    for (size_t j = 0; used && j < kinks; j++) {
      RATIONAL(value);
      next_line("proxy");
      require(strcmp(next_word(), op) == 0 && next_number() == j, "the proxy of kink %zu of %s is expected", j, op);
      char *word = words;
      fprintf(account, "  %s, kink %zu: %s\n", op, j, next_word());
      bool left = strcmp(word, "left") == 0, right = strcmp(word, "right") == 0;
      if (!left && !right) {
        words = word;
        next_rational(&value);
      }
      for (size_t k = 0; k < p.n_touched; k++) {
        const touch *t = &p.touched[k];
        const step *st = &net.steps[t->step];
        if (strcmp(st->node->op, op) == 0 && st->number[t->kink] == j)
          mpq_set(&ad[t->slope], left ? &t->left : right ? &t->right : &value);
      }
    }
  }
}

/* Puts the file's tensors in the place of the model's of the same names and shapes. */
static void
replace_parameters(model *m, bytes file, bool *replaced)
{
  size_t n;
  tensor *t = tensors_read(file, &n);
  for (size_t i = 0; i < n; i++) {
    size_t j = 0, size = t[i].rank * sizeof *t[i].dims;
    while (j < m->n_tensors && strcmp(m->tensors[j]->name, t[i].name) != 0)
      j++;
    if (!t[i].real)
      continue;
    require(j < m->n_tensors && m->tensors[j]->real && m->tensors[j]->rank == t[i].rank
                && memcmp(m->tensors[j]->dims, t[i].dims, size) == 0,
            "tensor '%s' is no parameter of the model, or has another shape", t[i].name);
    m->tensors[j]->value = t[i].value;
    replaced[j] = true;
  }
}

static void
read_batch(bytes file)
{
  p.x = batch_read(file, &p.target);
}

static void
read_loss(void)
{
  const tensor *y = p.target;
  size_t *dims = net.dims + net.batched, rank = net.rank - net.batched;
  next_line("loss");
  const char *word = next_word();
  p.loss = strcmp(word, "mse") == 0 ? LOSS_MSE : strcmp(word, "ce") == 0 ? LOSS_CE : LOSS_SUM;
  require(p.loss != LOSS_SUM || strcmp(word, "sum") == 0, "unknown loss '%s'", word);
  state_loss(&p);
  if (p.loss == LOSS_SUM)
    return;
  require(y != NULL && y->rank > 0 && y->dims[0] == net.batch, "there is no y for each sample");
  bool same = y->rank == rank + 1 && memcmp(y->dims + 1, dims, rank * sizeof *dims) == 0;
  require(p.loss == LOSS_CE || same, "y does not have the output's shape");
  require(p.loss == LOSS_MSE || (rank == 1 && y->rank == 1 && !y->real),
          "cross entropy is of outputs (batch, classes) and an integer label for each sample");
  for (size_t b = 0; b < net.batch && p.loss == LOSS_CE; b++)
    require(mpq_sgn(&y->value[b]) >= 0 && mpq_cmp_ui(&y->value[b], dims[0], 1) < 0, "label %zu is no class", b);
}

/* Puts a parameter after those in wrt already. */
static void
add_parameter(tensor *t)
{
  require(!t->wrt, "parameter '%s' is named twice", t->name);
  t->wrt = true;
  t->move = net.move + net.n_wrt;
  t->gradient = net.gradient + net.n_wrt;
  net.n_wrt += t->count;
}

static void
read_wrt(void)
{
  size_t most = 0;
  for (size_t i = 0; i < net.n_tensors; i++)
    most += net.tensors[i]->count;
  net.move = rationals(most);
  net.gradient = rationals(most);
  sum = rationals(most);
  next_line("wrt");
  bool all = words < words_end && strcmp(words, "*") == 0;
  for (size_t i = 0; all && i < net.n_tensors; i++)
    if (net.tensors[i]->weight)
      add_parameter(net.tensors[i]);
  if (all)
    next_word();
  while (!all && words < words_end)
    add_parameter(next_parameter());
  require(net.n_wrt > 0, "no parameter is named, or the model has none");
  state_parameters(&net);
}

/* The last line is checked first: a proof that was changed is not worth reading. */
static void
check_end(void)
{
  char hex[65];
  for (size_t i = 0; i < rest.size; i++)
    session_line += rest.data[i] == '\n';
  require(rest.size > 69 && memcmp(rest.data + rest.size - 69, "end ", 4) == 0 && rest.data[rest.size - 1] == '\n',
          "the last line is not 'end HASH'");
  sha256((bytes){rest.data, rest.size - 69}, hex);
  require(memcmp(rest.data + rest.size - 65, hex, 64) == 0, "the proof was changed");
  session_line = 0;
}

void
clarke_check_proof(const char *path, const char *data)
{
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  const char *folder = data != NULL ? data : copy_text(path, length);
  model m;
  char *text;
  account = open_memstream(&text, &length);
  expect(account != NULL, "out of memory");
  folder = *folder != '\0' ? folder : ".";
  rest = read_file(path);
  check_end();
  known_line("clarke-proof", "1");
  next_line("verdict");
  const char *word = next_word();
  require(verdict_known(word), "unknown verdict '%s'", word);
  known_line("semantics", "real");
  if (line_is("program")) {
    check_program(folder, word);
    printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", text);
    return;
  }
  next_line("model");
  onnx_read(&m, next_file(folder, "Model"));
  bool *replaced = allocate(m.n_tensors, sizeof *replaced), params = line_is("params");
  if (params)
    replace_parameters(&m, next_file(folder, "Parameters replaced by"), replaced);
  next_line("batch");
  read_batch(next_file(folder, "Batch"));
  network_build(&net, &m, p.x);
  for (size_t i = 0; i < m.n_tensors && params; i++)
    require(replaced[i] == (m.tensors[i]->weight || m.tensors[i]->statistic),
            "'%s' is a parameter and not replaced, or the reverse", m.tensors[i]->name);
  state_network(&net, &m, p.x);
  read_loss();
  read_wrt();
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
  fflush(account);
  printf("VERIFIED\n%s", text);
  print_verdict(&net, word);
}
