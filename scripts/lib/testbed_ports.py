# SPDX-License-Identifier: GPL-3.0-or-later
"""What a schedule takes on ports with token buckets (P4 of the testbed), without calibration.

As collsim's alpha-beta model: a message holds the sending and the receiving port for alpha + bytes/rate, ports serve
messages in the order of the schedule, and a message starts when its data are there. What differs: a port's bucket fills
while the port is idle, and what is in it passes at once. So a first message is faster than a later one by the burst.
"""
import bisect
import json
import math

ALPHA_S = 150e-6            # a handshake and a wake-up or two; no schedule here depends on it by more than 1 %


class Message:
    """What one send and one receive carry: one transfer of a schedule, or several that are joined."""

    def __init__(self, src, dst, fabric):
        self.src, self.dst, self.fabric = src, dst, fabric
        self.bytes = 0
        self.takes, self.gives = [], []     # (rank, slot): what must be ready, what is ready then
        self.fence = None                   # ranks that must all have come before it starts: (all but this one,)


def slot_bytes(schedule, chunk, span):
    """Chunks are equal parts of the buffer, the first ones one byte larger."""
    small, larger = divmod(schedule["bytes"], schedule["chunks"])
    return span * small + max(0, min(larger, chunk + span) - min(larger, chunk))


def messages(schedule):
    """The messages of a schedule, in its order. An exchange is two."""
    gpus, found = schedule.get("gpus_per_server", 1), []
    for transfer in schedule["transfers"]:
        src, dst, span = transfer["src"], transfer["dst"], transfer.get("span", 1)
        fabric = transfer.get("fabric", "nvlink" if src // gpus == dst // gpus and gpus > 1 else "nic")
        size = transfer.get("bytes", slot_bytes(schedule, transfer["chunk"], span))
        ends = [(src, dst, "src_slot", "dst_slot")]
        if transfer["op"] == "exchange":
            ends.append((dst, src, "dst_slot", "src_slot"))
        if not transfer.get("join"):
            found.append([Message(a, b, fabric) for a, b, *_ in ends])
            if transfer.get("fence"):
                found[-1][0].fence = (transfer.get("fence_except"), transfer.get("fence_s", 0))
        for message, (a, b, key_a, key_b) in zip(found[-1], ends):
            message.bytes += size
            first_a, first_b = transfer.get(key_a, transfer["chunk"]), transfer.get(key_b, transfer["chunk"])
            message.takes += [(a, first_a + i) for i in range(span)]
            message.gives += [(b, first_b + i) for i in range(span)]
    return found


class Port:
    """One direction of a NIC: its rate over time and its bucket, both in payload."""

    def __init__(self, arrival_s, bucket, steps):
        self.free_s = self.seen_s = arrival_s
        self.burst, packet = bucket
        self.credit, self.spare = self.burst, self.burst - packet
        self.times = [time for time, _ in steps]
        self.rates = [rate for _, rate in steps]

    def _spans(self, start):
        """(from, until, rate) of constant rates from `start` on."""
        at = max(0, bisect.bisect_right(self.times, start) - 1)
        for index in range(at, len(self.times)):
            until = self.times[index + 1] if index + 1 < len(self.times) else math.inf
            yield max(start, self.times[index]), until, self.rates[index]

    def serve(self, size, start):
        """When a message that begins at `start` has left. A change of the rate fills the bucket (the kernel does so), which a
        packet that waits for its tokens sees when it would have had them anyway: it is what remains that is gained."""
        for begin, until, rate in self._spans(self.seen_s):
            self.credit = min(self.burst, self.credit + max(0.0, min(until, start) - begin) * rate)
            if until > start:
                break
            self.credit = self.burst
        for begin, until, rate in self._spans(start):
            self.seen_s = begin + max(0.0, size - self.credit) / rate
            if self.seen_s <= until:
                self.credit = max(0.0, self.credit - size)
                return self.seen_s
            size -= self.credit + (until - begin) * rate
            self.credit = self.spare
        raise AssertionError("a port's last rate holds for ever")


def elapsed_s(schedule, rate_of, bucket_of, late=None, alpha_s=ALPHA_S):
    """From the first arrival to the last completion.

    rate_of(rank, fabric): [(from_s, payload bytes/s)]; bucket_of(rank, fabric): bytes of payload of a full bucket and of
    the largest packet. late: {rank: seconds}.
    """
    late = late or {}
    ports, ready, end = {}, {}, 0.0
    arrival = [late.get(rank, 0.0) for rank in range(schedule["ranks"])]

    def port(rank, fabric, way):
        key = rank, fabric, way
        if key not in ports:
            ports[key] = Port(arrival[rank], bucket_of(rank, fabric), rate_of(rank, fabric))
        return ports[key]

    barrier = [0.0] * schedule["ranks"]
    for parts in messages(schedule):
        if parts[0].fence is not None:
            spared, cost = parts[0].fence
            ranks = [rank for rank in range(schedule["ranks"]) if rank != spared]
            at = max([arrival[rank] for rank in ranks]
                     + [held.free_s for (rank, *_), held in ports.items() if rank != spared]) + cost
            for rank in ranks:
                barrier[rank] = max(barrier[rank], at)
        pairs = [(port(part.src, part.fabric, "out"), port(part.dst, part.fabric, "in")) for part in parts]
        start = max([max(held.free_s for pair in pairs for held in pair)]
                    + [max(barrier[part.src], barrier[part.dst]) for part in parts]
                    + [ready.get(slot, arrival[slot[0]]) for part in parts for slot in part.takes])
        # Through one bucket into the other: the slower one says when. Both halves of an exchange hold their ports together.
        done = max(held.serve(part.bytes, start + alpha_s) for part, pair in zip(parts, pairs) for held in pair)
        for pair in pairs:
            for held in pair:
                held.free_s = done
        for part in parts:
            for slot in part.gives:
                ready[slot] = max(done, ready.get(slot, arrival[slot[0]]))
        end = max(end, done)
    return end


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
