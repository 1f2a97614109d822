// SPDX-License-Identifier: GPL-3.0-or-later
// timeline_draw.js -- what the timeline draws on a canvas.
//
// `tl` is the timeline: {runs, from, to, total, sel, hover, play}: times in seconds, `total` that of the
// overview, sel and hover {run, i} or null, play a time or null. A surface is a canvas with the places of all
// rows for its width and scale.

import {fmt_seconds} from './format.js';
import {hex_of, title_of, mark_of} from './looks.js';
import {state} from './state.js';
import {lanes_of_transfer, end_name, ports_of_row} from './runs.js';
import {place_rows, place_bands, make_pixels, pixel_of, paint_runs} from './pixels.js';

export const TL_TOP = 66; // overview and axis
export const TL_STRIP = [5, 31]; // of the overview, from and to
const TL_FONTS = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const TL_HEADS = [26, 42]; // above a run's rows: names on one line, or on two where it is narrow
const TL_ROOM = [520, 720]; // wanted height of all rows, and with many lanes
const TL_MOST_JOINTS = 3000; // of a critical path whose steps from rank to rank are drawn
const TL_MOST_PIXELS = 6e6;

export const RUN_COLOURS = {
    light: {
        rest: '#C9CDD2',
        ground: '#FFFFFF',
        ink: '#16191D',
        soft: '#565D66',
        grid: '#EEEBE5',
        hair: '#DCD8D0',
        accent: '#0B5CAD',
        path: '#F2D200',
        edge: '#16191D',
        late: '#D9D5CD',
        late_line: '#565D66',
        slow: '#F3C9B2',
        slow_line: '#D55E00',
        copy: '#2F86BD',
        reduce: '#A9D3EA',
        exchange: '#4CB7A0',
    },
    dark: {
        rest: '#434C56',
        ground: '#161B21',
        ink: '#ECEEF0',
        soft: '#A3ABB5',
        grid: '#222931',
        hair: '#303842',
        accent: '#7CC0FF',
        path: '#FFE14A',
        edge: '#101418',
        late: '#39414A',
        late_line: '#A3ABB5',
        slow: '#5B3A2A',
        slow_line: '#FF8A3D',
        copy: '#3F9FE0',
        reduce: '#2B6A97',
        exchange: '#2F9E88',
    },
};

// The time at a place of the canvas.
export function tl_time(tl, x) {
    const {width, gutter} = tl.surface;
    return tl.from + ((x - gutter) / (width - gutter)) * (tl.to - tl.from);
}

// The place of a time.
export function tl_x(tl, t) {
    const {width, gutter} = tl.surface;
    return gutter + ((t - tl.from) / (tl.to - tl.from)) * (width - gutter);
}

/* ---- surfaces ---- */

// A canvas of some width for the runs as they are; they lie where this says until the next call.
export function make_surface(tl, canvas, width, wanted_scale, in_theme) {
    const head = width < 560 ? TL_HEADS[1] : TL_HEADS[0];
    const bottom = place_rows(tl.runs, TL_TOP, wanted_room(tl.runs), head);
    const height = Math.ceil(bottom) + 4;
    const scale = Math.min(wanted_scale, Math.max(1, Math.sqrt(TL_MOST_PIXELS / (width * height))));
    const gutter = tl_gutter(tl, canvas.getContext('2d'), width);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const surface = {
        canvas,
        g: canvas.getContext('2d'),
        width,
        height,
        scale,
        gutter,
        head,
        theme: in_theme,
        drawn: '',
        pixels: make_pixels(Math.round((width - gutter) * scale), Math.round((height - TL_TOP) * scale)),
    };
    surface.rows = place_bands(tl.runs, TL_TOP, height - TL_TOP, scale);
    surface.joints = tl.runs.map(run => joints_of(run, scale));
    surface.rests = tl.runs.map(run => (run.is_whole ? null : rest_of(run)));
    return surface;
}

// Where ranks have more than two lanes four pixels and a half each, within limits.
function wanted_room(runs) {
    const lanes = runs.reduce((sum, run) => sum + run.lanes.count, 0);
    if (runs.every(run => run.lanes.count <= 2 * run.ranks)) return TL_ROOM[0];
    return Math.min(TL_ROOM[1], Math.max(TL_ROOM[0], 4.5 * lanes));
}

