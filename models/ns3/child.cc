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
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <deque>
#include <map>
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

/* A link with a device at each end. */
struct wire {
    Ptr<PointToPointNetDevice>    sender, receiver;
    Ptr<DropTailQueue<Packet>> queue; /* of the sender */
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

    /* The queue of a link has dropped a packet. */
    virtual void dropped(uint32_t link, uint64_t uid) = 0;

    wire connect(uint32_t link, const Ptr<Node> &from, const Ptr<Node> &to);
    void arrived(uint32_t number);
    void count_drop(uint32_t link);
    void lose(uint32_t number);

    bool is_limited(uint32_t link) const
    {
        return platform.open.queue_bytes > 0 && platform.links[link].from == CS_NS3_SWITCH;
    }
    QueueSize limit(uint32_t link) const
    {
        return is_limited(link) ? QueueSize(QueueSizeUnit::BYTES,
                                            static_cast<uint32_t>(platform.open.queue_bytes))
                                : QueueSize(QueueSizeUnit::BYTES, UINT32_MAX);
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

wire network::connect(uint32_t number, const Ptr<Node> &from, const Ptr<Node> &to)
{
    const cs_ns3_link &link    = platform.links[number];
    auto               channel = CreateObject<PointToPointChannel>();
    const wire         ends    = {CreateObject<PointToPointNetDevice>(),
                                  CreateObject<PointToPointNetDevice>(),
                                  CreateObject<DropTailQueue<Packet>>()};

    channel->SetAttribute("Delay", TimeValue(ps(link.delay_ps)));
    for (const auto &device : {ends.sender, ends.receiver}) {
        device->SetMtu(UINT16_MAX);
        device->SetAddress(Mac48Address::Allocate());
        device->SetNode(device == ends.sender ? from : to);
        device->Attach(channel);
    }
    ends.sender->SetDataRate(DataRate(static_cast<uint64_t>(link.bps)));
    ends.sender->SetQueue(ends.queue);
    ends.queue->SetMaxSize(is_limited(number) ? limit(number)
                                              : QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX));
    ends.queue->TraceConnectWithoutContext(
        "Drop", Callback<void, Ptr<const Packet>>(
                    [this, number](Ptr<const Packet> p) { dropped(number, p->GetUid()); }));
    outputs[number].device = ends.sender;
    return ends;
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

void network::count_drop(uint32_t link)
{
    n_drops++;
    if (++outputs[link].n_drops > outputs[worst_link].n_drops) {
        worst_link = link;
    }
}

/* A packet is nowhere: its message will never end. */
void network::lose(uint32_t number)
{
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
    void dropped(uint32_t link, uint64_t uid) override;

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

void ports::dropped(uint32_t link, uint64_t uid)
{
    count_drop(link);
    lose(packets.take(uid).message);
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
    for (uint32_t l = 0; l < platform.links.size(); l++) {
        connect(l, node, node)
            .receiver->SetReceiveCallback(
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

/* A switch sends a packet on, or its queue drops it. */
void raw_network::pass(const arrival &a)
{
    packet_table::entry &e      = packets.find(a.packet->GetUid());
    const uint32_t       next   = messages[e.message].way(e.packet)[++e.at];
    const auto           device = outputs[next].device;

    device->Send(a.packet, device->GetBroadcast(), 0x0800);
}

/* ---- Nodes with IPv4. */

/* The link behind `link` on the way of a packet that is at a switch. */
struct switching {
    virtual ~switching() = default;
    virtual uint32_t next_link(const Ptr<const Packet> &packet, const Ipv4Header &header,
                               uint32_t link) = 0;
};

/* Hosts, and one node for all switches. Every sending port has an address that is made of the number
 * of its link. */
class stacks
{
    class routing;
    class helper;

    NodeContainer                     hosts;
    Ptr<Node>                         switches = CreateObject<Node>();
    std::map<const NetDevice *, uint32_t> links; /* that lead to a switch */
    const std::vector<output>        &outputs;
    switching                        &ways;

    Ptr<Ipv4Route> route(const Ipv4Header &header, uint32_t link) const;

  public:
    uint32_t sending = CS_NS3_END; /* the link of what is sent now, where its source is not known */

    stacks(uint32_t n_hosts, const std::vector<output> &all, switching &how);

    static Ipv4Address address_of(uint32_t link)
    {
        return Ipv4Address((uint32_t{10} << 24) + 1 + link);
    }
    /* Who receives over a link: no interface's, since the way says where a packet goes. */
    static Ipv4Address far_end(uint32_t link)
    {
        return Ipv4Address((uint32_t{11} << 24) + 1 + link);
    }
    static uint32_t link_of(const Ipv4Address &address)
    {
        return address.Get() - (uint32_t{10} << 24) - 1;
    }
    Ptr<Node> node(uint32_t host) const
    {
        return host == CS_NS3_SWITCH ? switches : hosts.Get(host);
    }
    uint32_t n_hosts() const
    {
        return hosts.GetN();
    }
    /* Make interfaces of the devices of a link. */
    void plug(uint32_t link, const wire &ends);
};

/* A packet that is sent leaves over the link of its source; one that comes is for this node if it
 * is a host, and else goes the way that it has. */
class stacks::routing : public Ipv4RoutingProtocol
{
    stacks   &net;
    Ptr<Ipv4> ipv4;

  public:
    explicit routing(stacks &whole) : net(whole)
    {
    }
    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &header, Ptr<NetDevice>,
                               Socket::SocketErrno &failure) override
    {
        failure = Socket::ERROR_NOTERROR;
        return net.route(header, net.sending != CS_NS3_END ? net.sending
                                                           : link_of(header.GetSource()));
    }
    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header &header, Ptr<const NetDevice> device,
                    UnicastForwardCallback forward, MulticastForwardCallback,
                    LocalDeliverCallback deliver, ErrorCallback) override
    {
        const auto link = net.links.find(PeekPointer(device));

        if (link == net.links.end()) {
            deliver(packet, header, static_cast<uint32_t>(ipv4->GetInterfaceForDevice(device)));
        } else {
            forward(net.route(header, net.ways.next_link(packet, header, link->second)), packet, header);
        }
        return true;
    }
    void NotifyInterfaceUp(uint32_t) override
    {
    }
    void NotifyInterfaceDown(uint32_t) override
    {
    }
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }
    void SetIpv4(Ptr<Ipv4> its) override
    {
        ipv4 = its;
    }
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }
};

class stacks::helper : public Ipv4RoutingHelper
{
    stacks &net;

  public:
    explicit helper(stacks &whole) : net(whole)
    {
    }
    Ipv4RoutingHelper *Copy() const override
    {
        return new helper(net);
    }
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override
    {
        return CreateObject<routing>(std::ref(net));
    }
};

stacks::stacks(uint32_t n_hosts, const std::vector<output> &all, switching &how)
    : outputs(all), ways(how)
{
    InternetStackHelper internet;

    hosts.Create(n_hosts);
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(helper(*this));
    internet.Install(hosts);
    internet.Install(switches);
}

void stacks::plug(uint32_t link, const wire &ends)
{
    for (const auto &device : {ends.sender, ends.receiver}) {
        const auto     node  = device->GetNode();
        const auto     ipv4  = node->GetObject<Ipv4>();
        node->AddDevice(device);
        const uint32_t place = ipv4->AddInterface(device);
        if (device == ends.sender && node != switches) {
            ipv4->AddAddress(place, Ipv4InterfaceAddress(address_of(link), Ipv4Mask::GetOnes()));
        }
        ipv4->SetUp(place);
    }
    if (ends.receiver->GetNode() == switches) {
        links[PeekPointer(ends.receiver)] = link;
    }
}

Ptr<Ipv4Route> stacks::route(const Ipv4Header &header, uint32_t link) const
{
    auto way = Create<Ipv4Route>();

    way->SetSource(sending != CS_NS3_END ? address_of(link) : header.GetSource());
    way->SetDestination(header.GetDestination());
    way->SetGateway(Ipv4Address::GetZero());
    way->SetOutputDevice(outputs[link].device);
    return way;
}

/* The link behind `link` on a way; CS_NS3_END where it is not on it. */
uint32_t link_behind(const uint32_t *way, uint32_t link)
{
    while (*way != CS_NS3_END && *way != link) {
        way++;
    }
    if (*way == CS_NS3_END || way[1] == CS_NS3_END) {
        throw std::runtime_error("a packet left its way");
    }
    return way[1];
}

/* ---- UDP: a datagram is a packet, whose header has what IPv4, UDP and PPP need of it. */

class udp_network : public ports, switching
{
    static constexpr uint16_t port = 9;

    stacks                   net{platform.open.n_hosts, outputs, *this};
    std::vector<Ptr<Socket>> sockets; /* by host */

    void     send(uint32_t number, int64_t i) override;
    uint32_t next_link(const Ptr<const Packet> &packet, const Ipv4Header &, uint32_t link) override
    {
        const packet_table::entry &e = packets.find(packet->GetUid());
        return link_behind(messages[e.message].way(e.packet), link);
    }
    void receive(const Ptr<Socket> &socket);

  public:
    explicit udp_network(const cs_ns3_platform &whole);
};

udp_network::udp_network(const cs_ns3_platform &whole) : ports(whole)
{
    for (uint32_t l = 0; l < platform.links.size(); l++) {
        const cs_ns3_link &link = platform.links[l];
        net.plug(l, connect(l, net.node(link.from), net.node(link.to)));
        if (link.from != CS_NS3_SWITCH) {
            keep_ahead(l);
        }
    }
    for (uint32_t h = 0; h < net.n_hosts(); h++) {
        sockets.push_back(Socket::CreateSocket(net.node(h), UdpSocketFactory::GetTypeId()));
        sockets[h]->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        sockets[h]->SetRecvCallback(Callback<void, Ptr<Socket>>(
            [this](Ptr<Socket> socket) { receive(socket); }));
    }
}

void udp_network::send(uint32_t number, int64_t i)
{
    const message  &m      = messages[number];
    const uint32_t *way    = m.way(i);
    auto            packet = Create<Packet>(m.wire_bytes(i) - CS_NS3_UDP_BYTES);

    packets.put(packet->GetUid(), number, static_cast<uint32_t>(i));
    net.sending = *way;
    while (way[1] != CS_NS3_END) {
        way++;
    }
    sockets[platform.links[net.sending].from]->SendTo(
        packet, 0, InetSocketAddress(stacks::far_end(*way), port));
    net.sending = CS_NS3_END;
}

void udp_network::receive(const Ptr<Socket> &socket)
{
    while (const auto packet = socket->Recv()) {
        arrived(packets.take(packet->GetUid()).message);
    }
}

/* ---- TCP: between two ports one connection, which is opened by its first message and stays open;
 * a message is its bytes in it, at least one. */

class tcp_network : public network, switching
{
    static constexpr uint16_t port = 9;

    struct part {
        uint32_t message;
        uint64_t end; /* in the bytes of the connection */
    };
    struct connection {
        Ptr<Socket>      client;
        std::deque<part> parts; /* that have not been received */
        uint64_t         n_bytes = 0, sent = 0, received = 0;
    };
    using ends = std::pair<uint32_t, uint32_t>; /* the sending ports of both */

    stacks                                net{platform.open.n_hosts, outputs, *this};
    std::map<ends, connection>            connections;
    std::map<ends, std::vector<uint32_t>> ways;
    std::vector<Ptr<Socket>>              listening;

    void        add(uint32_t number) override;
    void        dropped(uint32_t link, uint64_t uid) override;
    uint32_t    next_link(const Ptr<const Packet> &, const Ipv4Header &header, uint32_t link) override
    {
        return link_behind(
            ways.at({stacks::link_of(header.GetSource()), stacks::link_of(header.GetDestination())})
                .data(),
            link);
    }
    void        mark(uint32_t link, const wire &device);
    void        begin(uint32_t number);
    connection &connect_to(const message &m, const ends &both);
    void        send(connection &c);
    void        accept(const Ptr<Socket> &socket, const Address &from);
    void        receive(connection &c, const Ptr<Socket> &socket);

  public:
    explicit tcp_network(const cs_ns3_platform &whole);
};

tcp_network::tcp_network(const cs_ns3_platform &whole) : network(whole)
{
    for (uint32_t l = 0; l < platform.links.size(); l++) {
        const cs_ns3_link &link = platform.links[l];
        const wire         both = connect(l, net.node(link.from), net.node(link.to));
        net.plug(l, both);
        if (link.from == CS_NS3_SWITCH && platform.open.mark_bytes > 0) {
            mark(l, both);
        }
        if (link.from != CS_NS3_SWITCH) {
            outputs[l].device->TraceConnectWithoutContext(
                "PhyTxBegin",
                Callback<void, Ptr<const Packet>>([this](Ptr<const Packet>) { n_packets++; }));
        }
    }
    for (uint32_t h = 0; h < net.n_hosts(); h++) {
        auto socket = Socket::CreateSocket(net.node(h), TcpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        socket->Listen();
        socket->SetAcceptCallback(
            MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
            Callback<void, Ptr<Socket>, const Address &>(
                [this](Ptr<Socket> s, const Address &from) { accept(s, from); }));
        listening.push_back(socket);
    }
}

/* What waits at a switch's port waits in a queue that marks, in front of the device. */
void tcp_network::mark(uint32_t link, const wire &device)
{
    const auto           threshold = static_cast<double>(platform.open.mark_bytes);
    const auto           queues    = CreateObject<NetDeviceQueueInterface>();
    TrafficControlHelper helper;

    device.queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 1));
    queues->GetTxQueue(0)->ConnectQueueTraces(device.queue);
    device.sender->AggregateObject(queues);
    helper.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(threshold), "MaxTh",
                            DoubleValue(threshold), "QW", DoubleValue(1), "Gentle",
                            BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop",
                            BooleanValue(false), "MaxSize", QueueSizeValue(limit(link)));
    const auto discs = helper.Install(device.sender);
    discs.Get(0)->TraceConnectWithoutContext(
        "Drop", Callback<void, Ptr<const QueueDiscItem>>(
                    [this, link](Ptr<const QueueDiscItem>) { count_drop(link); }));
}

