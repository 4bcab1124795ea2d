/* The network is another one where AD does not differentiate the operator: by design, and told. */
#include "check/onnx/surrogate.h"
#include "check/onnx/inner.h"

value
held(builder *b, value x)
{
  put_function(b, F_HELD, &x);
  value y = b->out;
  y.name = "";
  return y;
}

value
straight(builder *b, value passed, value y)
{
  value constant = held(b, passed), off = inner_of(b, "Sub", &passed, &constant);
  return inner_of(b, "Add", &off, &y);
}

static value
end_of(builder *b, value x, const rational *end, bool above, bool passes)
{
  value number = made_numbers(b, 0, (size_t[]){0});
  mpq_set(number.constant->value, end);
  tensor attributes[] = {*inner_whole("above", above), *inner_whole("passes", passes)};
  return inner_node_of(b, "Surrogate", 2, (value[]){x, number}, 2, attributes);
}

value
between(builder *b, value x, const rational *least, const rational *most, bool at_least, bool at_most)
{
  return end_of(b, end_of(b, x, least, false, at_least), most, true, at_most);
}

void
lower_surrogate(builder *b)
{
  need(b->of != NULL, "no operator of ONNX's");
  bool above = whole_attribute(b, "above", 0) != 0;
  const rational *end = b->in[1].constant->value;
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  s->n_kinks = 1;
  s->number[0] = whole_attribute(b, "passes", 0) == 0;
  mpq_set(&s->at[0], end);
  mpq_set(&s->piece[above][0], end);
  mpq_set(&s->piece[!above][1], &plus_one);
}
