// SPDX-License-Identifier: GPL-3.0-or-later
// live.js -- `collsim serve` alone: fields and sliders of a scenario, which is run whenever one is moved; two settings
// side by side; the scenario in the address; export.

import {D, sweep, set_data, value_of, time_measure} from './data.js';
import {fmt_seconds, fmt_change, fmt_value} from './format.js';
import {state, state_key, change} from './state.js';
import {offer_controls} from './answer.js';
import {el, button, esc, named, table_html, save_file, tell_status, say} from './parts.js';
import {normal_config, config_get, config_set, config_count, reduced_config, shown_value, si_value, config_text, config_differences} from './scenario.js';

// The scenario, and the one that is pinned beside it, as JSON; '' is that of the server, and none.
const read_json = text => {
    try {
        return typeof JSON.parse(text) === 'object' ? text : undefined;
    } catch {
        return undefined;
    }
};
state_key('cfg', {init: '', read: read_json});
state_key('pin', {init: '', read: read_json});

const LIVE_CANCEL_MS = 120;   // a request that is younger may end although there is a newer one: a drag shows what it can
const LIVE_SETTLE_MS = 350;   // without a change: timelines are asked for, too
const LIVE_RETRY_MS = 1500;

// What there is (GET /api/v1/list), the configuration, and what is under way.
const live = {list: null, config: null, first: '', fields: [], sent: 0, abort: null, since: 0, timer: 0, settle: 0,
    is_gone: false, pinned: null, node: null};

/* ---- values of sliders ---- */

function decade_values(from, to) {
    const out = [];
    for (let e = Math.floor(Math.log10(from)); e <= Math.log10(to); e++) {
        for (const m of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) {
            const v = Number((m * 10 ** e).toPrecision(3));
            if (v >= from * 0.999 && v <= to * 1.001) out.push(v);
        }
    }
    return out;
}

const TWOS = (from, to) => Array.from({length: to - from + 1}, (_, i) => 2 ** (from + i));
const RANKS = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    448, 512, 640, 768, 896, 1024];
const DELAYS = [0, ...decade_values(1e-6, 0.1)];
const SLOWDOWNS = [1, 1.1, 1.2, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 16];

// The quantities with a slider. `init`: what holds where the configuration has no value.
const LIVE_FIELDS = [
    {path: 'cluster.ranks', label: 'GPUs', unit: 'count', values: RANKS, init: 8},
    {path: 'cluster.gpus_per_server', label: 'GPUs a server', unit: 'count', values: [1, 2, 4, 8, 16, 32, 36, 64, 72], init: 1},
    {path: 'bytes', label: 'size', unit: 'bytes', values: TWOS(10, 34), init: 2 ** 25},
    {path: 'cluster.nic.bandwidth', label: 'NIC rate', unit: 'Bps', values: decade_values(1e9, 2e12), init: 450e9},
    {path: 'cluster.nic.alpha', label: 'NIC start-up', unit: 's', values: decade_values(1e-7, 1e-4), init: 3e-6},
    {path: 'cluster.nvlink.bandwidth', label: 'NVLink rate', unit: 'Bps', values: decade_values(1e10, 4e12), init: 450e9},
    {path: 'cluster.nvlink.alpha', label: 'NVLink start-up', unit: 's', values: decade_values(1e-7, 1e-4), init: 1e-6},
];

/* ---- parts ---- */

let live_ids = 0;

// A slider with a text beside it. `get()` is the value as it stands in the configuration, `set(value, goes_on)` changes it.
function slider_field({path, label, unit, values, init, get, set}) {
    const id = 'live-' + live_ids++;
    const range = el('input', {type: 'range', id, min: 0, max: values.length - 1, step: 1});
    const text = el('input', {type: 'text', 'aria-label': label, autocomplete: 'off', spellcheck: false});
    const node = el('div', {className: 'live-field'}, el('label', {htmlFor: id, textContent: label}), range, text);
    range.addEventListener('input', () => set(config_text(unit, values[range.value]), true));
    range.addEventListener('change', () => set(config_text(unit, values[range.value]), false));
    text.addEventListener('change', () => set(text_value(unit, text.value), false));
    const sync = () => {
        const given = get(), si = given === undefined ? init : si_value(unit, given);
        const near = Number.isFinite(si) ? nearest_place(values, si) : 0;
        if (document.activeElement !== range || Number(range.value) !== near) range.value = near;
        range.setAttribute('aria-valuetext', Number.isFinite(si) ? fmt_value(unit, si) : String(given));
        if (document.activeElement !== text) {
            text.value = given === undefined ? '' : String(typeof given === 'number' ? config_text(unit, given) : given);
            text.placeholder = Number.isFinite(init) ? String(config_text(unit, init)) : '';
        }
    };
    return {node, sync, path};
}

