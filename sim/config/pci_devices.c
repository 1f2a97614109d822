/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of devices: the PCI ID repository (pci-ids.ucw.cz). Rates: NVIDIA's data sheets of P100,
 * V100, A100, A800, H100, H800, H200 and B200, of which half is a direction's; AMD's of Instinct
 * MI50, MI100, MI250X, MI300X and MI350X: 92, 92, 100, 128 and 153.6 GB/s a link, both directions
 * together (RCCL reckons with 24, 36 and 48 GB/s in use on MI100, MI200 and MI300). NICs: the rate
 * of a port in the vendors' data sheets; EFA: Amazon EC2's P4d and P5.
 */
#include "config/pci_devices.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define NVIDIA   0x10de
#define AMD      0x1002
#define MELLANOX 0x15b3
#define AMAZON   0x1d0f
#define BROADCOM 0x14e4
#define HPE      0x17db

enum {
    P100,
    P100_PCIE,
    V100,
    V100_PCIE,
    A100,
    A100_PCIE,
    A30,
    A800,
    A800_PCIE,
    GA102,
    H100,
    H100_PCIE,
    H800,
    H800_PCIE,
    H20,
    H200,
    H200_NVL,
    GH200,
    B200,
    B300,
    NO_NVLINK,
    MI50,
    MI100,
    MI200,
    MI300,
    MI350,
};

static const cs_known_gpu gpus[] = {
    [P100]      = {"P100", 20e9, 80e9},
    [P100_PCIE] = {"P100 PCIe", 20e9, 0},
    [V100]      = {"V100", 25e9, 150e9},
    [V100_PCIE] = {"V100 PCIe", 25e9, 0},
    [A100]      = {"A100", 25e9, 300e9},
    [A100_PCIE] = {"A100 PCIe", 25e9, 0},
    [A30]       = {"A30", 25e9, 0},
    [A800]      = {"A800", 25e9, 200e9},
    [A800_PCIE] = {"A800 PCIe", 25e9, 0},
    [GA102]     = {"A40 or A6000", 14.0625e9, 0},
    [H100]      = {"H100", 25e9, 450e9},
    [H100_PCIE] = {"H100 PCIe", 25e9, 0},
    [H800]      = {"H800", 25e9, 200e9},
    [H800_PCIE] = {"H800 PCIe", 25e9, 0},
    [H20]       = {"H20", 25e9, 450e9},
    [H200]      = {"H200", 25e9, 450e9},
    [H200_NVL]  = {"H200 NVL", 25e9, 0},
    [GH200]     = {"GH200", 25e9, 450e9},
    [B200]      = {"B200", 50e9, 900e9},
    [B300]      = {"B300", 50e9, 900e9},
    [NO_NVLINK] = {"a GPU without NVLink", 25e9, 0},
    [MI50]      = {"MI50", 46e9, 0},
    [MI100]     = {"MI100", 46e9, 0},
    [MI200]     = {"MI200", 50e9, 0},
    [MI300]     = {"MI300", 64e9, 0},
    [MI350]     = {"MI350", 76.8e9, 0},
};

static const struct {
    long vendor, device;
    int  gpu;
} gpu_rows[] = {
    {NVIDIA, 0x15f7, P100_PCIE}, {NVIDIA, 0x15f8, P100_PCIE}, {NVIDIA, 0x15f9, P100},
    {NVIDIA, 0x1db1, V100},      {NVIDIA, 0x1db3, V100_PCIE}, {NVIDIA, 0x1db4, V100_PCIE},
    {NVIDIA, 0x1db5, V100},      {NVIDIA, 0x1db6, V100_PCIE}, {NVIDIA, 0x1db8, V100},
    {NVIDIA, 0x1df5, V100},      {NVIDIA, 0x1df6, V100_PCIE}, {NVIDIA, 0x1eb8, NO_NVLINK}, /* T4 */
    {NVIDIA, 0x20b0, A100},      {NVIDIA, 0x20b1, A100_PCIE}, {NVIDIA, 0x20b2, A100},
    {NVIDIA, 0x20b3, A100},      {NVIDIA, 0x20b5, A100_PCIE}, {NVIDIA, 0x20b7, A30},
    {NVIDIA, 0x20bd, A800},      {NVIDIA, 0x20f1, A100_PCIE}, {NVIDIA, 0x20f3, A800},
    {NVIDIA, 0x20f5, A800_PCIE}, {NVIDIA, 0x20f6, A800_PCIE}, {NVIDIA, 0x2230, GA102},
    {NVIDIA, 0x2235, GA102},     {NVIDIA, 0x2236, NO_NVLINK}, /* A10 */
    {NVIDIA, 0x2237, NO_NVLINK},                              /* A10G */
    {NVIDIA, 0x2321, H100_PCIE}, {NVIDIA, 0x2322, H800_PCIE}, {NVIDIA, 0x2324, H800},
    {NVIDIA, 0x2328, H20},       {NVIDIA, 0x2329, H20},       {NVIDIA, 0x232c, H20},
    {NVIDIA, 0x2330, H100},      {NVIDIA, 0x2331, H100_PCIE}, {NVIDIA, 0x2335, H200},
    {NVIDIA, 0x2337, H100},      {NVIDIA, 0x2338, H100},      {NVIDIA, 0x2339, H100},
    {NVIDIA, 0x233b, H200_NVL},  {NVIDIA, 0x2342, GH200},     {NVIDIA, 0x2348, GH200},
    {NVIDIA, 0x26b1, NO_NVLINK}, /* RTX 6000 Ada */
    {NVIDIA, 0x26b5, NO_NVLINK}, /* L40 */
    {NVIDIA, 0x26b9, NO_NVLINK}, /* L40S */
    {NVIDIA, 0x27b8, NO_NVLINK}, /* L4 */
    {NVIDIA, 0x2901, B200},      {NVIDIA, 0x2909, B200},      {NVIDIA, 0x2941, B200},
    {NVIDIA, 0x3182, B300},      {NVIDIA, 0x31a1, B300},      {NVIDIA, 0x31c2, B300},
    {NVIDIA, 0x31c3, B300},      {AMD, 0x66a0, MI50},         {AMD, 0x66a1, MI50},
    {AMD, 0x7388, MI100},        {AMD, 0x738c, MI100},        {AMD, 0x738e, MI100},
    {AMD, 0x7408, MI200},        {AMD, 0x740c, MI200},        {AMD, 0x740f, MI200},
    {AMD, 0x74a0, MI300},        {AMD, 0x74a1, MI300},        {AMD, 0x74a2, MI300},
    {AMD, 0x74a5, MI300},        {AMD, 0x74a9, MI300},        {AMD, 0x74b5, MI300},
    {AMD, 0x74b9, MI300},        {AMD, 0x74bd, MI300},        {AMD, 0x75a0, MI350},
    {AMD, 0x75a3, MI350},
};

