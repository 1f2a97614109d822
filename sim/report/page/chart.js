// SPDX-License-Identifier: GPL-3.0-or-later
// chart.js -- axes of dims and of values, and curves of algorithms over a dim with a rule, names at their
// ends and marks. Pictures are drawn at the width they have, so that text keeps its size on narrow screens.

import {fmt_brief, fmt_number, fmt_value, fmt_count} from './format.js';
import {title_of, colour_of, dash_of, mark_of} from './looks.js';
import {esc, shape, label_at, show_tip, tip_table, mark_svg} from './parts.js';

/* ---- axes ---- */

const is_number = dim => dim.unit !== 'word';
const starts_at_zero = dim => is_number(dim) && dim.values.length > 2 && dim.values[0] === 0;
const is_delay = dim => dim.unit === 's' && /(^|\.)delay/.test(dim.name);

// The text of a value of a dim at an axis.
function tick_text(dim, value) {
    if (value === 0 && is_delay(dim)) return 'on time';
    return dim.unit === 's' ? fmt_brief(value) : fmt_value(dim.unit, value);
}

// Whether values of a dim are spread over so much that their logarithms are what is even.
function is_spread(dim) {
    const least = starts_at_zero(dim) ? dim.values[1] : dim.values[0];
    return is_number(dim) && least > 0 && dim.values[dim.values.length - 1] / least >= 7.9;
}

// Sets of values for ticks, the densest first; the first that fits is taken.
function tick_levels(unit, low, high, is_log, values) {
    const levels = [];
    const powers = (base, multiples, stride) => {
        const out = [];
        const first = Math.floor(Math.log(low) / Math.log(base)) - 1,
            last = Math.ceil(Math.log(high) / Math.log(base));
        for (let e = first; e <= last; e++) {
            if (((e % stride) + stride) % stride) continue;
            for (const m of multiples) out.push(m * base ** e);
        }
        return out.filter(v => v >= low * 0.999 && v <= high * 1.001);
    };
    if (values && values.length <= 12) levels.push(values);
    if (is_log && unit === 'bytes')
        for (const stride of [1, 2, 3, 4, 5, 6, 10]) levels.push(powers(2, [1], stride));
    else if (is_log && !(values && unit === 'count')) {
        levels.push(
            powers(10, [1, 2, 5], 1),
            powers(10, [1, 3], 1),
            powers(10, [1], 1),
            powers(10, [1], 2),
            powers(10, [1], 3),
        );
    } else if (!values) for (const n of [6, 5, 4, 3, 2]) levels.push(d3.ticks(low, high, n));
    if (values) {
        for (let k = 1; k < 2 * values.length; k = k < 6 ? k + 1 : 2 * k) {
            levels.push(values.filter((_, i) => i % k === 0));
        }
    }
    return levels.filter(level => level.length >= 2).concat([[values ? values[0] : low]]);
}

// The first level whose labels do not touch: [{at, value, text}].
function fitting_ticks(levels, place, text, is_vertical) {
    for (const level of levels) {
        const ticks = level.map(value => ({at: place(value), value, text: text(value)}));
        const ends = ticks.map(t => (is_vertical ? 9 : t.text.length * 3.1 + 5));
        // "on time" stands apart from the rest: who is too near to it gives way
        while (
            ticks[0].value === 0 &&
            ticks.length > 2 &&
            Math.abs(ticks[1].at - ticks[0].at) < ends[1] + ends[0]
        ) {
            ticks.splice(1, 1);
            ends.splice(1, 1);
        }
        const fits = ticks.every(
            (t, i) => i === 0 || Math.abs(t.at - ticks[i - 1].at) >= ends[i] + ends[i - 1],
        );
        if (fits || level.length === 1) return ticks;
    }
    return [];
}

