/* The language's parts: tokens taken and nodes made by the parser; and expressions lowered one by one, which are executed and
 * compared with what their text says. */
#include "../suites.h"
#include "../ok.h"

#include "program/execute.h"
#include "program/prog_call.h"
#include "program/prog_expression.h"
#include "program/prog_name.h"
#include "program/prog_order.h"
#include "program/prog_parser.h"
#include "program/prog_proxy.h"
#include "program/prog_value.h"
#include "program/prog_vector.h"

#include <stdlib.h>
#include <string.h>

static void
fails(clarke_status status, clarke_status expected, const char *says)
{
  ck_assert_int_eq(status, expected);
  ck_assert_msg(strstr(error.text, says) != NULL, "%s\n%s", error.text, says);
}

/* --- the parser --- */

/* A parser before the first token of a text. */
static prog_parser
parse(clarke_prog *g, const char *text)
{
  prog_parser r = {.g = g, .lexer = {.g = g}, .err = &error};
  uint32_t none;

  clarke_prog_init(g);
  g->file = strdup("t.prog");
  g->text = strdup(text);
  g->size = strlen(text);
  OK(clarke_parser_new_node(&none, &r, CLARKE_PROG_NAME, 0));
  ck_assert_uint_eq(none, 0);
  OK(clarke_parser_next(&r));
  return r;
}

START_TEST(tokens_are_taken_one_by_one)
{
  clarke_prog g;
  prog_parser r = parse(&g, "let ab = (3");
  uint32_t node;

  ck_assert(clarke_parser_is_word(&r, "let") && !clarke_parser_is_word(&r, "le") && !clarke_parser_is_mark(&r, 'l'));
  OK(clarke_parser_next(&r));
  ck_assert(r.end == 3 && !clarke_parser_is_word(&r, "ab")); /* a name is no word */
  OK(clarke_parser_take_node(&node, &r, CLARKE_PROG_NAME));
  ck_assert(node == 1 && g.node[1].kind == CLARKE_PROG_NAME && g.node[1].at == 4 && g.node[1].start == 4 && g.node[1].length == 2);
  ck_assert(g.node[1].depth == 1 && r.end == 6 && clarke_parser_is_mark(&r, '=') && !clarke_parser_is_mark(&r, '('));
  fails(clarke_parser_take_mark(&r, '(', "'(' here"), CLARKE_EINPUT, "t.prog:1:8: expected '(' here, but found '='");
  OK(clarke_parser_take_mark(&r, '=', "'='"));
  OK(clarke_parser_take_mark(&r, '(', "'('"));
  fails(clarke_parser_expected(&r, "a name"), CLARKE_EINPUT, "t.prog:1:11: expected a name, but found '3'");
  OK(clarke_parser_next(&r));
  fails(clarke_parser_expected(&r, "')'"), CLARKE_EINPUT, "expected ')', but the text ends");
  clarke_prog_clear(&g);
  r = parse(&g, "output\n");
  OK(clarke_parser_next(&r));
  fails(clarke_parser_expected(&r, "an expression"), CLARKE_EINPUT, "expected an expression, but the line ends");
  clarke_prog_clear(&g);
}
END_TEST

START_TEST(children_are_lists_and_parents_deeper)
{
  clarke_prog g;
  prog_parser r = parse(&g, "x");
  prog_children list = {0}, deep = {0};
  uint32_t child[3];

  OK(clarke_parser_new_node(&list.parent, &r, CLARKE_PROG_SUM, 5));
  for (size_t k = 0; k < 3; k++)
    OK(clarke_parser_new_node(&child[k], &r, CLARKE_PROG_NUMBER, 0));
  ck_assert(g.node[list.parent].at == 5 && g.node[list.parent].first == 0);
  g.node[child[1]].depth = 7;
  OK(clarke_parser_adopt(&r, &list, child[0]));
  ck_assert_uint_eq(g.node[list.parent].depth, 2);
  OK(clarke_parser_adopt(&r, &list, child[1]));
  OK(clarke_parser_adopt(&r, &list, child[2]));
  ck_assert(g.node[list.parent].first == child[0] && g.node[child[0]].next == child[1] && g.node[child[1]].next == child[2]);
  ck_assert(g.node[child[2]].next == 0 && g.node[list.parent].depth == 8);
  OK(clarke_parser_new_node(&deep.parent, &r, CLARKE_PROG_MINUS, 0));
  g.node[child[0]].depth = CLARKE_PROG_MAX_DEPTH - 1;
  OK(clarke_parser_adopt(&r, &deep, child[0]));
  ck_assert_uint_eq(g.node[deep.parent].depth, CLARKE_PROG_MAX_DEPTH);
  fails(clarke_parser_adopt(&r, &list, deep.parent), CLARKE_EINPUT, "nested deeper than 200");
  clarke_prog_clear(&g);
}
END_TEST

