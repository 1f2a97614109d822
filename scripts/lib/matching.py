# SPDX-License-Identifier: GPL-3.0-or-later
"""A heaviest perfect matching of a complete graph, exactly, in whole numbers.

The primal-dual method of J. Edmonds ("Maximum matching and a polyhedron with 0,1-vertices", 1965). Every
node v has a value y[v], every blossom (an odd set that is matched in itself but for one node) a value
z >= 0, and no pair of nodes weighs more than y[u] + y[v] plus the z of the blossoms that hold both. Where all
matched pairs weigh exactly as much and only blossoms that are full have z > 0, no matching is heavier. The search
keeps this up while it matches one free node after the other: from the free node a tree of tight pairs
grows; its *outer* nodes (at an even distance) lose value and its *inner* ones gain as much, until another
pair is tight. Then the tree grows, closes a blossom, or reaches a free node, and all pairs of that path
change. The search is fast here because most nodes are matched before it begins. O(n^3 log n) at worst.
"""
import heapq

FREE, OUTER, INNER = 0, -1, 1  # what a step of the values adds to the y of such a node


class Blossom:
    """A node (no children), or an odd circle of blossoms; children[0] holds the base."""

    __slots__ = ("nodes", "children", "links", "parent", "base", "z", "kind", "since", "entry")

    def __init__(self, nodes, children, links, base):
        self.nodes = nodes        # all nodes in it
        self.children = children  # in the order of the circle
        self.links = links        # links[i]: tight pair (node of children[i], node of the next child)
        self.base = base          # the node that is matched outside, or free
        self.parent = None
        self.z = 0                # as of `since`
        self.kind = FREE
        self.since = 0
        self.entry = None         # pair (node outside, node inside) by which the tree came


