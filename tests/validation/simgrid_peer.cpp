/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule as a graph of messages on SimGrid's flow model, for comparison with ours.
 *
 * Reads from standard input, blank-separated:
 *   hosts N
 *   links N, then N lines: bandwidth
 *   changes N, then N lines: link time bandwidth
 *   timers N, then N lines: time
 *   messages N, then N lines: src dst bytes latency, number of links, links, number of
 *   prerequisites, prerequisites (messages count from 0, timers from -1 down)
 * A message starts when everything that it needs has ended; its bytes flow when its latency is over.
 * (As a property of SimGrid's links latency would also take from the flow's share of a link.) Prints
 * the time of the last end and the seconds that the simulation took, without the building of the
 * platform.
 */
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct node {
    int              waits = 0;
    std::vector<int> behind;
};

struct message : node {
    int            src, dst;
    double         bytes, latency;
    sg4::CommPtr   comm;
};

static std::vector<message>     messages;
static std::vector<node>        timers;
static std::vector<sg4::Host *> hosts;
static size_t                   n_left;

static std::chrono::steady_clock::time_point begin;

static void begin_flow(int index)
{
    message &m = messages[index];
    m.comm     = sg4::Comm::sendto_init(hosts[m.src], hosts[m.dst]);
    m.comm->set_payload_size((uint64_t)m.bytes);
    m.comm->set_data(reinterpret_cast<void *>((intptr_t)index));
    m.comm->vetoable_start();
}

static void start(int index)
{
    if (messages[index].latency > 0) {
        simgrid::kernel::timer::Timer::set(sg4::Engine::get_clock() + messages[index].latency,
                                           [index]() { begin_flow(index); });
    } else {
        begin_flow(index);
    }
}

static void ended(const node &n)
{
    for (int next : n.behind) {
        if (--messages[next].waits == 0) {
            start(next);
        }
    }
}

static int count(const char *what)
{
    std::string word;
    int         n = 0;
    if (!(std::cin >> word >> n) || word != what) {
        fprintf(stderr, "'%s' was expected\n", what);
        exit(2);
    }
    return n;
}

static std::vector<sg4::Link *> build(sg4::NetZone *zone)
{
    hosts.resize(count("hosts"));
    for (size_t i = 0; i < hosts.size(); i++) {
        hosts[i] = zone->create_host("h" + std::to_string(i), 1e9);
    }
    std::vector<sg4::Link *> links(count("links"));
    for (size_t i = 0; i < links.size(); i++) {
        double bandwidth;
        std::cin >> bandwidth;
        links[i] = zone->create_link("l" + std::to_string(i), bandwidth)->set_latency(0);
        links[i]->seal();
    }
    return links;
}

static void read_changes(const std::vector<sg4::Link *> &links)
{
    for (int n = count("changes"); n > 0; n--) {
        int    link;
        double time, bandwidth;
        std::cin >> link >> time >> bandwidth;
        simgrid::kernel::timer::Timer::set(
            time, [=]() { links[link]->set_bandwidth(bandwidth); });
    }
    timers.resize(count("timers"));
    for (size_t i = 0; i < timers.size(); i++) {
        double time;
        std::cin >> time;
        simgrid::kernel::timer::Timer::set(time, [i]() { ended(timers[i]); });
    }
}

static void read_messages(sg4::NetZone *zone, const std::vector<sg4::Link *> &links)
{
    std::set<std::pair<int, int>> known;
    messages.resize(count("messages"));
    for (size_t i = 0; i < messages.size(); i++) {
        message                      &m = messages[i];
        int                           n, index;
        std::vector<sg4::LinkInRoute> route;
        std::cin >> m.src >> m.dst >> m.bytes >> m.latency >> n;
        for (; n > 0; n--) {
            std::cin >> index;
            route.emplace_back(links[index]);
        }
        if (known.emplace(m.src, m.dst).second) {
            zone->add_route(hosts[m.src]->get_netpoint(), hosts[m.dst]->get_netpoint(), nullptr,
                            nullptr, route, false);
        }
        for (std::cin >> m.waits, n = m.waits; n > 0; n--) {
            std::cin >> index;
            node &before = index >= 0 ? static_cast<node &>(messages[index]) : timers[-1 - index];
            before.behind.push_back((int)i);
        }
    }
}

[[noreturn]] static void finish()
{
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    printf("%.17g %.6f\n", sg4::Engine::get_clock(), spent.count());
    fflush(stdout);
    _Exit(0); /* the engine's destructor takes longer than the simulation */
}

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    auto       *zone  = sg4::create_full_zone("net");
    auto        links = build(zone);

    read_changes(links);
    read_messages(zone, links);
    zone->seal();
    n_left = messages.size();
    sg4::Activity::on_completion_cb([](sg4::Activity const &a) {
        int index = (int)(intptr_t) static_cast<sg4::Comm const &>(a).get_data<void>();
        ended(messages[index]);
        if (--n_left == 0) {
            finish();
        }
    });
    /* The engine stops when no actor is left, whatever is still under way. */
    sg4::Actor::create("keeper", hosts[0], []() { sg4::this_actor::sleep_until(1e9); });
    begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < messages.size(); i++) {
        if (messages[i].waits == 0) {
            start((int)i);
        }
    }
    engine.run();
    fprintf(stderr, "%zu messages never ended\n", n_left);
    return 1;
}
