/* The formatter: a program in its one layout. A statement is a line; comments inside one go before
 * it, one after it stays on its line; of blank lines one is kept. */
#include "program/prog_tree.h"

/* How tightly a node binds: it needs parentheses where something tighter is expected. */
enum { BINDS_IF, BINDS_SUM, BINDS_TERM, BINDS_MINUS, BINDS_OPERAND };

typedef struct {
  FILE *out;
  const clarke_prog *g;
} printer;

static void print_expression(printer *p, uint32_t node, int binding);

static int
binding_of(const clarke_prog_node *node)
{
  switch (node->kind) {
  case CLARKE_PROG_IF:
    return BINDS_IF;
  case CLARKE_PROG_SUM:
    return BINDS_SUM;
  case CLARKE_PROG_TERM:
    return BINDS_TERM;
  case CLARKE_PROG_MINUS:
    return BINDS_MINUS;
  default:
    return BINDS_OPERAND;
  }
}

static const clarke_prog_node *
node_at(const printer *p, uint32_t node)
{
  return &p->g->node[node];
}

static void
print_text(printer *p, const clarke_prog_node *node)
{
  fwrite(p->g->text + node->start, 1, node->length, p->out);
}

static void
print_list(printer *p, uint32_t child)
{
  for (; child != 0; child = node_at(p, child)->next) {
    print_expression(p, child, BINDS_IF);
    if (node_at(p, child)->next != 0)
      fputs(", ", p->out);
  }
}

/* Operators come from the left: only the first operand may be of the chain's own level. */
static void
print_chain(printer *p, uint32_t child, int level)
{
  print_expression(p, child, level);
  while ((child = node_at(p, child)->next) != 0) {
    fprintf(p->out, " %c ", node_at(p, child)->mark);
    print_expression(p, child, level + 1);
  }
}

static void
print_compare(printer *p, uint32_t compare)
{
  const uint32_t left = node_at(p, compare)->first;

  print_expression(p, left, BINDS_SUM);
  fprintf(p->out, " %s ", clarke_relation_text((clarke_relation)node_at(p, compare)->mark));
  print_expression(p, node_at(p, left)->next, BINDS_SUM);
}

static void
print_if(printer *p, uint32_t compare)
{
  const uint32_t arm = node_at(p, compare)->next;

  fputs("if ", p->out);
  print_compare(p, compare);
  fputs(" then ", p->out);
  print_expression(p, arm, BINDS_IF);
  fputs(" else ", p->out);
  print_expression(p, node_at(p, arm)->next, BINDS_IF);
}

static void
print_index(printer *p, const clarke_prog_node *node)
{
  const uint32_t index = node_at(p, node->first)->next;

  print_expression(p, node->first, BINDS_OPERAND);
  fputc('[', p->out);
  print_expression(p, index, BINDS_IF);
  if (node->kind == CLARKE_PROG_SLICE) {
    fputc(':', p->out);
    print_expression(p, node_at(p, index)->next, BINDS_IF);
  }
  fputc(']', p->out);
}

static void
print_call(printer *p, const clarke_prog_node *node)
{
  uint32_t child = node->first;

  print_text(p, node);
  if (child != 0 && node_at(p, child)->kind == CLARKE_PROG_PROXY) {
    const clarke_prog_node *proxy = node_at(p, child);

    fputc('{', p->out);
    print_text(p, proxy);
    if (proxy->length > 0 && proxy->first != 0)
      fputc(' ', p->out);
    print_list(p, proxy->first);
    fputc('}', p->out);
    child = proxy->next;
  }
  fputc('(', p->out);
  print_list(p, child);
  fputc(')', p->out);
}