// An axis of a dim from `from` to `to` pixels; `cells`: one cell of the same width a value, else points.
//   centre(i)  of the place i      edge(i), edge_end(i)  of its cell      at(value)  of any value
//   nearest(px)  the place that is nearest      ticks
export function dim_axis(dim, from, to, {cells = false, is_vertical = false} = {}) {
    const n = dim.values.length,
        sign = Math.sign(to - from) || 1;
    const gap = starts_at_zero(dim) ? sign * (cells ? 7 : 26) : 0;
    const log = is_spread(dim);
    let centre, edge, edge_end;
    if (cells) {
        const size = (to - from - gap) / n;
        edge = i => from + i * size + (i ? gap : 0);
        edge_end = i => from + (i + 1) * size + (i ? gap : 0);
        centre = i => (edge(i) + edge_end(i)) / 2;
    } else if (!is_number(dim)) {
        const size = (to - from) / n;
        centre = i => from + (i + 0.5) * size;
    } else {
        const first = gap && log ? 1 : 0;
        const scale = (log ? d3.scaleLog() : d3.scaleLinear())
            .domain([dim.values[first], dim.values[n - 1]])
            .range([from + (first ? gap : 0), to]);
        centre = i => (i < first ? from : scale(dim.values[i]));
    }
    const at = value => between(dim, value, centre, log);
    const low = gap ? dim.values[1] : dim.values[0];
    const levels = is_number(dim)
        ? tick_levels(dim.unit, low, dim.values[n - 1], log, dim.values)
        : word_levels(dim.values);
    const with_zero = levels.map(l => (gap && l[0] !== 0 ? [0, ...l] : l));
    const ticks = fitting_ticks(with_zero, at, v => tick_text(dim, v), is_vertical);
    const nearest = px => {
        let best = 0;
        for (let i = 1; i < n; i++) if (Math.abs(centre(i) - px) < Math.abs(centre(best) - px)) best = i;
        return best;
    };
    return {dim, n, from, to, centre, edge, edge_end, at, nearest, ticks, has_gap: gap !== 0};
}

function word_levels(words) {
    const levels = [];
    for (let k = 1; k <= words.length; k++) levels.push(words.filter((_, i) => i % k === 0));
    return levels;
}

// Where a value lies between the places of the values that are there.
function between(dim, value, centre, log) {
    const {values} = dim;
    if (!is_number(dim)) return centre(values.indexOf(value));
    const i = Math.max(0, Math.min(values.length - 2, d3.bisectRight(values, value) - 1));
    const a = values[i],
        b = values[i + 1];
    if (b === undefined) return centre(0);
    const part = log && a > 0 && value > 0 ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a);
    return centre(i) + part * (centre(i + 1) - centre(i));
}

// The unit of an axis of values: what a value is divided by, and its name.
export function axis_unit(unit, high) {
    if (unit === 's') return high < 1e-3 ? [1e-6, 'µs'] : high < 1 ? [1e-3, 'ms'] : [1, 's'];
    if (unit === 'bytes') {
        const e = Math.max(0, Math.min(5, Math.floor(Math.log2(Math.max(1, high)) / 10)));
        return [1024 ** e, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][e]];
    }
    if (unit === 'Bps') return high < 1e6 ? [1e3, 'kB/s'] : high < 1e9 ? [1e6, 'MB/s'] : [1e9, 'GB/s'];
    if (unit === 'GBps') return [1, 'GB/s'];
    return [1, unit === 'ratio' ? '×' : ''];
}

// A text for a value at an axis over many decades, with its unit.
function long_tick(unit, value) {
    if (unit === 's') return fmt_brief(value);
    return ['bytes', 'Bps', 'GBps'].includes(unit) ? fmt_value(unit, value) : fmt_number(value);
}

// A vertical axis of values over the domain [low, high]: {at, ticks, caption}.
export function value_axis(unit, [low, high], log, from, to) {
    if (log) {
        const scale = d3.scaleLog().domain([low, high]).range([from, to]);
        const ticks = fitting_ticks(
            tick_levels(unit, low, high, true, null),
            scale,
            v => long_tick(unit, v),
            true,
        );
        return {at: scale, ticks, caption: axis_unit(unit, high)[1] === '×' ? '×' : '', low, high};
    }
    const [factor, caption] = axis_unit(unit, high);
    const scale = d3.scaleLinear().domain([low, high]).range([from, to]);
    const levels = [8, 6, 5, 4, 3].map(n => d3.ticks(low / factor, high / factor, n).map(t => t * factor));
    const roomy = levels
        .filter(l => l.length * 38 <= Math.abs(to - from))
        .concat([levels[levels.length - 1]]);
    return {
        at: scale,
        ticks: fitting_ticks(roomy, scale, v => fmt_number(v / factor), true),
        caption,
        low,
        high,
    };
}

