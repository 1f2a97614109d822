// SPDX-License-Identifier: GPL-3.0-or-later
// timeline.js -- one or two runs on a canvas: ranks down, time across.
//
// The bars are pixels (pixels.js), kept while only what lies above them changes: hover, selection, play. In
// the address: view (place of the view), t (from-to in seconds, absent: all), sel (RUN.TRANSFER of the view),
// crit, mode.
//
// For tests, on window.collsim.timeline:
//   ready               a promise: the first view has been drawn
//   opened              milliseconds from the asking for the view that is shown to its first frame
//   hit(x, y)           CSS pixels of the canvas -> {run, i}, or null
//   hit_linear(x, y)    the same by a search through all transfers, for comparison
//   select(run, i), zoom_to(from, to)
//   view()              {from, to, width, height, gutter, runs: [{top, bottom, transfers, rows}]}
//   bench(n)            a promise: {draw: [ms], frame: [ms]} of n frames of panning and zooming
//   show(runs)          a promise: runs of the caller's, instead of a view

import {D, on_data} from './data.js';
import {fmt_seconds, fmt_percent, fmt_count, value_from_hash, value_to_hash} from './format.js';
import {theme} from './looks.js';
import {state, state_key, change} from './state.js';
import {el, esc, button, choice, show_tip, table_below} from './parts.js';
import {open_run, lanes_of_transfer, bar_of, waiter_of} from './runs.js';
import {transfer_words, transfer_line, path_table, moved_before, end_name, fabric_name} from './runs.js';
import {path_extent, hit_band} from './pixels.js';
import {RUN_COLOURS, TL_OPS, TL_TOP, TL_STRIP, tl_time, tl_x, strip_x} from './timeline_draw.js';
import {make_surface, draw_surface} from './timeline_draw.js';
import {density_of, lane_middle, heat_colour} from './timeline_draw.js';

const TL_MODES = [
    ['op', 'operation'],
    ['chunk', 'chunk'],
    ['round', 'round'],
    ['use', 'use of ports'],
];
const TL_PLAY_MS = 7000;

state_key('view', {init: 0, read: text => (/^\d{1,6}$/.test(text) ? Number(text) : undefined)});
state_key('t', {
    init: null,
    read: tl_read_window,
    write: w => (w ? w.map(t => value_to_hash('s', t)).join('-') : ''),
});
state_key('sel', {init: null, read: tl_read_selection, write: s => (s ? `${s.run}.${s.i}` : '')});
state_key('crit', {init: true, read: text => ({1: true, 0: false}[text]), write: on => (on ? '1' : '0')});
state_key('mode', {init: 'op', read: text => (TL_MODES.some(m => m[0] === text) ? text : undefined)});

// "4.0ms-6.9ms"; a minus may stand in front of the first.
function tl_read_window(text) {
    const match = /^(-?[^-]+)-([^-]+)$/.exec(text);
    if (!match) return undefined;
    const from = value_from_hash('s', match[1]);
    const to = value_from_hash('s', match[2]);
    return from < to ? [from, to] : undefined;
}

// "1.312", or "312" of the first run.
function tl_read_selection(text) {
    const match = /^(?:(\d{1,3})\.)?(\d{1,9})$/.exec(text);
    return match ? {run: Number(match[1] || 0), i: Number(match[2])} : undefined;
}

/* ---- views ---- */

// The views of the data; without any each run is one.
export function views_of_data() {
    const runs = D.runs || [];
    const views = (D.views || []).filter(v => v.runs.length > 0 && v.runs.every(k => runs[k]));
    return views.length ? views : runs.map((r, k) => ({name: r.title, runs: [k]}));
}

// The runs of the view that is shown, as they stand in the data.
export function runs_of_view() {
    const views = views_of_data();
    const view = views[Math.min(state.view, views.length - 1)];
    return view ? view.runs.map(k => D.runs[k]) : [];
}

// For a section {node, view, runs} beside the timeline: open those runs of the view for which has(run), into
// section.runs. Null where there are none, then the section is hidden, or where the view has moved on meanwhile.
export async function open_view(section, has) {
    const view = runs_of_view(), raw = view.filter(has);
    section.view = view;
    section.node.hidden = raw.length === 0;
    if (raw.length === 0) return null;
    const runs = await Promise.all(raw.map(open_run)).catch(() => null);
    if (section.view !== view) return null;
    if (runs === null) section.node.hidden = true;
    else section.runs = runs;
    return runs;
}

