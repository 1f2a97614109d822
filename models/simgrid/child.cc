/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim-simgrid: SimGrid as a process of its own, for the model `simgrid`; see protocol.h.
 *
 * SimGrid has one engine per process, which runs until all is over, and no call that says what
 * happens next. So it is a child process, in which one actor reads what the model says and goes to
 * sleep until a flow has ended or the horizon has come.
 *
 * The platform is links and two hosts, the ends of every flow: the way of a flow is part of the
 * message, so the zone needs no table of routes. Latency is a timer before the flow begins;
 * SimGrid's own would make flows with a long way get less of a shared link.
 */
#include "models/simgrid/request.hh"

extern "C" {
#include "cs/build.h"
}

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdio>

namespace
{

namespace sg4     = simgrid::s4u;
namespace routing = simgrid::kernel::routing;
using simgrid::kernel::timer::Timer;

/* A zone whose routes are what the flow that starts says. */
class listed_zone final : public routing::NetZoneImpl
{
  public:
    std::vector<sg4::LinkInRoute> way;

    explicit listed_zone(const std::string &name) : NetZoneImpl(name)
    {
    }

    void get_local_route(const routing::NetPoint *, const routing::NetPoint *, routing::Route *into,
                         double *) override
    {
        into->link_list_ = get_link_list_impl(way, false);
    }
    void get_graph(const s_xbt_graph_t *, std::map<std::string, xbt_node_t, std::less<>> *,
                   std::map<std::string, xbt_edge_t, std::less<>> *) override
    {
    }
};

struct link_state {
    sg4::Link *link;
    double     now_Bps, most_Bps; /* ever */
};

struct flow {
    double                begin_s = 0;
    uint64_t              bytes   = 0;
    std::vector<uint32_t> way;
    sg4::CommPtr          comm;
    bool                  is_there = false;
};

/* ---- The simulation. */

class simulation
{
    listed_zone            *zone;
    sg4::Host              *from, *to;
    std::vector<link_state> links;
    std::vector<flow>       flows; /* by number */
    std::vector<uint32_t>   ended;
    size_t                  n_there    = 0;
    bool                    is_waiting = false;
    sg4::SemaphorePtr       wake;

    void add_flows(cs_sg_request &request);
    void begin(uint32_t number);
    void end(uint32_t number);
    void wake_up();
    void run(double horizon_s);
    void converse();
    void drive();

  public:
    void open(cs_sg_request &request);
};

/* Times that are closer than rounding may part them are one. How close that is grows with them. */
void set_precision(double clock_s)
{
    sg4::Engine::set_config("surf/precision", clock_s * 1e-14);
}

/* The platform must be whole before the engine runs. */
void simulation::open(cs_sg_request &request)
{
    cs_child_must_be_of("collsim-simgrid", cs_build(), request.take_build());
    const cs_sg_platform platform = request.take_platform();

    zone = new listed_zone("net");
    from = zone->get_iface()->create_host("from", 1e9);
    to   = zone->get_iface()->create_host("to", 1e9);
    for (const double bandwidth : platform.bandwidth_Bps) {
        auto *link = zone->get_iface()->create_link("l" + std::to_string(links.size()), bandwidth);
        links.push_back({link->seal(), bandwidth, bandwidth});
    }
    zone->get_iface()->seal();
    for (const cs_sg_change &c : platform.changes) {
        auto &link    = links.at(c.link);
        link.most_Bps = std::fmax(link.most_Bps, c.bandwidth_Bps);
        Timer::set(c.time_s, [&link, c]() {
            link.now_Bps = c.bandwidth_Bps;
            link.link->set_bandwidth(c.bandwidth_Bps);
        });
    }
    set_precision(1e-7);
    for (double t = 1e-7; t < 1e15; t *= 10) {
        Timer::set(t, [t]() { set_precision(t); });
    }
    wake = sg4::Semaphore::create(0);
    sg4::Activity::on_completion_cb([this](const sg4::Activity &a) {
        const auto &comm = static_cast<const sg4::Comm &>(a);
        end(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(comm.get_data<void>())));
    });
    sg4::Actor::create("driver", from, [this]() { drive(); });
}

