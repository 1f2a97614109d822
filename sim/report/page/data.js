// SPDX-License-Identifier: GPL-3.0-or-later
// data.js -- the data object `D`, its columns unpacked, and its settings by their values.

// The object of the page as it came; see README.md.
export let D = {};

// The sweep, unpacked, or null: the dims, algorithms and fixed inputs of D.sweep, and
//   n, A           settings and algorithms
//   place[d][s]    place of the value of dim d in setting s
//   measure        by name: {name, label, unit, values}, values[s * A + a]
//   state          [s * A + a]
//   reason         Map of cells to what went wrong
export let sweep = null;

const TYPES = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array};
const data_listeners = [];

// Unpack a column; a typed array of its n values. Throws where the column is damaged.
export async function unpack(column) {
    const text = atob(column.z);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    const values = new TYPES[column.type](await new Response(stream).arrayBuffer());
    if (values.length !== column.n) throw new Error(`a column has ${values.length} values, not ${column.n}`);
    if (column.delta) {
        for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
    }
    return values;
}

async function unpack_sweep(raw) {
    const [place, values, state, bound, answer] = await Promise.all([
        Promise.all(raw.settings.index.map(unpack)),
        Promise.all(raw.measures.map(m => unpack(m.values))),
        unpack(raw.state),
        raw.bound ? unpack(raw.bound) : null,
        raw.answer ? unpack(raw.answer) : null,
    ]);
    const measure = {};
    raw.measures.forEach((m, i) => {
        measure[m.name] = {name: m.name, label: m.label, unit: m.unit, values: values[i]};
    });
    const out = {
        raw,
        collective: raw.collective,
        dims: raw.dims,
        fixed: raw.fixed || [],
        algorithms: raw.algorithms,
        n: raw.settings.n,
        A: raw.algorithms.length,
        place,
        measure,
        state,
        bound,
        answer,
        bounds: raw.bounds || [],
        answers: raw.answers || [],
        start: raw.start || 0,
        reason: new Map(raw.errors || []),
        wrong: 0,
        unverified: 0,
    };
    for (const s of state) {
        if (s === 3) out.wrong++;
        if (s === 2) out.unverified++;
    }
    out.by_key = settings_by_key(out);
    out.dim_of = new Map(raw.dims.map((d, i) => [d.name, i]));
    return out;
}

// Settings by their places, as one number: an array where that is small, else a map.
function settings_by_key(w) {
    const strides = [];
    let size = 1;
    for (let d = w.dims.length - 1; d >= 0; d--) {
        strides[d] = size;
        size *= w.dims[d].values.length;
    }
    const is_small = size <= Math.max(1e6, 4 * w.n);
    const table = is_small ? new Int32Array(size).fill(-1) : new Map();
    for (let s = 0; s < w.n; s++) {
        let key = 0;
        for (let d = 0; d < strides.length; d++) key += w.place[d][s] * strides[d];
        if (is_small) table[key] = s;
        else table.set(key, s);
    }
    const get = is_small ? key => table[key] : key => (table.has(key) ? table.get(key) : -1);
    return {strides, get};
}

// The setting with these places of its dims; -1: there is none.
export function setting_at(places) {
    let key = 0;
    for (let d = 0; d < places.length; d++) key += places[d] * sweep.by_key.strides[d];
    return sweep.by_key.get(key);
}

// The setting that is `setting` but for the place of one dim, or of two; -1: there is none.
export function setting_with(setting, d, place, d2 = -1, place2 = 0) {
    const {strides, get} = sweep.by_key;
    let key = 0;
    for (let k = 0; k < strides.length; k++) {
        key += (k === d ? place : k === d2 ? place2 : sweep.place[k][setting]) * strides[k];
    }
    return get(key);
}

