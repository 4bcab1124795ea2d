/* The proof, line by line, and what each line claims (docs/proof-format.md). */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define LINE_LIMIT ((size_t)1 << 20)

/* What is left of the proof, and of its present line: words, each ended by a NUL. */
static bytes rest;
static char *words, *words_end;

static void next_line(const char *keyword);

static const char *next_word(void) {
  if (words == words_end)
    reject("the line ends too early");
  const char *word = words;
  words += strlen(word) + 1;
  return word;
}

static void end_line(void) {
  if (words != words_end)
    reject("'%s' is more than was expected", words);
}

/* Begins the next line; its first word must be the keyword. */
static void next_line(const char *keyword) {
  const unsigned char *end = rest.size > 0 ? memchr(rest.data, '\n', rest.size) : NULL;
  size_t n = end != NULL ? (size_t)(end - rest.data) : 0;

  session_line++;
  if (end == NULL || n == 0 || n > LINE_LIMIT)
    reject("the line is missing, empty, too long or not ended");
  words = (char *)rest.data;
  words_end = words + n + 1;
  for (size_t i = 0; i <= n; i++) {
    unsigned char *c = &rest.data[i];
    if (*c == '\n' || (*c == ' ' && i > 0 && i + 1 < n && c[-1] != '\0'))
      *c = '\0';
    else if (*c <= ' ' || *c >= 127)
      reject("words of printable ASCII, one space apart, are expected");
  }
  rest = (bytes){rest.data + n + 1, rest.size - n - 1};
  const char *word = next_word();
  if (strcmp(word, keyword) != 0)
    reject("'%s' is expected, not '%s'", keyword, word);
}

static bool line_is(const char *keyword) {
  size_t n = strlen(keyword);
  return rest.size > n && memcmp(rest.data, keyword, n) == 0
         && (rest.data[n] == ' ' || rest.data[n] == '\n');
}

static size_t next_number(void) {
  const char *word = next_word(), *c = word;
  size_t x = 0;

  for (; *c >= '0' && *c <= '9'; c++)
    if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, (size_t)(*c - '0'), &x))
      break;
  if (*c != '\0' || c == word || (word[0] == '0' && word[1] != '\0'))
    reject("'%s' is not a number as it must be written", word);
  return x;
}

/* A rational in the only way it may be written: as GMP writes a canonical one. */
static void parse_rational(rational *q, const char *word) {
  size_t n = strlen(word);
  bool plain = strspn(word, "-/0123456789") == n && mpq_set_str(q, word, 10) == 0
               && mpz_sgn(mpq_denref(q)) > 0;

  if (plain) {
    mpq_canonicalize(q);
    char *again = allocate(mpz_sizeinbase(mpq_numref(q), 10) + mpz_sizeinbase(mpq_denref(q), 10) + 3, 1);
    plain = strcmp(mpq_get_str(again, 10, q), word) == 0;
    free(again);
  }
  if (!plain)
    reject("'%.40s' is not a rational in lowest terms", word);
}

/* The next word, decoded; only what must be encoded may be. */
static char *next_name(void) {
  static const char digits[] = "0123456789ABCDEF";
  const char *word = next_word();
  char *name = allocate(strlen(word) + 1, 1), *end = name;

  for (const char *c = word; *c != '\0'; c++, end++) {
    const char *high = c[0] == '%' && c[1] != '\0' ? strchr(digits, c[1]) : NULL;
    const char *low = high != NULL && c[2] != '\0' ? strchr(digits, c[2]) : NULL;
    *end = low != NULL ? (char)((high - digits) * 16 + (low - digits)) : *c;
    bool safe = *end != '\0' && strchr("._/:-", *end) != NULL;
    safe = safe || (*end >= 'A' && *end <= 'Z') || (*end >= 'a' && *end <= 'z')
           || (*end >= '0' && *end <= '9');
    if (*end == '\0' || safe == (low != NULL))
      reject("'%s' is not a name as it must be written", word);
    c += low != NULL ? 2 : 0;
  }
  return name;
}

