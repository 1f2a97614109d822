// SPDX-License-Identifier: GPL-3.0-or-later
// format.js -- numbers as people read them. The program writes the same texts (cs_quantity_text() in C), so the
// rules are exact: a number is rounded to the digits that are shown, a tie to the even digit (as printf
// does), and only then its unit is chosen. Nothing is ever shown as 1e-7.

const NBSP = '\u00a0';
const MINUS = '\u2212';

// The decimal places that show `digits` significant digits of a positive value.
function places_of(value, digits) {
    const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
    return Math.max(0, digits - 1 - exponent);
}

// toFixed(), but a tie goes to the even digit, and whole numbers are never written with an exponent.
export function fmt_fixed(value, places) {
    if (Math.abs(value) >= 1e21)
        return Number.isFinite(value) ? String(BigInt(Math.trunc(value))) : String(value);
    const p = Math.min(places, 60),
        text = value.toFixed(p),
        scaled = Math.abs(value) * 10 ** p;
    const from_tie = Math.abs(scaled - Math.trunc(scaled) - 0.5);
    return from_tie > 1e-6 || scaled > 1e9 ? text : tie_to_even(value, p, text);
}

// The same for a value that is a tie, or nearly one: 40 more digits tell.
function tie_to_even(value, p, text) {
    const exact = value.toFixed(p + 40),
        cut = p > 0 ? exact.length - 40 : exact.length - 41;
    if (!/^\.?50*$/.test(exact.slice(cut))) return text;
    const down = exact.slice(0, cut);
    return '02468'.includes(down[down.length - 1]) ? down : text;
}

// Thousands of the whole part, as 19,200.
export function fmt_commas(text) {
    const [whole, rest] = text.split('.');
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
    return rest === undefined ? grouped : grouped + '.' + rest;
}

// Three significant digits with their zeros: 2.92, 12.3, 706, 1.00; whole from 1,000 on.
export function fmt_three(value) {
    const size = Math.abs(value);
    if (size === 0) return '0';
    const text = fmt_commas(fmt_fixed(size, places_of(size, 3)));
    return value < 0 ? MINUS + text : text;
}

// At most `places` decimals, zeros at the end dropped.
function trimmed(value, places) {
    const text = fmt_fixed(value, places);
    return fmt_commas(text.includes('.') ? text.replace(/\.?0+$/, '') : text);
}