/* Physical and virtual functions. */
static const struct {
    long         vendor, device;
    cs_known_nic nic;
} nic_rows[] = {
    {MELLANOX, 0x1013, {"ConnectX-4", 12.5e9}},
    {MELLANOX, 0x1014, {"ConnectX-4", 12.5e9}},
    {MELLANOX, 0x1017, {"ConnectX-5", 12.5e9}},
    {MELLANOX, 0x1018, {"ConnectX-5", 12.5e9}},
    {MELLANOX, 0x1019, {"ConnectX-5 Ex", 12.5e9}},
    {MELLANOX, 0x101a, {"ConnectX-5 Ex", 12.5e9}},
    {MELLANOX, 0x101b, {"ConnectX-6", 25e9}},
    {MELLANOX, 0x101c, {"ConnectX-6", 25e9}},
    {MELLANOX, 0x101d, {"ConnectX-6 Dx", 12.5e9}},
    {MELLANOX, 0x1021, {"ConnectX-7", 50e9}},
    {MELLANOX, 0x1023, {"ConnectX-8", 100e9}},
    {MELLANOX, 0xa2d2, {"BlueField", 12.5e9}},
    {MELLANOX, 0xa2d6, {"BlueField-2", 12.5e9}},
    {MELLANOX, 0xa2dc, {"BlueField-3", 50e9}},
    {AMAZON, 0xefa0, {"EFA", 12.5e9}},
    {AMAZON, 0xefa1, {"EFA", 12.5e9}},
    {BROADCOM, 0x1750, {"BCM57508", 25e9}},
    {BROADCOM, 0x1760, {"BCM57608", 50e9}},
    {HPE, 0x0501, {"Slingshot", 25e9}},
    {HPE, 0x0371, {"Slingshot 400", 50e9}},
};

static bool is_it(long vendor, long device, long of_vendor, long of_device)
{
    return device == of_device && (vendor == of_vendor || vendor < 0);
}

const cs_known_gpu *cs_gpu_of_pci(long vendor, long device)
{
    for (size_t i = 0; i < COUNT(gpu_rows); i++) {
        if (is_it(vendor, device, gpu_rows[i].vendor, gpu_rows[i].device)) {
            return &gpus[gpu_rows[i].gpu];
        }
    }
    return NULL;
}

const cs_known_nic *cs_nic_of_pci(long vendor, long device)
{
    for (size_t i = 0; i < COUNT(nic_rows); i++) {
        if (is_it(vendor, device, nic_rows[i].vendor, nic_rows[i].device)) {
            return &nic_rows[i].nic;
        }
    }
    return NULL;
}

const cs_known_gpu *cs_gpu_of_capability(long sm)
{
    switch (sm) {
    case 60: return &gpus[P100];
    case 70: return &gpus[V100];
    case 80: return &gpus[A100];
    case 86: return &gpus[GA102];
    case 90: return &gpus[H100];
    case 100: return &gpus[B200];
    case 103: return &gpus[B300];
    default: return NULL;
    }
}

const cs_known_gpu *cs_gpu_of_gcn(const char *gcn)
{
    static const struct {
        const char *form, *number;
        int         gpu;
    } rows[] = {{"gfx906", "906", MI50},  {"gfx908", "908", MI100}, {"gfx90a", "910", MI200},
                {"gfx940", "940", MI300}, {"gfx941", "941", MI300}, {"gfx942", "942", MI300},
                {"gfx950", "950", MI350}};

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strncmp(gcn, rows[i].form, strlen(rows[i].form)) == 0 ||
            strcmp(gcn, rows[i].number) == 0) {
            return &gpus[rows[i].gpu];
        }
    }
    return NULL;
}