static tensor *next_parameter(const network *net, size_t *order) {
  char *name = next_name();

  for (*order = 0; *order < net->n_tensors; ++*order) {
    tensor *t = net->tensors[*order];
    if (t->weight && strcmp(t->name, name) == 0) {
      free(name);
      return t;
    }
  }
  reject("the model has no parameter '%s'", name);
}

/* The line `KEYWORD NAME HASH`: the file, if it has the hash. */
static bytes next_file(const char *keyword, const char *folder, char **encoded) {
  char hex[65];

  next_line(keyword);
  *encoded = copy_text(words, strlen(words));
  char *name = next_name(), *path = allocate(strlen(folder) + strlen(name) + 2, 1);
  if (strchr(name, '/') != NULL)
    reject("'%s' is not a base name", name);
  sprintf(path, "%s/%s", folder, name);
  bytes b = read_file(path);
  sha256(b, hex);
  if (strcmp(next_word(), hex) != 0)
    reject("the hash of %s is %s", path, hex);
  end_line();
  return b;
}

/* ---- Evidence */

static void fill(rational *q, size_t n) {
  for (size_t i = 0; i < n; i++)
    mpq_set_ui(&q[i], 0, 1);
}

static void clear_moves(const network *net) {
  for (size_t i = 0; i < net->n_tensors; i++)
    if (net->tensors[i]->wrt)
      fill(net->tensors[i]->move, net->tensors[i]->count);
}

/* `direction` and its moves, into the tensors. */
static void read_direction(const network *net) {
  RATIONAL(c);
  RATIONAL(t);
  size_t order;

  clear_moves(net);
  next_line("direction");
  end_line();
  do {
    next_line("move");
    tensor *w = next_parameter(net, &order);
    const char *how = next_word();
    size_t from = 0, to = w->count;
    if (!w->wrt)
      reject("parameter '%s' is not in wrt", w->name);
    if (strcmp(how, "at") == 0) {
      from = next_number();
      to = from + 1;
    } else if (strcmp(how, "copy") != 0 && strcmp(how, "add") != 0) {
      reject("copy, add or at is expected, not '%s'", how);
    }
    parse_rational(&c, next_word());
    end_line();
    if (from >= w->count || mpq_sgn(&c) == 0)
      reject("an index past the end of '%s', or a coefficient 0", w->name);
    for (size_t i = from; i < to; i++) {
      mpq_set(&t, &c);
      if (*how == 'c')
        mpq_mul(&t, &c, &w->value[i]);
      mpq_add(&w->move[i], &w->move[i], &t);
    }
  } while (line_is("move"));
}

/* The sides are in the cell: checks that it is realized, by the directions that follow. */
static void check_cell(const point *p, cell *c) {
  bool *found = allocate(p->n_touched, sizeof *found);
  INTERVAL(a);

  cell_settle(c, p, false);
  if (c->open != NONE)
    reject("%s is not flat, and its proxy gives it no side", point_kink(p, c->open));
  next_line("directions");
  size_t n = next_number();
  end_line();
  for (size_t i = 0; i < n; i++) {
    read_direction(p->net);
    interval **d = tangents(p, c->slope);
    for (size_t k = 0; k < p->n_touched; k++) {
      if (found[k] || c->flat[k])
        continue;
      tangent_argument(&a, p, d, k);
      int sign = interval_sign(&a);
      if (sign == 2)
        leave(UNDECIDED, "cannot decide to which side %s moves", point_kink(p, k));
      if (sign == -c->side[k])
        reject("%s moves to the wrong side", point_kink(p, k));
      found[k] = sign != 0;
    }
    tangents_free(d, p);
  }
  for (size_t k = 0; k < p->n_touched; k++)
    if (!found[k] && !c->flat[k])
      reject("no direction moves %s", point_kink(p, k));
  free(found);
}

/* The side whose slope the proxy is; 0 when there is none. */
static int8_t proxy_side(const touch *t) {
  return mpq_equal(&t->ad, &t->left) ? -1 : mpq_equal(&t->ad, &t->right) ? 1 : 0;
}

