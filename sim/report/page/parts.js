// SPDX-License-Identifier: GPL-3.0-or-later
// parts.js -- what sections share: escaping, tips, tables instead of plots, files to save, what is spoken.

import {D} from './data.js';
import {fmt_value, fmt_percent, fmt_change} from './format.js';
import {colour_of, mark_of, dash_of, title_of} from './looks.js';

// Text for HTML and SVG, in text and in quoted attributes.
export function esc(text) {
    return String(text).replace(
        /[&<>"']/g,
        c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'})[c],
    );
}

// An element with properties, and children that are texts or nodes.
export function el(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
        if (key in node && key !== 'list') node[key] = value;
        else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
}

// A select box with its label: choices are [value, text].
export function choice(label, choices, value, on_choose) {
    const select = el('select');
    for (const [v, text] of choices)
        select.append(el('option', {value: v, textContent: text, selected: v === value}));
    select.addEventListener('change', () => on_choose(select.value));
    return el('label', {className: 'g'}, label + ' ', select);
}

export function button(text, on_press, properties = {}) {
    const node = el('button', Object.assign({type: 'button', textContent: text}, properties));
    node.addEventListener('click', on_press);
    return node;
}

// The mark of an algorithm as a small picture, for tables and tips.
export function mark_svg(name, px = 12) {
    return (
        `<svg class="mark" width="${px}" height="${px}" viewBox="-6 -6 12 12" aria-hidden="true">` +
        `<path d="${mark_of(name, 52)}" fill="${colour_of(name)}"/></svg>`
    );
}

// Mark and title as HTML.
export function named(name) {
    return `<span class="named">${mark_svg(name)}${esc(title_of(name))}</span>`;
}

// Line, mark and dash of an algorithm, for legends.
export function key_svg(name) {
    return (
        `<svg width="30" height="14" viewBox="-15 -7 30 14" aria-hidden="true">` +
        shape('path', {
            d: 'M-15 0H15',
            stroke: colour_of(name),
            'stroke-width': 2.4,
            'stroke-dasharray': dash_of(name),
        }) +
        `<path d="${mark_of(name, 52)}" fill="${colour_of(name)}"/></svg>`
    );
}

/* ---- pictures ---- */

// An element of SVG as text. Numbers are rounded to a tenth of a pixel; attributes that are undefined are
// left out; `content` is SVG, so a text needs esc().
export function shape(name, attributes, content = '') {
    let text = '<' + name;
    for (const key in attributes) {
        const value = attributes[key];
        if (value === undefined) continue;
        text += ` ${key}="${typeof value === 'number' ? Math.round(value * 10) / 10 : esc(value)}"`;
    }
    return `${text}>${content}</${name}>`;
}

// A text of SVG; `anchor` is start, middle or end.
export function label_at(x, y, text, anchor = 'start', kind = undefined) {
    return shape('text', {x, y, class: kind, 'text-anchor': anchor}, esc(text));
}

/* ---- tips ---- */

// Show HTML beside the pointer; without HTML hide it.
export function show_tip(html, event) {
    const box = document.getElementById('tip');
    if (!html) {
        box.hidden = true;
        return;
    }
    box.innerHTML = html;
    box.hidden = false;
    const {offsetWidth: w, offsetHeight: h} = box;
    const right = event.clientX + 16 + w > innerWidth - 4;
    const below = event.clientY + 16 + h > innerHeight - 4;
    const x = Math.max(4, right ? event.clientX - w - 14 : event.clientX + 16);
    const y = Math.max(4, below ? event.clientY - h - 12 : event.clientY + 16);
    box.style.left = x + scrollX + 'px';
    box.style.top = y + scrollY + 'px';
}

// Rows of a tip: [HTML, text].
export function tip_table(rows) {
    return '<table>' + rows.map(([a, b]) => `<tr><td>${a}</td><td>${esc(b)}</td></tr>`).join('') + '</table>';
}

/* ---- what is spoken ---- */

let say_timer = 0;

// Say a text to screen readers; of many in a row the last.
export function say(text) {
    clearTimeout(say_timer);
    say_timer = setTimeout(() => {
        document.getElementById('spoken').textContent = text;
    }, 250);
}

// A line at the foot of the window, for some seconds: what was wrong in the address, what was copied.
export function tell_status(text) {
    const box = document.getElementById('status');
    box.textContent = text;
    box.hidden = text === '';
    clearTimeout(tell_status.timer);
    if (text)
        tell_status.timer = setTimeout(() => {
            box.hidden = true;
        }, 8000);
}

/* ---- a plot as table ---- */

// A cell of a table: a text, {unit, value} (also of unit share or change), or {html, value}.
export function cell_of(unit, value) {
    return {unit, value};
}

function cell_html(cell) {
    if (cell === null || typeof cell !== 'object') return esc(cell);
    if (cell.html !== undefined) return cell.html;
    const format = {share: fmt_percent, change: fmt_change}[cell.unit];
    return esc(format ? format(cell.value) : fmt_value(cell.unit, cell.value));
}

// A schedule as the first cell of a row.
export function schedule_cell(name) {
    return {html: named(name), value: name};
}

// A table as HTML: heads are texts, cells as of cell_of().
export function table_html(caption, heads, rows) {
    const row = r =>
        '<tr>' +
        r.map((c, i) => (i ? `<td>${cell_html(c)}</td>` : `<th scope="row">${cell_html(c)}</th>`)).join('') +
        '</tr>';
    return (
        `<div class="scroll" tabindex="0" role="region" aria-label="${esc(caption)}"><table class="data">` +
        `<caption>${esc(caption)}</caption><thead><tr>` +
        heads.map(h => `<th scope="col">${esc(h)}</th>`).join('') +
        `</tr></thead><tbody>${rows.map(row).join('')}</tbody></table></div>`
    );
}

// "Show as table" below a plot: `table()` gives {caption, heads, rows} and is only asked while it is open.
// With a name, buttons that save its numbers as CSV and the first plot of `plot` as SVG.
export function table_below(node, table, {name = '', plot = null} = {}) {
    const box = el('div', {className: 'as-table'});
    const details = el('details', {className: 'more'}, el('summary', {textContent: 'Show as table'}), box);
    const fill = () => {
        if (!details.open) return;
        const t = table();
        box.innerHTML = table_html(t.caption, t.heads, t.rows);
    };
    details.addEventListener('toggle', fill);
    const row = el('div', {className: 'more-row'}, details);
    if (name)
        row.append(button('CSV', () => save_table(name, table()), {title: `Save the numbers: ${name}`}));
    if (name && plot) {
        row.append(
            button(
                'SVG',
                () =>
                    save_file(
                        file_name(name, 'svg'),
                        'image/svg+xml',
                        svg_text(plot.querySelector('svg.plot')),
                    ),
                {title: `Save the picture: ${name}`},
            ),
        );
    }
    node.append(row);
    return {update: fill};
}

function save_table(name, {heads, rows}) {
    const value = cell => (cell !== null && typeof cell === 'object' ? cell.value : cell);
    save_file(
        file_name(name, 'csv'),
        'text/csv',
        csv_text(
            heads,
            rows.map(r => r.map(value)),
        ),
    );
}

/* ---- files ---- */

// A file's name: the page's title, what it is, and the end.
export function file_name(name, end) {
    const title = (D.title || 'collsim').replace(/[^\w.-]+/g, '-').slice(0, 60);
    return `${title}-${name.replace(/ /g, '-')}.${end}`;
}

export function save_file(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], {type}));
    const link = el('a', {href: url, download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// A cell of CSV (RFC 4180).
function csv_cell(value) {
    const text = value === null || value === undefined || Number.isNaN(value) ? '' : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

export function csv_text(heads, rows) {
    return [heads, ...rows].map(r => r.map(csv_cell).join(',')).join('\r\n') + '\r\n';
}

const SVG_STYLES = [
    'fill',
    'stroke',
    'stroke-width',
    'stroke-dasharray',
    'opacity',
    'fill-opacity',
    'stroke-opacity',
    'font-family',
    'font-size',
    'font-weight',
    'text-anchor',
    'paint-order',
    'stroke-linejoin',
    'visibility',
    'display',
];

// An <svg> of the page as a file of its own: colours, fonts and sizes resolved, no classes, no variables.
export function svg_text(svg) {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll('*')],
        to = [copy, ...copy.querySelectorAll('*')];
    from.forEach((node, i) => {
        const style = getComputedStyle(node);
        for (const name of SVG_STYLES) {
            const value = style.getPropertyValue(name);
            if (value) to[i].setAttribute(name, value.replace(/"/g, "'"));
        }
        to[i].removeAttribute('class');
        to[i].removeAttribute('style');
        for (const name of ['tabindex', 'role']) to[i].removeAttribute(name);
    });
    for (const node of to) {
        if (node.getAttribute('visibility') === 'hidden' || node.getAttribute('display') === 'none')
            node.remove();
    }
    const box = svg.viewBox.baseVal;
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.setAttribute('width', box.width);
    copy.setAttribute('height', box.height);
    const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    for (const [k, v] of [
        ['x', box.x],
        ['y', box.y],
        ['width', box.width],
        ['height', box.height],
    ])
        ground.setAttribute(k, v);
    ground.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
    copy.prepend(ground);
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy) + '\n';
}
