// SPDX-License-Identifier: GPL-3.0-or-later
// grid.js -- a small run in space and time: ranks down, rounds across, each cell what is sent (upper half)
// and received (lower half) in the colour of what it is for. Late and slow ranks are a block of their own.
// What is hovered or selected here is hovered or selected in the timeline.

import {on_data} from './data.js';
import {theme} from './looks.js';
import {state, change} from './state.js';
import {el, esc, show_tip} from './parts.js';
import {end_name, transfer_words} from './runs.js';
import {open_view, view_moved, highlight_in_timeline, tables_of_runs} from './timeline.js';

const GRID_ROW = 30;
const GRID_GAP = 14;
const GRID_HEAD = 40;
const GRID_GUTTER = 96;
const GRID_CELL = [12, 76]; // width of a round, least and most
const GRID_LETTER = 6; // width of a letter in a cell

// Draw the grids of the view's runs that have stages. update(): the state or the theme may have changed.
export function grid_section(node) {
    const grid = {
        node,
        lead: node.querySelector('.lead'),
        controls: node.querySelector('.controls'),
        body: node.querySelector('.body'),
        picture_box: el('div'),
        table_box: el('div'),
        runs: [],
        shown: null,
        raw: [],
        pictures: [],
    };
    grid.body.append(grid.picture_box, grid.table_box);
    on_data(() => grid_open(grid));
    grid_open(grid);
    new ResizeObserver(() => {
        if (grid.body.clientWidth === grid.width || matchMedia('print').matches) return;
        requestAnimationFrame(() => grid_draw(grid));
    }).observe(grid.body);
    return {update: () => grid_update(grid), print: () => {}};
}

async function grid_open(grid) {
    if (await open_view(grid, r => r.stages) === null) return;
    grid_lead(grid);
    grid_legend(grid);
    grid_draw(grid);
}

function grid_update(grid) {
    if (view_moved(grid)) grid_open(grid);
    else if (grid.theme !== theme && grid.runs.length) grid_draw(grid);
    else grid_mark(grid);
}

function grid_lead(grid) {
    const rounds = grid.runs.map(
        r => `${r.raw.title} ${rounds_of(r) === 1 ? 'takes one round' : `${rounds_of(r)} rounds`}`
    );
    grid.lead.textContent =
        rounds.join(', ').replace(/^(.*?) (\d+ rounds)/, '$1 takes $2') +
        '. Upper half: what a GPU sends; lower half: what it receives; the colour says what for.';
}

function rounds_of(run) {
    let last = -1;
    for (let i = 0; i < run.n; i++) last = Math.max(last, run.round[i]);
    return last + 1;
}

// A colour is a stage; runs may name it in fewer words where nobody is slow.
function grid_legend(grid) {
    const names = new Map();
    for (const {raw} of grid.runs) {
        raw.stages.colours.forEach((colour, k) => {
            const name = raw.stages.names[k];
            if (!names.has(colour) || name.length > names.get(colour).length) names.set(colour, name);
        });
    }
    const legend = el('span', {className: 'g tl-legend'});
    for (const [colour, name] of names) {
        const swatch = el('span', {className: 'tl-swatch'});
        swatch.style.background = colour;
        legend.append(el('span', {}, swatch, name));
    }
    grid.controls.replaceChildren(legend);
}

/* ---- the picture ---- */

function grid_draw(grid) {
    grid.theme = theme;
    grid.width = grid.body.clientWidth;
    grid.pictures = grid.runs.map(run => grid_picture(grid, run));
    grid.picture_box.replaceChildren(...grid.pictures.map(p => p.node));
    tables_of_runs(grid.table_box, grid.runs, (_, k) => grid_table(grid.pictures[k]));
    grid_mark(grid);
}

// The rows of a run: ranks that are neither late nor slow, then the others.
function grid_rows(run) {
    const ranks = Array.from({length: run.ranks}, (_, r) => r);
    const plain = ranks.filter(r => !run.marks.has(r));
    const marked = ranks.filter(r => run.marks.has(r));
    const gap = plain.length && marked.length ? GRID_GAP : 0;
    return [
        ...plain.map((rank, k) => ({rank, y: GRID_HEAD + k * GRID_ROW, name: `GPU ${rank}`, mark: ''})),
        ...marked.map((rank, k) => ({
            rank,
            y: GRID_HEAD + (plain.length + k) * GRID_ROW + gap,
            name: `${run.marks.get(rank)} GPU ${rank}`,
            mark: run.marks.get(rank),
        })),
    ];
}

// What a rank sends (0) and receives (1) in a round, of those that have something: {rank, round, half, list}.
function grid_cells(run) {
    const exchange = run.raw.ops.indexOf('exchange');
    const cells = new Map();
    const add = (rank, half, i) => {
        if (rank >= run.ranks) return;
        const key = (run.round[i] * run.ranks + rank) * 2 + half;
        if (!cells.has(key)) cells.set(key, {rank, round: run.round[i], half, list: []});
        cells.get(key).list.push(i);
    };
    for (let i = 0; i < run.n; i++) {
        add(run.from[i], 0, i);
        add(run.to[i], 1, i);
        if (run.op[i] === exchange) {
            add(run.to[i], 0, i);
            add(run.from[i], 1, i);
        }
    }
    return [...cells.values()];
}

