// SPDX-License-Identifier: GPL-3.0-or-later
// links.js -- how busy ports and links are over time: one line each, in bins, six steps from idle to full.
// Late and slow ranks stand above as bands on the same axis.

import {on_data} from './data.js';
import {fmt_percent, fmt_rate, fmt_seconds, fmt_count} from './format.js';
import {theme} from './looks.js';
import {el, esc, button, show_tip} from './parts.js';
import {end_name, fabric_name, fmt_moment, first_bar_after, ports_of_row} from './runs.js';
import {open_view, view_moved, tables_of_runs} from './timeline.js';
import {RUN_COLOURS, heat_colour, hatch_of, hatched_spans} from './timeline_draw.js';
import {time_unit, text_within, tl_font} from './timeline_draw.js';

const LINK_STEPS = 6;
const LINK_MOST_ROWS = 160;
const LINK_ROOM = 420;
const LINK_HEAD = 46; // title and axis
const LINK_BAND = 12; // height of a band

// Draw the use of links of the view's runs. update(): the view or the theme may have changed; print(): a
// light image.
export function links_section(node) {
    const links = {
        node,
        lead: node.querySelector('.lead'),
        controls: node.querySelector('.controls'),
        body: node.querySelector('.body'),
        picture_box: el('div'),
        table_box: el('div'),
        view: [],
        runs: [],
        pictures: [],
        order: 'busy',
    };
    links.body.append(links.picture_box, links.table_box);
    on_data(() => links_open(links));
    links_open(links);
    new ResizeObserver(() => {
        if (links.body.clientWidth === links.width || matchMedia('print').matches) return;
        requestAnimationFrame(() => links_draw(links));
    }).observe(links.body);
    return {update: () => links_update(links), print: () => links_print(links)};
}

async function links_open(links) {
    const runs = await open_view(links, r => r.links && r.links.rows.length > 0);
    if (runs === null) return;
    links.end =
        Math.max(...runs.map(r => Math.max(r.raw.elapsed_s, r.raw.links.bins * r.raw.links.bin_s))) || 1;
    links_lead(links);
    links_controls(links);
    links_draw(links);
}

function links_update(links) {
    if (view_moved(links)) links_open(links);
    else if (links.theme !== theme && links.runs.length) {
        links_controls(links);
        links_draw(links);
    }
}

function links_lead(links) {
    links.lead.textContent = '';
    links.runs.forEach((run, k) => {
        const {rows} = run.raw.links;
        const most = d3.scan(rows, (a, b) => b.busy - a.busy);
        const mean = rows.reduce((sum, r) => sum + r.busy, 0) / rows.length;
        links.lead.append(
            k ? ' ' : '',
            el('b', {textContent: run.raw.title}),
            ` uses ${fmt_percent(mean)} of what its ` +
                `links could carry in its time; the busiest, “${rows[most].name}”, ${fmt_percent(
                    rows[most].busy
                )}.`
        );
    });
}

function links_controls(links) {
    const group = el('span', {className: 'g'}, 'sort by');
    for (const [order, text] of [
        ['busy', 'busiest'],
        ['name', 'name'],
    ]) {
        const node = button(text, () => {
            links.order = order;
            links_controls(links);
            links_draw(links);
            links.controls.querySelector(`[data-order="${order}"]`).focus();
        });
        node.setAttribute('aria-pressed', String(links.order === order));
        node.dataset.order = order;
        group.append(node);
    }
    const legend = el('span', {className: 'g tl-legend'});
    for (let step = 1; step <= LINK_STEPS; step++) {
        const swatch = el('span', {className: 'tl-swatch'});
        swatch.style.background = step_colour(step, theme === 'dark');
        legend.append(el('span', {}, swatch, `to ${fmt_percent(step / LINK_STEPS)}`));
    }
    links.controls.replaceChildren(group, el('span', {className: 'sp'}), legend);
}

function step_colour(step, is_dark) {
    return heat_colour((step - 0.5) / LINK_STEPS, is_dark);
}

// 0: idle; else 1 to 6.
function step_of(share) {
    return share === 0 ? 0 : Math.max(1, Math.ceil((share / 255) * LINK_STEPS - 1e-9));
}

/* ---- rows ---- */

