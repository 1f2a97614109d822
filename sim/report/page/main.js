// SPDX-License-Identifier: GPL-3.0-or-later
// main.js -- starts all of it: sections, keys, theme, printing.

import {D, sweep, set_data, on_data, page_data, setting_at} from './data.js';
import {fmt_seconds, fmt_brief, fmt_bytes, fmt_rate, fmt_percent, fmt_change} from './format.js';
import {fmt_ratio, fmt_count, fmt_number} from './format.js';
import {apply_looks} from './looks.js';
import {state, state_key, change, on_change, read_address, write_address, follow_address} from './state.js';
import {el, tell_status} from './parts.js';
import {answer_section, sentence_text} from './answer.js';
import {map_section} from './map.js';
import {explore_section, panels_svg} from './explore.js';
import {timeline_section} from './timeline.js';
import {grid_section} from './grid.js';
import {links_section} from './links.js';
import {late_section} from './late.js';
import {chance_section} from './chance.js';
import {bounds_section} from './bounds.js';
import {rows_section} from './rows.js';
import {source_section} from './source.js';
import {live_section} from './live.js';

state_key('theme', {init: '', read: text => (['light', 'dark'].includes(text) ? text : undefined)});

// Sections in the order of the page: id, its function, its short name. `typeof`: a page may be made without a
// module.
const SECTIONS = [
    ['answer', answer_section, 'Answer'],
    ['live', typeof live_section === 'function' ? live_section : null, 'Try it'],
    ['when', map_section, 'When'],
    ['explore', explore_section, 'Explore'],
    ['timeline', typeof timeline_section === 'function' ? timeline_section : null, 'Timeline'],
    ['grid', typeof grid_section === 'function' ? grid_section : null, 'Grid'],
    ['links', typeof links_section === 'function' ? links_section : null, 'Links'],
    ['late', late_section, 'Late'],
    ['chance', chance_section, 'Chance'],
    ['bounds', bounds_section, 'Bounds'],
    ['rows', rows_section, 'Rows'],
    ['source', source_section, 'Source'],
];

// Sections that follow new data by themselves: made once, and they say by `hidden` whether they have
// something to show.
const FOLLOW_DATA = new Set(['live', 'timeline', 'grid', 'links']);

const sections = new Map(); // id -> {section, node, is_drawn}
const times = {};
let is_printing = false;

/* ---- sections ---- */

function make_section(id, make) {
    const node = document.getElementById(id),
        old = sections.get(id);
    if (old && old.section && FOLLOW_DATA.has(id)) return old;
    node.hidden = false; // so that it has a width
    let section = null;
    try {
        section = make && (id !== 'live' || D.live) ? make(node) : null;
    } catch (error) {
        console.error(`${id}:`, error);
    }
    if (!section) node.hidden = true;
    return {section, node, is_drawn: false};
}

// Draw a section that is there and was not drawn, or again.
function draw_section(entry) {
    if (!entry.section) return undefined;
    entry.is_drawn = true;
    return entry.section.draw ? entry.section.draw() : undefined;
}

const on_screen = new IntersectionObserver(
    list => {
        for (const item of list) {
            if (!item.isIntersecting) continue;
            on_screen.unobserve(item.target);
            const entry = sections.get(item.target.id);
            if (entry && !entry.is_drawn) draw_section(entry);
        }
    },
    {rootMargin: '300px'},
);

// Make all sections from the data; what is on the first screen at once, the rest when it is seen or when
// there is time.
function make_sections() {
    on_screen.disconnect();
    for (const [id, make] of SECTIONS) {
        const entry = make_section(id, make);
        sections.set(id, entry);
        if (!entry.section || entry.is_drawn) continue;
        if (entry.section.is_lazy) on_screen.observe(entry.node);
        else draw_section(entry);
        if (id === 'answer' && !times.answer) times.answer = performance.now();
    }
    fill_nav();
    when_idle(draw_rest);
}

function when_idle(task) {
    if (window.requestIdleCallback) requestIdleCallback(task, {timeout: 3000});
    else setTimeout(task, 200);
}