// Room for the names of ranks.
function tl_gutter(tl, g, width) {
    g.font = tl_font(11.5, 700);
    const names = tl.runs.flatMap(run =>
        run.rows.filter(r => r.mark || r === run.rows[run.rows.length - 1]).map(row_name)
    );
    const longest = names.reduce(
        (most, name) => Math.max(most, g.measureText(name).width),
        g.measureText('busy ports').width
    );
    return Math.ceil(Math.min(longest + 20, 0.3 * width));
}

// "late GPU 7", "GPU 3", "GPU 24–26" where ranks share a row.
function row_name({first, last, mark}) {
    return (mark ? mark + ' ' : '') + 'GPU ' + first + (last > first ? `–${last}` : '');
}

// The middle of a lane, in CSS pixels of the canvas.
export function lane_middle(run, lane, scale) {
    const {y0, y1} = run.bands[run.band_of_lane[lane]];
    return TL_TOP + (y0 + y1) / 2 / scale;
}

// Where the critical path steps from lane to lane: moments and the lanes' middles.
function joints_of(run, scale) {
    const joints = {t: [], y0: [], y1: []};
    const path = run.critical;
    if (path.length > TL_MOST_JOINTS) return joints;
    for (let k = 1; k < path.length; k++) {
        if (run.why[path[k]] !== path[k - 1]) continue;
        const before = lanes_of_transfer(run, path[k - 1]).map(l => lane_middle(run, l, scale));
        const after = lanes_of_transfer(run, path[k]).map(l => lane_middle(run, l, scale));
        let best = null;
        for (const y0 of before) {
            for (const y1 of after) {
                if (best === null || Math.abs(y0 - y1) < Math.abs(best[0] - best[1])) best = [y0, y1];
            }
        }
        if (best === null || Math.abs(best[0] - best[1]) < 1) continue;
        joints.t.push(run.start_s[path[k]]);
        joints.y0.push(best[0]);
        joints.y1.push(best[1]);
    }
    return joints;
}

// What ports carry in a run of which not all transfers are there, from the use of links: a picture of the
// run's rows, a pixel a bin, its opacity how busy the rank is; null: it is not known. Late and slow ranks
// have all of theirs.
function rest_of(run) {
    const {links} = run.raw;
    const height = Math.ceil(run.bottom - run.top);
    if (!links || links.bins === 0) return null;
    const most = new Float32Array(links.bins * height);
    links.rows.forEach(({name, kind}, place) => {
        const ports = kind === 'link' ? null : ports_of_row(name);
        if (!ports || ports.first >= run.ranks) return;
        const rows = run.rows.slice(
            run.row_of_rank[ports.first],
            run.row_of_rank[Math.min(ports.last, run.ranks - 1)] + 1
        );
        for (const row of rows.filter(r => !r.mark)) add_rest(run, most, place, row, height);
    });
    const pixels = make_pixels(links.bins, height);
    return {canvas: pixels.canvas, pixels, most, end: links.bins * links.bin_s, theme: ''};
}

// The row of pixels of a rank takes the use of a port where it is more than what is there.
function add_rest(run, most, place, row, height) {
    const {bins} = run.raw.links;
    const from = Math.round(row.y - run.top);
    for (let y = from; y < Math.min(height, from + row.h); y++) {
        for (let b = 0; b < bins; b++) {
            most[y * bins + b] = Math.max(most[y * bins + b], run.share[place * bins + b] / 255);
        }
    }
}

function tint_rest(rest, theme, colour) {
    if (rest.theme === theme) return;
    rest.theme = theme;
    const {words, image, context} = rest.pixels;
    const levels = Uint32Array.from({length: 65}, (_, k) => (k ? pixel_of(colour, 0.3 + (0.7 * k) / 64) : 0));
    for (let k = 0; k < words.length; k++) words[k] = levels[Math.ceil(64 * rest.most[k])];
    context.putImageData(image, 0, 0);
}

