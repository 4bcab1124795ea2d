/* The parser of programs: recursive descent, one token ahead. Brackets, signs and branches nest at
 * most CLARKE_PROG_MAX_DEPTH deep, in the text as in the tree. */
#include "program/prog_tree.h"
#include "base/limit.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_prog *g;
  prog_lexer lexer;
  prog_token token;
  uint32_t end; /* past the last token taken */
  unsigned depth;
  clarke_error *err;
} parser;

/* A list of children being made. */
typedef struct {
  uint32_t parent, last;
} children;

static clarke_status parse_expression(parser *r, uint32_t *node);

static clarke_status
next(parser *r)
{
  r->end = r->token.start + r->token.length;
  return clarke_prog_token(&r->token, &r->lexer, r->err);
}

static bool
is_mark(const parser *r, char mark)
{
  return r->token.kind == TOKEN_PUNCTUATION && r->token.mark == mark;
}

static bool
is_word(const parser *r, const char *word)
{
  return r->token.kind == TOKEN_WORD
         && clarke_prog_is(r->g, r->token.start, r->token.length, word);
}

/* "expected WHAT, but found 'TOKEN'". */
static clarke_status
expected(parser *r, const char *what)
{
  const prog_token *t = &r->token;

  if (t->kind == TOKEN_END)
    return clarke_prog_fail(r->g, t->start, r->err, "expected %s, but the text ends", what);
  if (t->kind == TOKEN_NEWLINE)
    return clarke_prog_fail(r->g, t->start, r->err, "expected %s, but the line ends (it goes on"
                            " only inside brackets)", what);
  return clarke_prog_fail(r->g, t->start, r->err, "expected %s, but found '%.*s%s'", what,
                          t->length > 40 ? 40 : (int)t->length, r->g->text + t->start,
                          t->length > 40 ? "..." : "");
}

static clarke_status
take_mark(parser *r, char mark, const char *what)
{
  return is_mark(r, mark) ? next(r) : expected(r, what);
}

static clarke_status
too_deep(parser *r, size_t at)
{
  return clarke_prog_fail(r->g, at, r->err, "nested deeper than %d", CLARKE_PROG_MAX_DEPTH);
}

static clarke_status
enter(parser *r)
{
  if (r->depth == CLARKE_PROG_MAX_DEPTH)
    return too_deep(r, r->token.start);
  r->depth++;
  return CLARKE_OK;
}

static clarke_status
leave(parser *r, clarke_status status)
{
  r->depth--;
  return status;
}

static clarke_status
new_node(uint32_t *node, parser *r, clarke_prog_kind kind, uint32_t at)
{
  clarke_prog *g = r->g;
  clarke_prog_node *grown;

  if (g->n_nodes >= clarke_limit_of(CLARKE_LIMIT_OPERATIONS))
    return clarke_prog_fail_limit(g, at, r->err, CLARKE_LIMIT_OPERATIONS, "one more name, number or operation");
  grown = clarke_prog_grow(g->node, g->n_nodes, &g->node_capacity, sizeof *grown);
  if (grown == NULL)
    return clarke_fail(r->err, CLARKE_ENOMEM, "%s: out of memory", g->file);
  g->node = grown;
  *node = (uint32_t)g->n_nodes++;
  g->node[*node] = (clarke_prog_node){ .kind = (uint8_t)kind, .at = at, .depth = 1 };
  return CLARKE_OK;
}

/* A node that is the token, which is taken. */
static clarke_status
take_node(uint32_t *node, parser *r, clarke_prog_kind kind)
{
  clarke_status status = new_node(node, r, kind, r->token.start);

  if (status != CLARKE_OK)
    return status;
  r->g->node[*node].start = r->token.start;
  r->g->node[*node].length = r->token.length;
  return next(r);
}

static clarke_status
adopt(parser *r, children *list, uint32_t child)
{
  clarke_prog_node *node = r->g->node;

  if (node[child].depth >= CLARKE_PROG_MAX_DEPTH)
    return too_deep(r, node[child].at);
  if (node[list->parent].depth <= node[child].depth)
    node[list->parent].depth = (uint8_t)(node[child].depth + 1);
  if (list->last == 0)
    node[list->parent].first = child;
  else
    node[list->last].next = child;
  list->last = child;
  return CLARKE_OK;
}

static clarke_status
adopt_expression(parser *r, children *list)
{
  uint32_t child = 0;
  clarke_status status = parse_expression(r, &child);

  return status == CLARKE_OK ? adopt(r, list, child) : status;
}

