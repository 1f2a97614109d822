// SPDX-License-Identifier: GPL-3.0-or-later
// late.js -- who is late: how often which rank comes last, how late it is, and what would have helped.

import {D} from './data.js';
import {fmt_seconds, fmt_percent, fmt_change, fmt_count} from './format.js';
import {title_of, look_of, colour_of} from './looks.js';
import {esc, el, shape, label_at, show_tip, tip_table, table_below, cell_of} from './parts.js';
import {plot_in, draw_in, width_of, shortened, LETTER} from './chart.js';

const MOST_RANKS = 32;

export function late_section(node) {
    if (!D.late) return null;
    const ranks = (D.late.ranks || []).slice().sort((p, q) => q.last_ratio - p.last_ratio || p.rank - q.rank);
    const policies = (D.late.policies || []).slice().sort((p, q) => p.exposed_s - q.exposed_s);
    if (ranks.length === 0 && policies.length === 0) return null;
    const body = node.querySelector('.body'),
        rank_box = el('div'),
        policy_box = el('div');
    body.replaceChildren();
    if (ranks.length) {
        body.append(el('h3', {textContent: 'How often each GPU comes last, and how late it comes on average'}), rank_box);
        if (ranks.length > MOST_RANKS) {
            const textContent = `Of ${fmt_count(ranks.length)} GPUs the ${MOST_RANKS} that are last most often.`;
            body.append(el('p', {className: 'note', textContent}));
        }
        table_below(body, () => rank_table(ranks), {name: 'late', plot: rank_box});
    }
    if (policies.length) {
        body.append(
            el('h3', {
                className: 'later',
                textContent: 'What would have helped: exposed time of a call' + against(policies),
            }),
            policy_box,
        );
        table_below(body, () => policy_table(policies), {name: 'policies', plot: policy_box});
    }
    late_lead(node.querySelector('.lead'), ranks, policies);
    return {
        update() {},
        is_lazy: true,
        draw: () => {
            if (ranks.length) draw_ranks(rank_box, ranks.slice(0, MOST_RANKS));
            if (policies.length) draw_policies(policy_box, policies);
        },
    };
}

function late_lead(lead, ranks, policies) {
    const parts = [D.late.text ? D.late.text + ' ' : ''];
    const straggler = ranks.find(r => r.rank === D.late.straggler);
    if (straggler) {
        parts.push(
            `GPU ${straggler.rank} ${straggler.cause === 'network' ? 'leaves late' : 'comes last'} in `,
            el('b', {textContent: fmt_percent(D.late.straggler_ratio)}),
            ` of the iterations${straggler.why ? ': ' + straggler.why : ''}. `,
        );
    }
    if (policies.length && policies[0].saved_ratio > 0) {
        parts.push(
            `${policy_title(policies[0])} would have saved `,
            el('b', {textContent: fmt_percent(policies[0].saved_ratio)}),
            against(policies) + '.',
        );
    }
    lead.replaceChildren(...parts);
}

// What savings are measured against.
function against(policies) {
    const baseline = policies.find(p => p.is_baseline);
    return baseline ? ', against ' + policy_title(baseline) : '';
}

// A schedule, and by which policy it is chosen where there are several.
function policy_title({name, policy}) {
    const title = look_of(name).title ? title_of(name) : name.replace(/_/g, ' ');
    return policy && policy !== '-' ? `${title}, ${policy.replace(/_/g, ' ')}` : title;
}