START_TEST(nesting_has_a_depth)
{
  clarke_prog g;
  prog_parser r = parse(&g, "x");

  for (unsigned k = 0; k < CLARKE_PROG_MAX_DEPTH; k++)
    OK(clarke_parser_enter(&r));
  fails(clarke_parser_enter(&r), CLARKE_EINPUT, "t.prog:1:1: nested deeper than 200");
  ck_assert_uint_eq(r.depth, CLARKE_PROG_MAX_DEPTH);
  ck_assert_int_eq(clarke_parser_leave(&r, CLARKE_EINPUT), CLARKE_EINPUT);
  ck_assert_uint_eq(r.depth, CLARKE_PROG_MAX_DEPTH - 1);
  OK(clarke_parser_enter(&r));
  clarke_prog_clear(&g);
}
END_TEST

/* --- lowering --- */

typedef struct {
  clarke_prog g;
  clarke_code p;
  prog_lowering low;
  uint32_t first; /* the first expression of the output statement */
} lowering;

/* Inputs x, y and v[3] are bound; the expressions wait. */
static void
open_lowering(lowering *l, const char *expressions)
{
  char text[400];

  snprintf(text, sizeof text, "input x, y, v[3]\noutput %s", expressions);
  clarke_prog_init(&l->g);
  clarke_code_init(&l->p);
  OK(clarke_prog_read(&l->g, text, strlen(text), "t.prog", &error));
  l->low = (prog_lowering){.p = &l->p, .g = &l->g, .err = &error};
  mpq_inits(l->low.coef[0], l->low.coef[1], l->low.coef[2], NULL);
  l->p.file = strdup("t.prog");
  OK(clarke_prog_names_find(&l->low));
  for (uint32_t k = l->g.node[l->g.statement[0].node].first; k != 0; k = l->g.node[k].next) {
    const bool vector = l->g.node[k].first != 0;
    const size_t n = vector ? 3 : 1;
    char name[2] = {l->g.text[l->g.node[k].start], '\0'};
    prog_value v;
    size_t first;

    OK(clarke_prog_result(&v, &l->low, vector, n, 0));
    OK(clarke_code_add_input(&l->p, &first, name, n, vector, &error));
    for (size_t i = 0; i < n; i++)
      clarke_prog_set(&v, i, (prog_scalar){.index = (uint32_t)(first + i)});
    OK(clarke_prog_bind(&l->low, k, &v));
  }
  l->first = l->g.node[l->g.statement[1].node].first;
}

static void
close_lowering(lowering *l)
{
  clarke_prog_names_clear(&l->low);
  for (size_t k = 0; k < l->low.n_pool; k++)
    mpq_clear(l->low.pool[k]);
  free(l->low.pool);
  mpq_clears(l->low.coef[0], l->low.coef[1], l->low.coef[2], NULL);
  clarke_code_clear(&l->p);
  clarke_prog_clear(&l->g);
}

