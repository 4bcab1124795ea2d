/* Programs (docs/programs.md): the text as a list of instructions, each applied to earlier ones. */
#include "program.h"
#include "allocate.h"
#include "limit.h"
#include "program_text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200 /* of brackets and operators inside each other */

static program *prog;

/* A scalar, or a vector: the instructions of its entries. */
typedef struct {
  size_t n, *at;
  bool vector;
} value;
static struct {
  char *name;
  value value;
} * names;
static size_t n_names, *name_table, n_table; /* open addressing: the number of a name and 1, or 0 */
static size_t n_arguments, n_entries, n_words;

static kinked kink_table[] = {{.name = "Abs", .n_kinks = 1},
                              {.name = "Clamp", .n_kinks = 2},
                              {.name = "Clip", .n_kinks = 2},
                              {.name = "Elu", .n_kinks = 1},
                              {.name = "GlobalMaxPool"},
                              {.name = "HardSigmoid", .n_kinks = 2},
                              {.name = "HardSwish", .n_kinks = 2},
                              {.name = "Kth"},
                              {.name = "LeakyRelu", .n_kinks = 1},
                              {.name = "Max"},
                              {.name = "MaxPool"},
                              {.name = "Median"},
                              {.name = "Min"},
                              {.name = "PRelu", .n_kinks = 1},
                              {.name = "Relu", .n_kinks = 1},
                              {.name = "Sort"},
                              {.name = NULL}};

/* Of the pointwise: the numbers a and b that a call gives or may leave out, then its kinks, then three
 * coefficients a piece. */
