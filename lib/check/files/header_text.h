/* Text in the headers of files, word by word. */
#ifndef CLARKE_FILES_HEADER_TEXT_H
#define CLARKE_FILES_HEADER_TEXT_H

#include "check/base/bytes.h"

bool text_skip(bytes *b, const char *text);     /* steps over the text, if it is next */
void text_over(bytes *b, const char *text);     /* which must be next */
char *text_quoted(bytes *b, const char *quote); /* a string between such quotes, without escapes */
void text_spaces(bytes *b);                     /* steps over spaces */
size_t text_number(bytes *b);                   /* a whole number, which must be next */

#endif
