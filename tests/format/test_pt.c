/* The reader of checkpoints on pickles and archives written by hand: what each opcode may do, and
 * every refusal. Files that torch wrote are test_fixtures.c's. */
#include "describe.h"
#include "pickles.h"
#include "zips.h"
#include "format/pt.h"
#include "format/pt_inside.h"
#include "format/shards.h"
#include "format/safetensors_write.h"

#include <unistd.h>

/* --- pickles ---------------------------------------------------------------------------------- */

typedef struct {
  const char *pickle;
  size_t size;
  const char *says;
} pickled;

#define CASE(pickle, says) { pickle, sizeof(pickle) - 1, says }

/* --- archives --------------------------------------------------------------------------------- */

static bytes
bytes_of(const void *data, size_t size)
{
  bytes b = { 0 };

  put(&b, data, size);
  return b;
}

/* Six floats: 0, 1, ..., 5; and three eight-byte integers: 1, 2, 3. */
static bytes
floats(void)
{
  const float values[] = { 0, 1, 2, 3, 4, 5 };
  bytes b = { 0 };

  for (size_t k = 0; k < 6; k++) {
    uint32_t word;

    memcpy(&word, &values[k], sizeof word);
    put_word(&b, word, 4);
  }
  return b;
}

static bytes
integers(void)
{
  bytes b = { 0 };

  for (size_t k = 1; k <= 3; k++)
    put_word(&b, k, 8);
  return b;
}

static bytes
archive_around(const char *pickle, size_t size)
{
  member members[] = { member_of("m/data.pkl", bytes_of(pickle, size)),
                       member_of("m/version", bytes_of("3\n", 2)),
                       member_of("m/byteorder", bytes_of("little", 6)),
                       member_of("m/data/0", floats()), member_of("m/data/1", integers()) };

  return archive_of(members, 5);
}

static clarke_status
parse(clarke_tensors *ts, const bytes *b, clarke_error *err)
{
  bytes copy = tight(b);
  clarke_status status = clarke_pt_parse(ts, NULL, copy.data, copy.size, "dir/c.pt", err);

  bytes_clear(&copy);
  return status;
}

/* Fails unless the archive (consumed) is refused with these words. */
static void
refuse_archive(bytes b, const char *says)
{
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "(none)" };

  clarke_tensors_init(&ts);
  ck_assert_msg(parse(&ts, &b, &err) != CLARKE_OK, "accepted; expected: %s", says);
  ck_assert_int_eq(strncmp(err.text, "dir/c.pt: ", 10), 0);
  assert_says(err.text, says);
  ck_assert(ts.n == 0 && ts.tensor == NULL);
  ck_assert_int_eq(parse(&ts, &b, NULL), err.code);
  bytes_clear(&b);
}

/* What the archive (not consumed) holds, as text; NULL when it is refused. */
static char *
read_as(const bytes *b, clarke_error *err)
{
  clarke_tensors ts;
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);

  clarke_tensors_init(&ts);
  if (parse(&ts, b, err) == CLARKE_OK) {
    describe_tensors(out, &ts);
    fclose(out);
  } else {
    fclose(out);
    free(text);
    text = NULL;
  }
  clarke_tensors_clear(&ts);
  return text;
}

/* --- what is accepted ------------------------------------------------------------------------- */

#define BITS_0 " 0000000000000000"
#define BITS_1 " 3ff0000000000000"
#define BITS_2 " 4000000000000000"
#define BITS_3 " 4008000000000000"
#define BITS_4 " 4010000000000000"
#define BITS_5 " 4014000000000000"

static const pickled accepted[] = {
  CASE(START "}.", ""),
  CASE(START ORDERED ".", ""),
  CASE(ENTRY(GRID), "tensor w float32 [2, 3]" BITS_0 BITS_1 BITS_2 BITS_3 BITS_4 BITS_5 "\n"),
  CASE(ENTRY(FIRST), "tensor w float32 []" BITS_0 "\n"),
  /* strides: transposed, skipping, repeated; those of a side of 1 lead nowhere */
  CASE(ENTRY(VIEW(FLOATS, "K\0", PAIR("\3", "\2"), PAIR("\1", "\3"))),
       "tensor w float32 [3, 2]" BITS_0 BITS_3 BITS_1 BITS_4 BITS_2 BITS_5 "\n"),
  CASE(ENTRY(VIEW(FLOATS, "K\1", ONE("\3"), ONE("\2"))),
       "tensor w float32 [3]" BITS_1 BITS_3 BITS_5 "\n"),
  CASE(ENTRY(VIEW(FLOATS, "K\5", PAIR("\2", "\2"), PAIR("\0", "\0"))),
       "tensor w float32 [2, 2]" BITS_5 BITS_5 BITS_5 BITS_5 "\n"),
  CASE(ENTRY(VIEW(FLOATS, "K\5", ONE("\1"), HUGE_NUMBER "\x85")),
       "tensor w float32 [1]" BITS_5 "\n"),
  /* no entries: nothing is reached, wherever it begins */
  CASE(ENTRY(VIEW(FLOATS, "K\7", PAIR("\0", "\7"), PAIR("\7", "\1"))),
       "tensor w float32 [0, 7]\n"),
  CASE(ENTRY(VIEW(STORAGE("Long", "1", "\3"), "K\1", ONE("\2"), ONE("\1"))),
       "tensor w int64 [2] 2 3\n"),
  /* a parameter is its tensor; metadata that says nothing */
  CASE(ENTRY("ctorch._utils\n_rebuild_parameter\n" FIRST "\x88" ORDERED "\x87R"),
       "tensor w float32 []" BITS_0 "\n"),
  CASE(ENTRY(REBUILD "(" FLOATS "K\0))\x88" ORDERED "}tR"), "tensor w float32 []" BITS_0 "\n"),
  CASE(ENTRY(REBUILD "(" FLOATS "K\0))\x88" ORDERED "NtR"), "tensor w float32 []" BITS_0 "\n"),
  /* one tensor under two names, by the memo: short and long places */
  CASE(DICT(TEXT("\1", "b") FIRST "q\1" TEXT("\1", "a") "h\1"),
       "tensor a float32 []" BITS_0 "\ntensor b float32 []" BITS_0 "\n"),
  CASE(DICT(TEXT("\1", "b") FIRST "r\5\0\0\0" TEXT("\1", "a") "j\5\0\0\0"),
       "tensor a float32 []" BITS_0 "\ntensor b float32 []" BITS_0 "\n"),
  /* attributes of an OrderedDict are dropped */
  CASE(START ORDERED TEXT("\1", "w") FIRST "s}" TEXT("\1", "m") "K\1sb.",
       "tensor w float32 []" BITS_0 "\n"),
  /* in a checkpoint: everything else is passed over */
  CASE(DICT(TEXT("\5", "epoch") "K\7" TEXT("\5", "model") "}" TEXT("\1", "w") FIRST "s"),
       "tensor w float32 []" BITS_0 "\n"),
  CASE(DICT(TEXT("\12", "state_dict") "}" TEXT("\1", "w") FIRST "s"
            "K\1](M\1\0J\xff\xff\xff\xff" HUGE_NUMBER "\x8a\x09" "123456789\x8a\0G12345678e"
            "N]NaK\1a" GRID "(}NK\3)]t"),
       "tensor w float32 []" BITS_0 "\n"),
  /* 'model' here is a tensor, not a dictionary */
  CASE(DICT(TEXT("\5", "model") FIRST), "tensor model float32 []" BITS_0 "\n"),
  CASE(DICT(TEXT("\20", "model_state_dict") "}"), ""),
  /* a module of torch.jit.save: names by where tensors lie; one that stands twice; what is no tensor */
  CASE(MODULE(TEXT("\1", "w") FIRST TEXT("\1", "t") "\x88" TEXT("\2", "ww") "N"), "tensor w float32 []" BITS_0 "\n"),
  CASE(MODULE(TEXT("\1", "a") OBJECT "}(" TEXT("\1", "w") FIRST "ub" "q\1" TEXT("\1", "b") "h\1"),
       "tensor a.w float32 []" BITS_0 "\ntensor b.w float32 []" BITS_0 "\n"),
  CASE(MODULE(TEXT("\1", "w") FIRST TEXT("\1", "l") "ctorch.jit._pickle\nbuild_intlist\n](K\1e\x85R" TEXT("\1", "d") "}" TEXT("\1", "v") FIRST "s"),
       "tensor w float32 []" BITS_0 "\n"),
};