function nearest_place(values, value) {
    let best = 0;
    values.forEach((v, i) => { if (Math.abs(v - value) < Math.abs(values[best] - value)) best = i; });
    return best;
}

// What was typed, as a configuration has it: a number where it is one.
function text_value(unit, text) {
    const trimmed_text = text.trim();
    if (trimmed_text === '') return undefined;
    return unit !== 'bytes' && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed_text) ? Number(trimmed_text) : trimmed_text;
}

function select_field(label, path, choices, get, set) {
    const id = 'live-' + live_ids++, select = el('select', {id, className: 'wide'});
    const node = el('div', {className: 'live-field'}, el('label', {htmlFor: id, textContent: label}), select);
    select.addEventListener('change', () => set(select.value));
    const sync = () => {
        const value = get(), list = choices();
        if (!list.some(([v]) => v === value)) list.unshift([value, `(${value})`]);
        select.replaceChildren(...list.map(([v, t]) => el('option', {value: v, textContent: t, selected: v === value})));
        select.value = value;
    };
    return {node, sync, path};
}

// A whole number in a row of a list: which GPU, which NIC.
function number_input(label, value, on_value) {
    const input = el('input', {type: 'text', value: String(value), 'aria-label': label, inputMode: 'numeric', autocomplete: 'off'});
    input.addEventListener('change', () => {
        const n = Number(input.value);
        if (Number.isInteger(n) && n >= 0) on_value(n);
        else input.value = String(value);
    });
    return input;
}

/* ---- the fields ---- */

function live_change(edit, goes_on = false) {
    live.config = reduced_config(live.config, live.list.limits.scenarios, all_count());
    edit(live.config);
    live_changed(goes_on);
}

// The configuration has changed: into the address, to all fields, and to the server.
function live_changed(goes_on) {
    const text = JSON.stringify(live.config);
    change({cfg: text === live.first ? '' : text}, {goes_on});
    live_sync();
    live_send();
}

function set_path(path, value, goes_on) {
    live_change(config => config_set(config, path, value), goes_on);
}

function collective_shown() {
    return config_get(live.config, 'collective') || 'allreduce';
}

function algorithms_there() {
    return live.list.algorithms.filter(a => a.collectives.includes(collective_shown()));
}

function all_count() {
    return Math.max(1, algorithms_there().length);
}

function algorithms_chosen() {
    const names = (live.config.sweep && live.config.sweep['algorithm.name']) || [];
    return names.includes('all') ? algorithms_there().map(a => a.name) : names;
}

function choose_algorithms(names) {
    live_change(config => {
        config.sweep = {...config.sweep, 'algorithm.name': names};
    });
}

function algorithm_field() {
    const chips = el('div', {className: 'live-chips', role: 'group', 'aria-label': 'Algorithms'});
    const sync = () => {
        const chosen = new Set(algorithms_chosen()), there = algorithms_there();
        const is_all = there.every(a => chosen.has(a.name));
        const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.name : null;
        chips.replaceChildren(chip('all', 'All that can', is_all, () => choose_algorithms(is_all ? [there[0].name] : ['all'])),
            ...there.map(a => chip(a.name, a.title, chosen.has(a.name), () => toggle_algorithm(a.name, chosen), a.summary)));
        const again = focused && [...chips.children].find(c => c.dataset.name === focused);
        if (again) again.focus({preventScroll: true});
    };
    return {node: el('div', {className: 'live-group'}, el('h3', {textContent: 'Algorithms'}), chips), sync, path: 'algorithm'};
}

