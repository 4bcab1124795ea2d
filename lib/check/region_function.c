/* Functions of which regions are asked (region_function.h). */
#include "region_function.h"
#include "lines.h"
#include "program_proof.h"
#include "unroll.h"

size_t
region_function_read(program *p, const char *folder)
{
  size_t n = 0;
  if (line_is("model"))
    unroll_network(p, next_file(folder, "Model, whose output is F"));
  else {
    next_line("program");
    bytes text = next_file(folder, "Program, whose output is F");
    state_program(text);
    program_read(p, text);
  }
  for (size_t k = 0; k < p->n_inputs; k++)
    n += p->inputs[k].n;
  return n;
}

instruction *
region_function_entry(program *p, size_t e)
{
  const program_input *in = p->inputs;
  for (; e >= in->n; in++)
    e -= in->n;
  return &p->instructions[in->first + e];
}