START_TEST(acceptances)
{
  const pickled *c = &accepted[_i];
  bytes b = archive_around(c->pickle, c->size);
  clarke_error err = { CLARKE_OK, "" };
  char *text = read_as(&b, &err);

  ck_assert_msg(text != NULL, "case %d: %s", _i, err.text);
  ck_assert_str_eq(text, c->says);
  free(text);
  bytes_clear(&b);
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */

static const pickled refused[] = {
  CASE("", "not a pickle"),
  CASE("\x80", "not a pickle"),
  CASE("}.", "not a pickle"),
  CASE("\x80\3}.", "pickle protocol 3"),
  CASE(START, "byte 2: the pickle ends without saying so"),
  CASE(START "}", "byte 3: the pickle ends without saying so"),
  CASE(START ".", "byte 2: takes 1 values from a stack of 0"),
  CASE(START "}}.", "byte 4: leaves 2 values"),
  CASE(START "(}.", "byte 4: leaves 1 values"),
  CASE(START "}..", "byte 3: 1 bytes follow the end"),
  CASE(START "\x80\2}.", "byte 2: opcode 0x80 is none"),
  CASE(START "N.", "holds no dictionary"),
  CASE(START "].", "holds no dictionary"),
  CASE(START FIRST ".", "holds no dictionary"),
  /* cut inside an opcode */
  CASE(START "J123", "byte 2: the pickle ends inside it"),
  CASE(START "K", "byte 2: the pickle ends inside it"),
  CASE(START "M1", "byte 2: the pickle ends inside it"),
  CASE(START "\x8a", "byte 2: the pickle ends inside it"),
  CASE(START "\x8a\x08" "1234567", "byte 2: the pickle ends inside it"),
  CASE(START "\x8a\x09" "12345678", "byte 2: the pickle ends inside it"),
  CASE(START "G1234567", "byte 2: the pickle ends inside it"),
  CASE(START "X\1\0\0", "byte 2: the pickle ends inside it"),
  CASE(START "X\2\0\0\0a", "byte 2: a text of 2 bytes runs past the end"),
  CASE(START "X\xff\xff\xff\xff" "a", "byte 2: a text of 4294967295 bytes runs past the end"),
  CASE(START "ctorch\nFloatStorage", "byte 2: the pickle ends inside it"),
  CASE(START "ctorch", "byte 2: the pickle ends inside it"),
  CASE(START "c", "byte 2: the pickle ends inside it"),
  /* the stack and its marks */
  CASE(START "t", "byte 2: there is no mark"),
  CASE(START "u", "byte 2: there is no mark"),
  CASE(START "e", "byte 2: there is no mark"),
  CASE(START "\x85", "byte 2: takes 1 values from a stack of 0"),
  CASE(START "N(\x85", "byte 4: takes 1 values from a stack of 0"),
  CASE(START "NN\x87", "byte 4: takes 3 values from a stack of 2"),
  CASE(START "(u", "byte 3: takes 1 values from a stack of 0"),
  CASE(START "a", "takes 2 values"),
  CASE(START "s", "takes 3 values"),
  CASE(START "R", "takes 2 values"),
  CASE(START "b", "takes 2 values"),
  CASE(START "Q", "takes 1 values"),
  CASE(START "q\0", "takes 1 values"),
  CASE(START "}Na", "byte 4: adds to what is no list"),
  CASE(START "]NNs", "byte 5: adds to what is no dictionary"),
  CASE(START "N(NNu", "byte 6: adds to what is no dictionary"),
  CASE(START "}(Nu", "byte 5: a key has no value"),
  /* the memo */
  CASE(START "h\0", "byte 2: place 0 of the memo is empty"),
  CASE(START "Nq\1h\0", "byte 5: place 0 of the memo is empty"),
  CASE(START "j\xff\xff\xff\xff", "byte 2: place 4294967295 of the memo is empty"),
  CASE(START "Nr\xff\xff\xff\xff", "byte 3: place 4294967295 of the memo in a pickle of 8 bytes"),
  CASE(START "Nq\5", "place 5 of the memo in a pickle of 5 bytes"),
  /* names */
  CASE(START "cos\nsystem\n", "byte 2: refers to os.system, and no code is run"),
  CASE(START "cbuiltins\neval\n", "refers to builtins.eval"),
  CASE(START "ctorch\nload\n", "refers to torch.load"),
  CASE(START "ctorch\nFloatStorageX\n", "refers to torch.FloatStorageX"),
  CASE(START "ctorch._utils\n_rebuild_tensor\n", "refers to torch._utils._rebuild_tensor"),
  CASE(START "ccollections\n\nOrderedDict\n", "refers to collections."),
  CASE(START "c\n\n", "refers to ."),
  CASE(START "c\x1b[2J\nx\n", "refers to a Python name that is not text"),
  CASE(START "ccollections\nOrderedDict\n(NtR", "made of something"),
  CASE(START "ccollections\nOrderedDict\nNR", "calls what is no name, or with no tuple"),
  CASE(START "N)R", "calls what is no name"),
  CASE(START "ctorch\nFloatStorage\n)R", "calls torch.FloatStorage"),
  CASE(START "}}b", "byte 4: gives attributes to what is no OrderedDict"),
  CASE(START ")}b", "gives attributes to what is no OrderedDict"),
  /* storages */
  CASE(START "NQ", "a persistent id is no ('storage'"),
  CASE(START TEXT("\1", "0") "Q", "a persistent id is no ('storage'"),
  CASE(START STORAGE_OF(TEXT("\6", "module"), "ctorch\nFloatStorage\n", "0", "\6"),
       "a persistent id is no ('storage'"),
  CASE(START STORAGE_OF("N", "ctorch\nFloatStorage\n", "0", "\6"), "a persistent id is no"),
  CASE(START STORAGE_OF(TEXT("\7", "storage"), "ccollections\nOrderedDict\n", "0", "\6"),
       "a persistent id is no"),
  CASE(START STORAGE_OF(TEXT("\7", "storage"), TEXT("\1", "f"), "0", "\6"), "a persistent id is no"),
  CASE(START "(" TEXT("\7", "storage") "ctorch\nFloatStorage\nNNK\6tQ", "a persistent id is no"),
  CASE(START "(" TEXT("\7", "storage") "ctorch\nFloatStorage\n" TEXT("\1", "0") TEXT("\1", "c")
       "J\xff\xff\xff\xfftQ", "a persistent id is no"),
  CASE(ENTRY(VIEW(STORAGE("Float", "9", "\6"), "K\0", ")", ")")),
       "tensor \"w\": its storage \"m/data/9\" is missing"),
  CASE(ENTRY(VIEW(STORAGE("Float", "0", "\5"), "K\0", ")", ")")),
       "tensor \"w\": its storage \"m/data/0\" has 24 bytes; expected 5 entries of float32"),
  CASE(ENTRY(VIEW(STORAGE("Double", "0", "\6"), "K\0", ")", ")")), "expected 6 entries of float64"),
  CASE(ENTRY(VIEW(STORAGE("Float", "\n", "\6"), "K\0", ")", ")")), "storage's key is not text"),
  CASE(DICT(TEXT("\1", "a") FIRST
            TEXT("\1", "b") VIEW(STORAGE("Int", "0", "\6"), "K\0", ")", ")")),
       "tensors \"a\" and \"b\" share a storage that is float32 to one and int32 to the other"),
  /* tensors */
  CASE(START REBUILD ")R", "a tensor of 0 parts"),
  CASE(START REBUILD "(" FLOATS "K\0))\x89tR", "a tensor of 5 parts"),
  CASE(START REBUILD "(" FLOATS "K\0))\x89" ORDERED "NNtR", "a tensor of 8 parts"),
  CASE(START REBUILD "(NK\0))\x89" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "J\xff\xff\xff\xff))\x89" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "NNN\x89" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0]]\x89" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0" ONE("\1") ")\x89" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0" "J\xff\xff\xff\xff\x85" ONE("\1") "\x89" ORDERED "tR",
       "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0" ONE("\1") "J\xff\xff\xff\xff\x85" "\x89" ORDERED "tR",
       "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0))N" ORDERED "tR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0))\x89NtR", "a tensor's parts are not"),
  CASE(START REBUILD "(" FLOATS "K\0))\x89" ORDERED "}NNstR", "a tensor with metadata"),
  CASE(START REBUILD "(" FLOATS "K\0))\x89" ORDERED "K\1tR", "a tensor with metadata"),
  CASE(START REBUILD "(" FLOATS "K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1t)\x89" ORDERED "tR",
       "a tensor of 9 dimensions; at most 8"),
  CASE(START "ctorch._utils\n_rebuild_parameter\nN\x88}\x87R", "a parameter of no tensor"),
  CASE(START "ctorch._utils\n_rebuild_parameter\n" FIRST "\x85R", "a parameter of no tensor"),
  CASE(ENTRY(VIEW(FLOATS, "K\6", ")", ")")), "tensor \"w\": float32 [] begins at entry 6 of a storage of 6"),
  CASE(ENTRY(VIEW(FLOATS, "K\0", ONE("\7"), ONE("\1"))),
       "tensor \"w\": float32 [7], from entry 0, reaches past the 6 entries of its storage"),
  CASE(ENTRY(VIEW(FLOATS, "K\1", PAIR("\2", "\3"), PAIR("\3", "\1"))), "reaches past the 6 entries"),
  CASE(ENTRY(VIEW(FLOATS, "K\0", PAIR("\2", "\3"), PAIR("\4", "\1"))),
       "reaches past the 6 entries of its storage (stride 1 of dimension 1)"),
  CASE(ENTRY(VIEW(FLOATS, "K\0", ONE("\3"), HUGE_NUMBER "\x85")), "reaches past the 6 entries"),
  CASE(ENTRY(VIEW(FLOATS, HUGE_NUMBER, ONE("\3"), ONE("\1"))), "begins at entry 9223372036854775807"),
  CASE(ENTRY(VIEW(FLOATS, "K\0", HUGE_NUMBER HUGE_NUMBER "\x86", PAIR("\0", "\0"))),
       "has more than the 2147483648 entries that are read"),
  CASE(ENTRY(VIEW(FLOATS, "K\0", "J\0\0\0\x40\x85", ONE("\0"))), "hold more than 16 times"),
  /* state dicts */
  CASE(DICT("K\1" FIRST), "a key of the state dict is not text"),
  CASE(DICT(TEXT("\1", "\n") FIRST), "a tensor's name is not text"),
  CASE(DICT(TEXT("\1", "\xff") FIRST), "a tensor's name is not text"),
  CASE(DICT(TEXT("\1", "\xff") "N"), "entry \"(not text)\" is no tensor"),
  CASE(DICT(TEXT("\1", "w") "K\1"), "entry \"w\" is no tensor; expected a state dict"),
  CASE(DICT(TEXT("\1", "w") FIRST TEXT("\1", "w") FIRST), "two tensors are named \"w\""),
  CASE(DICT(TEXT("\5", "model") "}" TEXT("\5", "model") "}"), "two entries are named 'model'"),
  CASE(DICT(TEXT("\5", "model") "}" TEXT("\5", "model") "N"), "two entries are named 'model'"),
  CASE(DICT(TEXT("\5", "model") FIRST TEXT("\5", "model") "}"), "two entries are named 'model'"),
  CASE(DICT(TEXT("\5", "model") "}" TEXT("\3", "ema") "}" TEXT("\12", "state_dict") "}"), "under 'model', 'state_dict'; say"),
  /* modules */
  CASE(START OBJECT ".", "a module of torch.jit.save without tensors"),
  CASE(MODULE(TEXT("\1", "d") "}" TEXT("\1", "w") FIRST "s"), "a module of torch.jit.save without tensors"),
  CASE(START OBJECT "Nb.", "a module's attributes are no dictionary"),
  CASE(START OBJECT "}b}b.", "or given twice"),
  CASE(START OBJECT "}q\1b" OBJECT "h\1b.", "attributes are no dictionary"),
  CASE(START OBJECT "}q\1b0", "opcode 0x30 '0'"),
  CASE(START "c__torch__.a\nB\n)R", "calls a module's own code"),
  CASE(START "c__torch__.a\nB\nN\x81", "makes an object that is no module"),
  CASE(START "c__torch__.a\nB\nN\x85\x81", "makes an object that is no module"),
  CASE(START "c__torch__x\nB\n", "refers to __torch__x.B"),
  CASE(START "ccollections\nOrderedDict\n)\x81", "makes an object that is no module"),
  CASE(MODULE("K\1" FIRST), "an attribute of a module has no text for a name"),
  CASE(MODULE(TEXT("\1", "\n") FIRST), "a tensor's name is not text"),
  CASE(MODULE(TEXT("\1", "w") FIRST TEXT("\1", "w") FIRST), "a module has two attributes of one name"),
  CASE(MODULE(TEXT("\1", "w") FIRST TEXT("\1", "v") FIRST TEXT("\1", "w") "N"), "a module has two attributes of one name"),
  CASE(MODULE(TEXT("\1", "a") OBJECT "}(" TEXT("\1", "w") "N" TEXT("\1", "w") FIRST "ub"), "a module has two attributes of one name"),
  CASE(MODULE(TEXT("\3", "a.w") FIRST TEXT("\1", "a") OBJECT "}(" TEXT("\1", "w") FIRST "ub"), "two tensors are named \"a.w\""),
  /* a module in itself */
  CASE(START OBJECT "q\1}" TEXT("\1", "a") "h\1sb.", "a module lies in itself, or in so many"),
  /* the dictionary itself as its model */
  CASE(START "}q\0" TEXT("\5", "model") "h\0s.", "entry \"model\" is no tensor"),
};

