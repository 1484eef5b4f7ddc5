/* graph_text FILE...: each file holds a text of a graph, which is read, printed, read again and printed alike. What cannot be read is said, and
 * the exit status is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nnex.h"

static char* content(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = calloc(1, 1 << 16);
  if (!file || !text) exit(2);
  fread(text, 1, (1 << 16) - 1, file);
  fclose(file);
  return text;
}

/* Whether the text reads; `printed` is then what the graph prints, which is the caller's. */
static bool reads(const char* text, const char* name, char** printed) {
  nnex_graph* graph = NULL;
  nnex_error* e = nnex_graph_parse(text, name, &graph);
  *printed = NULL;
  if (e)
    printf("%s\n", nnex_error_text(e));
  else {
    const char* again = nnex_graph_text(graph, true);
    *printed = malloc(strlen(again) + 1);
    if (!*printed) exit(2);
    strcpy(*printed, again);
  }
  nnex_error_free(e);
  nnex_graph_free(graph);
  return !e;
}

int main(int argc, char** argv) {
  int wrong = 0, i;
  for (i = 1; i < argc; ++i) {
    char *text = content(argv[i]), *first, *second = NULL;
    bool fine = reads(text, argv[i], &first);
    if (fine) {
      fine = reads(first, "what was printed", &second) && strcmp(first, second) == 0;
      if (!fine) printf("%s: what is printed of it does not read back to it:\n%s", argv[i], first);
    }
    if (fine && getenv("SHOW")) printf("%s", first);
    wrong |= !fine;
    free(text), free(first), free(second);
  }
  return wrong;
}
