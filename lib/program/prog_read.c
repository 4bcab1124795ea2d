/* The parser of programs: recursive descent, one token ahead. Brackets, signs and branches nest at
 * most CLARKE_PROG_MAX_DEPTH deep, in the text as in the tree. */
#include "program/prog_parser.h"
#include "base/limit.h"

#include <stdlib.h>
#include <string.h>

static clarke_status parse_expression(prog_parser *r, uint32_t *node);

static clarke_status
adopt_expression(prog_parser *r, prog_children *list)
{
  uint32_t child = 0;
  clarke_status status = parse_expression(r, &child);

  return status == CLARKE_OK ? clarke_parser_adopt(r, list, child) : status;
}

/* Expressions with commas between them, up to the closing mark. */
static clarke_status
parse_list(prog_parser *r, prog_children *list, char close, const char *what)
{
  clarke_status status = CLARKE_OK;

  for (;;) {
    status = adopt_expression(r, list);
    if (status != CLARKE_OK || !clarke_parser_is_mark(r, ','))
      break;
    status = clarke_parser_next(r);
    if (status != CLARKE_OK)
      break;
  }
  return status == CLARKE_OK && close != '\0' ? clarke_parser_take_mark(r, close, what) : status;
}

static bool
is_proxy_word(const prog_parser *r)
{
  static const char *const words[] = { "first", "last", "stable", "mean",
                                       "hybrid", "left", "right" };

  for (size_t k = 0; r->token.kind == TOKEN_NAME && k < sizeof words / sizeof words[0]; k++)
    if (clarke_prog_is(r->g, r->token.start, r->token.length, words[k]))
      return true;
  return false;
}

/* { WORD }, { hybrid NUMBER } or { NUMBER }. */
static clarke_status
parse_proxy(prog_parser *r, prog_children *call)
{
  const uint32_t at = r->token.start;
  uint32_t node = 0;
  bool number = true;
  clarke_status status = clarke_parser_next(r);

  if (status != CLARKE_OK)
    return status;
  if (is_proxy_word(r)) {
    number = clarke_prog_is(r->g, r->token.start, r->token.length, "hybrid");
    status = clarke_parser_take_node(&node, r, CLARKE_PROG_PROXY);
  } else {
    status = clarke_parser_new_node(&node, r, CLARKE_PROG_PROXY, at);
  }
  if (status == CLARKE_OK && number)
    status = adopt_expression(r, &(prog_children){ .parent = node });
  if (status == CLARKE_OK)
    status = clarke_parser_adopt(r, call, node);
  return status == CLARKE_OK ? clarke_parser_take_mark(r, '}', "'}' after the proxy") : status;
}

/* After the function's name. */
static clarke_status
parse_call(prog_parser *r, uint32_t node)
{
  prog_children list = { .parent = node };
  clarke_status status = CLARKE_OK;

  r->g->node[node].kind = CLARKE_PROG_CALL;
  if (clarke_parser_is_mark(r, '{'))
    status = parse_proxy(r, &list);
  if (status == CLARKE_OK)
    status = clarke_parser_take_mark(r, '(', "'(' and the function's arguments");
  if (status == CLARKE_OK && clarke_parser_is_mark(r, ')'))
    return clarke_parser_next(r);
  return status == CLARKE_OK ? parse_list(r, &list, ')', "',' or ')'") : status;
}

static clarke_status
parse_vector(prog_parser *r, uint32_t *node)
{
  clarke_status status = clarke_parser_new_node(node, r, CLARKE_PROG_LIST, r->token.start);

  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  return status == CLARKE_OK
           ? parse_list(r, &(prog_children){ .parent = *node }, ']', "',' or ']'") : status;
}

static clarke_status
parse_brackets(prog_parser *r, uint32_t *node)
{
  clarke_status status = clarke_parser_next(r);

  if (status == CLARKE_OK)
    status = parse_expression(r, node);
  return status == CLARKE_OK ? clarke_parser_take_mark(r, ')', "')'") : status;
}

static clarke_status
parse_primary(prog_parser *r, uint32_t *node)
{
  clarke_status status;

  if (r->token.kind == TOKEN_NUMBER)
    return clarke_parser_take_node(node, r, CLARKE_PROG_NUMBER);
  if (r->token.kind == TOKEN_NAME) {
    status = clarke_parser_take_node(node, r, CLARKE_PROG_NAME);
    if (status == CLARKE_OK && (clarke_parser_is_mark(r, '(') || clarke_parser_is_mark(r, '{')))
      return parse_call(r, *node);
    return status;
  }
  if (clarke_parser_is_mark(r, '('))
    return parse_brackets(r, node);
  if (clarke_parser_is_mark(r, '['))
    return parse_vector(r, node);
  if (clarke_parser_is_word(r, "if"))
    return clarke_prog_fail(r->g, r->token.start, r->err,
                            "an 'if' inside an operation must stand in parentheses");
  return clarke_parser_expected(r, "an expression");
}