// At most three significant digits, but the whole part always: 1.41, 64, 1,023.
function at_most_three(value) {
    return trimmed(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

// 0 µs, 12.3 µs, 2.92 ms, 1.00 s, 1,234 s; never (infinity), a dash where there is no value.
export function fmt_seconds(value) {
    if (Number.isNaN(value) || value === null || value === undefined) return '–';
    if (value === Infinity) return 'never';
    if (value < 0) return MINUS + fmt_seconds(-value);
    if (value === 0) return '0' + NBSP + 'µs';
    if (round_three(value * 1e6) < 1000) return fmt_three(value * 1e6) + NBSP + 'µs';
    if (round_three(value * 1e3) < 1000) return fmt_three(value * 1e3) + NBSP + 'ms';
    return fmt_three(value) + NBSP + 's';
}

function round_three(value) {
    return Number(fmt_fixed(value, places_of(value, 3)));
}

// For axes: as few digits as the value needs.
export function fmt_brief(value) {
    return fmt_seconds(value).replace(/\.(\d*?)0+(?=\D|$)/, (_, kept) => (kept ? '.' + kept : ''));
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

// 512 B, 4 KiB, 64 MiB, 1.41 GiB.
export function fmt_bytes(value) {
    if (!Number.isFinite(value)) return '–';
    let unit = 0,
        v = value;
    while (unit < BYTE_UNITS.length - 1 && Number(at_most_three(v).replace(/,/g, '')) >= 1024) {
        v /= 1024;
        unit++;
    }
    return at_most_three(v) + NBSP + BYTE_UNITS[unit];
}

const RATE_UNITS = ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'];

// 12.5 GB/s, 50 GB/s.
export function fmt_rate(value) {
    if (!Number.isFinite(value)) return value === Infinity ? 'without limit' : '–';
    let unit = 0,
        v = value;
    while (unit < RATE_UNITS.length - 1 && Number(at_most_three(v).replace(/,/g, '')) >= 1000) {
        v /= 1000;
        unit++;
    }
    return at_most_three(v) + NBSP + RATE_UNITS[unit];
}

// A share: 36 %, 1.4 %, 0 %; one decimal below 10 %.
export function fmt_percent(share) {
    if (!Number.isFinite(share)) return '–';
    const percent = Math.abs(share) * 100;
    const one = fmt_fixed(percent, 1);
    const text = percent === 0 ? '0' : Number(one) < 10 ? one : fmt_commas(fmt_fixed(percent, 0));
    return (share < 0 && Number(text) !== 0 ? MINUS : '') + text + NBSP + '%';
}

// A share with its sign, for comparisons: −36 %, +1.4 %, ±0 %.
export function fmt_change(share) {
    const text = fmt_percent(Math.abs(share));
    if (/^0(\.0)?[^\d.]/.test(text)) return '±0' + NBSP + '%';
    return (share < 0 ? MINUS : '+') + text;
}

// 1.08
export function fmt_ratio(value) {
    if (Number.isNaN(value) || value === null) return '–';
    return value === Infinity ? '∞' : fmt_three(value);
}

// 19,200
export function fmt_count(value) {
    return Number.isFinite(value) ? fmt_commas(fmt_fixed(value, 0)) : '–';
}

// Any number: at most six significant digits.
export function fmt_number(value) {
    if (!Number.isFinite(value)) return value === Infinity ? '∞' : '–';
    if (value === 0) return '0';
    const text = trimmed(Math.abs(value), places_of(Math.abs(value), 6));
    return value < 0 ? MINUS + text : text;
}

// A value by its unit: count, bytes, s, Bps, GBps, ratio, number, word.
export function fmt_value(unit, value) {
    switch (unit) {
        case 's':
            return fmt_seconds(value);
        case 'bytes':
            return fmt_bytes(value);
        case 'Bps':
            return fmt_rate(value);
        case 'GBps':
            return fmt_rate(value * 1e9);
        case 'ratio':
            return fmt_ratio(value);
        case 'count':
            return fmt_count(value);
        case 'word':
            return String(value);
        default:
            return fmt_number(value);
    }
}

// A value as it stands in the address: short and exact, 4ms, 1G, 16, a word as it is.
export function value_to_hash(unit, value) {
    if (unit === 'bytes') {
        for (const [letter, size] of [
            ['T', 2 ** 40],
            ['G', 2 ** 30],
            ['M', 2 ** 20],
            ['K', 1024],
        ]) {
            if (value >= size && value % size === 0) return value / size + letter;
        }
        return String(value);
    }
    if (unit === 's' && value !== 0 && Number.isFinite(value)) {
        const [factor, name] = value < 1e-3 ? [1e6, 'us'] : value < 1 ? [1e3, 'ms'] : [1, 's'];
        return Number((value * factor).toPrecision(12)) + name;
    }
    return String(value);
}

const HASH_FACTORS = {
    bytes: {
        '': 1,
        b: 1,
        k: 1024,
        kib: 1024,
        m: 2 ** 20,
        mib: 2 ** 20,
        g: 2 ** 30,
        gib: 2 ** 30,
        t: 2 ** 40,
        tib: 2 ** 40,
    },
    s: {'': 1, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9},
    Bps: {'': 1, 'b/s': 1, 'kb/s': 1e3, 'mb/s': 1e6, 'gb/s': 1e9, 'tb/s': 1e12, g: 1e9},
};

// The value of a text of the address, or of a field; NaN (null of a word) where it is none.
export function value_from_hash(unit, text) {
    if (unit === 'word') return text;
    const match = /^\s*([+-]?(?:\d[\d,]*\.?\d*|\.\d+))(?:e([+-]?\d+))?\s*([a-zµ/]*)\s*$/i.exec(text);
    if (!match) return NaN;
    const factors = HASH_FACTORS[unit] || {'': 1};
    const factor = factors[match[3].toLowerCase()], digits = match[1].replace(/,/g, ''), power = Number(match[2] || 0);
    if (factor === undefined) return NaN;
    // 20us is 2e-5, not the number beside it
    return factor < 1 ? Number(`${digits}e${power + Math.round(Math.log10(factor))}`) : Number(`${digits}e${power}`) * factor;
}