// Places of the rows that are shown, in their order: those that carry something, the busiest 160 at most.
function link_rows(run, order) {
    const {rows} = run.raw.links;
    const places = rows.map((_, k) => k).filter(k => rows[k].busy > 0);
    const busiest = places.sort((a, b) => rows[b].busy - rows[a].busy || a - b).slice(0, LINK_MOST_ROWS);
    if (order === 'busy') return busiest;
    const collate = new Intl.Collator('en', {numeric: true}).compare;
    return busiest.sort(
        (a, b) => collate(rows[a].name, rows[b].name) || collate(rows[a].kind, rows[b].kind) || a - b
    );
}

function row_text(run, place) {
    const {name, kind} = run.raw.links.rows[place];
    const kinds = new Set(run.raw.links.rows.map(r => r.kind));
    return kinds.size > 1 && kind !== 'link' ? `${name} (${fabric_name(kind)})` : name;
}

/* ---- the picture ---- */

function links_draw(links) {
    if (links.runs.length === 0) return;
    links.theme = theme;
    links.width = links.body.clientWidth;
    const nodes = links.runs.map(run => link_picture(links, run));
    links.pictures = nodes;
    links.picture_box.replaceChildren(...nodes.map(p => p.node));
    tables_of_runs(links.table_box, links.runs, (_, k) => link_table(links.pictures[k]));
}

function link_picture(links, run) {
    const canvas = el('canvas', {className: 'link-canvas', tabIndex: 0});
    const image = el('img', {className: 'tl-image'});
    const name = `Use of links over time of ${run.raw.title}`;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', name + '. Arrows walk lines and moments.');
    image.alt = name;
    const rows = link_rows(run, links.order);
    const all = run.raw.links.rows.length;
    const picture = {run, rows, canvas, image, end: links.end};
    picture.node = el('div', {className: 'link-box'}, canvas, image);
    const idle = run.raw.links.rows.filter(r => !(r.busy > 0)).length;
    const left_out = all - idle - rows.length;
    const said = [
        left_out > 0 ? `${fmt_count(rows.length)} of ${fmt_count(all - idle)} links, the busiest.` : '',
        idle > 0 ? `${fmt_count(idle)} of ${fmt_count(all)} links carry nothing.` : '',
    ];
    picture.node.append(el('p', {className: 'note', textContent: said.join(' ').trim()}));
    paint_links(picture, Math.max(280, links.width), window.devicePixelRatio || 1, theme);
    link_listen(picture);
    return picture;
}

// Draw a picture on its canvas at some width.
function paint_links(picture, width, wanted_scale, in_theme) {
    const {run, rows, canvas} = picture;
    const scale = Math.min(3, wanted_scale);
    const c = RUN_COLOURS[in_theme];
    const h = Math.max(3, Math.min(16, Math.floor(LINK_ROOM / Math.max(1, rows.length))));
    const g = canvas.getContext('2d');
    const marked = [...run.marks.keys()]
        .filter(r => r < run.ranks)
        .sort((a, b) => a - b)
        .slice(0, 12);
    const top = LINK_HEAD + marked.length * (LINK_BAND + 2) + (marked.length ? Math.max(4, 12 - h / 2) : 0);
    const height = top + rows.length * h + 6;
    const gutter = link_gutter(picture, g, width, marked);
    Object.assign(picture, {width, height, scale, h, top, gutter, marked});
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = height + 'px';
    const surface = {g, scale, width, height, gutter, theme: in_theme};
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.textBaseline = 'middle';
    g.fillStyle = c.ground;
    g.fillRect(0, 0, width, height);
    paint_link_axis(picture, surface, c);
    paint_link_bands(picture, surface, c);
    paint_link_cells(picture, surface);
    paint_link_names(picture, surface, c);
    picture.clean = document.createElement('canvas');
    picture.clean.width = canvas.width;
    picture.clean.height = canvas.height;
    picture.clean.getContext('2d').drawImage(canvas, 0, 0);
}

// Room for the names of rows.
function link_gutter({run, rows}, g, width, marked) {
    g.font = tl_font(11.5, 700);
    const names = [...rows.map(k => row_text(run, k)), ...marked.map(r => `late ${end_name(run, r)}`)];
    const longest = names.reduce((most, name) => Math.max(most, g.measureText(name).width), 0);
    return Math.ceil(Math.min(longest + 12, 220, width * 0.34));
}

function link_x({width, gutter, end}, t) {
    return gutter + (t / end) * (width - gutter - 8);
}