/* Flat so far, in all cells. */
static void and_flat(bool *flat, const point *p, const cell *c, bool first) {
  for (size_t k = 0; k < p->n_touched; k++)
    flat[k] = c->flat[k] && (first || flat[k]);
}

static void check_ad(const point *p, cell *c, bool *flat) {
  next_line("cell");
  if (strcmp(next_word(), "ad") != 0)
    reject("'cell ad' is expected");
  end_line();
  for (size_t k = 0; k < p->n_touched; k++)
    c->side[k] = proxy_side(&p->touched[k]);
  check_cell(p, c);
  and_flat(flat, p, c, true);
}

static void check_mix(const point *p, cell *c, bool *flat) {
  size_t n = next_number(), from = 0, *mixed = NULL;
  const network *net = p->net;
  rational *lambda;
  RATIONAL(t);
  RATIONAL(u);

  end_line();
  if (n == 0 || n > 30)
    reject("a mix is of 1 to 30 nodes");
  lambda = rationals(n);
  mixed = allocate(n, sizeof *mixed);
  for (size_t i = 0; i < n; i++) {
    char unnamed[64];
    next_line("mix");
    char *name = next_name();
    for (mixed[i] = NONE; mixed[i] == NONE && from < net->n_steps; from++) {
      const step *st = &net->steps[from];
      if (st->kind != PIECEWISE)
        continue;
      snprintf(unnamed, sizeof unnamed, "%s_%zu", st->node->op, st->place);
      if (strcmp(name, *st->node->name != '\0' ? st->node->name : unnamed) == 0)
        mixed[i] = from;
    }
    parse_rational(&lambda[i], next_word());
    end_line();
    if (mixed[i] == NONE || mpq_sgn(&lambda[i]) <= 0 || mpq_cmp_ui(&lambda[i], 1, 1) >= 0)
      reject("'%s' is no node with kinks after the one before, or its weight is not between 0 and 1",
             name);
  }
  for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
    next_line("cell");
    if (strcmp(next_word(), "mix") != 0)
      reject("'cell mix' is expected");
    const char *signs = next_word();
    end_line();
    for (size_t i = 0; i < n; i++)
      if (strlen(signs) != n || signs[i] != (mask >> (n - 1 - i) & 1 ? '+' : '-'))
        reject("the signs of the cells must be in order");
    for (size_t k = 0; k < p->n_touched; k++) {
      const touch *to = &p->touched[k];
      c->side[k] = proxy_side(to);
      for (size_t i = 0; i < n; i++) {
        if (mixed[i] != to->step)
          continue;
        mpq_sub(&t, &to->left, &to->right);
        mpq_mul(&t, &t, &lambda[i]);
        mpq_add(&u, &t, &to->right);
        c->side[k] = !mpq_equal(&u, &to->ad) ? 0 : signs[i] == '+' ? 1 : -1;
      }
    }
    check_cell(p, c);
    and_flat(flat, p, c, mask == 0);
  }
}

/* target += weight * the gradient in the tensors; from the parameters in wrt, end to end. */
static void add_gradient(const network *net, rational *target, const rational *weight) {
  RATIONAL(t);
  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++, target++) {
      mpq_mul(&t, weight, &net->tensors[i]->gradient[j]);
      mpq_add(target, target, &t);
    }
}