/* ---- the picture ---- */

let plot_count = 0;

// The <svg> of a node, made once, so that it keeps the focus while it is drawn anew.
export function plot_in(node, is_dragged = false) {
    let svg = node.querySelector(':scope > svg.plot');
    if (!svg) {
        svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
        svg.setAttribute('class', 'plot' + (is_dragged ? ' drags' : ''));
        svg.dataset.id = 'plot' + ++plot_count;
        node.prepend(svg);
    }
    return svg;
}

// Set size and name, and what is in it.
export function draw_in(svg, width, height, label, content, role = 'img') {
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('role', role);
    svg.setAttribute('aria-label', label);
    svg.innerHTML = content;
}

// The width to draw a node's picture at.
export function width_of(node, least = 240) {
    return Math.max(least, Math.floor(node.clientWidth) || least);
}

// Where a pointer is, in the units of the picture.
export function point_in(svg, event) {
    const box = svg.getBoundingClientRect(),
        view = svg.viewBox.baseVal;
    return [
        ((event.clientX - box.left) / box.width) * view.width,
        ((event.clientY - box.top) / box.height) * view.height,
    ];
}

const px = v => Math.round(v * 10) / 10;

// Ticks and name of a horizontal axis.
export function x_axis_svg(axis, y, label) {
    const text = axis.ticks
        .map(t => `<text x="${px(t.at)}" y="${y + 17}" text-anchor="middle">${esc(t.text)}</text>`)
        .join('');
    return (
        text +
        `<text x="${px((axis.from + axis.to) / 2)}" y="${y + 35}" text-anchor="middle">${esc(label)}</text>`
    );
}

function y_axis_svg(axis, left, right) {
    return axis.ticks
        .map(
            t =>
                `<line x1="${left}" x2="${right}" y1="${px(t.at)}" y2="${px(t.at)}"/>` +
                `<text x="${left - 7}" y="${px(t.at + 4)}" text-anchor="end">${esc(t.text)}</text>`,
        )
        .join('');
}

// Move labels apart, at least `gap` pixels, in their order, inside [top, bottom]; sets .y of each.
function spread_labels(labels, gap, top, bottom) {
    labels.sort((a, b) => a.want - b.want);
    labels.forEach((l, i) => {
        l.y = Math.max(top, i ? Math.max(l.want, labels[i - 1].y + gap) : l.want);
    });
    for (let round = 0; round < 40; round++) {
        let moved = false;
        for (let i = 0; i < labels.length; i++) {
            const above = i ? labels[i - 1].y + gap : top;
            const below = i + 1 < labels.length ? labels[i + 1].y - gap : bottom;
            const y = Math.max(above, Math.min(below, labels[i].want));
            if (Math.abs(y - labels[i].y) > 0.1) moved = true;
            labels[i].y = y;
        }
        if (!moved) break;
    }
}

// The domain of the values of curves: [low, high] and whether it is logarithmic.
//   log: 'log', 'lin', or 'auto' (log where values differ by a factor of 20)
export function domain_of(columns, unit, log) {
    let least = Infinity,
        most = -Infinity,
        positive = Infinity;
    for (const column of columns) {
        for (const v of column) {
            if (!Number.isFinite(v)) continue;
            if (v < least) least = v;
            if (v > most) most = v;
            if (v > 0 && v < positive) positive = v;
        }
    }
    if (most === -Infinity) return {domain: [0, 1], is_log: false};
    const can_log = positive < Infinity && least >= 0 && most > positive;
    const is_log = can_log && (log === 'log' || (log === 'auto' && least > 0 && most / positive >= 20));
    if (is_log) return {domain: [positive / 1.15, most * 1.15], is_log};
    const high = most > 0 ? most * 1.06 : most === 0 && least === 0 ? 1 : 0;
    return {domain: [Math.min(0, least * 1.06), high], is_log};
}

