// SPDX-License-Identifier: GPL-3.0-or-later
// map.js -- which schedule is the best over two dims, and the curve beside it.

import {sweep, value_of, bound_of, ranking_of, baseline_of, time_measure, setting_with} from './data.js';
import {bound_measure} from './data.js';
import {fmt_seconds, fmt_value} from './format.js';
import {title_of, colour_of} from './looks.js';
import {state, state_key, change, move_dim} from './state.js';
import {esc, el, shape, label_at, choice, tell_status, show_tip, tip_table, named} from './parts.js';
import {mark_svg, table_below} from './parts.js';
import {cell_of} from './parts.js';
import {plot_in, draw_in, width_of, point_in, dim_axis, draw_curves, domain_of, x_axis_svg} from './chart.js';
import {shortened} from './chart.js';
import {wrongs_of, show_setting} from './answer.js';
import {show_run_of_setting} from './timeline.js';

const dim_text = text => (sweep && sweep.dim_of.has(text) ? text : undefined);
state_key('mapx', {init: '', read: dim_text});
state_key('mapy', {init: '', read: dim_text});
state_key('mapz', {init: '', read: dim_text});

const STEPS = [0.01, 0.05, 0.1, 0.2, 0.3];
const STEP_TEXTS = ['< 1 %', '5 %', '10 %', '20 %', '30 %', 'more'];
const MOST_THUMBS = 12;

/* ---- which dims ---- */

const is_delay_dim = dim => dim.unit === 's' && /(^|\.)delay/.test(dim.name);

// The dims of the map: places in sweep.dims, x, y, z (thumbnails; -1: none). What is not chosen: a delay
// across and bytes up where they are there, else those with the most values, numbers before words.
export function map_dims() {
    const {dims} = sweep,
        free = dims.map((_, d) => d);
    free.sort(
        (p, q) =>
            (dims[p].unit === 'word') - (dims[q].unit === 'word') ||
            dims[q].values.length - dims[p].values.length,
    );
    const has_delay = dims.some(is_delay_dim);
    const guess = {mapx: is_delay_dim, mapy: dim => has_delay && dim.name === 'bytes', mapz: () => true};
    const out = {};
    const take = (key, d) => {
        out[key] = d;
        if (d >= 0) free.splice(free.indexOf(d), 1);
    };
    // what is chosen goes first, so that no guess takes it
    for (const key of Object.keys(guess)) {
        const d = state[key] ? sweep.dim_of.get(state[key]) : undefined;
        if (d !== undefined && free.includes(d)) take(key, d);
    }
    for (const key of Object.keys(guess)) {
        if (out[key] === undefined)
            take(
                key,
                free.length
                    ? free[
                          Math.max(
                              0,
                              free.findIndex(d => guess[key](dims[d])),
                          )
                      ]
                    : -1,
            );
    }
    return {x: out.mapx, y: out.mapy, z: out.mapz};
}

/* ---- which schedule ---- */

// The best of a setting: {a, step}: a -1: nothing ran, -2: nothing there; step: how much faster than the
// baseline (than the second where it has no value), as place of STEPS.
function best_of(setting) {
    if (setting < 0) return {a: -2, step: 0};
    const measure = sweep.measure[time_measure()].values,
        first = setting * sweep.A;
    let a = -1,
        least = Infinity,
        second = Infinity,
        some = false;
    for (let k = 0; k < sweep.A; k++) {
        const v = measure[first + k];
        if (sweep.state[first + k] > 0) some = true;
        if (Number.isNaN(v) || sweep.state[first + k] === 3) continue;
        if (v < least) {
            second = least;
            least = v;
            a = k;
        } else if (v < second) second = v;
    }
    if (a < 0) return {a: some ? -1 : -2, step: 0};
    const base = baseline_of(),
        b = base >= 0 ? measure[first + base] : NaN;
    const against = Number.isNaN(b) ? second : b;
    return {a, step: Number.isFinite(against) ? d3.bisectRight(STEPS, 1 - least / against) : 0};
}

