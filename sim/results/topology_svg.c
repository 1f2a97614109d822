/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as a picture: a self-contained SVG 1.1, the same bytes for the same topology. */
#include "results/topology_svg.h"

#include "results/svg.h"

#include <string.h>

#define MOST 1024u

void cs_topology_svg_begin(cs_text *out, double width, double height, const char *title)
{
    cs_svg_begin(out, width, height, " font-family=\"sans-serif\" font-size=\"11\"");
    cs_svg_paper(out);
    cs_text_add(out, "<text x=\"%.0f\" y=\"22\" font-size=\"15\">", CS_TOPOLOGY_MARGIN);
    cs_svg_words(out, title, strlen(title));
    cs_text_add(out, "</text>\n");
}

static cs_status draw_links(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    const cs_cluster *c       = view->cluster;
    uint32_t          n_links = c->topology != NULL ? c->topology->n_links : 0;
    const cs_graph   *graph   = cs_graph_of(c->topology);

    if (n_links > MOST || c->n_ranks > MOST) {
        return CS_FAIL(err, CS_ENOTSUP, "topology",
                       "%u ranks and %u links are too many for a picture: accepted are %u of each",
                       c->n_ranks, n_links, MOST);
    }
    return graph != NULL ? cs_topology_svg_graph(view, graph, out, err)
                         : cs_topology_svg_layers(view, out, err);
}

cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_status status =
        view->site != NULL ? cs_topology_svg_servers(view, out, err) : draw_links(view, out, err);
    return status == CS_OK ? cs_text_status(out, err) : status;
}