function grid_picture(grid, run) {
    const rounds = Math.max(1, rounds_of(run));
    const rows = grid_rows(run);
    const cells = grid_cells(run);
    const room = (grid.width - GRID_GUTTER - 8) / rounds;
    const w = Math.max(GRID_CELL[0], Math.min(GRID_CELL[1], Math.floor(room)));
    const width = GRID_GUTTER + rounds * w + 8;
    const height = rows[rows.length - 1].y + GRID_ROW + 6;
    const y_of = new Map(rows.map(r => [r.rank, r.y]));
    const boxes = new Map();
    const parts = [grid_heads(run, rounds, w), ...rows.map(r => grid_row_svg(r, rounds, w))];
    const longest = Math.max(...run.raw.stages.names.map((_, k) => grid_cell_text(run, k).length));
    for (const cell of cells) {
        parts.push(grid_cell_svg(run, cell, y_of.get(cell.rank), w, boxes, longest * GRID_LETTER <= w - 4));
    }
    const name = `Grid of ${run.raw.title}: GPUs down, rounds across`;
    const node = el('div', {className: 'grid-scroll'});
    node.innerHTML =
        `<svg class="grid-svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
        'tabindex="0" ' +
        `role="application" aria-label="${esc(name)}. Arrows walk the transfers.">` +
        parts.join('') +
        '<g class="grid-marks"></g></svg>';
    const picture = {run, rounds, rows, cells, boxes, node, svg: node.firstChild};
    grid_listen(grid, picture);
    return picture;
}

function grid_heads(run, rounds, w) {
    const step = Math.max(1, Math.ceil(26 / w));
    const parts = [];
    for (let k = 0; k < rounds; k += step) {
        parts.push(
            `<text x="${GRID_GUTTER + (k + 0.5) * w}" y="32" text-anchor="middle" class="soft">${k}</text>`
        );
    }
    return `<text x="0" y="14" class="grid-title">${esc(run.raw.title)}</text>${parts.join('')}`;
}

function grid_row_svg({y, name, mark}, rounds, w) {
    const kind = mark ? `grid-${mark}` : 'soft';
    return (
        `<text x="${GRID_GUTTER - 10}" y="${y + GRID_ROW / 2 + 3}" text-anchor="end" class="${kind}">${esc(
            name
        )}</text>` +
        `<rect class="grid-ground" x="${GRID_GUTTER}" y="${y}" width="${rounds * w}" height="${
            GRID_ROW - 3
        }"/>`
    );
}

// Transfers of a rank and direction in a round share their half of the cell.
function grid_cell_svg(run, {round, half, list}, y, w, boxes, is_named) {
    const part = (w - 1) / list.length;
    const h = (GRID_ROW - 4) / 2;
    const top = y + half * (h + 1);
    const opacity = theme === 'dark' ? 0.8 : 1;
    return list
        .map((i, k) => {
            const x = GRID_GUTTER + round * w + k * part;
            const colour = run.raw.stages.colours[run.stage[i]];
            const box = {x, y: top, w: Math.max(0.5, part - (part > 4 ? 1 : 0)), h};
            if (!boxes.has(i)) boxes.set(i, []);
            boxes.get(i).push(box);
            const text = list.length === 1 && is_named ? grid_cell_text(run, run.stage[i]) : '';
            const ink = text && ink_upon(colour, opacity) ? 'grid-ink' : 'grid-paper';
            return (
                `<rect data-i="${i}" x="${box.x.toFixed(2)}" y="${box.y}" width="${box.w.toFixed(
                    2
                )}" height="${h}" ` +
                `fill="${esc(colour)}" fill-opacity="${opacity}"/>` +
                (text
                    ? `<text class="${ink}" x="${(x + box.w / 2).toFixed(2)}" y="${
                          top + h / 2 + 3.6
                      }" text-anchor="middle">${esc(text)}</text>`
                    : '')
            );
        })
        .join('');
}

// The short name of a stage: "S1" of "S1: partial sum ..", else its first word, which is the operation.
function grid_cell_text(run, stage) {
    const name = run.raw.stages.names[stage];
    const colon = name.indexOf(':');
    return colon > 0 && colon < 12 ? name.slice(0, colon) : name.split(' ')[0];
}

// Is dark ink better to read than light on a colour over the card?
function ink_upon(colour, opacity) {
    const c = d3.color(colour).rgb();
    const ground = d3.color(theme === 'dark' ? '#161B21' : '#FFFFFF').rgb();
    const level = (v, g) => {
        const mixed = (v * opacity + g * (1 - opacity)) / 255;
        return mixed <= 0.03928 ? mixed / 12.92 : ((mixed + 0.055) / 1.055) ** 2.4;
    };
    return (
        0.2126 * level(c.r, ground.r) + 0.7152 * level(c.g, ground.g) + 0.0722 * level(c.b, ground.b) > 0.18
    );
}