START_TEST(refusals)
{
  refuse_archive(archive_around(refused[_i].pickle, refused[_i].size), refused[_i].says);
}
END_TEST

/* Every byte that is no opcode of a state dict is refused as such, wherever the stack stands. */
START_TEST(opcodes)
{
  static const char taken[] = "(.N)]}JKMGXtqrhjcQRbsuae\x81\x85\x86\x87\x88\x89\x8a";

  for (int opcode = 1; opcode < 256; opcode++) {
    const char pickle[] = { (char)0x80, 2, 'N', 'N', (char)opcode, '.' };
    char says[64];

    if (strchr(taken, opcode) != NULL)
      continue;
    snprintf(says, sizeof says, "\"m/data.pkl\": byte 4: opcode 0x%02x", (unsigned)opcode);
    refuse_archive(archive_around(pickle, sizeof pickle), says);
  }
}
END_TEST

/* `times` copies of a text appended. */
static void
put_times(bytes *b, size_t times, const char *text, size_t size)
{
  char *all = malloc(times * size + 1);

  for (size_t k = 0; k < times; k++)
    memcpy(all + k * size, text, size);
  put(b, all, times * size);
  free(all);
}

/* Modules each of which stands twice in the next: a small file with the names of a million tensors. And modules within modules. */
START_TEST(doubled_modules)
{
  static const char inner[] = TEXT("\1", "m") OBJECT "}(";
  static const char first[] = TEXT("\1", "m") OBJECT "}(" TEXT("\1", "w") FIRST "ubq\1";
  char next[] = TEXT("\1", "m") OBJECT "}(" TEXT("\1", "a") "h\1" TEXT("\1", "b") "h\1ubq\1";
  bytes b = {0};

  put(&b, START OBJECT "}(", sizeof START OBJECT "}(" - 1);
  put(&b, first, sizeof first - 1);
  for (size_t k = 0; k < 20; k++) {
    next[sizeof TEXT("\1", "") - 1] = (char)('A' + k);
    put(&b, next, sizeof next - 1);
  }
  put(&b, "ub.", 3);
  refuse_archive(archive_around((char *)b.data, b.size), "a module lies in itself, or in so many that all have more attributes");
  bytes_clear(&b);
  for (size_t depth = 63; depth <= 64; depth++) {
    b = (bytes){0};
    put(&b, START OBJECT "}(", sizeof START OBJECT "}(" - 1);
    put_times(&b, depth, inner, sizeof inner - 1);
    put(&b, TEXT("\1", "w"), sizeof TEXT("\1", "w") - 1);
    put(&b, FIRST, sizeof FIRST - 1);
    put_times(&b, depth, "ub", 2);
    put(&b, "ub.", 3);
    if (depth == 64)
      refuse_archive(archive_around((char *)b.data, b.size), "modules lie in each other more than 64 deep");
    else {
      bytes whole = archive_around((char *)b.data, b.size);
      clarke_error err = {CLARKE_OK, ""};
      char *text = read_as(&whole, &err);

      ck_assert_msg(text != NULL && strstr(text, "m.m.w float32") != NULL, "%s", err.text);
      free(text);
      bytes_clear(&whole);
    }
    bytes_clear(&b);
  }
}
END_TEST