/* [INDEX] or [FIRST:END] after *node, which becomes its child. */
static clarke_status
parse_index(prog_parser *r, uint32_t *node)
{
  prog_children list = { 0 };
  clarke_status status = clarke_parser_new_node(&list.parent, r, CLARKE_PROG_ENTRY, r->token.start);

  if (status == CLARKE_OK)
    status = clarke_parser_adopt(r, &list, *node);
  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  if (status == CLARKE_OK)
    status = adopt_expression(r, &list);
  if (status == CLARKE_OK && clarke_parser_is_mark(r, ':')) {
    r->g->node[list.parent].kind = CLARKE_PROG_SLICE;
    status = clarke_parser_next(r);
    if (status == CLARKE_OK)
      status = adopt_expression(r, &list);
  }
  *node = list.parent;
  return status == CLARKE_OK ? clarke_parser_take_mark(r, ']', "']' (or ':' and a slice's end)") : status;
}

static clarke_status
parse_operand(prog_parser *r, uint32_t *node)
{
  clarke_status status = parse_primary(r, node);

  while (status == CLARKE_OK && clarke_parser_is_mark(r, '['))
    status = parse_index(r, node);
  return status;
}

static clarke_status
parse_minus(prog_parser *r, uint32_t *node)
{
  uint32_t operand = 0;
  clarke_status status;

  if (!clarke_parser_is_mark(r, '-'))
    return parse_operand(r, node);
  status = clarke_parser_enter(r);
  if (status != CLARKE_OK)
    return status;
  status = clarke_parser_new_node(node, r, CLARKE_PROG_MINUS, r->token.start);
  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  if (status == CLARKE_OK)
    status = parse_minus(r, &operand);
  if (status == CLARKE_OK)
    status = clarke_parser_adopt(r, &(prog_children){ .parent = *node }, operand);
  return clarke_parser_leave(r, status);
}

/* The list that a chain goes on with: that of its first operand where this is a chain of the same
 * kind ((a + b) + c is a + b + c), else a new node's. */
static clarke_status
begin_chain(prog_parser *r, prog_children *list, uint32_t operand, clarke_prog_kind kind)
{
  const clarke_prog_node *node = r->g->node;
  clarke_status status;

  if (node[operand].kind == kind) {
    list->parent = operand;
    for (list->last = node[operand].first; node[list->last].next != 0;)
      list->last = node[list->last].next;
    return CLARKE_OK;
  }
  list->last = 0;
  status = clarke_parser_new_node(&list->parent, r, kind, node[operand].at);
  return status == CLARKE_OK ? clarke_parser_adopt(r, list, operand) : status;
}

/* Operands of one level with either of two marks between them; from the left. */
static clarke_status
parse_chain(prog_parser *r, uint32_t *node, clarke_prog_kind kind, const char marks[2],
            clarke_status (*operand)(prog_parser *, uint32_t *))
{
  prog_children list = { 0 };
  clarke_status status = operand(r, node);

  while (status == CLARKE_OK && (clarke_parser_is_mark(r, marks[0]) || clarke_parser_is_mark(r, marks[1]))) {
    const prog_token mark = r->token;
    uint32_t child;

    if (list.parent == 0)
      status = begin_chain(r, &list, *node, kind);
    if (status == CLARKE_OK)
      status = clarke_parser_next(r);
    if (status == CLARKE_OK)
      status = operand(r, &child);
    if (status != CLARKE_OK)
      return status;
    r->g->node[child].mark = (uint8_t)mark.mark;
    r->g->node[child].mark_at = mark.start;
    status = clarke_parser_adopt(r, &list, child);
    *node = list.parent;
  }
  return status;
}

static clarke_status
parse_term(prog_parser *r, uint32_t *node)
{
  return parse_chain(r, node, CLARKE_PROG_TERM, "*/", parse_minus);
}

static clarke_status
parse_sum(prog_parser *r, uint32_t *node)
{
  return parse_chain(r, node, CLARKE_PROG_SUM, "+-", parse_term);
}

