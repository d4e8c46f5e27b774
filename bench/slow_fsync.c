/*
 * Delays every fsync and fdatasync of a process by two milliseconds, like a slow disk. Loaded with LD_PRELOAD.
 * On a fast disk, the benchmark could not tell whether writers share commits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_two_milliseconds(void) {
    struct timespec remaining = {0, 2 * 1000 * 1000};
    while (nanosleep(&remaining, &remaining) != 0) {
    }
}

int fsync(int file) {
    static int (*next)(int);
    if (!next) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    }
    wait_two_milliseconds();
    return next(file);
}

int fdatasync(int file) {
    static int (*next)(int);
    if (!next) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    }
    wait_two_milliseconds();
    return next(file);
}