// Busy sending ports over time, {values, end}: of 400 bins of the run; from the use of links where transfers
// are missing.
export function density_of(run) {
    if (!run.is_whole && run.raw.links) return density_of_links(run);
    const bins = 400;
    const busy = new Float64Array(bins);
    const step = new Float64Array(bins + 1);
    const end = run.raw.elapsed_s || 1;
    for (let i = 0; i < run.n; i++) {
        const p = Math.min(bins, (run.start_s[i] / end) * bins);
        const q = Math.min(bins, (run.end_s[i] / end) * bins);
        const first = Math.min(bins - 1, Math.floor(p));
        const last = Math.min(bins - 1, Math.floor(q));
        const ways = run.raw.ops[run.op[i]] === 'exchange' ? 2 : 1;
        if (first === last) {
            busy[first] += ways * (q - p);
            continue;
        }
        busy[first] += ways * (first + 1 - p);
        busy[last] += ways * (q - last);
        step[first + 1] += ways;
        step[last] -= ways;
    }
    let all = 0;
    let most = run.ranks * run.fabrics.length;
    for (let b = 0; b < bins; b++) {
        all += step[b];
        busy[b] += all;
        most = Math.max(most, busy[b]);
    }
    return {values: busy.map(v => v / most), end};
}

function density_of_links(run) {
    const {bins, bin_s, rows} = run.raw.links;
    const values = new Float64Array(bins);
    const ports = rows
        .map((row, place) => ({place, at: ports_of_row(row.name)}))
        .filter(p => p.at && p.at.sends);
    for (const {place} of ports) {
        for (let b = 0; b < bins; b++) values[b] += run.share[place * bins + b] / 255 / ports.length;
    }
    return {values, end: bins * bin_s};
}

/* ---- drawing ---- */

// Draw all of it. The bars' pixels are made only if what they show has changed.
export function draw_surface(tl, surface) {
    const {g, width, height, scale} = surface;
    const c = RUN_COLOURS[surface.theme];
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = c.ground;
    g.fillRect(0, 0, width, height);
    g.textBaseline = 'middle';
    tl_draw_overview(tl, surface, c);
    tl_draw_axis(tl, surface, c);
    g.save();
    g.beginPath();
    g.rect(surface.gutter, TL_TOP - 10, width - surface.gutter, height - TL_TOP + 10);
    g.clip();
    tl_draw_servers(tl, surface, c);
    tl_draw_rests(tl, surface, c);
    tl_draw_hatches(tl, surface, c);
    tl_draw_bars(tl, surface, c);
    if (state.crit) tl_draw_joints(tl, surface, c);
    tl_draw_choice(tl, surface, c);
    tl_draw_play(tl, surface, c);
    g.restore();
    for (const run of tl.runs) {
        tl_draw_flags(tl, surface, c, run);
        tl_draw_names(tl, surface, c, run);
    }
}

export function tl_font(size, weight = 400) {
    return `${weight} ${size}px ${TL_FONTS}`;
}

// How many ports are busy, of all runs, with the part that is in view.
function tl_draw_overview(tl, surface, c) {
    const {g, width, gutter} = surface;
    const [top, bottom] = TL_STRIP;
    g.font = tl_font(11.5);
    g.fillStyle = c.soft;
    g.textAlign = 'right';
    g.fillText('busy ports', gutter - 10, (top + bottom) / 2);
    for (const run of tl.runs) {
        const {values, end} = run.density;
        const bins = values.length;
        g.beginPath();
        g.moveTo(strip_x(tl, surface, 0), bottom);
        for (let b = 0; b < bins; b++) {
            const y = bottom - (bottom - top - 2) * values[b];
            g.lineTo(strip_x(tl, surface, (b / bins) * end), y);
            g.lineTo(strip_x(tl, surface, ((b + 1) / bins) * end), y);
        }
        g.lineTo(strip_x(tl, surface, end), bottom);
        g.globalAlpha = 0.55;
        g.fillStyle = hex_of(run.raw.algorithm, surface.theme);
        g.fill();
        g.globalAlpha = 1;
    }
    const x0 = strip_x(tl, surface, Math.max(0, tl.from));
    const x1 = strip_x(tl, surface, Math.min(tl.total, tl.to));
    g.fillStyle = c.ink;
    g.globalAlpha = 0.07;
    g.fillRect(x0, top, x1 - x0, bottom - top);
    g.globalAlpha = 1;
    g.strokeStyle = c.ink;
    g.lineWidth = 1.2;
    g.strokeRect(x0 + 0.5, top + 0.5, Math.max(2, x1 - x0 - 1), bottom - top - 1);
}

