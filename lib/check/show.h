/* What is read of files, as text. */
#ifndef CLARKE_KERNEL_SHOW_H
#define CLARKE_KERNEL_SHOW_H

#include "check/base/session.h"

/* Prints what was read of the model and the batch (NULL: none), which must fit it. */
void clarke_show(const char *model_path, const char *batch_path);
/* The same, and then the value of each node's output, of whole tensors: the batch among their axes, as ONNX has it. */
void clarke_show_values(const char *model_path, const char *batch_path);
/* Prints the tape of that model with that batch, and the hash of its lines; whole: with the blocks (kernel/tape.h). */
void clarke_show_tape(const char *model_path, const char *batch_path);
void clarke_show_whole_tape(const char *model_path, const char *batch_path);
/* The same of the network that a proof is about, its files being in that folder, or in the proof's (NULL). Its evidence is not looked
 * at. */
void clarke_show_tape_of(const char *proof, const char *data);
void clarke_show_whole_tape_of(const char *proof, const char *data);

#endif