static void check_hull(const point *p, cell *c, bool *flat, size_t entries, const rational *ad,
                       bool bouligand) {
  size_t n = next_number();
  rational *sum = rationals(entries);
  RATIONAL(weight);
  RATIONAL(total);

  end_line();
  if (n == 0 || (bouligand && n != 1))
    reject("a hull is of one cell or more, and of one for this verdict");
  for (size_t i = 0; i < n; i++) {
    next_line("cell");
    parse_rational(&weight, next_word());
    const char *sides = next_word();
    size_t length = strlen(sides);
    end_line();
    if (mpq_sgn(&weight) < 0)
      reject("a weight is negative");
    if (p->n_touched == 0 ? strcmp(sides, ".") != 0
                          : length != p->n_touched || strspn(sides, "-+") != length)
      reject("one side for each touched kink is expected");
    for (size_t k = 0; k < p->n_touched; k++)
      c->side[k] = sides[k] == '+' ? 1 : -1;
    check_cell(p, c);
    and_flat(flat, p, c, i == 0);
    gradient(p, c->slope, NONE);
    add_gradient(p->net, sum, &weight);
    mpq_add(&total, &total, &weight);
  }
  if (mpq_cmp_ui(&total, 1, 1) != 0)
    reject("the weights do not sum to 1");
  mpq_set_si(&weight, -1, 1);
  gradient(p, ad, NONE);
  add_gradient(p->net, sum, &weight);
  for (size_t i = 0; i < entries; i++)
    if (mpq_sgn(&sum[i]) != 0)
      reject("the combination of the cells' gradients is not AD's output");
  rationals_free(sum, entries);
}

/* `dead N`: the derivatives of N arguments, turned to their sides, have a positive combination 0. */
static void check_dead(const point *p, cell *c, size_t entries) {
  size_t n = next_number(), before = NONE;
  rational *sum = rationals(entries);
  RATIONAL(value);

  end_line();
  if (n == 0)
    reject("a combination of no kinks proves nothing");
  cell_settle(c, p, true);
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    parse_rational(&value, next_word());
    end_line();
    if (k >= p->n_touched || (before != NONE && k <= before) || mpq_sgn(&value) <= 0)
      reject("touched kinks in increasing order with positive values are expected");
    if (c->side[k] == 0)
      reject("%s has not been branched on", point_kink(p, k));
    if (cell_degree(c, p, k) > 1)
      reject("the argument of %s is not affine under the sides chosen", point_kink(p, k));
    gradient(p, c->slope, k);
    if (gradient_zero(p->net))
      reject("the argument of %s has derivative zero", point_kink(p, k));
    if (c->side[k] < 0)
      mpq_neg(&value, &value);
    add_gradient(p->net, sum, &value);
    before = k;
  }
  for (size_t i = 0; i < entries; i++)
    if (mpq_sgn(&sum[i]) != 0)
      reject("the combination of the derivatives is not zero");
  rationals_free(sum, entries);
}

/* `leaf`: AD's output is separated from the gradient under the sides. */
static void check_leaf(const point *p, cell *c, const interval *ad) {
  INTERVAL(difference);
  RATIONAL(minus);

  end_line();
  cell_settle(c, p, true);
  if (c->open != NONE)
    reject("%s has not been branched on", point_kink(p, c->open));
  interval **d = tangents(p, c->slope);
  tangent_loss(&difference, p, d);
  tangents_free(d, p);
  INTERVAL(margin);
  mpq_set_ui(&minus, 1, 1);
  interval_add(&margin, ad, &minus);
  mpq_set_si(&minus, -1, 1);
  interval_add(&margin, &difference, &minus);
  int sign = interval_sign(&margin);
  if (sign == 2)
    leave(UNDECIDED, "cannot decide whether AD's output is separated from this cell");
  if (sign != 1)
    reject("AD's output is not separated from this cell");
}