/* A million marks; lists in lists; and tuples of tuples of ..., each twice the one before. */
START_TEST(nesting)
{
  const size_t n = 1000000;
  bytes marks = { 0 }, lists = { 0 }, laughs = { 0 };

  put(&marks, START, 2);
  put_times(&marks, n, "(", 1);
  refuse_archive(archive_around((char *)marks.data, marks.size),
                 "byte 1000002: the pickle ends without saying so");
  put(&lists, START "}" TEXT("\1", "w"), 9);
  put_times(&lists, n, "]", 1);
  put_times(&lists, n - 1, "a", 1);
  put(&lists, "s.", 2);
  refuse_archive(archive_around((char *)lists.data, lists.size), "entry \"w\" is no tensor");
  put(&laughs, START "}" TEXT("\1", "w") "N", 10);
  put_times(&laughs, 1000, "q\1h\1\x86", 5);
  put(&laughs, "s.", 2);
  refuse_archive(archive_around((char *)laughs.data, laughs.size), "entry \"w\" is no tensor");
  bytes_clear(&marks);
  bytes_clear(&lists);
  bytes_clear(&laughs);
}
END_TEST

/* One long text as the key of many tensors: refused before it is looked into for each. */
START_TEST(repeated_names)
{
  static const char tensor[] = "q\1" FIRST "q\2s";
  bytes b = { 0 };

  put(&b, START "}X", 4);
  put_word(&b, 100000, 4);
  put_times(&b, 100000, "n", 1);
  put(&b, tensor, sizeof tensor - 1);
  put_times(&b, 100000, "h\1h\2s", 5);
  put(&b, ".", 1);
  refuse_archive(archive_around((char *)b.data, b.size), "two tensors are named \"nnnn");
  bytes_clear(&b);
}
END_TEST