// The best of all cells of the map, in rows of y; `z` >= 0: with that dim at a place instead of as it is
// shown.
function best_cells(x, y, z = -1, place = 0) {
    const nx = sweep.dims[x].values.length,
        ny = sweep.dims[y].values.length,
        {strides, get} = sweep.by_key;
    let rest = z >= 0 ? place * strides[z] : 0;
    for (let d = 0; d < strides.length; d++) {
        if (d !== x && d !== y && d !== z) rest += sweep.place[d][state.setting] * strides[d];
    }
    const cells = new Array(nx * ny);
    for (let j = 0; j < ny; j++) {
        for (let i = 0; i < nx; i++) cells[j * nx + i] = best_of(get(rest + i * strides[x] + j * strides[y]));
    }
    return {cells, nx, ny};
}

/* ---- the picture ---- */

// Cells as one path for each schedule and step, runs of the same joined.
function cells_svg({cells, nx, ny}, ax, ay, hatch) {
    const paths = new Map();
    const add = (key, i0, i1, j) => {
        const x0 = ax.edge(i0),
            x1 = ax.edge_end(i1),
            y0 = ay.edge_end(j),
            y1 = ay.edge(j);
        paths.set(
            key,
            (paths.get(key) || '') +
                `M${x0.toFixed(1)} ${y0.toFixed(1)}H${x1.toFixed(1)}V${y1.toFixed(1)}H${x0.toFixed(1)}Z`,
        );
    };
    for (let j = 0; j < ny; j++) {
        let from = 0;
        for (let i = 1; i <= nx; i++) {
            const a = cells[j * nx + from],
                b = i < nx ? cells[j * nx + i] : null;
            if (b && a.a === b.a && a.step === b.step && !(i === 1 && ax.has_gap)) continue;
            if (a.a !== -2) add(a.a === -1 ? 'wrong' : a.a + ' ' + a.step, from, i - 1, j);
            from = i;
        }
    }
    return [...paths]
        .map(([key, d]) => {
            if (key === 'wrong')
                return `<path d="${d}" fill="url(#${hatch})" stroke="var(--line)" stroke-width=".5"/>`;
            const [a, step] = key.split(' ');
            return `<path d="${d}" fill="${colour_of(sweep.algorithms[a])}" class="s${step}"/>`;
        })
        .join('');
}

function hatch_svg(id) {
    return (
        `<defs><pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse">` +
        '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" stroke="var(--line)" stroke-width="1.4"/></pattern></defs>'
    );
}

// Where the names of regions stand: in each region the cell with the most room around it, and how many cells
// of the region are left and right of it. Cells that make no difference are one region, 'same'. O(cells).
function regions({cells, nx, ny}, cell_width, cell_height) {
    const kind = cells.map(c => (c.a < 0 ? null : c.step === 0 ? 'same' : String(c.a)));
    const across = runs_of(kind, nx * ny, k => k % nx === 0, 1),
        down = runs_of(kind, nx * ny, k => k < nx, nx);
    const found = new Map();
    kind.forEach((own, k) => {
        if (own === null) return;
        const r = found.get(own) || {own, count: 0, k: -1, score: 0};
        const left = across.before[k],
            right = across.after[k];
        const wide = (Math.min(left, right) + 0.5) * cell_width,
            high = (Math.min(down.before[k], down.after[k]) + 0.5) * cell_height;
        const score = Math.min(wide / 2, high) + 0.1 * Math.min(wide, 3 * high) + 0.02 * wide;
        r.count++;
        if (score > r.score) Object.assign(r, {score, k, left, right});
        found.set(own, r);
    });
    return [...found.values()].sort((p, q) => q.count - p.count);
}

// How many cells of the same kind are before and after each one, in steps of `step`.
function runs_of(kind, n, is_first, step) {
    const before = new Int32Array(n),
        after = new Int32Array(n);
    for (let k = 0; k < n; k++) {
        if (!is_first(k) && kind[k] === kind[k - step]) before[k] = before[k - step] + 1;
    }
    for (let k = n - 1; k >= 0; k--) {
        const next = k + step;
        if (next < n && !is_first(next) && kind[k] === kind[next]) after[k] = after[next] + 1;
    }
    return {before, after};
}