static const struct {
  const char *name, *operator;
  deed kind;
  size_t least, most;
  const char *preset[2], *pieces;
} functions[] = {{"exp", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"log", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"sqrt", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"sin", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"cos", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"tanh", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"sigmoid", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
                 {"relu", "Relu", A_POINTWISE, 0, 0, {0}, "0 0 0 0 0 1 0"},
                 {"leaky_relu", "LeakyRelu", A_POINTWISE, 0, 1, {"1/100"}, "0 0 a 0 0 1 0"},
                 {"relu6", "Clip", A_POINTWISE, 0, 0, {"0", "6"}, "a b a 0 0 0 1 0 b 0 0"},
                 {"hardtanh", "Clip", A_POINTWISE, 0, 2, {"-1", "1"}, "a b a 0 0 0 1 0 b 0 0"},
                 {"clamp", "Clamp", A_POINTWISE, 2, 2, {"0", "0"}, "a b a 0 0 0 1 0 b 0 0"},
                 {"hardsigmoid", "HardSigmoid", A_POINTWISE, 0, 0, {0}, "-3 3 0 0 0 1/2 1/6 0 1 0 0"},
                 {"hardswish", "HardSwish", A_POINTWISE, 0, 0, {0}, "-3 3 0 0 0 0 1/2 1/6 0 1 0"},
                 {"abs", "Abs", A_POINTWISE, 0, 0, {0}, "0 0 -1 0 0 1 0"},
                 {"elu", "Elu", A_POINTWISE, 0, 1, {"1"}, "0 0 a 0 0 1 0"},
                 {"max", "Max", AN_ORDER, 0, 0, {0}, NULL},
                 {"maxpool", "MaxPool", AN_ORDER, 0, 0, {0}, NULL},
                 {"min", "Min", AN_ORDER, 0, 0, {0}, NULL},
                 {"kth", "Kth", AN_ORDER, 0, 0, {0}, NULL},
                 {"median", "Median", AN_ORDER, 0, 0, {0}, NULL},
                 {"sort", "Sort", AN_ORDER, 0, 0, {0}, NULL},
                 {"norminf", "Max", AN_ORDER, 0, 0, {0}, NULL},
                 {"norm1", NULL, A_SUM, 0, 0, {0}, NULL},
                 {"sum", NULL, A_SUM, 0, 0, {0}, NULL},
                 {"mean", NULL, A_SUM, 0, 0, {0}, NULL},
                 {"norm2", NULL, A_NORM, 0, 0, {0}, NULL},
                 {"normpool", NULL, A_NORM, 0, 0, {0}, NULL},
                 {"dot", NULL, A_SUM, 2, 2, {0}, NULL}};
#define N_FUNCTIONS (sizeof functions / sizeof *functions)

const kinked *
kink_operator(size_t i)
{
  return kink_table[i].name != NULL ? &kink_table[i] : NULL;
}

void
kink_use(const char *name)
{
  size_t o = 0;
  while (kink_table[o].name != NULL && strcmp(kink_table[o].name, name) != 0)
    o++;
  expect(kink_table[o].name != NULL, "operator %s is not one of a program's", name);
  kink_table[o].used = true;
}

void
kink_take(size_t i, size_t k, const proxy *p)
{
  kink_table[i].proxy[k] = *p;
}

static size_t
find_function(const char *name)
{
  size_t f = 0;
  while (f < N_FUNCTIONS && strcmp(functions[f].name, name) != 0)
    f++;
  return f;
}

/* Where a name stands in the table, or would. */
static size_t *
find_name(const char *name)
{
  size_t h = 14695981039346656037u; /* Fowler, Noll, Vo */
  for (const char *c = name; *c != '\0'; c++)
    h = (h ^ (unsigned char)*c) * 1099511628211u;
  for (h %= n_table; name_table[h] != 0 && strcmp(names[name_table[h] - 1].name, name) != 0;)
    h = (h + 1) % n_table;
  return &name_table[h];
}

/* A table twice as large when it is half full. */
static void
make_room_for_name(void)
{
  if (2 * (n_names + 1) <= n_table)
    return;
  free(name_table);
  n_table = n_table == 0 ? 64 : 2 * n_table;
  name_table = allocate(n_table, sizeof *name_table);
  for (size_t i = 0; i < n_names; i++)
    *find_name(names[i].name) = i + 1;
}

/* ---- Instructions */

void
limit_size(const rational *q)
{
  size_t above = mpz_sizeinbase(mpq_numref(q), 2), below = mpz_sizeinbase(mpq_denref(q), 2);
  within(LIMIT_BITS, above > below ? above : below, "a number of more bits");
}

/* Appends one; returns its number. */
static size_t
add(instruction i)
{
  n_arguments += i.n;
  size_t most = prog->n + 1 > n_arguments ? prog->n + 1 : n_arguments;
  within(LIMIT_INSTRUCTIONS, most, "program, line %zu: more instructions, or arguments of them", text_line);
  prog->instructions = grow(prog->instructions, prog->n, sizeof i);
  i.line = text_line;
  prog->instructions[prog->n] = i;
  return prog->n++;
}

static value
vector_of(size_t n, bool vector)
{
  n_entries += n;
  within(LIMIT_VECTORS, n > n_entries ? n : n_entries, "program, line %zu: more entries of vectors", text_line);
  return (value){n, allocate(n, sizeof(size_t)), vector};
}

/* One instruction for each entry of the arguments; scalars stand for as many copies. */
static value
apply(instruction i, size_t n, const value *v)
{
  size_t length = 1;
  bool vector = false;
  for (size_t k = 0; k < n; k++) {
    want(!v[k].vector || !vector || v[k].n == length, "vectors of two lengths");
    length = v[k].vector ? v[k].n : length;
    vector = vector || v[k].vector;
  }
  value y = vector_of(length, vector);
  for (size_t e = 0; e < length; e++) {
    i.n = n;
    i.in = allocate(n, sizeof *i.in);
    for (size_t k = 0; k < n; k++)
      i.in[k] = v[k].at[v[k].vector ? e : 0];
    y.at[e] = add(i);
  }
  return y;
}

static value
constant(const rational *q)
{
  instruction i = {.kind = A_CONSTANT, .c = rationals(1)};
  size_t n = mpz_size(mpq_numref(q)) + mpz_size(mpq_denref(q));
  n_words += n > 2 ? n : 0;
  within(LIMIT_WORDS, n_words, "program, line %zu: constants of more words", text_line);
  limit_size(q);
  mpq_set(i.c, q);
  return apply(i, 0, NULL);
}

/* The number that a literal, or arithmetic on them, is; NULL when v is none. */
static const rational *
number_of(value v)
{
  return !v.vector && prog->instructions[v.at[0]].kind == A_CONSTANT ? prog->instructions[v.at[0]].c : NULL;
}

/* v0 + v1, v0 - v1 (- v1 when v0 has no entries), v0 v1, v0 / v1. */
static value
arithmetic(char operation, const value *v)
{
  bool unary = v[0].n == 0;
  const rational *b = number_of(v[1]), *a = unary ? &zero : number_of(v[0]);
  instruction i = {.kind = operation == '*' ? A_PRODUCT : operation == '/' ? A_QUOTIENT : A_SUM};
  RATIONAL(q);
  if (a != NULL && b != NULL) {
    want(operation != '/' || mpq_sgn(b) != 0, "a division by zero");
    (operation == '*' ? mpq_mul : operation == '/' ? mpq_div : operation == '+' ? mpq_add : mpq_sub)(&q, a, b);
    return constant(&q);
  }
  i.c = rationals(2);
  mpq_set(&i.c[0], &plus_one);
  mpq_set(&i.c[unary ? 0 : 1], operation == '-' ? &minus_one : &plus_one);
  return apply(i, unary ? 1 : 2, unary ? v + 1 : v);
}

/* c times the sum of the entries. */
static value
sum_of(value v, const rational *c)
{
  instruction i = {.kind = A_SUM, .n = v.n, .in = v.at, .c = rationals(v.n)};
  value y = vector_of(1, false);
  for (size_t k = 0; k < v.n; k++)
    mpq_set(&i.c[k], c);
  y.at[0] = add(i);
  return y;
}

/* ---- Expressions */

static value expression(size_t depth);

/* E, E, ... up to the closing bracket; the first three apart in each. */
static value
list(size_t depth, const char *closing, value *each, size_t *n)
{
  value all = {0, NULL, true};
  for (*n = 0;; ++*n) {
    value v = expression(depth);
    if (*n < 3)
      each[*n] = v;
    n_entries += v.n;
    within(LIMIT_VECTORS, n_entries, "program, line %zu: more entries of vectors", text_line);
    for (size_t e = 0; e < v.n; e++, all.n++) {
      all.at = grow(all.at, all.n, sizeof *all.at);
      all.at[all.n] = v.at[e];
    }
    if (!is(","))
      break;
  }
  must(closing);
  ++*n;
  return all;
}

/* `{...}` after a function's name: a proxy at kinks, or of ties. */
static proxy
read_proxy(bool order, size_t depth)
{
  static const char *const kinds[] = {"value", "left", "right", "first", "last", "stable", "mean", "hybrid"};
  proxy p = {.value = rational_zero()};
  if (!is("{"))
    return p;
  p.given = true;
  p.kind = VALUE;
  for (size_t k = order ? 3 : 1; k < (order ? 8u : 3u) && p.kind == VALUE && token == 'a'; k++)
    if (strcmp(token_text, kinds[k]) == 0)
      p.kind = k;
  bool mean = p.kind == 6, hybrid = p.kind == 7;
  want(!order || p.kind != VALUE, "first, last, stable, mean or hybrid is expected");
  if (p.kind != VALUE)
    advance();
  if (mean || hybrid)
    p.kind = FIRST;
  if (mean)
    mpq_set(&p.value, &plus_one);
  if (p.kind == VALUE || hybrid) {
    const rational *q = number_of(expression(depth));
    want(q != NULL, "a proxy that is no number");
    mpq_set(&p.value, q);
  }
  must("}");
  return p;
}

static kinked *
operator_of(size_t f)
{
  size_t o = 0;
  while (strcmp(kink_table[o].name, functions[f].operator) != 0)
    o++;
  return &kink_table[o];
}

/* The pieces of function f with the numbers a and b of its call. */
static pieces *
make_pieces(size_t f, value *arguments, size_t n)
{
  pieces *p = allocate(1, sizeof *p);
  rational given[2] = {rational_zero(), rational_zero()};
  const char *s = functions[f].pieces;
  for (size_t k = 0; k < 2; k++) {
    const rational *q = k < n ? number_of(arguments[k]) : NULL;
    want(k >= n || q != NULL, "a parameter that is no number");
    if (q != NULL)
      mpq_set(&given[k], q);
    else if (functions[f].preset[k] != NULL)
      mpq_set_str(&given[k], functions[f].preset[k], 10);
  }
  for (size_t k = 0; k < 11; k++)
    mpq_init(k < 2 ? &p->at[k] : &p->piece[(k - 2) / 3][(k - 2) % 3]);
  p->elu = strcmp(functions[f].name, "elu") == 0;
  p->n_kinks = operator_of(f)->n_kinks;
  for (size_t k = 0; *s != '\0'; k++, s += strcspn(s, " "), s += *s == ' ') {
    size_t c = k - p->n_kinks;
    rational *to = k < p->n_kinks ? &p->at[k] : &p->piece[c / 3][c % 3];
    char word[8] = "";
    memcpy(word, s, strcspn(s, " "));
    if (*word == 'a' || *word == 'b')
      mpq_set(to, &given[*word - 'a']);
    else
      mpq_set_str(to, word, 10);
  }
  want(p->n_kinks < 2 || mpq_cmp(&p->at[0], &p->at[1]) < 0, "a lower bound that is not below the upper");
  return p;
}

static value
pointwise(size_t f, proxy how, value x, value *arguments, size_t n)
{
  instruction i = {.kind = A_POINTWISE, .name = functions[f].operator, .proxy = how };
  i.pieces = make_pieces(f, arguments, n);
  operator_of(f)->used |= !how.given;
  return apply(i, 1, &x);
}

/* The k-th largest of the entries, for one k or, ascending, for all. */
static value
order(size_t f, proxy how, value v, size_t k)
{
  bool sort = strcmp(functions[f].name, "sort") == 0;
  instruction i = {.kind = AN_ORDER, .name = functions[f].operator, .proxy = how, .n = v.n, .in = v.at};
  value y = vector_of(sort ? v.n : 1, sort);
  operator_of(f)->used |= !how.given;
  for (size_t e = 0; e < y.n; e++) {
    i.rank = sort ? v.n - e : k;
    y.at[e] = add(i);
  }
  return y;
}

static value
call(size_t f, size_t depth)
{
  const char *name = functions[f].name;
  deed what = functions[f].kind;
  bool infinity = strcmp(name, "norminf") == 0, one = strcmp(name, "norm1") == 0, kth = strcmp(name, "kth") == 0;
  value each[3];
  size_t n;
  want(token != '{' || what == A_POINTWISE || what == AN_ORDER || one, "a proxy of what has no kinks");
  proxy how = read_proxy(what == AN_ORDER, depth), none = {.value = rational_zero()};
  must("(");
  value all = list(depth, ")", each, &n);
  want(what != A_POINTWISE || (n >= 1 + functions[f].least && n <= 1 + functions[f].most),
       "a wrong number of arguments");
  if (what == A_POINTWISE)
    return pointwise(f, how, each[0], each + 1, n - 1);
  want(what != AN_ANALYTIC || n == 1, "one argument is expected");
  if (what == AN_ANALYTIC)
    return apply((instruction){.kind = what, .name = name}, 1, each);
  if (infinity || one)
    all = pointwise(find_function("abs"), one ? how : none, all, NULL, 0);
  if (what == AN_ORDER) {
    const rational *q = kth ? number_of(each[0]) : NULL;
    if (kth) {
      all.n--;
      all.at++;
    }
    bool inside = q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) > 0 && mpq_cmp_ui(q, all.n, 1) <= 0;
    want(!kth || inside, "kth(K, ...) wants 1 <= K <= their number");
    return order(f, how, all,
                 kth                           ? mpz_get_ui(mpq_numref(q))
                 : strcmp(name, "min") == 0    ? all.n
                 : strcmp(name, "median") == 0 ? all.n - (all.n - 1) / 2
                                               : 1);
  }
  if (strcmp(name, "dot") == 0) {
    want(n == 2 && each[0].n == each[1].n, "dot wants two vectors of one length");
    all = apply((instruction){.kind = A_PRODUCT}, 2, each);
  }
  RATIONAL(c);
  mpq_set_ui(&c, 1, strcmp(name, "mean") == 0 ? all.n : 1);
  if (what == A_SUM)
    return sum_of(all, &c);
  value y = vector_of(1, false);
  y.at[0] = add((instruction){.kind = A_NORM, .n = all.n, .in = all.at});
  return y;
}

