/* Element types, from inputs and constants on: what fits together, and what is declared. */
#include "op/types.h"
#include "../suite.h"
#include "../network/models.h"

static clarke_model m;
static clarke_error error;

static void
begin(clarke_dtype x)
{
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 2,));
  m.inputs[0].dtype = x;
}

static void
refused(const char *pieces)
{
  ck_assert_int_eq(clarke_types_check(&m, &error), CLARKE_EINPUT);
  says(error.text, pieces);
  clarke_model_clear(&m);
}

static void
accepted(void)
{
  ck_assert_msg(clarke_types_check(&m, &error) == CLARKE_OK, "%s", error.text);
  clarke_model_clear(&m);
}

static void
declare(const char *name, clarke_dtype type)
{
  m.declared = calloc(1, sizeof *m.declared);
  m.n_declared = 1;
  m.declared[0].name = strdup(name);
  m.declared[0].dtype = type;
  m.declared[0].typed = true;
}

START_TEST(operands_have_one_type)
{
  for (int mixed = 0; mixed < 2; mixed++) {
    begin(mixed ? CLARKE_F32 : CLARKE_F64);
    model_floats(&m, "w", SHAPE(2,));
    model_node(&m, "Mul", "x,w", "y");
    model_output(&m, "y");
    if (mixed)
      refused("node 0 '|Mul|input 'x' is float32 and input 'w' is float64|Cast");
    else
      accepted();
  }
}
END_TEST

START_TEST(some_operands_have_a_certain_type)
{
  begin(CLARKE_F64);
  model_floats(&m, "places", SHAPE(1,));
  model_node(&m, "Gather", "x,places", "y");
  refused("Gather|input 'places' is float64; ONNX wants int64 or int32");
  begin(CLARKE_F32);
  model_node(&m, "Where", "x,x,x", "y");
  refused("input 'x' is float32; ONNX wants bool");
  begin(CLARKE_F64);
  model_integers(&m, "ratio", SHAPE(1,));
  model_node(&m, "Dropout", "x,ratio", "y");
  refused("input 'ratio' is int64; ONNX wants floats");
}
END_TEST

START_TEST(what_is_made_has_a_type_too)
{
  begin(CLARKE_F64);
  model_node(&m, "Shape", "x", "s");
  model_node(&m, "Equal", "x,x", "e");
  model_node(&m, "Not", "e", "n");
  model_node(&m, "Where", "n,x,x", "y");
  model_node(&m, "Add", "y,s", "z");
  refused("node 4|input 'y' is float64 and input 's' is int64");
}
END_TEST

/* What an unknown operator makes may be anything. */
START_TEST(of_what_is_not_known_nothing_is_said)
{
  begin(CLARKE_F64);
  model_node(&m, "Unheard", "x", "u");
  model_node(&m, "Shape", "x", "s");
  model_node(&m, "Add", "u,s", "y");
  model_output(&m, "u");
  m.outputs[0].dtype = CLARKE_F32;
  accepted();
}
END_TEST

START_TEST(outputs_are_declared_as_they_are)
{
  begin(CLARKE_F64);
  model_node(&m, "Relu", "x", "y");
  model_output(&m, "y");
  m.outputs[0].dtype = CLARKE_F32;
  refused("output 'y' is declared as float32, and is float64");
}
END_TEST

START_TEST(values_within_too)
{
  for (int k = 0; k < 3; k++) {
    begin(CLARKE_F64);
    model_node(&m, "Relu", "x", "h");
    model_node(&m, "Relu", "h", "y");
    model_output(&m, "y");
    declare(k < 2 ? "h" : "another's", k == 0 ? CLARKE_F32 : CLARKE_F64);
    if (k == 0)
      refused("value 'h' is declared as float32, and is float64|value_info");
    else
      accepted();
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("types");

  tcase_add_test(tests, operands_have_one_type);
  tcase_add_test(tests, some_operands_have_a_certain_type);
  tcase_add_test(tests, what_is_made_has_a_type_too);
  tcase_add_test(tests, of_what_is_not_known_nothing_is_said);
  tcase_add_test(tests, outputs_are_declared_as_they_are);
  tcase_add_test(tests, values_within_too);
  return run_tests();
}
