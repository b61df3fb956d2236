// Any value of JSON as text that reads like YAML and folds. Every value is text, whoever wrote it.

import { html, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { scalarText } from './scalar-text.ts'

/** Members of one value that are shown at once; more by a button. */
const MOST_SHOWN = 100
/** Letters of one text. */
const MOST_LETTERS = 2_000
/** Below this, values are JSON in one line. */
const DEEPEST = 12

export function DataView(props: {
  readonly value: unknown
  /** Levels that stand open at first; 2 when left out. */
  readonly open?: number
  /** For those who cannot see it. */
  readonly name?: string
}): VNode {
  const { value, open = 2, name = 'Data' } = props
  return html`
    <div class="data" role="group" aria-label=${name}>
      ${
        isLeaf(value)
          ? html`<div class="leaf"><${Leaf} value=${value} /></div>`
          : html`<${Members} value=${value} open=${open} depth=${0} />`
      }
    </div>
  `
}

interface Level {
  readonly open: number
  readonly depth: number
}

function Members(props: { readonly value: unknown } & Level): ComponentChildren {
  const { value, open, depth } = props
  const [most, setMost] = useState(MOST_SHOWN)
  const isList = Array.isArray(value)
  const entries = Object.entries(value as Record<string, unknown>)
  const left = entries.length - most
  return html`
    ${entries
      .slice(0, most)
      .map(
        ([name, member]) => html`
          <${Member}
            key=${name}
            name=${isList ? '-' : name}
            value=${member}
            open=${open}
            depth=${depth}
          />
        `,
      )}
    ${
      left > 0 &&
      html`<button type="button" class="plain" onClick=${() => setMost(most + MOST_SHOWN)}>
        … ${left} more
      </button>`
    }
  `
}

function Member(props: { readonly name: string; readonly value: unknown } & Level): VNode {
  const { name, value, open, depth } = props
  const label = html`<span class=${name === '-' ? 'dim' : 'name'}
    >${name === '-' ? '-' : `${name}:`}</span
  >`
  if (isLeaf(value) || depth >= DEEPEST)
    return html`<div class="leaf">${label} <${Leaf} value=${value} /></div>`
  return html`
    <details open=${depth < open}>
      <summary>${label} <span class="dim size">${sizeOf(value)}</span></summary>
      <div class="inner">
        <${Members} value=${value} open=${open} depth=${depth + 1} />
      </div>
    </details>
  `
}

function Leaf(props: { readonly value: unknown }): ComponentChildren {
  const { value } = props
  const [isWhole, setWhole] = useState(false)
  const text = scalarText(value)
  const left = isWhole ? 0 : text.length - MOST_LETTERS
  const kind = value === null ? 'null' : typeof value
  return html`
    <span class=${`value ${kind}`}>${left > 0 ? text.slice(0, MOST_LETTERS) : text}</span>
    ${
      left > 0 &&
      html`<button type="button" class="plain" onClick=${() => setWhole(true)}>
        … ${left} letters more
      </button>`
    }
  `
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

function sizeOf(value: unknown): string {
  const count = Object.keys(value as object).length
  return Array.isArray(value)
    ? `${count} item${count === 1 ? '' : 's'}`
    : `${count} field${count === 1 ? '' : 's'}`
}
