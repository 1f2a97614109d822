/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of networks. The sizes are those of the published configurations of the models. */
#include "scenario/workload.h"

const cs_workload cs_workloads[] = {
    {"llama-3.2-3b", 3212749824, 28, 3072, 0, 0, 0,
     "28 layers of 3072, 24 heads (8 for keys and values), 128256 tokens, tied embedding",
     "Llama-3.2-3B, Grattafiori et al., arXiv:2407.21783"},
    {"llama-3-8b", 8030261248, 32, 4096, 0, 0, 0,
     "32 layers of 4096, 32 heads (8 for keys and values), 128256 tokens, head of its own",
     "Llama 3 8B, Grattafiori et al., arXiv:2407.21783, table 3"},
    {"llama-3-70b", 70553706496, 80, 8192, 0, 0, 0,
     "80 layers of 8192, 64 heads (8 for keys and values), 128256 tokens, head of its own",
     "Llama 3 70B, Grattafiori et al., arXiv:2407.21783, table 3"},
    {"llama-3.1-405b", 405853388800, 126, 16384, 0, 0, 0,
     "126 layers of 16384, 128 heads (8 for keys and values), 128256 tokens, head of its own",
     "Llama 3.1 405B, Grattafiori et al., arXiv:2407.21783, table 3"},
    {"mixtral-8x7b", 46702792704, 32, 4096, 8, 2, 32,
     "32 layers of 4096, 32 heads (8 for keys and values), 8 experts a layer, 2 of a token",
     "Mixtral 8x7B, Jiang et al., arXiv:2401.04088, table 1"},
    {"deepseek-v3", 671026404352, 61, 7168, 256, 8, 58,
     "61 layers of 7168, 256 experts and a shared one in all but 3, 8 of a token; no MTP module",
     "DeepSeek-V3, arXiv:2412.19437, section 4.2"},
    {"phi-3-mini-3.8b", 3821079552, 32, 3072, 0, 0, 0,
     "32 layers of 3072, 32 heads, 32064 tokens, head of its own",
     "Phi-3-mini, Abdin et al., arXiv:2404.14219"},
    {"qwen-2.5-3b", 3085938688, 36, 2048, 0, 0, 0,
     "36 layers of 2048, 16 heads (2 for keys and values), 151936 tokens, tied embedding",
     "Qwen2.5-3B, arXiv:2412.15115"},
    {"bert-large", 335141888, 24, 1024, 0, 0, 0,
     "uncased, 24 layers of 1024, 30522 tokens, with the pooler, without heads of tasks",
     "Devlin et al., NAACL 2019"},
    {"gpt2", 124439808, 12, 768, 0, 0, 0,
     "the small one: 12 layers of 768, 50257 tokens, tied embedding", "Radford et al., 2019"},
    {"vgg16", 138357544, 16, 512, 0, 0, 0,
     "13 convolutions, 3 full layers, images of 224 x 224, 1000 classes",
     "Simonyan and Zisserman, ICLR 2015"},
    {NULL, 0, 0, 0, 0, 0, 0, NULL, NULL},
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
