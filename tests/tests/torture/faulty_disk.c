/*
 * Makes a disk fail for one process. Loaded with LD_PRELOAD.
 *
 * FAULTY_DISK_CONTROL names a file that says what fails at the moment: "full", "broken" (writing fails with EIO),
 * "unsynced" (syncing fails with EIO), "read-only", "short" (only half of the bytes of a write are written, and the
 * next write fails because the disk is full) or "unreadable" (reading fails with EIO). Without the file, nothing fails.
 * Only files whose paths contain FAULTY_DISK_FILES are affected.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum fault { NONE, FULL, BROKEN, UNSYNCED, READ_ONLY, SHORT, UNREADABLE };

static enum fault current_fault(void) {
    const char *path = getenv("FAULTY_DISK_CONTROL");
    if (!path) {
        return NONE;
    }
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NONE;
    }
    char text[16] = {0};
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (length <= 0) {
        return NONE;
    }
    static const char *const names[] = {"", "full", "broken", "unsynced", "read-only", "short", "unreadable"};
    for (int fault = FULL; fault <= UNREADABLE; fault++) {
        if (strcmp(text, names[fault]) == 0) {
            return (enum fault)fault;
        }
    }
    return NONE;
}

/* The fault of the file, if it is one of those that fail. */
static enum fault fault_of(int file) {
    const char *affected = getenv("FAULTY_DISK_FILES");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!affected || length < 0) {
        return NONE;
    }
    path[length] = 0;
    return strstr(path, affected) ? current_fault() : NONE;
}

/* Returns whether a write fails, or halves its length. */
static int write_fails(int file, size_t *length) {
    static __thread int was_short;
    int had_short = was_short;
    was_short = 0;
    switch (fault_of(file)) {
    case FULL:
        errno = ENOSPC;
        return 1;
    case BROKEN:
        errno = EIO;
        return 1;
    case READ_ONLY:
        errno = EROFS;
        return 1;
    case SHORT:
        if (had_short || *length < 2) {
            errno = ENOSPC;
            return 1;
        }
        was_short = 1;
        *length /= 2;
        return 0;
    default:
        return 0;
    }
}

static int sync_fails(int file) {
    enum fault fault = fault_of(file);
    if (fault == BROKEN || fault == UNSYNCED) {
        errno = EIO;
        return 1;
    }
    return 0;
}

static int read_fails(int file) {
    if (fault_of(file) == UNREADABLE) {
        errno = EIO;
        return 1;
    }
    return 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t length) {
    return write_fails(file, &length) ? -1 : NEXT(write)(file, bytes, length);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    return write_fails(file, &length) ? -1 : NEXT(pwrite)(file, bytes, length, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
    return write_fails(file, &length) ? -1 : NEXT(pwrite64)(file, bytes, length, offset);
}

ssize_t read(int file, void *bytes, size_t length) { return read_fails(file) ? -1 : NEXT(read)(file, bytes, length); }

ssize_t pread(int file, void *bytes, size_t length, off_t offset) {
    return read_fails(file) ? -1 : NEXT(pread)(file, bytes, length, offset);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t offset) {
    return read_fails(file) ? -1 : NEXT(pread64)(file, bytes, length, offset);
}

int ftruncate(int file, off_t length) {
    size_t ignored = 0;
    return write_fails(file, &ignored) ? -1 : NEXT(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length) {
    size_t ignored = 0;
    return write_fails(file, &ignored) ? -1 : NEXT(ftruncate64)(file, length);
}

int fsync(int file) { return sync_fails(file) ? -1 : NEXT(fsync)(file); }

int fdatasync(int file) { return sync_fails(file) ? -1 : NEXT(fdatasync)(file); }