// Draw what was not seen yet, one section at a time.
function draw_rest() {
    const entry = [...sections.values()].find(e => e.section && !e.is_drawn);
    if (!entry) {
        times.all = times.all || performance.now();
        return;
    }
    Promise.resolve(draw_section(entry)).then(() => when_idle(draw_rest), report_failure);
}

function report_failure(error) {
    console.error(error);
}

function shown_sections() {
    return SECTIONS.filter(
        ([id]) => sections.has(id) && sections.get(id).section && !sections.get(id).node.hidden,
    );
}

on_change(changed => {
    if (changed.has('theme')) apply_looks(wanted_theme());
    update_sections(changed);
});

function update_sections(changed) {
    for (const entry of sections.values()) {
        if (entry.section && entry.is_drawn && entry.section.update) entry.section.update(changed);
    }
    fill_nav();
}

/* ---- navigation ---- */

let in_nav = '';

// Links to the sections that are there; nothing to do while these are the same.
function fill_nav() {
    const nav = document.getElementById('nav'),
        ids = shown_sections()
            .map(([id]) => id)
            .join(' ');
    if (ids === in_nav) return;
    in_nav = ids;
    nav.replaceChildren(
        ...shown_sections().map(([id, , name]) => el('a', {href: '#' + id, textContent: name})),
    );
    spy.disconnect();
    for (const [id] of shown_sections()) spy.observe(document.getElementById(id));
}

const spy = new IntersectionObserver(
    list => {
        for (const item of list) {
            if (!item.isIntersecting) continue;
            for (const link of document.querySelectorAll('#nav a')) {
                const is_on = link.hash === '#' + item.target.id;
                link.classList.toggle('on', is_on);
                if (is_on) link.setAttribute('aria-current', 'true');
                else link.removeAttribute('aria-current');
            }
        }
    },
    {rootMargin: '-20% 0px -70% 0px'},
);

// Go to a section without losing the state that the address holds.
function go_to(id) {
    const node = document.getElementById(id),
        head = node && (node.querySelector('h1, h2') || node);
    if (!node) return;
    node.scrollIntoView();
    head.tabIndex = -1;
    head.focus({preventScroll: true});
}

function follow_links() {
    document.addEventListener('click', event => {
        const link = event.target.closest ? event.target.closest('a[href^="#"]') : null;
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
        const id = decodeURIComponent(link.hash.slice(1));
        if (!document.getElementById(id)) return;
        event.preventDefault();
        go_to(id);
    });
}

/* ---- theme, link, keys ---- */

function wanted_theme() {
    if (is_printing) return 'light';
    return state.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

// Colours are variables, so only who draws on a canvas has to draw anew.
function show_theme() {
    apply_looks(wanted_theme());
    update_sections(new Set(['theme']));
}

function switch_theme() {
    change({theme: wanted_theme() === 'dark' ? 'light' : 'dark'});
}

async function copy_link() {
    write_address();
    try {
        await navigator.clipboard.writeText(location.href);
        tell_status('The link to this view is copied.');
    } catch {
        tell_status(location.href);
    }
}

const KEYS = [
    ['drag a blue number', 'change the scenario; the whole page follows'],
    ['← →', 'on a number or a curve: the next value; also Page Up, Page Down, Home, End'],
    ['← → ↑ ↓', 'on the map: move the scenario; Enter opens its timeline'],
    ['W S / A D', 'timeline: zoom, pan'],
    ['← →', 'timeline: previous and next transfer of the port'],
    ['↑ ↓', 'timeline: what it waited for, what waited for it'],
    ['C / H / F', 'timeline: critical path, use of ports, fit'],
    ['Space / Esc', 'timeline: play, nothing selected'],
    ['/', 'filter the rows'],
    ['G then 1-9', 'go to a section'],
    ['L', 'copy a link to this view'],
    ['T', 'light or dark'],
    ['?', 'these keys'],
];

function show_keys() {
    const box = document.getElementById('keys'),
        list = box.querySelector('.keylist');
    list.replaceChildren(
        ...KEYS.flatMap(([key, text]) => [
            el('dt', {}, el('kbd', {textContent: key})),
            el('dd', {textContent: text}),
        ]),
    );
    if (!box.open) box.showModal();
}

let waits_for_digit = 0;

function on_key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches && event.target.matches('input, select, textarea')) return;
    if (document.getElementById('keys').open) return;
    const key = event.key.toLowerCase();
    if (/^[1-9]$/.test(key) && performance.now() - waits_for_digit < 1500) {
        const section = shown_sections()[Number(key) - 1];
        if (section) go_to(section[0]);
        waits_for_digit = 0;
        return;
    }
    const actions = {
        t: switch_theme,
        '?': show_keys,
        l: copy_link,
        g: () => {
            waits_for_digit = performance.now();
        },
        '/': focus_filter,
    };
    if (!actions[key]) return;
    if (key !== 'g') waits_for_digit = 0;
    event.preventDefault();
    actions[key]();
}

