# SPDX-License-Identifier: GPL-3.0-or-later
"""The network of scripts/testbed and scripts/testbed_hunt: a namespace per rank, bridges in one more, and NICs whose rate tc's tbf holds.

A rank has eth0, its NIC, and where servers have several ranks eth1, its link inside the server. Both ends of a link are
shaped, so that it is a full-duplex port. Addresses: rank r is 10.9.0.(r+1) at its NIC and 10.10.SERVER.(r+1) inside its
server. All of this lies in namespaces of one run: deleting those removes everything.

Why each setting is what it is stands in sim/doc/testbed.md.
"""
import contextlib
import ctypes
import fcntl
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

MTU = 1500
FRAME = MTU + 14            # a full packet with its Ethernet header, which is what tbf counts
PAYLOAD = MTU - 52          # ... less IPv4, TCP and its timestamps
LIMIT = "4mb"               # room of a NIC's queue, and of an uplink's: nothing is dropped
UPLINK_LIMIT = "64mb"
LOCK = "/run/collsim-testbed.lock"
PREFIX = "collsim-testbed-"
FAST = 300e6                # from this rate on packets are cut larger, for the processors' sake

SYSCTL = (("net.ipv4.tcp_slow_start_after_idle", 0), ("net.ipv4.tcp_no_metrics_save", 1),
          ("net.ipv4.tcp_reordering", 127), ("net.ipv4.tcp_max_reordering", 1000),
          ("net.ipv6.conf.all.disable_ipv6", 1))


class Unavailable(Exception):
    """This machine cannot have the network; the text says what is missing."""


class Failed(Exception):
    """A command failed; the text is its own."""


class Wrong(Exception):
    """The options ask for something that there is not."""


