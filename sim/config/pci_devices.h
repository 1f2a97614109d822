/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/pci_devices.h -- published rates of GPUs and NICs by what a topology file says they are.
 * A direction's, in bytes per second.
 */
#ifndef CS_CONFIG_PCI_DEVICES_H
#define CS_CONFIG_PCI_DEVICES_H

typedef struct cs_known_gpu {
    const char *name;     /* "A100" */
    double      link_Bps; /* one NVLink or xGMI link */
    double      all_Bps;  /* all links of a GPU behind NVSwitches; 0: it has no such port */
} cs_known_gpu;

typedef struct cs_known_nic {
    const char *name; /* "ConnectX-7" */
    double      wire_Bps;
} cs_known_nic;

/* By PCI vendor and device, either -1 where the file does not have it; NULL: unknown. All of it is
 * static. */
const cs_known_gpu *cs_gpu_of_pci(long vendor, long device);
const cs_known_nic *cs_nic_of_pci(long vendor, long device);

/* By the compute capability of an NVIDIA GPU: 80 is 8.0. */
const cs_known_gpu *cs_gpu_of_capability(long sm);

/* By the architecture of an AMD GPU, in RCCL's forms: "gfx942", "gfx90a:sramecc+", "908". */
const cs_known_gpu *cs_gpu_of_gcn(const char *gcn);

#endif