void simulation::add_flows(cs_sg_request &request)
{
    std::vector<uint32_t> way;

    while (!request.is_over()) {
        const cs_sg_flow f = request.take_flow(links.size(), &way);
        if (f.number >= flows.size()) {
            flows.resize(2 * static_cast<size_t>(f.number) + 2);
        }
        flow &it = flows[f.number];
        if (it.is_there) {
            throw std::runtime_error("a flow is there already");
        }
        it.bytes    = f.bytes;
        it.is_there = true;
        it.way      = way;
        n_there++;
        /* Never from the actor, where SimGrid would not say when the flow ends. */
        Timer::set(std::fmax(f.begin_s, sg4::Engine::get_clock()),
                   [this, f]() { begin(f.number); });
    }
}

/* SimGrid never lets a flow be faster than its links were when it began. So links show the most
 * that they ever have while it does; no time passes. */
void simulation::begin(uint32_t number)
{
    flow &f = flows[number];

    if (f.bytes == 0) {
        end(number);
        return;
    }
    zone->way.clear();
    for (uint32_t index : f.way) {
        link_state &link = links.at(index);
        zone->way.emplace_back(link.link);
        if (link.now_Bps < link.most_Bps) {
            link.link->set_bandwidth(link.most_Bps);
        }
    }
    f.comm = sg4::Comm::sendto_init(from, to);
    f.comm->set_payload_size(f.bytes);
    f.comm->set_data(reinterpret_cast<void *>(static_cast<uintptr_t>(number)));
    f.comm->vetoable_start();
    for (uint32_t index : f.way) {
        link_state &link = links[index];
        if (link.now_Bps < link.most_Bps) {
            link.link->set_bandwidth(link.now_Bps);
        }
    }
}

void simulation::end(uint32_t number)
{
    ended.push_back(number);
    wake_up();
}

void simulation::wake_up()
{
    if (is_waiting) {
        is_waiting = false;
        wake->release();
    }
}

void simulation::run(double horizon_s)
{
    bool is_late = horizon_s <= sg4::Engine::get_clock();

    if (ended.empty() && !is_late) {
        if (n_there == 0 && std::isinf(horizon_s)) {
            throw std::runtime_error("nothing ever ends");
        }
        Timer *timer = nullptr;
        if (!std::isinf(horizon_s)) {
            timer = Timer::set(horizon_s, [this, &timer]() {
                timer = nullptr;
                wake_up();
            });
        }
        is_waiting = true;
        wake->acquire();
        if (timer != nullptr) {
            timer->remove();
        }
    }
    const cs_sg_event event = {sg4::Engine::get_clock(), static_cast<uint32_t>(ended.size()), 0};
    cs_child_say_event(event, ended);
    for (uint32_t number : ended) {
        flows[number].comm.reset();
        flows[number].is_there = false;
    }
    n_there -= ended.size();
    ended.clear();
}

void simulation::converse()
{
    cs_sg_request request;

    cs_child_say(CS_TALK_READY, nullptr, 0);
    while (request.read_next(cs_child_read)) {
        switch (request.kind) {
        case CS_TALK_WORK: add_flows(request); break;
        case CS_TALK_RUN: run(request.take_horizon()); break;
        default: throw std::runtime_error("a message of an unknown kind");
        }
    }
}

void simulation::drive()
{
    try {
        converse();
    } catch (const std::exception &e) {
        cs_child_fail(e.what());
    }
    _Exit(0); /* the engine's destructor has nothing to do that counts */
}

} // namespace

int main()
{
    static const char *const settings[] = {
        "collsim-simgrid",
        "--cfg=network/model:CM02",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/bandwidth-factor:1",
        "--cfg=network/latency-factor:1",
        "--cfg=network/weight-S:0",
        "--cfg=maxmin/precision:1e-12",
        "--log=root.thres:error",
    };
    int                 argc = sizeof settings / sizeof settings[0];
    std::vector<char *> argv;

    if (isatty(STDIN_FILENO)) {
        fputs("collsim-simgrid: SimGrid for 'collsim run -m simgrid', which starts it\n", stderr);
        return 2;
    }
    try {
        for (const char *setting : settings) {
            argv.push_back(const_cast<char *>(setting));
        }
        argv.push_back(nullptr);
        sg4::Engine   engine(&argc, argv.data());
        simulation    it;
        cs_sg_request first;
        if (!first.read_next(cs_child_read)) {
            return 1;
        }
        it.open(first);
        engine.run();
    } catch (const std::exception &e) {
        cs_child_fail(e.what());
    }
    cs_child_fail("SimGrid came to an end by itself");
}