def _stop(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def on_signals_stop():
    """SIGTERM and SIGHUP unwind as SIGINT does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


def end(name, main):
    """Call main() and exit with what it returns, or with one line and the code of what went wrong."""
    try:
        sys.exit(main())
    except Unavailable as error:
        print(f"{name}: skipped: {error}")
        sys.exit(77)
    except Wrong as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)
    except (Failed, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt as error:
        print(f"{name}: ended by {error or 'SIGINT'}; nothing stays", file=sys.stderr)
        sys.exit(3)


@contextlib.contextmanager
def undisturbed():
    """While something is cleaned up: a second signal does not interrupt that."""
    old = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def die_with_parent():
    """In a child: it does not outlive a testbed that was killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG


def run(*command, lines=None):
    done = subprocess.run(command, input=None if lines is None else "\n".join(lines) + "\n", text=True,
                          stdin=subprocess.DEVNULL if lines is None else None,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        text = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Failed(f"{' '.join(command)}: {text[0]}")
    return done.stdout


def burst_bytes(rate):
    """The bucket of a port of `rate` bit/s: just above the largest packet that the kernel hands it (gso_bytes)."""
    return (40 if rate >= FAST else 20) * 1024


def gso_bytes(rate):
    return 32768 if rate >= FAST else 16384


def bucket_bytes(rate):
    """(what a full bucket lets through at once, what the largest packet carries), in bytes of payload."""
    return burst_bytes(rate) * PAYLOAD / FRAME, gso_bytes(rate) // PAYLOAD * PAYLOAD


def payload_rate(rate):
    """Bytes of payload per second of a port of `rate` bit/s."""
    return rate / 8 * PAYLOAD / FRAME


def prime_bytes(rate):
    """What a connection carries before it is measured, so that its window has grown: a tenth of a second, or 1 MiB."""
    return min(1 << 20, round(rate / 80))


def bucket(rate, nominal, limit=LIMIT):
    """A port of `rate` bit/s. The bucket is that of the rate that the link has when nothing is wrong."""
    return f"root handle 1: tbf rate {round(rate)}bit burst {burst_bytes(nominal)} limit {limit}"


def check_programs():
    if os.geteuid() != 0:
        raise Unavailable("not root, and namespaces and tc need it")
    for program in ("ip", "tc", "sysctl"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed (packages iproute2, procps)")


def check_kernel():
    """Raise Unavailable where there can be no such network; nothing stays."""
    name = f"{PREFIX}probe"
    try:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        run("ip", "-n", name, "link", "add", "br0", "type", "bridge")
        run("tc", "-n", name, "qdisc", "add", "dev", "eth0", *bucket(1e8, 1e8).split())
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
            if "reno" not in file.read().split():
                raise Unavailable("the kernel has no TCP reno")
    except (Failed, OSError) as error:
        raise Unavailable(f"no network namespaces here: {error}") from error
    finally:
        with contextlib.suppress(Failed):
            run("ip", "netns", "del", name)


def delete_namespaces(prefix):
    for line in run("ip", "netns", "list").splitlines():
        name = line.split()[0] if line.split() else ""
        if name.startswith(prefix):
            with contextlib.suppress(Failed):
                run("ip", "netns", "del", name)


@contextlib.contextmanager
def only_testbed():
    """One testbed at a time: two would measure each other. Who holds the lock removes what a killed one left, and finds
    out what the machine can."""
    check_programs()
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("another testbed is running on this machine; two would measure each other") from None
        with contextlib.suppress(Failed):
            delete_namespaces(PREFIX)
        for folder in glob.glob(os.path.join(tempfile.gettempdir(), PREFIX + "*")):
            shutil.rmtree(folder, ignore_errors=True)
        check_kernel()
        yield
    finally:
        os.close(lock)


class Network:
    """Ranks, their links and the bridges between them. Used with `with`: on leaving, everything is deleted.

    servers: ranks of a server that have eth1 together (1: no eth1). leaves: bridges that the NICs are spread over in order,
    joined to the first by links of `uplink` bit/s.
    """

    def __init__(self, ranks, nic, gpus=1, inside=None, leaves=1, uplink=None):
        self.prefix = f"{PREFIX}{os.getpid()}-"
        self.ranks, self.gpus, self.leaves = ranks, gpus, leaves
        self.inside, self.uplink = inside, uplink
        self.nominal = {"eth0": nic, **({"eth1": inside} if gpus > 1 else {})}
        self.rates = {(device, rank): rate for device, rate in self.nominal.items() for rank in range(ranks)}
        self.gso = {}

    def namespace(self, rank):
        return f"{self.prefix}r{rank}"

    @property
    def switch(self):
        return f"{self.prefix}switch"

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with undisturbed():
            delete_namespaces(self.prefix)

    def _links(self):
        """(device, rank, its port's name at the switch, the bridge) of every link of a rank."""
        for device, rank in self.rates:
            if device == "eth0":
                yield device, rank, f"n{rank}", f"leaf{rank * self.leaves // self.ranks}"
            else:
                yield device, rank, f"i{rank}", f"server{rank // self.gpus}"

    def _build(self):
        names = [self.switch] + [self.namespace(rank) for rank in range(self.ranks)]
        run("ip", "-batch", "-", lines=[f"netns add {name}" for name in names])
        links = list(self._links())
        bridges = sorted({bridge for *_, bridge in links})
        run("ip", "-batch", "-", lines=[
            f"link add {device} netns {self.namespace(rank)} mtu {MTU} type veth peer name {port} netns {self.switch} mtu {MTU}"
            for device, rank, port, _ in links])
        uplinks = [(f"up{leaf}", f"down{leaf}", f"leaf{leaf}") for leaf in range(1, self.leaves)]
        run("ip", "-n", self.switch, "-batch", "-", lines=[
            *[f"link add {bridge} mtu {MTU} type bridge mcast_snooping 0" for bridge in bridges],
            *[f"link set {bridge} up" for bridge in bridges],
            *[f"link set {port} master {bridge} up" for _, _, port, bridge in links],
            *[f"link add {up} mtu {MTU} type veth peer name {down} mtu {MTU}" for up, down, _ in uplinks],
            *[f"link set {up} master {leaf} up" for up, _, leaf in uplinks],
            *[f"link set {down} master leaf0 up" for _, down, _ in uplinks]])
        for name in names:
            run("ip", "netns", "exec", name, "sysctl", "-qw", *(f"{key}={value}" for key, value in SYSCTL
                                                              if name != self.switch or "ipv6" in key))
        for rank in range(self.ranks):
            own = [(device, "9.0" if device == "eth0" else f"10.{rank // self.gpus}")
                   for device, owner in self.rates if owner == rank]
            run("ip", "-n", self.namespace(rank), "-batch", "-", lines=["link set lo up", *(
                line for device, net in own for line in (f"addr add 10.{net}.{rank + 1}/24 dev {device}",
                                                       f"link set {device} up"))])
        run("tc", "-n", self.switch, "-batch", "-", lines=[
            f"qdisc add dev {port} {self._bucket(device, rank)}" for device, rank, port, _ in links] + [
            f"qdisc add dev {device} {bucket(self.uplink, self.uplink, UPLINK_LIMIT)}" for pair in uplinks for device in pair[:2]])
        for device, rank in self.rates:
            run("tc", "-n", self.namespace(rank), "qdisc", "add", "dev", device, *self._bucket(device, rank).split())
        self._cut_packets()

    def _bucket(self, device, rank):
        return bucket(self.rates[device, rank], self.nominal[device])

    def _cut_packets(self):
        """Packets are cut before a bucket that could not hold them: else tbf cuts them itself, at the processors' cost."""
        size = min(gso_bytes(rate) for rate in [*self.nominal.values(), *([self.uplink] if self.uplink else [])])
        for device, rank in self.rates:
            if self.gso.get((device, rank)) != size:
                run("ip", "-n", self.namespace(rank), "link", "set", "dev", device, "gso_max_size", str(size))
                self.gso[device, rank] = size

    def changes(self, rate, device, rank):
        """[(namespace, command of its tc)] that give both ends of a link another rate."""
        port = next(port for name, owner, port, _ in self._links() if (name, owner) == (device, rank))
        text = bucket(rate, self.nominal[device])
        return [(self.namespace(rank), f"qdisc change dev {device} {text}"), (self.switch, f"qdisc change dev {port} {text}")]

    def set_rates(self, nominal, rates):
        """The NICs' rate when nothing is wrong, and {(device, rank): bit/s}: what differs from now is changed."""
        other = self.nominal["eth0"] != nominal
        self.nominal["eth0"] = nominal
        for (device, rank), rate in rates.items():
            if other or self.rates[device, rank] != rate:
                for namespace, change in self.changes(rate, device, rank):
                    run("tc", "-n", namespace, *change.split())
                self.rates[device, rank] = rate
        self._cut_packets()

    def dropped(self):
        """Packets that full queues dropped since the network was made."""
        lost = 0
        for name in [self.switch] + [self.namespace(rank) for rank in range(self.ranks)]:
            for line in run("tc", "-n", name, "-s", "qdisc", "show").splitlines():
                words = line.replace(",", "").split()
                if "(dropped" in words:
                    lost += int(words[words.index("(dropped") + 1])
        return lost

    def check(self):
        """Did the settings take? Raises Failed with the first that did not."""
        for device, rank in self.rates:
            shown = run("ip", "-n", self.namespace(rank), "-d", "link", "show", "dev", device)
            if f"gso_max_size {self.gso[device, rank]}" not in shown:
                raise Failed(f"{device} of rank {rank}: gso_max_size was not taken")