/* ---- hover, selection, keys ---- */

function grid_listen(grid, picture) {
    const {svg, run} = picture;
    const at = e => (e.target.dataset && e.target.dataset.i !== undefined ? Number(e.target.dataset.i) : -1);
    svg.addEventListener('pointermove', e => grid_hover(grid, picture, at(e), e));
    svg.addEventListener('pointerleave', e => {
        if (e.pointerType === 'mouse') grid_hover(grid, picture, -1, e);
    });
    svg.addEventListener('pointerdown', e => grid_hover(grid, picture, at(e), e));
    svg.addEventListener('click', e => {
        if (at(e) >= 0) grid_select(grid, run, at(e), false);
    });
    svg.addEventListener('blur', () => show_tip(null));
    svg.addEventListener('keydown', e => {
        const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
        if (!way || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        grid_walk(grid, picture, way);
    });
}

function grid_tip(run, i) {
    const w = transfer_words(run, i);
    return (
        `<b>${esc(w.way)}</b> ${esc(w.what)}<br>${esc(run.raw.stages.names[run.stage[i]])}<br>${esc(
            w.when
        )}<br>` + `${esc(w.waited)}<span class="muted">${esc(w.before)}</span>`
    );
}

function grid_hover(grid, {run}, i, event) {
    if (i === grid.hovered && i < 0) return;
    grid.hovered = i;
    grid.hovered_run = i < 0 ? null : run;
    show_tip(i < 0 ? null : grid_tip(run, i), event);
    highlight_in_timeline(run.raw, i);
    grid_mark(grid);
}

function grid_select(grid, run, i, goes_on) {
    change({sel: {run: grid.view.indexOf(run.raw), i}}, {goes_on});
    grid_mark(grid);
}

// To the next transfer that the rank sends, or to the row above or below in the same round or nearby.
function grid_walk(grid, picture, [across, down]) {
    const {run, rows} = picture;
    const {sel} = state;
    const is_here = sel && grid.view[sel.run] === run.raw;
    const order = rows.map(r => r.rank);
    const sent = rank =>
        picture.cells
            .filter(c => c.rank === rank && c.half === 0)
            .sort((a, b) => a.round - b.round)
            .flatMap(c => c.list);
    let next = -1;
    if (!is_here) next = sent(order[0])[0];
    else if (across) next = sent(run.from[sel.i])[sent(run.from[sel.i]).indexOf(sel.i) + across];
    else {
        let row = order.indexOf(run.from[sel.i]) + down;
        while (row >= 0 && row < order.length && sent(order[row]).length === 0) row += down;
        const list = row >= 0 && row < order.length ? sent(order[row]) : [];
        next = list.reduce(
            (best, i) =>
                best < 0 ||
                Math.abs(run.round[i] - run.round[sel.i]) < Math.abs(run.round[best] - run.round[sel.i])
                    ? i
                    : best,
            -1
        );
    }
    if (next === undefined || next < 0) return;
    grid_select(grid, run, next, true);
    const box = picture.boxes.get(next)[0];
    const place = picture.svg.getBoundingClientRect();
    show_tip(grid_tip(run, next), {
        clientX: place.left + box.x + box.w / 2,
        clientY: place.top + box.y + box.h,
    });
}

// Frames around what is selected, hovered, and what that waited for.
function grid_mark(grid) {
    for (const {run, boxes, svg} of grid.pictures) {
        const {sel} = state;
        const frames = [];
        const add = (i, kind) =>
            (boxes.get(i) || []).forEach(b =>
                frames.push(
                    `<rect class="${kind}" x="${(b.x - 1).toFixed(2)}" y="${b.y - 1}" width="${(
                        b.w + 2
                    ).toFixed(2)}" height="${b.h + 2}"/>`
                )
            );
        const show = i => {
            if (run.why[i] >= 0) add(run.why[i], 'grid-before');
            add(i, 'grid-this');
        };
        if (sel && grid.view[sel.run] === run.raw && sel.i < run.n) show(sel.i);
        if (grid.hovered_run === run) show(grid.hovered);
        svg.querySelector('.grid-marks').innerHTML = frames.join('');
    }
}

/* ---- table ---- */

function grid_table({run, rounds, rows, cells}) {
    const text = new Map();
    for (const {rank, round, half, list} of cells) {
        const said = list.map(i => {
            const other = run.from[i] === rank ? run.to[i] : run.from[i];
            return `${half ? '←' : '→'} ${end_name(run, other)}: ${run.raw.stages.names[run.stage[i]]}`;
        });
        const key = rank * rounds + round;
        text.set(key, [...(text.get(key) || []), ...said]);
    }
    return {
        caption: `${run.raw.title}: what each GPU sends (→) and receives (←) in each round`,
        heads: ['', ...Array.from({length: rounds}, (_, k) => `round ${k}`)],
        rows: rows.map(r => [
            r.name,
            ...Array.from({length: rounds}, (_, k) => (text.get(r.rank * rounds + k) || []).join('; ')),
        ]),
    };
}
