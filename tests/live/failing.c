/* A disk that fails on demand, put before a program by LD_PRELOAD: files below FAILING_FOLDER fail as the first byte of the file
   FAILING_HOW says. `f` full: half of what is written is taken, the rest refused. `t` torn: the same, and nothing can be taken
   back. `r` read-only. `s` what is written cannot be synced. Anything else: all is well. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static char how(void) {
    static const volatile char *said;
    if (!said) {
        const char *path = getenv("FAILING_HOW");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0) close(fd);
        said = map == MAP_FAILED ? "-" : map;
    }
    return *said;
}

static int below(const char *path) {
    const char *folder = getenv("FAILING_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int ours(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int refused(int code) {
    errno = code;
    return -1;
}

/* How many bytes of a write are taken; -1 with errno where none is. */
static ssize_t taken(int fd, size_t count) {
    char kind = how();
    if (!strchr("ftr", kind) || !ours(fd)) return count;
    if (kind == 'r') return refused(EROFS);
    return count > 1 ? (ssize_t)(count / 2) : refused(ENOSPC);
}

ssize_t write(int fd, const void *data, size_t count) {
    REAL(write);
    ssize_t part = taken(fd, count);
    return part < 0 ? part : real(fd, data, part);
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
    REAL(pwrite);
    ssize_t part = taken(fd, count);
    return part < 0 ? part : real(fd, data, part, at);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
    REAL(pwrite64);
    ssize_t part = taken(fd, count);
    return part < 0 ? part : real(fd, data, part, at);
}

static int kept(int fd) {
    if (how() == 't' && ours(fd)) return refused(EIO);
    return how() == 'r' && ours(fd) ? refused(EROFS) : 0;
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    return kept(fd) ? -1 : real(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    return kept(fd) ? -1 : real(fd, length);
}

int fsync(int fd) {
    REAL(fsync);
    return how() == 's' && ours(fd) ? refused(EIO) : real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return how() == 's' && ours(fd) ? refused(EIO) : real(fd);
}

static int may_open(const char *path, int flags) {
    if (!(flags & (O_CREAT | O_WRONLY | O_RDWR)) || !below(path)) return 1;
    if (how() == 'r') errno = EROFS;
    if (strchr("ft", how()) && flags & O_CREAT && access(path, F_OK)) errno = ENOSPC;
    else if (how() != 'r') return 1;
    return 0;
}

int open(const char *path, int flags, ...) {
    REAL(open);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return may_open(path, flags) ? real(path, flags, mode) : -1;
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return may_open(path, flags) ? real(path, flags, mode) : -1;
}

int unlink(const char *path) {
    REAL(unlink);
    return how() == 'r' && below(path) ? refused(EROFS) : real(path);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return how() == 'r' && below(to) ? refused(EROFS) : real(from, to);
}
