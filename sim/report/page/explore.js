// SPDX-License-Identifier: GPL-3.0-or-later
// explore.js -- curves of any measure over any dim, a panel for each value of another, as ratio to a
// schedule; CSV and SVG.

import {sweep, value_of, setting_with, bound_of, bound_measure, time_measure, dim_value} from './data.js';
import {fmt_value} from './format.js';
import {title_of} from './looks.js';
import {state, state_key, change, move_dim} from './state.js';
import {esc, el, shape, choice, button, key_svg, save_file, file_name, csv_text, svg_text} from './parts.js';
import {table_below, cell_of} from './parts.js';
import {draw_curves, domain_of, axis_unit, width_of, of_count, shortened} from './chart.js';
import {STATE_TEXTS} from './answer.js';

const MOST_PANELS = 24;
const LESS_IS_WORSE = new Set(['busbw_GBps', 'algbw_GBps']);

const as_dim = text => (sweep && sweep.dim_of.has(text) ? text : undefined);
state_key('y', {init: '', read: text => (sweep && sweep.measure[text] ? text : undefined)});
state_key('x', {init: '', read: as_dim});
state_key('panel', {init: '', read: text => (text === 'none' ? text : as_dim(text))});
state_key('ratio', {init: '', read: text => (sweep && sweep.algorithms.includes(text) ? text : undefined)});
state_key('log', {init: 'auto', read: text => (['auto', 'log', 'lin'].includes(text) ? text : undefined)});
state_key('off', {init: ''});

// What is shown: y a measure, x and panel places of dims (panel -1: one panel), ratio an algorithm's place or
// -1.
function chosen() {
    const {dims} = sweep;
    const x = state.x && sweep.dim_of.has(state.x) ? sweep.dim_of.get(state.x) : guess_x();
    let panel =
        state.panel === 'none' ? -1 : sweep.dim_of.has(state.panel) ? sweep.dim_of.get(state.panel) : -2;
    if (panel === x) panel = -2;
    if (panel === -2) panel = guess_panel(x);
    const y = sweep.measure[state.y] ? state.y : time_measure();
    return {
        x,
        panel,
        y,
        ratio: state.ratio ? sweep.algorithms.indexOf(state.ratio) : -1,
        dim: dims[x],
        measure: sweep.measure[y],
    };
}

function guess_x() {
    const {dims} = sweep,
        numbers = dims.map((_, d) => d).filter(d => dims[d].unit !== 'word');
    const bytes = dims.findIndex(dim => dim.name === 'bytes');
    const delay = dims.findIndex(dim => dim.unit === 's' && /(^|\.)delay/.test(dim.name));
    if (delay >= 0) return delay;
    if (bytes >= 0) return bytes;
    const most = (p, q) => dims[q].values.length - dims[p].values.length;
    return numbers.length ? numbers.sort(most)[0] : 0;
}

function guess_panel(x) {
    const rest = sweep.dims.map((_, d) => d).filter(d => d !== x);
    rest.sort((p, q) => sweep.dims[p].values.length - sweep.dims[q].values.length);
    return rest.length && sweep.dims[rest[0]].values.length <= 12 ? rest[0] : -1;
}

// Names of algorithms that are switched off.
function switched_off() {
    return new Set(state.off.split(',').filter(Boolean));
}

// The curves of a panel: {curves, bound}; with a ratio over the algorithm's own value.
function panel_values({x, panel, y, ratio}, place) {
    const at = i =>
        panel < 0 ? setting_with(state.setting, x, i) : setting_with(state.setting, x, i, panel, place);
    const settings = sweep.dims[x].values.map((_, i) => at(i));
    const off = switched_off();
    const over = (v, s) => (ratio < 0 ? v : v / value_of(y, s, ratio));
    const curves = [];
    sweep.algorithms.forEach((name, a) => {
        if (off.has(name)) return;
        curves.push({name, values: settings.map(s => (s < 0 ? NaN : over(value_of(y, s, a), s)))});
    });
    const has_bound = bound_measure(y) !== null;
    const bound = has_bound ? settings.map(s => (s < 0 ? NaN : over(bound_of(s, y), s))) : null;
    return {settings, curves, bound};
}

