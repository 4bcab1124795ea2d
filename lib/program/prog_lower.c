/* A program's statements, lowered one after another. */
#include "program/prog_lower.h"

#include "program/prog_expression.h"
#include "program/prog_name.h"
#include "program/prog_value.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- input --------------------------------------------------------------------------------------- */

/* The length of a vector in brackets. */
static clarke_status
input_length(size_t *n, prog_lowering *low, uint32_t node)
{
  const clarke_prog_node *number = clarke_prog_node_at(low, node);
  clarke_status status;
  mpq_t value;

  mpq_init(value);
  status = clarke_prog_constant_of(value, low, node, "a length");
  if (status == CLARKE_OK
      && (mpz_cmp_ui(mpq_denref(value), 1) != 0 || mpz_cmp_ui(mpq_numref(value), 1) < 0))
    status = clarke_prog_fail(low->g, number->at, low->err,
                              "a vector's length is an integer from 1 on");
  else if (status == CLARKE_OK && mpz_cmp_ui(mpq_numref(value), clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS)) > 0)
    status = clarke_prog_fail_limit(low->g, number->at, low->err, CLARKE_LIMIT_INSTRUCTIONS,
                                    "the entries of a vector are more");
  else if (status == CLARKE_OK)
    *n = mpz_get_ui(mpq_numref(value));
  mpq_clear(value);
  return status;
}

