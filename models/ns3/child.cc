/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collsim-ns3: ns-3 as a process of its own, for the model `ns3`; see protocol.h.
 *
 * Every link is a point-to-point channel with a device at each end, of which one sends. A sending
 * port hands its device one packet ahead of the one that is on the wire: that is as if all packets
 * waited in its queue. What ns-3 is told to do is stopped by an event: a message has ended, or the
 * horizon has come. It then goes on where it was, to the picosecond.
 *
 * Without stacks (RAW) switches are the devices' receive callbacks: a packet names its message by
 * ns-3's number of it, and the message has the way. Packets that come to switches in one picosecond
 * are collected and go on by the number of the link that they came over, whatever the order of
 * ns-3's events was. With stacks (UDP, TCP) hosts are nodes with IPv4, and all switches are one
 * node, whose interfaces have nothing in common; routes are those that the messages say.
 *
 * ns-3 is under version 2 of the licence: this program is linked with no file under another one.
 */
#include "models/ns3/request.hh"

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cstdio>
#include <deque>
#include <memory>

extern "C" const char *cs_build(void);

namespace
{

using namespace ns3;

Time ps(int64_t count)
{
    return PicoSeconds(static_cast<uint64_t>(count));
}

int64_t now_ps()
{
    return Simulator::Now().GetPicoSeconds();
}

/* The messages of packets that are under way, by ns3's numbers of packets: growing numbers, of which
 * old ones leave. */
class packet_table
{
  public:
    struct entry {
        uint64_t uid     = 0;
        uint32_t message = 0, packet = 0;
        uint32_t at      = 0; /* place in its way of the link that it is on */
        bool     is_used = false;
    };

  private:
    std::vector<entry> entries = std::vector<entry>(1024);

    entry &place(uint64_t uid)
    {
        return entries[uid & (entries.size() - 1)];
    }
    void grow()
    {
        std::vector<entry> old(2 * entries.size());
        old.swap(entries);
        for (const entry &e : old) {
            if (e.is_used) {
                place(e.uid) = e;
            }
        }
    }

  public:
    void put(uint64_t uid, uint32_t message, uint32_t packet)
    {
        while (place(uid).is_used) {
            grow();
        }
        place(uid) = {uid, message, packet, 0, true};
    }
    entry &find(uint64_t uid)
    {
        entry &e = place(uid);
        if (!e.is_used || e.uid != uid) {
            throw std::runtime_error("a packet belongs to no message");
        }
        return e;
    }
    entry take(uint64_t uid)
    {
        const entry e     = find(uid);
        place(uid).is_used = false;
        return e;
    }
};

struct message {
    cs_ns3_work work;
    int64_t     n_packets = 0, sent = 0, delivered = 0, lost = 0;
    bool        is_there = false;

    /* The way of packet i. */
    const uint32_t *way(int64_t i) const
    {
        const uint64_t path = (static_cast<uint64_t>(i) + work.head.first_path) % work.head.n_paths;
        return work.links.data() + work.way_at[path];
    }
    uint32_t first_link() const
    {
        return work.links[0];
    }
    /* Bytes of packet i on the wire. */
    uint32_t wire_bytes(int64_t i) const
    {
        const cs_ns3_message &h = work.head;
        const int64_t payload   = i + 1 < n_packets ? h.mtu : h.bytes - (n_packets - 1) * h.mtu;
        return static_cast<uint32_t>(h.header + payload);
    }
};

/* One direction; and, of a sending port, the messages that wait for it. */
struct output {
    Ptr<PointToPointNetDevice> device;
    std::deque<uint32_t>       waiting;
    EventId                    begin; /* of the first that waits */
    uint64_t                   n_drops = 0;
};

/* What is simulated, and how it is driven. */
class network
{
  protected:
    cs_ns3_platform      platform;
    std::vector<output>  outputs;  /* by link */
    std::vector<message> messages; /* by number */

    /* Take over a message that was just told. */
    virtual void add(uint32_t number) = 0;

    static Ptr<PointToPointNetDevice> device_of(const Ptr<Node> &node, int64_t bps);
    void connect(uint32_t link, const Ptr<Node> &from, const Ptr<Node> &to, const QueueSize &size);
    void arrived(uint32_t number);
    void lose(uint32_t number, uint32_t link);

    QueueSize no_limit() const
    {
        return {QueueSizeUnit::PACKETS, UINT32_MAX};
    }

  public:
    uint64_t n_packets = 0;

    explicit network(const cs_ns3_platform &whole)
        : platform(whole), outputs(whole.links.size())
    {
    }
    virtual ~network() = default;

    void schedule_changes();
    void take_messages(cs_ns3_request &request);
    void run(int64_t horizon_ps);

  private:
    std::vector<uint32_t> ended;
    uint64_t              n_drops    = 0;
    uint32_t              n_there    = 0, n_lost = 0, worst_link = 0;
    bool                  is_stopping = false;