// Draw curves into a node. o:
//   width, height, title (HTML-safe SVG text or ''), label (for readers of screens)
//   dim       the horizontal axis
//   unit, domain, is_log   of the vertical axis; y_label
//   curves    [{name (of an algorithm), values: [of each place]}]
//   bound     [of each place] or null
//   names     names at the ends of curves
//   rule      place that is shown, or -1
//   mark      {value, text} a line at a value of the dim, or null
//   text      value -> text, for tips
//   is_more_better   order of tips
//   on_pick(place, goes_on), head(place)   optional
export function draw_curves(node, o) {
    const svg = plot_in(node, Boolean(o.on_pick));
    const names_width = o.names
        ? Math.min(140, 30 + 7 * Math.max(5, d3.max(o.curves, c => title_of(c.name).length) || 0))
        : 0;
    const box = {
        left: 58,
        right: o.width - (o.names ? names_width : 14),
        top: o.title ? 30 : 20,
        bottom: o.height - 42,
    };
    const y = value_axis(o.unit, o.domain, o.is_log, box.bottom, box.top);
    const longest = d3.max(y.ticks, t => t.text.length) || 1;
    box.left = Math.max(26, longest * 6.4 + 12);
    const x = dim_axis(o.dim, box.left + 2, box.right);
    const id = svg.dataset.id;
    const parts = [
        shape('clipPath', {id: id + 'c'}, clip_svg(box)),
        '<g class="ax">',
        y_axis_svg(y, box.left, box.right),
        x_axis_svg(x, box.bottom, o.dim.label),
        '</g>',
    ];
    const caption = o.title ? '' : y.caption;
    if (o.title) parts.push(`<text x="${box.left}" y="14" class="value">${o.title}</text>`);
    if (caption) parts.push(label_at(box.left - 7, box.top - 9, caption, 'end', 'soft'));
    parts.push(`<g clip-path="url(#${id}c)">`, curves_svg(o, x, y), '</g>');
    if (o.mark) parts.push(mark_line_svg(o.mark, x, box));
    if (o.names) parts.push(names_svg(o, x, y, box));
    parts.push(rule_svg(o, x, y, box));
    parts.push(
        `<line class="hover" stroke="var(--soft)" y1="${box.top}" y2="${box.bottom}" visibility="hidden"/>`,
    );
    // keys work where the scenario is
    const has_keys = Boolean(o.on_pick) && o.rule >= 0;
    draw_in(svg, o.width, o.height, o.label, parts.join(''), has_keys ? 'application' : 'img');
    if (has_keys) svg.setAttribute('tabindex', '0');
    else svg.removeAttribute('tabindex');
    svg.chart = {o, x, y, box};
    if (!svg.is_wired) wire_curves(svg);
    return svg;
}

function curves_svg(o, x, y) {
    const line = d3
        .line()
        .defined(v => Number.isFinite(v) && !(o.is_log && v <= 0))
        .x((_, i) => px(x.centre(i)))
        .y(v => px(y.at(v)));
    const parts = [],
        is_words = o.dim.unit === 'word';
    if (o.bound) {
        const path = is_words ? steps_path(o.bound, x, y) : line(o.bound) || '';
        parts.push(
            `<path d="${path}" fill="none" stroke="var(--ink)" stroke-width="1.8" stroke-dasharray="3 4"/>`,
        );
    }
    const every = Math.max(1, Math.ceil(x.n / 7));
    o.curves.forEach((curve, k) => {
        const colour = colour_of(curve.name);
        if (!is_words) {
            parts.push(
                `<path d="${line(curve.values) || ''}" fill="none" stroke="${colour}" stroke-width="2.3" ` +
                    `stroke-linejoin="round" stroke-dasharray="${esc(dash_of(curve.name))}"/>`,
            );
        }
        const mark = mark_of(curve.name, 44);
        curve.values.forEach((v, i) => {
            if (
                !Number.isFinite(v) ||
                (o.is_log && v <= 0) ||
                (!is_words && x.n > 8 && i % every !== k % every && !is_alone(curve.values, i))
            )
                return;
            parts.push(mark_svg_at(mark, x.centre(i) + beside(o, x, k), y.at(v), colour));
        });
    });
    return parts.join('');
}