/* The value of a lowered expression at x = 2, y = 3, v = 5, 7, 11: its entries as text, "5 7 11". It is cleared. */
static void
is_text(lowering *l, prog_value *v, const char *expected)
{
  mpq_t *at = clarke_rationals(5);
  static const long numbers[5] = {2, 3, 5, 7, 11};
  clarke_execution e;
  char text[200] = "";
  size_t from = l->p.n_outputs;

  for (size_t i = 0; i < v->n; i++) {
    size_t instruction;

    OK(clarke_prog_solid(&instruction, &l->low, clarke_prog_entry(v, i), 0));
    OK(clarke_code_add_output(&l->p, instruction, &error));
  }
  for (size_t k = 0; k < 5; k++)
    mpq_set_si(at[k], numbers[k], 1);
  clarke_execution_init(&e);
  OK(clarke_execute(&e, &l->p, at, &error));
  for (size_t i = 0; i < v->n; i++) {
    char *number = clarke_number_text(&e.value[l->p.output[from + i]]);

    ck_assert_uint_lt(strlen(text) + strlen(number) + 2, sizeof text);
    strcat(strcat(text, i > 0 ? " " : ""), number);
    free(number);
  }
  ck_assert_str_eq(text, expected);
  clarke_execution_clear(&e);
  clarke_rationals_free(at, 5);
  clarke_prog_value_clear(v);
  ck_assert(v->entry == NULL && v->n == 0);
}

static const struct {
  const char *text, *value;
} expressions[] = {
  {"x + y - 1", "4"},
  {"x*y/4", "3/2"},
  {"-v", "-5 -7 -11"},
  {"1/2 - 1/3", "1/6"},
  {"2*v - x", "8 12 20"},
  {"v/x + [1, 2, y]", "7/2 11/2 17/2"},
  {"v[1]", "7"},
  {"v[1:3]", "7 11"},
  {"[v, x][2:4]", "11 2"},
  {"[x, v, 1]", "2 5 7 11 1"},
  {"if x < y then v else y", "5 7 11"},
  {"if x >= y then v else [y, 1, x]", "3 1 2"},
  {"max(v, 9)", "11"},
  {"min(v, 9)", "5"},
  {"kth(2, v)", "7"},
  {"sort(9, v)", "5 7 9 11"},
  {"median(v)", "7"},
  {"sum(v, 1)", "24"},
  {"mean(v, 1)", "6"},
  {"norm1(x - y, v)", "24"},
  {"norm2(x + 1, 4)", "5"},
  {"norminf(x, -v)", "11"},
  {"dot(v, [1, x, y])", "52"},
  {"relu(y - x)", "1"},
  {"relu(x - v)", "0 0 0"},
  {"clamp(v, 6, 8)", "6 7 8"},
  {"exp(x - 2)", "1"},
};

START_TEST(expressions_are_worth_what_they_say)
{
  for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
    const clarke_prog_node *node;
    lowering l;
    prog_value v;

    open_lowering(&l, expressions[i].text);
    node = clarke_prog_node_at(&l.low, l.first);
    ck_assert_ptr_eq(node, &l.g.node[l.first]);
    OK(clarke_prog_value_of(&v, &l.low, l.first));
    is_text(&l, &v, expressions[i].value);
    v = (prog_value){0};
    if (node->kind == CLARKE_PROG_CALL)
      OK(clarke_prog_call(&v, &l.low, l.first));
    else if (node->kind == CLARKE_PROG_LIST)
      OK(clarke_prog_join(&v, &l.low, node->first));
    else if (node->kind == CLARKE_PROG_ENTRY || node->kind == CLARKE_PROG_SLICE)
      OK(clarke_prog_part(&v, &l.low, node));
    if (v.n > 0)
      is_text(&l, &v, expressions[i].value);
    close_lowering(&l);
  }
}
END_TEST

START_TEST(operators_go_entry_by_entry)
{
  static const struct {
    char operator;
    const char *vector_first, *scalar_first;
  } known[] = {{'+', "7 9 13", "7 9 13"}, {'-', "3 5 9", "-3 -5 -9"}, {'*', "10 14 22", "10 14 22"}, {'/', "5/2 7/2 11/2", "2/5 2/7 2/11"}};

  for (size_t i = 0; i < 4; i++)
    for (int turned = 0; turned < 2; turned++) {
      const prog_value *v, *x;
      prog_value result;
      lowering l;

      open_lowering(&l, "v, x");
      OK(clarke_prog_lookup(&v, &l.low, l.first));
      OK(clarke_prog_lookup(&x, &l.low, l.g.node[l.first].next));
      ck_assert(v->vector && v->n == 3 && !x->vector && x->one.index == 0 && v->entry[2].index == 4);
      OK(clarke_prog_apply(&result, &l.low, known[i].operator, turned ? x : v, turned ? v : x, 0));
      is_text(&l, &result, turned ? known[i].scalar_first : known[i].vector_first);
      close_lowering(&l);
    }
}
END_TEST