function paint_link_axis(picture, {g, width, height, gutter}, c) {
    const [factor, unit] = time_unit(picture.end);
    const x = d3
        .scaleLinear()
        .domain([0, picture.end * factor])
        .range([gutter, width - 8]);
    const count = Math.max(3, Math.floor((width - gutter) / 110));
    const words = x.tickFormat(count);
    g.font = tl_font(13, 700);
    g.textAlign = 'left';
    g.fillStyle = c.ink;
    g.fillText(text_within(g, picture.run.raw.title, width - 16), 2, 10);
    g.font = tl_font(11.5);
    g.textAlign = 'center';
    let used = 0;
    for (const tick of x.ticks(count)) {
        const at = x(tick);
        const text = `${words(tick)} ${unit}`;
        const half = g.measureText(text).width / 2;
        g.fillStyle = c.grid;
        g.fillRect(Math.round(at), LINK_HEAD - 6, 1, height - LINK_HEAD + 2);
        if (at - half < used || at + half > width) continue;
        g.fillStyle = c.soft;
        g.fillText(text, at, LINK_HEAD - 14);
        used = at + half + 8;
    }
}

// When ranks are away, and their NICs slow.
function paint_link_bands(picture, surface, c) {
    const {run, marked} = picture;
    const {g, gutter} = surface;
    const late = hatch_of(surface, c.late, c.late_line);
    const slow = hatch_of(surface, c.slow, c.slow_line);
    for (const [rank, from, until, fill] of hatched_spans(run, late, slow)) {
        const row = marked.indexOf(rank);
        if (row < 0) continue;
        g.fillStyle = fill;
        g.fillRect(
            link_x(picture, from),
            band_top(row),
            link_x(picture, until) - link_x(picture, from),
            LINK_BAND
        );
    }
    g.font = tl_font(11.5, 700);
    g.textAlign = 'right';
    g.fillStyle = c.ink;
    marked.forEach((rank, row) => {
        g.fillText(
            `${run.marks.get(rank)} ${end_name(run, rank)}`,
            gutter - 8,
            band_top(row) + LINK_BAND / 2
        );
    });
}

function band_top(row) {
    return LINK_HEAD + row * (LINK_BAND + 2);
}

// Neighbours of one step are one rectangle.
function paint_link_cells(picture, {g, theme: in_theme}) {
    const {run, rows, top, h} = picture;
    const {bins, bin_s} = run.raw.links;
    const colours = Array.from({length: LINK_STEPS + 1}, (_, k) =>
        k ? step_colour(k, in_theme === 'dark') : ''
    );
    rows.forEach((place, row) => {
        for (let b = 0; b < bins; ) {
            const step = step_of(run.share[place * bins + b]);
            let next = b + 1;
            while (next < bins && step_of(run.share[place * bins + next]) === step) next++;
            if (step > 0) {
                const x0 = link_x(picture, b * bin_s);
                const x1 = link_x(picture, next * bin_s);
                g.fillStyle = colours[step];
                g.fillRect(x0, top + row * h, x1 - x0 + 0.3, h - (h > 5 ? 1 : 0));
            }
            b = next;
        }
    });
}

function paint_link_names(picture, {g, gutter}, c) {
    const {run, rows, top, h} = picture;
    const step = Math.max(1, Math.ceil(12.5 / h));
    g.font = tl_font(11.5);
    g.textAlign = 'right';
    g.fillStyle = c.soft;
    rows.forEach((place, row) => {
        if (row % step === 0)
            g.fillText(text_within(g, row_text(run, place), gutter - 10), gutter - 8, top + (row + 0.5) * h);
    });
}

/* ---- hover and keys ---- */