function chip(name, title, is_on, on_press, summary = '') {
    const node = button(title, on_press, {title: summary});
    node.dataset.name = name;
    node.setAttribute('aria-pressed', String(is_on));
    return node;
}

function toggle_algorithm(name, chosen) {
    const names = algorithms_there().map(a => a.name).filter(n => n === name ? !chosen.has(n) : chosen.has(n));
    if (names.length > 0) choose_algorithms(names);
}

function set_collective(value) {
    live_change(config => {
        config_set(config, 'collective', value);
        const can = new Set(live.list.algorithms.filter(a => a.collectives.includes(value)).map(a => a.name));
        const kept = ((config.sweep && config.sweep['algorithm.name']) || []).filter(n => n === 'all' || can.has(n));
        config.sweep = {...config.sweep, 'algorithm.name': kept.length > 0 ? kept : ['all']};
    });
}

// A preset beside which keys stand, as "servers", stays an object.
function set_topology(value) {
    live_change(config => {
        config_set(config, 'cluster.topology', value === '' ? undefined : value);
        if (value !== '') {
            for (const key of ['gpus_per_server', 'nic', 'nvlink', 'sockets']) config_set(config, 'cluster.' + key, undefined);
        }
    });
}

function topology_shown() {
    const topology = config_get(live.config, 'cluster.topology');
    return typeof topology === 'object' && topology !== null ? topology.preset || topology.kind || JSON.stringify(topology) : topology || '';
}

function live_fields() {
    const simple = LIVE_FIELDS.map(f => slider_field({...f, get: () => shown_value(live.config, f.path),
        set: (value, goes_on) => set_path(f.path, value, goes_on)}));
    const selects = [
        select_field('collective', 'collective', () => live.list.collectives.map(c => [c, c]), collective_shown, set_collective),
        select_field('network model', 'model.name', () => live.list.models.map(m => [m.name, m.name]),
            () => shown_value(live.config, 'model.name') || 'alpha-beta', value => set_path('model', {name: value})),
        select_field('topology', 'cluster.topology', () => [['', 'none: the rates below'],
            ...live.list.topologies.map(t => [t.name, `${t.name}: ${t.summary}`])], topology_shown, set_topology),
    ];
    const grid = el('div', {className: 'live-fields'}, ...selects.map(f => f.node), ...simple.map(f => f.node));
    live.fields = [...selects, ...simple];
    return grid;
}

// What a number of the sentence moves through (offer_controls()): that of the field of the same key.
function sentence_control(path) {
    const known = LIVE_FIELDS.find(f => f.path === path);
    const field = known || (/^arrivals\.late\[\d+\]\.delay$/.test(path) ? {label: 'delay', unit: 's', values: DELAYS} : null);
    const given = field && live.config ? shown_value(live.config, path) : undefined;
    if (!field || (given === undefined && !known)) return null;
    const si = given === undefined ? field.init : si_value(field.unit, given);
    if (!Number.isFinite(si)) return null;
    return {...field, place: nearest_place(field.values, si),
        move: (place, {goes_on}) => set_path(path, config_text(field.unit, field.values[place]), goes_on)};
}

/* ---- late ranks, slow and dead NICs: rows of lists ---- */

// The rows of a list of the configuration; `row(entry, place)` gives a field.
function list_group(title, path, row, adders) {
    const rows = el('div', {className: 'live-fields'});
    const buttons = el('div', {className: 'live-buttons'}, ...adders.map(([text, make]) =>
        button(text, () => live_change(config => config_set(config, path, [...(config_get(config, path) || []), make()])))));
    let shape = '', fields = [];
    const sync = () => {
        const list = config_get(live.config, path) || [];
        const now = JSON.stringify(list.map(e => [Object.keys(e), e.rank, e.server, e.nic]));
        if (now !== shape) {
            fields = list.map(row);
            rows.replaceChildren(...fields.map(f => f.node));
        }
        shape = now;
        fields.forEach(f => f.sync());
    };
    const head = el('div', {className: 'live-head'}, el('h3', {textContent: title}), buttons);
    return {node: el('div', {className: 'live-group'}, head, rows), sync, path, fields: () => fields};
}