/* Expressions with commas between them, up to the closing mark. */
static clarke_status
parse_list(parser *r, children *list, char close, const char *what)
{
  clarke_status status = CLARKE_OK;

  for (;;) {
    status = adopt_expression(r, list);
    if (status != CLARKE_OK || !is_mark(r, ','))
      break;
    status = next(r);
    if (status != CLARKE_OK)
      break;
  }
  return status == CLARKE_OK && close != '\0' ? take_mark(r, close, what) : status;
}

static bool
is_proxy_word(const parser *r)
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
parse_proxy(parser *r, children *call)
{
  const uint32_t at = r->token.start;
  uint32_t node = 0;
  bool number = true;
  clarke_status status = next(r);

  if (status != CLARKE_OK)
    return status;
  if (is_proxy_word(r)) {
    number = clarke_prog_is(r->g, r->token.start, r->token.length, "hybrid");
    status = take_node(&node, r, CLARKE_PROG_PROXY);
  } else {
    status = new_node(&node, r, CLARKE_PROG_PROXY, at);
  }
  if (status == CLARKE_OK && number)
    status = adopt_expression(r, &(children){ .parent = node });
  if (status == CLARKE_OK)
    status = adopt(r, call, node);
  return status == CLARKE_OK ? take_mark(r, '}', "'}' after the proxy") : status;
}

/* After the function's name. */
static clarke_status
parse_call(parser *r, uint32_t node)
{
  children list = { .parent = node };
  clarke_status status = CLARKE_OK;

  r->g->node[node].kind = CLARKE_PROG_CALL;
  if (is_mark(r, '{'))
    status = parse_proxy(r, &list);
  if (status == CLARKE_OK)
    status = take_mark(r, '(', "'(' and the function's arguments");
  if (status == CLARKE_OK && is_mark(r, ')'))
    return next(r);
  return status == CLARKE_OK ? parse_list(r, &list, ')', "',' or ')'") : status;
}

static clarke_status
parse_vector(parser *r, uint32_t *node)
{
  clarke_status status = new_node(node, r, CLARKE_PROG_LIST, r->token.start);

  if (status == CLARKE_OK)
    status = next(r);
  return status == CLARKE_OK
           ? parse_list(r, &(children){ .parent = *node }, ']', "',' or ']'") : status;
}

static clarke_status
parse_brackets(parser *r, uint32_t *node)
{
  clarke_status status = next(r);

  if (status == CLARKE_OK)
    status = parse_expression(r, node);
  return status == CLARKE_OK ? take_mark(r, ')', "')'") : status;
}

static clarke_status
parse_primary(parser *r, uint32_t *node)
{
  clarke_status status;

  if (r->token.kind == TOKEN_NUMBER)
    return take_node(node, r, CLARKE_PROG_NUMBER);
  if (r->token.kind == TOKEN_NAME) {
    status = take_node(node, r, CLARKE_PROG_NAME);
    if (status == CLARKE_OK && (is_mark(r, '(') || is_mark(r, '{')))
      return parse_call(r, *node);
    return status;
  }
  if (is_mark(r, '('))
    return parse_brackets(r, node);
  if (is_mark(r, '['))
    return parse_vector(r, node);
  if (is_word(r, "if"))
    return clarke_prog_fail(r->g, r->token.start, r->err,
                            "an 'if' inside an operation must stand in parentheses");
  return expected(r, "an expression");
}

/* [INDEX] or [FIRST:END] after *node, which becomes its child. */
static clarke_status
parse_index(parser *r, uint32_t *node)
{
  children list = { 0 };
  clarke_status status = new_node(&list.parent, r, CLARKE_PROG_ENTRY, r->token.start);

  if (status == CLARKE_OK)
    status = adopt(r, &list, *node);
  if (status == CLARKE_OK)
    status = next(r);
  if (status == CLARKE_OK)
    status = adopt_expression(r, &list);
  if (status == CLARKE_OK && is_mark(r, ':')) {
    r->g->node[list.parent].kind = CLARKE_PROG_SLICE;
    status = next(r);
    if (status == CLARKE_OK)
      status = adopt_expression(r, &list);
  }
  *node = list.parent;
  return status == CLARKE_OK ? take_mark(r, ']', "']' (or ':' and a slice's end)") : status;
}

static clarke_status
parse_operand(parser *r, uint32_t *node)
{
  clarke_status status = parse_primary(r, node);

  while (status == CLARKE_OK && is_mark(r, '['))
    status = parse_index(r, node);
  return status;
}

