// SPDX-License-Identifier: GPL-3.0-or-later
// chance.js -- what random arrivals do: of each schedule 100 dots, each of them one iteration in a hundred.

import {D, unpack} from './data.js';
import {fmt_seconds, fmt_percent, fmt_bytes, fmt_count} from './format.js';
import {title_of, colour_of} from './looks.js';
import {esc, el, shape, label_at, named, show_tip, tip_table, table_below, cell_of} from './parts.js';
import {schedule_cell} from './parts.js';
import {plot_in, draw_in, width_of, value_axis, shortened, LETTER} from './chart.js';

const DOT = 4.7;
const TALL = 20;

export function chance_section(node) {
    if (!D.chance || !D.chance.rows || D.chance.rows.length === 0) return null;
    const body = node.querySelector('.body'),
        plot = el('div');
    body.replaceChildren(plot);
    table_below(body, chance_table, {name: 'distribution', plot});
    let quantiles = null;
    chance_lead(node.querySelector('.lead'));
    const draw = async () => {
        if (!quantiles) quantiles = await Promise.all(D.chance.rows.map(r => unpack(r.quantiles)));
        draw_dots(plot, quantiles);
    };
    return {update() {}, draw, is_lazy: true};
}

function chance_lead(lead) {
    const {chance} = D,
        rows = chance.rows.slice().sort((p, q) => p.mean_s - q.mean_s),
        best = rows[0];
    const base = rows.find(r => r.algorithm === D.baseline) || rows[1];
    const parts = [chance.text || '', ' Each dot is one iteration in a hundred. '];
    if (base && base !== best) {
        parts.push(
            `${title_of(best.algorithm)} saves `,
            el('b', {textContent: fmt_percent(1 - best.mean_s / base.mean_s)}),
            ` against ${title_of(base.algorithm)} on average`,
        );
        if (Number.isFinite(best.win_ratio)) {
            parts.push(
                ', and is the best in ',
                el('b', {textContent: `${Math.round(best.win_ratio * 100)} of 100`}),
            );
        }
        parts.push('. ');
    }
    const what = [`${fmt_count(chance.iterations)} iterations`];
    if (chance.ranks) what.unshift(`${fmt_count(chance.ranks)} GPUs`);
    if (chance.bytes) what.splice(1, 0, fmt_bytes(chance.bytes));
    parts.push(what.join(', ') + '.');
    lead.replaceChildren(...parts);
}

// The value below which a part of the iterations ends.
function quantile_at(quantiles, part) {
    const at = part * (quantiles.length - 1),
        i = Math.floor(at),
        rest = at - i;
    return rest === 0 ? quantiles[i] : quantiles[i] * (1 - rest) + quantiles[i + 1] * rest;
}

function draw_dots(node, all) {
    const {rows} = D.chance,
        width = width_of(node),
        narrow = width < 620;
    const left = Math.min(width * 0.3, 16 + LETTER.name * d3.max(rows, r => title_of(r.algorithm).length));
    const right = narrow ? 12 : 150,
        row = narrow ? 148 : 116,
        height = rows.length * row + 34;
    const most = d3.max(all, q => quantile_at(q, 0.995)) * 1.02 || 1;
    const axis = value_axis('s', [0, most], false, left, width - right);
    const count = Math.max(2, Math.floor((width - left - right) / 64));
    const ticks = axis.ticks.filter((_, i) => i % Math.max(1, Math.ceil(axis.ticks.length / count)) === 0);
    const grid = ticks
        .map(
            t =>
                shape('line', {x1: t.at, x2: t.at, y1: 0, y2: height - 30}) +
                label_at(t.at, height - 12, `${t.text} ${axis.caption}`, 'middle'),
        )
        .join('');
    const parts = rows.map((r, j) =>
        row_svg(r, all[j], (j + 1) * row - (narrow ? 38 : 8), axis, left, width, right, narrow),
    );
    const svg = plot_in(node);
    draw_in(
        svg,
        width,
        height,
        'Distribution of exposed times: ' + rows.map(spoken_row).join('; '),
        `<g class="ax">${grid}</g>${parts.join('')}`,
    );
    svg.onpointerleave = () => show_tip('');
    svg.onpointermove = event => {
        const box = svg.getBoundingClientRect(),
            j = Math.floor((((event.clientY - box.top) / box.height) * height) / row);
        show_tip(
            j < rows.length ? `<b>${named(rows[j].algorithm)}</b>${tip_table(numbers_of(rows[j]))}` : '',
            event,
        );
    };
}

