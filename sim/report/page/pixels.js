// SPDX-License-Identifier: GPL-3.0-or-later
// pixels.js -- rows and bands of runs, and their bars as pixels.
//
// Bars are no canvas calls: a line of pixels is made for each band, copied to the band's rows of one buffer,
// and the buffer is put on a canvas once. A frame costs the bars and pixels in view. A band is what lies on
// the same rows of pixels: mostly one lane; where ranks are many, lanes of several ranks.
//
// However many bars fall on a pixel, the pixel asks for one of them: the next pixel's bar is found by
// doubling steps. From a million bars on, what is at 4,096 moments of each lane is looked up once, and read
// while these are no farther apart than pixels. The use of ports is exact at every zoom, from sums of busy
// time, at two searches a bin.

import {first_bar_after} from './runs.js';

const LEAST_MARKED = 8; // pixels of a row of a late or slow rank
const LEAST_ROW = 2;
const MOST_HEIGHT = 720; // of all rows of least height; beyond it several ranks share a row
const SAMPLES = 4096; // moments of a lane
const SAMPLED_FROM = 1e6; // bars of a run from which on they are looked up

/* ---- rows ---- */

// Place the rows of runs one below the other, from `top`: sets of each run `rows` ({first, last, y, h, mark},
// ranks first to last), `row_of_rank`, `top` and `bottom`. `room` is the wanted height of all rows, `head`
// that above each run. Returns where the last ends.
export function place_rows(runs, top, room, head) {
    const ranks = runs.reduce((sum, r) => sum + r.ranks, 0);
    const marked = runs.reduce((sum, r) => sum + r.marks.size, 0);
    const plain = ranks - marked;
    const wanted = Math.max(...runs.map(wanted_row_height));
    const even = Math.floor(room / ranks);
    const left = room - marked * Math.max(LEAST_MARKED, even);
    const h = Math.max(
        LEAST_ROW,
        Math.min(wanted, even >= LEAST_MARKED ? even : Math.floor(left / Math.max(1, plain)))
    );
    const group = Math.max(1, Math.ceil((plain * h) / MOST_HEIGHT));
    let y = top;
    for (const run of runs) {
        run.top = y + head;
        y = place_rows_of(run, run.top, h, group);
        run.bottom = y;
        y += 10;
    }
    return y;
}

// Enough to tell the lanes of a rank apart.
function wanted_row_height(run) {
    const {lanes} = run;
    let most = 0;
    for (let r = 0; r < run.ranks; r++)
        most = Math.max(most, lanes.first_of_rank[r + 1] - lanes.first_of_rank[r]);
    return most <= 2 ? 22 : Math.min(72, 14 + 4 * most);
}

function place_rows_of(run, top, h, group) {
    run.rows = [];
    run.row_of_rank = new Uint16Array(run.ranks);
    let y = top;
    for (let r = 0; r < run.ranks; ) {
        const mark = run.marks.get(r) || '';
        const size = mark ? Math.max(h, LEAST_MARKED) : h;
        let last = r;
        while (!mark && last + 1 < run.ranks && last + 1 - r < group && !run.marks.has(last + 1)) last++;
        for (let k = r; k <= last; k++) run.row_of_rank[k] = run.rows.length;
        run.rows.push({first: r, last, y, h: size, mark});
        y += size;
        r = last + 1;
    }
    return y;
}

/* ---- bands ---- */

// Set of each run `bands` ({y0, y1, lanes}, in device pixels below `top`) and `band_of_lane`; returns for
// each row of pixels [run, band], or null between the runs. Rows of pixels between lanes belong to the lane
// above.
export function place_bands(runs, top, height, scale) {
    const at = new Array(Math.ceil(height * scale)).fill(null);
    for (const run of runs) {
        const by_place = new Map();
        run.bands = [];
        run.band_of_lane = new Uint32Array(run.lanes.count);
        for (const row of run.rows) {
            for (let r = row.first; r <= row.last; r++)
                place_lanes_of_rank(run, row, r, by_place, top, scale);
        }
        own_pixels(run, at, top, scale);
    }
    return at;
}

