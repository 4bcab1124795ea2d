/* Pickles written by hand, as strings. */
#ifndef CLARKE_TESTS_FORMAT_PICKLES_H
#define CLARKE_TESTS_FORMAT_PICKLES_H

#define TEXT(length, text) "X" length "\0\0\0" text
#define STORAGE_OF(tag, class, key, entries) \
  "(" tag class TEXT("\1", key) TEXT("\3", "cpu") "K" entries "tQ"
#define STORAGE(class, key, entries) \
  STORAGE_OF(TEXT("\7", "storage"), "ctorch\n" class "Storage\n", key, entries)
#define FLOATS STORAGE("Float", "0", "\6")
#define ORDERED "ccollections\nOrderedDict\n)R"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
/* shape and strides push tuples */
#define VIEW(storage, offset, shape, strides) REBUILD "(" storage offset shape strides "\x89" ORDERED "tR"
#define PAIR(a, b) "K" a "K" b "\x86"
#define ONE(a) "K" a "\x85"
#define GRID VIEW(FLOATS, "K\0", PAIR("\2", "\3"), PAIR("\3", "\1"))
#define FIRST VIEW(FLOATS, "K\0", ")", ")")
#define START "\x80\2"
#define DICT(items) START "}(" items "u."
#define ENTRY(tensor) DICT(TEXT("\1", "w") tensor)
/* of torch.jit.save, without attributes, and with these */
#define OBJECT "c__torch__.a\nB\n)\x81"
#define MODULE(items) START OBJECT "}(" items "ub."
#define HUGE_NUMBER "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"

#endif
