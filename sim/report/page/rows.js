// SPDX-License-Identifier: GPL-3.0-or-later
// rows.js -- all rows: sorted by a column, filtered, rendered as far as one has scrolled.

import {sweep, dim_value} from './data.js';
import {fmt_value, fmt_count, value_from_hash} from './format.js';
import {title_of} from './looks.js';
import {state, state_key, change} from './state.js';
import {esc, el, button, named, say} from './parts.js';
import {STATE_TEXTS, show_setting} from './answer.js';
import {save_all} from './explore.js';

const CHUNK = 200;

state_key('filter', {init: ''});
state_key('sort', {init: ''});

/* ---- columns ---- */

// Columns of the table: {key, label, unit, value(cell), text(cell)}; the schedule's value is its title.
function columns_of() {
    const {A} = sweep,
        out = [];
    out.push({
        key: 'algorithm',
        label: 'schedule',
        unit: 'word',
        value: cell => title_of(sweep.algorithms[cell % A]),
        html: cell => named(sweep.algorithms[cell % A]),
    });
    sweep.dims.forEach((dim, d) => {
        const value = cell => dim_value(d, Math.floor(cell / A));
        out.push({
            key: dim.name,
            label: dim.label,
            unit: dim.unit,
            value,
            html: cell => esc(fmt_value(dim.unit, value(cell))),
        });
    });
    for (const m of Object.values(sweep.measure)) {
        out.push({
            key: m.name,
            label: m.label,
            unit: m.unit,
            value: cell => m.values[cell],
            html: cell => esc(fmt_value(m.unit, m.values[cell])),
        });
    }
    out.push({key: 'state', label: 'state', unit: 'word', value: state_text, html: state_html});
    return out;
}

function state_text(cell) {
    return sweep.reason.get(cell) || STATE_TEXTS[sweep.state[cell]];
}

function state_html(cell) {
    const s = sweep.state[cell],
        mark = s === 1 ? '✓ ' : s === 3 ? '<span class="bad">✗</span> ' : '';
    return mark + esc(state_text(cell));
}

/* ---- filter and order ---- */

const COMPARE = {
    '<=': (p, q) => p <= q,
    '>=': (p, q) => p >= q,
    '!=': (p, q) => p !== q,
    '<': (p, q) => p < q,
    '>': (p, q) => p > q,
    '=': (p, q) => p === q || (typeof p === 'number' && Math.abs(p - q) <= 1e-9 * Math.abs(q)),
};

// Whether a cell passes a word of the filter: NAME=VALUE and the like over a column, else a part of any text.
function test_of(word, columns) {
    const m = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/.exec(word);
    const column = m && columns.find(c => is_called(c, m[1].toLowerCase()));
    if (!column) return text_test(word.toLowerCase());
    const compare = COMPARE[m[2]];
    if (column.key === 'algorithm') {
        const want = m[3].toLowerCase();
        const same = name => name.toLowerCase() === want || title_of(name).toLowerCase() === want;
        return cell => same(sweep.algorithms[cell % sweep.A]) === (m[2] !== '!=');
    }
    if (column.unit === 'word')
        return cell => compare(String(column.value(cell)).toLowerCase(), m[3].toLowerCase());
    const unit = column.unit === 'GBps' ? 'number' : column.unit,
        value = value_from_hash(unit, m[3]);
    return cell => compare(column.value(cell), value);
}

function is_called(column, name) {
    const key = column.key.toLowerCase(),
        end = key.slice(key.lastIndexOf('.') + 1);
    return (
        name === key ||
        name === end ||
        name === end.replace(/_s$/, '') ||
        name === column.label.toLowerCase().replace(/ /g, '_')
    );
}

const plain = text => String(text).toLowerCase().replace(/\s/g, '');

// A part of a dim's text, of the schedule's name, or of its state; what does not depend on the row is looked
// up once.
function text_test(part) {
    const has = text => plain(text).includes(part);
    const by_dim = sweep.dims.map(dim => dim.values.map(v => has(fmt_value(dim.unit, v))));
    const by_algorithm = sweep.algorithms.map(a => has(a) || has(title_of(a)));
    const by_state = STATE_TEXTS.map((text, i) =>
        i === 2 ? part.startsWith('not') && has(text) : has(text),
    );
    return cell => {
        const s = Math.floor(cell / sweep.A);
        return (
            by_algorithm[cell % sweep.A] ||
            by_dim.some((places, d) => places[sweep.place[d][s]]) ||
            by_state[sweep.state[cell]] ||
            (sweep.reason.has(cell) && has(sweep.reason.get(cell)))
        );
    };
}

// The cells that are shown, in their order.
function shown_cells(columns) {
    const tests = state.filter
        .trim()
        .split(/\s+/)
        .filter(Boolean)
        .map(word => test_of(word, columns));
    const cells = [];
    for (let cell = 0; cell < sweep.state.length; cell++) {
        if (sweep.state[cell] > 0 && tests.every(test => test(cell))) cells.push(cell);
    }
    const key = state.sort.replace(/^-/, ''),
        column = columns.find(c => c.key === key);
    if (!column) return cells;
    const sign = state.sort.startsWith('-') ? -1 : 1;
    const values = new Map(cells.map(cell => [cell, column.value(cell)]));
    const missing = v => v === undefined || Number.isNaN(v);
    return cells.sort((p, q) => {
        const a = values.get(p),
            b = values.get(q);
        if (missing(a) || missing(b)) return missing(a) - missing(b) || p - q;
        return (a < b ? -sign : a > b ? sign : 0) || p - q;
    });
}