export function strip_x(tl, {width, gutter}, t) {
    return gutter + (t / tl.total) * (width - gutter - 8);
}

// Unit of an axis that ends at t: [factor, name].
export function time_unit(t) {
    return t >= 1 ? [1, 's'] : t >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
}

function tl_draw_axis(tl, surface, c) {
    const {g, width, height, gutter} = surface;
    const [factor, unit] = time_unit(tl.to);
    const x = d3
        .scaleLinear()
        .domain([tl.from * factor, tl.to * factor])
        .range([gutter, width]);
    const count = Math.max(4, Math.floor((width - gutter) / 120));
    const words = x.tickFormat(count);
    g.font = tl_font(11.5);
    g.textAlign = 'center';
    g.lineWidth = 1;
    let used = 0;
    for (const tick of x.ticks(count)) {
        const at = x(tick);
        const text = words(tick) + ' ' + unit;
        const half = g.measureText(text).width / 2;
        if (at < gutter + 1) continue;
        g.strokeStyle = c.grid;
        g.beginPath();
        g.moveTo(Math.round(at) + 0.5, TL_TOP - 10);
        g.lineTo(Math.round(at) + 0.5, height);
        g.stroke();
        if (at - half < Math.max(gutter, used) || at + half > width - 4) continue;
        g.fillStyle = c.soft;
        g.fillText(text, at, TL_TOP - 20);
        used = at + half + 8;
    }
}

// A hairline between servers, where rows are high enough.
function tl_draw_servers(tl, surface, c) {
    const {g, width, gutter} = surface;
    g.strokeStyle = c.hair;
    g.lineWidth = 1;
    g.beginPath();
    for (const run of tl.runs) {
        const size = run.raw.gpus_per_server;
        for (const row of run.rows) {
            if (size < 2 || row.h < 6 || row.first === 0 || row.first % size !== 0) continue;
            g.moveTo(gutter, row.y - 0.5);
            g.lineTo(width, row.y - 0.5);
        }
    }
    g.stroke();
}

// Grey where ranks are busy with transfers that are not there.
function tl_draw_rests(tl, surface, c) {
    const {g} = surface;
    g.imageSmoothingEnabled = false;
    surface.rests.forEach((rest, k) => {
        if (!rest) return;
        tint_rest(rest, surface.theme, c.rest);
        const from = Math.max(0, tl.from);
        const to = Math.min(rest.end, tl.to);
        if (from >= to) return;
        const {width, height} = rest.canvas;
        const x = (from / rest.end) * width;
        const x0 = tl_x(tl, from);
        const w = ((to - from) / rest.end) * width;
        g.drawImage(rest.canvas, x, 0, w, height, x0, tl.runs[k].top, tl_x(tl, to) - x0, height);
    });
    g.imageSmoothingEnabled = true;
}

// Grey while a rank is away, orange while its NICs are slow.
function tl_draw_hatches(tl, surface, c) {
    const {g} = surface;
    const late = hatch_of(surface, c.late, c.late_line);
    const slow = hatch_of(surface, c.slow, c.slow_line);
    for (const run of tl.runs) {
        for (const [rank, from, until, fill] of hatched_spans(run, late, slow)) {
            const row = run.rows[run.row_of_rank[rank]];
            g.fillStyle = fill;
            g.fillRect(tl_x(tl, from), row.y, tl_x(tl, until) - tl_x(tl, from), row.h - 1);
        }
    }
}

// Of a run: [rank, from, until, fill] of all that is late and slow.
export function hatched_spans(run, late, slow) {
    const end = run.raw.elapsed_s;
    return [
        ...run.raw.late.map(([rank, t]) => [rank, 0, t, late]),
        ...run.raw.slow.map(([rank, , from, until]) => [
            rank,
            from,
            until === null ? end : Math.min(until, end),
            slow,
        ]),
    ].filter(([rank, from, until]) => rank < run.ranks && until > from);
}

