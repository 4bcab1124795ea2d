/* The checker's readers on files written byte by byte, through `clarke-check --show`: what has two readings, or is none
 * of its format, is refused; what is no number is, in every type and place; sound files have their values. */
#include "heard.h"
#include "../format/nonnumbers.h"
#include "../format/protobuf.h"
#include "../format/zips.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/clarke-files-XXXXXX";

/* --- a model in parts: y = LeakyRelu(x), two entries, and an initializer that no node uses --- */

typedef struct {
  bytes model, opset, graph, node, attribute, tensor, input, output;
} parts;

/* Of shape [2], with a first axis of one sample where it is no initializer. */
static bytes
port(const char *name, bool sampled)
{
  bytes value = { 0 }, type = { 0 }, tensor = { 0 }, shape = { 0 }, dim = { 0 };

  if (sampled) {
    put_int(&dim, 1, 1);
    put_message(&shape, 1, &dim);
  }
  put_int(&dim, 1, 2);
  put_message(&shape, 1, &dim);
  put_int(&tensor, 1, 1);
  put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_string(&value, 1, name);
  put_message(&value, 2, &type);
  return value;
}

static parts
sound(void)
{
  parts p;

  memset(&p, 0, sizeof p);
  put_int(&p.model, 1, 8);
  put_int(&p.opset, 2, 17);
  put_string(&p.graph, 2, "g");
  put_string(&p.node, 1, "x");
  put_string(&p.node, 2, "y");
  put_string(&p.node, 4, "LeakyRelu");
  put_string(&p.attribute, 1, "alpha");
  put_varint(&p.attribute, 2 << 3 | 5);
  put_word(&p.attribute, 0x3e800000, 4); /* 1/4 */
  put_int(&p.attribute, 20, 1);
  put_int(&p.tensor, 1, 2);
  put_int(&p.tensor, 2, 1);
  put_string(&p.tensor, 8, "w");
  put_bytes(&p.tensor, 9, "\0\0\200\77\0\0\0\300", 8);
  p.input = port("x", true);
  p.output = port("y", true);
  return p;
}

static bytes
join(parts *p)
{
  put_message(&p->node, 5, &p->attribute);
  put_message(&p->graph, 1, &p->node);
  put_message(&p->graph, 5, &p->tensor);
  put_message(&p->graph, 11, &p->input);
  put_message(&p->graph, 12, &p->output);
  put_message(&p->model, 8, &p->opset);
  put_message(&p->model, 7, &p->graph);
  return p->model;
}

/* --- running --- */

static void
write_file(char *path, size_t room, const char *name, bytes *b)
{
  FILE *f;

  snprintf(path, room, "%s/%s", folder, name);
  f = fopen(path, "wb");
  ck_assert(f != NULL);
  ck_assert_uint_eq(fwrite(b->data, 1, b->size, f), b->size);
  fclose(f);
  bytes_clear(b);
}

static const char *limit = "vectors=1"; /* which no model reaches */

/* Shows the model with the batch, which it clears; its exit status. */
static int
show(bytes model, bytes batch, char *said, size_t size)
{
  char model_path[64], batch_path[64];
  int ends[2], status;
  pid_t child;

  write_file(model_path, sizeof model_path, "m", &model);
  write_file(batch_path, sizeof batch_path, "b", &batch);
  child = fork_heard(ends);
  if (child == 0) {
    execl(CLARKE_CHECK, "clarke-check", "--limit", limit, "--show", model_path, batch_path, (char *)NULL);
    _exit(99);
  }
  status = heard(child, ends, model_path, said, size);
  unlink(model_path);
  unlink(batch_path);
  return status;
}

static bytes
npy(const char *descr, const char *more, size_t n, const void *data, size_t size)
{
  bytes b = { 0 };
  char header[118];

  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%zu, 2), }", descr, more, n);
  memset(header + strlen(header), ' ', sizeof header - strlen(header));
  header[117] = '\n';
  put(&b, "\x93NUMPY\1\0\x76\0", 10);
  put(&b, header, 118);
  put(&b, data, size);
  return b;
}

static bytes
batch(void)
{
  return npy("<f4", "False", 1, "\0\0\200\77\0\0\0\300", 8);
}