function without_entry(path, place) {
    live_change(config => {
        const rest = config_get(config, path).filter((_, i) => i !== place);
        for (const axis of Object.keys(config.sweep || {})) if (axis.startsWith(path + '[')) delete config.sweep[axis];
        config_set(config, path, rest.length > 0 ? rest : undefined);
    });
}

// "GPU [7]", a slider, and a button that takes it away.
function rank_row(path, place, rank, what, field) {
    const input = number_input(`${what}: which GPU`, rank, n => set_path(`${path}[${place}].rank`, n));
    const inner = slider_field(field);
    inner.node.firstChild.replaceWith(el('span', {className: 'pair'}, 'GPU', input,
        button('✕', () => without_entry(path, place), {title: 'Take away', 'aria-label': `${what} of GPU ${rank}: take away`})));
    return inner;
}

function late_row(entry, place) {
    const path = `arrivals.late[${place}].delay`;
    return rank_row('arrivals.late', place, entry.rank, 'late', {path, label: `delay of GPU ${entry.rank}`, unit: 's', values: DELAYS,
        init: 0, get: () => shown_value(live.config, path), set: (v, goes_on) => set_path(path, v, goes_on)});
}

function fault_row(entry, place) {
    const path = `faults[${place}].slowdown`;
    if (entry.rank !== undefined && entry.slowdown !== null && entry.slowdown !== undefined) {
        return rank_row('faults', place, entry.rank, 'slow NIC', {path, label: `slowdown of GPU ${entry.rank}`, unit: 'ratio',
            values: SLOWDOWNS, init: 1, get: () => shown_value(live.config, path), set: (v, goes_on) => set_path(path, v, goes_on)});
    }
    return nic_row(entry, place);
}

// A fault of one NIC, or of another kind: which one, in words, and a button that takes it away.
function nic_row(entry, place) {
    const numbers = ['server', 'nic'].filter(k => entry[k] !== undefined).flatMap(k =>
        [el('span', {textContent: k}), number_input(`fault: ${k}`, entry[k], n => set_path(`faults[${place}].${k}`, n))]);
    const when = (entry.from ? ` from ${entry.from}` : '') + (entry.until ? ` until ${entry.until}` : '');
    const is_dead = entry.slowdown === null && numbers.length > 0;
    const what = is_dead ? 'dead NIC' + when : JSON.stringify(entry);
    const pair = el('span', {className: 'pair wide'}, ...(is_dead ? numbers : []),
        button('✕', () => without_entry('faults', place), {title: 'Take away', 'aria-label': `${what}: take away`}));
    const node = el('div', {className: 'live-field'}, el('span', {className: 'label', textContent: what}), pair);
    return {node, sync() {}, path: `faults[${place}]`};
}

// The last GPU that no entry of the list has.
function free_rank(path) {
    const n = Number(shown_value(live.config, 'cluster.ranks')) || 8;
    const used = new Set((config_get(live.config, path) || []).map(e => e.rank));
    let rank = n - 1;
    while (rank > 0 && used.has(rank)) rank--;
    return rank;
}

/* ---- options ---- */

// Options of what is chosen: of algorithms together, since a configuration has one object for all of them.
function options_group() {
    const details = el('details', {className: 'more'}, el('summary', {textContent: 'Options of algorithms and model'}));
    const box = el('div', {className: 'live-options'});
    details.append(box);
    let shape = '', fields = [];
    const sync = () => {
        const model = live.list.models.find(m => m.name === (shown_value(live.config, 'model.name') || 'alpha-beta'));
        const chosen = new Set(algorithms_chosen());
        const now = [...chosen, model ? model.name : ''].join();
        if (now !== shape) {
            fields = [...option_fields('algorithm.options', live.list.algorithms.filter(a => chosen.has(a.name))),
                ...option_fields('model.options', model ? [model] : [])];
            box.replaceChildren(...fields.map(f => f.node));
        }
        shape = now;
        fields.forEach(f => f.sync());
        details.hidden = fields.length === 0;
    };
    details.addEventListener('toggle', sync);
    return {node: details, sync, path: 'algorithm.options', fields: () => fields};
}

