/* plugin_host FILE: opens a plugin that is linked with nnex, lets it work and closes it, several times. Threads of nnex that still run then must find
 * their code. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  const struct timespec moment = {0, 50000000};
  int i;
  for (i = 0; i < 8 && argc == 2; ++i) {
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*work)(void) = NULL;
    if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 2;
    *(void**)&work = dlsym(plugin, "work");
    if (!work || work() != 0) return 2;
    dlclose(plugin);
    nanosleep(&moment, NULL);
  }
  puts("closed");
  return argc != 2;
}