START_TEST(a_sum_is_one_instruction)
{
  static const size_t in[4] = {0, 3, 3, 4};
  prog_value v = {.n = 1};
  lowering l;
  size_t before;

  open_lowering(&l, "x");
  before = l.p.n;
  OK(clarke_prog_sum(&v.one, &l.low, in, 4, 17));
  ck_assert(l.p.n == before + 1 && v.one.index == before && l.p.instruction[before].line == 2 && l.p.instruction[before].column == 1);
  is_text(&l, &v, "27"); /* 2 + 7 + 7 + 11 */
  close_lowering(&l);
}
END_TEST

START_TEST(scalars_and_constants_are_asked_for)
{
  prog_scalar s;
  lowering l;
  mpq_t q;

  mpq_init(q);
  open_lowering(&l, "v, x, 3/4 - 1");
  fails(clarke_prog_scalar_of(&s, &l.low, l.first, "a piece"), CLARKE_EINPUT, "t.prog:2:8: a piece takes a scalar, but this is a vector of 3");
  OK(clarke_prog_scalar_of(&s, &l.low, l.g.node[l.first].next, "a piece"));
  ck_assert(!s.constant && s.index == 0);
  fails(clarke_prog_constant_of(q, &l.low, l.g.node[l.first].next, "a length"), CLARKE_EINPUT, "a length is not constant");
  OK(clarke_prog_constant_of(q, &l.low, l.g.node[l.g.node[l.first].next].next, "a length"));
  ck_assert(mpq_cmp_si(q, -1, 4) == 0);
  close_lowering(&l);
  mpq_clear(q);
}
END_TEST

/* --- names --- */

START_TEST(names_have_one_number_each)
{
  const prog_value *v;
  lowering l;
  uint32_t child[4];

  open_lowering(&l, "yb, x, y, yb");
  ck_assert_uint_eq(l.low.n_names, 4); /* v, x, y, yb */
  child[0] = l.first;
  for (size_t k = 1; k < 4; k++)
    child[k] = l.g.node[child[k - 1]].next;
  ck_assert(l.low.symbol[child[0]] == 3 && l.low.symbol[child[1]] == 1 && l.low.symbol[child[2]] == 2 && l.low.symbol[child[3]] == 3);
  OK(clarke_prog_lookup(&v, &l.low, child[2]));
  ck_assert(!v->vector && v->one.index == 1);
  fails(clarke_prog_lookup(&v, &l.low, child[0]), CLARKE_EINPUT, "unknown name 'yb': did you mean");
  fails(clarke_prog_bind(&l.low, child[1], &(prog_value){.n = 1}), CLARKE_EINPUT, "'x' is bound already, in line 1");
  OK(clarke_prog_bind(&l.low, child[3], &(prog_value){.n = 1, .one = {.index = 4}}));
  OK(clarke_prog_lookup(&v, &l.low, child[0]));
  ck_assert_uint_eq(v->one.index, 4);
  close_lowering(&l);
}
END_TEST

START_TEST(unknown_names_have_near_ones)
{
  static const struct {
    const char *text, *says;
    bool function;
  } known[] = {{"maxx", "unknown function 'maxx': did you mean max", true},
               {"zebra", "unknown function 'zebra': see the list", true},
               {"zebra", "unknown name 'zebra': bound so far: v, x, y", false},
               {"relu", "'relu' is a function: expected '('", false}};

  for (size_t i = 0; i < 4; i++) {
    lowering l;

    open_lowering(&l, known[i].text);
    fails(clarke_prog_unknown(&l.low, l.first, known[i].function), CLARKE_EINPUT, known[i].says);
    close_lowering(&l);
  }
}
END_TEST