// Is another view shown than the one that the section has opened?
export function view_moved(section) {
    const view = runs_of_view();
    return view.length !== section.view.length || view.some((r, k) => r !== section.view[k]);
}

// Show the view that has a run of this setting; false: there is none.
export function show_run_of_setting(setting) {
    const view = views_of_data().findIndex(v => v.runs.some(k => D.runs[k].setting === setting));
    if (view < 0) return false;
    change({view, t: null, sel: null});
    return true;
}

/* ---- the section ---- */

let timeline_on_page = null;

// From another section: hover a transfer of a run as it stands in the data; i < 0: none.
export function highlight_in_timeline(raw, i) {
    const tl = timeline_on_page;
    const run = tl && tl.runs.find(r => r.raw === raw);
    if (!tl) return;
    tl.hover = run && i >= 0 ? {run, i} : null;
    tl_kick(tl);
}

// Draw the timeline into its section. update(): state, theme or width may have changed; print(): a light
// image for paper.
export function timeline_section(node) {
    const tl = make_timeline(node);
    timeline_on_page = tl;
    tl_listen(tl);
    tl_keys(tl);
    on_data(() => tl_open(tl));
    tl_when_seen(tl);
    expose_timeline(tl);
    return {update: () => tl_update(tl), print: () => tl_print(tl)};
}

function make_timeline(node) {
    const tl = {
        node,
        runs: [],
        from: 0,
        to: 1,
        total: 1,
        hover: null,
        sel: null,
        play: null,
        player: null,
        asked: false,
        frames: [],
        opened: 0,
        shown: null,
        own_t: undefined,
        pointers: new Map(),
        drag: null,
        tables: [],
        has_begun: false,
    };
    tl.lead = node.querySelector('.lead');
    tl.controls = node.querySelector('.controls');
    tl.live = node.querySelector('.spoken-line');
    tl.box = node.querySelector('.canvas-box');
    tl.canvas = el('canvas', {className: 'tl-canvas', tabIndex: 0});
    tl.canvas.setAttribute('role', 'application');
    tl.canvas.setAttribute(
        'aria-label',
        'Timeline of transfers: GPUs down, time across. W S zoom, A D pan, arrows walk ' +
            'the transfers of a port and what they waited for, C critical path, H use of ports, F all, ' +
            'Escape nothing selected.'
    );
    tl.canvas.textContent = 'The critical path is in the table below.';
    tl.image = el('img', {className: 'tl-image', alt: 'Timeline of transfers'});
    tl.box.append(tl.canvas, tl.image);
    tl.note = el('p', {className: 'note'});
    tl.table_box = el('div');
    node.append(tl.note, tl.table_box);
    tl.ready = new Promise(resolve => {
        tl.is_ready = resolve;
    });
    return tl;
}

// Open the view when the page is idle, or when it comes near the window.
function tl_when_seen(tl) {
    tl.node.hidden = runs_of_view().length === 0;
    const begin = () => {
        if (tl.has_begun) return;
        tl.has_begun = true;
        watcher.disconnect();
        tl_open(tl);
    };
    const watcher = new IntersectionObserver(
        entries => {
            if (entries.some(e => e.isIntersecting)) begin();
        },
        {rootMargin: '400px'}
    );
    watcher.observe(tl.node);
    (window.requestIdleCallback || (f => setTimeout(f, 50)))(begin, {timeout: 3000});
}

// Unpack the runs of the view and draw them. A damaged column is said in the place of the picture.
async function tl_open(tl) {
    const asked_at = performance.now();
    const raw = runs_of_view();
    tl.has_begun = true;
    tl.shown = state.view;
    tl.asked_runs = raw;
    tl.node.hidden = raw.length === 0;
    if (raw.length === 0) return;
    try {
        const runs = await Promise.all(raw.map(open_run));
        if (tl.asked_runs === raw) tl_show(tl, runs, asked_at);
    } catch (problem) {
        tl.lead.textContent = `The timeline cannot be read: ${problem.message}.`;
    }
}

function tl_show(tl, runs, asked_at) {
    tl.runs = runs;
    tl.total = 1.012 * Math.max(...runs.map(r => Math.max(r.raw.elapsed_s, r.raw.bound_s || 0))) || 1;
    tl_stop(tl);
    tl.hover = null;
    tl.own_t = undefined;
    for (const run of runs) run.density = run.density || density_of(run);
    tl_take_state(tl);
    tl_layout(tl);
    tl_draw(tl);
    tl.opened = performance.now() - asked_at;
    tl_controls(tl);
    tl_lead(tl);
    tables_of_runs(tl.table_box, runs, run => path_table(run, run.raw.title));
    tl_say(tl);
    tl.is_ready();
}