function region_labels(grid, ax, ay) {
    const width = Math.abs(ax.edge_end(grid.nx - 1) - ax.edge(grid.nx - 1));
    const height = Math.abs(ay.edge_end(grid.ny - 1) - ay.edge(grid.ny - 1));
    return regions(grid, width, height)
        .map(r => {
            const text = r.own === 'same' ? 'all the same, within 1 %' : title_of(sweep.algorithms[r.own]);
            const i = r.k % grid.nx,
                j = Math.floor(r.k / grid.nx);
            const room = (r.left + r.right + 1) * width,
                wide = text.length * (r.own === 'same' ? 6.9 : 9);
            if (room < wide + 10 || r.count * height * width < 900) return '';
            const needs_shift = (Math.min(r.left, r.right) + 0.5) * width < wide / 2;
            const x = ax.centre(i) + (needs_shift ? ((r.right - r.left) / 2) * width : 0),
                y = ay.centre(j) + 5;
            return label_at(x, y, text, 'middle', r.own === 'same' ? 'lab halo' : 'region');
        })
        .join('');
}

/* ---- the critical delay ---- */

// The critical delay of the schedule that is the best when the delay is largest; null: it has none.
function critical_of(setting, x) {
    const critical = sweep.measure.critical_delay_s;
    if (!critical || !is_delay_dim(sweep.dims[x])) return null;
    let late = -1;
    for (let i = sweep.dims[x].values.length - 1; i >= 0 && late < 0; i--) late = setting_with(setting, x, i);
    if (late < 0) return null;
    const a = ranking_of(late)[0];
    const value = a === undefined ? NaN : critical.values[late * sweep.A + a];
    return Number.isFinite(value) ? {value, name: sweep.algorithms[a]} : null;
}

function critical_line(x, y, ax, ay) {
    const {dims} = sweep,
        values = dims[x].values,
        most = values[values.length - 1];
    const points = [];
    for (let j = 0; j < dims[y].values.length; j++) {
        const s = setting_with(state.setting, y, j),
            c = s < 0 ? null : critical_of(s, x);
        if (c && c.value > 0 && c.value <= most) points.push([ax.at(c.value), ay.centre(j)]);
    }
    if (points.length < 2) return '';
    const d = d3.line().curve(d3.curveMonotoneY)(points);
    const [tx, ty] = points[Math.floor(points.length * 0.6)];
    return (
        `<path d="${d}" fill="none" stroke="var(--card)" stroke-width="5.5" opacity=".9"/>` +
        `<path d="${d}" fill="none" stroke="var(--ink)" stroke-width="2.2"/>` +
        label_at(tx - 10, ty, 'critical delay', 'end', 'lab halo')
    );
}

/* ---- the section ---- */

export function map_section(node) {
    if (!sweep || sweep.A < 2 || sweep.dims.length < 1) return null;
    const has_map = sweep.dims.length > 1;
    const map_box = node.querySelector('.map'),
        cut_box = node.querySelector('.cut');
    node.querySelector('.mapcard').hidden = !has_map;
    node.querySelector('.two').classList.toggle('single', !has_map);
    const [map_more, cut_more] = node.querySelectorAll('.more-box');
    map_more.replaceChildren();
    cut_more.replaceChildren();
    const map_table = has_map ? table_below(map_more, table_of_map, {name: 'map', plot: map_box}) : null;
    const cut_table = table_below(cut_more, table_of_cut, {name: 'curve', plot: cut_box});
    const thumbs = node.querySelector('.thumbs');
    let drawn = {};
    const draw_all = is_new => {
        const now = map_state();
        if (has_map && (is_new || now.map !== drawn.map)) {
            draw_map(map_box);
            map_table.update();
        } else if (has_map) move_cross(map_box);
        if (has_map && (is_new || now.thumbs !== drawn.thumbs)) {
            map_controls(node.querySelector('.controls'));
            draw_thumbs(thumbs);
        } else press_thumb(thumbs);
        drawn = now;
        draw_cut(cut_box);
        cut_table.update();
    };
    map_lead(node);
    return {
        draw: () => draw_all(true),
        update: changed => {
            if (['setting', 'mapx', 'mapy', 'mapz'].some(key => changed.has(key))) draw_all(false);
        },
    };
}

