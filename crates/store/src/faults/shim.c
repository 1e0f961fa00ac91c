/* Makes system calls on chosen files fail while a trigger file exists. Loaded in front of libc by a test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Whether `operation` on `fd` is one that the test wants to fail now. */
static int fails(const char *operation, int fd) {
    const char *plan = getenv("KILN_FAULT_OPERATION");
    const char *file = getenv("KILN_FAULT_FILE");
    const char *trigger = getenv("KILN_FAULT_TRIGGER");
    if (!plan || !file || !trigger || strcmp(plan, operation) != 0 || access(trigger, F_OK) != 0)
        return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    const char *found = strstr(path, file);
    /* The database must not stand for its log as well. */
    if (!found || (file[strlen(file) - 1] == 'b' && strcmp(found, file) != 0))
        return 0;
    errno = atoi(getenv("KILN_FAULT_ERRNO"));
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    return fails("write", fd) ? -1 : REAL(write)(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return fails("write", fd) ? -1 : REAL(pwrite)(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    return fails("write", fd) ? -1 : REAL(pwrite64)(fd, bytes, count, offset);
}

int fsync(int fd) {
    return fails("fsync", fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd) {
    return fails("fsync", fd) ? -1 : REAL(fdatasync)(fd);
}