static size_t check_separator(const point *p, cell *c, size_t entries, const rational *ad,
                              tensor **wrt, size_t n_wrt) {
  size_t depth = 0, leaves = 0, *path = allocate(p->n_touched, sizeof *path);
  size_t order = 0, at = 0, index, unused;
  RATIONAL(value);
  INTERVAL(output);

  end_line();
  clear_moves(p->net);
  for (bool first = true; first || line_is("v"); first = false) {
    next_line("v");
    tensor *t = next_parameter(p->net, &unused);
    size_t i = 0;
    while (i < n_wrt && wrt[i] != t)
      i++;
    index = next_number();
    parse_rational(&value, next_word());
    end_line();
    if (i == n_wrt || index >= t->count || mpq_sgn(&value) == 0
        || (!first && (i < order || (i == order && index <= at))))
      reject("nonzero entries of parameters in wrt, in order, are expected");
    mpq_set(&t->move[index], &value);
    order = i;
    at = index;
  }
  interval **d = tangents(p, ad);
  tangent_loss(&output, p, d);
  tangents_free(d, p);
  next_line("tree");
  end_line();
  for (;;) {
    if (line_is("branch")) {
      next_line("branch");
      size_t k = next_number();
      end_line();
      if (k >= p->n_touched || (depth > 0 && k <= path[depth - 1]))
        reject("a branch on a touched kink after those above is expected");
      path[depth++] = k;
      c->side[k] = -1;
      continue;
    }
    if (line_is("dead")) {
      next_line("dead");
      check_dead(p, c, entries);
    } else {
      next_line("leaf");
      check_leaf(p, c, &output);
      leaves++;
    }
    for (; depth > 0 && c->side[path[depth - 1]] == 1; depth--)
      c->side[path[depth - 1]] = 0;
    if (depth == 0)
      break;
    c->side[path[depth - 1]] = 1;
  }
  if (leaves == 0)
    reject("a tree without a leaf");
  free(path);
  return leaves;
}

/* ---- Statement */

/* The proxy of every kink of every operator in the model; what the statement says of them. */
static char *read_proxies(const point *p) {
  char *said = copy_text("", 0);
  const char *op;
  RATIONAL(value);

  for (size_t i = 0, kinks; (op = network_operator(i, &kinks)) != NULL; i++) {
    bool used = false;
    for (size_t s = 1; s < p->net->n_steps; s++)
      used = used || strcmp(p->net->steps[s].node->op, op) == 0;
    for (size_t j = 0; used && j < kinks; j++) {
      next_line("proxy");
      if (strcmp(next_word(), op) != 0 || next_number() != j)
        reject("the proxy of kink %zu of %s is expected", j, op);
      const char *word = next_word();
      bool left = strcmp(word, "left") == 0, right = strcmp(word, "right") == 0;
      end_line();
      if (!left && !right)
        parse_rational(&value, word);
      for (size_t k = 0; k < p->n_touched; k++) {
        touch *t = &p->touched[k];
        const step *st = &p->net->steps[t->step];
        if (strcmp(st->node->op, op) == 0 && st->number[t->kink] == j)
          mpq_set(&t->ad, left ? &t->left : right ? &t->right : &value);
      }
      char *more = allocate(strlen(said) + strlen(op) + strlen(word) + 32, 1);
      sprintf(more, "%s  %s, kink %zu: %s\n", said, op, j, word);
      free(said);
      said = more;
    }
  }
  return said;
}

/* Puts the file's tensors in the place of the model's of the same names and shapes. */
static void replace_parameters(model *m, bytes file, bool *replaced) {
  size_t n, j;
  tensor *t = tensors_read(file, &n);

  for (size_t i = 0; i < n; i++) {
    for (j = 0; j < m->n_tensors && strcmp(m->tensors[j]->name, t[i].name) != 0;)
      j++;
    if (!t[i].real)
      continue;
    if (j == m->n_tensors || !m->tensors[j]->real || m->tensors[j]->rank != t[i].rank
        || memcmp(m->tensors[j]->dims, t[i].dims, t[i].rank * sizeof *t[i].dims) != 0)
      reject("tensor '%s' is no parameter of the model, or has another shape", t[i].name);
    m->tensors[j]->value = t[i].value;
    replaced[j] = true;
  }
}

static void build(network *net, const model *m, bytes batch, const bool *replaced, point *p) {
  size_t n;
  tensor *t = tensors_read(batch, &n);
  const tensor *x = NULL;

  for (size_t i = 0; i < n; i++)
    if (strcmp(t[i].name, "x") == 0)
      x = &t[i];
    else if (strcmp(t[i].name, "y") == 0)
      p->target = &t[i];
    else
      reject("the batch holds '%s' beside x and y", t[i].name);
  if (x == NULL)
    reject("the batch holds no x");
  network_build(net, m, x);
  for (size_t i = 0; i < m->n_tensors && replaced != NULL; i++)
    if (replaced[i] != (m->tensors[i]->weight && m->tensors[i]->initializer))
      reject("'%s' is a parameter that is not replaced, or none that is", m->tensors[i]->name);
}