/* --- archives --------------------------------------------------------------------------------- */

static const char sound[] = ENTRY(GRID);

START_TEST(truncations)
{
  bytes b;
  clarke_tensors ts;

  clarke_tensors_init(&ts);
  for (size_t size = 0; size < sizeof sound - 1; size++)
    refuse_archive(archive_around(sound, size), "dir/c.pt: ");
  b = archive_around(sound, sizeof sound - 1);
  for (size_t size = 0; size < b.size; size++) {
    const bytes cut = { b.data, size };

    ck_assert_int_ne(parse(&ts, &cut, NULL), CLARKE_OK);
  }
  ck_assert_int_eq(parse(&ts, &b, NULL), CLARKE_OK);
  clarke_tensors_clear(&ts);
  bytes_clear(&b);
}
END_TEST

/* A changed bit is noticed, or lies where it means nothing. */
START_TEST(bit_flips)
{
  bytes b = archive_around(sound, sizeof sound - 1);
  char *whole = read_as(&b, NULL);
  size_t read = 0;

  ck_assert_ptr_nonnull(whole);
  for (size_t bit = 0; bit < 8 * b.size; bit++) {
    char *text;

    b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    text = read_as(&b, NULL);
    b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    if (text != NULL)
      ck_assert_str_eq(text, whole);
    read += text != NULL;
    free(text);
  }
  ck_assert_uint_lt(read, 4 * b.size);
  free(whole);
  bytes_clear(&b);
}
END_TEST

static bytes
archive_with(const char *name, const char *text)
{
  member members[] = { member_of("m/data.pkl", bytes_of(sound, sizeof sound - 1)),
                       member_of(name, bytes_of(text, strlen(text))),
                       member_of("m/data/0", floats()) };

  return archive_of(members, 3);
}

START_TEST(members)
{
  member packed = member_of("m/data.pkl", bytes_of(sound, sizeof sound - 1));
  bytes none = archive_of(NULL, 0);

  refuse_archive(none, "the archive is empty");
  refuse_archive(archive_with("version", "3\n"), "\"version\" lies outside the folder \"m/\"");
  refuse_archive(archive_with("n/version", "3\n"), "\"n/version\" lies outside the folder \"m/\"");
  refuse_archive(archive_with("m/byteorder", "little"), "\"m/version\" is missing");
  refuse_archive(archive_with("m/version", "three"), "\"m/version\" is missing or holds no number");
  refuse_archive(archive_with("m/version", "3 4"), "holds no number");
  refuse_archive(archive_with("m/version", "0"), "holds no number");
  refuse_archive(archive_with("m/version", "99"), "version 99 of the archive");
  refuse_archive(archive_with("m/version", "1234567890123456"), "\"m/version\" has 16 bytes");
  packed.method = 8;
  packed.size = 4000000000u;
  refuse_archive(archive_of(&packed, 1), "member \"m/data.pkl\": 4000000000 bytes cannot come from");
  packed = member_of("m/data.pkl", bytes_of(sound, sizeof sound - 1));
  packed.crc ^= 1;
  member bad[] = { packed, member_of("m/version", bytes_of("3", 1)) };
  refuse_archive(archive_of(bad, 2), "member \"m/data.pkl\": cannot be read: CRC error");
}
END_TEST

