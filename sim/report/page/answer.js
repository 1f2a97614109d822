// SPDX-License-Identifier: GPL-3.0-or-later
// answer.js -- the sentence with its controls, the tiles and the ranking of the setting that is shown.

import {sweep, value_of, bound_of, bound_measure, ranking_of, baseline_of, time_measure} from './data.js';
import {dim_value} from './data.js';
import {fmt_seconds, fmt_percent, fmt_change, fmt_ratio, fmt_value} from './format.js';
import {title_of, colour_of} from './looks.js';
import {state, change, move_dim} from './state.js';
import {esc, el, shape, label_at, say, table_below, cell_of, schedule_cell, named} from './parts.js';
import {show_tip, tip_table} from './parts.js';
import {plot_in, draw_in, width_of, stepped, shortened, LETTER} from './chart.js';

/* ---- texts with places ---- */

// A text with places as parts: {text}, or {kind, name}.
export function parts_of(text) {
    const parts = [];
    let end = 0;
    for (const m of text.matchAll(/\{\{|\{([a-z]+)(?::([^{}]*))?\}/g)) {
        if (m.index > end) parts.push({text: text.slice(end, m.index)});
        parts.push(m[0] === '{{' ? {text: '{'} : {kind: m[1], name: m[2] || ''});
        end = m.index + m[0].length;
    }
    if (end < text.length) parts.push({text: text.slice(end)});
    return parts;
}

// The text of a place in a setting.
export function text_of(part, setting, best) {
    if (part.text !== undefined) return part.text;
    const a = sweep.algorithms.indexOf(part.name);
    const t = value_of(time_measure(), setting, a);
    const bound_name = bound_measure(time_measure());
    const bound = bound_name ? value_of(bound_name, setting, a) : NaN;
    switch (part.kind) {
        case 'dim': {
            const d = sweep.dim_of.get(part.name);
            return d === undefined ? part.name : fmt_value(sweep.dims[d].unit, dim_value(d, setting));
        }
        case 'set':
            return part.name.slice(part.name.indexOf('=') + 1);
        case 'run':
        case 'name':
            return title_of(part.name);
        case 'time':
            return fmt_seconds(t);
        case 'elapsed':
            return fmt_seconds(value_of('elapsed_s', setting, a));
        case 'bound':
            return fmt_seconds(bound_for(setting, best));
        case 'gain':
            return fmt_percent(1 - t / value_of(time_measure(), setting, baseline_of()));
        case 'above':
            return fmt_percent(t / bound - 1);
        case 'left':
            return fmt_percent(1 - bound / t);
        case 'critical':
            return fmt_seconds(value_of('critical_delay_s', setting, a));
        case 'gap':
            return fmt_ratio(value_of('gap', setting, a));
        default:
            return '{' + part.kind + '}';
    }
}

// The bound of exposed time of an algorithm, or the least one.
function bound_for(setting, name) {
    const measure = bound_measure(time_measure()),
        a = sweep.algorithms.indexOf(name);
    const own = measure && a >= 0 ? value_of(measure, setting, a) : NaN;
    return Number.isNaN(own) ? bound_of(setting) : own;
}

// The answer of a setting; null: none.
export function answer_of(setting) {
    return sweep.answer ? sweep.answers[sweep.answer[setting]] : sweep.answers[0] || null;
}

// Its sentence as plain text.
export function sentence_text(setting) {
    const answer = answer_of(setting);
    return answer
        ? parts_of(answer.sentence)
              .map(p => text_of(p, setting, answer.best))
              .join('')
        : '';
}

/* ---- controls ---- */

// Of a key of the configuration, where somebody can run another one: null, or {values, place, label, move(place,
// {goes_on})}.
let control_of_key = () => null;
let draw_again = () => {};

export function offer_controls(of_key) {
    control_of_key = of_key;
    draw_again();
}

// What a slider in the sentence moves through: of a dim of the sweep, or of a key.
function control_of(slider) {
    const {dim, key} = slider.dataset;
    if (key) return control_of_key(key);
    const d = Number(dim);
    return {
        values: sweep.dims[d].values,
        place: sweep.place[d][state.setting],
        move: (place, how) => move_dim(d, place, how),
    };
}

function slider_node(label, is_word) {
    return el('span', {
        className: 'num' + (is_word ? ' word' : ''),
        tabIndex: 0,
        role: 'slider',
        'aria-label': label,
        'aria-valuemin': 0,
        title: 'Drag, or use the arrow keys',
    });
}

function update_slider_node(node, text, place, n) {
    if (node.textContent !== text) node.textContent = text;
    node.setAttribute('aria-valuemax', n - 1);
    node.setAttribute('aria-valuenow', place);
    node.setAttribute('aria-valuetext', text);
}

// A number that is a slider. It is made once for a dim and moved to where the text needs it.
function slider_of(d) {
    const node = slider_node(sweep.dims[d].label, sweep.dims[d].unit === 'word');
    node.dataset.dim = d;
    return node;
}

function update_slider(node, d, setting) {
    const dim = sweep.dims[d];
    update_slider_node(node, fmt_value(dim.unit, dim_value(d, setting)), sweep.place[d][setting], dim.values.length);
}

// The same of a key, "bytes=1 GiB"; null where it cannot be changed here.
function slider_of_key(part) {
    const key = part.name.slice(0, part.name.indexOf('=')),
        control = control_of_key(key);
    if (!control) return null;
    const node = slider_node(control.label, false);
    node.dataset.key = key;
    update_slider_node(node, text_of(part), control.place, control.values.length);
    return node;
}

// Drags and keys of all sliders in a node. The node takes the pointer, because a slider may move in the text
// meanwhile, or be made anew.
function wire_sliders(node) {
    let drag = null;
    const slider_at = target => (target.closest ? target.closest('.num') : null);
    node.addEventListener('pointerdown', event => {
        const slider = slider_at(event.target);
        const control = slider && event.button === 0 ? control_of(slider) : null;
        if (!control) return;
        const step = Math.max(5, Math.min(40, 420 / control.values.length));
        drag = {control, slider, x: event.clientX, last: control.place, step};
        slider.classList.add('drag');
        slider.focus({preventScroll: true});
        node.setPointerCapture(event.pointerId);
        event.preventDefault();
    });
    node.addEventListener('pointermove', event => {
        if (!drag) return;
        const {control} = drag,
            moved = control.place + Math.round((event.clientX - drag.x) / drag.step),
            place = Math.max(0, Math.min(control.values.length - 1, moved));
        if (place === drag.last) return;
        drag.last = place;
        control.move(place, {goes_on: true});
    });
    const end = () => {
        if (drag) drag.slider.classList.remove('drag');
        drag = null;
    };
    node.addEventListener('pointerup', end);
    node.addEventListener('pointercancel', end);
    node.addEventListener('keydown', event => {
        const slider = slider_at(event.target);
        if (!slider || event.altKey || event.ctrlKey || event.metaKey) return;
        const control = control_of(slider),
            place = control ? stepped(event.key, control.place, control.values.length) : null;
        if (place === null) return;
        event.preventDefault();
        event.stopPropagation();
        control.move(place, {goes_on: false});
    });
}

/* ---- the section ---- */

export function answer_section(node) {
    if (!sweep) return without_sweep(node);
    const verdict = node.querySelector('#verdict'),
        because = node.querySelector('#because');
    const tiles = node.querySelector('#tiles'),
        others = node.querySelector('#others');
    const ranking = node.querySelector('#ranking');
    const sliders = sweep.dims.map((_, d) => slider_of(d));
    let shown = null;
    ranking.replaceChildren();
    const plot = el('div');
    ranking.append(plot);
    const table = table_below(ranking, ranking_table, {name: 'ranking', plot});
    node.querySelector('#rankhead').textContent = ranking_head();
    if (!node.is_wired) wire_sliders(node);
    node.is_wired = true;
    const update = () => {
        const answer = answer_of(state.setting);
        const focused = document.activeElement;
        if (answer && answer !== shown) {
            fill_sentence(verdict, answer, sliders);
            fill_others(others, answer, sliders);
            if (focused && focused.classList.contains('num') && focused.isConnected)
                focused.focus({preventScroll: true});
        }
        shown = answer;
        sliders.forEach((s, d) => update_slider(s, d, state.setting));
        if (answer) {
            fill_places(verdict, answer);
            fill_because(because, answer);
            fill_tiles(tiles, answer);
        }
        draw_ranking(plot);
        table.update();
    };
    draw_again = () => {
        shown = null;
        update();
    };
    return {
        draw: update,
        update: changed => {
            if (!changed.has('setting')) return;
            update();
            say(sentence_text(state.setting));
        },
    };
}

// A page of runs or iterations alone: the text that the program wrote stays.
function without_sweep(node) {
    const is_empty = node.querySelector('#ranking').childElementCount === 0;
    node.querySelector('#ranking').parentElement.hidden = is_empty;
    node.querySelector('.answergrid').hidden =
        is_empty && node.querySelector('#tiles').childElementCount === 0;
    return {update() {}, draw() {}};
}

function ranking_head() {
    const m = sweep.measure[time_measure()];
    const label = m.label.charAt(0).toUpperCase() + m.label.slice(1);
    return time_measure() === 'exposed_s' ? label + ', from the last arrival on' : label;
}

function fill_sentence(verdict, answer, sliders) {
    verdict.replaceChildren(
        ...parts_of(answer.sentence).map(part => {
            if (part.text !== undefined) return part.text;
            const d = part.kind === 'dim' ? sweep.dim_of.get(part.name) : undefined;
            if (d !== undefined) return sliders[d];
            const slider = part.kind === 'set' ? slider_of_key(part) : null;
            if (slider) return slider;
            const span = el('span');
            span.dataset.place = part.kind + ':' + part.name;
            if (part.kind === 'run') span.style.color = colour_of(part.name);
            return span;
        }),
    );
}

// The dims that the sentence does not name.
function fill_others(others, answer, sliders) {
    const named_dims = new Set(
        parts_of(answer.sentence)
            .filter(p => p.kind === 'dim')
            .map(p => sweep.dim_of.get(p.name)),
    );
    const rest = sweep.dims.map((_, d) => d).filter(d => !named_dims.has(d));
    others.hidden = rest.length === 0;
    others.replaceChildren(...rest.map(d => el('span', {}, sweep.dims[d].label + ' ', sliders[d])));
}

function fill_places(verdict, answer) {
    for (const span of verdict.querySelectorAll('[data-place]')) {
        const [, kind, name] = /^([a-z]+):(.*)$/s.exec(span.dataset.place);
        span.textContent = text_of({kind, name}, state.setting, answer.best);
    }
}

function fill_because(because, answer) {
    because.replaceChildren(
        ...parts_of(answer.because).map(part => {
            const text = text_of(part, state.setting, answer.best);
            return part.text !== undefined || part.kind === 'name' ? text : el('b', {textContent: text});
        }),
    );
}

function fill_tiles(tiles, answer) {
    const fill = text =>
        parts_of(text)
            .map(p => text_of(p, state.setting, answer.best))
            .join('');
    tiles.replaceChildren(
        ...answer.tiles.map(([head, text]) =>
            el(
                'div',
                {className: 'tile'},
                el('b', {textContent: fill(head)}),
                el('span', {textContent: fill(text)}),
            ),
        ),
    );
    tiles.hidden = answer.tiles.length === 0;
}

/* ---- ranking ---- */

// What went wrong with the algorithms of a setting: [[place, text], ..].
export function wrongs_of(setting) {
    const out = [];
    for (let a = 0; a < sweep.A; a++) {
        const cell = setting * sweep.A + a;
        if (sweep.state[cell] === 3) out.push([a, sweep.reason.get(cell) || 'wrong or refused']);
    }
    return out;
}

function draw_ranking(node) {
    const setting = state.setting,
        measure = time_measure(),
        order = ranking_of(setting),
        wrong = wrongs_of(setting);
    const width = width_of(node),
        row = 31,
        narrow = width < 460;
    const left = Math.min(width * 0.36, 12 + LETTER.name * d3.max(sweep.algorithms, a => title_of(a).length));
    const base = baseline_of();
    const values = order.map(a => value_of(measure, setting, a));
    const base_value = base >= 0 ? value_of(measure, setting, base) : NaN;
    const letters = values.map(v => (fmt_seconds(v) + fmt_change(v / base_value - 1)).length);
    const right = Math.min(width / 2, Math.max(narrow ? 114 : 124, 18 + 7.4 * (d3.max(letters) || 0)));
    const reference = Number.isNaN(base_value) ? d3.median(values) : base_value;
    const bound = bound_of(setting);
    const most = Math.max(Math.min(d3.max(values) || 1, 2.2 * (reference || Infinity)), bound || 0) || 1;
    const x = d3
        .scaleLinear()
        .domain([0, most])
        .range([left, width - right]);
    const height = (order.length + wrong.length) * row + (Number.isNaN(bound) ? 6 : 24);
    const bars = order.map((a, i) =>
        bar_svg({a, i, value: values[i], most, x, row, base, base_value, left, height, is_bold: i === 0}),
    );
    const errors = wrong.map(([a, text], k) => error_svg(a, text, (order.length + k) * row, left, width));
    const line = Number.isNaN(bound) ? '' : bound_svg(x(bound), order.length * row, bound, width);
    const svg = plot_in(node);
    draw_in(svg, width, height, ranking_label(order, values, bound), bars.join('') + errors.join('') + line);
    wire_ranking(svg, order, row);
}

function bar_svg({a, i, value, most, x, row, base, base_value, left, is_bold}) {
    const name = sweep.algorithms[a],
        y = i * row,
        weight = is_bold ? ' bold' : '';
    const width = Math.max(1, x(Math.min(value, most)) - left),
        end = left + width;
    const against = a !== base && !Number.isNaN(base_value) ? fmt_change(value / base_value - 1) : '';
    const texts =
        esc(fmt_seconds(value)) + shape('tspan', {class: 'soft', 'font-weight': 400, dx: 5}, esc(against));
    return [
        name_svg(name, y, left, weight),
        shape('rect', {
            x: left,
            y: y + 5,
            width,
            height: row - 11,
            rx: 3,
            fill: colour_of(name),
            opacity: is_bold ? '1' : '.85',
        }),
        value > most * 1.0001 ? cut_svg(end, y, row) : '',
        shape('text', {x: end + 8, y: y + 20, class: 'value' + weight}, texts),
    ].join('');
}

function name_svg(name, y, left, weight = '') {
    return label_at(
        left - 10,
        y + 20,
        shortened(title_of(name), left - 8, LETTER.name),
        'end',
        'name' + weight,
    );
}

// Where a bar is longer than the picture.
function cut_svg(end, y, row) {
    const stroke = {stroke: 'var(--card)', 'stroke-width': 3};
    return [26, 19]
        .map(back => shape('path', {d: `M${end - back},${y + 3}l8,${row - 7}`, ...stroke}))
        .join('');
}

function error_svg(a, text, y, left, width) {
    const why = shape('tspan', {class: 'soft'}, esc(shortened(text, width - left - 14, LETTER.value)));
    return (
        name_svg(sweep.algorithms[a], y, left) +
        shape('text', {x: left, y: y + 20, class: 'value'}, '✗ ' + why)
    );
}

function bound_svg(x, bottom, bound, width) {
    const text = 'proven bound ' + fmt_seconds(bound),
        half = text.length * 3.2;
    const middle = Math.max(half, Math.min(width - half, x));
    const stroke = {stroke: 'var(--ink)', 'stroke-width': 2, 'stroke-dasharray': '5 4'};
    return (
        shape('line', {x1: x, x2: x, y1: 0, y2: bottom + 4, ...stroke}) +
        label_at(middle, bottom + 19, text, 'middle', 'soft')
    );
}

function ranking_label(order, values, bound) {
    const list = order.map((a, i) => `${title_of(sweep.algorithms[a])} ${fmt_seconds(values[i])}`).join(', ');
    const end = Number.isNaN(bound) ? '' : `; proven bound ${fmt_seconds(bound)}`;
    return `${ranking_head()}, best first: ${list || 'none'}${end}`;
}

function wire_ranking(svg, order, row) {
    const wrong = new Map(wrongs_of(state.setting));
    svg.onpointerleave = () => show_tip('');
    svg.onpointermove = event => {
        const box = svg.getBoundingClientRect();
        const k = Math.floor((((event.clientY - box.top) / box.height) * svg.viewBox.baseVal.height) / row);
        const a = k < order.length ? order[k] : [...wrong.keys()][k - order.length];
        if (a === undefined) return show_tip('');
        const name = sweep.algorithms[a];
        if (wrong.has(a)) return show_tip(`<b>${named(name)}</b><br>${esc(wrong.get(a))}`, event);
        return show_tip(`<b>${named(name)}</b>${tip_table(measures_of(state.setting, a))}`, event);
    };
}

// All measures of a row, for tips: [[HTML, text], ..].
function measures_of(setting, a) {
    return Object.values(sweep.measure)
        .map(m => [esc(m.label), fmt_value(m.unit, m.values[setting * sweep.A + a])])
        .filter(r => r[1] !== '–');
}

export const STATE_TEXTS = ['not run', 'verified', 'not verified', 'wrong or refused'];

function ranking_table() {
    const s = state.setting,
        measure = time_measure(),
        base = value_of(measure, s, baseline_of());
    const bound_name = bound_measure(measure);
    const rows = ranking_of(s).map(a => {
        const v = value_of(measure, s, a),
            bound = bound_name ? value_of(bound_name, s, a) : NaN;
        return [
            schedule_cell(sweep.algorithms[a]),
            cell_of('s', v),
            cell_of('change', v / base - 1),
            cell_of('s', bound),
            cell_of('share', v / bound - 1),
            cell_of('ratio', value_of('gap', s, a)),
            STATE_TEXTS[sweep.state[s * sweep.A + a]],
        ];
    });
    for (const [a, text] of wrongs_of(s))
        rows.push([schedule_cell(sweep.algorithms[a]), '–', '–', '–', '–', '–', text]);
    const label = sweep.measure[measure].label;
    return {
        caption: ranking_head(),
        heads: [
            'schedule',
            label,
            'against the baseline',
            'bound of ' + label,
            'above it',
            'elapsed over its bound',
            'state',
        ],
        rows,
    };
}

// Show a setting, wherever it is asked for.
export function show_setting(setting, goes_on = false) {
    change({setting}, {goes_on});
}