static const char *read_loss(point *p) {
  const network *net = p->net;
  const tensor *y = p->target;
  const size_t *dims = net->dims + net->batched, rank = net->rank - net->batched;

  next_line("loss");
  const char *word = next_word();
  end_line();
  p->n_outputs = 1;
  for (size_t i = 0; i < rank; i++)
    p->n_outputs *= dims[i];
  p->loss = strcmp(word, "mse") == 0 ? LOSS_MSE : strcmp(word, "ce") == 0 ? LOSS_CE : LOSS_SUM;
  if (p->loss == LOSS_SUM && strcmp(word, "sum") != 0)
    reject("unknown loss '%s'", word);
  if (p->loss == LOSS_SUM)
    return "the sum of all outputs";
  if (y == NULL || y->rank == 0 || y->dims[0] != net->batch)
    reject("the batch holds no y for every sample");
  if (p->loss == LOSS_MSE) {
    if (y->rank != rank + 1 || memcmp(y->dims + 1, dims, rank * sizeof *dims) != 0)
      reject("y does not have the output's shape");
    return "the mean squared error";
  }
  if (rank != 1 || y->rank != 1 || y->real)
    reject("the cross entropy wants outputs (batch, classes) and one integer label a sample");
  for (size_t b = 0; b < net->batch; b++)
    if (mpq_sgn(&y->value[b]) < 0 || mpq_cmp_ui(&y->value[b], dims[0], 1) >= 0)
      reject("label %zu is no class", b);
  return "the mean cross entropy";
}

static tensor **read_wrt(const network *net, size_t *n, size_t *entries) {
  tensor **wrt = allocate(net->n_tensors, sizeof *wrt);
  size_t order;

  next_line("wrt");
  *n = *entries = 0;
  if (strcmp(words, "*") == 0 && words + 2 == words_end) {
    next_word();
    for (size_t i = 0; i < net->n_tensors; i++)
      if (net->tensors[i]->weight)
        wrt[(*n)++] = net->tensors[i];
  } else {
    while (words != words_end || *n == 0) {
      if (*n == net->n_tensors)
        reject("a parameter is named twice");
      wrt[(*n)++] = next_parameter(net, &order);
    }
  }
  for (size_t i = 0; i < *n; i++) {
    if (wrt[i]->wrt)
      reject("parameter '%s' is named twice", wrt[i]->name);
    wrt[i]->wrt = true;
    wrt[i]->move = rationals(wrt[i]->count);
    wrt[i]->gradient = rationals(wrt[i]->count);
    *entries += wrt[i]->count;
  }
  return wrt;
}

/* The last line, checked first: a changed proof is not worth reading. */
static void check_end(void) {
  char hex[65];

  for (size_t i = 0; i < rest.size; i++)
    session_line += rest.data[i] == '\n';
  if (rest.size < 69 || memcmp(rest.data + rest.size - 69, "end ", 4) != 0
      || rest.data[rest.size - 1] != '\n')
    reject("the last line is not 'end HASH'");
  sha256((bytes){rest.data, rest.size - 69}, hex);
  if (memcmp(rest.data + rest.size - 65, hex, 64) != 0)
    reject("the proof has been changed: its hash is %s", hex);
  session_line = 0;
}

static void expect_line(const char *keyword, const char *word) {
  next_line(keyword);
  if (strcmp(next_word(), word) != 0)
    reject("'%s %s' is expected", keyword, word);
  end_line();
}