/* A number of entries, or the place of one. */
static size_t
whole(size_t depth, size_t most)
{
  const rational *q = number_of(expression(depth));
  want(q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) >= 0 && mpq_cmp_ui(q, most, 1) <= 0,
       "an entry that is not there");
  return mpz_get_ui(mpq_numref(q));
}

static value
primary(size_t depth)
{
  value v = {0, NULL, false}, each[3];
  size_t n = 0;
  RATIONAL(q);
  if (token == '0') {
    literal(&q);
    v = constant(&q);
  } else if (is("(")) {
    v = expression(depth);
    must(")");
  } else if (is("[")) {
    v = list(depth, "]", each, &n);
  } else {
    size_t f = find_function(token_text);
    n = n_names > 0 ? *find_name(token_text) : 0;
    expect(token == 'a' && (f < N_FUNCTIONS || n > 0), "program, line %zu: what is '%.40s'?", text_line, token_text);
    advance();
    v = f < N_FUNCTIONS ? call(f, depth) : names[n - 1].value;
  }
  while (is("[")) {
    want(v.vector, "an entry of what is no vector");
    size_t from = token == ':' ? 0 : whole(depth, v.n), to = from + 1;
    bool part = is(":");
    if (part)
      to = token == ']' ? v.n : whole(depth, v.n);
    must("]");
    want(from < to && to <= v.n, "an entry that is not there");
    v = (value){to - from, v.at + from, part};
  }
  return v;
}