function place_lanes_of_rank(run, row, rank, by_place, top, scale) {
    const {lanes} = run;
    const inner = row.h - (row.h >= 8 ? 3 : row.h >= 4 ? 1 : 0);
    const y = row.y - top + (row.h >= 8 ? 1 : 0);
    for (let k = lanes.first_of_rank[rank]; k < lanes.first_of_rank[rank + 1]; k++) {
        const from = (lanes.slot[k] + lanes.part[k] / lanes.parts[k]) / lanes.slots;
        const to = (lanes.slot[k] + (lanes.part[k] + 1) / lanes.parts[k]) / lanes.slots;
        const y0 = Math.round((y + from * inner) * scale);
        const gap = inner * scale * (to - from) >= 4 ? Math.round(scale) : 0;
        const y1 = Math.max(y0 + 1, Math.round((y + to * inner) * scale) - gap);
        const key = y0 * 65536 + y1;
        if (!by_place.has(key)) {
            by_place.set(key, run.bands.length);
            run.bands.push({y0, y1, lanes: []});
        }
        const b = by_place.get(key);
        run.bands[b].lanes.push(k);
        run.band_of_lane[k] = b;
    }
}

function own_pixels(run, at, top, scale) {
    run.bands.forEach(band => {
        for (let y = band.y0; y < band.y1; y++) at[y] = [run, band];
    });
    const first = Math.round((run.top - top) * scale);
    const end = Math.min(at.length, Math.round((run.bottom - top) * scale));
    let above = run.bands.length ? [run, run.bands[0]] : null;
    for (let y = first; y < end; y++) {
        if (at[y] === null) at[y] = above;
        above = at[y];
    }
}

/* ---- pixels ---- */

// A buffer of pixels and its canvas.
export function make_pixels(width, height) {
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, width);
    canvas.height = Math.max(1, height);
    const context = canvas.getContext('2d');
    const image = context.createImageData(canvas.width, canvas.height);
    return {
        canvas,
        context,
        image,
        width: canvas.width,
        height: canvas.height,
        words: new Uint32Array(image.data.buffer),
        line: new Uint32Array(canvas.width),
        share: new Float32Array(canvas.width + 1),
    };
}

// A colour (anything that CSS knows) as a pixel of the buffer.
export function pixel_of(colour, opacity = 1) {
    const c = d3.color(colour).rgb();
    return ((Math.round(255 * opacity) << 24) | (c.b << 16) | (c.g << 8) | c.r) >>> 0;
}

// Paint the runs for the time from..to.
//   scale    device pixels of a CSS pixel
//   mode     'use': how busy each lane is, by `heat` (65 pixels); else `tint_of(run)` gives for each bar
//            a place in `palette` (256 pixels)
//   path     {fill, edge}: pixels of the critical path; null: it is not lit
export function paint_runs(pixels, runs, {from, to, scale, mode, palette, heat, tint_of, path}) {
    const view = {from, to, scale, k: pixels.width / (to - from)};
    pixels.words.fill(0);
    for (const run of runs) {
        const tint = mode === 'use' ? null : tint_of(run);
        const samples = tint ? samples_for(run, view) : null;
        for (const band of run.bands) {
            let is_used;
            if (samples) is_used = line_of_samples(pixels, band, view, samples, tint, palette);
            else if (tint) is_used = line_of_bars(pixels, run.lanes, band, view, tint, palette);
            else is_used = line_of_use(pixels, run.lanes, band, view, heat);
            if (!is_used) continue;
            const end = Math.min(pixels.height, band.y1);
            for (let y = band.y0; y < end; y++) pixels.words.set(pixels.line, y * pixels.width);
        }
        if (path) paint_path(pixels, run, view, path);
    }
    pixels.context.putImageData(pixels.image, 0, 0);
}

// The bars of a band into the line; false: none is in view. A bar under a pixel takes the pixel; from 4 on
// there is a gap.
function line_of_bars({line, width}, lanes, band, {from, to, scale, k}, tint, palette) {
    const {offset, start, end} = lanes;
    const gap = Math.max(1, Math.round(scale));
    let is_used = false;
    for (const lane of band.lanes) {
        const last = offset[lane + 1];
        let j = first_bar_after(lanes, lane, from);
        if (j >= last || start[j] > to) continue;
        if (!is_used) line.fill(0);
        is_used = true;
        for (; j < last && start[j] <= to; j++) {
            const p = start[j] > from ? ((start[j] - from) * k + 0.5) | 0 : 0;
            let q = Math.min(width, ((end[j] - from) * k + 0.5) | 0);
            const colour = palette[tint[j]];
            if (q - p >= 4 * gap) q -= gap;
            else if (q <= p) {
                q = p + 1;
                j = last_bar_before(end, j, last, from + (p + 0.5) / k);
            }
            if (q - p > 24) line.fill(colour, p, q);
            else for (let x = p; x < q; x++) line[x] = colour;
        }
    }
    return is_used;
}