function panel_places(panel) {
    if (panel < 0) return [0];
    const n = sweep.dims[panel].values.length,
        now = sweep.place[panel][state.setting];
    if (n <= MOST_PANELS) return d3.range(n);
    const places = new Set(d3.range(MOST_PANELS - 1).map(k => Math.round((k * (n - 1)) / (MOST_PANELS - 2))));
    places.add(now);
    return [...places].sort((p, q) => p - q);
}

export function explore_section(node) {
    if (!sweep || sweep.dims.length < 1) return null;
    const box = node.querySelector('.panels'),
        more = node.querySelector('.more-box');
    more.replaceChildren();
    box.replaceChildren();
    const table = table_below(more, shown_table);
    const draw = () => {
        explore_controls(node);
        explore_legend(node.querySelector('.legend'));
        draw_panels(node, box);
        table.update();
    };
    let timer = 0;
    const update = changed => {
        const own = ['y', 'x', 'panel', 'ratio', 'log', 'off'].some(key => changed.has(key));
        if (!own && !changed.has('setting')) return;
        clearTimeout(timer);
        // a drag moves the sentence and the map at once, the panels when it rests
        if (own) draw();
        else
            timer = setTimeout(() => {
                draw_panels(node, box);
                table.update();
            }, 90);
    };
    return {update, draw, is_lazy: true};
}

function explore_controls(node) {
    const {x, panel, y, ratio} = chosen(),
        box = node.querySelector('.controls'),
        {dims} = sweep;
    const measures = Object.values(sweep.measure).map(m => [m.name, m.label]);
    const nodes = [
        choice('show', measures, y, value => change({y: value})),
        choice(
            'over',
            dims.map(dim => [dim.name, dim.label]),
            dims[x].name,
            value => change({x: value}),
        ),
    ];
    if (dims.length > 1) {
        const panels = dims
            .filter((_, d) => d !== x)
            .map(dim => [dim.name, dim.label])
            .concat([['none', 'nothing']]);
        nodes.push(
            choice('a panel for each', panels, panel < 0 ? 'none' : dims[panel].name, value =>
                change({panel: value}),
            ),
        );
    }
    if (sweep.A > 1) {
        const ratios = [['', 'as it is']].concat(sweep.algorithms.map(a => [a, 'over ' + title_of(a)]));
        nodes.push(
            choice('values', ratios, ratio < 0 ? '' : sweep.algorithms[ratio], value =>
                change({ratio: value}),
            ),
        );
    }
    nodes.push(
        choice(
            'scale',
            [
                ['auto', 'as fits'],
                ['lin', 'linear'],
                ['log', 'logarithmic'],
            ],
            state.log,
            value => change({log: value}),
        ),
    );
    nodes.push(
        el('span', {className: 'sp'}),
        el(
            'span',
            {className: 'g'},
            button('CSV', save_shown, {title: 'Save the values that are shown'}),
            button('CSV of all', save_all, {title: 'Save all rows'}),
            button('SVG', () => save_pictures(node), {title: 'Save the panels as a picture'}),
        ),
    );
    keep_focus(box, () => box.replaceChildren(...nodes));
}

// Make children anew and give the focus back to the one in the same place.
function keep_focus(box, make) {
    const list = () => [...box.querySelectorAll('button, select, input')];
    const at = list().indexOf(document.activeElement);
    make();
    if (at >= 0 && list()[at]) list()[at].focus({preventScroll: true});
}

function explore_legend(box) {
    const off = switched_off();
    keep_focus(box, () =>
        box.replaceChildren(
            ...sweep.algorithms.map(name => {
                const key = el('button', {
                    type: 'button',
                    className: 'key',
                    'aria-pressed': String(!off.has(name)),
                });
                key.innerHTML = key_svg(name) + `<span>${esc(title_of(name))}</span>`;
                key.addEventListener('click', () => {
                    const next = switched_off();
                    if (!next.delete(name)) next.add(name);
                    change({off: sweep.algorithms.filter(a => next.has(a)).join(',')});
                });
                return key;
            }),
        ),
    );
}