/* TCP sends it again. */
void tcp_network::dropped(uint32_t link, uint64_t)
{
    count_drop(link);
}

void tcp_network::add(uint32_t number)
{
    message      &m       = messages[number];
    const int64_t wait_ps = std::max(m.work.head.begin_ps - now_ps(), int64_t{0});

    m.n_packets = 1; /* for those who count what has arrived */
    Simulator::Schedule(ps(wait_ps), [this, number]() { begin(number); });
}

void tcp_network::begin(uint32_t number)
{
    const message &m = messages[number];
    const ends     both = {m.first_link(), m.work.links[m.work.way_at[1]]};
    connection    &c = connect_to(m, both);

    c.n_bytes += static_cast<uint64_t>(std::max(m.work.head.bytes, int64_t{1}));
    c.parts.push_back({number, c.n_bytes});
    send(c);
}

tcp_network::connection &tcp_network::connect_to(const message &m, const ends &both)
{
    connection &c = connections[both];

    if (c.client != nullptr) {
        return c;
    }
    const auto back = m.work.links.begin() + m.work.way_at[1];
    ways.emplace(both, std::vector<uint32_t>(m.work.links.begin(), back));
    ways.emplace(ends{both.second, both.first}, std::vector<uint32_t>(back, m.work.links.end()));
    c.client = Socket::CreateSocket(net.node(platform.links[both.first].from),
                                    TcpSocketFactory::GetTypeId());
    c.client->SetAttribute("SegmentSize", UintegerValue(m.work.head.mtu));
    c.client->SetSendCallback(
        Callback<void, Ptr<Socket>, uint32_t>([this, &c](Ptr<Socket>, uint32_t) { send(c); }));
    net.sending = both.first;
    c.client->Bind();
    c.client->Connect(InetSocketAddress(stacks::address_of(both.second), port));
    net.sending = CS_NS3_END;
    return c;
}

