// SPDX-License-Identifier: GPL-3.0-or-later
// runs.js -- a run unpacked for pictures: its transfers, and the lanes on which they lie.
//
// A lane is a direction of a port (or a part of it, where transfers share the port). In a lane transfers do
// not overlap, so starts and ends both ascend and a place in time is found by binary search. Ends beyond the
// ranks are switches; they have no lanes: what they send and receive is seen at the GPU.

import {unpack} from './data.js';
import {fmt_seconds, fmt_bytes, fmt_rate, fmt_count, fmt_fixed} from './format.js';

const TX = 0;
const RX = 1;
const unpacked_runs = new WeakMap();

// A run of the data, unpacked; the same object each time. Rejects where a column is damaged.
export function open_run(raw) {
    if (!unpacked_runs.has(raw)) unpacked_runs.set(raw, unpack_run(raw));
    return unpacked_runs.get(raw);
}

async function unpack_run(raw) {
    const names = Object.keys(raw.c);
    const stages = raw.stages ? raw.stages.of : null;
    const links = raw.links ? raw.links.share : null;
    const [critical, stage, share, ...columns] = await Promise.all([
        unpack(raw.critical),
        stages && unpack(stages),
        links && unpack(links),
        ...names.map(k => unpack(raw.c[k])),
    ]);
    const run = {raw, critical, stage, share, n: raw.c.start.n, ranks: raw.ranks};
    names.forEach((name, k) => {
        run[name] = columns[k];
    });
    add_times(run);
    run.is_whole = count_messages(run) >= raw.transfers;
    run.is_critical = new Uint8Array(run.n);
    for (const i of critical) run.is_critical[i] = 1;
    run.marks = marks_of_ranks(raw);
    run.fabrics = places_used(run.fabric, raw.fabrics.length);
    run.ops = places_used(run.op, raw.ops.length);
    run.lanes = make_lanes(run);
    return run;
}

// An exchange is a message each way.
function count_messages(run) {
    const exchange = run.raw.ops.indexOf('exchange');
    let count = run.n;
    for (let i = 0; i < run.n; i++) count += run.op[i] === exchange ? 1 : 0;
    return count;
}

// Starts and ends in seconds; `why` as places, -1 where nothing was waited for.
function add_times(run) {
    const {n, start, dur} = run;
    const tick = run.raw.tick_s;
    const back = run.why;
    run.start_s = new Float64Array(n);
    run.end_s = new Float64Array(n);
    run.why = new Int32Array(n);
    for (let i = 0; i < n; i++) {
        run.start_s[i] = start[i] * tick;
        run.end_s[i] = (start[i] + dur[i]) * tick;
        run.why[i] = back[i] ? i - back[i] : -1;
    }
}

// Which of so many places occur in a column, ascending; the first one at least.
function places_used(column, count) {
    const is_used = new Uint8Array(count);
    for (let i = 0; i < column.length; i++) is_used[column[i]] = 1;
    const used = Array.from(is_used.keys()).filter(k => is_used[k]);
    return used.length ? used : [0];
}

// By rank: 'late', 'slow', or nothing.
function marks_of_ranks(raw) {
    const marks = new Map();
    for (const [rank] of raw.slow) marks.set(rank, 'slow');
    for (const [rank] of raw.late) marks.set(rank, 'late');
    return marks;
}

/* ---- lanes ---- */

// All lanes of a run, rank by rank; of a rank fabric by fabric, sent before received, then by part of the
// port.
//   count, first_of_rank[rank .. rank + 1]
//   rank, slot, slots    slot: 2 * place of the fabric among those that are used (run.fabrics) + direction
//   part, parts          of the port
//   offset               bars of lane k: offset[k] .. offset[k + 1] of
//   id, start, end       the transfer, and its times in seconds
//   busy                 seconds in which the lane was busy before the bar
//   critical_offset, critical_id      those of the critical path alone
function make_lanes(run) {
    const slots = 2 * run.fabrics.length;
    const bars = collect_bars(run, slots);
    const parts = new Uint16Array(run.ranks * slots).fill(1);
    for (let k = 0; k < bars.count; k++)
        parts[bars.port[k]] = Math.max(parts[bars.port[k]], bars.part[k] + 1);
    const base = new Uint32Array(run.ranks * slots + 1);
    for (let p = 0; p < parts.length; p++) base[p + 1] = base[p] + parts[p];
    const lanes = describe_lanes(run.ranks, slots, parts, base);
    fill_lanes(run, lanes, bars, base);
    pick_critical(run, lanes);
    return lanes;
}