function mark_svg_at(d, x, y, fill) {
    return shape('path', {
        d,
        transform: `translate(${px(x)},${px(y)})`,
        fill,
        stroke: 'var(--card)',
        'stroke-width': 1,
    });
}

// Curves may pass the frame by half a mark.
function clip_svg(box) {
    const width = box.right - box.left + 9,
        height = box.bottom - box.top + 10;
    return shape('rect', {x: box.left - 4, y: box.top - 5, width, height});
}

// How far the k-th curve's marks stand beside the middle: over words they would hide each other.
function beside(o, x, k) {
    if (o.dim.unit !== 'word') return 0;
    const step = Math.min(18, ((Math.abs(x.to - x.from) / x.n) * 0.8) / o.curves.length);
    return (k - (o.curves.length - 1) / 2) * step;
}

// Words have no order: their bounds are short lines of their own, and nothing is drawn from one to the next.
function steps_path(values, x, y) {
    const half = (Math.abs(x.to - x.from) / x.n) * 0.3;
    return values
        .map((v, i) =>
            Number.isFinite(v) ? `M${px(x.centre(i) - half)} ${px(y.at(v))}h${px(2 * half)}` : '',
        )
        .join('');
}

// A value between two that are not there has no line, so it needs its mark.
function is_alone(values, i) {
    return !Number.isFinite(values[i - 1]) && !Number.isFinite(values[i + 1]);
}

function mark_line_svg(mark, x, box) {
    const at = px(x.at(mark.value));
    if (!(at >= box.left && at <= box.right)) return '';
    const near_end = at > box.right - 150;
    const line = {x1: at, x2: at, y1: box.top, y2: box.bottom, stroke: 'var(--ink)', 'stroke-width': 1.6};
    const text_at = near_end
        ? [at - 6, box.top + 10, mark.text, 'end']
        : [at + 6, box.top + 10, mark.text, 'start'];
    return shape('line', line) + label_at(...text_at, 'lab halo');
}

function last_value(values) {
    for (let i = values.length - 1; i >= 0; i--) if (Number.isFinite(values[i])) return [i, values[i]];
    return null;
}

function names_svg(o, x, y, box) {
    const labels = [];
    const add = (values, text, name) => {
        const last = last_value(values);
        if (!last || (o.is_log && last[1] <= 0)) return;
        const want = y.at(last[1]);
        if (want >= box.top - 6 && want <= box.bottom + 6)
            labels.push({want, from: x.centre(last[0]), text, name});
    };
    for (const c of o.curves) add(c.values, title_of(c.name), c.name);
    if (o.bound) add(o.bound, 'bound', null);
    spread_labels(labels, 15, box.top, box.bottom);
    return labels.map(l => name_at_end(l, box.right, o.width)).join('');
}

function name_at_end(l, right, width) {
    const left = right + 22,
        transform = `translate(${right + 14},${px(l.y)})`;
    const lead = {
        d: `M${px(l.from + 4)} ${px(l.want)}L${right + 7} ${px(l.y)}`,
        stroke: 'var(--hair)',
        fill: 'none',
    };
    const mark =
        l.name === null
            ? {d: 'M-6 0H6', stroke: 'var(--ink)', 'stroke-width': 2, 'stroke-dasharray': '3 3', transform}
            : {d: mark_of(l.name, 44), fill: colour_of(l.name), transform};
    const has_lead = Math.abs(l.y - l.want) > 3;
    return (
        (has_lead ? shape('path', lead) : '') +
        shape('path', mark) +
        label_at(left, l.y + 4, shortened(l.text, width - left), 'start', 'lab')
    );
}