// Stripes that go up to the right, as a pattern in CSS pixels.
export function hatch_of({g, scale}, ground, line) {
    const tile = document.createElement('canvas');
    const size = Math.round(7 * scale);
    const q = tile.getContext('2d');
    tile.width = tile.height = size;
    q.globalAlpha = 0.34;
    q.fillStyle = ground;
    q.fillRect(0, 0, size, size);
    q.globalAlpha = 0.8;
    q.strokeStyle = line;
    q.lineWidth = scale;
    q.beginPath();
    for (const shift of [-size, 0, size]) {
        q.moveTo(shift - 1, size + 1);
        q.lineTo(shift + size + 1, -1);
    }
    q.stroke();
    const pattern = g.createPattern(tile, 'repeat');
    pattern.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
    return pattern;
}

/* ---- bars ---- */

function tl_draw_bars(tl, surface, c) {
    const {g, width, height, gutter, pixels, scale} = surface;
    const key = [tl.from, tl.to, state.mode, state.crit, surface.theme].join();
    if (key !== surface.drawn) {
        surface.drawn = key;
        paint_runs(pixels, tl.runs, tl_paint_options(tl, surface, c));
    }
    const put = () => g.drawImage(pixels.canvas, gutter, TL_TOP, width - gutter, height - TL_TOP);
    if (tl.play === null) {
        put();
        return;
    }
    g.globalAlpha = 0.14;
    put();
    g.globalAlpha = 1;
    const done = Math.round((tl_x(tl, tl.play) - gutter) * scale);
    if (done > 0)
        g.drawImage(pixels.canvas, 0, 0, done, pixels.height, gutter, TL_TOP, done / scale, height - TL_TOP);
}

function tl_paint_options(tl, surface, c) {
    const is_dark = surface.theme === 'dark';
    const is_path_lit = state.crit;
    const mode = state.mode;
    const opacity = (is_dark ? 0.8 : 1) * (is_path_lit && mode !== 'use' ? 0.55 : 1);
    return {
        from: tl.from,
        to: tl.to,
        scale: surface.scale,
        mode,
        palette: mode === 'op' ? op_palette(c, opacity) : ramp_palette(opacity),
        heat: heat_palette(is_dark),
        tint_of: run => tint_of_run(run, mode),
        path: is_path_lit ? {fill: pixel_of(c.path), edge: pixel_of(c.edge)} : null,
    };
}

export const TL_OPS = ['copy', 'reduce', 'exchange'];

function op_palette(c, opacity) {
    return Uint32Array.from(TL_OPS, op => pixel_of(c[op], opacity));
}

// Cividis, from first to last.
function ramp_palette(opacity) {
    return Uint32Array.from({length: 256}, (_, k) =>
        pixel_of(d3.interpolateCividis(0.06 + (0.9 * k) / 255), opacity)
    );
}

// Blues and greens, from idle (nothing) to busy; in dark reversed and capped, so that lines stay visible.
function heat_palette(is_dark) {
    return Uint32Array.from({length: 65}, (_, k) => (k ? pixel_of(heat_colour(k / 64, is_dark)) : 0));
}

export function heat_colour(share, is_dark) {
    return d3.interpolateYlGnBu(is_dark ? 0.97 - 0.55 * share : 0.1 + 0.75 * share);
}

// For each bar of a run its place in the palette; made once for each mode.
function tint_of_run(run, mode) {
    run.tints = run.tints || {};
    if (run.tints[mode]) return run.tints[mode];
    const {id} = run.lanes;
    const tint = new Uint8Array(id.length);
    if (mode === 'op') {
        const place = run.raw.ops.map(op => Math.max(0, TL_OPS.indexOf(op)));
        for (let k = 0; k < id.length; k++) tint[k] = place[run.op[id[k]]];
    } else {
        const values = mode === 'chunk' ? run.chunk : run.round;
        let most = 1;
        for (let i = 0; i < run.n; i++) most = Math.max(most, values[i]);
        for (let k = 0; k < id.length; k++) tint[k] = Math.round((255 * values[id[k]]) / most);
    }
    run.tints[mode] = tint;
    return tint;
}

/* ---- above the bars ---- */