// What the map and the small maps depend on: which dims, and the dims of the setting that they do not show.
function map_state() {
    const {x, y, z} = map_dims();
    const held = (...free) =>
        [x, y, z, ...sweep.dims.map((_, d) => (free.includes(d) ? '' : sweep.place[d][state.setting]))].join(
            ' ',
        );
    const many = z >= 0 && sweep.dims[z].values.length > MOST_THUMBS;
    return {map: held(x, y), thumbs: many ? held(x, y) : held(x, y, z)};
}

function map_lead(node) {
    const lead = node.querySelector('.lead');
    lead.textContent =
        sweep.dims.length > 1
            ? 'Pale means it does not matter. Drag on the map, or along the curves, and everything follows.'
            : 'Drag along the curves, and everything follows.';
}

function map_controls(box) {
    box.replaceChildren();
    if (sweep.dims.length < 3) return;
    const {x, y, z} = map_dims(),
        names = sweep.dims.map(dim => [dim.name, dim.label]);
    const set = key => value => {
        const now = {mapx: sweep.dims[x].name, mapy: sweep.dims[y].name, mapz: sweep.dims[z].name};
        const was = now[key],
            other = Object.keys(now).find(k => k !== key && now[k] === value);
        if (other) now[other] = was;
        now[key] = value;
        change(now);
    };
    box.append(
        choice('across', names, sweep.dims[x].name, set('mapx')),
        choice('up', names, sweep.dims[y].name, set('mapy')),
    );
    if (sweep.dims.length > 3) box.append(choice('small maps of', names, sweep.dims[z].name, set('mapz')));
}

function against_text() {
    const base = baseline_of();
    return base >= 0 ? title_of(sweep.algorithms[base]) : 'the next one';
}

function draw_map(node) {
    const {x, y} = map_dims(),
        {dims} = sweep,
        width = width_of(node);
    const longest = d3.max(dims[y].values, v => fmt_value(dims[y].unit, v).length);
    const left = Math.min(width * 0.34, 14 + 6.4 * longest),
        height = Math.max(320, Math.min(470, width * 0.7));
    const ax = dim_axis(dims[x], left, width - 6, {cells: true});
    const ay = dim_axis(dims[y], height - 78, 6, {cells: true, is_vertical: true});
    const grid = best_cells(x, y),
        svg = plot_in(node, true),
        hatch = svg.dataset.id + 'h';
    const ticks = ay.ticks
        .map(
            t =>
                `<text x="${left - 8}" y="${(t.at + 4).toFixed(1)}" text-anchor="end">` +
                `${esc(shortened(t.text, left - 8))}</text>`,
        )
        .join('');
    const content =
        hatch_svg(hatch) +
        `<g shape-rendering="crispEdges">${cells_svg(grid, ax, ay, hatch)}</g>` +
        `<g class="ax">${ticks}${x_axis_svg(ax, height - 78, dims[x].label)}</g>` +
        critical_line(x, y, ax, ay) +
        region_labels(grid, ax, ay) +
        '<g class="cross"></g>' +
        legend_svg(grid, left, height - 28, width);
    draw_in(svg, width, height, map_label(x, y), content, 'application');
    svg.map = {x, y, ax, ay, grid};
    if (!svg.is_wired) wire_map(svg);
    move_cross(node);
    const caption = node.parentElement.querySelector('figcaption');
    caption.replaceChildren(
        `Best schedule over ${dims[x].label} and ${dims[y].label} `,
        el('span', {
            className: 'muted',
            textContent: `(hue: which; strength: how much faster than ${against_text()})`,
        }),
    );
}

function map_label(x, y) {
    return (
        `Decision map: the best schedule over ${sweep.dims[x].label} and ${sweep.dims[y].label}. ` +
        'Arrows move the scenario, Enter opens its timeline.'
    );
}