// From bar j on the last that ends before t: those between fall on the same pixel. Steps double, then halve.
function last_bar_before(end, j, last, t) {
    let step = 1;
    while (j + step < last && end[j + step] < t) {
        j += step;
        step *= 2;
    }
    for (; step >= 1; step >>= 1) {
        if (j + step < last && end[j + step] < t) j += step;
    }
    return j;
}

// The samples of a run of many bars where a pixel of the view is at least as long as their distance; else
// null.
function samples_for(run, view) {
    if (run.lanes.id.length < SAMPLED_FROM) return null;
    if (!run.samples) run.samples = make_samples(run.lanes);
    return run.samples.step * view.k <= 1 ? run.samples : null;
}

// The bar that holds a lane at so many moments, plus one; 0: it is idle.
function make_samples(lanes) {
    let end = 0;
    for (let j = 0; j < lanes.end.length; j++) end = Math.max(end, lanes.end[j]);
    const step = end / SAMPLES;
    const bar = new Uint32Array(lanes.count * SAMPLES);
    for (let lane = 0; lane < lanes.count; lane++) {
        for (let j = lanes.offset[lane]; j < lanes.offset[lane + 1]; j++) {
            const first = Math.ceil(lanes.start[j] / step);
            const last = Math.min(SAMPLES - 1, Math.floor(lanes.end[j] / step));
            for (let k = first; k <= last; k++) bar[lane * SAMPLES + k] = j + 1;
        }
    }
    return {step, bar};
}

// As line_of_bars(), from samples.
function line_of_samples({line, width}, band, {from, k}, {step, bar}, tint, palette) {
    line.fill(0);
    for (const lane of band.lanes) {
        const base = lane * SAMPLES;
        for (let x = Math.max(0, Math.ceil(-from * k)); x < width; x++) {
            const at = ((from + (x + 0.5) / k) / step) | 0;
            if (at >= SAMPLES) break;
            const b = bar[base + at];
            if (b > 0) line[x] = palette[tint[b - 1]];
        }
    }
    return true;
}

// How busy the lanes of a band are, bin by bin, into the line. Busy time up to a moment is that before the
// bar there, and what has passed of it.
function line_of_use(pixels, lanes, band, {from, to, scale, k}, heat) {
    const {line, share, width} = pixels;
    const {start, end, busy, offset} = lanes;
    const size = Math.max(2, Math.round(4 * scale));
    const bins = Math.ceil(width / size);
    let is_used = false;
    share.fill(0, 0, bins);
    for (const lane of band.lanes) {
        const last = offset[lane + 1];
        let j = first_bar_after(lanes, lane, from);
        if (j >= last || start[j] > to) continue;
        is_used = true;
        let before = busy[j] + Math.max(0, from - start[j]);
        for (let b = Math.max(0, Math.floor(((start[j] - from) * k) / size)); b < bins && j < last; b++) {
            const t = from + ((b + 1) * size) / k;
            if (end[j] <= t) j = last_bar_at(end, j, last, t) + 1;
            const now = busy[j] + (j < last && t > start[j] ? t - start[j] : 0);
            share[b] += now - before;
            before = now;
        }
    }
    if (is_used) use_as_pixels(line, share, bins, size, (band.lanes.length * size) / k, heat);
    return is_used;
}

// Bins of so many pixels, and busy seconds, into the line; `whole`: a bin that is busy all the time.
function use_as_pixels(line, share, bins, size, whole, heat) {
    let from = 0;
    let level = 0;
    for (let b = 0; b <= bins; b++) {
        const part = b < bins ? share[b] / whole : -1;
        const next = part < 0 ? -1 : part <= 0.004 ? 0 : Math.min(64, Math.ceil(64 * part - 1e-3));
        if (next === level) continue;
        line.fill(heat[level], from * size, Math.min(line.length, b * size));
        from = b;
        level = next;
    }
}

// From bar j, which ends at t or before, on the last that does. Steps double, then halve.
function last_bar_at(end, j, last, t) {
    let step = 1;
    while (j + step < last && end[j + step] <= t) {
        j += step;
        step *= 2;
    }
    for (; step >= 1; step >>= 1) {
        if (j + step < last && end[j + step] <= t) j += step;
    }
    return j;
}