// The critical path's steps from lane to lane.
function tl_draw_joints(tl, surface, c) {
    const {g, width, gutter} = surface;
    g.strokeStyle = c.ink;
    g.lineWidth = 1.3;
    g.beginPath();
    for (const joints of surface.joints) {
        for (let k = 0; k < joints.t.length; k++) {
            const x = tl_x(tl, joints.t[k]);
            if (x < gutter || x > width || (tl.play !== null && joints.t[k] > tl.play)) continue;
            g.moveTo(x, joints.y0[k]);
            g.lineTo(x, joints.y1[k]);
        }
    }
    g.stroke();
}

// The transfer that is selected, or under the pointer, and what it waited for.
function tl_draw_choice(tl, surface, c) {
    for (const [which, line] of [
        [tl.sel, 2.2],
        [tl.hover, 1.6],
    ]) {
        if (!which || !tl.runs.includes(which.run)) continue;
        const before = which.run.why[which.i];
        surface.g.globalAlpha = 0.65;
        if (before >= 0) tl_draw_transfer(tl, surface, c, which.run, before, c.accent, 1.4);
        surface.g.globalAlpha = 1;
        tl_draw_transfer(tl, surface, c, which.run, which.i, c.ink, line);
        if (tl.sel && tl.hover && tl.sel.i === tl.hover.i && tl.sel.run === tl.hover.run) return;
    }
}

function tl_draw_transfer(tl, surface, c, run, i, colour, line) {
    const {g, scale} = surface;
    const x0 = tl_x(tl, run.start_s[i]);
    const x1 = tl_x(tl, run.end_s[i]);
    const middles = [];
    g.strokeStyle = colour;
    g.lineWidth = line;
    for (const lane of lanes_of_transfer(run, i)) {
        const {y0, y1} = run.bands[run.band_of_lane[lane]];
        g.strokeRect(
            x0 - 0.5,
            TL_TOP + y0 / scale - 1,
            Math.max(3, x1 - x0 + 0.5),
            Math.max(2, (y1 - y0) / scale) + 2
        );
        middles.push(lane_middle(run, lane, scale));
    }
    if (middles.length < 2) return;
    const x = Math.min(Math.max((x0 + x1) / 2, surface.gutter), surface.width - 30);
    const from = middles[0];
    const to = middles[middles.length === 4 ? 3 : 1];
    g.beginPath();
    g.moveTo(x, from);
    g.bezierCurveTo(x + 26, from, x + 26, to, x, to);
    g.stroke();
    g.beginPath();
    g.arc(x, to, 3, 0, 2 * Math.PI);
    g.fillStyle = colour;
    g.fill();
}

function tl_draw_play(tl, surface, c) {
    if (tl.play === null) return;
    const {g, height} = surface;
    const x = tl_x(tl, tl.play);
    g.strokeStyle = c.accent;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x, TL_TOP - 10);
    g.lineTo(x, height);
    g.stroke();
}

// End, bound and arrivals: a line through the run's rows, and its name above.
function tl_draw_flags(tl, surface, c, run) {
    const {g, width, gutter, head} = surface;
    const title_end = tl_draw_title(surface, c, run);
    g.font = tl_font(11.5, 600);
    const flags = flags_of(tl, surface, c, run).filter(flag => {
        flag.x = tl_x(tl, flag.t);
        flag.w = g.measureText(flag.text).width;
        return flag.x >= gutter && flag.x <= width;
    });
    for (const {x, colour, dash} of flags) {
        g.strokeStyle = colour;
        g.lineWidth = 1.8;
        g.setLineDash(dash);
        g.beginPath();
        g.moveTo(x, run.top - 5);
        g.lineTo(x, run.bottom);
        g.stroke();
    }
    g.setLineDash([]);
    g.textAlign = 'left';
    for (const {text, w, at} of places_in_line(flags, head > TL_HEADS[0] ? 4 : title_end, width - 4)) {
        g.fillStyle = c.ground;
        g.globalAlpha = 0.92;
        g.fillRect(at - 3, run.top - 21, w + 6, 15);
        g.globalAlpha = 1;
        g.fillStyle = c.ink;
        g.fillText(text, at, run.top - 13);
    }
}