// Follow the state: the view, its part that is shown, the selection, colours.
function tl_update(tl) {
    if (!tl.has_begun) return;
    if (tl.shown !== state.view || tl.asked_runs.some((r, k) => r !== runs_of_view()[k])) {
        tl_open(tl);
        return;
    }
    if (tl.runs.length === 0) return;
    tl_take_state(tl);
    tl_controls(tl);
    tl_say(tl);
    tl_kick(tl);
}

function tl_take_state(tl) {
    if (state.t !== tl.own_t) {
        tl.own_t = state.t;
        const [from, to] = state.t || tl_all(tl);
        tl_window(tl, from, to, false);
    }
    const {sel} = state;
    const run = sel && tl.runs[sel.run];
    tl.sel = run && sel.i < run.n ? {run, i: sel.i} : null;
}

function tl_all(tl) {
    return [-0.004 * tl.total, tl.total];
}

/* ---- zoom and pan ---- */

// Show from..to, as near as the limits allow; keep it in the address a little later.
function tl_window(tl, from, to, is_kept = true) {
    const all = [-0.01 * tl.total, 1.01 * tl.total];
    const least = 1e-7 * tl.total;
    const width = Math.min(all[1] - all[0], Math.max(least, to - from));
    const begin = Math.min(Math.max(all[0], (from + to - width) / 2), all[1] - width);
    tl.from = begin;
    tl.to = begin + width;
    tl_kick(tl);
    if (is_kept) {
        clearTimeout(tl.keep_timer);
        tl.keep_timer = setTimeout(() => tl_keep_window(tl), 250);
    }
}

function tl_keep_window(tl) {
    const [from, to] = tl_all(tl);
    const is_all = Math.abs(tl.from - from) + Math.abs(tl.to - to) < 1e-6 * tl.total;
    tl.own_t = is_all ? null : [tl.from, tl.to].map(t => Math.round(t * 1e12) / 1e12);
    change({t: tl.own_t}, {goes_on: true});
}

// By a factor of the width around a place of the canvas, or the middle.
function tl_zoom(tl, factor, x) {
    const t = x === undefined ? (tl.from + tl.to) / 2 : tl_time(tl, x);
    const width = Math.min(1.02 * tl.total, Math.max(1e-7 * tl.total, (tl.to - tl.from) * factor));
    const from = t - ((t - tl.from) / (tl.to - tl.from)) * width;
    tl_window(tl, from, from + width);
}

// By a share of the width.
function tl_pan(tl, share) {
    const by = (tl.to - tl.from) * share;
    tl_shift(tl, tl.from + by);
}

// To begin at a moment, with the width as it is.
function tl_shift(tl, from) {
    const width = tl.to - tl.from;
    const begin = Math.min(Math.max(-0.01 * tl.total, from), 1.01 * tl.total - width);
    tl_window(tl, begin, begin + width);
}

function tl_fit(tl) {
    tl_window(tl, ...tl_all(tl));
}

// Make the canvas fit its box, and place all rows.
function tl_layout(tl) {
    const width = Math.max(280, tl.box.clientWidth);
    const wanted = Math.min(3, window.devicePixelRatio || 1);
    tl.surface = make_surface(tl, tl.canvas, width, wanted, theme);
    tl.canvas.style.height = tl.surface.height + 'px';
    tl_kick(tl);
}

function tl_set_theme(tl) {
    if (tl.surface.theme === theme) return;
    tl.surface.theme = theme;
    tl.surface.drawn = '';
}

// Draw with the next frame.
function tl_kick(tl) {
    if (tl.asked) return;
    tl.asked = true;
    requestAnimationFrame(() => {
        tl.asked = false;
        if (tl.runs.length && tl.surface) tl_draw(tl);
    });
}

function tl_draw(tl) {
    const began = performance.now();
    tl_set_theme(tl);
    draw_surface(tl, tl.surface);
    tl.frames.push(performance.now() - began);
    if (tl.frames.length > 1000) tl.frames.splice(0, 500);
}

/* ---- what is said ---- */