/* Every function that there is: none twice, none may be bound, and each is found when it is called. */
START_TEST(functions_are_listed)
{
  const char *name, *other;
  size_t n = 0;

  for (; (name = clarke_prog_function_name(n)) != NULL; n++) {
    char call[64];
    prog_value v = {0};
    lowering l;

    for (size_t k = 0; k < n && (other = clarke_prog_function_name(k)) != NULL; k++)
      ck_assert_str_ne(other, name);
    snprintf(call, sizeof call, "%s()", name);
    open_lowering(&l, call);
    ck_assert(clarke_prog_call(&v, &l.low, l.first) == CLARKE_EINPUT && strstr(error.text, "unknown") == NULL);
    fails(clarke_prog_bind(&l.low, l.first, &(prog_value){.n = 1}), CLARKE_EINPUT, "is a function: expected another name");
    close_lowering(&l);
  }
  ck_assert_uint_gt(n, 25);
  ck_assert_ptr_null(clarke_prog_function_name(n + 7));
}
END_TEST

/* --- values and what they cost --- */

START_TEST(vectors_and_constants_are_counted)
{
  lowering l;
  prog_value v;
  prog_scalar s;
  mpq_t q;

  mpq_init(q);
  open_lowering(&l, "x");
  l.low.entries = 0;
  OK(clarke_prog_count(&l.low, 5, 0));
  OK(clarke_prog_vector(&v, &l.low, 2, 0));
  ck_assert(v.vector && v.owned && v.n == 2 && l.low.entries == 7);
  clarke_prog_set(&v, 1, (prog_scalar){.constant = true, .index = 9});
  ck_assert(clarke_prog_entry(&v, 1).index == 9 && clarke_prog_entry(&v, 1).constant && clarke_prog_entry(&v, 0).index == 0);
  clarke_prog_value_clear(&v);
  OK(clarke_prog_result(&v, &l.low, false, 1, 0));
  clarke_prog_set(&v, 0, (prog_scalar){.index = 3});
  ck_assert(!v.vector && v.n == 1 && clarke_prog_entry(&v, 0).index == 3 && clarke_prog_entry(&v, 5).index == 3); /* for every entry */
  l.low.entries = clarke_limit_of(CLARKE_LIMIT_VECTORS) - 1;
  OK(clarke_prog_count(&l.low, 1, 0));
  fails(clarke_prog_count(&l.low, 1, 0), CLARKE_ENOMEM, "the entries of all vectors");
  l.low.entries = 0;
  fails(clarke_prog_vector(&v, &l.low, clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS) + 1, 0), CLARKE_ENOMEM, "the entries of a vector");
  clarke_prog_value_clear(&v);

  mpq_set_si(q, -5, 3);
  OK(clarke_prog_new_constant(&s, &l.low, q, 0));
  ck_assert(s.constant && s.index == 0 && mpq_equal(*clarke_prog_constant(&l.low, s), q));
  mpq_set_si(q, 7, 1);
  OK(clarke_prog_new_constant(&s, &l.low, q, 0));
  ck_assert(s.index == 1 && mpq_equal(*clarke_prog_constant(&l.low, s), q) && l.low.limbs == 0);
  mpz_setbit(mpq_numref(q), 130); /* three limbs, and one below */
  OK(clarke_prog_charge(&l.low, q, 0));
  ck_assert_uint_eq(l.low.limbs, 4);
  l.low.limbs = clarke_limit_of(CLARKE_LIMIT_WORDS) - 3;
  fails(clarke_prog_charge(&l.low, q, 0), CLARKE_ENOMEM, "have more words in all");
  l.low.limbs = 0;
  mpz_setbit(mpq_numref(q), clarke_limit_of(CLARKE_LIMIT_BITS));
  fails(clarke_prog_charge(&l.low, q, 0), CLARKE_ENOMEM, "a constant has more bits");
  close_lowering(&l);
  mpq_clear(q);
}
END_TEST