// Names of width w beside their x, in the order of x, none on another: `at` of those that fit between first
// and last. The least important ones are left out.
function places_in_line(flags, first, last) {
    const gap = 9;
    const shown = flags.slice();
    while (shown.length > 0) {
        let end = first - gap;
        for (const f of shown) {
            f.at = Math.max(f.side === 'left' ? f.x - f.w - 5 : f.x + 5, end + gap);
            end = f.at + f.w;
        }
        let begin = last + gap;
        for (const f of shown.slice().reverse()) {
            f.at = Math.min(f.at, begin - gap - f.w);
            begin = f.at;
        }
        if (begin >= first) return shown;
        shown.splice(
            d3.scan(shown, (p, q) => p.weight - q.weight),
            1
        );
    }
    return shown;
}

// What is flagged, by time; `weight`: how important its name is.
function flags_of(tl, surface, c, run) {
    const {raw} = run;
    const flags = [];
    flags.push({
        t: raw.elapsed_s,
        text: 'end ' + fmt_seconds(raw.elapsed_s),
        colour: hex_of(raw.algorithm, surface.theme),
        dash: [],
        side: raw.elapsed_s > 0.9 * tl.to ? 'left' : 'right',
        weight: 3,
    });
    const late = raw.late.filter(l => l[1] > 0).sort((a, b) => b[1] - a[1]);
    late.slice(0, late.length > 3 ? 1 : 3).forEach(([rank, t]) => {
        const text = `${end_name(run, rank)} comes${late.length > 3 ? ' last' : ''}`;
        flags.push({t, text, colour: c.ink, dash: [1, 3], side: 'right', weight: 1});
    });
    if (raw.bound_s > 0) {
        flags.push({
            t: raw.bound_s,
            text: 'bound ' + fmt_seconds(raw.bound_s),
            colour: c.ink,
            dash: [4, 4],
            side: 'left',
            weight: 2,
        });
    }
    return flags.sort((p, q) => p.t - q.t);
}

// The run's name with its mark, above its rows; returns where it ends.
function tl_draw_title(surface, c, run) {
    const {g, width, head} = surface;
    const is_alone = head > TL_HEADS[0];
    const y = run.top - (is_alone ? 29 : 13);
    g.save();
    g.translate(17, y);
    g.fillStyle = hex_of(run.raw.algorithm, surface.theme);
    g.fill(new Path2D(mark_of(run.raw.algorithm, 60)));
    g.restore();
    g.font = tl_font(13, 700);
    g.textAlign = 'left';
    g.fillStyle = c.ink;
    const text = text_within(
        g,
        run.raw.title || title_of(run.raw.algorithm),
        (is_alone ? 0.7 : 0.45) * width
    );
    g.fillText(text, 28, y);
    return 28 + g.measureText(text).width + 8;
}

// A text that is at most so wide.
export function text_within(g, text, most) {
    if (g.measureText(text).width <= most) return text;
    let low = 0;
    let high = text.length;
    while (low < high) {
        const mid = (low + high + 1) >> 1;
        if (g.measureText(text.slice(0, mid) + '…').width <= most) low = mid;
        else high = mid - 1;
    }
    return text.slice(0, low) + '…';
}

// Names of ranks: those that are late or slow first, of the others as many as there is room for.
function tl_draw_names(tl, surface, c, run) {
    const {g, gutter} = surface;
    const used = [];
    const is_free = y => used.every(u => Math.abs(u - y) >= 12.5);
    const put = (row, text, is_marked) => {
        const y = row.y + row.h / 2;
        if (!is_free(y)) return;
        used.push(y);
        g.font = tl_font(11.5, is_marked ? 700 : 400);
        g.fillStyle = is_marked ? c.ink : c.soft;
        g.textAlign = 'right';
        g.fillText(text, gutter - 10, y);
    };
    for (const row of run.rows) {
        if (row.mark) put(row, row_name(row), true);
    }
    const plain = run.rows.filter(r => !r.mark);
    const step = plain.length ? Math.max(1, Math.ceil(13 / plain[0].h)) : 1;
    plain.forEach((row, k) => {
        if (k % step === 0) put(row, row_name(row), false);
    });
}