/* As much as the socket takes. */
void tcp_network::send(connection &c)
{
    while (c.sent < c.n_bytes) {
        const uint64_t left   = c.n_bytes - c.sent;
        const auto     n      = static_cast<uint32_t>(std::min<uint64_t>(left, c.client->GetTxAvailable()));
        if (n == 0 || c.client->Send(Create<Packet>(n)) < 0) {
            return;
        }
        c.sent += n;
    }
}

void tcp_network::accept(const Ptr<Socket> &socket, const Address &from)
{
    Address here;

    socket->GetSockName(here);
    connection &c = connections.at({stacks::link_of(InetSocketAddress::ConvertFrom(from).GetIpv4()),
                                    stacks::link_of(InetSocketAddress::ConvertFrom(here).GetIpv4())});
    socket->SetRecvCallback(
        Callback<void, Ptr<Socket>>([this, &c](Ptr<Socket> s) { receive(c, s); }));
}

void tcp_network::receive(connection &c, const Ptr<Socket> &socket)
{
    while (const auto packet = socket->Recv()) {
        if (packet->GetSize() == 0) {
            break;
        }
        c.received += packet->GetSize();
    }
    while (!c.parts.empty() && c.parts.front().end <= c.received) {
        arrived(c.parts.front().message);
        c.parts.pop_front();
    }
}

/* DCTCP, with buffers that do not limit it, the least timeout of Linux, and every segment
 * acknowledged: a delayed acknowledgement would wait 200 ms at the end of a message. */
void set_tcp()
{
    constexpr uint32_t buffer_bytes = 1 << 24;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

/* ---- The conversation. */

std::unique_ptr<network> network_of(cs_ns3_request &request, cs_ns3_platform *platform)
{
    cs_child_must_be_of("collsim-ns3", cs_build(), request.take_build());
    *platform = request.take_platform();
    switch (static_cast<cs_ns3_mode>(platform->open.mode)) {
    case CS_NS3_RAW: return std::make_unique<raw_network>(*platform);
    case CS_NS3_UDP: return std::make_unique<udp_network>(*platform);
    case CS_NS3_TCP: set_tcp(); return std::make_unique<tcp_network>(*platform);
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
