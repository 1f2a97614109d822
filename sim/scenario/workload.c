/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of networks. The sizes are those of the published configurations of the models. */
#include "scenario/workload.h"

const cs_workload cs_workloads[] = {
    {"llama-3.2-3b", 3212749824,
     "28 layers of 3072, 24 heads (8 for keys and values), 128256 tokens, tied embedding",
     "Llama-3.2-3B, Grattafiori et al., arXiv:2407.21783"},
    {"phi-3-mini-3.8b", 3821079552, "32 layers of 3072, 32 heads, 32064 tokens, head of its own",
     "Phi-3-mini, Abdin et al., arXiv:2404.14219"},
    {"qwen-2.5-3b", 3085938688,
     "36 layers of 2048, 16 heads (2 for keys and values), 151936 tokens, tied embedding",
     "Qwen2.5-3B, arXiv:2412.15115"},
    {"bert-large", 335141888,
     "uncased, 24 layers of 1024, 30522 tokens, with the pooler, without heads of tasks",
     "Devlin et al., NAACL 2019"},
    {"gpt2", 124439808, "the small one: 12 layers of 768, 50257 tokens, tied embedding",
     "Radford et al., 2019"},
    {"vgg16", 138357544, "13 convolutions, 3 full layers, images of 224 x 224, 1000 classes",
     "Simonyan and Zisserman, ICLR 2015"},
    {NULL, 0, NULL, NULL},
};

const cs_named cs_workload_names = {
    .things      = cs_workloads,
    .n           = sizeof cs_workloads / sizeof cs_workloads[0] - 1,
    .stride      = sizeof cs_workloads[0],
    .takes_parts = true,
    .name        = offsetof(cs_workload, name),
    .aliases     = CS_NO_ALIASES,
    .status      = CS_ENOENT,
    .what        = "no model",
    .hint        = "; 'collsim list workloads' has all",
};

cs_status cs_workload_find(const char *name, const cs_workload **workload_p, cs_error *err)
{
    size_t index = 0;

    CS_TRY(cs_find_named(&cs_workload_names, name, &index, "workload", err));
    *workload_p = &cs_workloads[index];
    return CS_OK;
}
