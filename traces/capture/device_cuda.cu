/* SPDX-License-Identifier: GPL-3.0-or-later */
/* device_cuda.cu -- see device.h; CUDA and NCCL.
 *
 * Clocks: all GPUs have a %globaltimer, in nanoseconds from some moment on, which is compared with
 * the host's clock by round trips when the set is made. The kernel that a run begins with waits for
 * a value of it and notes when it let go; CUDA's events, which are more exact but only compare on
 * one GPU, count from there. That kernel ends by itself, whatever the host does: nothing that is
 * enqueued behind it can hang because of it.
 */
#include "device.h"

extern "C" {
#include "clock.h"
}

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <vector>

static_assert(CAP_DEVICE_ID_BYTES == sizeof(ncclUniqueId), "an identity is NCCL's");

namespace
{

constexpr int      ROUND_TRIPS = 64;
constexpr unsigned THREADS     = 256;

struct member {
    int                      gpu;
    cudaStream_t             streams[CAP_STREAMS];
    std::vector<cudaEvent_t> events;
    cudaEvent_t              base; /* right behind the last start */
    ncclComm_t               comm;
    unsigned long long      *opened; /* of the last start; on the host, written by the GPU */
    cap_offset               clock;  /* GPU = host + offset */
    unsigned                 most_blocks;
    std::vector<float *>     memory;
};

} // namespace

struct cap_devices {
    cap_device_setup    setup;
    std::vector<member> members;
    char                error[320];
};

/* ---- kernels ---- */

static __device__ unsigned long long global_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __global__ void read_clock(volatile unsigned long long *ns)
{
    *ns = global_ns();
}

/* Sleep until a moment; nothing behind it on its stream starts before. */
static __global__ void sleep_until(unsigned long long at_ns, volatile unsigned long long *opened)
{
    unsigned long long now = global_ns();
    while (now < at_ns) {
        __nanosleep(at_ns - now > 20000 ? 5000 : 100);
        now = global_ns();
    }
    *opened = now;
}

static __global__ void sum_floats(float *to, const float *base, const float *from, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        to[i] = base[i] + from[i];
    }
}