START_TEST(instructions_are_counted)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS);
  const clarke_error said = {.text = "of this"};
  lowering l;
  prog_scalar s;
  size_t instruction, before;
  mpq_t q;

  mpq_init(q);
  open_lowering(&l, "x");
  OK(clarke_prog_room(&l.low, most - l.p.n, most - l.p.arguments, 0));
  fails(clarke_prog_room(&l.low, most - l.p.n + 1, 0, 0), CLARKE_ENOMEM, "the program has more instructions");
  fails(clarke_prog_room(&l.low, 0, most - l.p.arguments + 1, 0), CLARKE_ENOMEM, "more arguments in all");
  OK(clarke_prog_solid(&instruction, &l.low, (prog_scalar){.index = 2}, 0)); /* an instruction stays one */
  ck_assert_uint_eq(instruction, 2);
  mpq_set_si(q, 5, 3);
  OK(clarke_prog_new_constant(&s, &l.low, q, 0));
  before = l.p.n;
  OK(clarke_prog_solid(&instruction, &l.low, s, 19));
  ck_assert(instruction == before && l.p.n == before + 1 && l.p.instruction[before].kind == CLARKE_DO_CONSTANT);
  ck_assert(mpq_equal(l.p.instruction[before].coef[0], q) && l.p.instruction[before].line == 2 && l.p.instruction[before].column == 3);
  s = clarke_prog_added(&l.low, 20);
  ck_assert(!s.constant && s.index == before && l.p.instruction[before].column == 4);
  OK(clarke_prog_add_status(&l.low, CLARKE_OK, &said, 0));
  fails(clarke_prog_add_status(&l.low, CLARKE_EINPUT, &said, 19), CLARKE_EINPUT, "t.prog:2:3: of this");
  fails(clarke_prog_add_status(&l.low, CLARKE_ENOMEM, &said, 19), CLARKE_ENOMEM, "t.prog: of this");
  close_lowering(&l);
  mpq_clear(q);
}
END_TEST

/* --- proxies --- */

/* The call that the only expression is. */
static prog_call
call_of(const lowering *l, const char *name)
{
  const clarke_prog_node *n = &l->g.node[l->first];
  prog_call c = {.name = name, .node = l->first, .first = n->first, .n = 1, .at = n->at};

  if (l->g.node[c.first].kind == CLARKE_PROG_PROXY) {
    c.proxy = c.first;
    c.first = l->g.node[c.first].next;
  }
  return c;
}

static const struct {
  const char *text;
  bool tie;
  int kind; /* CLARKE_PROXY_ or CLARKE_TIE_; -1: refused */
  long numerator;
  unsigned long denominator;
} proxies[] = {
  {"relu{left}(x)", false, CLARKE_PROXY_LEFT, 0, 1},     {"relu{right}(x)", false, CLARKE_PROXY_RIGHT, 0, 1},
  {"relu{1/2}(x)", false, CLARKE_PROXY_VALUE, 1, 2},     {"relu{first}(x)", false, -1, 0, 1},
  {"max{first}(x, y)", true, CLARKE_TIE_FIRST, 0, 1},    {"max{last}(x, y)", true, CLARKE_TIE_LAST, 0, 1},
  {"max{stable}(x, y)", true, CLARKE_TIE_STABLE, 0, 1},  {"max{mean}(x, y)", true, CLARKE_TIE_FIRST, 1, 1},
  {"max{hybrid 1/3}(x, y)", true, CLARKE_TIE_FIRST, 1, 3}, {"max{left}(x, y)", true, -1, 0, 1},
  {"max{1}(x, y)", true, -1, 0, 1},
};