function link_listen(picture) {
    const {canvas} = picture;
    canvas.addEventListener('pointermove', e =>
        link_point(picture, link_at(picture, e.offsetX, e.offsetY), e)
    );
    canvas.addEventListener('pointerdown', e =>
        link_point(picture, link_at(picture, e.offsetX, e.offsetY), e)
    );
    canvas.addEventListener('pointerleave', e => {
        if (e.pointerType === 'mouse') link_point(picture, null);
    });
    canvas.addEventListener('blur', () => link_point(picture, null));
    canvas.addEventListener('keydown', e => {
        const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
        if (!way || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        const {bins, bin_s} = picture.run.raw.links;
        const was = picture.at || {row: 0, bin: -way[0]};
        const row = Math.min(picture.rows.length - 1, Math.max(0, was.row + way[1]));
        const bin = Math.min(bins - 1, Math.max(0, was.bin + way[0]));
        const box = canvas.getBoundingClientRect();
        link_point(
            picture,
            {row, bin},
            {
                clientX: box.left + link_x(picture, (bin + 0.5) * bin_s),
                clientY: box.top + picture.top + (row + 0.5) * picture.h,
            }
        );
    });
}

// The row and bin at a place of the canvas, or null.
function link_at({run, rows, top, h, width, gutter, end}, x, y) {
    const row = Math.floor((y - top) / h);
    const t = ((x - gutter) / (width - gutter - 8)) * end;
    const bin = Math.floor(t / run.raw.links.bin_s);
    return row >= 0 && row < rows.length && bin >= 0 && bin < run.raw.links.bins ? {row, bin} : null;
}

function link_point(picture, at, event) {
    picture.at = at;
    const {canvas, clean, scale, run, top, h} = picture;
    const g = canvas.getContext('2d');
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.drawImage(clean, 0, 0);
    show_tip(at && link_tip(picture, at), event);
    if (!at) return;
    const {bin_s} = run.raw.links;
    const x0 = link_x(picture, at.bin * bin_s);
    const x1 = link_x(picture, (at.bin + 1) * bin_s);
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.strokeStyle = RUN_COLOURS[theme].ink;
    g.lineWidth = 1.5;
    g.strokeRect(x0 - 1, top + at.row * h - 1, x1 - x0 + 2, h + 2);
}

function link_tip({run, rows}, {row, bin}) {
    const place = rows[row];
    const {bins, bin_s} = run.raw.links;
    const {capacity_Bps, busy} = run.raw.links.rows[place];
    const share = run.share[place * bins + bin] / 255;
    const from = bin * bin_s;
    const users = link_users(run, place, from, from + bin_s);
    const rate = capacity_Bps > 0 ? ` of ${fmt_rate(capacity_Bps)}: ${fmt_rate(share * capacity_Bps)}` : '';
    return (
        `<b>${esc(row_text(run, place))}</b><br>${esc(fmt_percent(share) + rate)}<br>` +
        `<span class="muted">${esc(
            `from ${fmt_moment(from)} for ${fmt_seconds(bin_s)}; ${fmt_percent(busy)} in the whole run`
        )}</span>` +
        users.map(u => `<br>${esc(u)}`).join('')
    );
}

// Who used ports between two moments, as far as the name of their row says whose they are and all transfers
// are there; at most four lines.
function link_users(run, place, from, to) {
    const {name, kind} = run.raw.links.rows[place];
    const ports = kind === 'link' ? null : ports_of_row(name);
    const fabric = run.fabrics.findIndex(f => run.raw.fabrics[f] === kind);
    if (!ports || fabric < 0 || ports.last >= run.ranks || !run.is_whole) return [];
    const {lanes} = run;
    const slot = 2 * fabric + (ports.sends ? 0 : 1);
    const found = [];
    for (let k = lanes.first_of_rank[ports.first]; k < lanes.first_of_rank[ports.last + 1]; k++) {
        const last = lanes.slot[k] === slot ? lanes.offset[k + 1] : 0;
        for (let j = first_bar_after(lanes, k, from); j < last && lanes.start[j] < to; j++)
            found.push(lanes.id[j]);
    }
    found.sort((a, b) => a - b);
    const said = found
        .slice(0, 3)
        .map(i => `${end_name(run, run.from[i])} → ${end_name(run, run.to[i])}, chunk ${run.chunk[i]}`);
    return found.length > 3 ? [...said, `and ${fmt_count(found.length - 3)} more`] : said;
}

/* ---- table and paper ---- */

function link_table({run, rows}) {
    return {
        caption: `${run.raw.title}: links, of what they could carry in the whole run`,
        heads: ['link', 'kind', 'could carry', 'carried', 'busiest bin'],
        rows: rows.map(place => {
            const {name, kind, capacity_Bps, busy} = run.raw.links.rows[place];
            const {bins} = run.raw.links;
            let most = 0;
            for (let b = 0; b < bins; b++) most = Math.max(most, run.share[place * bins + b]);
            return [
                name,
                kind === 'link' ? kind : fabric_name(kind),
                fmt_rate(capacity_Bps),
                fmt_percent(busy),
                fmt_percent(most / 255),
            ];
        }),
    };
}

// Put light pictures behind the canvases, which are not printed.
function links_print(links) {
    for (const picture of links.pictures) {
        const on_paper = Object.assign({}, picture, {canvas: document.createElement('canvas')});
        paint_links(on_paper, 1100, 2, 'light');
        picture.image.src = on_paper.canvas.toDataURL();
    }
}