static size_t check_evidence(const point *p, tensor **wrt, size_t n_wrt, size_t entries,
                             const char *verdict, bool *flat) {
  rational *ad = rationals(p->n_touched);
  size_t leaves = 0;
  cell c;

  cell_init(&c, p);
  for (size_t k = 0; k < p->n_touched; k++)
    mpq_set(&ad[k], &p->touched[k].ad);
  next_line("evidence");
  const char *word = next_word();
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = verdict[0] == 'n';
  if (strcmp(word, "ad") == 0 && bouligand) {
    end_line();
    check_ad(p, &c, flat);
  } else if (strcmp(word, "mix") == 0 && !bouligand && !outside) {
    check_mix(p, &c, flat);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    check_hull(p, &c, flat, entries, ad, bouligand);
  } else if (strcmp(word, "separator") == 0 && outside) {
    leaves = check_separator(p, &c, entries, ad, wrt, n_wrt);
  } else {
    reject("evidence '%s' does not prove %s", word, verdict);
  }
  next_line("end");
  if (rest.size != 0)
    reject("lines after the evidence");
  return leaves;
}

void clarke_check_proof(const char *path, const char *data) {
  static const char *const meanings[][2] = {
    {"in-bouligand", "an element of the Bouligand subdifferential: a limit of true gradients, taken\n"
                     "at points near the weights where the loss is differentiable"},
    {"in-clarke", "an element of the Clarke subdifferential: a convex combination of limits of true\n"
                  "gradients, taken at points near the weights where the loss is differentiable"},
    {"not-in-clarke", "NOT an element of the Clarke subdifferential: no limit of true gradients, and\n"
                      "no convex combination of such limits"}};
  char *folder = data != NULL ? copy_text(data, strlen(data)) : copy_text(path, strlen(path));
  char *slash = data != NULL ? NULL : strrchr(folder, '/'), *names[3] = {NULL, NULL, NULL};
  model m;
  network net;
  point p = {.net = &net};
  bool *replaced = NULL;
  size_t verdict = 0, n_wrt, entries, flats = 0;

  if (slash != NULL)
    slash[slash == folder] = '\0';
  else if (data == NULL)
    strcpy(folder, ".");
  rest = read_file(path);
  check_end();
  expect_line("clarke-proof", "1");
  next_line("verdict");
  const char *word = next_word();
  while (verdict < 3 && strcmp(meanings[verdict][0], word) != 0)
    verdict++;
  if (verdict == 3)
    reject("unknown verdict '%s'", word);
  end_line();
  expect_line("semantics", "real");
  onnx_read(&m, next_file("model", folder, &names[0]));
  if (line_is("params")) {
    replaced = allocate(m.n_tensors, sizeof *replaced);
    replace_parameters(&m, next_file("params", folder, &names[1]), replaced);
  }
  build(&net, &m, next_file("batch", folder, &names[2]), replaced, &p);
  const char *loss_name = read_loss(&p);
  tensor **wrt = read_wrt(&net, &n_wrt, &entries);
  point_evaluate(&p);
  next_line("profile");
  const char *profile = next_word();
  end_line();
  char *proxies = read_proxies(&p);
  next_line("touched");
  if (next_number() != p.n_touched)
    reject("the number of touched kinks is %zu", p.n_touched);
  end_line();
  bool *flat = allocate(p.n_touched, sizeof *flat);
  size_t leaves = check_evidence(&p, wrt, n_wrt, entries, meanings[verdict][0], flat);
  for (size_t k = 0; k < p.n_touched; k++)
    flats += flat[k];

  printf("VERIFIED\nModel: %s\n", names[0]);
  if (names[1] != NULL)
    printf("Parameters replaced by: %s\n", names[1]);
  printf("Batch: %s, %zu samples\nLoss: %s\n", names[2], net.batch, loss_name);
  printf("Parameters: %zu numbers in %zu tensors\n", entries, n_wrt);
  printf("Touched kinks: %zu", p.n_touched);
  if (verdict == 2)
    printf("; sign patterns near the weights: at most %zu\n", leaves);
  else
    printf(", %zu of them flat (their argument is constant nearby)\n", flats);
  printf("Proxies (profile %s):\n%s", profile, proxies);
  printf("At the stored weights, what reverse-mode automatic differentiation computes with these\n"
         "proxies is %s.\n", meanings[verdict][1]);
  printf("Semantics: real arithmetic, every stored number taken exactly; what a GPU followed in\n"
         "floating point may differ.\n");
}