class Search:
    def __init__(self, weights):
        """weights: a symmetric matrix of whole numbers, of an even number of nodes."""
        self.n = len(weights)
        self.w = [[2 * weight for weight in row] for row in weights]  # even: halves stay whole
        self.mate = [None] * self.n
        self.leaf = [Blossom([v], [], [], v) for v in range(self.n)]
        self.top = list(self.leaf)  # of a node
        self.time = 0
        self.events = []  # (time, outer node, other node), or (time, -1, node of an inner blossom)
        self.start()

    def start(self):
        """Values that are large enough, then as many pairs as are tight when each value shrinks in turn."""
        self.y = [max(row[:v] + row[v + 1:]) // 2 for v, row in enumerate(self.w)]
        for v, row in enumerate(self.w):
            if self.mate[v] is None:
                gaps = [weight - y for weight, y in zip(row, self.y)]
                gaps[v] = min(gaps)
                self.y[v] = max(gaps)
                u = next((u for u, gap in enumerate(gaps)
                          if gap == self.y[v] and u != v and self.mate[u] is None), None)
                if u is not None:
                    self.mate[u], self.mate[v] = v, u

    def value(self, v):
        top = self.top[v]
        return self.y[v] + top.kind * (self.time - top.since)

    def settle(self, top, kind):
        """Values of a blossom as of now; from now on it is of this kind."""
        passed = self.time - top.since
        if passed and top.kind:
            for v in top.nodes:
                self.y[v] += top.kind * passed
            top.z -= 2 * top.kind * passed
        top.kind, top.since = kind, self.time

    def watch(self, v):
        """Events of a node that is outer now: when does which pair become tight?"""
        row, y, mine = self.w[v], self.value(v), self.top[v]
        for u, top in enumerate(self.top):
            if top.kind == FREE:
                heapq.heappush(self.events, (self.time + y + self.y[u] - row[u], v, u))
            elif top.kind == OUTER and top is not mine:
                heapq.heappush(self.events, (self.time + (y + self.value(u) - row[u]) // 2, v, u))

    def make_outer(self, top, entry):
        self.settle(top, OUTER)
        top.entry = entry
        for v in top.nodes:
            self.watch(v)

    def make_inner(self, top, entry):
        """... and the blossom that it is matched with outer."""
        self.settle(top, INNER)
        top.entry = entry
        if top.children:
            heapq.heappush(self.events, (self.time + top.z // 2, -1, top.nodes[0]))
        other = self.mate[top.base]
        self.make_outer(self.top[other], (top.base, other))

    def above(self, top):
        """The next blossom on the way to the root."""
        return None if top.entry is None else self.top[top.entry[0]]

    def way_to(self, top, end):
        way = []
        while top is not end:
            way.append(top)
            top = self.above(top)
        return way

    def close(self, v, u):
        """The tight pair of two outer nodes closes a blossom."""
        seen = []
        top = self.top[v]
        while top is not None:
            seen.append(top)
            top = self.above(top)
        meet = self.top[u]
        while meet not in seen:
            meet = self.above(meet)
        left, right = self.way_to(self.top[v], meet), self.way_to(self.top[u], meet)
        children = [meet] + left[::-1] + right
        links = [b.entry for b in left[::-1]] + [(v, u)] + [b.entry[::-1] for b in right]
        whole = Blossom([node for b in children for node in b.nodes], children, links, meet.base)
        whole.entry, was_inner = meet.entry, []
        for b in children:
            was_inner += b.nodes if b.kind == INNER else []
            self.settle(b, FREE)
            b.parent = whole
        whole.kind, whole.since = OUTER, self.time
        for node in whole.nodes:
            self.top[node] = whole
        for node in was_inner:
            self.watch(node)

    def open(self, whole):
        """An inner blossom without value falls apart: the part of the circle by which the tree goes
        on stays in it, pairs of children on the other part are free."""
        self.settle(whole, FREE)
        children, links, size = whole.children, whole.links, len(whole.children)
        for child in children:
            child.parent, child.kind, child.since, child.entry = None, FREE, self.time, None
            for v in child.nodes:
                self.top[v] = child
        at = children.index(self.top[whole.entry[1]])
        step = 1 if at % 2 == 1 else -1
        entry = whole.entry
        while True:
            here = children[at]
            self.settle(here, INNER)
            here.entry = entry
            if here.children:
                heapq.heappush(self.events, (self.time + here.z // 2, -1, here.nodes[0]))
            if at == 0:
                break
            out = links[at] if step == 1 else links[at - 1][::-1]
            at = (at + step) % size
            self.make_outer(children[at], out)
            entry = links[at] if step == 1 else links[at - 1][::-1]
            at = (at + step) % size
        outer = [v for v, top in enumerate(self.top) if top.kind == OUTER]
        for child in children:
            if child.kind == FREE:
                for u in child.nodes:
                    for v in outer:
                        gap = self.value(v) + self.y[u] - self.w[v][u]
                        heapq.heappush(self.events, (self.time + gap, v, u))

    def turn(self, whole, v):
        """Pairs inside a blossom change so that v becomes its base."""
        if not whole.children:
            return
        child = self.leaf[v]
        while child.parent is not whole:
            child = child.parent
        self.turn(child, v)
        at, size = whole.children.index(child), len(whole.children)
        step = 1 if at % 2 == 1 else -1
        i = at
        while i != 0:
            i = (i + step) % size  # its pair with the one before is given up ..
            a, b = whole.links[i] if step == 1 else whole.links[i - 1]
            j = (i + step) % size  # .. for one with the next
            left, right = (whole.children[i], whole.children[j]) if step == 1 else (whole.children[j], whole.children[i])
            self.turn(left, a)
            self.turn(right, b)
            self.mate[a], self.mate[b] = b, a
            i = j
        whole.children = whole.children[at:] + whole.children[:at]
        whole.links = whole.links[at:] + whole.links[:at]
        whole.base = v

    def augment(self, v, u):
        """v is outer, u in a free blossom whose base is not matched: pairs on the way to the root change."""
        self.turn(self.top[u], u)
        while True:
            top = self.top[v]
            entry = top.entry
            self.turn(top, v)
            self.mate[v], self.mate[u] = u, v
            if entry is None:
                return
            inner = self.top[entry[0]]
            v, u = inner.entry
            self.turn(inner, u)

    def stage(self, root):
        self.events, self.time = [], 0
        for top in {id(t): t for t in self.top}.values():
            top.kind, top.since, top.entry = FREE, 0, None
        self.make_outer(self.top[root], None)
        while True:
            self.time, v, u = heapq.heappop(self.events)
            there = self.top[u]
            if v < 0:
                if there.kind == INNER and there.children and there.z == 2 * (self.time - there.since):
                    self.open(there)
                continue
            here = self.top[v]
            if here is there or there.kind == INNER or self.value(v) + self.value(u) != self.w[v][u]:
                continue
            if there.kind == OUTER:
                self.close(v, u)
            elif self.mate[there.base] is not None:
                self.make_inner(there, (v, u))
            else:
                self.augment(v, u)
                break
        for top in {id(t): t for t in self.top}.values():
            self.settle(top, FREE)


def heaviest(weights):
    """mate[v] for all nodes of a heaviest perfect matching; an even number of nodes."""
    search = Search(weights)
    for v in range(search.n):
        if search.mate[v] is None:
            search.stage(v)
    return search.mate