/* Four at a time, all three at addresses that are multiples of 16. */
static __global__ void sum_float4s(float4 *to, const float4 *base, const float4 *from, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float4 a = base[i], b = from[i];
        to[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

/* ---- errors ---- */

static bool is_well(const cap_devices *devices)
{
    return devices->error[0] == '\0';
}

static void fail(cap_devices *devices, const char *format, ...)
{
    va_list args;

    if (!is_well(devices)) {
        return;
    }
    va_start(args, format);
    vsnprintf(devices->error, sizeof devices->error, format, args);
    va_end(args);
}

static bool check_cuda(cap_devices *devices, cudaError_t result, const char *what)
{
    if (result != cudaSuccess) {
        fail(devices, "%s: %s", what, cudaGetErrorString(result));
    }
    return is_well(devices);
}

static bool check_nccl(cap_devices *devices, ncclResult_t result, const char *what)
{
    if (result != ncclSuccess && result != ncclInProgress) {
        const char *last = ncclGetLastError(nullptr);
        const bool  same = last != nullptr && strstr(last, "Duplicate GPU") != nullptr;
        fail(devices, "%s: %s%s%.120s%s", what, ncclGetErrorString(result),
             last == nullptr || *last == '\0' ? "" : ": ", last == nullptr ? "" : last,
             same ? " (two ranks on one GPU: --loopback, or an NCCL_HOSTID for each rank)" : "");
    }
    return is_well(devices);
}

#define CUDA(devices, call) check_cuda((devices), (call), #call)
#define NCCL(devices, call) check_nccl((devices), (call), #call)

static double now_s()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static member *use(cap_devices *devices, uint32_t number)
{
    if (!is_well(devices)) {
        return nullptr;
    }
    member *m = &devices->members[number];
    return check_cuda(devices, cudaSetDevice(m->gpu), "cudaSetDevice") ? m : nullptr;
}

/* ---- what there is ---- */

/* Streams of one GPU share hardware queues, in which they can keep each other up: as many as there
 * can be. Read when CUDA begins. */
static void widen_queues()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

uint32_t cap_device_count(const char **why_p)
{
    int n = 0;

    widen_queues();
    const cudaError_t result = cudaGetDeviceCount(&n);
    *why_p = result == cudaSuccess ? "CUDA finds none" : cudaGetErrorString(result);
    return result == cudaSuccess && n > 0 ? (uint32_t)n : 0;
}

void cap_device_name(uint32_t gpu, char *name, size_t name_bytes)
{
    cudaDeviceProp properties;

    name[0] = '\0';
    if (cudaGetDeviceProperties(&properties, (int)gpu) == cudaSuccess) {
        snprintf(name, name_bytes, "%s", properties.name);
    }
}

const char *cap_device_library(void)
{
    static char text[64];
    int         nccl = 0, cuda = 0;

    if (ncclGetVersion(&nccl) != ncclSuccess || cudaRuntimeGetVersion(&cuda) != cudaSuccess) {
        return "NCCL";
    }
    snprintf(text, sizeof text, "NCCL %d.%d.%d, CUDA %d.%d", nccl / 10000, nccl / 100 % 100,
             nccl % 100, cuda / 1000, cuda / 10 % 100);
    return text;
}

bool cap_device_id(unsigned char id[CAP_DEVICE_ID_BYTES], const char **why_p)
{
    ncclUniqueId       unique;
    const ncclResult_t result = ncclGetUniqueId(&unique);

    *why_p = ncclGetErrorString(result);
    if (result == ncclSuccess) {
        memcpy(id, &unique, sizeof unique);
    }
    return result == ncclSuccess;
}

/* ---- the set ---- */

static void compare_clock(cap_devices *devices, member *m)
{
    cap_round_trip trips[ROUND_TRIPS];

    for (int i = 0; i < ROUND_TRIPS && is_well(devices); i++) {
        const double asked = now_s();
        read_clock<<<1, 1, 0, m->streams[CAP_MESSAGES]>>>(m->opened);
        if (CUDA(devices, cudaGetLastError()) &&
            CUDA(devices, cudaStreamSynchronize(m->streams[CAP_MESSAGES]))) {
            trips[i] = cap_round_trip{asked, (double)*m->opened * 1e-9, now_s()};
        }
    }
    if (is_well(devices)) {
        m->clock = cap_offset_of(trips, ROUND_TRIPS);
    }
}

static void open_member(cap_devices *devices, uint32_t number)
{
    member *m = use(devices, number);
    int     n = 0;

    for (int s = 0; m != nullptr && s < CAP_STREAMS; s++) {
        CUDA(devices, cudaStreamCreateWithFlags(&m->streams[s], cudaStreamNonBlocking));
    }
    if (m == nullptr || !CUDA(devices, cudaEventCreate(&m->base)) ||
        !CUDA(devices, cudaHostAlloc((void **)&m->opened, sizeof *m->opened,
                                     cudaHostAllocPortable | cudaHostAllocMapped)) ||
        !CUDA(devices, cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, m->gpu))) {
        return;
    }
    m->most_blocks = (unsigned)n * 4;
    m->events.resize(devices->setup.n_events, nullptr);
    for (cudaEvent_t &event : m->events) {
        if (!CUDA(devices, cudaEventCreate(&event))) {
            return;
        }
    }
    compare_clock(devices, m);
}

static void join(cap_devices *devices)
{
    ncclUniqueId unique;

    memcpy(&unique, devices->setup.id, sizeof unique);
    NCCL(devices, ncclGroupStart());
    for (uint32_t i = 0; i < devices->setup.n_local; i++) {
        member *m = use(devices, i);
        if (m != nullptr) {
            NCCL(devices, ncclCommInitRank(&m->comm, (int)devices->setup.n_ranks, unique,
                                           (int)(devices->setup.first_rank + i)));
        }
    }
    const ncclResult_t result = ncclGroupEnd(); /* also after an error: it must be closed */
    check_nccl(devices, result, "ncclCommInitRank");
}

cap_devices *cap_devices_create(const cap_device_setup *setup)
{
    widen_queues();
    cap_devices *devices = new (std::nothrow) cap_devices{};
    if (devices == nullptr) {
        return nullptr;
    }
    devices->setup = *setup;
    try {
        devices->members.resize(setup->n_local);
        for (uint32_t i = 0; i < setup->n_local; i++) {
            devices->members[i].gpu = (int)(setup->first_gpu + (setup->one_gpu ? 0 : i));
            open_member(devices, i);
        }
    } catch (const std::bad_alloc &) {
        fail(devices, "out of memory");
    }
    if (is_well(devices) && !setup->one_gpu) {
        join(devices);
    }
    return devices;
}

void cap_devices_destroy(cap_devices *devices)
{
    if (devices == nullptr) {
        return;
    }
    for (member &m : devices->members) { /* results do not matter any more */
        cudaSetDevice(m.gpu);
        if (m.comm != nullptr) {
            is_well(devices) ? ncclCommDestroy(m.comm) : ncclCommAbort(m.comm);
        }
        for (float *memory : m.memory) {
            cudaFree(memory);
        }
        for (cudaEvent_t event : m.events) {
            if (event != nullptr) {
                cudaEventDestroy(event);
            }
        }
        if (m.base != nullptr) {
            cudaEventDestroy(m.base);
        }
        for (cudaStream_t stream : m.streams) {
            if (stream != nullptr) {
                cudaStreamDestroy(stream);
            }
        }
        cudaFreeHost(m.opened);
    }
    delete devices;
}

const char *cap_device_error(const cap_devices *devices)
{
    return is_well(devices) ? nullptr : devices->error;
}

float *cap_device_alloc(cap_devices *devices, uint32_t number, uint64_t n)
{
    member *m      = use(devices, number);
    void   *memory = nullptr;

    if (m == nullptr) {
        return nullptr;
    }
    const cudaError_t result = cudaMalloc(&memory, std::max<uint64_t>(n, 1) * sizeof(float));
    if (result != cudaSuccess) {
        fail(devices, "%llu MiB on GPU %d: %s", (unsigned long long)(n * sizeof(float) >> 20),
             m->gpu, cudaGetErrorString(result));
        return nullptr;
    }
    try {
        m->memory.push_back((float *)memory);
    } catch (const std::bad_alloc &) {
        cudaFree(memory);
        fail(devices, "out of memory");
        return nullptr;
    }
    return (float *)memory;
}

void cap_device_upload(cap_devices *devices, uint32_t number, float *to, const float *from,
                       uint64_t n)
{
    if (use(devices, number) != nullptr) {
        CUDA(devices, cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyHostToDevice));
    }
}