/* ---- the section ---- */

export function rows_section(node) {
    if (!sweep) return null;
    const columns = columns_of(),
        body = node.querySelector('.body');
    let cells = [],
        rendered = 0;
    const input = el('input', {
        type: 'search',
        className: 'filter',
        placeholder: 'ring  gap<1.1  bytes=1G  delay>1ms',
        value: state.filter,
    });
    input.setAttribute('aria-label', 'Filter rows');
    const count = el('span', {className: 'count'});
    count.setAttribute('role', 'status');
    node.querySelector('.controls').replaceChildren(
        el('label', {className: 'g'}, 'filter ', input),
        count,
        el('span', {className: 'sp'}),
        button('CSV of all', save_all, {title: 'Save all rows'}),
    );
    const scroll = el('div', {className: 'rowscroll', tabIndex: 0});
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-labelledby', 'rows-h');
    const table = el('table', {className: 'data'}),
        head = el('thead'),
        rows = el('tbody');
    table.append(head, rows);
    scroll.append(table);
    body.replaceChildren(
        scroll,
        el('p', {className: 'note paper-only', textContent: 'At most the first 30 rows.'}),
    );
    const append = () => {
        rows.insertAdjacentHTML(
            'beforeend',
            cells
                .slice(rendered, rendered + CHUNK)
                .map(cell => row_html(cell, columns))
                .join(''),
        );
        rendered = Math.min(cells.length, rendered + CHUNK);
        const first = rows.querySelector('tr');
        if (first && !rows.querySelector('[tabindex="0"]')) first.tabIndex = 0;
    };
    const fill = () => {
        const was_scrolled = rendered > 0 && scroll.scrollTop > 0;
        cells = shown_cells(columns);
        rendered = 0;
        rows.replaceChildren();
        fill_head(head, columns);
        if (cells.length === 0) rows.append(no_rows(columns.length, input));
        else append();
        count.textContent = `${fmt_count(cells.length)} rows`;
        if (was_scrolled) scroll.scrollTop = 0;
        mark_shown(rows);
    };
    let timer = 0;
    input.addEventListener('input', () => {
        clearTimeout(timer);
        timer = setTimeout(() => change({filter: input.value}, {goes_on: true}), 120);
    });
    scroll.addEventListener('scroll', () => {
        if (rendered < cells.length && scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 600) {
            append();
            mark_shown(rows);
        }
    });
    wire_rows(rows);
    const update = changed => {
        if (changed.has('filter') && input.value !== state.filter) input.value = state.filter;
        if (changed.has('filter') || changed.has('sort')) fill();
        else if (changed.has('setting')) mark_shown(rows);
    };
    return {update, draw: fill, is_lazy: true, keeps_size: true};
}

function row_html(cell, columns) {
    const parts = columns.map((c, i) => {
        const tag = i ? 'td' : 'th scope="row"',
            kind = c.key === 'state' ? ' class="text"' : c.unit === 'word' && i ? ' class="left"' : '';
        return `<${tag}${kind}>${c.html(cell)}</${i ? 'td' : 'th'}>`;
    });
    return `<tr class="go" data-cell="${cell}" tabindex="-1">${parts.join('')}</tr>`;
}

function fill_head(head, columns) {
    const key = state.sort.replace(/^-/, ''),
        is_down = state.sort.startsWith('-');
    const had_focus = head.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const row = el('tr');
    for (const c of columns) {
        const on = c.key === key,
            arrow = on ? (is_down ? ' ↓' : ' ↑') : '';
        const th = el('th', {scope: 'col'}),
            press = button(c.label + arrow, () => {
                change({sort: on ? (is_down ? '' : '-' + c.key) : c.key});
                say(`sorted by ${c.label}`);
            });
        press.dataset.key = c.key;
        th.setAttribute('aria-sort', on ? (is_down ? 'descending' : 'ascending') : 'none');
        if (c.unit === 'word') th.className = 'left';
        th.append(press);
        row.append(th);
    }
    head.replaceChildren(row);
    if (had_focus)
        [...head.querySelectorAll('button')]
            .find(b => b.dataset.key === had_focus)
            .focus({preventScroll: true});
}

function no_rows(columns, input) {
    const cell = el(
        'td',
        {colSpan: columns, className: 'text'},
        'No rows match. ',
        button('Clear filter', () => {
            input.value = '';
            change({filter: ''});
            input.focus();
        }),
    );
    return el('tr', {}, cell);
}

// The rows of the setting that is shown.
function mark_shown(rows) {
    for (const row of rows.children) {
        const is_on = Math.floor(Number(row.dataset.cell) / sweep.A) === state.setting;
        if (row.classList.contains('on') !== is_on) row.classList.toggle('on', is_on);
    }
}

// A click or Enter shows the row's setting; arrows walk the rows.
function wire_rows(rows) {
    const pick = row => {
        if (row && row.dataset.cell !== undefined)
            show_setting(Math.floor(Number(row.dataset.cell) / sweep.A));
    };
    rows.addEventListener('click', event => pick(event.target.closest('tr.go')));
    rows.addEventListener('keydown', event => {
        const row = event.target.closest('tr.go');
        if (!row || row !== event.target) return;
        const next = {ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling}[event.key];
        if (event.key === 'Enter' || event.key === ' ') pick(row);
        else if (!next) return;
        event.preventDefault();
        if (next) {
            row.tabIndex = -1;
            next.tabIndex = 0;
            next.focus();
        }
    });
}