// Strength in the colour of the schedule that is the best most often, and what hatched is.
function legend_svg(grid, left, y, width) {
    const counts = new Map();
    let wrong = false;
    for (const c of grid.cells) {
        if (c.a === -1) wrong = true;
        if (c.a >= 0) counts.set(c.a, (counts.get(c.a) || 0) + 1 + 20 * (c.step === 5));
    }
    if (counts.size === 0) return '';
    const a = [...counts].sort((p, q) => q[1] - p[1])[0][0];
    const step = Math.min(50, (width - left - 10) / 6 - 2);
    const fill = colour_of(sweep.algorithms[a]);
    const boxes = STEP_TEXTS.map((text, i) => {
        const x = left + i * (step + 2);
        return (
            shape('rect', {x, y, width: step, height: 9, fill, class: 's' + i}) +
            label_at(x + step / 2, y + 21, text, 'middle')
        );
    });
    const end = left + 6 * (step + 2) + 6,
        text = 'faster than ' + against_text();
    const note = width - end > text.length * 6 ? `<text x="${end}" y="${y + 9}">${esc(text)}</text>` : '';
    const error =
        wrong && width - end > 100 ? `<text x="${end}" y="${y + 22}">hatched: nothing ran</text>` : '';
    return `<g class="ax">${boxes.join('')}${note}${error}</g>`;
}

// The mark of the scenario that is shown.
function move_cross(node) {
    const svg = node.querySelector('svg.plot'),
        group = svg && svg.querySelector('.cross');
    if (!group) return;
    const {x, y, ax, ay} = svg.map;
    const cx = ax.centre(sweep.place[x][state.setting]),
        cy = ay.centre(sweep.place[y][state.setting]);
    const cross = `M${cx.toFixed(1)} ${ay.to}V${ay.from}M${ax.from} ${cy.toFixed(1)}H${ax.to}`;
    const ring = {cx, cy, r: 7, fill: 'none'};
    group.innerHTML =
        shape('path', {d: cross, stroke: 'var(--ink)', opacity: '.5'}) +
        shape('circle', {...ring, stroke: 'var(--card)', 'stroke-width': 5.5}) +
        shape('circle', {
            ...ring,
            fill: 'var(--card)',
            'fill-opacity': '.4',
            stroke: 'var(--ink)',
            'stroke-width': 2.4,
        });
}

function wire_map(svg) {
    svg.is_wired = true;
    svg.setAttribute('tabindex', '0');
    let is_down = false;
    const cell = event => {
        const [px, py] = point_in(svg, event),
            {ax, ay} = svg.map;
        const is_inside = px >= ax.from - 2 && px <= ax.to + 2 && py >= ay.to - 2 && py <= ay.from + 2;
        return is_inside || is_down ? [ax.nearest(px), ay.nearest(py)] : null;
    };
    const go = (event, goes_on) => {
        const at = cell(event),
            {x, y} = svg.map;
        const s = at ? setting_with(state.setting, x, at[0], y, at[1]) : -1;
        if (s >= 0) show_setting(s, goes_on);
    };
    svg.addEventListener('pointerdown', event => {
        if (event.button > 0 || !cell(event)) return;
        is_down = true;
        svg.setPointerCapture(event.pointerId);
        go(event, false);
    });
    svg.addEventListener('pointermove', event => {
        if (is_down) go(event, true);
        const at = cell(event);
        show_tip(at ? cell_tip(svg.map, at) : '', event);
    });
    const up = () => {
        is_down = false;
    };
    svg.addEventListener('pointerup', up);
    svg.addEventListener('pointercancel', up);
    svg.addEventListener('pointerleave', () => show_tip(''));
    svg.addEventListener('keydown', event => map_key(svg, event));
}

