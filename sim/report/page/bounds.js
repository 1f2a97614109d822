// SPDX-License-Identifier: GPL-3.0-or-later
// bounds.js -- all lower bounds of the setting that was shown first, beside the elapsed times of its
// schedules.

import {D, sweep, value_of, ranking_of, baseline_of} from './data.js';
import {fmt_seconds, fmt_percent, fmt_value} from './format.js';
import {title_of, colour_of} from './looks.js';
import {esc, el, shape, label_at, show_tip, table_below, cell_of} from './parts.js';
import {plot_in, draw_in, width_of, shortened, LETTER} from './chart.js';

export function bounds_section(node) {
    if (!D.lower || D.lower.length === 0) return null;
    const body = node.querySelector('.body'),
        plot = el('div');
    body.replaceChildren(plot);
    table_below(body, bounds_table, {name: 'bounds', plot});
    bounds_lead(node.querySelector('.lead'));
    return {update() {}, draw: () => draw_bounds(plot), is_lazy: true};
}

// The best and the baseline of the setting that was shown first: [{name, elapsed_s}].
function shown_runs() {
    if (!sweep || !sweep.measure.elapsed_s) return [];
    const order = ranking_of(sweep.start, 'elapsed_s'),
        base = baseline_of();
    const places =
        order.length === 0
            ? []
            : base >= 0 && base !== order[0] && order.includes(base)
              ? [order[0], base]
              : [order[0]];
    return places.map(a => ({name: sweep.algorithms[a], elapsed_s: value_of('elapsed_s', sweep.start, a)}));
}

function sorted_bounds() {
    return D.lower.slice().sort((p, q) => q.bound_s - p.bound_s);
}

function bounds_lead(lead) {
    const best = D.lower.find(b => b.is_best) || sorted_bounds()[0],
        runs = shown_runs();
    const where = sweep
        ? sweep.dims
              .map((dim, d) => `${dim.label} ${fmt_value(dim.unit, dim.values[sweep.place[d][sweep.start]])}`)
              .join(', ')
        : '';
    const parts = [
        'No schedule can end before ',
        el('b', {textContent: fmt_seconds(best.bound_s)}),
        ` (${best.name})`,
    ];
    if (runs.length) {
        parts.push(
            `; ${title_of(runs[0].name)} ends after `,
            el('b', {textContent: fmt_seconds(runs[0].elapsed_s)}),
            `, ${fmt_percent(runs[0].elapsed_s / best.bound_s - 1)} above it`,
        );
    }
    parts.push('. Times from the first arrival on' + (where ? `, for ${where}.` : '.'));
    lead.replaceChildren(...parts);
}

function draw_bounds(node) {
    const bounds = sorted_bounds(),
        runs = shown_runs(),
        width = width_of(node),
        narrow = width < 700;
    const left = Math.min(width * 0.42, 16 + LETTER.name * d3.max(bounds, b => b.name.length)),
        right = narrow ? 74 : width > 1000 ? 460 : 330,
        row = 34;
    const most = d3.max([...bounds.map(b => b.bound_s), ...runs.map(r => r.elapsed_s)]) * 1.05 || 1;
    const x = d3
        .scaleLinear()
        .domain([0, most])
        .range([left, width - right]);
    const bottom = bounds.length * row,
        height = bottom + 12 + 18 * runs.length;
    const dots = bounds.map((b, i) => {
        const y = i * row + row / 2,
            at = x(b.bound_s),
            ink = 'var(--ink)';
        const time = fmt_seconds(b.bound_s);
        const text = narrow ? time : `${time}   ${shortened(b.source || '', right - 100)}`;
        const name = shortened(b.name, left - 12, LETTER.name);
        return [
            label_at(left - 12, y + 4, name, 'end', 'value' + (b.is_best ? ' bold' : '')),
            shape('line', {x1: left, x2: at, y1: y, y2: y, stroke: 'var(--hair)', 'stroke-width': 1.5}),
            shape('circle', {
                cx: at,
                cy: y,
                r: 5.5,
                fill: b.is_best ? ink : 'var(--card)',
                stroke: ink,
                'stroke-width': 2,
            }),
            label_at(width - right + 20, y + 4, text, 'start', 'soft'),
        ].join('');
    });
    const lines = runs.map((r, k) => {
        const at = x(r.elapsed_s),
            text = `${title_of(r.name)} ${fmt_seconds(r.elapsed_s)}`,
            half = text.length * 3.4;
        const end = bottom + 2 + 18 * k,
            middle = Math.min(width - half, Math.max(half, at));
        return {
            line: shape('line', {x1: at, x2: at, y1: 0, y2: end, stroke: colour_of(r.name), 'stroke-width': 2.5}),
            label: label_at(middle, end + 14, text, 'middle', 'lab halo'),
        };
    });
    const svg = plot_in(node);
    draw_in(
        svg,
        width,
        height,
        'Lower bounds: ' + bounds.map(b => `${b.name} ${fmt_seconds(b.bound_s)}`).join(', '),
        lines.map(l => l.line).join('') + lines.map(l => l.label).join('') + dots.join(''),
    );
    svg.onpointerleave = () => show_tip('');
    svg.onpointermove = event => {
        const box = svg.getBoundingClientRect(),
            b = bounds[Math.floor((((event.clientY - box.top) / box.height) * height) / row)];
        show_tip(
            b
                ? `<b>${esc(b.name)}</b> ${esc(fmt_seconds(b.bound_s))}<br>${esc(b.source || '')}` +
                      `${b.assumes ? '<br>assumes: ' + esc(b.assumes) : ''}`
                : '',
            event,
        );
    };
}

function bounds_table() {
    return {
        caption: 'Lower bounds of elapsed time',
        heads: ['bound', 'time', 'the largest', 'from', 'assumes'],
        rows: sorted_bounds().map(b => [
            b.name,
            cell_of('s', b.bound_s),
            b.is_best ? 'yes' : '',
            b.source || '',
            b.assumes || '',
        ]),
    };
}