function option_fields(path, things) {
    const rows = new Map();
    for (const thing of things) {
        for (const option of thing.options) {
            if (option.name === 'fingerprint' || option.name === 'strategy') continue;
            if (!rows.has(option.name)) rows.set(option.name, {option, of: []});
            rows.get(option.name).of.push(thing.title || thing.name);
        }
    }
    return [...rows.values()].map(({option, of}) => option_field(`${path}.${option.name}`, option, of));
}

function option_field(path, option, of) {
    const words = option.type === 'boolean' ? ['true', 'false'] : option.choices;
    const input = words ? el('select', {}, ...['', ...words].map(w => el('option', {value: w, textContent: w || `(${option.default})`})))
        : el('input', {type: 'text', placeholder: String(option.default), autocomplete: 'off'});
    input.addEventListener('change', () => set_path(path, input.value === '' ? undefined
        : option.type === 'boolean' ? input.value === 'true' : text_value('', input.value)));
    const title = `${option.help} (${of.slice(0, 4).join(', ')}${of.length > 4 ? ', ..' : ''})`;
    const node = el('label', {className: 'live-option', title}, el('span', {textContent: option.name}), input);
    return {node, path, sync() {
        const value = shown_value(live.config, path);
        if (document.activeElement !== input) input.value = value === undefined ? '' : String(value);
    }};
}

/* ---- the configuration itself ---- */

function json_group() {
    const area = el('textarea', {'aria-label': 'The configuration as JSON', spellcheck: false});
    const node = el('details', {className: 'more live-json'}, el('summary', {textContent: 'The configuration itself'}), area,
        el('div', {className: 'live-buttons'}, button('Run it', () => take_json(area.value))));
    const sync = () => {
        if (document.activeElement !== area) area.value = JSON.stringify(live.config, null, 2);
    };
    node.addEventListener('toggle', sync);
    return {node, sync, path: ''};
}

function take_json(text) {
    let given = null;
    try {
        given = JSON.parse(text);
    } catch (error) {
        live_say(`This is no JSON: ${error.message}`, true);
        return;
    }
    if (given === null || typeof given !== 'object' || Array.isArray(given)) {
        live_say('A configuration is an object: {"cluster": {"ranks": 16}, ..}', true);
        return;
    }
    live.config = normal_config(given);
    live_changed(false);
}

/* ---- requests ---- */

// Ask for what is shown now. What is under way ends first if it is quick, else it is cancelled.
function live_send() {
    clearTimeout(live.timer);
    clearTimeout(live.settle);
    const age = performance.now() - live.since;
    if (live.abort && age < LIVE_CANCEL_MS) {
        live.timer = setTimeout(live_send, LIVE_CANCEL_MS - age);
        live.waits = true;
        return;
    }
    live.waits = false;
    live_run(false);
    live.settle = setTimeout(() => live_run(true), LIVE_SETTLE_MS);
}

async function live_run(has_runs) {
    const mine = ++live.sent, body = JSON.stringify(reduced_config(live.config, live.list.limits.scenarios, all_count()));
    if (live.abort) live.abort.abort();
    const abort = new AbortController();
    live.abort = abort;
    live.since = performance.now();
    document.getElementById('live').setAttribute('aria-busy', 'true');
    try {
        const answer = await live_post('run?page=1' + (has_runs ? '&trace=1' : ''), body, abort.signal);
        const said = await answer.json();
        if (mine === live.sent) await live_show(answer.ok, said, performance.now() - live.since);
    } catch (error) {
        if (error.name !== 'AbortError' && mine === live.sent) live_gone();
    }
    if (live.abort !== abort) return;
    live.abort = null;
    document.getElementById('live').removeAttribute('aria-busy');
    if (live.waits) live_send();
}

function live_post(path, body, signal) {
    return fetch('api/v1/' + path, {method: 'POST', body, signal, headers: {'Content-Type': 'application/json'}, cache: 'no-store'});
}

async function live_show(is_ok, said, ms) {
    live_back();
    document.documentElement.classList.toggle('live-stale', !is_ok);
    if (!is_ok) {
        show_wrong(said.error);
        return;
    }
    mark_wrong(null);
    if (await set_data(said.page)) {
        const n = config_count(live.config, all_count());
        live_say(`${n} ${n === 1 ? 'scenario' : 'scenarios'} in ${Math.round(ms)} ms`);
        live_compare();
    }
}

