// SPDX-License-Identifier: GPL-3.0-or-later
// scenario.js -- a configuration as a JSON object, for the fields of live.js: values by their paths ("cluster.nic.alpha",
// "arrivals.late[0].delay"), axes of its sweep, and what sets two of them apart. Nothing here draws.

import {sweep, dim_value} from './data.js';
import {value_from_hash, value_to_hash} from './format.js';
import {state} from './state.js';

const PATH_STEP = /[^.[\]]+/g;

function steps_of(path) {
    return path.match(PATH_STEP) || [];
}

// A copy in which algorithm and model are objects with a name, and one algorithm is an axis of one.
export function normal_config(config) {
    const copy = structuredClone(config);
    for (const key of ['algorithm', 'model']) {
        if (typeof copy[key] === 'string') copy[key] = {name: copy[key]};
    }
    const axes = copy.sweep || {};
    for (const key of ['algorithm', 'model']) {
        if (key in axes) copy.sweep = Object.fromEntries(Object.entries(axes).map(([p, v]) => [p === key ? key + '.name' : p, v]));
    }
    if (copy.algorithm && copy.algorithm.name && !(copy.sweep && copy.sweep['algorithm.name'])) {
        copy.sweep = {...copy.sweep, 'algorithm.name': [copy.algorithm.name]};
    }
    if (copy.algorithm) delete copy.algorithm.name;
    return copy;
}

// The value at a path; undefined: none.
export function config_get(config, path) {
    return steps_of(path).reduce((node, step) => node === null || node === undefined ? undefined : node[step], config);
}

// Set the value at a path, or (undefined) take it away; an axis over the path, or over something around it, ends.
export function config_set(config, path, value) {
    for (const axis of Object.keys(config.sweep || {})) {
        if (axis === path || axis.startsWith(path + '.') || axis.startsWith(path + '[') || path.startsWith(axis + '.')) {
            delete config.sweep[axis];
        }
    }
    if (config.sweep && Object.keys(config.sweep).length === 0) delete config.sweep;
    set_in(config, steps_of(path), value);
}

function set_in(node, [step, ...rest], value) {
    if (rest.length === 0) {
        if (value === undefined) delete node[step];
        else node[step] = value;
        return;
    }
    if (node[step] === null || typeof node[step] !== 'object') {
        if (value === undefined) return;
        node[step] = {};
    }
    set_in(node[step], rest, value);
    if (value === undefined && !Array.isArray(node[step]) && Object.keys(node[step]).length === 0) delete node[step];
}

/* ---- axes ---- */

// The dim of the page for an axis of the sweep; -1: none.
function dim_of_axis(path) {
    if (!sweep) return -1;
    const end = path.slice(path.lastIndexOf('.') + 1);
    const names = new Set([path, path + '_s', path + '_bytes', path + '_Bps', end]);
    return sweep.dims.findIndex(dim => names.has(dim.name));
}

// The value of an axis in the setting that is shown, as the configuration writes it.
export function axis_value(config, path) {
    const values = config.sweep[path], d = dim_of_axis(path);
    if (d < 0 || sweep.dims[d].unit === 'word') return values[0];
    const shown = dim_value(d, state.setting), {unit} = sweep.dims[d];
    const same = values.find(v => Math.abs(si_value(unit, v) - shown) <= 1e-9 * Math.abs(shown));
    return same === undefined ? shown : same;
}

// The value of a path in the setting that is shown.
export function shown_value(config, path) {
    return config.sweep && config.sweep[path] ? axis_value(config, path) : config_get(config, path);
}

// How many scenarios: `n_all` stands for "all".
export function config_count(config, n_all) {
    return Object.values(config.sweep || {}).reduce((n, values) =>
        n * values.reduce((sum, v) => sum + (v === 'all' ? n_all : 1), 0), 1);
}

// A copy with at most `most` scenarios: the longest axes but that of the algorithms take the value that is shown.
export function reduced_config(config, most, n_all) {
    const copy = structuredClone(config);
    const axes = () => Object.keys(copy.sweep || {}).filter(p => p !== 'algorithm.name');
    while (axes().length > 0 && (most === 0 || config_count(copy, n_all) > most)) {
        const longest = axes().reduce((a, b) => copy.sweep[b].length > copy.sweep[a].length ? b : a);
        config_set(copy, longest, axis_value(copy, longest));
    }
    return copy;
}

/* ---- quantities ---- */

// A value of a configuration in SI units: 4ms, 1G, 200Gb/s, a number; NaN: something else.
export function si_value(unit, value) {
    if (typeof value === 'number') return value;
    if (typeof value !== 'string') return NaN;
    const bits = /^\s*([\d.]+)\s*([kmgt]?)(?:b\/s|bps|bit\/s)\s*$/.exec(value.replace(/^([\d.\s]+)([KMGT])b/, (_, n, k) => n + k.toLowerCase() + 'b'));
    if (unit === 'Bps' && bits) return Number(bits[1]) * {'': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12}[bits[2]] / 8;
    return value_from_hash(unit, value);
}

// The value as a configuration writes it.
export function config_text(unit, value) {
    if (unit === 'Bps') {
        const [factor, name] = value >= 1e9 ? [1e9, 'GB/s'] : [1e6, 'MB/s'];
        return Number((value / factor).toPrecision(6)) + name;
    }
    return unit === 's' || unit === 'bytes' ? value_to_hash(unit, value) : value;
}

/* ---- differences ---- */

// What sets two configurations apart: [path, value of a, value of b] of every leaf that differs.
export function config_differences(a, b, path = '') {
    const is_object = v => v !== null && typeof v === 'object';
    if (!is_object(a) || !is_object(b) || Array.isArray(a) !== Array.isArray(b)) {
        return JSON.stringify(a) === JSON.stringify(b) ? [] : [[path, a, b]];
    }
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return keys.flatMap(key => config_differences(a[key], b[key],
        Array.isArray(a) ? `${path}[${key}]` : path ? `${path}.${key}` : key));
}