void cap_device_download(cap_devices *devices, uint32_t number, float *to, const float *from,
                         uint64_t n)
{
    if (use(devices, number) != nullptr) {
        CUDA(devices, cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyDeviceToHost));
    }
}

/* ---- enqueued ---- */

void cap_device_start(cap_devices *devices, uint32_t number, double at_s)
{
    member *m = use(devices, number);

    if (m != nullptr) {
        const double at_ns = (at_s + m->clock.offset_s) * 1e9;
        sleep_until<<<1, 1, 0, m->streams[CAP_MESSAGES]>>>(
            at_ns > 0 ? (unsigned long long)at_ns : 0, m->opened);
        CUDA(devices, cudaGetLastError());
        CUDA(devices, cudaEventRecord(m->base, m->streams[CAP_MESSAGES]));
    }
}

void cap_device_record(cap_devices *devices, uint32_t number, cap_stream stream, uint32_t event)
{
    member *m = use(devices, number);

    if (m != nullptr) {
        CUDA(devices, cudaEventRecord(m->events[event], m->streams[stream]));
    }
}

void cap_device_wait(cap_devices *devices, uint32_t number, cap_stream stream, uint32_t of,
                     uint32_t event)
{
    member *m = use(devices, number);

    if (m != nullptr) {
        CUDA(devices,
             cudaStreamWaitEvent(m->streams[stream], devices->members[of].events[event], 0));
    }
}