function show_wrong(error) {
    const is_at_field = mark_wrong(error);
    live_say(is_at_field ? 'What is shown is the last result.' : (error.path ? error.path + ': ' : '') + error.message, true);
    say(error.message);
}

// Mark the field that an error is about; false: there is none.
function mark_wrong(error) {
    const path = error && error.path ? error.path.replace(/^sweep\["?|"?\](\[\d+\])?$/g, '') : null;
    let is_marked = false;
    for (const field of all_fields()) {
        const is_it = path !== null && path !== '' && field.path === path;
        const old = field.node.querySelector('.why');
        if (old) old.remove();
        field.node.classList.toggle('wrong', is_it);
        if (is_it) field.node.append(el('p', {className: 'why', textContent: error.message}));
        is_marked = is_marked || is_it;
    }
    return is_marked;
}

function all_fields() {
    return live.fields.flatMap(f => f.fields ? f.fields() : f.path ? [f] : []);
}

// The server does not answer: what is shown stays, greyed, until it does.
function live_gone() {
    document.documentElement.classList.add('live-stale');
    live.node.querySelector('.live-banner').hidden = false;
    if (!live.is_gone) say('The server does not answer. What is shown is the last result.');
    live.is_gone = true;
    setTimeout(async () => {
        try {
            await fetch('api/v1/list', {cache: 'no-store'});
            live_send();
        } catch {
            live_gone();
        }
    }, LIVE_RETRY_MS);
}

function live_back() {
    live.is_gone = false;
    live.node.querySelector('.live-banner').hidden = true;
}

function live_say(text, is_bad = false) {
    const line = live.node.querySelector('.live-message');
    line.textContent = text;
    line.classList.toggle('bad', is_bad);
}

/* ---- two settings side by side ---- */

// Pin what is shown now: one scenario of each algorithm.
function pin_now() {
    const text = JSON.stringify(reduced_config(live.config, 0, all_count()));
    change({pin: text});
    load_pinned();
}

function unpin() {
    live.pinned = null;
    change({pin: ''});
    live_compare();
}

// Run what is pinned, for its times.
async function load_pinned() {
    const text = state.pin;
    live.pinned = null;
    if (text === '') return live_compare();
    try {
        const answer = await live_post('run', text), said = await answer.json();
        if (text !== state.pin) return undefined;
        if (answer.ok) live.pinned = {config: JSON.parse(text), rows: said.rows.filter(r => !r.error)};
        else live_say('The pinned setting: ' + said.error.message, true);
    } catch {
        live_gone();
    }
    return live_compare();
}

function back_to_pinned() {
    live.config = structuredClone(live.pinned.config);
    live_changed(false);
}

function live_compare() {
    const box = live.node.querySelector('.live-compare');
    box.hidden = live.pinned === null || !sweep;
    if (box.hidden) return;
    const {config, rows} = live.pinned, now = reduced_config(live.config, 0, all_count());
    const differences = config_differences(config, now).map(([path, a, b]) =>
        el('li', {textContent: `${path}: ${live_word(a)} → ${live_word(b)}`}));
    const time = Object.fromEntries(rows.map(r => [r.algorithm, r.exposed_s]));
    const names = [...new Set([...rows.map(r => r.algorithm), ...sweep.algorithms])];
    const now_of = name => value_of(time_measure(), state.setting, sweep.algorithms.indexOf(name));
    const cells = names.map(name => [{html: named(name)}, fmt_seconds(time[name]), fmt_seconds(now_of(name)),
        Number.isFinite(time[name]) && Number.isFinite(now_of(name)) ? fmt_change(now_of(name) / time[name] - 1) : '–'])
        .sort((x, y) => (now_of(names[cells_place(names, x)]) || Infinity) - (now_of(names[cells_place(names, y)]) || Infinity));
    box.querySelector('ul').replaceChildren(...(differences.length ? differences : [el('li', {textContent: 'Nothing differs.'})]));
    box.querySelector('.table').innerHTML = table_html('Exposed time: A is pinned, B is shown', ['', 'A', 'B', 'B against A'], cells);
}