    void stop();
    void leave(uint32_t number);
};

Ptr<PointToPointNetDevice> network::device_of(const Ptr<Node> &node, int64_t bps)
{
    auto device = CreateObject<PointToPointNetDevice>();

    device->SetDataRate(DataRate(static_cast<uint64_t>(bps)));
    device->SetMtu(UINT16_MAX);
    device->SetAddress(Mac48Address::Allocate());
    device->SetNode(node);
    return device;
}

/* A link between two nodes: its device is at `from`, the receiving one beside it. */
void network::connect(uint32_t number, const Ptr<Node> &from, const Ptr<Node> &to,
                      const QueueSize &size)
{
    const cs_ns3_link &link    = platform.links[number];
    auto               channel = CreateObject<PointToPointChannel>();
    auto               queue   = CreateObject<DropTailQueue<Packet>>();
    auto               sender = device_of(from, link.bps), receiver = device_of(to, link.bps);

    channel->SetAttribute("Delay", TimeValue(ps(link.delay_ps)));
    queue->SetMaxSize(size);
    sender->SetQueue(queue);
    sender->Attach(channel);
    receiver->Attach(channel);
    outputs[number].device = sender;
}

void network::schedule_changes()
{
    for (const cs_ns3_change &c : platform.changes) {
        Simulator::Schedule(ps(c.time_ps), [this, c]() {
            outputs[c.link].device->SetDataRate(DataRate(static_cast<uint64_t>(c.bps)));
        });
    }
}

void network::take_messages(cs_ns3_request &request)
{
    cs_ns3_work work;

    while (!request.is_over()) {
        request.take_work(platform, &work);
        const cs_ns3_message &h = work.head;
        if (h.number >= messages.size()) {
            messages.resize(2 * static_cast<size_t>(h.number) + 2);
        }
        message &m = messages[h.number];
        if (m.is_there) {
            throw std::runtime_error("a message is there already");
        }
        m           = {};
        m.n_packets = h.bytes == 0 ? 1 : (h.bytes - 1) / h.mtu + 1;
        m.is_there  = true;
        std::swap(m.work, work);
        n_there++;
        add(m.work.head.number);
    }
}

/* Stop when all that happens in this picosecond has happened. */
void network::stop()
{
    if (!is_stopping) {
        is_stopping = true;
        Simulator::ScheduleNow([]() { Simulator::Stop(); });
    }
}

/* A packet is where it should be. */
void network::arrived(uint32_t number)
{
    messages[number].delivered++;
    leave(number);
}

/* The queue of a link has dropped a packet: its message will never end. */
void network::lose(uint32_t number, uint32_t link)
{
    n_drops++;
    if (++outputs[link].n_drops > outputs[worst_link].n_drops) {
        worst_link = link;
    }
    n_lost += messages[number].lost++ == 0;
    leave(number);
}

/* Is nothing of a message under way any more? */
void network::leave(uint32_t number)
{
    message &m = messages[number];

    if (m.delivered + m.lost < m.n_packets) {
        return;
    }
    n_there--;
    if (m.lost == 0) {
        m.is_there = false;
        ended.push_back(number);
        stop();
    }
}

void network::run(int64_t horizon_ps)
{
    EventId horizon;
    bool    is_over = n_there == 0;

    is_stopping = false;
    if (horizon_ps > now_ps()) {
        if (horizon_ps != INT64_MAX) {
            horizon = Simulator::Schedule(ps(horizon_ps - now_ps()), [this]() { stop(); });
        }
        Simulator::Run();
        horizon.Cancel();
        is_over = n_there == 0 || !is_stopping; /* nothing is left to happen */
    }
    const cs_ns3_event event = {now_ps(),
                                n_packets,
                                n_drops,
                                outputs.empty() ? 0 : outputs[worst_link].n_drops,
                                worst_link,
                                n_lost,
                                static_cast<uint32_t>(ended.size()),
                                is_over};
    cs_child_say_event(event, ended);
    ended.clear();
}

/* ---- Packets that sending ports send as soon as they can. */

class ports : public network
{
    void pump(uint32_t link);

  protected:
    packet_table packets;

    /* Send packet i of a message over its first link. */
    virtual void send(uint32_t number, int64_t i) = 0;

    void add(uint32_t number) override;

    /* Keep the port's device one packet ahead. */
    void keep_ahead(uint32_t link)
    {
        outputs[link].device->TraceConnectWithoutContext(
            "PhyTxBegin",
            Callback<void, Ptr<const Packet>>([this, link](Ptr<const Packet>) { pump(link); }));
    }

  public:
    using network::network;
};

void ports::add(uint32_t number)
{
    const uint32_t link = messages[number].first_link();

    outputs[link].waiting.push_back(number);
    if (outputs[link].waiting.size() == 1) { /* not before what else happens now */
        Simulator::ScheduleNow([this, link]() { pump(link); });
    }
}

void ports::pump(uint32_t link)
{
    output &out = outputs[link];

    while (!out.waiting.empty() && out.device->GetQueue()->IsEmpty()) {
        const uint32_t number  = out.waiting.front();
        message       &m       = messages[number];
        const int64_t  wait_ps = m.work.head.begin_ps - now_ps();
        if (wait_ps > 0) {
            if (!out.begin.IsRunning()) {
                out.begin =
                    Simulator::Schedule(ps(wait_ps), [this, link]() { pump(link); });
            }
            return;
        }
        const int64_t i = m.sent++;
        if (m.sent == m.n_packets) {
            out.waiting.pop_front();
        }
        n_packets++;
        send(number, i); /* may come back here, when the device was idle */
    }
}

/* ---- RAW: no stack. */

class raw_network : public ports
{
    struct arrival {
        uint32_t    link;
        Ptr<Packet> packet;
    };
    Ptr<Node>            node = CreateObject<Node>(); /* of all devices, which have no use for it */
    std::vector<arrival> arrivals; /* at switches, in this picosecond */