START_TEST(no_archives)
{
  refuse_archive(bytes_of("", 0), "not an archive of torch.save: it does not begin as a ZIP does");
  refuse_archive(bytes_of("PK\3\4", 4), "the ZIP archive cannot be read");
  refuse_archive(bytes_of("\x80\2}.", 4), "not an archive of torch.save");
  refuse_archive(bytes_of("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15),
                 "the pickle of the version: not a pickle of protocol 2");
}
END_TEST

/* --- files before 1.6 ------------------------------------------------------------------------- */

#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION "\x80\2M\xe9\3."
#define SYSTEM "\x80\2}X\15\0\0\0little_endian\x88s."
#define LEGACY_VIEW(type, key, last) "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" type "Storage\nX\1\0\0\0" key "X\3\0\0\0cpuK\2" last \
  "tQK\0K\2\x85K\1\x85\x89}tR"
#define SAVED "\x80\2}(X\1\0\0\0w" LEGACY_VIEW("Float", "7", "N") "X\1\0\0\0v" LEGACY_VIEW("Short", "3", "") "u."
#define KEYS "\x80\2](X\1\0\0\0" "3X\1\0\0\0" "7e."
#define SHORTS "\2\0\0\0\0\0\0\0\5\0\xff\xff"
#define LEGACY_FLOATS "\2\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\xc0"
#define LEGACY(bytes) bytes_of(bytes, sizeof(bytes) - 1)

START_TEST(legacy_files)
{
  static const struct {
    const char *file;
    size_t size;
    const char *says;
  } others[] = {
#define REFUSED(bytes, says) {bytes, sizeof(bytes) - 1, says}
    REFUSED(MAGIC, "the pickle of the version"),
    REFUSED(MAGIC "\x80\2M\xea\3." SYSTEM SAVED KEYS SHORTS LEGACY_FLOATS, "another version than 1001"),
    REFUSED(MAGIC VERSION "\x80\2}." SAVED KEYS SHORTS LEGACY_FLOATS, "little-endian machines"),
    REFUSED(MAGIC VERSION "\x80\2]." SAVED KEYS SHORTS LEGACY_FLOATS, "little-endian machines"),
    REFUSED(MAGIC VERSION "\x80\2}X\15\0\0\0little_endian\x89s." SAVED KEYS SHORTS LEGACY_FLOATS, "little-endian machines"),
    REFUSED(MAGIC VERSION "\x80\2}(X\15\0\0\0little_endian\x88X\15\0\0\0little_endian\x89u." SAVED KEYS SHORTS LEGACY_FLOATS, "little-endian machines"),
    REFUSED(MAGIC VERSION SYSTEM "\x80\2K\1." KEYS SHORTS LEGACY_FLOATS, "storage '3' is of no tensor"),
    REFUSED(MAGIC VERSION SYSTEM "\x80\2}X\1\0\0\0w" LEGACY_VIEW("Float", "7", "K\1") "s." KEYS LEGACY_FLOATS, "a persistent id is no"),
    REFUSED(MAGIC VERSION SYSTEM "\x80\2}(X\1\0\0\0w" LEGACY_VIEW("Float", "7", "N") "X\1\0\0\0v" LEGACY_VIEW("Short", "7", "") "u." KEYS SHORTS LEGACY_FLOATS,
            "one storage has entries of"),
    REFUSED(MAGIC VERSION SYSTEM SAVED "\x80\2}." SHORTS LEGACY_FLOATS, "the storages' keys are no list"),
    REFUSED(MAGIC VERSION SYSTEM SAVED "\x80\2](K\3X\1\0\0\0" "7e." SHORTS LEGACY_FLOATS, "a storage's key is no text"),
    REFUSED(MAGIC VERSION SYSTEM SAVED "\x80\2](X\1\0\0\0" "3X\1\0\0\0" "3e." SHORTS SHORTS, "storage '3' is there twice"),
    REFUSED(MAGIC VERSION SYSTEM SAVED "\x80\2](X\1\0\0\0" "3e." SHORTS, "its storage \"data/7\" is missing"),
    REFUSED(MAGIC VERSION SYSTEM SAVED KEYS SHORTS LEGACY_FLOATS "\0", "1 bytes follow the last storage"),
    REFUSED(MAGIC VERSION SYSTEM SAVED KEYS "\1\0\0\0\0\0\0\0\5\0" LEGACY_FLOATS, "expected 2 entries of int16"),
    REFUSED(MAGIC VERSION SYSTEM SAVED KEYS SHORTS "\377\377\377\377\377\377\377\377", "the file ends inside storage '7' of 18446744073709551615 entries"),
  };
  static const char whole[] = MAGIC VERSION SYSTEM SAVED KEYS SHORTS LEGACY_FLOATS;
  clarke_tensors ts;
  clarke_error err;
  clarke_pt c = {0};
  bytes b;

  clarke_tensors_init(&ts);
  b = LEGACY(whole);
  ck_assert_msg(parse(&ts, &b, &err) == CLARKE_OK, "%s", err.text);
  bytes_clear(&b);
  ck_assert(ts.n == 2 && strcmp(ts.tensor[0].name, "v") == 0 && strcmp(ts.tensor[1].name, "w") == 0);
  ck_assert(ts.tensor[0].integer[0] == 5 && ts.tensor[0].integer[1] == -1);
  ck_assert(ts.tensor[1].real[0] == 1 && ts.tensor[1].real[1] == -2);
  clarke_tensors_clear(&ts);
  for (size_t size = sizeof MAGIC - 1; size < sizeof whole - 1; size++)
    refuse_archive(bytes_of(whole, size), "");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    refuse_archive(bytes_of(others[i].file, others[i].size), others[i].says);
  ck_assert(clarke_pt_is_legacy(whole, sizeof whole - 1) && !clarke_pt_is_legacy(whole, sizeof MAGIC - 2) && !clarke_pt_is_legacy("PK\3\4", 4));
  ck_assert_int_eq(clarke_pt_read_legacy(&c, whole, sizeof whole - 1, &err), CLARKE_OK);
  ck_assert(c.n_members == 2 && strcmp(c.members[0].name, "data/3") == 0 && c.members[0].size == 4 && c.members[1].size == 8);
  c.members[0].name[5] = '9';
  clarke_pt_sort(&c);
  ck_assert(strcmp(c.members[0].name, "data/7") == 0 && c.members[0].index == sizeof whole - 1 - 8);
  for (size_t i = 0; i < 2; i++)
    free(c.members[i].name);
  free(c.members);
  free(c.folder);
  clarke_pickle_clear(&c.pickle);
}
END_TEST

/* --- the reader's parts ----------------------------------------------------------------------- */

START_TEST(names_for_messages)
{
  static const struct {
    const char *name;
    size_t size;
    const char *shown;
  } known[] = {{"weight", 6, "weight"}, {"we", 1, "w"}, {"", 0, ""}, {"a\xff", 2, "(not text)"}};
  char long_name[301];
  clarke_pt_entry e = {0};

  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    e.name = known[k].name;
    e.name_size = known[k].size;
    ck_assert_str_eq(clarke_pt_show(&e).text, known[k].shown);
  }
  for (size_t cut = 0; cut < 2; cut++) { /* characters of two bytes: a cut inside one drops it */
    memset(long_name, 'x', sizeof long_name);
    for (size_t k = cut; k + 2 <= 300; k += 2)
      memcpy(long_name + k, "\xc3\xa9", 2);
    e.name = long_name;
    e.name_size = 300 - cut;
    ck_assert_uint_eq(strlen(clarke_pt_show(&e).text), 200 - cut);
  }
}
END_TEST