// Port, part and transfer of each end that is at a rank, in the order of the transfers. The way back of an
// exchange has the parts of the way there: at either end they are free in both directions.
function collect_bars(run, slots) {
    const exchange = run.raw.ops.indexOf('exchange');
    const most = run.n * (exchange < 0 ? 2 : 4);
    const port = new Uint32Array(most);
    const part = new Uint8Array(most);
    const id = new Uint32Array(most);
    const {ranks, from, to} = run;
    const place = Uint8Array.from(run.raw.fabrics, (_, f) => 2 * Math.max(0, run.fabrics.indexOf(f)));
    let count = 0;
    for (let i = 0; i < run.n; i++) {
        const at = place[run.fabric[i]];
        const ways = run.op[i] === exchange ? 2 : 1;
        for (let way = 0; way < ways; way++) {
            if (from[i] < ranks) {
                port[count] = from[i] * slots + at + (way ? RX : TX);
                part[count] = run.tx[i];
                id[count++] = i;
            }
            if (to[i] < ranks) {
                port[count] = to[i] * slots + at + (way ? TX : RX);
                part[count] = run.rx[i];
                id[count++] = i;
            }
        }
    }
    return {count, port, part, id};
}

function describe_lanes(ranks, slots, parts, base) {
    const count = base[parts.length];
    const lanes = {
        count,
        slots,
        rank: new Uint16Array(count),
        slot: new Uint8Array(count),
        part: new Uint16Array(count),
        parts: new Uint16Array(count),
        first_of_rank: new Uint32Array(ranks + 1),
    };
    for (let p = 0; p < parts.length; p++) {
        for (let k = base[p]; k < base[p + 1]; k++) {
            lanes.rank[k] = Math.floor(p / slots);
            lanes.slot[k] = p % slots;
            lanes.part[k] = k - base[p];
            lanes.parts[k] = parts[p];
        }
    }
    for (let r = 0; r <= ranks; r++) lanes.first_of_rank[r] = base[r * slots];
    return lanes;
}

// Sort the bars into their lanes. They come in the order of their starts, so each lane ascends.
function fill_lanes(run, lanes, bars, base) {
    const {count, port, part, id} = bars;
    const {start_s, end_s} = run;
    const offset = new Uint32Array(lanes.count + 1);
    for (let k = 0; k < count; k++) offset[base[port[k]] + part[k] + 1]++;
    for (let k = 0; k < lanes.count; k++) offset[k + 1] += offset[k];
    const at = offset.slice();
    const start = new Float64Array(count);
    const end = new Float64Array(count);
    lanes.id = new Uint32Array(count);
    for (let k = 0; k < count; k++) {
        const bar = at[base[port[k]] + part[k]]++;
        const i = id[k];
        lanes.id[bar] = i;
        start[bar] = start_s[i];
        end[bar] = end_s[i];
    }
    const busy = new Float64Array(count + 1);
    for (let k = 0; k < count; k++) busy[k + 1] = busy[k] + end[k] - start[k];
    Object.assign(lanes, {offset, start, end, busy});
}

function pick_critical(run, lanes) {
    const id = [];
    lanes.critical_offset = new Uint32Array(lanes.count + 1);
    for (let k = 0; k < lanes.count; k++) {
        const last = lanes.offset[k + 1];
        for (let j = lanes.offset[k]; j < last; j++) {
            if (run.is_critical[lanes.id[j]]) id.push(lanes.id[j]);
        }
        lanes.critical_offset[k + 1] = id.length;
    }
    lanes.critical_id = Uint32Array.from(id);
}

// The first bar of a lane that ends after t; the lane's end where there is none. O(log).
export function first_bar_after(lanes, lane, t) {
    let low = lanes.offset[lane];
    let high = lanes.offset[lane + 1];
    while (low < high) {
        const mid = (low + high) >> 1;
        if (lanes.end[mid] <= t) low = mid + 1;
        else high = mid;
    }
    return low;
}

// The lanes that a transfer holds, that of its sender first.
export function lanes_of_transfer(run, i) {
    const {lanes} = run;
    const found = [];
    for (const rank of [run.from[i], run.to[i]]) {
        if (rank >= run.ranks) continue;
        for (let k = lanes.first_of_rank[rank]; k < lanes.first_of_rank[rank + 1]; k++) {
            if (run.fabrics[lanes.slot[k] >> 1] === run.fabric[i] && bar_of(run, k, i) >= 0) found.push(k);
        }
    }
    return found;
}

// The bar of a transfer in a lane; -1: it does not hold it. Instant transfers may stand beside others of that
// moment.
export function bar_of(run, lane, i) {
    const {lanes} = run;
    const last = lanes.offset[lane + 1];
    const t = run.start_s[i];
    let low = lanes.offset[lane];
    let high = last;
    while (low < high) {
        const mid = (low + high) >> 1;
        if (lanes.start[mid] < t) low = mid + 1;
        else high = mid;
    }
    while (low < last && lanes.start[low] === t) {
        if (lanes.id[low] === i) return low;
        low++;
    }
    return -1;
}

// Who waited for a transfer: the next one of the critical path if it did, else the first; -1: nobody.
// O(transfers).
export function waiter_of(run, i) {
    const place = run.is_critical[i] ? run.critical.indexOf(i) : -1;
    if (place >= 0 && place + 1 < run.critical.length && run.why[run.critical[place + 1]] === i) {
        return run.critical[place + 1];
    }
    return run.why.indexOf(i, i);
}