static void
refused(bytes model, bytes x, const char *says)
{
  char said[4096];

  ck_assert_msg(show(model, x, said, sizeof said) == 2, "accepted; expected %s:\n%s", says, said);
  assert_says(said, says);
}

START_TEST(sound_files)
{
  parts p = sound();
  char said[4096];

  ck_assert_msg(show(join(&p), batch(), said, sizeof said) == 0, "%s", said);
  ck_assert_str_eq(said, "model\nopset 17\ninput x F32 [1,2]\noutput y F32 [1,2]\ninitializer w F32 [2] 1 -2\n"
                         "node LeakyRelu *\n in x\n out y\n attribute alpha float 1/4\n"
                         "batch\ntensor x F32 [1,2] 1 -2\nsamples 1 F32 [2]\n");
}
END_TEST

/* What nodes compute counts, and not how an output is declared. */
START_TEST(an_output_of_another_shape)
{
  parts p = sound();
  char said[4096];

  p.output.data[p.output.size - 1] = 3;
  ck_assert_msg(show(join(&p), batch(), said, sizeof said) == 0, "%s", said);
  ck_assert_ptr_nonnull(strstr(said, "\noutput y F32 [1,3]\n"));
}
END_TEST

/* An initializer that is listed among the inputs, as old files do, is none of them. */
START_TEST(an_initializer_is_no_input)
{
  parts p = sound();
  bytes w = port("w", false);
  char said[4096];

  put_message(&p.graph, 11, &w);
  ck_assert_msg(show(join(&p), batch(), said, sizeof said) == 0, "%s", said);
  ck_assert_ptr_nonnull(strstr(said, "\ninput x "));
  ck_assert_ptr_nonnull(strstr(said, "\ninitializer w "));
  ck_assert_ptr_null(strstr(said, "\ninput w "));
}
END_TEST

/* A limit may be raised to the most that is supported, and no further. */
START_TEST(limits_have_a_most)
{
  parts within = sound(), past = sound();
  char said[4096];

  limit = "vectors=68719476736";
  ck_assert_msg(show(join(&within), batch(), said, sizeof said) == 0, "%s", said);
  limit = "vectors=68719476737";
  ck_assert_int_eq(show(join(&past), batch(), said, sizeof said), 2);
  assert_says(said, "Example: clarke-check"); /* what the command wants */
  limit = "vectors=1";
}
END_TEST

/* --- models --- */