static clarke_status
parse_minus(parser *r, uint32_t *node)
{
  uint32_t operand = 0;
  clarke_status status;

  if (!is_mark(r, '-'))
    return parse_operand(r, node);
  status = enter(r);
  if (status != CLARKE_OK)
    return status;
  status = new_node(node, r, CLARKE_PROG_MINUS, r->token.start);
  if (status == CLARKE_OK)
    status = next(r);
  if (status == CLARKE_OK)
    status = parse_minus(r, &operand);
  if (status == CLARKE_OK)
    status = adopt(r, &(children){ .parent = *node }, operand);
  return leave(r, status);
}

/* The list that a chain goes on with: that of its first operand where this is a chain of the same
 * kind ((a + b) + c is a + b + c), else a new node's. */
static clarke_status
begin_chain(parser *r, children *list, uint32_t operand, clarke_prog_kind kind)
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
  status = new_node(&list->parent, r, kind, node[operand].at);
  return status == CLARKE_OK ? adopt(r, list, operand) : status;
}

/* Operands of one level with either of two marks between them; from the left. */
static clarke_status
parse_chain(parser *r, uint32_t *node, clarke_prog_kind kind, const char marks[2],
            clarke_status (*operand)(parser *, uint32_t *))
{
  children list = { 0 };
  clarke_status status = operand(r, node);

  while (status == CLARKE_OK && (is_mark(r, marks[0]) || is_mark(r, marks[1]))) {
    const prog_token mark = r->token;
    uint32_t child;

    if (list.parent == 0)
      status = begin_chain(r, &list, *node, kind);
    if (status == CLARKE_OK)
      status = next(r);
    if (status == CLARKE_OK)
      status = operand(r, &child);
    if (status != CLARKE_OK)
      return status;
    r->g->node[child].mark = (uint8_t)mark.mark;
    r->g->node[child].mark_at = mark.start;
    status = adopt(r, &list, child);
    *node = list.parent;
  }
  return status;
}

static clarke_status
parse_term(parser *r, uint32_t *node)
{
  return parse_chain(r, node, CLARKE_PROG_TERM, "*/", parse_minus);
}

static clarke_status
parse_sum(parser *r, uint32_t *node)
{
  return parse_chain(r, node, CLARKE_PROG_SUM, "+-", parse_term);
}

static clarke_status
adopt_sum(parser *r, children *list)
{
  uint32_t child = 0;
  clarke_status status = parse_sum(r, &child);

  return status == CLARKE_OK ? adopt(r, list, child) : status;
}

static clarke_status
parse_compare(parser *r, children *parent)
{
  children list = { 0 };
  clarke_status status = new_node(&list.parent, r, CLARKE_PROG_COMPARE, r->token.start);

  if (status == CLARKE_OK)
    status = adopt_sum(r, &list);
  if (status != CLARKE_OK)
    return status;
  if (is_mark(r, '='))
    return clarke_prog_fail(r->g, r->token.start, r->err, "'=' binds a name: expected '==', or one"
                            " of < <= > >= !=");
  if (r->token.kind != TOKEN_RELATION)
    return expected(r, "a comparison: < <= > >= == !=");
  r->g->node[list.parent].mark = (uint8_t)r->token.relation;
  r->g->node[list.parent].mark_at = r->token.start;
  status = next(r);
  if (status == CLARKE_OK)
    status = adopt_sum(r, &list);
  return status == CLARKE_OK ? adopt(r, parent, list.parent) : status;
}

/* A word, then an expression. */
static clarke_status
parse_arm(parser *r, children *list, const char *word, const char *what)
{
  clarke_status status = is_word(r, word) ? next(r) : expected(r, what);

  return status == CLARKE_OK ? adopt_expression(r, list) : status;
}

static clarke_status
parse_if(parser *r, uint32_t *node)
{
  children list = { 0 };
  clarke_status status = new_node(&list.parent, r, CLARKE_PROG_IF, r->token.start);

  *node = list.parent;
  if (status == CLARKE_OK)
    status = next(r);
  if (status == CLARKE_OK)
    status = parse_compare(r, &list);
  if (status == CLARKE_OK)
    status = parse_arm(r, &list, "then", "'then'");
  return status == CLARKE_OK ? parse_arm(r, &list, "else", "'else' (each 'if' has one)") : status;
}

static clarke_status
parse_expression(parser *r, uint32_t *node)
{
  clarke_status status = enter(r);

  if (status != CLARKE_OK)
    return status;
  return leave(r, is_word(r, "if") ? parse_if(r, node) : parse_sum(r, node));
}