// The existing setting that is nearest to these places; `firm`: a dim that should keep its place.
// O(settings).
export function setting_near(places, firm = -1) {
    const exact = setting_at(places);
    if (exact >= 0) return exact;
    let best = 0,
        least = Infinity;
    for (let s = 0; s < sweep.n; s++) {
        let distance = 0;
        for (let d = 0; d < places.length; d++) {
            distance += Math.abs(sweep.place[d][s] - places[d]) * (d === firm ? 1e6 : 1);
        }
        if (distance < least) {
            least = distance;
            best = s;
        }
    }
    return best;
}

export function places_of_setting(setting) {
    return sweep.dims.map((_, d) => sweep.place[d][setting]);
}

// The value of a dim in a setting.
export function dim_value(d, setting) {
    return sweep.dims[d].values[sweep.place[d][setting]];
}

// A measure of an algorithm (by its place) in a setting; NaN: none.
export function value_of(name, setting, a) {
    const m = sweep.measure[name];
    return m === undefined || setting < 0 ? NaN : m.values[setting * sweep.A + a];
}

// The place of the nearest value of a dim: of words the same or -1.
export function place_of_value(d, value) {
    const {values, unit} = sweep.dims[d];
    if (unit === 'word') return values.indexOf(value);
    let best = -1;
    values.forEach((v, i) => {
        if (Number.isFinite(value) && (best < 0 || Math.abs(v - value) < Math.abs(values[best] - value)))
            best = i;
    });
    return best;
}

// What is compared: exposed time, or elapsed time where that is not there.
export function time_measure() {
    return sweep.measure.exposed_s ? 'exposed_s' : 'elapsed_s';
}

// The bound that belongs to a measure; null: none.
export function bound_measure(name) {
    const bound = {exposed_s: 'bound_exposed_s', elapsed_s: 'bound_s'}[name];
    return bound && sweep.measure[bound] ? bound : null;
}

// The bound that is shown for a setting: that of its best schedule, so that none that is shown is below it
// (bounds may differ by what a schedule needs); NaN: none.
export function bound_of(setting, measure = time_measure()) {
    const name = bound_measure(measure);
    let best = -1,
        least = Infinity;
    if (name === null || setting < 0) return NaN;
    for (let a = 0; a < sweep.A; a++) {
        const v = value_of(measure, setting, a);
        if (v < least && !Number.isNaN(value_of(name, setting, a))) {
            least = v;
            best = a;
        }
    }
    return best < 0 ? NaN : value_of(name, setting, best);
}

// Places of algorithms that have a time in a setting, the best first; equal times in the order of the rows.
export function ranking_of(setting, measure = time_measure()) {
    const order = [];
    for (let a = 0; a < sweep.A; a++) {
        if (!Number.isNaN(value_of(measure, setting, a)) && sweep.state[setting * sweep.A + a] < 3)
            order.push(a);
    }
    return order.sort((p, q) => value_of(measure, setting, p) - value_of(measure, setting, q) || p - q);
}

// The place of the baseline; -1: none of the rows.
export function baseline_of() {
    return D.baseline === null || D.baseline === undefined ? -1 : sweep.algorithms.indexOf(D.baseline);
}

let set_count = 0;

// Take an object as it stands in the page, or as `serve` sends it, unpack it, and tell who follows: all
// sections draw anew, and the state stays as it is by values. Of several at once the last is taken; true: it
// was this one.
export async function set_data(object) {
    const mine = ++set_count;
    const unpacked = object.sweep && object.sweep.settings.n > 0 ? await unpack_sweep(object.sweep) : null;
    if (mine !== set_count) return false;
    const old_sweep = sweep;
    D = object;
    sweep = unpacked;
    for (const listener of data_listeners) listener(old_sweep);
    return true;
}

// listener(old_sweep) is called when set_data() has replaced the data, in the order of asking.
export function on_data(listener) {
    data_listeners.push(listener);
}

// Read the object of the page.
export function page_data() {
    return JSON.parse(document.getElementById('data').textContent);
}