function cells_place(names, row) {
    return names.findIndex(name => row[0].html === named(name));
}

function live_word(value) {
    return value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
}

/* ---- export ---- */

async function live_export(as) {
    try {
        const answer = await live_post('export?as=' + as, JSON.stringify(live.config));
        const text = await answer.text();
        if (!answer.ok) show_wrong(JSON.parse(text).error);
        else if (as === 'config') save_file('collsim.json', 'application/json', text);
        else if (as === 'report') save_file('report.html', 'text/html', text);
        else show_command(text.trim());
    } catch {
        live_gone();
    }
}

async function show_command(text) {
    const box = live.node.querySelector('.live-command');
    box.hidden = false;
    box.querySelector('code').textContent = text;
    try {
        await navigator.clipboard.writeText(text);
        tell_status('The command line is copied.');
    } catch {
        tell_status('The command line stands below the buttons.');
    }
}

/* ---- the section ---- */

function live_sync() {
    for (const field of live.fields) field.sync();
    const is_joined = Number(shown_value(live.config, 'cluster.gpus_per_server')) > 1 || topology_shown() !== '';
    for (const field of live.fields) {
        if (field.path && field.path.startsWith('cluster.nvlink')) field.node.hidden = !is_joined;
    }
}

function build_live(body) {
    const groups = [
        algorithm_field(),
        list_group('Late GPUs', 'arrivals.late', late_row, [['+ a late GPU', () => ({rank: free_rank('arrivals.late'), delay: '1ms'})]]),
        list_group('Slow and dead NICs', 'faults', fault_row, [['+ a slow NIC', () => ({rank: free_rank('faults'), slowdown: 2})],
            ['+ a dead NIC', () => ({server: 0, nic: 0, slowdown: null, failover: 'pool'})]]),
        options_group(),
        json_group(),
    ];
    const grid = live_fields();
    live.fields.push(...groups);
    const compare = el('div', {className: 'live-compare', hidden: true}, el('h3', {textContent: 'Two settings side by side'}), el('ul'),
        el('div', {className: 'table'}), el('div', {className: 'live-buttons'}, button('Show A again', back_to_pinned), button('Forget A', unpin)));
    body.replaceChildren(el('div', {className: 'live-banner', hidden: true, role: 'alert',
        textContent: 'The server does not answer. What is shown is the last result.'}),
    el('div', {className: 'card'}, grid, ...groups.map(g => g.node),
        el('div', {className: 'live-buttons'}, button('Pin this as A', pin_now, {title: 'Compare what comes with it'}),
            button('As it began', start_again), button('Save as configuration', () => live_export('config')),
            button('Command line', () => live_export('command')), button('Save as page', () => live_export('report'))),
        el('p', {className: 'live-command', hidden: true}, el('code')),
        el('p', {className: 'live-message', role: 'status'}), compare));
}

function start_again() {
    live.config = JSON.parse(live.first);
    live_changed(false);
}

// Take the scenario of the address.
function follow_config() {
    const text = state.cfg === '' ? live.first : state.cfg;
    if (JSON.stringify(live.config) === text) return;
    live.config = normal_config(JSON.parse(text));
    live_sync();
    live_send();
}

async function start_live(body) {
    try {
        const answer = await fetch('api/v1/list', {cache: 'no-store'});
        live.list = await answer.json();
    } catch {
        setTimeout(() => start_live(body), LIVE_RETRY_MS);
        return;
    }
    live.config = normal_config(live.list.config);
    live.first = JSON.stringify(live.config);
    build_live(body);
    live_sync();
    offer_controls(sentence_control);
    follow_config();
    load_pinned();
}

export function live_section(node) {
    live.node = node;
    node.querySelector('.body').replaceChildren(el('p', {className: 'lead', textContent: 'Asking the server ..'}));
    start_live(node.querySelector('.body'));
    const update = changed => {
        if (!live.list) return;
        if (changed.has('cfg')) follow_config();
        if (changed.has('pin') && (live.pinned ? JSON.stringify(live.pinned.config) : '') !== state.pin) load_pinned();
        if (changed.has('setting')) {
            live_sync();
            live_compare();
        }
    };
    return {update, draw() {}, keeps_size: true};
}