static clarke_status
adopt_sum(prog_parser *r, prog_children *list)
{
  uint32_t child = 0;
  clarke_status status = parse_sum(r, &child);

  return status == CLARKE_OK ? clarke_parser_adopt(r, list, child) : status;
}

static clarke_status
parse_compare(prog_parser *r, prog_children *parent)
{
  prog_children list = { 0 };
  clarke_status status = clarke_parser_new_node(&list.parent, r, CLARKE_PROG_COMPARE, r->token.start);

  if (status == CLARKE_OK)
    status = adopt_sum(r, &list);
  if (status != CLARKE_OK)
    return status;
  if (clarke_parser_is_mark(r, '='))
    return clarke_prog_fail(r->g, r->token.start, r->err, "'=' binds a name: expected '==', or one"
                            " of < <= > >= !=");
  if (r->token.kind != TOKEN_RELATION)
    return clarke_parser_expected(r, "a comparison: < <= > >= == !=");
  r->g->node[list.parent].mark = (uint8_t)r->token.relation;
  r->g->node[list.parent].mark_at = r->token.start;
  status = clarke_parser_next(r);
  if (status == CLARKE_OK)
    status = adopt_sum(r, &list);
  return status == CLARKE_OK ? clarke_parser_adopt(r, parent, list.parent) : status;
}

/* A word, then an expression. */
static clarke_status
parse_arm(prog_parser *r, prog_children *list, const char *word, const char *what)
{
  clarke_status status = clarke_parser_is_word(r, word) ? clarke_parser_next(r) : clarke_parser_expected(r, what);

  return status == CLARKE_OK ? adopt_expression(r, list) : status;
}

static clarke_status
parse_if(prog_parser *r, uint32_t *node)
{
  prog_children list = { 0 };
  clarke_status status = clarke_parser_new_node(&list.parent, r, CLARKE_PROG_IF, r->token.start);

  *node = list.parent;
  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  if (status == CLARKE_OK)
    status = parse_compare(r, &list);
  if (status == CLARKE_OK)
    status = parse_arm(r, &list, "then", "'then'");
  return status == CLARKE_OK ? parse_arm(r, &list, "else", "'else' (each 'if' has one)") : status;
}

static clarke_status
parse_expression(prog_parser *r, uint32_t *node)
{
  clarke_status status = clarke_parser_enter(r);

  if (status != CLARKE_OK)
    return status;
  return clarke_parser_leave(r, clarke_parser_is_word(r, "if") ? parse_if(r, node) : parse_sum(r, node));
}

/* A name to be bound. */
static clarke_status
parse_new_name(prog_parser *r, uint32_t *node)
{
  if (r->token.kind == TOKEN_WORD)
    return clarke_prog_fail(r->g, r->token.start, r->err, "'%.*s' is a word of the language:"
                            " expected a name", (int)r->token.length, r->g->text + r->token.start);
  return r->token.kind == TOKEN_NAME ? clarke_parser_take_node(node, r, CLARKE_PROG_NAME)
                                     : clarke_parser_expected(r, "a name");
}

static clarke_status
parse_input(prog_parser *r, prog_children *list)
{
  uint32_t node = 0, length = 0;
  clarke_status status = parse_new_name(r, &node);

  if (status == CLARKE_OK && clarke_parser_is_mark(r, '[')) {
    status = clarke_parser_next(r);
    if (status == CLARKE_OK)
      status = r->token.kind == TOKEN_NUMBER ? clarke_parser_take_node(&length, r, CLARKE_PROG_NUMBER)
                                             : clarke_parser_expected(r, "the vector's length, a number");
    if (status == CLARKE_OK)
      status = clarke_parser_adopt(r, &(prog_children){ .parent = node }, length);
    if (status == CLARKE_OK)
      status = clarke_parser_take_mark(r, ']', "']'");
  }
  return status == CLARKE_OK ? clarke_parser_adopt(r, list, node) : status;
}

static clarke_status
parse_inputs(prog_parser *r, prog_children *list)
{
  clarke_status status = parse_input(r, list);

  while (status == CLARKE_OK && clarke_parser_is_mark(r, ',')) {
    status = clarke_parser_next(r);
    if (status == CLARKE_OK)
      status = parse_input(r, list);
  }
  return status;
}

static clarke_status
parse_let(prog_parser *r, prog_children *list)
{
  uint32_t name = 0;
  clarke_status status = parse_new_name(r, &name);

  if (status == CLARKE_OK)
    status = clarke_parser_adopt(r, list, name);
  if (status == CLARKE_OK)
    status = clarke_parser_take_mark(r, '=', "'='");
  return status == CLARKE_OK ? adopt_expression(r, list) : status;
}