static void
print_bare(printer *p, const clarke_prog_node *node)
{
  switch (node->kind) {
  case CLARKE_PROG_IF:
    print_if(p, node->first);
    break;
  case CLARKE_PROG_SUM:
    print_chain(p, node->first, BINDS_SUM);
    break;
  case CLARKE_PROG_TERM:
    print_chain(p, node->first, BINDS_TERM);
    break;
  case CLARKE_PROG_MINUS:
    fputc('-', p->out);
    print_expression(p, node->first, BINDS_MINUS);
    break;
  case CLARKE_PROG_ENTRY:
  case CLARKE_PROG_SLICE:
    print_index(p, node);
    break;
  case CLARKE_PROG_CALL:
    print_call(p, node);
    break;
  case CLARKE_PROG_LIST:
    fputc('[', p->out);
    print_list(p, node->first);
    fputc(']', p->out);
    break;
  default:
    print_text(p, node);
    break;
  }
}

static void
print_expression(printer *p, uint32_t node, int binding)
{
  const bool parentheses = binding_of(node_at(p, node)) < binding;

  if (parentheses)
    fputc('(', p->out);
  print_bare(p, node_at(p, node));
  if (parentheses)
    fputc(')', p->out);
}

static void
print_inputs(printer *p, uint32_t child)
{
  for (; child != 0; child = node_at(p, child)->next) {
    const clarke_prog_node *input = node_at(p, child);

    print_text(p, input);
    if (input->first != 0) {
      fputc('[', p->out);
      print_text(p, node_at(p, input->first));
      fputc(']', p->out);
    }
    if (input->next != 0)
      fputs(", ", p->out);
  }
}

static void
print_piece(printer *p, uint32_t child)
{
  const char *word = " if ";

  print_expression(p, child, BINDS_IF);
  while ((child = node_at(p, child)->next) != 0) {
    fputs(word, p->out);
    print_compare(p, child);
    word = " and ";
  }
}

static void
print_statement(printer *p, const clarke_prog_node *node)
{
  switch (node->kind) {
  case CLARKE_PROG_INPUT:
    fputs("input ", p->out);
    print_inputs(p, node->first);
    break;
  case CLARKE_PROG_LET:
    fputs("let ", p->out);
    print_text(p, node_at(p, node->first));
    fputs(" = ", p->out);
    print_expression(p, node_at(p, node->first)->next, BINDS_IF);
    break;
  case CLARKE_PROG_OUTPUT:
    fputs("output ", p->out);
    print_list(p, node->first);
    break;
  default:
    fputs("piece ", p->out);
    print_piece(p, node->first);
    break;
  }
}

static void
print_comment(printer *p, const clarke_prog_comment *comment)
{
  fwrite(p->g->text + comment->start, 1, comment->length, p->out);
}

/* The comments from *c on that begin before the offset, a line each; inside a statement blank lines
 * are not kept. */
static void
print_comments(printer *p, size_t *c, uint32_t before, bool inside)
{
  for (; *c < p->g->n_comments && p->g->comment[*c].start < before; ++*c) {
    if (p->g->comment[*c].blank && !inside)
      fputc('\n', p->out);
    print_comment(p, &p->g->comment[*c]);
    fputc('\n', p->out);
  }
}

/* Is comment c there, after the statement on its last line? */
static bool
trails(const clarke_prog *g, size_t c, const clarke_prog_statement *statement)
{
  size_t line, column;

  clarke_prog_place(g, statement->end - 1, &line, &column);
  return c < g->n_comments && g->comment[c].line == line;
}

bool
clarke_prog_print(FILE *out, const clarke_prog *g)
{
  printer p = { .out = out, .g = g };
  size_t c = 0;

  for (size_t s = 0; s < g->n_statements; s++) {
    const clarke_prog_statement *statement = &g->statement[s];

    print_comments(&p, &c, statement->start, false);
    if (statement->blank)
      fputc('\n', out);
    print_comments(&p, &c, statement->end, true);
    print_statement(&p, &g->node[statement->node]);
    if (trails(g, c, statement)) {
      fputc(' ', out);
      print_comment(&p, &g->comment[c++]);
    }
    fputc('\n', out);
  }
  print_comments(&p, &c, UINT32_MAX, false);
  return ferror(out) == 0;
}