// The width of a letter, at most of texts, in 12, 13 and 14 pixels (the last in bold).
export const LETTER = {small: 6.3, value: 7.2, name: 8.6};

// A text that has to fit into a width.
export function shortened(text, width, letter = LETTER.small) {
    const most = Math.max(3, Math.floor(width / letter));
    return text.length > most ? text.slice(0, most - 1) + '…' : text;
}

function rule_svg(o, x, y, box) {
    if (!(o.rule >= 0)) return '';
    const at = px(x.centre(o.rule));
    const dots = o.curves.map((c, k) => {
        const v = c.values[o.rule];
        if (!Number.isFinite(v) || (o.is_log && v <= 0) || y.at(v) < box.top - 5) return '';
        const ring = {r: 4, fill: 'var(--card)', stroke: colour_of(c.name), 'stroke-width': 2};
        return shape('circle', {cx: at + beside(o, x, k), cy: y.at(v), ...ring});
    });
    return (
        `<line x1="${at}" x2="${at}" y1="${box.top}" y2="${box.bottom}" stroke="var(--ink)" opacity=".5"/>` +
        dots.join('')
    );
}

// Pointer and keys of curves: hover shows the values of a place, drag and arrows pick it.
function wire_curves(svg) {
    svg.is_wired = true;
    let is_down = false;
    const place = event => svg.chart.x.nearest(point_in(svg, event)[0]);
    const hover = event => {
        const {o, x} = svg.chart,
            i = place(event),
            line = svg.querySelector('.hover');
        line.setAttribute('x1', x.centre(i));
        line.setAttribute('x2', x.centre(i));
        line.setAttribute('visibility', 'visible');
        show_tip(curve_tip(o, i), event);
    };
    const pick = (i, goes_on) => {
        const {o} = svg.chart;
        if (o.on_pick && i !== o.rule) o.on_pick(i, goes_on);
    };
    svg.addEventListener('pointermove', event => {
        if (is_down) pick(place(event), true);
        hover(event);
    });
    svg.addEventListener('pointerdown', event => {
        if (!svg.chart.o.on_pick || event.button > 0) return;
        is_down = true;
        svg.setPointerCapture(event.pointerId);
        pick(place(event), false);
        hover(event);
    });
    const up = () => {
        is_down = false;
    };
    svg.addEventListener('pointerup', up);
    svg.addEventListener('pointercancel', up);
    svg.addEventListener('pointerleave', () => {
        svg.querySelector('.hover').setAttribute('visibility', 'hidden');
        show_tip('');
    });
    svg.addEventListener('keydown', event => {
        const {o, x} = svg.chart;
        const next = stepped(event.key, Math.max(0, o.rule), x.n);
        if (!o.on_pick || next === null) return;
        event.preventDefault();
        event.stopPropagation();
        pick(next, false);
    });
}

// The place that a key leads to, of n; null: not a key that moves.
export function stepped(key, place, n) {
    const far = Math.max(2, Math.round(n / 8));
    const step = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        PageUp: far,
        PageDown: -far,
        Home: -n,
        End: n,
    }[key];
    return step === undefined ? null : Math.max(0, Math.min(n - 1, place + step));
}

function curve_tip(o, i) {
    const rows = o.curves
        .map(c => [c.name, c.values[i]])
        .filter(r => !Number.isNaN(r[1]))
        .sort((p, q) => (p[1] - q[1]) * (o.is_more_better ? -1 : 1))
        .map(([name, v]) => [mark_svg(name) + esc(title_of(name)), o.text(v)]);
    if (o.bound && !Number.isNaN(o.bound[i])) rows.push(['proven bound', o.text(o.bound[i])]);
    const head = o.head ? o.head(i) : `${o.dim.label} ${fmt_value(o.dim.unit, o.dim.values[i])}`;
    const none = rows.length ? '' : '<br>nothing was computed here';
    return `<b>${esc(head)}</b>${none}${tip_table(rows)}`;
}

// "3 of 12 panels": what a count says.
export function of_count(some, all) {
    return `${fmt_count(some)} of ${fmt_count(all)}`;
}