/* - x; x y and x / y (level 1); x + y and x - y (level 0). */
static value
terms(size_t depth, int level)
{
  value v[2] = {{0, NULL, false}, {0, NULL, false}};
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (level == 2 && is("-")) {
    v[1] = terms(depth + 1, 2);
    return arithmetic('-', v);
  }
  if (level == 2)
    return primary(depth + 1);
  v[0] = terms(depth, level + 1);
  while (strlen(token_text) == 1 && strchr(level == 0 ? "+-" : "*/", *token_text) != NULL) {
    char operation = *token_text;
    advance();
    v[1] = terms(depth, level + 1);
    v[0] = arithmetic(operation, v);
  }
  return v[0];
}

/* E RELATION E: into v; returns the relation. */
static const char *
condition(size_t depth, value *v)
{
  v[0] = expression(depth);
  expect(token == 'r', "program, line %zu: a comparison is expected, not '%.40s'", text_line, token_text);
  const char *relation = copy_text(token_text, strlen(token_text));
  advance();
  v[1] = expression(depth);
  want(!v[0].vector && !v[1].vector, "a comparison of vectors");
  return relation;
}

static value
expression(size_t depth)
{
  value v[4];
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (!is("if"))
    return terms(depth, 0);
  const char *relation = condition(depth + 1, v);
  must("then");
  v[2] = expression(depth + 1);
  must("else");
  v[3] = expression(depth + 1);
  return apply((instruction){.kind = A_BRANCH, .relation = relation}, 4, v);
}

