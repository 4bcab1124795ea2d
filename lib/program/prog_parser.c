/* What every rule of the grammar is parsed with: tokens taken, nodes made. */
#include "program/prog_parser.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_parser_next(prog_parser *r)
{
  r->end = r->token.start + r->token.length;
  return clarke_prog_token(&r->token, &r->lexer, r->err);
}

bool
clarke_parser_is_mark(const prog_parser *r, char mark)
{
  return r->token.kind == TOKEN_PUNCTUATION && r->token.mark == mark;
}

bool
clarke_parser_is_word(const prog_parser *r, const char *word)
{
  return r->token.kind == TOKEN_WORD
         && clarke_prog_is(r->g, r->token.start, r->token.length, word);
}

clarke_status
clarke_parser_expected(prog_parser *r, const char *what)
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

clarke_status
clarke_parser_take_mark(prog_parser *r, char mark, const char *what)
{
  return clarke_parser_is_mark(r, mark) ? clarke_parser_next(r) : clarke_parser_expected(r, what);
}

static clarke_status
too_deep(prog_parser *r, size_t at)
{
  return clarke_prog_fail(r->g, at, r->err, "nested deeper than %d", CLARKE_PROG_MAX_DEPTH);
}

clarke_status
clarke_parser_enter(prog_parser *r)
{
  if (r->depth == CLARKE_PROG_MAX_DEPTH)
    return too_deep(r, r->token.start);
  r->depth++;
  return CLARKE_OK;
}

clarke_status
clarke_parser_leave(prog_parser *r, clarke_status status)
{
  r->depth--;
  return status;
}

clarke_status
clarke_parser_new_node(uint32_t *node, prog_parser *r, clarke_prog_kind kind, uint32_t at)
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

clarke_status
clarke_parser_take_node(uint32_t *node, prog_parser *r, clarke_prog_kind kind)
{
  clarke_status status = clarke_parser_new_node(node, r, kind, r->token.start);

  if (status != CLARKE_OK)
    return status;
  r->g->node[*node].start = r->token.start;
  r->g->node[*node].length = r->token.length;
  return clarke_parser_next(r);
}

clarke_status
clarke_parser_adopt(prog_parser *r, prog_children *list, uint32_t child)
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
