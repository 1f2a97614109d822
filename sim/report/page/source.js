// SPDX-License-Identifier: GPL-3.0-or-later
// source.js -- where the page comes from: the program wrote it; after new data it is written anew, and what
// was left out is named.

import {D} from './data.js';
import {el} from './parts.js';

export function source_section(node) {
    const list = node.querySelector('dl.source');
    const draw = () => {
        // the program escapes what it puts into these texts
        if (D.source && (D.live || list.childElementCount === 0)) {
            list.replaceChildren(
                ...D.source.flatMap(([head, html]) => [
                    el('dt', {textContent: head}),
                    el('dd', {innerHTML: html}),
                ]),
            );
        }
        const heads = [...list.querySelectorAll('dt')].map(dt => dt.textContent);
        if (D.thinned && D.thinned.length && !heads.includes('Thinned')) {
            list.append(el('dt', {textContent: 'Thinned'}), el('dd', {textContent: D.thinned.join('; ')}));
        }
    };
    return {update() {}, draw};
}