/* A name to be bound. */
static clarke_status
parse_new_name(parser *r, uint32_t *node)
{
  if (r->token.kind == TOKEN_WORD)
    return clarke_prog_fail(r->g, r->token.start, r->err, "'%.*s' is a word of the language:"
                            " expected a name", (int)r->token.length, r->g->text + r->token.start);
  return r->token.kind == TOKEN_NAME ? take_node(node, r, CLARKE_PROG_NAME)
                                     : expected(r, "a name");
}

static clarke_status
parse_input(parser *r, children *list)
{
  uint32_t node = 0, length = 0;
  clarke_status status = parse_new_name(r, &node);

  if (status == CLARKE_OK && is_mark(r, '[')) {
    status = next(r);
    if (status == CLARKE_OK)
      status = r->token.kind == TOKEN_NUMBER ? take_node(&length, r, CLARKE_PROG_NUMBER)
                                             : expected(r, "the vector's length, a number");
    if (status == CLARKE_OK)
      status = adopt(r, &(children){ .parent = node }, length);
    if (status == CLARKE_OK)
      status = take_mark(r, ']', "']'");
  }
  return status == CLARKE_OK ? adopt(r, list, node) : status;
}

static clarke_status
parse_inputs(parser *r, children *list)
{
  clarke_status status = parse_input(r, list);

  while (status == CLARKE_OK && is_mark(r, ',')) {
    status = next(r);
    if (status == CLARKE_OK)
      status = parse_input(r, list);
  }
  return status;
}

static clarke_status
parse_let(parser *r, children *list)
{
  uint32_t name = 0;
  clarke_status status = parse_new_name(r, &name);

  if (status == CLARKE_OK)
    status = adopt(r, list, name);
  if (status == CLARKE_OK)
    status = take_mark(r, '=', "'='");
  return status == CLARKE_OK ? adopt_expression(r, list) : status;
}

static clarke_status
parse_piece(parser *r, children *list)
{
  clarke_status status = adopt_expression(r, list);
  bool more = is_word(r, "if");

  while (status == CLARKE_OK && more) {
    status = next(r);
    if (status == CLARKE_OK)
      status = parse_compare(r, list);
    more = is_word(r, "and");
  }
  return status;
}

static clarke_status
parse_body(parser *r, clarke_prog_kind kind, children *list)
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
statement_kind(clarke_prog_kind *kind, const parser *r)
{
  static const struct {
    const char *word;
    clarke_prog_kind kind;
  } statements[] = {
    { "input", CLARKE_PROG_INPUT }, { "let", CLARKE_PROG_LET },
    { "output", CLARKE_PROG_OUTPUT }, { "piece", CLARKE_PROG_PIECE },
  };

  for (size_t k = 0; k < sizeof statements / sizeof statements[0]; k++)
    if (is_word(r, statements[k].word)) {
      *kind = statements[k].kind;
      return true;
    }
  return false;
}

static clarke_status
parse_statement(parser *r)
{
  clarke_prog *g = r->g;
  const prog_token word = r->token;
  clarke_prog_statement *grown;
  clarke_prog_kind kind;
  children list = { 0 };
  clarke_status status;

  if (!statement_kind(&kind, r))
    return expected(r, "a statement (input, let, output or piece)");
  status = new_node(&list.parent, r, kind, word.start);
  if (status == CLARKE_OK)
    status = next(r);
  if (status == CLARKE_OK)
    status = parse_body(r, kind, &list);
  if (status != CLARKE_OK)
    return status;
  if (r->token.kind != TOKEN_NEWLINE && r->token.kind != TOKEN_END)
    return expected(r, "an operator or the end of the line");
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
parse_statements(parser *r)
{
  uint32_t none;
  clarke_status status = new_node(&none, r, CLARKE_PROG_NAME, 0);

  if (status == CLARKE_OK)
    status = next(r);
  while (status == CLARKE_OK && r->token.kind != TOKEN_END) {
    if (r->token.kind != TOKEN_NEWLINE)
      status = parse_statement(r);
    if (status == CLARKE_OK && r->token.kind == TOKEN_NEWLINE)
      status = next(r);
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
  parser r = { .g = g, .lexer = { .g = g }, .err = err };
  clarke_status status;

  clarke_prog_clear(g);
  status = copy_text(g, data, size, file, err);
  if (status == CLARKE_OK)
    status = parse_statements(&r);
  if (status != CLARKE_OK)
    clarke_prog_clear(g);
  return status;
}