function tl_lead(tl) {
    const bold = text => el('b', {textContent: text});
    const [a, b] = tl.runs;
    const path = run => `The lit path of ${fmt_count(run.critical.length)} transfers decides its time`;
    tl.lead.textContent = '';
    if (!b) {
        tl.lead.append(
            `${fmt_count(a.raw.transfers)} transfers; `,
            `the lit path of ${fmt_count(a.critical.length)} decides the time: `,
            bold(fmt_seconds(a.raw.elapsed_s)),
            above_bound(a.raw.gap) + '.',
            moved_sentence([a])
        );
        return;
    }
    const [fast, other] = a.raw.elapsed_s <= b.raw.elapsed_s ? [a, b] : [b, a];
    const less = other.raw.elapsed_s - fast.raw.elapsed_s;
    if (less <= 0.005 * other.raw.elapsed_s) {
        tl.lead.append(
            `Both end after about ${fmt_seconds(fast.raw.elapsed_s)}.`,
            moved_sentence([fast, other])
        );
        return;
    }
    tl.lead.append(
        bold(`${quoted(fast)} ends ${fmt_seconds(less)} earlier`),
        ` than ${quoted(other)}.`,
        moved_sentence([fast, other]),
        ` ${path(fast)}.`
    );
}

// '' where there is no bound.
function above_bound(gap) {
    if (!(gap > 0)) return '';
    return gap < 1.0005 ? ', as soon as the bound allows' : `, ${fmt_percent(gap - 1)} above the bound`;
}

// What the transfers of the critical path waited for, the most frequent first.
function waits_sentence({raw, critical, wait}, is_named) {
    const counts = new Map();
    for (const i of critical) counts.set(wait[i], (counts.get(wait[i]) || 0) + 1);
    const texts = [...counts]
        .sort((p, q) => q[1] - p[1] || p[0] - q[0])
        .map(([place, count]) => `${raw.waits[place]} (${fmt_count(count)})`);
    if (texts.length === 0) return '';
    return `The critical path${is_named ? ` of ${raw.title}` : ''} waited for ${texts.join(', ')}.`;
}

// What has been moved before the last rank comes; '' where all come at once.
function moved_sentence(runs) {
    const late = runs[0].raw.late.filter(l => l[1] > 0).sort((p, q) => q[1] - p[1]);
    const arrivals = runs.map(r => JSON.stringify(r.raw.late));
    if (late.length === 0 || arrivals.some(a => a !== arrivals[0])) return '';
    const [rank, t] = late[0];
    const shares = runs.map(r => moved_before(r, t));
    if (shares.some(Number.isNaN)) return '';
    const who = `Before ${end_name(runs[0], rank)} comes${late.length > 1 ? ', the last,' : ','}`;
    if (runs.length === 1) return ` ${who} ${fmt_percent(shares[0])} of all bytes have been moved.`;
    const [here, there] = shares.map(fmt_percent);
    return ` ${who} it has moved ${here} of its bytes, ${quoted(runs[1])} ${there}.`;
}

// A run's title within a sentence.
function quoted({raw}) {
    return /[ ,]/.test(raw.title) ? `“${raw.title}”` : raw.title;
}

function tl_tip_html(which) {
    const w = transfer_words(which.run, which.i);
    const muted = text => (text ? ` <span class="muted">${esc(text)}</span>` : '');
    return (
        `<b>${esc(w.way)}</b> ${esc(w.what)}<br>${esc(w.when)}${muted(w.rate && `(${w.rate})`)}<br>` +
        `${esc(w.waited)}${muted(w.before)}` +
        (w.on_path ? '<br><span class="tl-swatch tl-path"></span>on the critical path' : '')
    );
}

function tl_say(tl) {
    const text = tl.sel ? transfer_line(tl.sel.run, tl.sel.i) : '';
    const title = tl.sel && tl.runs.length > 1 ? tl.sel.run.raw.title + ', ' : '';
    if (tl.live.textContent !== title + text) tl.live.textContent = title + text;
    const sentences = tl.runs.map(run => waits_sentence(run, tl.runs.length > 1));
    for (const {raw} of tl.runs) sentences.push(raw.thinned ? `${raw.title}: ${raw.thinned}.` : '');
    tl.note.textContent = [lanes_sentence(tl.runs[0]), ...sentences].filter(Boolean).join(' ');
}

// What the lanes of a GPU are, from above.
function lanes_sentence({raw, fabrics}) {
    if (fabrics.length < 2) return 'Of each GPU: what it sends above, what it receives below.';
    const names = fabrics.map(f => fabric_name(raw.fabrics[f])).flatMap(f => [f + ' sends', f + ' receives']);
    return `Of each GPU, from above: ${names.join(', ')}.`;
}