/* ---- the critical path ---- */

// Pixels of a bar of the critical path: at least two CSS pixels each way, so that it is never averaged away.
export function path_extent(start, end, {from, scale, k}) {
    const p = Math.round((start - from) * k);
    const q = Math.round((end - from) * k);
    const least = Math.round(2 * scale);
    return [p, Math.max(q, p + least)];
}

function paint_path(pixels, run, view, {fill, edge}) {
    const {lanes} = run;
    const least = Math.round(2 * view.scale);
    const border = Math.max(1, Math.round(view.scale));
    for (let lane = 0; lane < lanes.count; lane++) {
        const {y0, y1} = run.bands[run.band_of_lane[lane]];
        const bottom = Math.min(pixels.height, Math.max(y1, y0 + least));
        for (let j = lanes.critical_offset[lane]; j < lanes.critical_offset[lane + 1]; j++) {
            const i = lanes.critical_id[j];
            if (run.end_s[i] < view.from || run.start_s[i] > view.to) continue;
            const [p, q] = path_extent(run.start_s[i], run.end_s[i], view);
            fill_pixels(pixels, p, q, y0, bottom, fill);
            if (q - p >= 10 * border && bottom - y0 >= 4 * border)
                edge_pixels(pixels, p, q, y0, bottom, border, edge);
        }
    }
}

function fill_pixels({words, width}, p, q, y0, y1, colour) {
    const left = Math.max(0, p);
    const right = Math.min(width, q);
    if (left >= right) return;
    for (let y = y0; y < y1; y++) words.fill(colour, y * width + left, y * width + right);
}

function edge_pixels(pixels, p, q, y0, y1, border, colour) {
    fill_pixels(pixels, p, q, y0, y0 + border, colour);
    fill_pixels(pixels, p, q, y1 - border, y1, colour);
    fill_pixels(pixels, p, p + border, y0, y1, colour);
    fill_pixels(pixels, q - border, q, y0, y1, colour);
}

/* ---- hits ---- */

// The transfer at a time and row of pixels: of the lanes of the band there the nearest within `slack`
// seconds. Where the path is lit, its bars as they are drawn come first. Of equally near ones that of the
// critical path, then the first. -1: none. O(log) a lane.
export function hit_band(run, band, t, slack, view, is_path_lit) {
    if (is_path_lit) {
        const i = hit_path(run, band, t, view);
        if (i >= 0) return i;
    }
    const {lanes} = run;
    const best = {distance: slack, ahead: -1, i: -1};
    for (const lane of band.lanes) {
        const first = lanes.offset[lane];
        const last = lanes.offset[lane + 1];
        const j = first_bar_after(lanes, lane, t);
        for (let c = j; c < last && lanes.start[c] - t <= best.distance; c++)
            take_nearer(run, best, lanes.id[c], t);
        for (let c = j - 1; c >= first && t - lanes.end[c] <= best.distance; c--)
            take_nearer(run, best, lanes.id[c], t);
    }
    return best.i;
}

// Keep the better one of the best so far and transfer i.
function take_nearer(run, best, i, t) {
    const distance = Math.max(run.start_s[i] - t, t - run.end_s[i], 0);
    const ahead = run.is_critical[i];
    if (distance > best.distance) return;
    const is_tie = best.i >= 0 && distance === best.distance;
    if (is_tie && (ahead < best.ahead || (ahead === best.ahead && i > best.i))) return;
    Object.assign(best, {distance, ahead, i});
}

function hit_path(run, band, t, view) {
    const {lanes} = run;
    const x = (t - view.from) * view.k;
    let found = -1;
    for (const lane of band.lanes) {
        const first = lanes.critical_offset[lane];
        let low = first;
        let high = lanes.critical_offset[lane + 1];
        while (low < high) {
            const mid = (low + high) >> 1;
            if (
                path_extent(
                    run.start_s[lanes.critical_id[mid]],
                    run.end_s[lanes.critical_id[mid]],
                    view
                )[0] <= x
            )
                low = mid + 1;
            else high = mid;
        }
        if (low === first) continue;
        const i = lanes.critical_id[low - 1];
        if (x < path_extent(run.start_s[i], run.end_s[i], view)[1] && (found < 0 || i > found)) found = i;
    }
    return found;
}