bool
relation_holds(const char *relation, int sign)
{
  if (relation[0] == '=' || relation[0] == '!')
    return (sign == 0) == (relation[0] == '=');
  return (sign == 0 && relation[1] == '=') || sign == (relation[0] == '<' ? -1 : 1);
}

/* ---- Statements */

/* The token, a name not yet taken. */
static void
bind(value v, char *name)
{
  static const char *const taken[] = {"input", "let", "output", "piece", "if", "then", "else", "and"};
  bool good = find_function(name) == N_FUNCTIONS;
  for (size_t i = 0; i < 8; i++)
    good = good && strcmp(taken[i], name) != 0;
  make_room_for_name();
  good = good && *find_name(name) == 0;
  want(good, "a name that is taken");
  names = grow(names, n_names, sizeof *names);
  names[n_names].name = name;
  names[n_names].value = v;
  *find_name(name) = n_names + 1;
  n_names++;
}

static char *
new_name(void)
{
  char *name = copy_text(token_text, strlen(token_text));
  want(token == 'a', "a name is expected");
  advance();
  return name;
}

static void
read_input(void)
{
  do {
    program_input in = {.name = new_name(), .n = 1, .first = prog->n};
    if (is("[")) {
      RATIONAL(q);
      want(token == '0', "a number of entries is expected");
      literal(&q);
      must("]");
      want(mpz_cmp_ui(mpq_denref(&q), 1) == 0 && mpq_sgn(&q) > 0, "a vector has a whole number of entries, at least 1");
      in.n = mpz_fits_ulong_p(mpq_numref(&q)) ? mpz_get_ui(mpq_numref(&q)) : NONE;
      within(LIMIT_INSTRUCTIONS, in.n, "program, line %zu: an input of more entries", text_line);
      in.vector = true;
    }
    value v = vector_of(in.n, in.vector);
    for (size_t e = 0; e < in.n; e++)
      v.at[e] = add((instruction){.kind = AN_INPUT, .c = rationals(1), .entry = NONE});
    bind(v, in.name);
    prog->inputs = grow(prog->inputs, prog->n_inputs, sizeof in);
    prog->inputs[prog->n_inputs++] = in;
  } while (is(","));
}

static void
read_outputs(void)
{
  do {
    value v = expression(0);
    for (size_t e = 0; e < v.n; e++) {
      prog->outputs = grow(prog->outputs, prog->n_outputs, sizeof *prog->outputs);
      prog->outputs[prog->n_outputs++] = v.at[e];
    }
  } while (is(","));
}

void
program_read(program *p, bytes b)
{
  prog = p;
  for (text_begin(b); token != '\0';) {
    value v[2];
    while (is("\n"))
      continue;
    if (token == '\0')
      break;
    if (is("input")) {
      read_input();
    } else if (is("let")) {
      char *name = new_name();
      must("=");
      v[0] = expression(0);
      bind(v[0], name);
    } else if (is("output")) {
      want(p->n_outputs == 0, "a second output");
      read_outputs();
    } else {
      must("piece");
      expression(0);
      if (is("if"))
        do
          condition(0, v);
        while (is("and"));
    }
    want(token == '\n' || token == '\0', "more than a statement");
  }
  want(p->n_outputs > 0 && p->n_inputs > 0, "a program has inputs and an output");
}