function draw_panels(node, box) {
    const c = chosen(),
        places = panel_places(c.panel),
        all = places.map(p => panel_values(c, p));
    const unit = c.ratio < 0 ? c.measure.unit : 'ratio';
    const columns = all.flatMap(v => [...v.curves.map(k => k.values), ...(v.bound ? [v.bound] : [])]);
    const {domain, is_log} = domain_of(columns, unit, state.log);
    const is_single = places.length === 1;
    box.classList.toggle('single', is_single);
    while (box.childElementCount > places.length) box.lastElementChild.remove();
    while (box.childElementCount < places.length) box.append(el('div'));
    const width = width_of(box.firstElementChild),
        height = is_single
            ? Math.max(300, Math.min(460, width * 0.42))
            : Math.round(Math.max(250, Math.min(330, width * 0.62)));
    places.forEach((place, k) => {
        const title = panel_title(c, place),
            is_shown = c.panel < 0 || sweep.place[c.panel][state.setting] === place;
        draw_curves(box.children[k], {
            width,
            height,
            dim: c.dim,
            unit,
            domain,
            is_log,
            curves: all[k].curves,
            bound: all[k].bound,
            title: title ? title_svg(shortened(title, width - 60), k ? '' : y_caption(c, unit, domain, is_log)) : '',
            label: `${y_text(c)} over ${c.dim.label}${title ? ', ' + title : ''}`,
            names: is_single && width > 500,
            rule: is_shown ? sweep.place[c.x][state.setting] : -1,
            mark: null,
            is_more_better: LESS_IS_WORSE.has(c.y),
            text: v => fmt_value(unit, v),
            head: i =>
                [title, `${c.dim.label} ${fmt_value(c.dim.unit, c.dim.values[i])}`]
                    .filter(Boolean)
                    .join(', '),
            on_pick: (i, goes_on) => pick_in_panel(c, place, i, goes_on),
        });
    });
    fill_note(node.querySelector('.note'), c, places);
}

// Show the scenario of a panel's curve, also of a panel that is not the one that is shown.
function pick_in_panel({x, panel}, place, i, goes_on) {
    if (panel < 0 || sweep.place[panel][state.setting] === place) return move_dim(x, i, {goes_on});
    const setting = setting_with(state.setting, x, i, panel, place);
    if (setting >= 0) change({setting}, {goes_on});
    return undefined;
}

function title_svg(title, more) {
    return (
        shape('tspan', {'font-weight': 600}, esc(title)) + shape('tspan', {class: 'soft', dx: 8}, esc(more))
    );
}

function y_text(c) {
    const text = c.measure.label;
    return c.ratio < 0 ? text : `${text}, over ${title_of(sweep.algorithms[c.ratio])}`;
}

// The same with the unit of the axis.
function y_caption(c, unit, domain, is_log) {
    const name = axis_unit(unit, domain[1])[1];
    return y_text(c) + (name && !is_log ? ', ' + name : '');
}

function panel_title(c, place) {
    if (c.panel < 0) return '';
    const dim = sweep.dims[c.panel],
        text = fmt_value(dim.unit, dim.values[place]);
    return dim.unit === 'count'
        ? `${text} ${dim.label}`
        : dim.unit === 'word'
          ? text
          : `${dim.label} ${text}`;
}

function fill_note(note, c, places) {
    const texts = [];
    if (c.panel >= 0 && places.length < sweep.dims[c.panel].values.length) {
        const {
            label,
            values: {length: n},
        } = sweep.dims[c.panel];
        texts.push(
            `${of_count(places.length, n)} panels; ${n - places.length} values of ${label} are left out.`,
        );
    }
    const rest = sweep.dims
        .filter((_, d) => d !== c.x && d !== c.panel)
        .map(
            dim =>
                `${dim.label} ${fmt_value(dim.unit, dim_value(sweep.dim_of.get(dim.name), state.setting))}`,
        );
    if (rest.length) texts.push(`Here ${rest.join(', ')}, as in the sentence above.`);
    if (bound_measure(c.y)) texts.push('Dashes in ink: the proven bound.');
    note.textContent = texts.join(' ');
}

/* ---- what is shown, as numbers ---- */

function shown_rows() {
    const c = chosen(),
        rows = [];
    for (const place of panel_places(c.panel)) {
        const {settings, curves, bound} = panel_values(c, place);
        settings.forEach((s, i) => {
            if (s < 0) return;
            for (const curve of curves)
                if (!Number.isNaN(curve.values[i]))
                    rows.push([s, curve.name, curve.values[i], bound ? bound[i] : NaN]);
        });
    }
    return {c, rows};
}

