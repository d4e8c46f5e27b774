/*
 * Makes every fsync and fdatasync of a process two milliseconds slower, as on a disk that is further away.
 * Loaded with LD_PRELOAD; a fast disk would hide whether commits are shared.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_two_milliseconds(void) {
    struct timespec rest = {0, 2 * 1000 * 1000};
    while (nanosleep(&rest, &rest) != 0) {
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