START_TEST(proxies_are_read_and_put)
{
  for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
    clarke_override o = {.given = false};
    const clarke_override *put;
    clarke_status status;
    prog_value v;
    lowering l;
    prog_call c;

    mpq_init(o.value);
    open_lowering(&l, proxies[i].text);
    c = call_of(&l, "it");
    status = proxies[i].tie ? clarke_prog_tie_proxy(&o, &l.low, &c) : clarke_prog_kink_proxy(&o, &l.low, &c);
    ck_assert_msg((status == CLARKE_OK) == (proxies[i].kind >= 0), "%s", proxies[i].text);
    fails(clarke_prog_no_braces(&l.low, &c), CLARKE_EINPUT, "it has no proxy to override");
    if (proxies[i].kind >= 0) {
      ck_assert(o.given && (int)(proxies[i].tie ? (int)o.tie : (int)o.kind) == proxies[i].kind);
      ck_assert(mpq_cmp_si(o.value, proxies[i].numerator, proxies[i].denominator) == 0);
      OK(clarke_prog_value_of(&v, &l.low, c.first));
      OK(clarke_prog_sum(&v.one, &l.low, &(size_t){0}, 1, 0));
      OK(clarke_prog_put_proxy(&l.low, &o, 0));
      put = &l.p.instruction[l.p.n - 1].proxy;
      ck_assert(put->given && put->kind == o.kind && put->tie == o.tie && mpq_equal(put->value, o.value));
    }
    close_lowering(&l);
    mpq_clear(o.value);
  }
}
END_TEST

START_TEST(no_braces_are_no_proxy)
{
  clarke_override o = {.given = false};
  lowering l;
  prog_call c;

  mpq_init(o.value);
  open_lowering(&l, "relu(x)");
  c = call_of(&l, "relu");
  OK(clarke_prog_no_braces(&l.low, &c));
  OK(clarke_prog_kink_proxy(&o, &l.low, &c));
  OK(clarke_prog_tie_proxy(&o, &l.low, &c));
  ck_assert(!o.given);
  OK(clarke_prog_put_proxy(&l.low, &o, 0));
  ck_assert(!l.p.instruction[l.p.n - 1].proxy.given);
  close_lowering(&l);
  mpq_clear(o.value);
}
END_TEST

/* Of v and x: 5, 7, 11, 2. */
START_TEST(order_statistics_have_their_ranks)
{
  static const char *const known[5] = {"2 5 7 11", "11", "7", "5", "2"};
  static const size_t in[4] = {2, 3, 4, 0};

  for (size_t rank = 0; rank < 5; rank++) {
    const prog_value list = {.vector = true, .n = 4};
    lowering l;
    prog_call c;
    prog_value v;
    size_t before;

    open_lowering(&l, "max{last}(v, x)");
    before = l.p.n;
    c = call_of(&l, "max");
    OK(clarke_prog_order(&v, &l.low, &c, clarke_operator_find("Kth"), rank, &list, in));
    ck_assert(v.vector == (rank == 0) && l.p.n == before + (rank == 0 ? 4 : 1));
    for (size_t i = before; i < l.p.n; i++)
      ck_assert(l.p.instruction[i].proxy.given && l.p.instruction[i].proxy.tie == CLARKE_TIE_LAST && l.p.instruction[i].group == l.p.instruction[before].group);
    is_text(&l, &v, known[rank]);
    close_lowering(&l);
  }
}
END_TEST

MODULE(lowering)
{
  TCase *tests = tests_of("lowering");

  tcase_add_test(tests, tokens_are_taken_one_by_one);
  tcase_add_test(tests, children_are_lists_and_parents_deeper);
  tcase_add_test(tests, nesting_has_a_depth);
  tcase_add_test(tests, expressions_are_worth_what_they_say);
  tcase_add_test(tests, operators_go_entry_by_entry);
  tcase_add_test(tests, a_sum_is_one_instruction);
  tcase_add_test(tests, scalars_and_constants_are_asked_for);
  tcase_add_test(tests, names_have_one_number_each);
  tcase_add_test(tests, unknown_names_have_near_ones);
  tcase_add_test(tests, functions_are_listed);
  tcase_add_test(tests, vectors_and_constants_are_counted);
  tcase_add_test(tests, instructions_are_counted);
  tcase_add_test(tests, proxies_are_read_and_put);
  tcase_add_test(tests, no_braces_are_no_proxy);
  tcase_add_test(tests, order_statistics_have_their_ranks);
  return all_tests;
}