static void twice_type(parts *p) { put_bytes(&p->input, 2, "\x0a\x02\x08\x0b", 4); }
static void twice_raw(parts *p) { put_bytes(&p->tensor, 9, "\0\0\200\77\0\0\0\100", 8); }
static void twice_data_type(parts *p) { put_int(&p->tensor, 2, 1); }
static void twice_name(parts *p) { put_string(&p->node, 3, "a"), put_string(&p->node, 3, "b"); }
static void twice_graph(parts *p) { put_bytes(&p->model, 7, "", 0); }
static void twice_doc(parts *p) { put_string(&p->graph, 10, "a"), put_string(&p->graph, 10, "b"); }
static void fixed_dims(parts *p) { put_varint(&p->tensor, 1 << 3 | 1), put_word(&p->tensor, 1, 8); }
static void fixed_type(parts *p) { put_varint(&p->attribute, 20 << 3 | 5), put_word(&p->attribute, 1, 4); }
static void number_for_text(parts *p) { put_int(&p->node, 3, 7); }
static void unknown_model(parts *p) { put_int(&p->model, 1000, 1); }
static void unknown_node(parts *p) { put_int(&p->node, 11, 1); }
static void unknown_unread(parts *p) { put_bytes(&p->graph, 13, "\x28\x01", 2); }
static void cut_unread(parts *p) { put_bytes(&p->graph, 13, "\x0a\x7fq", 3); }
static void cut_packed(parts *p) { put_bytes(&p->tensor, 1, "\x80", 1); }
static void cut_other_packed(parts *p) { put_bytes(&p->tensor, 7, "\x80", 1); }
static void cut_ints(parts *p) { put_bytes(&p->attribute, 8, "\1\x80", 2); }
static void group(parts *p) { put_text(&p->model, "\x1b\x1c"); }
static void long_varint(parts *p) { put(&p->model, "\x28\x81\x00", 3); }
static void wide_varint(parts *p) { put(&p->model, "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11); }
static void field_nought(parts *p) { put(&p->model, "\0\0", 2); }

static void
attribute_twice(parts *p)
{
  put_bytes(&p->node, 5, p->attribute.data, p->attribute.size);
}

static void
attribute_of_other_opset(parts *p)
{
  bytes_clear(&p->node);
  put_string(&p->node, 1, "x");
  put_string(&p->node, 2, "y");
  put_string(&p->node, 4, "Clip");
  p->attribute.data[2] = 'm', p->attribute.data[3] = 'i', p->attribute.data[4] = 'n';
  p->attribute.data[1] = 3; /* its name is min; what was left of alpha goes */
  memmove(p->attribute.data + 5, p->attribute.data + 7, p->attribute.size - 7);
  p->attribute.size -= 2;
}

static void attribute_unknown(parts *p) { p->attribute.data[2] = 'b'; }
static void attribute_two_values(parts *p) { put_int(&p->attribute, 3, 1); }
static void attribute_untyped(parts *p) { p->attribute.size -= 3; }
static void raw_and_typed(parts *p) { put_bytes(&p->tensor, 4, "\0\0\200\77\0\0\200\77", 8); }
static void other_typed(parts *p) { put_int(&p->tensor, 7, 1); }
static void string_data(parts *p) { put_string(&p->tensor, 6, "a"); }
static void segment(parts *p) { put_bytes(&p->tensor, 3, "", 0); }
static void dim_two_ways(parts *p) { bytes_clear(&p->input), put_bytes(&p->input, 2, "\x0a\x0b\x08\x01\x12\x07\x0a\x05\x08\x01\x12\x01N", 13); }
static void no_graph_name(parts *p) { bytes_clear(&p->graph); }
static void old_ir(parts *p) { p->model.data[1] = 2; }
static void unlisted(parts *p) { p->model.data[1] = 3; }
static void new_ir(parts *p) { p->model.data[1] = 15; }
static void metadata_twice(parts *p) { put_bytes(&p->model, 14, "", 0), put_bytes(&p->model, 14, "", 0); }
static void training_info(parts *p) { put_bytes(&p->model, 20, "", 0); }
static void domain(parts *p) { put_string(&p->node, 7, "ai.onnx"); }
static void overload(parts *p) { put_string(&p->node, 8, "f"); }
static void output_is_weight(parts *p) { put_bytes(&p->graph, 1, "\x0a\x01x\x12\x01w\x22\x04Relu", 12); }
static void output_again(parts *p) { put_bytes(&p->graph, 1, "\x0a\x01x\x12\x01y\x22\x04Relu", 12); }
static void output_is_input(parts *p) { put_bytes(&p->graph, 1, "\x0a\x01y\x12\x01x\x22\x04Relu", 12); }
static void input_again(parts *p) { put_bytes(&p->graph, 11, p->input.data, p->input.size); }
static void weight_again(parts *p) { put_bytes(&p->graph, 5, p->tensor.data, p->tensor.size); }
static void late_input(parts *p) { put_bytes(&p->graph, 1, "\x0a\x01q\x12\x01r\x22\x04Relu", 12); }
static void not_text(parts *p) { put_bytes(&p->node, 3, "\xc0\xaf", 2); }
static void control(parts *p) { put_string(&p->node, 3, "\x1b[2J"); }
static void surrogate(parts *p) { put_string(&p->node, 3, "\xed\xa0\x80"); }
static void two_opsets(parts *p) { put_bytes(&p->model, 8, "\x10\x07", 2); }
static void no_version(parts *p) { put_bytes(&p->model, 8, "", 0); }
static void two_outputs(parts *p) { put_string(&p->node, 2, ""); }

static const struct {
  void (*spoil)(parts *);
  const char *says;
} models[] = {
  { twice_type, "ValueInfoProto whose field 2 is given twice" },
  { twice_raw, "TensorProto whose field 9 is given twice" },
  { twice_data_type, "TensorProto whose field 2 is given twice" },
  { twice_name, "NodeProto whose field 3 is given twice" },
  { twice_graph, "ModelProto whose field 7 is given twice" },
  { twice_doc, "GraphProto whose field 10 is given twice" },
  { fixed_dims, "TensorProto whose field 1 is of another type" },
  { fixed_type, "AttributeProto whose field 20 is of another type" },
  { number_for_text, "NodeProto whose field 3 is of another type" },
  { unknown_model, "ModelProto with a field 1000" },
  { unknown_node, "NodeProto with a field 11" },
  { unknown_unread, "ValueInfoProto with a field 5" },
  { cut_unread, "cut off" },
  { cut_packed, "cut off" },
  { cut_other_packed, "cut off" },
  { cut_ints, "cut off" },
  { group, "no protocol buffer" },
  { long_varint, "in more bytes than it takes" },
  { wide_varint, "more than 64 bits" },
  { field_nought, "no protocol buffer" },
  { attribute_twice, "has attribute 'alpha' twice" },
  { attribute_of_other_opset, "an attribute is not supported in the model's operator set" },
  { attribute_unknown, "an attribute is not supported" },
  { attribute_two_values, "attribute 'alpha' holds what is not of its type" },
  { attribute_untyped, "attribute 'alpha' is of an unsupported type" },
  { raw_and_typed, "tensor 'w' has two sets of data" },
  { other_typed, "tensor 'w' has data in a field of another type" },
  { string_data, "tensor 'w' has data in a field of another type" },
  { segment, "TensorProto with a field 3" },
  { dim_two_ways, "a dimension has both a value and a name" },
  { no_graph_name, "has no name" },
  { old_ir, "IR version 2" },
  { unlisted, "initializer 'w' is no input" },
  { new_ir, "IR version 15" },
  { metadata_twice, "metadata has key '' twice" },
  { training_info, "ModelProto with a field 20" },
  { domain, "of domain 'ai.onnx'" },
  { overload, "is overloaded" },
  { output_is_weight, "defines 'w' twice" },
  { output_again, "defines 'y' twice" },
  { output_is_input, "defines 'x' twice" },
  { input_again, "has input 'x' twice" },
  { weight_again, "has initializer 'w' twice" },
  { late_input, "an input is not computed before it" },
  { not_text, "no text" },
  { control, "no text" },
  { surrogate, "no text" },
  { two_opsets, "two versions of the operators" },
  { no_version, "two versions of the operators" },
  { two_outputs, "an unsupported number of inputs or outputs" },
};

START_TEST(refused_models)
{
  parts p = sound();

  models[_i].spoil(&p);
  refused(join(&p), batch(), models[_i].says);
}
END_TEST

/* --- what is no number --- */

static parts
with_tensor(unsigned type)
{
  parts p = sound();

  bytes_clear(&p.tensor);
  put_int(&p.tensor, 1, 2);
  put_int(&p.tensor, 2, type);
  put_string(&p.tensor, 8, "w");
  return p;
}

/* A number of the field int32_data, in each type that is stored there. */
START_TEST(numbers_fit_their_type)
{
  static const struct {
    unsigned type;
    int64_t number;
    const char *shown; /* or NULL: refused */
  } numbers[] = {
    { 2, 255, "U8 [1] 255" }, { 2, 256, NULL }, { 2, -1, NULL }, { 3, 127, "I8 [1] 127" }, { 3, 128, NULL },
    { 3, -128, "I8 [1] -128" }, { 3, -129, NULL }, { 4, 65535, "U16 [1] 65535" }, { 4, 65536, NULL },
    { 5, 32767, "I16 [1] 32767" }, { 5, 32768, NULL }, { 5, -32768, "I16 [1] -32768" }, { 5, -32769, NULL },
    { 6, 2147483647, "I32 [1] 2147483647" }, { 6, 2147483648, NULL }, { 6, -1, "I32 [1] -1" },
    { 10, 0x3c00, "F16 [1] 1" }, { 10, 0x13c00, NULL }, { 10, -1, NULL }, { 16, 0xbf80, "BF16 [1] -1" }, { 16, 0x1bf80, NULL },
  };
  parts p = sound();
  char said[4096];

  bytes_clear(&p.tensor);
  put_int(&p.tensor, 1, 1);
  put_int(&p.tensor, 2, numbers[_i].type);
  put_int(&p.tensor, 5, (uint64_t)numbers[_i].number);
  put_string(&p.tensor, 8, "w");
  if (numbers[_i].shown == NULL)
    refused(join(&p), batch(), "out of its type's range");
  else {
    ck_assert_msg(show(join(&p), batch(), said, sizeof said) == 0, "%s", said);
    assert_says(said, numbers[_i].shown);
  }
}
END_TEST

/* A batch has none. An initializer may, which no node reads here; what is read is asked of cases. */
START_TEST(no_numbers)
{
  for (int k = 0; k < 4; k++) {
    const uint64_t bits = nonnumbers[_i].bits[k];
    const char *shown = k == 1 ? "[2] 0 -inf\n" : "[2] 0 ?\n";
    char said[4096];
    bytes pair = { 0 };
    parts p = with_tensor(nonnumbers[_i].onnx);

    put_word(&pair, 0, nonnumbers[_i].width);
    put_word(&pair, bits, nonnumbers[_i].width);
    put_bytes(&p.tensor, 9, pair.data, pair.size);
    ck_assert_int_eq(show(join(&p), batch(), said, sizeof said), 0);
    assert_says(said, shown);
    p = with_tensor(nonnumbers[_i].onnx);
    if (nonnumbers[_i].field == 5) {
      put_int(&p.tensor, 5, 0);
      put_int(&p.tensor, 5, bits);
    } else {
      put_bytes(&p.tensor, nonnumbers[_i].field, pair.data, pair.size);
    }
    ck_assert_int_eq(show(join(&p), batch(), said, sizeof said), 0);
    assert_says(said, shown);
    p = sound();
    if (*nonnumbers[_i].npy != '\0')
      refused(join(&p), npy(nonnumbers[_i].npy, "False", 1, pair.data, pair.size), "entry 1: not a finite number");
    else
      bytes_clear(&p.model);
    bytes_clear(&pair);
  }
}
END_TEST

/* The largest finite number of each type is one, and is not lost. */
START_TEST(largest_numbers)
{
  static const char *const says[] = { " 65504 ", " 340282346638528859811704183484516925440 ", " 1797693134862315708",
                                      " 338953138925153547590470800371487866880 " };
  bytes pair = { 0 };
  parts p = with_tensor(nonnumbers[_i].onnx);
  char said[8192];

  put_word(&pair, nonnumbers[_i].bits[0] - 1, nonnumbers[_i].width);
  put_word(&pair, 0, nonnumbers[_i].width);
  put_bytes(&p.tensor, 9, pair.data, pair.size);
  ck_assert_int_eq(show(join(&p), batch(), said, sizeof said), 0);
  assert_says(said, says[_i]);
  bytes_clear(&pair);
}
END_TEST

/* --- batches --- */

static bytes
one_member(const char *name, bytes data)
{
  member m = member_of(name, data);

  return archive_of(&m, 1);
}

START_TEST(two_archives)
{
  parts p = sound();
  bytes first = one_member("x.npy", batch());
  bytes second = one_member("x.npy", npy("<f4", "False", 1, "\0\0\0\100\0\0\0\300", 8));

  put(&first, second.data, second.size);
  bytes_clear(&second);
  refused(join(&p), first, "without a directory at its end, or with more than one");
}
END_TEST

/* A byte more before, between, or after; each byte of a header that is not the directory's. */
START_TEST(loose_archives)
{
  for (int k = 0; k < 3; k++) {
    parts p = sound();
    bytes whole = one_member("x.npy", batch()), more = { 0 };

    if (k == 0)
      put_text(&more, "P");
    put(&more, whole.data, whole.size);
    if (k == 1)
      put_text(&more, "P");
    if (k == 2)
      more.data[more.size - 2] = 1, put_text(&more, "c");
    bytes_clear(&whole);
    refused(join(&p), more, "clarke-check: cannot read: ");
  }
  for (size_t at = 0; at < 35; at++) {
    parts p = sound();
    bytes b = one_member("x.npy", batch());

    b.data[at] ^= 1;
    refused(join(&p), b, "clarke-check: cannot read: ");
  }
}
END_TEST

START_TEST(refused_members)
{
  member members[2] = { member_of("x.npy", batch()), member_of("x.npy", batch()) };
  parts p = sound();

  refused(join(&p), archive_of(members, 2), "two tensors named 'x'");
  members[0] = member_of("x.npy", batch());
  members[0].crc ^= 1;
  p = sound();
  refused(join(&p), archive_of(members, 1), "does not have its checksum");
  p = sound();
  refused(join(&p), one_member("x.npy.npy", batch()), "has two readings");
  p = sound();
  refused(join(&p), one_member("x.txt.gz", batch()), "is compressed, encrypted or no .npy");
  p = sound();
  refused(join(&p), one_member(".npy", batch()), "is compressed, encrypted or no .npy");
  p = sound();
  refused(join(&p), one_member("\xc3\xa9.npy", batch()), "no text");
  p = sound();
  refused(join(&p), one_member("z.npy", batch()), "holds no x");
}
END_TEST

/* Each flag but the one that says that names are UTF-8. */
START_TEST(flagged_members)
{
  char said[4096];

  for (int bit = 0; bit < 16; bit++) {
    member m = member_of("x.npy", batch());
    parts p = sound();

    m.flags = 1u << bit;
    if (bit == 11)
      ck_assert_int_eq(show(join(&p), archive_of(&m, 1), said, sizeof said), 0);
    else
      refused(join(&p), archive_of(&m, 1), "is compressed, encrypted or no .npy");
  }
}
END_TEST

/* What the directory says of a member besides: what is needed to read it, more bytes, a comment, another disk. */
START_TEST(directories_that_say_more)
{
  static const struct {
    size_t at;
    unsigned char is;
  } bytes_of[] = { { 6, 46 }, { 30, 1 }, { 31, 1 }, { 32, 1 }, { 33, 1 }, { 34, 1 }, { 35, 1 } };
  parts p = sound();
  bytes b = one_member("x.npy", batch());

  b.data[b.size - 22 - 51 + bytes_of[_i].at] = bytes_of[_i].is;
  refused(join(&p), b, "the archive's directory is broken");
}
END_TEST

START_TEST(arrays)
{
  static const struct {
    const char *descr, *order, *data, *says;
    size_t size;
  } cases[] = {
    { "<f4", "False", "\0\0\200\77\0\0\0\300\0\0\0\100\0\0\0\0", " [2,2] 1 -2 2 0\n", 16 },
    { "<f4", "True", "\0\0\200\77\0\0\0\300\0\0\0\100\0\0\0\0", " [2,2] 1 2 -2 0\n", 16 },
    { ">f4", "False", "\77\200\0\0\300\0\0\0\100\0\0\0\0\0\0\0", " [2,2] 1 -2 2 0\n", 16 },
    { "|b1", "False", "\0\1\1\0", " BOOL [2,2] 0 1 1 0\n", 4 },
    { "|b1", "False", "\0\2\1\0", "entry 1: not a finite number", 4 },
    { "<f4", "False", "\0\0\200\77\0\0\0\300\0\0\0\100\0\0\0\0\0", "do not fit", 17 },
    { "<u8", "False", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\200\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "over 2^63 - 1", 32 },
    { "<V2", "False", "\0\0\0\0\0\0\0\0", "unsupported type", 8 },
    { "<f4", "None", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "'False' is missing", 16 },
  };
  parts p = sound();
  char said[4096];

  show(join(&p), npy(cases[_i].descr, cases[_i].order, 2, cases[_i].data, cases[_i].size), said, sizeof said);
  assert_says(said, cases[_i].says);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("files");
  int failed;

  if (mkdtemp(folder) == NULL)
    return 1;
  tcase_add_test(t, sound_files);
  tcase_add_test(t, an_output_of_another_shape);
  tcase_add_test(t, an_initializer_is_no_input);
  tcase_add_test(t, limits_have_a_most);
  tcase_add_loop_test(t, numbers_fit_their_type, 0, 21);
  tcase_add_loop_test(t, refused_models, 0, (int)(sizeof models / sizeof models[0]));
  tcase_add_loop_test(t, no_numbers, 0, N_NONNUMBERS);
  tcase_add_loop_test(t, largest_numbers, 0, N_NONNUMBERS);
  tcase_add_test(t, two_archives);
  tcase_add_test(t, loose_archives);
  tcase_add_test(t, refused_members);
  tcase_add_test(t, flagged_members);
  tcase_add_loop_test(t, directories_that_say_more, 0, 7);
  tcase_add_loop_test(t, arrays, 0, 9);
  failed = run_tests();
  rmdir(folder);
  return failed;
}