function focus_filter() {
    const entry = sections.get('rows');
    if (!entry || !entry.section) return;
    if (!entry.is_drawn) draw_section(entry);
    entry.node.scrollIntoView();
    entry.node.querySelector('input.filter').focus({preventScroll: true});
}

/* ---- size and print ---- */

function follow_size() {
    let width = document.documentElement.clientWidth,
        timer = 0;
    addEventListener('resize', () => {
        if (is_printing || matchMedia('print').matches) return;
        clearTimeout(timer);
        timer = setTimeout(() => {
            const now = document.documentElement.clientWidth;
            if (now === width) return;
            width = now;
            for (const entry of sections.values()) {
                if (entry.section && entry.is_drawn && !entry.section.keeps_size) draw_section(entry);
            }
        }, 120);
    });
}

function follow_print() {
    addEventListener('beforeprint', () => {
        is_printing = true;
        for (const entry of sections.values()) if (entry.section && !entry.is_drawn) draw_section(entry);
        show_theme();
        for (const {section} of sections.values()) if (section && section.print) section.print();
    });
    addEventListener('afterprint', () => {
        is_printing = false;
        show_theme();
    });
}

/* ---- all together ---- */

// New data from `serve`: the sections are made again; who had the focus gets it back where it still is.
function renew() {
    const focused = document.activeElement,
        {dim, key} = (focused && focused.dataset) || {};
    apply_looks(wanted_theme());
    make_sections();
    if ((dim !== undefined || key !== undefined) && !focused.isConnected) {
        const name = dim !== undefined ? 'dim' : 'key',
            again = document.querySelector(`#answer .num[data-${name}="${CSS.escape(dim ?? key)}"]`);
        if (again) again.focus({preventScroll: true});
    }
}

function wire_page() {
    document.getElementById('tools').hidden = false;
    document.getElementById('share').addEventListener('click', copy_link);
    document.getElementById('theme').addEventListener('click', switch_theme);
    document.getElementById('help').addEventListener('click', show_keys);
    const keys = document.getElementById('keys');
    keys.querySelector('button').addEventListener('click', () => keys.close());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show_theme);
    addEventListener('keydown', on_key);
    follow_links();
    follow_size();
    follow_print();
}

async function start() {
    await set_data(page_data());
    const problems = read_address();
    apply_looks(wanted_theme());
    document.documentElement.classList.toggle('live-on', Boolean(D.live));
    wire_page();
    make_sections();
    times.interactive = performance.now();
    if (problems.length) tell_status(problems.join(' '));
    follow_address(wrong => {
        if (wrong.length) tell_status(wrong.join(' '));
    });
    on_data(renew);
}

const started = start().catch(error => {
    console.error(error);
    tell_status(
        'This browser could not read the data of the page (' +
            error.message +
            '). The answer and its ranking stay.',
    );
});

// What tests ask; see README.md.
window.collsim = {
    state,
    change,
    set_data,
    times,
    started,
    get D() {
        return D;
    },
    get sweep() {
        return sweep;
    },
    setting_at,
    sentence: sentence_text,
    format: {
        seconds: fmt_seconds,
        brief: fmt_brief,
        bytes: fmt_bytes,
        rate: fmt_rate,
        percent: fmt_percent,
        change: fmt_change,
        ratio: fmt_ratio,
        count: fmt_count,
        number: fmt_number,
    },
    panels_svg: () => panels_svg(document.getElementById('explore')),
    section: id => sections.get(id) && sections.get(id).section,
};