/* The archive above as what the reader has of it, and two views of its storages. */
typedef struct {
  bytes packed;
  clarke_pt c;
  clarke_pt_member members[3];
  clarke_pickle_value storage[2];
  clarke_pt_entry entries[2];
} inside;

static char folder_name[] = "m/", first_name[] = "data/0", second_name[] = "data/1", version_name[] = "version";

static void
begin_inside(inside *i)
{
  static const char empty[] = START "}.";
  clarke_error err;

  memset(i, 0, sizeof *i);
  i->packed = archive_around(empty, sizeof empty - 1);
  ck_assert_int_eq(clarke_archive_open(&i->c.archive, i->packed.data, i->packed.size, "c.pt", &err), CLARKE_OK);
  i->members[0] = (clarke_pt_member){first_name, 3, 24};
  i->members[1] = (clarke_pt_member){second_name, 4, 24};
  i->members[2] = (clarke_pt_member){version_name, 1, 2};
  i->storage[0] = (clarke_pickle_value){.what = CLARKE_F32, .integer = 6};
  i->storage[1] = (clarke_pickle_value){.what = CLARKE_I64, .integer = 3};
  /* the second tensor's storage is the first: entries 4, 2, 0 backwards is none; 1, 3, 5 is */
  i->entries[0] = (clarke_pt_entry){.name = "b", .name_size = 1, .key = "1", .key_size = 1, .storage = &i->storage[1],
                                    .view = {.rank = 1, .dims = {2}, .strides = {1}, .offset = 1}};
  i->entries[1] = (clarke_pt_entry){.name = "a", .name_size = 1, .key = "0", .key_size = 1, .storage = &i->storage[0],
                                    .view = {.rank = 1, .dims = {3}, .strides = {2}, .offset = 1}};
  i->c.folder = folder_name;
  i->c.members = i->members;
  i->c.n_members = 3;
  i->c.entries = i->entries;
  i->c.n = 2;
}

static void
end_inside(inside *i)
{
  clarke_archive_close(&i->c.archive);
  bytes_clear(&i->packed);
}

START_TEST(members_by_name)
{
  char missing[] = "data/2";
  unsigned char word[2];
  inside i;

  begin_inside(&i);
  ck_assert_ptr_eq(clarke_pt_find(&i.c, first_name), &i.members[0]);
  ck_assert_ptr_eq(clarke_pt_find(&i.c, version_name), &i.members[2]);
  ck_assert_ptr_null(clarke_pt_find(&i.c, missing));
  ck_assert_int_eq(clarke_pt_bytes(word, &i.c, &i.members[2], NULL), CLARKE_OK);
  ck_assert_mem_eq(word, "3\n", 2);
  end_inside(&i);
}
END_TEST

