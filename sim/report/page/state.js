// SPDX-License-Identifier: GPL-3.0-or-later
// state.js -- what is shown. Each part has a key in the address, by values
// (#ranks=16&bytes=1G&delay_s=4ms&y=gap), so that a link shows the same view, also after the data have
// changed. Who changes something calls change(); who follows asks with on_change() to be told.

import {sweep, on_data, setting_near, setting_with, place_of_value, places_of_setting} from './data.js';
import {dim_value} from './data.js';
import {value_to_hash, value_from_hash} from './format.js';

// The values by key; `setting` is the setting that is shown, the rest is declared by the modules with
// state_key().
export const state = {setting: 0};

const state_keys = new Map();
const change_listeners = [];
let has_setting_in_hash = false;
let last_push = 0;
let hash_timer = 0;
let wants_push = false;
let own_hash = '';

// Declare a part of the state at the top of a module. `read(text)` gives its value, or undefined where the
// text is wrong; `write(value)` the text. Without them it is a text. A key is not in the address while it has
// its first value.
export function state_key(name, {init, read = text => text, write = String}) {
    state_keys.set(name, {init, read, write});
    state[name] = init;
}

// Change parts of the state, {key: value, ..}, and tell all. `goes_on`: one of many changes, while a pointer
// is dragged; it makes no entry in the history.
export function change(values, {goes_on = false} = {}) {
    const changed = new Set();
    for (const key of Object.keys(values)) {
        if (state[key] !== values[key]) {
            state[key] = values[key];
            changed.add(key);
        }
    }
    if (changed.size === 0) return;
    if (changed.has('setting')) has_setting_in_hash = true;
    tell(changed);
    keep_in_address(goes_on);
}

// listener(changed): a Set of keys; all of them after the address has changed.
export function on_change(listener) {
    change_listeners.push(listener);
}

function tell(changed) {
    for (const listener of change_listeners) listener(changed);
}

/* ---- the address ---- */

// The key of a dim: the end of its name where no other dim or key has it.
function dim_key(d) {
    const name = sweep.dims[d].name,
        end = name.slice(name.lastIndexOf('.') + 1);
    const same = sweep.dims.filter(o => o.name.slice(o.name.lastIndexOf('.') + 1) === end).length;
    const short = same === 1 ? end : name;
    return state_keys.has(short) || short === 'theme' ? 'dim.' + name : short;
}

function dim_of_key(key) {
    if (!sweep) return -1;
    return sweep.dims.findIndex((dim, d) => (dim.name === key && !state_keys.has(key)) || dim_key(d) === key);
}

const hash_part = text =>
    encodeURIComponent(text).replace(
        /%(5B|5D|3A|2F|2C|20)/g,
        (all, code) => ({'5B': '[', '5D': ']', '3A': ':', '2F': '/', '2C': ',', 20: '+'})[code],
    );

// What stands behind # for the state that is shown; '' where all of it is as it was at first.
export function hash_of_state() {
    const parts = [];
    if (sweep && has_setting_in_hash) {
        sweep.dims.forEach((dim, d) => {
            parts.push([dim_key(d), value_to_hash(dim.unit, dim_value(d, state.setting))]);
        });
    }
    for (const [name, key] of state_keys) {
        const text = key.write(state[name]);
        if (text !== key.write(key.init)) parts.push([name, text]);
    }
    return parts.map(([k, v]) => hash_part(k) + '=' + hash_part(v)).join('&');
}

// Read the address into the state; returns sentences about what was wrong in it.
export function read_address() {
    const problems = [];
    const wanted = new Map(new URLSearchParams(location.hash.slice(1)));
    for (const [name, key] of state_keys) {
        let value = key.init;
        if (wanted.has(name)) {
            value = key.read(wanted.get(name));
            if (value === undefined) {
                problems.push(`“${wanted.get(name)}” is no value of “${name}”; left as it is.`);
                value = key.init;
            }
        }
        state[name] = value;
    }
    if (sweep) read_setting(wanted, problems);
    return problems;
}

function read_setting(wanted, problems) {
    const places = places_of_setting(sweep.start);
    has_setting_in_hash = false;
    for (const [key, text] of wanted) {
        const d = dim_of_key(key);
        if (d < 0) continue;
        has_setting_in_hash = true;
        const {unit, label} = sweep.dims[d];
        const value = value_from_hash(unit, text),
            place = place_of_value(d, value);
        if (place < 0) {
            problems.push(`“${text}” is no value of ${label}.`);
            continue;
        }
        places[d] = place;
        const there = sweep.dims[d].values[place];
        if (unit !== 'word' && Math.abs(there - value) > 1e-9 * Math.max(Math.abs(there), Math.abs(value))) {
            problems.push(`${label} ${text} was not computed; the nearest is ${value_to_hash(unit, there)}.`);
        }
    }
    state.setting = setting_near(places);
    if (has_setting_in_hash && places.some((p, d) => p !== sweep.place[d][state.setting])) {
        problems.push('That setting was not computed; the nearest one is shown.');
    }
}

// Write the address a little later, so that a drag does not write it for each step.
function keep_in_address(goes_on) {
    wants_push = wants_push || !goes_on;
    clearTimeout(hash_timer);
    hash_timer = setTimeout(write_address, 150);
}

// Put the state into the address now. Changes within a second are one entry in the history.
export function write_address() {
    clearTimeout(hash_timer);
    const hash = hash_of_state();
    if (hash === location.hash.slice(1)) return;
    const now = performance.now();
    const is_new = wants_push && now - last_push > 1000;
    if (is_new) last_push = now;
    wants_push = false;
    own_hash = hash;
    history[is_new ? 'pushState' : 'replaceState'](
        null,
        '',
        hash ? '#' + hash : location.pathname + location.search,
    );
}

// Follow the address: back, forward, a hash typed by hand. `told(problems)` is called after the state has
// been read. A hash that is the id of a section is a jump, not a state.
export function follow_address(told) {
    const follow = () => {
        const hash = location.hash.slice(1);
        if (hash === own_hash || document.getElementById(hash)) return;
        own_hash = hash;
        const problems = read_address();
        tell(new Set(['setting', ...state_keys.keys()]));
        told(problems);
    };
    addEventListener('popstate', follow);
    addEventListener('hashchange', follow);
}

// After new data: the setting that is nearest to the values that were shown.
on_data(old => {
    if (!sweep) return;
    const places = places_of_setting(sweep.start);
    sweep.dims.forEach((dim, d) => {
        const was = old ? old.dim_of.get(dim.name) : undefined;
        const place =
            was === undefined ? -1 : place_of_value(d, old.dims[was].values[old.place[was][state.setting]]);
        if (place >= 0) places[d] = place;
    });
    state.setting = setting_near(places);
});

// Move one dim of the setting to a place. Where that was not computed: to the next place in the same
// direction with the other dims as they are, else back towards where it was, else to the nearest setting with
// that place.
export function move_dim(d, place, options = {}) {
    const n = sweep.dims[d].values.length,
        now = sweep.place[d][state.setting];
    const wanted = Math.max(0, Math.min(n - 1, place));
    if (wanted === now) return;
    const step = Math.sign(wanted - now);
    let setting = -1;
    for (let p = wanted; p >= 0 && p < n && setting < 0; p += step)
        setting = setting_with(state.setting, d, p);
    for (let p = wanted - step; p !== now && setting < 0; p -= step)
        setting = setting_with(state.setting, d, p);
    if (setting < 0) {
        const places = places_of_setting(state.setting);
        places[d] = wanted;
        setting = setting_near(places, d);
    }
    change({setting}, options);
}