static clarke_status
add_input(prog_value *v, prog_lowering *low, const clarke_prog_node *node, size_t n)
{
  clarke_error err = { .text = "" };
  size_t first = 0, line, column;
  char *name = strndup(low->g->text + node->start, node->length);
  clarke_status status;

  if (name == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  clarke_code_new_group(low->p);
  status = clarke_code_add_input(low->p, &first, name, n, node->first != 0, &err);
  free(name);
  if (status != CLARKE_OK)
    return clarke_prog_add_status(low, status, &err, node->at);
  clarke_prog_place(low->g, node->at, &line, &column);
  for (size_t i = 0; i < n; i++) {
    low->p->instruction[first + i].line = line;
    low->p->instruction[first + i].column = column;
    clarke_prog_set(v, i, (prog_scalar){ .index = (uint32_t)(first + i) });
  }
  return CLARKE_OK;
}

static clarke_status
lower_input(prog_lowering *low, uint32_t child)
{
  const clarke_prog_node *node = clarke_prog_node_at(low, child);
  prog_value v = { 0 };
  size_t n = 1;
  clarke_status status = node->first != 0 ? input_length(&n, low, node->first) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = clarke_prog_room(low, n, 0, node->at);
  if (status == CLARKE_OK)
    status = clarke_prog_result(&v, low, node->first != 0, n, node->at);
  if (status == CLARKE_OK)
    status = add_input(&v, low, node, n);
  if (status == CLARKE_OK)
    status = clarke_prog_bind(low, child, &v);
  clarke_prog_value_clear(&v);
  return status;
}

static clarke_status
lower_inputs(prog_lowering *low, uint32_t child)
{
  clarke_status status = CLARKE_OK;

  for (; status == CLARKE_OK && child != 0; child = clarke_prog_node_at(low, child)->next)
    status = lower_input(low, child);
  return status;
}

/* --- let, output, piece --------------------------------------------------------------------------- */

static clarke_status
lower_let(prog_lowering *low, uint32_t name)
{
  prog_value v = { 0 };
  clarke_status status = clarke_prog_value_of(&v, low, clarke_prog_node_at(low, name)->next);

  if (status == CLARKE_OK)
    status = clarke_prog_bind(low, name, &v);
  clarke_prog_value_clear(&v);
  return status;
}

static clarke_status
add_outputs(prog_lowering *low, const prog_value *v, size_t at)
{
  clarke_error err = { .text = "" };
  size_t *in = calloc(v->n, sizeof *in);
  clarke_status status = CLARKE_OK;

  if (in == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  for (size_t i = 0; status == CLARKE_OK && i < v->n; i++)
    status = clarke_prog_solid(&in[i], low, clarke_prog_entry(v, i), at);
  for (size_t i = 0; status == CLARKE_OK && i < v->n; i++)
    status = clarke_prog_add_status(low, clarke_code_add_output(low->p, in[i], &err), &err, at);
  free(in);
  return status;
}

static clarke_status
lower_output(prog_lowering *low, uint32_t node)
{
  const clarke_prog_node *statement = clarke_prog_node_at(low, node);
  size_t line, column;
  clarke_status status = CLARKE_OK;

  if (low->output != 0) {
    clarke_prog_place(low->g, clarke_prog_node_at(low, low->output)->at, &line, &column);
    return clarke_prog_fail(low->g, statement->at, low->err, "the program has an output already, in"
                            " line %zu: expected all expressions in one statement", line);
  }
  low->output = node;
  for (uint32_t child = statement->first; status == CLARKE_OK && child != 0;) {
    prog_value v = { 0 };
    const size_t at = clarke_prog_node_at(low, child)->at;

    status = clarke_prog_value_of(&v, low, child);
    if (status == CLARKE_OK)
      status = add_outputs(low, &v, at);
    child = clarke_prog_node_at(low, child)->next;
    low->p->output_vector = low->p->output_vector || v.vector || child != 0;
    clarke_prog_value_clear(&v);
  }
  return status;
}

/* A scalar that a piece speaks of, as an instruction. */
static clarke_status
piece_number(size_t *at, prog_lowering *low, uint32_t node, const char *what)
{
  prog_scalar s;
  clarke_status status = clarke_prog_scalar_of(&s, low, node, what);

  return status == CLARKE_OK
           ? clarke_prog_solid(at, low, s, clarke_prog_node_at(low, node)->at) : status;
}

static clarke_status
add_conditions(clarke_piece *piece, prog_lowering *low, uint32_t compare)
{
  clarke_status status = CLARKE_OK;
  size_t n = 0;

  for (uint32_t c = compare; c != 0; c = clarke_prog_node_at(low, c)->next)
    n++;
  piece->condition = calloc(n + 1, sizeof *piece->condition);
  if (piece->condition == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  for (; status == CLARKE_OK && compare != 0; piece->n_conditions++) {
    clarke_condition *condition = &piece->condition[piece->n_conditions];
    const clarke_prog_node *node = clarke_prog_node_at(low, compare);

    condition->relation = (clarke_relation)node->mark;
    status = piece_number(&condition->left, low, node->first, "a comparison");
    if (status == CLARKE_OK)
      status = piece_number(&condition->right, low, clarke_prog_node_at(low, node->first)->next,
                            "a comparison");
    compare = node->next;
  }
  return status;
}

static clarke_status
lower_piece(prog_lowering *low, const clarke_prog_node *statement)
{
  clarke_code *p = low->p;
  clarke_piece piece = { 0 };
  clarke_piece *grown;
  size_t column;
  clarke_status status = piece_number(&piece.value, low, statement->first, "a piece");

  clarke_prog_place(low->g, statement->at, &piece.line, &column);
  if (status == CLARKE_OK)
    status = add_conditions(&piece, low, clarke_prog_node_at(low, statement->first)->next);
  grown = status == CLARKE_OK ? realloc(p->piece, (p->n_pieces + 1) * sizeof *grown) : NULL;
  if (grown == NULL) {
    free(piece.condition);
    return status != CLARKE_OK
             ? status : clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  }
  p->piece = grown;
  p->piece[p->n_pieces++] = piece;
  return CLARKE_OK;
}

/* --- a program ------------------------------------------------------------------------------------ */

static clarke_status
lower_statement(prog_lowering *low, uint32_t node)
{
  const clarke_prog_node *statement = clarke_prog_node_at(low, node);

  switch (statement->kind) {
  case CLARKE_PROG_INPUT:
    return lower_inputs(low, statement->first);
  case CLARKE_PROG_LET:
    return lower_let(low, statement->first);
  case CLARKE_PROG_OUTPUT:
    return lower_output(low, node);
  default:
    return lower_piece(low, statement);
  }
}

/* What only the whole shows. */
static clarke_status
check_whole(prog_lowering *low)
{
  const clarke_prog *g = low->g;

  if (low->output == 0)
    return clarke_prog_fail(g, g->n_statements > 0 ? g->statement[g->n_statements - 1].end : g->size,
                            low->err, "no output: expected a line 'output EXPRESSION' after this");
  if (low->p->n_inputs == 0)
    return clarke_prog_fail(g, clarke_prog_node_at(low, low->output)->at, low->err,
                            "no input: expected a line 'input NAME' before");
  for (size_t s = 0; s < g->n_statements && low->p->n_outputs > 1; s++)
    if (g->node[g->statement[s].node].kind == CLARKE_PROG_PIECE)
      return clarke_prog_fail(g, g->statement[s].start, low->err, "pieces represent a single output,"
                              " but the program has %zu", low->p->n_outputs);
  return CLARKE_OK;
}

static clarke_status
lower_statements(prog_lowering *low)
{
  const clarke_prog *g = low->g;
  clarke_status status = CLARKE_OK;

  low->p->file = strdup(clarke_base_name(g->file));
  if (low->p->file == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", g->file);
  status = clarke_prog_names_find(low);
  for (size_t s = 0; status == CLARKE_OK && s < g->n_statements; s++)
    status = lower_statement(low, g->statement[s].node);
  return status == CLARKE_OK ? check_whole(low) : status;
}

clarke_status
clarke_prog_lower(clarke_code *p, const clarke_prog *g, clarke_error *err)
{
  prog_lowering low = { .p = p, .g = g, .err = err };
  clarke_status status;

  clarke_code_clear(p);
  mpq_inits(low.coef[0], low.coef[1], low.coef[2], NULL);
  status = lower_statements(&low);
  if (status != CLARKE_OK)
    clarke_code_clear(p);
  clarke_prog_names_clear(&low);
  for (size_t k = 0; k < low.n_pool; k++)
    mpq_clear(low.pool[k]);
  free(low.pool);
  mpq_clears(low.coef[0], low.coef[1], low.coef[2], NULL);
  return status;
}

clarke_status
clarke_prog_parse(clarke_code *p, const void *data, size_t size, const char *file,
                  clarke_error *err)
{
  clarke_prog g;
  clarke_status status;

  clarke_prog_init(&g);
  status = clarke_prog_read(&g, data, size, file, err);
  if (status == CLARKE_OK)
    status = clarke_prog_lower(p, &g, err);
  clarke_prog_clear(&g);
  return status;
}