function map_key(svg, event) {
    const {x, y} = svg.map;
    const move = {
        ArrowRight: [x, 1],
        ArrowLeft: [x, -1],
        ArrowUp: [y, 1],
        ArrowDown: [y, -1],
        PageUp: [y, 4],
        PageDown: [y, -4],
        Home: [x, -1e6],
        End: [x, 1e6],
    }[event.key];
    if (event.key === 'Enter') {
        if (show_run_of_setting(state.setting)) document.getElementById('timeline').scrollIntoView();
        else tell_status('The page has no timeline of this scenario.');
    }
    if (!move && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    if (move) move_dim(move[0], sweep.place[move[0]][state.setting] + move[1]);
}

function cell_tip({x, y}, [i, j]) {
    const {dims} = sweep,
        s = setting_with(state.setting, x, i, y, j);
    const head = [
        [x, i],
        [y, j],
    ]
        .map(([d, p]) => `${dims[d].label} ${fmt_value(dims[d].unit, dims[d].values[p])}`)
        .join(', ');
    if (s < 0) return `<b>${esc(head)}</b><br>was not computed`;
    const rows = ranking_of(s)
        .slice(0, 5)
        .map(a => [
            mark_svg(sweep.algorithms[a]) + esc(title_of(sweep.algorithms[a])),
            fmt_seconds(value_of(time_measure(), s, a)),
        ]);
    const bound = bound_of(s);
    if (!Number.isNaN(bound)) rows.push(['proven bound', fmt_seconds(bound)]);
    const wrong = wrongs_of(s)
        .slice(0, 3)
        .map(([a, text]) => `<br>✗ ${named(sweep.algorithms[a])}: ${esc(shortened(text, 500))}`);
    return `<b>${esc(head)}</b>${tip_table(rows)}${wrong.join('')}`;
}

/* ---- small maps of a third dim ---- */

const THUMB = {
    viewBox: '0 0 120 80',
    preserveAspectRatio: 'none',
    'shape-rendering': 'crispEdges',
    'aria-hidden': 'true',
};

function draw_thumbs(node) {
    const {x, y, z} = map_dims();
    node.replaceChildren();
    if (z < 0) return;
    const dim = sweep.dims[z],
        now = sweep.place[z][state.setting];
    const places = thumb_places(dim.values.length, now);
    const ax = dim_axis(sweep.dims[x], 0, 120, {cells: true}),
        ay = dim_axis(sweep.dims[y], 80, 0, {cells: true});
    for (const place of places) {
        const button = el('button', {type: 'button', className: 'thumb'});
        button.dataset.place = place;
        const text = fmt_value(dim.unit, dim.values[place]);
        const head = dim.unit === 'count' ? `<b>${esc(text)}</b> ${esc(dim.label)}` : `<b>${esc(text)}</b>`;
        const hatch = 'thumb' + place,
            cells = cells_svg(best_cells(x, y, z, place), ax, ay, hatch);
        button.innerHTML = head + shape('svg', THUMB, hatch_svg(hatch) + cells);
        button.setAttribute('aria-label', `${dim.label} ${text}`);
        button.addEventListener('click', () => {
            move_dim(z, place);
            const again = node.querySelector('[aria-pressed=true]');
            if (again && !button.isConnected) again.focus({preventScroll: true});
        });
        node.append(button);
    }
    press_thumb(node);
    if (places.length < dim.values.length) {
        node.append(
            el('p', {
                className: 'note',
                textContent: `${places.length} of ${dim.values.length} values of ${dim.label}`,
            }),
        );
    }
}

function press_thumb(node) {
    const {z} = map_dims(),
        now = z < 0 ? -1 : sweep.place[z][state.setting];
    for (const button of node.querySelectorAll('.thumb')) {
        button.setAttribute('aria-pressed', String(Number(button.dataset.place) === now));
    }
}

// At most MOST_THUMBS places, evenly spread, the one that is shown among them.
function thumb_places(n, now) {
    if (n <= MOST_THUMBS) return d3.range(n);
    const places = new Set(d3.range(MOST_THUMBS - 1).map(k => Math.round((k * (n - 1)) / (MOST_THUMBS - 2))));
    places.add(now);
    return [...places].sort((p, q) => p - q);
}

/* ---- the curve beside the map ---- */

function cut_values(x) {
    const measure = time_measure(),
        bound_name = bound_measure(measure);
    const settings = sweep.dims[x].values.map((_, i) => setting_with(state.setting, x, i));
    const curves = sweep.algorithms.map((name, a) => ({
        name,
        a,
        values: settings.map(s => (s < 0 ? NaN : value_of(measure, s, a))),
    }));
    const bound = bound_name ? settings.map(s => (s < 0 ? NaN : bound_of(s, measure))) : null;
    return {settings, curves: curves.filter(c => c.values.some(Number.isFinite)), bound};
}

// The domain of the curves; one that is far above all others does not press them down.
function cut_domain(curves, bound) {
    const tops = curves.map(c => d3.max(c.values.filter(Number.isFinite))).sort((p, q) => p - q);
    const base = baseline_of() >= 0 ? curves.find(c => c.a === baseline_of()) : null;
    const middle = base ? d3.max(base.values.filter(Number.isFinite)) : d3.median(tops);
    const limit = middle * 2.4;
    const columns = [...curves.map(c => c.values), ...(bound ? [bound] : [])];
    const all = domain_of(columns, 's', 'auto');
    if (!all.is_log && all.domain[1] > limit) all.domain[1] = limit;
    return all;
}

function draw_cut(node) {
    const {x} = map_dims(),
        dim = sweep.dims[x],
        {curves, bound} = cut_values(x),
        width = width_of(node);
    const {domain, is_log} = cut_domain(curves, bound),
        measure = sweep.measure[time_measure()];
    const critical = critical_of(state.setting, x);
    const fixed = sweep.dims
        .map((d, k) => [d, k])
        .filter(([, k]) => k !== x)
        .map(([d, k]) => `${d.label} ${fmt_value(d.unit, d.values[sweep.place[k][state.setting]])}`)
        .join(', ');
    const height =
        sweep.dims.length > 1
            ? Math.max(340, Math.min(560, width * 1.02))
            : Math.max(320, Math.min(460, width * 0.42));
    draw_curves(node, {
        width,
        height,
        title: '',
        label: `${measure.label} over ${dim.label}; arrows move the scenario`,
        dim,
        unit: measure.unit,
        domain,
        is_log,
        curves,
        bound,
        names: width > 330,
        rule: sweep.place[x][state.setting],
        mark:
            critical && critical.value > 0
                ? {value: critical.value, text: 'critical delay ' + fmt_seconds(critical.value)}
                : null,
        text: fmt_seconds,
        on_pick: (i, goes_on) => move_dim(x, i, {goes_on}),
    });
    const caption = node.parentElement.querySelector('figcaption');
    const label = measure.label.charAt(0).toUpperCase() + measure.label.slice(1);
    caption.replaceChildren(
        `${label} over ${dim.label} `,
        el('span', {className: 'muted', textContent: fixed ? `(${fixed})` : ''}),
    );
}

/* ---- as tables ---- */

function table_of_map() {
    const {x, y} = map_dims(),
        {dims} = sweep,
        grid = best_cells(x, y);
    const name = c =>
        c.a === -2
            ? '–'
            : c.a === -1
              ? 'nothing ran'
              : title_of(sweep.algorithms[c.a]) + (c.step ? '' : ' (< 1 %)');
    const heads = [
        `${dims[y].label} / ${dims[x].label}`,
        ...dims[x].values.map(v => fmt_value(dims[x].unit, v)),
    ];
    const rows = dims[y].values.map((v, j) => [
        cell_of(dims[y].unit, v),
        ...dims[x].values.map((_, i) => name(grid.cells[j * grid.nx + i])),
    ]);
    return {
        caption: `The best schedule, and where it is less than 1 % faster than ${against_text()}`,
        heads,
        rows,
    };
}

function table_of_cut() {
    const {x} = map_dims(),
        dim = sweep.dims[x],
        {curves, bound} = cut_values(x);
    const heads = [dim.label, ...curves.map(c => title_of(c.name)), ...(bound ? ['proven bound'] : [])];
    const rows = dim.values.map((v, i) => [
        cell_of(dim.unit, v),
        ...curves.map(c => cell_of('s', c.values[i])),
        ...(bound ? [cell_of('s', bound[i])] : []),
    ]);
    return {caption: `${sweep.measure[time_measure()].label} over ${dim.label}`, heads, rows};
}