/* A module's tensors, from the pickle alone: names, and what each is a view of. */
START_TEST(modules_have_entries)
{
  static const char pickle[] = MODULE(TEXT("\1", "m") OBJECT "}(" TEXT("\1", "w") GRID "ub" TEXT("\1", "b") FIRST);
  clarke_error err = {CLARKE_OK, ""};
  clarke_pt c = {.key = NULL};
  clarke_pt_entry again;

  ck_assert_msg(clarke_pickle_read(&c.pickle, pickle, sizeof pickle - 1, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_msg(clarke_pt_read_module(&c, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(c.n == 2 && c.n_names == 2);
  ck_assert(c.entries[0].name_size == 3 && memcmp(c.entries[0].name, "m.w", 3) == 0);
  ck_assert(c.entries[0].view.rank == 2 && c.entries[0].key_size == 1 && *c.entries[0].key == '0');
  ck_assert(c.entries[1].name_size == 1 && *c.entries[1].name == 'b' && c.entries[1].view.rank == 0);
  for (uint32_t v = 0; v < c.pickle.n_values; v++)
    if (c.pickle.value[v].kind == CLARKE_PICKLE_TENSOR) {
      memset(&again, 0, sizeof again);
      clarke_pt_entry_of(&again, &c, v);
      ck_assert(again.storage->integer == 6 && again.key_size == 1 && again.name == NULL);
    }
  c.key = "state_dict";
  ck_assert_int_eq(clarke_pt_read_module(&c, &err), CLARKE_EINPUT);
  assert_says(err.text, "has nothing under 'state_dict': leave the key out");
  for (size_t i = 0; i < c.n_names; i++)
    free(c.names[i]);
  free(c.names);
  free(c.entries);
  clarke_pickle_clear(&c.pickle);
}
END_TEST

START_TEST(entries_are_checked_and_decoded)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_tensors ts;
  inside i;

  begin_inside(&i);
  clarke_tensors_init(&ts);
  ck_assert_msg(clarke_pt_check_entries(&i.c, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(i.entries[0].name[0] == 'a' && i.entries[0].member == &i.members[0] && i.entries[1].member == &i.members[1]);
  ck_assert(i.entries[0].extent.count == 3 && i.entries[1].extent.bytes == 16);
  ck_assert_int_eq(clarke_pt_decode_entries(&ts, &i.c, &err), CLARKE_OK);
  ck_assert(ts.n == 2 && ts.tensor[0].real[0] == 1 && ts.tensor[0].real[1] == 3 && ts.tensor[0].real[2] == 5);
  ck_assert(ts.tensor[1].integer[0] == 2 && ts.tensor[1].integer[1] == 3);
  clarke_tensors_clear(&ts);
  i.entries[0].view.offset = 2; /* 2, 4, 6: one too far */
  ck_assert_int_eq(clarke_pt_check_entries(&i.c, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensor \"a\"|reaches past the 6 entries");
  i.entries[0].view.offset = 1;
  i.storage[0].integer = 7;
  ck_assert_int_eq(clarke_pt_check_entries(&i.c, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensor \"a\"|has 24 bytes; expected 7 entries of float32");
  i.storage[0].integer = 6;
  i.entries[1].key = "9";
  ck_assert_int_eq(clarke_pt_check_entries(&i.c, &err), CLARKE_EINPUT);
  assert_says(err.text, "its storage \"m/data/9\" is missing");
  i.entries[1].key = "0"; /* floats to one, integers to the other */
  ck_assert_int_eq(clarke_pt_check_entries(&i.c, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensors \"a\" and \"b\" share a storage that is float32 to one and int64 to the other");
  end_inside(&i);
}
END_TEST

/* By storage, then by name. */
START_TEST(the_order_of_entries)
{
  const clarke_pt_entry in_order[] = {{.key = "0", .key_size = 1, .name = "b", .name_size = 1},
                                      {.key = "0", .key_size = 1, .name = "c", .name_size = 1},
                                      {.key = "1", .key_size = 1, .name = "a", .name_size = 1},
                                      {.key = "10", .key_size = 2, .name = "a", .name_size = 1}};

  for (int k = 0; k < 4; k++)
    for (int l = 0; l < 4; l++) {
      const int order = clarke_pt_by_storage(&in_order[k], &in_order[l]);

      ck_assert_int_eq((order > 0) - (order < 0), (k > l) - (k < l));
    }
}
END_TEST

/* --- several files ---------------------------------------------------------------------------- */

static void
write_shard(const char *folder, const char *name, const char *const *tensor, size_t n)
{
  clarke_tensors ts;
  char path[128];
  const size_t dims[] = {2};

  clarke_tensors_init(&ts);
  ck_assert_int_eq(clarke_tensors_alloc(&ts, n, NULL), CLARKE_OK);
  for (size_t k = 0; k < n; k++) {
    ck_assert_int_eq(clarke_tensor_shape(&ts.tensor[k], tensor[k], CLARKE_F64, 1, dims, NULL), CLARKE_OK);
    ts.tensor[k].real[1] = tensor[k][0];
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  ck_assert_int_eq(clarke_safetensors_write(path, &ts, NULL, NULL), CLARKE_OK);
  clarke_tensors_clear(&ts);
}

START_TEST(shards)
{
  static const char index[] = "{\"weight_map\": {\"c\": \"2.safetensors\", \"a\": \"1.safetensors\", \"b\": \"1.safetensors\"}}";
  static const char *const first[] = {"a", "b", "d"}, *const second[] = {"c"};
  char folder[] = "/tmp/clarke-shards-XXXXXX", path[64];
  clarke_error err = {CLARKE_OK, ""};
  clarke_shards s;
  clarke_tensors ts;

  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
  clarke_shards_init(&s);
  clarke_tensors_init(&ts);
  ck_assert_int_eq(clarke_shards_parse(&s, index, sizeof index - 1, "index", &err), CLARKE_OK);
  write_shard(folder, "1.safetensors", first, 2);
  ck_assert_int_eq(clarke_shards_read(&ts, &s, path, &err), CLARKE_EINPUT);
  assert_says(err.text, "model.safetensors.index.json|2.safetensors");
  ck_assert_uint_eq(ts.n, 0);
  write_shard(folder, "2.safetensors", second, 1);
  ck_assert_msg(clarke_shards_read(&ts, &s, path, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_uint_eq(ts.n, 3);
  for (size_t k = 0; k < 3; k++)
    ck_assert(ts.tensor[k].name[0] == 'a' + (char)k && ts.tensor[k].real[1] == 'a' + (double)k);
  write_shard(folder, "1.safetensors", first, 3);
  ck_assert_int_eq(clarke_shards_read(&ts, &s, path, &err), CLARKE_EINPUT);
  assert_says(err.text, "tensor \"d\", of which the index says nothing");
  write_shard(folder, "1.safetensors", first, 1);
  ck_assert_int_eq(clarke_shards_read(&ts, &s, path, &err), CLARKE_EINPUT);
  assert_says(err.text, "no tensor \"b\", which the index says it holds");
  clarke_shards_clear(&s);
  clarke_tensors_clear(&ts);
  for (size_t k = 1; k <= 2; k++) {
    snprintf(path, sizeof path, "%s/%zu.safetensors", folder, k);
    unlink(path);
  }
  rmdir(folder);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("pt");

  tcase_add_loop_test(tests, acceptances, 0, (int)(sizeof accepted / sizeof accepted[0]));
  tcase_add_loop_test(tests, refusals, 0, (int)(sizeof refused / sizeof refused[0]));
  tcase_add_test(tests, opcodes);
  tcase_add_test(tests, doubled_modules);
  tcase_add_test(tests, nesting);
  tcase_add_test(tests, repeated_names);
  tcase_add_test(tests, truncations);
  tcase_add_test(tests, bit_flips);
  tcase_add_test(tests, members);
  tcase_add_test(tests, no_archives);
  tcase_add_test(tests, legacy_files);
  tcase_add_test(tests, names_for_messages);
  tcase_add_test(tests, members_by_name);
  tcase_add_test(tests, modules_have_entries);
  tcase_add_test(tests, entries_are_checked_and_decoded);
  tcase_add_test(tests, the_order_of_entries);
  tcase_add_test(tests, shards);
  return run_tests();
}
