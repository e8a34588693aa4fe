/* Preloaded into a process of a test: its wall clock is off by what stands in the file named by LINCHPIN_TEST_CLOCK, in
   nanoseconds. The file may change while the process runs. Monotonic clocks are left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *off;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LINCHPIN_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) _exit(97);
    off = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t at = now->tv_sec * 1000000000LL + now->tv_nsec + *off;
        now->tv_sec = at / 1000000000LL;
        now->tv_nsec = at % 1000000000LL;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (to) *to = exact.tv_sec;
    return exact.tv_sec;
}