function shown_table() {
    const {c, rows} = shown_rows(),
        unit = c.ratio < 0 ? c.measure.unit : 'ratio';
    const dims = c.panel >= 0 ? [c.panel, c.x] : [c.x];
    const text = (d, s) => fmt_value(sweep.dims[d].unit, dim_value(d, s));
    const bound = bound_measure(c.y) !== null;
    const most = 2000;
    return {
        caption: y_text(c) + (rows.length > most ? `: the first ${of_count(most, rows.length)}` : ''),
        heads: [
            ...dims.map(d => sweep.dims[d].label),
            'schedule',
            c.ratio < 0 ? c.measure.label : 'ratio',
            ...(bound ? ['proven bound'] : []),
        ],
        rows: rows
            .slice(0, most)
            .map(([s, name, v, b]) => [
                ...dims.map(d => text(d, s)),
                title_of(name),
                cell_of(unit, v),
                ...(bound ? [cell_of(unit, b)] : []),
            ]),
    };
}

function save_shown() {
    const {c, rows} = shown_rows(),
        {dims} = sweep;
    const name = c.ratio < 0 ? c.y : `${c.y}/${sweep.algorithms[c.ratio]}`;
    const heads = [...dims.map(d => d.name), 'algorithm', name, ...(bound_measure(c.y) ? ['bound'] : [])];
    save_file(
        file_name('curves', 'csv'),
        'text/csv',
        csv_text(
            heads,
            rows.map(([s, a, v, b]) => [
                ...dims.map((_, d) => dim_value(d, s)),
                a,
                v,
                ...(bound_measure(c.y) ? [b] : []),
            ]),
        ),
    );
}

// All rows as CSV, as they are in the page.
export function save_all() {
    const {dims} = sweep,
        measures = Object.values(sweep.measure),
        rows = [];
    for (let s = 0; s < sweep.n; s++) {
        for (let a = 0; a < sweep.A; a++) {
            const cell = s * sweep.A + a;
            if (sweep.state[cell] === 0) continue;
            rows.push([
                ...dims.map((_, d) => dim_value(d, s)),
                sweep.algorithms[a],
                ...measures.map(m => m.values[cell]),
                STATE_TEXTS[sweep.state[cell]],
                sweep.reason.get(cell) || '',
            ]);
        }
    }
    save_file(
        file_name('rows', 'csv'),
        'text/csv',
        csv_text(
            [...dims.map(d => d.name), 'algorithm', ...measures.map(m => m.name), 'state', 'error'],
            rows,
        ),
    );
}

// All panels in one SVG, in the columns that they have on the page, with the legend above them.
function save_pictures(node) {
    save_file(file_name('curves', 'svg'), 'image/svg+xml', panels_svg(node));
}

export function panels_svg(node) {
    const plots = [...node.querySelectorAll('.panels svg.plot')],
        first = plots[0].viewBox.baseVal;
    const columns = Math.max(
        1,
        Math.min(plots.length, Math.round(node.querySelector('.panels').clientWidth / (first.width + 18))),
    );
    const off = switched_off(),
        shown = sweep.algorithms.filter(a => !off.has(a));
    const whole = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const width = columns * (first.width + 18),
        legend = legend_svg_text(shown, width);
    const top = legend.height + 10,
        rows = Math.ceil(plots.length / columns);
    whole.setAttribute('viewBox', `0 0 ${width} ${top + rows * (first.height + 12)}`);
    whole.innerHTML = legend.text;
    plots.forEach((plot, k) => {
        const group = document.createElementNS('http://www.w3.org/2000/svg', 'g');
        const x = (k % columns) * (first.width + 18),
            y = top + Math.floor(k / columns) * (first.height + 12);
        group.setAttribute('transform', `translate(${x},${y})`);
        group.append(...plot.cloneNode(true).childNodes);
        whole.append(group);
    });
    document.body.append(whole); // styles are resolved by the page
    const text = svg_text(whole);
    whole.remove();
    return text;
}

function legend_svg_text(names, width) {
    let x = 8,
        y = 14;
    const parts = names.map(name => {
        const w = 46 + 7.2 * title_of(name).length;
        if (x + w > width && x > 8) {
            x = 8;
            y += 20;
        }
        const key = key_svg(name).replace('<svg ', `<svg x="${x}" y="${y - 9}" `);
        const text = `${key}<text x="${x + 36}" y="${y + 3}">${esc(title_of(name))}</text>`;
        x += w;
        return text;
    });
    return {text: parts.join(''), height: y + 8};
}