    void send(uint32_t number, int64_t i) override;
    void flush();
    void receive(uint32_t link, const Ptr<const Packet> &packet);
    void pass(const arrival &a);

  public:
    explicit raw_network(const cs_ns3_platform &whole);
};

raw_network::raw_network(const cs_ns3_platform &whole) : ports(whole)
{
    const auto limit = static_cast<uint32_t>(platform.open.queue_bytes);

    for (uint32_t l = 0; l < platform.links.size(); l++) {
        const bool is_limited = limit > 0 && platform.links[l].from == CS_NS3_SWITCH;
        connect(l, node, node, is_limited ? QueueSize(QueueSizeUnit::BYTES, limit) : no_limit());
        const auto channel = DynamicCast<PointToPointChannel>(outputs[l].device->GetChannel());
        channel->GetPointToPointDevice(1)->SetReceiveCallback(
            Callback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &>(
                [this, l](Ptr<NetDevice>, Ptr<const Packet> p, uint16_t, const Address &) {
                    receive(l, p);
                    return true;
                }));
        if (platform.links[l].from != CS_NS3_SWITCH) {
            keep_ahead(l);
        }
    }
}

/* PPP adds its bytes itself. */
void raw_network::send(uint32_t number, int64_t i)
{
    const message &m      = messages[number];
    auto           packet = Create<Packet>(m.wire_bytes(i) - CS_NS3_PPP_BYTES);
    const auto     device = outputs[m.way(i)[0]].device;

    packets.put(packet->GetUid(), number, static_cast<uint32_t>(i));
    device->Send(packet, device->GetBroadcast(), 0x0800);
}

void raw_network::receive(uint32_t link, const Ptr<const Packet> &packet)
{
    const packet_table::entry &e   = packets.find(packet->GetUid());
    const uint32_t            *way = messages[e.message].way(e.packet);

    if (way[e.at] != link) {
        throw std::runtime_error("a packet left its way");
    }
    if (way[e.at + 1] == CS_NS3_END) {
        arrived(packets.take(packet->GetUid()).message);
        return;
    }
    if (arrivals.empty()) {
        Simulator::ScheduleNow([this]() { flush(); });
    }
    arrivals.push_back({link, packet->Copy()});
}

void raw_network::flush()
{
    std::sort(arrivals.begin(), arrivals.end(),
              [](const arrival &a, const arrival &b) { return a.link < b.link; });
    for (const arrival &a : arrivals) {
        pass(a);
    }
    arrivals.clear();
}

/* A switch sends a packet on, or drops it. */
void raw_network::pass(const arrival &a)
{
    const uint64_t       uid    = a.packet->GetUid();
    packet_table::entry &e      = packets.find(uid);
    const uint32_t       next   = messages[e.message].way(e.packet)[++e.at];
    const auto           device = outputs[next].device;

    if (!device->Send(a.packet, device->GetBroadcast(), 0x0800)) {
        lose(packets.take(uid).message, next);
    }
}

/* ---- The conversation. */

std::unique_ptr<network> network_of(cs_ns3_request &request, cs_ns3_platform *platform)
{
    cs_child_must_be_of("collsim-ns3", cs_build(), request.take_build());
    *platform = request.take_platform();
    if (platform->open.mode == CS_NS3_RAW) {
        return std::make_unique<raw_network>(*platform);
    }
    throw std::runtime_error("a mode that there is not");
}

void converse()
{
    cs_ns3_request  request;
    cs_ns3_platform platform;

    if (!request.read_next(cs_child_read)) {
        return;
    }
    const auto net = network_of(request, &platform);
    net->schedule_changes();
    cs_child_say(CS_TALK_READY, nullptr, 0);
    while (request.read_next(cs_child_read)) {
        switch (request.kind) {
        case CS_TALK_WORK: net->take_messages(request); break;
        case CS_TALK_RUN: net->run(request.take_horizon()); break;
        default: throw std::runtime_error("a message of an unknown kind");
        }
    }
    _Exit(0); /* there is nothing to tidy up that counts */
}

} // namespace

int main()
{
    if (isatty(STDIN_FILENO)) {
        fputs("collsim-ns3: ns-3 for 'collsim run -m ns3', which starts it\n", stderr);
        return 2;
    }
    try {
        Time::SetResolution(Time::PS);
        ObjectFactory scheduler("ns3::PriorityQueueScheduler");
        Simulator::SetScheduler(scheduler);
        converse();
    } catch (const std::exception &e) {
        cs_child_fail(e.what());
    }
    return 1; /* nobody said anything */
}
