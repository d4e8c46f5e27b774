/*
 * Makes the clock of one process wrong. Loaded with LD_PRELOAD.
 *
 * FAULTY_CLOCK_CONTROL names a file with the number of seconds that the clock is ahead; negative if it is behind.
 * Without the file, it is right. Only the time of day is affected: clocks that measure durations cannot be set.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long seconds_ahead(void) {
    const char *path = getenv("FAULTY_CLOCK_CONTROL");
    if (!path) {
        return 0;
    }
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[32] = {0};
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    return length > 0 ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        time->tv_sec += seconds_ahead();
    }
    return failed;
}