function spoken_row(r) {
    return `${title_of(r.algorithm)} mean ${fmt_seconds(r.mean_s)}, 99 % below ${fmt_seconds(r.p99_s)}`;
}

function numbers_of(r) {
    const out = [
        ['mean', fmt_seconds(r.mean_s)],
        ['half below', fmt_seconds(r.p50_s)],
        ['95 % below', fmt_seconds(r.p95_s)],
        ['99 % below', fmt_seconds(r.p99_s)],
    ];
    if (Number.isFinite(r.win_ratio)) out.push(['the best in', fmt_percent(r.win_ratio)]);
    return out;
}

function row_svg(r, quantiles, base, axis, left, width, right, narrow) {
    const mean = Math.round(axis.at(r.mean_s)),
        name = shortened(title_of(r.algorithm), left - 12, LETTER.name);
    return [
        shape('line', {x1: left, x2: width - right, y1: base, y2: base, stroke: 'var(--hair)'}),
        label_at(left - 12, base - 6, name, 'end', 'name bold'),
        shape('g', {fill: colour_of(r.algorithm)}, dots_svg(quantiles, axis, left, width - right, base)),
        shape('path', {d: `M${mean},${base + 2}l5,7h-10z`, fill: 'var(--ink)'}),
        numbers_svg(r, base, left, width - right, narrow),
    ].join('');
}

// 100 dots in columns of at most TALL; who finds no room goes to the next column.
function dots_svg(quantiles, axis, left, right, base) {
    const full = new Map(),
        last = Math.floor((right - left) / DOT),
        dots = [];
    for (let i = 0; i < 100; i++) {
        const at = Math.round((axis.at(quantile_at(quantiles, (i + 0.5) / 100)) - left) / DOT);
        const wanted = Math.max(0, Math.min(last, at));
        let column = wanted;
        for (let t = 0; (full.get(column) || 0) >= TALL && t < 200; t++) {
            column = Math.max(0, wanted + (t % 2 ? -1 : 1) * (1 + (t >> 1)));
        }
        const k = full.get(column) || 0;
        full.set(column, k + 1);
        dots.push(shape('circle', {cx: left + column * DOT, cy: base - 4 - k * DOT, r: 2.1}));
    }
    return dots.join('');
}

function numbers_svg(r, base, left, right, narrow) {
    const soft = (text, dx) => shape('tspan', {class: 'soft', dx}, esc(text));
    const mean = `${soft('mean')} ${esc(fmt_seconds(r.mean_s))}`,
        most = esc(fmt_seconds(r.p99_s));
    const line = (x, y, content) => shape('text', {x, y, class: 'value'}, content);
    if (narrow) return line(left, base + 24, `${mean}${soft('99 %', 8)} ${most}`);
    return line(right + 16, base - 26, mean) + line(right + 16, base - 8, `${soft('99 %')} ${most}`);
}

function chance_table() {
    return {
        caption: 'Exposed time over all iterations',
        heads: ['schedule', 'mean', 'half below', '95 % below', '99 % below', 'the best in'],
        rows: D.chance.rows.map(r => [
            schedule_cell(r.algorithm),
            cell_of('s', r.mean_s),
            cell_of('s', r.p50_s),
            cell_of('s', r.p95_s),
            cell_of('s', r.p99_s),
            cell_of('share', r.win_ratio),
        ]),
    };
}