/* ---- words ---- */

// "GPU 7", "switch 0", "network switch".
export function end_name(run, end) {
    if (end < run.ranks) return 'GPU ' + end;
    return end - run.ranks >= run.raw.servers ? 'network switch' : 'switch ' + (end - run.ranks);
}

// Seconds with so many digits as tell moments of a run apart: 4.6483 ms.
export function fmt_moment(t) {
    const size = Math.abs(t);
    const [factor, unit] = size === 0 || size >= 1 ? [1, 's'] : size >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
    if (size === 0) return '0\u00a0ms';
    const places = Math.max(0, 4 - Math.floor(Math.log10(size * factor)));
    return fmt_fixed(t * factor, places) + '\u00a0' + unit;
}

// What a transfer is, in parts: {way, what, when, waited, on_path}, texts, not HTML.
export function transfer_words(run, i) {
    const {raw} = run;
    const bytes = raw.sizes[run.size[i]];
    const took = run.end_s[i] - run.start_s[i];
    const p = run.why[i];
    const arrow = run.raw.ops[run.op[i]] === 'exchange' ? ' ↔ ' : ' → ';
    const fabric = run.fabrics.length > 1 ? ` over ${fabric_name(raw.fabrics[run.fabric[i]])}` : '';
    const before =
        p < 0 ? '' : ` (${end_name(run, run.from[p])} → ${end_name(run, run.to[p])}, chunk ${run.chunk[p]})`;
    return {
        way: end_name(run, run.from[i]) + arrow + end_name(run, run.to[i]),
        what: `${raw.ops[run.op[i]]} of chunk ${run.chunk[i]}, round ${run.round[i]}${fabric}`,
        when: `${fmt_bytes(bytes)}, from ${fmt_moment(run.start_s[i])} for ${fmt_seconds(took)}`,
        rate: took > 0 ? fmt_rate(bytes / took) : '',
        waited: waited_for(raw.waits[run.wait[i]]),
        before,
        on_path: run.is_critical[i] === 1,
    };
}

function waited_for(reason) {
    return /^(it )?began/.test(reason) ? 'began at once' : 'waited for ' + reason;
}

export function fabric_name(fabric) {
    return {nic: 'NIC', nvlink: 'NVLink'}[fabric] || fabric;
}

// The same in one line, for the selection that is spoken.
export function transfer_line(run, i) {
    const w = transfer_words(run, i);
    return (
        `${w.way}: ${w.what}; ${w.when}${w.rate && ` (${w.rate})`}; ${w.waited}${w.before}` +
        (w.on_path ? '; on the critical path.' : '.')
    );
}

// Share of all bytes that have been moved before a moment; what is under way counts by its time. NaN where
// not all transfers are there.
export function moved_before(run, t) {
    const exchange = run.raw.ops.indexOf('exchange');
    let moved = 0;
    let all = 0;
    for (let i = 0; i < run.n; i++) {
        const bytes = run.raw.sizes[run.size[i]] * (run.op[i] === exchange ? 2 : 1);
        const took = run.end_s[i] - run.start_s[i];
        all += bytes;
        if (run.end_s[i] <= t) moved += bytes;
        else if (run.start_s[i] < t && took > 0) moved += (bytes * (t - run.start_s[i])) / took;
    }
    return all > 0 && run.is_whole ? moved / all : NaN;
}

// Ranks of a row of the links' use, [first, last], and what it says of them: "GPU 3 sends", "GPUs 8 .. 15
// receive". null: it is no port's row, or that of a pair.
export function ports_of_row(name) {
    const match = /^GPUs? (\d+)(?: \.\. (\d+))? (send|receive)s?$/.exec(name);
    return match && {first: Number(match[1]), last: Number(match[2] || match[1]), sends: match[3] === 'send'};
}

// The critical path as a table, {caption, heads, rows}; beyond `most` rows its begin and its end.
export function path_table(run, title, most = 2000) {
    const path = Array.from(run.critical);
    const left_out = path.length - most;
    if (left_out > 0) path.splice(most / 2, left_out);
    const rows = path.map((i, k) => {
        const w = transfer_words(run, i);
        const number = left_out > 0 && k >= most / 2 ? k + left_out : k;
        return [
            number + 1,
            w.way,
            w.what,
            fmt_moment(run.start_s[i]),
            fmt_moment(run.end_s[i]),
            w.rate,
            w.waited + w.before,
        ];
    });
    const dropped = left_out > 0 ? `; ${fmt_count(left_out)} in the middle are left out` : '';
    return {
        caption: `${title}: the ${fmt_count(run.critical.length)} transfers of the critical path${dropped}`,
        heads: ['', 'from, to', 'what', 'start', 'end', 'rate', 'waited for'],
        rows,
    };
}
