/* Operators that are not supported: what to do instead. */
#include "network/graph/build.h"

#include <stdio.h>
#include <string.h>

/* What to do instead of a node that is not supported. */
static const char *
way_out(const char *op)
{
  static const char record[] = "Record the training step instead (clarke.record): there it is the framework's own operators";
  static const struct {
    const char *ops, *way;
  } ways[] = {
    {" NonZero ",
     "It computes a shape: export with torch.onnx.export(dynamo=True) and a batch of fixed size, which folds shapes; or record the "
     "training step (clarke.record)"},
    {" RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial ",
     "It draws numbers, which the file does not have. Export in evaluation mode, or record the training step (clarke.record), with "
     "what was drawn"},
    {" ArgMax ArgMin ",
     "It gives places, not numbers: a loss is of the output before it (--output), or of another one"},
    {" TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ",
     "Trees jump at their splits, and are constant between them: their gradient is 0, and a file of trees alone has no parameters to ask "
     "about. A network behind trees is asked about by itself, with what they give as its input"},
  };
  char name[66];

  snprintf(name, sizeof name, " %.63s ", op);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strstr(ways[i].ops, name) != NULL)
      return ways[i].way;
  return record;
}

clarke_status
clarke_builder_unsupported(const clarke_builder *b, const clarke_model_node *node, size_t place, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: node %zu '%s': operator %s%s%s is not supported. %s. "
                     "docs/operators.md lists those that are", b->m->file, place, node->name, node->domain,
                     node->domain[0] != '\0' ? "." : "", node->op_type, way_out(node->op_type));
}