// Horizontal bars: rows of {name, value, text, more, is_long, colour, tip: HTML}; a long `more` needs a wide
// page.
function draw_bars(node, label, rows) {
    const width = width_of(node),
        row = 26;
    const left = Math.min(width * 0.4, 18 + 7.4 * d3.max(rows, r => r.name.length)),
        right = Math.min(230, width * 0.34);
    const x = d3
        .scaleLinear()
        .domain([0, d3.max(rows, r => r.value) || 1])
        .range([left, width - right]);
    const content = rows.map((r, i) => {
        const y = i * row,
            w = Math.max(1, x(r.value) - left);
        const more = width < 520 && r.is_long ? '' : r.more;
        const texts = esc(r.text) + shape('tspan', {class: 'soft', dx: 7}, esc(more));
        return [
            label_at(left - 10, y + 17, shortened(r.name, left - 10, LETTER.value), 'end', 'value'),
            shape('rect', {x: left, y: y + 4, width: w, height: row - 9, rx: 3, fill: r.colour}),
            shape('text', {x: left + w + 8, y: y + 17, class: 'value'}, texts),
        ].join('');
    });
    const svg = plot_in(node);
    draw_in(
        svg,
        width,
        rows.length * row + 4,
        `${label}: ${rows.map(r => `${r.name} ${r.text}`).join(', ')}`,
        content.join(''),
    );
    svg.onpointerleave = () => show_tip('');
    svg.onpointermove = event => {
        const box = svg.getBoundingClientRect(),
            r =
                rows[
                    Math.floor((((event.clientY - box.top) / box.height) * svg.viewBox.baseVal.height) / row)
                ];
        show_tip(r ? r.tip : '', event);
    };
}

function draw_ranks(node, ranks) {
    draw_bars(
        node,
        'How often each GPU comes last',
        ranks.map(r => ({
            name: `GPU ${r.rank}`,
            value: r.last_ratio,
            colour: 'var(--line)',
            is_long: true,
            text: fmt_percent(r.last_ratio),
            more: [Number.isFinite(r.mean_s) ? `${fmt_seconds(r.mean_s)} late` : '', r.cause]
                .filter(Boolean)
                .join(', '),
            tip: `<b>GPU ${esc(r.rank)}</b>${tip_table([
                ['comes last in', fmt_percent(r.last_ratio)],
                ['late on average', fmt_seconds(r.mean_s)],
                ['95 % below', fmt_seconds(r.p95_s)],
                ...why_rows(r),
            ])}`,
        })),
    );
}

// What is known of why a rank is late: its host's call, its arrival, its end, behind the early ones.
function why_rows(r) {
    const rows = [
        ['its host calls', r.called_s],
        ['it comes', r.came_s],
        ['it leaves', r.left_s],
    ].filter(row => Number.isFinite(row[1]));
    return [
        ...(r.server ? [['server', r.server]] : []),
        ...rows.map(([name, s]) => [name, `${fmt_seconds(Math.abs(s))} ${s < 0 ? 'before' : 'behind'} the first quarter`]),
        ...(r.why ? [['why', r.why]] : []),
    ];
}

function draw_policies(node, policies) {
    draw_bars(
        node,
        'Exposed time of a call',
        policies.map(p => ({
            name: policy_title(p),
            value: p.exposed_s,
            colour: look_of(p.name).title ? colour_of(p.name) : 'var(--line)',
            text: fmt_seconds(p.exposed_s),
            more: Number.isFinite(p.saved_ratio) && !p.is_baseline ? fmt_change(-p.saved_ratio) : '',
            tip: `<b>${esc(policy_title(p))}</b>${tip_table([
                ['exposed time of a call', fmt_seconds(p.exposed_s)],
                ['saves', fmt_percent(p.saved_ratio)],
                ['over all calls', fmt_seconds(p.total_s)],
                ['better in', fmt_percent(p.won_ratio)],
            ])}`,
        })),
    );
}

function rank_table(ranks) {
    const has_cause = ranks.some(r => r.why);
    return {
        caption: 'Who is late',
        heads: ['GPU', 'comes last in', 'late on average', '95 % below', ...(has_cause ? ['why'] : [])],
        rows: ranks.map(r => [
            r.rank,
            cell_of('share', r.last_ratio),
            cell_of('s', r.mean_s),
            cell_of('s', r.p95_s),
            ...(has_cause ? [r.why || ''] : []),
        ]),
    };
}

function policy_table(policies) {
    return {
        caption: 'What would have helped',
        heads: ['schedule', 'exposed time of a call', 'saves', 'saves over all calls', 'better in'],
        rows: policies.map(p => [
            policy_title(p),
            cell_of('s', p.exposed_s),
            cell_of('share', p.saved_ratio),
            cell_of('s', p.total_s),
            cell_of('share', p.won_ratio),
        ]),
    };
}
