/* The first process of a machine and of every pod: it waits, collects orphans, and ends when told to. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void collect(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

static void leave(int signal_number) {
  (void)signal_number;
  _exit(0);
}

int main(void) {
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  signal(SIGCHLD, collect);
  for (;;) {
    pause();
  }
}