void cap_device_copy(cap_devices *devices, uint32_t number, cap_stream stream, float *to,
                     const float *from, uint64_t n)
{
    member *m = use(devices, number);

    if (m != nullptr && n > 0) {
        CUDA(devices, cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyDeviceToDevice,
                                      m->streams[stream]));
    }
}

static bool is_aligned(const void *a, const void *b, const void *c)
{
    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & 15) == 0;
}

void cap_device_sum(cap_devices *devices, uint32_t number, cap_stream stream, float *to,
                    const float *base, const float *from, uint64_t n)
{
    member *m = use(devices, number);

    if (m == nullptr || n == 0) {
        return;
    }
    const bool     by_four = n % 4 == 0 && is_aligned(to, base, from);
    const uint64_t items   = by_four ? n / 4 : n;
    const unsigned blocks =
        (unsigned)std::min<uint64_t>((items + THREADS - 1) / THREADS, m->most_blocks);
    if (by_four) {
        sum_float4s<<<blocks, THREADS, 0, m->streams[stream]>>>((float4 *)to, (const float4 *)base,
                                                                (const float4 *)from, items);
    } else {
        sum_floats<<<blocks, THREADS, 0, m->streams[stream]>>>(to, base, from, items);
    }
    CUDA(devices, cudaGetLastError());
}

void cap_device_group_begin(cap_devices *devices)
{
    if (is_well(devices)) {
        NCCL(devices, ncclGroupStart());
    }
}

void cap_device_send(cap_devices *devices, uint32_t number, uint32_t to_rank, const float *from,
                     uint64_t n)
{
    member *m = use(devices, number);

    if (m != nullptr) {
        NCCL(devices, ncclSend(from, n, ncclFloat, (int)to_rank, m->comm,
                               m->streams[CAP_MESSAGES]));
    }
}

void cap_device_receive(cap_devices *devices, uint32_t number, uint32_t from_rank, float *to,
                        uint64_t n)
{
    member *m = use(devices, number);

    if (m != nullptr) {
        NCCL(devices,
             ncclRecv(to, n, ncclFloat, (int)from_rank, m->comm, m->streams[CAP_MESSAGES]));
    }
}

void cap_device_group_end(cap_devices *devices)
{
    if (is_well(devices)) {
        NCCL(devices, ncclGroupEnd());
    }
}

/* ---- at once ---- */

/* Is all done? What failed meanwhile is noted. */
static bool is_done(cap_devices *devices)
{
    for (uint32_t i = 0; i < devices->setup.n_local; i++) {
        member *m = use(devices, i);
        for (int s = 0; m != nullptr && s < CAP_STREAMS; s++) {
            const cudaError_t result = cudaStreamQuery(m->streams[s]);
            if (result == cudaErrorNotReady) {
                ncclResult_t async = ncclSuccess;
                if (m->comm != nullptr) {
                    NCCL(devices, ncclCommGetAsyncError(m->comm, &async));
                    check_nccl(devices, async, "a message");
                }
                return !is_well(devices);
            }
            check_cuda(devices, result, "a kernel or copy");
        }
    }
    return true;
}

void cap_device_finish(cap_devices *devices, double timeout_s)
{
    const double end_s = now_s() + timeout_s;

    while (is_well(devices) && !is_done(devices)) {
        if (now_s() > end_s) {
            fail(devices, "not done after %g s: a rank or a link has failed", timeout_s);
        }
        const timespec pause = {0, 50000};
        nanosleep(&pause, nullptr);
    }
}

double cap_device_started(const cap_devices *devices, uint32_t number)
{
    const member &m = devices->members[number];
    return (double)*m.opened * 1e-9 - m.clock.offset_s;
}

double cap_device_event_s(cap_devices *devices, uint32_t number, uint32_t event)
{
    member *m  = use(devices, number);
    float   ms = 0;

    if (m != nullptr) {
        CUDA(devices, cudaEventElapsedTime(&ms, m->base, m->events[event]));
    }
    return cap_device_started(devices, number) + (double)ms * 1e-3;
}

double cap_device_clock_error_s(const cap_devices *devices)
{
    double most = 0;

    for (const member &m : devices->members) {
        most = std::max(most, m.clock.error_s);
    }
    return most;
}
