// SPDX-License-Identifier: GPL-3.0-or-later
// looks.js -- colours, marks and dashes of algorithms, from the data. Colours are CSS variables on the root,
// so that a change of the theme needs no new drawing; a canvas asks for the value itself.

import {D} from './data.js';

const OTHER = {title: '', light: '#666666', dark: '#AAAAAA', dash: '4,2', mark: 'cross'};
const look_index = new Map();

export let theme = 'light';

export function look_of(name) {
    const looks = D.looks || {};
    return Object.prototype.hasOwnProperty.call(looks, name) ? looks[name] : OTHER;
}

export function title_of(name) {
    return look_of(name).title || String(name);
}

// The CSS variable of an algorithm's colour, for fill="..", stroke="..", and element.style.
export function colour_of(name) {
    return look_index.has(name) ? `var(--look-${look_index.get(name)})` : 'var(--look-other)';
}

// The colour itself, in the theme that is on: for a canvas and for files.
export function hex_of(name, in_theme = theme) {
    const look = look_of(name);
    return in_theme === 'dark' ? look.dark : look.light;
}

export function dash_of(name) {
    return look_of(name).dash || '';
}

const DOWN = {
    draw(context, size) {
        const r = Math.sqrt(size / 1.3) / 1.4;
        context.moveTo(-r, -r * 0.7);
        context.lineTo(r, -r * 0.7);
        context.lineTo(0, r);
        context.closePath();
    },
};

const PENTAGON = {
    draw(context, size) {
        const r = Math.sqrt(size / 2.378);
        for (let k = 0; k < 5; k++) {
            const angle = -Math.PI / 2 + (k * 2 * Math.PI) / 5;
            context[k ? 'lineTo' : 'moveTo'](r * Math.cos(angle), r * Math.sin(angle));
        }
        context.closePath();
    },
};

const MARKS = {
    circle: d3.symbolCircle,
    square: d3.symbolSquare,
    triangle: d3.symbolTriangle,
    down: DOWN,
    diamond: d3.symbolDiamond,
    cross: d3.symbolCross,
    star: d3.symbolStar,
    pentagon: PENTAGON,
};

const mark_paths = new Map();

// The path of an algorithm's mark around 0,0; `size` is its area in square pixels.
export function mark_of(name, size = 46) {
    const mark = look_of(name).mark,
        key = mark + ' ' + size;
    if (!mark_paths.has(key))
        mark_paths.set(
            key,
            d3
                .symbol()
                .type(MARKS[mark] || d3.symbolCross)
                .size(size)(),
        );
    return mark_paths.get(key);
}

// Put the colours of the data and the theme on the root.
export function apply_looks(wanted = theme) {
    const root = document.documentElement;
    theme = wanted === 'dark' ? 'dark' : 'light';
    root.dataset.theme = theme;
    for (const name of Object.keys(D.looks || {})) {
        if (!look_index.has(name)) look_index.set(name, look_index.size);
        root.style.setProperty('--look-' + look_index.get(name), hex_of(name));
    }
    root.style.setProperty('--look-other', theme === 'dark' ? OTHER.dark : OTHER.light);
}