// A table for each run, table_of(run, k), alone in a box; those that were open stay so.
export function tables_of_runs(box, runs, table_of) {
    const was_open = Array.from(box.querySelectorAll('details'), d => d.open);
    box.textContent = '';
    runs.forEach((run, k) => {
        table_below(box, () => table_of(run, k));
        const details = box.lastChild;
        if (runs.length > 1) {
            details.querySelector('summary').textContent = `Show as table: ${run.raw.title}`;
        }
        details.open = was_open[k] === true;
    });
}

/* ---- controls ---- */

function tl_controls(tl) {
    const key = [state.view, state.mode, state.crit, theme, tl.player !== null, tl.runs.length].join();
    if (tl.controls_key === key && tl.controls_runs === tl.runs) return;
    tl.controls_key = key;
    tl.controls_runs = tl.runs;
    const focused = document.activeElement;
    const had = tl.controls.contains(focused) ? focused.dataset.tl : null;
    const views = views_of_data();
    const parts = [];
    if (views.length > 1) {
        parts.push(
            choice(
                'run',
                views.map((v, k) => [k, v.name]),
                Math.min(state.view, views.length - 1),
                value => {
                    change({view: Number(value), t: null, sel: null});
                }
            )
        );
        parts[0].querySelector('select').dataset.tl = 'view';
    }
    const modes = el('span', {className: 'g'});
    for (const [mode, text] of TL_MODES)
        modes.append(tl_toggle(text, state.mode === mode, () => change({mode}), mode));
    parts.push(
        modes,
        tl_toggle('critical path', state.crit, () => change({crit: !state.crit}), 'crit')
    );
    if (!tl_is_still()) parts.push(tl_toggle('play', tl.player !== null, () => tl_toggle_play(tl), 'play'));
    parts.push(
        button('fit', () => tl_fit(tl)),
        el('span', {className: 'sp'}),
        tl_legend(tl)
    );
    tl.controls.replaceChildren(...parts);
    const again = had && tl.controls.querySelector(`[data-tl="${had}"]`);
    if (again) again.focus();
}

function tl_toggle(text, is_on, on_press, name) {
    const node = button(text, on_press);
    node.setAttribute('aria-pressed', String(is_on));
    node.dataset.tl = name;
    return node;
}

function tl_legend(tl) {
    const c = RUN_COLOURS[theme];
    const legend = el('span', {className: 'g tl-legend'});
    const add = (text, colour, more = '') => {
        const swatch = el('span', {className: 'tl-swatch ' + more});
        if (colour) swatch.style.background = colour;
        legend.append(el('span', {}, swatch, text));
    };
    if (state.mode === 'op') {
        const used = new Set(tl.runs.flatMap(r => r.ops.map(o => r.raw.ops[o])));
        TL_OPS.filter(op => used.has(op)).forEach(op => add(op, c[op]));
    } else {
        const at =
            state.mode === 'use'
                ? k => heat_colour(k / 4, theme === 'dark')
                : k => d3.interpolateCividis(0.06 + (0.9 * k) / 4);
        const names = state.mode === 'use' ? ['idle', 'busy'] : [`first ${state.mode}`, 'last'];
        const ramp = el('span', {className: 'tl-ramp'});
        ramp.style.background = `linear-gradient(to right, ${[0, 1, 2, 3, 4].map(at).join(', ')})`;
        legend.append(el('span', {}, names[0] + ' ', ramp, ' ' + names[1]));
    }
    if (state.crit) add('critical', '', 'tl-path');
    if (tl.runs.some(r => !r.is_whole && r.raw.links)) add('busy with others', c.rest);
    if (tl.runs.some(r => r.raw.late.length)) add('late', '', 'tl-late');
    if (tl.runs.some(r => r.raw.slow.length)) add('slow', '', 'tl-slow');
    return legend;
}