static clarke_status
parse_piece(prog_parser *r, prog_children *list)
{
  clarke_status status = adopt_expression(r, list);
  bool more = clarke_parser_is_word(r, "if");

  while (status == CLARKE_OK && more) {
    status = clarke_parser_next(r);
    if (status == CLARKE_OK)
      status = parse_compare(r, list);
    more = clarke_parser_is_word(r, "and");
  }
  return status;
}

static clarke_status
parse_body(prog_parser *r, clarke_prog_kind kind, prog_children *list)
{
  switch (kind) {
  case CLARKE_PROG_INPUT:
    return parse_inputs(r, list);
  case CLARKE_PROG_LET:
    return parse_let(r, list);
  case CLARKE_PROG_OUTPUT:
    return parse_list(r, list, '\0', NULL);
  default:
    return parse_piece(r, list);
  }
}

/* Which statement begins with this token; false: none. */
static bool
statement_kind(clarke_prog_kind *kind, const prog_parser *r)
{
  static const struct {
    const char *word;
    clarke_prog_kind kind;
  } statements[] = {
    { "input", CLARKE_PROG_INPUT }, { "let", CLARKE_PROG_LET },
    { "output", CLARKE_PROG_OUTPUT }, { "piece", CLARKE_PROG_PIECE },
  };

  for (size_t k = 0; k < sizeof statements / sizeof statements[0]; k++)
    if (clarke_parser_is_word(r, statements[k].word)) {
      *kind = statements[k].kind;
      return true;
    }
  return false;
}

static clarke_status
parse_statement(prog_parser *r)
{
  clarke_prog *g = r->g;
  const prog_token word = r->token;
  clarke_prog_statement *grown;
  clarke_prog_kind kind;
  prog_children list = { 0 };
  clarke_status status;

  if (!statement_kind(&kind, r))
    return clarke_parser_expected(r, "a statement (input, let, output or piece)");
  status = clarke_parser_new_node(&list.parent, r, kind, word.start);
  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  if (status == CLARKE_OK)
    status = parse_body(r, kind, &list);
  if (status != CLARKE_OK)
    return status;
  if (r->token.kind != TOKEN_NEWLINE && r->token.kind != TOKEN_END)
    return clarke_parser_expected(r, "an operator or the end of the line");
  grown = clarke_prog_grow(g->statement, g->n_statements, &g->statement_capacity, sizeof *grown);
  if (grown == NULL)
    return clarke_fail(r->err, CLARKE_ENOMEM, "%s: out of memory", g->file);
  g->statement = grown;
  g->statement[g->n_statements++] = (clarke_prog_statement){
    .node = list.parent, .start = word.start, .end = r->end, .blank = word.blank,
  };
  return CLARKE_OK;
}

static clarke_status
parse_statements(prog_parser *r)
{
  uint32_t none;
  clarke_status status = clarke_parser_new_node(&none, r, CLARKE_PROG_NAME, 0);

  if (status == CLARKE_OK)
    status = clarke_parser_next(r);
  while (status == CLARKE_OK && r->token.kind != TOKEN_END) {
    if (r->token.kind != TOKEN_NEWLINE)
      status = parse_statement(r);
    if (status == CLARKE_OK && r->token.kind == TOKEN_NEWLINE)
      status = clarke_parser_next(r);
  }
  return status;
}

static clarke_status
copy_text(clarke_prog *g, const void *data, size_t size, const char *file, clarke_error *err)
{
  if (size > clarke_limit_of(CLARKE_LIMIT_TEXT))
    return clarke_limit_fail(err, CLARKE_LIMIT_TEXT, "%s: a program of %zu bytes", file, size);
  g->file = strdup(file);
  g->text = malloc(size + 1);
  if (g->file == NULL || g->text == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", file);
  if (size > 0)
    memcpy(g->text, data, size);
  g->text[size] = '\0';
  g->size = size;
  return CLARKE_OK;
}

clarke_status
clarke_prog_read(clarke_prog *g, const void *data, size_t size, const char *file,
                 clarke_error *err)
{
  prog_parser r = { .g = g, .lexer = { .g = g }, .err = err };
  clarke_status status;

  clarke_prog_clear(g);
  status = copy_text(g, data, size, file, err);
  if (status == CLARKE_OK)
    status = parse_statements(&r);
  if (status != CLARKE_OK)
    clarke_prog_clear(g);
  return status;
}