function tl_is_still() {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

function tl_toggle_play(tl) {
    if (tl.player !== null) {
        tl_stop(tl);
        tl_controls(tl);
        return;
    }
    if (tl_is_still()) return;
    const began = performance.now();
    const from = Math.max(0, tl.from);
    const to = Math.min(tl.total, tl.to);
    const player = {};
    const step = () => {
        if (tl.player !== player) return;
        const share = (performance.now() - began) / TL_PLAY_MS;
        if (share >= 1) {
            tl_stop(tl);
            tl_controls(tl);
            return;
        }
        tl.play = from + (to - from) * share;
        tl_kick(tl);
        requestAnimationFrame(step);
    };
    tl.player = player;
    tl_controls(tl);
    step();
}

function tl_stop(tl) {
    tl.player = null;
    tl.play = null;
    tl_kick(tl);
}

/* ---- pointer ---- */

function tl_listen(tl) {
    const {canvas} = tl;
    canvas.addEventListener('wheel', e => tl_on_wheel(tl, e), {passive: false});
    canvas.addEventListener('pointerdown', e => tl_on_down(tl, e));
    canvas.addEventListener('pointermove', e => tl_on_move(tl, e));
    canvas.addEventListener('pointerup', e => tl_on_up(tl, e));
    canvas.addEventListener('pointercancel', e => tl_end_drag(tl, e));
    // a finger that is lifted leaves the tip of what it has tapped
    canvas.addEventListener('pointerleave', e => {
        if (e.pointerType === 'mouse') tl_set_hover(tl, null);
    });
    canvas.addEventListener('dblclick', () => tl_fit(tl));
    canvas.addEventListener('blur', () => show_tip(null));
    new ResizeObserver(() => {
        if (matchMedia('print').matches || !tl.runs.length || tl.box.clientWidth === tl.surface.width) return;
        requestAnimationFrame(() => tl_layout(tl));
    }).observe(tl.box);
    tl_follow_scale(tl);
}

// The window may move to a screen of other pixels.
function tl_follow_scale(tl) {
    matchMedia(`(resolution: ${window.devicePixelRatio || 1}dppx)`).addEventListener(
        'change',
        () => {
            if (tl.runs.length && !matchMedia('print').matches) tl_layout(tl);
            tl_follow_scale(tl);
        },
        {once: true}
    );
}

// The page scrolls, unless Ctrl is held or the canvas has the focus. With Shift it pans.
function tl_on_wheel(tl, e) {
    if (
        tl.runs.length === 0 ||
        !(e.ctrlKey || e.metaKey || e.shiftKey || document.activeElement === tl.canvas)
    )
        return;
    e.preventDefault();
    const pixels = (e.deltaY || e.deltaX) * (e.deltaMode === 1 ? 16 : 1);
    if (e.shiftKey) tl_pan(tl, pixels / 800);
    else tl_zoom(tl, Math.exp(Math.max(-200, Math.min(200, pixels)) * 0.0022), e.offsetX);
}

function tl_on_down(tl, e) {
    if (tl.runs.length === 0 || e.button !== 0) return;
    tl.canvas.setPointerCapture(e.pointerId);
    tl.pointers.set(e.pointerId, e.offsetX);
    if (tl.pointers.size === 2) {
        const [a, b] = tl.pointers.values();
        tl.drag = {
            kind: 'pinch',
            apart: Math.max(10, Math.abs(a - b)),
            from: tl.from,
            to: tl.to,
            at: tl_time(tl, (a + b) / 2),
        };
        return;
    }
    const is_strip = e.offsetY < TL_STRIP[1] + 4;
    tl.drag = {kind: is_strip ? 'strip' : 'pan', x: e.offsetX, from: tl.from, to: tl.to, has_moved: false};
    if (is_strip) tl_begin_strip(tl, e.offsetX);
    tl.canvas.classList.add('drag');
}

// In the overview: an edge of the window is dragged, or the window; beside it, the window first comes there.
function tl_begin_strip(tl, x) {
    const {drag, surface} = tl;
    const x0 = strip_x(tl, surface, tl.from);
    const x1 = strip_x(tl, surface, tl.to);
    if (Math.abs(x - x1) <= 6) drag.kind = 'end';
    else if (Math.abs(x - x0) <= 6) drag.kind = 'begin';
    else if (x < x0 || x > x1) {
        tl_shift(tl, strip_time(tl, x) - (tl.to - tl.from) / 2);
        drag.from = tl.from;
    }
}

function strip_time(tl, x) {
    const {width, gutter} = tl.surface;
    return ((x - gutter) / (width - gutter - 8)) * tl.total;
}

function tl_on_move(tl, e) {
    if (tl.runs.length === 0) return;
    if (!tl.drag) {
        tl_set_hover(tl, tl_hit(tl, e.offsetX, e.offsetY), e);
        return;
    }
    tl.pointers.set(e.pointerId, e.offsetX);
    const {drag, surface} = tl;
    const dx = e.offsetX - drag.x;
    const seconds = (drag.to - drag.from) / (surface.width - surface.gutter);
    if (drag.kind === 'pinch') {
        tl_pinch(tl);
        return;
    }
    if (Math.abs(dx) > 3) drag.has_moved = true;
    if (!drag.has_moved) return;
    show_tip(null);
    const along = strip_time(tl, e.offsetX) - strip_time(tl, drag.x);
    if (drag.kind === 'pan') tl_shift(tl, drag.from - dx * seconds);
    else if (drag.kind === 'strip') tl_shift(tl, drag.from + along);
    else if (drag.kind === 'end')
        tl_window(tl, drag.from, Math.max(drag.from + 1e-4 * tl.total, drag.to + along));
    else tl_window(tl, Math.min(drag.to - 1e-4 * tl.total, drag.from + along), drag.to);
}

function tl_pinch(tl) {
    const [a, b] = tl.pointers.values();
    const {drag, surface} = tl;
    const width = ((drag.to - drag.from) * drag.apart) / Math.max(10, Math.abs(a - b));
    const from = drag.at - (((a + b) / 2 - surface.gutter) / (surface.width - surface.gutter)) * width;
    tl_window(tl, from, from + width);
}

function tl_on_up(tl, e) {
    const {drag} = tl;
    tl_end_drag(tl, e);
    if (!drag || drag.has_moved || drag.kind !== 'pan') return;
    const hit = tl_hit(tl, e.offsetX, e.offsetY);
    tl_select(tl, hit);
    if (e.pointerType !== 'mouse') tl_set_hover(tl, hit, e);
}

function tl_end_drag(tl, e) {
    tl.pointers.delete(e.pointerId);
    tl.canvas.classList.remove('drag');
    tl.drag = null;
}

function tl_set_hover(tl, hit, event) {
    const was = tl.hover;
    tl.hover = hit;
    if ((hit && hit.i) !== (was && was.i) || (hit && hit.run) !== (was && was.run)) tl_kick(tl);
    show_tip(hit && tl_tip_html(hit), event);
}

// {run, i} under a place of the canvas, or null.
function tl_hit(tl, x, y) {
    const place = tl_place(tl, x, y);
    if (!place) return null;
    const {run, band, t, slack, view} = place;
    const i = hit_band(run, band, t, slack, view, state.crit);
    return i < 0 ? null : {run, i};
}

// What lies at a place: the run, the band, the time, and how far beside it a bar may be.
function tl_place(tl, x, y) {
    const {surface} = tl;
    if (x < surface.gutter || y < TL_TOP) return null;
    const at = surface.rows[Math.floor((y - TL_TOP) * surface.scale)];
    if (!at) return null;
    const k = surface.pixels.width / (tl.to - tl.from);
    const view = {from: tl.from, scale: surface.scale, k};
    return {run: at[0], band: at[1], t: tl_time(tl, x), slack: (2 * surface.scale) / k, view};
}

// As tl_hit(), by a look at every transfer.
function tl_hit_linear(tl, x, y) {
    const place = tl_place(tl, x, y);
    if (!place) return null;
    const {run, band, t, slack, view} = place;
    const lanes = new Set(band.lanes);
    const px = (t - view.from) * view.k;
    let best = null;
    for (let i = 0; i < run.n; i++) {
        const [p, q] =
            state.crit && run.is_critical[i] ? path_extent(run.start_s[i], run.end_s[i], view) : [0, 0];
        const is_lit = p <= px && px < q;
        const distance = is_lit ? -1 : Math.max(run.start_s[i] - t, t - run.end_s[i], 0);
        if (distance > slack || !lanes_of_transfer(run, i).some(l => lanes.has(l))) continue;
        const order = [distance, is_lit ? -i : 1 - run.is_critical[i], i];
        const k = best ? order.findIndex((v, d) => v !== best.order[d]) : 0;
        if (!best || (k >= 0 && order[k] < best.order[k])) best = {order, i};
    }
    return best && {run, i: best.i};
}

/* ---- selection and keys ---- */

function tl_select(tl, which, goes_on = false) {
    tl.sel = which;
    change({sel: which ? {run: tl.runs.indexOf(which.run), i: which.i} : null}, {goes_on});
    tl_say(tl);
    tl_kick(tl);
}

// Select and bring into view, with its tip.
function tl_go_to(tl, run, i) {
    const middle = (run.start_s[i] + run.end_s[i]) / 2;
    if (middle < tl.from || middle > tl.to) tl_shift(tl, middle - (tl.to - tl.from) / 2);
    tl_select(tl, {run, i}, true);
    const lane = lanes_of_transfer(run, i)[0];
    const box = tl.canvas.getBoundingClientRect();
    if (lane === undefined) return;
    show_tip(tl_tip_html({run, i}), {
        clientX: box.left + tl_x(tl, middle),
        clientY: box.top + lane_middle(run, lane, tl.surface.scale),
    });
}

// -1, 1: the neighbour on the sending port; 'back': what it waited for; 'on': what waited for it. First: the
// path's begin.
function tl_walk(tl, way) {
    if (!tl.sel) {
        const run = tl.runs[tl.runs.length - 1];
        if (run.n > 0) tl_go_to(tl, run, run.critical.length ? run.critical[0] : 0);
        return;
    }
    const {run, i} = tl.sel;
    if (way === 'back' || way === 'on') {
        const next = way === 'back' ? run.why[i] : waiter_of(run, i);
        if (next >= 0) tl_go_to(tl, run, next);
        return;
    }
    const lane = lanes_of_transfer(run, i)[0];
    if (lane === undefined) return;
    const bar = bar_of(run, lane, i) + way;
    if (bar >= run.lanes.offset[lane] && bar < run.lanes.offset[lane + 1])
        tl_go_to(tl, run, run.lanes.id[bar]);
}

function tl_keys(tl) {
    const keys = {
        w: () => tl_zoom(tl, 0.75),
        s: () => tl_zoom(tl, 1 / 0.75),
        a: () => tl_pan(tl, -0.15),
        d: () => tl_pan(tl, 0.15),
        f: () => tl_fit(tl),
        0: () => tl_fit(tl),
        c: () => change({crit: !state.crit}),
        h: () => change({mode: state.mode === 'use' ? 'op' : 'use'}),
        ' ': () => tl_toggle_play(tl),
        arrowleft: () => tl_walk(tl, -1),
        arrowright: () => tl_walk(tl, 1),
        arrowup: () => tl_walk(tl, 'back'),
        arrowdown: () => tl_walk(tl, 'on'),
        escape: () => tl_escape(tl),
    };
    tl.canvas.addEventListener('keydown', e => {
        const act = keys[e.key.toLowerCase()];
        if (!act || tl.runs.length === 0 || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        e.stopPropagation();
        act();
    });
}

function tl_escape(tl) {
    tl_stop(tl);
    tl_controls(tl);
    show_tip(null);
    tl.hover = null;
    tl_select(tl, null);
}

/* ---- paper ---- */

// Put a light picture of what is in view behind the canvas, which is not printed.
function tl_print(tl) {
    if (tl.runs.length === 0) return;
    const kept = tl.surface;
    const {sel, hover, play} = tl;
    tl.hover = tl.play = null;
    tl.surface = make_surface(tl, document.createElement('canvas'), 1100, 2, 'light');
    draw_surface(tl, tl.surface);
    tl.image.src = tl.surface.canvas.toDataURL();
    tl.surface = kept;
    Object.assign(tl, {sel, hover, play});
    tl_layout(tl);
}

/* ---- tests ---- */

function expose_timeline(tl) {
    const number = hit => hit && {run: tl.runs.indexOf(hit.run), i: hit.i};
    window.collsim = Object.assign(window.collsim || {}, {
        timeline: {
            ready: tl.ready,
            get opened() {
                return tl.opened;
            },
            hit: (x, y) => number(tl_hit(tl, x, y)),
            hit_linear: (x, y) => number(tl_hit_linear(tl, x, y)),
            select: (run, i) => tl_go_to(tl, tl.runs[run], i),
            zoom_to: (from, to) => tl_window(tl, from, to),
            view: () => ({
                from: tl.from,
                to: tl.to,
                width: tl.surface.width,
                height: tl.surface.height,
                gutter: tl.surface.gutter,
                runs: tl.runs.map(r => ({top: r.top, bottom: r.bottom, transfers: r.n, rows: r.rows})),
            }),
            bench: n => tl_bench(tl, n),
            show: async raw => tl_show(tl, await Promise.all(raw.map(open_run)), performance.now()),
        },
    });
}

// A third of the frames each: panning to and fro, zooming in, panning.
async function tl_bench(tl, n = 120) {
    const out = {draw: [], frame: []};
    const {width, gutter} = tl.surface;
    let last = performance.now();
    tl_fit(tl);
    for (let k = 0; k < n; k++) {
        const now = await new Promise(requestAnimationFrame);
        out.frame.push(now - last);
        last = now;
        if (k < n / 3) tl_pan(tl, k % 2 ? 0.02 : -0.02);
        else if (k < (2 * n) / 3) tl_zoom(tl, 0.93, gutter + (width - gutter) * 0.7);
        else tl_pan(tl, -0.03);
        const began = performance.now();
        tl_draw(tl);
        out.draw.push(performance.now() - began);
    }
    return out;
}
